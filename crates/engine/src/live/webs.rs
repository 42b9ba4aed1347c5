//! Phase 6 for most registers with several definitions: PHI values from sets.
//!
//! A *web* is a register with several definitions. Its liveness is solved in the same sets as that
//! of any other register. What remains are its values: definitions are numbered in the order of
//! LLVM's use list, and there is a PHI value wherever paths from different definitions join and the
//! register is live, which is the pruned iterated dominance frontier of the definitions (Cytron et
//! al., "Efficiently Computing Static Single Assignment Form and the Control Dependence Graph",
//! 1991). The frontier is computed for a batch of webs at a time.
//!
//! LLVM numbers PHI values in the order in which its searches find them. A single PHI value needs
//! no order, and nearly all webs have only one: a loop's counter, or the result of an `if`. The
//! others are left to [`resolve`](super::resolve), which searches as LLVM does. So are webs that a
//! path without a definition reaches, webs with early-clobber or many definitions, and all webs of
//! functions with unreachable blocks or with more registers than one batch holds.

use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{Scan, WebId};
use super::segment::BatchSet;
use super::segment_table::SegmentId;
use super::slot_index::SlotIndex;
use super::slot_indexes::block_of;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::DominatorTree;
use crate::snapshot::abi::{ChainedOperandRecord, RegisterOperandRecord};

/// A web with more definitions is not solved in sets, since each query for a value visits all of
/// them.
const MAX_DEFINITIONS: usize = 8;

/// One definition of a web.
#[derive(Clone, Copy, Debug)]
pub(super) struct WebDefinition {
    pub slot: SlotIndex,
    /// End of the piece that begins there, if it ends in the block.
    pub end: SlotIndex,
    pub block: Block,
    pub value: ValueNumber,
}

/// A web's operands, its definitions, the block of its PHI value, and its sources, if it is in the
/// batch.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Web {
    /// In the chained operands.
    first_operand: u32,
    operand_count: u32,
    pub(super) first: u32,
    pub(super) count: u32,
    pub(super) phi: PackedOption<Block>,
    pub(super) first_source: u32,
    pub(super) source_count: u32,
}

/// The last value of a web in a block, and the blocks that the block dominates, by numbers of the
/// dominator tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    pub(super) block: u32,
    pub(super) end: u32,
    pub(super) value: ValueNumber,
}

/// The webs of a function. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct Webs {
    /// In ascending order for each web.
    pub(super) definitions: Vec<WebDefinition>,
    pub(super) webs: Vec<Web>,
    /// Registers that cross blocks and are to be solved in sets.
    pub crossing: Vec<Register>,
    /// Registers that have to be resolved one by one.
    pub unresolved: Vec<Register>,
    /// For the webs of a batch: each web's blocks, those furthest down the dominator tree first.
    pub(super) sources: Vec<Source>,
    /// PHI sets of a batch's blocks, by segment.
    pub(super) phis: Vec<BatchSet>,
    /// Segments of blocks where paths join and webs are live.
    pub(super) joins: Vec<SegmentId>,
}

impl Webs {
    /// Numbers the values of all webs, writes the intervals of those that do not cross blocks to
    /// `result` and sorts the others into `crossing` and `unresolved`.
    pub(super) fn collect(
        &mut self,
        accesses: &[RegisterOperandRecord],
        chains: &[ChainedOperandRecord],
        scan: &Scan,
        result: &mut LiveIntervals,
    ) {
        self.definitions.clear();
        self.webs.clear();
        self.webs.resize(scan.webs.len(), Web::default());
        self.crossing.clear();
        self.unresolved.clear();
        let mut first_operand = 0;
        for operands in chains.chunk_by(|a, b| a.register == b.register) {
            let register = Register::from_u32(operands[0].register);
            let first = first_operand;
            first_operand += operands.len() as u32;
            let Some(web) = scan.web_of(register) else {
                continue;
            };
            self.webs[web.index()] = Web {
                first_operand: first,
                operand_count: operands.len() as u32,
                ..Web::default()
            };
            match self.number_values(accesses, scan, web, operands, result) {
                false => self.unresolved.push(register),
                true if scan.registers[register.index()].crosses_blocks() => self.crossing.push(register),
                true => self.append_local(register, web, result),
            }
        }
    }

    /// Lists the definitions of `web` and numbers their values in the order of `operands`. Returns
    /// false if the web cannot be solved in sets.
    fn number_values(
        &mut self,
        accesses: &[RegisterOperandRecord],
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
            // An instruction that defines the register twice defines one value.
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
        let web = &mut self.webs[web.index()];
        web.first = first as u32;
        web.count = values;
        true
    }

    /// Returns the operands of `web` in the order of LLVM's list.
    pub(super) fn operands<'a>(
        &self,
        web: WebId,
        chains: &'a [ChainedOperandRecord],
    ) -> &'a [ChainedOperandRecord] {
        let web = self.webs[web.index()];
        &chains[web.first_operand as usize..][..web.operand_count as usize]
    }

    /// Returns the definitions of `web` in ascending order.
    pub(super) fn definitions(&self, web: WebId) -> &[WebDefinition] {
        let Web { first, count, .. } = self.webs[web.index()];
        &self.definitions[first as usize..(first + count) as usize]
    }

    /// Sets the block of the PHI value of `web`, if it has one.
    pub(super) fn set_phi(&mut self, web: WebId, phi: Option<Block>) {
        self.webs[web.index()].phi = phi.into();
    }

    /// Returns the number of the PHI value of `web`, which follows those of its definitions.
    pub(super) fn phi_value(&self, web: WebId) -> ValueNumber {
        ValueNumber::from_u32(self.webs[web.index()].count)
    }

    /// Adds the interval of a register that is used only in the blocks that define it.
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

    /// Adds the values of `web` to the result and to the record.
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

    /// Returns the webs that have a PHI value in the block of `segment`.
    pub(super) fn phis(&self, segment: SegmentId) -> &BatchSet {
        &self.phis[segment.index()]
    }

    fn sources(&self, web: WebId) -> &[Source] {
        let web = self.webs[web.index()];
        &self.sources[web.first_source as usize..][..web.source_count as usize]
    }

    /// Returns the value of `web` at the start of `block`, where it must be live.
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
        // Of the blocks that dominate a position, the one furthest down defines the value.
        let reaching = self.sources(web).iter();
        reaching
            .filter(|source| source.block < number)
            .find(|source| number < source.end)
            .map_or(ValueNumber::ZERO, |source| source.value)
    }

    /// Returns the value of `web` at the end of `block`, where it must be live.
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

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.definitions.capacity() * size_of::<WebDefinition>()
            + self.webs.capacity() * size_of::<Web>()
            + (self.crossing.capacity() + self.unresolved.capacity()) * size_of::<Register>()
            + self.sources.capacity() * size_of::<Source>()
            + self.phis.capacity() * size_of::<BatchSet>()
            + self.joins.capacity() * size_of::<SegmentId>()
    }
}
