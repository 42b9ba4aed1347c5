//! A node of the model's trees. The build script, which writes the nodes, includes this file, too; it
//! depends on nothing.

/// A node of a tree: a test of an input, or a leaf.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TreeNode {
    /// The input that it tests.
    pub input: u8,
    /// The next node, counted from the tree's first: of inputs above the bound, and of others. A
    /// leaf is followed by itself.
    pub next: [u8; 2],
    /// The largest input for which the second of the next nodes follows.
    pub bound: f32,
    /// This tree's term of the sum, if it is a leaf; else the mean of both sides.
    pub value: f32,
}
