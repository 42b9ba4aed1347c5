//! What the control flow of a function looks like: edges, orders, dominators and loops.

use super::function::Function;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::{
    ControlFlowGraph, DominatorTree, EdgeMap, LoopForest, PostDominatorTree, ReversePostorder, Traversal,
    irreducible_edges, retreating_edges,
};
use std::fmt::{self, Write};

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

    /// Writes the natural loops, outer ones first, and the edges into cycles that have several
    /// entries.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn print_loops(&self, out: &mut dyn Write) -> fmt::Result {
        writeln!(out, "Showing loops:")?;
        for natural_loop in self.loops.loops() {
            let blocks = self.loops.nodes(natural_loop).iter();
            let blocks: Vec<String> = blocks.map(|block| format!("bix{}", block.index())).collect();
            let header = self.loops.header(natural_loop).index();
            let depth = self.loops.depth(natural_loop);
            writeln!(out, "bix{header} -> depth {depth}: {}", blocks.join(", "))?;
        }
        for (source, target) in self.irreducible_edges() {
            writeln!(out, "bix{} -> irreducible: {}", source.index(), target.index())?;
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
