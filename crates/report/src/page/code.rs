//! Encodes a function's instructions, places and blocks compactly.
//!
//! Rows are the instructions other than debug instructions, in code order. Numbers that mostly grow
//! are stored as differences, and strings once. The text of an instruction is stored as its
//! registers and a *form*: the text without registers, which instructions share.

use super::packing::{Interned, differences};
use super::values::{RowMap, Values};
use crate::occupancy::{LaunchBounds, MAX_REGISTERS_PER_THREAD, SmLimits, Usage, static_shared_bytes};
use crate::pressure::{FunctionPressure, Relief, file_name, loops_of};
use oriel_engine::entity::{Block, EntityRef, Instruction};
use oriel_engine::live::pressure::PressureFile;
use oriel_engine::snapshot::{InstructionRef, Snapshot};
use serde::Serialize;

/// The text of an instruction around its registers: the role of each register (`d`efined, `r`ead,
/// `m`entioned), then the text before the first register, between registers, and after the last.
type Form = Vec<String>;

/// The page's data on a function's code.
#[derive(Debug, Serialize)]
pub(super) struct Code {
    strings: Vec<String>,
    /// By row: the instruction's position in the function, as a difference.
    numbers: Vec<i64>,
    forms: Vec<Form>,
    /// By row: its form.
    form: Vec<u32>,
    /// The registers of all rows, one after the other.
    registers: Vec<u32>,
    /// By row: its place, one-based; zero if it has none.
    place: Vec<u32>,
    /// File, line, column, function (strings), and the one-based place that it is inlined at.
    places: Vec<[u32; 5]>,
    blocks: Blocks,
    values: Values,
    peaks: Vec<PeakValues>,
    /// Ascending register counts, each with the warps that fit with this count but not with more;
    /// for kernels.
    occupancy_steps: Vec<[u32; 2]>,
}

/// The blocks in the order of the code.
#[derive(Debug, Default, Serialize)]
struct Blocks {
    /// LLVM's numbers.
    number: Vec<u32>,
    /// Names; strings.
    name: Vec<u32>,
    /// The first row, as a difference.
    first_row: Vec<i64>,
    /// Loops around it.
    depth: Vec<usize>,
    /// How often each runs per run of the function; empty if unknown.
    frequency: Vec<f64>,
    /// LLVM's numbers.
    successors: Vec<Vec<u32>>,
}

/// The values that are live at a peak; those with the greatest possible gain come first.
#[derive(Debug, Serialize)]
struct PeakValues {
    file: &'static str,
    units: u32,
    row: Option<u32>,
    /// LLVM's number of the register, and the possible improvement.
    values: Vec<(u32, Option<Relief>)>,
}

impl Code {
    /// The code of a function.
    pub(super) fn new(pressure: &FunctionPressure<'_>) -> Self {
        let snapshot = pressure.snapshot();
        let rows = RowMap::new(pressure);
        let (mut strings, mut forms) = (Interned::new(), Interned::new());
        // The page takes the first string to mean none.
        strings.number(String::new());
        let (mut form, mut registers, mut place) = (Vec::new(), Vec::new(), Vec::new());
        for &instruction in rows.instructions() {
            let reference = snapshot.instruction(instruction);
            form.push(forms.number(form_of(&reference, &mut registers)));
            place.push(
                reference
                    .location()
                    .map_or(0, |location| location.index() as u32 + 1),
            );
        }
        Self {
            numbers: differences(rows.instructions().iter().map(|it| it.as_u32())),
            forms: forms.into_items(),
            form,
            registers,
            place,
            places: places(&snapshot, &mut strings),
            blocks: Blocks::new(pressure, &rows, &mut strings),
            values: Values::new(pressure, &rows, &mut strings),
            peaks: peaks(pressure, &rows),
            occupancy_steps: occupancy_steps(&snapshot),
            strings: strings.into_items(),
        }
    }

    /// Returns the source files that places name, each once.
    pub(super) fn files(&self) -> impl Iterator<Item = &str> {
        let mut files: Vec<u32> = self.places.iter().map(|&[file, ..]| file).collect();
        files.sort_unstable();
        files.dedup();
        files
            .into_iter()
            .map(|file| self.strings[file as usize].as_str())
            .filter(|file| !file.is_empty())
    }
}

/// Returns the form of an instruction; its registers are added to `registers` in text order.
fn form_of(reference: &InstructionRef<'_>, registers: &mut Vec<u32>) -> Form {
    let text = reference.to_string();
    let mut roles = String::new();
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    for operand in reference.operands() {
        let Some(register) = operand.register() else {
            continue;
        };
        // Results come first in the text, as among the operands. If a symbol is named like a
        // register, the text is split differently, but the parts still add up to the text.
        let name = format!("%{}", register.as_u32());
        let Some((before, behind)) = split_at_name(rest, &name) else {
            continue;
        };
        pieces.push(before.to_owned());
        rest = behind;
        registers.push(register.as_u32());
        roles.push(match (operand.definition(), operand.reading_use()) {
            (Some(_), _) => 'd',
            (None, Some(_)) => 'r',
            (None, None) => 'm',
        });
    }
    pieces.push(rest.to_owned());
    pieces.insert(0, roles);
    pieces
}

/// Splits the text at the first `name` that is not followed by a digit.
fn split_at_name<'t>(text: &'t str, name: &str) -> Option<(&'t str, &'t str)> {
    let mut places = text.match_indices(name);
    places.find_map(|(position, _)| {
        let behind = &text[position + name.len()..];
        let is_whole = !behind.starts_with(|next: char| next.is_ascii_digit());
        is_whole.then_some((&text[..position], behind))
    })
}

fn places(snapshot: &Snapshot<'_>, strings: &mut Interned<String>) -> Vec<[u32; 5]> {
    let records = snapshot.arrays().locations.iter();
    records
        .map(|record| {
            let file = strings.number(snapshot.string(record.file).into_owned());
            let function = strings.number(snapshot.string(record.function).into_owned());
            [file, record.line, record.column, function, record.inlined_at]
        })
        .collect()
}

impl Blocks {
    fn new(pressure: &FunctionPressure<'_>, rows: &RowMap, strings: &mut Interned<String>) -> Self {
        let snapshot = pressure.snapshot();
        let loops = loops_of(&snapshot);
        let record = |block: Block| snapshot.block(block);
        let entry_frequency = snapshot.function().entry_frequency;
        let is_known = entry_frequency != 0 && snapshot.blocks().any(|block| record(block).frequency != 0);
        let frequency = |block| {
            let relative = record(block).frequency as f64 / entry_frequency as f64;
            (relative * 1000.0).round() / 1000.0
        };
        let successors = |block| {
            let mut numbers: Vec<u32> = snapshot.successors(block).map(|it| record(it).number).collect();
            numbers.dedup();
            numbers
        };
        let blocks = || snapshot.blocks();
        Self {
            number: blocks().map(|block| record(block).number).collect(),
            name: blocks()
                .map(|block| strings.number(snapshot.string(record(block).name).into_owned()))
                .collect(),
            first_row: differences(blocks().map(|block| rows.first_row(block))),
            depth: blocks().map(|block| loops.depth_of(block)).collect(),
            frequency: match is_known {
                true => blocks().map(frequency).collect(),
                false => Vec::new(),
            },
            successors: blocks().map(successors).collect(),
        }
    }
}

fn peaks(pressure: &FunctionPressure<'_>, rows: &RowMap) -> Vec<PeakValues> {
    let of_file = |file| {
        let details = pressure.peak_details_of(file);
        PeakValues {
            file: file_name(file),
            units: details.units,
            row: details
                .place
                .and_then(|place| rows.row(Instruction::from_u32(place.instruction))),
            values: details
                .values
                .iter()
                .map(|value| (value.register, value.relief))
                .collect(),
        }
    };
    PressureFile::ALL.map(of_file).into()
}

fn occupancy_steps(snapshot: &Snapshot<'_>) -> Vec<[u32; 2]> {
    let Some(limits) = SmLimits::of(snapshot.function().sm).filter(|_| snapshot.is_kernel()) else {
        return Vec::new();
    };
    let warps = |registers_per_thread| {
        let usage = Usage {
            threads_per_block: LaunchBounds::of(snapshot).threads_per_block(),
            registers_per_thread,
            shared_bytes_per_block: static_shared_bytes(snapshot),
        };
        limits.occupancy(usage).warps_per_sm
    };
    (1..=MAX_REGISTERS_PER_THREAD)
        .filter(|&registers| registers == MAX_REGISTERS_PER_THREAD || warps(registers) > warps(registers + 1))
        .map(|registers| [registers, warps(registers)])
        .filter(|&[_, warps]| warps > 0)
        .collect()
}
