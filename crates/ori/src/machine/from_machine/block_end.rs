//! The import of the ends of blocks.

use super::{ImportError, Importer, Reading};
use crate::edit::Position;
use crate::function::InstructionFlags;
use crate::operand::Operand;
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{Block, EntityRef, Instruction as MachineInstruction};
use oriel_engine::snapshot::abi::Behavior;
impl Importer<'_> {
    /// Imports the terminator of `block`, which consists of the machine instructions `end`.
    pub(super) fn import_end(&mut self, block: Block, end: &[MachineInstruction]) -> Result<(), ImportError> {
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
        self.function.insert_from(Position::End(block), new);
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
        self.function.insert_from(Position::End(block), &self.new);
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
