//! Reads whole modules and compiles them to PTX.

use super::records::OrielSnapshot;
use super::text::{OrielSink, OrielText};
use crate::snapshot::OwnedSnapshot;
use inkwell::context::{AsContextRef, Context};
use inkwell::llvm_sys::prelude::{LLVMContextRef, LLVMModuleRef};
use inkwell::llvm_sys::target_machine::LLVMTargetMachineRef;
use inkwell::module::Module;
use inkwell::targets::TargetMachine;
use std::cell::Cell;
use std::ffi::c_void;
use std::path::Path;
use std::sync::{Mutex, PoisonError, RwLock, RwLockReadGuard};

unsafe extern "C" {
    fn oriel_is_compatible(reason: OrielSink) -> i32;
    fn oriel_read_module(path: OrielText, context: LLVMContextRef, error: OrielSink) -> LLVMModuleRef;
    fn oriel_parse_module(
        name: OrielText,
        content: OrielText,
        context: LLVMContextRef,
        error: OrielSink,
    ) -> LLVMModuleRef;
    fn oriel_list_processors(triple: OrielText, names: OrielSink);
    fn oriel_emit_ptx(
        module: LLVMModuleRef,
        machine: LLVMTargetMachineRef,
        ptx: OrielSink,
        error: OrielSink,
    ) -> i32;
    fn oriel_export_function(
        machine_function: *mut c_void,
        sink: OrielSnapshotSink,
        refusal: OrielSink,
    ) -> i32;
    fn oriel_allow_fp_fusion(machine: LLVMTargetMachineRef);
    fn oriel_has_short_pointers(module: LLVMModuleRef) -> i32;
    fn oriel_set_short_pointers(wanted: i32) -> i32;
    fn oriel_set_llvm_option(name: OrielText, value: Option<&OrielText>, error: OrielSink) -> i32;
}

/// `OrielSnapshotSink`.
#[repr(C)]
struct OrielSnapshotSink {
    context: *mut c_void,
    take: extern "C" fn(*mut c_void, &OrielSnapshot),
}

/// Exports an `llvm::MachineFunction`.
///
/// # Errors
/// A snapshot cannot carry it; the message says why.
///
/// # Safety
/// It is one, and no other thread uses it.
pub(crate) unsafe fn export_function(machine_function: *mut c_void) -> Result<OwnedSnapshot, String> {
    extern "C" fn take(context: *mut c_void, snapshot: &OrielSnapshot) {
        // SAFETY: `context` is `copy` below, and the exporter's arrays are valid for the call.
        unsafe {
            *context.cast::<Option<OwnedSnapshot>>() = Some(OwnedSnapshot::copy_of(&snapshot.view()));
        }
    }
    let (mut copy, mut refusal) = (None, String::new());
    let sink = OrielSnapshotSink {
        context: (&raw mut copy).cast(),
        take,
    };
    // SAFETY: the caller vouches for the function, and both sinks outlive the call.
    unsafe { oriel_export_function(machine_function, sink, OrielSink::into_string(&mut refusal)) };
    copy.ok_or(refusal)
}

/// Every compilation of this library holds it for reading; changes of global options hold it for
/// writing.
static LLVM_OPTIONS: RwLock<()> = RwLock::new(());

thread_local! {
    /// True while this thread holds [`LLVM_OPTIONS`] for reading.
    static COMPILING: Cell<bool> = const { Cell::new(false) };
}

/// A compilation of this thread. A phase of the host may compile within it. That inner compilation must
/// not wait for the lock again, since a thread before it in the queue may be waiting for this one.
struct CompilationInProgress {
    _options: Option<RwLockReadGuard<'static, ()>>,
    is_within_another: bool,
}

impl CompilationInProgress {
    fn begin() -> Self {
        let is_within_another = COMPILING.replace(true);
        let lock = || LLVM_OPTIONS.read().unwrap_or_else(PoisonError::into_inner);
        Self {
            _options: (!is_within_another).then(lock),
            is_within_another,
        }
    }
}

impl Drop for CompilationInProgress {
    fn drop(&mut self) {
        COMPILING.set(self.is_within_another);
    }
}

/// Sets one of LLVM's options, or resets it to its initial value, once no compilation of this
/// library runs.
///
/// # Errors
/// LLVM has no such option, or does not accept this value; or this thread is compiling.
pub(crate) fn set_llvm_option(name: &str, value: Option<&str>) -> Result<(), String> {
    let mut problem = String::new();
    let value = value.map(OrielText::borrowed);
    if COMPILING.get() {
        return Err(format!(
            "LLVM's option -{name} cannot be set within a compilation"
        ));
    }
    let _held = LLVM_OPTIONS.write().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: nothing compiles while the lock is held, and texts and the sink's string outlive the
    // call.
    let is_set = unsafe {
        oriel_set_llvm_option(
            OrielText::borrowed(name),
            value.as_ref(),
            OrielSink::into_string(&mut problem),
        )
    };
    match is_set {
        0 => Err(problem),
        _ => Ok(()),
    }
}

/// Checks that Oriel can work in this process.
///
/// # Errors
/// It cannot; the message says why, and continues the words "Oriel is".
pub(crate) fn check_compatible() -> Result<(), String> {
    let mut reason = String::new();
    // SAFETY: the sink's string outlives the call.
    match unsafe { oriel_is_compatible(OrielSink::into_string(&mut reason)) } {
        0 => Err(reason),
        _ => Ok(()),
    }
}

/// Reads LLVM IR or bitcode as llc does: IR without a data layout gets its target's.
pub(crate) fn read_module<'c>(context: &'c Context, path: &Path) -> Result<Module<'c>, String> {
    let mut problem = String::new();
    let Some(path) = path.to_str() else {
        return Err(format!("{}: its name is not valid UTF-8", path.display()));
    };
    // SAFETY: path, context and the sink's string outlive the call.
    let module = unsafe {
        oriel_read_module(
            OrielText::borrowed(path),
            context.as_ctx_ref(),
            OrielSink::into_string(&mut problem),
        )
    };
    // SAFETY: the module is new, belongs to this context and is not shared.
    unsafe { own_module(module) }.ok_or(problem)
}

/// Reads LLVM IR or bitcode in memory; messages call it `name`.
pub(crate) fn parse_module<'c>(
    context: &'c Context,
    name: &str,
    content: &[u8],
) -> Result<Module<'c>, String> {
    let mut problem = String::new();
    // SAFETY: name, content, context and the sink's string outlive the call.
    let module = unsafe {
        oriel_parse_module(
            OrielText::borrowed(name),
            OrielText::borrowed_bytes(content),
            context.as_ctx_ref(),
            OrielSink::into_string(&mut problem),
        )
    };
    // SAFETY: as above.
    unsafe { own_module(module) }.ok_or(problem)
}

/// Takes the module behind a pointer; none if that is null.
///
/// # Safety
/// The module belongs to a context that outlives `'c`, and is not shared.
unsafe fn own_module<'c>(module: LLVMModuleRef) -> Option<Module<'c>> {
    // SAFETY: the caller ensures it.
    (!module.is_null()).then(|| unsafe { Module::new(module) })
}

/// Returns LLVM's processors and features of an initialised target, such as `sm_90a` and `ptx86`.
pub(crate) fn list_processors(triple: &str) -> Vec<String> {
    let mut names = String::new();
    // SAFETY: the text and the sink's string outlive the call.
    unsafe { oriel_list_processors(OrielText::borrowed(triple), OrielSink::into_string(&mut names)) };
    names.split_whitespace().map(str::to_owned).collect()
}

/// Lets a machine contract multiplications and additions everywhere.
pub(crate) fn allow_fp_fusion(machine: &TargetMachine) {
    // SAFETY: it lives, and nothing else uses it.
    unsafe { oriel_allow_fp_fusion(machine.as_mut_ptr()) }
}

/// Calls `create`, which creates the target machine for a module. The machine gets pointers of 32
/// bits to shared, constant and local memory if the module's layout has them, as Triton's does:
/// otherwise LLVM would replace the layout, and each such pointer would take two registers.
///
/// LLVM reads the width from a variable of the process, and only while it creates a machine. A lock
/// therefore lets one thread at a time create one.
pub(crate) fn with_pointers_of<T>(module: &Module<'_>, create: impl FnOnce() -> T) -> T {
    struct Restore(i32);
    impl Drop for Restore {
        fn drop(&mut self) {
            // SAFETY: the lock is held.
            unsafe { oriel_set_short_pointers(self.0) };
        }
    }
    static CREATING: Mutex<()> = Mutex::new(());
    let _held = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
    // SAFETY: the module lives; the lock is held, and the back end's options are registered when the
    // library is loaded.
    let _restore = unsafe {
        (oriel_has_short_pointers(module.as_mut_ptr()) != 0).then(|| Restore(oriel_set_short_pointers(1)))
    };
    create()
}

/// Compiles a module. Returns the PTX, or LLVM's messages.
pub(crate) fn emit_ptx(module: &Module<'_>, machine: &TargetMachine) -> Result<Vec<u8>, String> {
    // SAFETY: both live, and LLVM checks that they match.
    unsafe { emit_ptx_raw(module.as_mut_ptr(), machine.as_mut_ptr()) }
}

/// Does the same for LLVM's pointers.
///
/// # Safety
/// Both are alive, and no other thread uses them or the module's context.
pub(crate) unsafe fn emit_ptx_raw(
    module: LLVMModuleRef,
    machine: LLVMTargetMachineRef,
) -> Result<Vec<u8>, String> {
    extern "C" fn append(context: *mut c_void, text: OrielText) {
        // SAFETY: `context` is `ptx` below, and the text lives for the call.
        unsafe { (*context.cast::<Vec<u8>>()).extend_from_slice(text.as_bytes()) };
    }
    let (mut ptx, mut problem) = (Vec::new(), String::new());
    let ptx_sink = OrielSink::new((&raw mut ptx).cast(), append);
    let _held = CompilationInProgress::begin();
    // SAFETY: the caller vouches for module and machine, and both sinks outlive the call.
    let is_good = unsafe { oriel_emit_ptx(module, machine, ptx_sink, OrielSink::into_string(&mut problem)) };
    match is_good {
        0 => Err(problem),
        _ => Ok(ptx),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_compilation_within_another_does_not_wait_for_whoever_changes_options() {
        let outer = CompilationInProgress::begin();
        let setter = thread::spawn(|| drop(LLVM_OPTIONS.write().unwrap_or_else(PoisonError::into_inner)));
        // While somebody waits for writing, the lock is given to no other reader.
        while LLVM_OPTIONS.try_read().is_ok() {
            thread::yield_now();
        }
        let inner = CompilationInProgress::begin();
        let error = set_llvm_option("inline-threshold", None).expect_err("it would wait for itself");
        assert!(error.contains("within a compilation"), "{error}");
        drop(inner);
        assert!(COMPILING.get());
        drop(outer);
        assert!(!COMPILING.get());
        setter.join().expect("it gets the lock");
    }
}
