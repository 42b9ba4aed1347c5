//! Register pressure: the units of each register file live at every point of a function.
//!
//! The intervals tell where each register holds a value, so one sweep over their segments suffices:
//! a segment adds the units of its register at its start and removes them at its end, and the
//! running sum over the points is the pressure. The time is linear in segments and instructions; no
//! set of live registers is built. Clients that need the registers themselves use
//! [`RegisterSets`](super::RegisterSets).

use super::divergence::Divergence;
use super::function::{Function, RegisterFile};
use super::liveness::Liveness;
use super::register_sets::{Point, Units, counted_file, units_of};
use oriel_engine::entity::{Block, Register};
use oriel_engine::live::{INSTRUCTION_DISTANCE, SlotIndex};

/// Calls `found` for every point of a function in layout order with the live units by kind. `kind`
/// assigns each register to one of `KINDS` kinds. A result without uses counts at its definition.
/// Debug instructions are no points.
pub(crate) fn each_pressure<const KINDS: usize>(
    function: &Function,
    liveness: &Liveness,
    kind: impl Fn(Register) -> usize,
    mut found: impl FnMut(Point, [u32; KINDS]),
) {
    let count = |register| (kind(register), units_of(function, register));
    let changes = changes_by_entry::<KINDS>(function, liveness, count);
    let mut units = [0_u32; KINDS];
    let mut reached = 0;
    let mut reach = |index: SlotIndex| {
        // The entries on the way are those of instructions that were removed since.
        let entry = entry_of(index);
        for changes in &changes[reached..=entry] {
            for (units, change) in units.iter_mut().zip(changes) {
                *units = units.wrapping_add(*change);
            }
        }
        reached = entry + 1;
        units
    };
    for &block in function.blocks() {
        found(Point::Start(block), reach(liveness.block_range(block).0));
        for instruction in function.instructions(block) {
            let units = reach(liveness.index(instruction));
            if !function.operation(instruction).is_debug() {
                found(Point::At(instruction), units);
            }
        }
    }
}

/// Calls `found` with the live units by kind at the start of each block and after each instruction,
/// in layout order. Unlike `each_pressure` it needs no indexes of instructions.
pub fn each_count<const KINDS: usize>(
    function: &Function,
    liveness: &Liveness,
    kind: impl Fn(Register) -> usize,
    mut found: impl FnMut([u32; KINDS]),
) {
    let mut units = [0_u32; KINDS];
    let count = |register| (kind(register), units_of(function, register));
    for changes in changes_by_entry::<KINDS>(function, liveness, count) {
        for (units, change) in units.iter_mut().zip(changes) {
            *units = units.wrapping_add(change);
        }
        found(units);
    }
}

/// Returns the most units that are live at once in each block, in layout order, if a register takes
/// `units`. A result without uses counts at its definition. Like [`each_count`] it needs no indexes of
/// instructions.
pub fn peaks_of_blocks(
    function: &Function,
    liveness: &Liveness,
    units: impl Fn(Register) -> u32,
) -> Vec<(Block, u32)> {
    let changes = changes_by_entry::<1>(function, liveness, |register| (0, units(register)));
    let mut live = 0_u32;
    let peak_of_block = |&block: &Block| {
        let (start, end) = liveness.block_range(block);
        let of_block = changes[entry_of(start)..entry_of(end)].iter().map(|[change]| {
            live = live.wrapping_add(*change);
            live
        });
        (block, of_block.max().unwrap_or(0))
    };
    function.blocks().iter().map(peak_of_block).collect()
}

/// Returns by how many units each entry of the numbering (a block's start or an instruction)
/// exceeds the previous one, if `count` gives a register's kind and units. Negative numbers wrap
/// around.
fn changes_by_entry<const KINDS: usize>(
    function: &Function,
    liveness: &Liveness,
    count: impl Fn(Register) -> (usize, u32),
) -> Vec<[u32; KINDS]> {
    let last = liveness.intervals().indexes().last_index();
    let mut changes = vec![[0_u32; KINDS]; entry_of(last) + 1];
    for register in function.registers() {
        let segments = liveness.segments(register);
        if segments.is_empty() {
            continue;
        }
        let (kind, units) = count(register);
        for segment in segments {
            let first = &mut changes[entry_of(segment.start)][kind];
            *first = first.wrapping_add(units);
            // A value that an instruction reads last leaves its register to the results. A value
            // without reads has its register at its definition.
            let behind = entry_of(segment.end) + usize::from(segment.end.is_dead());
            let behind = &mut changes[behind][kind];
            *behind = behind.wrapping_sub(units);
        }
    }
    changes
}

fn entry_of(index: SlotIndex) -> usize {
    (index.number() / INSTRUCTION_DISTANCE) as usize
}

/// The most units of each file that are live at once in a function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterPressure {
    /// The maximum over the function.
    pub peak: Units,
    /// The maximum of data registers in both of their files at one point, where `peak` has the
    /// maximum of each file.
    pub peak_data: u32,
}

impl RegisterPressure {
    /// Counts the registers of a function. With a divergence analysis, uniform registers are
    /// counted separately.
    pub fn compute(function: &Function, liveness: &Liveness, divergence: Option<&Divergence>) -> Self {
        let mut pressure = Self {
            peak: Units::default(),
            peak_data: 0,
        };
        let kind = |register| counted_file(function, register, divergence) as usize;
        each_pressure::<{ RegisterFile::ALL.len() }>(function, liveness, kind, |_, units| {
            let units = Units::from_files(units);
            pressure.peak = pressure.peak.max(units);
            pressure.peak_data = pressure.peak_data.max(units.data());
        });
        pressure
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_function::random_function;
    use crate::{ControlFlow, RegisterSets, each_point};
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;
    use std::collections::HashMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// The sweep counts the same units at each point as a walk with live registers.
        #[test]
        fn the_sweep_counts_what_a_walk_counts(seed: u64, late: bool, apart: bool) {
            let function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            let flow = ControlFlow::of(&function);
            let liveness = Liveness::compute(&function, &flow);
            let divergence = apart.then(|| Divergence::compute(&function, &flow, &liveness));
            let divergence = divergence.as_ref();
            let mut walked = HashMap::new();
            let mut sets = RegisterSets::new(&function, &liveness, divergence);
            for &block in function.blocks() {
                each_point(&mut sets, block, |point, units, _| {
                    walked.insert(format!("{point:?}"), units);
                });
            }
            let kind = |register| counted_file(&function, register, divergence) as usize;
            let mut count = 0;
            each_pressure::<5>(&function, &liveness, kind, |point, units| {
                count += 1;
                assert_eq!(Some(&Units::from_files(units)), walked.get(&format!("{point:?}")), "{point:?}\n{function}");
            });
            prop_assert_eq!(count, walked.len());
        }
    }
}
