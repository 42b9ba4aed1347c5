//! Generated functions through Ori and back: the same PTX comes of functions that nothing touched
//! and of those whose instructions were all made anew; LLVM's verifier accepts those that were
//! changed.

#![cfg(feature = "llvm")]

use oriel_generate::{Form, Options, Shape};
use std::error::Error;
use std::fs::{self, File};
use std::path::Path;
use std::process::Command;

type Outcome = Result<(), Box<dyn Error>>;

/// Compiles a module; what is printed is an error.
fn compile(module: &Path, phases: &str, report: &Path) -> Result<Vec<u8>, Box<dyn Error>> {
    let flags = format!("{phases} -oriel-verify -oriel-report={}", report.display());
    let output = Command::new(env!("CARGO_BIN_EXE_oriel"))
        .args(["compile", "--sm", "90"])
        .arg(module)
        .args(["--oriel", &flags])
        .output()?;
    if output.status.success() && output.stderr.is_empty() {
        return Ok(output.stdout);
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    Err(format!("{} {phases}: {errors}", module.display()).into())
}

#[test]
fn generated_functions_survive() -> Outcome {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for shape in Shape::ALL {
        for seed in 0..2 {
            let options = Options {
                seed,
                instructions: 300,
                shape: *shape,
                form: Form::Ssa,
                ..Options::default()
            };
            let module = folder.join(format!("round-trip-{shape}-{seed}.ll"));
            oriel_generate::llvm_ir(&options, File::create(&module)?)?;
            let report = module.with_extension("json");
            let plain = compile(&module, "-oriel=analyze", &report)?;
            for (phases, wanted) in [
                ("-oriel-phases=none", Some("\"outcome\":\"identity\"")),
                ("-oriel-phases=rebuild", Some("\"outcome\":\"changed\"")),
                ("-oriel-phases=perturb", None),
            ] {
                let ptx = compile(&module, phases, &report)?;
                let lines = fs::read_to_string(&report)?;
                assert!(!lines.contains("\"outcome\":\"failed\""), "{phases}: {lines}");
                if let Some(wanted) = wanted {
                    assert!(
                        lines.lines().all(|line| line.contains(wanted)),
                        "{phases}: {lines}"
                    );
                    assert!(ptx == plain, "{} {phases}: the PTX differs", module.display());
                }
            }
        }
    }
    Ok(())
}
