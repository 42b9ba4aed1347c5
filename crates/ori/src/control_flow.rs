//! The control flow of a function: edges, orders, dominators and loops.

use super::function::Function;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::{
    ControlFlowGraph, DominatorTree, EdgeMap, Graph, LoopForest, PostDominatorTree, ReversePostorder,
    Traversal, irreducible_edges, retreating_edges,
};
use std::fmt::{self, Write};

/// The control flow of a function, valid while it does not change.
#[derive(Clone, Debug)]
pub struct ControlFlow {
    /// The edges and their reverse.
    pub graph: ControlFlowGraph<Block>,
    /// Reverse post-order of the reachable blocks.
    pub order: ReversePostorder<Block>,
    /// Immediate dominators.
    pub dominators: DominatorTree<Block>,
    /// Natural loops.
    pub loops: LoopForest<Block>,
}

impl ControlFlow {
    /// Analyses a function, whose blocks are numbered by the default depth-first search.
    ///
    /// # Panics
    /// The function has no blocks.
    pub fn of(function: &Function) -> Self {
        Self::analyze(function, Traversal::default())
    }

    /// Analyses a function, whose blocks are numbered by this search.
    ///
    /// # Panics
    /// The function has no blocks.
    pub fn analyze(function: &Function, traversal: Traversal) -> Self {
        Self::analyze_without(function, traversal, |_, _| false)
    }

    /// Analyses a function without the edges, by source and target, that are left out.
    ///
    /// # Panics
    /// The function has no blocks.
    pub fn analyze_without(
        function: &Function,
        traversal: Traversal,
        is_left_out: impl Fn(Block, Block) -> bool,
    ) -> Self {
        let blocks = function.blocks().iter();
        let edges: Vec<(Block, Block)> = blocks
            .flat_map(|&block| function.successors(block).map(move |target| (block, target)))
            .filter(|&(block, target)| !is_left_out(block, target))
            .collect();
        let graph = ControlFlowGraph::new(function.block_limit(), function.entry(), edges.into_iter());
        let order = ReversePostorder::new(&graph, traversal);
        let dominators = DominatorTree::new(&graph, &order);
        let loops = LoopForest::new(&graph, &order, &dominators);
        Self {
            graph,
            order,
            dominators,
            loops,
        }
    }

    /// Returns the targets of all edges by source; built on each call.
    pub fn successors(&self) -> EdgeMap<Block> {
        let sources = self.graph.nodes();
        let edges = sources.flat_map(|block| {
            self.graph
                .successors(block)
                .iter()
                .map(move |&target| (block, target))
        });
        edges.collect()
    }

    /// Returns the targets of the retreating edges by source; built on each call.
    pub fn back_edges(&self) -> EdgeMap<Block> {
        retreating_edges(&self.graph, &self.order).collect()
    }

    /// Returns the post-dominators; computed on each call.
    pub fn post_dominators(&self) -> PostDominatorTree<Block> {
        PostDominatorTree::new(&self.graph)
    }

    /// Returns the edges into the middle of a cycle with several entries.
    pub fn irreducible_edges(&self) -> impl Iterator<Item = (Block, Block)> + '_ {
        irreducible_edges(&self.graph, &self.order, &self.dominators)
    }

    /// Writes the edges, one line each.
    ///
    /// # Errors
    /// `out` cannot be written to.
    pub fn print_edges(&self, function: &Function, out: &mut dyn Write) -> fmt::Result {
        let successors = self.successors();
        for &block in function.blocks() {
            for &target in successors.find(block) {
                writeln!(out, "bix{} -> bix{}", block.index(), target.index())?;
            }
        }
        Ok(())
    }

    /// Writes positions in the order, and back edges.
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
        let back_edges = self.back_edges();
        for &block in function.blocks() {
            for target in back_edges.find(block) {
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

    /// Writes the natural loops, outer ones first, and the edges into cycles with several entries.
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

    /// Writes the graph in Graphviz format. Labels are LLVM's block numbers, in hexadecimal digits.
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
