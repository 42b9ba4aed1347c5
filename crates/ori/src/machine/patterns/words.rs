//! The places of a form as words.
//!
//! A form writes its places as words, in the order of the machine operands:
//!
//! | word | operand | for Ori |
//! |---|---|---|
//! | `=32` | a register of 32 bits, written | result |
//! | `32` | a register of 32 bits, read | source |
//! | `i32` | a constant for 32 bits | source |
//! | `v32` | a register of 32 bits or a constant | source |
//! | `symbol` | a symbol or stack object | source |
//! | `base` | an address: register, symbol, stack object | source |
//! | `offset` | bytes to add to the base | source |
//! | `count` | a number that is no value | source |
//! | `bytes` | which bytes of a load are used | third source of a load, if not all |
//! | others | the number of a modifier | modifier, see [`Encoding`] |

use crate::machine::place::{Encoding, Place};

/// What the operands of a form are, in order. Written as words: `=32 32 i32 comparison` is a
/// result, a register and a constant of 32 bits, and the number of a comparison.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Words(Vec<Place>);

impl Words {
    /// A result of so many bits.
    pub(super) fn result(bits: u32) -> Self {
        Self::repeated(Place::Result(bits as u8), 1)
    }

    /// One place several times.
    pub(super) fn repeated(place: Place, count: usize) -> Self {
        Self(vec![place; count])
    }
}

impl std::ops::Deref for Words {
    type Target = [Place];

    fn deref(&self) -> &[Place] {
        &self.0
    }
}

impl FromIterator<Place> for Words {
    fn from_iter<I: IntoIterator<Item = Place>>(places: I) -> Self {
        Self(places.into_iter().collect())
    }
}

impl From<&str> for Words {
    fn from(words: &str) -> Self {
        words.split_ascii_whitespace().map(place).collect()
    }
}

impl From<&Self> for Words {
    fn from(words: &Self) -> Self {
        words.clone()
    }
}

/// Some places, then others.
impl<T: Into<Self>> std::ops::Add<T> for Words {
    type Output = Self;

    fn add(mut self, others: T) -> Self {
        self.0.extend_from_slice(&others.into());
        self
    }
}

/// The place that a word stands for.
///
/// # Panics
/// There is no such word.
fn place(word: &str) -> Place {
    let bits = |digits: &str| digits.parse().expect("a known word");
    let encoding = match word.as_bytes() {
        [b'=', ..] => return Place::Result(bits(&word[1..])),
        [b'i', ..] => return Place::Constant(bits(&word[1..])),
        [b'v', ..] => return Place::Value(bits(&word[1..])),
        [b'0'..=b'9', ..] => return Place::Register(bits(word)),
        b"symbol" => return Place::Symbol,
        b"base" => return Place::Base,
        b"offset" | b"count" => return Place::Count,
        b"bytes" => return Place::UsedBytes,
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
        _ => panic!("{word} is no word of a form"),
    };
    Place::Modifier(encoding)
}

/// The places of a result and of sources that LLVM's name has letters for: `r` is a register, `i` a
/// constant.
pub(super) fn words(result: u32, sources: &[u32], letters: &str) -> Words {
    Words::result(result) + sources_of(sources, letters)
}

/// The places of sources that LLVM's name has letters for.
pub(super) fn sources_of(sources: &[u32], letters: &str) -> Words {
    debug_assert_eq!(sources.len(), letters.len());
    let places = sources.iter().zip(letters.bytes());
    places
        .map(|(&bits, letter)| match letter {
            b'r' => Place::Register(bits as u8),
            _ => Place::Constant(bits as u8),
        })
        .collect()
}
