//! PTX compiled and loaded by the driver: its kernels and variables.

use super::api::{
    ERROR_NOT_FOUND, FUNCTION_DYNAMIC_SHARED_BYTES, FUNCTION_LOCAL_BYTES, FUNCTION_REGISTERS, Handle,
    JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES, LAUNCH_PARAMETERS_END, LAUNCH_PARAMETERS_POINTER,
    LAUNCH_PARAMETERS_SIZE,
};
use super::{ComputeCapability, Context, CudaError, PtxTarget};
use oriel_interpreter::{self, Kernel, Launch, lay_out_arguments};
use std::ffi::{CStr, CString, c_int, c_void};
use std::ptr::without_provenance_mut;

/// Limit in bytes for the messages of the driver's compiler.
const LOG_BYTES: usize = 16 << 10;

/// The most bytes of a kernel's parameters (from compute capability 7.0 and PTX 8.1 on).
const MAXIMUM_PARAMETER_BYTES: usize = 32_764;

/// True for an ELF file of 64 bits that contains its own tables of sections and segments, which
/// ptxas puts last.
fn is_whole(code: &[u8]) -> bool {
    let number = |place: usize, bytes: usize| {
        let bytes = code.get(place..place + bytes)?;
        Some(
            bytes
                .iter()
                .rev()
                .fold(0u64, |value, &byte| value << 8 | u64::from(byte)),
        )
    };
    let is_inside = |offset, size, count| {
        let (offset, size, count) = (number(offset, 8)?, number(size, 2)?, number(count, 2)?);
        Some(offset.checked_add(size * count)? <= code.len() as u64)
    };
    code.starts_with(b"\x7fELF\x02")
        && is_inside(0x20, 0x36, 0x38) == Some(true)
        && is_inside(0x28, 0x3a, 0x3c) == Some(true)
}

/// Checks that the target of PTX runs on a context's device, by a method of [`PtxTarget`].
fn check_target(
    context: &Context<'_>,
    ptx: &str,
    runs_on: impl Fn(PtxTarget, ComputeCapability) -> bool,
) -> Result<(), CudaError> {
    let device = context.compute_capability();
    let target = PtxTarget::of_ptx(ptx).ok_or(CudaError::NoTarget)?;
    match runs_on(target, device) {
        true => Ok(()),
        false => Err(CudaError::Target {
            target: target.to_string(),
            device,
        }),
    }
}

/// A module on a device, unloaded when dropped.
pub struct Module<'c> {
    context: &'c Context<'c>,
    handle: Handle,
    declared: oriel_interpreter::Module,
}

impl<'c> Module<'c> {
    /// Lets the driver compile and load PTX.
    ///
    /// # Errors
    /// The PTX is for a compute capability that the device does not support, or the driver cannot
    /// compile it.
    pub fn from_ptx(context: &'c Context<'c>, ptx: &CStr) -> Result<Self, CudaError> {
        let text = ptx.to_str().map_err(|_| CudaError::NotText)?;
        check_target(context, text, PtxTarget::runs_on)?;
        let declared = oriel_interpreter::Module::parse(text)?;
        Self::load(context, ptx.to_bytes_with_nul(), declared)
    }

    /// Loads a cubin that ptxas made of PTX.
    ///
    /// # Errors
    /// The cubin is cut off, or for another device.
    pub fn from_machine_code(context: &'c Context<'c>, ptx: &str, code: &[u8]) -> Result<Self, CudaError> {
        if !is_whole(code) {
            return Err(CudaError::NotMachineCode);
        }
        check_target(context, ptx, PtxTarget::code_runs_on)?;
        Self::load(context, code, oriel_interpreter::Module::parse(ptx)?)
    }

    /// Loads PTX that ends with a zero, or a cubin.
    fn load(
        context: &'c Context<'c>,
        image: &[u8],
        declared: oriel_interpreter::Module,
    ) -> Result<Self, CudaError> {
        let api = context.enter()?;
        let mut log = vec![0u8; LOG_BYTES];
        let mut options = [JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values: [*mut c_void; 2] = [log.as_mut_ptr().cast(), without_provenance_mut(LOG_BYTES)];
        let mut handle = std::ptr::null_mut();
        // SAFETY: PTX ends with a zero, a cubin contains its length; there are as many options as
        // values, and they give the length of the log. The driver reads and writes them before the call returns.
        let loaded = unsafe {
            api.module_load(
                &raw mut handle,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        loaded.map_err(|error| CudaError::Jit {
            error: Box::new(error),
            log: CStr::from_bytes_until_nul(&log)
                .map_or_else(|_| String::from_utf8_lossy(&log), CStr::to_string_lossy)
                .trim()
                .to_owned(),
        })?;
        Ok(Self {
            context,
            handle,
            declared,
        })
    }

    /// Returns the context that it is loaded in.
    pub fn context(&self) -> &'c Context<'c> {
        self.context
    }

    /// Returns the declarations of the PTX.
    pub fn declared(&self) -> &oriel_interpreter::Module {
        &self.declared
    }

    /// Returns a kernel by its name in the PTX.
    ///
    /// # Errors
    /// There is no such kernel.
    pub fn function(&self, name: &str) -> Result<Function<'_>, CudaError> {
        let no_kernel = || CudaError::NoKernel(name.to_owned());
        let kernel = self.declared.kernel(name).ok_or_else(no_kernel)?;
        let symbol = CString::new(name).map_err(|_| no_kernel())?;
        let mut handle = std::ptr::null_mut();
        // SAFETY: a place for the result, a loaded module, and a name that ends with a zero.
        unsafe {
            self.context
                .enter()?
                .module_function(&raw mut handle, self.handle, symbol.as_ptr())
        }?;
        Ok(Function {
            module: self,
            handle,
            kernel,
        })
    }

    /// Returns a global variable by its name in the PTX, or `None` if the driver hides it, as it
    /// may if no other module can name it.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn global(&self, name: &str) -> Result<Option<GlobalVariable<'_>>, CudaError> {
        let Ok(symbol) = CString::new(name) else {
            return Ok(None);
        };
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: places for the results, a loaded module, and a name that ends with a zero.
        let found = unsafe {
            self.context.enter()?.module_global(
                &raw mut address,
                &raw mut bytes,
                self.handle,
                symbol.as_ptr(),
            )
        };
        match found {
            Ok(()) => Ok(Some(GlobalVariable {
                module: self,
                address,
                bytes,
            })),
            Err(CudaError::Call {
                code: ERROR_NOT_FOUND,
                ..
            }) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

impl Drop for Module<'_> {
    fn drop(&mut self) {
        if let Ok(api) = self.context.enter() {
            // Errors cannot be reported; after a failed kernel, they are that kernel's. SAFETY: a
            // loaded module, unloaded once; functions and variables borrow it.
            let _ = unsafe { api.module_unload(self.handle) };
        }
    }
}

/// A module variable in device memory.
pub struct GlobalVariable<'m> {
    module: &'m Module<'m>,
    address: u64,
    bytes: usize,
}

impl GlobalVariable<'_> {
    /// Returns the address of its first byte, as kernels see it.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Returns its size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.bytes
    }

    /// Reads the content after all started work is done.
    ///
    /// # Errors
    /// A kernel failed.
    pub fn read(&self) -> Result<Vec<u8>, CudaError> {
        self.module.context.read(self.address, self.bytes)
    }
}

/// A kernel of a module.
pub struct Function<'m> {
    module: &'m Module<'m>,
    handle: Handle,
    kernel: &'m Kernel,
}

impl<'m> Function<'m> {
    /// Returns the registers per thread that the driver's compiler allocated.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn registers(&self) -> Result<u32, CudaError> {
        self.attribute(FUNCTION_REGISTERS)
    }

    /// Returns the bytes of local memory per thread: arrays and spilled registers.
    ///
    /// # Errors
    /// The driver refused the call.
    pub fn local_bytes(&self) -> Result<u32, CudaError> {
        self.attribute(FUNCTION_LOCAL_BYTES)
    }

    fn attribute(&self, attribute: c_int) -> Result<u32, CudaError> {
        let mut value = 0;
        // SAFETY: a place for the result, and a function of a loaded module.
        unsafe {
            self.module
                .context
                .enter()?
                .function_attribute(&raw mut value, attribute, self.handle)
        }?;
        Ok(u32::try_from(value).unwrap_or(0))
    }

    /// Prepares a launch of the kernel. Arguments shorter than their parameters are padded with
    /// zeros. Pointers among them are device addresses, which nothing checks.
    ///
    /// # Errors
    /// The launch is for another kernel, or the arguments do not match the parameters.
    pub fn prepare(&self, launch: &Launch) -> Result<PreparedLaunch<'m>, CudaError> {
        if launch.kernel != self.kernel.name {
            return Err(CudaError::Misfit(format!(
                "a launch of {} is not one of {}",
                launch.kernel, self.kernel.name
            )));
        }
        let (mut parameters, _) = lay_out_arguments(launch, Some(&self.kernel.parameters))
            .map_err(|fault| CudaError::Misfit(fault.to_string()))?;
        let parameter_bytes = parameters.len();
        // The number of parameters that the driver found in the PTX is unknown.
        parameters.resize(parameter_bytes.max(MAXIMUM_PARAMETER_BYTES), 0);
        Ok(PreparedLaunch {
            module: self.module,
            handle: self.handle,
            grid: launch.grid,
            block: launch.block,
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
            parameters,
            parameter_bytes,
        })
    }
}

/// A launch with its arguments.
pub struct PreparedLaunch<'m> {
    module: &'m Module<'m>,
    handle: Handle,
    grid: [u32; 3],
    block: [u32; 3],
    dynamic_shared_bytes: u32,
    parameters: Vec<u8>,
    parameter_bytes: usize,
}

impl PreparedLaunch<'_> {
    /// Starts the kernel.
    ///
    /// # Errors
    /// The driver refused it. Errors inside the kernel are reported by later calls.
    pub fn start(&self) -> Result<(), CudaError> {
        let mut parameter_bytes = self.parameter_bytes;
        let mut extra: [*mut c_void; 5] = [
            without_provenance_mut(LAUNCH_PARAMETERS_POINTER),
            self.parameters.as_ptr().cast_mut().cast(),
            without_provenance_mut(LAUNCH_PARAMETERS_SIZE),
            (&raw mut parameter_bytes).cast(),
            without_provenance_mut(LAUNCH_PARAMETERS_END),
        ];
        let api = self.module.context.enter()?;
        if self.dynamic_shared_bytes > 0 {
            // More than 48 KiB must be requested, including arrays of fixed size.
            let bytes = c_int::try_from(self.dynamic_shared_bytes).unwrap_or(c_int::MAX);
            // SAFETY: a function of a loaded module.
            unsafe { api.function_set_attribute(self.handle, FUNCTION_DYNAMIC_SHARED_BYTES, bytes) }?;
        }
        let ([grid_x, grid_y, grid_z], [block_x, block_y, block_z]) = (self.grid, self.block);
        // SAFETY: a function of a loaded module; no stream is the default stream; the parameters
        // are only read, and copied before the call returns, and there are as many bytes as any kernel can have.
        unsafe {
            api.launch(
                self.handle,
                grid_x,
                grid_y,
                grid_z,
                block_x,
                block_y,
                block_z,
                self.dynamic_shared_bytes,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
                extra.as_mut_ptr(),
            )
        }
    }
}
