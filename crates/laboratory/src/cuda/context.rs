//! A context on a device, and device memory.
//!
//! The driver uses the thread's current context. [`Context::enter`] makes its own context current
//! before each call, so several contexts in one thread do not interfere; contexts stay in their
//! thread.

use super::api::{Api, DeviceAddress, DeviceNumber, Handle};
use super::{ComputeCapability, CudaError, Device};
use std::time::Duration;

/// A device's primary context, released when dropped.
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

    /// Makes this the current context for the following calls.
    pub(super) fn enter(&self) -> Result<&'d Api, CudaError> {
        // SAFETY: the context is retained until it is dropped.
        unsafe { self.api.context_set_current(self.handle) }?;
        Ok(self.api)
    }

    /// Returns the compute capability of its device.
    pub fn compute_capability(&self) -> ComputeCapability {
        self.capability
    }

    /// Waits for all started work.
    ///
    /// # Errors
    /// A kernel failed. The context is unusable from then on.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: no arguments.
        unsafe { self.enter()?.context_synchronize() }
    }

    /// Allocates device memory with a copy of `contents`, which must not be empty.
    ///
    /// # Errors
    /// There is not enough memory.
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

    /// Allocates zeroed device memory of at least one byte.
    ///
    /// # Errors
    /// There is not enough memory.
    pub fn zeroed_buffer(&self, bytes: usize) -> Result<DeviceBuffer<'_>, CudaError> {
        let buffer = self.allocate(bytes)?;
        buffer.clear()?;
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

    /// Creates an event.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn event(&self) -> Result<Event<'_>, CudaError> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a place for the result.
        unsafe { self.enter()?.event_create(&raw mut handle, 0) }?;
        Ok(Event {
            context: self,
            handle,
        })
    }

    /// Allocates device memory with a copy of other device memory, after all started work.
    pub(super) fn copy_of(&self, from: DeviceAddress, bytes: usize) -> Result<DeviceBuffer<'_>, CudaError> {
        let buffer = self.allocate(bytes)?;
        self.copy(buffer.address, from, bytes)?;
        Ok(buffer)
    }

    /// Copies device memory, after all started work. The driver refuses addresses that are not
    /// allocated.
    pub(super) fn copy(&self, to: DeviceAddress, from: DeviceAddress, bytes: usize) -> Result<(), CudaError> {
        // SAFETY: the driver's own allocations, which it checks.
        unsafe { self.enter()?.memory_copy(to, from, bytes) }
    }

    /// Reads device memory. The driver refuses addresses that are not allocated.
    pub(super) fn read(&self, address: DeviceAddress, bytes: usize) -> Result<Vec<u8>, CudaError> {
        let mut contents = vec![0; bytes];
        // SAFETY: `contents` has room for the copy, which is complete when the call returns.
        unsafe {
            self.enter()?
                .memory_to_host(contents.as_mut_ptr().cast(), address, bytes)
        }?;
        Ok(contents)
    }
}

impl Drop for Context<'_> {
    fn drop(&mut self) {
        // Errors cannot be reported; after a failed kernel, they are that kernel's. SAFETY: a null
        // context can always be made current; this retained the device once.
        unsafe {
            let _ = self.api.context_set_current(std::ptr::null_mut());
            let _ = self.api.context_release(self.device);
        }
    }
}

/// Device memory, freed when dropped.
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

    /// Returns its size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }

    /// Fills it with zeros, after all started work.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn clear(&self) -> Result<(), CudaError> {
        // SAFETY: the allocation is that long.
        unsafe { self.context.enter()?.memory_set(self.address, 0, self.bytes) }
    }

    /// Reads the content after all started work is done.
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
            // Errors cannot be reported; after a failed kernel, they are that kernel's. SAFETY: the
            // driver's allocation, freed once; it waits for running kernels.
            let _ = unsafe { api.memory_free(self.address) };
        }
    }
}

/// A point in the order of a device's work, whose time can be asked for afterwards.
pub struct Event<'c> {
    context: &'c Context<'c>,
    handle: Handle,
}

impl Event<'_> {
    /// Sets the event after all work that has been started.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn record(&self) -> Result<(), CudaError> {
        // SAFETY: an event of this context; no stream is the default stream.
        unsafe {
            self.context
                .enter()?
                .event_record(self.handle, std::ptr::null_mut())
        }
    }

    /// Waits until the device has reached the event.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn synchronize(&self) -> Result<(), CudaError> {
        // SAFETY: an event of this context.
        unsafe { self.context.enter()?.event_synchronize(self.handle) }
    }

    /// Returns the time between an earlier event and this one, both of which were reached.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn time_since(&self, earlier: &Self) -> Result<Duration, CudaError> {
        let mut milliseconds = 0.0;
        // SAFETY: a place for the result, and events of this context.
        unsafe {
            self.context
                .enter()?
                .event_elapsed(&raw mut milliseconds, earlier.handle, self.handle)
        }?;
        Ok(Duration::from_secs_f64(f64::from(milliseconds.max(0.0)) / 1e3))
    }
}

impl Drop for Event<'_> {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // Errors cannot be reported; after a failed kernel, they are that kernel's. SAFETY: the
            // driver's event, destroyed once.
            let _ = unsafe { api.event_destroy(self.handle) };
        }
    }
}
