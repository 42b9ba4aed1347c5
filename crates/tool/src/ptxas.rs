//! Runs ptxas, if it is installed.

use oriel::report::ptxas::{PtxasFigures, parse_messages, target_of, without_debug_target};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{Seek, Write};
use std::process::{Command, Output};

/// ptxas as a program: `LLVM_PTXAS_EXECUTABLE`, or the one in the path.
#[derive(Clone, Debug)]
pub struct Ptxas {
    program: OsString,
}

impl Ptxas {
    /// The program, which may not exist.
    pub fn of_environment() -> Self {
        Self::named(std::env::var_os("LLVM_PTXAS_EXECUTABLE").unwrap_or_else(|| "ptxas".into()))
    }

    /// The program of this name or path, which may not exist.
    pub fn named(program: impl Into<OsString>) -> Self {
        let program = program.into();
        Self { program }
    }

    /// Returns the figures of the functions of `ptx`, compiled for the target that it names.
    ///
    /// # Errors
    /// If there is no ptxas, or it refuses the code.
    pub fn measure(&self, ptx: &[u8]) -> Result<BTreeMap<String, PtxasFigures>, String> {
        let text = String::from_utf8_lossy(ptx);
        let sm = target_of(&text).ok_or("the PTX has no target")?;
        Ok(self.assemble(ptx, sm, None)?.0)
    }

    /// Returns a command that runs it.
    pub fn command(&self) -> Command {
        Command::new(&self.program)
    }

    /// Compiles `ptx` for `sm`, such as 80 or 90a, with a register limit if given. Returns the
    /// figures of each function, and the machine code, an ELF file.
    ///
    /// # Errors
    /// If there is no ptxas, or it refuses the code.
    pub fn assemble(
        &self,
        ptx: &[u8],
        sm: &str,
        most_registers: Option<u32>,
    ) -> Result<(BTreeMap<String, PtxasFigures>, Vec<u8>), String> {
        let limit = most_registers.map(|registers| format!("--maxrregcount={registers}"));
        let mut command = self.command();
        command.args(["-v", &format!("-arch=sm_{sm}"), "-o", "/dev/stdout", "-"]);
        let output = self.run(command.args(limit), ptx)?;
        let functions = parse_messages(&String::from_utf8_lossy(&output.stderr));
        Ok((functions, output.stdout))
    }

    fn run(&self, command: &mut Command, ptx: &[u8]) -> Result<Output, String> {
        let ptx = String::from_utf8_lossy(ptx);
        // A file instead of a pipe: a ptxas that does not read its input must not end this process.
        let input = temporary_file(without_debug_target(&ptx).as_bytes())
            .map_err(|error| format!("the PTX for ptxas cannot be written: {error}"))?;
        let output = command
            .stdin(input)
            .output()
            .map_err(|error| self.unavailable(&error))?;
        match output.status.success() {
            true => Ok(output),
            false => {
                let messages = String::from_utf8_lossy(&output.stderr);
                Err(match messages.trim() {
                    "" => format!("ptxas: no message, {}", output.status),
                    messages => format!("ptxas: {messages}"),
                })
            }
        }
    }

    /// Returns the message for a ptxas that cannot be run.
    pub fn unavailable(&self, error: &std::io::Error) -> String {
        format!(
            "{}: {error}; set LLVM_PTXAS_EXECUTABLE to the path of ptxas",
            self.program.display()
        )
    }
}

/// Returns a file without a name, to be read from its beginning.
fn temporary_file(content: &[u8]) -> std::io::Result<File> {
    let mut file = tempfile::tempfile()?;
    file.write_all(content)?;
    file.rewind()?;
    Ok(file)
}
