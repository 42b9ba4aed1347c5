//! Prefixes of known chains, and their reuse by other chains.

use super::chain::{Chain, Leaf};
use crate::shared::value_table::ValueTable;
use oriel_engine::entity::{Block, PrimaryMap, Register, entity_impl};
use oriel_engine::graph::DominatorTree;
use oriel_engine::hash::Fnv1a;
use oriel_ori::{Function, InstructionBuilder, Operation, Position};
use smallvec::SmallVec;

/// A chain of the table.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ChainId(u32);
entity_impl!(ChainId, "chain");

/// A chain whose prefixes others can use.
struct SharedChain {
    chain: Chain,
    /// Its position in the walk.
    position: u32,
    /// The registers of its prefixes; none until it is rebuilt.
    built: Option<Built>,
}

/// The registers of the prefixes of a chain built from left to right.
pub(super) struct Built {
    /// Leaves in the shortest prefix with a register.
    first_length: usize,
    registers: SmallVec<[Register; 4]>,
}

/// A prefix of a known chain.
#[derive(Clone, Copy, Debug)]
pub(super) struct Prefix {
    chain: ChainId,
    /// The number of its leaves.
    pub length: usize,
}

/// Prefixes by their leaves.
#[derive(Default)]
pub(super) struct Prefixes {
    chains: PrimaryMap<ChainId, SharedChain>,
    table: ValueTable<Prefix>,
}

impl Prefixes {
    /// Returns the longest prefix that a chain shares with one that dominates it and lies within
    /// the window.
    pub fn longest(
        &self,
        function: &Function,
        dominators: &DominatorTree<Block>,
        chain: &Chain,
        position: u32,
        window: u32,
    ) -> Option<Prefix> {
        let mut longest = None;
        let words = chain.words(function);
        for length in 2..=chain.leaves.len() {
            let (words, hash) = key_of_prefix(&words, length);
            let Some(value) = self.table.find(words, hash) else {
                break;
            };
            let prefix = self.table[value];
            let known = &self.chains[prefix.chain];
            let is_near = position - known.position <= window;
            // Distribution may have made a root a part of this chain, which takes it apart.
            if chain.inner.contains(&known.chain.root) {
                continue;
            }
            let blocks = [known.chain.root, chain.root].map(|root| function.block_of(root));
            if let [Some(from), Some(to)] = blocks
                && is_near
                && dominators.dominates(from, to)
            {
                longest = Some(prefix);
            }
        }
        longest
    }

    /// Enters the prefixes that a chain computes, replacing those of earlier chains.
    pub fn enter(&mut self, function: &Function, chain: Chain, built: Option<Built>, position: u32) {
        let id = self.chains.next_key();
        let first_length = built.as_ref().map_or(2, |built| built.first_length);
        let words = chain.words(function);
        for length in first_length..=chain.leaves.len() {
            let (words, hash) = key_of_prefix(&words, length);
            self.table.insert(words, hash, Prefix { chain: id, length });
        }
        self.chains.push(SharedChain {
            chain,
            position,
            built,
        });
    }

    /// Returns the register with the value of a prefix, and whether the chain had to be rebuilt
    /// because it computes its leaves in another order.
    pub fn register(&mut self, function: &mut Function, prefix: Prefix) -> (Register, bool) {
        let known = &mut self.chains[prefix.chain];
        if prefix.length == known.chain.leaves.len() {
            return (known.chain.result(function), false);
        }
        let is_new = known.built.is_none();
        let make = || build(function, &known.chain, None);
        let built = known.built.get_or_insert_with(make);
        (built.registers[prefix.length - built.first_length], is_new)
    }
}

/// Returns the words of a chain's prefix, and their hash.
fn key_of_prefix(words: &[u32], length: usize) -> (&[u32], u32) {
    let words = &words[..2 + 2 * length];
    (words, Fnv1a::new().words(words).finish())
}

/// Builds a chain from left to right in canonical order before its root, and replaces the root.
/// `begin` is a register with the value of its first leaves, and their number.
pub(super) fn build(function: &mut Function, chain: &Chain, begin: Option<(Register, usize)>) -> Built {
    let result = chain.result(function);
    let mut registers: SmallVec<[Register; 4]> = SmallVec::new();
    let (mut value, length) = match begin {
        Some((register, length)) => (function.register_operand(register), length),
        None => (chain.leaves[0].operand, 1),
    };
    let rest = chain.leaves[length..].split_last();
    let (last, between) = rest.expect("the root has work to do");
    for leaf in between {
        let register = function.create_register_like(result);
        let operand = function.register_operand(register);
        let new = InstructionBuilder::new(operation_with(chain, *leaf), chain.data_type)
            .result(operand)
            .source(value)
            .source(leaf.operand)
            .in_place_of(function.origin(chain.root));
        function.insert(Position::Before(chain.root), new);
        registers.push(register);
        value = operand;
    }
    let operation = operation_with(chain, *last);
    if function.operation(chain.root) != operation {
        function.set_operation(chain.root, operation);
    }
    function.set_sources(chain.root, &[value, last.operand]);
    registers.push(result);
    for &inner in &chain.inner {
        function.remove(inner);
    }
    Built {
        first_length: length + 1,
        registers,
    }
}

fn operation_with(chain: &Chain, leaf: Leaf) -> Operation {
    match leaf.is_negative {
        true => Operation::Isub,
        false => chain.operation,
    }
}
