//! Times the engine against LLVM, side by side on the same functions.

use cpu_time::ThreadTime;
use oriel_engine::live::{LiveIntervals, LiveRangeCalc};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{RegisterFlags, RegisterRecord};
use serde::Serialize;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// One repetition; times in nanoseconds of the thread's CPU time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Sample {
    /// LLVM's `SlotIndexes`.
    pub llvm_slot_indexes_ns: u64,
    /// LLVM's dominator tree, which its intervals require.
    pub llvm_dominators_ns: u64,
    /// LLVM's `LiveIntervals`, without the two above.
    pub llvm_live_intervals_ns: u64,
    /// From LLVM's function to a snapshot with the input of intervals only.
    pub export_ns: u64,
    /// From LLVM's function to a complete snapshot, for phases and files.
    pub whole_export_ns: u64,
    /// The engine's numbering.
    pub numbering_ns: u64,
    /// The engine, including the dominator tree if it is needed.
    pub engine_ns: u64,
}

/// An output line with medians.
#[derive(Clone, Debug, Serialize)]
struct Line<'a> {
    function: std::borrow::Cow<'a, str>,
    stage: &'static str,
    blocks: usize,
    instructions: usize,
    registers: usize,
    llvm_slot_indexes_ns: u64,
    llvm_dominators_ns: u64,
    llvm_live_intervals_ns: u64,
    oriel_export_ns: u64,
    oriel_numbering_ns: u64,
    oriel_engine_ns: u64,
    oriel_whole_export_ns: u64,
    /// LLVM's slot indexes and intervals in the first repetition, whose caches are cold.
    cold_llvm_ns: u64,
    /// The export and the engine in the first repetition.
    cold_oriel_ns: u64,
}

/// Sums over functions, and their ratios: LLVM's slot indexes and intervals to the engine's.
#[derive(Clone, Debug, Default, Serialize)]
struct Totals {
    total: &'static str,
    functions: usize,
    instructions: u64,
    llvm_ns: u64,
    llvm_dominators_ns: u64,
    oriel_ns: u64,
    oriel_export_ns: u64,
    oriel_whole_export_ns: u64,
    /// Ratio of the sums.
    ratio: f64,
    /// Ratio of the sums, including export.
    ratio_with_export: f64,
    /// Ratio of the sums, including a complete export.
    ratio_with_whole_export: f64,
    /// Ratio of the sums, including export, over the first repetitions.
    cold_ratio_with_export: f64,
    /// Median over functions of at least 1,000 instructions.
    #[serde(skip_serializing_if = "Option::is_none")]
    median_ratio_large: Option<f64>,
    /// The same including export.
    #[serde(skip_serializing_if = "Option::is_none")]
    median_ratio_large_with_export: Option<f64>,
    /// Minimum over functions above 16 instructions, including export.
    #[serde(skip_serializing_if = "Option::is_none")]
    least_ratio_with_export: Option<f64>,
}

/// The instruction count from which a function is large.
const LARGE: usize = 1000;
/// The instruction count up to which a function is too small to guarantee a ratio.
const TINY: usize = 16;

/// A function: its instructions, the medians, and the first repetition.
type Timed = (usize, Sample, Sample);

/// Results so far, by stage.
static REPORTED: Mutex<BTreeMap<&str, Vec<Timed>>> = Mutex::new(BTreeMap::new());

thread_local! {
    /// The engine and its result keep their memory from function to function, as a compiler would.
    static ENGINE: RefCell<(LiveRangeCalc, LiveIntervals)> = RefCell::default();
}

/// Computes intervals once and records the times.
pub fn measure(snapshot: &Snapshot<'_>, sample: &mut Sample) {
    ENGINE.with_borrow_mut(|(calc, intervals)| {
        let start = ThreadTime::now();
        intervals.renumber(snapshot);
        sample.numbering_ns = nanoseconds(start.elapsed());
        let start = ThreadTime::now();
        calc.compute(snapshot, intervals);
        sample.engine_ns = nanoseconds(start.elapsed());
    });
}

/// Readings of the clock at the end of each function.
const CLOCK_READINGS: usize = 32;

/// Returns the least time that the clock has shown in this process between two readings with nothing
/// between them, which is most of the time of a function of 20 instructions. It is read again for
/// each function, since it takes longer while the machine has other work.
fn clock_ns() -> u64 {
    static LEAST: AtomicU64 = AtomicU64::new(u64::MAX);
    let intervals = (0..CLOCK_READINGS).map(|_| nanoseconds(ThreadTime::now().elapsed()));
    let least = intervals.min().unwrap_or(0);
    LEAST.fetch_min(least, Ordering::Relaxed).min(least)
}

impl Sample {
    /// Returns the times without the cost of reading the clock once for each.
    fn without_clock(self, clock_ns: u64) -> Self {
        let time = |measured: u64| measured.saturating_sub(clock_ns);
        Self {
            llvm_slot_indexes_ns: time(self.llvm_slot_indexes_ns),
            llvm_dominators_ns: time(self.llvm_dominators_ns),
            llvm_live_intervals_ns: time(self.llvm_live_intervals_ns),
            export_ns: time(self.export_ns),
            whole_export_ns: time(self.whole_export_ns),
            numbering_ns: time(self.numbering_ns),
            engine_ns: time(self.engine_ns),
        }
    }
}

fn nanoseconds(duration: std::time::Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

fn median_of(samples: &[Sample], field: impl Fn(&Sample) -> u64) -> u64 {
    let mut values: Vec<u64> = samples.iter().map(field).collect();
    values.sort_unstable();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// Returns the medians of each time.
pub fn medians(samples: &[Sample]) -> Sample {
    Sample {
        llvm_slot_indexes_ns: median_of(samples, |sample| sample.llvm_slot_indexes_ns),
        llvm_dominators_ns: median_of(samples, |sample| sample.llvm_dominators_ns),
        llvm_live_intervals_ns: median_of(samples, |sample| sample.llvm_live_intervals_ns),
        export_ns: median_of(samples, |sample| sample.export_ns),
        whole_export_ns: median_of(samples, |sample| sample.whole_export_ns),
        numbering_ns: median_of(samples, |sample| sample.numbering_ns),
        engine_ns: median_of(samples, |sample| sample.engine_ns),
    }
}

/// Prints the medians of `samples` to standard output as one JSON object.
///
/// # Errors
/// If it cannot be written.
pub fn report(snapshot: &Snapshot<'_>, samples: &[Sample]) -> io::Result<()> {
    let clock_ns = clock_ns();
    let samples: Vec<Sample> = samples
        .iter()
        .map(|sample| sample.without_clock(clock_ns))
        .collect();
    let median = medians(&samples);
    let cold = samples.first().copied().unwrap_or_default();
    let is_used = |register: &&RegisterRecord| register.flags & RegisterFlags::UNUSED.bits() == 0;
    let instructions = oriel_report::count_instructions(snapshot);
    let stage = snapshot.stage().name();
    print(&Line {
        function: snapshot.name(),
        stage,
        blocks: snapshot.block_count(),
        instructions,
        registers: snapshot.arrays().registers.iter().filter(is_used).count(),
        llvm_slot_indexes_ns: median.llvm_slot_indexes_ns,
        llvm_dominators_ns: median.llvm_dominators_ns,
        llvm_live_intervals_ns: median.llvm_live_intervals_ns,
        oriel_export_ns: median.export_ns,
        oriel_numbering_ns: median.numbering_ns,
        oriel_engine_ns: median.engine_ns,
        oriel_whole_export_ns: median.whole_export_ns,
        cold_llvm_ns: llvm_ns(&cold),
        cold_oriel_ns: oriel_ns(&cold) + cold.export_ns,
    })?;
    let mut reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    let timed = (instructions, median, cold);
    reported.entry(stage).or_default().push(timed);
    Ok(())
}

fn print(line: &impl Serialize) -> io::Result<()> {
    let text = serde_json::to_string(line)?;
    let mut out = io::stdout().lock();
    writeln!(out, "{text}")?;
    out.flush()
}

/// Prints totals and ratios of each stage, if anything was reported.
///
/// # Errors
/// If they cannot be written.
pub fn report_totals() -> io::Result<()> {
    let reported = REPORTED.lock().unwrap_or_else(PoisonError::into_inner);
    reported
        .iter()
        .try_for_each(|(&stage, functions)| print(&totals(stage, functions)))
}

fn totals(stage: &'static str, functions: &[Timed]) -> Totals {
    let sum = |field: fn(&Sample) -> u64| functions.iter().map(|(_, sample, _)| field(sample)).sum::<u64>();
    let cold_sum = |field: fn(&Sample) -> u64| functions.iter().map(|(.., cold)| field(cold)).sum::<u64>();
    let llvm_ns = sum(llvm_ns);
    let oriel_ns = sum(oriel_ns);
    let oriel_export_ns = sum(|sample| sample.export_ns);
    let oriel_whole_export_ns = sum(|sample| sample.whole_export_ns);
    let ratios = |least: usize, with_export: bool| -> Vec<f64> {
        let mut ratios: Vec<f64> = functions
            .iter()
            .filter(|(instructions, ..)| *instructions >= least)
            .map(|(_, sample, _)| ratio_of(sample, with_export))
            .collect();
        ratios.sort_by(f64::total_cmp);
        ratios
    };
    let median = |ratios: Vec<f64>| ratios.get(ratios.len() / 2).copied();
    Totals {
        total: stage,
        functions: functions.len(),
        instructions: functions
            .iter()
            .map(|(instructions, ..)| *instructions as u64)
            .sum(),
        llvm_ns,
        llvm_dominators_ns: sum(|sample| sample.llvm_dominators_ns),
        oriel_ns,
        oriel_export_ns,
        oriel_whole_export_ns,
        ratio: ratio(llvm_ns, oriel_ns),
        ratio_with_export: ratio(llvm_ns, oriel_ns + oriel_export_ns),
        ratio_with_whole_export: ratio(llvm_ns, oriel_ns + oriel_whole_export_ns),
        cold_ratio_with_export: ratio(
            cold_sum(self::llvm_ns),
            cold_sum(|cold| self::oriel_ns(cold) + cold.export_ns),
        ),
        median_ratio_large: median(ratios(LARGE, false)),
        median_ratio_large_with_export: median(ratios(LARGE, true)),
        least_ratio_with_export: ratios(TINY + 1, true).first().copied(),
    }
}

fn llvm_ns(sample: &Sample) -> u64 {
    sample.llvm_slot_indexes_ns + sample.llvm_live_intervals_ns
}

fn oriel_ns(sample: &Sample) -> u64 {
    sample.numbering_ns + sample.engine_ns
}

fn ratio_of(sample: &Sample, with_export: bool) -> f64 {
    let export = if with_export { sample.export_ns } else { 0 };
    ratio(llvm_ns(sample), oriel_ns(sample) + export)
}

fn ratio(numerator: u64, denominator: u64) -> f64 {
    numerator as f64 / denominator.max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians_and_ratios() {
        let sample = |engine_ns| Sample {
            engine_ns,
            llvm_live_intervals_ns: 300,
            export_ns: 50,
            ..Sample::default()
        };
        let median = medians(&[sample(10), sample(900), sample(30)]);
        assert_eq!(median.engine_ns, 30);
        let totals = totals("ssa", &[(10, median, median), (2000, median, sample(250))]);
        assert_eq!(
            (totals.functions, totals.instructions, totals.llvm_ns),
            (2, 2010, 600)
        );
        assert_eq!(totals.ratio, 10.0);
        assert_eq!(totals.cold_ratio_with_export, 600.0 / 380.0);
        assert_eq!(totals.median_ratio_large, Some(10.0));
        assert_eq!(totals.least_ratio_with_export, Some(300.0 / 80.0));
    }
}
