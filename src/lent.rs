//! Arrays that C and C++ lend.

/// Converts a pointer and a count to a slice.
///
/// # Safety
/// `data` is null or valid for `count` elements while the result is used, or `count` is zero.
pub unsafe fn slice<'a, T>(data: *const T, count: usize) -> &'a [T] {
    if data.is_null() || count == 0 {
        return &[];
    }
    // SAFETY: the caller vouches for the elements.
    unsafe { std::slice::from_raw_parts(data, count) }
}
