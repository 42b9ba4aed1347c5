//! The functions that the shim calls when it is loaded, and before a pass pipeline is built.

use crate::options::{self, Laboratory};
use oriel_engine::guard::guarded;

/// `OrielChecks`.
#[derive(Default)]
#[repr(C)]
pub struct OrielChecks {
    intervals: u32,
    control_flow: u32,
    bench_repetitions: u32,
}

const _: () = assert!(size_of::<OrielChecks>() == 12);

#[unsafe(no_mangle)]
extern "C" fn oriel_laboratory_install() {
    if let Ok(Err(problem)) | Err(problem) = guarded(options::install) {
        eprintln!("oriel: the laboratory cannot be added: {problem}");
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_laboratory_checks() -> OrielChecks {
    let checks = || {
        let laboratory = Laboratory::in_force()?;
        Some(OrielChecks {
            intervals: laboratory.check_intervals.into(),
            control_flow: laboratory.check_control_flow.into(),
            bench_repetitions: laboratory.bench_repetitions,
        })
    };
    guarded(checks).ok().flatten().unwrap_or_default()
}
