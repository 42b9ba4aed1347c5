//! The table of kernels: their signatures, once for all instruction sets.

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
            /// `dst |= generate | (input & !kill)`: the transfer function of dataflow problems, in
            /// one pass and without a temporary.
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
