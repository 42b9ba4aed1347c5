//! Links the extension.

fn main() {
    // LLVM keeps pointers to Oriel's options and callbacks until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    // Line tables are most of the file, and Python does not use them. `strip` in the profile would
    // rebuild every crate.
    println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-all");
    // The build of `oriel` uses the LLVM in this folder, if it is set.
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    if let Ok(prefix) = std::env::var("LLVM_SYS_221_PREFIX") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,{prefix}/lib");
    }
}
