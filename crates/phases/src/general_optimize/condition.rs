//! Conditions: the relations between two values for which a predicate holds.
//!
//! Two numbers are less, equal, greater or, for floats with a NaN, unordered. A comparison holds
//! for a set of these relations, its inverse for the others. So whether one comparison of two
//! values decides another is a question about sets. A predicate that is no such comparison is a
//! condition of its own, with the relations "true" and "false".

use super::values::Values;
use bitflags::bitflags;
use oriel_engine::entity::Register;
use oriel_ori::{
    Comparison, DataType, Function, Instruction, ModifierFlags, Operand, Operation, Role, TypeClass,
};

bitflags! {
    /// The relations between two compared values.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub(crate) struct Relations: u8 {
        /// The first value is less.
        const LESS = 1 << 0;
        /// Both are equal; for a predicate that is no comparison: it is true.
        const EQUAL = 1 << 1;
        /// The first value is greater.
        const GREATER = 1 << 2;
        /// One is NaN.
        const UNORDERED = 1 << 3;
        /// A predicate that is no comparison is false.
        const NOT = 1 << 4;
    }
}

impl Relations {
    /// The relations between integers.
    const INTEGERS: Self = Self::LESS.union(Self::EQUAL).union(Self::GREATER);
    /// The relations between floats.
    const FLOATS: Self = Self::INTEGERS.union(Self::UNORDERED);
    /// The values of a predicate.
    const PREDICATE: Self = Self::EQUAL.union(Self::NOT);

    /// Returns the relations that remain if the signedness of an integer comparison is ignored.
    pub fn without_sign(self) -> Self {
        let (is_equal, is_different) = (
            self.contains(Self::EQUAL),
            self.intersects(Self::LESS | Self::GREATER),
        );
        let different = Self::EQUAL.complement();
        match (is_equal, is_different) {
            (true, true) => Self::all(),
            (true, false) => different.complement(),
            (false, true) => different,
            (false, false) => Self::empty(),
        }
    }

    /// Returns the relations that remain if a condition which is true for these is true or false.
    pub fn given(self, value: bool) -> Self {
        match value {
            true => self,
            false => self.complement(),
        }
    }

    /// Returns the value of a condition that is true for these relations, if only some are possible.
    pub fn among(self, possible: Self) -> Option<bool> {
        match (self & possible, possible) {
            // Control cannot get here, and nothing needs to be known.
            (_, possible) if possible.is_empty() => None,
            (held, possible) if held == possible => Some(true),
            (held, _) if held.is_empty() => Some(false),
            _ => None,
        }
    }

    /// Returns the relations for which a comparison holds, or none if nothing is compared.
    fn of(comparison: Comparison) -> Option<Self> {
        let ordered = |comparison| {
            Some(match comparison {
                Comparison::Eq => Self::EQUAL,
                Comparison::Ne => Self::LESS | Self::GREATER,
                Comparison::Lt => Self::LESS,
                Comparison::Le => Self::LESS | Self::EQUAL,
                Comparison::Gt => Self::GREATER,
                Comparison::Ge => Self::GREATER | Self::EQUAL,
                Comparison::Num => Self::INTEGERS,
                Comparison::Nan => Self::UNORDERED,
                _ => return None,
            })
        };
        let unordered = match comparison {
            Comparison::Equ => Comparison::Eq,
            Comparison::Neu => Comparison::Ne,
            Comparison::Ltu => Comparison::Lt,
            Comparison::Leu => Comparison::Le,
            Comparison::Gtu => Comparison::Gt,
            Comparison::Geu => Comparison::Ge,
            other => return ordered(other),
        };
        Some(ordered(unordered)? | Self::UNORDERED)
    }
}

/// A compared value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Compared {
    /// A register's value, as a leader of [`Values`].
    Register(Register),
    /// The bits of a constant.
    Constant(u64),
}

/// The order in which two values are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Order {
    /// Signed integers of this many bits.
    Signed(u32),
    /// Unsigned integers of this many bits.
    Unsigned(u32),
    /// Floats; the flag tells whether subnormals count as zero.
    Float(DataType, bool),
    /// No comparison: a predicate by itself, in both positions.
    Predicate,
}

/// The two values that a condition compares, and how.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ComparedPair {
    /// The order.
    pub order: Order,
    /// The values, in ascending order of their own.
    pub values: [Compared; 2],
}

impl ComparedPair {
    /// Returns the relations possible if nothing else is known.
    pub fn possible(&self) -> Relations {
        let [first, second] = self.values;
        let is_same = first == second;
        match self.order {
            Order::Predicate => Relations::PREDICATE,
            Order::Float(..) if is_same => Relations::EQUAL | Relations::UNORDERED,
            Order::Float(..) => Relations::FLOATS,
            Order::Signed(_) | Order::Unsigned(_) if is_same => Relations::EQUAL,
            Order::Signed(bits) => of_constants(first, second, |bits_of| {
                (bits_of << (64 - bits)) as i64 >> (64 - bits)
            }),
            Order::Unsigned(bits) => of_constants(first, second, |bits_of| {
                i128::from(bits_of << (64 - bits) >> (64 - bits))
            }),
        }
    }

    /// Returns the pair with the other signedness: integers are equal or not in either.
    pub fn with_other_sign(self) -> Option<Self> {
        let order = match self.order {
            Order::Signed(bits) => Order::Unsigned(bits),
            Order::Unsigned(bits) => Order::Signed(bits),
            Order::Float(..) | Order::Predicate => return None,
        };
        Some(Self { order, ..self })
    }
}

fn of_constants<T: Ord>(first: Compared, second: Compared, value: impl Fn(u64) -> T) -> Relations {
    let (Compared::Constant(first), Compared::Constant(second)) = (first, second) else {
        return Relations::INTEGERS;
    };
    match value(first).cmp(&value(second)) {
        std::cmp::Ordering::Less => Relations::LESS,
        std::cmp::Ordering::Equal => Relations::EQUAL,
        std::cmp::Ordering::Greater => Relations::GREATER,
    }
}

/// A predicate: it is true if one of the relations holds between the values of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Condition {
    /// The pair.
    pub pair: ComparedPair,
    /// The relations for which it is true.
    pub holds: Relations,
}

impl Condition {
    /// Returns the condition that a predicate register represents.
    pub fn of(function: &Function, values: &mut Values, predicate: Register) -> Self {
        let comparison = function
            .unique_definition(predicate)
            .and_then(|definition| Self::of_comparison(function, values, definition));
        comparison.unwrap_or_else(|| {
            let value = Compared::Register(values.of(function, predicate));
            Self {
                pair: ComparedPair {
                    order: Order::Predicate,
                    values: [value; 2],
                },
                holds: Relations::EQUAL,
            }
        })
    }

    fn of_comparison(function: &Function, values: &mut Values, definition: Instruction) -> Option<Self> {
        let modifiers = function.modifiers(definition);
        let data_type = function.operand_type(definition, Role::Source, 0)?;
        let order = match function.operation(definition) {
            Operation::Isetp if data_type.lanes() == 1 => match data_type.class() {
                TypeClass::Signed => Order::Signed(data_type.bits()),
                _ => Order::Unsigned(data_type.bits()),
            },
            Operation::Fsetp if function.results(definition).len() == 1 && data_type.lanes() == 1 => {
                Order::Float(data_type, modifiers.flags.contains(ModifierFlags::FTZ))
            }
            _ => return None,
        };
        let is_known = modifiers.flags.difference(ModifierFlags::FTZ).is_empty();
        let mut comparison = Some(modifiers.comparison).filter(|_| is_known)?;
        let mut compared = |number| {
            compared(
                function,
                values,
                function.source(definition, number),
                data_type.bits(),
            )
        };
        let mut pair = [compared(0)?, compared(1)?];
        if pair[0] > pair[1] {
            pair.swap(0, 1);
            comparison = comparison.swapped();
        }
        Some(Self {
            pair: ComparedPair { order, values: pair },
            holds: Relations::of(comparison)?,
        })
    }

    /// True if it is a predicate of which only the value is known.
    pub fn is_plain(&self) -> bool {
        self.pair.order == Order::Predicate
    }
}

fn compared(function: &Function, values: &mut Values, operand: Operand, bits: u32) -> Option<Compared> {
    if operand.is_modified() || operand.is_undefined() || bits > 64 {
        return None;
    }
    let Some(register) = operand.as_register() else {
        return constant_bits(function, operand, bits).map(Compared::Constant);
    };
    let moved = function
        .unique_definition(register)
        .filter(|&definition| function.operation(definition).is_copy())
        .map(|definition| function.source(definition, 0))
        .filter(|source| !source.is_modified())
        .and_then(|source| constant_bits(function, source, bits));
    Some(match moved {
        Some(bits) => Compared::Constant(bits),
        None => Compared::Register(values.of(function, register)),
    })
}

/// Returns the low bits of a constant.
fn constant_bits(function: &Function, operand: Operand, bits: u32) -> Option<u64> {
    let value = function.constant_bits(operand)?;
    Some(value << (64 - bits) >> (64 - bits))
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::entity::EntityRef;
    use oriel_ori::parse_function;

    fn conditions(lines: &str, predicates: [usize; 2]) -> [Condition; 2] {
        let text = format!(
            "kernel \"k\" sm_80 ssa {{\nbix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n\
             {lines}    RET\n}}\n"
        );
        let function = parse_function(&text).expect("it is well formed");
        let mut values = Values::default();
        predicates.map(|predicate| Condition::of(&function, &mut values, Register::new(predicate)))
    }

    /// Compares the relations of every comparison with Rust's comparisons of floats.
    #[test]
    fn relations_are_those_of_numbers() {
        for (first, second, relation) in [
            (1.0, 2.0, Relations::LESS),
            (1.0, 1.0, Relations::EQUAL),
            (2.0, 1.0, Relations::GREATER),
            (f64::NAN, 1.0, Relations::UNORDERED),
        ] {
            let is_nan = f64::is_nan(first);
            for (comparison, expected) in [
                (Comparison::Eq, first == second),
                (Comparison::Ne, first != second && !is_nan),
                (Comparison::Lt, first < second),
                (Comparison::Le, first <= second),
                (Comparison::Gt, first > second),
                (Comparison::Ge, first >= second),
                (Comparison::Equ, first == second || is_nan),
                (Comparison::Neu, first != second),
                (Comparison::Ltu, first < second || is_nan),
                (Comparison::Leu, first <= second || is_nan),
                (Comparison::Gtu, first > second || is_nan),
                (Comparison::Geu, first >= second || is_nan),
                (Comparison::Num, !is_nan),
                (Comparison::Nan, is_nan),
            ] {
                let relations = Relations::of(comparison).expect("a comparison");
                assert_eq!(relations.contains(relation), expected, "{comparison:?}");
                let inverse = Relations::of(comparison.inverse(true)).expect("a comparison");
                assert_eq!(inverse, relations.complement() & Relations::FLOATS);
            }
        }
    }

    #[test]
    fn operands_changed_over_are_one_subject() {
        let [less, greater] = conditions(
            "    %3:P = ISETP.lt.s32 %1, %2\n    %4:P = ISETP.ge.s32 %2, %1\n",
            [3, 4],
        );
        assert_eq!(less.pair, greater.pair);
        assert_eq!(less.holds.among(greater.holds.given(false)), Some(false));
        assert_eq!(greater.holds.among(less.holds.given(true)), Some(true));
        assert_eq!(
            greater
                .holds
                .among(less.holds.given(false) & greater.pair.possible()),
            None
        );
    }

    #[test]
    fn types_and_modifiers_keep_subjects_apart() {
        for lines in [
            "    %3:P = ISETP.lt.s32 %1, %2\n    %4:P = ISETP.lt.u32 %1, %2\n",
            "    %3:P = FSETP.lt.f32 %1, %2\n    %4:P = FSETP.lt.ftz.f32 %1, %2\n",
            "    %3:P = FSETP.lt.f32 %1, %2\n    %4:P = FSETP.lt.f32 -%1, %2\n",
            "    %3:P = ISETP.lt.s32 %1, 5\n    %4:P = ISETP.lt.s32 %1, 6\n",
        ] {
            let [one, other] = conditions(lines, [3, 4]);
            assert_ne!(one.pair, other.pair, "{lines}");
        }
    }

    #[test]
    fn constants_are_compared_with_their_sign() {
        let lines = "    %3:R32 = MOV.b32 -1\n    %4:P = ISETP.lt.s32 %3, 1\n    %5:P = ISETP.lt.u32 %3, 1\n";
        let values = conditions(lines, [4, 5]).map(|it| it.holds.among(it.pair.possible()));
        assert_eq!(values, [Some(true), Some(false)]);
        let same = "    %3:P = ISETP.le.u32 %1, %1\n    %4:P = FSETP.eq.f32 %1, %1\n";
        let values = conditions(same, [3, 4]).map(|it| it.holds.among(it.pair.possible()));
        assert_eq!(values, [Some(true), None]);
    }
}
