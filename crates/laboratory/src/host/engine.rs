//! A compiled module, and running launches on it.

use std::collections::HashMap;

use corosensei::stack::DefaultStack;
use inkwell::OptimizationLevel;
use inkwell::context::Context;
use inkwell::execution_engine::ExecutionEngine;
use inkwell::memory_buffer::MemoryBuffer;
use inkwell::targets::{CodeModel, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple};

use super::block::{self, Entry, Kernel};
use super::memory::AlignedBytes;
use super::operation::Operation;
use super::rewrite::{self, SharedMemory};
use super::{HostError, HostLaunch, HostStatistics};

/// A module of kernels, compiled for this machine.
pub struct HostModule<'context> {
    kernels: HashMap<String, HostKernel>,
    operations: Vec<Operation>,
    shared: SharedMemory,
    /// Stacks of earlier threads, for reuse.
    stacks: Vec<DefaultStack>,
    /// Owns the code and the module's variables.
    _engine: ExecutionEngine<'context>,
}

struct HostKernel {
    entry: Entry,
    parameter_bytes: Vec<usize>,
}

/// Returns a machine for this process's processor without extensions, so that no fused multiply-add
/// can replace a multiplication and an addition.
fn host_machine() -> Result<(TargetTriple, TargetMachine), HostError> {
    Target::initialize_native(&InitializationConfig::default()).map_err(HostError::Module)?;
    let triple = TargetMachine::get_default_triple();
    let target = Target::from_triple(&triple).map_err(|error| HostError::Module(error.to_string()))?;
    let machine = target.create_target_machine(
        &triple,
        "",
        "",
        OptimizationLevel::Less,
        RelocMode::Default,
        CodeModel::JITDefault,
    );
    let machine = machine.ok_or_else(|| HostError::Module(format!("LLVM has no machine for {triple}")))?;
    Ok((triple, machine))
}

impl<'context> HostModule<'context> {
    /// Compiles a module for NVPTX in bitcode or text form.
    pub fn compile(context: &'context Context, ir: &[u8]) -> Result<Self, HostError> {
        let llvm = |error: inkwell::support::LLVMString| HostError::Module(error.to_string());
        let buffer = MemoryBuffer::create_from_memory_range_copy(ir, "module");
        let module = context.create_module_from_ir(buffer).map_err(llvm)?;
        let triple = module.get_triple();
        if !triple.as_str().to_string_lossy().starts_with("nvptx64") {
            return Err(HostError::Module(format!("its target is {triple}, not nvptx64")));
        }
        let (triple, machine) = host_machine()?;
        let target = machine.get_target_data();
        module.set_triple(&triple);
        module.set_data_layout(&target.get_data_layout());
        let rewritten = rewrite::rewrite(context, &module, &target)?;
        let engine = module
            .create_jit_execution_engine(OptimizationLevel::Less)
            .map_err(llvm)?;
        let mut kernels = HashMap::new();
        for kernel in rewritten.kernels {
            let address = engine
                .get_function_address(&kernel.launcher)
                .map_err(|error| HostError::Module(error.to_string()))?;
            let entry = std::ptr::with_exposed_provenance::<()>(address);
            // SAFETY: the engine has compiled the launcher, which has this type, and lives as long
            // as this value.
            let entry = unsafe { std::mem::transmute::<*const (), Entry>(entry) };
            kernels.insert(
                kernel.name,
                HostKernel {
                    entry,
                    parameter_bytes: kernel.parameter_bytes,
                },
            );
        }
        Ok(Self {
            kernels,
            operations: rewritten.operations,
            shared: rewritten.shared,
            stacks: Vec::new(),
            _engine: engine,
        })
    }

    /// Runs a launch to completion.
    ///
    /// # Safety
    ///
    /// The kernel must access only valid memory through its arguments, which hold addresses, and
    /// the module's variables: addresses are not checked.
    pub unsafe fn run(&mut self, launch: &HostLaunch<'_>) -> Result<HostStatistics, HostError> {
        let kernel = self.check(launch)?;
        let mut copies: Vec<AlignedBytes> = launch
            .arguments
            .iter()
            .map(|argument| AlignedBytes::copied(argument))
            .collect();
        let arguments: Vec<*const u8> = copies
            .iter_mut()
            .map(|copy| std::ptr::with_exposed_provenance(copy.address() as usize))
            .collect();
        let mut statistics = HostStatistics::default();
        let [columns, rows, layers] = launch.grid;
        let blocks =
            (0..layers).flat_map(|z| (0..rows).flat_map(move |y| (0..columns).map(move |x| [x, y, z])));
        for index in blocks {
            let length = self.shared.dynamic_start + launch.dynamic_shared_bytes as usize;
            self.shared.bytes.clear(length);
            let start = self.shared.bytes.address();
            let kernel = Kernel {
                entry: kernel,
                operations: &self.operations,
                arguments: &arguments,
                grid: launch.grid,
                block: launch.block,
                dynamic_shared_bytes: launch.dynamic_shared_bytes,
                shared: (start, start + length as u64),
            };
            // SAFETY: the entry is the kernel's launcher, the arguments have the sizes of its
            // parameters, and the caller vouches for the kernel's accesses.
            let block = unsafe { block::run(kernel, index, &mut self.stacks) };
            let block = block.map_err(|fault| HostError::Fault {
                kernel: launch.kernel.to_owned(),
                block: index,
                thread: fault.thread,
                problem: fault.problem,
            })?;
            statistics.threads += block.threads;
            statistics.waits += block.waits;
        }
        Ok(statistics)
    }

    fn check(&self, launch: &HostLaunch<'_>) -> Result<Entry, HostError> {
        let kernel = self
            .kernels
            .get(launch.kernel)
            .ok_or_else(|| HostError::NoKernel(launch.kernel.to_owned()))?;
        let problem = |problem| HostError::Launch {
            kernel: launch.kernel.to_owned(),
            problem,
        };
        let threads = launch
            .block
            .iter()
            .map(|&threads| u64::from(threads))
            .product::<u64>();
        if !(1..=1024).contains(&threads) {
            return Err(problem(format!(
                "{threads} threads a block, 1 to 1024 are allowed"
            )));
        }
        if launch.dynamic_shared_bytes as usize > rewrite::DYNAMIC_SHARED_LIMIT {
            return Err(problem(format!(
                "{} bytes of dynamic shared memory",
                launch.dynamic_shared_bytes
            )));
        }
        let (expected, found) = (kernel.parameter_bytes.len(), launch.arguments.len());
        if expected != found {
            return Err(problem(format!("{found} arguments for {expected} parameters")));
        }
        for (index, (&expected, argument)) in kernel.parameter_bytes.iter().zip(launch.arguments).enumerate()
        {
            if argument.len() != expected {
                let found = argument.len();
                return Err(problem(format!(
                    "argument {index} has {found} bytes, its parameter {expected}"
                )));
            }
        }
        Ok(kernel.entry)
    }
}
