//! Computes the cells that are live at block boundaries.
//!
//! Follows every use back to its definitions, block by block, in time proportional to the sum of
//! the live ranges in blocks.

use super::cells::Cell;
use super::nodes::Nodes;
use oriel_engine::bitvector::ScratchSet;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::graph::rows::Rows;
use oriel_ori::{ControlFlow, Function};
use std::mem::replace;

/// The live cells at block boundaries.
#[derive(Clone, Debug)]
pub struct LiveCells {
    live_in: Rows<Block, Cell>,
    live_out: Rows<Block, Cell>,
}

impl LiveCells {
    /// Computes them.
    pub fn new(function: &Function, flow: &ControlFlow, nodes: &Nodes) -> Self {
        let blocks = function.block_limit();
        let mut exposed: Vec<(Cell, Block)> = Vec::new();
        let mut defined: Vec<(Cell, Block)> = Vec::with_capacity(nodes.cell_count());
        let mut defined_here = ScratchSet::with_room(nodes.cell_count());
        let mut exposed_here = ScratchSet::with_room(nodes.cell_count());
        for &block in function.blocks() {
            defined_here.clear();
            exposed_here.clear();
            for node in nodes.of(block) {
                for &cell in &node.used {
                    if !defined_here.contains(cell) && exposed_here.insert(cell) {
                        exposed.push((cell, block));
                    }
                }
                for &cell in &node.defined {
                    if defined_here.insert(cell) {
                        defined.push((cell, block));
                    }
                }
            }
        }
        let exposed = rows(nodes.cell_count(), &exposed);
        let defined = rows(nodes.cell_count(), &defined);
        let (mut live_in, mut live_out) = (Vec::new(), Vec::new());
        // By block: the last cell found live there, or defined there, counted from one.
        let mut is_in = vec![0; blocks];
        let mut is_out = vec![0; blocks];
        let mut is_defined = vec![0; blocks];
        let mut pending: Vec<Block> = Vec::new();
        for cell in (0..nodes.cell_count()).map(Cell::new) {
            let mark = cell.index() as u32 + 1;
            pending.extend(exposed.of(cell));
            if pending.is_empty() {
                continue;
            }
            for block in defined.of(cell) {
                is_defined[block.index()] = mark;
            }
            while let Some(block) = pending.pop() {
                if replace(&mut is_in[block.index()], mark) == mark {
                    continue;
                }
                live_in.push((block, cell));
                for &predecessor in flow.graph.predecessors(block) {
                    if replace(&mut is_out[predecessor.index()], mark) != mark {
                        live_out.push((predecessor, cell));
                    }
                    if is_defined[predecessor.index()] != mark {
                        pending.push(predecessor);
                    }
                }
            }
        }
        Self {
            live_in: rows(blocks, &live_in),
            live_out: rows(blocks, &live_out),
        }
    }

    /// Returns the cells that are live at the start of a block, ascending.
    pub fn live_in(&self, block: Block) -> &[Cell] {
        self.live_in.of(block)
    }

    /// Returns the cells that are live at the end of a block, ascending.
    pub fn live_out(&self, block: Block) -> &[Cell] {
        self.live_out.of(block)
    }
}

/// Returns the lists of the second of each pair by the first, in the order of the pairs.
fn rows<K: EntityRef, V: EntityRef>(keys: usize, pairs: &[(K, V)]) -> Rows<K, V> {
    let mut rows = Rows::default();
    rows.fill(keys, pairs.iter().copied());
    rows
}
