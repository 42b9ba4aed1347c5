//! Edits of blocks, edges and branches.

use super::editor::{EditBlock, EditError, EditedInstruction, Editor, InsertionPoint};
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::snapshot::abi::{
    EdgeRecord, OpcodeFlags, OperandKind, OperandRecord, PROBABILITY_DENOMINATOR, PROBABILITY_UNKNOWN,
};

impl Editor<'_> {
    /// Adds an empty block after `after` in the layout. It belongs to the IR block of `after`.
    ///
    /// # Errors
    /// `after` is not in the function any more.
    pub fn new_block(&mut self, after: Block) -> Result<Block, EditError> {
        let at = self.layout_position(after)?;
        let origin = self.blocks[after].origin;
        let block = self.blocks.push(EditBlock {
            origin,
            ..EditBlock::default()
        });
        self.order.insert(at + 1, block);
        Ok(block)
    }

    /// Splits a block: the instructions after `at` move to a new block after it, into which the
    /// first part falls through. PHIs of the successors are updated.
    ///
    /// # Errors
    /// The position is among the PHIs or after a terminator.
    pub fn split_block(&mut self, at: InsertionPoint) -> Result<Block, EditError> {
        let nodes = &self.blocks[at.block].nodes;
        let among_phis = nodes[at.index..].first().is_some_and(|&node| self.is_phi(node));
        let behind_terminator = nodes[..at.index]
            .iter()
            .any(|&node| self.opcode_flags(node).contains(OpcodeFlags::TERMINATOR));
        if among_phis || behind_terminator {
            return Err(EditError::BadSplit);
        }
        let tail = self.new_block(at.block)?;
        let moved = self.blocks[at.block].nodes.split_off(at.index);
        self.blocks[tail].nodes = moved;
        let fall_through = EdgeRecord {
            block: tail.as_u32(),
            probability: PROBABILITY_DENOMINATOR,
        };
        self.blocks[tail].successors =
            std::mem::replace(&mut self.blocks[at.block].successors, vec![fall_through]);
        let targets: Vec<u32> = self.blocks[tail]
            .successors
            .iter()
            .map(|edge| edge.block)
            .collect();
        for target in targets {
            self.rename_incoming(Block::from_u32(target), at.block, tail);
        }
        Ok(tail)
    }

    /// Adds an edge; the caller adds the branch. The only edge of a block is always taken; the
    /// probabilities of several become unknown, so that LLVM assumes them equal.
    ///
    /// # Errors
    /// The edge exists already, or `to` has PHIs, which would need a value. A new block that
    /// nothing leads to yet may have the edge all the same: [`Editor::retarget`] provides the
    /// value.
    pub fn add_edge(&mut self, from: Block, to: Block) -> Result<(), EditError> {
        if self.has_edge(from, to) {
            return Err(EditError::EdgeExists);
        }
        let is_detour = self.is_new_block(from) && !self.is_reached(from);
        if self.has_phis(to) && !is_detour {
            return Err(EditError::PhiNeedsValue);
        }
        let probability = match self.blocks[from].successors.is_empty() {
            true => PROBABILITY_DENOMINATOR,
            false => PROBABILITY_UNKNOWN,
        };
        self.blocks[from].successors.push(EdgeRecord {
            block: to.as_u32(),
            probability,
        });
        Ok(())
    }

    fn has_edge(&self, from: Block, to: Block) -> bool {
        let mut edges = self.blocks[from].successors.iter();
        edges.any(|edge| edge.block == to.as_u32())
    }

    fn is_new_block(&self, block: Block) -> bool {
        block.index() >= self.snapshot.block_count()
    }

    /// True if another block leads to `block`.
    fn is_reached(&self, block: Block) -> bool {
        let mut others = self.order.iter().filter(|&&other| other != block);
        others.any(|&other| self.has_edge(other, block))
    }

    /// Redirects the edge from `block` to `old` to `new`, in the branches and in the edges.
    ///
    /// PHIs of `old` lose the value for `block`. If `new` is a detour that only leads to `old` (an
    /// edge being split), they take it from there instead.
    ///
    /// # Errors
    /// There is no such edge, or a PHI would need a value: one of `new`, or one of `old` if a
    /// second edge is redirected to a detour with another value than the first.
    pub fn retarget(&mut self, block: Block, old: Block, new: Block) -> Result<(), EditError> {
        if !self.has_edge(block, old) {
            return Err(EditError::NoEdge);
        }
        if old == new {
            return Ok(());
        }
        let already_there = self.has_edge(block, new);
        if self.has_phis(new) && !already_there {
            return Err(EditError::PhiNeedsValue);
        }
        let leads_to_old = |edge: &EdgeRecord| edge.block == old.as_u32();
        let is_detour =
            !self.blocks[new].successors.is_empty() && self.blocks[new].successors.iter().all(leads_to_old);
        let has_value = self.has_incoming(old, new);
        if is_detour && has_value && self.is_new_block(new) && !self.same_incoming(old, block, new) {
            return Err(EditError::PhiNeedsValue);
        }
        self.move_edge(block, old, new);
        for node in self.blocks[block].nodes.clone() {
            if self.opcode_flags(node).contains(OpcodeFlags::TERMINATOR)
                && self.operands(node).iter().any(|operand| is_block(operand, old))
            {
                for operand in self
                    .operands_mut(node)
                    .iter_mut()
                    .filter(|operand| is_block(operand, old))
                {
                    operand.index = new.as_u32();
                }
            }
        }
        if is_detour && !has_value {
            self.rename_incoming(old, block, new);
        } else {
            self.drop_incoming(old, block);
        }
        Ok(())
    }

    /// Redirects the edge from `block` to `old` to `new`. LLVM allows one edge to a block, so an
    /// existing edge absorbs its probability.
    fn move_edge(&mut self, block: Block, old: Block, new: Block) {
        let edges = &mut self.blocks[block].successors;
        let Some(from) = edges.iter().position(|edge| edge.block == old.as_u32()) else {
            return;
        };
        let Some(to) = edges.iter().position(|edge| edge.block == new.as_u32()) else {
            edges[from].block = new.as_u32();
            return;
        };
        let (moved, kept) = (edges[from].probability, edges[to].probability);
        edges[to].probability = if moved == PROBABILITY_UNKNOWN || kept == PROBABILITY_UNKNOWN {
            PROBABILITY_UNKNOWN
        } else {
            moved.saturating_add(kept).min(PROBABILITY_DENOMINATOR)
        };
        edges.remove(from);
    }

    /// Places a block after another in the layout.
    ///
    /// # Errors
    /// One of the two was deleted, or `block` is the entry.
    pub fn place_block(&mut self, block: Block, after: Block) -> Result<(), EditError> {
        let from = self.layout_position(block)?;
        if from == 0 {
            return Err(EditError::EntryBlock);
        }
        self.layout_position(after)?;
        self.order.remove(from);
        let to = self.layout_position(after)?;
        self.order.insert(to + 1, block);
        Ok(())
    }

    /// Deletes a block with everything in it. It must have no predecessors.
    ///
    /// # Errors
    /// It is the entry block, or something still leads to it.
    pub fn delete_block(&mut self, block: Block) -> Result<(), EditError> {
        let at = self.layout_position(block)?;
        if at == 0 {
            return Err(EditError::EntryBlock);
        }
        let is_target = |other: &Block| {
            *other != block
                && self.blocks[*other]
                    .successors
                    .iter()
                    .any(|edge| edge.block == block.as_u32())
        };
        if self.order.iter().any(is_target) {
            return Err(EditError::StillReached);
        }
        for edge in std::mem::take(&mut self.blocks[block].successors) {
            self.drop_incoming(Block::from_u32(edge.block), block);
        }
        self.order.remove(at);
        Ok(())
    }

    fn layout_position(&self, block: Block) -> Result<usize, EditError> {
        self.order
            .iter()
            .position(|&other| other == block)
            .ok_or(EditError::DeletedBlock)
    }

    fn is_phi(&self, node: EditedInstruction) -> bool {
        self.opcode_flags(node).contains(OpcodeFlags::PHI)
    }

    fn phis(&self, block: Block) -> Vec<EditedInstruction> {
        self.blocks[block]
            .nodes
            .iter()
            .copied()
            .take_while(|&node| self.is_phi(node))
            .collect()
    }

    fn has_phis(&self, block: Block) -> bool {
        self.blocks[block]
            .nodes
            .first()
            .is_some_and(|&node| self.is_phi(node))
    }

    /// True if the PHIs of `block` have a value for `predecessor`.
    fn has_incoming(&self, block: Block, predecessor: Block) -> bool {
        let phi = self.phis(block).first().copied();
        phi.is_some_and(|phi| {
            self.operands(phi)
                .iter()
                .any(|operand| is_block(operand, predecessor))
        })
    }

    /// True if all PHIs of `block` have the same value for both predecessors.
    fn same_incoming(&self, block: Block, one: Block, other: Block) -> bool {
        let value = |phi: EditedInstruction, predecessor: Block| {
            let operands = &self.operands(phi)[1..];
            let mut pairs = operands.chunks_exact(2);
            pairs
                .find(|pair| is_block(&pair[1], predecessor))
                .map(|pair| pair[0].index)
        };
        let phis = self.phis(block);
        phis.iter().all(|&phi| value(phi, one) == value(phi, other))
    }

    /// Renames a predecessor in the PHIs of `block`.
    fn rename_incoming(&mut self, block: Block, old: Block, new: Block) {
        for phi in self.phis(block) {
            for operand in self
                .operands_mut(phi)
                .iter_mut()
                .filter(|operand| is_block(operand, old))
            {
                operand.index = new.as_u32();
            }
        }
    }

    /// Removes the values for `predecessor` from the PHIs of `block`.
    fn drop_incoming(&mut self, block: Block, predecessor: Block) {
        for phi in self.phis(block) {
            let operands = self.operands_mut(phi);
            let mut kept = vec![operands[0]];
            for pair in operands[1..].chunks_exact(2) {
                if !is_block(&pair[1], predecessor) {
                    kept.extend_from_slice(pair);
                }
            }
            *operands = kept;
        }
    }
}

fn is_block(operand: &OperandRecord, block: Block) -> bool {
    operand.kind == OperandKind::Block as u8 && operand.index as usize == block.index()
}
