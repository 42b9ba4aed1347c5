//! Phase 3, AnalyzeControlFlow: edges, orders, dominators and loops of a function.
//!
//! ```text
//! bix0: ... BRA %p, bix2, fall bix1      successors: bix0 -> bix2, bix1   order: 0 1 2
//! bix1: ... BRA bix1                     back edges: bix1 -> bix1         loop:  bix1
//! ```
//!
//! The reference builds a map of successors by the last instruction of each block, a map of back edges,
//! the reverse post-order and, from both, immediate dominators; these are here, with the natural loops.
//! The function stays as it is. Other phases ask for a [`ControlFlow`] of their own when they need one,
//! since nothing keeps an old one up to date.
//!
//! Departures: Ori's terminators name every target, so nothing depends on the block that comes next, and a
//! call is no terminator. Back edges are those of the walk (`RPO(target) <= RPO(source)`), as the
//! reference has it; natural loops come from dominators, since with several ways into a cycle the walk
//! alone does not say where it begins.

use super::{PhaseContext, PhaseResult};
use crate::entity::{Block, EntityRef};
use crate::graph::{
    ControlFlowGraph, DominatorTree, EdgeMap, LoopForest, PostDominatorTree, ReversePostorder, Traversal,
    irreducible_edges, retreating_edges,
};
use crate::ori::Function;
use std::fmt::{self, Write};

/// The phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let flow = ControlFlow::analyze(function, Traversal::default());
    context.count("blocks", flow.order.len() as u64);
    context.count(
        "unreachable-blocks",
        (function.blocks().len() - flow.order.len()) as u64,
    );
    context.count("edges", flow.successors.edge_count() as u64);
    context.count("back-edges", flow.back_edges.edge_count() as u64);
    context.count("loops", flow.loops.len() as u64);
    context.count("irreducible-edges", flow.irreducible_edges().count() as u64);
    PhaseResult::Unchanged
}

/// What the control flow of a function looks like, as long as it stays as it is.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// Targets by block, of every block in the layout.
    pub successors: EdgeMap<Block>,
    /// Targets of edges that go back in the order, by source.
    pub back_edges: EdgeMap<Block>,
    /// The same edges in flat arrays, and their reverse.
    pub graph: ControlFlowGraph<Block>,
    /// Reverse post-order of the blocks that control can come to.
    pub order: ReversePostorder<Block>,
    /// Immediate dominators.
    pub dominators: DominatorTree<Block>,
    /// Natural loops.
    pub loops: LoopForest<Block>,
}

impl ControlFlow {
    /// Analyses a function.
    ///
    /// # Panics
    /// The function has no blocks.
    pub fn analyze(function: &Function, traversal: Traversal) -> Self {
        let mut successors = EdgeMap::new();
        let mut edges = Vec::new();
        for &block in function.blocks() {
            successors.insert_empty(block);
            for target in function.successors(block) {
                successors.insert(block, target);
                edges.push((block, target));
            }
        }
        let graph = ControlFlowGraph::new(function.block_limit(), function.entry(), edges.iter().copied());
        let order = ReversePostorder::new(&graph, traversal);
        let dominators = DominatorTree::new(&graph, &order);
        let loops = LoopForest::new(&graph, &order, &dominators);
        let mut back_edges = EdgeMap::new();
        for (source, target) in retreating_edges(&graph, &order) {
            back_edges.insert(source, target);
        }
        Self {
            successors,
            back_edges,
            graph,
            order,
            dominators,
            loops,
        }
    }

    /// Post-dominators; computed anew each time.
    pub fn post_dominators(&self) -> PostDominatorTree<Block> {
        PostDominatorTree::new(&self.graph)
    }

    /// Edges into the middle of a cycle that has several entries.
    pub fn irreducible_edges(&self) -> impl Iterator<Item = (Block, Block)> + '_ {
        irreducible_edges(&self.graph, &self.order, &self.dominators)
    }

    /// Writes the edges, a line each.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn print_edges(&self, function: &Function, out: &mut dyn Write) -> fmt::Result {
        for &block in function.blocks() {
            for &target in self.graph.successors(block) {
                writeln!(out, "bix{} -> bix{}", block.index(), target.index())?;
            }
        }
        Ok(())
    }

    /// Writes positions in the order and back edges.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn print_order_and_back_edges(&self, function: &Function, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "Showing RPO state for each basic block:")?;
        for &block in function.blocks() {
            match self.order.position(block) {
                Some(position) => writeln!(out, "bix{} -> RPONum: {}", block.index(), position.index())?,
                None => writeln!(out, "bix{} -> unreachable", block.index())?,
            }
        }
        let order: Vec<String> = self
            .order
            .as_slice()
            .iter()
            .map(|block| block.index().to_string())
            .collect();
        writeln!(out, "RPO traversal order: [{}]", order.join(", "))?;
        writeln!(out, "Showing backedge info:")?;
        for &block in function.blocks() {
            for target in self.back_edges.find(block).unwrap_or_default() {
                writeln!(
                    out,
                    "bix{} -> backedge's successor BB: {}",
                    block.index(),
                    target.index()
                )?;
            }
        }
        Ok(())
    }

    /// Writes the graph for Graphviz. Labels are LLVM's block numbers, in hexadecimal digits.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn print_dot(&self, function: &Function, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "digraph f {{")?;
        writeln!(out, "node [fontname=\"Courier\",fontsize=10,shape=Mrecord];")?;
        for &block in function.blocks() {
            let bix = block.index();
            writeln!(out, "\"bix{bix}\"")?;
            writeln!(out, "[label=\"bix{bix}(L{:x})\"]", function.label(block))?;
            for target in self.graph.successors(block) {
                writeln!(out, "bix{bix} -> bix{}", target.index())?;
            }
        }
        writeln!(out, "}}")
    }
}
