//! Versions, and registration with the process's LLVM.

use super::call::{CallFailure, Message, OrielStatus, call, text};
use super::function::OrielFigures;
use super::intervals::{OrielInterval, OrielSegment};
use crate::options::{self, SetError};
use std::ffi::{CStr, c_char};

/// `ORIEL_API_VERSION`.
const API_VERSION: u32 = 1;

const VERSION: &CStr = match CStr::from_bytes_with_nul(concat!(env!("CARGO_PKG_VERSION"), "\0").as_bytes()) {
    Ok(text) => text,
    Err(_) => panic!("a version has no zero byte"),
};

#[cfg(feature = "llvm")]
const LLVM_VERSION: &CStr =
    match CStr::from_bytes_with_nul(concat!(env!("ORIEL_LLVM_VERSION"), "\0").as_bytes()) {
        Ok(text) => text,
        Err(_) => panic!("a version has no zero byte"),
    };
#[cfg(not(feature = "llvm"))]
const LLVM_VERSION: &CStr = c"";

/// `oriel_version`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_version() -> *const c_char {
    VERSION.as_ptr()
}

/// `oriel_llvm_version`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_llvm_version() -> *const c_char {
    LLVM_VERSION.as_ptr()
}

/// `oriel_check_abi_of`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_check_abi_of(
    api_version: u32,
    figures_size: usize,
    interval_size: usize,
    segment_size: usize,
    message: Message<'_>,
) -> OrielStatus {
    let theirs = [figures_size, interval_size, segment_size];
    let ours = [
        size_of::<OrielFigures>(),
        size_of::<OrielInterval>(),
        size_of::<OrielSegment>(),
    ];
    call(message, || match api_version == API_VERSION && theirs == ours {
        true => Ok(()),
        false => Err(CallFailure::new(
            OrielStatus::WrongApi,
            format!(
                "the program was compiled with an oriel.h of version {api_version} (structures of {theirs:?} bytes), but \
                 liboriel is {} with version {API_VERSION} ({ours:?}): compile it with the header that came with the library",
                env!("CARGO_PKG_VERSION")
            ),
        )),
    })
}

/// `oriel_register`.
///
/// # Safety
/// `flags` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_register(flags: *const c_char, message: Message<'_>) -> OrielStatus {
    call(message, || {
        let flags = match flags.is_null() {
            true => "",
            // SAFETY: the caller vouches for the text.
            false => unsafe { text(flags, "flags")? },
        };
        check_llvm()?;
        if !flags.is_empty() {
            options::set_all_on_command_line(flags).map_err(set_failure)?;
        }
        options::check_environment().map_err(invalid_flags)
    })
}

#[cfg(feature = "llvm")]
fn check_llvm() -> Result<(), CallFailure> {
    crate::ffi::check_compatible()
        .map_err(|reason| CallFailure::new(OrielStatus::WrongLlvm, format!("Oriel is {reason}")))
}

#[cfg(not(feature = "llvm"))]
fn check_llvm() -> Result<(), CallFailure> {
    Err(without_llvm())
}

/// Returns the failure of a library without LLVM.
#[cfg(not(feature = "llvm"))]
pub(super) fn without_llvm() -> CallFailure {
    CallFailure::new(
        OrielStatus::WithoutLlvm,
        "this liboriel is built without LLVM: build it with the feature 'llvm', which is on by default",
    )
}

/// Returns the failure of wrong options.
pub(super) fn invalid_flags(problem: String) -> CallFailure {
    CallFailure::new(OrielStatus::InvalidFlags, problem)
}

fn set_failure(error: SetError) -> CallFailure {
    match error {
        SetError::Invalid(problem) => invalid_flags(problem),
        SetError::TooLate => CallFailure::new(OrielStatus::TooLate, error.to_string()),
    }
}
