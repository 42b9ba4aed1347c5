//! `oriel exec --device cuda` and `oriel tune --goal time` on a driver without a GPU:
//! crates/tool/tests/fake_cuda/fake_cuda.c.

#![cfg(target_os = "linux")]

mod fake_cuda;

use fake_cuda::{SAXPY, build_driver, fused_saxpy, saxpy_description};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A folder with what the command line needs: two modules and a description.
fn command_line_files(name: &str, comparison: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
        .join("cuda_command_line")
        .join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("before.ptx"), SAXPY).unwrap();
    std::fs::write(folder.join("after.ptx"), fused_saxpy()).unwrap();
    std::fs::write(folder.join("saxpy.toml"), saxpy_description(comparison, "inout")).unwrap();
    folder
}

fn exec(folder: &Path, driver: &Path, arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_oriel"))
        .current_dir(folder)
        .env("ORIEL_CUDA_DRIVER", driver)
        .args(["exec", "--device", "cuda", "--launch", "saxpy.toml"])
        .args(arguments)
        .output()
        .unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn command_line_without_a_driver() {
    let folder = command_line_files("absent", "");
    let output = exec(
        &folder,
        Path::new("/nonexistent.so"),
        &["before.ptx", "after.ptx"],
    );
    assert_eq!(output.status.code(), Some(77));
    let message = text(&output.stderr);
    assert!(
        message.starts_with("oriel: no CUDA driver: /nonexistent.so cannot be loaded: "),
        "{message}"
    );
    assert_eq!(text(&output.stdout), "");
}

#[test]
fn command_line_on_two_modules() {
    let driver = build_driver("command_line", &[]);
    let folder = command_line_files("same", "");
    let dump = folder.join("dump");
    std::fs::create_dir_all(&dump).unwrap();
    let output = exec(&folder, &driver, &["before.ptx", "before.ptx", "--dump", "dump"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    let lines: Vec<&str> = printed.lines().collect();
    assert!(
        lines[0].starts_with("before on Fake GPU (8.0): hash "),
        "{printed}"
    );
    assert_eq!(lines[1], "  saxpy: 15 registers, 24 bytes of local memory");
    assert!(
        lines[2].starts_with("after on Fake GPU (8.0): hash "),
        "{printed}"
    );
    assert_eq!(
        lines[4..],
        [
            "x: identical",
            "y: identical",
            "unused: identical",
            "counter: identical"
        ]
    );
    let [before, after] =
        ["before", "after"].map(|side| std::fs::read(dump.join(format!("{side}.y.bin"))).unwrap());
    assert_eq!(before.len(), 400);
    assert_eq!(before, after);
}

#[test]
fn command_line_times_kernels() {
    let driver = build_driver("command_line_times", &[]);
    let folder = command_line_files("times", "compare = { absolute = 1e-6, relative = 1e-6 }");
    let output = exec(&folder, &driver, &["before.ptx", "after.ptx", "--repeat", "5"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let expected = "saxpy: 10.00 us (10.00 to 10.00) before, 8.00 us (8.00 to 8.00) after, -20.0 %";
    assert_eq!(text(&output.stdout).lines().last(), Some(expected));
    let output = exec(
        &folder,
        &driver,
        &["before.ptx", "after.ptx", "--repeat", "5", "--json"],
    );
    let printed = text(&output.stdout);
    let times: serde_json::Value = serde_json::from_str(printed.lines().last().unwrap()).unwrap();
    assert_eq!((&times["kernel"], &times["runs"]), (&"saxpy".into(), &5.into()));
    assert_eq!(times["after_us"], serde_json::json!([8.0, 8.0, 8.0]));
}

/// Prints machine code of 10,000 bytes for `saxpy`, of 8,000 if there is a sum between the loads, and
/// of 7,000, or $LIMITED, with a limit of registers.
#[cfg(feature = "llvm")]
const FAKE_PTXAS: &str = r#"#!/bin/sh
if [ "$1" = --version ]; then
  echo "Cuda compilation tools, release 1.2, V1.2.3"
  exit
fi
code=$(cat)
size=10000
if echo "$code" | grep -A1 -m1 ld.global | grep -q add; then size=8000; fi
case "$code" in *".maxnreg 16"*) size=${LIMITED:-7000} ;; esac
cat >&2 <<END
ptxas info    : Function properties for saxpy
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 20 registers
END
object=$(mktemp)
printf '.section .text.saxpy,"ax"\n.skip %s\n' $size | ${CC:-cc} -c -x assembler -o "$object" -
cat "$object"
rm "$object"
"#;

#[test]
#[cfg(feature = "llvm")]
fn tuning_for_time() {
    use std::os::unix::fs::PermissionsExt;
    let driver = build_driver("tuning", &[]);
    let folder = command_line_files("tuning", "");
    let ptxas = folder.join("ptxas.sh");
    std::fs::write(&ptxas, FAKE_PTXAS).unwrap();
    std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).unwrap();
    let ir = r#"target triple = "nvptx64-nvidia-cuda"
define ptx_kernel void @saxpy(i32 %n, float %a, ptr addrspace(1) %x, ptr addrspace(1) %y) {
  %u = load float, ptr addrspace(1) %x
  %v = load float, ptr addrspace(1) %y
  %u.1 = fadd float %u, 5.0
  %v.1 = fadd float %v, 7.0
  %product = fmul float %u.1, %v.1
  store float %product, ptr addrspace(1) %y
  ret void
}
define ptx_kernel void @other() {
  ret void
}
"#;
    std::fs::write(folder.join("saxpy.ll"), ir).unwrap();
    let tune_with = |limited: &str, arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_oriel"))
            .current_dir(&folder)
            .env("ORIEL_CUDA_DRIVER", &driver)
            .env("LLVM_PTXAS_EXECUTABLE", &ptxas)
            .env("LIMITED", limited)
            .args(["tune", "--goal", "time", "saxpy.ll"])
            .args(arguments)
            .output()
            .unwrap()
    };
    let tune = |arguments: &[&str]| tune_with("7000", arguments);
    let of_module = ["--launch", "saxpy.toml", "--limits", "--oriel-only", "--json"];
    let output = tune(&of_module);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let found: serde_json::Value = serde_json::from_str(&text(&output.stdout)).unwrap();
    assert_eq!(found["judge"], "ptxas 1.2.3 and Fake GPU");
    // The device's.
    assert_eq!(found["sm"], "80");
    let times = ["before", "after"].map(|side| found["functions"][0][side]["time_ns"].clone());
    assert_eq!(
        times,
        [10_000.into(), 8000.into()] as [serde_json::Value; 2],
        "{found}"
    );
    // The quickest variant leaves other results.
    let failure = found["first_failure"].as_str().unwrap();
    assert!(failure.starts_with("y differs: element 0: "), "{failure}");
    let flags = "-oriel-knob=InstructionOrder=1 -oriel-enable-phases=ReorderInstructions";
    assert_eq!(found["flags"], flags);

    let output = tune(&["--launch", "saxpy.toml", "--save", "tuned.json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(printed.contains("10.00 -> 8.00\n"), "{printed}");
    assert!(
        printed.contains(&format!("saxpy alone: 8.00 microseconds with flags: {flags}\n")),
        "{printed}"
    );
    let saved = std::fs::read_to_string(folder.join("tuned.json")).unwrap();
    assert_eq!(saved.lines().count(), 1, "{saved}");

    let output = tune_with("5000", &of_module);
    let message = text(&output.stderr);
    let problem = "a variant fails on the GPU, where the options given do not, with -oriel-maxnreg=16: \
                   cuCtxSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700): ";
    assert!(message.contains(problem), "{message}");

    let output = tune(&[]);
    assert!(!output.status.success());
    let message = text(&output.stderr);
    assert!(message.contains("--launch <TOML>"), "{message}");
    let output = tune(&["--launch", "saxpy.toml", "--sm", "90"]);
    let problem = "the PTX is compiled for sm_90, which does not run on a device of compute capability 8.0";
    assert!(text(&output.stderr).contains(problem), "{}", text(&output.stderr));
}

#[test]
fn command_line_names_what_differs() {
    let driver = build_driver("command_line_difference", &[]);
    let folder = command_line_files("different", "");
    let output = exec(&folder, &driver, &["before.ptx", "after.ptx", "--json"]);
    assert_eq!(output.status.code(), Some(1));
    let message = text(&output.stderr);
    assert!(message.starts_with("oriel: y differs: element "), "{message}");
    let lines: Vec<serde_json::Value> = text(&output.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 6);
    assert_eq!(lines[0]["side"], "before");
    assert_eq!(lines[1]["side"], "after");
    assert_ne!(lines[0]["result"]["hash"], lines[1]["result"]["hash"]);
    assert_eq!(lines[0]["result"]["kernels"][0]["registers"], 15);
    assert_eq!(
        (&lines[3]["buffer"], &lines[3]["agreement"]),
        (&"y".into(), &"different".into())
    );

    let folder = command_line_files("close", "compare = { absolute = 1e-6, relative = 1e-6 }");
    let output = exec(&folder, &driver, &["before.ptx", "after.ptx"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let allowed = "\ny: equal as the description compares it, not byte for byte\n";
    assert!(text(&output.stdout).contains(allowed), "{}", text(&output.stdout));
}

#[test]
fn command_line_goes_on_after_a_side_that_fails() {
    let driver = build_driver("command_line_fault", &[]);
    let folder = command_line_files("fault", "");
    std::fs::write(folder.join("newer.ptx"), SAXPY.replace("sm_80", "sm_90a")).unwrap();
    let output = exec(&folder, &driver, &["newer.ptx", "after.ptx"]);
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(text(&output.stderr), "oriel: a launch failed\n");
    let printed = text(&output.stdout);
    let refusal = "before on Fake GPU (8.0): the PTX is compiled for sm_90a, which does not run on a device of compute \
                   capability 8.0\n";
    assert!(printed.starts_with(refusal), "{printed}");
    assert!(printed.contains("\nafter on Fake GPU (8.0): hash "), "{printed}");
}

#[test]
fn command_line_refuses_what_it_would_ignore() {
    let driver = build_driver("command_line_options", &[]);
    let folder = command_line_files("options", "");
    let refused = |arguments: &[&str]| {
        let output = exec(&folder, &driver, arguments);
        assert_eq!(output.status.code(), Some(1));
        text(&output.stderr)
    };
    assert_eq!(
        refused(&["before.ptx", "after.ptx", "--stage", "ssa"]),
        "oriel: --stage is for the interpreter, not for --device cuda\n"
    );
    assert_eq!(
        refused(&["before.ptx", "after.ptx", "--sm", "80"]),
        "oriel: --oriel, --sm and --ptx go with LLVM IR, which is compiled\n"
    );
    assert_eq!(
        refused(&["before.ptx"]),
        "oriel: --device cuda takes one file of LLVM IR, or the PTX of both sides\n"
    );
}

/// LLVM's own PTX, without Oriel and with it.
#[cfg(feature = "llvm")]
#[test]
fn command_line_on_llvm_ir() {
    let driver = build_driver("command_line_llvm", &[]);
    let folder = command_line_files("llvm", "");
    std::fs::write(folder.join("saxpy.ll"), include_str!("fake_cuda/saxpy.ll")).unwrap();
    let report = folder.join("report.json");
    let flags = format!("-oriel-report={}", report.display());
    let output = exec(&folder, &driver, &["saxpy.ll", "--oriel", &flags]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.contains("\ny: identical\n") && printed.contains("\ncounter: identical\n"),
        "{printed}"
    );
    // Oriel saw the kernel, at the device's compute capability, in one of the two compilations.
    let report = std::fs::read_to_string(&report).unwrap();
    assert_eq!(
        report
            .lines()
            .filter(|line| line.contains("\"stage\":\"late\""))
            .count(),
        1,
        "{report}"
    );
    assert!(report.contains("\"sm\":80,"), "{report}");

    let output = exec(&folder, &driver, &["saxpy.ll", "--oriel", "-oriel=fast"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("'fast' is not allowed"),
        "{}",
        text(&output.stderr)
    );
}
