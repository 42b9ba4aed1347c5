//! Expressions: instructions that only compute a value, and when two of them compute the same one.
//!
//! An instruction is described by words: operation and types, modifiers, kinds of its results, and
//! its sources, where the caller replaces each register by its value number. Equal words mean equal
//! values. The address space is among the modifiers and predicates are sources, so accesses to
//! different memories and selections by different predicates differ. A load also has the versions
//! of the memory that it reads.
//!
//! Never an expression: an instruction that is convergent, ordered, volatile, atomic, part of a
//! call, a terminator or unknown to Ori, carries attachments that only LLVM can copy, or reads an
//! undefined register.

use crate::never_worse::is_data;
use crate::shared::copies::is_alike;
use oriel_engine::entity::{EntitySet, Register};
use oriel_engine::snapshot::abi::MemoryFlags;
use oriel_ori::{
    AddressSpace, ControlFlow, DataType, Function, Instruction, InstructionFlags, Liveness, MemoryAccess,
    MemoryKinds, MemoryVersions, Operand, OperandKind, Operation, OperationFlags, Ordering, Special,
    memory_kinds,
};

/// Kinds of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExpressionKind {
    /// Another name for a register's value.
    Copy,
    /// A constant or an address, which is cheaper to recompute than to hold.
    Constant,
    /// A value that depends on the incoming edge.
    Phi,
    /// A value read from memory.
    Load,
    /// An operation of the special function unit.
    SpecialFunction,
    /// Anything else.
    Arithmetic,
}

/// True if all that an instruction does is to define one register for data, without reading an
/// undefined value: so it can be executed again elsewhere, if its operands are the same there.
pub(crate) fn only_defines_register(function: &Function, instruction: Instruction) -> bool {
    let mut results = function.results(instruction).iter();
    let first = results.next().and_then(|result| result.as_register());
    first.is_some_and(|result| is_data(function, result))
        && results.next().is_none()
        && function.is_removable_if_unused(instruction)
        && !function.reads_undefined(instruction)
}

/// Returns the kind of expression that an instruction is, or none if it is not just a value.
pub(crate) fn expression_kind(function: &Function, instruction: Instruction) -> Option<ExpressionKind> {
    let operation = function.operation(instruction);
    let never = OperationFlags::WRITES
        | OperationFlags::SIDE_EFFECTS
        | OperationFlags::CONVERGENT
        | OperationFlags::TERMINATOR
        | OperationFlags::CALL_SEQUENCE
        | OperationFlags::OPAQUE
        | OperationFlags::DEBUG;
    if operation.flags().intersects(never)
        || matches!(operation, Operation::ImplicitDef | Operation::Nop)
        || function.effects(instruction).intersects(never)
        || function
            .flags(instruction)
            .contains(InstructionFlags::ATTACHMENTS)
    {
        return None;
    }
    let is_result = |result: Operand| result.as_register().is_some();
    let mut results = function.results(instruction).iter();
    let mut has_registers = false;
    let mut is_known = |source: Operand| {
        has_registers |= source.as_register().is_some();
        match source.kind() {
            OperandKind::Special(special) => !matches!(
                function.special_data(special),
                Special::Machine { .. } | Special::Physical(_)
            ),
            _ => !source.is_undefined(),
        }
    };
    if !function.sources(instruction).iter().all(&mut is_known) || !results.all(is_result) {
        return None;
    }
    Some(match operation {
        Operation::Phi => ExpressionKind::Phi,
        Operation::Ld if !is_plain_load(function, instruction) => return None,
        Operation::Ld => ExpressionKind::Load,
        Operation::Frsqrt
        | Operation::Fsin
        | Operation::Fcos
        | Operation::Flg2
        | Operation::Fex2
        | Operation::Ftanh => ExpressionKind::SpecialFunction,
        // Reading a special register takes as long as a load.
        Operation::S2r => ExpressionKind::Arithmetic,
        _ if has_registers && operation.is_copy() => ExpressionKind::Copy,
        _ if has_registers => ExpressionKind::Arithmetic,
        _ => ExpressionKind::Constant,
    })
}

/// True for a load that may be removed if its value is known. Loads of parameters of calls, and of
/// a device function's parameters, stay: they belong to call sequences.
fn is_plain_load(function: &Function, instruction: Instruction) -> bool {
    let modifiers = function.modifiers(instruction);
    matches!(modifiers.ordering, Ordering::None | Ordering::Weak)
        && !matches!(modifiers.space, AddressSpace::DeviceParam | AddressSpace::None)
}

/// True if a load depends on earlier writes. A load of memory that nothing writes while the kernel
/// runs does not.
pub(crate) fn depends_on_writes(function: &Function, load: Instruction) -> bool {
    let is_invariant = |access: &MemoryAccess| access.flags.contains(MemoryFlags::INVARIANT);
    !memory_kinds(function, load).0.is_empty() && !function.access(load).is_some_and(is_invariant)
}

/// Returns the versions of memory if the function has expressions that depend on them.
pub(crate) fn versions_for(function: &Function, flow: &ControlFlow) -> Option<MemoryVersions> {
    let depends = |instruction: Instruction| {
        function.operation(instruction) == Operation::Ld
            && is_plain_load(function, instruction)
            && depends_on_writes(function, instruction)
    };
    let mut all = flow.order.as_slice().iter();
    let has_loads = all.any(|&block| function.instructions(block).any(depends));
    has_loads.then(|| MemoryVersions::compute(function, flow))
}

/// Returns the registers whose value is the same wherever they are live: those with one definition
/// that comes before every use.
pub(crate) fn single_valued(function: &Function, liveness: &Liveness) -> EntitySet<Register> {
    let mut found = EntitySet::with_capacity(function.register_limit());
    let is_single = |&register: &Register| {
        function.unique_definition(register).is_some() && !liveness.is_live_in(register, function.entry())
    };
    found.extend(function.registers().filter(is_single));
    found
}

/// True if the first two sources may be exchanged, which requires that the first has no type of its
/// own.
pub(crate) fn is_commutative(function: &Function, instruction: Instruction) -> bool {
    let operation = function.operation(instruction);
    let is_mixed = operation == Operation::Fadd && function.source_type(instruction) != DataType::None;
    operation.is_commutative() && !is_mixed
}

/// Returns the register in a copy's source, if the copy preserves all of it.
pub(crate) fn copied_register(function: &Function, instruction: Instruction) -> Option<Register> {
    let (source, result) = (function.source(instruction, 0), function.result(instruction, 0));
    let (source_register, result_register) = (source.as_register()?, result.as_register()?);
    let is_whole = !source.is_modified() && is_alike(function, source_register, result_register);
    is_whole.then_some(source_register)
}

/// Writes the words that describe an expression. `value` maps a register to its value number;
/// `versions` are needed for loads of memory that is written.
pub(crate) fn describe(
    function: &Function,
    instruction: Instruction,
    versions: Option<&MemoryVersions>,
    mut value: impl FnMut(Register) -> Register,
    words: &mut Vec<u32>,
) {
    words.clear();
    let operation = function.operation(instruction);
    let types = [function.data_type(instruction), function.source_type(instruction)];
    words.push(operation as u32 | (types[0] as u32) << 16 | (types[1] as u32) << 24);
    let modifiers = function.modifiers(instruction);
    words.push(
        u32::from(modifiers.flags.bits())
            | (modifiers.rounding as u32) << 16
            | (modifiers.comparison as u32) << 24,
    );
    words.push(
        modifiers.space as u32
            | (modifiers.ordering as u32) << 8
            | (modifiers.scope as u32) << 16
            | (modifiers.variant as u32) << 24,
    );
    for register in function.result_registers(instruction) {
        let data = function.register(register);
        let class = data.class.expand().map_or(0, |class| class.as_u32() + 1);
        words.push(data.file as u32 | u32::from(data.bits) << 8 | class << 20);
    }
    let first_source = words.len();
    for source in function.sources(instruction) {
        words.push(match source.as_register() {
            Some(register) => source.with_register(value(register)).bits(),
            None => source.bits(),
        });
    }
    if is_commutative(function, instruction) && words[first_source] > words[first_source + 1] {
        words.swap(first_source, first_source + 1);
    }
    match operation {
        Operation::Ld if depends_on_writes(function, instruction) => {
            let version = |kind| versions.and_then(|versions| versions.read(instruction, kind));
            words.extend(
                MemoryKinds::all()
                    .iter()
                    .map(|kind| version(kind).map_or(0, |version| version.as_u32() + 1)),
            );
        }
        // The incoming edge is known only within one block.
        Operation::Phi => words.extend(function.block_of(instruction).map(|block| block.as_u32())),
        _ => {}
    }
}
