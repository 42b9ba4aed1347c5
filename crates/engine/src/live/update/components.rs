//! Separation of a range into unconnected parts.

use crate::entity::{EntityRef, Register};
use crate::live::flow_graph::FlowGraph;
use crate::live::live_interval::{LiveIntervals, LiveSegment, OwnedLiveRange};
use crate::live::value::ValueNumber;

impl LiveIntervals {
    /// Gives every part of a range that is not connected to the first a register of its own. A part
    /// consists of values that flow into each other, through PHI values or by a definition that
    /// reads the value before it. Returns the part of each value; parts are counted from zero in
    /// the order of their first values. Part *k* then belongs to `registers[k - 1]`. The caller
    /// renames the operands.
    ///
    /// # Panics
    /// `new_register` returns a register that has an interval.
    pub fn split_components(
        &mut self,
        predecessors: &FlowGraph,
        register: Register,
        mut new_register: impl FnMut() -> Register,
    ) -> (Vec<usize>, Vec<Register>) {
        let range = self.interval(register).to_owned();
        let parts = self.connected_values(predecessors, &range);
        let count = parts.iter().copied().max().map_or(0, |last| last + 1);
        let mut pieces = vec![OwnedLiveRange::default(); count];
        let mut numbers = Vec::with_capacity(parts.len());
        for (&part, &definition) in parts.iter().zip(&range.values) {
            numbers.push(ValueNumber::new(pieces[part].values.len()));
            pieces[part].values.push(definition);
        }
        for &segment in &range.segments {
            let value = segment.value.index();
            let piece = LiveSegment {
                value: numbers[value],
                ..segment
            };
            pieces[parts[value]].segments.push(piece);
        }
        let mut registers = Vec::new();
        for (part, piece) in pieces.into_iter().enumerate() {
            let owner = if part == 0 { register } else { new_register() };
            if part > 0 {
                assert!(!self.has_interval(owner), "{owner:?} already has an interval");
                registers.push(owner);
            }
            self.edited.insert(owner, piece);
        }
        (parts, registers)
    }

    /// Returns the connected part of each value. Unused values belong to the part of the last used
    /// one.
    fn connected_values(&self, predecessors: &FlowGraph, range: &OwnedLiveRange) -> Vec<usize> {
        let mut leader: Vec<usize> = (0..range.values.len()).collect();
        let view = range.as_range();
        let (mut used, mut unused) = (None, None);
        for (number, definition) in range.values.iter().enumerate() {
            let Some(definition) = definition.expand() else {
                if let Some(other) = unused.replace(number) {
                    unite(&mut leader, number, other);
                }
                continue;
            };
            used = Some(number);
            if definition.is_block() {
                let block = self.indexes.block_at(definition).expect("a block starts there");
                for &predecessor in predecessors.predecessors_of(block) {
                    if let Some(other) = view.value_before(self.indexes.block_end(predecessor)) {
                        unite(&mut leader, number, other.index());
                    }
                }
            } else if let Some(other) = view.value_before(definition) {
                unite(&mut leader, number, other.index());
            }
        }
        if let (Some(used), Some(unused)) = (used, unused) {
            unite(&mut leader, used, unused);
        }
        // A leader has the lowest number of its part, so its part is known before the others ask.
        let mut parts: Vec<usize> = Vec::with_capacity(leader.len());
        let mut count = 0;
        for number in 0..leader.len() {
            let first = find(&mut leader, number);
            debug_assert!(first <= number, "the lowest number leads");
            if first == number {
                parts.push(count);
                count += 1;
            } else {
                parts.push(parts[first]);
            }
        }
        parts
    }
}

/// Returns the leader of a number, and halves the way there (R. E. Tarjan and J. van Leeuwen,
/// "Worst-case Analysis of Set Union Algorithms", JACM 31(2), 1984).
fn find(leader: &mut [usize], mut number: usize) -> usize {
    while leader[number] != number {
        leader[number] = leader[leader[number]];
        number = leader[number];
    }
    number
}

fn unite(leader: &mut [usize], one: usize, other: usize) {
    let (one, other) = (find(leader, one), find(leader, other));
    leader[one.max(other)] = one.min(other);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::testing::{Random, random_function};
    use crate::live::update::testing::{analyze, judged, same_coverage};
    use proptest::prelude::*;

    #[test]
    fn the_lowest_number_leads_and_ways_are_short() {
        const COUNT: usize = 200_000;
        let mut leader: Vec<usize> = (0..COUNT).collect();
        for number in (1..COUNT).rev() {
            unite(&mut leader, number, number - 1);
        }
        for number in 0..COUNT {
            assert_eq!(find(&mut leader, number), 0);
        }
    }

    fn check_components(seed: u64) -> Result<(), TestCaseError> {
        let mut random = Random(seed);
        let blocks = 1 + random.below(8);
        let mut function = random_function(&mut random, blocks, 8, 8);
        let mut intervals = analyze(&function);
        let predecessors = FlowGraph::new(&function.snapshot());
        for register in judged(&function, &intervals) {
            let old = intervals.interval(register).to_owned();
            let mut next = intervals.register_count().max(100 * (register.index() + 1));
            let (parts, registers) = intervals.split_components(&predecessors, register, || {
                next += 1;
                Register::new(next)
            });
            prop_assert_eq!(parts.len(), old.values.len());
            let owners: Vec<Register> = [register].into_iter().chain(registers).collect();
            for segment in &old.segments {
                let owner = owners[parts[segment.value.index()]];
                prop_assert!(intervals.interval(owner).live_at(segment.start));
            }
            // Recomputing each part from its own operands gives the part.
            let count = next + 1;
            let indexes = intervals.indexes().clone();
            let renamed = function.renamed(
                register,
                count,
                |slot, is_read| {
                    let value = if is_read {
                        old.as_range().value_before(slot)
                    } else {
                        old.as_range().query(slot).value_defined()
                    };
                    value.map(|value| owners[parts[value.index()]])
                },
                &indexes,
            );
            let fresh = analyze(&renamed);
            for &owner in &owners {
                prop_assert!(
                    same_coverage(&intervals, &fresh, owner),
                    "{:?} of {}: {} should be {}",
                    owner,
                    old.as_range(),
                    intervals.interval(owner),
                    fresh.interval(owner)
                );
            }
            function = renamed;
        }
        Ok(())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(600))]

        #[test]
        fn components_equal_recomputation(seed: u64) {
            check_components(seed)?;
        }
    }
}
