//! Compares the intervals of Ori's function with those of the snapshot that it was made of.
//!
//! Both come from the engine. What is tested is its input, Ori's blocks and operands, and the register
//! pressure that is derived from it. The results of PHIs are left out at the start of their block: an interval
//! begins there, and the set there does not contain it.

use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};
use oriel_engine::live::pressure::{Pressure, PressureFile};
use oriel_engine::live::{LiveIntervals, LiveRangeCalc};
use oriel_engine::snapshot::Snapshot;
use oriel_ori::{ControlFlow, Function, Liveness, Point, RegisterFile, RegisterSets, each_point};

/// Compares the registers live at block boundaries. `function` is the function of `snapshot`,
/// unchanged, and `flow` its control flow. Returns a text for each difference.
pub(super) fn liveness_differences(
    snapshot: &Snapshot<'_>,
    function: &Function,
    flow: &ControlFlow,
) -> Vec<String> {
    let liveness = Liveness::compute(function, flow);
    let intervals = LiveRangeCalc::new().analyze(snapshot);
    let mut differences = Vec::new();
    let mut compare = |what: &str, block: Block, ours: Vec<Register>, theirs: Vec<Register>| {
        let mut ours = ours;
        ours.sort_unstable();
        if ours != theirs {
            differences.push(format!(
                "live {what} bix{}: {ours:?}, intervals: {theirs:?}",
                block.index()
            ));
        }
    };
    let mut results = EntitySet::with_capacity(function.register_limit());
    for block in snapshot.blocks() {
        results.clear();
        results.extend(
            function
                .phis(block)
                .filter_map(|phi| function.result(phi, 0).as_register()),
        );
        let begins: Vec<Register> = intervals
            .registers()
            .filter(|&register| intervals.is_live_in(register, block) && !results.contains(register))
            .collect();
        compare("into", block, liveness.live_in(block).collect(), begins);
        let ends: Vec<Register> = intervals
            .registers()
            .filter(|&register| intervals.is_live_out(register, block))
            .collect();
        compare("out of", block, liveness.live_out(block).collect(), ends);
    }
    differences.extend(pressure_differences(snapshot, function, &liveness, &intervals));
    differences
}

/// Compares the live units of data registers and predicates, at starts of blocks and where
/// instructions define results, with the engine's pressure there.
fn pressure_differences(
    snapshot: &Snapshot<'_>,
    function: &Function,
    liveness: &Liveness,
    intervals: &LiveIntervals,
) -> Vec<String> {
    let pressure = Pressure::new(intervals, snapshot);
    let indexes = intervals.indexes();
    let mut sets = RegisterSets::new(function, liveness, None);
    let mut differences = Vec::new();
    for &block in function.blocks() {
        each_point(&mut sets, block, |point, units, _| {
            let index = match point {
                Point::Start(block) => indexes.block_start(block),
                // One branch represents several machine instructions, and defines nothing.
                Point::At(instruction) if function.operation(instruction).is_terminator() => return,
                Point::At(instruction) => match function.origin(instruction) {
                    Some(origin) => indexes.instruction_index(origin).register_slot(false),
                    None => return,
                },
            };
            let ours = (units.of(RegisterFile::R), units.of(RegisterFile::P));
            let theirs = (
                pressure.file(PressureFile::General).at(index),
                pressure.file(PressureFile::Predicate).at(index),
            );
            if ours != theirs {
                differences.push(format!("units at {index}: {ours:?}, intervals: {theirs:?}"));
            }
        });
    }
    differences
}
