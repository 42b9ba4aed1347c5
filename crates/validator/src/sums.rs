//! Normal form of integer arithmetic: a constant and multiples of products, modulo a power of two.
//!
//! Sums, differences, products, multiplications and shifts by constants, negation and complement
//! (`-x - 1`) are ring operations modulo two to the power of the width. Polynomials over all other
//! values are therefore a normal form for them. Predicates are polynomials modulo two (Zhegalkin):
//! "and" is the product, "exclusive or" the sum, and a repeated factor counts once.

use super::values::{Operator, Value, Values};
use oriel_arithmetic::low_bits;
use smallvec::SmallVec;

/// The most terms of a sum; larger ones stay as written.
const TERMS: usize = 12;
/// The same for the thorough attempt.
const MANY_TERMS: usize = 96;
/// The most terms to which a product of sums is expanded.
const PRODUCT_TERMS: usize = 6;
/// The most factors of a product.
const FACTORS: usize = 6;

/// A polynomial: a constant and terms with their factors, in ascending order of the values.
#[derive(Clone, Debug, Default)]
pub(super) struct Sum {
    pub constant: u64,
    pub terms: SmallVec<[(Value, u64); 4]>,
}

impl Sum {
    pub fn of_constant(constant: u64) -> Self {
        Self {
            constant,
            terms: SmallVec::new(),
        }
    }

    fn of_term(term: Value) -> Self {
        Self {
            constant: 0,
            terms: SmallVec::from_slice(&[(term, 1)]),
        }
    }

    /// Adds `factor * other`. The terms are in any order afterwards.
    pub fn add_scaled(&mut self, other: &Self, factor: u64) {
        self.constant = self.constant.wrapping_add(other.constant.wrapping_mul(factor));
        let terms = other.terms.iter();
        self.terms
            .extend(terms.map(|&(term, by)| (term, by.wrapping_mul(factor))));
    }
}

impl Values {
    /// Returns a value as a sum of this width. One of another width is a constant or a single term, since
    /// it wraps around at its own width.
    pub fn as_sum_of_width(&self, width: u32, value: Value) -> Sum {
        match self.as_constant(value) {
            _ if self.width(value) == width => self.as_sum(value),
            Some(constant) => Sum::of_constant(constant),
            None => Sum::of_term(value),
        }
    }

    /// Returns a value as a sum. A value that is not a sum is one term.
    pub fn as_sum(&self, value: Value) -> Sum {
        match self.operator(value) {
            Operator::Constant { low, .. } => Sum::of_constant(low),
            Operator::Sum { constant } => Sum {
                constant,
                terms: self
                    .words(value)
                    .chunks_exact(3)
                    .map(|term| {
                        let factor = u64::from(term[1]) | u64::from(term[2]) << 32;
                        (Value::from_u32(term[0]), factor)
                    })
                    .collect(),
            },
            _ => Sum::of_term(value),
        }
    }

    /// Returns the value of a sum whose terms are in any order.
    pub fn make_sum(&mut self, width: u32, mut sum: Sum) -> Value {
        debug_assert!(width <= 64);
        let all = low_bits(width);
        if width > 1 {
            // The negation of a predicate is one minus the predicate.
            for index in 0..sum.terms.len() {
                let (term, factor) = sum.terms[index];
                if self.width(term) == 1
                    && let Operator::Sum { constant: 1 } = self.operator(term)
                {
                    sum.terms[index] = (self.not(term), factor.wrapping_neg());
                    sum.constant = sum.constant.wrapping_add(factor);
                }
            }
        }
        sum.constant &= all;
        self.normalize_terms(width, &mut sum.terms);
        match sum.terms[..] {
            [] => return self.constant(width, sum.constant),
            [(value, 1)] if sum.constant == 0 && self.width(value) == width => return value,
            _ => {}
        }
        let mut words: SmallVec<[u32; 12]> = SmallVec::new();
        for &(value, factor) in &sum.terms {
            words.extend([value.as_u32(), factor as u32, (factor >> 32) as u32]);
        }
        let operator = Operator::Sum {
            constant: sum.constant,
        };
        self.intern_words(operator, width, &words)
    }

    fn normalize_terms(&mut self, width: u32, terms: &mut SmallVec<[(Value, u64); 4]>) {
        let all = low_bits(width);
        for (value, factor) in terms.iter_mut() {
            *factor &= all;
            *value = self.widest_piece(*value, *factor, width);
        }
        merge_terms(terms, all);
        if terms.len() > 1 && terms.iter().any(|&(value, _)| self.is_high_piece(value)) {
            while self.join_pieces(width, terms) {
                merge_terms(terms, all);
            }
        }
    }

    /// Bits of a value that a factor shifts out of the width may be any; uses as many as the value
    /// has.
    fn widest_piece(&mut self, value: Value, factor: u64, width: u32) -> Value {
        if self.operator(value) == Operator::SignExtension {
            let narrow = self.operand(value, 0);
            return match factor != 0 && self.width(narrow) + factor.trailing_zeros() >= width {
                true => self.widest_piece(narrow, factor, width),
                false => value,
            };
        }
        let Operator::Piece { low } = self.operator(value) else {
            return value;
        };
        let whole = self.operand(value, 0);
        let (low, have) = (u32::from(low), self.width(value));
        let most = (self.width(whole) - low).min(width);
        if have < most && factor != 0 && have + factor.trailing_zeros() >= width {
            return match most == self.width(whole) {
                true => whole,
                false => self.intern(Operator::Piece { low: low as u8 }, most, &[whole]),
            };
        }
        value
    }

    fn is_high_piece(&self, value: Value) -> bool {
        matches!(self.operator(value), Operator::Piece { low } if low > 0)
    }

    /// Returns a value as a piece of another: the other value, and the lowest bit.
    fn as_piece(&self, value: Value) -> (Value, u32) {
        match self.operator(value) {
            Operator::Piece { low } => (self.operand(value, 0), low.into()),
            _ => (value, 0),
        }
    }

    /// Merges two pieces of one value that are adjacent in it and in the sum.
    fn join_pieces(&mut self, width: u32, terms: &mut SmallVec<[(Value, u64); 4]>) -> bool {
        for upper in 0..terms.len() {
            let (high_value, high_factor) = terms[upper];
            if !self.is_high_piece(high_value) {
                continue;
            }
            let (whole, low_bit) = self.as_piece(high_value);
            for lower in 0..terms.len() {
                let (low_value, low_factor) = terms[lower];
                let (other, other_bit) = self.as_piece(low_value);
                let bits = self.width(low_value);
                let meet = lower != upper
                    && other == whole
                    && other_bit + bits == low_bit
                    && bits < 64
                    && low_factor << bits & low_bits(width) == high_factor;
                if meet {
                    let all_bits = (bits + self.width(high_value)).min(width);
                    let joined = self.extract(whole, other_bit, all_bits);
                    terms[lower].0 = self.widest_piece(joined, low_factor, width);
                    terms.remove(upper);
                    return true;
                }
            }
        }
        false
    }

    /// `left + factor * right`.
    fn add_scaled(&mut self, width: u32, left: Value, right: Value, factor: u64) -> Value {
        let (mut sum, other) = (self.as_sum(left), self.as_sum(right));
        let most = if self.is_thorough { MANY_TERMS } else { TERMS };
        if sum.terms.len() + other.terms.len() > most {
            let scaled = self.scale(width, right, factor);
            let (first, second) = if left < scaled {
                (left, scaled)
            } else {
                (scaled, left)
            };
            return self.intern(Operator::LongSum, width, &[first, second]);
        }
        sum.add_scaled(&other, factor);
        self.make_sum(width, sum)
    }

    /// `left + right`. Both are as wide as the result, or narrower and zero-extended.
    pub fn add(&mut self, width: u32, left: Value, right: Value) -> Value {
        let (left, right) = (self.extend(width, left), self.extend(width, right));
        self.add_scaled(width, left, right, 1)
    }

    /// `left - right`.
    pub fn subtract(&mut self, width: u32, left: Value, right: Value) -> Value {
        let (left, right) = (self.extend(width, left), self.extend(width, right));
        self.add_scaled(width, left, right, u64::MAX)
    }

    /// `factor * value`.
    pub fn scale(&mut self, width: u32, value: Value, factor: u64) -> Value {
        let value = self.extend(width, value);
        let mut sum = self.as_sum(value);
        sum.constant = sum.constant.wrapping_mul(factor);
        for (_, by) in &mut sum.terms {
            *by = by.wrapping_mul(factor);
        }
        self.make_sum(width, sum)
    }

    /// `-value - 1`.
    pub fn complement(&mut self, width: u32, value: Value) -> Value {
        let negated = self.scale(width, value, u64::MAX);
        let one = self.constant(width, u64::MAX);
        self.add(width, negated, one)
    }

    /// `left * right`.
    pub fn multiply(&mut self, width: u32, left: Value, right: Value) -> Value {
        let (left, right) = (self.extend(width, left), self.extend(width, right));
        if let Some(factor) = self.as_constant(left) {
            return self.scale(width, right, factor);
        }
        if let Some(factor) = self.as_constant(right) {
            return self.scale(width, left, factor);
        }
        let (first, second) = (self.as_sum(left), self.as_sum(right));
        let count = |sum: &Sum| sum.terms.len() + usize::from(sum.constant != 0);
        let factors: Option<SmallVec<[(Value, u64); 8]>> = (count(&first) * count(&second) <= PRODUCT_TERMS)
            .then(|| {
                let mut products = SmallVec::new();
                for &(one, by) in &first.terms {
                    for &(other, other_by) in &second.terms {
                        products.push((self.product(width, one, other)?, by.wrapping_mul(other_by)));
                    }
                }
                Some(products)
            })
            .flatten();
        let Some(products) = factors else {
            let (left, right) = if left < right {
                (left, right)
            } else {
                (right, left)
            };
            return self.intern(Operator::Product, width, &[left, right]);
        };
        let mut sum = Sum::of_constant(first.constant.wrapping_mul(second.constant));
        sum.terms.extend(products);
        let by_constant = |(value, by): &(Value, u64), constant: u64| (*value, by.wrapping_mul(constant));
        sum.terms
            .extend(first.terms.iter().map(|term| by_constant(term, second.constant)));
        sum.terms
            .extend(second.terms.iter().map(|term| by_constant(term, first.constant)));
        self.make_sum(width, sum)
    }

    /// Returns the product of two values that are not sums; none if it has too many factors.
    fn product(&mut self, width: u32, left: Value, right: Value) -> Option<Value> {
        let mut factors: SmallVec<[Value; 8]> = SmallVec::new();
        for value in [left, right] {
            if self.operator(value) == Operator::Product && self.width(value) == width {
                factors.extend(self.parts_of(value));
            } else {
                factors.push(value);
            }
        }
        factors.sort_unstable();
        if width == 1 {
            factors.dedup();
        }
        match factors[..] {
            [only] => Some(only),
            _ if factors.len() > FACTORS => None,
            _ => Some(self.intern(Operator::Product, width, &factors)),
        }
    }

    /// Returns the low bits of a sum: the sum of the low bits.
    pub fn truncate_sum(&mut self, value: Value, width: u32) -> Value {
        let sum = self.as_sum(value);
        let mut low = Sum::of_constant(sum.constant);
        for (part, factor) in sum.terms {
            if factor & low_bits(width) == 0 {
                continue;
            }
            let part = match self.operator(part) {
                // A narrower product is truncated at its width, then extended.
                Operator::Product if self.width(part) > width => {
                    let factors: SmallVec<[Value; 8]> = self.parts_of(part).collect();
                    let mut product = self.low_bits(factors[0], width);
                    for &other in &factors[1..] {
                        let other = self.low_bits(other, width);
                        product = self.multiply(width, product, other);
                    }
                    product
                }
                _ => self.low_bits(part, width),
            };
            low.add_scaled(&self.as_sum_of_width(width, part), factor);
        }
        self.make_sum(width, low)
    }

    fn low_bits(&mut self, value: Value, width: u32) -> Value {
        match self.width(value) > width {
            true => self.extract(value, 0, width),
            false => value,
        }
    }
}

/// Sorts terms by value, merges those of one value and drops those with factor zero.
fn merge_terms(terms: &mut SmallVec<[(Value, u64); 4]>, all: u64) {
    terms.sort_unstable_by_key(|&(value, _)| value);
    terms.dedup_by(|later, earlier| {
        let same = later.0 == earlier.0;
        if same {
            earlier.1 = earlier.1.wrapping_add(later.1) & all;
        }
        same
    });
    terms.retain(|&mut (_, factor)| factor & all != 0);
}
