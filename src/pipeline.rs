//! What happens to one function at one stage.

use crate::options::{Fault, Mode, Options, Phases};
use crate::ori::Function;
use crate::ori::machine::{ImportError, forget_machine, from_machine, perturb, to_machine};
use crate::plan::{Plan, fault};
use crate::snapshot::Snapshot;

/// Why a function stays as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Problem {
    /// Ori cannot represent it, which is nobody's fault.
    Unsupported(ImportError),
    /// Something went wrong that the user has to know.
    Failure(String),
}

impl From<String> for Problem {
    fn from(message: String) -> Self {
        Self::Failure(message)
    }
}

/// Decides what becomes of a function.
///
/// Nothing is returned if it stays as it is.
///
/// # Errors
/// The function stays as it is, though it should not have.
pub fn run(snapshot: &Snapshot<'_>, options: &Options) -> Result<Option<Plan>, Problem> {
    if let Some(directory) = &options.snapshot_directory {
        let path = directory.join(snapshot.file_name());
        snapshot
            .save(&path)
            .map_err(|error| format!("the snapshot cannot be written: {error}"))?;
    }
    match options.fault {
        Some(Fault::Panic) => panic!("panic on request"),
        Some(Fault::MalformedPlan) => return Ok(Some(fault::malformed(snapshot))),
        Some(Fault::FailedVerification) if options.edit_script.is_none() => {
            return Ok(Some(fault::intrusive(snapshot)));
        }
        Some(Fault::MutatedPlan(seed)) => {
            let identity = format!("{} {}", snapshot.name(), snapshot.stage().name());
            let seed = seed << 32 | u64::from(crc32fast::hash(identity.as_bytes()));
            return Ok(Some(fault::mutated(snapshot, seed)));
        }
        // Whatever an edit script does is undone.
        Some(Fault::FailedVerification | Fault::OtherLlvm) | None => {}
    }
    if options.mode != Mode::Optimize {
        return Ok(None);
    }
    if let Some(script) = &options.edit_script {
        return script
            .apply(*snapshot)
            .map_err(|error| Problem::Failure(format!("edit script: {error}")));
    }
    match options.phases {
        // The way out of LLVM and back, for its own sake.
        Phases::None => through_ori(snapshot, |_| ()).map(Some),
        Phases::Rebuild => through_ori(snapshot, forget_machine).map(Some),
        Phases::Perturb => through_ori(snapshot, perturb).map(Some),
        Phases::Profile => Ok(None),
    }
}

/// Takes a function to Ori, changes it there and makes a plan of the result.
fn through_ori(snapshot: &Snapshot<'_>, change: impl FnOnce(&mut Function)) -> Result<Plan, Problem> {
    let mut function = from_machine(snapshot).map_err(Problem::Unsupported)?;
    change(&mut function);
    to_machine(&function, snapshot).map_err(|error| Problem::Failure(format!("no machine code: {error}")))
}
