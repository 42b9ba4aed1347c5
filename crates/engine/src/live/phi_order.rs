//! The order of a web's PHI values, which is part of the result: LLVM numbers them as its searches
//! find them.
//!
//! LLVM extends a range to each use in turn. A search goes back from the use through the blocks
//! where the register is not known to be live yet. If several values reach these blocks, LLVM
//! visits them in the order of their numbers, again and again, and makes a PHI value where two
//! values are seen to meet ([`resolve`](super::resolve) has the whole algorithm). Here it is known
//! beforehand which blocks get a PHI value, so only searches through two or more of them matter,
//! and they end when the order is certain.

use super::resolve::UNSORTED_BLOCKS;
use super::scan::{Scan, access_slot};
use super::slot_indexes::SlotIndexes;
use super::value::ValueNumber;
use super::web_values::{Input, WebSolver};
use super::webs::WebDefinition;
use crate::entity::{Block, EntityRef, PackedOption};
use crate::snapshot::abi::{Access, ChainedOperandRecord, RegisterOperandRecord};

impl WebSolver {
    /// Sorts `self.phis`, whose values have provisional numbers in their present order, behind
    /// those of `definitions`. `operands` are the web's in the order of LLVM's list.
    pub(super) fn sort_phis(
        &mut self,
        definitions: &[WebDefinition],
        operands: &[ChainedOperandRecord],
        input: Input<'_>,
        indexes: &SlotIndexes,
    ) {
        self.value_blocks.clear();
        self.value_blocks.resize(definitions.len(), Block::new(0));
        for definition in definitions {
            self.value_blocks[definition.value.index()] = definition.block;
        }
        self.value_blocks.extend_from_slice(&self.phis);
        self.sorted_phis.clear();
        for place in operands {
            let position = place.register_operand as usize;
            let read = self.block_of_read(
                &input.chains.operands[position..],
                definitions,
                indexes,
                input.chains.scan,
            );
            let Some(block) = read.filter(|block| self.states[block.index()].known_in != self.web) else {
                continue;
            };
            self.search(block, input);
            let searched = self.searched.iter();
            let mut missing = searched.filter(|&&block| self.needs_phi(block)).count();
            if missing > 1 && self.searched.len() > UNSORTED_BLOCKS {
                input.flow.order.sort(&mut self.searched, &mut self.set);
            }
            while missing > 1 && self.visit_searched(&mut missing, input) {}
            // The last one, or the only one.
            for position in 0..self.searched.len() {
                let block = self.searched[position];
                if self.needs_phi(block) {
                    self.number_phi(block);
                }
                let state = &mut self.states[block.index()];
                state.known = state.leaving.into();
            }
            if self.sorted_phis.len() == self.phis.len() {
                break;
            }
        }
        debug_assert_eq!(
            self.sorted_phis.len(),
            self.phis.len(),
            "a read is behind each PHI value"
        );
        std::mem::swap(&mut self.phis, &mut self.sorted_phis);
    }

    /// Returns the block in which the first of `accesses` reads a value that comes from another
    /// block.
    fn block_of_read(
        &self,
        accesses: &[RegisterOperandRecord],
        definitions: &[WebDefinition],
        indexes: &SlotIndexes,
        scan: &Scan,
    ) -> Option<Block> {
        let access = accesses[0].access();
        match access {
            Access::ReadByPhi => {
                let predecessor = accesses[1].block();
                (self.states[predecessor.index()].defined != self.web).then_some(predecessor)
            }
            Access::Read | Access::ReadEarly => {
                let number = indexes.instruction_numbers[accesses[0].instruction().index()];
                let slot = access_slot(number, access);
                let block = scan.block_of(slot);
                let is_before =
                    |definition: &WebDefinition| definition.block == block && definition.slot < slot;
                (!definitions.iter().any(is_before)).then_some(block)
            }
            Access::Define | Access::DefineEarly | Access::Mention | Access::FromBlock => None,
        }
    }

    /// True if `block` has a PHI value without a number.
    fn needs_phi(&self, block: Block) -> bool {
        let state = self.states[block.index()];
        state.has_phi == self.web && state.has_number != self.web
    }

    /// Gives the PHI value of `block` the next number.
    fn number_phi(&mut self, block: Block) {
        self.states[block.index()].has_number = self.web;
        self.sorted_phis.push(block);
    }

    /// Lists the blocks where the web is live if `block` reads it and that are not known to be
    /// live-in yet, in the order in which LLVM finds them.
    fn search(&mut self, block: Block, input: Input<'_>) {
        self.searched.clear();
        self.states[block.index()].known_in = self.web;
        self.states[block.index()].known = PackedOption::default();
        self.searched.push(block);
        let mut next = 0;
        while let Some(&current) = self.searched.get(next) {
            next += 1;
            for &predecessor in input.flow.predecessors_of(current) {
                let state = &mut self.states[predecessor.index()];
                if state.known_out == self.web {
                    continue;
                }
                state.known_out = self.web;
                if state.defined != self.web && state.known_in != self.web {
                    state.known_in = self.web;
                    state.known = PackedOption::default();
                    self.searched.push(predecessor);
                }
            }
        }
    }

    /// Visits the searched blocks once as LLVM does, until a single PHI value is `missing`. Returns
    /// false if nothing changed.
    fn visit_searched(&mut self, missing: &mut usize, input: Input<'_>) -> bool {
        let mut changed = false;
        for position in 0..self.searched.len() {
            let block = self.searched[position];
            let state = self.states[block.index()];
            let dominator = input.dominators.immediate(block);
            let dominator = dominator.expect("the entry is not live-in");
            let value = if !self.needs_phi(block) {
                if state.has_phi == self.web {
                    continue;
                }
                self.known_value(dominator)
            } else if self.values_meet(block, dominator, input) {
                self.number_phi(block);
                changed = true;
                *missing -= 1;
                if *missing == 1 {
                    break;
                }
                Some(state.phi)
            } else {
                self.known_value(dominator)
            };
            if value.is_some() && value != state.known.expand() {
                self.states[block.index()].known = value.into();
                changed = true;
            }
        }
        changed
    }

    /// Returns the value that leaves a block, if LLVM knows it.
    fn known_value(&self, block: Block) -> Option<ValueNumber> {
        let state = self.states[block.index()];
        if state.defined == self.web {
            return Some(state.leaving);
        }
        state.known.expand().filter(|_| state.known_in == self.web)
    }

    /// True if LLVM sees at `block` that another value than that of its dominator comes in.
    fn values_meet(&self, block: Block, dominator: Block, input: Input<'_>) -> bool {
        let incoming = self.known_value(dominator);
        let mut predecessors = input.flow.predecessors_of(block).iter();
        self.states[dominator.index()].known_out != self.web
            || predecessors.any(|&predecessor| {
                let value = self.known_value(predecessor);
                let source = value.map(|value| self.value_blocks[value.index()]);
                value != incoming
                    && source.is_some_and(|source| input.dominators.dominates(dominator, source))
            })
    }
}
