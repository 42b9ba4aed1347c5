//! Half-open intervals with registers, ordered by their starts, and which of them a point lies in.
//!
//! A treap (Seidel and Aragon, "Randomized Search Trees", 1996): ordered by start and register, a
//! heap by priorities that a hash of both gives, so that the same intervals always make the same
//! tree. Each node knows the greatest end below it, as in an interval tree (Cormen et al.,
//! "Introduction to Algorithms"), so that a question goes only where there are answers. Adding and
//! removing take `O(log n)` expected steps, a question with `k` answers `O(log n + k)` or, in the
//! worst case, `O(k log n)`.
//!
//! The reference keeps its intervals in a red-black tree; what either gives is the same.

use oriel_engine::entity::{PackedOption, PrimaryMap, Register, entity_impl};

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct TreeNode(u32);
entity_impl!(TreeNode, "tree");

type Link = PackedOption<TreeNode>;

#[derive(Clone, Debug)]
struct NodeData {
    start: u64,
    end: u64,
    register: Register,
    /// The greatest end in this tree.
    last_end: u64,
    left: Link,
    right: Link,
}

impl NodeData {
    fn key(&self) -> (u64, Register) {
        (self.start, self.register)
    }

    /// A well mixed number (the finaliser of SplitMix64).
    fn priority(&self) -> u64 {
        let mixed = self.start ^ (self.register.as_u32() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ mixed >> 31
    }
}

/// A set of intervals. No two of one register may begin at the same point.
#[derive(Clone, Debug, Default)]
pub(super) struct IntervalTree {
    nodes: PrimaryMap<TreeNode, NodeData>,
    /// Nodes that were removed.
    free: Vec<TreeNode>,
    root: Link,
}

impl IntervalTree {
    /// Takes everything out.
    pub fn clear(&mut self) {
        self.nodes.clear();
        self.free.clear();
        self.root = Link::default();
    }

    /// Adds `start..end`, in which `register` is live.
    pub fn insert(&mut self, start: u64, end: u64, register: Register) {
        let data = NodeData {
            start,
            end,
            register,
            last_end: end,
            left: Link::default(),
            right: Link::default(),
        };
        let new = match self.free.pop() {
            Some(node) => {
                self.nodes[node] = data;
                node
            }
            None => self.nodes.push(data),
        };
        let (before, after) = self.split(self.root, (start, register));
        let with_new = self.merge(before, new.into());
        self.root = self.merge(with_new, after);
    }

    /// Removes the interval of `register` that begins at `start`; whether there was one.
    pub fn remove(&mut self, start: u64, register: Register) -> bool {
        let (before, rest) = self.split(self.root, (start, register));
        let (found, after) = self.split(rest, (start, Register::from_u32(register.as_u32() + 1)));
        self.root = self.merge(before, after);
        self.free.extend(found.expand());
        found.is_some()
    }

    /// Calls `found` with the register of every interval that `point` lies in, by their starts.
    pub fn each_at(&self, point: u64, mut found: impl FnMut(Register)) {
        let mut pending = Vec::new();
        let mut next = self.root;
        loop {
            // To the left as long as something there may reach the point.
            while let Some(node) = next.expand().filter(|&node| self.nodes[node].last_end > point) {
                pending.push(node);
                next = self.nodes[node].left;
            }
            let Some(node) = pending.pop() else {
                return;
            };
            let data = &self.nodes[node];
            if data.start > point {
                // So does everything to the right of it, and of those that still wait.
                return;
            }
            if data.end > point {
                found(data.register);
            }
            next = data.right;
        }
    }

    /// Number of intervals.
    #[cfg(test)]
    pub fn len(&self) -> usize {
        self.nodes.len() - self.free.len()
    }

    fn update(&mut self, node: TreeNode) {
        let data = &self.nodes[node];
        let below =
            [data.left, data.right].map(|link| link.expand().map_or(0, |node| self.nodes[node].last_end));
        self.nodes[node].last_end = data.end.max(below[0]).max(below[1]);
    }

    /// Parts a tree in what is before `key` and what is not. Goes as deep as the tree.
    fn split(&mut self, tree: Link, key: (u64, Register)) -> (Link, Link) {
        let Some(node) = tree.expand() else {
            return (Link::default(), Link::default());
        };
        if self.nodes[node].key() < key {
            let (before, after) = self.split(self.nodes[node].right, key);
            self.nodes[node].right = before;
            self.update(node);
            (tree, after)
        } else {
            let (before, after) = self.split(self.nodes[node].left, key);
            self.nodes[node].left = after;
            self.update(node);
            (before, tree)
        }
    }

    /// Joins two trees, all of the first before all of the second. Goes as deep as they are.
    fn merge(&mut self, before: Link, after: Link) -> Link {
        let (Some(left), Some(right)) = (before.expand(), after.expand()) else {
            return if before.is_some() { before } else { after };
        };
        if self.nodes[left].priority() > self.nodes[right].priority() {
            self.nodes[left].right = self.merge(self.nodes[left].right, after);
            self.update(left);
            before
        } else {
            self.nodes[right].left = self.merge(before, self.nodes[right].left);
            self.update(right);
            after
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn a_point_lies_in_what_a_list_says(
            changes in prop::collection::vec((0u64..40, 1u64..30, 0u32..6, any::<bool>()), 0..150),
        ) {
            let mut tree = IntervalTree::default();
            let mut list: BTreeMap<(u64, Register), u64> = BTreeMap::new();
            for (start, length, register, add) in changes {
                let register = Register::from_u32(register);
                let removed = list.remove(&(start, register)).is_some();
                prop_assert_eq!(tree.remove(start, register), removed);
                if add {
                    tree.insert(start, start + length, register);
                    list.insert((start, register), start + length);
                }
                prop_assert_eq!(tree.len(), list.len());
            }
            for point in 0..80 {
                let mut found = Vec::new();
                tree.each_at(point, |register| found.push(register));
                let expected: Vec<Register> = list
                    .iter()
                    .filter(|((start, _), end)| (*start..**end).contains(&point))
                    .map(|((_, register), _)| *register)
                    .collect();
                prop_assert_eq!(found, expected);
            }
        }
    }
}
