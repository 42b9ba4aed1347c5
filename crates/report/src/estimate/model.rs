//! Maps features to registers: the sum of many small decision trees.
//!
//! `scripts/calibrate_estimate.py` fits the trees to ptxas' counts for the kernels of
//! `calibration/registers.csv`. Their sum is the logarithm of the ratio between the registers
//! needed and those of the schedule, so that no tree has to learn the size of kernels. The limit of
//! launch bounds is applied to the result.
//!
//! The script writes `model.txt` (see `model_text.rs` for the format), from which the build script
//! generates tables.

use super::{Features, RegisterEstimate};

/// Registers besides those of the schedule, counted on both sides of shares.
const OFFSET: f32 = 6.0;

/// Registers of a kernel that calls an unknown function.
const CALL_REGISTERS: f32 = 24.0;

/// Cells that may be live across a call without additional registers.
const LIVE_WITHIN: f32 = 2.0;

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// Tests whether an input is at most a bound. If so, the next node follows; if not, the node
    /// with this number.
    Ask { input: u16, bound: f64, other: u32 },
    /// A leaf: this tree's term of the sum.
    Leaf(f64),
}

/// The model.
#[derive(Clone, Debug)]
pub struct Model<'m> {
    /// Numbers of the features that are inputs.
    inputs: &'m [usize],
    /// Numbers of the features whose shares are also inputs.
    shares: &'m [usize],
    /// The constant of the sum.
    start: f64,
    /// Errors at the ends of the interval.
    interval: [f64; 2],
    /// Errors in ascending order, evenly spaced.
    errors: &'m [f64],
    /// The nodes of all trees.
    nodes: &'m [Node],
    /// The start of each tree in `nodes`.
    trees: &'m [usize],
}

/// The built-in model.
pub static MODEL: Model<'static> = {
    use Node::{Ask, Leaf};
    include!(concat!(env!("OUT_DIR"), "/estimate_model.rs"))
};

impl Model<'_> {
    /// Returns the registers that a function needs, ignoring limits.
    fn needed(&self, features: &Features) -> f64 {
        let values = features.values();
        let base = features.peak_within_32.max(0.0) + OFFSET;
        let plain = self.inputs.iter().map(|&number| values[number]);
        let shares = self.shares.iter().map(|&number| (values[number] + OFFSET) / base);
        let inputs: Vec<f64> = plain.chain(shares).map(f64::from).collect();
        let mut sum = self.start;
        for &tree in self.trees {
            let mut place = tree;
            sum += loop {
                match self.nodes[place] {
                    Node::Leaf(value) => break value,
                    Node::Ask { input, bound, .. } if inputs[usize::from(input)] <= bound => place += 1,
                    Node::Ask { other, .. } => place = other as usize,
                }
            };
        }
        (sum.exp() * f64::from(base)).max(Self::needed_for_calls(features))
    }

    /// Registers of the calling convention: an unknown function may use the first ones, and values
    /// live across its call come after them.
    fn needed_for_calls(features: &Features) -> f64 {
        if features.unknown_calls == 0.0 {
            return 0.0;
        }
        f64::from(CALL_REGISTERS + (features.live_over_calls - LIVE_WITHIN).max(0.0))
    }

    /// Returns the estimate for a function.
    pub fn estimate(&self, features: &Features) -> RegisterEstimate {
        let needed = self.needed(features);
        let unit = (0.1 * needed).max(2.0);
        let limit = f64::from(features.register_limit);
        let bounded = |registers: f64| (registers.min(limit).max(0.0) + 0.5).floor() as u32;
        let above = self.errors.iter().filter(|&&error| needed + error * unit > limit);
        RegisterEstimate {
            registers: bounded(needed),
            low: bounded(needed + self.interval[0] * unit),
            high: bounded(needed + self.interval[1] * unit),
            limit: features.register_limit as u32,
            spill_risk_percent: (100 * above.count() / self.errors.len().max(1)) as u32,
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
        let features = Features {
            sm: 90.0,
            register_limit: 255.0,
            pressure: 100.0,
            source_peak: 90.0,
            peak_within_32: 90.0,
            peak_within_64: 90.0,
            ..Features::default()
        };
        let free = MODEL.estimate(&features);
        assert!(free.low <= free.registers && free.registers <= free.high);
        assert_eq!(free.spill_risk_percent, 0);
        let limited = MODEL.estimate(&Features {
            register_limit: 32.0,
            ..features
        });
        assert_eq!((limited.registers, limited.high, limited.limit), (32, 32, 32));
        assert!(limited.spill_risk_percent > 80);
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
    fn text_that_is_no_model_is_refused() {
        let head = "inputs sm\nshares pressure\nstart 0\ninterval -1 1\nerrors 0\n";
        let is_model = |trees: &str| ModelText::parse(&format!("{head}{trees}")).is_some();
        let text = format!("{head}tree 0<80 0.5 1<1.5 0.25 1\n");
        let text = ModelText::parse(&text).expect("a tree");
        let node = |node: &model_text::Node| match *node {
            model_text::Node::Ask { input, bound, other } => Node::Ask { input, bound, other },
            model_text::Node::Leaf(value) => Node::Leaf(value),
        };
        let model = Model {
            inputs: &text
                .inputs
                .iter()
                .map(|name| Features::number(name))
                .collect::<Vec<_>>(),
            shares: &text
                .shares
                .iter()
                .map(|name| Features::number(name))
                .collect::<Vec<_>>(),
            start: text.start,
            interval: text.interval,
            errors: &text.errors,
            nodes: &text.nodes.iter().map(node).collect::<Vec<_>>(),
            trees: &text.trees,
        };
        let needed = |sm: f32, pressure: f32| {
            model.needed(&Features {
                sm,
                pressure,
                ..Features::default()
            })
        };
        assert_eq!(needed(75.0, 100.0), 6.0 * 0.5_f64.exp());
        assert_eq!(needed(90.0, 0.0), 6.0 * 0.25_f64.exp());
        assert_eq!(needed(90.0, 12.0), 6.0 * 1.0_f64.exp());
        for wrong in [
            "tree 0<80 1\n",
            "tree 2<1 1 1\n",
            "tree 1 1\n",
            "tree\n",
            "tree x\n",
        ] {
            assert!(!is_model(wrong), "{wrong}");
        }
        assert!(ModelText::parse(&head.replace("inputs", "input")).is_none());
    }
}
