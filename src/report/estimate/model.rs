//! From features to registers: the sum of many small decision trees.
//!
//! The trees come from `scripts/calibrate_estimate.py`, which fits them to what ptxas made of the kernels of
//! `calibration/registers.csv`. Their sum is the logarithm of the registers needed over those of the schedule, so that no tree has
//! to learn how large kernels are. The limit of launch bounds is applied to what is needed.
//!
//! The text has a line for each of: the features that trees ask for, by name; those which they also ask for as a share of the
//! schedule's registers; the constant of the sum; errors at the ends of the interval; errors in ascending order, evenly spread.
//! Errors are in units of what counts as close, two registers or a tenth. Each further line is a tree: a node that asks, as
//! `input<bound`, is followed by the nodes for values up to the bound, then by those for greater ones; any other word is a leaf.

use super::{Features, RegisterEstimate};
use std::sync::OnceLock;

/// Registers beside those of the schedule, which shares count on both sides.
const OFFSET: f32 = 6.0;

/// Registers of a kernel that calls a function which is not known.
const CALL_REGISTERS: f32 = 24.0;

/// Cells that may live over a call without any more.
const LIVE_WITHIN: f32 = 2.0;

/// A node of a tree.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Node {
    /// Is an input at most this? If so, the next node follows; if not, the one with this number.
    Ask { input: usize, bound: f64, other: usize },
    /// The tree's part of the sum.
    Leaf(f64),
}

/// The model.
#[derive(Clone, Debug)]
pub struct Model {
    /// Numbers of the features that are inputs.
    inputs: Vec<usize>,
    /// Numbers of the features whose shares are inputs too.
    shares: Vec<usize>,
    start: f64,
    interval: [f64; 2],
    errors: Vec<f64>,
    nodes: Vec<Node>,
    /// Where each tree begins in `nodes`.
    trees: Vec<usize>,
}

impl Model {
    /// The model that is part of the library.
    pub fn get() -> &'static Self {
        static MODEL: OnceLock<Model> = OnceLock::new();
        MODEL.get_or_init(|| Self::parse(include_str!("model.txt")).expect("the tests read the same text"))
    }

    /// Reads a model; none if the text is none.
    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words_of = |name: &str| lines.next()?.strip_prefix(name).map(str::split_whitespace);
        let number_of = |name: &str| Features::NAMES.iter().position(|known| *known == name);
        let inputs = words_of("inputs ")?.map(number_of).collect::<Option<_>>()?;
        let shares = words_of("shares ")?.map(number_of).collect::<Option<_>>()?;
        let numbers = |words: std::str::SplitWhitespace<'_>| words.map(|word| word.parse().ok()).collect();
        let start: Option<Vec<f64>> = numbers(words_of("start ")?);
        let interval: Option<Vec<f64>> = numbers(words_of("interval ")?);
        let errors: Option<Vec<f64>> = numbers(words_of("errors ")?);
        let mut model = Self {
            inputs,
            shares,
            start: *start?.first()?,
            interval: interval?.try_into().ok()?,
            errors: errors?,
            nodes: Vec::new(),
            trees: Vec::new(),
        };
        for line in lines {
            model.trees.push(model.nodes.len());
            model.add_tree(line.strip_prefix("tree ")?)?;
        }
        Some(model)
    }

    fn add_tree(&mut self, text: &str) -> Option<()> {
        let inputs = self.inputs.len() + self.shares.len();
        // Nodes that ask and whose other side is still to come; subtrees that are.
        let (mut open, mut missing) = (Vec::<usize>::new(), 1);
        for word in text.split_whitespace() {
            if missing == 0 {
                return None;
            }
            if let Some((input, bound)) = word.split_once('<') {
                let input = input.parse().ok().filter(|&input| input < inputs)?;
                open.push(self.nodes.len());
                missing += 1;
                self.nodes.push(Node::Ask {
                    input,
                    bound: bound.parse().ok()?,
                    other: 0,
                });
                continue;
            }
            self.nodes.push(Node::Leaf(word.parse().ok()?));
            missing -= 1;
            if let Some(asking) = open.pop() {
                let next = self.nodes.len();
                let Node::Ask { other, .. } = &mut self.nodes[asking] else {
                    return None;
                };
                *other = next;
            }
        }
        (missing == 0).then_some(())
    }

    /// Registers that a function needs, limits aside.
    fn needed(&self, features: &Features) -> f64 {
        let values = features.values();
        let base = features.peak_within_32.max(0.0) + OFFSET;
        let plain = self.inputs.iter().map(|&number| values[number]);
        let shares = self.shares.iter().map(|&number| (values[number] + OFFSET) / base);
        let inputs: Vec<f64> = plain.chain(shares).map(f64::from).collect();
        let mut sum = self.start;
        for &tree in &self.trees {
            let mut place = tree;
            sum += loop {
                match self.nodes[place] {
                    Node::Leaf(value) => break value,
                    Node::Ask { input, bound, .. } if inputs[input] <= bound => place += 1,
                    Node::Ask { other, .. } => place = other,
                }
            };
        }
        (sum.exp() * f64::from(base)).max(Self::needed_for_calls(features))
    }

    /// Registers that the calling convention takes: a function that is not known may use the first, and what lives over its call is
    /// behind those.
    fn needed_for_calls(features: &Features) -> f64 {
        if features.unknown_calls == 0.0 {
            return 0.0;
        }
        f64::from(CALL_REGISTERS + (features.live_over_calls - LIVE_WITHIN).max(0.0))
    }

    /// The estimate for a function.
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
        let text = include_str!("../../../calibration/registers.csv");
        let mut lines = text.lines().map(|line| line.split(',').collect::<Vec<_>>());
        let head = lines.next().expect("the data have a head");
        let column = |name: &str| head.iter().position(|known| *known == name).expect(name);
        let first_feature = column("fitted") + 1;
        // The first feature is the SM, which has its column before.
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

    /// Median error, and the percentage within two registers or a tenth.
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
            .map(|it| (Model::get().estimate(&it.features).registers, it.fitted))
            .filter(|(ours, of_script)| ours != of_script)
            .collect();
        assert_eq!(different, []);
    }

    #[test]
    fn held_out_errors_are_those_of_the_documentation() {
        let document = include_str!("../../../docs/register-estimate.md");
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
        let free = Model::get().estimate(&features);
        assert!(free.low <= free.registers && free.registers <= free.high);
        assert_eq!(free.spill_risk_percent, 0);
        let limited = Model::get().estimate(&Features {
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
            Model::get().estimate(&features).registers
        };
        assert!(estimate(0.0, 0.0) < 24);
        assert_eq!((estimate(1.0, 0.0), estimate(1.0, 10.0)), (24, 32));
    }

    #[test]
    fn text_that_is_no_model_is_refused() {
        let head = "inputs sm\nshares pressure\nstart 0\ninterval -1 1\nerrors 0\n";
        let parse = |trees: &str| Model::parse(&format!("{head}{trees}"));
        let model = parse("tree 0<80 0.5 1<1.5 0.25 1\n").expect("a tree");
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
            assert!(parse(wrong).is_none(), "{wrong}");
        }
        assert!(Model::parse(&head.replace("inputs sm", "inputs moon")).is_none());
    }
}
