//! The modules that `oriel differential` checks: files, or generated modules.

use super::DifferentialArguments;
use crate::input::{CodeGeneration, Input};
use crate::source::is_ir;
use oriel::live::pressure::DEFAULT_BUDGET;
use oriel::ori::Function;
use oriel::snapshot::OwnedSnapshot;
use oriel::snapshot::abi::{FunctionFlags, Stage};
use oriel_generate::{Options, Shape};
use oriel_interpreter::launch::LaunchDescription;
use oriel_laboratory::differential::{Input as KernelInput, TestedModule};
use std::path::PathBuf;

/// Kernels of a generated module.
const KERNELS_A_MODULE: usize = 10;
/// Additional inputs, besides the check's own, to decide whether a wrong edit is detectable.
const MORE_INPUTS: u64 = 40;

/// A module to check.
pub struct Work {
    /// Its functions at both stages, each with its inputs.
    pub modules: Vec<TestedModule>,
    /// The PTX that LLVM printed.
    pub ptx: String,
    /// The snapshots of the functions.
    pub snapshots: Vec<OwnedSnapshot>,
    /// The LLVM IR, if it comes from there.
    pub file: Option<PathBuf>,
    /// Its compute capability and level.
    pub how: CodeGeneration,
    /// The seed of lists of phases and wrong edits.
    pub seed: u64,
    /// Kernels in it.
    pub kernels: usize,
    /// The options of the generator.
    options: Option<Options>,
    inputs: u64,
    is_temporary: bool,
}

impl Drop for Work {
    fn drop(&mut self) {
        if let (true, Some(file)) = (self.is_temporary, &self.file) {
            // A leftover temporary file is no reason to stop.
            let _ = std::fs::remove_file(file);
        }
    }
}

/// Modules, one after the other.
pub enum KernelSource<'a> {
    Files(Vec<Vec<PathBuf>>, Option<KernelInput>, &'a DifferentialArguments),
    Generated(usize, PathBuf, &'a DifferentialArguments),
}

impl<'a> KernelSource<'a> {
    /// The requested files or kernels.
    pub fn new(arguments: &'a DifferentialArguments) -> Result<Self, String> {
        if let Some(kernels) = arguments.generate {
            let folder = std::env::temp_dir().join(format!("oriel-differential-{}", std::process::id()));
            std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
            return Ok(Self::Generated(kernels, folder, arguments));
        }
        let described = match &arguments.launch {
            Some(path) => {
                let text =
                    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
                let description = LaunchDescription::parse(&text, path).map_err(|error| error.to_string())?;
                Some(KernelInput::Described { text, description })
            }
            None => None,
        };
        if arguments.files.is_empty() {
            return Err("there is nothing to check: name files, or say --generate N".to_owned());
        }
        // Snapshots and text are functions of one module; each file of LLVM IR is a module.
        let files: Vec<Vec<PathBuf>> = match arguments.files.iter().any(|file| is_ir(file)) {
            true => arguments.files.iter().map(|file| vec![file.clone()]).collect(),
            false => vec![arguments.files.clone()],
        };
        if files.len() > 1 && described.is_some() {
            return Err("--launch is for one module".to_owned());
        }
        Ok(Self::Files(files, described, arguments))
    }

    /// Returns the number of modules.
    pub fn len(&self) -> usize {
        match self {
            Self::Files(files, ..) => files.len(),
            Self::Generated(kernels, ..) => kernels.div_ceil(KERNELS_A_MODULE),
        }
    }

    /// Returns one of the modules.
    pub fn work(&self, number: usize) -> Result<Work, String> {
        match self {
            Self::Files(files, described, arguments) => {
                of_files(&files[number], described.as_ref(), arguments)
            }
            Self::Generated(kernels, folder, arguments) => {
                let first = number * KERNELS_A_MODULE;
                let options = options(arguments, number, KERNELS_A_MODULE.min(kernels - first));
                let how = arguments.code_generation(&processor(arguments, number));
                let file = folder.join(format!("{}.ll", options.seed));
                let write =
                    std::fs::File::create(&file).and_then(|out| oriel_generate::llvm_ir(&options, out));
                write.map_err(|error| format!("{}: {error}", file.display()))?;
                generated(options, file, arguments, how, register_budget(number))
            }
        }
    }
}

impl Drop for KernelSource<'_> {
    fn drop(&mut self) {
        if let Self::Generated(_, folder, _) = self {
            // Only the leftovers of a failed run prevent the removal.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Returns the processor of module `number`: the requested one, or each kind in turn.
fn processor(arguments: &DifferentialArguments, number: usize) -> String {
    let known = ["80", "90", "90a", "100"];
    arguments
        .sm
        .clone()
        .unwrap_or_else(|| known[number % known.len()].to_owned())
}

/// Returns the register budget of generated module `number`: generated kernels need few registers,
/// and phases that act where registers are short would find nothing to do with the default.
fn register_budget(number: usize) -> u32 {
    [DEFAULT_BUDGET, 12][number / 2 % 2]
}

/// Returns the options of module `number`: all shapes in turn, small and large, with and without
/// calls and cooperating threads, with short blocks and with long expressions.
fn options(arguments: &DifferentialArguments, number: usize, functions: usize) -> Options {
    let shapes = Shape::ALL;
    let name = processor(arguments, number);
    let (sm, is_architecture_specific) =
        oriel_generate::parse_processor(&name).expect("the names are well formed");
    let round = number / shapes.len();
    Options {
        seed: arguments.seed + (number * KERNELS_A_MODULE) as u64,
        functions,
        shape: arguments.shape.unwrap_or(shapes[number % shapes.len()]),
        instructions: [60, 100, 160, 300][round % 4],
        block_size: [8, 4, 16, 60][(round + number) % 4],
        loop_depth: 1 + round % 4,
        calls: number.is_multiple_of(2),
        all_operations: !number.is_multiple_of(3),
        assembly: number % 5 != 1,
        sm,
        is_architecture_specific,
        ..Options::default()
    }
}

/// Returns the functions that run with a kernel: itself and possible callees.
fn with_callees(functions: &[Function], kernel: &str) -> Vec<Function> {
    let stays = |function: &&Function| function.info.name == kernel || !is_kernel(function);
    functions.iter().filter(stays).cloned().collect()
}

fn is_kernel(function: &Function) -> bool {
    function.info.flags.contains(FunctionFlags::KERNEL)
}

fn generated(
    options: Options,
    file: PathBuf,
    arguments: &DifferentialArguments,
    how: CodeGeneration,
    register_budget: u32,
) -> Result<Work, String> {
    let input = Input::load(std::slice::from_ref(&file), arguments.module.as_deref(), &how)?;
    let mut modules = Vec::new();
    for number in 0..options.functions {
        let seed = options.seed + number as u64;
        let name = format!("f{seed}");
        let inputs: Vec<KernelInput> = (0..arguments.inputs)
            .map(|input| described(&options, seed, input))
            .collect::<Result<_, _>>()?;
        for stage in [Stage::Ssa, Stage::Late] {
            let functions = input.at(stage)?;
            modules.push(TestedModule {
                functions: with_callees(&functions, &name),
                name: format!("{}-{name}", options.shape),
                module: input.module.clone(),
                inputs: inputs.clone(),
                phase_options: arguments.phase_options(register_budget),
            });
        }
    }
    Ok(Work {
        modules,
        ptx: input.ptx,
        snapshots: input.snapshots,
        file: Some(file),
        how,
        seed: options.seed,
        kernels: options.functions,
        inputs: arguments.inputs,
        options: Some(options),
        is_temporary: true,
    })
}

/// Returns input number `input` of the kernel of a seed.
fn described(options: &Options, seed: u64, input: u64) -> Result<KernelInput, String> {
    let alone = Options {
        seed,
        functions: 1,
        ..options.clone()
    };
    let text = oriel_generate::launch_description(&alone, seed.wrapping_add(input << 32));
    let description = LaunchDescription::parse(&text, "launch.toml").map_err(|error| error.to_string())?;
    Ok(KernelInput::Described { text, description })
}

fn of_files(
    files: &[PathBuf],
    described: Option<&KernelInput>,
    arguments: &DifferentialArguments,
) -> Result<Work, String> {
    let how = arguments.code_generation(arguments.sm.as_deref().unwrap_or("80"));
    let input = Input::load(files, arguments.module.as_deref(), &how)?;
    let name = files[0]
        .file_stem()
        .map_or_else(String::new, |stem| stem.to_string_lossy().into_owned());
    let mut modules = Vec::new();
    let mut kernels = 0;
    for stage in [Stage::Ssa, Stage::Late] {
        let Ok(functions) = input.at(stage) else { continue };
        kernels = functions.iter().filter(|it| is_kernel(it)).count();
        let tested = |functions, inputs| TestedModule {
            name: name.clone(),
            functions,
            module: input.module.clone(),
            inputs,
            phase_options: arguments.phase_options(DEFAULT_BUDGET),
        };
        if let Some(described) = described {
            modules.push(tested(functions, vec![described.clone()]));
            continue;
        }
        for kernel in functions.iter().filter(|it| is_kernel(it)) {
            let kernel = &kernel.info.name;
            let inputs = (0..arguments.inputs)
                .map(|input| blind(kernel, arguments.seed + input))
                .collect();
            let mut one = tested(with_callees(&functions, kernel), inputs);
            one.name = format!("{name} {kernel}");
            modules.push(one);
        }
    }
    if modules.is_empty() {
        return Err(format!("{}: there is nothing to check", files[0].display()));
    }
    let is_module = input.ptx.is_empty() || !input.snapshots.is_empty();
    let file = (files.len() == 1 && is_module && arguments.module.is_none()).then(|| files[0].clone());
    Ok(Work {
        modules,
        ptx: input.ptx,
        snapshots: input.snapshots,
        file: file.filter(|file| is_ir(file)),
        how,
        seed: arguments.seed,
        kernels,
        inputs: arguments.inputs,
        options: None,
        is_temporary: false,
    })
}

fn blind(kernel: &str, seed: u64) -> KernelInput {
    KernelInput::Blind {
        kernel: kernel.to_owned(),
        seed,
    }
}

impl Work {
    /// Returns inputs for a tested module that the check does not have.
    pub fn more_inputs(&self, tested: &TestedModule) -> Vec<KernelInput> {
        let numbers = self.inputs..self.inputs + MORE_INPUTS;
        let kernels = tested.functions.iter().filter(|it| is_kernel(it));
        match &self.options {
            Some(options) => {
                let seeds = kernels.filter_map(|it| it.info.name.strip_prefix('f')?.parse().ok());
                seeds
                    .flat_map(|seed: u64| numbers.clone().map(move |input| (seed, input)))
                    .filter_map(|(seed, input)| described(options, seed, input).ok())
                    .collect()
            }
            None => kernels
                .flat_map(|it| {
                    numbers
                        .clone()
                        .map(|input| blind(&it.info.name, self.seed + input))
                })
                .collect(),
        }
    }
}
