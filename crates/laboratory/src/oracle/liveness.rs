//! Compares liveness at block boundaries from Ori's dataflow, and the derived pressure, interference
//! and last uses, with the live-range engine's intervals.
//!
//! The two are computed from different data in different ways: sets by the transfer function over
//! Ori's operands, and segments from LLVM's operands. They differ by definition in one respect,
//! which is ignored: an interval of a PHI's result begins at its block's start, and the set there
//! does not contain it.

use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};
use oriel_engine::live::pressure::{Pressure, PressureFile};
use oriel_engine::live::{LiveIntervals, LiveRangeCalc};
use oriel_engine::snapshot::Snapshot;
use oriel_ori::analysis::{InterferenceGraph, LastUses};
use oriel_ori::{
    ControlFlow, Function, Liveness, Operand, Operation, Point, RegisterFile, RegisterSets, each_point,
};

/// Compares the registers live at block boundaries. `function` is that of `snapshot`, unchanged, and
/// `flow` its control flow. Returns a text for each difference.
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
    differences.extend(interference_differences(function, &liveness, &intervals));
    differences.extend(last_use_differences(function, &liveness, &intervals));
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

/// The most registers of a file that are compared in pairs.
const COMPARED_REGISTERS: usize = 1500;

/// Compares interference with overlaps of intervals. Ignores cases in which Ori is more
/// conservative: results of inline assembly, and unused PHIs next to others of their block, which
/// all define their results at once.
fn interference_differences(
    function: &Function,
    liveness: &Liveness,
    intervals: &LiveIntervals,
) -> Vec<String> {
    let mut differences = Vec::new();
    let is_of_asm = |register: Register| {
        let mut definitions = function.definitions(register);
        definitions.any(|(definition, _)| function.operation(definition) == Operation::InlineAsm)
    };
    for file in RegisterFile::ALL {
        let of_file = function.registers().filter(|&register| {
            function.register(register).file == file
                && intervals.has_interval(register)
                && !is_of_asm(register)
        });
        let registers: Vec<Register> = of_file.take(COMPARED_REGISTERS).collect();
        if registers.is_empty() {
            continue;
        }
        let graph = InterferenceGraph::compute(function, liveness, file);
        for (number, &one) in registers.iter().enumerate() {
            for &other in &registers[..number] {
                let (ours, theirs) = (graph.interferes(one, other), intervals.interfere(one, other));
                if ours != theirs && !are_phis_with_a_dead_one(function, one, other) {
                    differences.push(format!(
                        "{one} and {other} interfere: {ours}, intervals: {theirs}"
                    ));
                }
            }
        }
    }
    differences
}

/// True if PHIs of one block define both, and nothing uses one of them.
fn are_phis_with_a_dead_one(function: &Function, one: Register, other: Register) -> bool {
    let phi_block = |register: Register| {
        let definition = function.unique_definition(register)?;
        let is_phi = function.operation(definition) == Operation::Phi;
        function.block_of(definition).filter(|_| is_phi)
    };
    let is_dead = |register: Register| {
        let mut uses = function.uses(register);
        uses.all(|(user, number)| {
            function.operation(user).is_debug() || function.source(user, number).is_undefined()
        })
    };
    phi_block(one).is_some() && phi_block(one) == phi_block(other) && (is_dead(one) || is_dead(other))
}

/// Compares last uses with the ends of intervals.
fn last_use_differences(function: &Function, liveness: &Liveness, intervals: &LiveIntervals) -> Vec<String> {
    let last_uses = LastUses::compute(function, liveness);
    let mut differences = Vec::new();
    let all = function.all_instructions();
    for instruction in all.filter(|&instruction| !matches!(function.operation(instruction), Operation::Phi)) {
        let sources = function.sources(instruction);
        for register in sources.iter().filter_map(Operand::as_register) {
            let ours = (0..sources.len()).any(|number| {
                sources.get(number).as_register() == Some(register)
                    && last_uses.is_last(function, instruction, number)
            });
            let theirs = function.origins(instruction).any(|origin| {
                let indexes = intervals.indexes();
                indexes.has_index(origin)
                    && intervals
                        .interval(register)
                        .query(indexes.instruction_index(origin))
                        .is_kill()
            });
            if ours != theirs {
                differences.push(format!(
                    "{instruction} uses {register} last: {ours}, intervals: {theirs}"
                ));
            }
        }
    }
    differences
}
