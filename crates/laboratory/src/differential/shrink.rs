//! Shrinks functions that fail in the same way: delta debugging on Ori.
//!
//! Branches lose a side, then halves, quarters and so on of the instructions are removed: if the
//! results are unused, directly; otherwise the results become constants. The verifier and a run
//! check each attempt, so an edit need not be sound.

use super::failure_test::FailureTest;
use super::sequence::Sequence;
use super::tested_module::TestedModule;
use oriel_engine::entity::Block;
use oriel_ori::{DataType, Function, Instruction, InstructionBuilder, Operation, Position};

/// Shrinks the functions of a tested module as long as that succeeds.
pub(super) fn shrink(tested: &mut TestedModule, sequence: &Sequence, test: &mut FailureTest) {
    loop {
        let size = size_of(tested);
        for number in 0..tested.functions.len() {
            drop_ways(tested, number, sequence, test);
            drop_instructions(tested, number, sequence, test);
            attempt(tested, number, sequence, test, |function| {
                function.merge_all_blocks() > 0
            });
        }
        if size_of(tested) >= size {
            return;
        }
    }
}

/// Returns the measure that must decrease in every round.
fn size_of(tested: &TestedModule) -> usize {
    let of_function = |function: &Function| {
        let blocks = function.blocks().iter();
        let instructions = blocks.map(|&block| {
            function
                .instructions(block)
                .filter(|&it| !is_constant(function, it))
                .count()
        });
        instructions.sum::<usize>() + function.blocks().len()
    };
    tested.functions.iter().map(of_function).sum()
}

/// Changes a function, and keeps the change if the failure stays the same.
fn attempt(
    tested: &mut TestedModule,
    number: usize,
    sequence: &Sequence,
    test: &mut FailureTest,
    change: impl FnOnce(&mut Function) -> bool,
) -> bool {
    let before = tested.functions[number].clone();
    if change(&mut tested.functions[number]) && test.failure_of(tested, sequence).is_some() {
        return true;
    }
    tested.functions[number] = before;
    false
}

/// Makes each conditional branch unconditional.
fn drop_ways(tested: &mut TestedModule, number: usize, sequence: &Sequence, test: &mut FailureTest) {
    let blocks: Vec<Block> = tested.functions[number].blocks().to_vec();
    for block in blocks {
        if !tested.functions[number].is_placed(block) {
            continue;
        }
        let targets: Vec<Block> = tested.functions[number].successors(block).collect();
        if targets.len() < 2 {
            continue;
        }
        for target in targets {
            let goes_there_only = |function: &mut Function| {
                let is_branch = function.make_unconditional(block, target).is_ok();
                if is_branch {
                    function.remove_unreachable_blocks();
                }
                is_branch
            };
            if attempt(tested, number, sequence, test, goes_there_only) {
                break;
            }
        }
    }
}

/// Removes or neutralises instructions, starting with many at a time.
fn drop_instructions(tested: &mut TestedModule, number: usize, sequence: &Sequence, test: &mut FailureTest) {
    let mut size = candidates(&tested.functions[number]).len();
    while size > 0 {
        // From the end, so that operands of removed instructions become unused.
        let mut end = candidates(&tested.functions[number]).len();
        while end > 0 {
            let start = end.saturating_sub(size);
            attempt(tested, number, sequence, test, |function| {
                let all = candidates(function);
                for &instruction in all[start.min(all.len())..end.min(all.len())].iter().rev() {
                    drop_instruction(function, instruction);
                }
                true
            });
            end = start;
        }
        size /= 2;
    }
}

/// Returns the instructions that may be removed.
fn candidates(function: &Function) -> Vec<Instruction> {
    let all = function.all_instructions();
    all.filter(|&instruction| {
        !function.operation(instruction).is_terminator()
            && (!is_constant(function, instruction) || !has_uses(function, instruction))
    })
    .collect()
}

fn has_uses(function: &Function, instruction: Instruction) -> bool {
    let mut results = function.results(instruction).iter();
    results.any(|result| {
        result
            .as_register()
            .is_some_and(|register| !function.is_unused(register))
    })
}

fn is_constant(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Mov
        && function.integer(function.source(instruction, 0)).is_some()
}

/// Removes an instruction and replaces results still in use by constants.
fn drop_instruction(function: &mut Function, instruction: Instruction) {
    let block = function.block_of(instruction).expect("a candidate is in a block");
    let at = match function.operation(instruction) {
        Operation::Phi => function.first_non_phi(block).expect("a block has a terminator"),
        _ => function.next(instruction).expect("a candidate is no terminator"),
    };
    for result in function.results(instruction).iter().collect::<Vec<_>>() {
        let Some(register) = result
            .as_register()
            .filter(|&register| !function.is_unused(register))
        else {
            continue;
        };
        let bits = u32::from(function.register(register).bits);
        let Some(data_type) = DataType::of_bits(bits) else {
            continue;
        };
        // Distinct numbers, so that differences are preserved; aligned addresses.
        let number = if bits == 1 {
            0
        } else {
            16 * (i64::from(register.as_u32()) % 1000 + 1)
        };
        let number = function.integer_operand(number);
        let new = InstructionBuilder::new(Operation::Mov, data_type)
            .result(result)
            .source(number);
        function.insert(Position::Before(at), new);
    }
    function.remove(instruction);
}
