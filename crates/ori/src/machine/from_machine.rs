//! Conversion from a snapshot to Ori.
//!
//! A single walk over the snapshot. Each opcode is looked up once. An instruction whose operands do
//! not match its mapping becomes opaque.

use super::opcode_mapping::{OpcodeMapping, mapping_named};
use super::operand_class::{Description, OperandClass};
use crate::edit::{InstructionBuilder, Position};
use crate::function::{
    Constant, Function, FunctionInfo, InstructionFlags, MachineOpcode, MemoryAccess, RegisterFile, Special,
    StackObject,
};
use crate::modifiers::{AddressSpace, ModifierFlags};
use crate::operand::{Operand, OperandKind as OriKind, SpecialId};
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{
    Block, EntityRef, FrameObject, Instruction as MachineInstruction, Opcode, PackedOption, PhysicalRegister,
    Register, Symbol, from_one_based,
};
use oriel_engine::snapshot::abi::{
    Behavior, BlockFlags, ConstantKind, FrameFlags, MemoryFlags, MemoryOperandRecord, OpcodeFlags,
    OpcodeRecord, OperandFlags, OperandKind, OperandRecord, RegisterFile as MachineFile,
};
use oriel_engine::snapshot::{InstructionRef, Snapshot};
use std::borrow::Cow;

/// A function that Ori cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ImportError {
    /// Operand words have 24 bits for an index.
    #[error("it has more than 2^24 {0}")]
    TooMany(&'static str),
    /// Control must enter somewhere.
    #[error("it has no blocks")]
    NoBlocks,
    /// A block's branches do not match its edges, or are not at its end.
    #[error("bb.{0} ends in an unsupported way")]
    BlockEnd(usize),
}

/// LLVM's flag for floating-point operations that may be contracted with others.
const MI_FLAG_CONTRACT: u32 = 1 << 8;

/// The interpretation of an opcode.
#[derive(Clone, Copy, Debug)]
pub(super) enum Reading {
    Mapped(&'static OpcodeMapping),
    Copy,
    Phi,
    ImplicitDef,
    Branch,
    ConditionalBranch,
    TableStart,
    TableItem,
    TableEnd,
    Return,
    Exit,
    Debug,
    InlineAsm,
    Opaque,
    OpaqueTerminator,
}

impl Reading {
    /// Returns the interpretation of an opcode of a snapshot.
    pub(super) fn of(snapshot: &Snapshot<'_>, record: &OpcodeRecord) -> Self {
        let flags = OpcodeFlags::from_bits_truncate(record.flags);
        Self::of_opcode(
            flags,
            &snapshot.string(record.name),
            &snapshot.string(record.mnemonic),
        )
    }

    fn of_opcode(flags: OpcodeFlags, name: &str, mnemonic: &str) -> Self {
        let is_terminator = flags.contains(OpcodeFlags::TERMINATOR);
        for (flag, reading) in [
            (OpcodeFlags::DEBUG, Self::Debug),
            (OpcodeFlags::PHI, Self::Phi),
            (OpcodeFlags::COPY, Self::Copy),
            (OpcodeFlags::IMPLICIT_DEF, Self::ImplicitDef),
            (OpcodeFlags::INLINE_ASM, Self::InlineAsm),
        ] {
            if flags.contains(flag) && !is_terminator {
                return reading;
            }
        }
        match name {
            "GOTO" => return Self::Branch,
            "CBranch" => return Self::ConditionalBranch,
            "BRX_START" => return Self::TableStart,
            "BRX_ITEM" => return Self::TableItem,
            "BRX_END" => return Self::TableEnd,
            "Return" => return Self::Return,
            MachineOpcode::EXIT => return Self::Exit,
            _ => {}
        }
        let key = if mnemonic.is_empty() { name } else { mnemonic };
        match mapping_named(key) {
            Some(mapping) => Self::Mapped(mapping),
            None if is_terminator => Self::OpaqueTerminator,
            None => Self::Opaque,
        }
    }
}

/// Converts a machine function to Ori. Instructions that Ori does not know, or whose operands do
/// not match, become [`Operation::Opaque`].
///
/// # Errors
/// It has no blocks, or more registers or blocks than operand words can number, or a block ends in
/// a way for which Ori has no terminator.
pub fn from_machine(snapshot: &Snapshot<'_>) -> Result<Function, ImportError> {
    let mut importer = Importer::new(snapshot)?;
    importer.import_tables();
    importer.import_registers();
    importer.import_blocks();
    for block in snapshot.blocks() {
        importer.import_block(block)?;
    }
    if importer.too_many_specials {
        return Err(ImportError::TooMany("opaque operands"));
    }
    Ok(importer.function)
}

/// Tables are made an eighth larger than the function, which is more than phases usually add. Without the
/// room, the first instruction that they insert would move the table to a larger one.
const ROOM_FOR_EDITS: usize = 8;

struct Importer<'a> {
    snapshot: Snapshot<'a>,
    readings: Vec<Reading>,
    function: Function,
    /// The operand for each symbol without an offset, once it is needed.
    symbols: Vec<PackedOption<SpecialId>>,
    /// The operand for each constant.
    constants: Vec<Operand>,
    /// The instruction that is being read. Its vectors keep their memory for the next one.
    new: InstructionBuilder,
    too_many_specials: bool,
}

impl<'a> Importer<'a> {
    fn new(snapshot: &Snapshot<'a>) -> Result<Self, ImportError> {
        if snapshot.block_count() == 0 {
            return Err(ImportError::NoBlocks);
        }
        for (count, what) in [
            (snapshot.register_count(), "registers"),
            (snapshot.block_count(), "blocks"),
            (snapshot.arrays().constants.len(), "constants"),
        ] {
            if count >= Operand::INDEX_LIMIT {
                return Err(ImportError::TooMany(what));
            }
        }
        let record = snapshot.function();
        let mut function = Function::new(FunctionInfo {
            name: snapshot.name().into_owned(),
            stage: snapshot.stage(),
            sm: record.sm,
            flags: snapshot.flags(),
            entry_frequency: record.entry_frequency,
        });
        let arrays = snapshot.arrays();
        let with_room = |count: usize| count + count / ROOM_FOR_EDITS;
        function
            .instructions
            .reserve(with_room(snapshot.instruction_count()));
        function.slots.reserve(with_room(arrays.operands.len()));
        function.accesses.reserve(arrays.memory_operands.len());
        function.registers.reserve(with_room(snapshot.register_count()));
        function.blocks.reserve(snapshot.block_count());
        function.layout.reserve(snapshot.block_count());
        function.opcodes.reserve(arrays.opcodes.len());
        function.symbols.reserve(arrays.symbols.len());
        Ok(Self {
            snapshot: *snapshot,
            readings: Vec::with_capacity(arrays.opcodes.len()),
            function,
            symbols: vec![PackedOption::default(); arrays.symbols.len()],
            constants: Vec::with_capacity(arrays.constants.len()),
            new: InstructionBuilder::new(Operation::Opaque, DataType::None),
            too_many_specials: false,
        })
    }

    fn import_tables(&mut self) {
        let arrays = self.snapshot.arrays();
        for record in arrays.opcodes {
            let flags = OpcodeFlags::from_bits_truncate(record.flags);
            let name = self.snapshot.string(record.name);
            let mnemonic = self.snapshot.string(record.mnemonic);
            let reading = Reading::of_opcode(flags, &name, &mnemonic);
            // A mapping has the name of its opcode already.
            let named = |name: Cow<'_, str>| match reading {
                Reading::Mapped(mapping) if mapping.name() == name => Cow::Borrowed(mapping.name()),
                _ => Cow::Owned(name.into_owned()),
            };
            self.readings.push(reading);
            self.function.opcodes.push(MachineOpcode {
                name: named(name),
                mnemonic: (!mnemonic.is_empty()).then(|| named(mnemonic)),
                flags,
            });
        }
        let fixed = arrays.function.fixed_frame_objects as usize;
        for (number, record) in arrays.frame_objects.iter().enumerate() {
            let flags = FrameFlags::from_bits_truncate(record.flags);
            self.function.stack_objects.push(StackObject {
                size: record.size_bytes,
                alignment: record.alignment,
                is_fixed: number < fixed,
                is_removed: flags.contains(FrameFlags::DEAD),
            });
        }
        for record in arrays.symbols {
            let name = self.snapshot.string(record.name).into_owned();
            self.function.symbols.push(name);
        }
        for record in arrays.constants {
            let kind = ConstantKind::from_abi(record.kind).unwrap_or(ConstantKind::Other);
            let operand = self.function.constant_operand(Constant::Bits {
                kind,
                bits: record.bits,
                low: record.low,
                high: record.high,
            });
            // The value of other constants is not known, so two of them may differ.
            let is_known = kind != ConstantKind::Other;
            self.constants
                .push(if is_known { operand } else { Operand::NONE });
        }
    }

    fn import_registers(&mut self) {
        for register in self.snapshot.registers() {
            let class = self.snapshot.register_class(register);
            let record = self.snapshot.class(class);
            let file = match self.snapshot.register_file(register) {
                MachineFile::Predicate => RegisterFile::P,
                MachineFile::General | MachineFile::Special => RegisterFile::R,
            };
            self.function
                .create_register(file, record.bits as u16, Some(class));
        }
        self.function.input_registers = self.snapshot.register_count();
    }

    fn import_blocks(&mut self) {
        for block in self.snapshot.blocks() {
            let record = self.snapshot.block(block);
            let created = self.function.create_block(None);
            self.function.place_block(created, None);
            let data = &mut self.function.blocks[created];
            data.label = record.number;
            data.frequency = record.frequency;
            data.is_address_taken = self
                .snapshot
                .block_flags(block)
                .intersects(BlockFlags::ADDRESS_TAKEN | BlockFlags::LANDING_PAD);
        }
        self.function.input_blocks = self.snapshot.block_count();
    }

    fn reading(&self, instruction: MachineInstruction) -> Reading {
        let record = &self.snapshot.arrays().instructions[instruction.index()];
        self.readings[record.opcode as usize]
    }

    fn import_block(&mut self, block: Block) -> Result<(), ImportError> {
        let is_terminator = |importer: &Self, index: usize| {
            let instruction = importer.snapshot.instruction(MachineInstruction::new(index));
            instruction.opcode_flags().contains(OpcodeFlags::TERMINATOR)
        };
        let range = self.snapshot.instruction_range(block);
        let mut index = range.start;
        while index < range.end && !is_terminator(self, index) {
            let is_last = index + 1 == range.end;
            self.import_instruction(block, MachineInstruction::new(index), is_last);
            index += 1;
        }
        let first = index;
        while index < range.end && is_terminator(self, index) {
            index += 1;
        }
        if self.function.terminator(block).is_none() {
            let end: Vec<_> = (first..index).map(MachineInstruction::new).collect();
            self.import_end(block, &end)?;
        }
        for index in index..range.end {
            let instruction = MachineInstruction::new(index);
            if !matches!(self.reading(instruction), Reading::Debug) {
                return Err(ImportError::BlockEnd(block.index()));
            }
            self.import_instruction(block, instruction, false);
        }
        Ok(())
    }

    /// Imports an instruction that does not end a block, or one that ends the thread.
    fn import_instruction(&mut self, block: Block, instruction: MachineInstruction, is_last: bool) {
        let is_read = match self.reading(instruction) {
            Reading::Mapped(mapping) => self.read_mapped(instruction, mapping),
            Reading::Copy => self.read_plain(instruction, Operation::Copy, 1),
            Reading::ImplicitDef => self.read_plain(instruction, Operation::ImplicitDef, 0),
            Reading::Phi => self.read_phi(instruction),
            Reading::Debug => {
                self.read_debug(instruction);
                true
            }
            Reading::InlineAsm => {
                self.read_opaque(instruction, Operation::InlineAsm);
                true
            }
            Reading::Exit if is_last && self.snapshot.edges(block).is_empty() => {
                self.start(instruction, Operation::Exit, DataType::None);
                true
            }
            _ => false,
        };
        if !is_read {
            self.read_opaque(instruction, Operation::Opaque);
        }
        self.function.insert_described(Position::End(block), &self.new);
    }

    /// Starts to read an instruction: it has no operands yet.
    fn start(&mut self, instruction: MachineInstruction, operation: Operation, data_type: DataType) {
        let machine = self.snapshot.instruction(instruction);
        let new = &mut self.new;
        new.start_again(operation, data_type);
        new.flags = InstructionFlags::from_behavior(machine.behavior());
        new.origin = Some(instruction);
        new.origin_count = 1;
        new.opcode = Some(Opcode::new(machine.record().opcode as usize));
        new.access = match machine.memory_operands() {
            [only] => Some(self.function.accesses.push(memory_access(only))),
            // Without memory operands nothing is known; several are not distinguished.
            _ => None,
        };
    }

    /// Reads an instruction by its mapping. Returns false if it does not match.
    fn read_mapped(&mut self, instruction: MachineInstruction, mapping: &OpcodeMapping) -> bool {
        let machine = self.snapshot.instruction(instruction);
        let records = machine.operand_records();
        if records.len() != mapping.operands().len() || !fits(&self.function, mapping, records) {
            return false;
        }
        let mut description = mapping.description;
        let mut used_bytes = None;
        for (class, record) in mapping.operands().iter().zip(records) {
            match class {
                OperandClass::Modifier(encoding) if !encoding.decode(record.value, &mut description) => {
                    return false;
                }
                OperandClass::UsedBytes if record.value != -1 => used_bytes = Some(record.value),
                _ => {}
            }
        }
        self.start(instruction, mapping.operation, description.data_type);
        for (number, (class, record)) in mapping.operands().iter().zip(records).enumerate() {
            match class {
                OperandClass::Result(_) => self.new.results.push(self.register(record)),
                OperandClass::Modifier(_) | OperandClass::UsedBytes => {}
                _ => {
                    let operand = self.operand(instruction, number, record);
                    self.new.sources.push(operand);
                }
            }
        }
        if let Some(mask) = used_bytes {
            self.new.sources.push(self.function.integer_operand(mask));
        }
        if let Some(special) = mapping.special {
            let special = Special::SpecialRegister(special);
            self.new.sources.push(self.function.special_operand(special));
        }
        self.adjust_space(mapping, &mut description, &machine);
        let may_contract = machine.record().flags & MI_FLAG_CONTRACT != 0;
        if may_contract && mapping.description.data_type.is_float() {
            description.modifiers.flags |= ModifierFlags::CONTRACT;
        }
        self.new.source_type = description.source_type;
        self.new.modifiers = description.modifiers;
        true
    }

    /// Distinguishes the parameters of a kernel from those of calls and device functions, to which
    /// LLVM gives the same address space: only loads can access the former, and a symbol of the
    /// latter is that of a call.
    fn adjust_space(
        &self,
        mapping: &OpcodeMapping,
        description: &mut Description,
        machine: &InstructionRef<'_>,
    ) {
        let space = &mut description.modifiers.space;
        let is_access = matches!(mapping.operation, Operation::Ld | Operation::St);
        if *space != AddressSpace::EntryParam || !is_access {
            return;
        }
        let is_of_call = |record: &OperandRecord| {
            record.kind == OperandKind::Symbol as u8
                && !self.function.symbols[Symbol::from_u32(record.index)].contains("_param_")
        };
        let is_load = mapping.operation == Operation::Ld;
        if !is_load || !self.snapshot.is_kernel() || machine.operand_records().iter().any(is_of_call) {
            *space = AddressSpace::DeviceParam;
        }
    }

    /// Reads a result and `sources` registers, of the type of the result's register. Returns false if
    /// the operands are others.
    fn read_plain(&mut self, instruction: MachineInstruction, operation: Operation, sources: usize) -> bool {
        let records = self.snapshot.instruction(instruction).operand_records();
        let Some((result, rest)) = records.split_first() else {
            return false;
        };
        if rest.len() != sources || !is_register(result, true) || !rest.iter().all(|o| is_register(o, false))
        {
            return false;
        }
        self.start(instruction, operation, self.type_of(result));
        self.new.results.push(self.register(result));
        for record in rest {
            self.new.sources.push(self.register(record));
        }
        true
    }

    /// Reads a PHI. Returns false if its operands are not a result and pairs of a register and a block.
    fn read_phi(&mut self, instruction: MachineInstruction) -> bool {
        let records = self.snapshot.instruction(instruction).operand_records();
        let is_pair = |pair: &[OperandRecord]| matches!(pair, [value, block] if is_register(value, false) && block.kind == OperandKind::Block as u8);
        let Some((result, rest)) = records.split_first() else {
            return false;
        };
        if !is_register(result, true) || !rest.chunks(2).all(is_pair) {
            return false;
        }
        self.start(instruction, Operation::Phi, self.type_of(result));
        self.new.results.push(self.register(result));
        for pair in rest.chunks_exact(2) {
            self.new.sources.push(self.register(&pair[0]));
            self.new
                .sources
                .push(Operand::target(Block::from_u32(pair[1].index)));
        }
        true
    }

    /// Reads a debug instruction. Its registers are no uses, so all operands stay the machine's.
    fn read_debug(&mut self, instruction: MachineInstruction) {
        self.start(instruction, Operation::Debug, DataType::None);
        let count = self.snapshot.instruction(instruction).operand_records().len();
        for number in 0..count {
            let operand = self.machine_operand(instruction, number);
            self.new.sources.push(operand);
        }
    }

    /// Reads an instruction of which Ori knows only which operands are results.
    fn read_opaque(&mut self, instruction: MachineInstruction, operation: Operation) {
        self.start(instruction, operation, DataType::None);
        let records = self.snapshot.instruction(instruction).operand_records();
        for (number, record) in records.iter().enumerate() {
            let operand = self.operand(instruction, number, record);
            if is_definition(record) {
                self.new.results.push(operand);
            } else {
                self.new.sources.push(operand);
            }
        }
    }

    fn type_of(&self, record: &OperandRecord) -> DataType {
        let bits = self.function.registers[Register::from_u32(record.index)].bits;
        DataType::of_bits(u32::from(bits)).unwrap_or_default()
    }

    fn register(&self, record: &OperandRecord) -> Operand {
        let register = self.function.register_operand(Register::from_u32(record.index));
        let is_undefined = record.flags & OperandFlags::UNDEF.bits() != 0;
        register.undefined(is_undefined)
    }

    /// Returns the operand for a machine operand of any kind.
    fn operand(&mut self, instruction: MachineInstruction, number: usize, record: &OperandRecord) -> Operand {
        let index = record.index as usize;
        match OperandKind::from_abi(u32::from(record.kind)) {
            Some(OperandKind::Register) => self.register(record),
            Some(OperandKind::NoRegister) => Operand::NONE,
            Some(OperandKind::Immediate) => self.function.integer_operand(record.value),
            Some(OperandKind::Constant) if self.constants[index] != Operand::NONE => self.constants[index],
            Some(OperandKind::Block) => Operand::target(Block::new(index)),
            Some(OperandKind::Symbol) => self.symbol(Symbol::new(index), record.value),
            Some(OperandKind::FrameIndex) => self
                .function
                .special_operand(Special::Frame(FrameObject::new(index))),
            Some(OperandKind::Physical) => {
                let register = PhysicalRegister::new(index);
                self.function.special_operand(Special::Physical(register))
            }
            _ => self.machine_operand(instruction, number),
        }
    }

    fn symbol(&mut self, symbol: Symbol, offset: i64) -> Operand {
        let special = Special::Symbol { symbol, offset };
        if offset != 0 {
            return self.function.special_operand(special);
        }
        if let Some(known) = self.symbols[symbol.index()].expand() {
            return Operand::special(known);
        }
        let operand = self.function.special_operand(special);
        if let OriKind::Special(id) = operand.kind() {
            self.symbols[symbol.index()] = id.into();
        }
        operand
    }

    /// Returns an operand that only the machine instruction can describe. Each is distinct.
    fn machine_operand(&mut self, instruction: MachineInstruction, number: usize) -> Operand {
        if self.function.specials.len() >= Operand::INDEX_LIMIT {
            self.too_many_specials = true;
            return Operand::NONE;
        }
        let special = self.function.specials.push(Special::Machine {
            instruction,
            operand: number as u32,
        });
        Operand::special(special)
    }
}

/// The ends of blocks.
impl Importer<'_> {
    /// Imports the terminator of `block`, which consists of the machine instructions `end`.
    fn import_end(&mut self, block: Block, end: &[MachineInstruction]) -> Result<(), ImportError> {
        let next = Block::new(block.index() + 1);
        let fall_through = || Operand::fall_through(next);
        let readings: Vec<_> = end.iter().map(|&instruction| self.reading(instruction)).collect();
        let mut operands: Vec<Operand> = Vec::new();
        let operation = match readings[..] {
            [] if self.snapshot.edges(block).is_empty() => Operation::End,
            [] => {
                operands.push(fall_through());
                Operation::Bra
            }
            [Reading::Branch] => {
                operands.push(self.branch_operand(block, end[0], 0)?);
                Operation::Bra
            }
            [Reading::ConditionalBranch] => {
                operands.extend([
                    self.branch_operand(block, end[0], 0)?,
                    self.branch_operand(block, end[0], 1)?,
                    fall_through(),
                ]);
                Operation::Bra
            }
            [Reading::ConditionalBranch, Reading::Branch] => {
                operands.extend([
                    self.branch_operand(block, end[0], 0)?,
                    self.branch_operand(block, end[0], 1)?,
                    self.branch_operand(block, end[1], 0)?,
                ]);
                Operation::Bra
            }
            [Reading::TableStart, .., Reading::TableEnd] => {
                if !readings[1..end.len() - 1]
                    .iter()
                    .all(|reading| matches!(reading, Reading::TableItem))
                {
                    return Err(ImportError::BlockEnd(block.index()));
                }
                let last = end[end.len() - 1];
                operands.push(self.branch_operand(block, last, 1)?);
                for &item in &end[1..] {
                    operands.push(self.branch_operand(block, item, 0)?);
                }
                // The table's number, which its start and end must share.
                operands.push(self.machine_operand(end[0], 0));
                Operation::Brx
            }
            [Reading::Return] => Operation::Ret,
            [Reading::OpaqueTerminator] => return self.import_opaque_end(block, end[0]),
            _ => return Err(ImportError::BlockEnd(block.index())),
        };
        self.check_edges(block, operands.iter().filter_map(|operand| operand.as_block()))?;
        match end.first() {
            Some(&first) => self.start(first, operation, DataType::None),
            None => {
                self.new.start_again(operation, DataType::None);
                self.new.flags = InstructionFlags::empty();
            }
        }
        let new = &mut self.new;
        new.origin_count = end.len() as u32;
        let attachments = |instruction: &MachineInstruction| {
            self.snapshot
                .instruction(*instruction)
                .behavior()
                .contains(Behavior::ATTACHMENTS)
        };
        if end.iter().any(attachments) {
            new.flags |= InstructionFlags::ATTACHMENTS;
        }
        new.sources.extend(operands);
        self.function.insert_described(Position::End(block), new);
        Ok(())
    }

    fn import_opaque_end(
        &mut self,
        block: Block,
        instruction: MachineInstruction,
    ) -> Result<(), ImportError> {
        self.read_opaque(instruction, Operation::OpaqueTerminator);
        let new = &mut self.new;
        let next = Block::new(block.index() + 1);
        let names = |block: Block| new.sources.iter().any(|source| source.as_block() == Some(block));
        if self.snapshot.successors(block).any(|successor| successor == next) && !names(next) {
            new.sources.push(Operand::fall_through(next));
        }
        let named = self.new.sources.iter().filter_map(|source| source.as_block());
        self.check_edges(block, named)?;
        self.function.insert_described(Position::End(block), &self.new);
        Ok(())
    }

    /// Returns one operand of a branch at the end of `block`.
    fn branch_operand(
        &mut self,
        block: Block,
        instruction: MachineInstruction,
        number: usize,
    ) -> Result<Operand, ImportError> {
        let records = self.snapshot.instruction(instruction).operand_records();
        match records.get(number) {
            Some(record) => Ok(self.operand(instruction, number, record)),
            None => Err(ImportError::BlockEnd(block.index())),
        }
    }

    /// Checks that a block's branches lead where its edges lead.
    fn check_edges(&self, block: Block, targets: impl Iterator<Item = Block>) -> Result<(), ImportError> {
        let mut named: smallvec::SmallVec<[Block; 4]> = targets.collect();
        let mut edges: smallvec::SmallVec<[Block; 4]> = self.snapshot.successors(block).collect();
        for blocks in [&mut named, &mut edges] {
            blocks.sort_unstable();
            blocks.dedup();
        }
        if named == edges {
            Ok(())
        } else {
            Err(ImportError::BlockEnd(block.index()))
        }
    }
}

fn has_flags(record: &OperandRecord, flags: OperandFlags) -> bool {
    record.flags & flags.bits() != 0
}

fn is_definition(record: &OperandRecord) -> bool {
    has_flags(record, OperandFlags::DEF)
}

/// True if the record is a plain virtual register, written or read.
fn is_register(record: &OperandRecord, written: bool) -> bool {
    let special = OperandFlags::IMPLICIT
        | OperandFlags::EARLY_CLOBBER
        | OperandFlags::DEBUG
        | OperandFlags::INTERNAL_READ;
    record.kind == OperandKind::Register as u8
        && is_definition(record) == written
        && !has_flags(record, special)
        && record.tied_to == 0
        && !(written && has_flags(record, OperandFlags::UNDEF))
}

/// True if the operands match the mapping.
fn fits(function: &Function, mapping: &OpcodeMapping, records: &[OperandRecord]) -> bool {
    let has_bits = |record: &OperandRecord, bits: u8| {
        function.registers[Register::from_u32(record.index)].bits == u16::from(bits)
    };
    let is = |record: &OperandRecord, kind: OperandKind| record.kind == kind as u8;
    let is_constant =
        |record: &OperandRecord| is(record, OperandKind::Immediate) || is(record, OperandKind::Constant);
    let is_symbol =
        |record: &OperandRecord| is(record, OperandKind::Symbol) || is(record, OperandKind::FrameIndex);
    mapping
        .operands()
        .iter()
        .zip(records)
        .all(|(class, record)| match *class {
            OperandClass::Result(bits) => is_register(record, true) && has_bits(record, bits),
            OperandClass::Register(bits) => is_register(record, false) && has_bits(record, bits),
            OperandClass::Constant(_) => is_constant(record),
            OperandClass::Value(bits) => {
                is_constant(record) || (is_register(record, false) && has_bits(record, bits))
            }
            OperandClass::Symbol => is_symbol(record),
            OperandClass::Base => is_symbol(record) || is_register(record, false),
            OperandClass::Count | OperandClass::UsedBytes | OperandClass::Modifier(_) => {
                is(record, OperandKind::Immediate)
            }
        })
}

/// Returns the description of a memory operand.
fn memory_access(record: &MemoryOperandRecord) -> MemoryAccess {
    let flags = MemoryFlags::from_bits_truncate(record.flags);
    MemoryAccess {
        base: record.base_value.checked_sub(1),
        symbol: from_one_based(record.base_symbol),
        offset: record.offset,
        size: flags
            .contains(MemoryFlags::SIZE_KNOWN)
            .then_some(record.size_bytes),
        log2_alignment: record.log2_alignment,
        flags,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::snapshot::{OwnedSnapshot, sample};

    /// Removes the operands of an instruction.
    fn remove_operands(snapshot: &mut OwnedSnapshot, instruction: usize) {
        let first = snapshot.instructions[instruction].first_operand;
        let end = snapshot.instructions[instruction + 1].first_operand;
        snapshot.operands.drain(first as usize..end as usize);
        for record in &mut snapshot.instructions[instruction + 1..] {
            record.first_operand -= end - first;
        }
    }

    #[test]
    fn a_branch_without_operands_is_no_end_of_a_block() {
        for names in [["CBranch", "GOTO"], ["BRX_START", "BRX_END"]] {
            let mut snapshot = sample::counting_loop();
            for (instruction, name) in [4, 5].into_iter().zip(names) {
                let name = snapshot.add_string(name);
                let opcode = snapshot.instructions[instruction].opcode as usize;
                snapshot.opcodes[opcode] = OpcodeRecord {
                    name,
                    ..snapshot.opcodes[opcode]
                };
                remove_operands(&mut snapshot, instruction);
            }
            snapshot.view().check().expect("every record is valid");
            let error = from_machine(&snapshot.view()).err();
            assert_eq!(error, Some(ImportError::BlockEnd(1)));
        }
    }

    #[test]
    fn a_function_without_blocks_is_refused() {
        let mut snapshot = OwnedSnapshot {
            function: sample::counting_loop().function,
            strings: sample::counting_loop().strings,
            ..OwnedSnapshot::default()
        };
        snapshot.blocks.push(Default::default());
        snapshot.instructions.push(Default::default());
        snapshot.view().check().expect("every record is valid");
        assert_eq!(from_machine(&snapshot.view()).err(), Some(ImportError::NoBlocks));
    }
}
