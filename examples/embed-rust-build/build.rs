//! Compiles the kernels to bitcode with rustc and to PTX with Oriel, and shows Oriel's report as
//! warnings of the build.
//!
//! `ORIEL` names the tool if it is not in `PATH`, `ORIEL_SM` the compute capability (80).

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for variable in ["ORIEL", "ORIEL_SM"] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    println!("cargo::rerun-if-changed=kernels/src");
    println!("cargo::rerun-if-changed=kernels/Cargo.toml");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    let oriel = env::var("ORIEL").unwrap_or_else(|_| "oriel".to_owned());
    let sm = env::var("ORIEL_SM").unwrap_or_else(|_| "80".to_owned());
    let bitcode = compile_to_bitcode(&out.join("kernels"), &sm);

    let ptx = out.join("kernels.ptx");
    run(Command::new(&oriel)
        .args(["compile", "--sm", &sm, "-o"])
        .args([&ptx, &bitcode]));
    let report = run(Command::new(&oriel).args(["report", "--sm", &sm]).arg(&bitcode));
    for line in report.lines().filter(|line| !line.is_empty()) {
        println!("cargo::warning={line}");
    }
    println!("cargo::rustc-env=KERNELS_PTX={}", ptx.display());
}

/// Compiles the crate `kernels` for NVPTX together with `core`, which rustup does not have for this
/// target; returns the module.
fn compile_to_bitcode(target: &Path, sm: &str) -> PathBuf {
    let cargo = env::var_os("CARGO").expect("cargo sets it");
    run(Command::new(cargo)
        .args(["rustc", "--release", "--manifest-path", "kernels/Cargo.toml"])
        .args([
            "--target",
            "nvptx64-nvidia-cuda",
            "-Zbuild-std=core",
            "--target-dir",
        ])
        .arg(target)
        .args(["--", "--emit=llvm-bc", "-C", &format!("target-cpu=sm_{sm}")])
        // Flags for the host are not for the GPU.
        .env_remove("CARGO_ENCODED_RUSTFLAGS")
        .env_remove("RUSTFLAGS"));
    let folder = target.join("nvptx64-nvidia-cuda/release/deps");
    let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut modules = files.filter_map(|entry| {
        let path = entry.ok()?.path();
        let name = path.file_name()?.to_str()?;
        let modified = path.metadata().and_then(|metadata| metadata.modified()).ok()?;
        (name.starts_with("kernels-") && name.ends_with(".bc")).then_some((modified, path))
    });
    // Earlier builds with other options leave theirs.
    let newest = modules.by_ref().max();
    newest.expect("rustc has written the module").1
}

/// Runs a command and returns what it prints to standard output; the build fails if it does.
fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{}: {error}", command.get_program().to_string_lossy()));
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}",
        output.status,
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}
