//! The set operations on slices of 32-bit words: the one place that decides which code runs.
//!
//! Sets of a few words, by far the most in real functions, run inline. Longer ones go to the code
//! for the best instruction set of the processor, decided once for the process.
//!
//! All slices of a call must have the same length; another length is a bug of the caller, and
//! panics. The `…_if_changed` forms look for the first word that would change and write only from
//! the group of [`GROUP_WORDS`](super::words::GROUP_WORDS) words on that it is in, so that a set
//! that has converged is read, never written.

use super::kernel_table::for_each_kernel;
use super::portable;
#[cfg(target_arch = "x86_64")]
use super::x86;

/// The longest set, in words, that is worked on inline: about where what the wider registers save
/// pays for the call.
pub(super) const INLINE_WORDS: usize = 32;

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
