//! Live intervals and control flow equal LLVM's on generated functions, and intervals stay equal
//! under random updates: `oriel-check-intervals`, `oriel-check-control-flow` and
//! `oriel-check-updates` inside `llc`.
//!
//! `ORIEL_TEST_FUNCTIONS` sets how many functions are compared, 500 if it is not set;
//! `ORIEL_TEST_SEED` the first seed. Each gets 200 random updates.

use oriel_generate::{Form, Options, Shape};
use oriel_random::setting;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Functions in one module, which one `llc` reads.
const FUNCTIONS_A_MODULE: usize = 25;

/// The folder of LLVM's tools: `ORIEL_LLVM_BIN`, or what `llvm-config` says.
fn llvm_tools() -> PathBuf {
    if let Some(folder) = std::env::var_os("ORIEL_LLVM_BIN") {
        return folder.into();
    }
    for config in ["llvm-config-22", "llvm-config"] {
        if let Ok(output) = Command::new(config).arg("--bindir").output()
            && output.status.success()
        {
            return String::from_utf8_lossy(&output.stdout).trim().into();
        }
    }
    panic!("no llvm-config found; set ORIEL_LLVM_BIN to the folder of LLVM's tools");
}

/// The laboratory's plug-in of this build, which lies beside the command line tool.
fn plugin() -> PathBuf {
    Path::new(env!("CARGO_BIN_EXE_oriel")).with_file_name("liboriel_laboratory.so")
}

/// Generates a module and runs `pass` on all its functions.
fn run_pass(pass: &str, options: &Options) -> Result<(), String> {
    let Options {
        seed,
        shape,
        form,
        instructions,
        ..
    } = options;
    let name = format!("{pass}-{shape}-{form}-{instructions}-{seed}.mir");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::create(&path).map_err(|error| error.to_string())?;
    oriel_generate::machine_ir(options, file).map_err(|error| error.to_string())?;
    let output = Command::new(llvm_tools().join("llc"))
        .arg(format!("-load={}", plugin().display()))
        .arg(format!("-run-pass={pass}"))
        .args(["-mtriple=nvptx64-nvidia-cuda", "-o", "/dev/null"])
        .arg(&path)
        .output()
        .map_err(|error| error.to_string())?;
    if !output.status.success() {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{}:\n{}",
            path.display(),
            &errors[..errors.len().min(4000)]
        ));
    }
    // Modules that agree are of no further interest; one that differs stays to be looked at.
    std::fs::remove_file(&path).map_err(|error| error.to_string())
}

/// Runs `pass` on generated functions of `sizes` instructions, of every shape and form.
fn check(pass: &str, sizes: &[usize]) {
    let functions = setting("ORIEL_TEST_FUNCTIONS", 500) as usize;
    let mut seed = setting("ORIEL_TEST_SEED", 1);
    let mut combinations = Shape::ALL
        .iter()
        .flat_map(|&shape| Form::ALL.iter().map(move |&form| (shape, form)))
        .cycle();
    let mut compared = 0;
    while compared < functions {
        let (shape, form) = combinations.next().expect("the combinations never end");
        let options = Options {
            seed,
            shape,
            form,
            instructions: sizes[compared / FUNCTIONS_A_MODULE % sizes.len()],
            functions: FUNCTIONS_A_MODULE.min(functions - compared),
            debug_info: seed.is_multiple_of(3),
            ..Options::default()
        };
        if let Err(difference) = run_pass(pass, &options) {
            panic!("{difference}");
        }
        compared += options.functions;
        seed += options.functions as u64;
    }
}

#[test]
fn generated_functions_have_llvms_intervals() {
    check("oriel-check-intervals", &[20, 60, 150, 400]);
}

#[test]
fn generated_functions_have_llvms_control_flow() {
    check("oriel-check-control-flow", &[20, 60, 150, 400]);
}

#[test]
fn updates_of_generated_functions_have_llvms_results() {
    check("oriel-check-updates", &[15, 30, 60, 120]);
}
