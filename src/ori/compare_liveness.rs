//! Compares liveness at the borders of blocks, from Ori's dataflow, with the live-range engine's intervals.
//!
//! The two come from different data by different ways: sets by the transfer function over Ori's operands,
//! and segments from LLVM's operands. They differ by definition in one thing, which is left out: an
//! interval of a PHI's result begins where its block does, and the set there does not have it.

use super::control_flow::ControlFlow;
use super::function::{Function, RegisterFile};
use super::liveness::Liveness;
use super::register_sets::{Point, RegisterSets, each_point};
use crate::entity::{Block, EntityRef, EntitySet, Register};
use crate::live::pressure::{File, Pressure};
use crate::live::{LiveIntervals, LiveRangeCalc};
use crate::snapshot::Snapshot;

/// Compares the registers that are live where blocks begin and end. `function` is that of `snapshot`, with
/// nothing changed, and `flow` its control flow; a text for each difference.
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

/// Compares the units of data registers and predicates that are live where blocks begin and where instructions define
/// results with the engine's pressure there.
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
                // One branch stands for several machine instructions, and defines nothing.
                Point::At(instruction) if function.operation(instruction).is_terminator() => return,
                Point::At(instruction) => match function.origin(instruction) {
                    Some(origin) => indexes.instruction_index(origin).register_slot(false),
                    None => return,
                },
            };
            let ours = (units.of(RegisterFile::R), units.of(RegisterFile::P));
            let theirs = (
                pressure.file(File::General).at(index),
                pressure.file(File::Predicate).at(index),
            );
            if ours != theirs {
                differences.push(format!("units at {index}: {ours:?}, intervals: {theirs:?}"));
            }
        });
    }
    differences
}
