//! Instructions that still read or write their registers while later ones run.
//!
//! `wgmma.mma_async` works on its accumulators and its matrix A in the background: between
//! `wgmma.fence` and `wgmma.wait_group` no other instruction may touch these registers. Results of
//! `tcgen05.ld` and sources of `tcgen05.st` are in use until `tcgen05.wait` (PTX ISA, at each of
//! these instructions). No operand expresses this: in LLVM and in Ori such registers are values like
//! all others.

use crate::inline_assembly::printed_text;
use crate::{Function, Instruction, MachineOpcode, Operand, Operation};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, Register};
use smallvec::SmallVec;

/// The beginnings of the names of instructions that use registers after they were issued: PTX's, and
/// LLVM's if it has opcodes for them.
const ASYNCHRONOUS: [(&str, Option<&str>); 3] = [
    ("wgmma.mma_async", None),
    ("tcgen05.ld", Some("TCGEN05_LD_")),
    ("tcgen05.st", Some("TCGEN05_ST_")),
];

/// Returns PTX's name of an instruction of the function that uses registers after it was issued.
pub fn asynchronous_register_user(function: &Function) -> Option<&'static str> {
    function
        .all_instructions()
        .find_map(|instruction| asynchronous_name(function, instruction))
}

/// Returns PTX's name of an instruction if it uses registers after it was issued.
fn asynchronous_name(function: &Function, instruction: Instruction) -> Option<&'static str> {
    let operation = function.operation(instruction);
    if !matches!(
        operation,
        Operation::InlineAsm | Operation::OpaqueTerminator | Operation::Opaque
    ) {
        return None;
    }
    let opcode = function.machine_opcode(instruction);
    let has_prefix = |prefix| opcode.is_some_and(|opcode| opcode.name.starts_with(prefix));
    let mut names = ASYNCHRONOUS.into_iter();
    let found = names
        .find(|&(name, prefix)| function.has_ptx_name(instruction, name) || prefix.is_some_and(has_prefix));
    found.map(|(name, _)| name)
}

/// False if no instruction has an [asynchronous name](asynchronous_name). It may be true though none has
/// one: this looks at the function's opcodes and symbols, among them the texts of inline assembly, which
/// are fewer than its instructions.
fn may_have_asynchronous_name(function: &Function) -> bool {
    let is_in_text = |symbol| {
        let text = printed_text(symbol);
        ASYNCHRONOUS.iter().any(|&(name, _)| text.contains(name))
    };
    let is_named = |opcode: &MachineOpcode| {
        ASYNCHRONOUS.iter().any(|&(name, prefix)| {
            opcode.has_ptx_name(name) || prefix.is_some_and(|prefix| opcode.name.starts_with(prefix))
        })
    };
    function.symbol_names().any(is_in_text) || function.machine_opcodes().any(is_named)
}

/// Returns the registers that may be in use in the background: the operands of the instructions that
/// do so, and what LLVM may put into the same register as one of these: the two sides of a copy, a PHI
/// or tied operands. When they are in use is not known, so that it may be anywhere.
pub fn asynchronous_registers(function: &Function) -> EntityBitSet<Register> {
    let mut registers = EntityBitSet::with_room(function.register_limit());
    if !may_have_asynchronous_name(function) {
        return registers;
    }
    let mut pending = Vec::new();
    for instruction in function.all_instructions() {
        if asynchronous_name(function, instruction).is_some() {
            pending.extend(
                function
                    .sources(instruction)
                    .iter()
                    .filter_map(Operand::as_register),
            );
            pending.extend(function.result_registers(instruction));
        }
    }
    if pending.is_empty() {
        return registers;
    }
    let joined = joined_registers(function);
    while let Some(register) = pending.pop() {
        if registers.insert(register) {
            let first = joined.partition_point(|&(one, _)| one < register);
            let others = joined[first..].iter().take_while(|&&(one, _)| one == register);
            pending.extend(others.map(|&(_, other)| other));
        }
    }
    registers
}

/// Returns the pairs of registers that LLVM may make one, each in both orders, sorted.
fn joined_registers(function: &Function) -> Vec<(Register, Register)> {
    let mut pairs: Vec<(Register, Register)> = Vec::new();
    let mut join = |one: Operand, other: Operand| {
        if let (Some(one), Some(other)) = (one.as_register(), other.as_register()) {
            pairs.extend([(one, other), (other, one)]);
        }
    };
    for instruction in function.all_instructions() {
        let results = function.results(instruction);
        let sources = function.sources(instruction);
        let operation = function.operation(instruction);
        // The operands of this one are tied.
        let is_fence = || {
            let opcode = function.machine_opcode(instruction);
            opcode.is_some_and(|opcode| opcode.name == "ARITH_FENCE")
        };
        if operation.is_copy() || operation == Operation::Phi || is_fence() {
            for result in results.iter() {
                sources.iter().for_each(|source| join(result, source));
            }
        }
        let groups = function.assembly_groups(instruction).unwrap_or_default();
        for group in groups.iter().filter(|group| !group.tied.is_empty()) {
            for (source, result) in group.operands.clone().zip(group.tied.clone()) {
                join(results.get(result), sources.get(source));
            }
        }
    }
    pairs.sort_unstable();
    pairs
}

/// An instruction that reads or writes registers that may be in use in the background.
#[derive(Debug, PartialEq, Eq)]
struct AsynchronousUse {
    block: Block,
    instruction: Instruction,
    /// Its operands, results first: of each such register the position.
    operands: SmallVec<[(usize, Register); 4]>,
}

/// All that touches [asynchronous registers](asynchronous_registers), in order. A function in which that
/// is the same before and after a phase still obeys the rules about such registers.
#[derive(Debug, PartialEq, Eq)]
pub struct AsynchronousUses(Vec<AsynchronousUse>);

impl AsynchronousUses {
    /// Collects the uses of `registers` in a function. Debug instructions do not count.
    pub fn of(function: &Function, registers: &EntityBitSet<Register>) -> Self {
        let of_instruction = |block, instruction| {
            let (results, sources) = (function.results(instruction), function.sources(instruction));
            let numbered = results.iter().chain(sources.iter()).enumerate();
            let touched = numbered.filter_map(|(number, operand)| Some((number, operand.as_register()?)));
            let operands: SmallVec<_> = touched
                .filter(|&(_, register)| registers.contains(register))
                .collect();
            let is_debug = function.operation(instruction).is_debug();
            (!is_debug && !operands.is_empty()).then_some(AsynchronousUse {
                block,
                instruction,
                operands,
            })
        };
        let blocks = function.blocks().iter();
        let uses = blocks.flat_map(|&block| {
            let instructions = function.instructions(block);
            instructions.filter_map(move |instruction| of_instruction(block, instruction))
        });
        Self(uses.collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    /// Words of groups of one register: written, read, and read in the register of group 0.
    const WRITTEN: u32 = 10;
    const READ: u32 = 9;
    const MATCHED: u32 = 1 << 31 | READ;

    /// `%5` multiplies, and `%7` uses the result; `%10` and `%11` have nothing to do with it.
    fn multiplication() -> String {
        format!(
            "kernel \"k\" sm_90a ssa {{
bix0:
    %3:R32 = LD.global.b32 [0]
    %4:R32 = LD.global.b32 [4]
    %10:R32 = LD.global.b32 [8]
    %5:R32 = ASM &\"wgmma.mma_async\", 1, {WRITTEN}, {READ}, %3, {MATCHED}, %4
    %6:R32 = ASM &\"wgmma.wait_group\", 1, {WRITTEN}, {MATCHED}, %5
    %11:R32 = IADD.b32 %10, 1
    %7:R32 = IADD.b32 %6, %11
    RET
}}
"
        )
    }

    #[test]
    fn uses_are_the_same_only_if_nothing_else_touches_the_registers() {
        let mut function = parse_function(&multiplication()).unwrap_or_else(|error| panic!("{error}"));
        let registers = asynchronous_registers(&function);
        let uses = |function: &Function| AsynchronousUses::of(function, &registers);
        let before = uses(&function);
        let of = |function: &Function, register| {
            let definition = function.unique_definition(Register::from_u32(register));
            definition.expect("it has one")
        };
        let (multiply, sum, other) = (of(&function, 5), of(&function, 7), of(&function, 11));

        // Another operand of an instruction that uses the result may change.
        function.set_source(sum, 1, Operand::immediate(3).expect("it fits"));
        assert_eq!(uses(&function), before);
        let copy = function.register_operand(Register::from_u32(3));
        function.set_source(other, 1, copy);
        assert_ne!(uses(&function), before, "the other sum reads matrix A");
        function.set_source(other, 1, Operand::immediate(1).expect("it fits"));
        assert_eq!(uses(&function), before);
        let matrix = function
            .sources(multiply)
            .iter()
            .position(|source| source == copy);
        let unrelated = function.register_operand(Register::from_u32(10));
        function.set_source(multiply, matrix.expect("it reads it"), unrelated);
        assert_ne!(
            uses(&function),
            before,
            "the multiplication reads another register"
        );
    }

    #[test]
    fn what_may_share_a_register_with_an_operand_may_be_in_use_too() {
        let text = format!(
            "kernel \"k\" sm_90a ssa {{
    declare %9:P
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = COPY.b32 %1
    %3:R32 = IADD.b32 %1, 1
    BRA fall bix1
bix1:
    %4:R32 = PHI.b32 %2, bix0, %6, bix1
    %5:R32 = ASM &\"wgmma.mma_async\", 1, {WRITTEN}, {READ}, %3, {MATCHED}, %4
    %6:R32 = ASM &\"wgmma.wait_group\", 1, {WRITTEN}, {MATCHED}, %5
    %7:R32 = IADD.b32 %6, %3
    %8:R32 = ASM &\"other\", 1, {WRITTEN}, {READ}, %6, {MATCHED}, %7
    BRA %9, bix1, fall bix2
bix2:
    RET
}}
"
        );
        let members = |text: &str| -> Vec<u32> {
            let function = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
            let registers = asynchronous_registers(&function);
            let all = function.registers().filter(|&it| registers.contains(it));
            all.map(|register| register.as_u32()).collect()
        };
        assert_eq!(members(&text), [1, 2, 3, 4, 5, 6]);
        assert!(members(&text.replace("mma_async", "fence")).is_empty());
    }
}
