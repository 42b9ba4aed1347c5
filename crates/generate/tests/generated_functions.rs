//! Checks that LLVM accepts the output of `oriel_generate`: its verifier, its code generator and
//! its live intervals.

use std::env;
use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use oriel_generate::{Form, Options, Shape};

type TestResult = Result<(), Box<dyn Error>>;

/// Returns a tool of LLVM 22, from `ORIEL_LLVM_BIN` or from the folder that `llvm-config` reports.
fn tool(name: &str) -> Result<PathBuf, Box<dyn Error>> {
    if let Some(folder) = env::var_os("ORIEL_LLVM_BIN") {
        return Ok(Path::new(&folder).join(name));
    }
    for config in ["llvm-config-22", "llvm-config"] {
        if let Ok(output) = Command::new(config).arg("--bindir").output()
            && output.status.success()
        {
            return Ok(Path::new(String::from_utf8(output.stdout)?.trim()).join(name));
        }
    }
    Err("no llvm-config found; set ORIEL_LLVM_BIN to the folder of LLVM's tools".into())
}

fn run(name: &str, arguments: &[&str], file: &Path) -> Result<Output, Box<dyn Error>> {
    let output = Command::new(tool(name)?).args(arguments).arg(file).output()?;
    if output.status.success() {
        return Ok(output);
    }
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let telling = errors
        .lines()
        .find(|line| line.contains("***") || line.contains("rror"))
        .unwrap_or(&errors);
    Err(format!("{name} {arguments:?} {}: {telling}", file.display()).into())
}

/// Writes a module to a file with a descriptive name, so that a failure can be inspected.
fn write(options: &Options, extension: &str) -> Result<PathBuf, Box<dyn Error>> {
    let Options {
        seed,
        instructions,
        shape,
        form,
        debug_info,
        ..
    } = options;
    let name = format!("{shape}-{form}-{instructions}-{seed}-{debug_info}.{extension}");
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let file = File::create(&path)?;
    if extension == "mir" {
        oriel_generate::machine_ir(options, file)?;
    } else {
        oriel_generate::llvm_ir(options, file)?;
    }
    Ok(path)
}

fn machine_functions_pass(form: Form) -> TestResult {
    for &shape in Shape::ALL {
        for (instructions, functions, debug_info, assembly) in [
            (15, 10, false, false),
            (60, 10, true, false),
            (600, 3, false, false),
            (100, 10, false, true),
        ] {
            let options = Options {
                assembly,
                form,
                shape,
                instructions,
                functions,
                debug_info,
                block_size: 4,
                calls: true,
                ..Options::default()
            };
            let file = write(&options, "mir")?;
            let common = ["-mtriple=nvptx64", "-mcpu=sm_90", "-x", "mir", "-o", "-"];
            run(
                "llc",
                &[&common[..], &["-run-pass=none", "-verify-machineinstrs"]].concat(),
                &file,
            )?;
            // The verifier runs again after the intervals are computed and checks them as well.
            let intervals = run(
                "llc",
                &[&common[..], &["-passes=print<live-intervals>"]].concat(),
                &file,
            )?;
            let printed = String::from_utf8_lossy(&intervals.stderr)
                .matches("Live intervals for")
                .count();
            assert_eq!(printed, functions, "{}", file.display());
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

#[test]
fn machine_functions_in_ssa_form_pass() -> TestResult {
    machine_functions_pass(Form::Ssa)
}

#[test]
fn machine_functions_in_late_form_pass() -> TestResult {
    machine_functions_pass(Form::Late)
}

#[test]
fn llvm_functions_compile() -> TestResult {
    let targets = [
        ("-O1", "-mcpu=sm_50"),
        ("-O2", "-mcpu=sm_80"),
        ("-O3", "-mcpu=sm_100"),
    ];
    for (number, &shape) in Shape::ALL.iter().enumerate() {
        for (instructions, functions, debug_info) in [(12, 10, false), (80, 5, true), (800, 2, false)] {
            let options = Options {
                shape,
                instructions,
                functions,
                debug_info,
                calls: debug_info,
                ..Options::default()
            };
            let file = write(&options, "ll")?;
            run("opt", &["-passes=verify", "-disable-output"], &file)?;
            let (level, processor) = targets[number % targets.len()];
            run(
                "llc",
                &[level, processor, "-verify-machineinstrs", "-o", "-"],
                &file,
            )?;
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// Each processor supports the assembly and the intrinsics that its kernels get.
#[test]
fn llvm_functions_with_assembly_compile() -> TestResult {
    let processors = ["75", "80", "90", "90a", "100", "120"];
    for (number, &shape) in Shape::ALL.iter().enumerate() {
        for (round, &processor) in processors.iter().enumerate() {
            let (sm, is_architecture_specific) = oriel_generate::parse_processor(processor)?;
            let options = Options {
                seed: (100 * number + 10 * round) as u64,
                shape,
                instructions: 100,
                functions: 4,
                calls: round % 2 == 0,
                all_operations: round % 3 != 0,
                assembly: true,
                sm,
                is_architecture_specific,
                ..Options::default()
            };
            let file = write(&options, "ll")?;
            run("opt", &["-passes=verify", "-disable-output"], &file)?;
            let (level, processor) = (format!("-O{}", 1 + number % 3), format!("-mcpu=sm_{processor}"));
            run(
                "llc",
                &[&level, &processor, "-verify-machineinstrs", "-o", "-"],
                &file,
            )?;
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

/// Instructions of the kernels in a PTX file.
fn ptx_instructions(ptx: &str) -> usize {
    let is_instruction = |line: &&str| {
        let directive = line.starts_with('.') || line.starts_with("$L_");
        line.ends_with(';') && !directive
    };
    let mut kernel = false;
    let mut count = 0;
    for line in ptx.lines().map(str::trim) {
        kernel |= line.contains(".entry");
        count += usize::from(kernel && is_instruction(&line.split("//").next().unwrap_or(line).trim()));
        kernel &= line != "}";
    }
    count
}

/// Checks `Options::instructions`, on average over a few seeds.
#[test]
fn llvm_functions_have_the_size_asked_for() -> TestResult {
    for &shape in Shape::ALL {
        for (instructions, functions) in [(50, 20), (400, 6), (4000, 2)] {
            let options = Options {
                shape,
                instructions,
                functions,
                seed: 1000,
                ..Options::default()
            };
            let file = write(&options, "ll")?;
            let output = run("llc", &["-O2", "-mcpu=sm_80", "-o", "-"], &file)?;
            let made = ptx_instructions(&String::from_utf8(output.stdout)?) as f64;
            let ratio = made / (instructions * functions) as f64;
            assert!(
                (0.7..1.3).contains(&ratio),
                "{shape}, {instructions} instructions: {ratio:.2} of them"
            );
            fs::remove_file(file)?;
        }
    }
    Ok(())
}

#[test]
fn machine_functions_have_the_size_asked_for() -> TestResult {
    for form in [Form::Ssa, Form::Late] {
        let options = Options {
            form,
            instructions: 10_000,
            ..Options::default()
        };
        let mut text = Vec::new();
        oriel_generate::machine_ir(&options, &mut text)?;
        let text = String::from_utf8(text)?;
        let indented = text
            .lines()
            .filter(|line| line.starts_with("    ") && !line.contains("successors:"));
        let made = indented.count();
        assert!(made.abs_diff(10_000) < 1000, "{form}: {made}");
    }
    Ok(())
}
