//! Ori to steps: one function at a time.
//!
//! Registers become rows, constants become rows as well, blocks become runs of steps that end in a jump, and PHIs become
//! copies at the end of each edge into their block. An edge out of a block with several successors gets its copies in a
//! run of its own.

use super::error::space_name;
use super::lanes::{Fields, FrameTemplate, Handler, Settings};
use super::memory::window_of;
use super::program::{
    Access, AtomicFields, BarrierKind, BarrierReduction, Base, CallSite, Callee, FunctionCode, Origin,
    Program, Step,
};
use super::selection::{self, Shape};
use super::symbols::Symbols;
use super::threads::{self, MatchFields, ReductionFields, ShuffleFields, VoteFields};
use super::{atomic, float};
use crate::entity::{Block, EntityRef, FrameObject, Register, SecondaryMap};
use crate::graph::{ControlFlowGraph, PostDominatorTree};
use crate::ori::{
    AddressSpace, Constant, DataType, Function, Instruction, MachineOpcode, Modifiers, Operand, OperandKind,
    Operation, Special, SpecialRegister, StackObject, Variant,
};
use crate::snapshot::abi::FunctionFlags;
use std::collections::HashMap;

/// Why an instruction cannot be run.
type Unsupported = String;

/// Appends the steps of a function to the program's.
pub(super) fn compile_function(program: &mut Program, symbols: &Symbols, function: &Function, number: u32) {
    let mut compiler = Compiler::new(program, symbols, function, number);
    compiler.assign_registers();
    compiler.compile_blocks();
    compiler.patch_targets();
    compiler.finish();
}

/// A target that is a block until all blocks are placed.
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
    /// The first row of each register; 128-bit registers have two.
    registers: Vec<u32>,
    template: FrameTemplate,
    word_constants: HashMap<u32, u32>,
    double_constants: HashMap<u64, u32>,
    carry: Option<u32>,
    post_dominators: PostDominatorTree<Block>,
    starts: SecondaryMap<Block, u32>,
    patches: Vec<Patch>,
    frame_offsets: HashMap<FrameObject, u32>,
    /// Bytes of stack objects; the parameters of calls lie behind them.
    frame_bytes: u32,
    local_bytes: u32,
    /// Where the parameters and results of the current call sequence lie, by name.
    call_params: HashMap<String, u32>,
    call_end: u32,
    texts: HashMap<Instruction, String>,
    /// The instruction that steps are made for.
    current: Instruction,
    /// Where its steps begin.
    first_step: usize,
}

/// Two rows are of 64 bits each where the register has more than 64.
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
            registers: Vec::new(),
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
        for (object, &StackObject { size, alignment }) in self.function.stack_objects() {
            self.frame_bytes = self.frame_bytes.next_multiple_of(alignment.max(1));
            self.frame_offsets.insert(object, self.frame_bytes);
            self.frame_bytes += size as u32;
        }
        self.frame_bytes = self.frame_bytes.next_multiple_of(16);
        self.local_bytes = self.frame_bytes;
    }

    /// A new row, zero at first; two of them for more than 64 bits.
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
                self.first_step = self.program.steps.len();
                if let Err(problem) = self.compile_instruction(block, instruction) {
                    self.give_up(&problem);
                }
                // The last step does what the instruction does; a copy of a PHI after a branch belongs to no instruction.
                if let Some(origin) = self.program.origins[self.first_step..].last_mut()
                    && !operation.is_terminator()
                {
                    origin.counts = true;
                }
                self.note_text(instruction);
            }
            if self.function.terminator(block).is_none() {
                self.emit(Step::Unreachable);
            }
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

    /// The operation and, where it comes from LLVM, the opcode.
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

/// Operands.
impl Compiler<'_> {
    /// The row of a source that an operation reads as `bits` bits of `data_type`.
    fn source(&mut self, number: usize, bits: u32, data_type: DataType) -> Result<u32, Unsupported> {
        let sources = self.function.sources(self.current);
        if number >= sources.len() {
            return Err("too few sources".to_owned());
        }
        let operand = sources.get(number);
        let row = self.plain_source(operand, bits)?;
        if operand.is_modified() {
            return self.modified(row, operand, bits, data_type);
        }
        Ok(row)
    }

    fn plain_source(&mut self, operand: Operand, bits: u32) -> Result<u32, Unsupported> {
        match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                self.register_row(register, bits)
            }
            OperandKind::Immediate(_) | OperandKind::Constant(_) => {
                let value = self.constant(operand)?;
                Ok(self.constant_row(bits, value))
            }
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::Symbol { .. } | Special::Frame(_) => {
                    let result = self.new_row(bits);
                    self.emit_address(operand, 0, false, result, bits)?;
                    Ok(result)
                }
                Special::SpecialRegister(register) => {
                    let result = self.new_row(bits);
                    self.emit(Step::Special {
                        register,
                        result,
                        is_wide: is_wide(bits),
                    });
                    Ok(result)
                }
                Special::Physical(_) | Special::Machine { .. } => {
                    Err("an operand that only LLVM can describe".to_owned())
                }
            },
            OperandKind::None if operand.is_undefined() => Ok(self.constant_row(bits, 0)),
            _ => Err("an operand that is no value".to_owned()),
        }
    }

    fn constant(&self, operand: Operand) -> Result<u64, Unsupported> {
        if let OperandKind::Constant(constant) = operand.kind()
            && let Constant::Bits { bits, high, .. } = self.function.constant_data(constant)
            && (bits > 64 || high != 0)
        {
            return Err("a constant of more than 64 bits".to_owned());
        }
        self.function
            .constant_bits(operand)
            .ok_or_else(|| "an operand that is no constant".to_owned())
    }

    fn register_row(&self, register: Register, bits: u32) -> Result<u32, Unsupported> {
        let has = u32::from(self.function.register(register).bits);
        // Rows hold values of up to 32 bits alike.
        if is_wide(has) != is_wide(bits) || (has > 64) != (bits > 64) {
            return Err(format!(
                "a register of {has} bits where {bits} are read or written"
            ));
        }
        Ok(self.registers[register.index()])
    }

    /// The row of a source with a sign, absolute value or complement of its own.
    fn modified(
        &mut self,
        row: u32,
        operand: Operand,
        bits: u32,
        data_type: DataType,
    ) -> Result<u32, Unsupported> {
        let mut row = row;
        let (negate, absolute) = if data_type.is_float() {
            (Operation::Fneg, Operation::Fabs)
        } else {
            (Operation::Ineg, Operation::Iabs)
        };
        let signed = match bits {
            16 => DataType::S16,
            64 => DataType::S64,
            _ => DataType::S32,
        };
        for (is_set, operation) in [
            (operand.is_absolute(), absolute),
            (operand.is_negated(), negate),
            (operand.is_complemented(), Operation::Not),
        ] {
            if !is_set {
                continue;
            }
            let of_type = match operation {
                Operation::Not => DataType::of_bits(bits).unwrap_or_default(),
                _ if data_type.is_float() => data_type,
                _ => signed,
            };
            let shape = selection::select(operation, of_type, DataType::None, Modifiers::default())
                .ok_or("a source that is modified")?;
            let result = self.new_row(bits);
            self.emit(Step::Compute {
                run: shape.handler,
                fields: Fields {
                    result,
                    sources: [row; 4],
                    ..Fields::default()
                },
            });
            row = result;
        }
        Ok(row)
    }

    fn result(&self, number: usize, bits: u32) -> Result<u32, Unsupported> {
        let results = self.function.results(self.current);
        if number >= results.len() {
            return Err("too few results".to_owned());
        }
        let register = results
            .get(number)
            .as_register()
            .ok_or("a result that is no register")?;
        self.register_row(register, bits)
    }

    fn result_register(&self, number: usize) -> Result<Register, Unsupported> {
        self.function
            .results(self.current)
            .iter()
            .nth(number)
            .and_then(Operand::as_register)
            .ok_or_else(|| "a result that is no register".to_owned())
    }

    fn optional_result(&self, number: usize) -> Result<Option<u32>, Unsupported> {
        if number < self.function.results(self.current).len() {
            return self.result(number, 32).map(Some);
        }
        Ok(None)
    }
}

/// Addresses.
impl Compiler<'_> {
    /// Where an operand points: its base, and the space that the base is an address of.
    fn address(&mut self, operand: Operand) -> Result<(Base, AddressSpace), Unsupported> {
        let OperandKind::Special(special) = operand.kind() else {
            return match operand.as_register() {
                Some(register) if self.function.register(register).bits == 64 => {
                    Ok((Base::Wide(self.register_row(register, 64)?), AddressSpace::None))
                }
                Some(register) => Ok((Base::Word(self.register_row(register, 32)?), AddressSpace::None)),
                None => Ok((Base::Fixed(self.constant(operand)?), AddressSpace::None)),
            };
        };
        match self.function.special_data(special) {
            Special::Frame(object) => {
                let offset = self
                    .frame_offsets
                    .get(&object)
                    .ok_or("a stack object of unknown size")?;
                Ok((Base::Frame(*offset), AddressSpace::Local))
            }
            Special::Symbol { symbol, offset } => {
                let name = self.function.symbol_name(symbol);
                let (base, space) = self.symbol_address(name)?;
                Ok((offset_base(base, offset)?, space))
            }
            _ => Err("an address that only LLVM can describe".to_owned()),
        }
    }

    fn symbol_address(&self, name: &str) -> Result<(Base, AddressSpace), Unsupported> {
        if let Some(&offset) = self.call_params.get(name) {
            return Ok((Base::Frame(offset), AddressSpace::Local));
        }
        if let Some(found) = self.symbols.find(name) {
            return Ok((Base::Fixed(found.address), found.space));
        }
        let number_after = |prefix: &str| {
            name.strip_prefix(prefix)
                .and_then(|rest| rest.parse::<u32>().ok())
        };
        if let Some(number) = number_after("func_retval") {
            return Ok((Base::Result(number), AddressSpace::Local));
        }
        if let Some(number) = number_after(&format!("{}_param_", self.function.info.name)) {
            let space = if self.is_kernel() {
                AddressSpace::EntryParam
            } else {
                AddressSpace::Local
            };
            return Ok((Base::Parameter(number), space));
        }
        Err(format!("{name}, which is not in the module"))
    }

    /// Computes an address: in the space of what it points to, or generic.
    fn emit_address(
        &mut self,
        operand: Operand,
        offset: i64,
        generic: bool,
        result: u32,
        bits: u32,
    ) -> Result<(), Unsupported> {
        let (base, space) = self.address(operand)?;
        // LLVM's stack pointer is a generic address.
        let is_stack = matches!(base, Base::Frame(_));
        let window = if generic || is_stack { window_of(space) } else { 0 };
        self.emit(Step::Address {
            base,
            offset,
            window,
            result,
            is_wide: is_wide(bits),
        });
        Ok(())
    }

    /// The access of a load, store or atomic operation whose address begins at source `first`.
    fn access(&mut self, first: usize, data_bits: u32, memory: DataType) -> Result<Access, Unsupported> {
        let sources = self.function.sources(self.current);
        if sources.len() < first + 2 {
            return Err("an access without an address".to_owned());
        }
        let (base, offset) = (sources.get(first), sources.get(first + 1));
        let offset = self
            .function
            .integer(offset)
            .ok_or("an offset that is no integer")?;
        let (base, own) = self.address(base)?;
        let named = self.function.modifiers(self.current).space;
        // What is known of the base says more than the space of a generic access. Parameters of calls lie in local memory.
        let space = match (named, own) {
            (AddressSpace::None | AddressSpace::Generic, AddressSpace::None) => AddressSpace::Generic,
            (AddressSpace::DeviceParam, AddressSpace::None) => AddressSpace::Local,
            (named, AddressSpace::None) => named,
            (_, own) => own,
        };
        let space = match space {
            AddressSpace::Const => AddressSpace::Global,
            AddressSpace::SharedCluster => AddressSpace::Shared,
            space => space,
        };
        let bits = if memory == DataType::None {
            data_bits
        } else {
            memory.bits()
        };
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(format!("elements of {bits} bits in {} memory", space_name(space)));
        }
        Ok(Access {
            base,
            offset,
            space,
            element_bytes: bits / 8,
            alignment: bits / 8,
            is_signed: memory.is_signed(),
            register_bits: data_bits,
            first_row: self.program.rows.len() as u32,
            count: 0,
        })
    }

    fn add_access(&mut self, access: Access) -> u32 {
        self.program.accesses.push(access);
        self.program.accesses.len() as u32 - 1
    }
}

fn offset_base(base: Base, offset: i64) -> Result<Base, Unsupported> {
    Ok(match base {
        Base::Fixed(address) => Base::Fixed(address.wrapping_add_signed(offset)),
        Base::Frame(start) => Base::Frame(start.wrapping_add_signed(offset as i32)),
        base if offset == 0 => base,
        _ => return Err("an offset into a parameter's name".to_owned()),
    })
}

/// Instructions.
impl Compiler<'_> {
    fn compile_instruction(&mut self, block: Block, instruction: Instruction) -> Result<(), Unsupported> {
        let operation = self.function.operation(instruction);
        match operation {
            // These are not executed.
            Operation::ImplicitDef | Operation::Prototype => {}
            Operation::CallStart => self.call_end = self.frame_bytes,
            Operation::CallEnd => self.call_params.clear(),
            Operation::Nop | Operation::Membar => self.emit(Step::Nothing),
            Operation::Mov | Operation::Copy | Operation::Lea | Operation::FrameAddress => {
                self.compile_move(operation)?
            }
            Operation::S2r => self.compile_special()?,
            Operation::Cvta | Operation::Isspacep => self.compile_space(operation)?,
            Operation::Pack | Operation::Unpack | Operation::Extract => self.compile_packing(operation)?,
            Operation::Fsetp if self.function.results(instruction).len() == 2 => {
                self.compile_packed_comparison()?
            }
            Operation::Ld => self.compile_load()?,
            Operation::St => self.compile_store()?,
            Operation::Atom => self.compile_atomic()?,
            Operation::Bar | Operation::BarRed => self.compile_barrier(operation)?,
            Operation::WarpSync => {
                let mask = self.source(0, 32, DataType::B32)?;
                self.emit(Step::WarpSync { mask });
            }
            Operation::Shfl => self.compile_shuffle()?,
            Operation::Vote => self.compile_vote()?,
            Operation::Match => self.compile_match()?,
            Operation::Redux => self.compile_reduction()?,
            Operation::ActiveMask => {
                let result = self.result(0, 32)?;
                self.emit(Step::ActiveMask { result });
            }
            Operation::Trap => self.emit(Step::Trap),
            Operation::DeclareParam => self.declare_param()?,
            Operation::Call => self.compile_call()?,
            Operation::Bra | Operation::Brx => self.compile_branch(block, operation)?,
            Operation::Ret => self.emit_terminator(Step::Return),
            Operation::Exit => self.emit_terminator(Step::Exit),
            Operation::End => self.emit(Step::Unreachable),
            Operation::InlineAsm | Operation::Opaque | Operation::OpaqueTerminator => {
                return Err(String::new());
            }
            _ => self.compile_computation(operation)?,
        }
        Ok(())
    }

    fn emit_terminator(&mut self, step: Step) {
        self.emit(step);
        self.program
            .origins
            .last_mut()
            .expect("a step was emitted")
            .counts = true;
    }

    /// An operation that computes results from registers alone.
    fn compile_computation(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let (data_type, source_type) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let modifiers = self.function.modifiers(self.current);
        let sources = self.function.sources(self.current).len();
        let shape = if operation == Operation::Cvt && self.reads_part_of_wide_register(source_type) {
            selection::select_within_register(data_type, source_type, modifiers)
        } else {
            selection::select_for(operation, data_type, source_type, modifiers, sources)
        };
        let Shape {
            handler,
            result,
            sources: widths,
        } = shape.ok_or("this form is not modelled")?;
        let mut fields = Fields {
            result: self.result(0, result)?,
            settings: Settings {
                rounding: modifiers.rounding,
                flags: modifiers.flags,
            },
            types: (data_type, source_type),
            result_bits: u32::from(self.function.register(self.result_register(0)?).bits),
            ..Fields::default()
        };
        match operation {
            Operation::Frcp => {
                let one = selection::one(data_type).ok_or("this form is not modelled")?;
                fields.sources[0] = self.constant_row(result, one);
                fields.sources[1] = self.source(0, result, data_type)?;
            }
            Operation::IaddCarry
            | Operation::IaddCarryOut
            | Operation::IsubCarry
            | Operation::IsubCarryOut => {
                fields.sources[0] = self.source(0, result, data_type)?;
                fields.sources[1] = self.source(1, result, data_type)?;
                fields.sources[2] = self.carry_row();
            }
            _ => {
                for (number, &bits) in widths.iter().enumerate().filter(|(_, bits)| **bits != 0) {
                    let of_type = if source_type == DataType::None {
                        data_type
                    } else {
                        source_type
                    };
                    fields.sources[number] = self.source(number, bits, of_type)?;
                }
            }
        }
        if sources == 3 && matches!(operation, Operation::Fmin | Operation::Fmax) {
            return self.compile_three_way(handler, fields, result, data_type);
        }
        self.emit(Step::Compute { run: handler, fields });
        Ok(())
    }

    /// Does a conversion take a narrow value out of a register of 64 bits?
    fn reads_part_of_wide_register(&self, source_type: DataType) -> bool {
        let source = self.function.sources(self.current).iter().next();
        let register = source.and_then(Operand::as_register);
        !is_wide(source_type.bits())
            && register.is_some_and(|register| self.function.register(register).bits == 64)
    }

    /// Minimum or maximum of three: of the first two, then with the third.
    fn compile_three_way(
        &mut self,
        handler: Handler,
        fields: Fields,
        bits: u32,
        data_type: DataType,
    ) -> Result<(), Unsupported> {
        let third = self.source(2, bits, data_type)?;
        let partial = self.new_row(bits);
        self.emit(Step::Compute {
            run: handler,
            fields: Fields {
                result: partial,
                ..fields
            },
        });
        let mut last = fields;
        (last.sources[0], last.sources[1]) = (partial, third);
        self.emit(Step::Compute {
            run: handler,
            fields: last,
        });
        Ok(())
    }

    /// The row of the carry, which is the thread's alone.
    fn carry_row(&mut self) -> u32 {
        if let Some(row) = self.carry {
            return row;
        }
        let row = self.new_row(32);
        self.carry = Some(row);
        row
    }

    fn compile_move(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let register = self.result_register(0)?;
        let bits = u32::from(self.function.register(register).bits);
        let sources = self.function.sources(self.current);
        if operation == Operation::FrameAddress {
            let result = self.result(0, bits)?;
            self.emit(Step::Address {
                base: Base::Frame(0),
                offset: 0,
                window: 0,
                result,
                is_wide: is_wide(bits),
            });
            return Ok(());
        }
        let source = sources.iter().next().ok_or("a move of nothing")?;
        let is_address = matches!(source.kind(), OperandKind::Special(_));
        if operation == Operation::Lea || is_address {
            let offset = match operation {
                Operation::Lea => self
                    .function
                    .integer(sources.get(1))
                    .ok_or("an offset that is no integer")?,
                _ => 0,
            };
            let result = self.result(0, bits)?;
            return self.emit_address(source, offset, false, result, bits);
        }
        let data_type = self.function.data_type(self.current);
        let from = self.source(0, bits, data_type)?;
        self.emit_copy(bits, from, self.registers[register.index()]);
        Ok(())
    }

    /// Copies a row, or two.
    fn emit_copy(&mut self, bits: u32, from: u32, to: u32) {
        let data_type = if is_wide(bits) {
            DataType::B64
        } else {
            DataType::B32
        };
        let count = if bits > 64 { 2 } else { 1 };
        for part in 0..count {
            let run = super::bits::select(Operation::Mov, data_type, Modifiers::default());
            self.emit(Step::Compute {
                run: run.expect("moves of 32 and 64 bits are modelled"),
                fields: Fields {
                    result: to + part,
                    sources: [from + part; 4],
                    ..Fields::default()
                },
            });
        }
    }

    fn compile_special(&mut self) -> Result<(), Unsupported> {
        let source = self.function.source(self.current, 0);
        let register = match source.kind() {
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::SpecialRegister(register) => register,
                _ => return Err("a register of unknown name".to_owned()),
            },
            _ => return Err("a register of unknown name".to_owned()),
        };
        if register == SpecialRegister::None {
            return Err("a register of unknown name".to_owned());
        }
        let bits = u32::from(self.function.register(self.result_register(0)?).bits);
        let result = self.result(0, bits)?;
        self.emit(Step::Special {
            register,
            result,
            is_wide: is_wide(bits),
        });
        Ok(())
    }

    fn compile_space(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let data_type = self.function.data_type(self.current);
        if operation == Operation::Cvta && data_type.bits() != 64 {
            return Err("addresses of 32 bits".to_owned());
        }
        let source = self.source(0, 64, DataType::B64)?;
        let window = self.constant_row(64, window_of(modifiers.space));
        let (run, result) = if operation == Operation::Isspacep {
            (super::spaces::select_test(modifiers.space), self.result(0, 1)?)
        } else {
            (
                super::spaces::select_conversion(modifiers.space, modifiers.variant),
                self.result(0, 64)?,
            )
        };
        self.emit(Step::Compute {
            run: run.ok_or("this space is not modelled")?,
            fields: Fields {
                result,
                sources: [source, window, 0, 0],
                ..Fields::default()
            },
        });
        Ok(())
    }

    fn compile_packing(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let (data_type, source_type) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let (results, sources) = (
            self.function.results(self.current).len(),
            self.function.sources(self.current).len(),
        );
        let variant = self.function.modifiers(self.current).variant;
        let (to, from) = (data_type.bits(), source_type.bits());
        match operation {
            Operation::Pack if to == 128 && from == 64 && sources == 2 => {
                let (low, high) = (self.source(0, 64, source_type)?, self.source(1, 64, source_type)?);
                let result = self.result(0, 128)?;
                // Its own parts may be what it is made of, the wrong way round.
                let kept = self.new_row(64);
                self.emit_copy(64, high, kept);
                self.emit_copy(64, low, result);
                self.emit_copy(64, kept, result + 1);
            }
            Operation::Unpack if to == 64 && from == 128 && results == 2 => {
                let source = self.source(0, 128, source_type)?;
                let kept = self.new_row(64);
                self.emit_copy(64, source + 1, kept);
                let (low, high) = (self.result(0, 64)?, self.result(1, 64)?);
                self.emit_copy(64, source, low);
                self.emit_copy(64, kept, high);
            }
            Operation::Pack => {
                let mut fields = Fields {
                    result: self.result(0, to)?,
                    ..Fields::default()
                };
                for number in 0..sources {
                    fields.sources[number] = self.source(number, from, source_type)?;
                }
                let run = super::spaces::select_pack(to, from, sources).ok_or("this form is not modelled")?;
                self.emit(Step::Compute { run, fields });
            }
            _ => {
                let source = self.source(0, from, source_type)?;
                let parts = if operation == Operation::Extract {
                    1
                } else {
                    results
                };
                // A result may be where the source is.
                let kept = self.new_row(from);
                self.emit_copy(from, source, kept);
                for number in 0..parts {
                    let part = if variant == Variant::High {
                        1
                    } else {
                        number as u32
                    };
                    let shift = self.constant_row(32, u64::from(part * to));
                    let fields = Fields {
                        result: self.result(number, to)?,
                        sources: [kept, shift, 0, 0],
                        ..Fields::default()
                    };
                    let run = super::spaces::select_part(to, from).ok_or("this form is not modelled")?;
                    self.emit(Step::Compute { run, fields });
                }
            }
        }
        Ok(())
    }

    fn compile_packed_comparison(&mut self) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let source_type = self.function.source_type(self.current);
        let sources = [
            self.source(0, 32, source_type)?,
            self.source(1, 32, source_type)?,
            0,
            0,
        ];
        for (number, high) in [(0, false), (1, true)] {
            let run = float::select_comparison(modifiers.comparison, source_type, modifiers.flags, high)
                .ok_or("this form is not modelled")?;
            let fields = Fields {
                result: self.result(number, 1)?,
                sources,
                ..Fields::default()
            };
            self.emit(Step::Compute { run, fields });
        }
        Ok(())
    }
}

/// Memory and threads.
impl Compiler<'_> {
    fn compile_load(&mut self) -> Result<(), Unsupported> {
        let (data_type, memory) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let mut access = self.access(0, data_type.bits(), memory)?;
        let count = self.function.results(self.current).len();
        for number in 0..count {
            let row = self.result(number, data_type.bits())?;
            self.program.rows.push(row);
        }
        access.count = count as u32;
        access.alignment = access.element_bytes * access.count;
        let access = self.add_access(access);
        self.emit(Step::Load(access));
        Ok(())
    }

    fn compile_store(&mut self) -> Result<(), Unsupported> {
        let (data_type, memory) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let count = self.function.sources(self.current).len().saturating_sub(2);
        let mut access = self.access(count, data_type.bits(), memory)?;
        for number in 0..count {
            let row = self.source(number, data_type.bits(), data_type)?;
            self.program.rows.push(row);
        }
        access.count = count as u32;
        access.alignment = access.element_bytes * access.count;
        let access = self.add_access(access);
        self.emit(Step::Store(access));
        Ok(())
    }

    fn compile_atomic(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let modifiers = self.function.modifiers(self.current);
        let bits = data_type.bits();
        let access = self.access(0, bits, DataType::None)?;
        let operation = atomic::select(modifiers.variant, data_type).ok_or("this form is not modelled")?;
        let first = self.source(2, bits, data_type)?;
        let second = match modifiers.variant {
            Variant::Cas => self.source(3, bits, data_type)?,
            _ => first,
        };
        let result = match self.function.results(self.current).len() {
            0 => None,
            _ => Some(self.result(0, bits)?),
        };
        let access = self.add_access(access);
        self.emit(Step::Atomic(AtomicFields {
            access,
            operation,
            result,
            operands: [first, second],
        }));
        Ok(())
    }

    fn compile_barrier(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let barrier = self.source(0, 32, DataType::B32)?;
        let sources = self.function.sources(self.current).len();
        if operation == Operation::Bar {
            let threads = match sources {
                2 => Some(self.source(1, 32, DataType::B32)?),
                _ => None,
            };
            let kind = match modifiers.variant {
                Variant::Arrive => BarrierKind::Arrive,
                Variant::Sync | Variant::None => BarrierKind::Sync,
                _ => return Err("this form is not modelled".to_owned()),
            };
            self.emit(Step::Barrier {
                barrier,
                threads,
                kind,
            });
            return Ok(());
        }
        let threads = match sources {
            3 => Some(self.source(1, 32, DataType::B32)?),
            _ => None,
        };
        let predicate = self.source(sources - 1, 1, DataType::B1)?;
        let reduction = match modifiers.variant {
            Variant::Popc => BarrierReduction::Count,
            Variant::And => BarrierReduction::All,
            Variant::Or => BarrierReduction::Any,
            _ => return Err("this form is not modelled".to_owned()),
        };
        let kind = BarrierKind::Reduce {
            predicate,
            result: self.result(0, 32)?,
            reduction,
        };
        self.emit(Step::Barrier {
            barrier,
            threads,
            kind,
        });
        Ok(())
    }

    fn optional_mask(&mut self, number: usize) -> Result<Option<u32>, Unsupported> {
        if number < self.function.sources(self.current).len() {
            return self.source(number, 32, DataType::B32).map(Some);
        }
        Ok(None)
    }

    fn compile_shuffle(&mut self) -> Result<(), Unsupported> {
        let fields = ShuffleFields {
            mode: self.function.modifiers(self.current).variant,
            value: self.source(0, 32, DataType::B32)?,
            lane: self.source(1, 32, DataType::B32)?,
            clamp: self.source(2, 32, DataType::B32)?,
            mask: self.optional_mask(3)?,
            result: self.result(0, 32)?,
            in_range: self.optional_result(1)?,
        };
        if !matches!(
            fields.mode,
            Variant::Up | Variant::Down | Variant::Bfly | Variant::Idx
        ) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Shuffle(fields));
        Ok(())
    }

    fn compile_vote(&mut self) -> Result<(), Unsupported> {
        let fields = VoteFields {
            mode: self.function.modifiers(self.current).variant,
            predicate: self.source(0, 1, DataType::B1)?,
            mask: self.optional_mask(1)?,
            result: self.result(0, 32)?,
        };
        if !matches!(
            fields.mode,
            Variant::All | Variant::Any | Variant::Uni | Variant::Ballot
        ) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Vote(fields));
        Ok(())
    }

    fn compile_match(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let fields = MatchFields {
            mode: self.function.modifiers(self.current).variant,
            value: self.source(0, data_type.bits(), data_type)?,
            is_wide: is_wide(data_type.bits()),
            mask: self.source(1, 32, DataType::B32)?,
            result: self.result(0, 32)?,
            all_same: self.optional_result(1)?,
        };
        if !matches!(fields.mode, Variant::All | Variant::Any) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Match(fields));
        Ok(())
    }

    fn compile_reduction(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let modifiers = self.function.modifiers(self.current);
        if !modifiers.flags.is_empty() || !threads::is_reduction_modelled(modifiers.variant, data_type) {
            return Err("this form is not modelled".to_owned());
        }
        let fields = ReductionFields {
            operation: modifiers.variant,
            data_type,
            value: self.source(0, 32, data_type)?,
            mask: self.source(1, 32, DataType::B32)?,
            result: self.result(0, 32)?,
        };
        self.emit(Step::Reduction(fields));
        Ok(())
    }
}

/// Control flow.
impl Compiler<'_> {
    fn compile_branch(&mut self, block: Block, operation: Operation) -> Result<(), Unsupported> {
        let successors: Vec<Block> = self.function.successors(block).collect();
        let sources = self.function.sources(self.current);
        // Copies of one edge out of a block with one successor are made before the jump.
        if operation == Operation::Bra && sources.len() == 1 {
            let &[target] = successors.as_slice() else {
                return Err("a branch to nowhere".to_owned());
            };
            self.emit_edge_copies(block, target)?;
            self.emit_jump(target);
            self.program
                .origins
                .last_mut()
                .expect("a step was emitted")
                .counts = true;
            return Ok(());
        }
        let reconverge = self.post_dominators.immediate(block);
        let step = if operation == Operation::Bra {
            if successors.len() != 2 {
                return Err("a branch that is not of two ways".to_owned());
            }
            Step::Branch {
                predicate: self.source(0, 1, DataType::B1)?,
                taken: 0,
                other: 0,
                reconverge: None,
            }
        } else {
            Step::Table {
                index: self.source(0, 32, DataType::B32)?,
                first: 0,
                count: 0,
                reconverge: None,
            }
        };
        self.emit_terminator(step);
        let at = self.next_step() - 1;
        let mut targets = Vec::new();
        for &successor in &successors {
            let start = self.next_step();
            self.emit_edge_copies(block, successor)?;
            if self.next_step() == start {
                targets.push(Target::Block(successor));
            } else {
                self.emit_jump(successor);
                targets.push(Target::Step(start));
            }
        }
        self.patches.push(Patch {
            step: at,
            targets,
            reconverge,
        });
        Ok(())
    }

    fn emit_jump(&mut self, target: Block) {
        self.patches.push(Patch {
            step: self.next_step(),
            targets: vec![Target::Block(target)],
            reconverge: None,
        });
        self.emit(Step::Jump(0));
    }

    /// The copies that the PHIs of `to` ask for where control comes from `from`, all at once: sources that an earlier copy
    /// overwrites are put aside first.
    fn emit_edge_copies(&mut self, from: Block, to: Block) -> Result<(), Unsupported> {
        let mut copies = Vec::new();
        for phi in self.function.instructions(to) {
            if self.function.operation(phi) != Operation::Phi {
                continue;
            }
            let result = self
                .function
                .result(phi, 0)
                .as_register()
                .ok_or("a PHI without a result")?;
            let bits = u32::from(self.function.register(result).bits);
            let sources = self.function.sources(phi);
            let incoming = (0..sources.len() / 2)
                .find(|&pair| sources.get(2 * pair + 1).as_block() == Some(from))
                .map(|pair| sources.get(2 * pair))
                .ok_or("a PHI without a value for an edge")?;
            let row = self.plain_source(incoming, bits)?;
            if row != self.registers[result.index()] {
                copies.push((bits, row, self.registers[result.index()]));
            }
        }
        for index in 0..copies.len() {
            let (bits, row, _) = copies[index];
            let overwritten = |&(other, _, target): &(u32, u32, u32)| {
                is_wide(other) == is_wide(bits)
                    && target.abs_diff(row) < if other > 64 || bits > 64 { 2 } else { 1 }
            };
            if copies[..index].iter().any(overwritten) {
                let aside = self.new_row(bits);
                self.emit_copy(bits, row, aside);
                copies[index].1 = aside;
            }
        }
        for (bits, row, target) in copies {
            self.emit_copy(bits, row, target);
        }
        Ok(())
    }

    fn declare_param(&mut self) -> Result<(), Unsupported> {
        let sources = self.function.sources(self.current);
        let OperandKind::Special(special) = sources.get(0).kind() else {
            return Err("a parameter without a name".to_owned());
        };
        let Special::Symbol { symbol, .. } = self.function.special_data(special) else {
            return Err("a parameter without a name".to_owned());
        };
        let number = |index: usize| {
            let value = self.function.integer(sources.get(index));
            value
                .and_then(|value| u32::try_from(value).ok())
                .ok_or("a parameter without a size")
        };
        let (alignment, size) = if sources.len() == 3 {
            (number(1)?, number(2)?)
        } else {
            let bytes = number(1)?.div_ceil(8);
            (bytes.next_power_of_two(), bytes)
        };
        let offset = self.call_end.next_multiple_of(alignment.max(1));
        self.call_end = offset + size;
        self.local_bytes = self.local_bytes.max(self.call_end);
        let name = self.function.symbol_name(symbol).to_owned();
        self.call_params.insert(name, offset);
        Ok(())
    }

    fn compile_call(&mut self) -> Result<(), Unsupported> {
        let sources = self.function.sources(self.current);
        let target = sources.get(0);
        let callee = match target.kind() {
            OperandKind::Special(special) => {
                let Special::Symbol { symbol, .. } = self.function.special_data(special) else {
                    return Err("a call of what has no name".to_owned());
                };
                let name = self.function.symbol_name(symbol);
                let number = self.program.function_numbers.get(name);
                Callee::Function(*number.ok_or_else(|| format!("{name}, which has no body"))? as u32)
            }
            _ => Callee::Row(self.source(0, 64, DataType::B64)?),
        };
        let count = |index: usize| self.function.integer(sources.get(index)).unwrap_or(0);
        let site = CallSite {
            parameters: self.call_offsets("param", count(2))?,
            results: self.call_offsets("retval", count(1))?,
        };
        self.program.call_sites.push(site);
        let site = self.program.call_sites.len() as u32 - 1;
        self.emit(Step::Call { callee, site });
        Ok(())
    }

    fn call_offsets(&self, prefix: &str, count: i64) -> Result<Vec<u32>, Unsupported> {
        (0..count)
            .map(|number| {
                let name = format!("{prefix}{number}");
                let offset = self.call_params.get(&name).copied();
                offset.ok_or_else(|| format!("{name} is not declared"))
            })
            .collect()
    }
}
