//! Compiles the laboratory's shim like the plug-in's.

use std::path::PathBuf;

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
    let mut sources: Vec<PathBuf> = std::fs::read_dir("cpp-shim")
        .expect("cpp-shim is part of the package")
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    sources.sort();
    cc::Build::new()
        .cpp(true)
        .files(&sources)
        .include("cpp-shim")
        .include(include)
        .include(generated)
        .flags(flags.split('\t'))
        .cargo_metadata(false)
        .compile("oriel_laboratory_shim");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo::rustc-link-search=native={out}");
    // Nothing calls the shim's registrations; they run when the library is loaded.
    println!("cargo::rustc-link-lib=static:+whole-archive=oriel_laboratory_shim");
    if let Ok(folder) = from_plugin("RPATH") {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{folder}");
    }
    // LLVM keeps pointers to the plug-in's options and callbacks until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
