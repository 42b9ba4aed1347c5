//! The least registers that a function needs, according to two orders of its instructions.

use super::Target;
use super::cells::Cells;
use super::dead_ends::{divergence_of_remaining_lanes, flow_of_machine};
use super::live_cells::LiveCells;
use super::nodes::Nodes;
use super::regions::regions;
use super::schedule::{BlockGraph, ScheduleOrder, Scratch};
use oriel_ori::{Function, Liveness};

/// Returns the registers of the fullest region in the better of two orders, without values that are
/// cheap to recompute. The orders are the one with few registers, and LLVM's with loads where they
/// are read.
pub fn least_need(function: &Function, target: &Target) -> u32 {
    let flow = flow_of_machine(function);
    let liveness = Liveness::compute(function, &flow);
    let divergence = divergence_of_remaining_lanes(function, &flow, &liveness);
    let cells = Cells::new(function, &divergence, target.sm);
    let nodes = Nodes::new(function, &cells, target.sm);
    let live = LiveCells::new(function, &flow, &nodes);
    let mut scratch = Scratch::default();
    let needs = regions(function, &flow, &nodes).into_iter().map(|region| {
        let graph = BlockGraph::new(&cells, &nodes, &live, &region, &mut scratch);
        let [few, on_demand] =
            [ScheduleOrder::Least, ScheduleOrder::OnDemand].map(|order| graph.cost(order).kept);
        few.min(on_demand)
    });
    needs.max().unwrap_or(0)
}
