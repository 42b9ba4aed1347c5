//! Maps features to registers: the sum of many small decision trees.
//!
//! `scripts/calibrate_estimate.py` fits the trees to ptxas' counts for the kernels of
//! `calibration/registers.csv`. Their sum is the logarithm of the registers needed. Further trees
//! give the spread of the errors, which is the unit of the interval, and how likely it is that ptxas
//! stops at a step of occupancy. The limit of launch bounds is applied to the result.
//!
//! Code for a debugger follows a rule instead: ptxas keeps every value of the PTX in a register,
//! and values that live across a call in registers that calls preserve, which are every second one.
//!
//! The script writes `model.txt` (see `model_text.rs` for the format), from which the build script
//! generates tables.

use super::causes::{Cause, Reason, Reasons, largest_reasons};
use super::tree_node::TreeNode;
use super::usual_counts::{Step, UsualCounts, even};
use super::{Features, RegisterEstimate};
use std::ops::Range;

/// Registers besides those of the schedule, counted on both sides of shares.
const OFFSET: f32 = 6.0;

/// Registers of a kernel that calls an unknown function.
const CALL_REGISTERS: f32 = 24.0;

/// Cells that may be live across a call without additional registers.
const LIVE_WITHIN: f32 = 2.0;

/// Of the calling convention: every second register is one that a callee preserves.
const PRESERVED_FACTOR: f32 = 2.0;
const PRESERVED_OFFSET: f32 = 10.0;

/// Registers of a function that is called by address, besides its cells; and the counts, found with
/// ptxas 13.0, to which ptxas raises the sum.
const BY_ADDRESS_OFFSET: f32 = 6.0;
const BY_ADDRESS_COUNTS: [f32; 13] = [
    24.0, 28.0, 32.0, 40.0, 48.0, 56.0, 64.0, 72.0, 80.0, 96.0, 128.0, 168.0, 255.0,
];

/// For a debugger: registers besides those of the PTX.
const DEBUG_OFFSET: f32 = 6.0;

/// For a debugger: registers for each value that lives over a call, and those besides.
const DEBUG_CALL_FACTOR: f32 = 2.0;
const DEBUG_CALL_OFFSET: f32 = 12.0;

/// A sum of trees.
#[derive(Clone, Debug)]
struct Forest<'m> {
    /// The constant of the sum.
    start: f64,
    /// The nodes of all trees.
    nodes: &'m [TreeNode],
    /// The start of each tree in `nodes`.
    trees: &'m [usize],
}

/// How errors are spread: logarithms of ratios, in units of the spread.
#[derive(Clone, Debug)]
struct Errors<'m> {
    /// At the ends of the interval.
    interval: [f64; 2],
    /// In ascending order, evenly spaced.
    ascending: &'m [f64],
}

/// The model.
#[derive(Clone, Debug)]
pub struct Model<'m> {
    /// Numbers of the features that are inputs.
    inputs: &'m [usize],
    /// Numbers of the features whose shares are also inputs.
    shares: &'m [usize],
    /// By input: the largest value that is like what was measured.
    most: &'m [f64],
    /// Errors of estimates by the trees.
    errors: Errors<'m>,
    /// Errors of estimates by the rule for debuggers.
    debug_errors: Errors<'m>,
    /// How often ptxas gives each count.
    usual: UsualCounts<'m>,
    /// From inputs to the logarithm of the registers.
    registers: Forest<'m>,
    /// From inputs to the logarithm of the spread of errors.
    spread: Forest<'m>,
    /// The steps: counts up to which ptxas often fills registers, ascending, each with trees from
    /// inputs to the logarithm of the odds that a kernel has at most that many.
    steps: &'m [(u32, Forest<'m>)],
}

/// The built-in model.
#[allow(
    clippy::approx_constant,
    reason = "a fitted weight may be 0.318 without being 1/π"
)]
pub static MODEL: Model<'static> = include!(concat!(env!("OUT_DIR"), "/estimate_model.rs"));

impl Forest<'_> {
    /// Returns the sum for some inputs. `passed` learns by how much each test moved it: the input,
    /// and the difference.
    fn sum(&self, inputs: &[f32], mut passed: impl FnMut(u8, f64)) -> f64 {
        self.fetch();
        let mut sum = self.start;
        for &tree in self.trees {
            let nodes = &self.nodes[tree..];
            let mut place = 0;
            loop {
                let node = &nodes[place];
                let is_within = inputs[usize::from(node.input)] <= node.bound;
                let next = usize::from(node.next[usize::from(is_within)]);
                if next == place {
                    sum += f64::from(node.value);
                    break;
                }
                passed(node.input, f64::from(nodes[next].value - node.value));
                place = next;
            }
        }
        sum
    }

    /// Brings all nodes into the cache, which LLVM has used for other things since the last
    /// function. In order that takes half the time of waiting for one node after the other.
    fn fetch(&self) {
        const PER_LINE: usize = 64 / size_of::<TreeNode>();
        let lines = self.nodes.iter().step_by(PER_LINE);
        std::hint::black_box(lines.fold(0, |sum, node| sum ^ node.input));
    }
}

/// Returns the registers that shares are counted in: those of the order with loads first, or of LLVM's
/// order if that needs fewer. ptxas keeps LLVM's order where the others are worse, as in unrolled
/// Fourier transforms.
fn least_needed(features: &Features) -> f32 {
    let in_llvms_order = features.source_peak.max(features.target_of_loads());
    features.peak_within_target.min(in_llvms_order)
}

impl Model<'_> {
    /// Returns the inputs of the trees.
    fn inputs(&self, features: &Features) -> Vec<f32> {
        let values = features.values();
        let base = least_needed(features) + OFFSET;
        let plain = self.inputs.iter().map(|&number| values[number]);
        let shares = self.shares.iter().map(|&number| (values[number] + OFFSET) / base);
        plain.chain(shares).collect()
    }

    /// Returns the registers that a function needs, ignoring limits, and the largest reasons.
    fn needed(&self, features: &Features, inputs: &[f32]) -> (f64, Reasons) {
        let mut steps = vec![0.0; inputs.len()];
        let sum = self
            .registers
            .sum(inputs, |input, step| steps[usize::from(input)] += step);
        let (by_trees, for_calls) = (sum.exp(), Self::needed_for_calls(features));
        if for_calls > by_trees {
            return (for_calls, only(Cause::Calls, for_calls));
        }
        let numbers = self.inputs.iter().chain(self.shares).copied();
        (by_trees, largest_reasons(by_trees, &steps, numbers))
    }

    /// Registers of the calling convention: an unknown function may use the first ones, and values
    /// live across its call come after them. If ptxas knows nothing of the callee, these values need
    /// preserved registers. A function that is called by address uses its own in the same place.
    fn needed_for_calls(features: &Features) -> f64 {
        if features.unknown_calls == 0.0 {
            return 0.0;
        }
        let for_unknown = CALL_REGISTERS + (features.live_over_calls - LIVE_WITHIN).max(0.0);
        let for_opaque = match features.opaque_calls > 0.0 {
            true => PRESERVED_FACTOR * features.over_calls + PRESERVED_OFFSET,
            false => 0.0,
        };
        let by_address = features.called_by_address + BY_ADDRESS_OFFSET;
        let mut counts = BY_ADDRESS_COUNTS.into_iter();
        let for_known = match features.called_by_address > 0.0 {
            true => counts.find(|&count| count >= by_address).unwrap_or(by_address),
            false => 0.0,
        };
        f64::from(for_unknown.max(for_opaque).max(for_known))
    }

    /// Returns the registers that a function needs if ptxas compiles it for a debugger.
    fn needed_for_debugger(features: &Features) -> f64 {
        let over = features.debug_over_calls;
        let over_calls = if over > 0.0 {
            DEBUG_CALL_FACTOR * over + DEBUG_CALL_OFFSET
        } else {
            0.0
        };
        f64::from((features.debug_peak + DEBUG_OFFSET).max(over_calls))
    }

    /// Returns the feature that makes a function unlike all that was measured, if there is one.
    fn unlike(&self, inputs: &[f32]) -> Option<&'static str> {
        let mut pairs = self.inputs.iter().zip(inputs).zip(self.most);
        let ((&feature, _), _) = pairs.find(|((_, input), most)| f64::from(**input) > **most)?;
        Some(Features::NAMES[feature])
    }

    /// Returns the steps within a range of counts.
    fn steps_within(&self, counts: Range<u32>, inputs: &[f32]) -> Vec<Step> {
        let steps = self.steps.iter().filter(|(count, _)| counts.contains(count));
        let step = |(count, odds): &(u32, Forest<'_>)| Step {
            count: *count,
            probability: 1.0 / (1.0 + (-odds.sum(inputs, |_, _| ())).exp()),
        };
        steps.map(step).collect()
    }

    /// Returns the estimate for a function.
    pub fn estimate(&self, features: &Features) -> RegisterEstimate {
        if features.debug > 0.0 {
            let needed = Self::needed_for_debugger(features);
            let reasons = only(Cause::Debugger, needed);
            return self
                .debug_errors
                .estimate(features, needed, needed, 1.0, reasons, None);
        }
        let inputs = self.inputs(features);
        let (mut needed, reasons) = self.needed(features, &inputs);
        let mut unlike = self.unlike(&inputs);
        let spread = self.spread.sum(&inputs, |_, _| ()).exp();
        let likely = if has_hardly_cells(features) {
            needed = needed.max(features.pressure.into());
            unlike = unlike.or(Some("source_peak"));
            even(needed)
        } else if features.allotted_registers == 0.0 && needed > Self::needed_for_calls(features) {
            let steps = |counts| self.steps_within(counts, &inputs);
            self.usual.likely(features.sm as u32, needed, spread, steps)
        } else {
            even(needed)
        };
        self.errors
            .estimate(features, needed, likely, spread, reasons, unlike)
    }
}

/// The uniform registers of a warp.
const UNIFORM_REGISTERS: f32 = 63.0;

/// True if there are more uniform values than uniform registers, and hardly any other values. ptxas then keeps
/// uniform values in ordinary registers. No measured kernel with so many uniform cells has less than 14% of its
/// pressure in other cells, so the peak of LLVM's registers is the better guess.
fn has_hardly_cells(features: &Features) -> bool {
    features.uniform_peak > UNIFORM_REGISTERS && features.source_peak < 0.1 * features.pressure
}

/// Returns reasons of which one is the whole.
fn only(cause: Cause, registers: f64) -> Reasons {
    let registers = registers as u32;
    [Some(Reason { cause, registers }), None, None]
}

impl Errors<'_> {
    /// Returns the estimate for a function that needs `needed` registers; `likely` is the count that
    /// is said.
    fn estimate(
        &self,
        features: &Features,
        needed: f64,
        likely: f64,
        spread: f64,
        reasons: Reasons,
        unlike: Option<&'static str>,
    ) -> RegisterEstimate {
        let limit = f64::from(features.register_limit);
        let bounded = |registers: f64| (registers.min(limit).max(0.0) + 0.5).floor() as u32;
        let at = |error: f64| needed * (error * spread).exp();
        let above = self.ascending.iter().filter(|&&error| at(error) > limit);
        RegisterEstimate {
            registers: bounded(likely),
            low: bounded(at(self.interval[0]).min(likely)),
            high: bounded(at(self.interval[1]).max(likely)),
            limit: features.register_limit as u32,
            spill_risk_percent: (100 * above.count() / self.ascending.len().max(1)) as u32,
            reasons,
            unlike,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::model_text::{self, ModelText};
    use super::*;

    /// A line of the calibration data.
    struct Measurement {
        sm: u32,
        registers: u32,
        held_out: u32,
        fitted: u32,
        /// True if the measurement gave the kernel a limit that it does not have.
        has_limit_added: bool,
        features: Features,
    }

    fn measurements() -> Vec<Measurement> {
        let text = include_str!("../../../../calibration/registers.csv");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().expect("the data have a head");
        let column = |name: &str| head.iter().position(|known| *known == name).expect(name);
        let first_feature = column("fitted") + 1;
        // The first feature is the SM, which has its own column before.
        assert_eq!(head[first_feature..], Features::NAMES[1..]);
        assert_eq!(Features::NAMES[0], "sm");
        let number = |word: &str| word.parse().expect("a number");
        let measurement = |words: Vec<&str>| Measurement {
            sm: number(words[column("sm")]),
            registers: number(words[column("registers")]),
            held_out: number(words[column("held_out")]),
            fitted: number(words[column("fitted")]),
            has_limit_added: words[column("limit_added")] != "0",
            features: Features::from_values(std::array::from_fn(|index| {
                let place = if index == 0 {
                    column("sm")
                } else {
                    first_feature + index - 1
                };
                words[place].parse().expect("a number")
            })),
        };
        lines.map(measurement).collect()
    }

    /// Returns the median error, and the percentage within two registers or a tenth.
    fn figures(measurements: &[&Measurement]) -> (f64, u32) {
        let mut errors: Vec<u32> = measurements
            .iter()
            .map(|it| it.registers.abs_diff(it.held_out))
            .collect();
        errors.sort_unstable();
        let middle = errors.len() / 2;
        let median = f64::from(errors[middle] + errors[(errors.len() - 1) / 2]) / 2.0;
        let is_close = |it: &&&Measurement| {
            let error = f64::from(it.registers.abs_diff(it.held_out));
            error <= (0.1 * f64::from(it.registers)).max(2.0)
        };
        let close = measurements.iter().filter(is_close).count();
        (
            median,
            (100.0 * close as f64 / errors.len() as f64).round() as u32,
        )
    }

    #[test]
    fn computes_what_the_script_computes() {
        let different: Vec<_> = measurements()
            .iter()
            .map(|it| (MODEL.estimate(&it.features).registers, it.fitted))
            .filter(|(ours, of_script)| ours != of_script)
            .collect();
        assert_eq!(different, []);
    }

    #[test]
    fn held_out_errors_are_those_of_the_documentation() {
        let document = include_str!("../../../../docs/register-estimate.md");
        let measurements = measurements();
        let rows = document
            .lines()
            .filter_map(|line| line.strip_prefix("| sm_").or(line.strip_prefix("| all")));
        let mut count = 0;
        for row in rows {
            let words: Vec<&str> = row.split('|').map(str::trim).collect();
            let sm: Option<u32> = words[0].parse().ok();
            let of_row: Vec<_> = measurements
                .iter()
                .filter(|it| it.features.debug == 0.0 && !it.has_limit_added)
                .filter(|it| sm.is_none_or(|sm| it.sm == sm))
                .collect();
            let (median, close) = figures(&of_row);
            assert_eq!(words[1], of_row.len().to_string());
            assert_eq!(
                (words[2], words[4]),
                (median.to_string().as_str(), format!("{close}%").as_str())
            );
            count += 1;
        }
        assert!(count > 1);
    }

    #[test]
    fn a_limit_caps_the_estimate_and_makes_spilling_likely() {
        let is_large = |it: &Measurement| it.features.debug == 0.0 && (100..200).contains(&it.fitted);
        let measurements = measurements();
        let mut large = measurements.iter().filter(|it| is_large(it)).peekable();
        assert!(large.peek().is_some());
        for measurement in large {
            let free = MODEL.estimate(&measurement.features);
            assert!(free.low <= free.registers && free.registers <= free.high);
            let limited = MODEL.estimate(&Features {
                register_limit: 24.0,
                ..measurement.features
            });
            assert_eq!((limited.registers, limited.high, limited.limit), (24, 24, 24));
            assert!(limited.spill_risk_percent > 80);
        }
    }

    #[test]
    fn a_call_of_what_is_not_known_takes_what_the_convention_says() {
        let estimate = |unknown_calls: f32, live_over_calls: f32| {
            let features = Features {
                sm: 90.0,
                register_limit: 255.0,
                unknown_calls,
                live_over_calls,
                ..Features::default()
            };
            MODEL.estimate(&features).registers
        };
        assert!(estimate(0.0, 0.0) < 24);
        assert_eq!((estimate(1.0, 0.0), estimate(1.0, 10.0)), (24, 32));
    }

    #[test]
    fn for_a_debugger_values_over_calls_take_two_registers() {
        let estimate = |debug_peak: f32, debug_over_calls: f32| {
            let features = Features {
                sm: 80.0,
                register_limit: 255.0,
                debug: 1.0,
                debug_peak,
                debug_over_calls,
                ..Features::default()
            };
            MODEL.estimate(&features).registers
        };
        assert_eq!((estimate(20.0, 0.0), estimate(20.0, 4.0)), (26, 26));
        assert_eq!(estimate(60.0, 50.0), 112);
    }

    #[test]
    fn what_is_far_beyond_all_measured_is_not_known() {
        let estimate = |nodes: f32| {
            let features = Features {
                sm: 80.0,
                register_limit: 255.0,
                nodes,
                ..Features::default()
            };
            MODEL.estimate(&features).unlike
        };
        assert_eq!(estimate(10.0), None);
        assert_eq!(estimate(1e6), Some("nodes"));
    }

    #[test]
    fn many_values_that_no_lane_would_hold_are_not_known() {
        let estimate = |pressure: f32, source_peak: f32| {
            MODEL.estimate(&Features {
                sm: 90.0,
                register_limit: 255.0,
                pressure,
                source_peak,
                uniform_peak: pressure - source_peak,
                all_peak: pressure,
                ..Features::default()
            })
        };
        // ptxas compiles such a kernel with 254 registers.
        let many = estimate(246.0, 2.0);
        assert_eq!((many.registers, many.unlike), (246, Some("source_peak")));
        assert_eq!(estimate(1003.0, 2.0).registers, 255);
        for measured in [estimate(46.0, 2.0), estimate(75.0, 24.0), estimate(90.0, 10.0)] {
            assert_eq!(measured.unlike, None);
        }
    }

    /// The lines of a model's text before its trees.
    const HEAD: &str = "inputs sm\nshares pressure\nmost 100\ninterval -1 1\nerrors 0\n\
        debug_interval -1 1\ndebug_errors 0\nusual_32 1\nusual_48 1\nusual_64 1\nstart 0\nspread_start 0\nsteps 24 32\n";

    #[test]
    fn a_tree_asks_for_inputs_and_tells_by_how_much_they_moved_it() {
        let text = format!("{HEAD}tree 0<80 0.5 1<1.5 0.25 1\n");
        let text = ModelText::parse(&text).expect("a tree");
        let numbers =
            |names: &[&str]| -> Vec<usize> { names.iter().map(|name| Features::number(name)).collect() };
        fn errors(text: &model_text::Errors) -> Errors<'_> {
            Errors {
                interval: text.interval,
                ascending: &text.ascending,
            }
        }
        fn forest(text: &model_text::Forest) -> Forest<'_> {
            Forest {
                start: text.start,
                nodes: &text.nodes,
                trees: &text.trees,
            }
        }
        let model = Model {
            inputs: &numbers(&text.inputs),
            shares: &numbers(&text.shares),
            most: &text.most,
            errors: errors(&text.errors),
            debug_errors: errors(&text.debug_errors),
            usual: UsualCounts {
                weights: text.usual.each_ref().map(Vec::as_slice),
            },
            registers: forest(&text.registers),
            spread: forest(&text.spread),
            steps: &[],
        };
        let sum = |inputs: [f32; 2]| {
            let mut steps = [0.0; 2];
            let sum = model
                .registers
                .sum(&inputs, |input, step| steps[usize::from(input)] += step);
            (sum, steps)
        };
        // The mean of the second test is 0.625, that of the first one 0.5625.
        assert_eq!(sum([75.0, 9.0]), (0.5, [-0.0625, 0.0]));
        assert_eq!(sum([90.0, 1.0]), (0.25, [0.0625, -0.375]));
        assert_eq!(sum([90.0, 3.0]), (1.0, [0.0625, 0.375]));
        let features = Features {
            sm: 75.0,
            register_limit: 255.0,
            ..Features::default()
        };
        // The logarithm is 0.5, and the ends of the interval are one unit away.
        let estimate = model.estimate(&features);
        assert_eq!((estimate.low, estimate.registers, estimate.high), (1, 2, 4));
        assert_eq!(estimate.unlike, None);
        assert_eq!(
            model
                .estimate(&Features {
                    sm: 101.0,
                    ..features
                })
                .unlike,
            Some("sm")
        );
    }

    #[test]
    fn text_that_is_no_model_is_refused() {
        let is_model = |text: String| ModelText::parse(&text).is_some();
        assert!(is_model(format!(
            "{HEAD}tree 0<80 1 2\nspread 1\nstep 32 0<80 1 2\n"
        )));
        for wrong in [
            "tree 0<80 1\n",
            "tree 2<1 1 1\n",
            "tree 1 1\n",
            "tree\n",
            "tree x\n",
            "bush 1\n",
            "step 1\n",
            "step 25 1\n",
        ] {
            assert!(!is_model(format!("{HEAD}{wrong}")), "{wrong}");
        }
        for (line, other) in [
            ("inputs", "input"),
            ("most 100", "most 1 2"),
            ("errors 0", "errors x"),
            ("steps 24 32", "steps 32 24"),
        ] {
            assert!(!is_model(HEAD.replace(line, other)), "{other}");
        }
    }
}
