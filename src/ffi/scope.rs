//! How much of a function the library has to see at a stage.
//!
//! Most functions need few registers, and the profile leaves them alone. An export of live ranges
//! shows this, at a fraction of the cost of a whole export. The late stage then needs no export.

use super::capture;
use super::host::OrielHost;
use super::records::{OrielSnapshot, Scope};
use super::stages::AtSsa;
use crate::guard::guarded;
use crate::options::{self, MinBlocks, Mode, Options, Phases, Profile, RolledLoops};
use crate::pipeline::{self, Host};
use crate::report::may_want_min_blocks;
use crate::snapshot::abi::Stage;

/// Functions with more registers are exported whole immediately: most of them are short of registers,
/// so their live ranges would be exported twice.
const MOST_REGISTERS: u32 = 384;

/// The part of the function that the late stage's phases and directives need.
fn late_scope(earlier: &AtSsa) -> Scope {
    let (options, stage) = (&earlier.options, Stage::Late);
    let is_left_alone = earlier.is_left_alone == Some(true);
    let has_phases = match is_left_alone {
        true => options.phases_besides_profile(stage, earlier.sm).next().is_some(),
        false => options.phases_at(stage, earlier.sm).next().is_some(),
    };
    if options.spills_to_shared || has_phases {
        return Scope::Whole;
    }
    // A kernel that needs the mark has many times the registers that the profile looks for, unless the
    // user lets the profile look for more.
    let has_enough = is_left_alone && options.least_pressure.is_none();
    match options.min_blocks() {
        MinBlocks::Always if earlier.takes_min_blocks => Scope::Whole,
        MinBlocks::WhereNeeded if earlier.takes_min_blocks && !has_enough => Scope::Pressure,
        _ => Scope::Nothing,
    }
}

/// True if the library's work on a function is phases and directives of the profile, and nothing
/// that concerns every function.
fn only_optimizes(options: &Options, host: &OrielHost) -> bool {
    let warns = [
        options.warn_uninitialized,
        options.warn_unread_stores,
        options.warn_launch_bounds,
    ];
    options.mode == Mode::Optimize
        && options.phases == Phases::Profile
        && options.planner().is_none()
        && options.tuned.is_none()
        && options.report.is_none()
        && options.report_html.is_none()
        && options.snapshot_directory.is_none()
        && options.dot_directory.is_none()
        && !warns.contains(&Some(true))
        && !capture::is_on()
        && !host.wants_remarks()
}

/// True if all that is done with a function at stage `ssa` is a line of the report. Warnings about
/// stores need its code if it has stack objects.
fn only_reports_size(options: &Options, has_stack_objects: bool) -> bool {
    options.mode == Mode::Analyze
        && (!has_stack_objects || options.warn_unread_stores == Some(false))
        && options.tuned.is_none()
        && options.snapshot_directory.is_none()
        && options.dot_directory.is_none()
        && !capture::is_on()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_scope(stage: u32, registers: u32, has_stack_objects: u32, host: &OrielHost) -> Scope {
    let Ok(given) = options::options_in_force() else {
        return Scope::Nothing;
    };
    if stage == Stage::Ssa as u32 {
        // Drops what another function at this address may have left.
        host.take_from_ssa(&given);
    }
    if stage == Stage::Ssa as u32 && only_reports_size(&given, has_stack_objects != 0) {
        return Scope::Size;
    }
    if !only_optimizes(&given, host) {
        return Scope::Whole;
    }
    if stage == Stage::Late as u32 {
        let Some(earlier) = host.take_from_ssa(&given) else {
            return Scope::Whole;
        };
        let scope = late_scope(&earlier);
        if scope != Scope::Nothing {
            host.leave_to_late_stage(earlier);
        }
        return scope;
    }
    let leaves_some_alone = given.profile == Profile::Max
        && given.least_pressure != Some(0)
        && given.max_registers.is_none()
        && given.min_blocks() != MinBlocks::Remove
        && given.rolled_loops == RolledLoops::None
        && given.phases_besides_profile(Stage::Ssa, 0).next().is_none();
    if leaves_some_alone && registers <= MOST_REGISTERS {
        Scope::Pressure
    } else {
        Scope::Whole
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_leaves_alone(snapshot: &OrielSnapshot, host: &OrielHost) -> u32 {
    let Ok(given) = options::options_in_force() else {
        return 1;
    };
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let view = unsafe { snapshot.view() };
    if view.stage() == Stage::Late {
        let is_left_alone = guarded(|| !may_want_min_blocks(&view)) == Ok(true);
        if is_left_alone {
            host.take_from_ssa(&given);
        }
        return is_left_alone.into();
    }
    let is_left_alone =
        guarded(|| !pipeline::steps::find_pressure(&view, given.least_pressure(&view), false).0);
    if is_left_alone != Ok(true) {
        return 0;
    }
    let at_ssa = AtSsa::new(&view, given.clone(), given, Some(true));
    host.leave_to_late_stage(at_ssa);
    1
}
