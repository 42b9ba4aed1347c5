//! Prints live ranges beside the machine code, as `nvdisasm -plr` does for SASS.
//!
//! A register gets the first free column while it is live. Wide registers take one column, too.
//!
//! ```text
//! ^  defined    v  used last    x  both    :  live, not used    o  used, and live on
//! ```

use super::pressure::FunctionPressure;
use oriel_engine::entity::{Block, EntityRef, Instruction, Register};
use oriel_engine::live::pressure::PressureFile;
use std::fmt::{self, Write};

/// Registers by column.
#[derive(Default)]
struct Columns(Vec<Option<Register>>);

impl Columns {
    fn holds(&self, register: Register) -> bool {
        self.0.contains(&Some(register))
    }

    fn allocate(&mut self, register: Register) {
        if self.holds(register) {
            return;
        }
        match self.0.iter_mut().find(|column| column.is_none()) {
            Some(free) => *free = Some(register),
            None => self.0.push(Some(register)),
        }
    }

    /// Frees the columns of registers that are not in `live`, which is ascending.
    fn retain(&mut self, live: &[Register]) {
        for column in &mut self.0 {
            column.take_if(|register| live.binary_search(register).is_err());
        }
    }
}

/// Writes a function with the units live after each instruction and the live ranges of its general
/// registers.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_live_ranges(pressure: &FunctionPressure<'_>, out: &mut impl Write) -> fmt::Result {
    let snapshot = pressure.snapshot();
    let kind = if snapshot.is_kernel() {
        "kernel"
    } else {
        "function"
    };
    let (name, stage, sm) = (snapshot.name(), snapshot.stage().name(), snapshot.function().sm);
    writeln!(out, "{kind} {name} stage {stage} sm_{sm}")?;
    let text_width = snapshot
        .instructions()
        .map(|instruction| snapshot.instruction(instruction).to_string().len())
        .max()
        .unwrap_or_default()
        .min(TEXT_WIDTH);
    let mut columns = Columns::default();
    for block in snapshot.blocks() {
        write_block(pressure, block, &mut columns, text_width, out)?;
    }
    Ok(())
}

/// The longest text of an instruction, in characters.
const TEXT_WIDTH: usize = 72;

fn write_block(
    pressure: &FunctionPressure<'_>,
    block: Block,
    columns: &mut Columns,
    text_width: usize,
    out: &mut impl Write,
) -> fmt::Result {
    let (snapshot, intervals) = (pressure.snapshot(), pressure.intervals());
    let start = intervals.indexes().block_start(block);
    let mut live = intervals.live_at(&snapshot, PressureFile::General, start);
    columns.retain(&live);
    for &register in &live {
        columns.allocate(register);
    }
    write!(out, "bb.{}:", snapshot.block(block).number)?;
    for (column, register) in columns.0.iter().enumerate() {
        if let Some(register) = register {
            write!(out, " {column}=%{}", register.index())?;
        }
    }
    writeln!(out)?;
    for instruction in snapshot.instructions_of(block) {
        if intervals.indexes().has_index(instruction) {
            live = write_instruction(pressure, instruction, live, columns, text_width, out)?;
        }
    }
    Ok(())
}

/// Writes an instruction after which the set of live registers changes; returns the new set.
fn write_instruction(
    pressure: &FunctionPressure<'_>,
    instruction: Instruction,
    before: Vec<Register>,
    columns: &mut Columns,
    text_width: usize,
    out: &mut impl Write,
) -> Result<Vec<Register>, fmt::Error> {
    let (snapshot, intervals) = (pressure.snapshot(), pressure.intervals());
    let index = intervals.indexes().instruction_index(instruction);
    let reference = snapshot.instruction(instruction);
    let is_general = |register: &Register| {
        oriel_engine::live::pressure::units_of(&snapshot, *register).0 == PressureFile::General
    };
    let definitions: Vec<Register> = reference
        .operands()
        .filter_map(|it| it.definition())
        .filter(is_general)
        .collect();
    let uses: Vec<Register> = reference
        .operands()
        .filter_map(|it| it.reading_use())
        .filter(is_general)
        .collect();
    // Ranges that end here are still in `before`; ranges that begin after the dead slot, or are
    // dead at once, are not.
    let after: Vec<Register> = live_behind(&before, &definitions, |register| {
        intervals.interval(register).live_at(index.dead_slot())
    });
    // A result could take the column of a register that the instruction uses last, but the two
    // would share a mark. Columns are therefore freed only after the instruction.
    for &register in &definitions {
        columns.allocate(register);
    }
    let units = pressure
        .pressure()
        .file(PressureFile::General)
        .at(index.dead_slot());
    let text: String = reference.to_string().chars().take(text_width).collect();
    write!(
        out,
        "  @{:<5} {text:text_width$} | {units:>3} |",
        instruction.index()
    )?;
    let marks: String = columns
        .0
        .iter()
        .flat_map(|column| {
            let mark = column.map_or(' ', |register| {
                mark(register, &definitions, &uses, &before, &after)
            });
            [' ', mark]
        })
        .collect();
    writeln!(out, "{}", marks.trim_end())?;
    columns.retain(&after);
    Ok(after)
}

/// Returns the registers live after an instruction, ascending, given those live before and those
/// that it defines.
fn live_behind(
    before: &[Register],
    definitions: &[Register],
    is_live: impl Fn(Register) -> bool,
) -> Vec<Register> {
    let candidates = before.iter().chain(definitions).copied();
    let mut live: Vec<Register> = candidates.filter(|&register| is_live(register)).collect();
    live.sort_unstable();
    live.dedup();
    live
}

fn mark(
    register: Register,
    definitions: &[Register],
    uses: &[Register],
    before: &[Register],
    after: &[Register],
) -> char {
    let is_used = uses.contains(&register) && before.contains(&register);
    match (definitions.contains(&register), is_used) {
        (true, true) => 'x',
        (true, false) => '^',
        (false, true) if after.contains(&register) => 'o',
        (false, true) => 'v',
        (false, false) => ':',
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::live::LiveRangeCalc;
    use oriel_engine::snapshot::sample::counting_loop;

    #[test]
    fn marks_definitions_uses_and_what_lives_on() {
        let owned = counting_loop();
        let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
        let mut text = String::new();
        write_live_ranges(&pressure, &mut text).unwrap();
        let expected = "\
kernel count stage ssa sm_80
bb.0:
  @0     %0:b32 = MOV_B32_i 0              |   1 | ^
bb.1:
  @1     %1:b32 = PHI %0, %bb.0, %2, %bb.1 |   1 | ^
  @2     %2:b32 = ADD32ri %1, 1            |   1 | v ^
  @3     %3:b1 = SETP_i32ri %2, 10, 2      |   1 |   o
  @4     CBranch %3, %bb.1                 |   1 |   :
  @5     GOTO %bb.2                        |   1 |   :
bb.2:
  @6     Return                            |   0 |
";
        assert_eq!(text, expected);
    }
}
