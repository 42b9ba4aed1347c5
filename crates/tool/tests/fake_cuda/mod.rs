//! A CUDA driver without a GPU, fake_cuda.c, and what runs on it.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) const SAXPY: &str = include_str!("saxpy.ptx");

/// `saxpy` as a compiler would have it that contracts the multiplication and the addition.
pub(crate) fn fused_saxpy() -> String {
    let unfused = "\tmul.rn.f32 \t%r7, %r5, %r6;\n\tadd.rn.f32 \t%r8, %r7, %r4;\n";
    let fused = SAXPY.replace(unfused, "\tfma.rn.f32 \t%r8, %r5, %r6, %r4;\n");
    assert_ne!(fused, SAXPY);
    fused
}

/// A launch of `saxpy` on values whose products do not fit a float.
pub(crate) fn saxpy_description(comparison: &str, role_of_y: &str) -> String {
    format!(
        r#"
description = "y = a * x + y"
[[buffer]]
name = "x"
element = "f32"
length = 100
role = "in"
initial = {{ uniform = {{ seed = 1, low = -1.0, high = 1.0 }} }}
[[buffer]]
name = "y"
element = "f32"
length = 100
role = "{role_of_y}"
initial = {{ uniform = {{ seed = 2, low = -1.0, high = 1.0 }} }}
{comparison}
[[buffer]]
name = "unused"
element = "u8"
length = 3
role = "out"
initial = "zero"
[[launch]]
kernel = "saxpy"
grid = [2, 1, 1]
block = [64, 1, 1]
arguments = [{{ i32 = 100 }}, {{ f32 = 0.7 }}, {{ buffer = "x" }}, {{ buffer = "y" }}]
"#
    )
}

/// Compiles the fake driver. Each name is a library with its own state.
pub(crate) fn build_driver(name: &str, defines: &[&str]) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("fake_cuda")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    let library = folder.join("libcuda.so.1");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fake_cuda/fake_cuda.c");
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(compiler)
        .args([
            "-shared",
            "-fPIC",
            "-O1",
            "-ffp-contract=off",
            "-Wall",
            "-Wextra",
            "-Werror",
        ])
        .args(["-Wno-unused-parameter", "-D_GNU_SOURCE"])
        .args(defines.iter().map(|define| format!("-D{define}")))
        .arg("-o")
        .args([&library, &source])
        .arg("-lm")
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    library
}
