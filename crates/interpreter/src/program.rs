//! A compiled program: flat arrays that the machine executes.

use super::error::FaultLocation;
use super::module::{Kernel, Variable, VariableSpace};
use super::threads::{MatchFields, ReductionFields, ShuffleFields, VoteFields};
use super::uninterpreted::Uninterpreted;
use oriel_arithmetic::lanes::{Fields, FrameTemplate, Handler};
use oriel_engine::entity::Register;
use oriel_ori::{AddressSpace, Instruction, SpecialRegister};
use std::collections::HashMap;

/// Functions and variables of a module, ready to run.
#[derive(Clone, Debug)]
pub struct Program {
    pub(super) steps: Vec<Step>,
    /// The origin of each step, for messages and counts.
    pub(super) origins: Vec<Origin>,
    pub(super) functions: Vec<FunctionCode>,
    pub(super) function_numbers: HashMap<String, usize>,
    /// Lists of rows for accesses of several elements.
    pub(super) rows: Vec<u32>,
    pub(super) targets: Vec<u32>,
    pub(super) accesses: Vec<Access>,
    pub(super) call_sites: Vec<CallSite>,
    pub(super) unsupported: Vec<String>,
    /// Instructions without a meaning.
    pub(super) uninterpreted: Vec<Uninterpreted>,
    pub(super) variables: Vec<Variable>,
    pub(super) kernels: Vec<Kernel>,
    /// Bytes of shared memory that variables take; arrays whose size the launch gives start here.
    pub(super) shared_bytes: u64,
}

/// The origin of a step.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub function: u32,
    pub instruction: Instruction,
    /// True for the step that counts as the instruction; the others prepare it.
    pub counts: bool,
}

#[derive(Clone, Debug)]
pub(super) struct FunctionCode {
    pub name: String,
    pub entry: u32,
    pub template: FrameTemplate,
    /// Bytes of local memory, parameters of calls included.
    pub local_bytes: u32,
    pub is_kernel: bool,
    /// The text of each instruction that can fail, for messages.
    pub texts: HashMap<Instruction, String>,
}

/// The places of a call's parameters and results, in bytes from the start of the caller's local
/// memory.
#[derive(Clone, Debug, Default)]
pub(super) struct CallSite {
    pub parameters: Vec<u32>,
    pub results: Vec<u32>,
}

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// A row of 64-bit values.
    Wide(u32),
    /// A row of 32-bit values; addresses wrap around at 32 bits.
    Word(u32),
    /// The same for all lanes.
    Fixed(u64),
    /// Bytes from the start of the function's local memory.
    Frame(u32),
    /// A parameter of the function.
    Parameter(u32),
    /// A result of the function.
    Result(u32),
}

/// A load or store of one or several elements, or an atomic operation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Access {
    pub base: Base,
    pub offset: i64,
    pub space: AddressSpace,
    /// Bytes of one element: 1, 2, 4 or 8.
    pub element_bytes: u32,
    /// Alignment that the hardware requires.
    pub alignment: u32,
    /// True if loaded elements are sign-extended.
    pub is_signed: bool,
    /// Bits of the registers: 16, 32 or 64.
    pub register_bits: u32,
    /// The registers: this many of [`Program::rows`] from here on.
    pub first_row: u32,
    pub count: u32,
    /// For an access that must stay in order with all events of its thread: a hash that identifies
    /// it.
    pub event: Option<u64>,
    /// True if its target may be in memory that an effect of the thread may reach.
    pub is_viewed: bool,
}

/// The callee of a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Callee {
    Function(u32),
    /// By the address in a row.
    Row(u32),
}

/// The function of an atomic operation on the old value and one or two operands.
pub(super) type AtomicOperation = fn(u64, u64, u64) -> u64;

/// An atomic operation: its access, and the rows of its result and operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct AtomicFields {
    pub access: u32,
    pub operation: AtomicOperation,
    pub result: Option<u32>,
    pub operands: [u32; 2],
}

/// An operation of a warp.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Computes results from registers.
    Compute {
        run: Handler,
        fields: Fields,
    },
    Load(u32),
    Store(u32),
    Atomic(AtomicFields),
    /// Takes an address, in its space or as a generic address.
    Address {
        base: Base,
        offset: i64,
        window: u64,
        result: u32,
        is_wide: bool,
    },
    Special {
        register: SpecialRegister,
        result: u32,
        is_wide: bool,
    },
    /// Gives a row of values of this many bits a number that no earlier step of the kind gave, the same
    /// in all lanes.
    Undefined {
        result: u32,
        bits: u32,
    },
    Jump(u32),
    Branch {
        predicate: u32,
        taken: u32,
        other: u32,
        reconverge: Option<u32>,
    },
    /// Jumps to one of the targets from `first` on.
    Table {
        index: u32,
        first: u32,
        count: u32,
        reconverge: Option<u32>,
    },
    Call {
        callee: Callee,
        site: u32,
    },
    Return,
    Exit,
    Barrier {
        barrier: u32,
        threads: Option<u32>,
        kind: BarrierKind,
    },
    WarpSync {
        mask: u32,
    },
    Shuffle(ShuffleFields),
    Vote(VoteFields),
    Match(MatchFields),
    Reduction(ReductionFields),
    ActiveMask {
        result: u32,
    },
    /// Fails if lanes have different values of a register that the analysis calls uniform.
    Agree {
        register: Register,
        row: u32,
        is_wide: bool,
    },
    Nothing,
    /// Records an event of all threads of the warp, ordered with all other events: a hash that
    /// identifies it.
    Event(u64),
    /// One of [`Program::uninterpreted`].
    Uninterpreted(u32),
    Trap,
    Unreachable,
    /// A message of [`Program::unsupported`].
    Unsupported(u32),
}

/// The function of a barrier besides synchronisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierKind {
    Sync,
    Arrive,
    /// Combines the predicates of a row into a result.
    Reduce {
        predicate: u32,
        result: u32,
        reduction: BarrierReduction,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum BarrierReduction {
    Count,
    All,
    Any,
}

impl Program {
    /// Instructions that are not modelled: one text for each, repetitions included.
    pub fn unsupported(&self) -> &[String] {
        &self.unsupported
    }

    /// Returns the names of the functions that can be launched.
    pub fn kernel_names(&self) -> impl Iterator<Item = &str> {
        let kernels = self.functions.iter().filter(|function| function.is_kernel);
        kernels.map(|function| function.name.as_str())
    }

    /// Returns the parameters of a kernel, if the module declares it.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }

    /// Makes memory with the module's global and constant variables.
    pub fn memory(&self) -> super::Memory {
        let mut memory = super::Memory::new();
        for variable in &self.variables {
            if variable.space == VariableSpace::Shared {
                continue;
            }
            let mut bytes = variable.initial.clone();
            bytes.resize(variable.size as usize, 0);
            memory.add(super::Buffer {
                name: variable.name.clone(),
                bytes,
                is_constant: variable.space == VariableSpace::Const,
            });
        }
        memory
    }

    /// Returns the location of a step, without block and thread.
    pub(super) fn location_of(&self, step: u32) -> FaultLocation {
        let Origin {
            function,
            instruction,
            ..
        } = self.origins[step as usize];
        let function = &self.functions[function as usize];
        FaultLocation {
            function: Some(function.name.clone()),
            instruction: Some(instruction),
            text: function.texts.get(&instruction).cloned().unwrap_or_default(),
            ..FaultLocation::default()
        }
    }
}
