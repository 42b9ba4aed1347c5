//! The snapshot's records.
//!
//! Every record is plain data without padding, so that a file's bytes can be viewed as records.
//! `records.rs` declares them for both sides; the build script generates `oriel_abi.h` from it.

use bitflags::bitflags;
use bytemuck::{Pod, Zeroable};

/// Declares items of the binary interface. Each has a C name, or the prefix of the C names of its
/// values, for the build script, which generates the header from the same declarations.
///
/// - `constants`: a value and a name for each.
/// - `record`: its size, and fields with their offsets, asserted at compile time. Plain data
///   without padding.
/// - `table`: the same with pointers.
/// - `c_enum`: a number and a variant for each.
/// - `numbers`: the same, without a conversion from numbers.
/// - `flags`: a bit and a name for each.
#[macro_export]
macro_rules! abi {
    () => {};
    ($(#[$doc:meta])* constants $name:ident = $c:literal, $type:ty {
        $( $(#[$field_doc:meta])* $value:literal $field:ident, )*
    } $($rest:tt)*) => {
        $( $(#[$field_doc])* pub const $field: $type = $value; )*
        $crate::abi! { $($rest)* }
    };
    ($(#[$doc:meta])* record $name:ident = $c:literal, $size:literal {
        $( $(#[$field_doc:meta])* $offset:literal $field:ident: $type:ty, )*
    } $($rest:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
        #[repr(C)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[doc = ""]
                #[doc = concat!("At byte ", stringify!($offset), ".")]
                pub $field: $type,
            )*
        }
        $crate::assert_layout!($name, $size, $( $offset $field, )*);
        $crate::abi! { $($rest)* }
    };
    ($(#[$doc:meta])* table $name:ident = $c:literal, $size:literal {
        $( $(#[$field_doc:meta])* $offset:literal $field:ident: $type:ty, )*
    } $($rest:tt)*) => {
        $(#[$doc])*
        #[repr(C)]
        pub struct $name {
            $( $(#[$field_doc])* $field: $type, )*
        }
        $crate::assert_layout!($name, $size, $( $offset $field, )*);
        $crate::abi! { $($rest)* }
    };
    ($(#[$doc:meta])* c_enum $name:ident = $c:literal {
        $( $(#[$field_doc:meta])* $value:literal $field:ident, )*
    } $($rest:tt)*) => {
        $crate::c_enum! { $(#[$doc])* $name { $( $(#[$field_doc])* $field = $value, )* } }
        $crate::abi! { $($rest)* }
    };
    ($(#[$doc:meta])* numbers $name:ident = $c:literal {
        $( $(#[$field_doc:meta])* $value:literal $field:ident, )*
    } $($rest:tt)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u32)]
        pub enum $name {
            $( $(#[$field_doc])* $field = $value, )*
        }
        $crate::abi! { $($rest)* }
    };
    ($(#[$doc:meta])* flags $name:ident = $c:literal, $type:ty {
        $( $(#[doc = $field_doc:literal])* $bit:literal $field:ident, )*
    } $($rest:tt)*) => {
        bitflags! {
            $(#[$doc])*
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
            pub struct $name: $type {
                $( $(#[doc = $field_doc])* const $field = 1 << $bit; )*
            }
        }
        $crate::abi! { $($rest)* }
    };
}
pub use abi;

/// Asserts the size of a type and the offsets of its fields.
#[doc(hidden)]
#[macro_export]
macro_rules! assert_layout {
    ($name:ident, $size:literal, $( $offset:literal $field:ident, )*) => {
        const _: () = {
            assert!(size_of::<$name>() == $size);
            $( assert!(core::mem::offset_of!($name, $field) == $offset); )*
        };
    };
}

/// Declares an enumeration of the binary interface, with a checked conversion from its number.
#[macro_export]
macro_rules! c_enum {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $value:literal, )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u32)]
        pub enum $name {
            $( $(#[$variant_doc])* $variant = $value, )*
        }
        impl $name {
            /// Every value, in the ABI's order.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// Returns the value with this number in the ABI, if there is one.
            pub const fn from_abi(number: u32) -> Option<Self> {
                match number {
                    $( $value => Some(Self::$variant), )*
                    _ => None,
                }
            }
        }
    };
}
pub use c_enum;

include!("records.rs");

const _: () = {
    assert!(OperandKind::ALL.len() == OPERAND_KINDS as usize);
    assert!(OperandFlags::all().bits() as u32 == OPERAND_FLAGS);
    assert!(ACCESS_MASK == (1 << ACCESS_BITS) - 1 && Access::ALL.len() <= ACCESS_MASK as usize + 1);
};

impl Stage {
    /// Returns the name used in reports, file names and messages.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ssa => "ssa",
            Self::Late => "late",
        }
    }
}
