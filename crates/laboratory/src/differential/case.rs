//! A failing case on disk, with instructions to reproduce it.

use super::check::{Failure, transform};
use super::sequence::{Sequence, Step};
use super::tested_module::{Input, TestedModule, text};
use oriel_engine::snapshot::OwnedSnapshot;
use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

/// A failure as it was found, and reduced.
#[derive(Clone, Debug)]
pub struct Case<'a> {
    /// The original functions and their inputs.
    pub original: &'a TestedModule,
    /// The steps that fail on them.
    pub original_sequence: &'a Sequence,
    /// The reduced functions.
    pub tested: &'a TestedModule,
    /// The remaining steps.
    pub sequence: &'a Sequence,
    /// Their failure.
    pub failure: &'a Failure,
    /// The PTX that LLVM printed for the module.
    pub ptx: &'a str,
    /// The snapshots of the functions, including those of other stages.
    pub snapshots: &'a [OwnedSnapshot],
}

impl Case<'_> {
    /// Writes the case to a new folder:
    ///
    /// - `before.ori`, the reduced functions, and `after.ori`, the functions after the steps,
    ///   unless they panic;
    /// - `original.ori`, the original functions, and their snapshots;
    /// - `module.ptx` and `launch.toml`, if there is one;
    /// - `README`, with the failure and the commands that show it.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, folder: &Path) -> io::Result<()> {
        fs::create_dir_all(folder)?;
        fs::write(folder.join("before.ori"), text(&self.tested.functions))?;
        if let Ok(functions) = transform(self.tested, self.sequence) {
            fs::write(folder.join("after.ori"), text(&functions))?;
        }
        fs::write(folder.join("original.ori"), text(&self.original.functions))?;
        fs::write(folder.join("module.ptx"), self.ptx)?;
        for snapshot in self.snapshots.iter().map(OwnedSnapshot::view) {
            let is_of_case = |it: &oriel_ori::Function| it.info.name == snapshot.name();
            if self.original.functions.iter().any(is_of_case) {
                snapshot
                    .save(&folder.join(snapshot.file_name()))
                    .map_err(io::Error::other)?;
            }
        }
        let input = self.input();
        if let Some(Input::Described { text, .. }) = input {
            fs::write(folder.join("launch.toml"), text)?;
        }
        fs::write(folder.join("README"), self.readme(input))
    }

    /// Returns the input that shows the failure. A failure that needs no run shows on any.
    fn input(&self) -> Option<&Input> {
        let input = self.failure.input.and_then(|input| self.tested.inputs.get(input));
        input.or(self.original.inputs.first())
    }

    fn readme(&self, input: Option<&Input>) -> String {
        let mut out = format!("{}: {}\n\n", self.original.name, self.failure);
        let arguments = input.map_or_else(String::new, Input::arguments);
        let stage = self.tested.stage();
        for (file, sequence) in [
            ("before.ori", self.sequence),
            ("original.ori", self.original_sequence),
        ] {
            // Wrong edits are no phases: their results are compared as text.
            let steps = match sequence.0.iter().all(|step| matches!(step, Step::Phase(_))) {
                true => format!(
                    "--after {} --register-budget {}",
                    sequence.at(stage),
                    self.tested.phase_options.register_budget
                ),
                false => format!("# then {sequence}"),
            };
            writeln!(
                out,
                "oriel exec {file} --uninterpreted --module module.ptx --stage {} {arguments} {steps}",
                stage.name()
            )
            .expect("a string takes all text");
        }
        out
    }
}
