//! Operands as packed words.
//!
//! | bits | meaning |
//! |---|---|
//! | 31 | the value read does not matter |
//! | 28–30 | [tag](OperandKind) |
//! | 27 | reserved, zero |
//! | 26 | bitwise complement or, of a predicate, negation |
//! | 25 | absolute value |
//! | 24 | negation |
//! | 0–23 | index or small immediate |
//!
//! Tag numbers, the 24 index bits and the two tags of branch targets (4 and 6 in the top bits) are
//! the reference's. It gives the remaining tags several meanings; one was chosen for each.

use oriel_engine::entity::{Block, EntityRef, Register, entity_impl};
use std::fmt::{self, Debug, Formatter};

/// A constant of a function, too wide for an operand word.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConstantId(u32);
entity_impl!(ConstantId, "constant");

/// An operand that only the machine function can describe.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SpecialId(u32);
entity_impl!(SpecialId, "special");

/// An operand of an instruction.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
#[repr(transparent)]
pub struct Operand(u32);

const _: () = assert!(size_of::<Operand>() == 4);

const INDEX_BITS: u32 = 24;
const INDEX_MASK: u32 = (1 << INDEX_BITS) - 1;
const NEGATE: u32 = 1 << 24;
const ABSOLUTE: u32 = 1 << 25;
const COMPLEMENT: u32 = 1 << 26;
const MODIFIERS: u32 = NEGATE | ABSOLUTE | COMPLEMENT;
const TAG_SHIFT: u32 = 28;
const UNDEFINED: u32 = 1 << 31;

const NONE: u32 = 0;
const REGISTER: u32 = 1;
const IMMEDIATE: u32 = 2;
const CONSTANT: u32 = 3;
const TARGET: u32 = 4;
const PREDICATE: u32 = 5;
const FALL_THROUGH: u32 = 6;
const SPECIAL: u32 = 7;

/// The kind of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperandKind {
    /// Nothing: LLVM's `$noreg`.
    None,
    /// A data register.
    Register(Register),
    /// A signed 24-bit integer.
    Immediate(i32),
    /// A constant of the function's table.
    Constant(ConstantId),
    /// A block that the instruction names: a branch target, or the source of a PHI's value.
    Target(Block),
    /// A predicate register.
    Predicate(Register),
    /// The block that control falls through to.
    FallThrough(Block),
    /// A symbol, a stack object, or an operand unknown to Ori.
    Special(SpecialId),
}

impl Operand {
    /// Entities with this index and above have no operand word.
    pub(crate) const INDEX_LIMIT: usize = 1 << INDEX_BITS;

    /// No operand.
    pub const NONE: Self = Self(NONE);

    fn with_index(tag: u32, index: usize) -> Self {
        assert!(
            index < Self::INDEX_LIMIT,
            "operand words have {INDEX_BITS} index bits"
        );
        Self(tag << TAG_SHIFT | index as u32)
    }

    /// Creates a data register operand.
    #[inline]
    pub fn register(register: Register) -> Self {
        Self::with_index(REGISTER, register.index())
    }

    /// Creates a predicate register operand.
    #[inline]
    pub fn predicate(register: Register) -> Self {
        Self::with_index(PREDICATE, register.index())
    }

    /// Creates an integer operand, if 24 bits hold the value.
    pub fn immediate(value: i64) -> Option<Self> {
        let fits = (-(1 << (INDEX_BITS - 1))..1 << (INDEX_BITS - 1)).contains(&value);
        fits.then_some(Self(IMMEDIATE << TAG_SHIFT | value as u32 & INDEX_MASK))
    }

    /// Creates an operand for a constant of the function's table.
    #[inline]
    pub fn constant(constant: ConstantId) -> Self {
        Self::with_index(CONSTANT, constant.index())
    }

    /// Creates an operand that names a block.
    #[inline]
    pub fn target(block: Block) -> Self {
        Self::with_index(TARGET, block.index())
    }

    /// Creates an operand for a block that control falls through to.
    #[inline]
    pub fn fall_through(block: Block) -> Self {
        Self::with_index(FALL_THROUGH, block.index())
    }

    /// Creates an operand that the machine function describes.
    #[inline]
    pub fn special(special: SpecialId) -> Self {
        Self::with_index(SPECIAL, special.index())
    }

    /// Returns the word.
    #[inline]
    pub const fn bits(self) -> u32 {
        self.0
    }

    const fn tag(self) -> u32 {
        self.0 >> TAG_SHIFT & 7
    }

    const fn index(self) -> u32 {
        self.0 & INDEX_MASK
    }

    /// Returns the kind of operand.
    pub fn kind(self) -> OperandKind {
        let index = self.index();
        match self.tag() {
            REGISTER => OperandKind::Register(Register::from_u32(index)),
            IMMEDIATE => OperandKind::Immediate((index << (32 - INDEX_BITS)) as i32 >> (32 - INDEX_BITS)),
            CONSTANT => OperandKind::Constant(ConstantId::from_u32(index)),
            TARGET => OperandKind::Target(Block::from_u32(index)),
            PREDICATE => OperandKind::Predicate(Register::from_u32(index)),
            FALL_THROUGH => OperandKind::FallThrough(Block::from_u32(index)),
            SPECIAL => OperandKind::Special(SpecialId::from_u32(index)),
            _ => OperandKind::None,
        }
    }

    /// Returns the register of either file.
    #[inline]
    pub fn as_register(self) -> Option<Register> {
        matches!(self.tag(), REGISTER | PREDICATE).then(|| Register::from_u32(self.index()))
    }

    /// Returns the register that a source reads, or none if its value does not matter.
    #[inline]
    pub fn read_register(self) -> Option<Register> {
        self.as_register().filter(|_| !self.is_undefined())
    }

    /// Returns the block, named or fallen through to.
    #[inline]
    pub fn as_block(self) -> Option<Block> {
        matches!(self.tag(), TARGET | FALL_THROUGH).then(|| Block::from_u32(self.index()))
    }

    /// True if it is an integer in the word or a constant of the table.
    #[inline]
    pub const fn is_constant(self) -> bool {
        matches!(self.tag(), IMMEDIATE | CONSTANT)
    }

    /// Returns the same kind of operand, including modifiers, with another register.
    ///
    /// # Panics
    /// It is not a register.
    #[must_use]
    pub fn with_register(self, register: Register) -> Self {
        assert!(self.as_register().is_some(), "{self:?} is no register");
        let new = Self::with_index(self.tag(), register.index());
        Self(new.0 | self.0 & MODIFIERS)
    }

    /// Returns the same kind of operand with another block.
    ///
    /// # Panics
    /// It is not a block.
    #[must_use]
    pub fn with_block(self, block: Block) -> Self {
        assert!(self.as_block().is_some(), "{self:?} is no block");
        Self::with_index(self.tag(), block.index())
    }

    /// True if the operand is negated.
    #[inline]
    pub const fn is_negated(self) -> bool {
        self.0 & NEGATE != 0
    }

    /// True if the operand's absolute value is taken.
    #[inline]
    pub const fn is_absolute(self) -> bool {
        self.0 & ABSOLUTE != 0
    }

    /// True if the operand's bits are complemented.
    #[inline]
    pub const fn is_complemented(self) -> bool {
        self.0 & COMPLEMENT != 0
    }

    /// True if the operand carries a modifier.
    #[inline]
    pub const fn is_modified(self) -> bool {
        self.0 & MODIFIERS != 0
    }

    /// Sets or clears negation.
    #[must_use]
    #[inline]
    pub const fn negated(self, negate: bool) -> Self {
        Self(self.0 & !NEGATE | if negate { NEGATE } else { 0 })
    }

    /// Sets or clears the absolute value.
    #[must_use]
    #[inline]
    pub const fn absolute(self, absolute: bool) -> Self {
        Self(self.0 & !ABSOLUTE | if absolute { ABSOLUTE } else { 0 })
    }

    /// Sets or clears the complement.
    #[must_use]
    #[inline]
    pub const fn complemented(self, complement: bool) -> Self {
        Self(self.0 & !COMPLEMENT | if complement { COMPLEMENT } else { 0 })
    }

    /// True if the operand's value does not matter.
    #[inline]
    pub const fn is_undefined(self) -> bool {
        self.0 & UNDEFINED != 0
    }

    /// Sets or clears the mark that the value does not matter.
    #[must_use]
    #[inline]
    pub const fn undefined(self, undefined: bool) -> Self {
        Self(self.0 & !UNDEFINED | if undefined { UNDEFINED } else { 0 })
    }
}

impl Debug for Operand {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (is_set, name) in [
            (self.is_undefined(), "undef "),
            (self.is_negated(), "-"),
            (self.is_absolute(), "abs "),
            (self.is_complemented(), "~"),
        ] {
            if is_set {
                out.write_str(name)?;
            }
        }
        self.kind().fmt(out)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_give_back_what_they_were_made_of() {
        let register = Register::from_u32(0xAB_CDEF);
        assert_eq!(
            Operand::register(register).kind(),
            OperandKind::Register(register)
        );
        assert_eq!(
            Operand::predicate(register).kind(),
            OperandKind::Predicate(register)
        );
        let block = Block::from_u32(7);
        assert_eq!(Operand::target(block).bits(), 0x4000_0007);
        assert_eq!(Operand::fall_through(block).bits(), 0x6000_0007);
        assert_eq!(Operand::NONE.kind(), OperandKind::None);
    }

    #[test]
    fn immediates_have_24_bits_and_a_sign() {
        for value in [0, 1, -1, 0x7F_FFFF, -0x80_0000] {
            let word = Operand::immediate(value).expect("it fits");
            assert_eq!(word.kind(), OperandKind::Immediate(value as i32));
        }
        assert_eq!(Operand::immediate(0x80_0000), None);
        assert_eq!(Operand::immediate(-0x80_0001), None);
    }

    #[test]
    fn modifiers_stay_with_the_place() {
        let word = Operand::register(Register::from_u32(1))
            .negated(true)
            .absolute(true);
        let other = word.with_register(Register::from_u32(2));
        assert!(other.is_negated() && other.is_absolute() && !other.is_complemented());
        assert_eq!(other.kind(), OperandKind::Register(Register::from_u32(2)));
        assert!(!word.negated(false).absolute(false).is_modified());
    }
}
