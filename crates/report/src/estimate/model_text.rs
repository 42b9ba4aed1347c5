//! The text form of the model, parsed when the library is built so that no process has to.
//!
//! It has one line for each of these, in this order:
//!
//! | line | content |
//! |---|---|
//! | `inputs` | names of the features that are inputs |
//! | `shares` | names of the features whose shares of the schedule's registers are inputs too |
//! | `most` | the largest value of each input, shares apart, that is like what was measured |
//! | `interval`, `errors` | errors at the ends of the interval, and in ascending order, evenly spaced |
//! | `debug_interval`, `debug_errors` | the same for code that ptxas compiles for a debugger |
//! | `usual_32`, `usual_48`, `usual_64` | how usual each count is, from 4 registers on, by the warps of a multiprocessor |
//! | `start`, `spread_start` | the constants that the sums of the trees start with |
//! | `steps` | counts up to which ptxas likes to fill registers, ascending |
//!
//! Errors are logarithms of ratios, in units of the spread. Each further line is a tree, `tree` for
//! the registers, `spread` for the spread of the errors, and `step N` for the odds of at most N
//! registers: an inner node `input<bound` is followed by the subtree for values up to the bound and
//! then by the one for other values; any other word is a leaf.
//!
//! The build script and the tests include this file; it depends on `tree_node.rs` only.

use super::tree_node::TreeNode;
use std::str::SplitWhitespace;

/// A sum of trees.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The constant of the sum.
    pub start: f64,
    /// The nodes of all trees.
    pub nodes: Vec<TreeNode>,
    /// The start of each tree in `nodes`.
    pub trees: Vec<usize>,
}

/// How errors are spread.
#[derive(Clone, Debug, Default)]
pub struct Errors {
    /// At the ends of the interval.
    pub interval: [f64; 2],
    /// In ascending order, evenly spaced.
    pub ascending: Vec<f64>,
}

/// The parsed model.
#[derive(Clone, Debug)]
pub struct ModelText<'t> {
    /// Names of the features that are inputs.
    pub inputs: Vec<&'t str>,
    /// Names of the features whose shares are also inputs.
    pub shares: Vec<&'t str>,
    /// By input: the largest value that is like what was measured.
    pub most: Vec<f64>,
    /// Errors of estimates by the trees.
    pub errors: Errors,
    /// Errors of estimates by the rule for debuggers.
    pub debug_errors: Errors,
    /// How usual each count is, by the warps of a multiprocessor: 32, 48, 64.
    pub usual: [Vec<f64>; 3],
    /// From inputs to the logarithm of the registers.
    pub registers: Forest,
    /// From inputs to the logarithm of the spread of errors.
    pub spread: Forest,
    /// Counts, ascending, each with the trees from inputs to the logarithm of the odds that a kernel has
    /// at most so many registers.
    pub steps: Vec<(u32, Forest)>,
}

impl<'t> ModelText<'t> {
    /// Parses a model; none if the text is malformed.
    pub fn parse(text: &'t str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words_of = |name: &str| lines.next()?.strip_prefix(name).map(str::split_whitespace);
        let numbers = |words: SplitWhitespace<'_>| words.map(|word| word.parse().ok()).collect();
        let inputs: Vec<&str> = words_of("inputs ")?.collect();
        let shares: Vec<&str> = words_of("shares ")?.collect();
        let most: Option<Vec<f64>> = numbers(words_of("most ")?);
        let mut errors_of = |interval: &str, ascending: &str| {
            let interval: Option<Vec<f64>> = numbers(words_of(interval)?);
            let ascending: Option<Vec<f64>> = numbers(words_of(ascending)?);
            Some(Errors {
                interval: interval?.try_into().ok()?,
                ascending: ascending?,
            })
        };
        let errors = errors_of("interval ", "errors ")?;
        let debug_errors = errors_of("debug_interval ", "debug_errors ")?;
        let mut usual_of = |name: &str| -> Option<Vec<f64>> { numbers(words_of(name)?) };
        let usual = [
            usual_of("usual_32 ")?,
            usual_of("usual_48 ")?,
            usual_of("usual_64 ")?,
        ];
        let start: Option<Vec<f64>> = numbers(words_of("start ")?);
        let spread_start: Option<Vec<f64>> = numbers(words_of("spread_start ")?);
        let steps = words_of("steps ")?.map(|word| Some((word.parse().ok()?, Forest::default())));
        let steps: Option<Vec<(u32, Forest)>> = steps.collect();
        let forest = |start: Option<Vec<f64>>| {
            Some(Forest {
                start: *start?.first()?,
                ..Forest::default()
            })
        };
        let mut model = Self {
            most: most.filter(|most| most.len() == inputs.len())?,
            inputs,
            shares,
            errors,
            debug_errors,
            usual,
            registers: forest(start)?,
            spread: forest(spread_start)?,
            steps: steps.filter(|steps| steps.is_sorted_by_key(|&(count, _)| count))?,
        };
        let count = model.inputs.len() + model.shares.len();
        for line in lines {
            let (kind, tree) = line.split_once(' ')?;
            match kind {
                "tree" => model.registers.add(tree, count)?,
                "spread" => model.spread.add(tree, count)?,
                "step" => {
                    let (step, tree) = tree.split_once(' ')?;
                    let step: u32 = step.parse().ok()?;
                    let mut steps = model.steps.iter_mut();
                    let (_, forest) = steps.find(|&&mut (known, _)| known == step)?;
                    forest.add(tree, count)?;
                }
                _ => return None,
            }
        }
        Some(model)
    }
}

impl Forest {
    /// Adds a tree that tests `inputs` inputs; none if the text is malformed.
    fn add(&mut self, text: &str, inputs: usize) -> Option<()> {
        let mut nodes: Vec<TreeNode> = Vec::new();
        // Tests whose second subtree is still missing.
        let mut open: Vec<usize> = Vec::new();
        let mut is_complete = false;
        for word in text.split_whitespace() {
            if is_complete {
                return None;
            }
            let place = u8::try_from(nodes.len()).ok()?;
            if let Some((input, bound)) = word.split_once('<') {
                open.push(nodes.len());
                nodes.push(TreeNode {
                    input: input.parse().ok().filter(|&input| usize::from(input) < inputs)?,
                    next: [0, place.checked_add(1)?],
                    bound: rounded_down(bound.parse().ok()?),
                    value: 0.0,
                });
                continue;
            }
            nodes.push(TreeNode {
                input: 0,
                next: [place; 2],
                bound: 0.0,
                value: word.parse().ok()?,
            });
            match open.pop() {
                Some(test) => nodes[test].next[0] = place.checked_add(1)?,
                None => is_complete = true,
            }
        }
        find_means(&mut nodes);
        self.trees.push(self.nodes.len());
        self.nodes.append(&mut nodes);
        is_complete.then_some(())
    }
}

/// Returns the largest number of 32 bits that is not above a bound. Inputs have 32 bits, so they
/// are at most that number if they are at most the bound.
fn rounded_down(bound: f64) -> f32 {
    let near = bound as f32;
    if f64::from(near) > bound {
        near.next_down()
    } else {
        near
    }
}

/// Enters the means of the tests of a tree. Both sides of a test follow it.
fn find_means(nodes: &mut [TreeNode]) {
    for place in (0..nodes.len()).rev() {
        let [other, next] = nodes[place].next.map(usize::from);
        if next != place {
            let value = |side: usize| nodes.get(side).map_or(0.0, |node| node.value);
            nodes[place].value = (value(next) + value(other)) / 2.0;
        }
    }
}
