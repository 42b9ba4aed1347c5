//! Bitwise operations, and which bits a value may have.

use super::{Part, Parts, Source};
use crate::sums::Sum;
use crate::values::{Bitwise, Operator, Value, Values};
use oriel_arithmetic::low_bits;
use smallvec::SmallVec;

/// The most nested operations that the search for bits that may be set looks into.
const SHALLOW: u32 = 2;
/// The most runs of equal bits that a mask is split into.
const RUNS: usize = 8;
/// The same for the thorough attempt.
const MANY_RUNS: usize = 64;
/// The most operands of one bitwise operation.
const OPERANDS: usize = 8;
/// The same for the thorough attempt.
const MANY_OPERANDS: usize = 64;

/// Values with the bits that they may have.
type Terms = SmallVec<[(Value, u64); OPERANDS]>;

impl Values {
    /// A bitwise operation.
    pub fn bitwise(&mut self, kind: Bitwise, width: u32, left: Value, right: Value) -> Value {
        if width == 1 {
            return match kind {
                Bitwise::And => self.multiply(1, left, right),
                Bitwise::Xor => self.add(1, left, right),
                Bitwise::Or => {
                    let both = self.multiply(1, left, right);
                    let one = self.add(1, left, right);
                    self.add(1, one, both)
                }
            };
        }
        if left == right {
            return match kind {
                Bitwise::Xor => self.constant(width, 0),
                _ => left,
            };
        }
        if width <= 64 {
            if let Some(value) = self.bitwise_by_parts(kind, width, left, right) {
                return value;
            }
            let (one, other) = (
                self.possible_bits(left, SHALLOW),
                self.possible_bits(right, SHALLOW),
            );
            if one & other == 0 {
                return match kind {
                    Bitwise::And => self.constant(width, 0),
                    Bitwise::Or | Bitwise::Xor => self.add(width, left, right),
                };
            }
            for (value, possible, other) in [(left, one, right), (right, other, left)] {
                if kind == Bitwise::And
                    && self
                        .as_constant(other)
                        .is_some_and(|bits| bits & possible == possible)
                {
                    return value;
                }
            }
            for (value, other) in [(left, right), (right, left)] {
                if kind == Bitwise::Xor && self.as_constant(value) == Some(low_bits(width)) {
                    return self.complement(width, other);
                }
            }
        }
        if kind != Bitwise::And
            && width <= 64
            && let Some(value) = self.bitwise_by_terms(kind, width, left, right)
        {
            return value;
        }
        self.bitwise_of_all(kind, width, &[left, right])
    }

    /// Returns the bits of a value of at most 64 bits that may be set.
    fn possible_bits(&self, value: Value, depth: u32) -> u64 {
        let all = low_bits(self.width(value));
        match self.operator(value) {
            Operator::Constant { low, .. } => low,
            Operator::Sum { .. } => self.possible_bits_of_sum(value, depth),
            Operator::Bitwise(Bitwise::And) => self
                .parts_of(value)
                .filter_map(|part| self.as_constant(part))
                .fold(all, |bits, constant| bits & constant),
            Operator::Bitwise(Bitwise::Or | Bitwise::Xor) if depth > 0 => self
                .parts_of(value)
                .fold(0, |bits, part| bits | self.possible_bits(part, depth - 1)),
            Operator::Select if depth > 0 => self
                .parts_of(value)
                .skip(1)
                .fold(0, |bits, part| bits | self.possible_bits(part, depth - 1)),
            _ => all,
        }
    }

    fn possible_bits_of_sum(&self, value: Value, depth: u32) -> u64 {
        let all = low_bits(self.width(value));
        let sum = self.as_sum(value);
        let (mut taken, mut met) = (sum.constant, 0);
        let mut greatest = u128::from(sum.constant);
        for &(term, factor) in &sum.terms {
            let bits = self.possible_bits_of_term(term, depth);
            let (places, twice) = copies(bits, factor);
            met |= twice | taken & places;
            taken |= places;
            greatest = greatest.saturating_add(u128::from(factor) * u128::from(bits));
        }
        // Below the lowest bit that two copies may have there is no carry; and no bit is above the greatest possible value.
        let has_no_carry = match met & all {
            0 => all,
            met => low_bits(met.trailing_zeros()),
        };
        let top = (128 - greatest.leading_zeros()).min(64);
        all & low_bits(top) & (taken | !has_no_carry)
    }

    fn possible_bits_of_term(&self, term: Value, depth: u32) -> u64 {
        match depth {
            0 => low_bits(self.width(term)),
            _ => self.possible_bits(term, depth - 1),
        }
    }

    /// Adds values whose sum is `value`, no two of which have a bit in common, each with the bits that it
    /// may have.
    fn add_disjoint_terms(&mut self, value: Value, terms: &mut Terms) {
        let width = self.width(value);
        let sum = match self.operator(value) {
            Operator::Sum { .. } => self.as_sum(value),
            _ => Sum::default(),
        };
        let first = terms.len();
        let mut taken = sum.constant;
        for &(term, factor) in &sum.terms {
            let (places, twice) = copies(self.possible_bits_of_term(term, SHALLOW), factor);
            if (twice | taken & places) & low_bits(width) != 0 {
                terms.truncate(first);
                break;
            }
            taken |= places;
            terms.push((self.scale(width, term, factor), places & low_bits(width)));
        }
        if terms.len() == first {
            terms.push((value, self.possible_bits(value, SHALLOW)));
        } else if sum.constant != 0 {
            terms.push((self.constant(width, sum.constant), sum.constant));
        }
    }

    /// An "or" or "exclusive or" of what adds up to the operands: only what has bits in common is combined, and the
    /// results are added. None if that is one operation on the operands as they are.
    fn bitwise_by_terms(&mut self, kind: Bitwise, width: u32, left: Value, right: Value) -> Option<Value> {
        let most = if self.is_thorough { MANY_OPERANDS } else { OPERANDS };
        let mut terms = Terms::new();
        for value in [left, right] {
            match self.operator(value) {
                Operator::Bitwise(other) if other == kind => {
                    let parts: SmallVec<[Value; OPERANDS]> = self.parts_of(value).collect();
                    for part in parts {
                        self.add_disjoint_terms(part, &mut terms);
                    }
                }
                _ => self.add_disjoint_terms(value, &mut terms),
            }
        }
        if terms.len() <= 2 || terms.len() > most {
            return None;
        }
        // Groups of terms that have bits in common, perhaps by way of others.
        let mut groups: SmallVec<[(u64, SmallVec<[Value; 4]>); 4]> = SmallVec::new();
        for (term, places) in terms {
            let mut group = (places, SmallVec::from_slice(&[term]));
            groups.retain(|(others, members)| {
                let is_apart = *others & places == 0;
                if !is_apart {
                    group.0 |= *others;
                    group.1.append(members);
                }
                is_apart
            });
            groups.push(group);
        }
        if let [(_, members)] = &mut groups[..] {
            let members = std::mem::take(members);
            return Some(self.bitwise_of_all(kind, width, &members));
        }
        let mut sum = self.constant(width, 0);
        for (_, mut members) in groups {
            members.sort_unstable();
            let combined = members
                .into_iter()
                .reduce(|one, other| self.bitwise(kind, width, one, other))
                .expect("a group begins with a term");
            sum = self.add(width, sum, combined);
        }
        Some(sum)
    }

    /// A bitwise operation in which each bit of the result is a bit of one operand, or a constant.
    fn bitwise_by_parts(&mut self, kind: Bitwise, width: u32, left: Value, right: Value) -> Option<Value> {
        let most = if self.is_thorough { MANY_RUNS } else { RUNS };
        let (left, right) = (
            runs(&self.bits_of(left), most)?,
            runs(&self.bits_of(right), most)?,
        );
        let mut result = Parts::new();
        let (mut first, mut second, mut from) = (0, 0, 0);
        while from < width {
            let ends = [left[first], right[second]].map(|part| part.position + part.width);
            let to = ends[0].min(ends[1]);
            let (one, other) = (left[first].slice(from, to), right[second].slice(from, to));
            result.push(combine(kind, one, other)?);
            first += usize::from(ends[0] == to);
            second += usize::from(ends[1] == to);
            from = to;
        }
        Some(self.make_of_bits(width, &result))
    }

    fn bitwise_of_all(&mut self, kind: Bitwise, width: u32, given: &[Value]) -> Value {
        let mut operands: SmallVec<[Value; OPERANDS]> = SmallVec::new();
        for &value in given {
            match self.operator(value) {
                Operator::Bitwise(other) if other == kind => operands.extend(self.parts_of(value)),
                _ => operands.push(value),
            }
        }
        let most = if self.is_thorough { MANY_OPERANDS } else { OPERANDS };
        if operands.len() > most {
            operands = SmallVec::from_slice(given);
        }
        // At most one constant.
        let mut constant = None;
        operands.retain(|value| {
            let Some(bits) = self.as_constant(*value) else {
                return true;
            };
            constant = Some(match (constant, kind) {
                (None, _) => bits,
                (Some(known), Bitwise::And) => known & bits,
                (Some(known), Bitwise::Or) => known | bits,
                (Some(known), Bitwise::Xor) => known ^ bits,
            });
            false
        });
        operands.sort_unstable();
        match kind {
            Bitwise::And | Bitwise::Or => operands.dedup(),
            Bitwise::Xor => {
                let mut kept: SmallVec<[Value; OPERANDS]> = SmallVec::new();
                for value in operands {
                    if kept.last() == Some(&value) {
                        kept.pop();
                    } else {
                        kept.push(value);
                    }
                }
                operands = kept;
            }
        }
        if let Some(bits) = constant {
            let constant = self.constant(width, bits);
            match operands[..] {
                [] => return constant,
                // The other operand may now consist only of moved bits.
                [only] if !given.contains(&only) => return self.bitwise(kind, width, only, constant),
                _ if kind == Bitwise::Xor && bits == 0 => {}
                _ => operands.push(constant),
            }
        }
        match operands[..] {
            [] => self.constant(width, 0),
            [only] => only,
            _ => self.intern(Operator::Bitwise(kind), width, &operands),
        }
    }
}

/// Returns the bits that a multiple of a value with these bits may have, and those of them that two of the added
/// powers of two may have.
fn copies(bits: u64, factor: u64) -> (u64, u64) {
    let (mut places, mut twice, mut rest) = (0, 0, factor);
    while rest != 0 {
        let copy = bits << rest.trailing_zeros();
        twice |= places & copy;
        places |= copy;
        rest &= rest - 1;
    }
    (places, twice)
}

/// Returns the parts with constants split into runs of equal bits; none if there are too many.
fn runs(parts: &Parts, most: usize) -> Option<Parts> {
    let mut result = Parts::new();
    for &part in parts {
        let Source::Constant(bits) = part.source else {
            result.push(part);
            continue;
        };
        let mut from = 0;
        while from < part.width {
            let is_set = bits >> from & 1 == 1;
            let rest = if is_set { !(bits >> from) } else { bits >> from };
            let run = rest.trailing_zeros().min(part.width - from);
            result.push(part.slice(part.position + from, part.position + from + run));
            from += run;
        }
        if result.len() > most {
            return None;
        }
    }
    Some(result)
}

/// Combines two runs of bits; none if the result is neither of them nor constant.
fn combine(kind: Bitwise, left: Part, right: Part) -> Option<Part> {
    let zero = Part {
        source: Source::Constant(0),
        ..left
    };
    if left.source == right.source {
        return Some(if kind == Bitwise::Xor { zero } else { left });
    }
    for (part, other) in [(left, right), (right, left)] {
        let Source::Constant(bits) = part.source else {
            continue;
        };
        return match (kind, bits == 0) {
            (Bitwise::And, true) | (Bitwise::Or, false) => Some(part),
            (Bitwise::And, false) | (Bitwise::Or | Bitwise::Xor, true) => Some(other),
            (Bitwise::Xor, false) => match other.source {
                Source::Constant(bits) => Some(Part {
                    source: Source::Constant(bits ^ low_bits(part.width)),
                    ..part
                }),
                Source::Of(..) => None,
            },
        };
    }
    None
}
