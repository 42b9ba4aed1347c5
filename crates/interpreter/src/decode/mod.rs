//! Compiles Ori to steps, one function at a time.
//!
//! Registers and constants become rows. Blocks become runs of steps that end in a jump. PHIs become
//! copies at the end of each edge into their block. An edge out of a block with several successors
//! gets a separate run for its copies.
//!
//! | file | subject |
//! |---|---|
//! | `operands.rs` | which row a source or result is, and where an address points |
//! | `instructions.rs` | instructions that compute with registers alone |
//! | `accesses.rs` | memory accesses, and operations of several threads |
//! | `control.rs` | branches, PHIs and calls |
//! | `uninterpreted.rs` | inline assembly, and opcodes without a meaning |

mod accesses;
mod control;
mod instructions;
mod operands;
mod uninterpreted;

use crate::atomic;
use crate::error::space_name;
use crate::module::Module;
use crate::program::{
    Access, AtomicFields, BarrierKind, BarrierReduction, Base, CallSite, Callee, FunctionCode, Origin,
    Program, Step,
};
use crate::symbols::Symbols;
use crate::threads::{self, MatchFields, ReductionFields, ShuffleFields, VoteFields};
use oriel_arithmetic::lanes::{Fields, FrameTemplate, Handler, Settings};
use oriel_arithmetic::selection::{self, Shape};
use oriel_arithmetic::spaces::window_of;
use oriel_arithmetic::{bits, float, spaces};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, EntityRef, FrameObject, Register, SecondaryMap};
use oriel_engine::graph::{ControlFlowGraph, PostDominatorTree};
use oriel_engine::snapshot::abi::FunctionFlags;
use oriel_ori::analysis::{is_undefined_source, undefined_registers};
use oriel_ori::{
    AddressSpace, Constant, DataType, Divergence, Function, Instruction, MachineOpcode, ModifierFlags,
    Modifiers, Operand, OperandKind, Operation, Ordering, Special, SpecialRegister, StackObject, Variant,
};
use std::collections::HashMap;

/// The reason why an instruction cannot be run.
type Unsupported = String;

impl Program {
    /// Compiles functions of one module. Instructions that are not modelled are errors only when
    /// they are executed.
    ///
    /// # Errors
    /// If two functions have the same name, or an initial value refers to a missing symbol.
    pub fn compile(functions: &[&Function], module: &Module) -> Result<Self, String> {
        Self::compile_with(functions, module, |_| None)
    }

    /// Compiles functions so that running them also checks their divergence analyses, one for each
    /// function: wherever a register that is called uniform is defined or used, all active lanes
    /// must have the same value of it.
    ///
    /// # Errors
    /// See [`Program::compile`].
    pub fn compile_checked(
        functions: &[&Function],
        module: &Module,
        divergence: &[Divergence],
    ) -> Result<Self, String> {
        Self::compile_with(functions, module, |number| Some(&divergence[number]))
    }

    fn compile_with<'a>(
        functions: &[&Function],
        module: &Module,
        divergence: impl Fn(usize) -> Option<&'a Divergence>,
    ) -> Result<Self, String> {
        let mut function_numbers = HashMap::new();
        for (number, function) in functions.iter().enumerate() {
            if function_numbers
                .insert(function.info.name.clone(), number)
                .is_some()
            {
                return Err(format!("there are two functions {}", function.info.name));
            }
        }
        let mut program = Self {
            steps: Vec::new(),
            origins: Vec::new(),
            functions: Vec::new(),
            function_numbers,
            rows: Vec::new(),
            targets: Vec::new(),
            accesses: Vec::new(),
            call_sites: Vec::new(),
            unsupported: Vec::new(),
            uninterpreted: Vec::new(),
            variables: module.variables.clone(),
            kernels: module.kernels.clone(),
            shared_bytes: 0,
        };
        let symbols = Symbols::new(&program.variables, &program.function_numbers);
        program.shared_bytes = symbols.shared_bytes();
        for (number, function) in functions.iter().enumerate() {
            let divergence = divergence(number);
            compile_function(&mut program, &symbols, function, number as u32, divergence);
        }
        symbols.resolve_references(&mut program.variables)?;
        Ok(program)
    }
}

/// Appends the steps of a function to the program's, with checks of a divergence analysis if given.
pub(super) fn compile_function(
    program: &mut Program,
    symbols: &Symbols,
    function: &Function,
    number: u32,
    divergence: Option<&Divergence>,
) {
    let mut compiler = Compiler::new(program, symbols, function, number);
    compiler.divergence = divergence;
    compiler.assign_registers();
    compiler.compile_blocks();
    compiler.patch_targets();
    compiler.finish();
}

/// A target, which is a block until all blocks are placed.
#[derive(Clone, Copy)]
enum Target {
    Block(Block),
    Step(u32),
}

/// A step whose targets have to be filled in.
struct Patch {
    step: u32,
    targets: Vec<Target>,
    reconverge: Option<Block>,
}

struct Compiler<'a> {
    program: &'a mut Program,
    symbols: &'a Symbols,
    function: &'a Function,
    number: u32,
    /// The divergence analysis to check at run time.
    divergence: Option<&'a Divergence>,
    /// The first row of each register; 128-bit registers have two.
    registers: Vec<u32>,
    /// Registers of which each read gives another number.
    undefined: EntityBitSet<Register>,
    template: FrameTemplate,
    word_constants: HashMap<u32, u32>,
    double_constants: HashMap<u64, u32>,
    carry: Option<u32>,
    post_dominators: PostDominatorTree<Block>,
    starts: SecondaryMap<Block, u32>,
    patches: Vec<Patch>,
    frame_offsets: HashMap<FrameObject, u32>,
    /// Bytes of stack objects; the parameters of calls come after them.
    frame_bytes: u32,
    local_bytes: u32,
    /// The places of parameters and results of the current call sequence, by name.
    call_params: HashMap<String, u32>,
    call_end: u32,
    texts: HashMap<Instruction, String>,
    /// The current instruction.
    current: Instruction,
    /// Its first step.
    first_step: usize,
}

/// Registers of more than 64 bits have two rows of 64 bits.
const fn is_wide(bits: u32) -> bool {
    bits > 32
}

impl<'a> Compiler<'a> {
    fn new(program: &'a mut Program, symbols: &'a Symbols, function: &'a Function, number: u32) -> Self {
        let edges: Vec<(Block, Block)> = function
            .blocks()
            .iter()
            .flat_map(|&block| {
                function
                    .successors(block)
                    .map(move |successor| (block, successor))
            })
            .collect();
        let entry = function.blocks().first().copied().unwrap_or(Block::new(0));
        let graph = ControlFlowGraph::new(function.block_limit(), entry, edges.into_iter());
        Self {
            program,
            symbols,
            function,
            number,
            divergence: None,
            registers: Vec::new(),
            undefined: undefined_registers(function),
            template: FrameTemplate::default(),
            word_constants: HashMap::new(),
            double_constants: HashMap::new(),
            carry: None,
            post_dominators: PostDominatorTree::new(&graph),
            starts: SecondaryMap::new(),
            patches: Vec::new(),
            frame_offsets: HashMap::new(),
            frame_bytes: 0,
            local_bytes: 0,
            call_params: HashMap::new(),
            call_end: 0,
            texts: HashMap::new(),
            current: Instruction::new(0),
            first_step: 0,
        }
    }

    fn is_kernel(&self) -> bool {
        self.function.info.flags.contains(FunctionFlags::KERNEL)
    }

    fn assign_registers(&mut self) {
        for register in self.function.registers() {
            let row = self.new_row(u32::from(self.function.register(register).bits));
            self.registers.push(row);
        }
        for (object, data) in self.function.stack_objects() {
            let &StackObject {
                size,
                alignment,
                is_removed,
                ..
            } = data;
            if is_removed {
                continue;
            }
            self.frame_bytes = self.frame_bytes.next_multiple_of(alignment.max(1));
            self.frame_offsets.insert(object, self.frame_bytes);
            self.frame_bytes += size as u32;
        }
        self.frame_bytes = self.frame_bytes.next_multiple_of(16);
        self.local_bytes = self.frame_bytes;
    }

    /// Adds a row, zero at first, or two rows for more than 64 bits.
    fn new_row(&mut self, bits: u32) -> u32 {
        if is_wide(bits) {
            let row = self.template.doubles.len() as u32;
            let count = if bits > 64 { 2 } else { 1 };
            self.template.doubles.extend(std::iter::repeat_n(0, count));
            row
        } else {
            self.template.words.push(0);
            self.template.words.len() as u32 - 1
        }
    }

    fn constant_row(&mut self, bits: u32, value: u64) -> u32 {
        if is_wide(bits) {
            let doubles = &mut self.template.doubles;
            *self.double_constants.entry(value).or_insert_with(|| {
                doubles.push(value);
                doubles.len() as u32 - 1
            })
        } else {
            let value = value as u32 & (u32::MAX >> (32 - bits));
            let words = &mut self.template.words;
            *self.word_constants.entry(value).or_insert_with(|| {
                words.push(value);
                words.len() as u32 - 1
            })
        }
    }

    fn emit(&mut self, step: Step) {
        self.program.steps.push(step);
        self.program.origins.push(Origin {
            function: self.number,
            instruction: self.current,
            counts: false,
        });
    }

    fn next_step(&self) -> u32 {
        self.program.steps.len() as u32
    }

    fn compile_blocks(&mut self) {
        for &block in self.function.blocks() {
            self.starts[block] = self.next_step();
            for instruction in self.function.instructions(block) {
                let operation = self.function.operation(instruction);
                if operation.is_debug() || operation == Operation::Phi {
                    continue;
                }
                self.current = instruction;
                self.emit_source_checks();
                self.first_step = self.program.steps.len();
                if let Err(problem) = self.compile_instruction(block, instruction) {
                    self.give_up(&problem);
                }
                // The last step performs the instruction itself; a PHI copy after a branch belongs
                // to no instruction.
                if let Some(origin) = self.program.origins[self.first_step..].last_mut()
                    && !operation.is_terminator()
                {
                    origin.counts = true;
                }
                self.note_text(instruction);
                self.emit_result_checks();
            }
            if self.function.terminator(block).is_none() {
                self.emit(Step::Unreachable);
            }
        }
    }

    /// Adds steps that check the uniform sources of the current instruction.
    fn emit_source_checks(&mut self) {
        let Some(divergence) = self.divergence else { return };
        let (function, current) = (self.function, self.current);
        for (number, source) in function.sources(current).iter().enumerate() {
            if let Some(register) = source.read_register()
                && !divergence.is_divergent_source(function, current, number)
            {
                self.emit_check(register);
            }
        }
    }

    /// Adds steps that check the uniform results of the current instruction.
    fn emit_result_checks(&mut self) {
        let Some(divergence) = self.divergence else { return };
        let function = self.function;
        for register in function.result_registers(self.current) {
            if divergence.is_uniform(register) {
                self.emit_check(register);
            }
        }
    }

    fn emit_check(&mut self, register: Register) {
        let bits = u32::from(self.function.register(register).bits);
        for number in 0..bits.div_ceil(64) {
            self.emit(Step::Agree {
                register,
                row: self.registers[register.index()] + number,
                is_wide: is_wide(bits),
            });
        }
    }

    fn give_up(&mut self, problem: &str) {
        self.program.steps.truncate(self.first_step);
        self.program.origins.truncate(self.first_step);
        self.patches
            .retain(|patch| (patch.step as usize) < self.first_step);
        let message = self.program.unsupported.len() as u32;
        let name = self.function_text(self.current);
        self.program.unsupported.push(if problem.is_empty() {
            name
        } else {
            format!("{name}: {problem}")
        });
        self.emit(Step::Unsupported(message));
    }

    /// Returns the operation and, if it comes from LLVM, the opcode.
    fn function_text(&self, instruction: Instruction) -> String {
        let operation = self.function.operation(instruction);
        match self.function.machine_opcode(instruction) {
            Some(MachineOpcode {
                mnemonic: Some(mnemonic),
                ..
            }) => format!("{} {mnemonic}", operation.name()),
            Some(opcode) if !opcode.name.is_empty() => format!("{} {}", operation.name(), opcode.name),
            _ => operation.name().to_owned(),
        }
    }

    fn note_text(&mut self, instruction: Instruction) {
        let steps = &self.program.steps[self.first_step..];
        if steps
            .iter()
            .any(|step| !matches!(step, Step::Compute { .. } | Step::Jump(_)))
        {
            let text = self.function_text(instruction);
            self.texts.insert(instruction, text);
        }
    }

    fn patch_targets(&mut self) {
        for patch in std::mem::take(&mut self.patches) {
            let resolve = |target: &Target| match *target {
                Target::Block(block) => self.starts[block],
                Target::Step(step) => step,
            };
            let targets: Vec<u32> = patch.targets.iter().map(resolve).collect();
            let reconverge = patch.reconverge.map(|block| self.starts[block]);
            match &mut self.program.steps[patch.step as usize] {
                Step::Jump(target) => *target = targets[0],
                Step::Branch {
                    taken,
                    other,
                    reconverge: meeting,
                    ..
                } => (*taken, *other, *meeting) = (targets[0], targets[1], reconverge),
                Step::Table {
                    first,
                    count,
                    reconverge: meeting,
                    ..
                } => {
                    (*first, *count) = (self.program.targets.len() as u32, targets.len() as u32);
                    *meeting = reconverge;
                    self.program.targets.extend(targets);
                }
                step => unreachable!("{step:?} has no targets"),
            }
        }
    }

    fn finish(self) {
        let entry = self
            .function
            .blocks()
            .first()
            .map_or(0, |&entry| self.starts[entry]);
        let is_kernel = self.is_kernel();
        self.program.functions.push(FunctionCode {
            name: self.function.info.name.clone(),
            entry,
            template: self.template,
            local_bytes: self.local_bytes.next_multiple_of(16),
            is_kernel,
            texts: self.texts,
        });
    }
}
