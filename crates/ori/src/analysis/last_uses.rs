//! Last uses: the operands after which a value's register is free.
//!
//! ```text
//! %3 = IADD %1, %2     %2 is used again, %1 is not: the first source is a last use
//! %1 = IADD %2, %2     the last of both: of several operands of one instruction the last is marked
//! ```
//!
//! A use is the last one if its register is not live afterwards, or is redefined by the same
//! instruction. These are LLVM's kill flags, as its live intervals define them. PHIs use their
//! sources on the incoming edges and are never a last use.

use super::walk::BlockWalk;
use crate::{Function, Instruction, Liveness};
use oriel_engine::bitvector::BitVector;
use oriel_engine::entity::EntityRef;

/// The last uses of a function, valid while it does not change.
#[derive(Clone, Debug)]
pub struct LastUses {
    /// By position in the function's pool of operands.
    slots: BitVector,
}

impl LastUses {
    /// Finds the last uses.
    pub fn compute(function: &Function, liveness: &Liveness) -> Self {
        let mut slots = BitVector::new();
        let mut walk = BlockWalk::new(function, liveness);
        for &block in function.blocks() {
            walk.visit(block, |instruction, live_after| {
                let sources = function.sources(instruction);
                let results = function.results(instruction);
                for (number, source) in sources.iter().enumerate() {
                    let Some(register) = source.read_register() else {
                        continue;
                    };
                    let ends = !live_after.contains(register)
                        || results
                            .iter()
                            .any(|result| result.as_register() == Some(register));
                    let mut behind = sources.iter().skip(number + 1);
                    if ends && !behind.any(|other| other.read_register() == Some(register)) {
                        slots.insert(function.source_slot(instruction, number).index());
                    }
                }
            });
        }
        Self { slots }
    }

    /// True if a source of an instruction is the last use of its value.
    ///
    /// # Panics
    /// The instruction has fewer sources.
    pub fn is_last(&self, function: &Function, instruction: Instruction, source: usize) -> bool {
        self.slots
            .contains(function.source_slot(instruction, source).index())
    }

    /// Returns the number of last uses.
    pub fn count(&self) -> usize {
        self.slots.count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::InterferenceTest;
    use crate::random_function::random_function;
    use crate::{ControlFlow, Operation};
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn after_a_last_use_the_value_does_not_matter(seed in any::<u64>(), late in any::<bool>()) {
            let function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            let flow = ControlFlow::analyze(&function, Traversal::default());
            let liveness = Liveness::compute(&function, &flow);
            let last_uses = LastUses::compute(&function, &liveness);
            let test = InterferenceTest::new(&function, &liveness);
            let mut count = 0;
            for &block in function.blocks() {
                for instruction in function.instructions(block) {
                    let sources = function.sources(instruction);
                    for (number, source) in sources.iter().enumerate() {
                        let is_last = last_uses.is_last(&function, instruction, number);
                        count += usize::from(is_last);
                        let expected = source.read_register().is_some_and(|register| {
                            let again = (number + 1..sources.len())
                                .any(|other| sources.get(other).read_register() == Some(register));
                            let redefines = function.definitions(register).any(|(other, _)| other == instruction);
                            function.operation(instruction) != Operation::Phi
                                && !again
                                && (redefines || !test.is_live_after(register, instruction, block))
                        });
                        prop_assert_eq!(is_last, expected, "{} source {}", instruction, number);
                    }
                }
            }
            prop_assert_eq!(count, last_uses.count());
        }
    }
}
