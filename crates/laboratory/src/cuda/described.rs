//! Runs the launches of a description on a device.

use super::{CudaError, Device, Module};
use oriel_interpreter::launch::{BufferId, Initial, LaunchDescription, Role};
use oriel_interpreter::{BufferResult, Launch, VariableSpace, hash_buffers};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// The resources that the driver's compiler assigned to a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    /// Registers per thread.
    pub registers: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
}

/// The results of a description's launches on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceResult {
    /// The description's buffers in order.
    pub buffers: Vec<BufferResult>,
    /// The module's visible global variables, with addresses blanked by zeros.
    pub variables: Vec<BufferResult>,
    /// The launched kernels, by name.
    pub kernels: Vec<KernelResources>,
    /// The time of the driver's compiler.
    pub load_time: Duration,
    /// From the first launch to the end of the last.
    pub run_time: Duration,
}

impl DeviceResult {
    /// Returns a hash of all memory contents.
    pub fn hash(&self) -> u64 {
        hash_buffers(self.buffers.iter().chain(&self.variables))
    }
}

/// Runs the launches of a description in order in a new context, starting from the initial contents
/// of its buffers.
///
/// # Errors
/// The device cannot run the PTX, a launch failed, or one changed a read-only buffer.
pub fn run_described_on_device(
    device: &Device<'_>,
    ptx: &CStr,
    description: &LaunchDescription,
) -> Result<DeviceResult, CudaError> {
    let context = device.context()?;
    let start = Instant::now();
    let module = Module::from_ptx(&context, ptx)?;
    let load_time = start.elapsed();
    let mut buffers = Vec::new();
    for buffer in description.buffers() {
        buffers.push(match buffer.initial {
            Initial::Zero => context.zeroed_buffer(buffer.size_bytes())?,
            _ => context.buffer_from(&buffer.initial_bytes())?,
        });
    }
    let address_of = |id: BufferId| buffers[id.index()].address();

    let mut functions = BTreeMap::new();
    for launch in &description.launches {
        functions.insert(launch.kernel.as_str(), module.function(&launch.kernel)?);
    }
    let start = Instant::now();
    for launch in &description.launches {
        functions[launch.kernel.as_str()].launch(&Launch::from_description(launch, &address_of))?;
    }
    context.synchronize()?;
    let run_time = start.elapsed();

    let mut results = Vec::new();
    for (buffer, memory) in description.buffers().iter().zip(&buffers) {
        let bytes = memory.read()?;
        if buffer.role == Role::In && bytes != buffer.initial_bytes() {
            return Err(CudaError::InputChanged(buffer.name.clone()));
        }
        results.push(BufferResult {
            name: buffer.name.clone(),
            bytes,
        });
    }
    let kernels = functions.iter().map(|(&name, function)| {
        Ok(KernelResources {
            name: name.to_owned(),
            registers: function.registers()?,
            local_bytes: function.local_bytes()?,
        })
    });
    Ok(DeviceResult {
        buffers: results,
        variables: read_variables(&module)?,
        kernels: kernels.collect::<Result<_, CudaError>>()?,
        load_time,
        run_time,
    })
}

/// Reads the global variables of a module. Addresses of functions and variables in initial values
/// differ from load to load and are blanked.
fn read_variables(module: &Module<'_>) -> Result<Vec<BufferResult>, CudaError> {
    let mut results = Vec::new();
    let variables = module.declared().variables.iter();
    for variable in variables.filter(|variable| variable.space == VariableSpace::Global) {
        let Some(global) = module.global(&variable.name)? else {
            continue;
        };
        let mut bytes = global.read()?;
        for reference in &variable.references {
            if let Some(address) = bytes.get_mut(reference.offset..reference.offset + reference.bytes) {
                address.fill(0);
            }
        }
        results.push(BufferResult {
            name: variable.name.clone(),
            bytes,
        });
    }
    Ok(results)
}
