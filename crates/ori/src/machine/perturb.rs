//! Changes that leave what a function does as it is, for tests of the way back to the machine.

use crate::RegisterFile;
use crate::edit::{InstructionBuilder, Position};
use crate::function::{Constant, Function, Instruction, InstructionFlags};
use crate::operand::Operand;
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::snapshot::abi::ConstantKind;

fn is_untouchable(operation: Operation) -> bool {
    operation.is_opaque()
        || operation.is_debug()
        || matches!(operation, Operation::Brx | Operation::Bra | Operation::End)
}

/// Marks every instruction that Ori knows as made by a phase, so that [`super::to_machine`] makes
/// all of them anew from operation, types and operands: the same machine code has to come of it.
pub fn forget_machine(function: &mut Function) {
    for data in function.instructions.values_mut() {
        if !is_untouchable(data.operation) {
            data.flags |= InstructionFlags::NEW;
        }
    }
}

/// Exchanges operands of what is commutative, moves constants into registers of their own, and
/// writes integers as floating-point numbers of the same bits, each at every second opportunity.
pub fn perturb(function: &mut Function) {
    let mut opportunities = 0;
    let mut is_taken = || {
        opportunities += 1;
        opportunities % 2 == 1
    };
    for block in function.blocks().to_vec() {
        let instructions: Vec<Instruction> = function.instructions(block).collect();
        for instruction in instructions {
            let operation = function.operation(instruction);
            let has_source_type = function.source_type(instruction) != DataType::None;
            let sources: Vec<Operand> = function.sources(instruction).iter().collect();
            if operation.is_commutative() && !has_source_type && sources[0] != sources[1] && is_taken() {
                function.set_source(instruction, 0, sources[1]);
                function.set_source(instruction, 1, sources[0]);
            }
            match operation {
                Operation::Mov => float_for_integer(function, instruction, &mut is_taken),
                Operation::Iadd | Operation::And | Operation::Or | Operation::Xor | Operation::Imul => {
                    registers_for_constants(function, instruction, &mut is_taken);
                }
                _ => {}
            }
        }
    }
}

fn registers_for_constants(
    function: &mut Function,
    instruction: Instruction,
    is_taken: &mut impl FnMut() -> bool,
) {
    let data_type = function.data_type(instruction);
    for number in 0..function.sources(instruction).len() {
        let source = function.source(instruction, number);
        if function.integer(source).is_none() || !is_taken() {
            continue;
        }
        let is_predicate = data_type == DataType::B1;
        let file = if is_predicate {
            RegisterFile::P
        } else {
            RegisterFile::R
        };
        let register = function.create_register(file, data_type.bits() as u16, None);
        let register = function.register_operand(register);
        let new = InstructionBuilder::new(Operation::Mov, data_type)
            .result(register)
            .source(source);
        function.insert(Position::Before(instruction), new);
        function.set_source(instruction, number, register);
    }
}

fn float_for_integer(function: &mut Function, instruction: Instruction, is_taken: &mut impl FnMut() -> bool) {
    let source = function.source(instruction, 0);
    let (data_type, kind) = match function.data_type(instruction) {
        DataType::B32 => (DataType::F32, ConstantKind::Single),
        DataType::B64 => (DataType::F64, ConstantKind::Double),
        _ => return,
    };
    let Some(value) = function.integer(source).filter(|_| is_taken()) else {
        return;
    };
    let bits = data_type.bits();
    let low = if bits == 32 {
        u64::from(value as u32)
    } else {
        value as u64
    };
    let constant = function.constant_operand(Constant::Bits {
        kind,
        bits,
        low,
        high: 0,
    });
    function.set_types(instruction, data_type, DataType::None);
    function.set_source(instruction, 0, constant);
}

#[cfg(test)]
mod tests {
    use crate::machine::{forget_machine, from_machine, perturb, to_machine};
    use crate::plan::Plan;
    use crate::plan::abi::PlanAction;
    use oriel_engine::snapshot::abi::OperandKind;
    use oriel_engine::snapshot::sample;

    #[test]
    fn untouched_functions_give_the_identity() {
        let owned = sample::counting_loop();
        let snapshot = owned.view();
        let function = from_machine(&snapshot).expect("Ori can represent it");
        assert_eq!(to_machine(&function, &snapshot), Ok(Plan::identity(&snapshot)));
    }

    #[test]
    fn forgotten_instructions_are_made_anew_from_the_same_operands() {
        let owned = sample::counting_loop();
        let snapshot = owned.view();
        let mut function = from_machine(&snapshot).expect("Ori can represent it");
        forget_machine(&mut function);
        let plan = to_machine(&function, &snapshot).expect("LLVM has opcodes for it");
        for (number, record) in plan.instructions[..plan.instruction_count()].iter().enumerate() {
            assert_eq!(record.source as usize, number + 1);
            let operands =
                record.first_operand as usize..plan.instructions[number + 1].first_operand as usize;
            if record.action == PlanAction::New as u32 {
                let name = plan.opcode_names[record.opcode as usize];
                let name = &plan.strings[name.offset as usize..(name.offset + name.length) as usize];
                let id = oriel_engine::entity::EntityRef::new(number);
                let input = snapshot.instruction(id);
                assert_eq!(name, input.opcode_name().as_bytes());
                assert_eq!(plan.operands[operands].len(), input.operands().len());
            }
        }
        assert!(
            plan.instructions
                .iter()
                .filter(|record| record.action == PlanAction::New as u32)
                .count()
                >= 5
        );
    }

    #[test]
    fn constants_get_registers_and_new_numbers_constants() {
        let owned = sample::counting_loop();
        let snapshot = owned.view();
        let mut function = from_machine(&snapshot).expect("Ori can represent it");
        perturb(&mut function);
        let plan = to_machine(&function, &snapshot).expect("LLVM has opcodes for it");
        assert_eq!((plan.new_registers.len(), plan.constants.len()), (1, 1));
        for operand in &plan.operands {
            if operand.kind == OperandKind::Constant as u8 {
                assert!((operand.index as usize) < owned.constants.len() + plan.constants.len());
            }
        }
    }
}
