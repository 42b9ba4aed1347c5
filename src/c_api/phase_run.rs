//! `OrielPhaseRun`: phases on a snapshot.

use super::call::{CallFailure, Message, OrielStatus, c_text, call, given};
use super::function::OrielMachineFunction;
use super::options::{OrielOptions, options_or_process};
use crate::ori::PrintOptions;
use crate::pipeline::{self, PhaseRun, PipelineError};
use std::ffi::{CString, c_char};

/// `OrielPhaseRun`.
#[derive(Debug)]
pub struct OrielPhaseRun {
    is_changed: bool,
    text: CString,
    effects: CString,
}

impl OrielPhaseRun {
    fn new(run: &PhaseRun) -> Result<Self, CallFailure> {
        let effects = serde_json::to_vec(run)
            .map_err(|error| CallFailure::new(OrielStatus::InternalError, error.to_string()))?;
        Ok(Self {
            is_changed: run.is_changed,
            text: c_text(run.function.display(PrintOptions::default()).to_string()),
            effects: c_text(effects),
        })
    }
}

/// `oriel_phase_run_compute`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_phase_run_compute(
    function: Option<&OrielMachineFunction>,
    options: Option<&OrielOptions>,
    run: Option<&mut *mut OrielPhaseRun>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        let out = given(run, "run")?;
        let options = options_or_process(options)?;
        let run = pipeline::run_phases(&function.snapshot.view(), &options).map_err(failure)?;
        *out = Box::into_raw(Box::new(OrielPhaseRun::new(&run)?));
        Ok(())
    })
}

fn failure(problem: PipelineError) -> CallFailure {
    match problem {
        PipelineError::Unsupported(reason) => CallFailure::new(OrielStatus::Unsupported, reason.to_string()),
        PipelineError::Failure(message) => CallFailure::new(OrielStatus::InternalError, message),
    }
}

/// `oriel_phase_run_changed`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_phase_run_changed(run: Option<&OrielPhaseRun>) -> i32 {
    run.map_or(0, |run| run.is_changed.into())
}

/// `oriel_phase_run_text`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_phase_run_text(run: Option<&OrielPhaseRun>) -> *const c_char {
    run.map_or(std::ptr::null(), |run| run.text.as_ptr())
}

/// `oriel_phase_run_effects`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_phase_run_effects(run: Option<&OrielPhaseRun>) -> *const c_char {
    run.map_or(std::ptr::null(), |run| run.effects.as_ptr())
}

/// `oriel_phase_run_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_phase_run_dispose(run: Option<Box<OrielPhaseRun>>) {
    drop(run);
}
