//! The import of one instruction that does not end a block.

use super::{Importer, Reading};
use crate::edit::Position;
use crate::function::{Function, InstructionFlags, MemoryAccess, Special};
use crate::machine::opcode_mapping::OpcodeMapping;
use crate::machine::operand_class::{Description, OperandClass};
use crate::modifiers::{AddressSpace, ModifierFlags};
use crate::operand::{Operand, OperandKind as OriKind};
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{
    Block, EntityRef, FrameObject, Instruction as MachineInstruction, Opcode, PhysicalRegister, Register,
    Symbol, from_one_based,
};
use oriel_engine::snapshot::InstructionRef;
use oriel_engine::snapshot::abi::{
    MemoryFlags, MemoryOperandRecord, OpcodeFlags, OperandFlags, OperandKind, OperandRecord,
};

/// LLVM's flag for floating-point operations that may be contracted with others.
const MI_FLAG_CONTRACT: u32 = 1 << 8;

/// Instructions and their operands.
impl Importer<'_> {
    /// Imports an instruction that does not end a block, or one that ends the thread.
    pub(super) fn import_instruction(
        &mut self,
        block: Block,
        instruction: MachineInstruction,
        is_last: bool,
    ) {
        let is_understood = match self.reading(instruction) {
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
        if !is_understood {
            self.read_opaque(instruction, Operation::Opaque);
        }
        self.function.insert_from(Position::End(block), &self.new);
    }

    /// Starts to read an instruction: it has no operands yet.
    pub(super) fn start(
        &mut self,
        instruction: MachineInstruction,
        operation: Operation,
        data_type: DataType,
    ) {
        let machine = self.snapshot.instruction(instruction);
        let new = &mut self.new;
        new.start_again(operation, data_type);
        new.flags = InstructionFlags::from_behavior(machine.behavior());
        new.origin = Some(instruction);
        new.origin_count = 1;
        new.opcode = Some(Opcode::new(machine.record().opcode as usize));
        new.access = match machine.memory_operands() {
            [only] => Some(self.function.accesses.push(memory_access(only))),
            _ => needs_order(machine, operation).then(|| self.function.accesses.push(ORDERED)),
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
    pub(super) fn read_opaque(&mut self, instruction: MachineInstruction, operation: Operation) {
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
    pub(super) fn operand(
        &mut self,
        instruction: MachineInstruction,
        number: usize,
        record: &OperandRecord,
    ) -> Operand {
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
    pub(super) fn machine_operand(&mut self, instruction: MachineInstruction, number: usize) -> Operand {
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

/// An access of which only the order is known.
const ORDERED: MemoryAccess = MemoryAccess {
    base: None,
    symbol: None,
    offset: 0,
    size: None,
    log2_alignment: 0,
    flags: MemoryFlags::VOLATILE,
};

/// True if an access has to stay in order although it has no single memory operand to say so: if one of
/// several does, or if there is none, as for LLVM. Several are not distinguished otherwise.
fn needs_order(machine: InstructionRef<'_>, operation: Operation) -> bool {
    let is_access = || {
        let flags = machine.opcode_flags();
        matches!(operation, Operation::Ld | Operation::St)
            && flags.intersects(OpcodeFlags::MAY_LOAD | OpcodeFlags::MAY_STORE)
    };
    let operands = machine.memory_operands();
    let ordered = MemoryFlags::VOLATILE | MemoryFlags::ATOMIC;
    let is_ordered =
        |operand: &MemoryOperandRecord| MemoryFlags::from_bits_truncate(operand.flags).intersects(ordered);
    operands.iter().any(is_ordered) || operands.is_empty() && is_access()
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
