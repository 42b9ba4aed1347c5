//! `oriel` stays silent if its reader stops after the first line.

use std::io::Read;
use std::process::{Command, Stdio};

#[test]
fn a_reader_that_stops_early_ends_the_tool_quietly() {
    let mut tool = Command::new(env!("CARGO_BIN_EXE_oriel"))
        .args(["generate", "--functions=200", "--instructions=200"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 16];
    tool.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = tool.wait_with_output().unwrap();
    assert!(!output.status.success(), "it has more to write than a pipe holds");
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
