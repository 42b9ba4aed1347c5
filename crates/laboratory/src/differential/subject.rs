//! What is checked: functions, and inputs to run them on.

use oriel_engine::snapshot::abi::Stage;
use oriel_interpreter::launch::LaunchDescription;
use oriel_interpreter::{BufferResult, Fault, Limits, Module, Program, Statistics, run_blind, run_described};
use oriel_ori::Function;
use oriel_phases::PhaseOptions;

/// The functions of a module at one stage, and what they run on.
#[derive(Clone, Debug)]
pub struct Subject {
    /// For messages and file names.
    pub name: String,
    /// All of one stage; at least one.
    pub functions: Vec<Function>,
    /// Variables and kernels.
    pub module: Module,
    /// What the functions run on, each input from the beginning.
    pub inputs: Vec<Input>,
    /// What is asked of the phases.
    pub phase_options: PhaseOptions,
}

/// Launches to run, and the memory that they begin with.
#[derive(Clone, Debug)]
pub enum Input {
    /// Launches of a description.
    Described {
        /// The description as it is written, to be saved.
        text: String,
        /// What it says.
        description: LaunchDescription,
    },
    /// One launch on made-up memory.
    Blind {
        /// The kernel.
        kernel: String,
        /// What arguments and memory follow from.
        seed: u64,
    },
}

/// What a run leaves in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contents {
    /// The description's buffers, and the module's variables.
    pub buffers: Vec<BufferResult>,
    /// Of a blind launch: bytes written elsewhere, by address.
    pub writes: Vec<(u64, u8)>,
}

impl Contents {
    /// Returns where two contents differ first, in words.
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
                None => format!("{} and {} are other buffers", a.name, b.name),
            });
        }
        if self.buffers.len() != other.buffers.len() {
            return Some("there are other buffers".to_owned());
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
    /// Runs the launches from the beginning.
    ///
    /// # Errors
    /// A launch failed.
    pub fn run(&self, program: &Program, limits: Limits) -> Result<(Contents, Statistics), Fault> {
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

    /// How `oriel exec` is told of it, if a description is in the file `launch.toml`.
    pub fn arguments(&self) -> String {
        match self {
            Self::Described { .. } => "--launch launch.toml".to_owned(),
            Self::Blind { kernel, seed } => format!("--blind {seed} --kernel '{kernel}'"),
        }
    }
}

/// What the functions of a subject leave as they are.
#[derive(Clone, Debug)]
pub struct Baseline {
    /// The functions as text.
    pub(super) text: String,
    /// By input: the memory, and the limits for whatever is compared with it; or why it cannot be
    /// used.
    pub(super) runs: Vec<Result<(Contents, Limits), Fault>>,
}

impl Baseline {
    /// Returns the inputs that the functions run on without a fault.
    pub fn usable_inputs(&self) -> usize {
        self.runs.iter().filter(|run| run.is_ok()).count()
    }

    /// Returns the most steps that what is compared with it may take on any input.
    pub(super) fn most_steps(&self) -> u64 {
        let runs = self.runs.iter().flatten();
        runs.map(|(_, limits)| limits.steps).max().unwrap_or(0)
    }

    /// Why the other inputs cannot be used.
    pub fn faults(&self) -> impl Iterator<Item = &Fault> + '_ {
        self.runs.iter().filter_map(|run| run.as_ref().err())
    }
}

impl Subject {
    /// Returns the stage of its functions.
    pub fn stage(&self) -> Stage {
        self.functions[0].info.stage
    }

    /// Its functions, ready to run.
    ///
    /// # Errors
    /// They do not fit each other or the module.
    pub(super) fn compile(&self) -> Result<Program, String> {
        compile(&self.functions, &self.module)
    }

    /// Runs its functions on each input.
    ///
    /// # Errors
    /// Functions and module do not fit each other.
    pub fn baseline(&self, limits: Limits) -> Result<Baseline, String> {
        let program = self.compile()?;
        let runs = self.inputs.iter().map(|input| {
            let (contents, statistics) = input.run(&program, limits)?;
            // A phase may make code slower; a loop that has lost its end takes more than that.
            let steps = (statistics.steps * 4 + 10_000).min(limits.steps);
            Ok((contents, Limits { steps, ..limits }))
        });
        Ok(Baseline {
            runs: runs.collect(),
            text: text(&self.functions),
        })
    }
}

/// Functions and their module, ready to run.
pub(super) fn compile(functions: &[Function], module: &Module) -> Result<Program, String> {
    Program::compile(&functions.iter().collect::<Vec<_>>(), module)
}

/// Functions as text, one after the other.
pub(super) fn text(functions: &[Function]) -> String {
    functions.iter().map(ToString::to_string).collect()
}
