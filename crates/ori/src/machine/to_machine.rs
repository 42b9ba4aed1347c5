//! Conversion from Ori to a plan.
//!
//! Unedited instructions are kept by number. An edited instruction is lowered and compared with the
//! machine instruction that it was created from, so that the plan contains only the differences. An
//! unchanged function gives [`Plan::identity`].
//!
//! A branch to the block that follows in the layout needs no machine instruction. If the input has
//! one that was not edited, it is kept.

#[cfg(test)]
mod tests;

use super::exporter::{ExportError, Exporter, Lowered, Records};
use super::from_machine::Reading;
use crate::function::{Function, Instruction, InstructionFlags, MachineOpcode};
use crate::operand::{Operand, OperandKind};
use crate::operation::Operation;
use crate::plan::Plan;
use crate::plan::abi::PlanAction;
use oriel_engine::entity::{Block, EntityRef, Instruction as MachineInstruction};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{EdgeRecord, PROBABILITY_DENOMINATOR, PROBABILITY_UNKNOWN};
use smallvec::SmallVec;

/// Returns the plan that turns the machine function of `snapshot` into `function`, which was
/// created from it.
///
/// # Errors
/// LLVM has no instructions for a part of it.
pub fn to_machine(function: &Function, snapshot: &Snapshot<'_>) -> Result<Plan, ExportError> {
    let mut exporter = Exporter::new(function, snapshot);
    for (position, &block) in function.blocks().iter().enumerate() {
        let next = function.blocks().get(position + 1).copied();
        exporter.export_block(block, next)?;
    }
    Ok(exporter.finish())
}

/// Blocks and their instructions.
impl Exporter<'_> {
    fn export_block(&mut self, block: Block, next: Option<Block>) -> Result<(), ExportError> {
        let function = self.function;
        let is_new = block.index() >= function.input_blocks;
        let origin = function.blocks[block].origin.filter(|_| is_new);
        self.begin_block(block, origin);
        let terminator = function
            .terminator(block)
            .ok_or(ExportError::NoTerminator(block.index()))?;
        for instruction in function.instructions(block) {
            if instruction == terminator {
                self.export_terminator(instruction, next)?;
            } else {
                self.export_instruction(instruction)?;
            }
        }
        self.export_edges(block, origin);
        Ok(())
    }

    fn export_instruction(&mut self, instruction: Instruction) -> Result<(), ExportError> {
        let flags = self.function.flags(instruction);
        let origin = self.function.origin(instruction);
        let is_made = flags.intersects(InstructionFlags::NEW | InstructionFlags::CLONE);
        if let Some(origin) = origin
            && !is_made
            && !flags.contains(InstructionFlags::EDITED)
        {
            self.emit(PlanAction::Keep, Some(origin), 0, &[]);
            self.add_merged(instruction);
            return Ok(());
        }
        let lowered = self.lower(instruction)?;
        self.export_lowered(instruction, origin, lowered);
        self.add_merged(instruction);
        Ok(())
    }
}

/// The ends of blocks.
impl Exporter<'_> {
    fn export_terminator(
        &mut self,
        instruction: Instruction,
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let function = self.function;
        let sources: SmallVec<[Operand; 4]> = function.sources(instruction).iter().collect();
        match function.operation(instruction) {
            Operation::Bra => self.export_branch(instruction, &sources, next)?,
            Operation::Brx => self.export_table(instruction, &sources)?,
            Operation::Ret => self.export_plain_end(instruction, "Return"),
            Operation::Exit => self.export_plain_end(instruction, MachineOpcode::EXIT),
            Operation::End => {}
            operation => self.export_opaque_end(instruction, operation, &sources, next)?,
        }
        Ok(())
    }

    fn is_untouched(&self, instruction: Instruction) -> bool {
        let touched = InstructionFlags::EDITED | InstructionFlags::NEW | InstructionFlags::CLONE;
        !self.function.flags(instruction).intersects(touched)
    }

    fn export_plain_end(&mut self, instruction: Instruction, opcode: &'static str) {
        let lowered = Lowered {
            opcode: Some(opcode),
            operands: Records::new(),
        };
        self.export_lowered(instruction, self.function.origin(instruction), lowered);
        self.add_merged(instruction);
    }

    /// Returns the machine branch of a kind among the origins of `instruction`.
    fn origin_of_kind(
        &self,
        instruction: Instruction,
        is_kind: fn(Reading) -> bool,
    ) -> Option<MachineInstruction> {
        let mut origins = self.function.origins(instruction);
        origins.find(|&origin| is_kind(self.reading(origin)))
    }

    fn export_branch(
        &mut self,
        instruction: Instruction,
        sources: &[Operand],
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let no_opcode = ExportError::NoOpcode(instruction, Operation::Bra);
        let goto = self.origin_of_kind(instruction, |reading| matches!(reading, Reading::Branch));
        let last = *sources.last().ok_or_else(|| no_opcode.clone())?;
        let mut other = last.as_block().ok_or_else(|| no_opcode.clone())?;
        if let [predicate, taken, _] = *sources {
            let mut taken = taken.as_block().ok_or_else(|| no_opcode.clone())?;
            if predicate.is_complemented() {
                (taken, other) = (other, taken);
            }
            if taken != other || self.is_untouched(instruction) {
                let conditional = self.origin_of_kind(instruction, |reading| {
                    matches!(reading, Reading::ConditionalBranch)
                });
                let predicate = self.record(predicate.complemented(false), false, None);
                let target = self.record(Operand::target(taken), false, None);
                let operands = predicate.into_iter().chain(target).collect::<Records>();
                if operands.len() != 2 {
                    return Err(no_opcode);
                }
                let lowered = Lowered {
                    opcode: Some("CBranch"),
                    operands,
                };
                self.export_lowered(instruction, conditional, lowered);
                self.add_merged(instruction);
            }
        }
        if next == Some(other) && !(self.is_untouched(instruction) && goto.is_some()) {
            return Ok(());
        }
        let target = self
            .record(Operand::target(other), false, None)
            .ok_or(no_opcode)?;
        let lowered = Lowered {
            opcode: Some("GOTO"),
            operands: Records::from_slice(&[target]),
        };
        self.export_lowered(instruction, goto, lowered);
        if sources.len() == 1 {
            self.add_merged(instruction);
        }
        Ok(())
    }

    /// Exports a branch table. Start, items and end keep their number; targets and index may
    /// change.
    fn export_table(&mut self, instruction: Instruction, sources: &[Operand]) -> Result<(), ExportError> {
        let function = self.function;
        let origins: SmallVec<[MachineInstruction; 8]> = function.origins(instruction).collect();
        let made = InstructionFlags::NEW | InstructionFlags::CLONE;
        // The index, a target for each but the start, and the table's number.
        if function.flags(instruction).intersects(made) || sources.len() != origins.len() + 1 {
            return Err(ExportError::Table(instruction));
        }
        let index = sources[0];
        let mut targets = sources[1..].iter();
        for &origin in &origins {
            let operands = match self.reading(origin) {
                Reading::TableStart => {
                    self.emit(PlanAction::Keep, Some(origin), 0, &[]);
                    self.add_merged(instruction);
                    continue;
                }
                Reading::TableItem => targets
                    .next()
                    .and_then(|&target| self.lower_opaque(origin, &[], &[target])),
                _ => {
                    let table = self
                        .snapshot
                        .instruction(origin)
                        .operand_records()
                        .get(2)
                        .copied();
                    let target = targets
                        .next()
                        .and_then(|&target| self.record(target, false, None));
                    let index = self.record(index, false, None);
                    target.into_iter().chain(index).chain(table).map(Some).collect()
                }
            };
            let operands = operands.filter(|operands| {
                operands.len() == self.snapshot.instruction(origin).operand_records().len()
            });
            self.emit_changed(origin, &operands.ok_or(ExportError::Table(instruction))?);
        }
        Ok(())
    }

    /// Exports an opaque terminator. A last source of its own names the block that control falls
    /// through to.
    fn export_opaque_end(
        &mut self,
        instruction: Instruction,
        operation: Operation,
        sources: &[Operand],
        next: Option<Block>,
    ) -> Result<(), ExportError> {
        let function = self.function;
        let origin = function
            .origin(instruction)
            .ok_or(ExportError::NoOrigin(instruction))?;
        let mut named = sources;
        if let Some((last, rest)) = sources.split_last()
            && let OperandKind::FallThrough(block) = last.kind()
        {
            if next != Some(block) {
                return Err(ExportError::FallThrough(instruction));
            }
            named = rest;
        }
        let results: SmallVec<[Operand; 2]> = function.results(instruction).iter().collect();
        let operands = self
            .lower_opaque(origin, &results, named)
            .ok_or(ExportError::NoOpcode(instruction, operation))?;
        self.export_lowered(
            instruction,
            Some(origin),
            Lowered {
                opcode: None,
                operands,
            },
        );
        self.add_merged(instruction);
        Ok(())
    }
}

/// Edges.
impl Exporter<'_> {
    /// Adds the edges of a block: the input's if they lead to the same blocks, otherwise edges with
    /// probabilities where known.
    fn export_edges(&mut self, block: Block, origin: Option<Block>) {
        let mut targets: SmallVec<[Block; 4]> = SmallVec::new();
        for successor in self.function.successors(block) {
            if !targets.contains(&successor) {
                targets.push(successor);
            }
        }
        let model = if block.index() < self.function.input_blocks {
            Some(block)
        } else {
            origin
        };
        let old = model.map_or(&[][..], |model| self.snapshot.edges(model));
        let leads_to = |target: Block| old.iter().any(|edge| edge.block == target.as_u32());
        let is_same = old
            .iter()
            .all(|edge| targets.contains(&Block::from_u32(edge.block)))
            && targets.iter().all(|&target| leads_to(target));
        if is_same {
            self.add_edges(old);
            return;
        }
        let probabilities = probabilities(&targets, old);
        for (target, probability) in targets.into_iter().zip(probabilities) {
            let block = self.block_number(target).unwrap_or(target.as_u32());
            self.add_edges(&[EdgeRecord { block, probability }]);
        }
    }
}

/// Returns the known probabilities of the edges to `targets`, given the old edges. A single edge is
/// certain; an edge with a new target keeps its probability; the remaining ones of several are
/// scaled.
fn probabilities(targets: &[Block], old: &[EdgeRecord]) -> SmallVec<[u32; 4]> {
    let unknown: SmallVec<[u32; 4]> = SmallVec::from_elem(PROBABILITY_UNKNOWN, targets.len());
    if targets.len() == 1 {
        return SmallVec::from_elem(PROBABILITY_DENOMINATOR, 1);
    }
    if old.iter().any(|edge| edge.probability == PROBABILITY_UNKNOWN) {
        return unknown;
    }
    let is_kept = |edge: &&EdgeRecord| targets.contains(&Block::from_u32(edge.block));
    let mut lost = old.iter().filter(|edge| !is_kept(edge));
    let known = |target: &Block| {
        let edges = old.iter().filter(|edge| edge.block == target.as_u32());
        edges.map(|edge| u64::from(edge.probability)).reduce(|a, b| a + b)
    };
    let mut shares: SmallVec<[Option<u64>; 4]> = targets.iter().map(known).collect();
    let mut missing = shares.iter_mut().filter(|share| share.is_none());
    if let (Some(share), None, Some(lost), None) = (missing.next(), missing.next(), lost.next(), lost.next())
    {
        *share = Some(u64::from(lost.probability));
    }
    let Some(shares) = shares.into_iter().collect::<Option<SmallVec<[u64; 4]>>>() else {
        return unknown;
    };
    let sum: u64 = shares.iter().sum();
    if sum == 0 {
        return unknown;
    }
    let scaled = |share: u64| (share * u64::from(PROBABILITY_DENOMINATOR) / sum) as u32;
    shares.into_iter().map(scaled).collect()
}
