//! Errors of the driver and of the device.

use super::ComputeCapability;
use oriel_interpreter::ModuleError;
use std::path::PathBuf;
use thiserror::Error;

/// The environment variable that names the driver's library.
pub const DRIVER_ENVIRONMENT: &str = "ORIEL_CUDA_DRIVER";

/// Why no driver is available.
#[derive(Debug, Error)]
pub enum Absent {
    /// The library cannot be loaded, most often because it is not installed.
    #[error(
        "{} cannot be loaded: {problem}; install NVIDIA's driver, or name its library in {DRIVER_ENVIRONMENT}",
        file.display()
    )]
    Library {
        /// The path, or the name that the system's loader searched for.
        file: PathBuf,
        /// The loader's message.
        problem: String,
    },
    /// The library lacks a function, so it is no driver or an outdated one.
    #[error("{} has no {symbol}: it is not a CUDA driver, or one older than CUDA 11", file.display())]
    Symbol {
        /// The library.
        file: PathBuf,
        /// The function's name.
        symbol: &'static str,
    },
    /// The driver cannot be initialised, as without a device.
    #[error("{} does not start: {error}", file.display())]
    Start {
        /// The library.
        file: PathBuf,
        /// The driver's error.
        error: CudaError,
    },
}

/// Why an operation on the device failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CudaError {
    /// The driver refused a call, or an earlier kernel failed.
    #[error("{call}: {name} ({code}): {text}")]
    Call {
        /// The driver's function.
        call: &'static str,
        /// The driver's error code.
        code: i32,
        /// The driver's name of the error.
        name: String,
        /// The driver's description of the error.
        text: String,
    },
    /// The driver cannot compile the PTX.
    #[error("the driver cannot compile the PTX: {error}{separator}{log}", separator = if log.is_empty() { "" } else { "\n" })]
    Jit {
        /// The error of the call.
        error: Box<CudaError>,
        /// The compiler's messages.
        log: String,
    },
    /// There is no device with this number.
    #[error("there is no device {number}: the driver has {count}")]
    NoDevice {
        /// The number.
        number: u32,
        /// The number of devices.
        count: u32,
    },
    /// The PTX, or ptxas' code for it, is for other devices.
    #[error(
        "the PTX is compiled for {target}, which does not run on a device of compute capability {device}"
    )]
    Target {
        /// The target of the PTX.
        target: String,
        /// The device's compute capability.
        device: ComputeCapability,
    },
    /// The PTX has no `.target sm_…`.
    #[error("the PTX does not say which compute capability it is for")]
    NoTarget,
    /// A declaration of the PTX is malformed.
    #[error(transparent)]
    Declaration(#[from] ModuleError),
    /// The PTX is not UTF-8.
    #[error("the PTX is not text")]
    NotText,
    /// The cubin is truncated, or is not a cubin.
    #[error("the machine code is cut off, or none")]
    NotMachineCode,
    /// The PTX has no kernel with this name.
    #[error("there is no kernel {0}")]
    NoKernel(String),
    /// The launch does not match the kernel, or a copy the buffer.
    #[error("{0}")]
    Misfit(String),
    /// A kernel wrote to a buffer that the description declares read-only.
    #[error("{0} is read only, but was changed")]
    InputChanged(String),
}
