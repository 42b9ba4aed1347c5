//! ptxas, where it is installed.

use oriel::report::ptxas::{PtxasFigures, parse_messages, without_debug_target};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Write;
use std::process::{Command, Output, Stdio};

/// ptxas as a program: `LLVM_PTXAS_EXECUTABLE`, or what the path has under its name.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: OsString,
}

/// What ptxas made of PTX.
#[derive(Clone, Debug)]
pub struct Assembled {
    /// What it says of each function.
    pub functions: BTreeMap<String, PtxasFigures>,
    /// The machine code, an ELF file.
    pub cubin: Vec<u8>,
}

impl Ptxas {
    /// The program, which need not be there.
    pub fn new() -> Self {
        let program = std::env::var_os("LLVM_PTXAS_EXECUTABLE").unwrap_or_else(|| "ptxas".into());
        Self { program }
    }

    /// Its version, such as 13.0.88.
    ///
    /// # Errors
    /// There is no ptxas, or something else answers.
    pub fn version(&self) -> Result<String, String> {
        let output = Command::new(&self.program).arg("--version").output();
        let text = output.map_err(|error| self.unavailable(&error))?.stdout;
        let text = String::from_utf8_lossy(&text);
        let version = text
            .split(", V")
            .nth(1)
            .and_then(|rest| rest.split_whitespace().next());
        version
            .map(str::to_owned)
            .ok_or_else(|| format!("{} tells no version of ptxas", self.program.display()))
    }

    /// Compiles `ptx` for `sm`, such as 80 or 90a, with at most so many registers if there is a number.
    ///
    /// # Errors
    /// There is no ptxas, or it refuses the code.
    pub fn assemble(&self, ptx: &[u8], sm: &str, most_registers: Option<u32>) -> Result<Assembled, String> {
        let limit = most_registers.map(|registers| format!("--maxrregcount={registers}"));
        let mut command = Command::new(&self.program);
        command.args(["-v", &format!("-arch=sm_{sm}"), "-o", "/dev/stdout", "-"]);
        let output = self.run(command.args(limit), ptx)?;
        Ok(Assembled {
            functions: parse_messages(&String::from_utf8_lossy(&output.stderr)),
            cubin: output.stdout,
        })
    }

    fn run(&self, command: &mut Command, ptx: &[u8]) -> Result<Output, String> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.unavailable(&error))?;
        let mut input = child.stdin.take().expect("standard input is a pipe");
        // ptxas reads all of its input before it says anything. If it stops early, its message says why.
        let ptx = String::from_utf8_lossy(ptx);
        _ = input.write_all(without_debug_target(&ptx).as_bytes());
        drop(input);
        let output = child
            .wait_with_output()
            .map_err(|error| self.unavailable(&error))?;
        match output.status.success() {
            true => Ok(output),
            false => {
                let messages = String::from_utf8_lossy(&output.stderr);
                Err(format!("ptxas: {}", messages.trim()))
            }
        }
    }

    fn unavailable(&self, error: &std::io::Error) -> String {
        format!(
            "{}: {error}; set LLVM_PTXAS_EXECUTABLE to the path of ptxas",
            self.program.display()
        )
    }
}

/// What ptxas says of the functions of `ptx`, compiled for `sm` such as 80 or 90a.
///
/// # Errors
/// There is no ptxas, or it refuses the code.
pub fn measure(ptx: &[u8], sm: &str) -> Result<BTreeMap<String, PtxasFigures>, String> {
    Ok(Ptxas::new().assemble(ptx, sm, None)?.functions)
}
