//! Orders, dominators and loops on graphs of 1k to 1M blocks, with petgraph's dominators for
//! comparison.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::{
    ControlFlowGraph, DominanceFrontier, DominatorTree, LoopForest, PostDominatorTree, ReversePostorder,
    Traversal,
};
use petgraph::algo::dominators::simple_fast;
use petgraph::graph::{DiGraph, NodeIndex};
use rand_pcg::Pcg64;
use rand_pcg::rand_core::Rng;
use std::hint::black_box;

type Edges = Vec<(usize, usize)>;

/// Nested loops and branches over a few blocks. A block opens a loop, closes one, branches or falls
/// through; branches may lead into the middle of a loop, so much of the graph is irreducible.
fn branches(blocks: usize) -> Edges {
    let mut random = Pcg64::new(blocks as u128, 1);
    let mut edges: Edges = (1..blocks).map(|block| (block - 1, block)).collect();
    let mut headers = Vec::new();
    for block in 1..blocks - 8 {
        match random.next_u64() % 8 {
            0 | 1 if headers.len() < 4 => headers.push(block),
            0..=2 => edges.extend(headers.pop().map(|header| (block, header))),
            3..=5 => edges.push((block, block + 2 + (random.next_u64() % 6) as usize)),
            _ => {}
        }
    }
    edges
}

/// A chain in which every block can leave for the last one.
fn early_exits(blocks: usize) -> Edges {
    let line = (1..blocks - 1).flat_map(|block| [(block - 1, block), (block - 1, blocks - 1)]);
    line.chain([(blocks - 2, blocks - 1)]).collect()
}

fn analyses(criterion: &mut Criterion) {
    let shapes = [
        ("branches", branches as fn(usize) -> Edges),
        ("early exits", early_exits),
    ];
    for (shape, edges_of) in shapes {
        for blocks in [1_000, 100_000, 1_000_000] {
            measure(criterion, shape, blocks, &edges_of(blocks));
        }
    }
}

fn measure(criterion: &mut Criterion, shape: &str, blocks: usize, edges: &Edges) {
    let typed = edges
        .iter()
        .map(|&(source, target)| (Block::new(source), Block::new(target)));
    let graph = ControlFlowGraph::new(blocks, Block::new(0), typed.clone());
    let order = ReversePostorder::new(&graph, Traversal::ExplicitStack);
    let tree = DominatorTree::new(&graph, &order);
    let mut group = criterion.benchmark_group(shape);
    group.throughput(Throughput::Elements(blocks as u64));
    group.sample_size(10);
    group.bench_function(BenchmarkId::new("graph from edges", blocks), |bencher| {
        bencher.iter(|| ControlFlowGraph::new(blocks, Block::new(0), black_box(typed.clone())));
    });
    for traversal in [Traversal::ExplicitStack, Traversal::Recursive] {
        let mut order = ReversePostorder::default();
        group.bench_function(
            BenchmarkId::new(format!("order, {traversal:?}"), blocks),
            |bencher| {
                bencher.iter(|| order.compute(black_box(&graph), traversal));
            },
        );
    }
    let mut again = DominatorTree::default();
    group.bench_function(BenchmarkId::new("dominators", blocks), |bencher| {
        bencher.iter(|| again.compute(black_box(&graph), &order));
    });
    group.bench_function(BenchmarkId::new("order and dominators, new", blocks), |bencher| {
        bencher.iter(|| {
            let order = ReversePostorder::new(black_box(&graph), Traversal::ExplicitStack);
            DominatorTree::new(&graph, &order)
        });
    });
    // It takes minutes where every block leads to one exit.
    if shape == "branches" || blocks <= 1_000 {
        let other: DiGraph<(), ()> = DiGraph::from_edges(
            edges
                .iter()
                .map(|&(source, target)| (source as u32, target as u32)),
        );
        group.bench_function(BenchmarkId::new("dominators, petgraph", blocks), |bencher| {
            bencher.iter(|| simple_fast(black_box(&other), NodeIndex::new(0)));
        });
    }
    group.bench_function(BenchmarkId::new("post-dominators", blocks), |bencher| {
        bencher.iter(|| PostDominatorTree::new(black_box(&graph)));
    });
    group.bench_function(BenchmarkId::new("loops", blocks), |bencher| {
        bencher.iter(|| LoopForest::new(black_box(&graph), &order, &tree));
    });
    group.bench_function(BenchmarkId::new("frontier", blocks), |bencher| {
        bencher.iter(|| DominanceFrontier::new(black_box(&graph), &tree));
    });
    group.finish();
}

criterion_group!(benches, analyses);
criterion_main!(benches);
