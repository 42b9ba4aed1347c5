//! A value that is live at a peak.

use super::place::Place;
use super::region::Region;
use super::variables::VariableMap;
use oriel_engine::entity::{Instruction, Register};
use oriel_engine::live::pressure::{PressureFile, units_of};
use oriel_engine::live::{LiveIntervals, SlotIndex, ValueNumber};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{MemoryFlags, OpcodeFlags};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;

/// Ways to remove a value from a peak, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Relief {
    /// Nothing in the region of the peak uses it, and it depends on no other value: it can be
    /// computed after the region.
    ComputeBehind,
    /// Nothing in the region of the peak uses it: it could be kept in memory meanwhile.
    KeepInMemory,
    /// It is used in the region but depends on no other value: it can be computed where it is used.
    ComputeAtUse,
}

impl fmt::Display for Relief {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ComputeBehind => "unused here, can be computed later",
            Self::KeepInMemory => "unused here",
            Self::ComputeAtUse => "can be computed where it is used",
        })
    }
}

/// A value that is live at a peak.
#[derive(Clone, Debug, Serialize)]
pub struct LiveValue {
    /// LLVM's number of the register.
    pub register: u32,
    /// The register's class.
    pub class: String,
    /// Units of its file that it takes.
    pub units: u32,
    /// Source variables that it holds.
    pub variables: Vec<String>,
    /// Its definition; none where values of several predecessors meet.
    pub definition: Option<Place>,
    /// The last instruction in code order that uses it.
    pub last_use: Option<Place>,
    /// The possible improvement; none if the value must be there.
    pub relief: Option<Relief>,
}

/// Describes a function's values.
pub(super) struct Describer<'s, 'a> {
    pub(super) snapshot: &'s Snapshot<'a>,
    pub(super) intervals: &'s LiveIntervals,
    pub(super) variables: &'s VariableMap,
}

/// The instructions that read a value.
#[derive(Clone, Copy, Default)]
struct Reads {
    last: Option<Instruction>,
    is_read_in_region: bool,
}

impl Describer<'_, '_> {
    /// Returns the values of `file` that are live at `index`; those with the greatest possible gain
    /// come first.
    pub(super) fn values_at(&self, file: PressureFile, index: SlotIndex, region: &Region) -> Vec<LiveValue> {
        let live: BTreeMap<Register, ValueNumber> = self
            .intervals
            .live_at(self.snapshot, file, index)
            .into_iter()
            .filter_map(|register| Some((register, self.intervals.interval(register).value_at(index)?)))
            .collect();
        let mut reads = self.reads_of(&live, region);
        let mut values: Vec<LiveValue> = live
            .iter()
            .map(|(&register, &value)| {
                let reads = reads.remove(&register).unwrap_or_default();
                self.describe(register, value, reads, region)
            })
            .collect();
        values.sort_by_key(|value| {
            let rank = value.relief.map_or(u8::MAX, |relief| relief as u8);
            (rank, std::cmp::Reverse(value.units), value.register)
        });
        values
    }

    /// Collects the readers of these values in one walk through the function.
    fn reads_of(&self, live: &BTreeMap<Register, ValueNumber>, region: &Region) -> BTreeMap<Register, Reads> {
        let mut reads: BTreeMap<Register, Reads> = BTreeMap::new();
        let indexes = self.intervals.indexes();
        for block in self.snapshot.blocks() {
            let is_in_region = region.contains(block);
            for instruction in self.snapshot.instructions_of(block) {
                if !indexes.has_index(instruction) {
                    continue;
                }
                let index = indexes.instruction_index(instruction);
                let reference = self.snapshot.instruction(instruction);
                let is_phi = reference.opcode_flags().contains(OpcodeFlags::PHI);
                for register in reference.operands().filter_map(|operand| operand.reading_use()) {
                    let Some(&value) = live.get(&register) else {
                        continue;
                    };
                    // A PHI reads at the end of a predecessor; where there are PHIs, a register has
                    // one value.
                    if is_phi || self.intervals.interval(register).query(index).value_in() == Some(value) {
                        let read = reads.entry(register).or_default();
                        read.last = Some(instruction);
                        read.is_read_in_region |= is_in_region;
                    }
                }
            }
        }
        reads
    }

    fn describe(&self, register: Register, value: ValueNumber, reads: Reads, region: &Region) -> LiveValue {
        let snapshot = self.snapshot;
        let indexes = self.intervals.indexes();
        let definition = self
            .intervals
            .interval(register)
            .definition(value)
            .and_then(|index| indexes.instruction_at(index));
        let place = |instruction: Instruction| {
            let block = indexes.block_at(indexes.instruction_index(instruction))?;
            Some((block, Place::of(snapshot, block, instruction)))
        };
        let definition_place = definition.and_then(place);
        let is_defined_in_region = match &definition_place {
            Some((block, _)) => region.contains(*block),
            None => true,
        };
        let is_free = definition.is_some_and(|instruction| can_be_computed_again(snapshot, instruction));
        let is_through = !reads.is_read_in_region && !is_defined_in_region;
        let relief = match (is_through, is_free) {
            (true, true) => Some(Relief::ComputeBehind),
            (true, false) => Some(Relief::KeepInMemory),
            (false, true) => Some(Relief::ComputeAtUse),
            (false, false) => None,
        };
        let class = snapshot.class(snapshot.register_class(register));
        LiveValue {
            register: register.as_u32(),
            class: snapshot.string(class.name).to_lowercase(),
            units: units_of(snapshot, register).1,
            variables: self.variables.names(snapshot, self.intervals, register, value),
            definition: definition_place.map(|(_, place)| place),
            last_use: reads.last.and_then(place).map(|(_, place)| place),
            relief,
        }
    }
}

/// True if the instruction gives the same result at any place, without reading a register.
fn can_be_computed_again(snapshot: &Snapshot<'_>, instruction: Instruction) -> bool {
    const NEVER: OpcodeFlags = OpcodeFlags::PHI
        .union(OpcodeFlags::INLINE_ASM)
        .union(OpcodeFlags::MAY_STORE)
        .union(OpcodeFlags::SIDE_EFFECTS)
        .union(OpcodeFlags::CONVERGENT)
        .union(OpcodeFlags::CALL)
        .union(OpcodeFlags::NOT_DUPLICABLE);
    let reference = snapshot.instruction(instruction);
    let flags = reference.opcode_flags();
    let is_fixed = |flags: u16| {
        MemoryFlags::from_bits_truncate(flags).contains(MemoryFlags::INVARIANT | MemoryFlags::DEREFERENCEABLE)
    };
    let memory = reference.memory_operands();
    let memory_stays = memory.iter().all(|operand| is_fixed(operand.flags));
    !flags.intersects(NEVER)
        && memory_stays
        && (!flags.contains(OpcodeFlags::MAY_LOAD) || !memory.is_empty())
        && reference
            .operands()
            .all(|operand| operand.reading_use().is_none())
}
