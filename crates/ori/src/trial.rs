//! Edits that can be undone, so that a phase can try a change without a copy of the function.

use super::edit::{InstructionBuilder, Position};
use super::function::{Function, Instruction, InstructionFlags};
use super::operand::Operand;
use oriel_engine::entity::{Block, Instruction as MachineInstruction};
use smallvec::SmallVec;

/// The edits of a function since a state to which it can return. Make every edit after that state
/// through this type.
#[derive(Debug, Default)]
pub struct Trial {
    steps: Vec<Step>,
}

#[derive(Debug)]
enum Step {
    Insert(Instruction),
    SetSource {
        instruction: Instruction,
        number: usize,
        /// The source before.
        operand: Operand,
        flags: InstructionFlags,
    },
    Remove {
        instruction: Instruction,
        block: Block,
        /// The instruction that followed in the block.
        next: Option<Instruction>,
        merged: SmallVec<[MachineInstruction; 2]>,
    },
}

impl Trial {
    /// True if nothing was changed.
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }

    /// Inserts an instruction, see [`Function::insert`].
    pub fn insert(
        &mut self,
        function: &mut Function,
        position: Position,
        new: InstructionBuilder,
    ) -> Instruction {
        let instruction = function.insert(position, new);
        self.steps.push(Step::Insert(instruction));
        instruction
    }

    /// Changes a source, see [`Function::set_source`].
    pub fn set_source(
        &mut self,
        function: &mut Function,
        instruction: Instruction,
        number: usize,
        operand: Operand,
    ) {
        self.steps.push(Step::SetSource {
            instruction,
            number,
            operand: function.source(instruction, number),
            flags: function.flags(instruction),
        });
        function.set_source(instruction, number, operand);
    }

    /// Removes an instruction, see [`Function::remove`].
    pub fn remove(&mut self, function: &mut Function, instruction: Instruction) {
        self.steps.push(Step::Remove {
            instruction,
            block: function.block_of(instruction).expect("it is in a block"),
            next: function.next(instruction),
            merged: SmallVec::from_slice(function.merged(instruction)),
        });
        function.remove(instruction);
    }

    /// Brings the function back to the state before the first edit. Only the order in which a
    /// register's uses are listed may differ; registers created since stay, and nothing uses them.
    pub fn take_back(self, function: &mut Function) {
        for step in self.steps.into_iter().rev() {
            match step {
                Step::Insert(instruction) => function.remove(instruction),
                Step::SetSource {
                    instruction,
                    number,
                    operand,
                    flags,
                } => {
                    function.set_source(instruction, number, operand);
                    function.instructions[instruction].flags = flags;
                }
                Step::Remove {
                    instruction,
                    block,
                    next,
                    merged,
                } => {
                    let position = next.map_or(Position::End(block), Position::Before);
                    function.put_back(instruction, position);
                    if !merged.is_empty() {
                        function.merged.insert(instruction, merged);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_function::random_function;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_random::{Random, Stream};

    /// Copies, redirects and removes instructions at random, where a function allows it.
    fn edit(function: &mut Function, trial: &mut Trial, random: &mut Random) {
        for instruction in function.all_instructions().collect::<Vec<_>>() {
            let results: Vec<_> = function.result_registers(instruction).collect();
            let operation = function.operation(instruction);
            if operation.is_terminator() || operation == crate::Operation::Phi || results.len() != 1 {
                continue;
            }
            match random.below(4) {
                0 => {
                    let copy = function.create_register_like(results[0]);
                    let new = InstructionBuilder::copy_of(function, instruction)
                        .result(function.register_operand(copy));
                    trial.insert(function, Position::After(instruction), new);
                }
                1 => trial.remove(function, instruction),
                2 => {
                    for number in 0..function.sources(instruction).len() {
                        let source = function.source(instruction, number);
                        if source.as_register().is_some() {
                            let other = source.with_register(results[0]);
                            trial.set_source(function, instruction, number, other);
                        }
                    }
                }
                _ => {}
            }
        }
    }

    #[test]
    fn what_is_taken_back_never_was() {
        let mut random = Random::new(1, Stream::Edits);
        let mut changed = 0;
        for seed in 0..300 {
            for stage in [Stage::Ssa, Stage::Late] {
                let mut function = random_function(seed, stage);
                let flags = |function: &Function| -> Vec<InstructionFlags> {
                    let instructions = function.all_instructions();
                    instructions
                        .map(|instruction| function.flags(instruction))
                        .collect()
                };
                let uses = |function: &Function, count: usize| -> Vec<Vec<(Instruction, usize)>> {
                    let mut uses: Vec<Vec<_>> = function
                        .registers()
                        .map(|register| function.uses(register).collect())
                        .collect();
                    uses.iter_mut().for_each(|uses| uses.sort_unstable());
                    assert!(
                        uses[count..].iter().all(Vec::is_empty),
                        "nothing uses what is new"
                    );
                    uses.truncate(count);
                    uses
                };
                let count = function.register_limit();
                let before = (function.to_string(), flags(&function), uses(&function, count));
                let findings = function.verify();
                let mut trial = Trial::default();
                edit(&mut function, &mut trial, &mut random);
                changed += u32::from(!trial.is_empty() && function.to_string() != before.0);
                trial.take_back(&mut function);
                let after = (function.to_string(), flags(&function), uses(&function, count));
                assert_eq!(before, after);
                assert_eq!(findings, function.verify());
            }
        }
        assert!(changed > 500, "only {changed} functions were changed");
    }
}
