//! What can go wrong on the way to a GPU and on it.

use super::ComputeCapability;
use oriel_interpreter::ModuleError;
use std::path::PathBuf;
use thiserror::Error;

/// The environment variable that names the driver's library, in place of the usual one.
pub const DRIVER_ENVIRONMENT: &str = "ORIEL_CUDA_DRIVER";

/// Why there is no driver to work with.
#[derive(Debug, Error)]
pub enum Absent {
    /// The library cannot be loaded, most often because it is not installed.
    #[error(
        "{} cannot be loaded: {problem}; install NVIDIA's driver, or name its library in {DRIVER_ENVIRONMENT}",
        file.display()
    )]
    Library {
        /// What was looked for: a path, or a name that the system's loader searches for.
        file: PathBuf,
        /// What the loader said.
        problem: String,
    },
    /// The library lacks a function, so it is no driver or one that is too old.
    #[error("{} has no {symbol}: it is no CUDA driver, or one older than CUDA 11", file.display())]
    Symbol {
        /// The library.
        file: PathBuf,
        /// The function's name.
        symbol: &'static str,
    },
    /// The driver is there and does not start; without a device it says so here.
    #[error("{} does not start: {error}", file.display())]
    Start {
        /// The library.
        file: PathBuf,
        /// What it said.
        error: CudaError,
    },
}

/// Why something was not done on the device.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CudaError {
    /// The driver refused a call, or a kernel before it failed.
    #[error("{call}: {name} ({code}): {text}")]
    Call {
        /// The driver's function.
        call: &'static str,
        /// The driver's number for the error.
        code: i32,
        /// The driver's name for it.
        name: String,
        /// What the driver says about it.
        text: String,
    },
    /// The driver cannot compile the PTX.
    #[error("the driver cannot compile the PTX: {error}{separator}{log}", separator = if log.is_empty() { "" } else { "\n" })]
    Jit {
        /// What the call to the driver gave.
        error: Box<CudaError>,
        /// What its compiler printed.
        log: String,
    },
    /// There is no device of this number.
    #[error("there is no device {number}: the driver has {count}")]
    NoDevice {
        /// What was asked for.
        number: u32,
        /// How many devices there are.
        count: u32,
    },
    /// The PTX is for other devices than this one.
    #[error(
        "the PTX is compiled for {target}, which does not run on a device of compute capability {device}"
    )]
    Target {
        /// The target that the PTX names.
        target: String,
        /// What the device has.
        device: ComputeCapability,
    },
    /// The PTX has no `.target sm_…`.
    #[error("the PTX does not say which compute capability it is for")]
    NoTarget,
    /// A declaration of the PTX cannot be read.
    #[error(transparent)]
    Declaration(#[from] ModuleError),
    /// The PTX is not UTF-8.
    #[error("the PTX is not text")]
    NotText,
    /// The PTX has no kernel of this name.
    #[error("there is no kernel {0}")]
    NoKernel(String),
    /// The launch does not fit the kernel, or a copy the buffer.
    #[error("{0}")]
    Misfit(String),
    /// A kernel wrote to a buffer that the description declares read only.
    #[error("{0} is read only, but was changed")]
    InputChanged(String),
}
