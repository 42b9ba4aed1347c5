//! The value graph: every value that either function computes, each once.
//!
//! A node is an operator and its operands. Nodes are hash-consed, so two computations are equal if
//! they have the same node. Constructors in [`super::sums`], [`super::bits`] and
//! [`super::predicates`] bring what they make into a normal form first, so that computations that
//! differ only in how they are written meet in one node.

use oriel_engine::entity::{EntityRef, entity_impl};
use oriel_engine::hash::{NumberHash, NumberMap};
use oriel_ori::{DataType, Modifiers, Operation};
use std::hash::{Hash, Hasher};

/// A value: of a register, of memory at some point, or the sequence of effects so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// What a node stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operator {
    /// A constant.
    Constant {
        /// The low 64 bits.
        low: u64,
        /// The bits above.
        high: u64,
    },
    /// A constant and multiples of values, modulo two to the node's width. Operands come in threes:
    /// value, and low and high half of the factor. Narrower values are extended with zeros.
    Sum {
        /// The constant.
        constant: u64,
    },
    /// The product of all operands, modulo two to the node's width; narrower ones are extended with
    /// zeros.
    Product,
    /// A sum with too many terms for the normal form, as two parts.
    LongSum,
    /// Some of the operand's bits, as many as the node is wide.
    Piece {
        /// The lowest.
        low: u8,
    },
    /// The operand, extended with its sign.
    SignExtension,
    /// Bitwise operation on all operands.
    Bitwise(Bitwise),
    /// Is the operand zero?
    IsZero,
    /// Is the first operand less than the second?
    Less {
        /// Compared with sign?
        signed: bool,
    },
    /// The second operand if the first holds, else the third.
    Select,
    /// What control brings to a block that several edges lead to: an operand for each edge, or,
    /// where an edge comes from further on, only for those that do not.
    Join {
        /// The node of the related flow.
        node: u32,
        /// Tells joins of one node apart whose other operands are not known yet.
        class: u32,
        /// Are operands missing?
        is_open: bool,
    },
    /// Any other operation of Ori.
    Operation {
        operation: Operation,
        data_type: DataType,
        source_type: DataType,
        modifiers: Modifiers,
    },
    /// A machine instruction that Ori does not know, by the number of its name.
    Machine { name: u32 },
    /// A result of the operand.
    Result { index: u16 },
    /// Memory of a kind, or the sequence of effects, after the effect that is the operand.
    After { kind: u8 },
    /// Memory of a kind, or the sequence of effects, when the function begins.
    Initial { kind: u8 },
    /// The address of a symbol, by the number of its name.
    Symbol { name: u32 },
    /// The address of a stack object.
    Frame { object: u32 },
    /// Anything that is told apart by a number only.
    Named { space: u8, number: u64 },
    /// A value that does not matter.
    Undefined { register: u32 },
}

/// The bitwise operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    operator: Operator,
    width: u8,
    /// Is it made of the address of a stack object?
    mentions_stack: bool,
    /// Is it made of a value that does not matter?
    mentions_undefined: bool,
    first: u32,
    count: u32,
}

/// The graph.
#[derive(Debug, Default)]
pub(super) struct Values {
    nodes: Vec<Node>,
    operands: Vec<u32>,
    /// Open addressing: one more than the number of a node, or zero.
    table: Vec<u32>,
    /// Pieces that were taken of values, by lowest bit and width.
    pub(super) extracted: NumberMap<(Value, u8, u8), Value>,
    /// How deep taking pieces is nested.
    pub(super) nesting: u32,
    /// May normal forms be large?
    pub(super) is_thorough: bool,
}

/// The low `width` bits.
pub(super) const fn mask(width: u32) -> u64 {
    if width >= 64 { u64::MAX } else { (1 << width) - 1 }
}

impl Values {
    /// Forgets all values and keeps the memory.
    pub fn clear(&mut self) {
        self.extracted.clear();
        self.nesting = 0;
        self.nodes.clear();
        self.operands.clear();
        self.table.fill(0);
    }

    /// The value of an operator applied to operands, `width` bits wide (zero for memory and
    /// effects).
    pub fn intern(&mut self, operator: Operator, width: u32, operands: &[Value]) -> Value {
        let mut words: smallvec::SmallVec<[u32; 8]> = smallvec::SmallVec::with_capacity(operands.len());
        words.extend(operands.iter().map(|value| value.as_u32()));
        self.intern_words(operator, width, &words)
    }

    /// As [`intern`](Self::intern), with operands as words.
    pub fn intern_words(&mut self, operator: Operator, width: u32, words: &[u32]) -> Value {
        if 2 * (self.nodes.len() + 1) > self.table.len() {
            self.grow();
        }
        let mut place = hash_of(&operator, width, words) as usize & (self.table.len() - 1);
        while let Some(known) = self.table[place].checked_sub(1) {
            let node = &self.nodes[known as usize];
            if node.operator == operator
                && u32::from(node.width) == width
                && self.operands[node.first as usize..(node.first + node.count) as usize] == *words
            {
                return Value::from_u32(known);
            }
            place = (place + 1) & (self.table.len() - 1);
        }
        let value = Value::new(self.nodes.len());
        let step = if matches!(operator, Operator::Sum { .. }) {
            3
        } else {
            1
        };
        // What is loaded from there is no address, but where one was stored, which is seen when the
        // object's bytes are followed.
        let is_load = matches!(
            operator,
            Operator::Operation {
                operation: Operation::Ld,
                ..
            }
        );
        let mentions_stack = matches!(operator, Operator::Frame { .. })
            || width > 0
                && !is_load
                && words
                    .iter()
                    .step_by(step)
                    .any(|&word| self.nodes[word as usize].mentions_stack);
        let mentions_undefined = matches!(operator, Operator::Undefined { .. })
            || words
                .iter()
                .step_by(step)
                .any(|&word| self.nodes[word as usize].mentions_undefined);
        self.table[place] = value.as_u32() + 1;
        self.nodes.push(Node {
            operator,
            width: width as u8,
            mentions_stack,
            mentions_undefined,
            first: self.operands.len() as u32,
            count: words.len() as u32,
        });
        self.operands.extend_from_slice(words);
        value
    }

    fn grow(&mut self) {
        let size = (2 * self.table.len()).max(64);
        self.table.clear();
        self.table.resize(size, 0);
        for (number, node) in self.nodes.iter().enumerate() {
            let words = &self.operands[node.first as usize..(node.first + node.count) as usize];
            let mut place = hash_of(&node.operator, node.width.into(), words) as usize & (size - 1);
            while self.table[place] != 0 {
                place = (place + 1) & (size - 1);
            }
            self.table[place] = number as u32 + 1;
        }
    }

    /// What a value's node stands for.
    pub fn operator(&self, value: Value) -> Operator {
        self.nodes[value.index()].operator
    }

    /// Is a value made of the address of a stack object?
    pub fn mentions_stack(&self, value: Value) -> bool {
        self.nodes[value.index()].mentions_stack
    }

    /// Is a value made of one that does not matter?
    pub fn mentions_undefined(&self, value: Value) -> bool {
        self.nodes[value.index()].mentions_undefined
    }

    /// Width in bits; zero for memory and effects.
    pub fn width(&self, value: Value) -> u32 {
        self.nodes[value.index()].width.into()
    }

    /// The operands as words: values, but for sums.
    pub fn words(&self, value: Value) -> &[u32] {
        let node = &self.nodes[value.index()];
        &self.operands[node.first as usize..(node.first + node.count) as usize]
    }

    /// Operand `index`.
    ///
    /// # Panics
    /// There are fewer.
    pub fn operand(&self, value: Value, index: usize) -> Value {
        Value::from_u32(self.words(value)[index])
    }

    /// The values that a node is made of.
    pub fn parts_of(&self, value: Value) -> impl Iterator<Item = Value> + '_ {
        let step = match self.operator(value) {
            Operator::Sum { .. } => 3,
            _ => 1,
        };
        self.words(value)
            .iter()
            .step_by(step)
            .map(|&word| Value::from_u32(word))
    }

    /// A constant of at most 64 bits; higher bits are dropped.
    pub fn constant(&mut self, width: u32, bits: u64) -> Value {
        self.wide_constant(width, bits & mask(width), 0)
    }

    /// A constant of up to 128 bits.
    pub fn wide_constant(&mut self, width: u32, low: u64, high: u64) -> Value {
        self.intern_words(Operator::Constant { low, high }, width, &[])
    }

    /// The bits of a constant of at most 64 bits.
    pub fn as_constant(&self, value: Value) -> Option<u64> {
        match self.operator(value) {
            Operator::Constant { low, .. } if self.width(value) <= 64 => Some(low),
            _ => None,
        }
    }
}

fn hash_of(operator: &Operator, width: u32, words: &[u32]) -> u64 {
    let mut hasher = NumberHash::default();
    operator.hash(&mut hasher);
    hasher.write_u32(width);
    for pair in words.chunks(2) {
        let high = pair.get(1).copied().unwrap_or(u32::MAX);
        hasher.write_u64(u64::from(pair[0]) | u64::from(high) << 32);
    }
    hasher.finish()
}
