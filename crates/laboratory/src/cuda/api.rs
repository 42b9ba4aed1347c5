//! The driver's functions, resolved by name from its library.
//!
//! The names with `_v2` are those to which `cuda.h` maps the plain names; the plain symbols have
//! another ABI.

use super::error::{Absent, CudaError};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::mem::ManuallyDrop;
use std::path::Path;

/// `CUresult`: zero is success.
type Status = c_int;
/// `CUdevice`.
pub(super) type DeviceNumber = c_int;
/// `CUdeviceptr`.
pub(super) type DeviceAddress = u64;
/// `CUcontext`, `CUmodule`, `CUfunction`, `CUstream`: pointers that only the driver follows.
pub(super) type Handle = *mut c_void;

/// `CUDA_ERROR_NOT_FOUND`: no symbol of that name.
pub(super) const ERROR_NOT_FOUND: i32 = 500;

/// `CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE`, in bytes.
pub(super) const DEVICE_CACHE_BYTES: c_int = 38;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR`.
pub(super) const DEVICE_CAPABILITY_MAJOR: c_int = 75;
/// `CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR`.
pub(super) const DEVICE_CAPABILITY_MINOR: c_int = 76;

/// `CU_JIT_ERROR_LOG_BUFFER`.
pub(super) const JIT_ERROR_LOG_BUFFER: c_int = 5;
/// `CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES`.
pub(super) const JIT_ERROR_LOG_BUFFER_SIZE_BYTES: c_int = 6;

/// `CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES`.
pub(super) const FUNCTION_LOCAL_BYTES: c_int = 3;
/// `CU_FUNC_ATTRIBUTE_NUM_REGS`.
pub(super) const FUNCTION_REGISTERS: c_int = 4;
/// `CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES`.
pub(super) const FUNCTION_DYNAMIC_SHARED_BYTES: c_int = 8;

/// `CU_LAUNCH_PARAM_END`, `CU_LAUNCH_PARAM_BUFFER_POINTER`, `CU_LAUNCH_PARAM_BUFFER_SIZE`: small
/// numbers in place of addresses.
pub(super) const LAUNCH_PARAMETERS_END: usize = 0;
pub(super) const LAUNCH_PARAMETERS_POINTER: usize = 1;
pub(super) const LAUNCH_PARAMETERS_SIZE: usize = 2;

/// Declares [`Api`]: for each function a pointer, and a method that calls it and converts its
/// status to a result.
macro_rules! driver_functions {
    ($($(#[$attribute:meta])* $name:ident = $symbol:ident($($argument:ident: $type:ty),*);)*) => {
        /// The functions of a loaded driver.
        pub(super) struct Api {
            $($name: unsafe extern "system" fn($($argument: $type),*) -> Status,)*
            error_name: ErrorText,
            error_text: ErrorText,
            /// The library that contains the functions. Never unloaded: the driver has threads and
            /// exit handlers.
            _library: ManuallyDrop<Library>,
        }

        impl Api {
            /// Resolves every function.
            ///
            /// # Safety
            /// The library's symbols with the names of driver functions have their types.
            unsafe fn resolve(library: Library, file: &Path) -> Result<Self, Absent> {
                let missing = |symbol| move |_| Absent::Symbol { file: file.to_owned(), symbol };
                Ok(Self {
                    $(
                        // SAFETY: the caller vouches for the type.
                        $name: *unsafe { library.get(stringify!($symbol)) }.map_err(missing(stringify!($symbol)))?,
                    )*
                    // SAFETY: as above.
                    error_name: *unsafe { library.get("cuGetErrorName") }.map_err(missing("cuGetErrorName"))?,
                    // SAFETY: as above.
                    error_text: *unsafe { library.get("cuGetErrorString") }.map_err(missing("cuGetErrorString"))?,
                    _library: ManuallyDrop::new(library),
                })
            }

            $(
                $(#[$attribute])*
                #[doc = concat!("`", stringify!($symbol), "`.")]
                ///
                /// # Safety
                /// Pointers must be valid as the driver's documentation requires, and handles must
                /// come from this driver and be alive.
                pub unsafe fn $name(&self, $($argument: $type),*) -> Result<(), CudaError> {
                    // SAFETY: the caller vouches for the arguments; the library is never unloaded.
                    let status = unsafe { (self.$name)($($argument),*) };
                    self.check(stringify!($symbol), status)
                }
            )*
        }
    };
}

/// `cuGetErrorName` and `cuGetErrorString`.
type ErrorText = unsafe extern "system" fn(Status, *mut *const c_char) -> Status;

driver_functions! {
    init = cuInit(flags: c_uint);
    device_count = cuDeviceGetCount(count: *mut c_int);
    device_get = cuDeviceGet(device: *mut DeviceNumber, ordinal: c_int);
    device_name = cuDeviceGetName(name: *mut c_char, length: c_int, device: DeviceNumber);
    device_attribute = cuDeviceGetAttribute(value: *mut c_int, attribute: c_int, device: DeviceNumber);
    context_retain = cuDevicePrimaryCtxRetain(context: *mut Handle, device: DeviceNumber);
    context_release = cuDevicePrimaryCtxRelease_v2(device: DeviceNumber);
    context_set_current = cuCtxSetCurrent(context: Handle);
    context_synchronize = cuCtxSynchronize();
    module_load = cuModuleLoadDataEx(
        module: *mut Handle,
        image: *const c_void,
        option_count: c_uint,
        options: *mut c_int,
        option_values: *mut *mut c_void
    );
    module_unload = cuModuleUnload(module: Handle);
    module_function = cuModuleGetFunction(function: *mut Handle, module: Handle, name: *const c_char);
    module_global = cuModuleGetGlobal_v2(
        address: *mut DeviceAddress,
        bytes: *mut usize,
        module: Handle,
        name: *const c_char
    );
    memory_allocate = cuMemAlloc_v2(address: *mut DeviceAddress, bytes: usize);
    memory_free = cuMemFree_v2(address: DeviceAddress);
    memory_to_device = cuMemcpyHtoD_v2(to: DeviceAddress, from: *const c_void, bytes: usize);
    memory_to_host = cuMemcpyDtoH_v2(to: *mut c_void, from: DeviceAddress, bytes: usize);
    memory_copy = cuMemcpyDtoD_v2(to: DeviceAddress, from: DeviceAddress, bytes: usize);
    memory_set = cuMemsetD8_v2(to: DeviceAddress, value: u8, bytes: usize);
    event_create = cuEventCreate(event: *mut Handle, flags: c_uint);
    event_record = cuEventRecord(event: Handle, stream: Handle);
    event_synchronize = cuEventSynchronize(event: Handle);
    event_elapsed = cuEventElapsedTime(milliseconds: *mut f32, start: Handle, end: Handle);
    event_destroy = cuEventDestroy_v2(event: Handle);
    function_attribute = cuFuncGetAttribute(value: *mut c_int, attribute: c_int, function: Handle);
    function_set_attribute = cuFuncSetAttribute(function: Handle, attribute: c_int, value: c_int);
    #[expect(clippy::too_many_arguments, reason = "as the driver has it")]
    launch = cuLaunchKernel(
        function: Handle,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        dynamic_shared_bytes: c_uint,
        stream: Handle,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void
    );
}

impl Api {
    /// Loads a driver from a path, or by a name that the system's loader searches for.
    ///
    /// # Safety
    /// If the library has all the names of the driver's functions, it is a CUDA driver.
    pub unsafe fn load(file: &Path) -> Result<Self, Absent> {
        // SAFETY: loading runs the library's initialisation, which the caller vouches for.
        let library = unsafe { Library::new(file) }.map_err(|error| Absent::Library {
            file: file.to_owned(),
            problem: error.to_string(),
        })?;
        // SAFETY: the caller vouches that these names are the driver's; these are their types in
        // cuda.h.
        unsafe { Self::resolve(library, file) }
    }

    fn check(&self, call: &'static str, status: Status) -> Result<(), CudaError> {
        if status == 0 {
            return Ok(());
        }
        Err(CudaError::Call {
            call,
            code: status,
            name: self
                .text_of(status, self.error_name)
                .unwrap_or_else(|| "unknown error".to_owned()),
            text: self
                .text_of(status, self.error_text)
                .unwrap_or_else(|| "no description".to_owned()),
        })
    }

    fn text_of(&self, status: Status, function: ErrorText) -> Option<String> {
        let mut text = std::ptr::null();
        // SAFETY: the function stores a pointer at the given place, or fails.
        let found = unsafe { function(status, &raw mut text) } == 0 && !text.is_null();
        // SAFETY: the driver's error texts end with a zero and are never freed.
        found.then(|| unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
    }
}
