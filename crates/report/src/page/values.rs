//! Live ranges, with rows of instructions as time.
//!
//! A *moment* is four times a row, plus the slot: 0 before the instruction, 1 early definitions, 2
//! where it reads and defines registers, 3 the end of a definition that nothing reads. Ranges that
//! begin or end with a block do so at moment 0 of the block's first row. A moment thus corresponds
//! to LLVM's slot index, and the page counts the same pressure.

use super::packing::{Interned, differences};
use crate::pressure::{FunctionPressure, VariableMap, file_name};
use oriel_engine::entity::{Block, EntityRef, Instruction, Register};
use oriel_engine::live::SlotIndex;
use oriel_engine::live::pressure::{PressureFile, units_of};
use serde::Serialize;

/// Rows of instructions.
pub(super) struct RowMap {
    instructions: Vec<Instruction>,
    /// By instruction.
    rows: Vec<Option<u32>>,
    /// By block, with one more entry at the end.
    first_rows: Vec<u32>,
}

impl RowMap {
    pub(super) fn new(pressure: &FunctionPressure<'_>) -> Self {
        let (snapshot, indexes) = (pressure.snapshot(), pressure.intervals().indexes());
        let mut map = Self {
            instructions: Vec::new(),
            rows: vec![None; snapshot.instruction_count()],
            first_rows: Vec::new(),
        };
        for block in snapshot.blocks() {
            map.first_rows.push(map.instructions.len() as u32);
            for instruction in snapshot
                .instructions_of(block)
                .filter(|&it| indexes.has_index(it))
            {
                map.rows[instruction.index()] = Some(map.instructions.len() as u32);
                map.instructions.push(instruction);
            }
        }
        map.first_rows.push(map.instructions.len() as u32);
        map
    }

    /// The instructions, by row.
    pub(super) fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// The row of an instruction; none of debug instructions.
    pub(super) fn row(&self, instruction: Instruction) -> Option<u32> {
        self.rows[instruction.index()]
    }

    /// Returns the first row of a block, or its position if the block is empty.
    pub(super) fn first_row(&self, block: Block) -> u32 {
        self.first_rows[block.index()]
    }

    /// The moment of an index.
    fn moment(&self, pressure: &FunctionPressure<'_>, index: SlotIndex) -> u32 {
        let indexes = pressure.intervals().indexes();
        let instruction = indexes.instruction_at(index);
        match instruction.and_then(|instruction| self.row(instruction)) {
            Some(row) => 4 * row + index.slot() as u32,
            None => {
                let block = indexes
                    .block_at(index)
                    .map_or(self.first_rows.len() - 1, EntityRef::index);
                4 * self.first_rows[block]
            }
        }
    }
}

/// The registers that are live anywhere, by number.
#[derive(Debug, Default, Serialize)]
pub(super) struct Values {
    /// LLVM's numbers, as differences.
    register: Vec<i64>,
    /// Name, file and units of a register of each class.
    classes: Vec<(String, &'static str, u32)>,
    class: Vec<u32>,
    /// The source variables that each holds; strings, in which names are separated by commas.
    variables: Vec<u32>,
    /// Number of segments of each.
    segment_count: Vec<usize>,
    /// For each segment its start and end: moments, as differences to the number before in the same
    /// register.
    segments: Vec<i64>,
}

impl Values {
    pub(super) fn new(
        pressure: &FunctionPressure<'_>,
        rows: &RowMap,
        strings: &mut Interned<String>,
    ) -> Self {
        let (snapshot, intervals) = (pressure.snapshot(), pressure.intervals());
        let variables = VariableMap::of(&snapshot);
        let mut classes = Interned::new();
        let (mut registers, mut values) = (Vec::new(), Self::default());
        for register in intervals.registers() {
            let interval = intervals.interval(register);
            if interval.is_empty() {
                continue;
            }
            let mut names: Vec<String> = Vec::new();
            for (value, _) in interval.values() {
                let held = variables.names(&snapshot, intervals, register, value);
                names.extend(
                    held.into_iter()
                        .filter(|name| !names.contains(name))
                        .collect::<Vec<_>>(),
                );
            }
            let ends = interval
                .segments()
                .iter()
                .flat_map(|segment| [segment.start, segment.end]);
            registers.push(register.as_u32());
            values.class.push(classes.number(class_of(pressure, register)));
            values.variables.push(strings.number(names.join(", ")));
            values.segment_count.push(interval.segments().len());
            values
                .segments
                .extend(differences(ends.map(|index| rows.moment(pressure, index))));
        }
        Self {
            register: differences(registers),
            classes: classes.into_items(),
            ..values
        }
    }
}

fn class_of(pressure: &FunctionPressure<'_>, register: Register) -> (String, &'static str, u32) {
    let snapshot = pressure.snapshot();
    let (file, units): (PressureFile, u32) = units_of(&snapshot, register);
    let class = snapshot.class(snapshot.register_class(register));
    (snapshot.string(class.name).to_lowercase(), file_name(file), units)
}
