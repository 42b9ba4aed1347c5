//! `OrielOptions`: options of one compilation.

use super::call::{CallFailure, Message, OrielStatus, call, given, text};
use super::process::invalid_flags;
use crate::options::{Options, process_options};
use std::ffi::c_char;
use std::sync::Arc;

/// `OrielOptions`.
#[derive(Debug)]
pub struct OrielOptions {
    pub(super) options: Arc<Options>,
}

/// Returns these options, or the process's, also while another compilation runs on this thread.
pub(super) fn options_or_process(options: Option<&OrielOptions>) -> Result<Arc<Options>, CallFailure> {
    let own = options.map(|options| options.options.clone());
    own.map_or_else(process_options, Ok).map_err(invalid_flags)
}

/// `oriel_options_create`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_options_create(
    options: Option<&mut *mut OrielOptions>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let out = given(options, "options")?;
        let options = options_or_process(None)?;
        *out = Box::into_raw(Box::new(OrielOptions { options }));
        Ok(())
    })
}

/// `oriel_options_add`.
///
/// # Safety
/// `flags` is null or a text that ends with a zero byte.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_options_add(
    options: Option<&mut OrielOptions>,
    flags: *const c_char,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let options = given(options, "options")?;
        // SAFETY: the caller vouches for the text.
        let flags = unsafe { text(flags, "flags")? };
        let mut changed = Options::clone(&options.options);
        changed.set_all(flags).map_err(invalid_flags)?;
        options.options = Arc::new(changed);
        Ok(())
    })
}

/// `oriel_options_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_options_dispose(options: Option<Box<OrielOptions>>) {
    drop(options);
}
