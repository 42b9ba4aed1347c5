//! Phase 6 for most registers with several definitions: PHI values from sets.
//!
//! A *web* is a register with several definitions. Its liveness is that of any other register and is
//! solved in the same sets. What is left are its values: definitions are numbered in the order of
//! LLVM's use list, and a PHI value stands where paths from different definitions join, which is
//! the iterated dominance frontier of the definitions, as far as the register is live there (Cytron et
//! al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph",
//! 1991). The frontier is computed for a batch of webs at a time.
//!
//! LLVM numbers PHI values in the order in which its searches come upon them. With one PHI value
//! there is no order to know, and nearly all webs have one: a loop's counter, what an `if` decides.
//! The others are left to [`resolve`](super::resolve), which searches as LLVM does; so are webs that
//! a path without a definition reaches, webs with early-clobber or many definitions, and all
//! webs of functions with unreachable blocks or with more registers than one batch holds.

use super::dataflow::{BlockSegments, Dataflow, block_of};
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::predecessors::Predecessors;
use super::scan::{Scan, WebId};
use super::segment::BatchSet;
use super::segment_table::SegmentId;
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::DominatorTree;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::ChainedOperandRecord;
use std::ops::Range;

/// A web with more definitions is not for sets: each question for a value looks at all of them.
const MAX_DEFINITIONS: usize = 8;

/// Steps up the dominator tree for each block of a batch, on average, before its webs are left to the
/// resolver: deep nests of loops have frontiers of quadratic size.
const STEPS_A_BLOCK: usize = 32;

/// One definition of a web.
#[derive(Clone, Copy, Debug)]
pub(super) struct WebDefinition {
    pub slot: SlotIndex,
    /// End of the piece that begins there, if it ends in the block.
    pub end: SlotIndex,
    pub block: Block,
    pub value: ValueNumber,
}

/// A web's definitions, the block of its PHI value, and its sources, if it is in the batch.
#[derive(Clone, Copy, Debug, Default)]
struct Web {
    first: u32,
    count: u32,
    phi: PackedOption<Block>,
    first_source: u32,
    source_count: u32,
}

/// The last value that a block makes of a web, and the blocks that the block dominates, by numbers of the dominator tree.
#[derive(Clone, Copy, Debug)]
struct Source {
    block: u32,
    end: u32,
    value: ValueNumber,
}

/// The webs of a function. Memory is kept from function to function.
#[derive(Debug, Default)]
pub(super) struct Webs {
    /// In ascending order for each web.
    definitions: Vec<WebDefinition>,
    webs: Vec<Web>,
    /// Registers that cross blocks and are to be solved in sets.
    pub crossing: Vec<Register>,
    /// Registers that have to be resolved one by one.
    pub unresolved: Vec<Register>,
    /// Of the webs of a batch: for each web the block furthest down the dominator tree first.
    sources: Vec<Source>,
    /// PHI sets of a batch's blocks, by segment.
    phis: Vec<BatchSet>,
    /// Segments of blocks where paths join and webs are live.
    joins: Vec<SegmentId>,
    /// PHI values made since the function began.
    pub phi_values: u64,
}

impl Webs {
    /// Numbers the values of all webs, writes the intervals of those that do not cross blocks to `result`
    /// and sorts the others into `crossing` and `unresolved`.
    pub(super) fn collect(&mut self, snapshot: &Snapshot<'_>, scan: &Scan, result: &mut LiveIntervals) {
        self.definitions.clear();
        self.webs.clear();
        self.webs.resize(scan.webs.len(), Web::default());
        self.crossing.clear();
        self.unresolved.clear();
        self.phi_values = 0;
        let chained = snapshot.arrays().chained_operands;
        for operands in chained.chunk_by(|a, b| a.register == b.register) {
            let register = Register::from_u32(operands[0].register);
            let numbered = scan
                .web_of(register)
                .filter(|&web| self.number_values(snapshot, scan, web, operands, result));
            match numbered {
                None => self.unresolved.push(register),
                Some(_) if scan.registers[register.index()].crosses_blocks() => self.crossing.push(register),
                Some(web) => self.append_local(register, web, result),
            }
        }
    }

    /// Lists the definitions of `web` and numbers their values in the order of `operands`. Returns false
    /// if the web is not for sets.
    fn number_values(
        &mut self,
        snapshot: &Snapshot<'_>,
        scan: &Scan,
        web: WebId,
        operands: &[ChainedOperandRecord],
        intervals: &LiveIntervals,
    ) -> bool {
        let indexes = &intervals.indexes;
        let first = self.definitions.len();
        let mut hint = Block::new(0);
        for (slot, end) in scan.definitions_of(web) {
            if slot.is_early_clobber() || self.definitions.len() == first + MAX_DEFINITIONS {
                self.definitions.truncate(first);
                return false;
            }
            hint = block_of(&indexes.block_starts, slot, hint);
            self.definitions.push(WebDefinition {
                slot,
                end,
                block: hint,
                value: ValueNumber::ZERO,
            });
        }
        let definitions = &mut self.definitions[first..];
        definitions.reverse();
        let mut numbered = 0;
        let mut values = 0;
        let accesses = snapshot.arrays().register_operands;
        let accesses = accesses.expect("register operands are listed");
        for place in operands {
            // LLVM's lists begin with the definitions.
            let operand = &accesses[place.register_operand as usize];
            if !operand.access().is_definition() {
                break;
            }
            let number = indexes.instruction_numbers[operand.instruction().index()];
            let is_here = |definition: &WebDefinition| definition.slot.base() == number;
            let Some(position) = definitions.iter().position(is_here) else {
                continue;
            };
            // An instruction that defines the register twice makes one value.
            if numbered >> position & 1 == 0 {
                definitions[position].value = ValueNumber::from_u32(values);
                numbered |= 1_u32 << position;
                values += 1;
            }
        }
        if values as usize != definitions.len() {
            self.definitions.truncate(first);
            return false;
        }
        self.webs[web.index()] = Web {
            first: first as u32,
            count: values,
            ..Web::default()
        };
        true
    }

    /// The definitions of `web` in ascending order.
    pub(super) fn definitions(&self, web: WebId) -> &[WebDefinition] {
        let Web { first, count, .. } = self.webs[web.index()];
        &self.definitions[first as usize..(first + count) as usize]
    }

    /// Number of the PHI value of `web`: the one behind those of its definitions.
    fn phi_value(&self, web: WebId) -> ValueNumber {
        ValueNumber::from_u32(self.webs[web.index()].count)
    }

    /// Adds the interval of a register that is only used in the blocks that define it.
    fn append_local(&mut self, register: Register, web: WebId, result: &mut LiveIntervals) {
        let first_segment = result.segments.len() as u32;
        let definitions = self.definitions(web);
        make_room(&mut result.segments, definitions.len());
        result
            .segments
            .extend(definitions.iter().map(|definition| LiveSegment {
                start: definition.slot,
                end: definition.end,
                value: definition.value,
            }));
        result.records[register.index()] = IntervalRecord {
            first_segment,
            segment_count: definitions.len() as u32,
            ..self.append_values(web, &mut result.values, &[])
        };
    }

    /// Adds the values of `web` to the result; the record says where they are.
    pub(super) fn append_values(
        &self,
        web: WebId,
        values: &mut Vec<PackedOption<SlotIndex>>,
        starts: &[SlotIndex],
    ) -> IntervalRecord {
        let first = values.len();
        let definitions = self.definitions(web);
        let phi = self.webs[web.index()].phi.expand();
        make_room(values, definitions.len() + 1);
        values.resize(first + definitions.len(), PackedOption::default());
        for definition in definitions {
            values[first + definition.value.index()] = definition.slot.into();
        }
        values.extend(phi.map(|block| PackedOption::from(starts[block.index()])));
        IntervalRecord {
            first_value: first as u32,
            value_count: (values.len() - first) as u32,
            ..IntervalRecord::default()
        }
    }

    /// Finds the PHI values of the batch that `dataflow` solved. Returns the webs for which that is not
    /// possible; they are added to `unresolved`.
    pub(super) fn place_phis(
        &mut self,
        dataflow: &Dataflow,
        predecessors: &Predecessors,
        dominators: &DominatorTree<Block>,
    ) -> BatchSet {
        let segments = &dataflow.segments;
        let ids = (0..segments.len()).map(SegmentId::new);
        let mut frontier = Frontier {
            segments,
            predecessors,
            dominators,
            steps: segments.len() * STEPS_A_BLOCK,
        };
        let mut unresolved = BatchSet::EMPTY;
        let mut met = BatchSet::EMPTY;
        self.phis.clear();
        self.phis.resize(segments.len(), BatchSet::EMPTY);
        self.joins.clear();
        for id in ids {
            let block = segments.block(id);
            if block.index() != 0 && predecessors.of(block).len() < 2 {
                continue;
            }
            let live = segments.get(id).live_in().intersection(&dataflow.web_bits);
            if block.index() == 0 {
                // Read before it is defined.
                unresolved = unresolved.union(&live);
            } else if !live.is_empty() {
                self.joins.push(id);
                let definitions = |id| *segments.get(id).definitions();
                let phis = frontier.meets(id, definitions).intersection(&live);
                unresolved = unresolved.union(&met.intersection(&phis));
                met = met.union(&phis);
                self.phis[id.index()] = phis;
            }
        }
        // A PHI value is a definition, too. If it makes another one, there are several.
        for &id in &self.joins {
            let live = segments.get(id).live_in().intersection(&met);
            if !live.is_empty() {
                let meets = frontier.meets(id, |id| self.phis[id.index()]).intersection(&live);
                unresolved = unresolved.union(&meets.difference(&self.phis[id.index()]));
            }
        }
        if frontier.steps == 0 {
            unresolved = dataflow.web_bits;
        }
        for &id in &self.joins {
            self.phis[id.index()].difference(&unresolved).for_each(|bit| {
                self.phi_values += 1;
                self.webs[dataflow.web_at(bit).index()].phi = segments.block(id).into();
            });
        }
        self.sources.clear();
        dataflow
            .web_bits
            .difference(&unresolved)
            .for_each(|bit| self.list_sources(dataflow.web_at(bit), dominators));
        for (bit, register) in dataflow.batch.members() {
            if unresolved.contains(bit) {
                self.unresolved.push(register);
            }
        }
        unresolved
    }

    /// The webs that have a PHI value in the block of `segment`.
    pub(super) fn phis(&self, segment: SegmentId) -> &BatchSet {
        &self.phis[segment.index()]
    }

    /// Lists the blocks that make values of `web`.
    fn list_sources(&mut self, web: WebId, dominators: &DominatorTree<Block>) {
        let first_source = self.sources.len();
        let Web {
            first, count, phi, ..
        } = self.webs[web.index()];
        let phi = phi.expand().map(|block| (block, self.phi_value(web)));
        let definitions = &self.definitions[first as usize..(first + count) as usize];
        let definitions = definitions.iter().rev();
        let values = definitions.map(|definition| (definition.block, definition.value));
        // The last value of a block comes first, and stays the first of its block.
        for (block, value) in values.chain(phi) {
            let Range { start, end } = dominators.dominated(block);
            let sources = &self.sources[first_source..];
            let place = sources.partition_point(|source| source.block >= start);
            if place == 0 || sources[place - 1].block != start {
                let source = Source {
                    block: start,
                    end,
                    value,
                };
                self.sources.insert(first_source + place, source);
            }
        }
        let web = &mut self.webs[web.index()];
        web.first_source = first_source as u32;
        web.source_count = (self.sources.len() - first_source) as u32;
    }

    fn sources(&self, web: WebId) -> &[Source] {
        let web = self.webs[web.index()];
        &self.sources[web.first_source as usize..][..web.source_count as usize]
    }

    /// The value of `web` at the start of `block`, where it is live.
    pub(super) fn value_at_start(
        &self,
        web: WebId,
        block: Block,
        dominators: &DominatorTree<Block>,
    ) -> ValueNumber {
        if self.webs[web.index()].phi.expand() == Some(block) {
            return self.phi_value(web);
        }
        let number = dominators.dominated(block).start;
        // Of the blocks that dominate a place, the one furthest down made the value.
        let reaching = self.sources(web).iter();
        reaching
            .filter(|source| source.block < number)
            .find(|source| number < source.end)
            .map_or(ValueNumber::ZERO, |source| source.value)
    }

    /// The value of `web` at the end of `block`, where it is live.
    pub(super) fn value_at_end(
        &self,
        web: WebId,
        block: Block,
        dominators: &DominatorTree<Block>,
    ) -> ValueNumber {
        let number = dominators.dominated(block).start;
        let mut reaching = self.sources(web).iter();
        reaching
            .find(|source| source.block <= number && number < source.end)
            .map_or(ValueNumber::ZERO, |source| source.value)
    }

    /// Bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.definitions.capacity() * size_of::<WebDefinition>()
            + self.webs.capacity() * size_of::<Web>()
            + (self.crossing.capacity() + self.unresolved.capacity()) * size_of::<Register>()
            + self.sources.capacity() * size_of::<Source>()
            + self.phis.capacity() * size_of::<BatchSet>()
            + self.joins.capacity() * size_of::<SegmentId>()
    }
}

/// Walks up the dominator tree from the predecessors of blocks.
struct Frontier<'a> {
    segments: &'a BlockSegments,
    predecessors: &'a Predecessors,
    dominators: &'a DominatorTree<Block>,
    /// How many steps are left.
    steps: usize,
}

impl Frontier<'_> {
    /// What `set` has in the blocks in whose dominance frontier the block of `id` is.
    fn meets(&mut self, id: SegmentId, set: impl Fn(SegmentId) -> BatchSet) -> BatchSet {
        let mut meets = BatchSet::EMPTY;
        let block = self.segments.block(id);
        let predecessors = self.predecessors.of(block);
        let dominator = self.dominators.immediate(block);
        for &predecessor in predecessors {
            let mut next = Some(predecessor);
            while let Some(below) = next.filter(|_| next != dominator && self.steps > 0) {
                self.steps -= 1;
                if let Some(id) = self.segments.find(below) {
                    meets = meets.union(&set(id));
                }
                next = self.dominators.immediate(below);
            }
        }
        meets
    }
}
