//! The *webs*: registers with several definitions, whose values are numbered in the order of LLVM's
//! use list.
//!
//! Most are solved by [`web_values`](super::web_values). Those with an early-clobber definition or
//! very many are left to [`resolve`](super::resolve), which searches as LLVM does.

use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{Scan, WebId};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::snapshot::abi::{ChainedOperandRecord, RegisterOperandRecord};

/// A web with more definitions is left to the resolver: the bits of a word.
const MAX_DEFINITIONS: usize = 64;

/// One definition of a web.
#[derive(Clone, Copy, Debug)]
pub(super) struct WebDefinition {
    pub slot: SlotIndex,
    /// End of the piece that begins there, if it ends in the block.
    pub end: SlotIndex,
    pub block: Block,
    pub value: ValueNumber,
}

/// A web's operands and definitions.
#[derive(Clone, Copy, Debug, Default)]
struct Web {
    /// In the chained operands.
    first_operand: u32,
    operand_count: u32,
    /// In the definitions.
    first: u32,
    count: u32,
}

/// The webs of a function. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct Webs {
    /// In ascending order for each web.
    definitions: Vec<WebDefinition>,
    webs: Vec<Web>,
    /// Registers that cross blocks.
    pub crossing: Vec<Register>,
    /// Registers that the resolver has to resolve.
    pub unresolved: Vec<Register>,
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
    /// false if the web is left to the resolver.
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
        for (slot, end) in scan.definitions_of(web) {
            if slot.is_early_clobber() || self.definitions.len() == first + MAX_DEFINITIONS {
                self.definitions.truncate(first);
                return false;
            }
            self.definitions.push(WebDefinition {
                slot,
                end,
                block: scan.block_of(slot),
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
            let number_of = |definition: &WebDefinition| definition.slot.base();
            let Ok(position) = definitions.binary_search_by_key(&number, number_of) else {
                continue;
            };
            // An instruction that defines the register twice defines one value.
            if numbered >> position & 1 == 0 {
                definitions[position].value = ValueNumber::from_u32(values);
                numbered |= 1_u64 << position;
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

    /// Returns the last definition of `web` in `block`, which defines it.
    pub(super) fn last_definition(&self, web: WebId, block: Block) -> WebDefinition {
        let definitions = self.definitions(web);
        let behind = definitions.partition_point(|definition| definition.block <= block);
        definitions[behind - 1]
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
            ..self.append_values(web, &[], &[], &mut result.values)
        };
    }

    /// Adds the values of `web` to the result and to the record: those of its definitions, then PHI
    /// values in the blocks of `phis`.
    pub(super) fn append_values(
        &self,
        web: WebId,
        phis: &[Block],
        starts: &[SlotIndex],
        values: &mut Vec<PackedOption<SlotIndex>>,
    ) -> IntervalRecord {
        let first = values.len();
        let definitions = self.definitions(web);
        make_room(values, definitions.len() + phis.len());
        values.resize(first + definitions.len(), PackedOption::default());
        for definition in definitions {
            values[first + definition.value.index()] = definition.slot.into();
        }
        values.extend(phis.iter().map(|block| PackedOption::from(starts[block.index()])));
        IntervalRecord {
            first_value: first as u32,
            value_count: (values.len() - first) as u32,
            ..IntervalRecord::default()
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.definitions.capacity() * size_of::<WebDefinition>()
            + self.webs.capacity() * size_of::<Web>()
            + (self.crossing.capacity() + self.unresolved.capacity()) * size_of::<Register>()
    }
}
