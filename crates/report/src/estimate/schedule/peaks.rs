//! The peaks of a function's schedules, over all of its regions.
//!
//! Only the region with the highest peak counts, so a schedule is left out where even all values of
//! a region, live at once, would not exceed the peak that is known.

use super::{BlockGraph, Cost, Policy, Registers};

/// The peaks of each schedule; a field that no feature reads may be below the peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulePeaks {
    pub source: Cost,
    pub least: Cost,
    pub latency: Cost,
    pub loads_first: Cost,
    pub within_32: Cost,
}

impl SchedulePeaks {
    /// Schedules a region where that can raise a peak that features read.
    pub fn add(&mut self, graph: &BlockGraph) {
        let bound = graph.bound();
        let Cost {
            registers,
            loaded,
            spaced,
            kept,
            ..
        } = bound;
        let none = Cost::default();
        let of_order = Cost {
            registers,
            spaced,
            kept,
            ..none
        };
        for (peak, policy, bound) in [
            (
                &mut self.source,
                Policy::Source,
                Cost {
                    spaced: 0,
                    kept: 0,
                    ..bound
                },
            ),
            (&mut self.least, Policy::Least, of_order),
            (
                &mut self.latency,
                Policy::Latency,
                Cost {
                    registers,
                    loaded,
                    ..none
                },
            ),
            (
                &mut self.loads_first,
                Policy::Loads(u32::MAX),
                Cost { registers, ..none },
            ),
            (&mut self.within_32, Policy::Loads(32), of_order),
        ] {
            if peak.max(bound) != *peak {
                *peak = peak.max(graph.cost(policy));
            }
        }
    }
}

impl BlockGraph {
    /// Returns a bound on the cost of every order: all values live at once, with the temporaries of
    /// the instruction that has most.
    fn bound(&self) -> Cost {
        let mut bound = Cost::default();
        let mut taken = Registers::default();
        for value in &self.values {
            bound.everything += 1;
            if value.is_uniform {
                bound.uniform += 1;
                continue;
            }
            bound.registers += 1;
            bound.loaded += u32::from(value.is_loaded);
            bound.kept += u32::from(!value.is_recomputed);
            taken.add(value.place, 1);
        }
        let (mut temporaries, mut has_exchange) = (0, false);
        for node in &self.nodes {
            temporaries = temporaries.max(node.temporaries);
            has_exchange |= node.is_exchange;
            taken.odd += node.stored_constants as i32;
        }
        bound.over_exchanges = if has_exchange { bound.everything } else { 0 };
        bound.registers += temporaries;
        bound.spaced = taken.span() + temporaries;
        bound
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::cells::Cells;
    use crate::estimate::live_cells::LiveCells;
    use crate::estimate::lower::Nodes;
    use crate::estimate::regions::regions;
    use crate::estimate::schedule::Scratch;
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::{ControlFlow, Divergence, Liveness};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_order_exceeds_the_bound(seed: u64) {
            let function = oriel_ori::random_function::random_function(seed, Stage::Late);
            let flow = ControlFlow::analyze(&function, Traversal::default());
            let liveness = Liveness::compute(&function, &flow);
            let divergence = Divergence::compute(&function, &flow, &liveness);
            let cells = Cells::new(&function, &divergence, 90);
            let nodes = Nodes::new(&function, &cells, 90);
            let live = LiveCells::new(&function, &flow, &nodes);
            for region in &regions(&function, &flow, &nodes) {
                let graph = BlockGraph::new(&cells, &nodes, &live, region, &mut Scratch::default());
                let bound = graph.bound();
                let policies = [
                    Policy::Source,
                    Policy::Least,
                    Policy::Latency,
                    Policy::Loads(u32::MAX),
                    Policy::Loads(32),
                ];
                for policy in policies {
                    let cost = graph.cost(policy);
                    prop_assert_eq!(cost.max(bound), bound, "{:?}: {:?}", policy, cost);
                }
            }
        }
    }
}
