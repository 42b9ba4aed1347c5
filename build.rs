//! Finds LLVM, compiles the shim and links both.

#[path = "cpp-shim/abi_header.rs"]
mod abi_header;
#[path = "cpp-shim/single_source.rs"]
mod single_source;

use std::path::{Path, PathBuf};
use std::process::Command;

/// The LLVM version that Oriel is written for. The back end's passes and opcodes change from
/// version to version.
const LLVM_MAJOR: &str = "22";
const PREFIX_VARIABLE: &str = "LLVM_SYS_221_PREFIX";

fn main() {
    println!("cargo::rerun-if-changed=cpp-shim");
    println!("cargo::rerun-if-changed=build.rs");
    for source in abi_header::SOURCES {
        println!("cargo::rerun-if-changed={source}");
    }
    println!("cargo::rerun-if-env-changed={PREFIX_VARIABLE}");
    for variable in ["ORIEL_SANITIZE", "CXX", "CXXFLAGS"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    name_library();
    if std::env::var_os("CARGO_FEATURE_LLVM").is_none() {
        return;
    }
    let llvm = match find_llvm() {
        Ok(llvm) => llvm,
        Err(problem) => {
            eprintln!(
                "\nOriel needs LLVM {LLVM_MAJOR} with its headers: {problem}\n\
                 Install it:   apt-get install llvm-{LLVM_MAJOR}-dev\n\
                 or name it:   {PREFIX_VARIABLE}=/path/to/llvm-{LLVM_MAJOR} cargo build\n\
                 or build only the parts that need no LLVM:   cargo build --no-default-features\n"
            );
            std::process::exit(1);
        }
    };
    println!(
        "cargo::rustc-env=ORIEL_LLVM_VERSION={}",
        llvm.query(&["--version"])
    );
    compile_shim(&llvm);
    link(&llvm);
}

/// Sets the name that hosts linked to the shared library ask for, which changes with the version of
/// the C interface.
fn name_library() {
    let header = "include/oriel.h";
    println!("cargo::rerun-if-changed={header}");
    let text = std::fs::read_to_string(header).expect("the header is part of the package");
    let version = text
        .lines()
        .find_map(|line| line.strip_prefix("#define ORIEL_API_VERSION ")?.strip_suffix('u'))
        .expect("the header has its version");
    println!("cargo::rustc-link-arg-cdylib=-Wl,-soname,liboriel.so.{version}");
}

/// An LLVM installation, as its `llvm-config` describes it.
struct Llvm {
    config: PathBuf,
}

impl Llvm {
    fn query(&self, arguments: &[&str]) -> String {
        run_config(&self.config, arguments).unwrap_or_else(|problem| panic!("{problem}"))
    }
}

fn run_config(config: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(config)
        .args(arguments)
        .output()
        .map_err(|error| format!("{} cannot be run: {error}", config.display()))?;
    if !output.status.success() {
        return Err(format!("{} {} failed", config.display(), arguments.join(" ")));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn find_llvm() -> Result<Llvm, String> {
    let candidates: Vec<PathBuf> = match std::env::var_os(PREFIX_VARIABLE) {
        Some(prefix) => vec![Path::new(&prefix).join("bin/llvm-config")],
        None => vec![format!("llvm-config-{LLVM_MAJOR}").into(), "llvm-config".into()],
    };
    let mut found = Vec::new();
    for config in candidates {
        let Ok(version) = run_config(&config, &["--version"]) else {
            continue;
        };
        if version.split('.').next() == Some(LLVM_MAJOR) {
            let llvm = Llvm { config };
            let header = Path::new(&llvm.query(&["--includedir"])).join("llvm/CodeGen/MachineFunction.h");
            if !header.exists() {
                return Err(format!("{} has no headers", llvm.config.display()));
            }
            let library = Path::new(&llvm.query(&["--libdir"])).join(format!("libLLVM-{LLVM_MAJOR}.so"));
            if !library.exists() {
                return Err(format!(
                    "{} has no {}, the shared library that hosts load as well",
                    llvm.config.display(),
                    library.display()
                ));
            }
            return Ok(llvm);
        }
        found.push(format!("{} is version {version}", config.display()));
    }
    Err(match (found.is_empty(), std::env::var(PREFIX_VARIABLE)) {
        (false, _) => found.join(", "),
        (true, Ok(prefix)) => format!("there is no bin/llvm-config in {PREFIX_VARIABLE}={prefix}"),
        (true, Err(_)) => "no llvm-config was found".to_owned(),
    })
}

fn compile_shim(llvm: &Llvm) {
    let generated = PathBuf::from(std::env::var_os("OUT_DIR").expect("cargo sets OUT_DIR"));
    abi_header::write(&generated);
    let flags = flags(llvm);
    // The laboratory's shim is compiled with these, too.
    let shim = manifest_folder().join("cpp-shim");
    println!("cargo::metadata=include={}", shim.display());
    println!("cargo::metadata=generated={}", generated.display());
    println!("cargo::metadata=flags={}", flags.join("\t"));
    if needs_rpath() {
        println!("cargo::metadata=rpath={}", llvm.query(&["--libdir"]));
    }
    cc::Build::new()
        .cpp(true)
        .file(single_source::write(&shim, &generated))
        .include(&shim)
        .include(&generated)
        .flags(&flags)
        .cargo_metadata(false)
        .compile("oriel_shim");
}

/// Returns the compiler's flags for code that includes LLVM's headers.
fn flags(llvm: &Llvm) -> Vec<String> {
    let include = llvm.query(&["--includedir"]);
    let version = format!("-DORIEL_VERSION=\"{}\"", env!("CARGO_PKG_VERSION"));
    let mut flags: Vec<String> = [
        "-std=c++17",
        "-isystem",
        include.as_str(),
        "-fno-exceptions",
        "-fvisibility-inlines-hidden",
        "-Wno-unused-parameter",
        "-Wno-missing-field-initializers",
        "-D__STDC_CONSTANT_MACROS",
        "-D__STDC_FORMAT_MACROS",
        "-D__STDC_LIMIT_MACROS",
        version.as_str(),
    ]
    .map(str::to_owned)
    .into();
    if std::env::var_os("PROFILE").is_some_and(|profile| profile == "release") {
        flags.push("-DNDEBUG".to_owned());
    }
    if llvm.query(&["--has-rtti"]) == "NO" {
        flags.push("-fno-rtti".to_owned());
    }
    if let Some(sanitizer) = sanitizer() {
        flags.push(format!("-fsanitize={sanitizer}"));
        flags.push("-fno-omit-frame-pointer".to_owned());
    }
    flags
}

fn manifest_folder() -> PathBuf {
    std::env::var_os("CARGO_MANIFEST_DIR")
        .expect("cargo sets CARGO_MANIFEST_DIR")
        .into()
}

/// True if LLVM may be outside the search path of the system's loader.
fn needs_rpath() -> bool {
    std::env::var_os(PREFIX_VARIABLE).is_some()
}

/// Returns the sanitizer for the shim: `address` for `scripts/check_memory.py`, `thread` for
/// `scripts/check_threads.py`.
fn sanitizer() -> Option<String> {
    std::env::var("ORIEL_SANITIZE").ok()
}

fn link(llvm: &Llvm) {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    println!("cargo::rustc-link-search=native={out}");
    // Nothing calls the shim's registrations; they run when the library is loaded.
    println!("cargo::rustc-link-lib=static:+whole-archive=oriel_shim");
    println!("cargo::rustc-link-search=native={}", llvm.query(&["--libdir"]));
    if needs_rpath() {
        println!("cargo::rustc-link-arg=-Wl,-rpath,{}", llvm.query(&["--libdir"]));
    }
    // A second copy of LLVM in the host's process would register every option twice.
    println!("cargo::rustc-link-lib=dylib=LLVM-{LLVM_MAJOR}");
    println!("cargo::rustc-link-lib=dylib=stdc++");
    // ThreadSanitizer's runtime comes with rustc, which is asked for it as well.
    if sanitizer().is_some_and(|sanitizer| sanitizer == "address") {
        println!("cargo::rustc-link-lib=dylib=asan");
    }
    // LLVM keeps pointers to the plug-in's options and callbacks until the process ends.
    println!("cargo::rustc-link-arg-cdylib=-Wl,-z,nodelete");
}
