//! Changes to the control flow of a function.
//!
//! Each operation keeps terminators, layout and PHIs consistent. It does not update orders,
//! dominators or loops: callers recompute them.

use super::edit::{InstructionBuilder, Position};
use super::function::{Function, Instruction};
use super::operand::{Operand, OperandKind};
use super::operation::Operation;
use super::types::DataType;
use oriel_engine::entity::{Block, EntitySet, SecondaryMap};

/// A change that cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ControlFlowError {
    /// There is no such edge.
    #[error("there is no edge from {0} to {1}")]
    NoEdge(Block, Block),
    /// A PHI of the new target needs a value for the new edge.
    #[error("{0} has PHIs, which would need a value for the new edge")]
    PhiNeedsValue(Block),
    /// PHIs come first and the terminator last.
    #[error("{0} cannot be split among its PHIs or after its terminator")]
    BadSplit(Block),
    /// The terminator's meaning is not known.
    #[error("the end of {0} cannot be changed")]
    OpaqueTerminator(Block),
}

/// Queries of the whole function.
impl Function {
    /// Returns the predecessors of each block, in layout order, one for each edge.
    pub fn predecessors(&self) -> SecondaryMap<Block, Vec<Block>> {
        let mut predecessors: SecondaryMap<Block, Vec<Block>> = SecondaryMap::new();
        for &block in self.blocks() {
            for successor in self.successors(block) {
                predecessors[successor].push(block);
            }
        }
        predecessors
    }

    /// Returns the PHIs of a block.
    pub fn phis(&self, block: Block) -> impl Iterator<Item = Instruction> + '_ {
        self.instructions(block)
            .take_while(|&instruction| self.operation(instruction) == Operation::Phi)
    }

    /// Returns the value of a PHI on the edge from `predecessor`.
    pub fn phi_value(&self, phi: Instruction, predecessor: Block) -> Option<Operand> {
        let sources = self.sources(phi);
        (0..sources.len() / 2)
            .find(|pair| sources.get(2 * pair + 1).as_block() == Some(predecessor))
            .map(|pair| sources.get(2 * pair))
    }

    /// Returns the first instruction of a block that is no PHI.
    pub fn first_non_phi(&self, block: Block) -> Option<Instruction> {
        self.instructions(block)
            .find(|&instruction| self.operation(instruction) != Operation::Phi)
    }
}

/// Changes.
impl Function {
    /// Splits a block before an instruction. The rest moves to a new block behind it, to which the
    /// first part falls through unless it already ends in a branch.
    ///
    /// # Errors
    /// The instruction is a PHI, or comes after the terminator.
    ///
    /// # Panics
    /// The instruction is in no block.
    pub fn split_block(&mut self, at: Instruction) -> Result<Block, ControlFlowError> {
        let block = self.block_of(at).expect("the instruction is in a block");
        let is_after_terminator = self.terminator(block).is_some_and(|end| {
            self.instructions(block)
                .skip_while(|&i| i != end)
                .skip(1)
                .any(|i| i == at)
        });
        if self.operation(at) == Operation::Phi || is_after_terminator {
            return Err(ControlFlowError::BadSplit(block));
        }
        let new = self.create_block(Some(block));
        self.blocks[new].frequency = self.blocks[block].frequency;
        self.place_block(new, Some(block));
        let mut next = Some(at);
        while let Some(instruction) = next {
            next = self.next(instruction);
            self.move_to(instruction, Position::End(new));
        }
        if self.terminator(block).is_none() {
            self.append_fall_through(block, new);
        }
        for successor in self.successors(new).collect::<Vec<_>>() {
            let leads_on = self.successors(block).any(|other| other == successor);
            match leads_on {
                true => self.copy_phi_predecessor(successor, block, new),
                false => self.rename_phi_predecessor(successor, block, new),
            }
        }
        Ok(new)
    }

    /// Puts a new block on the edges from one block to another. PHIs of the target get their values
    /// from the new block.
    ///
    /// # Errors
    /// There is no such edge, or the source's terminator cannot be changed.
    pub fn split_edge(&mut self, from: Block, to: Block) -> Result<Block, ControlFlowError> {
        let new = self.create_block(Some(to));
        self.place_block(new, Some(from));
        if let Err(error) = self.retarget(from, to, new) {
            self.layout.retain(|&block| block != new);
            self.edits.note_flow();
            self.blocks[new].is_placed = false;
            return Err(error);
        }
        self.append_branch(new, to);
        self.rename_phi_predecessor(to, from, new);
        Ok(new)
    }

    /// Redirects all edges from `from` to `old` to `new`. PHIs of `old` lose their values for them.
    ///
    /// # Errors
    /// There is no such edge, `new` has PHIs without a value for `from`, or the terminator cannot
    /// be changed.
    pub fn redirect_edge(&mut self, from: Block, old: Block, new: Block) -> Result<(), ControlFlowError> {
        if self.phis(new).any(|phi| self.phi_value(phi, from).is_none()) {
            return Err(ControlFlowError::PhiNeedsValue(new));
        }
        self.retarget(from, old, new)?;
        if !self.successors(from).any(|successor| successor == old) {
            self.remove_phi_predecessor(old, from);
        }
        Ok(())
    }

    /// Changes the targets in a terminator and nothing else.
    fn retarget(&mut self, from: Block, old: Block, new: Block) -> Result<(), ControlFlowError> {
        let terminator = self.terminator(from).ok_or(ControlFlowError::NoEdge(from, old))?;
        if self.operation(terminator) == Operation::OpaqueTerminator {
            return Err(ControlFlowError::OpaqueTerminator(from));
        }
        let leads_there: Vec<usize> = (0..self.sources(terminator).len())
            .filter(|&number| self.source(terminator, number).as_block() == Some(old))
            .collect();
        if leads_there.is_empty() {
            return Err(ControlFlowError::NoEdge(from, old));
        }
        for number in leads_there {
            let operand = self.source(terminator, number).with_block(new);
            self.set_source(terminator, number, operand);
        }
        Ok(())
    }

    /// Replaces a conditional branch by one to `target`. PHIs of the other block lose the value.
    ///
    /// # Errors
    /// The block does not end in a branch to `target`.
    pub fn make_unconditional(&mut self, block: Block, target: Block) -> Result<(), ControlFlowError> {
        let error = ControlFlowError::NoEdge(block, target);
        let terminator = self.terminator(block).ok_or(error)?;
        let successors: Vec<Block> = self.successors(block).collect();
        if self.operation(terminator) != Operation::Bra || !successors.contains(&target) {
            return Err(error);
        }
        self.set_sources(terminator, &[Operand::fall_through(target)]);
        for &lost in successors.iter().filter(|&&successor| successor != target) {
            self.remove_phi_predecessor(lost, block);
        }
        Ok(())
    }

    /// Merges every block with its single successor, of which it is the single predecessor, where
    /// possible. Returns how many blocks were
    /// removed.
    pub fn merge_all_blocks(&mut self) -> usize {
        let mut edges_into: SecondaryMap<Block, usize> = SecondaryMap::new();
        for &block in self.blocks() {
            for successor in self.successors(block) {
                edges_into[successor] += 1;
            }
        }
        let mut merged = 0;
        for index in 0..self.layout.len() {
            let block = self.layout[index];
            while self.is_placed(block)
                && let Some(next) = self.mergeable_successor(block)
                && edges_into[next] == 1
            {
                self.append_block(block, next);
                merged += 1;
            }
        }
        let blocks = &self.blocks;
        self.layout.retain(|&block| blocks[block].is_placed);
        self.edits.note_flow();
        merged
    }

    /// Returns the single successor of a block if the two may be merged once nothing else leads
    /// there.
    fn mergeable_successor(&self, block: Block) -> Option<Block> {
        let is_branch = self.operation(self.terminator(block)?) == Operation::Bra;
        let mut successors = self.successors(block);
        let (only, None) = (successors.next()?, successors.next()) else {
            return None;
        };
        let may_go = only != block && only != self.entry() && !self.is_address_taken(only);
        (is_branch && may_go).then_some(only)
    }

    /// Replaces the branch from `first` to `second` by the instructions of `second`, which stays in
    /// the layout.
    fn append_block(&mut self, first: Block, second: Block) {
        self.replace_phis_by_values(second, first);
        let branch = self
            .terminator(first)
            .expect("a block that leads on has a branch");
        self.remove(branch);
        while let Some(instruction) = self.first(second) {
            self.move_to(instruction, Position::End(first));
        }
        let successors: Vec<Block> = self.successors(first).collect();
        for successor in successors {
            self.rename_phi_predecessor(successor, second, first);
        }
        self.blocks[second].is_placed = false;
    }

    /// Replaces the PHIs of a block with one predecessor by their values.
    fn replace_phis_by_values(&mut self, block: Block, predecessor: Block) {
        let phis: Vec<Instruction> = self.phis(block).collect();
        for phi in phis {
            let value = self
                .phi_value(phi, predecessor)
                .expect("a PHI has a value for every predecessor");
            let result = self
                .result(phi, 0)
                .as_register()
                .expect("the result of a PHI is a register");
            match value.as_register() {
                // In an unreachable loop a value may be its own.
                Some(register) if register == result => self.remove(phi),
                Some(_) => {
                    self.replace_uses(result, value);
                    self.remove(phi);
                }
                // A constant cannot be used everywhere that a register can.
                None => self.replace_phi_by_constant(phi, value),
            }
        }
    }

    fn replace_phi_by_constant(&mut self, phi: Instruction, value: Operand) {
        let block = self.block_of(phi).expect("the PHI is in a block");
        let new = InstructionBuilder::new(Operation::Mov, self.data_type(phi))
            .result(self.result(phi, 0))
            .source(value)
            .in_place_of(self.origin(phi));
        let after_phis = self.first_non_phi(block).expect("a block has a terminator");
        self.remove(phi);
        self.insert(Position::Before(after_phis), new);
    }

    /// Removes the unreachable blocks. Returns how many there were.
    pub fn remove_unreachable_blocks(&mut self) -> usize {
        // A block that something other than a branch refers to stays, with everything reachable
        // from it.
        let is_root = |&block: &Block| block == self.entry() || self.is_address_taken(block);
        let mut pending: Vec<Block> = self.blocks().iter().copied().filter(is_root).collect();
        let mut reached = EntitySet::with_capacity(self.block_limit());
        reached.extend(pending.iter().copied());
        while let Some(block) = pending.pop() {
            for successor in self.successors(block) {
                if reached.insert(successor) {
                    pending.push(successor);
                }
            }
        }
        let removed: Vec<Block> = self
            .blocks()
            .iter()
            .copied()
            .filter(|&block| !reached.contains(block))
            .collect();
        for &block in &removed {
            let successors: Vec<Block> = self
                .successors(block)
                .filter(|&block| reached.contains(block))
                .collect();
            for successor in successors {
                self.remove_phi_predecessor(successor, block);
            }
        }
        self.remove_blocks(|block| !reached.contains(block));
        removed.len()
    }

    /// Reorders the blocks, and replaces branches to the next block by falling through.
    ///
    /// # Panics
    /// The order does not consist of the blocks of the layout, the entry first.
    pub fn reorder_blocks(&mut self, order: Vec<Block>) {
        let mut old_next: SecondaryMap<Block, Option<Block>> = SecondaryMap::new();
        for pair in self.blocks().windows(2) {
            old_next[pair[0]] = Some(pair[1]);
        }
        self.set_layout(order);
        for index in 1..self.layout.len() {
            let (block, next) = (self.layout[index - 1], self.layout[index]);
            let Some(branch) = self.terminator(block) else {
                continue;
            };
            // The other target of a conditional branch is the third source.
            let number = match self.sources(branch).len() {
                1 => 0,
                3 => 2,
                _ => continue,
            };
            if old_next[block] != Some(next)
                && self.operation(branch) == Operation::Bra
                && self.source(branch, number) == Operand::target(next)
            {
                self.set_source(branch, number, Operand::fall_through(next));
            }
        }
    }

    /// Ends a block by continuing with another, without a branch if that one comes next.
    pub fn append_fall_through(&mut self, block: Block, to: Block) -> Instruction {
        let branch =
            InstructionBuilder::new(Operation::Bra, DataType::None).source(Operand::fall_through(to));
        self.insert(Position::End(block), branch)
    }

    /// Ends a block by a branch.
    pub fn append_branch(&mut self, block: Block, to: Block) -> Instruction {
        let branch = InstructionBuilder::new(Operation::Bra, DataType::None).source(Operand::target(to));
        self.insert(Position::End(block), branch)
    }

    /// Lets the PHIs of a block take the values of one predecessor from another block.
    pub(crate) fn rename_phi_predecessor(&mut self, block: Block, old: Block, new: Block) {
        let phis: Vec<Instruction> = self.phis(block).collect();
        for phi in phis {
            for number in (1..self.sources(phi).len()).step_by(2) {
                if self.source(phi, number).as_block() == Some(old) {
                    self.set_source(phi, number, Operand::target(new));
                }
            }
        }
    }

    /// Gives the PHIs of a block the value of one predecessor for another one as well.
    fn copy_phi_predecessor(&mut self, block: Block, old: Block, new: Block) {
        for phi in self.phis(block).collect::<Vec<_>>() {
            if let Some(value) = self.phi_value(phi, old) {
                let sources = self.sources(phi).iter();
                let sources: Vec<Operand> = sources.chain([value, Operand::target(new)]).collect();
                self.set_sources(phi, &sources);
            }
        }
    }

    /// Removes the value for a predecessor from the PHIs of a block.
    pub(crate) fn remove_phi_predecessor(&mut self, block: Block, predecessor: Block) {
        let phis: Vec<Instruction> = self.phis(block).collect();
        for phi in phis {
            let sources: Vec<Operand> = self.sources(phi).iter().collect();
            let kept: Vec<Operand> = sources
                .chunks_exact(2)
                .filter(|pair| pair[1].as_block() != Some(predecessor))
                .flatten()
                .copied()
                .collect();
            if kept.len() != sources.len() {
                self.set_sources(phi, &kept);
            }
        }
    }

    /// Returns the targets of a terminator as operands, including fall-through.
    pub fn target_operands(&self, terminator: Instruction) -> impl Iterator<Item = Operand> + '_ {
        self.sources(terminator).into_iter().filter(|operand| {
            matches!(
                operand.kind(),
                OperandKind::Target(_) | OperandKind::FallThrough(_)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegisterFile;
    use crate::graph_function::function;
    use oriel_engine::entity::{EntityRef, Register};

    fn phi(function: &mut Function, block: usize, values: &[(Register, usize)]) -> (Instruction, Register) {
        let result = function.create_register(RegisterFile::R, 32, None);
        let mut new =
            InstructionBuilder::new(Operation::Phi, DataType::B32).result(Operand::register(result));
        for &(value, from) in values {
            new = new
                .source(Operand::register(value))
                .source(Operand::target(Block::new(from)));
        }
        (function.insert(Position::Start(Block::new(block)), new), result)
    }

    fn successors(function: &Function, block: usize) -> Vec<usize> {
        function
            .successors(Block::new(block))
            .map(EntityRef::index)
            .collect()
    }

    #[test]
    fn a_split_moves_the_edges_to_the_new_block() {
        let mut function = function(&[&[1, 2], &[2], &[]]);
        let a = function.create_register(RegisterFile::R, 32, None);
        let (phi, _) = phi(&mut function, 2, &[(a, 0), (a, 1)]);
        let terminator = function.terminator(Block::new(0)).unwrap();
        let new = function.split_block(terminator).unwrap();
        assert_eq!(successors(&function, 0), [new.index()]);
        assert_eq!(successors(&function, new.index()), [1, 2]);
        assert_eq!(function.blocks()[1], new);
        assert!(function.phi_value(phi, new).is_some() && function.phi_value(phi, Block::new(0)).is_none());
        assert!(function.split_block(phi).is_err());
    }

    #[test]
    fn a_split_edge_has_a_block_of_its_own() {
        let mut function = function(&[&[2, 1], &[2], &[]]);
        let a = function.create_register(RegisterFile::R, 32, None);
        let (phi, _) = phi(&mut function, 2, &[(a, 0), (a, 1)]);
        let new = function.split_edge(Block::new(0), Block::new(2)).unwrap();
        assert_eq!(successors(&function, 0), [new.index(), 1]);
        assert_eq!(successors(&function, new.index()), [2]);
        assert!(function.phi_value(phi, new).is_some() && function.phi_value(phi, Block::new(0)).is_none());
        let blocks = function.blocks().len();
        assert!(function.split_edge(Block::new(2), Block::new(0)).is_err());
        assert_eq!(function.blocks().len(), blocks);
    }

    #[test]
    fn merging_takes_the_value_of_the_only_predecessor() {
        let mut function = function(&[&[1], &[2, 3], &[3], &[]]);
        let a = function.create_register(RegisterFile::R, 32, None);
        let (_, value) = phi(&mut function, 1, &[(a, 0)]);
        let (last, _) = phi(&mut function, 3, &[(value, 1), (a, 2)]);
        assert_eq!(function.merge_all_blocks(), 1);
        assert_eq!(successors(&function, 0), [2, 3]);
        assert_eq!(function.blocks().len(), 3);
        assert_eq!(
            function.phi_value(last, Block::new(0)),
            Some(Operand::register(a))
        );
    }

    #[test]
    fn unreachable_blocks_take_their_phi_values_along() {
        let mut function = function(&[&[3], &[2, 3], &[1], &[]]);
        let a = function.create_register(RegisterFile::R, 32, None);
        let (phi, _) = phi(&mut function, 3, &[(a, 0), (a, 1)]);
        assert_eq!(function.remove_unreachable_blocks(), 2);
        assert_eq!(function.sources(phi).len(), 2);
        assert_eq!(function.blocks().len(), 2);
        assert_eq!(function.remove_unreachable_blocks(), 0);
    }

    #[test]
    fn a_branch_that_is_no_longer_conditional_loses_an_edge() {
        let mut function = function(&[&[1, 2], &[2], &[]]);
        let branch = function.terminator(Block::new(0)).unwrap();
        let predicate = function.source(branch, 0).as_register().unwrap();
        let a = function.create_register(RegisterFile::R, 32, None);
        let (phi, _) = phi(&mut function, 2, &[(a, 0), (a, 1)]);
        function.make_unconditional(Block::new(0), Block::new(1)).unwrap();
        assert_eq!(successors(&function, 0), [1]);
        assert!(function.phi_value(phi, Block::new(0)).is_none());
        assert!(function.is_unused(predicate));
        let error = function.redirect_edge(Block::new(0), Block::new(1), Block::new(2));
        assert_eq!(error, Err(ControlFlowError::PhiNeedsValue(Block::new(2))));
    }
}
