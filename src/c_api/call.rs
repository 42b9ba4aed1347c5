//! The end of a call: status, message, texts.

use crate::guard::guarded;
use std::ffi::{CStr, CString, c_char};

/// `OrielStatus`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum OrielStatus {
    /// `ORIEL_OK`.
    Ok = 0,
    /// `ORIEL_INVALID_ARGUMENT`.
    InvalidArgument = 1,
    /// `ORIEL_WRONG_API`.
    WrongApi = 2,
    /// `ORIEL_WRONG_LLVM`.
    #[cfg_attr(
        not(feature = "llvm"),
        expect(dead_code, reason = "only a library with LLVM says it")
    )]
    WrongLlvm = 3,
    /// `ORIEL_WITHOUT_LLVM`.
    #[cfg_attr(
        feature = "llvm",
        expect(dead_code, reason = "only a library without LLVM says it")
    )]
    WithoutLlvm = 4,
    /// `ORIEL_INVALID_FLAGS`.
    InvalidFlags = 5,
    /// `ORIEL_TOO_LATE`.
    TooLate = 6,
    /// `ORIEL_FILE_ERROR`.
    FileError = 7,
    /// `ORIEL_INVALID_SNAPSHOT`.
    InvalidSnapshot = 8,
    /// `ORIEL_UNSUPPORTED`.
    Unsupported = 9,
    /// `ORIEL_COMPILATION_FAILED`.
    #[cfg_attr(
        not(feature = "llvm"),
        expect(dead_code, reason = "only a library with LLVM says it")
    )]
    CompilationFailed = 10,
    /// `ORIEL_INTERNAL_ERROR`.
    InternalError = 11,
}

/// Why a call failed.
#[derive(Debug)]
pub(super) struct CallFailure {
    status: OrielStatus,
    message: String,
}

impl CallFailure {
    pub fn new(status: OrielStatus, message: impl Into<String>) -> Self {
        let message = message.into();
        Self { status, message }
    }

    /// Returns a failure about the parameter `name`.
    pub fn argument(name: &str, problem: &str) -> Self {
        Self::new(OrielStatus::InvalidArgument, format!("'{name}' {problem}"))
    }
}

/// The `message` parameter of a call.
pub(super) type Message<'a> = Option<&'a mut *mut c_char>;

/// Performs the work of a call and ends it as the header specifies.
pub(super) fn call(message: Message<'_>, work: impl FnOnce() -> Result<(), CallFailure>) -> OrielStatus {
    let ended =
        guarded(work).unwrap_or_else(|panic| Err(CallFailure::new(OrielStatus::InternalError, panic)));
    let (status, text) = match ended {
        Ok(()) => (OrielStatus::Ok, std::ptr::null_mut()),
        Err(failure) => {
            let wanted = message.is_some();
            let text = if wanted {
                into_raw(failure.message)
            } else {
                std::ptr::null_mut()
            };
            (failure.status, text)
        }
    };
    if let Some(message) = message {
        *message = text;
    }
    status
}

/// Returns the target of a parameter that must not be null.
pub(super) fn given<T>(parameter: Option<T>, name: &str) -> Result<T, CallFailure> {
    parameter.ok_or_else(|| CallFailure::argument(name, "is null"))
}

/// Returns the text of a parameter.
///
/// # Safety
/// It is null or a text that ends with a zero byte and lives while the result is used.
pub(super) unsafe fn text<'a>(parameter: *const c_char, name: &str) -> Result<&'a str, CallFailure> {
    if parameter.is_null() {
        return Err(CallFailure::argument(name, "is null"));
    }
    // SAFETY: the caller vouches for the text.
    let text = unsafe { CStr::from_ptr(parameter) };
    text.to_str()
        .map_err(|_| CallFailure::argument(name, "is not valid UTF-8"))
}

/// Converts a text for the host. An inner zero byte, which would end it in C, becomes a space.
pub(super) fn c_text(text: impl Into<Vec<u8>>) -> CString {
    CString::new(text).unwrap_or_else(|error| {
        let mut bytes = error.into_vec();
        bytes
            .iter_mut()
            .filter(|byte| **byte == 0)
            .for_each(|byte| *byte = b' ');
        CString::new(bytes).expect("no byte is zero any more")
    })
}

/// Converts a text that the host has to dispose of.
pub(super) fn into_raw(text: impl Into<Vec<u8>>) -> *mut c_char {
    c_text(text).into_raw()
}

/// `oriel_dispose_message`.
///
/// # Safety
/// `message` is null or a text from Oriel that has not been disposed of.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_dispose_message(message: *mut c_char) {
    if !message.is_null() {
        // SAFETY: such texts come from `into_raw`.
        drop(unsafe { CString::from_raw(message) });
    }
}
