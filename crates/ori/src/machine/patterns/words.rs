//! A notation in words for the operands of a mapping.
//!
//! A pattern lists its operands as words, in the order of the machine operands:
//!
//! | word | operand | for Ori |
//! |---|---|---|
//! | `=32` | a register of 32 bits, written | result |
//! | `32` | a register of 32 bits, read | source |
//! | `i32` | a constant for 32 bits | source |
//! | `v32` | a register of 32 bits or a constant | source |
//! | `symbol` | a symbol or stack object | source |
//! | `base` | an address: register, symbol or stack object | source |
//! | `offset` | bytes to add to the base | source |
//! | `count` | a number that is not a value | source |
//! | `bytes` | which bytes of a load are used | third source of a load, if not all |
//! | others | the number of a modifier | modifier, see [`Encoding`] |

use crate::machine::operand_class::{Encoding, OperandClass};

/// The operand classes of a mapping, in order. In words, `=32 32 i32 comparison` is a result, a
/// register and a constant of 32 bits, and the number of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<OperandClass>);

impl Words {
    /// Returns a result of this many bits.
    pub(super) fn result(bits: u32) -> Self {
        Self::repeated(OperandClass::Result(bits as u8), 1)
    }

    /// Repeats a class.
    pub(super) fn repeated(class: OperandClass, count: usize) -> Self {
        Self(vec![class; count])
    }
}

impl std::ops::Deref for Words {
    type Target = [OperandClass];

    fn deref(&self) -> &[OperandClass] {
        &self.0
    }
}

impl FromIterator<OperandClass> for Words {
    fn from_iter<I: IntoIterator<Item = OperandClass>>(operands: I) -> Self {
        Self(operands.into_iter().collect())
    }
}

impl From<&str> for Words {
    fn from(words: &str) -> Self {
        words.split_ascii_whitespace().map(class_of_word).collect()
    }
}

impl From<&Self> for Words {
    fn from(words: &Self) -> Self {
        words.clone()
    }
}

/// Concatenates operands.
impl<T: Into<Self>> std::ops::Add<T> for Words {
    type Output = Self;

    fn add(mut self, others: T) -> Self {
        self.0.extend_from_slice(&others.into());
        self
    }
}

/// Returns the class of a word.
///
/// # Panics
/// There is no such word.
fn class_of_word(word: &str) -> OperandClass {
    let bits = |digits: &str| digits.parse().expect("a known word");
    let encoding = match word.as_bytes() {
        [b'=', ..] => return OperandClass::Result(bits(&word[1..])),
        [b'i', ..] => return OperandClass::Constant(bits(&word[1..])),
        [b'v', ..] => return OperandClass::Value(bits(&word[1..])),
        [b'0'..=b'9', ..] => return OperandClass::Register(bits(word)),
        b"symbol" => return OperandClass::Symbol,
        b"base" => return OperandClass::Base,
        b"offset" | b"count" => return OperandClass::Count,
        b"bytes" => return OperandClass::UsedBytes,
        b"ftz" => Encoding::Ftz,
        b"comparison" => Encoding::IntegerComparison,
        b"fcomparison" => Encoding::FloatComparison,
        b"conversion" => Encoding::Conversion,
        b"permutation" => Encoding::Permutation,
        b"ordering" => Encoding::Ordering,
        b"scope" => Encoding::Scope,
        b"space" => Encoding::Space,
        b"class" => Encoding::MemoryClass,
        b"width" => Encoding::MemoryWidth,
        _ => panic!("{word} is no word of a mapping"),
    };
    OperandClass::Modifier(encoding)
}

/// Returns the classes of a result and of sources from the letters in LLVM's name: `r` is a
/// register, `i` a constant.
pub(super) fn words(result: u32, sources: &[u32], letters: &str) -> Words {
    Words::result(result) + sources_of(sources, letters)
}

/// Returns the classes of sources from the letters in LLVM's name.
pub(super) fn sources_of(sources: &[u32], letters: &str) -> Words {
    debug_assert_eq!(sources.len(), letters.len());
    let classes = sources.iter().zip(letters.bytes());
    classes
        .map(|(&bits, letter)| match letter {
            b'r' => OperandClass::Register(bits as u8),
            _ => OperandClass::Constant(bits as u8),
        })
        .collect()
}
