//! A function as the instructions that a scheduler orders: which cells each reads and writes, how long its results take, and
//! what it must not pass.
//!
//! What takes no instruction of its own is left out: parameters, immediates, values under a new name, and sign extensions and shifts
//! that the only instruction which reads them does along with its own work (`IMAD.WIDE`, `LEA`). What ptxas replaces by a sequence,
//! such as a division, needs registers in between: the *temporaries* of a node.

use super::cells::{Cell, Cells, is_parameter_read};
use crate::entity::{Block, EntitySet, Register, SecondaryMap};
use crate::ori::{
    AddressSpace, DataType, Function, Instruction, ModifierFlags, Operand, OperandKind, Operation,
    OperationFlags, Ordering, Rounding, Variant,
};
use smallvec::SmallVec;

/// What keeps a node in its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Nothing but its operands.
    Free,
    /// A load, from memory that stores may write.
    Load(Memory),
    /// A store.
    Store(Memory),
    /// Nothing passes it: barriers, calls, the end of the block.
    Fence,
}

/// What is known of the memory that a node accesses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The address space.
    pub space: AddressSpace,
    /// The register that the address is counted from, and bytes from there.
    pub base: Option<(Register, i64)>,
    /// Bytes.
    pub size: i64,
}

impl Memory {
    /// May both be the same memory?
    pub fn may_overlap(&self, other: &Self) -> bool {
        let is_generic = |memory: &Self| matches!(memory.space, AddressSpace::Generic | AddressSpace::None);
        if self.space != other.space && !is_generic(self) && !is_generic(other) {
            return false;
        }
        match (self.base, other.base) {
            (Some((one, from)), Some((two, to))) if one == two => {
                from < to.saturating_add(other.size) && to < from.saturating_add(self.size)
            }
            _ => true,
        }
    }
}

/// An instruction for the scheduler.
#[derive(Clone, Debug)]
pub struct Node {
    /// Cells that it writes.
    pub defined: SmallVec<[Cell; 2]>,
    /// Cells that it reads, each once.
    pub used: SmallVec<[Cell; 4]>,
    /// Cycles until its results can be used.
    pub latency: u32,
    /// Registers that it needs in between.
    pub temporaries: u32,
    /// What keeps it in its place.
    pub order: Order,
    /// Is it a call, over which the callee's registers are not free?
    pub is_call: bool,
    /// Does it end the block?
    pub is_terminator: bool,
    /// Does it load from global memory, or from where an address says?
    pub is_global_load: bool,
}

/// The nodes of a function, by block.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    blocks: SecondaryMap<Block, (u32, u32)>,
    nodes: Vec<Node>,
}

impl Nodes {
    /// Lowers a function.
    pub fn new(function: &Function, cells: &Cells) -> Self {
        let folded = folded_instructions(function);
        let mut lowering = Lowering {
            function,
            cells,
            folded: &folded,
        };
        let mut nodes = Self::default();
        for &block in function.blocks() {
            let first = nodes.nodes.len() as u32;
            let instructions = function.instructions(block);
            nodes
                .nodes
                .extend(instructions.filter_map(|instruction| lowering.node(instruction)));
            nodes.blocks[block] = (first, nodes.nodes.len() as u32);
        }
        nodes
    }

    /// The nodes of a block, in order.
    pub fn of(&self, block: Block) -> &[Node] {
        let (first, end) = self.blocks[block];
        &self.nodes[first as usize..end as usize]
    }
}

/// The only instruction that reads the only result of another, if both are in one block and the register has no other definition.
fn only_user(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let [result] = function.results(instruction).iter().collect::<SmallVec<[_; 2]>>()[..] else {
        return None;
    };
    let register = result.as_register()?;
    function.unique_definition(register)?;
    let mut uses = function.uses(register);
    match (uses.next(), uses.next()) {
        (Some((user, _)), None) => {
            (function.block_of(user) == function.block_of(instruction)).then_some(user)
        }
        _ => None,
    }
}

/// Instructions that their only user does along: sign extensions and shifts by constants in front of wide sums, products in front of
/// sums.
fn folded_instructions(function: &Function) -> EntitySet<Instruction> {
    let mut folded = EntitySet::with_capacity(function.instruction_limit());
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let Some(user) = only_user(function, instruction) else {
                continue;
            };
            let operation = function.operation(instruction);
            let by = function.operation(user);
            let is_shift_by_constant = operation == Operation::Shl
                && !matches!(function.source(instruction, 1).kind(), OperandKind::Register(_));
            let is_folded = match operation {
                Operation::Shl if is_shift_by_constant => matches!(by, Operation::Iadd),
                Operation::Imul | Operation::ImulWide => by == Operation::Iadd,
                Operation::Cvt => {
                    let (to, from) = (function.data_type(instruction), function.source_type(instruction));
                    let widens = !to.is_float() && !from.is_float() && to.bits() == 64 && from.bits() == 32;
                    let is_multiplied = matches!(by, Operation::Shl | Operation::Imul | Operation::Imad);
                    widens && is_multiplied
                }
                Operation::Fneg | Operation::Fabs | Operation::Not => {
                    function.data_type(instruction).bits() >= 32
                }
                _ => false,
            };
            if is_folded {
                folded.insert(instruction);
            }
        }
    }
    folded
}

struct Lowering<'a> {
    function: &'a Function,
    cells: &'a Cells,
    folded: &'a EntitySet<Instruction>,
}

impl Lowering<'_> {
    /// The node of an instruction; none if it takes none.
    fn node(&mut self, instruction: Instruction) -> Option<Node> {
        let function = self.function;
        let operation = function.operation(instruction);
        if operation.is_debug() || operation == Operation::Nop || self.folded.contains(instruction) {
            return None;
        }
        if is_parameter_read(function, instruction) {
            return None;
        }
        let mut used = SmallVec::new();
        self.add_used(instruction, &mut used);
        let mut defined: SmallVec<[Cell; 2]> = SmallVec::new();
        for result in function
            .results(instruction)
            .iter()
            .filter_map(Operand::as_register)
        {
            for cell in self.cells.of(result).iter().flatten() {
                // A cell that is read here too is a value under another name.
                let is_renamed = used.contains(cell) && function.unique_definition(result).is_some();
                if !is_renamed && !defined.contains(cell) {
                    defined.push(*cell);
                }
            }
        }
        let has_results = !function.results(instruction).is_empty();
        let makes_predicate = function
            .results(instruction)
            .iter()
            .any(|result| matches!(result.kind(), OperandKind::Predicate(_)));
        let order = self.order(instruction);
        if has_results && defined.is_empty() && !makes_predicate && order == Order::Free {
            return None;
        }
        Some(Node {
            defined,
            used,
            latency: latency(function, instruction),
            temporaries: temporaries(function, instruction),
            order,
            is_call: operation == Operation::Call,
            is_terminator: operation.is_terminator(),
            is_global_load: operation == Operation::Ld
                && matches!(
                    function.modifiers(instruction).space,
                    AddressSpace::Global | AddressSpace::Generic
                ),
        })
    }

    /// Adds the cells that an instruction reads, through what is folded into it.
    fn add_used(&self, instruction: Instruction, used: &mut SmallVec<[Cell; 4]>) {
        let mut pending: SmallVec<[Instruction; 4]> = SmallVec::new();
        pending.push(instruction);
        while let Some(instruction) = pending.pop() {
            for source in self.function.sources(instruction) {
                if source.is_undefined() {
                    continue;
                }
                let OperandKind::Register(register) = source.kind() else {
                    continue;
                };
                let definition = self.function.unique_definition(register);
                if let Some(definition) = definition.filter(|&it| self.folded.contains(it)) {
                    pending.push(definition);
                    continue;
                }
                for cell in self.cells.of(register).iter().flatten() {
                    if !used.contains(cell) {
                        used.push(*cell);
                    }
                }
            }
        }
    }

    fn order(&self, instruction: Instruction) -> Order {
        let function = self.function;
        let effects = function.effects(instruction);
        let operation = function.operation(instruction);
        let (reads, writes) = (
            effects.contains(OperationFlags::READS),
            effects.contains(OperationFlags::WRITES),
        );
        let is_fence = effects.intersects(OperationFlags::TERMINATOR | OperationFlags::CALL_SEQUENCE)
            || matches!(
                operation,
                Operation::Bar | Operation::BarRed | Operation::Membar | Operation::WarpSync
            )
            || effects.contains(OperationFlags::SIDE_EFFECTS) && (reads || writes);
        if is_fence {
            return Order::Fence;
        }
        let modifiers = function.modifiers(instruction);
        if operation == Operation::Ld {
            let is_invariant = modifiers.flags.contains(ModifierFlags::INVARIANT)
                || matches!(modifiers.space, AddressSpace::EntryParam | AddressSpace::Const);
            if is_invariant && !matches!(modifiers.ordering, Ordering::Volatile) {
                return Order::Free;
            }
        }
        if !reads && !writes {
            return Order::Free;
        }
        let memory = self.memory(instruction);
        if writes {
            Order::Store(memory)
        } else {
            Order::Load(memory)
        }
    }

    /// The memory of an access, whose sources end with base and offset.
    fn memory(&self, instruction: Instruction) -> Memory {
        let function = self.function;
        let sources = function.sources(instruction);
        let place = match function.operation(instruction) {
            Operation::Ld | Operation::Atom => Some(0),
            Operation::St => sources.len().checked_sub(2),
            _ => None,
        };
        let base = place.and_then(|place| {
            let OperandKind::Register(register) = sources.get(place).kind() else {
                return None;
            };
            function.unique_definition(register)?;
            Some((register, function.integer(sources.get(place + 1))?))
        });
        let size = function.access(instruction).and_then(|access| access.size);
        Memory {
            space: function.modifiers(instruction).space,
            base,
            size: size.and_then(|size| i64::try_from(size).ok()).unwrap_or(16),
        }
    }
}

/// Cycles from an instruction to the use of its result. Those of memory are what a scheduler assumes, not what the memory takes.
fn latency(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let is_wide = function.data_type(instruction) == DataType::F64;
    match function.operation(instruction) {
        O::Ld => match function.modifiers(instruction).space {
            AddressSpace::Shared | AddressSpace::SharedCluster => 24,
            AddressSpace::EntryParam | AddressSpace::Const => 8,
            _ => 80,
        },
        O::Atom => 80,
        O::Shfl | O::Vote | O::Match | O::Redux => 24,
        O::Frcp | O::Fsqrt | O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh | O::S2r => 18,
        O::Fdiv | O::Idiv | O::Irem => 40,
        O::Opaque | O::InlineAsm => 20,
        O::Cvt if is_wide || function.data_type(instruction).is_float() => 12,
        O::ImulHi | O::Popc | O::Brev | O::Bfind | O::Clz => 10,
        _ if is_wide => 10,
        _ => 5,
    }
}

/// Registers that the sequence which ptxas makes of an instruction needs beside operands and results.
fn temporaries(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let data_type = function.data_type(instruction);
    let is_exact = !matches!(
        function.modifiers(instruction).variant,
        Variant::Approx | Variant::Full
    ) && function.modifiers(instruction).rounding != Rounding::None;
    match function.operation(instruction) {
        O::Idiv | O::Irem if data_type.bits() == 64 => 12,
        O::Idiv | O::Irem => 4,
        O::Fdiv if data_type == DataType::F64 => 10,
        O::Fdiv if is_exact => 4,
        O::Frcp | O::Fsqrt | O::Frsqrt if data_type == DataType::F64 => 8,
        O::Frcp | O::Fsqrt if is_exact => 3,
        O::Imul | O::Imad if data_type.bits() == 64 => 2,
        _ => 0,
    }
}
