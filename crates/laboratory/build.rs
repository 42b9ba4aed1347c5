//! Compiles the laboratory's shim like the plug-in's.

#[path = "../../cpp-shim/single_source.rs"]
mod single_source;

use std::path::{Path, PathBuf};

fn main() {
    println!("cargo::rerun-if-changed=cpp-shim");
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_LLVM").is_none() {
        return;
    }
    let from_plugin = |name: &str| std::env::var(format!("DEP_ORIEL_SHIM_{name}"));
    let include = from_plugin("INCLUDE").expect("the plug-in has a shim");
    let generated = from_plugin("GENERATED").expect("the plug-in has a shim");
    let flags = from_plugin("FLAGS").expect("the plug-in has a shim");
    println!("cargo::rerun-if-changed={include}");
    let out = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    let shim = Path::new(&std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets CARGO_MANIFEST_DIR"))
        .join("cpp-shim");
    cc::Build::new()
        .cpp(true)
        .file(single_source::write(&shim, &out))
        .include(&shim)
        .include(include)
        .include(generated)
        .flags(flags.split('\t'))
        .cargo_metadata(false)
        .compile("oriel_laboratory_shim");
    println!("cargo::rustc-link-search=native={}", out.display());
    // Nothing calls the shim's registrations; they run when the library is loaded.
    println!("cargo::rustc-link-lib=static:+whole-archive=oriel_laboratory_shim");
    if let Ok(folder) = from_plugin("RPATH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
    // LLVM keeps pointers to the plug-in's options and callbacks until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
