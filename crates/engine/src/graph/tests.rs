//! Tests all analyses on random graphs against the definitions, and on small graphs for single
//! points.

use super::immediate::cooper_harvey_kennedy;
use super::semi_nca::semi_nca;
use super::testing::{Naive, Set, bit, graph, members, on_random_graphs, set};
use super::*;
use crate::entity::{Block, PackedOption};

type Cfg = ControlFlowGraph<Block>;

fn block(index: usize) -> Block {
    Block::new(index)
}

fn order(graph: &Cfg) -> ReversePostorder<Block> {
    ReversePostorder::new(graph, Traversal::default())
}

fn dominators(graph: &Cfg) -> DominatorTree<Block> {
    DominatorTree::new(graph, &order(graph))
}

/// The textbook's recursive post-order.
fn leave(graph: &Cfg, node: Block, first_first: bool, seen: &mut Set, left: &mut Vec<Block>) {
    *seen |= bit(node);
    let mut successors = graph.successors(node).to_vec();
    if !first_first {
        successors.reverse();
    }
    for successor in successors {
        if *seen & bit(successor) == 0 {
            leave(graph, successor, first_first, seen, left);
        }
    }
    left.push(node);
}

fn check_order(graph: &Cfg, naive: &Naive, traversal: Traversal, found: &ReversePostorder<Block>) {
    let mut expected = Vec::new();
    let first_first = traversal == Traversal::Recursive;
    leave(graph, graph.entry(), first_first, &mut 0, &mut expected);
    expected.reverse();
    assert_eq!(found.as_slice(), expected, "{traversal:?}");
    for node in graph.nodes() {
        let position = expected.iter().position(|&other| other == node);
        assert_eq!(found.position(node).map(OrderPosition::index), position);
        assert_eq!(found.is_reachable(node), naive.reachable & bit(node) != 0);
    }
    // A retreating edge closes a cycle of nodes that lie between its ends.
    for (source, target) in retreating_edges(graph, found) {
        let (first, last) = (found.position(target).unwrap(), found.position(source).unwrap());
        assert!(first <= last);
        let between = set((first.index()..=last.index()).map(|index| found.node(OrderPosition::new(index))));
        assert_ne!(
            naive.reach(bit(target), between) & bit(source),
            0,
            "{source} -> {target}"
        );
    }
}

fn check_dominators(graph: &Cfg, naive: &Naive, found: &DominatorTree<Block>) {
    for node in graph.nodes() {
        let reachable = naive.reachable & bit(node) != 0;
        assert_eq!(found.is_reachable(node), reachable);
        let strict = if reachable {
            naive.dominators(node) & !bit(node)
        } else {
            0
        };
        assert_eq!(
            found.immediate(node),
            naive.lowest(strict),
            "immediate dominator of {node}"
        );
        let below = set(graph
            .nodes()
            .filter(|&below| found.immediate(below) == Some(node)));
        let children: Vec<Block> = found.children(node).collect();
        assert_eq!(
            (set(children.iter().copied()), children.len() as u32),
            (below, below.count_ones())
        );
        for other in graph.nodes() {
            assert_eq!(
                found.dominates(node, other),
                naive.dominates(node, other),
                "{node} and {other}"
            );
        }
    }
    let mut seen = 0;
    for &node in found.preorder() {
        assert!(found.immediate(node).is_none_or(|above| seen & bit(above) != 0));
        seen |= bit(node);
    }
    assert_eq!(
        (seen, found.preorder().len() as u32),
        (naive.reachable, seen.count_ones())
    );
}

fn check_both_algorithms(graph: &Cfg, order: &ReversePostorder<Block>) {
    let (mut by_iteration, mut by_semidominators) = (Vec::new(), Vec::new());
    semi_nca(graph, order, &mut by_semidominators);
    if cooper_harvey_kennedy(graph, order, &mut by_iteration) {
        assert_eq!(by_iteration, by_semidominators);
    }
}

fn check_frontier(graph: &Cfg, naive: &Naive, found: &DominanceFrontier<Block>) {
    for node in graph.nodes() {
        let ends = |&end: &Block| {
            let strictly = node != end && naive.dominates(node, end);
            naive.predecessors(end) & naive.dominated(node) != 0 && !strictly
        };
        let expected: Vec<Block> = members(naive.reachable).filter(ends).collect();
        assert_eq!(found.of(node).collect::<Vec<_>>(), expected, "frontier of {node}");
    }
}

fn check_post_dominators(graph: &Cfg, naive: &Naive, found: &PostDominatorTree<Block>) {
    assert!(naive.reach_back(naive.roots, naive.all) == naive.all);
    let reversed = ReversedGraph::new(graph);
    let roots: Vec<Block> = reversed.successors(reversed.exit()).collect();
    assert_eq!(set(roots.iter().copied()), naive.roots);
    assert_eq!(roots.len() as u32, naive.roots.count_ones());
    for node in graph.nodes() {
        let strict = naive.post_dominators(node) & !bit(node);
        assert_eq!(
            found.immediate(node),
            naive.lowest_post(strict),
            "immediate post-dominator of {node}"
        );
    }
}

/// Both sides of the reversed graph list the same edges.
fn check_reversed(graph: &Cfg) {
    let reversed = ReversedGraph::new(graph);
    let mut forward: Vec<(usize, usize)> = Vec::new();
    let mut backward = Vec::new();
    for node in reversed.nodes() {
        forward.extend(
            reversed
                .successors(node)
                .map(|other| (node.index(), other.index())),
        );
        backward.extend(
            reversed
                .predecessors(node)
                .map(|other| (other.index(), node.index())),
        );
    }
    forward.sort_unstable();
    backward.sort_unstable();
    assert_eq!(forward, backward);
    assert_eq!(
        forward.len(),
        graph.edge_count() + reversed.successors(reversed.exit()).count()
    );
}

fn check_loops(graph: &Cfg, naive: &Naive, order: &ReversePostorder<Block>, found: &LoopForest<Block>) {
    let expected = naive.loops();
    assert_eq!(found.len(), expected.len());
    assert_eq!(found.is_empty(), expected.is_empty());
    let nodes_of = |header: Block| {
        expected
            .iter()
            .find(|&&(other, _)| other == header)
            .expect("a header")
            .1
    };
    for each in found.loops() {
        let header = found.header(each);
        let nodes = nodes_of(header);
        assert_eq!(set(found.nodes(each).iter().copied()), nodes, "loop of {header}");
        assert_eq!(found.nodes(each).len() as u32, nodes.count_ones());
        assert_eq!(found.nodes(each)[0], header);
        let around = expected
            .iter()
            .filter(|(other, outer)| *other != header && outer & bit(header) != 0);
        let depth = 1 + around.clone().count();
        assert_eq!(found.depth(each), depth);
        let parent = around
            .min_by_key(|(_, outer)| outer.count_ones())
            .map(|&(header, _)| header);
        assert_eq!(found.parent(each).map(|parent| found.header(parent)), parent);
        for child in found.children(each) {
            assert_eq!(found.parent(child), Some(each));
        }
        let directly_in = found
            .loops()
            .filter(|&inner| found.parent(inner) == Some(each))
            .count();
        assert_eq!(found.children(each).count(), directly_in);
        for inner in found.loops() {
            let encloses = nodes & bit(found.header(inner)) != 0;
            assert_eq!(found.encloses(each, inner), encloses);
            assert!(!found.encloses(each, inner) || each <= inner);
        }
        for node in graph.nodes() {
            assert_eq!(found.contains(each, node), nodes & bit(node) != 0);
        }
        check_loop_edges(graph, naive, found, each, nodes);
    }
    for node in graph.nodes() {
        let around = expected.iter().filter(|(_, nodes)| nodes & bit(node) != 0);
        assert_eq!(found.depth_of(node), around.clone().count());
        let innermost = around
            .min_by_key(|(_, nodes)| nodes.count_ones())
            .map(|&(header, _)| header);
        assert_eq!(found.innermost(node).map(|inner| found.header(inner)), innermost);
        assert_eq!(
            found.is_header(node),
            expected.iter().any(|&(header, _)| header == node)
        );
    }
    let beside: Vec<_> = found
        .loops()
        .filter(|&each| found.parent(each).is_none())
        .collect();
    assert!(beside.is_sorted_by_key(|&each| order.position(found.header(each))));
}

fn check_loop_edges(graph: &Cfg, naive: &Naive, found: &LoopForest<Block>, each: Loop, nodes: Set) {
    let header = found.header(each);
    let latches: Vec<Block> = graph
        .predecessors(header)
        .iter()
        .copied()
        .filter(|&latch| naive.reachable & bit(latch) != 0 && naive.dominates(header, latch))
        .collect();
    assert_eq!(found.latches(graph, each).collect::<Vec<_>>(), latches);
    let mut exits: Vec<(Block, Block)> = found.exit_edges(graph, each).collect();
    let mut expected: Vec<(Block, Block)> = Vec::new();
    for source in members(nodes) {
        let leaving = graph
            .successors(source)
            .iter()
            .filter(|&&target| nodes & bit(target) == 0);
        expected.extend(leaving.map(|&target| (source, target)));
    }
    exits.sort_unstable();
    expected.sort_unstable();
    assert_eq!(exits, expected);
    let outside = naive.predecessors(header) & !nodes;
    let preheader = members(outside).next();
    let alone = |&before: &Block| outside == bit(before) && graph.successors(before).len() == 1;
    assert_eq!(found.preheader(graph, each), preheader.filter(alone));
}

fn check_edges(graph: &Cfg, naive: &Naive, order: &ReversePostorder<Block>, tree: &DominatorTree<Block>) {
    let mut edges = Vec::new();
    for &source in order.as_slice() {
        edges.extend(graph.successors(source).iter().map(|&target| (source, target)));
    }
    let is_back = |&(source, target): &(Block, Block)| naive.dominates(target, source);
    let irreducible: Vec<_> = irreducible_edges(graph, order, tree).collect();
    assert_eq!(irreducible.is_empty(), naive.is_reducible(naive.reachable));
    assert!(
        irreducible
            .iter()
            .all(|edge| edges.contains(edge) && !is_back(edge))
    );
    assert_eq!(
        retreating_edges(graph, order).count(),
        edges.iter().filter(|edge| is_back(edge)).count() + irreducible.len()
    );
}

#[test]
fn random_graphs_are_as_the_definitions_say() {
    // Computed again and again, as a compiler would.
    let mut order = ReversePostorder::default();
    let mut tree = DominatorTree::default();
    let (mut by_number, mut not_by_number) = (0, 0);
    on_random_graphs(|graph, _| {
        let naive = Naive::new(graph);
        match tree.compute_by_number(graph) {
            true => {
                check_dominators(graph, &naive, &tree);
                by_number += 1;
            }
            false => {
                assert!(tree.preorder().is_empty());
                not_by_number += 1;
            }
        }
        for traversal in [Traversal::Recursive, Traversal::ExplicitStack] {
            order.compute(graph, traversal);
            check_order(graph, &naive, traversal, &order);
            tree.compute(graph, &order);
            check_dominators(graph, &naive, &tree);
            check_both_algorithms(graph, &order);
            check_edges(graph, &naive, &order, &tree);
            check_loops(graph, &naive, &order, &LoopForest::new(graph, &order, &tree));
        }
        let mut frontier = DominanceFrontier::new(graph, &tree);
        check_frontier(graph, &naive, &frontier);
        // Memory is reused, and a limit is kept to.
        let size = graph.nodes().map(|node| frontier.of(node).count()).sum::<usize>();
        assert!(size == 0 || !frontier.compute(graph, &tree, size - 1));
        assert!(frontier.compute(graph, &tree, size));
        check_frontier(graph, &naive, &frontier);
        check_reversed(graph);
        check_post_dominators(graph, &naive, &PostDominatorTree::new(graph));
    });
    assert!(
        by_number > 100 && not_by_number > 100,
        "{by_number}, {not_by_number}"
    );
}

#[test]
fn a_graph_without_nodes_has_nothing() {
    let empty = graph(0, &[]);
    let order = order(&empty);
    let tree = DominatorTree::new(&empty, &order);
    assert!(order.is_empty() && tree.preorder().is_empty());
    assert!(LoopForest::new(&empty, &order, &tree).is_empty());
    PostDominatorTree::new(&empty);
}

#[test]
fn the_two_traversals_give_different_orders() {
    let diamond = graph(4, &[(0, 1), (0, 2), (1, 3), (2, 3)]);
    let by = |traversal| ReversePostorder::new(&diamond, traversal).as_slice().to_vec();
    assert_eq!(by(Traversal::ExplicitStack), [0, 1, 2, 3].map(block));
    assert_eq!(by(Traversal::Recursive), [0, 2, 1, 3].map(block));
}

/// The reference's listing to the letter, except that the entry is marked, without which it has no
/// number: a node on the stack is not pushed again.
fn order_as_printed(graph: &Cfg) -> Vec<Block> {
    let mut need_expand = set(graph.nodes());
    let mut in_stack = bit(graph.entry());
    let mut stack = vec![graph.entry()];
    let mut left = Vec::new();
    while let Some(&node) = stack.last() {
        if need_expand & bit(node) != 0 {
            need_expand &= !bit(node);
            for &successor in graph.successors(node) {
                if need_expand & !in_stack & bit(successor) != 0 {
                    in_stack |= bit(successor);
                    stack.push(successor);
                }
            }
            continue;
        }
        stack.pop();
        if in_stack & bit(node) != 0 {
            in_stack &= !bit(node);
            left.push(node);
        }
    }
    left.reverse();
    left
}

#[test]
fn the_order_as_printed_in_the_reference_is_not_topological() {
    let graph = graph(3, &[(0, 1), (0, 2), (2, 1)]);
    assert_eq!(order_as_printed(&graph), [0, 1, 2].map(block));
    let order = order(&graph);
    assert_eq!(order.as_slice(), [0, 2, 1].map(block));
    assert_eq!(retreating_edges(&graph, &order).count(), 0);
}

#[test]
fn edges_keep_their_order_and_repetitions() {
    let graph = graph(3, &[(0, 2), (0, 1), (0, 2), (1, 2)]);
    assert_eq!(graph.successors(block(0)), [2, 1, 2].map(block));
    assert_eq!(graph.predecessors(block(2)), [0, 0, 1].map(block));
    assert_eq!(graph.edge_count(), 4);
}

/// A chain of blocks, each of which can leave for one exit.
fn early_exits(count: usize) -> Cfg {
    let line = (1..count).flat_map(|node| [(node - 1, node), (node - 1, count)]);
    let edges: Vec<_> = line.chain([(count - 1, count)]).collect();
    graph(count + 1, &edges)
}

#[test]
fn where_iteration_takes_too_long_the_other_algorithm_takes_over() {
    let graph = early_exits(2000);
    let order = order(&graph);
    let mut immediate: Vec<PackedOption<OrderPosition>> = Vec::new();
    assert!(!cooper_harvey_kennedy(&graph, &order, &mut immediate));
    let tree = dominators(&graph);
    assert_eq!(tree.immediate(block(2000)), Some(block(0)));
    assert_eq!(tree.immediate(block(1999)), Some(block(1998)));
}

#[test]
fn numbers_serve_as_an_order_where_each_node_has_a_predecessor_with_a_lower_one() {
    let mut tree = DominatorTree::default();
    // 3 -> 2 closes no cycle, yet goes back in the numbers: the dominator of 2 is known in the second sweep.
    assert!(tree.compute_by_number(&graph(5, &[(0, 1), (1, 2), (1, 4), (0, 3), (3, 2), (2, 4)])));
    assert_eq!(tree.immediate(block(2)), Some(block(0)));
    assert_eq!(tree.immediate(block(4)), Some(block(0)));
    assert!(tree.reaches_all());
    assert!(
        !tree.compute_by_number(&graph(3, &[(0, 2), (2, 1)])),
        "1 is entered from 2 alone"
    );
    assert!(
        !tree.compute_by_number(&graph(3, &[(0, 2), (1, 2)])),
        "nothing reaches 1"
    );
    assert!(!tree.compute_by_number(&early_exits(2000)), "it takes too long");
    assert!(tree.preorder().is_empty());
}

#[test]
fn a_million_blocks_in_a_line_are_no_problem() {
    let count = 1_000_000;
    let graph = early_exits(count);
    let order = order(&graph);
    let tree = DominatorTree::new(&graph, &order);
    assert!(tree.dominates(block(0), block(count - 1)));
    assert!(!tree.dominates(block(1), block(count)));
    let post = PostDominatorTree::new(&graph);
    assert_eq!(post.immediate(block(0)), Some(block(count)));
    assert_eq!(
        ReversePostorder::new(&graph, Traversal::Recursive).len(),
        count + 1
    );
}

#[test]
fn deep_nests_are_near_linear() {
    // A chain of headers, then one block with an edge back to each of them.
    let depth = 200_000;
    let down = (0..depth).map(|node| (node, node + 1));
    let edges: Vec<_> = down.chain((0..depth).map(|header| (depth, header))).collect();
    let graph = graph(depth + 1, &edges);
    let order = order(&graph);
    let loops = LoopForest::new(&graph, &order, &DominatorTree::new(&graph, &order));
    assert_eq!(loops.len(), depth);
    assert_eq!(loops.depth_of(block(depth)), depth);
    assert_eq!(loops.nodes(Loop::new(0)).len(), depth + 1);
}

#[test]
fn an_irreducible_region_is_reported_and_is_no_loop() {
    let graph = graph(4, &[(0, 1), (0, 2), (1, 2), (2, 1), (2, 3)]);
    let order = order(&graph);
    let tree = DominatorTree::new(&graph, &order);
    assert_eq!(
        irreducible_edges(&graph, &order, &tree).collect::<Vec<_>>(),
        [(block(1), block(2))]
    );
    assert!(LoopForest::new(&graph, &order, &tree).is_empty());
}

/// The trees are those that LLVM 22 prints for these blocks (`opt -passes='print<postdomtree>'`).
#[test]
fn infinite_loops_end_where_they_do_in_llvm() {
    let one = graph(5, &[(0, 1), (1, 2), (2, 3), (2, 4), (3, 1), (4, 1)]);
    let post = PostDominatorTree::new(&one);
    assert_eq!(post.immediate(block(3)), None);
    let immediate = [1, 2, 3].map(|index| Some(block(index)));
    assert_eq!([0, 1, 2].map(|index| post.immediate(block(index))), immediate);
    assert_eq!(post.immediate(block(4)), Some(block(1)));
    let several = graph(5, &[(0, 2), (0, 1), (1, 1), (2, 4), (2, 3), (3, 3), (4, 4)]);
    let post = PostDominatorTree::new(&several);
    assert!(several.nodes().all(|node| post.immediate(node).is_none()));
    let reversed = ReversedGraph::new(&several);
    assert!(reversed.successors(reversed.exit()).eq([1, 3, 4].map(block)));
}
