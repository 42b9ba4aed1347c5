//! Runs the launches of a description on a device.

use super::{Context, CudaError, Device, DeviceBuffer, GlobalVariable, Module, PreparedLaunch};
use oriel_interpreter::launch::{BufferId, Initial, LaunchDescription, Role};
use oriel_interpreter::{BufferResult, Launch, Variable, VariableSpace, hash_buffers};
use std::collections::BTreeSet;
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

/// The memory that a description's launches leave on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// The description's buffers in order.
    pub buffers: Vec<BufferResult>,
    /// The module's visible global variables, with addresses blanked by zeros.
    pub variables: Vec<BufferResult>,
}

impl DeviceMemory {
    /// Reads it after all started work.
    ///
    /// # Errors
    /// A kernel failed, or changed a read-only buffer.
    pub(super) fn read(
        description: &LaunchDescription,
        buffers: &[DeviceBuffer<'_>],
        module: &Module<'_>,
    ) -> Result<Self, CudaError> {
        Ok(Self {
            buffers: read_buffers(description, buffers)?,
            variables: read_variables(module)?,
        })
    }

    /// Returns all of it.
    pub fn all(&self) -> impl Iterator<Item = &BufferResult> {
        self.buffers.iter().chain(&self.variables)
    }

    /// Returns a hash of all contents.
    pub fn hash(&self) -> u64 {
        hash_buffers(self.all())
    }
}

/// The results of a description's launches on a device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceResult {
    /// The memory after the launches.
    pub memory: DeviceMemory,
    /// The launched kernels, by name.
    pub kernels: Vec<KernelResources>,
    /// The time of the driver's compiler.
    pub load_time: Duration,
    /// From the first launch to the end of the last.
    pub run_time: Duration,
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
    let buffers = allocate_buffers(&context, description)?;
    let launches = prepare_launches(&module, description, &buffers)?;
    let start = Instant::now();
    for launch in &launches {
        launch.start()?;
    }
    context.synchronize()?;
    let run_time = start.elapsed();
    Ok(DeviceResult {
        memory: DeviceMemory::read(description, &buffers, &module)?,
        kernels: resources(&module, description)?,
        load_time,
        run_time,
    })
}

/// Allocates the buffers of a description, with their initial contents.
pub(super) fn allocate_buffers<'c>(
    context: &'c Context<'c>,
    description: &LaunchDescription,
) -> Result<Vec<DeviceBuffer<'c>>, CudaError> {
    let buffers = description.buffers().iter();
    let allocated = buffers.map(|buffer| match buffer.initial {
        Initial::Zero => context.zeroed_buffer(buffer.size_bytes()),
        _ => context.buffer_from(&buffer.initial_bytes()),
    });
    allocated.collect()
}

/// Prepares the launches of a description on its buffers.
pub(super) fn prepare_launches<'m>(
    module: &'m Module<'m>,
    description: &LaunchDescription,
    buffers: &[DeviceBuffer<'_>],
) -> Result<Vec<PreparedLaunch<'m>>, CudaError> {
    let address_of = |id: BufferId| buffers[id.index()].address();
    let launches = description.launches.iter().map(|launch| {
        module
            .function(&launch.kernel)?
            .prepare(&Launch::from_description(launch, &address_of))
    });
    launches.collect()
}

/// Reads the buffers; see [`DeviceMemory::read`].
fn read_buffers(
    description: &LaunchDescription,
    buffers: &[DeviceBuffer<'_>],
) -> Result<Vec<BufferResult>, CudaError> {
    let buffers = description.buffers().iter().zip(buffers);
    let results = buffers.map(|(buffer, memory)| {
        let bytes = memory.read()?;
        if buffer.role == Role::In && bytes != buffer.initial_bytes() {
            return Err(CudaError::InputChanged(buffer.name.clone()));
        }
        Ok(BufferResult {
            name: buffer.name.clone(),
            bytes,
        })
    });
    results.collect()
}

/// Returns the resources of the launched kernels, by name.
fn resources(
    module: &Module<'_>,
    description: &LaunchDescription,
) -> Result<Vec<KernelResources>, CudaError> {
    let names: BTreeSet<&str> = description
        .launches
        .iter()
        .map(|launch| launch.kernel.as_str())
        .collect();
    let kernels = names.into_iter().map(|name| {
        let function = module.function(name)?;
        Ok(KernelResources {
            name: name.to_owned(),
            registers: function.registers()?,
            local_bytes: function.local_bytes()?,
        })
    });
    kernels.collect()
}

/// Reads the global variables of a module. Addresses of functions and variables in initial values
/// differ from load to load and are blanked.
fn read_variables(module: &Module<'_>) -> Result<Vec<BufferResult>, CudaError> {
    let mut results = Vec::new();
    for (variable, global) in visible_variables(module)? {
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

/// Returns the global variables that the driver does not hide.
pub(super) fn visible_variables<'m>(
    module: &'m Module<'m>,
) -> Result<Vec<(&'m Variable, GlobalVariable<'m>)>, CudaError> {
    let variables = module.declared().variables.iter();
    let globals = variables.filter(|variable| variable.space == VariableSpace::Global);
    let visible = globals.filter_map(|variable| {
        let global = module.global(&variable.name).transpose()?;
        Some(global.map(|global| (variable, global)))
    });
    visible.collect()
}
