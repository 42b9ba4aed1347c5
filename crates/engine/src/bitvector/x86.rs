//! The kernels for the instruction sets of x86-64.
//!
//! Each is the text of `portable`, compiled with that instruction set allowed. Nothing is unsafe
//! about running it but that the processor must have the instructions; a [`Level`] is the proof.

use super::kernel_table::for_each_kernel;
use super::portable;
use std::sync::OnceLock;

/// An instruction set that this processor has been seen to have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Level(InstructionSet);

/// The instruction sets that there is code for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InstructionSet {
    /// 128-bit registers; every x86-64 processor.
    Sse2,
    /// 256-bit registers, and bit counting.
    Avx2,
    /// 512-bit registers, and bit counting in them.
    Avx512,
}

impl Level {
    /// All that this processor has, the best last.
    pub(super) fn available() -> Vec<Level> {
        let mut levels = vec![Level(InstructionSet::Sse2)];
        if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("popcnt") {
            levels.push(Level(InstructionSet::Avx2));
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("avx512vpopcntdq")
            {
                levels.push(Level(InstructionSet::Avx512));
            }
        }
        levels
    }

    /// The best that this processor has.
    #[inline]
    pub(super) fn best() -> Level {
        static BEST: OnceLock<Level> = OnceLock::new();
        *BEST.get_or_init(|| {
            *Level::available()
                .last()
                .expect("every x86-64 processor has SSE2")
        })
    }
}

macro_rules! versions {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?;
    )*) => {
        mod sse2 {
            $(
                #[inline(never)]
                pub(super) fn $name($($argument: $type),*) $(-> $result)? {
                    super::portable::$name::<true>($($argument),*)
                }
            )*
        }

        mod avx2 {
            $(
                #[target_feature(enable = "avx2,popcnt")]
                pub(super) fn $name($($argument: $type),*) $(-> $result)? {
                    super::portable::$name::<true>($($argument),*)
                }
            )*
        }

        mod avx512 {
            $(
                #[target_feature(enable = "avx512f,avx512vl,avx512vpopcntdq,popcnt")]
                pub(super) fn $name($($argument: $type),*) $(-> $result)? {
                    super::portable::$name::<true>($($argument),*)
                }
            )*
        }

        $(
            $(#[$doc])*
            #[inline]
            pub(super) fn $name(level: Level, $($argument: $type),*) $(-> $result)? {
                match level.0 {
                    InstructionSet::Sse2 => sse2::$name($($argument),*),
                    // SAFETY: such a level is made only where the processor reported these
                    // features.
                    InstructionSet::Avx2 => unsafe { avx2::$name($($argument),*) },
                    // SAFETY: as above.
                    InstructionSet::Avx512 => unsafe { avx512::$name($($argument),*) },
                }
            }
        )*
    };
}

for_each_kernel!(versions);
