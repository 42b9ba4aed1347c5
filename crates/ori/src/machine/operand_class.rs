//! Classes of machine operands in Ori's terms, and LLVM's encodings of modifiers.

use crate::modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, Variant,
};
use crate::types::{DataType, TypeClass};

/// The class of a machine operand in Ori's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OperandClass {
    /// A register of this many bits, written.
    Result(u8),
    /// A register of this many bits, read.
    Register(u8),
    /// A constant of this many bits.
    Constant(u8),
    /// A register or constant of this many bits.
    Value(u8),
    /// A symbol or stack object.
    Symbol,
    /// A register, symbol or stack object.
    Base,
    /// A number that is not a value: an offset, a size, a count.
    Count,
    /// A mask of the bytes of a load that are used; -1 if all are.
    UsedBytes,
    /// The number of a modifier.
    Modifier(Encoding),
}

/// How LLVM numbers a modifier in an operand. The numbers are those of LLVM's `NVPTX.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Zero or one.
    Ftz,
    /// Comparison of integers; the forms that LLVM calls unordered are those of unsigned numbers.
    IntegerComparison,
    /// Comparison of floats.
    FloatComparison,
    /// Rounding and flags of a conversion.
    Conversion,
    /// Mode of a byte permutation.
    Permutation,
    /// Memory ordering.
    Ordering,
    /// Scope of the ordering.
    Scope,
    /// Address space.
    Space,
    /// The interpretation of a load's bits.
    MemoryClass,
    /// Width in memory.
    MemoryWidth,
}

impl OperandClass {
    /// True if the operand is a result.
    pub const fn is_result(self) -> bool {
        matches!(self, Self::Result(_))
    }

    /// True if the operand is a source.
    pub const fn is_source(self) -> bool {
        !matches!(self, Self::Result(_) | Self::Modifier(_) | Self::UsedBytes)
    }
}

/// Everything about an instruction except its operands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Description {
    /// The data type.
    pub data_type: DataType,
    /// The type of its sources, or of the memory accessed.
    pub source_type: DataType,
    /// Its modifiers.
    pub modifiers: Modifiers,
}

// The tables below list the values of an enum in the order of LLVM's numbers, or with them.

const COMPARISONS: [Comparison; 14] = [
    Comparison::Eq,
    Comparison::Ne,
    Comparison::Lt,
    Comparison::Le,
    Comparison::Gt,
    Comparison::Ge,
    Comparison::Equ,
    Comparison::Neu,
    Comparison::Ltu,
    Comparison::Leu,
    Comparison::Gtu,
    Comparison::Geu,
    Comparison::Num,
    Comparison::Nan,
];

const CONVERSIONS: [Rounding; 11] = [
    Rounding::None,
    Rounding::Rni,
    Rounding::Rzi,
    Rounding::Rmi,
    Rounding::Rpi,
    Rounding::Rn,
    Rounding::Rz,
    Rounding::Rm,
    Rounding::Rp,
    Rounding::Rna,
    Rounding::Rs,
];

/// The bits of a conversion's number above the rounding.
const CONVERSION_FLAGS: [(i64, ModifierFlags); 4] = [
    (0x10, ModifierFlags::FTZ),
    (0x20, ModifierFlags::SAT),
    (0x40, ModifierFlags::RELU),
    (0x80, ModifierFlags::SATFINITE),
];

const PERMUTATIONS: [Variant; 7] = [
    Variant::None,
    Variant::F4e,
    Variant::B4e,
    Variant::Rc8,
    Variant::Ecl,
    Variant::Ecr,
    Variant::Rc16,
];

const ORDERINGS: &[(i64, Ordering)] = &[
    (0, Ordering::Weak),
    (2, Ordering::Relaxed),
    (4, Ordering::Acquire),
    (5, Ordering::Release),
    (6, Ordering::AcquireRelease),
    (7, Ordering::SequentiallyConsistent),
    (8, Ordering::Volatile),
    (9, Ordering::RelaxedMmio),
];

const SCOPES: [Scope; 6] = [
    Scope::Thread,
    Scope::Block,
    Scope::Cluster,
    Scope::Device,
    Scope::System,
    Scope::DefaultDevice,
];

const SPACES: &[(i64, AddressSpace)] = &[
    (0, AddressSpace::Generic),
    (1, AddressSpace::Global),
    (3, AddressSpace::Shared),
    (4, AddressSpace::Const),
    (5, AddressSpace::Local),
    (7, AddressSpace::SharedCluster),
    // LLVM has one number for both; the address tells which one it is.
    (101, AddressSpace::EntryParam),
    (101, AddressSpace::DeviceParam),
];

const CLASSES: [TypeClass; 4] = [
    TypeClass::Unsigned,
    TypeClass::Signed,
    TypeClass::Float,
    TypeClass::Bits,
];

fn nth<T: Copy>(values: &[T], number: i64) -> Option<T> {
    values.get(usize::try_from(number).ok()?).copied()
}

fn position<T: PartialEq>(values: &[T], value: T) -> Option<i64> {
    Some(values.iter().position(|other| *other == value)? as i64)
}

fn numbered<T: Copy>(values: &[(i64, T)], number: i64) -> Option<T> {
    values.iter().find(|entry| entry.0 == number).map(|entry| entry.1)
}

fn number_of<T: PartialEq>(values: &[(i64, T)], value: T) -> Option<i64> {
    values.iter().find(|entry| entry.1 == value).map(|entry| entry.0)
}

/// Returns the type of this class and width, if memory can hold it.
fn memory_type(class: TypeClass, bits: u32) -> Option<DataType> {
    let of_class = |data_type: &&DataType| {
        data_type.class() == class && data_type.bits() == bits && data_type.lanes() == 1
    };
    // The first type of a width is the plain one: f16 and f32 come before bf16 and tf32.
    let plain = |data_type: &&DataType| !matches!(data_type, DataType::Bf16 | DataType::Tf32);
    DataType::ALL.iter().filter(plain).find(of_class).copied()
}

/// Decodes LLVM's number of an integer comparison.
fn integer_comparison(number: i64, bits: u32) -> Option<(Comparison, DataType)> {
    let class = match number {
        0 | 1 => TypeClass::Bits,
        2..=5 => TypeClass::Signed,
        8..=11 => TypeClass::Unsigned,
        _ => return None,
    };
    let ordered = if class == TypeClass::Unsigned {
        number - 6
    } else {
        number
    };
    Some((nth(&COMPARISONS, ordered)?, memory_type(class, bits)?))
}

impl Encoding {
    /// Decodes `number` into the modifiers of `description`. Returns false if there is no such
    /// modifier.
    pub fn decode(self, number: i64, description: &mut Description) -> bool {
        self.try_decode(number, description).is_some()
    }

    fn try_decode(self, number: i64, description: &mut Description) -> Option<()> {
        let modifiers = &mut description.modifiers;
        match self {
            Self::Ftz => match number {
                0 => {}
                // As LLVM 22 has it for `nvvm.div.full.ftz`: true, extended by its sign.
                1 | -1 => modifiers.flags |= ModifierFlags::FTZ,
                _ => return None,
            },
            Self::IntegerComparison => {
                let bits = description.source_type.bits();
                (modifiers.comparison, description.source_type) = integer_comparison(number, bits)?;
            }
            Self::FloatComparison => modifiers.comparison = nth(&COMPARISONS, number)?,
            Self::Conversion => {
                let mut rest = number;
                for (bit, flag) in CONVERSION_FLAGS {
                    if rest & bit != 0 {
                        rest &= !bit;
                        // The number must not repeat a modifier that the mapping fixes.
                        if modifiers.flags.contains(flag) {
                            return None;
                        }
                        modifiers.flags |= flag;
                    }
                }
                modifiers.rounding = nth(&CONVERSIONS, rest)?;
            }
            Self::Permutation => modifiers.variant = nth(&PERMUTATIONS, number)?,
            Self::Ordering => modifiers.ordering = numbered(ORDERINGS, number)?,
            Self::Scope => modifiers.scope = nth(&SCOPES, number)?,
            Self::Space => modifiers.space = numbered(SPACES, number)?,
            // The class comes first and is kept as the type of 32 bits until the width is known.
            Self::MemoryClass => description.source_type = memory_type(nth(&CLASSES, number)?, 32)?,
            Self::MemoryWidth => {
                let class = description.source_type.class();
                description.source_type = memory_type(class, u32::try_from(number).ok()?)?;
            }
        }
        Some(())
    }

    /// Encodes the modifier of `description`, where `fixed` are the modifiers of the mapping
    /// itself. Returns none if LLVM has no number for it.
    pub fn encode(self, description: &Description, fixed: &Modifiers) -> Option<i64> {
        let modifiers = &description.modifiers;
        let has = |flag: ModifierFlags| modifiers.flags.contains(flag) && !fixed.flags.contains(flag);
        match self {
            Self::Ftz => Some(i64::from(has(ModifierFlags::FTZ))),
            Self::IntegerComparison => {
                let number = position(&COMPARISONS[..6], modifiers.comparison)?;
                match description.source_type.class() {
                    _ if number < 2 => Some(number),
                    TypeClass::Signed => Some(number),
                    TypeClass::Unsigned => Some(number + 6),
                    TypeClass::Bits | TypeClass::Float => None,
                }
            }
            Self::FloatComparison => position(&COMPARISONS, modifiers.comparison),
            Self::Conversion => {
                let flags = CONVERSION_FLAGS.iter().filter(|(_, flag)| has(*flag));
                let rounding = position(&CONVERSIONS, modifiers.rounding)?;
                Some(flags.fold(rounding, |number, (bit, _)| number | bit))
            }
            Self::Permutation => position(&PERMUTATIONS, modifiers.variant),
            Self::Ordering => number_of(ORDERINGS, modifiers.ordering),
            Self::Scope => position(&SCOPES, modifiers.scope),
            Self::Space => number_of(SPACES, modifiers.space),
            Self::MemoryClass => position(&CLASSES, description.source_type.class()),
            Self::MemoryWidth => Some(i64::from(description.source_type.bits())),
        }
    }

    /// Returns `modifiers` without those that this encoding expresses: the ones that a mapping must
    /// fix.
    pub(super) fn without(self, mut modifiers: Modifiers) -> Modifiers {
        match self {
            Self::Ftz => modifiers.flags -= ModifierFlags::FTZ,
            Self::IntegerComparison | Self::FloatComparison => modifiers.comparison = Comparison::None,
            Self::Conversion => {
                modifiers.rounding = Rounding::None;
                for (_, flag) in CONVERSION_FLAGS {
                    modifiers.flags -= flag;
                }
            }
            Self::Permutation => modifiers.variant = Variant::None,
            Self::Ordering => modifiers.ordering = Ordering::None,
            Self::Scope => modifiers.scope = Scope::None,
            Self::Space => modifiers.space = AddressSpace::None,
            Self::MemoryClass | Self::MemoryWidth => {}
        }
        modifiers
    }

    /// True if the encoding determines the source type, or a part of it.
    pub(super) const fn is_of_source_type(self) -> bool {
        matches!(
            self,
            Self::IntegerComparison | Self::MemoryClass | Self::MemoryWidth
        )
    }
}
