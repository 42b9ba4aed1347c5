//! Normal form of comparisons and selections, and facts from branches.

use super::sums::Sum;
use super::values::{Operator, Value, Values};
use bitflags::bitflags;
use oriel_arithmetic::{TypedOperation, low_bits};
use oriel_engine::hash::NumberMap;
use oriel_ori::{Comparison, Modifiers, Operation};
use smallvec::SmallVec;

impl Values {
    /// Negates a predicate.
    pub fn not(&mut self, predicate: Value) -> Value {
        self.complement(1, predicate)
    }

    /// Tests a value for zero.
    pub fn is_zero(&mut self, value: Value) -> Value {
        let width = self.width(value);
        if let Some(bits) = self.as_constant(value) {
            return self.constant(1, u64::from(bits == 0));
        }
        if width == 1 {
            return self.not(value);
        }
        if width > 64 {
            return self.intern(Operator::IsZero, 1, &[value]);
        }
        let mut sum = self.as_sum(value);
        // A number and its negation are zero together. Turns the sum by the first factor that is not its
        // own negation, or by the constant if there is none.
        let mut numbers = sum.terms.iter().map(|&(_, factor)| factor).chain([sum.constant]);
        let decisive = numbers.find(|&number| number != number.wrapping_neg() & low_bits(width));
        if decisive.is_some_and(|number| number > number.wrapping_neg() & low_bits(width)) {
            sum.constant = sum.constant.wrapping_neg() & low_bits(width);
            for (_, factor) in &mut sum.terms {
                *factor = factor.wrapping_neg() & low_bits(width);
            }
        }
        if let [(term, factor)] = sum.terms[..] {
            let narrow = self.width(term);
            if narrow == 1 {
                // A predicate has only two values to try.
                let [off, on] =
                    [0, factor].map(|part| sum.constant.wrapping_add(part) & low_bits(width) == 0);
                return match (off, on) {
                    (true, true) => self.constant(1, 1),
                    (false, false) => self.constant(1, 0),
                    (true, false) => self.not(term),
                    (false, true) => term,
                };
            }
            if narrow < width && factor == 1 {
                // An extended value can only equal a constant that fits into the narrow type.
                let constant = sum.constant.wrapping_neg() & low_bits(width);
                if constant > low_bits(narrow) {
                    return self.constant(1, 0);
                }
                let constant = self.constant(narrow, constant);
                let difference = self.subtract(narrow, term, constant);
                return self.is_zero(difference);
            }
            if self.operator(term) == Operator::SignExtension && factor == 1 {
                let inner = self.operand(term, 0);
                let bits = self.width(inner);
                let constant = sum.constant.wrapping_neg() & low_bits(width);
                let short = self.constant(bits, constant);
                let again = self.sign_extend(width, short);
                if self.as_constant(again) != Some(constant) {
                    return self.constant(1, 0);
                }
                let difference = self.subtract(bits, inner, short);
                return self.is_zero(difference);
            }
        }
        let value = self.make_sum(width, sum);
        self.intern(Operator::IsZero, 1, &[value])
    }

    /// Compares two values for equality.
    pub fn equal(&mut self, left: Value, right: Value) -> Value {
        let width = self.width(left);
        if left == right {
            return self.constant(1, 1);
        }
        if width > 64 {
            let pair = if left < right {
                [left, right]
            } else {
                [right, left]
            };
            return self.intern(Operator::IsZero, 1, &pair);
        }
        let difference = self.subtract(width, left, right);
        self.is_zero(difference)
    }

    /// Tests whether one integer is less than another.
    pub fn less(&mut self, left: Value, right: Value, signed: bool) -> Value {
        let width = self.width(left);
        if left == right {
            return self.constant(1, 0);
        }
        let shift = 64 - width;
        let order = |bits: u64| {
            if signed {
                ((bits << shift) as i64 >> shift) as i128
            } else {
                i128::from(bits)
            }
        };
        let (least, greatest) = match signed {
            true => (1 << (width - 1), low_bits(width - 1)),
            false => (0, low_bits(width)),
        };
        match (self.as_constant(left), self.as_constant(right)) {
            (Some(left), Some(right)) => return self.constant(1, u64::from(order(left) < order(right))),
            (Some(bound), None) if bound == greatest => return self.constant(1, 0),
            // Constants go on the right.
            (Some(bound), None) => {
                let bound = self.constant(width, bound.wrapping_add(1));
                let other = self.less(right, bound, signed);
                return self.not(other);
            }
            (None, Some(bound)) if bound == least => return self.constant(1, 0),
            (None, Some(bound)) if bound == least.wrapping_add(1) & low_bits(width) => {
                let least = self.constant(width, least);
                return self.equal(left, least);
            }
            (None, Some(bound)) if bound == greatest => {
                let greatest = self.constant(width, greatest);
                let equal = self.equal(left, greatest);
                return self.not(equal);
            }
            _ => {}
        }
        if let Some(narrow) = self.less_of_extended(left, right, signed) {
            return narrow;
        }
        self.intern(Operator::Less { signed }, 1, &[left, right])
    }

    /// Compares values that are extended alike, or one that is extended with a constant, as wide as
    /// they were before. Among sign-extended numbers both orders stay as they are; zero-extended ones
    /// are not negative.
    fn less_of_extended(&mut self, left: Value, right: Value, signed: bool) -> Option<Value> {
        let width = self.width(left);
        let (inner, extends_sign) = self.extended(left)?;
        let narrow = self.width(inner);
        let other = match self.as_constant(right) {
            Some(bound) => {
                let short = self.constant(narrow, bound & low_bits(narrow));
                let again = self.resize(width, short, extends_sign);
                (self.as_constant(again) == Some(bound)).then_some(short)?
            }
            None => match self.extended(right)? {
                (other, kind) if kind == extends_sign && self.width(other) == narrow => other,
                _ => return None,
            },
        };
        Some(self.less(inner, other, signed && extends_sign))
    }

    /// Returns what a value of up to 64 bits is extended from, and whether its sign is.
    fn extended(&mut self, value: Value) -> Option<(Value, bool)> {
        if self.width(value) > 64 {
            return None;
        }
        match self.operator(value) {
            Operator::SignExtension => Some((self.operand(value, 0), true)),
            _ => self.zero_extended(value).map(|term| (term, false)),
        }
    }

    /// Returns what a value is zero-extended from.
    pub fn zero_extended(&self, value: Value) -> Option<Value> {
        let Operator::Sum { constant: 0 } = self.operator(value) else {
            return None;
        };
        match self.as_sum(value).terms[..] {
            [(term, 1)] if self.width(term) < self.width(value) => Some(term),
            _ => None,
        }
    }

    /// Compares integers.
    pub fn compare(
        &mut self,
        comparison: Comparison,
        left: Value,
        right: Value,
        signed: bool,
    ) -> Option<Value> {
        Some(match comparison {
            Comparison::Eq => self.equal(left, right),
            Comparison::Ne => {
                let equal = self.equal(left, right);
                self.not(equal)
            }
            Comparison::Lt => self.less(left, right, signed),
            Comparison::Gt => self.less(right, left, signed),
            Comparison::Le => {
                let greater = self.less(right, left, signed);
                self.not(greater)
            }
            Comparison::Ge => {
                let less = self.less(left, right, signed);
                self.not(less)
            }
            _ => return None,
        })
    }

    /// Selects `yes` if a condition holds, otherwise `no`.
    pub fn select(&mut self, width: u32, condition: Value, yes: Value, no: Value) -> Value {
        if yes == no {
            return yes;
        }
        match self.as_constant(condition) {
            Some(0) => return no,
            Some(_) => return yes,
            None => {}
        }
        if width == 1 {
            let opposite = self.not(condition);
            let (yes, no) = (self.multiply(1, condition, yes), self.multiply(1, opposite, no));
            return self.add(1, yes, no);
        }
        if width <= 64
            && let (Some(yes), Some(no)) = (self.as_constant(yes), self.as_constant(no))
        {
            let chosen = self.scale(width, condition, yes.wrapping_sub(no));
            let no = self.constant(width, no);
            return self.add(width, chosen, no);
        }
        // Of a condition and its negation, uses the one without a constant.
        let (condition, mut yes, mut no) = match self.operator(condition) {
            Operator::Sum { constant: 1 } => (self.not(condition), no, yes),
            _ => (condition, yes, no),
        };
        // An earlier test of the same condition gives the same result.
        if self.operator(yes) == Operator::Select && self.operand(yes, 0) == condition {
            yes = self.operand(yes, 1);
        }
        if self.operator(no) == Operator::Select && self.operand(no, 0) == condition {
            no = self.operand(no, 2);
        }
        match yes == no {
            true => yes,
            false => self.intern(Operator::Select, width, &[condition, yes, no]),
        }
    }
}

bitflags! {
    /// The relations of two floating-point numbers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    struct Relations: u8 {
        const LESS = 1;
        const EQUAL = 2;
        const GREATER = 4;
        /// One of them is a NaN.
        const UNORDERED = 8;
    }
}

/// The comparisons in normal form, with the relations for which they hold: never for a NaN.
const ORDERED_COMPARISONS: [(Comparison, Relations); 7] = [
    (Comparison::Lt, Relations::LESS),
    (Comparison::Eq, Relations::EQUAL),
    (Comparison::Gt, Relations::GREATER),
    (Comparison::Le, Relations::LESS.union(Relations::EQUAL)),
    (Comparison::Ge, Relations::GREATER.union(Relations::EQUAL)),
    (Comparison::Ne, Relations::LESS.union(Relations::GREATER)),
    (Comparison::Num, Relations::UNORDERED.complement()),
];

/// Predicates with known values, from branches.
#[derive(Debug, Default)]
pub(super) struct PathConditions {
    known: NumberMap<Value, bool>,
    /// The previous knowledge of a predicate, to undo.
    log: Vec<(Value, Option<bool>)>,
}

impl PathConditions {
    /// Returns the number of undo steps.
    pub fn mark(&self) -> usize {
        self.log.len()
    }

    /// Forgets everything learnt since a mark.
    pub fn rewind(&mut self, mark: usize) {
        while self.log.len() > mark {
            let (value, before) = self.log.pop().expect("the log is longer than the mark");
            match before {
                Some(before) => self.known.insert(value, before),
                None => self.known.remove(&value),
            };
        }
    }

    fn set(&mut self, value: Value, holds: bool) {
        let before = self.known.insert(value, holds);
        self.log.push((value, before));
    }

    /// Learns the value of a predicate.
    pub fn learn(&mut self, values: &mut Values, predicate: Value, holds: bool) {
        let sum = values.as_sum(predicate);
        let opposite = values.not(predicate);
        self.set(predicate, holds);
        self.set(opposite, !holds);
        match sum.terms[..] {
            // A term, or its negation.
            [(term, _)] => {
                let holds = holds ^ (sum.constant == 1);
                self.set(term, holds);
                match values.operator(term) {
                    Operator::Product if holds => {
                        let factors: SmallVec<[Value; 8]> = values.parts_of(term).collect();
                        for factor in factors {
                            self.learn_term(values, factor, true);
                        }
                    }
                    _ => self.learn_term(values, term, holds),
                }
            }
            // If "or" does not hold, no part holds. The terms without a counterpart among the
            // products are the parts.
            [(one, _), (other, _), (third, _)] if holds == (sum.constant == 1) => {
                for (product, parts) in [
                    (one, [other, third]),
                    (other, [one, third]),
                    (third, [one, other]),
                ] {
                    let is_both = values.operator(product) == Operator::Product
                        && values.parts_of(product).eq(parts.iter().copied());
                    if is_both {
                        for part in parts {
                            self.learn_term(values, part, false);
                        }
                    }
                }
            }
            _ => {}
        }
    }

    fn learn_term(&mut self, values: &mut Values, term: Value, holds: bool) {
        self.set(term, holds);
        self.learn_floats(values, term);
        let Operator::Less { signed } = values.operator(term) else {
            return;
        };
        let [left, right] = [0, 1].map(|index| values.operand(term, index));
        let equal = values.equal(left, right);
        let greater = values.less(right, left, signed);
        if holds {
            self.set_predicate(values, equal, false);
            self.set_predicate(values, greater, false);
        } else if self.knows(values, greater) == Some(false) {
            self.set_predicate(values, equal, true);
        } else if self.knows(values, equal) == Some(false) {
            self.set_predicate(values, greater, true);
        }
    }

    /// If a term compares floating-point numbers, decides the other comparisons of the two by all that is known of
    /// them.
    fn learn_floats(&mut self, values: &mut Values, term: Value) {
        let Operator::Operation {
            operation: operation @ Operation::Fsetp,
            data_type,
            source_type,
            modifiers,
        } = values.operator(term)
        else {
            return;
        };
        let sources = [0, 1].map(|index| values.operand(term, index));
        let comparisons = ORDERED_COMPARISONS.map(|(comparison, relations)| {
            let typed = TypedOperation {
                operation,
                data_type,
                source_type,
                modifiers: Modifiers {
                    comparison,
                    ..modifiers
                },
            };
            (values.uninterpreted(typed, &sources, 1), relations)
        });
        let mut possible = Relations::all();
        for (comparison, relations) in comparisons {
            match self.knows(values, comparison) {
                Some(true) => possible &= relations,
                Some(false) => possible &= !relations,
                None => {}
            }
        }
        for (comparison, relations) in comparisons {
            if relations.contains(possible) {
                self.set_predicate(values, comparison, true);
            } else if !relations.intersects(possible) {
                self.set_predicate(values, comparison, false);
            }
        }
    }

    /// Returns the known value of a predicate or of its negation.
    fn knows(&self, values: &Values, predicate: Value) -> Option<bool> {
        let known = |value: Value| self.known.get(&value).copied();
        let sum = values.as_sum(predicate);
        known(predicate).or_else(|| match sum.terms[..] {
            [(term, 1)] => known(term).map(|holds| holds ^ (sum.constant == 1)),
            [] => Some(sum.constant == 1),
            _ => None,
        })
    }

    /// Like [`set`](Self::set), for a predicate or its negation.
    fn set_predicate(&mut self, values: &Values, predicate: Value, holds: bool) {
        let sum = values.as_sum(predicate);
        self.set(predicate, holds);
        if let [(term, 1)] = sum.terms[..] {
            self.set(term, holds ^ (sum.constant == 1));
        }
    }

    /// Simplifies a value with the known facts: selections to the selected value, predicates to
    /// constants.
    pub fn refine(&self, values: &mut Values, value: Value) -> Value {
        const NESTING: usize = 8;
        if self.known.is_empty() {
            return value;
        }
        if values.width(value) == 1 {
            return self.apply(values, value);
        }
        let mut value = value;
        for _ in 0..NESTING {
            if values.operator(value) != Operator::Select {
                break;
            }
            let condition = self.apply(values, values.operand(value, 0));
            match values.as_constant(condition) {
                Some(holds) => value = values.operand(value, if holds == 1 { 1 } else { 2 }),
                None => break,
            }
        }
        value
    }

    /// Simplifies a predicate with the known facts.
    pub fn apply(&self, values: &mut Values, predicate: Value) -> Value {
        if self.known.is_empty() {
            return predicate;
        }
        if let Some(&holds) = self.known.get(&predicate) {
            return values.constant(1, holds.into());
        }
        if let Operator::IsZero | Operator::Less { .. } = values.operator(predicate) {
            return self.decide(values, predicate).unwrap_or(predicate);
        }
        let Operator::Sum { constant } = values.operator(predicate) else {
            return predicate;
        };
        let mut sum = Sum::of_constant(constant);
        let mut is_changed = false;
        for (term, factor) in values.as_sum(predicate).terms {
            let known = self.known.get(&term).copied();
            let decided = known.map(|holds| values.constant(1, holds.into()));
            match decided
                .or_else(|| self.decide(values, term))
                .and_then(|value| values.as_constant(value))
            {
                Some(holds) => {
                    sum.constant ^= holds;
                    is_changed = true;
                }
                None => sum.terms.push((term, factor)),
            }
        }
        match is_changed {
            true => values.make_sum(1, sum),
            false => predicate,
        }
    }

    /// Derives facts from one comparison about others of the same values.
    fn decide(&self, values: &mut Values, comparison: Value) -> Option<Value> {
        let holds = match values.operator(comparison) {
            Operator::Less { signed } => {
                let [left, right] = [0, 1].map(|index| values.operand(comparison, index));
                let equal = values.equal(left, right);
                if self.known.get(&equal) == Some(&true) {
                    false
                } else {
                    let greater = values.less(right, left, signed);
                    let (equal, greater) = (self.known.get(&equal), self.known.get(&greater));
                    match (equal, greater) {
                        (_, Some(true)) => false,
                        (Some(false), Some(false)) => true,
                        _ => return None,
                    }
                }
            }
            _ => return None,
        };
        Some(values.constant(1, holds.into()))
    }
}
