//! The types that operations compute in.

/// Declares the types: name in text form, width in bits, class, lanes.
macro_rules! data_types {
    ($( $(#[$doc:meta])* $variant:ident $name:literal $bits:literal $class:ident $lanes:literal; )*) => {
        /// The type of an operation, of its source if it differs, or of the memory accessed.
        ///
        /// `B` types are bits without an interpretation: an addition has one, because it is the
        /// same for signed and unsigned numbers; a comparison has a `U` or `S` type.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum DataType {
            /// No type: the operation has none, or needs no second one.
            #[default]
            None,
            $( $(#[$doc])* $variant, )*
        }

        impl DataType {
            /// Every type, in order.
            pub const ALL: &[Self] = &[Self::None, $( Self::$variant, )*];

            /// Returns PTX's name of the type.
            #[inline]
            pub const fn name(self) -> &'static str {
                match self {
                    Self::None => "",
                    $( Self::$variant => $name, )*
                }
            }

            /// Returns the width in bits of all lanes together; zero if there is no type.
            #[inline]
            pub const fn bits(self) -> u32 {
                match self {
                    Self::None => 0,
                    $( Self::$variant => $bits, )*
                }
            }

            /// Returns the interpretation of the bits.
            #[inline]
            pub const fn class(self) -> TypeClass {
                match self {
                    Self::None => TypeClass::Bits,
                    $( Self::$variant => TypeClass::$class, )*
                }
            }

            /// Returns the number of lanes.
            #[inline]
            pub const fn lanes(self) -> u32 {
                match self {
                    Self::None => 0,
                    $( Self::$variant => $lanes, )*
                }
            }
        }
    };
}

/// The interpretation of a type's bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TypeClass {
    /// No particular interpretation.
    Bits,
    /// An unsigned integer.
    Unsigned,
    /// An integer in two's complement.
    Signed,
    /// A floating-point number.
    Float,
}

data_types! {
    /// A predicate.
    B1 "b1" 1 Bits 1;
    /// A byte, only in memory and as the source of a conversion.
    B8 "b8" 8 Bits 1;
    /// 16 bits.
    B16 "b16" 16 Bits 1;
    /// 32 bits.
    B32 "b32" 32 Bits 1;
    /// Two 16-bit lanes, for sums and the like.
    B64 "b64" 64 Bits 1;
    /// 128 bits.
    B128 "b128" 128 Bits 1;
    /// Unsigned byte; only in memory and in conversions.
    U8 "u8" 8 Unsigned 1;
    /// Unsigned 16 bits.
    U16 "u16" 16 Unsigned 1;
    /// Unsigned 32 bits.
    U32 "u32" 32 Unsigned 1;
    /// Unsigned 64 bits.
    U64 "u64" 64 Unsigned 1;
    /// Signed byte; only in memory and in conversions.
    S8 "s8" 8 Signed 1;
    /// Signed 16 bits.
    S16 "s16" 16 Signed 1;
    /// Signed 32 bits.
    S32 "s32" 32 Signed 1;
    /// Signed 64 bits.
    S64 "s64" 64 Signed 1;
    /// Two 16-bit lanes, sums and the like.
    B16x2 "b16x2" 32 Bits 2;
    /// Two unsigned 16-bit lanes.
    U16x2 "u16x2" 32 Unsigned 2;
    /// Two signed 16-bit lanes.
    S16x2 "s16x2" 32 Signed 2;
    /// IEEE binary16.
    F16 "f16" 16 Float 1;
    /// Two of binary16.
    F16x2 "f16x2" 32 Float 2;
    /// bfloat16.
    Bf16 "bf16" 16 Float 1;
    /// Two of bfloat16.
    Bf16x2 "bf16x2" 32 Float 2;
    /// IEEE binary32 of which the tensor units read 19 bits.
    Tf32 "tf32" 32 Float 1;
    /// IEEE binary32.
    F32 "f32" 32 Float 1;
    /// Two of binary32.
    F32x2 "f32x2" 64 Float 2;
    /// IEEE binary64.
    F64 "f64" 64 Float 1;
}

impl DataType {
    /// Returns the type with this name.
    #[inline]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|data_type| *data_type != Self::None && data_type.name() == name)
    }

    /// Returns the type of plain bits with a width that registers have.
    pub const fn of_bits(bits: u32) -> Option<Self> {
        match bits {
            1 => Some(Self::B1),
            8 => Some(Self::B8),
            16 => Some(Self::B16),
            32 => Some(Self::B32),
            64 => Some(Self::B64),
            128 => Some(Self::B128),
            _ => None,
        }
    }

    /// Returns the unsigned integer of 8, 16, 32 or 64 bits.
    pub const fn unsigned(bits: u32) -> Self {
        match bits {
            8 => Self::U8,
            16 => Self::U16,
            32 => Self::U32,
            _ => Self::U64,
        }
    }

    /// Returns the signed integer of 8, 16, 32 or 64 bits.
    pub const fn signed(bits: u32) -> Self {
        match bits {
            8 => Self::S8,
            16 => Self::S16,
            32 => Self::S32,
            _ => Self::S64,
        }
    }

    /// True for a floating-point type.
    #[inline]
    pub const fn is_float(self) -> bool {
        matches!(self.class(), TypeClass::Float)
    }

    /// True for a signed integer type.
    #[inline]
    pub const fn is_signed(self) -> bool {
        matches!(self.class(), TypeClass::Signed)
    }

    /// Returns the width of one lane in bits.
    #[inline]
    pub const fn lane_bits(self) -> u32 {
        match self.lanes() {
            0 => 0,
            lanes => self.bits() / lanes,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_lead_back() {
        for &data_type in &DataType::ALL[1..] {
            assert_eq!(DataType::from_name(data_type.name()), Some(data_type));
        }
        assert_eq!(DataType::from_name(""), None);
    }

    #[test]
    fn lanes_divide_the_width() {
        for &data_type in &DataType::ALL[1..] {
            assert_eq!(data_type.lane_bits() * data_type.lanes(), data_type.bits());
        }
    }
}
