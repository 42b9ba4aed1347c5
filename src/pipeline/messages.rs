//! Remarks and warnings on a whole function.

use crate::entity::Register;
use crate::live::LiveIntervals;
use crate::ori::analysis::uninitialized_registers;
use crate::ori::{Function, Liveness};
use crate::phases::registry::Phase;
use crate::phases::{Remark, RemarkKind, unread_stores};
use crate::snapshot::Snapshot;

fn remark(kind: RemarkKind, phase: &'static str, name: &'static str, message: impl Into<String>) -> Remark {
    Remark {
        kind,
        phase,
        name,
        instruction: None,
        message: message.into(),
    }
}

/// Returns the remark on a function that has enough registers.
pub(super) fn left_alone() -> Remark {
    let message = "the function stays as it is: it has enough registers (-oriel-least-pressure)";
    remark(RemarkKind::Missed, "profile", "EnoughRegisters", message)
}

/// Returns the remark on a function that reads a register without a value.
pub(super) fn undefined_value(register: Register) -> Remark {
    let message = format!(
        "the function stays as it is: it reads {register}, which is undefined, and may depend on reading it once only"
    );
    remark(RemarkKind::Missed, "profile", "UndefinedValue", message)
}

/// Returns the remark on a function that is not in SSA form at stage `ssa`.
pub(super) fn several_definitions() -> Remark {
    let message = "the function stays as it is: a register has several definitions, which phases do not expect before PHIs are eliminated";
    remark(
        RemarkKind::Missed,
        "profile",
        "SeveralDefinitions",
        message.to_owned(),
    )
}

/// Returns the remark on a function whose instruction `name` uses registers in the background, so that
/// only these phases run.
pub(super) fn asynchronous_registers(name: &str, phases: &[&'static Phase]) -> Remark {
    let what = if phases.is_empty() {
        "the function stays as it is".to_owned()
    } else {
        let names: Vec<&str> = phases.iter().map(|phase| phase.name).collect();
        format!("only {} runs", names.join(", "))
    };
    let message = format!(
        "{what}: nothing else may touch the registers of {name} until it is done, and no operand says when that is"
    );
    remark(RemarkKind::Missed, "profile", "AsynchronousRegisters", message)
}

/// Returns the remark on a function that its phases made worse.
pub(super) fn taken_back(reason: &str) -> Remark {
    let message = format!("the function stays as it is: {reason}");
    remark(RemarkKind::Missed, "profile", "NeverWorse", message)
}

/// Returns the remark on a kernel that gets `.minnctapersm 1`.
pub(super) fn min_blocks_set() -> Remark {
    let message =
        "marked with .minnctapersm 1: without a number of blocks ptxas may give it only a few registers";
    remark(RemarkKind::Passed, "profile", "MinBlocks", message)
}

/// Returns the remark on a kernel that loses `.minnctapersm`.
pub(super) fn min_blocks_removed() -> Remark {
    let message = "without .minnctapersm: with a number of blocks ptxas uses all registers that they leave";
    remark(RemarkKind::Passed, "profile", "MinBlocks", message)
}

/// Returns the remark on a kernel that keeps `.minnctapersm`, since its warps exchange registers.
pub(super) fn needs_min_blocks() -> Remark {
    let message =
        "keeps .minnctapersm: its warps exchange registers (setmaxnreg), which ptxas ignores without it";
    remark(RemarkKind::Missed, "profile", "ExchangesRegisters", message)
}

/// Returns the remark on a kernel that does not get a directive, since its warps exchange registers.
pub(super) fn exchanges_registers(directive: &str) -> Remark {
    let message = format!(
        "not marked with {directive}: its warps exchange registers (setmaxnreg), and wait if it has fewer at entry"
    );
    remark(RemarkKind::Missed, "profile", "ExchangesRegisters", message)
}

/// Returns the remark on a kernel whose registers are not spilled to shared memory.
pub(super) fn no_shared_spills(reason: &str) -> Remark {
    let message = format!("registers are not spilled to shared memory: {reason}");
    remark(RemarkKind::Missed, "profile", "SpillToShared", message)
}

/// Returns the remark on a function whose change was not proved.
pub(super) fn not_proved(doubt: &str) -> Remark {
    let message = format!("the function stays as it is, since its change is not proved: {doubt}");
    remark(RemarkKind::Missed, "validator", "NotProved", message)
}

/// The most registers that a message names.
const NAMED_REGISTERS: usize = 8;

/// Returns the warning about registers that may be read before they are written.
pub(super) fn uninitialized_warning(function: &Function, intervals: &LiveIntervals) -> Option<String> {
    let registers: Vec<Register> = if intervals.unreached().is_empty() {
        let entry = function.entry();
        let registers = intervals.registers();
        registers.filter(|&it| intervals.is_live_in(it, entry)).collect()
    } else {
        // Intervals ignore these reads.
        uninitialized_registers(function, &Liveness::of(function))
    };
    if registers.is_empty() {
        return None;
    }
    let mut names: Vec<String> = registers
        .iter()
        .take(NAMED_REGISTERS)
        .map(|register| format!("%{}", register.as_u32()))
        .collect();
    if registers.len() > NAMED_REGISTERS {
        names.push("...".to_owned());
    }
    Some(format!(
        "Found {} potentially uninitialized register(s) in function {}: {}",
        registers.len(),
        function.info.name,
        names.join(", ")
    ))
}

/// Returns the warning about stores to local memory that nothing reads.
pub(super) fn unread_stores_warning(function: &Function, snapshot: &Snapshot<'_>) -> Option<String> {
    let stores = unread_stores(function);
    let first = stores.first()?;
    let place = function
        .origin(*first)
        .and_then(|instruction| snapshot.instruction(instruction).location())
        .map(|location| {
            let record = snapshot.location(location);
            format!(", the first at {}:{}", snapshot.string(record.file), record.line)
        });
    Some(format!(
        "Found {} store(s) to local memory that nothing reads in function {}{}",
        stores.len(),
        function.info.name,
        place.unwrap_or_default()
    ))
}
