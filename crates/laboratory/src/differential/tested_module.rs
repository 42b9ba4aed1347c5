//! The functions that are tested, inputs for them, and the results of a run.

use oriel_engine::snapshot::abi::Stage;
use oriel_interpreter::launch::LaunchDescription;
use oriel_interpreter::{
    BufferResult, Fault, LaunchStatistics, Limits, Module, Program, run_blind, run_described,
};
use oriel_ori::Function;
use oriel_phases::PhaseOptions;

/// The functions of a module at one stage, with inputs.
#[derive(Clone, Debug)]
pub struct TestedModule {
    /// A name for messages and files.
    pub name: String,
    /// The functions, at least one, all of one stage.
    pub functions: Vec<Function>,
    /// Variables and kernels.
    pub module: Module,
    /// The inputs, each a complete run.
    pub inputs: Vec<Input>,
    /// The options of phases.
    pub phase_options: PhaseOptions,
}

/// Launches, and the initial memory.
#[derive(Clone, Debug)]
pub enum Input {
    /// The launches of a description.
    Described {
        /// The text of the description, for saving.
        text: String,
        /// The description.
        description: LaunchDescription,
    },
    /// One launch on made-up memory.
    Blind {
        /// The kernel.
        kernel: String,
        /// The seed of arguments and memory.
        seed: u64,
    },
}

/// The memory after a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The description's buffers, and the module's variables.
    pub buffers: Vec<BufferResult>,
    /// For a blind launch: bytes written elsewhere, by address.
    pub writes: Vec<(u64, u8)>,
}

impl Contents {
    /// Returns the first difference between two contents, in words.
    pub fn difference(&self, other: &Self) -> Option<String> {
        for (a, b) in self.buffers.iter().zip(&other.buffers) {
            if a == b {
                continue;
            }
            let at = a.bytes.iter().zip(&b.bytes).position(|(a, b)| a != b);
            return Some(match at {
                Some(at) => format!(
                    "byte {at} of {} is {:#04x}, not {:#04x}",
                    a.name, b.bytes[at], a.bytes[at]
                ),
                None => format!("{} and {} are different buffers", a.name, b.name),
            });
        }
        if self.buffers.len() != other.buffers.len() {
            return Some("the buffers differ".to_owned());
        }
        if self.writes == other.writes {
            return None;
        }
        let pairs = self.writes.iter().zip(&other.writes);
        let same = pairs.take_while(|(a, b)| a == b).count();
        let write = |contents: &Self| match contents.writes.get(same) {
            Some((address, byte)) => format!("{byte:#04x} at {address:#x}"),
            None => "nothing more".to_owned(),
        };
        Some(format!("it wrote {}, not {}", write(other), write(self)))
    }
}

impl Input {
    /// Runs the launches.
    ///
    /// # Errors
    /// A launch failed.
    pub fn run(&self, program: &Program, limits: Limits) -> Result<(Contents, LaunchStatistics), Fault> {
        match self {
            Self::Described { description, .. } => {
                let result = run_described(program, description, limits)?;
                let buffers = result.buffers.into_iter().chain(result.variables).collect();
                let writes = Vec::new();
                Ok((Contents { buffers, writes }, result.statistics))
            }
            Self::Blind { kernel, seed } => {
                let result = run_blind(program, kernel, *seed, limits)?;
                let (buffers, writes) = (result.variables, result.writes);
                Ok((Contents { buffers, writes }, result.statistics))
            }
        }
    }

    /// Returns the arguments of `oriel exec` for it, with the description in the file
    /// `launch.toml`.
    pub fn arguments(&self) -> String {
        match self {
            Self::Described { .. } => "--launch launch.toml".to_owned(),
            Self::Blind { kernel, seed } => format!("--blind {seed} --kernel '{kernel}'"),
        }
    }
}

/// The results of a tested module's unchanged functions.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The functions as text.
    pub(super) text: String,
    /// By input: the memory, and the limits for compared runs; or why it cannot be used.
    pub(super) runs: Vec<Result<(Contents, Limits), Fault>>,
}

impl Baseline {
    /// Returns the number of inputs without a fault.
    pub fn usable_inputs(&self) -> usize {
        self.runs.iter().filter(|run| run.is_ok()).count()
    }

    /// Returns the most steps that a compared run may take on any input.
    pub(super) fn most_steps(&self) -> u64 {
        let runs = self.runs.iter().flatten();
        runs.map(|(_, limits)| limits.steps).max().unwrap_or(0)
    }

    /// Returns why the other inputs cannot be used.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> + '_ {
        self.runs.iter().filter_map(|run| run.as_ref().err())
    }
}

/// Steps of a warp's turn in a second run of blind launches, in which the last warp comes first. On
/// made-up arguments threads may write what others read, and then any instruction that a phase removes
/// may change the result.
const SHORT_TURN: u64 = 97;

impl TestedModule {
    /// Returns the stage of its functions.
    pub fn stage(&self) -> Stage {
        self.functions[0].info.stage
    }

    /// Compiles its functions.
    ///
    /// # Errors
    /// The functions do not match each other or the module.
    pub(super) fn compile(&self) -> Result<Program, String> {
        compile(&self.functions, &self.module)
    }

    /// Runs its functions on each input.
    ///
    /// # Errors
    /// Functions and module do not match.
    pub fn baseline(&self, limits: Limits) -> Result<Baseline, String> {
        let program = self.compile()?;
        let runs = self.inputs.iter().map(|input| {
            let (contents, statistics) = input.run(&program, limits)?;
            if matches!(input, Input::Blind { .. }) {
                let other_order = Limits {
                    turn: SHORT_TURN,
                    last_first: true,
                    ..limits
                };
                let (others, _) = input.run(&program, other_order)?;
                if others.difference(&contents).is_some() {
                    return Err(Fault::of_launch(
                        "its result depends on the order of the warps or on a clock",
                    ));
                }
            }
            // A phase may make code slower; a loop that has lost its exit takes longer than that.
            let steps = (statistics.steps * 4 + 10_000).min(limits.steps);
            Ok((contents, Limits { steps, ..limits }))
        });
        Ok(Baseline {
            runs: runs.collect(),
            text: text(&self.functions),
        })
    }
}

/// Compiles functions with their module.
pub(super) fn compile(functions: &[Function], module: &Module) -> Result<Program, String> {
    Program::compile(&functions.iter().collect::<Vec<_>>(), module)
}

/// Prints functions as text.
pub(super) fn text(functions: &[Function]) -> String {
    functions.iter().map(ToString::to_string).collect()
}
