//! ptxas, where it is installed.

use oriel::report::ptxas::{PtxasFigures, parse_messages, without_debug_target};
use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

/// What ptxas says of the functions of `ptx`, compiled for `sm` such as 80 or 90a.
///
/// # Errors
/// There is no ptxas, or it refuses the code.
pub fn measure(ptx: &[u8], sm: &str) -> Result<BTreeMap<String, PtxasFigures>, String> {
    let program = std::env::var_os("LLVM_PTXAS_EXECUTABLE").unwrap_or_else(|| "ptxas".into());
    let problem = |error: std::io::Error| {
        format!(
            "{}: {error}; set LLVM_PTXAS_EXECUTABLE to the path of ptxas",
            program.display()
        )
    };
    let mut child = Command::new(&program)
        .args(["-v", &format!("-arch=sm_{sm}"), "-o", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(problem)?;
    let mut input = child.stdin.take().expect("standard input is a pipe");
    // ptxas reads all of its input before it says anything. If it stops early, its message says why.
    let ptx = String::from_utf8_lossy(ptx);
    _ = input.write_all(without_debug_target(&ptx).as_bytes());
    drop(input);
    let output = child.wait_with_output().map_err(problem)?;
    let messages = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(parse_messages(&messages)),
        false => Err(format!("ptxas: {}", messages.trim())),
    }
}
