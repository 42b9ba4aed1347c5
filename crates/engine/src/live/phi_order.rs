//! The order of a web's PHI values, which is part of the result: LLVM numbers them as its searches
//! find them.
//!
//! LLVM extends a range to each use in turn. A search goes back from the use through the blocks
//! where the register is not known to be live yet. If several values reach these blocks, LLVM
//! visits them in the order of their numbers, again and again, and makes a PHI value where two
//! values are seen to meet ([`resolve`](super::resolve) has the whole algorithm). Here it is known
//! beforehand which blocks get a PHI value, so only searches through two or more of them matter,
//! and they end when the order is certain.

use super::live_interval::{LiveIntervals, LiveSegment};
use super::resolve::UNSORTED_BLOCKS;
use super::scan::{WebId, access_slot};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use super::web_batch::{BlockState, Input, Member, WebBatch, WebSet};
use super::webs::WebDefinition;
use crate::entity::{Block, EntityRef, PackedOption};
use crate::snapshot::abi::{Access, RegisterOperandRecord};

/// Sorts PHI values. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct PhiOrder {
    /// Blocks with a PHI value, in the order of the values.
    sorted: Vec<Block>,
    /// The blocks of one of LLVM's searches.
    searched: Vec<Block>,
    /// By block: true while LLVM visits the search's blocks, if it is one of them.
    is_searched: Vec<bool>,
    /// By block of such a search: the value that leaves it, as far as LLVM knows it.
    known: Vec<PackedOption<ValueNumber>>,
    /// By block: its PHI value.
    phi_of: Vec<ValueNumber>,
    /// By value: the block that defines it.
    value_blocks: Vec<Block>,
    /// Scratch memory to sort blocks.
    set: Vec<u64>,
}

/// The web at hand.
struct Web<'a> {
    id: WebId,
    set: WebSet,
    states: &'a mut [BlockState],
    definitions: &'a [WebDefinition],
    segments: &'a [LiveSegment],
    starts: &'a [SlotIndex],
    numbers: &'a [u32],
    input: Input<'a>,
}

/// What a search found.
struct Found {
    /// Blocks whose PHI value has no number.
    missing: usize,
    /// The last of them.
    last: Block,
}

impl Web<'_> {
    /// True if the web is in a set of `block`.
    #[inline]
    fn is_in(&self, block: Block, set: impl Fn(&BlockState) -> WebSet) -> bool {
        set(&self.states[block.index()]) & self.set != 0
    }

    /// True if `block` has a PHI value without a number.
    fn needs_phi(&self, block: Block) -> bool {
        self.is_in(block, |state| state.phis & !state.numbered)
    }

    /// Returns the block in which the first of `accesses` reads a value that comes from another
    /// block.
    fn block_of_read(&self, accesses: &[RegisterOperandRecord]) -> Option<Block> {
        let access = accesses[0].access();
        match access {
            Access::ReadByPhi => {
                let predecessor = accesses[1].block();
                (!self.is_in(predecessor, |state| state.defined)).then_some(predecessor)
            }
            Access::Read | Access::ReadEarly => {
                let number = self.numbers[accesses[0].instruction().index()];
                let slot = access_slot(number, access);
                let block = self.input.chains.scan.block_of(slot);
                let is_before =
                    |definition: &WebDefinition| definition.block == block && definition.slot < slot;
                let is_defined =
                    self.is_in(block, |state| state.defined) && self.definitions.iter().any(is_before);
                (!is_defined).then_some(block)
            }
            Access::Define | Access::DefineEarly | Access::Mention | Access::FromBlock => None,
        }
    }

    /// Returns the value that leaves a block that defines the web, and else the one that enters it.
    fn leaving(&self, block: Block) -> ValueNumber {
        if self.is_in(block, |state| state.defined) {
            return self.input.chains.webs.last_definition(self.id, block).value;
        }
        let start = self.starts[block.index()];
        let behind = self.segments.partition_point(|segment| segment.start <= start);
        self.segments[behind - 1].value
    }
}

impl PhiOrder {
    /// Prepares for a function of `blocks` blocks.
    pub(super) fn begin(&mut self, blocks: usize) {
        self.is_searched.clear();
        self.is_searched.resize(blocks, false);
        self.known.resize(blocks, PackedOption::default());
        self.phi_of.resize(blocks, ValueNumber::ZERO);
    }

    /// Sorts `phis`, the blocks with PHI values of the web with `bit` in `batch`, whose segments are
    /// in `result`. The values have provisional numbers in their present order, behind those of the
    /// definitions, and get those of the new order.
    pub(super) fn run(
        &mut self,
        batch: &mut WebBatch,
        bit: usize,
        phis: &mut [Block],
        input: Input<'_>,
        result: &mut LiveIntervals,
    ) {
        let Member {
            register, web: id, ..
        } = batch.members[bit];
        let webs = input.chains.webs;
        let record = result.records[register.index()];
        let segments = record.first_segment as usize..(record.first_segment + record.segment_count) as usize;
        let mut web = Web {
            id,
            set: 1 << bit,
            states: &mut batch.states,
            definitions: webs.definitions(id),
            segments: &result.segments[segments.clone()],
            starts: &result.indexes.block_starts,
            numbers: &result.indexes.instruction_numbers,
            input,
        };
        let definitions = web.definitions.len();
        self.value_blocks.clear();
        self.value_blocks.resize(definitions, Block::new(0));
        for definition in web.definitions {
            self.value_blocks[definition.value.index()] = definition.block;
        }
        self.value_blocks.extend_from_slice(phis);
        for (position, phi) in phis.iter().enumerate() {
            self.phi_of[phi.index()] = ValueNumber::new(definitions + position);
        }
        self.sort(&mut web, phis);
        phis.copy_from_slice(&self.sorted);
        for (position, phi) in phis.iter().enumerate() {
            self.phi_of[phi.index()] = ValueNumber::new(definitions + position);
        }
        for segment in &mut result.segments[segments] {
            if segment.value.index() >= definitions {
                let block = self.value_blocks[segment.value.index()];
                segment.value = self.phi_of[block.index()];
            }
        }
    }

    /// Lists `phis` in the order in which LLVM makes their values.
    fn sort(&mut self, web: &mut Web<'_>, phis: &[Block]) {
        let chains = web.input.chains;
        self.sorted.clear();
        for place in chains.webs.operands(web.id, chains.chains) {
            match phis.len() - self.sorted.len() {
                0 => return,
                1 => {
                    let last = phis.iter().find(|&&block| web.needs_phi(block));
                    return self.number(web, *last.expect("one is left"));
                }
                _ => {}
            }
            let read = web.block_of_read(&chains.operands[place.register_operand as usize..]);
            let Some(block) = read.filter(|&block| !web.is_in(block, |state| state.known_in)) else {
                continue;
            };
            match self.search(web, block) {
                Found { missing: 0, .. } => {}
                Found { missing: 1, last } => self.number(web, last),
                Found { missing, .. } => self.number_searched(web, missing),
            }
        }
        assert_eq!(self.sorted.len(), phis.len(), "a read is behind each PHI value");
    }

    /// Gives the PHI value of `block` the next number.
    fn number(&mut self, web: &mut Web<'_>, block: Block) {
        web.states[block.index()].numbered |= web.set;
        self.sorted.push(block);
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
    fn number_searched(&mut self, web: &mut Web<'_>, mut missing: usize) {
        for &block in &self.searched {
            self.is_searched[block.index()] = true;
            self.known[block.index()] = PackedOption::default();
        }
        if self.searched.len() > UNSORTED_BLOCKS {
            web.input.flow.order.sort(&mut self.searched, &mut self.set);
        }
        while missing > 1 && self.visit_searched(web, &mut missing) {}
        for position in 0..self.searched.len() {
            let block = self.searched[position];
            if web.needs_phi(block) {
                self.number(web, block);
            }
            self.is_searched[block.index()] = false;
        }
    }

    /// Visits the searched blocks once as LLVM does, until a single PHI value is `missing`. Returns
    /// false if nothing changed.
    fn visit_searched(&mut self, web: &mut Web<'_>, missing: &mut usize) -> bool {
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
                self.number(web, block);
                changed = true;
                *missing -= 1;
                if *missing == 1 {
                    break;
                }
                Some(self.phi_of[block.index()])
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
                let source = value.map(|value| self.value_blocks[value.index()]);
                value != incoming
                    && source.is_some_and(|source| web.input.dominators.dominates(dominator, source))
            })
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        [&self.sorted, &self.searched, &self.value_blocks]
            .map(Vec::capacity)
            .iter()
            .sum::<usize>()
            * size_of::<Block>()
            + self.is_searched.capacity()
            + (self.known.capacity() + self.phi_of.capacity()) * size_of::<ValueNumber>()
            + self.set.capacity() * size_of::<u64>()
    }
}
