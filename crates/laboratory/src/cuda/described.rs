//! The launches of a description on a device.

use super::{CudaError, Device, Module};
use oriel_interpreter::launch::{BufferId, Initial, LaunchDescription, Role};
use oriel_interpreter::{BufferResult, Launch, VariableSpace, hash_buffers};
use std::collections::BTreeMap;
use std::ffi::CStr;
use std::time::{Duration, Instant};

/// What the driver's compiler has given a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelResources {
    /// The kernel's name.
    pub name: String,
    /// Registers of a thread.
    pub registers: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
}

/// What the launches of a description gave on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceResult {
    /// The description's buffers, in its order.
    pub buffers: Vec<BufferResult>,
    /// The module's global variables, those that the driver makes known; zeros in place of
    /// addresses.
    pub variables: Vec<BufferResult>,
    /// The kernels that were launched, by name.
    pub kernels: Vec<KernelResources>,
    /// How long the driver's compiler took.
    pub load_time: Duration,
    /// From the first launch to the end of the last.
    pub run_time: Duration,
}

impl DeviceResult {
    /// Returns a hash of everything that memory holds.
    pub fn hash(&self) -> u64 {
        hash_buffers(self.buffers.iter().chain(&self.variables))
    }
}

/// Runs the launches of a description, in order, from the initial contents of its buffers, in a
/// context of their own.
///
/// # Errors
/// The device cannot run the PTX, a launch failed, or one changed a buffer that is read only.
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

/// Returns the global variables of a module. Addresses of functions and variables, where an initial
/// value has them, differ from load to load and are blanked.
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
