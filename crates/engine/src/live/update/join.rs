//! Joining the two registers of a copy.

use crate::entity::{EntityRef, PackedOption, Register};
use crate::live::live_interval::{LiveIntervals, OwnedLiveRange};
use crate::live::slot_index::SlotIndex;
use crate::live::value::ValueNumber;

impl LiveIntervals {
    /// Joins the two registers of a copy: the source's range becomes part of the result's, and the
    /// value that the copy defines becomes the one that it reads. The caller removes the copy and
    /// renames the source's operands.
    ///
    /// Returns false and changes nothing if the ranges interfere.
    ///
    /// # Panics
    /// No value of the result is defined at `copy`, or no value of the source is live into it.
    pub fn join_by_copy(&mut self, result: Register, source: Register, copy: SlotIndex) -> bool {
        let (ours, theirs) = (self.interval(result), self.interval(source));
        if result == source || ours.overlaps(&theirs) {
            return false;
        }
        let read = theirs.query(copy).value_in().expect("the copy reads the source");
        let written = ours
            .query(copy)
            .value_defined()
            .expect("the copy defines its result");
        let mut definitions: Vec<SlotIndex> = Vec::new();
        let mut add = |definition: PackedOption<SlotIndex>| {
            // Unused values get no number.
            let number = ValueNumber::new(definitions.len());
            definitions.extend(definition.expand());
            number
        };
        let theirs_new: Vec<ValueNumber> = theirs.values.iter().map(|&value| add(value)).collect();
        let ours_new: Vec<ValueNumber> = ours
            .values
            .iter()
            .enumerate()
            .map(|(number, &value)| match number == written.index() {
                true => theirs_new[read.index()],
                false => add(value),
            })
            .collect();
        let other = theirs.to_owned();
        self.range_mut(result)
            .join(&other.as_range(), &ours_new, &theirs_new, &definitions);
        self.edited.insert(source, OwnedLiveRange::default());
        true
    }
}

#[cfg(test)]
mod tests {
    use crate::live::flow_graph::FlowGraph;
    use crate::live::testing::{Random, covered_slots, random_function};
    use crate::live::update::testing::{analyze, judged, registers_of, same_coverage, uses_of};
    use crate::snapshot::abi::OpcodeFlags;
    use proptest::prelude::*;

    fn check_joins(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(5);
        let mut function = random_function(&mut random, blocks, 10, 8);
        let mut intervals = analyze(&function);
        for instruction in function.snapshot().instructions() {
            let view = function.snapshot();
            let view = view.instruction(instruction);
            if !view.opcode_flags().contains(OpcodeFlags::COPY) {
                continue;
            }
            let registers = registers_of(&function, instruction, false);
            let index = intervals
                .indexes()
                .instruction_index(instruction)
                .register_slot(false);
            let (result, source) = (registers[0], registers[1]);
            let judged = judged(&function, &analyze(&function));
            if result == source || !judged.contains(&result) || !judged.contains(&source) {
                continue;
            }
            let reads_source = intervals.interval(source).query(index).value_in().is_some();
            let interfere = intervals.interfere(result, source);
            if !reads_source {
                continue;
            }
            prop_assert_eq!(intervals.join_by_copy(result, source, index), !interfere);
            if interfere {
                continue;
            }
            function = function.joined(result, source, instruction);
            let fresh = analyze(&function);
            // The copy no longer reads or writes anything.
            let uses = uses_of(&function, &intervals, result);
            let predecessors = FlowGraph::new(&function.snapshot());
            intervals.shrink_to_uses(&predecessors, result, &uses);
            if covered_slots(&function.snapshot(), &fresh, result).is_some() {
                prop_assert!(
                    same_coverage(&intervals, &fresh, result),
                    "{} should be {}",
                    intervals.interval(result),
                    fresh.interval(result)
                );
            } else {
                return Ok(());
            }
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn joins_equal_recomputation(seed: u64) {
            check_joins(seed)?;
        }
    }
}
