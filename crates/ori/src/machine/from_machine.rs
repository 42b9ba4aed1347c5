//! Conversion from a snapshot to Ori.
//!
//! A single walk over the snapshot. Each opcode is looked up once. An instruction whose operands do
//! not match its mapping becomes opaque.

mod block_end;
mod instruction;
mod reading;

pub(super) use reading::Reading;

use crate::edit::InstructionBuilder;
use crate::function::{Constant, Function, FunctionInfo, MachineOpcode, RegisterFile, StackObject};
use crate::operand::{Operand, SpecialId};
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{Block, EntityRef, Instruction as MachineInstruction, PackedOption};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{
    BlockFlags, ConstantKind, FrameFlags, OpcodeFlags, RegisterFile as MachineFile,
};
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::snapshot::abi::OpcodeRecord;
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
