//! Texts that cross the boundary.

use std::ffi::{c_char, c_void};

/// `OrielText`: UTF-8, not zero-terminated.
#[derive(Clone, Copy)]
#[repr(C)]
pub struct OrielText {
    data: *const c_char,
    length: usize,
}

impl OrielText {
    /// A text for as long as the program runs.
    pub const fn from_static(text: &'static str) -> Self {
        Self {
            data: text.as_ptr().cast(),
            length: text.len(),
        }
    }

    /// The text.
    ///
    /// # Safety
    /// `data` is valid for `length` bytes for as long as the result is used.
    pub unsafe fn as_str<'a>(self) -> std::borrow::Cow<'a, str> {
        if self.length == 0 {
            return "".into();
        }
        // SAFETY: the caller vouches for the bytes.
        let bytes = unsafe { std::slice::from_raw_parts(self.data.cast::<u8>(), self.length) };
        String::from_utf8_lossy(bytes)
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
    /// Hands over `text`.
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
