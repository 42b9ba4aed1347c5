//! The set operations on slices of 32-bit words: the one place that decides which code runs.
//!
//! Sets of a few words, by far the most in real functions, run inline. Longer ones go to the code for
//! the best instruction set of the processor, decided once for the process.
//!
//! All slices of a call must have the same length; another length is a bug of the caller, and
//! panics. The `…_if_changed` forms look for the first word that would change and write only from the
//! group of [`GROUP_WORDS`](super::words::GROUP_WORDS) words on that it is in, so that a set that has converged
//! is read, never written.

use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// The longest set, in words, that is worked on inline: about where what the wider registers save
/// pays for the call.
pub(super) const INLINE_WORDS: usize = 32;

/// Hands the table of kernels, signatures with their documentation, to a macro.
macro_rules! for_each_kernel {
    ($expand:ident) => {
        $expand! {
            /// `dst |= source`.
            fn or(dst: &mut [u32], source: &[u32]);
            /// `dst |= source`; whether that changed a bit.
            fn or_if_changed(dst: &mut [u32], source: &[u32]) -> bool;
            /// `dst &= source`.
            fn and(dst: &mut [u32], source: &[u32]);
            /// `dst &= source`; whether that changed a bit.
            fn and_if_changed(dst: &mut [u32], source: &[u32]) -> bool;
            /// `dst &= !source`.
            fn and_not(dst: &mut [u32], source: &[u32]);
            /// `dst &= !source`; whether that changed a bit.
            fn and_not_if_changed(dst: &mut [u32], source: &[u32]) -> bool;
            /// `dst ^= source`.
            fn xor(dst: &mut [u32], source: &[u32]);
            /// `dst = a & b`.
            fn assign_and(dst: &mut [u32], a: &[u32], b: &[u32]);
            /// `dst |= generate | (input & !kill)`: the transfer function of dataflow problems, in one
            /// pass and without a temporary.
            fn or_with_and_not(dst: &mut [u32], generate: &[u32], input: &[u32], kill: &[u32]);
            /// `dst |= generate | (input & !kill)`; whether that changed a bit.
            fn or_with_and_not_if_changed(dst: &mut [u32], generate: &[u32], input: &[u32], kill: &[u32]) -> bool;
            /// Whether every bit of `a` is in `b`.
            fn is_subset_of(a: &[u32], b: &[u32]) -> bool;
            /// Whether some bit is in both.
            fn intersects(a: &[u32], b: &[u32]) -> bool;
            /// Whether no bit is set.
            fn is_empty(words: &[u32]) -> bool;
            /// How many bits are set.
            fn count(words: &[u32]) -> usize;
        }
    };
}
pub(super) use for_each_kernel;

macro_rules! dispatched {
    ($(
        $(#[$doc:meta])*
        fn $name:ident($first:ident: $first_type:ty $(, $other:ident: $type:ty)*) $(-> $result:ty)?;
    )*) => {
        $(
            $(#[$doc])*
            #[inline]
            pub fn $name($first: $first_type $(, $other: $type)*) $(-> $result)? {
                $(
                    assert!($first.len() == $other.len(), "sets of different width");
                    let $other = &$other[..$first.len()];
                )*
                if $first.len() <= INLINE_WORDS {
                    return portable::$name::<false>($first $(, $other)*);
                }
                long::$name($first $(, $other)*)
            }
        )*

        /// Long sets, out of line: what it takes to choose an instruction set would otherwise be
        /// copied into every caller, and slow its short sets down.
        mod long {
            $(
                #[inline(never)]
                pub(super) fn $name($first: $first_type $(, $other: $type)*) $(-> $result)? {
                    #[cfg(target_arch = "x86_64")]
                    return super::x86::$name(super::x86::Level::best(), $first $(, $other)*);
                    #[cfg(not(target_arch = "x86_64"))]
                    super::portable::$name::<true>($first $(, $other)*)
                }
            )*
        }
    };
}

for_each_kernel!(dispatched);
