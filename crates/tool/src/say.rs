//! Output of commands that print while they work.

use std::fmt::Arguments;
use std::io::Write;

/// Like `println!`, but a full disk ends the tool with a message.
macro_rules! say_line {
    ($($text:tt)*) => { $crate::say::write(format_args!("{}\n", format_args!($($text)*))) };
}

/// Like `print!`, but a full disk ends the tool with a message.
macro_rules! say {
    ($($text:tt)*) => { $crate::say::write(format_args!($($text)*)) };
}

/// Writes a text to standard output. Ends the process if that fails.
pub(crate) fn write(text: Arguments<'_>) {
    if let Err(error) = std::io::stdout().lock().write_fmt(text) {
        eprintln!("oriel: {error}");
        std::process::exit(1);
    }
}
