//! The peaks of a function's schedules, over all of its regions.
//!
//! Only the region with the highest peak counts. So a region is not scheduled if an upper bound for
//! all of its orders does not exceed the highest peak so far.

use super::allocation::Registers;
use super::value::{Counts, Release};
use super::{BlockGraph, Cost, ScheduleOrder};

/// The peaks of each schedule; a field that no feature reads may be below the peak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SchedulePeaks {
    pub source: Cost,
    pub least: Cost,
    pub latency: Cost,
    pub loads_first: Cost,
    pub within_target: Cost,
    /// The same for the other target; zero without one.
    pub within_other: Cost,
    /// Up to how many registers loads go first in these two.
    target: u32,
    other_target: Option<u32>,
}

impl SchedulePeaks {
    /// No peaks yet; the targets are for the last orders.
    pub fn new(target: u32, other_target: Option<u32>) -> Self {
        Self {
            target,
            other_target,
            ..Self::default()
        }
    }

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
        let in_source_order = Cost {
            spaced: 0,
            kept: 0,
            ..bound
        };
        let by_latency = Cost {
            registers,
            loaded,
            ..none
        };
        let loads_first = Cost { registers, ..none };
        for (peak, order, bound) in [
            (&mut self.source, ScheduleOrder::Source, in_source_order),
            (&mut self.least, ScheduleOrder::Least, of_order),
            (&mut self.latency, ScheduleOrder::Latency, by_latency),
        ] {
            if peak.max(bound) != *peak {
                *peak = peak.max(graph.cost(order));
            }
        }
        if let Some(target) = self.other_target
            && self.within_other.max(of_order) != self.within_other
        {
            self.within_other = self.within_other.max(graph.cost(ScheduleOrder::Loads(target)));
        }
        if self.within_target.max(of_order) != self.within_target {
            let (cost, is_limited) = graph.loads_cost::<true>(self.target);
            self.within_target = self.within_target.max(cost);
            // With fewer registers than that, the order is the one without a limit.
            if !is_limited {
                self.loads_first = self.loads_first.max(cost);
                return;
            }
        }
        if self.loads_first.max(loads_first) != self.loads_first {
            self.loads_first = self.loads_first.max(graph.cost(ScheduleOrder::Loads(u32::MAX)));
        }
    }
}

impl BlockGraph {
    /// Returns a bound on the cost of every order: the values live at the start, and all by which
    /// nodes raise the number of live values, with the temporaries of the node that has most.
    ///
    /// A node that reads a value alone frees it in every order. Its register is free at once if the
    /// node does not access memory.
    fn bound(&self) -> Cost {
        let mut counts = Counts::default();
        let mut taken = Registers::default();
        for value in &self.values[..self.live_in as usize] {
            counts.add(value.counts);
            taken.add(value.place, value.counts.registers());
        }
        let (mut temporaries, mut has_exchange) = (0, false);
        for node in &self.nodes {
            let mut growth = Counts::default();
            let mut taken_here = Registers::default();
            for value in &self.values[node.defined()] {
                growth.add(value.counts);
                taken_here.add(value.place, value.counts.registers());
            }
            for &value in self.used(node) {
                if self.readers[value as usize] > 1 {
                    continue;
                }
                let value = self.values[value as usize];
                growth.remove(value.counts);
                if node.release == Release::Read {
                    taken_here.add(value.place, -value.counts.registers());
                }
            }
            counts.add(growth.max(Counts::default()));
            taken.add_growth(taken_here);
            taken.odd += node.stored_constants as i32;
            temporaries = temporaries.max(node.temporaries);
            has_exchange |= node.is_exchange;
        }
        let everything = (counts.registers() + counts.uniform()) as u32;
        Cost {
            registers: counts.registers() as u32 + temporaries,
            uniform: counts.uniform() as u32,
            everything,
            loaded: counts.loaded() as u32,
            spaced: taken.span() + temporaries,
            kept: counts.kept() as u32,
            over_exchanges: if has_exchange { everything } else { 0 },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::estimate::cells::Cells;
    use crate::estimate::live_cells::LiveCells;
    use crate::estimate::nodes::Nodes;
    use crate::estimate::regions::regions;
    use crate::estimate::schedule::Scratch;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::{ControlFlow, Divergence, Liveness};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_order_exceeds_the_bound(seed: u64) {
            let function = oriel_ori::random_function::random_function(seed, Stage::Late);
            let flow = ControlFlow::of(&function);
            let liveness = Liveness::compute(&function, &flow);
            let divergence = Divergence::compute(&function, &flow, &liveness);
            let cells = Cells::new(&function, &divergence, 90);
            let nodes = Nodes::new(&function, &cells, 90);
            let live = LiveCells::new(&function, &flow, &nodes);
            for region in &regions(&function, &flow, &nodes) {
                let graph = BlockGraph::new(&cells, &nodes, &live, region, &mut Scratch::default());
                let bound = graph.bound();
                let orders = [
                    ScheduleOrder::Source,
                    ScheduleOrder::Least,
                    ScheduleOrder::Latency,
                    ScheduleOrder::OnDemand,
                    ScheduleOrder::Loads(u32::MAX),
                    ScheduleOrder::Loads(32),
                ];
                for order in orders {
                    let cost = graph.cost(order);
                    prop_assert_eq!(cost.max(bound), bound, "{:?}: {:?}", order, cost);
                }
            }
        }
    }
}
