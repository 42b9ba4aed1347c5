//! Texts that cross the boundary to C++.

use std::ffi::{c_char, c_void};

/// `OrielText`: UTF-8, not zero-terminated.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OrielText {
    data: *const c_char,
    length: usize,
}

impl OrielText {
    /// Wraps a static text.
    pub const fn from_static(text: &'static str) -> Self {
        Self {
            data: text.as_ptr().cast(),
            length: text.len(),
        }
    }

    /// Wraps a text for the duration of a call.
    pub const fn borrowed(text: &str) -> Self {
        Self::borrowed_bytes(text.as_bytes())
    }

    /// Bytes for the time of a call.
    pub const fn borrowed_bytes(bytes: &[u8]) -> Self {
        Self {
            data: bytes.as_ptr().cast(),
            length: bytes.len(),
        }
    }

    /// Returns the text.
    ///
    /// # Safety
    /// `data` is valid for `length` bytes while the result is used.
    pub unsafe fn as_str<'a>(self) -> std::borrow::Cow<'a, str> {
        // SAFETY: the caller vouches for the bytes.
        String::from_utf8_lossy(unsafe { self.as_bytes() })
    }

    /// Returns the bytes.
    ///
    /// # Safety
    /// As [`OrielText::as_str`].
    pub unsafe fn as_bytes<'a>(self) -> &'a [u8] {
        if self.length == 0 {
            return &[];
        }
        // SAFETY: the caller vouches for the bytes.
        unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.length) }
    }
}

/// `OrielSink`: receives a text during a call.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OrielSink {
    context: *mut c_void,
    write: extern "C" fn(*mut c_void, OrielText),
}

impl OrielSink {
    /// Creates a sink that calls `write` with `context`.
    pub const fn new(context: *mut c_void, write: extern "C" fn(*mut c_void, OrielText)) -> Self {
        Self { context, write }
    }

    /// Creates a sink that appends to `text`, which nothing else may borrow meanwhile.
    pub fn into_string(text: &mut String) -> Self {
        extern "C" fn append(context: *mut c_void, text: OrielText) {
            // SAFETY: `context` is the string below, and the text lives for the call.
            unsafe { (*context.cast::<String>()).push_str(&text.as_str()) };
        }
        Self {
            context: (&raw mut *text).cast(),
            write: append,
        }
    }

    /// Sends `text`.
    pub fn send(self, text: &str) {
        (self.write)(
            self.context,
            OrielText {
                data: text.as_ptr().cast(),
                length: text.len(),
            },
        );
    }
}
