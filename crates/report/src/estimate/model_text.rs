//! The text form of the model, parsed when the library is built so that no process has to.
//!
//! It has one line for each of these, in this order:
//!
//! | line | what it has |
//! |---|---|
//! | `inputs` | names of the features that are inputs |
//! | `shares` | names of the features whose shares of the schedule's registers are inputs too |
//! | `most` | the largest value of each input, shares apart, that is like what was measured |
//! | `interval`, `errors` | errors at the ends of the interval, and in ascending order, evenly spaced |
//! | `debug_interval`, `debug_errors` | the same for code that ptxas compiles for a debugger |
//! | `start`, `spread_start` | the constants that the sums of the trees start with |
//!
//! Errors are logarithms of ratios, in units of the spread. Each further line is a tree, `tree` for
//! the registers and `spread` for the spread of the errors: an inner node `input<bound` is followed
//! by the subtree for values up to the bound and then by the one for other values; any other word
//! is a leaf.
//!
//! The build script and the tests include this file; it depends on nothing.

use std::str::SplitWhitespace;

/// A node of a tree, as in `model.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// A test of an input; `mean` is the mean of both sides.
    Ask {
        input: u16,
        bound: f64,
        other: u32,
        mean: f64,
    },
    /// A term of the sum.
    Leaf(f64),
}

/// A sum of trees.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    /// The constant of the sum.
    pub start: f64,
    /// The nodes of all trees.
    pub nodes: Vec<Node>,
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
    /// From inputs to the logarithm of the registers.
    pub registers: Forest,
    /// From inputs to the logarithm of the spread of errors.
    pub spread: Forest,
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
        let start: Option<Vec<f64>> = numbers(words_of("start ")?);
        let spread_start: Option<Vec<f64>> = numbers(words_of("spread_start ")?);
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
            registers: forest(start)?,
            spread: forest(spread_start)?,
        };
        let count = model.inputs.len() + model.shares.len();
        for line in lines {
            let (kind, tree) = line.split_once(' ')?;
            match kind {
                "tree" => model.registers.add(tree, count)?,
                "spread" => model.spread.add(tree, count)?,
                _ => return None,
            }
        }
        Some(model)
    }
}

impl Forest {
    /// Adds a tree that tests `inputs` inputs; none if the text is malformed.
    fn add(&mut self, text: &str, inputs: usize) -> Option<()> {
        let first = self.nodes.len();
        self.trees.push(first);
        // Inner nodes whose second subtree is still missing, and the open subtrees.
        let (mut open, mut missing) = (Vec::<usize>::new(), 1);
        for word in text.split_whitespace() {
            if missing == 0 {
                return None;
            }
            if let Some((input, bound)) = word.split_once('<') {
                let input: u16 = input.parse().ok().filter(|&input| usize::from(input) < inputs)?;
                open.push(self.nodes.len());
                missing += 1;
                self.nodes.push(Node::Ask {
                    input,
                    bound: bound.parse().ok()?,
                    other: 0,
                    mean: 0.0,
                });
                continue;
            }
            self.nodes.push(Node::Leaf(word.parse().ok()?));
            missing -= 1;
            if let Some(asking) = open.pop() {
                let next = u32::try_from(self.nodes.len()).ok()?;
                let Node::Ask { other, .. } = &mut self.nodes[asking] else {
                    return None;
                };
                *other = next;
            }
        }
        self.find_means(first);
        (missing == 0).then_some(())
    }

    /// Enters the means of the inner nodes from `first` on. Both sides of a node follow it.
    fn find_means(&mut self, first: usize) {
        for place in (first..self.nodes.len()).rev() {
            let Node::Ask { other, .. } = self.nodes[place] else {
                continue;
            };
            let mean_of = |node: Option<&Node>| match node {
                Some(&Node::Ask { mean, .. } | &Node::Leaf(mean)) => mean,
                None => 0.0,
            };
            let both = mean_of(self.nodes.get(place + 1)) + mean_of(self.nodes.get(other as usize));
            if let Node::Ask { mean, .. } = &mut self.nodes[place] {
                *mean = both / 2.0;
            }
        }
    }
}
