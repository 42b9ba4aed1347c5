//! How the extension is linked.

fn main() {
    // LLVM keeps pointers to Oriel's options and callbacks until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
    // Lines of Rust's sources are of no use to Python, and are most of the file. Stripped by the
    // profile, every crate would be built once more.
    println!("cargo::rustc-link-arg-cdylib=-Wl,--strip-all");
    // An LLVM that is not the system's is where the build of `oriel` looked for it.
    println!("cargo::rerun-if-env-changed=LLVM_SYS_221_PREFIX");
    if let Ok(prefix) = std::env::var("LLVM_SYS_221_PREFIX") {
        println!("cargo::rustc-link-arg-cdylib=-Wl,-rpath,{prefix}/lib");
    }
}
