//! Generated kernels give the same memory in the interpreter, at both stages, as compiled for the
//! host by LLVM.
//!
//! `ORIEL_TEST_KERNELS` sets how many kernels are compared, 300 if it is not set; `ORIEL_TEST_SEED`
//! the first seed.
#![cfg(feature = "llvm")]

use oriel_generate::{Options, Shape};
use oriel_random::setting;
use std::fs::File;
use std::path::Path;
use std::process::Command;

const KERNELS_A_MODULE: usize = 20;

/// Generates a module and runs its kernels in the interpreter, compiled with these options of Oriel, and
/// on the host.
fn compare(options: &Options, flags: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let name = format!("kernels-{:?}-{}", options.shape, options.seed);
    let (module, launch) = (
        folder.join(format!("{name}.ll")),
        folder.join(format!("{name}.toml")),
    );
    oriel_generate::llvm_ir(options, File::create(&module).unwrap()).unwrap();
    std::fs::write(&launch, oriel_generate::launch_description(options, options.seed)).unwrap();
    let output = Command::new(env!("CARGO_BIN_EXE_oriel"))
        .args(["exec", "--sm", "80", "--host", "--check-uniformity"])
        .args([&module, Path::new("--launch"), &launch])
        .env("ORIEL_FLAGS", flags)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        module.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    // Modules that agree are of no further interest; one that differs stays to be looked at.
    std::fs::remove_file(&module).unwrap();
    std::fs::remove_file(&launch).unwrap();
}

#[test]
fn generated_kernels_give_the_hosts_memory() {
    let kernels = setting("ORIEL_TEST_KERNELS", 300) as usize;
    let mut seed = setting("ORIEL_TEST_SEED", 1);
    let mut shapes = Shape::ALL.iter().copied().cycle();
    let mut compared = 0;
    while compared < kernels {
        let (functions, module) = (
            KERNELS_A_MODULE.min(kernels - compared),
            compared / KERNELS_A_MODULE,
        );
        let options = Options {
            seed,
            functions,
            shape: shapes.next().expect("the shapes never end"),
            calls: module.is_multiple_of(2),
            all_operations: !module.is_multiple_of(3),
            ..Options::default()
        };
        // Most of these loops take too few registers for Oriel to leave the pass out by itself.
        let flags = ["", "-oriel-loop-strength-reduction=off"][usize::from(module % 4 < 2)];
        compare(&options, flags);
        compared += functions;
        seed += functions as u64;
    }
}
