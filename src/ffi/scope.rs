//! How much of a function the library has to see at a stage, and what one stage leaves to the next.
//!
//! Most functions need few registers, and the profile leaves them alone. An export of their live
//! ranges shows that, which is a fraction of a whole export, and the late stage needs none.

use super::capture;
use super::host::OrielHost;
use super::records::OrielSnapshot;
use super::text::OrielText;
use crate::guard::guarded;
use crate::options::{self, MinBlocks, Mode, Options, Phases, Profile, RolledLoops};
use crate::pipeline::{self, Host};
use crate::report::{may_want_min_blocks, takes_min_blocks};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Stage;
use std::cell::RefCell;
use std::sync::Arc;

/// Functions with more registers are exported whole at once. Most of them have pressure, and their
/// live ranges, which tell so, would be exported twice.
const MOST_REGISTERS: u32 = 384;

/// `OrielScope`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum OrielScope {
    /// Nothing: the function stays as it is.
    Nothing = 0,
    /// Its live ranges decide whether anything is.
    Pressure = 1,
    /// The whole function.
    Whole = 2,
    /// Its size, for a line of the report.
    Size = 3,
}

/// What the run at stage `ssa` leaves to the late stage of the same function.
pub(super) struct AtSsa {
    /// The function's name.
    pub function: String,
    /// The options of the process or compilation.
    pub given: Arc<Options>,
    /// The function's own.
    pub options: Arc<Options>,
    /// Whether the profile left the function alone, if that was decided. It does so at both stages
    /// or at none: the phases of the late stage follow up on those of the first.
    pub is_left_alone: Option<bool>,
    /// The compute capability, times ten.
    pub sm: u32,
    /// True if `.minnctapersm 1` may have to be set.
    pub takes_min_blocks: bool,
}

impl AtSsa {
    pub(super) fn new(
        snapshot: &Snapshot<'_>,
        given: Arc<Options>,
        options: Arc<Options>,
        is_left_alone: Option<bool>,
    ) -> Self {
        Self {
            function: snapshot.name().into_owned(),
            given,
            options,
            is_left_alone,
            sm: snapshot.function().sm,
            takes_min_blocks: takes_min_blocks(snapshot),
        }
    }

    /// True if it is of this function, compiled with these options.
    fn is_of(&self, function: &str, given: &Arc<Options>) -> bool {
        Arc::ptr_eq(&self.given, given) && self.function == function
    }

    /// What the phases of the late stage, and its directives, have to see of the function.
    fn late_scope(&self) -> OrielScope {
        let (options, stage) = (&self.options, Stage::Late);
        let is_left_alone = self.is_left_alone == Some(true);
        let has_phases = match is_left_alone {
            true => options.phases_besides_profile(stage, self.sm).next().is_some(),
            false => options.phases_at(stage, self.sm).next().is_some(),
        };
        if options.spills_to_shared || has_phases {
            return OrielScope::Whole;
        }
        // A kernel that needs the mark has many times the registers that the profile looks for, unless the
        // user lets the profile look for more.
        let has_enough = is_left_alone && options.least_pressure.is_none();
        match options.min_blocks() {
            MinBlocks::Always if self.takes_min_blocks => OrielScope::Whole,
            MinBlocks::WhereNeeded if self.takes_min_blocks && !has_enough => OrielScope::Pressure,
            _ => OrielScope::Nothing,
        }
    }
}

thread_local! {
    /// The last run at stage `ssa`.
    static AT_SSA: RefCell<Option<AtSsa>> = const { RefCell::new(None) };
}

/// Keeps what the late stage of the same function needs to know.
pub(super) fn leave_to_late_stage(at_ssa: AtSsa) {
    AT_SSA.set(Some(at_ssa));
}

/// Returns what stage `ssa` has left to the late stage of this function, once.
pub(super) fn take_from_ssa(function: &str, given: &Arc<Options>) -> Option<AtSsa> {
    AT_SSA.take().filter(|earlier| earlier.is_of(function, given))
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
extern "C" fn oriel_scope(
    stage: u32,
    function: OrielText,
    registers: u32,
    has_stack_objects: u32,
    host: &OrielHost,
) -> OrielScope {
    let Ok(given) = options::process_options() else {
        return OrielScope::Nothing;
    };
    if stage == Stage::Ssa as u32 && only_reports_size(&given, has_stack_objects != 0) {
        return OrielScope::Size;
    }
    if !only_optimizes(&given, host) {
        return OrielScope::Whole;
    }
    if stage == Stage::Late as u32 {
        // SAFETY: the name lives until this call returns.
        let function = unsafe { function.as_str() };
        return AT_SSA.with_borrow(|at_ssa| {
            let earlier = at_ssa.as_ref().filter(|earlier| earlier.is_of(&function, &given));
            earlier.map_or(OrielScope::Whole, AtSsa::late_scope)
        });
    }
    let leaves_some_alone = given.profile == Profile::Max
        && given.least_pressure != Some(0)
        && given.max_registers.is_none()
        && given.min_blocks() != MinBlocks::Remove
        && given.rolled_loops == RolledLoops::None
        && given.phases_besides_profile(Stage::Ssa, 0).next().is_none();
    if leaves_some_alone && registers <= MOST_REGISTERS {
        OrielScope::Pressure
    } else {
        OrielScope::Whole
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_leaves_alone(snapshot: &OrielSnapshot) -> u32 {
    let Ok(given) = options::process_options() else {
        return 1;
    };
    // SAFETY: the exporter fills every array for its count, sentinels included.
    let view = unsafe { snapshot.view() };
    if view.stage() == Stage::Late {
        let is_left_alone = guarded(|| !may_want_min_blocks(&view));
        return u32::from(is_left_alone == Ok(true));
    }
    let is_left_alone =
        guarded(|| !pipeline::steps::find_pressure(&view, given.least_pressure(&view), false).0);
    if is_left_alone != Ok(true) {
        return 0;
    }
    leave_to_late_stage(AtSsa::new(&view, given.clone(), given, Some(true)));
    1
}
