//! The steps to run on a function at a stage.

use super::messages;
use crate::live::pressure::{
    exceeds_in_a_block, general_peak, general_peak_without_early_clobbers, may_exceed,
};
use crate::live::{LiveIntervals, LiveRangeCalc};
use crate::options::{MinBlocks, Mode, Options, Phases};
use crate::ori::Function;
use crate::phases::Analyses;
use crate::phases::may_have_unread_stores;
use crate::phases::registry::Phase;
use crate::report::{may_want_min_blocks, takes_min_blocks};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Stage;

/// The steps that options request for a function at a stage.
#[derive(Clone, Debug)]
pub(super) struct Steps {
    pub(super) warns_of_uninitialized: bool,
    pub(super) warns_of_unread_stores: bool,
    pub(super) optimizes: bool,
    pub(super) may_set_min_blocks: bool,
    pub(super) writes_dot: bool,
    /// The phases to run.
    pub(super) phases: Vec<&'static Phase>,
    /// True if the profile leaves the function alone.
    pub(super) is_left_alone: bool,
    /// The snapshot's intervals and their peak, if that decision needed them.
    pub(super) measured: Option<Measured>,
}

/// The intervals of a snapshot, and the most units of the general file that are live at once.
#[derive(Clone, Debug)]
pub(crate) struct Measured {
    pub(super) intervals: LiveIntervals,
    pub(super) peak: u32,
}

impl Measured {
    pub(super) fn of(snapshot: &Snapshot<'_>) -> Self {
        let intervals = LiveRangeCalc::shared(|engine| engine.analyze(snapshot));
        let peak = general_peak(&intervals, snapshot);
        Self { intervals, peak }
    }

    /// Returns by how many units the peak exceeds `budget`, counted as in
    /// [`Cost`](crate::phases::never_worse::Cost): Ori's intervals have no results that are written
    /// early.
    pub(super) fn excess(&self, snapshot: &Snapshot<'_>, budget: u32) -> u32 {
        let peak = match self.peak > budget && self.intervals.has_early_clobbers() {
            true => general_peak_without_early_clobbers(&self.intervals, snapshot),
            false => self.peak,
        };
        peak.saturating_sub(budget)
    }
}

/// True if one of the phases asks for live ranges, for which the snapshot's intervals serve.
pub(super) fn need_live_ranges(phases: &[&'static Phase]) -> bool {
    let mut phases = phases.iter();
    phases.any(|phase| phase.needs.contains(Analyses::LIVE_RANGES))
}

impl Steps {
    pub(super) fn of(snapshot: &Snapshot<'_>, options: &Options, is_left_alone: Option<bool>) -> Self {
        let stage = snapshot.stage();
        let in_analysis = options.mode == Mode::Analyze;
        let in_optimization = options.mode == Mode::Optimize;
        let mut phases: Vec<_> = options.phases_at(stage, snapshot.function().sm).collect();
        let decides = in_optimization && options.phases == Phases::Profile;
        let (is_left_alone, measured) = match is_left_alone {
            None if decides => {
                let least = options.least_pressure(snapshot);
                let (has_pressure, measured) = find_pressure(snapshot, least, need_live_ranges(&phases));
                (!has_pressure, measured)
            }
            known => (decides && known == Some(true), None),
        };
        if is_left_alone {
            phases = options
                .phases_besides_profile(stage, snapshot.function().sm)
                .collect();
        }
        Self {
            warns_of_uninitialized: stage == Stage::Late && options.warn_uninitialized.unwrap_or(in_analysis),
            warns_of_unread_stores: stage == Stage::Ssa
                && options.warn_unread_stores.unwrap_or(in_analysis)
                && may_have_unread_stores(snapshot),
            optimizes: in_optimization && (options.phases == Phases::None || !phases.is_empty()),
            may_set_min_blocks: stage == Stage::Late
                && match options.min_blocks() {
                    MinBlocks::Off | MinBlocks::Remove => false,
                    MinBlocks::WhereNeeded => may_want_min_blocks(snapshot),
                    MinBlocks::Always => takes_min_blocks(snapshot),
                },
            writes_dot: options.dot_directory.is_some(),
            phases,
            is_left_alone,
            measured,
        }
    }

    /// True if a step needs the function in Ori.
    pub(super) fn need_function(&self) -> bool {
        self.warns_of_uninitialized
            || self.warns_of_unread_stores
            || self.optimizes
            || self.may_set_min_blocks
            || self.writes_dot
    }

    /// Returns warnings about the original function, and the snapshot's intervals if they needed
    /// them.
    pub(super) fn analyze(
        &self,
        function: &Function,
        snapshot: &Snapshot<'_>,
    ) -> (Vec<String>, Option<LiveIntervals>) {
        let intervals = self
            .warns_of_uninitialized
            .then(|| LiveRangeCalc::shared(|engine| engine.analyze(snapshot)));
        let uninitialized = intervals
            .as_ref()
            .map(|intervals| messages::uninitialized_warning(function, intervals));
        let unread_stores = self
            .warns_of_unread_stores
            .then(|| messages::unread_stores_warning(function, snapshot));
        let warnings = [uninitialized, unread_stores].into_iter().flatten().flatten();
        (warnings.collect(), intervals)
    }
}

/// Tells whether at least this many 32-bit data registers are live at once. If this required the
/// snapshot's intervals, returns them, too. They are computed only if something needs them anyway in a
/// function with that many registers.
pub(crate) fn find_pressure(
    snapshot: &Snapshot<'_>,
    least: u32,
    needs_intervals: bool,
) -> (bool, Option<Measured>) {
    let most = least.checked_sub(1);
    let is_open = |&most: &u32| needs_intervals || !exceeds_in_a_block(snapshot, most);
    match most.filter(is_open) {
        None => (true, None),
        Some(most) if may_exceed(snapshot, most) => {
            let measured = Measured::of(snapshot);
            (measured.peak > most, Some(measured))
        }
        Some(_) => (false, None),
    }
}
