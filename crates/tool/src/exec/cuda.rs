//! `oriel exec --device cuda`: runs LLVM's PTX without and with Oriel on a GPU.

use super::{ExecArguments, milliseconds, print_json};
use crate::Failure;
use crate::source::is_ir;
use oriel_interpreter::launch::LaunchDescription;
use oriel_laboratory::cuda::{
    Agreement, ComputeCapability, CudaError, Device, DeviceResult, Driver, KernelResources, KernelTimes,
    compare, run_described_on_device, time_described_on_device,
};
use serde::Serialize;
use std::ffi::{CStr, CString};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Exit status without a driver, which test harnesses treat as "skipped".
const EXIT_NO_DRIVER: u8 = 77;

/// The two compared sides.
const SIDES: [&str; 2] = ["before", "after"];

/// A line of the output: a run of one side.
#[derive(Serialize)]
struct DeviceRunLine<'a> {
    side: &'static str,
    device: &'a str,
    compute_capability: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<ResultReport<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fault: Option<String>,
}

/// The result of a run.
#[derive(Serialize)]
struct ResultReport<'a> {
    /// Hash of the memory afterwards.
    hash: String,
    load_ms: f64,
    run_ms: f64,
    kernels: Vec<KernelReport<'a>>,
}

/// The resources that the driver's compiler allocated for a kernel.
#[derive(Serialize)]
struct KernelReport<'a> {
    kernel: &'a str,
    registers: u32,
    local_bytes: u32,
}

/// The agreement of a buffer.
#[derive(Serialize)]
struct ComparisonReport<'a> {
    buffer: &'a str,
    /// "identical", "allowed" or "different".
    agreement: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    difference: Option<String>,
}

/// The times of a kernel in microseconds: lower quartile, median, upper quartile.
#[derive(Serialize)]
struct TimesReport<'a> {
    kernel: &'a str,
    runs: usize,
    before_us: [f64; 3],
    after_us: [f64; 3],
}

/// Runs the command.
pub fn run(arguments: &ExecArguments) -> Result<(), Failure> {
    let Some(path) = &arguments.launch else {
        return Err("--device cuda runs launch descriptions: --launch is missing"
            .to_owned()
            .into());
    };
    refuse_options_of_the_interpreter(arguments)?;
    let description = LaunchDescription::load(path).map_err(|error| error.to_string())?;
    let driver = Driver::load().map_err(|absent| Failure {
        message: format!("no CUDA driver: {absent}"),
        code: EXIT_NO_DRIVER,
    })?;
    let device = driver.device(0).map_err(|error| error.to_string())?;
    let name = device.name().map_err(|error| error.to_string())?;
    let modules = modules(arguments, device.compute_capability())?;
    Ok(run_sides(arguments, &device, &name, &modules, &description)?)
}

fn refuse_options_of_the_interpreter(arguments: &ExecArguments) -> Result<(), String> {
    let given = [
        ("--module", arguments.module.is_some()),
        ("--before", arguments.before.is_some()),
        ("--after", arguments.after.is_some()),
        ("--stage", arguments.stage.is_some()),
        ("--steps", arguments.steps.is_some()),
    ];
    match given.iter().find(|(_, is_given)| *is_given) {
        Some((option, _)) => Err(format!("{option} is for the interpreter, not for --device cuda")),
        None => Ok(()),
    }
}

/// Returns the PTX of both sides, from the given files or through LLVM.
fn modules(arguments: &ExecArguments, device: ComputeCapability) -> Result<[CString; 2], String> {
    let is_ptx = |path: &Path| path.extension().is_some_and(|it| it == "ptx");
    match arguments.files.as_slice() {
        [before, after] if is_ptx(before) && is_ptx(after) => {
            if !arguments.oriel.is_empty() || arguments.sm.is_some() || arguments.ptx.is_some() {
                return Err("--oriel, --sm and --ptx go with LLVM IR, which is compiled".to_owned());
            }
            Ok([read_ptx(before)?, read_ptx(after)?])
        }
        [file] if is_ir(file) => {
            // Other effects of the user's options, such as reports, happen once.
            let before = compile(arguments, file, device, "-oriel=off", true)?;
            Ok([before, compile(arguments, file, device, &arguments.oriel, false)?])
        }
        _ => Err("--device cuda takes one file of LLVM IR, or the PTX of both sides".to_owned()),
    }
}

fn read_ptx(path: &PathBuf) -> Result<CString, String> {
    let text = std::fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
    to_c_string(text).map_err(|problem| format!("{}: {problem}", path.display()))
}

fn to_c_string(ptx: Vec<u8>) -> Result<CString, String> {
    CString::new(ptx).map_err(|error| format!("byte {} of the PTX is zero", error.nul_position()))
}

/// Runs `oriel compile` in its own process, since Oriel's options belong to a process.
fn compile(
    arguments: &ExecArguments,
    file: &Path,
    device: ComputeCapability,
    options: &str,
    is_alone: bool,
) -> Result<CString, String> {
    if cfg!(not(feature = "llvm")) {
        return Err(format!("{}: this oriel is built without LLVM", file.display()));
    }
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut command = Command::new(program);
    command
        .arg("compile")
        .arg(file)
        .arg(format!("-O{}", arguments.optimization_level))
        .arg("--sm")
        .arg(arguments.sm.clone().unwrap_or_else(|| device.sm().to_string()))
        .args(arguments.ptx.map(|version| format!("--ptx={version}")))
        .arg("--oriel")
        .arg(options);
    if is_alone {
        command.env_remove("ORIEL_FLAGS");
    }
    let output = command.output().map_err(|error| error.to_string())?;
    eprint!("{}", String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("{}: it does not compile", file.display()));
    }
    to_c_string(output.stdout)
}

fn run_sides(
    arguments: &ExecArguments,
    device: &Device<'_>,
    device_name: &str,
    modules: &[CString; 2],
    description: &LaunchDescription,
) -> Result<(), String> {
    let mut results: Vec<DeviceResult> = Vec::new();
    for (side, ptx) in SIDES.into_iter().zip(modules) {
        let outcome = run_described_on_device(device, ptx, description);
        print_side(arguments, device, device_name, side, &outcome)?;
        if let Ok(result) = outcome {
            super::dump(arguments, side, result.memory.all())?;
            results.push(result);
        }
    }
    let [before, after] = results.as_slice() else {
        return Err("a launch failed".to_owned());
    };
    let mut differing = Vec::new();
    for comparison in compare(description, &before.memory, &after.memory) {
        if let Agreement::Different(difference) = &comparison.agreement {
            differing.push(format!("{} differs: {difference}", comparison.name));
        }
        print_comparison(arguments, &comparison.name, &comparison.agreement)?;
    }
    if !differing.is_empty() {
        return Err(differing.join("; "));
    }
    let Some(runs) = arguments.repeat else {
        return Ok(());
    };
    let sides: Vec<&CStr> = modules.iter().map(CString::as_c_str).collect();
    let times = time_described_on_device(device, &sides, description, runs as usize)
        .map_err(|error| error.to_string())?;
    times.iter().try_for_each(|it| print_times(arguments, it))
}

/// Prints the times of a kernel on both sides.
fn print_times(arguments: &ExecArguments, times: &KernelTimes) -> Result<(), String> {
    let microseconds = |time: Duration| time.as_nanos() as f64 / 1e3;
    let of_side = |side| {
        let [low, high] = times.quartiles(side).map(microseconds);
        [low, microseconds(times.median(side)), high]
    };
    let report = TimesReport {
        kernel: &times.kernel,
        runs: times.modules[0].len(),
        before_us: of_side(0),
        after_us: of_side(1),
    };
    if arguments.json {
        return print_json(&report);
    }
    let show = |[low, median, high]: [f64; 3]| format!("{median:.2} us ({low:.2} to {high:.2})");
    say_line!(
        "{}: {} before, {} after, {:+.1} %",
        times.kernel,
        show(report.before_us),
        show(report.after_us),
        100.0 * (times.ratio(1, 0) - 1.0)
    );
    Ok(())
}

fn print_side(
    arguments: &ExecArguments,
    device: &Device<'_>,
    device_name: &str,
    side: &'static str,
    outcome: &Result<DeviceResult, CudaError>,
) -> Result<(), String> {
    let report = DeviceRunLine {
        side,
        device: device_name,
        compute_capability: device.compute_capability().to_string(),
        result: outcome.as_ref().ok().map(|result| ResultReport {
            hash: format!("{:016x}", result.memory.hash()),
            load_ms: milliseconds(result.load_time),
            run_ms: milliseconds(result.run_time),
            kernels: result.kernels.iter().map(kernel_report).collect(),
        }),
        fault: outcome.as_ref().err().map(ToString::to_string),
    };
    if arguments.json {
        return print_json(&report);
    }
    say!("{side} on {device_name} ({}): ", report.compute_capability);
    match (&report.result, &report.fault) {
        (Some(result), _) => say_line!(
            "hash {}, compiled in {:.1} ms, run in {:.1} ms",
            result.hash,
            result.load_ms,
            result.run_ms
        ),
        (None, fault) => say_line!("{}", fault.as_deref().unwrap_or_default()),
    }
    for kernel in report.result.iter().flat_map(|result| &result.kernels) {
        say_line!(
            "  {}: {} registers, {} bytes of local memory",
            kernel.kernel,
            kernel.registers,
            kernel.local_bytes
        );
    }
    Ok(())
}

fn kernel_report(kernel: &KernelResources) -> KernelReport<'_> {
    KernelReport {
        kernel: &kernel.name,
        registers: kernel.registers,
        local_bytes: kernel.local_bytes,
    }
}

fn print_comparison(arguments: &ExecArguments, buffer: &str, agreement: &Agreement) -> Result<(), String> {
    let (word, difference) = match agreement {
        Agreement::Identical => ("identical", None),
        Agreement::Allowed => ("allowed", None),
        Agreement::Different(difference) => ("different", Some(difference.to_string())),
    };
    if arguments.json {
        return print_json(&ComparisonReport {
            buffer,
            agreement: word,
            difference,
        });
    }
    match (agreement, difference) {
        (Agreement::Allowed, _) => {
            say_line!("{buffer}: equal as the description compares it, not byte for byte")
        }
        (_, None) => say_line!("{buffer}: {word}"),
        (_, Some(difference)) => say_line!("{buffer}: {word}: {difference}"),
    }
    Ok(())
}
