//! Normal form of bit movements: values as pieces of other values side by side.
//!
//! Shifts by constants, masks, extensions, truncations, bit fields, permutations and packing map
//! every bit to a position in another value or a constant. A piece at its position is a term of a
//! sum with a power of two as its factor, so this normal form and that of [`super::sums`] are one.

mod bitwise;

use super::sums::Sum;
use super::values::{Operator, Value, Values};
use oriel_arithmetic::low_bits;
use smallvec::SmallVec;

/// The most nested operations that a piece is pushed into.
const NESTING: u32 = 48;
/// The most copies of one value in another.
const COPIES: u32 = 4;

/// The source of some bits of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Bits of another value, from this bit on.
    Of(Value, u32),
    /// Constant bits.
    Constant(u64),
}

/// Adjacent bits with one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub position: u32,
    pub width: u32,
    pub source: Source,
}

pub(super) type Parts = SmallVec<[Part; 6]>;

impl Part {
    /// Returns some of its bits, at the same position.
    fn slice(self, from: u32, to: u32) -> Self {
        let skipped = from - self.position;
        Self {
            position: from,
            width: to - from,
            source: match self.source {
                Source::Of(value, low) => Source::Of(value, low + skipped),
                Source::Constant(bits) => Source::Constant(bits >> skipped & low_bits(to - from)),
            },
        }
    }
}

impl Values {
    /// Returns the sources of a value's bits, lowest first.
    pub fn bits_of(&self, value: Value) -> Parts {
        let width = self.width(value);
        let whole = |source| {
            let mut parts = Parts::new();
            parts.push(Part {
                position: 0,
                width,
                source,
            });
            parts
        };
        match self.operator(value) {
            Operator::Constant { low, .. } if width <= 64 => whole(Source::Constant(low)),
            Operator::Piece { low } => whole(Source::Of(self.operand(value, 0), low.into())),
            Operator::Sum { .. } => self
                .bits_of_sum(value)
                .unwrap_or_else(|| whole(Source::Of(value, 0))),
            _ => whole(Source::Of(value, 0)),
        }
    }

    /// Returns the sources of a sum's bits, if no two terms have a bit in common.
    fn bits_of_sum(&self, value: Value) -> Option<Parts> {
        let width = self.width(value);
        let sum = self.as_sum(value);
        let mut taken = 0;
        let mut parts = Parts::new();
        for (part, factor) in sum.terms {
            let source = match self.operator(part) {
                Operator::Piece { low } => Source::Of(self.operand(part, 0), low.into()),
                _ => Source::Of(part, 0),
            };
            if factor.count_ones() > COPIES {
                return None;
            }
            // A factor of several powers of two makes copies side by side.
            let mut rest = factor;
            while rest != 0 {
                let position = rest.trailing_zeros();
                rest &= rest - 1;
                let bits = self.width(part).min(width - position);
                let place = low_bits(bits) << position;
                if taken & place != 0 {
                    return None;
                }
                taken |= place;
                parts.push(Part {
                    position,
                    width: bits,
                    source,
                });
            }
        }
        if taken & sum.constant != 0 {
            return None;
        }
        parts.sort_unstable_by_key(|part| part.position);
        let mut filled = Parts::new();
        let mut end = 0;
        let gap = |from: u32, to: u32| Part {
            position: from,
            width: to - from,
            source: Source::Constant(sum.constant >> from & low_bits(to - from)),
        };
        for part in parts {
            if end < part.position {
                filled.push(gap(end, part.position));
            }
            end = part.position + part.width;
            filled.push(part);
        }
        if end < width {
            filled.push(gap(end, width));
        }
        Some(filled)
    }

    /// Returns the value with these parts, at most 64 bits wide.
    pub fn make_of_bits(&mut self, width: u32, parts: &[Part]) -> Value {
        let mut sum = Sum::default();
        for part in parts {
            match part.source {
                Source::Constant(bits) => sum.constant |= bits << part.position,
                Source::Of(value, low) => {
                    let factor = 1 << part.position;
                    // The top part may be too wide: the excess bits are dropped.
                    let is_top = part.position + part.width == width;
                    let most = match is_top {
                        true => (self.width(value) - low).min(width),
                        false => part.width,
                    };
                    let piece = self.extract(value, low, most);
                    sum.add_scaled(&self.as_sum_of_width(width, piece), factor);
                }
            }
        }
        self.make_sum(width, sum)
    }

    /// Returns `width` bits of a value from bit `low` on.
    pub fn extract(&mut self, value: Value, low: u32, width: u32) -> Value {
        let have = self.width(value);
        debug_assert!(low + width <= have, "{low} + {width} of {have}");
        if width == have {
            return value;
        }
        let is_simple = matches!(
            self.operator(value),
            Operator::Constant { .. } | Operator::Piece { .. }
        );
        let key = (value, low as u8, width as u8);
        if !is_simple && let Some(&known) = self.extracted.get(&key) {
            return known;
        }
        if self.nesting >= NESTING {
            return self.piece(value, low, width);
        }
        self.nesting += 1;
        let piece = self.extract_anew(value, low, width);
        self.nesting -= 1;
        if !is_simple {
            self.extracted.insert(key, piece);
        }
        piece
    }

    fn piece(&mut self, value: Value, low: u32, width: u32) -> Value {
        self.intern(Operator::Piece { low: low as u8 }, width, &[value])
    }

    fn extract_anew(&mut self, value: Value, low: u32, width: u32) -> Value {
        let have = self.width(value);
        match self.operator(value) {
            Operator::Constant { low: bits, high } => {
                let all = u128::from(bits) | u128::from(high) << 64;
                let bits = all >> low;
                let (bits, high) = (bits as u64 & low_bits(width), (bits >> 64) as u64);
                self.wide_constant(
                    width,
                    bits,
                    if width > 64 {
                        high & low_bits(width - 64)
                    } else {
                        0
                    },
                )
            }
            Operator::Piece { low: below } => {
                let whole = self.operand(value, 0);
                self.extract(whole, low + u32::from(below), width)
            }
            Operator::SignExtension => {
                let narrow = self.operand(value, 0);
                let bits = self.width(narrow);
                if low + width <= bits {
                    self.extract(narrow, low, width)
                } else if low == 0 {
                    self.sign_extend(width, narrow)
                } else if low + 1 >= bits {
                    let sign = self.extract(narrow, bits - 1, 1);
                    self.sign_extend(width, sign)
                } else {
                    self.piece(value, low, width)
                }
            }
            Operator::Sum { .. } => {
                if let Some(parts) = self.bits_of_sum(value) {
                    return self.extract_parts(&parts, low, width);
                }
                if low == 0 {
                    return self.truncate_sum(value, width);
                }
                if let Some(quotient) = self.without_low_zeros(value, low) {
                    let zeros = have - self.width(quotient);
                    return self.extract(quotient, low - zeros, width);
                }
                if low + width == have {
                    return self.piece(value, low, width);
                }
                // Higher bits of a sum do not influence lower ones.
                let short = self.truncate_sum(value, low + width);
                match self.operator(short) {
                    Operator::Sum { .. } if self.bits_of_sum(short).is_none() => {
                        self.piece(short, low, width)
                    }
                    _ => self.extract(short, low, width),
                }
            }
            Operator::Product if low == 0 && width < 64 => self.truncate_sum(value, width),
            // The low bits of these operations depend only on the operands' low bits; only whole
            // words are narrowed.
            Operator::Bitwise(_) | Operator::Select => {
                let end = low + width;
                let Some(word) = [8, 16, 32].into_iter().find(|&word| word >= end && word < have) else {
                    return self.piece(value, low, width);
                };
                if word != width {
                    let narrow = self.extract(value, 0, word);
                    return self.extract(narrow, low, width);
                }
                let parts: SmallVec<[Value; 8]> = self.parts_of(value).collect();
                if let Operator::Bitwise(kind) = self.operator(value) {
                    let mut result = self.extract(parts[0], 0, width);
                    for &operand in &parts[1..] {
                        let operand = self.extract(operand, 0, width);
                        result = self.bitwise(kind, width, result, operand);
                    }
                    return result;
                }
                let (yes, no) = (self.extract(parts[1], 0, width), self.extract(parts[2], 0, width));
                self.select(width, parts[0], yes, no)
            }
            _ => self.piece(value, low, width),
        }
    }

    /// Returns a sum shifted right by its trailing zeros, at most `most` of them; none if it has
    /// none.
    fn without_low_zeros(&mut self, value: Value, most: u32) -> Option<Value> {
        let sum = self.as_sum(value);
        let factors = sum.terms.iter().map(|&(_, factor)| factor);
        let zeros = factors
            .chain([sum.constant])
            .map(u64::trailing_zeros)
            .min()?
            .min(most);
        if zeros == 0 {
            return None;
        }
        let width = self.width(value) - zeros;
        let mut quotient = self.constant(width, sum.constant >> zeros);
        for (term, factor) in sum.terms {
            let term = match self.width(term) > width {
                true => self.extract(term, 0, width),
                false => term,
            };
            let scaled = self.scale(width, term, factor >> zeros);
            quotient = self.add(width, quotient, scaled);
        }
        Some(quotient)
    }

    fn extract_parts(&mut self, parts: &[Part], low: u32, width: u32) -> Value {
        let taken: Parts = parts
            .iter()
            .filter(|part| part.position < low + width && part.position + part.width > low)
            .map(|part| {
                let from = part.position.max(low);
                let to = (part.position + part.width).min(low + width);
                let part = part.slice(from, to);
                Part {
                    position: part.position - low,
                    ..part
                }
            })
            .collect();
        if let [only] = taken[..]
            && let Source::Of(value, low) = only.source
        {
            return self.extract(value, low, width);
        }
        self.make_of_bits(width, &taken)
    }

    /// Zero-extends a value.
    pub fn extend(&mut self, width: u32, value: Value) -> Value {
        let have = self.width(value);
        if have >= width {
            debug_assert!(have == width, "{have} bits do not fit {width}");
            return value;
        }
        if let Operator::Sum { .. } = self.operator(value)
            && let Some(parts) = self.bits_of_sum(value)
        {
            return self.make_of_bits(width, &parts);
        }
        let sum = self.as_sum_of_width(width, value);
        self.make_sum(width, sum)
    }

    /// Returns the join of one value an edge, in the order of edges. Of values that are zero-extended, the narrow
    /// ones are joined and the join is extended: bytes meet in memory as bytes, in registers as at least 16 bits.
    pub fn join(&mut self, node: u32, values: &[Value]) -> Value {
        let operator = Operator::Join {
            node,
            class: 0,
            is_open: false,
        };
        let width = values.first().map_or(0, |&value| self.width(value));
        match self.before_extension(values) {
            Some(narrow) => {
                let joined = self.intern(operator, self.width(narrow[0]), &narrow);
                self.extend(width, joined)
            }
            None => self.intern(operator, width, values),
        }
    }

    /// Returns values as they are before they are zero-extended, all to one width; none if they need all their
    /// bits, or if all are constants.
    fn before_extension(&mut self, values: &[Value]) -> Option<SmallVec<[Value; 8]>> {
        let terms: SmallVec<[Option<Value>; 8]> =
            values.iter().map(|&value| self.zero_extended(value)).collect();
        let width = terms.iter().flatten().map(|&term| self.width(term)).max()?;
        values
            .iter()
            .zip(terms)
            .map(|(&value, term)| match (term, self.as_constant(value)) {
                (Some(term), _) => Some(self.extend(width, term)),
                (None, Some(constant)) if constant & !low_bits(width) == 0 => {
                    Some(self.constant(width, constant))
                }
                _ => None,
            })
            .collect()
    }

    /// Sign-extends a value.
    pub fn sign_extend(&mut self, width: u32, value: Value) -> Value {
        let have = self.width(value);
        if have >= width {
            return value;
        }
        if let Some(bits) = self.as_constant(value) {
            let shift = 64 - have;
            return self.constant(width, ((bits << shift) as i64 >> shift) as u64);
        }
        if self.operator(value) == Operator::SignExtension {
            let narrow = self.operand(value, 0);
            return self.sign_extend(width, narrow);
        }
        let parts = self.bits_of(value);
        let top = parts[parts.len() - 1];
        if let Source::Constant(bits) = top.source
            && bits >> (top.width - 1) & 1 == 0
        {
            return self.extend(width, value);
        }
        self.intern(Operator::SignExtension, width, &[value])
    }

    /// Returns a value in another width: truncated or extended.
    pub fn resize(&mut self, width: u32, value: Value, signed: bool) -> Value {
        match self.width(value) {
            have if have > width => self.extract(value, 0, width),
            _ if signed => self.sign_extend(width, value),
            _ => self.extend(width, value),
        }
    }

    /// Shifts left by a constant.
    pub fn shift_left(&mut self, width: u32, value: Value, by: u64) -> Value {
        match by < u64::from(width) {
            true => self.scale(width, value, 1 << by),
            false => self.constant(width, 0),
        }
    }

    /// Shifts right by a constant.
    pub fn shift_right(&mut self, width: u32, value: Value, by: u64, signed: bool) -> Value {
        let by = match by < u64::from(width) {
            true => by as u32,
            false if signed => width - 1,
            false => return self.constant(width, 0),
        };
        let high = self.extract(value, by, width - by);
        self.resize(width, high, signed)
    }

    /// Concatenates values, lowest first.
    pub fn concatenate(&mut self, width: u32, parts: &[Value]) -> Option<Value> {
        if width > 64 {
            return None;
        }
        let mut sum = self.constant(width, 0);
        let mut position = 0;
        for &part in parts {
            let bits = self.width(part);
            let shifted = self.shift_left(width, part, position);
            sum = self.add(width, sum, shifted);
            position += u64::from(bits);
        }
        Some(sum)
    }
}
