//! Finds the driver and its devices.

use super::api::{Api, DEVICE_CACHE_BYTES, DEVICE_CAPABILITY_MAJOR, DEVICE_CAPABILITY_MINOR, DeviceNumber};
use super::{Absent, ComputeCapability, Context, CudaError, DRIVER_ENVIRONMENT};
use std::ffi::{CStr, c_char, c_int};
use std::path::{Path, PathBuf};

/// The name that the system's loader searches for.
const LIBRARY: &str = if cfg!(windows) {
    "nvcuda.dll"
} else {
    "libcuda.so.1"
};

/// A loaded and initialised driver.
pub struct Driver {
    api: Api,
}

impl Driver {
    /// Loads and initialises the driver that [`DRIVER_ENVIRONMENT`] names, or the system's.
    ///
    /// # Errors
    /// There is none, or it cannot be initialised, as without a device.
    pub fn load() -> Result<Self, Absent> {
        let file = std::env::var_os(DRIVER_ENVIRONMENT).map_or_else(|| PathBuf::from(LIBRARY), PathBuf::from);
        // SAFETY: it is NVIDIA's driver, or the one that the user named.
        unsafe { Self::load_from(&file) }
    }

    /// Loads and initialises a driver from a file. It stays loaded until the process ends.
    ///
    /// # Errors
    /// As [`load`](Self::load).
    ///
    /// # Safety
    /// If the file is a library that has all the names of the driver's functions, it is a CUDA
    /// driver.
    pub unsafe fn load_from(file: &Path) -> Result<Self, Absent> {
        // SAFETY: the caller vouches for the file.
        let api = unsafe { Api::load(file) }?;
        // SAFETY: no pointers; the flags must be zero.
        unsafe { api.init(0) }.map_err(|error| Absent::Start {
            file: file.to_owned(),
            error,
        })?;
        Ok(Self { api })
    }

    /// Returns the number of devices.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn device_count(&self) -> Result<u32, CudaError> {
        let mut count = 0;
        // SAFETY: a place for the result.
        unsafe { self.api.device_count(&raw mut count) }?;
        Ok(u32::try_from(count).unwrap_or(0))
    }

    /// Returns a device by number, from zero.
    ///
    /// # Errors
    /// There is no such device.
    pub fn device(&self, number: u32) -> Result<Device<'_>, CudaError> {
        let count = self.device_count()?;
        let ordinal = c_int::try_from(number).ok().filter(|_| number < count);
        let ordinal = ordinal.ok_or(CudaError::NoDevice { number, count })?;
        let mut device = 0;
        // SAFETY: a place for the result.
        unsafe { self.api.device_get(&raw mut device, ordinal) }?;
        let mut device = Device {
            api: &self.api,
            number: device,
            capability: ComputeCapability { major: 0, minor: 0 },
        };
        device.capability = ComputeCapability {
            major: device.attribute(DEVICE_CAPABILITY_MAJOR)?,
            minor: device.attribute(DEVICE_CAPABILITY_MINOR)?,
        };
        Ok(device)
    }
}

/// A GPU.
pub struct Device<'d> {
    pub(super) api: &'d Api,
    pub(super) number: DeviceNumber,
    capability: ComputeCapability,
}

impl<'d> Device<'d> {
    fn attribute(&self, attribute: c_int) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: a place for the result, and a device of this driver.
        unsafe { self.api.device_attribute(&raw mut value, attribute, self.number) }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Returns the size of its largest cache in bytes.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn cache_bytes(&self) -> Result<u32, CudaError> {
        self.attribute(DEVICE_CACHE_BYTES)
    }

    /// Returns its marketing name.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn name(&self) -> Result<String, CudaError> {
        let mut name = [0u8; 256];
        let length = name.len() as c_int;
        // SAFETY: the driver writes at most `length` bytes, including a final zero.
        unsafe {
            self.api
                .device_name(name.as_mut_ptr().cast::<c_char>(), length, self.number)
        }?;
        let name = CStr::from_bytes_until_nul(&name).unwrap_or_default();
        Ok(name.to_string_lossy().into_owned())
    }

    /// Returns its compute capability.
    pub fn compute_capability(&self) -> ComputeCapability {
        self.capability
    }

    /// Retains its primary context, creating it if necessary, and makes it current in this thread.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn context(&self) -> Result<Context<'d>, CudaError> {
        Context::retain(self)
    }
}
