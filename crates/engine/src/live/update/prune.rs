//! Removal of a value's liveness from one position on.

use crate::entity::{Block, Register};
use crate::graph::Graph;
use crate::live::live_interval::LiveIntervals;
use crate::live::slot_index::SlotIndex;
use std::collections::HashSet;

impl LiveIntervals {
    /// Removes the liveness of the value that leaves the instruction at `kill`, dead or not, from
    /// there up to its end on every path. Returns these ends in the order of a search along
    /// `graph`'s successors; extending to them undoes the change.
    pub fn prune_value(
        &mut self,
        graph: &impl Graph<Node = Block>,
        register: Register,
        kill: SlotIndex,
    ) -> Vec<SlotIndex> {
        let mut ends = Vec::new();
        let query = self.interval(register).query(kill);
        let Some(value) = query.value_out_or_dead() else {
            return ends;
        };
        let (Some(block), Some(end)) = (self.indexes.block_at(kill), query.end_point()) else {
            return ends;
        };
        let block_end = self.indexes.block_end(block);
        let stop = end.min(block_end);
        self.range_mut(register).remove_segment(kill, stop, false);
        ends.push(stop);
        if end < block_end {
            return ends;
        }
        let mut visited: HashSet<Block> = HashSet::new();
        let mut stack: Vec<Block> = graph.successors(block).rev().collect();
        while let Some(block) = stack.pop() {
            if !visited.insert(block) {
                continue;
            }
            let (start, block_end) = self.indexes.block_range(block);
            let query = self.interval(register).query(start);
            let Some(end) = query.end_point().filter(|_| query.value_in() == Some(value)) else {
                continue;
            };
            let stop = end.min(block_end);
            self.range_mut(register).remove_segment(start, stop, false);
            ends.push(stop);
            if end >= block_end {
                stack.extend(graph.successors(block).rev());
            }
        }
        ends
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::live_interval::LiveSegment;
    use crate::live::testing::{Random, random_function};
    use crate::live::update::testing::{analyze, judged, same_coverage};
    use crate::live::{FlowGraph, LiveRangeCalc, ValueNumber};
    use proptest::prelude::*;

    fn check_pruning(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let function = random_function(&mut random, blocks, 10, 8);
        let snapshot = function.snapshot();
        let mut intervals = analyze(&function);
        let fresh = intervals.clone();
        let mut calc = LiveRangeCalc::new();
        let flow = FlowGraph::new(&snapshot);
        for register in judged(&function, &fresh) {
            let range = fresh.interval(register);
            let count = range.value_count() as u32;
            if count == 0 {
                continue;
            }
            let value = ValueNumber::from_u32(random.below(count));
            let Some(definition) = range.definition(value).filter(|index| !index.is_block()) else {
                continue;
            };
            let ends = intervals.prune_value(&flow, register, definition);
            prop_assert!(!ends.is_empty());
            prop_assert!(!intervals.interval(register).live_at(definition));
            // Restore it from the definition on.
            let end = definition.dead_slot();
            intervals.range_mut(register).add_segment(LiveSegment {
                start: definition,
                end,
                value,
            });
            let ends: Vec<SlotIndex> = ends.into_iter().filter(|&index| index != end).collect();
            intervals.extend_to(&mut calc, &flow, register, &ends);
            prop_assert!(
                same_coverage(&intervals, &fresh, register),
                "{} should be {}",
                intervals.interval(register),
                fresh.interval(register)
            );
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn pruning_is_undone_by_extending(seed: u64) {
            check_pruning(seed)?;
        }
    }
}
