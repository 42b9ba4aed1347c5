//! Runs phases in LLVM's pipeline, and the back end on their results.
//!
//! A second process compiles the module with phases at the first stage. It exports the functions of
//! the second stage, which have been converted back to machine code and have gone through LLVM's
//! PHI elimination, coalescing and scheduling. They must leave the same memory as those of the
//! unchanged module. A second process is needed because Oriel's options belong to a process.

use super::DifferentialArguments;
use super::kernel_source::Work;
use oriel::ori::Function;
use oriel::ori::machine::from_machine;
use oriel::phases::registry::Phase;
use oriel::snapshot::abi::Stage;
use oriel_laboratory::differential::{Baseline, Sequence, TestedModule, sequences};
use std::path::Path;
use std::process::Command;

/// The number of comparisons, and the failures.
#[derive(Default)]
pub struct MachineCodeResult {
    /// Runs that were compared.
    pub comparisons: usize,
    /// One sentence each.
    pub problems: Vec<String>,
}

/// Compiles a module with two lists of phases, the pipeline and a random one, and runs the results.
pub fn check(
    arguments: &DifferentialArguments,
    work: &Work,
    file: &Path,
    baselines: &[Baseline],
    is_wanted: &dyn Fn(&Phase) -> bool,
) -> Result<MachineCodeResult, String> {
    let mut report = MachineCodeResult::default();
    let lists = sequences(Stage::Ssa, is_wanted, 1, work.seed);
    for list in lists.iter().rev().take(2) {
        match compile(arguments, work, file, list) {
            Err(problem) => report
                .problems
                .push(format!("{} with {list}: {problem}", file.display())),
            Ok(functions) => {
                for (tested, baseline) in work.modules.iter().zip(baselines) {
                    compare(tested, baseline, &functions, list, &mut report);
                }
            }
        }
    }
    Ok(report)
}

fn compare(
    tested: &TestedModule,
    baseline: &Baseline,
    functions: &[Function],
    list: &Sequence,
    report: &mut MachineCodeResult,
) {
    if tested.stage() != Stage::Late {
        return;
    }
    // In the same order, which determines the addresses of functions.
    let named = |name: &str| functions.iter().find(|function| function.info.name == name);
    let same = tested
        .functions
        .iter()
        .filter_map(|function| named(&function.info.name));
    let functions: Vec<Function> = same.cloned().collect();
    report.comparisons += baseline.usable_inputs();
    if let Err(problem) = baseline.compare(tested, &functions) {
        report
            .problems
            .push(format!("{} compiled with {list}: {problem}", tested.name));
    }
}

/// Returns the second stage's functions of a module that was compiled with phases at the first.
fn compile(
    arguments: &DifferentialArguments,
    work: &Work,
    file: &Path,
    list: &Sequence,
) -> Result<Vec<Function>, String> {
    let name = file.file_stem().unwrap_or_default().to_string_lossy();
    let folder = std::env::temp_dir().join(format!("oriel-machine-code-{}-{name}", std::process::id()));
    let problem = |error: std::io::Error| format!("{}: {error}", folder.display());
    std::fs::create_dir_all(&folder).map_err(problem)?;
    let functions = compile_into(arguments, work, file, list, &folder);
    std::fs::remove_dir_all(&folder).map_err(problem)?;
    functions
}

fn compile_into(
    arguments: &DifferentialArguments,
    work: &Work,
    file: &Path,
    list: &Sequence,
    folder: &Path,
) -> Result<Vec<Function>, String> {
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let flags = format!(
        "-oriel-phases={} -oriel-register-budget={} -oriel-verify '-oriel-snapshot={}'",
        list.at(Stage::Ssa),
        work.modules[0].phase_options.register_budget,
        folder.display()
    );
    let output = Command::new(program)
        .args(["compile", "--sm", work.how.sm.as_deref().unwrap_or("80")])
        .args(work.how.ptx.map(|version| format!("--ptx={version}")))
        .arg(format!("-O{}", arguments.optimization_level))
        .arg(file)
        .args(["-o", "/dev/null", "--oriel", &flags])
        .output()
        .map_err(|error| error.to_string())?;
    let said = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() || !said.is_empty() {
        return Err(format!("{} {said}", output.status));
    }
    let mut functions = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|error| error.to_string())? {
        let path = entry.map_err(|error| error.to_string())?.path();
        let snapshot = crate::snapshot::load(&path)?;
        if snapshot.view().stage() == Stage::Late {
            functions.push(from_machine(&snapshot.view()).map_err(|error| error.to_string())?);
        }
    }
    Ok(functions)
}
