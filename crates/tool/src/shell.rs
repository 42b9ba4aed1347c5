//! `oriel completions` and `oriel man`: completion scripts and manual pages from the
//! tool's help.

use clap::{Args, Command};
use clap_complete::Shell;
use std::io::Write;
use std::path::PathBuf;

/// Options of `oriel completions`.
#[derive(Args)]
pub struct CompletionsArguments {
    /// The shell
    shell: Shell,
}

/// Runs `oriel completions`.
pub fn run_completions(arguments: &CompletionsArguments, mut tool: Command) -> Result<(), String> {
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut tool, "oriel", &mut text);
    std::io::stdout()
        .lock()
        .write_all(&text)
        .map_err(|error| error.to_string())
}

/// Options of `oriel man`.
#[derive(Args)]
pub struct ManArguments {
    /// Folder for the pages, such as /usr/local/share/man/man1
    folder: PathBuf,
}

/// Runs `oriel man`.
pub fn run_man(arguments: &ManArguments, tool: Command) -> Result<(), String> {
    let tool = tool.name("oriel").disable_help_subcommand(true);
    clap_mangen::generate_to(tool, &arguments.folder)
        .map_err(|error| format!("{}: {error}", arguments.folder.display()))
}
