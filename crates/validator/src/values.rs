//! The value graph: every value that either function computes, once.
//!
//! A node is an operator and its operands. Nodes are hash-consed, so two computations are equal if
//! they have the same node. Constructors in [`super::sums`], [`super::bits`] and
//! [`super::predicates`] normalise first, so that different spellings of a computation map to one
//! node.

use oriel_arithmetic::low_bits;
use oriel_engine::entity::{EntityRef, entity_impl};
use oriel_engine::hash::{NumberHash, NumberMap};
use oriel_ori::{DataType, Modifiers, Operation};
use std::hash::{Hash, Hasher};

/// A value: of a register, of memory at some point, or the sequence of effects so far.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(u32);
entity_impl!(Value, "v");

/// The operator of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Operator {
    /// A constant.
    Constant {
        /// The low 64 bits.
        low: u64,
        /// The bits above.
        high: u64,
    },
    /// A constant and multiples of values, modulo two to the power of the node's width. Operands
    /// come in threes: value, and low and high half of the factor. Narrower values are
    /// zero-extended.
    Sum {
        /// The constant.
        constant: u64,
    },
    /// The product of all operands, modulo two to the power of the node's width; narrower ones are
    /// zero-extended.
    Product,
    /// A sum with too many terms for the normal form, in two parts.
    LongSum,
    /// Some of the operand's bits, as many as the node is wide.
    Piece {
        /// The lowest bit.
        low: u8,
    },
    /// The operand, sign-extended.
    SignExtension,
    /// Bitwise operation on all operands.
    Bitwise(Bitwise),
    /// Tests whether the operand is zero.
    IsZero,
    /// Tests whether the first operand is less than the second.
    Less {
        /// True for a signed comparison.
        signed: bool,
    },
    /// The second operand if the first holds, otherwise the third.
    Select,
    /// The join of values at a block with several incoming edges: an operand for each edge, or, if
    /// an edge comes from a node not yet visited, only for the other edges.
    Join {
        /// The node of the related flow.
        node: u32,
        /// Distinguishes joins of one node whose other operands are not known yet.
        class: u32,
        /// True if operands are missing.
        is_open: bool,
    },
    /// Any other operation of Ori.
    Operation {
        operation: Operation,
        data_type: DataType,
        source_type: DataType,
        modifiers: Modifiers,
    },
    /// A machine instruction that Ori does not know, by number of its name.
    Machine { name: u32 },
    /// A result of the operand.
    Result { index: u16 },
    /// Memory of a kind, or the sequence of effects, after the operand, which is an effect.
    After { kind: u8 },
    /// Memory of a kind, or the sequence of effects, at the start of the function.
    Initial { kind: u8 },
    /// The address of a symbol, by number of its name.
    Symbol { name: u32 },
    /// The address of a stack object.
    Frame { object: u32 },
    /// A value of a kind that a number, and operands if there are any, identify.
    Named { kind: Named, number: u64 },
    /// An undefined value.
    Undefined { register: u32 },
}

/// The kinds of values that the validator only tells apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Named {
    /// A block, by its label.
    Block,
    /// The operand that stands for none.
    NoOperand,
    /// A physical register, by its index.
    PhysicalRegister,
    /// A special register.
    SpecialRegister,
    /// An integer operand that only the machine function has.
    MachineImmediate,
    /// Any other such operand, by [`machine_operand`](super::side::Side::machine_operand).
    MachineOperand,
    /// An unknown value, equal to no other.
    Unknown,
    /// The address whose base and offset are the operands.
    Address,
    /// The fact that the operand, an address, is a multiple of the number.
    Aligned,
}

/// The bitwise operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Bitwise {
    And,
    Or,
    Xor,
}

impl Operator {
    /// The words for each operand: the operand, and of a sum the two halves of its factor.
    pub const fn words_of_part(self) -> usize {
        match self {
            Self::Sum { .. } => 3,
            _ => 1,
        }
    }
}

#[derive(Clone, Copy, Debug)]
struct ValueData {
    operator: Operator,
    width: u8,
    /// True if it contains the address of a stack object.
    mentions_stack: bool,
    /// True if it contains an undefined value.
    mentions_undefined: bool,
    first: u32,
    count: u32,
}

/// The value graph.
#[derive(Debug, Default)]
pub(super) struct Values {
    nodes: Vec<ValueData>,
    operands: Vec<u32>,
    /// Open addressing: the number of a node plus one, or zero.
    table: Vec<u32>,
    /// Pieces taken of values, by lowest bit and width.
    pub(super) extracted: NumberMap<(Value, u8, u8), Value>,
    /// The nesting depth of taking pieces.
    pub(super) nesting: u32,
    /// Allows large normal forms.
    pub(super) is_thorough: bool,
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

    /// Returns the value of an operator applied to operands, `width` bits wide (zero for memory and
    /// effects).
    pub fn intern(&mut self, operator: Operator, width: u32, operands: &[Value]) -> Value {
        let mut words: smallvec::SmallVec<[u32; 8]> = smallvec::SmallVec::with_capacity(operands.len());
        words.extend(operands.iter().map(|value| value.as_u32()));
        self.intern_words(operator, width, &words)
    }

    /// Like [`intern`](Self::intern), with operands as words.
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
        // A loaded value is not an address, unless one was stored there; tracking the object's
        // bytes detects that.
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
        self.nodes.push(ValueData {
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

    /// Returns the operator of a value's node.
    pub fn operator(&self, value: Value) -> Operator {
        self.nodes[value.index()].operator
    }

    /// True if a value contains the address of a stack object.
    pub fn mentions_stack(&self, value: Value) -> bool {
        self.nodes[value.index()].mentions_stack
    }

    /// True if a value contains an undefined value.
    pub fn mentions_undefined(&self, value: Value) -> bool {
        self.nodes[value.index()].mentions_undefined
    }

    /// Returns the width in bits; zero for memory and effects.
    pub fn width(&self, value: Value) -> u32 {
        self.nodes[value.index()].width.into()
    }

    /// Returns the operands as words: values, except for sums.
    pub fn words(&self, value: Value) -> &[u32] {
        let node = &self.nodes[value.index()];
        &self.operands[node.first as usize..(node.first + node.count) as usize]
    }

    /// Returns operand `index`.
    ///
    /// # Panics
    /// If there are fewer operands.
    pub fn operand(&self, value: Value, index: usize) -> Value {
        Value::from_u32(self.words(value)[index])
    }

    /// Returns the values that a node is made of.
    pub fn parts_of(&self, value: Value) -> impl Iterator<Item = Value> + '_ {
        self.words(value)
            .iter()
            .step_by(self.operator(value).words_of_part())
            .map(|&word| Value::from_u32(word))
    }

    /// Returns a constant of at most 64 bits; higher bits are dropped.
    pub fn constant(&mut self, width: u32, bits: u64) -> Value {
        self.wide_constant(width, bits & low_bits(width), 0)
    }

    /// Returns a constant of up to 128 bits.
    pub fn wide_constant(&mut self, width: u32, low: u64, high: u64) -> Value {
        self.intern_words(Operator::Constant { low, high }, width, &[])
    }

    /// Returns the bits of a constant of at most 64 bits.
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
