//! The text form of the model, parsed when the library is built so that no process has to.
//!
//! It has one line for each of: the names of the features that are inputs; the names of those whose
//! share of the schedule's registers is also an input; the constant of the sum; the errors at the
//! ends of the interval; errors in ascending order, evenly spaced. Errors are in units of the
//! accepted deviation, two registers or a tenth. Each further line is a tree: an inner node
//! `input<bound` is followed by the subtree for values below the bound and then by the one for
//! other values; any other word is a leaf.
//!
//! The build script and the tests include this file; it depends on nothing.

use std::str::SplitWhitespace;

/// A node of a tree, as in `model.rs`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Node {
    /// A test of an input.
    Ask { input: u16, bound: f64, other: u32 },
    /// A term of the sum.
    Leaf(f64),
}

/// The parsed model.
#[derive(Clone, Debug)]
pub struct ModelText<'t> {
    /// Names of the features that are inputs.
    pub inputs: Vec<&'t str>,
    /// Names of the features whose shares are also inputs.
    pub shares: Vec<&'t str>,
    /// The constant of the sum.
    pub start: f64,
    /// Errors at the ends of the interval.
    pub interval: [f64; 2],
    /// Errors in ascending order, evenly spaced.
    pub errors: Vec<f64>,
    /// The nodes of all trees.
    pub nodes: Vec<Node>,
    /// The start of each tree in `nodes`.
    pub trees: Vec<usize>,
}

impl<'t> ModelText<'t> {
    /// Parses a model; none if the text is malformed.
    pub fn parse(text: &'t str) -> Option<Self> {
        let mut lines = text.lines();
        let mut words_of = |name: &str| lines.next()?.strip_prefix(name).map(str::split_whitespace);
        let numbers = |words: SplitWhitespace<'_>| words.map(|word| word.parse().ok()).collect();
        let inputs = words_of("inputs ")?.collect();
        let shares = words_of("shares ")?.collect();
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
        (missing == 0).then_some(())
    }
}
