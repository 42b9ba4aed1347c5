//! A context on a device, and its memory.
//!
//! The driver works on the context that is current in a thread. [`Context::enter`] makes its own
//! current before each call, so several contexts in one thread do not get in each other's way;
//! contexts stay in their thread.

use super::api::{Api, DeviceAddress, DeviceNumber, Handle};
use super::{ComputeCapability, CudaError, Device};

/// A device's primary context; given back when dropped.
pub struct Context<'d> {
    api: &'d Api,
    device: DeviceNumber,
    capability: ComputeCapability,
    handle: Handle,
}

impl<'d> Context<'d> {
    pub(super) fn retain(device: &Device<'d>) -> Result<Self, CudaError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a place for the result, and a device of this driver.
        unsafe { device.api.context_retain(&raw mut handle, device.number) }?;
        let context = Self {
            api: device.api,
            device: device.number,
            capability: device.compute_capability(),
            handle,
        };
        context.enter()?;
        Ok(context)
    }

    /// Makes this the current context, for the calls that follow.
    pub(super) fn enter(&self) -> Result<&'d Api, CudaError> {
        // SAFETY: the context is retained until it is dropped.
        unsafe { self.api.context_set_current(self.handle) }?;
        Ok(self.api)
    }

    /// Returns the compute capability of its device.
    pub fn compute_capability(&self) -> ComputeCapability {
        self.capability
    }

    /// Waits until all that was started is done.
    ///
    /// # Errors
    /// A kernel failed. The context is of no use from then on.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: no arguments.
        unsafe { self.enter()?.context_synchronize() }
    }

    /// Memory on the device with a copy of `contents`, which must not be empty.
    ///
    /// # Errors
    /// There is not enough.
    pub fn buffer_from(&self, contents: &[u8]) -> Result<DeviceBuffer<'_>, CudaError> {
        let buffer = self.allocate(contents.len())?;
        // SAFETY: both are `contents.len()` bytes long, and the copy is complete when the call
        // returns.
        unsafe {
            self.enter()?
                .memory_to_device(buffer.address, contents.as_ptr().cast(), contents.len())
        }?;
        Ok(buffer)
    }

    /// Memory on the device, of zeros; at least one byte.
    ///
    /// # Errors
    /// There is not enough.
    pub fn zeroed_buffer(&self, bytes: usize) -> Result<DeviceBuffer<'_>, CudaError> {
        let buffer = self.allocate(bytes)?;
        // SAFETY: the allocation is `bytes` long.
        unsafe { self.enter()?.memory_set(buffer.address, 0, bytes) }?;
        Ok(buffer)
    }

    fn allocate(&self, bytes: usize) -> Result<DeviceBuffer<'_>, CudaError> {
        let mut address = 0;
        // SAFETY: a place for the result.
        unsafe { self.enter()?.memory_allocate(&raw mut address, bytes) }?;
        Ok(DeviceBuffer {
            context: self,
            address,
            bytes,
        })
    }

    /// Returns the contents of device memory; refused by the driver where there is none.
    pub(super) fn read(&self, address: DeviceAddress, bytes: usize) -> Result<Vec<u8>, CudaError> {
        let mut contents = vec![0; bytes];
        // SAFETY: `contents` has room for what is copied, and the copy is complete when the call
        // returns.
        unsafe {
            self.enter()?
                .memory_to_host(contents.as_mut_ptr().cast(), address, bytes)
        }?;
        Ok(contents)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // Errors have nowhere to go; after a failed kernel, they are that kernel's. SAFETY: no
        // context is always a context that can be made current; the device was retained once by
        // this.
        unsafe {
            let _ = self.api.context_set_current(std::ptr::null_mut());
            let _ = self.api.context_release(self.device);
        }
    }
}

/// Memory on the device; freed when dropped.
pub struct DeviceBuffer<'c> {
    context: &'c Context<'c>,
    address: DeviceAddress,
    bytes: usize,
}

impl DeviceBuffer<'_> {
    /// Returns the address of its first byte, as kernels see it: a multiple of 256.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// What it holds, when all that was started before is done.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn read(&self) -> Result<Vec<u8>, CudaError> {
        self.context.read(self.address, self.bytes)
    }
}

impl Drop for DeviceBuffer<'_> {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // Errors have nowhere to go; after a failed kernel, they are that kernel's.
            // SAFETY: the driver's allocation, freed once; it waits for kernels that run.
            let _ = unsafe { api.memory_free(self.address) };
        }
    }
}
