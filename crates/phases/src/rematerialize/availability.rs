//! The cost of computing a value again in a block: which operands are live there anyway, and which
//! operations are cheap.

use crate::instruction_order::Weights;
use crate::never_worse::is_data;
use crate::shared::expressions::only_defines_register;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, Register};
use oriel_ori::{AddressSpace, DataType, Function, Instruction, Liveness, Operation, OperationFlags};
use smallvec::SmallVec;

/// The values that are available in each block, by the liveness before the phase.
pub(super) struct Availability<'a> {
    pub liveness: &'a Liveness,
    /// The registers that ptxas needs for each value.
    pub units: &'a Weights,
    /// The values that stay in registers because others start from them.
    pub shared: EntityBitSet<Register>,
    /// The registers that may be in use in the background, which no copy touches, if there are any:
    /// whether a bit set is empty takes a look at all of its words.
    pub asynchronous: Option<&'a EntityBitSet<Register>>,
}

impl Availability<'_> {
    /// True if using a register in a block makes no further register live there.
    pub fn is_at_hand(&self, function: &Function, register: Register, block: Block) -> bool {
        // A copy that the phase has made is live in one block only.
        let is_operand = || is_data(function, register) && self.units.get(register) == 0;
        self.units.knows(register)
            && (is_operand() || self.shared.contains(register) || self.liveness.is_live_in(register, block))
    }

    /// True if recomputing an instruction is cheaper than holding its result in a register, and touches
    /// no register that may be in use in the background.
    pub fn is_cheap(&self, function: &Function, definition: Instruction) -> bool {
        let touches = |asynchronous: &EntityBitSet<Register>| {
            let sources = distinct_sources(function, definition);
            let mut registers = function.result_registers(definition).chain(sources);
            registers.any(|register| asynchronous.contains(register))
        };
        is_cheap(function, definition) && !self.asynchronous.is_some_and(touches)
    }
}

/// True if recomputing it is cheaper than holding it in a register.
pub(super) fn is_cheap(function: &Function, definition: Instruction) -> bool {
    is_cheap_operation(function, definition) && only_defines_register(function, definition)
}

/// True if an operation costs less than a register. Live-range splitting uses ptxas' rule instead.
fn is_cheap_operation(function: &Function, definition: Instruction) -> bool {
    match function.operation(definition) {
        // Reading a special register takes long, and an undefined value costs nothing.
        Operation::S2r | Operation::ImplicitDef => false,
        // LLVM folds it into the address of the stack object, if both are in one block.
        Operation::Cvta => function.modifiers(definition).space != AddressSpace::Local,
        Operation::Cvt => is_widening(function.source_type(definition), function.data_type(definition)),
        // With a sum these are one instruction, and no slower than a sum.
        Operation::ImulWide | Operation::ImadWide => true,
        Operation::Imul | Operation::Imad => function.data_type(definition).bits() <= 32,
        operation => operation.flags().contains(OperationFlags::REMATERIALIZABLE),
    }
}

/// True for a widening integer conversion.
fn is_widening(from: DataType, to: DataType) -> bool {
    let is_integer = |data_type| {
        matches!(
            data_type,
            DataType::S16 | DataType::U16 | DataType::S32 | DataType::U32 | DataType::S64 | DataType::U64
        )
    };
    is_integer(from) && (is_integer(to) || to == DataType::B64) && from.bits() < to.bits()
}

/// Returns the registers that an instruction reads, each once.
pub(super) fn distinct_sources(function: &Function, instruction: Instruction) -> SmallVec<[Register; 4]> {
    let sources = function.sources(instruction).iter();
    let mut sources: SmallVec<[Register; 4]> = sources.filter_map(|source| source.as_register()).collect();
    sources.sort_unstable();
    sources.dedup();
    sources
}
