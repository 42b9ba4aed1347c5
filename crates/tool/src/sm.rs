//! Compute capabilities on the command line.

/// Returns the name of a compute capability, such as 80 or 90a, which may have LLVM's prefix `sm_`.
///
/// # Errors
/// If it is neither.
pub fn name(text: &str) -> Result<String, String> {
    let name = text.strip_prefix("sm_").unwrap_or(text);
    number(name).map(|_| name.to_owned())
}

/// Returns its number, without the suffix that says which features it has.
///
/// # Errors
/// As [`name`].
pub fn number(text: &str) -> Result<u32, String> {
    let name = text.strip_prefix("sm_").unwrap_or(text);
    let number = name.strip_suffix(['a', 'f']).unwrap_or(name);
    number
        .parse()
        .map_err(|_| "a compute capability is a number such as 80, perhaps with a or f".to_owned())
}
