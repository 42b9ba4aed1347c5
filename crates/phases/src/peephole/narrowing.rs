//! Narrows trees of 64-bit operations of which only the low word is used to 32 bits.
//!
//! ```text
//! %2 = PACK.b64.b32 %1, %1
//! %3 = SHR.u64 %2, 6                  %3 = SHF.r.b32 %1, %1, 6
//! %4 = SHR.u64 %2, 11          ─▶     %4 = SHF.r.b32 %1, %1, 11
//! %5 = XOR.b64 %3, %4                 %6 = XOR.b32 %3, %4
//! %6 = CVT.u32.u64 %5
//! ```
//!
//! LLVM creates such trees for rotations that share their operand.

use super::conversions::{extended_word, resizing, words_of};
use super::matcher::{Matcher, signed};
use super::rewrite::{NewInstruction, Rewrite, Value, nodes, plain, variant};
use super::rule::{Governs, Rule};
use oriel_arithmetic::low_bits;
use oriel_ori::{DataType, Instruction, Operand, Operation, Variant};
use smallvec::SmallVec;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "low-word-of-tree",
    roots: &[Operation::Cvt],
    widths: &[32],
    governed_by: Governs::PlainIntegers,
    rewrite: narrow_tree,
    examples: &[
        "%8:R64 = PACK.b64.b32 %4, %5\n%7:R64 = SHR.u64 %8, 6\n%9:R32 = CVT.u32.u64 %7",
        "%8:R64 = CVT.u64.u32 %4\n%7:R64 = CVT.s64.s32 %5\n%6:R64 = XOR.b64 %7, %8\n%9:R32 = CVT.u32.u64 %6",
        "%8:R64 = CVT.u64.u32 %4\n%7:R64 = IADD.b64 %8, 77\n%6:R64 = SHL.b64 %7, 3\n%9:R32 = CVT.u32.u64 %6",
        "%8:R64 = PACK.b64.b32 %4, %5\n%7:R64 = SHR.s64 %8, 40\n%6:R64 = AND.b64 %7, 1023\n%9:R32 = CVT.u32.u64 %6",
        "%8:R64 = CVT.u64.u32 %4\n%7:R64 = SHR.u64 %8, 5\n%6:R64 = IMUL.b64 %7, %8\n%9:R32 = CVT.u32.u64 %6",
    ],
}];

/// The most levels and instructions of a tree.
pub(super) const DEPTH: u32 = 6;
const MOST_NODES: usize = 16;

fn narrow_tree(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let (typed, wide) = resizing(matcher, root)?;
    if typed.data_type.bits() != 32 || typed.source_type.bits() != 64 {
        return None;
    }
    let mut tree = Tree {
        matcher,
        nodes: SmallVec::new(),
    };
    // The root itself becomes the last node, which a leaf cannot be.
    match tree.narrow(wide, DEPTH)? {
        Value::NewInstruction(_) => nodes(root, tree.nodes),
        leaf => super::rewrite::value(root, leaf),
    }
}

struct Tree<'a> {
    matcher: &'a Matcher<'a>,
    nodes: SmallVec<[NewInstruction; 1]>,
}

impl Tree<'_> {
    /// Returns the low word of a 64-bit value, or none if it is not available within [`DEPTH`]
    /// levels.
    fn narrow(&mut self, wide: Operand, depth: u32) -> Option<Value> {
        let matcher = self.matcher;
        if let Some(constant) = matcher.constant(wide, 64) {
            return Some(Value::Integer(signed(constant & low_bits(32), 32)));
        }
        if let Some((word, _)) = extended_word(matcher, wide) {
            return Some(word.into());
        }
        if let Some([low, _]) = words_of(matcher, wide) {
            return Some(low.into());
        }
        let definition = matcher
            .definition(wide)
            .filter(|&definition| matcher.is_plain(definition))?;
        if depth == 0 || !matcher.is_only_use(wide) || matcher.bits(definition) != 64 {
            return None;
        }
        let operation = matcher.function.operation(definition);
        match operation {
            Operation::And
            | Operation::Or
            | Operation::Xor
            | Operation::Iadd
            | Operation::Isub
            | Operation::Imul => {
                let [a, b] = matcher.two(definition);
                let sources = [self.narrow(a, depth - 1)?, self.narrow(b, depth - 1)?];
                self.add(NewInstruction::new(plain(operation, DataType::B32), &sources))
            }
            Operation::Shl => {
                let amount = matcher.constant(matcher.source(definition, 1), 32)?;
                if amount >= 32 {
                    return Some(Value::Integer(0));
                }
                let shifted = self.narrow(matcher.source(definition, 0), depth - 1)?;
                self.add(NewInstruction::new(
                    plain(operation, DataType::B32),
                    &[shifted, Value::Integer(amount as i64)],
                ))
            }
            Operation::Shr => self.narrow_shift(definition),
            _ => None,
        }
    }

    /// Returns the low word of a right shift.
    fn narrow_shift(&mut self, shift: Instruction) -> Option<Value> {
        let matcher = self.matcher;
        let amount = matcher
            .constant(matcher.source(shift, 1), 32)
            .filter(|amount| (1..64).contains(amount))?;
        let [low, high] = match words_of(matcher, matcher.source(shift, 0)) {
            Some(words) => words.map(Some),
            None => match extended_word(matcher, matcher.source(shift, 0))? {
                // If the high word is zero, everything comes from the low one.
                (word, false) => [Some(word), None],
                (_, true) => return None,
            },
        };
        let is_signed = matcher.data_type(shift).is_signed();
        let shift_word = |word: Operand, amount: u64, is_signed: bool| {
            let data_type = if is_signed { DataType::S32 } else { DataType::U32 };
            NewInstruction::new(
                plain(Operation::Shr, data_type),
                &[word.into(), Value::Integer(amount as i64)],
            )
        };
        match (low, high, amount) {
            (Some(_), Some(_), 1..32) if !matcher.has_funnel_shifts() => None,
            (Some(low), Some(high), 1..32) => {
                let funnel = variant(Operation::Shf, DataType::B32, Variant::Right);
                self.add(NewInstruction::new(
                    funnel,
                    &[low.into(), high.into(), Value::Integer(amount as i64)],
                ))
            }
            (_, Some(high), 32) => Some(high.into()),
            (_, Some(high), _) => self.add(shift_word(high, amount - 32, is_signed)),
            (Some(low), None, 1..32) => self.add(shift_word(low, amount, false)),
            _ => Some(Value::Integer(0)),
        }
    }

    fn add(&mut self, node: NewInstruction) -> Option<Value> {
        self.nodes.push(node);
        (self.nodes.len() <= MOST_NODES).then(|| Value::NewInstruction(self.nodes.len() - 1))
    }
}
