//! Helpers for tests of Ori.

use super::function::{Constant, Function, Instruction, InstructionFlags, MemoryAccess, Special};
use super::operand::{Operand, OperandKind};
use oriel_engine::entity::{Block, Register};
use oriel_engine::snapshot::abi::MemoryFlags;

impl Function {
    /// Marks an instruction as created by a phase, so that its machine instruction does not matter.
    pub fn make_anew(&mut self, instruction: Instruction) {
        self.instructions[instruction].flags |= InstructionFlags::NEW;
    }
}

/// Returns the first difference between two functions as text. Everything that the text form omits
/// is ignored: numbers of instructions and table rows, registers that nothing mentions, LLVM's
/// register classes and the opcodes of instructions that Ori knows.
pub fn difference(a: &Function, b: &Function) -> Option<String> {
    if a.info != b.info {
        return Some(format!("{:?}\n{:?}", a.info, b.info));
    }
    if a.blocks() != b.blocks() {
        return Some(format!("layouts {:?} and {:?}", a.blocks(), b.blocks()));
    }
    let difference = a
        .blocks()
        .iter()
        .find_map(|&block| difference_of_blocks(a, b, block));
    difference.or_else(|| difference_of_registers(a, b))
}

fn difference_of_blocks(a: &Function, b: &Function, block: Block) -> Option<String> {
    let data = |function: &Function| {
        let data = &function.blocks[block];
        (data.frequency, data.is_address_taken, data.origin)
    };
    if data(a) != data(b) {
        return Some(format!("{block}: {:?} and {:?}", data(a), data(b)));
    }
    let (mut of_a, mut of_b) = (a.instructions(block), b.instructions(block));
    loop {
        match (of_a.next(), of_b.next()) {
            (None, None) => return None,
            (Some(in_a), Some(in_b)) => {
                let (in_a, in_b) = (described(a, in_a), described(b, in_b));
                if in_a != in_b {
                    return Some(format!("{block}:\n{in_a}\n{in_b}"));
                }
            }
            (in_a, in_b) => return Some(format!("{block} ends: {in_a:?} and {in_b:?}")),
        }
    }
}

/// Describes everything about an instruction, without table numbers.
fn described(function: &Function, instruction: Instruction) -> String {
    let operands = |operands: super::Operands<'_>| {
        let all = operands
            .iter()
            .map(|operand| described_operand(function, operand));
        all.collect::<Vec<_>>()
    };
    let data = &function.instructions[instruction];
    let opcode = function
        .machine_opcode(instruction)
        .filter(|_| data.operation.is_opaque());
    let access = function.access(instruction).map(|&access| {
        let flags = access.flags - MemoryFlags::SIZE_KNOWN;
        let symbol = access.symbol.map(|symbol| function.symbol_name(symbol));
        format!(
            "{symbol:?} {:?}",
            MemoryAccess {
                symbol: None,
                flags,
                ..access
            }
        )
    });
    format!(
        "{:?} = {:?} {:?} {:?} {:?} {:?} {opcode:?} {:?} {:?} {:?} {:?} {access:?}",
        operands(function.results(instruction)),
        data.operation,
        data.data_type,
        data.source_type,
        data.modifiers,
        operands(function.sources(instruction)),
        data.origin,
        data.origin_count,
        function.merged(instruction),
        data.flags,
    )
}

fn described_operand(function: &Function, operand: Operand) -> String {
    let modifiers = (
        operand.is_undefined(),
        operand.is_negated(),
        operand.is_absolute(),
        operand.is_complemented(),
    );
    let what = match operand.kind() {
        OperandKind::Immediate(value) => format!("{:?}", Constant::Integer(i64::from(value))),
        OperandKind::Constant(constant) => format!("{:?}", function.constant_data(constant)),
        OperandKind::Special(special) => match function.special_data(special) {
            Special::Symbol { symbol, offset } => format!("&{:?}+{offset}", function.symbol_name(symbol)),
            other => format!("{other:?}"),
        },
        other => format!("{other:?}"),
    };
    format!("{modifiers:?} {what}")
}

fn difference_of_registers(a: &Function, b: &Function) -> Option<String> {
    let limit = a.register_limit().max(b.register_limit());
    let kind = |function: &Function, register: Register| {
        let is_mentioned = register.as_u32() < function.register_limit() as u32
            && (!function.is_unused(register) || function.definitions(register).next().is_some());
        is_mentioned.then(|| {
            let data = function.register(register);
            (data.file, data.bits)
        })
    };
    (0..limit as u32).map(Register::from_u32).find_map(|register| {
        let (in_a, in_b) = (kind(a, register), kind(b, register));
        (in_a != in_b).then(|| format!("{register}: {in_a:?} and {in_b:?}"))
    })
}
