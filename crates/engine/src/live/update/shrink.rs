//! Shrinking a range to the remaining reads.

use crate::entity::{Block, PackedOption, Register};
use crate::live::flow_graph::FlowGraph;
use crate::live::live_interval::{LiveIntervals, LiveSegment, OwnedLiveRange};
use crate::live::slot_index::SlotIndex;
use crate::live::value::ValueNumber;
use std::collections::HashSet;

/// Work that remains after a range was shrunk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shrunk {
    /// Definitions that nothing reads any more.
    pub dead: Vec<SlotIndex>,
    /// True if the range may have fallen into unconnected parts.
    pub may_separate: bool,
}

impl LiveIntervals {
    /// Shrinks a range to the reads in `uses`, which lists all of them: slots of instructions, and
    /// ends of blocks for PHIs. Values keep their numbers; PHI values that are no longer needed
    /// become unused.
    pub fn shrink_to_uses(
        &mut self,
        predecessors: &FlowGraph,
        register: Register,
        uses: &[SlotIndex],
    ) -> Shrunk {
        let old = self.interval(register).to_owned();
        let mut new = OwnedLiveRange {
            values: old.values.clone(),
            ..OwnedLiveRange::default()
        };
        for (value, definition) in old.as_range().values() {
            let (start, end) = (definition, definition.dead_slot());
            new.add_segment(LiveSegment { start, end, value });
        }
        // The value that an instruction reads is live into it, and up to its definition of the
        // register if that is early.
        let value_read = |slot: SlotIndex| {
            if slot.is_block() {
                return Some((slot, old.as_range().value_before(slot)?));
            }
            let query = old.as_range().query(slot);
            let defined = query
                .value_defined()
                .and_then(|value| old.as_range().definition(value));
            Some((
                defined.map_or(slot, |definition| definition.min(slot)),
                query.value_in()?,
            ))
        };
        let mut work: Vec<(SlotIndex, ValueNumber)> =
            uses.iter().filter_map(|&slot| value_read(slot)).collect();
        let mut live_out: HashSet<Block> = HashSet::new();
        let mut used_phis: HashSet<ValueNumber> = HashSet::new();
        while let Some((slot, value)) = work.pop() {
            let Some(block) = self.indexes.block_before(slot) else {
                continue;
            };
            let start = self.indexes.block_start(block);
            let is_phi_here = old.as_range().definition(value) == Some(start);
            if new.extend_in_block(start, slot).is_some() {
                // A PHI value that is read makes its predecessors' values live.
                if !is_phi_here || !used_phis.insert(value) {
                    continue;
                }
            } else {
                new.add_segment(LiveSegment {
                    start,
                    end: slot,
                    value,
                });
            }
            for &predecessor in predecessors.predecessors_of(block) {
                let end = self.indexes.block_end(predecessor);
                if live_out.insert(predecessor)
                    && let Some(incoming) = old.as_range().value_before(end)
                {
                    work.push((end, incoming));
                }
            }
        }
        let shrunk = drop_dead_values(&mut new);
        self.edited.insert(register, new);
        shrunk
    }
}

/// Removes PHI values that are not needed and lists definitions that nothing reads.
fn drop_dead_values(range: &mut OwnedLiveRange) -> Shrunk {
    let mut shrunk = Shrunk::default();
    for number in 0..range.values.len() {
        let Some(definition) = range.values[number].expand() else {
            continue;
        };
        let segment = *range
            .as_range()
            .segment_containing(definition)
            .expect("a value has a segment at its definition");
        if segment.end != definition.dead_slot() {
            continue;
        }
        shrunk.may_separate = true;
        if definition.is_block() {
            range.values[number] = PackedOption::default();
            range.segments.retain(|other| *other != segment);
        } else {
            shrunk.dead.push(definition);
        }
    }
    shrunk
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::Instruction;
    use crate::live::FindingKind;
    use crate::live::scan::{reads, use_slot};
    use crate::live::testing::{PLAIN, Random, TestFunction, def, operand, random_function, read};
    use crate::live::update::testing::{analyze, judged, same_coverage, uses_of};
    use crate::snapshot::abi::{OperandFlags, OperandRecord};
    use proptest::prelude::*;

    fn check_shrinking(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let mut function = random_function(&mut random, blocks, 10, 8);
        let mut intervals = analyze(&function);
        let predecessors = FlowGraph::new(&function.snapshot());
        let before = judged(&function, &intervals);
        let text = intervals.to_string();
        for &register in &before {
            let uses = uses_of(&function, &intervals, register);
            intervals.shrink_to_uses(&predecessors, register, &uses);
        }
        prop_assert_eq!(intervals.to_string(), text, "nothing was removed");
        function.change_operands(|operand: &mut OperandRecord| {
            if reads(operand) && random.chance(50) {
                operand.flags |= OperandFlags::UNDEF.bits();
            }
        });
        let fresh = analyze(&function);
        for &register in &before {
            let uses = uses_of(&function, &intervals, register);
            intervals.shrink_to_uses(&predecessors, register, &uses);
            prop_assert!(
                same_coverage(&intervals, &fresh, register),
                "{} should be {}",
                intervals.interval(register),
                fresh.interval(register)
            );
        }
        let findings = intervals.verify(&function.snapshot());
        let wrong = findings
            .iter()
            .find(|finding| finding.kind != FindingKind::ReadOfNothing && before.contains(&finding.register));
        prop_assert!(wrong.is_none(), "{}", wrong.unwrap());
        Ok(())
    }

    #[test]
    fn a_read_beside_an_early_definition_keeps_the_phi_value_that_comes_in() {
        let early = || operand(0, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        let mut tied = read(0);
        tied.tied_to = 1;
        let mut function = TestFunction::new(1);
        function.block(&[1, 2]);
        function.instruction(PLAIN, &[def(0)]);
        function.block(&[2]);
        function.instruction(PLAIN, &[def(0)]);
        function.block(&[]);
        function.instruction(PLAIN, &[early(), tied, read(0)]);
        let function = function.finish(|| 0);
        let mut intervals = analyze(&function);
        let register = Register::from_u32(0);
        let text = intervals.interval(register).to_string();
        let read_slot = use_slot(
            intervals
                .indexes()
                .instruction_index(Instruction::from_u32(2))
                .number(),
            &read(0),
            &[],
        );
        intervals.shrink_to_uses(&FlowGraph::new(&function.snapshot()), register, &[read_slot]);
        assert_eq!(intervals.interval(register).to_string(), text);
        assert!(text.contains("-phi"), "{text}");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn shrinking_equals_recomputation(seed: u64) {
            check_shrinking(seed)?;
        }
    }
}
