//! Phases for tests: some preserve a function's behaviour but change it, to test the way back to
//! the machine, and one makes it worse, to test the guard of profiles.

use oriel_engine::snapshot::abi::{ConstantKind, Stage};
use oriel_ori::{
    Constant, DataType, Function, Instruction, InstructionBuilder, Operand, Operation, Position, RegisterFile,
};
use oriel_phases::registry::{Forms, Phase, Registry, RegistryError, Run};
use oriel_phases::{PhaseContext, PhaseResult};

/// The phases: for each group one at each stage.
static PHASES: [Phase; 6] = [
    phase("RebuildSsa", Stage::Ssa, "Rebuild", rebuild),
    phase("RebuildLate", Stage::Late, "Rebuild", rebuild),
    phase("PerturbSsa", Stage::Ssa, "Perturb", perturb),
    phase("PerturbLate", Stage::Late, "Perturb", perturb),
    phase("WorsenSsa", Stage::Ssa, "Worsen", worsen),
    phase("WorsenLate", Stage::Late, "Worsen", worsen),
];

const fn phase(name: &'static str, stage: Stage, group: &'static str, run: Run) -> Phase {
    Phase::new(name, stage, Forms::all(), run).in_group(group)
}

/// Adds the phases behind all others.
///
/// # Errors
/// There is one with the same name.
pub fn register(registry: &mut Registry) -> Result<(), RegistryError> {
    for phase in &PHASES {
        let last = registry.phases().last().map_or("", |phase| phase.name);
        registry.insert_after(last, phase)?;
    }
    Ok(())
}

fn is_untouchable(operation: Operation) -> bool {
    operation.is_opaque()
        || operation.is_debug()
        || matches!(operation, Operation::Brx | Operation::Bra | Operation::End)
}

/// Marks every instruction that Ori knows as created by a phase, so that all are rebuilt from
/// operation, types and operands: the machine code must be the same.
fn rebuild(function: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
    for block in function.blocks().to_vec() {
        let instructions: Vec<Instruction> = function.instructions(block).collect();
        for instruction in instructions {
            if !is_untouchable(function.operation(instruction)) {
                function.make_anew(instruction);
            }
        }
    }
    PhaseResult::Changed
}

/// Adds an instruction without effect.
fn worsen(function: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
    let result = function.create_register(RegisterFile::R, 32, None);
    let result = function.register_operand(result);
    let constant = function.integer_operand(0);
    let mov = InstructionBuilder::new(Operation::Mov, DataType::B32);
    let entry = function.entry();
    function.insert(Position::Start(entry), mov.result(result).source(constant));
    PhaseResult::Changed
}

/// Exchanges operands of commutative operations, moves constants into registers of their own, and
/// writes integers as floating-point numbers with the same bits, each at every second opportunity.
fn perturb(function: &mut Function, _: &mut PhaseContext<'_>) -> PhaseResult {
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
    PhaseResult::Changed
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
    use super::*;
    use oriel_engine::snapshot::abi::OperandKind;
    use oriel_engine::snapshot::sample;
    use oriel_ori::machine::{from_machine, to_machine};
    use oriel_ori::plan::Plan;
    use oriel_ori::plan::abi::PlanAction;
    use oriel_phases::{PhaseOptions, Statistics, run};

    fn run_named(name: &str, function: &mut Function) {
        let phase = PHASES
            .iter()
            .find(|phase| phase.name == name)
            .expect("it is there");
        let result = run(
            phase,
            function,
            &PhaseOptions::default(),
            &mut Statistics::default(),
        );
        assert_eq!(result, PhaseResult::Changed);
    }

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
        run_named("RebuildSsa", &mut function);
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
        run_named("PerturbSsa", &mut function);
        let plan = to_machine(&function, &snapshot).expect("LLVM has opcodes for it");
        assert_eq!((plan.new_registers.len(), plan.constants.len()), (1, 1));
        for operand in &plan.operands {
            if operand.kind == OperandKind::Constant as u8 {
                assert!((operand.index as usize) < owned.constants.len() + plan.constants.len());
            }
        }
    }
}
