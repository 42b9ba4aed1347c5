//! What happens to one function at one stage.

use crate::options::{Fault, Mode, Options, Phases};
use crate::plan::{Plan, fault};
use crate::snapshot::Snapshot;

/// Decides what becomes of a function.
///
/// Nothing is returned if it stays as it is.
///
/// # Errors
/// Something went wrong that the user has to know; the function stays as it is.
pub fn run(snapshot: &Snapshot<'_>, options: &Options) -> Result<Option<Plan>, String> {
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
        // Whatever an edit script does is undone; the other faults happen elsewhere.
        Some(Fault::FailedVerification | Fault::OtherLlvm | Fault::WrongInterval) | None => {}
    }
    if options.mode != Mode::Optimize {
        return Ok(None);
    }
    if let Some(script) = &options.edit_script {
        return script
            .apply(*snapshot)
            .map_err(|error| format!("edit script: {error}"));
    }
    match options.phases {
        // The way out of LLVM and back, for its own sake.
        Phases::None => Ok(Some(Plan::identity(snapshot))),
        Phases::Profile => Ok(None),
    }
}
