//! `OrielCompilation`: modules.

use super::call::{Message, OrielStatus, call, given};
use super::function::OrielMachineFunction;
use super::options::OrielOptions;
use std::ffi::{CString, c_char, c_void};

/// `OrielCompilation`.
#[derive(Debug)]
pub struct OrielCompilation {
    ptx: CString,
    report: CString,
    functions: Vec<OrielMachineFunction>,
}

/// `oriel_compile`.
///
/// # Safety
/// Module and machine are null or LLVM's, alive, and used by no other thread, and so is the
/// module's context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_compile(
    module: *mut c_void,
    machine: *mut c_void,
    options: Option<&OrielOptions>,
    compilation: Option<&mut *mut OrielCompilation>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let out = given(compilation, "compilation")?;
        let module = given((!module.is_null()).then_some(module), "module")?;
        let machine = given((!machine.is_null()).then_some(machine), "machine")?;
        // SAFETY: neither is null; the caller vouches for the rest.
        let compilation = unsafe { llvm::compile(module, machine, options)? };
        *out = Box::into_raw(Box::new(compilation));
        Ok(())
    })
}

#[cfg(feature = "llvm")]
mod llvm {
    use super::super::call::{CallFailure, OrielStatus, c_text};
    use super::super::options::options_or_process;
    use super::{OrielCompilation, OrielMachineFunction, OrielOptions};
    use crate::compile::{Compilation, CompileError, check_target, compile_capturing};
    use crate::ffi::emit_ptx_raw;
    use inkwell::targets::TargetMachine;
    use std::ffi::c_void;
    use std::mem::ManuallyDrop;

    /// # Safety
    /// As `oriel_compile`, and neither is null.
    pub unsafe fn compile(
        module: *mut c_void,
        machine: *mut c_void,
        options: Option<&OrielOptions>,
    ) -> Result<OrielCompilation, CallFailure> {
        // SAFETY: the caller vouches for the machine, which stays the host's.
        let borrowed = ManuallyDrop::new(unsafe { TargetMachine::new(machine.cast()) });
        check_target(&borrowed.get_triple()).map_err(failure)?;
        let options = Some(options_or_process(options)?);
        // SAFETY: the caller vouches for both.
        let emit = || unsafe { emit_ptx_raw(module.cast(), machine.cast()) };
        let Compilation {
            ptx,
            functions,
            report,
        } = compile_capturing(options, emit).map_err(failure)?;
        Ok(OrielCompilation {
            ptx: c_text(ptx),
            report: c_text(report),
            functions: OrielMachineFunction::of_module(
                functions.into_iter().map(|function| function.code).collect(),
            ),
        })
    }

    fn failure(error: CompileError) -> CallFailure {
        let status = match error {
            CompileError::Options(_) => OrielStatus::InvalidFlags,
            CompileError::WrongLlvm(_) => OrielStatus::WrongLlvm,
            CompileError::WrongTarget(_) => OrielStatus::InvalidArgument,
            CompileError::UnknownTarget { .. } | CompileError::Unreadable(_) | CompileError::Llvm(_) => {
                OrielStatus::CompilationFailed
            }
        };
        CallFailure::new(status, error)
    }
}

#[cfg(not(feature = "llvm"))]
mod llvm {
    use super::super::call::CallFailure;
    use super::{OrielCompilation, OrielOptions};
    use std::ffi::c_void;

    /// # Safety
    /// Safe: it does nothing.
    pub unsafe fn compile(
        _: *mut c_void,
        _: *mut c_void,
        _: Option<&OrielOptions>,
    ) -> Result<OrielCompilation, CallFailure> {
        Err(super::super::process::without_llvm())
    }
}

/// `oriel_compilation_ptx`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_compilation_ptx(compilation: Option<&OrielCompilation>) -> *const c_char {
    compilation.map_or(std::ptr::null(), |compilation| compilation.ptx.as_ptr())
}

/// `oriel_compilation_report`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_compilation_report(compilation: Option<&OrielCompilation>) -> *const c_char {
    compilation.map_or(std::ptr::null(), |compilation| compilation.report.as_ptr())
}

/// `oriel_compilation_function_count`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_compilation_function_count(compilation: Option<&OrielCompilation>) -> usize {
    compilation.map_or(0, |compilation| compilation.functions.len())
}

/// `oriel_compilation_function`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_compilation_function(
    compilation: Option<&OrielCompilation>,
    index: usize,
) -> *const OrielMachineFunction {
    let function = compilation.and_then(|compilation| compilation.functions.get(index));
    function.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// `oriel_compilation_dispose`.
#[unsafe(no_mangle)]
pub extern "C" fn oriel_compilation_dispose(compilation: Option<Box<OrielCompilation>>) {
    drop(compilation);
}
