//! Runs kernels on a real GPU through NVIDIA's driver, which is loaded at run time and never
//! linked.
//!
//! ```no_run
//! # fn example(ptx: &std::ffi::CStr, path: &str) -> Result<(), Box<dyn std::error::Error>> {
//! use oriel_laboratory::cuda::{Driver, run_described_on_device};
//! use oriel_interpreter::launch::LaunchDescription;
//! let driver = Driver::load()?;
//! let device = driver.device(0)?;
//! println!("{}, compute capability {}", device.name()?, device.compute_capability());
//! let result = run_described_on_device(&device, ptx, &LaunchDescription::load(path)?)?;
//! # Ok(()) }
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `api.rs` | the driver's functions, resolved by name |
//! | `driver.rs` | finding the driver, its devices |
//! | `context.rs` | a context on a device, its memory |
//! | `module.rs` | PTX compiled by the driver, kernels, launches |
//! | `capability.rs` | compute capabilities, and the PTX targets that each runs |
//! | `described.rs` | the launches of a description |
//! | `timing.rs` | their times, by modules that take turns |
//! | `compare.rs` | two runs of the same launches |
//! | `error.rs` | errors |
//!
//! # What is trusted
//!
//! The driver is trusted. A kernel is trusted like any program: on most systems it can only access
//! the device's memory, but where the device can access the host's pageable memory, a kernel with a
//! stray pointer can write there. A kernel that does not end is not stopped.

mod api;
mod capability;
mod compare;
mod context;
mod described;
mod driver;
mod error;
mod module;
mod timing;

pub use capability::{ComputeCapability, PtxTarget};
pub use compare::{Agreement, Comparison, compare};
pub use context::{Context, DeviceBuffer, Event};
pub use described::{DeviceMemory, DeviceResult, KernelResources, run_described_on_device};
pub use driver::{Device, Driver};
pub use error::{Absent, CudaError, DRIVER_ENVIRONMENT};
pub use module::{Function, GlobalVariable, Module, PreparedLaunch};
pub use timing::{KernelTimes, Stopwatch, TimedModule, time_described_on_device};
