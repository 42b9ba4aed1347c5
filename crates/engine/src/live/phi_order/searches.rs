//! LLVM's searches, followed block by block.

use super::super::resolve::UNSORTED_BLOCKS;
use super::super::value::ValueNumber;
use super::web::Web;
use crate::entity::{Block, EntityRef, PackedOption};

/// Follows searches. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct Searches {
    /// The blocks of one of LLVM's searches.
    searched: Vec<Block>,
    /// By block: true while LLVM visits the search's blocks, if it is one of them.
    is_searched: Vec<bool>,
    /// By block of such a search: the value that leaves it, as far as LLVM knows it.
    known: Vec<PackedOption<ValueNumber>>,
    /// Scratch memory to sort blocks.
    set: Vec<u64>,
}

/// The PHI values that a search reaches.
struct Found {
    /// Blocks whose PHI value has no number.
    missing: usize,
    /// The last of them.
    last: Block,
}

impl Searches {
    /// Prepares for a function of `blocks` blocks.
    pub fn begin(&mut self, blocks: usize) {
        self.is_searched.clear();
        self.is_searched.resize(blocks, false);
        self.known.resize(blocks, PackedOption::default());
    }

    /// Lists `phis` in `sorted`, in the order in which LLVM makes their values.
    pub fn sort(&mut self, web: &mut Web<'_>, phis: &[Block], sorted: &mut Vec<Block>) {
        let chains = web.input.chains;
        for place in chains.webs.operands(web.id, chains.chains) {
            match phis.len() - sorted.len() {
                0 => return,
                1 => {
                    let last = phis.iter().find(|&&block| web.needs_phi(block));
                    return number(web, *last.expect("one is left"), sorted);
                }
                _ => {}
            }
            let read = web.block_of_read(&chains.operands[place.register_operand as usize..]);
            let Some(block) = read.filter(|&block| !web.is_in(block, |state| state.known_in)) else {
                continue;
            };
            match self.search(web, block) {
                Found { missing: 0, .. } => {}
                Found { missing: 1, last } => number(web, last, sorted),
                Found { missing, .. } => self.number_searched(web, missing, sorted),
            }
        }
        assert_eq!(sorted.len(), phis.len(), "a read is behind each PHI value");
    }

    /// Lists the blocks where the web is live if `block` reads it and that are not known to be
    /// live-in yet, in the order in which LLVM finds them.
    fn search(&mut self, web: &mut Web<'_>, block: Block) -> Found {
        let mut found = Found {
            missing: 0,
            last: block,
        };
        self.searched.clear();
        web.states[block.index()].known_in |= web.set;
        self.searched.push(block);
        let mut next = 0;
        while let Some(&current) = self.searched.get(next) {
            next += 1;
            if web.needs_phi(current) {
                found.missing += 1;
                found.last = current;
            }
            for &predecessor in web.input.flow.predecessors_of(current) {
                let state = &mut web.states[predecessor.index()];
                state.known_out |= web.set;
                if (state.defined | state.known_in) & web.set == 0 {
                    state.known_in |= web.set;
                    self.searched.push(predecessor);
                }
            }
        }
        found
    }

    /// Numbers the PHI values of the searched blocks, `missing` of them, in the order in which LLVM
    /// makes them.
    fn number_searched(&mut self, web: &mut Web<'_>, mut missing: usize, sorted: &mut Vec<Block>) {
        for &block in &self.searched {
            self.is_searched[block.index()] = true;
            self.known[block.index()] = PackedOption::default();
        }
        if self.searched.len() > UNSORTED_BLOCKS {
            web.input.flow.order.sort(&mut self.searched, &mut self.set);
        }
        while missing > 1 && self.visit_searched(web, &mut missing, sorted) {}
        for position in 0..self.searched.len() {
            let block = self.searched[position];
            if web.needs_phi(block) {
                number(web, block, sorted);
            }
            self.is_searched[block.index()] = false;
        }
    }

    /// Visits the searched blocks once as LLVM does, until a single PHI value is `missing`. Returns
    /// false if nothing changed.
    fn visit_searched(&mut self, web: &mut Web<'_>, missing: &mut usize, sorted: &mut Vec<Block>) -> bool {
        let mut changed = false;
        for position in 0..self.searched.len() {
            let block = self.searched[position];
            let dominator = web.input.dominators.immediate(block);
            let dominator = dominator.expect("the entry is not live-in");
            let value = if !web.needs_phi(block) {
                if web.is_in(block, |state| state.phis) {
                    continue;
                }
                self.known_value(web, dominator)
            } else if self.values_meet(web, block, dominator) {
                number(web, block, sorted);
                changed = true;
                *missing -= 1;
                if *missing == 1 {
                    break;
                }
                Some(web.phi_of[block.index()])
            } else {
                self.known_value(web, dominator)
            };
            let known = &mut self.known[block.index()];
            if value.is_some() && value != known.expand() {
                *known = value.into();
                changed = true;
            }
        }
        changed
    }

    /// Returns the value that leaves a block, if LLVM knows it.
    fn known_value(&self, web: &Web<'_>, block: Block) -> Option<ValueNumber> {
        if self.is_searched[block.index()] && !web.is_in(block, |state| state.defined) {
            return self.known[block.index()].expand();
        }
        let is_known = web.is_in(block, |state| state.defined | state.known_in);
        is_known.then(|| web.leaving(block))
    }

    /// True if LLVM sees at `block` that another value than that of its dominator comes in.
    fn values_meet(&self, web: &Web<'_>, block: Block, dominator: Block) -> bool {
        let incoming = self.known_value(web, dominator);
        let mut predecessors = web.input.flow.predecessors_of(block).iter();
        !web.is_in(dominator, |state| state.known_out)
            || predecessors.any(|&predecessor| {
                let value = self.known_value(web, predecessor);
                let source = value.map(|value| web.value_blocks[value.index()]);
                value != incoming
                    && source.is_some_and(|source| web.input.dominators.dominates(dominator, source))
            })
    }

    /// Returns the bytes of memory held.
    pub fn memory_bytes(&self) -> usize {
        self.searched.capacity() * size_of::<Block>()
            + self.is_searched.capacity()
            + self.known.capacity() * size_of::<ValueNumber>()
            + self.set.capacity() * size_of::<u64>()
    }
}

/// Gives the PHI value of `block` the next number.
fn number(web: &mut Web<'_>, block: Block, sorted: &mut Vec<Block>) {
    web.states[block.index()].numbered |= web.set;
    sorted.push(block);
}
