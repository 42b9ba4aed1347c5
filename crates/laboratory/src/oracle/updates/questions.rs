//! Queries of ranges on both sides.

use super::session::Session;
use super::{NONE, Update, UpdateKind};
use oriel_engine::entity::{EntityRef, Instruction, Register};
use oriel_engine::live::{SlotIndex, ValueNumber};
use oriel_engine::snapshot::abi::OpcodeFlags;

/// Positions in one query.
const POSITIONS: usize = 8;

fn number(value: Option<ValueNumber>) -> u32 {
    value.map_or(NONE, ValueNumber::as_u32)
}

impl Session<'_> {
    /// Makes one query of each kind.
    pub(super) fn ask(&mut self) -> Result<(), String> {
        let (Some(one), Some(other)) = (self.pick_register(), self.pick_register()) else {
            return Ok(());
        };
        // LLVM allows most queries for ranges with segments only.
        if self.intervals.interval(one).is_empty() || self.intervals.interval(other).is_empty() {
            return Ok(());
        }
        self.ask_positions(one)?;
        self.ask_pair(one, other)?;
        self.ask_blocks(one)
    }

    fn pick_indices(&mut self) -> Vec<SlotIndex> {
        let positions = self.positions();
        let mut indices: Vec<SlotIndex> = (0..POSITIONS).map(|_| self.pick_index(&positions)).collect();
        indices.sort_unstable();
        indices
    }

    fn ask_positions(&mut self, register: Register) -> Result<(), String> {
        let indices = self.pick_indices();
        let positions = self.positions();
        let range = self.intervals.interval(register);
        let mut answer = Vec::new();
        for &index in &indices {
            let query = range.query(index);
            answer.extend([
                range.live_at(index).into(),
                number(range.value_at(index)),
                number(range.value_before(index)),
                range.find(index) as u32,
                range.advance_to(0, index) as u32,
                range.expired_at(index).into(),
                number(query.value_in()),
                number(query.value_out()),
                number(query.value_out_or_dead()),
                number(query.value_defined()),
                query.is_kill().into(),
                query.is_dead_definition().into(),
                query.end_point().map_or(NONE, |end| positions.of(end)),
            ]);
        }
        let update = Update {
            list: indices.iter().map(|&index| positions.of(index)).collect(),
            ..Update::of_range(UpdateKind::AskPosition, register)
        };
        self.compare_answers(&update, &answer)
    }

    fn ask_pair(&mut self, one: Register, other: Register) -> Result<(), String> {
        let indices = self.pick_indices();
        let positions = self.positions();
        let (start, end) = (indices[1], indices[POSITIONS - 2]);
        if start == end {
            return Ok(());
        }
        let (ours, theirs) = (self.intervals.interval(one), self.intervals.interval(other));
        let answer = [
            ours.overlaps(&theirs).into(),
            ours.covers(&theirs).into(),
            ours.is_live_at_any(&indices).into(),
            ours.overlaps_interval(start, end).into(),
        ];
        let update = Update {
            other: other.as_u32(),
            start: positions.of(start),
            end: positions.of(end),
            list: indices.iter().map(|&index| positions.of(index)).collect(),
            ..Update::of_range(UpdateKind::AskPair, one)
        };
        self.compare_answers(&update, &answer)
    }

    fn ask_blocks(&mut self, register: Register) -> Result<(), String> {
        let snapshot = self.snapshot.view();
        let mut answer: Vec<u32> = Vec::new();
        for block in snapshot.blocks() {
            answer.push(self.intervals.is_live_in(register, block).into());
            answer.push(self.intervals.is_live_out(register, block).into());
        }
        let block = self.intervals.in_one_block(register);
        answer.push(block.map_or(NONE, |block| block.as_u32()));
        for (value, _) in self.intervals.interval(register).values() {
            answer.push(self.intervals.flows_into_phi(register, value, &snapshot).into());
        }
        let update = Update::of_range(UpdateKind::AskBlocks, register);
        self.compare_answers(&update, &answer)
    }

    /// Queries for every copy of the function whether its registers interfere, the copy exempted.
    pub(super) fn ask_copies(&mut self) -> Result<(), String> {
        let copies: Vec<(Instruction, Register, Register)> = {
            let snapshot = self.snapshot.view();
            let copy = |instruction: Instruction| {
                let view = snapshot.instruction(instruction);
                let mut registers = view.operands().filter_map(|operand| operand.register());
                let (result, source) = (registers.next()?, registers.next()?);
                view.opcode_flags()
                    .contains(OpcodeFlags::COPY)
                    .then_some((instruction, result, source))
            };
            (0..self.first_new)
                .map(Instruction::new)
                .filter_map(copy)
                .collect()
        };
        for (instruction, result, source) in copies {
            let judged = |register: Register| {
                self.registers.contains(&register) && !self.intervals.interval(register).is_empty()
            };
            if result == source || !judged(result) || !judged(source) {
                continue;
            }
            let snapshot = self.snapshot.view();
            let class = |register| snapshot.register_class(register);
            if class(result) != class(source) {
                continue;
            }
            let answer = [
                self.intervals
                    .interfere_except_copies(result, source, &snapshot)
                    .into(),
                self.intervals
                    .interfere_except_copies(source, result, &snapshot)
                    .into(),
            ];
            let update = Update {
                instruction: instruction.as_u32(),
                ..Update::new(UpdateKind::AskCopy)
            };
            self.compare_answers(&update, &answer)?;
        }
        Ok(())
    }

    fn compare_answers(&mut self, question: &Update, answer: &[u32]) -> Result<(), String> {
        let theirs = self.perform(question);
        if theirs == answer {
            return Ok(());
        }
        let range = self.intervals.interval(Register::from_u32(question.register));
        let place = answer
            .iter()
            .zip(&theirs)
            .position(|(ours, theirs)| ours != theirs);
        Err(format!(
            "answers about %{} {range} differ from {place:?} on: {answer:?}, LLVM: {theirs:?}",
            question.register
        ))
    }
}
