//! ptxas' effect on an order: it moves loads up to where their addresses are known, and keeps the
//! rest.

use super::is_load;
use oriel_engine::entity::{EntityRef, SecondaryMap};
use oriel_ori::Function;
use oriel_ori::analysis::{DependencyGraph, DependencyNode};
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Returns the nodes of a graph in this order, with each load as early as possible.
pub(super) fn loads_first(
    function: &Function,
    graph: &DependencyGraph,
    order: &[DependencyNode],
) -> Vec<DependencyNode> {
    let mut places: SecondaryMap<DependencyNode, usize> = SecondaryMap::with_capacity(order.len());
    for (place, &node) in order.iter().enumerate() {
        places[node] = place;
    }
    let candidate = |node: DependencyNode| {
        let is_late = !is_load(function, graph.instruction(node));
        Reverse((is_late, places[node]))
    };
    let mut waits_for: Vec<usize> = graph.nodes().map(|node| graph.predecessors(node).len()).collect();
    let mut ready: BinaryHeap<_> = graph
        .nodes()
        .filter(|&node| graph.predecessors(node).is_empty())
        .map(candidate)
        .collect();
    let mut result = Vec::with_capacity(order.len());
    while let Some(Reverse((_, place))) = ready.pop() {
        let node = order[place];
        result.push(node);
        for &(later, _) in graph.successors(node) {
            waits_for[later.index()] -= 1;
            if waits_for[later.index()] == 0 {
                ready.push(candidate(later));
            }
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::parse_function;

    #[test]
    fn loads_go_up_to_their_addresses() {
        let text = "kernel \"k\" sm_80 late {
bix0:
    %1:R64 = LD.param::entry.b64.b64 [0]
    %2:R32 = MOV.b32 7
    %3:R32 = IADD.b32 %2, 1
    %4:R32 = LD.global.b32.b32 [%1]
    %5:R64 = CVT.u64.u32 %3
    %6:R32 = LD.global.b32.b32 [%5]
    RET
}
";
        let function = parse_function(text).unwrap_or_else(|error| panic!("{error}"));
        let graph = DependencyGraph::compute(&function, function.entry());
        let order: Vec<DependencyNode> = graph.nodes().collect();
        let found = loads_first(&function, &graph, &order);
        let found: Vec<usize> = found.into_iter().map(EntityRef::index).collect();
        assert_eq!(found, [0, 3, 1, 2, 4, 5]);
    }
}
