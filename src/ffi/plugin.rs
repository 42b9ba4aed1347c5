//! The entry point of LLVM's pass plug-ins.

use std::ffi::c_void;

unsafe extern "C" {
    fn oriel_fill_pass_plugin_info(out: *mut c_void) -> *mut c_void;
}

/// `llvmGetPassPluginInfo`. C++ returns the record by value, which on x86-64 means into memory that
/// the caller provides as a hidden first argument. This signature makes that explicit, so that a
/// host with an older LLVM, whose record is smaller, gets no more than fits.
///
/// # Safety
/// Called by LLVM, with room for its `PassPluginLibraryInfo` at `out`.
#[cfg(target_arch = "x86_64")]
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "LLVM looks the function up by this name")]
pub unsafe extern "C" fn llvmGetPassPluginInfo(out: *mut c_void) -> *mut c_void {
    // SAFETY: `out` is what LLVM passed.
    unsafe { oriel_fill_pass_plugin_info(out) }
}

/// LLVM's `PassPluginLibraryInfo`, five words.
#[cfg(not(target_arch = "x86_64"))]
#[repr(C)]
pub struct PassPluginLibraryInfo([usize; 5]);

/// `llvmGetPassPluginInfo`.
///
/// # Safety
/// Called by LLVM.
#[cfg(not(target_arch = "x86_64"))]
#[unsafe(no_mangle)]
#[allow(non_snake_case, reason = "LLVM looks the function up by this name")]
pub unsafe extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo {
    let mut info = PassPluginLibraryInfo([0; 5]);
    // SAFETY: the record has LLVM's size.
    unsafe { oriel_fill_pass_plugin_info((&raw mut info).cast()) };
    info
}
