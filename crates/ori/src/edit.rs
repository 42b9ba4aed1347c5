//! Changes to a function. Each keeps the lists of definitions and uses consistent.

mod entities;
mod instruction_builder;

pub use instruction_builder::InstructionBuilder;

use super::function::{Function, Instruction, InstructionData, InstructionFlags, OperandSlot, SlotData};
use super::modifiers::Modifiers;
use super::operand::Operand;
use super::operation::{Operation, OperationFlags};
use super::types::DataType;
use oriel_engine::entity::{Block, EntityRef, PackedOption, Register};

/// A position between instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Position {
    /// Before an instruction.
    Before(Instruction),
    /// After an instruction.
    After(Instruction),
    /// At the start of a block.
    Start(Block),
    /// At the end of a block.
    End(Block),
}

/// Instructions.
impl Function {
    /// Inserts an instruction.
    pub fn insert(&mut self, position: Position, new: InstructionBuilder) -> Instruction {
        self.insert_from(position, &new)
    }

    /// As [`Function::insert`], where the caller uses the builder again.
    pub(crate) fn insert_from(&mut self, position: Position, new: &InstructionBuilder) -> Instruction {
        let instruction = self.create(new);
        self.link(position, instruction);
        instruction
    }

    /// Creates an instruction that is in no block yet.
    fn create(&mut self, new: &InstructionBuilder) -> Instruction {
        let instruction = self.instructions.next_key();
        let first_operand = self.slots.len() as u32;
        let operand_count = (new.results.len() + new.sources.len()) as u32;
        for (operands, is_result) in [(&new.results[..], true), (&new.sources[..], false)] {
            for &operand in operands {
                let mut data = SlotData::unlinked(operand, instruction);
                let slot = self.slots.next_key();
                if let Some(register) = operand.as_register() {
                    data.next = self.enter_list(slot, register, is_result);
                }
                self.slots.push(data);
            }
        }
        self.instructions.push(InstructionData {
            modifiers: new.modifiers,
            operation: new.operation,
            data_type: new.data_type,
            source_type: new.source_type,
            first_operand,
            operand_count,
            result_count: u16::try_from(new.results.len())
                .expect("an instruction has less than 65536 results"),
            flags: new.flags,
            origin: new.origin.into(),
            origin_count: new.origin_count,
            opcode: new.opcode.into(),
            access: new.access.into(),
            block: PackedOption::default(),
            previous: PackedOption::default(),
            next: PackedOption::default(),
        });
        instruction
    }

    /// Inserts a copy of an instruction, which becomes a copy of its machine instruction. In SSA
    /// form it needs `results` of its own.
    ///
    /// # Panics
    /// The number of results differs, or the instruction must not be duplicated: a PHI, a
    /// terminator, a convergent instruction, one with side effects, or a part of a call.
    pub fn clone_instruction(
        &mut self,
        instruction: Instruction,
        position: Position,
        results: &[Operand],
    ) -> Instruction {
        let only_once = OperationFlags::TERMINATOR
            | OperationFlags::CONVERGENT
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CALL_SEQUENCE;
        assert!(
            !self.effects(instruction).intersects(only_once) && self.operation(instruction) != Operation::Phi,
            "{instruction} cannot be copied"
        );
        assert_eq!(
            results.len(),
            self.results(instruction).len(),
            "{instruction} has a different number of results"
        );
        let data = &self.instructions[instruction];
        let copy = InstructionBuilder {
            operation: data.operation,
            data_type: data.data_type,
            source_type: data.source_type,
            modifiers: data.modifiers,
            results: results.iter().copied().collect(),
            sources: self.sources(instruction).iter().collect(),
            // An instruction created by a phase has no machine instruction to copy.
            flags: match data.flags.contains(InstructionFlags::NEW) {
                true => data.flags,
                false => data.flags | InstructionFlags::CLONE,
            },
            origin: data.origin.expand(),
            origin_count: data.origin_count,
            opcode: data.opcode.expand(),
            access: data.access.expand(),
        };
        self.insert(position, copy)
    }

    /// Removes an instruction from its block for good.
    ///
    /// # Panics
    /// It is in no block.
    pub fn remove(&mut self, instruction: Instruction) {
        self.unlink(instruction);
        self.detach_operands(instruction);
        self.merged.remove(&instruction);
    }

    /// Puts a removed instruction back, as it was but for its place and what was merged into it.
    pub(super) fn put_back(&mut self, instruction: Instruction, position: Position) {
        self.link(position, instruction);
        self.attach_operands(instruction);
    }

    /// Moves an instruction to another position.
    ///
    /// # Panics
    /// It is in no block, or the position is beside itself.
    pub fn move_to(&mut self, instruction: Instruction, position: Position) {
        assert!(
            ![Position::Before(instruction), Position::After(instruction)].contains(&position),
            "{instruction} cannot be moved beside itself"
        );
        self.unlink(instruction);
        self.link(position, instruction);
    }

    /// Removes `removed`, whose work `survivor` does as well: LLVM merges flags, memory operands
    /// and locations.
    pub fn merge_into(&mut self, removed: Instruction, survivor: Instruction) {
        let mut stands_for = self.merged.remove(&removed).unwrap_or_default();
        stands_for.extend(self.origins(removed));
        self.remove(removed);
        self.merged.entry(survivor).or_default().extend(stands_for);
    }

    fn link(&mut self, position: Position, instruction: Instruction) {
        let (block, previous, next) = match position {
            Position::Before(anchor) => (
                self.instructions[anchor].block,
                self.instructions[anchor].previous,
                anchor.into(),
            ),
            Position::After(anchor) => (
                self.instructions[anchor].block,
                anchor.into(),
                self.instructions[anchor].next,
            ),
            Position::Start(block) => (block.into(), PackedOption::default(), self.blocks[block].first),
            Position::End(block) => (block.into(), self.blocks[block].last, PackedOption::default()),
        };
        let block = block.expand().expect("the place is in a block");
        let data = &mut self.instructions[instruction];
        if data.operation.is_terminator() {
            self.edits.note_flow();
        } else {
            self.edits.note_placed(instruction);
        }
        assert!(data.block.is_none(), "{instruction} is in a block already");
        (data.block, data.previous, data.next) = (block.into(), previous, next);
        match previous.expand() {
            Some(previous) => self.instructions[previous].next = instruction.into(),
            None => self.blocks[block].first = instruction.into(),
        }
        match next.expand() {
            Some(next) => self.instructions[next].previous = instruction.into(),
            None => self.blocks[block].last = instruction.into(),
        }
    }

    fn unlink(&mut self, instruction: Instruction) {
        let data = &mut self.instructions[instruction];
        let block = data.block.take().expect("the instruction is in a block");
        let (previous, next) = (data.previous.take(), data.next.take());
        if data.operation.is_terminator() {
            self.edits.note_flow();
        }
        match previous {
            Some(previous) => self.instructions[previous].next = next.into(),
            None => self.blocks[block].first = next.into(),
        }
        match next {
            Some(next) => self.instructions[next].previous = previous.into(),
            None => self.blocks[block].last = previous.into(),
        }
    }
}

/// Properties of instructions.
impl Function {
    /// Changes the operation and keeps the operands.
    pub fn set_operation(&mut self, instruction: Instruction, operation: Operation) {
        let data = &mut self.instructions[instruction];
        // These use their operands elsewhere, or not at all, or end the block.
        let kind = |operation: Operation| {
            let is_phi = operation == Operation::Phi;
            (is_phi, operation.is_debug(), operation.is_terminator())
        };
        if kind(data.operation) != kind(operation) {
            self.edits.note_flow();
        }
        data.operation = operation;
        data.flags |= InstructionFlags::EDITED;
    }

    /// Changes the types.
    pub fn set_types(&mut self, instruction: Instruction, data_type: DataType, source_type: DataType) {
        let data = &mut self.instructions[instruction];
        (data.data_type, data.source_type) = (data_type, source_type);
        data.flags |= InstructionFlags::EDITED;
    }

    /// Changes the modifiers.
    pub fn set_modifiers(&mut self, instruction: Instruction, modifiers: Modifiers) {
        let data = &mut self.instructions[instruction];
        data.modifiers = modifiers;
        data.flags |= InstructionFlags::EDITED;
    }

    /// Sets and clears marks, which do not affect the instruction's meaning.
    ///
    /// # Panics
    /// A flag is no mark.
    pub fn set_marks(&mut self, instruction: Instruction, marks: InstructionFlags, set: bool) {
        let allowed = InstructionFlags::MARK_PROPAGATED
            | InstructionFlags::MARK_DEFERRED
            | InstructionFlags::MARK_PREDICATED;
        assert!(allowed.contains(marks), "{marks:?} are no marks");
        self.instructions[instruction].flags.set(marks, set);
    }

    /// Gives an instruction the operation, types, modifiers and sources of `model`. Results,
    /// position and memory description stay.
    pub fn become_like(&mut self, instruction: Instruction, model: &InstructionBuilder) {
        self.set_operation(instruction, model.operation);
        self.set_types(instruction, model.data_type, model.source_type);
        self.set_modifiers(instruction, model.modifiers);
        self.set_sources(instruction, &model.sources);
    }

    /// Changes a source.
    ///
    /// # Panics
    /// The instruction has fewer sources.
    pub fn set_source(&mut self, instruction: Instruction, number: usize, operand: Operand) {
        assert!(
            number < self.sources(instruction).len(),
            "{instruction} has no source {number}"
        );
        let number = number + usize::from(self.instructions[instruction].result_count);
        self.set_operand(instruction, number, operand);
    }

    /// Changes a result.
    ///
    /// # Panics
    /// The instruction has fewer results.
    pub fn set_result(&mut self, instruction: Instruction, number: usize, operand: Operand) {
        assert!(
            number < self.results(instruction).len(),
            "{instruction} has no result {number}"
        );
        self.set_operand(instruction, number, operand);
    }

    fn set_operand(&mut self, instruction: Instruction, number: usize, operand: Operand) {
        let data = &mut self.instructions[instruction];
        debug_assert!(data.block.is_some(), "{instruction} was removed");
        data.flags |= InstructionFlags::EDITED;
        let slot = OperandSlot::new(data.first_operand as usize + number);
        // An edge leads elsewhere, or a PHI reads its value elsewhere.
        if operand.as_block() != self.slots[slot].operand.as_block() {
            self.edits.note_flow();
        }
        self.detach(slot);
        self.slots[slot].operand = operand;
        self.attach(slot);
    }

    /// Replaces the sources; their number may change.
    pub fn set_sources(&mut self, instruction: Instruction, sources: &[Operand]) {
        self.detach_operands(instruction);
        let data = &self.instructions[instruction];
        debug_assert!(data.block.is_some(), "{instruction} was removed");
        if data.operation.is_terminator() {
            self.edits.note_flow();
        }
        let results = usize::from(data.result_count);
        let (first, count) = (data.first_operand as usize, data.operand_count as usize);
        let wanted = results + sources.len();
        let first = if wanted <= count {
            first
        } else {
            // The pool only grows; the old operands are left behind.
            let moved = self.slots.len();
            for result in first..first + results {
                let copy = self.slots[OperandSlot::new(result)];
                self.slots.push(copy);
            }
            for &source in sources {
                self.slots.push(SlotData::unlinked(source, instruction));
            }
            moved
        };
        for (number, &source) in sources.iter().enumerate() {
            self.slots[OperandSlot::new(first + results + number)].operand = source;
        }
        let data = &mut self.instructions[instruction];
        (data.first_operand, data.operand_count) = (first as u32, wanted as u32);
        data.flags |= InstructionFlags::EDITED;
        self.attach_operands(instruction);
    }

    /// Replaces every use of `from` by `to`, keeping modifiers. A use is undefined if it was before
    /// or `to` is. Returns the number of uses.
    pub fn replace_uses(&mut self, from: Register, to: Operand) -> usize {
        let uses: Vec<(Instruction, usize)> = self.uses(from).collect();
        for &(instruction, number) in &uses {
            let old = self.source(instruction, number);
            let new = match to.as_register() {
                Some(register) if !to.is_modified() => self
                    .register_operand(register)
                    .negated(old.is_negated())
                    .absolute(old.is_absolute())
                    .complemented(old.is_complemented())
                    .undefined(old.is_undefined() || to.is_undefined()),
                _ => {
                    assert!(
                        !old.is_modified(),
                        "a modified use of {from} takes a plain register only"
                    );
                    to
                }
            };
            self.set_source(instruction, number, new);
        }
        uses.len()
    }
}

/// The lists of definitions and uses.
impl Function {
    fn attach_operands(&mut self, instruction: Instruction) {
        let data = &self.instructions[instruction];
        let first = data.first_operand as usize;
        for slot in first..first + data.operand_count as usize {
            self.attach(OperandSlot::new(slot));
        }
    }

    fn detach_operands(&mut self, instruction: Instruction) {
        let data = &self.instructions[instruction];
        let first = data.first_operand as usize;
        for slot in first..first + data.operand_count as usize {
            self.detach(OperandSlot::new(slot));
        }
    }

    /// Returns the first operand in the list of a register's results or sources.
    fn list_head(&mut self, register: Register, is_result: bool) -> &mut PackedOption<OperandSlot> {
        let data = &mut self.registers[register];
        if is_result {
            &mut data.definitions
        } else {
            &mut data.uses
        }
    }

    /// True if a slot is that of a result of its instruction.
    fn is_result(&self, slot: OperandSlot) -> bool {
        let data = &self.instructions[self.slots[slot].instruction];
        slot.index() - (data.first_operand as usize) < usize::from(data.result_count)
    }

    fn attach(&mut self, slot: OperandSlot) {
        self.attach_operand(slot, self.slots[slot].operand, self.is_result(slot));
    }

    /// Puts a slot with this operand at the head of its register's list, if it is a register.
    fn attach_operand(&mut self, slot: OperandSlot, operand: Operand, is_result: bool) {
        let Some(register) = operand.as_register() else {
            return;
        };
        let next = self.enter_list(slot, register, is_result);
        let data = &mut self.slots[slot];
        (data.next, data.previous) = (next, PackedOption::default());
    }

    /// Makes a slot the first in the list of a register's results or sources, and returns the next one.
    fn enter_list(
        &mut self,
        slot: OperandSlot,
        register: Register,
        is_result: bool,
    ) -> PackedOption<OperandSlot> {
        self.edits.note_operand(register);
        let next = std::mem::replace(self.list_head(register, is_result), slot.into());
        if let Some(next) = next.expand() {
            self.slots[next].previous = slot.into();
        }
        next
    }

    fn detach(&mut self, slot: OperandSlot) {
        let Some(register) = self.slots[slot].operand.as_register() else {
            return;
        };
        self.edits.note_operand(register);
        let (previous, next) = (self.slots[slot].previous.take(), self.slots[slot].next.take());
        match previous {
            Some(previous) => self.slots[previous].next = next.into(),
            None => *self.list_head(register, self.is_result(slot)) = next.into(),
        }
        if let Some(next) = next {
            self.slots[next].previous = previous.into();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_function::empty_function;
    use crate::{OperandKind, RegisterFile};

    fn function() -> (Function, Block) {
        let function = empty_function(1);
        let block = function.entry();
        (function, block)
    }

    fn add(function: &mut Function, block: Block, result: Register, a: Register, b: Register) -> Instruction {
        let new = InstructionBuilder::new(Operation::Iadd, DataType::B32)
            .result(Operand::register(result))
            .source(Operand::register(a))
            .source(Operand::register(b));
        function.insert(Position::End(block), new)
    }

    #[test]
    fn lists_follow_every_edit() {
        let (mut function, block) = function();
        let [a, b, c] = [(); 3].map(|()| function.create_register(RegisterFile::R, 32, None));
        let first = add(&mut function, block, b, a, a);
        let second = add(&mut function, block, c, b, a);
        assert_eq!(
            function.uses(a).collect::<Vec<_>>(),
            [(second, 1), (first, 1), (first, 0)]
        );
        assert_eq!(function.unique_definition(b), Some(first));

        function.set_source(first, 1, Operand::register(c));
        assert_eq!(function.uses(a).collect::<Vec<_>>(), [(second, 1), (first, 0)]);
        assert_eq!(function.uses(c).collect::<Vec<_>>(), [(first, 1)]);

        assert_eq!(function.replace_uses(a, Operand::register(b)), 2);
        assert!(function.is_unused(a));
        assert_eq!(function.uses(b).count(), 3);

        function.set_sources(
            second,
            &[Operand::register(a), Operand::register(a), Operand::register(c)],
        );
        assert_eq!(function.uses(a).collect::<Vec<_>>(), [(second, 1), (second, 0)]);
        assert_eq!(function.definitions(c).collect::<Vec<_>>(), [(second, 0)]);

        function.remove(second);
        assert!(function.is_unused(a) && function.definitions(c).next().is_none());
        assert_eq!(function.instructions(block).collect::<Vec<_>>(), [first]);
    }

    #[test]
    fn an_undefined_use_stays_undefined() {
        let (mut function, block) = function();
        let [a, b, c] = [(); 3].map(|()| function.create_register(RegisterFile::R, 32, None));
        let sum = add(&mut function, block, c, a, a);
        function.set_source(sum, 1, Operand::register(a).undefined(true));
        function.replace_uses(a, Operand::register(b));
        let sources: Vec<Operand> = function.sources(sum).iter().collect();
        assert_eq!(
            sources,
            [Operand::register(b), Operand::register(b).undefined(true)]
        );
        function.replace_uses(b, Operand::register(c).undefined(true));
        assert!(function.sources(sum).iter().all(Operand::is_undefined));
    }

    #[test]
    fn an_instruction_without_operands_gets_some() {
        let (mut function, block) = function();
        let [a, b] = [(); 2].map(|()| function.create_register(RegisterFile::R, 32, None));
        let new = InstructionBuilder::new(Operation::Ret, DataType::None);
        let end = function.insert(Position::End(block), new.clone());
        let sum = function.insert(Position::Before(end), new);
        let next = add(&mut function, block, b, a, a);
        for instruction in [sum, end] {
            function.set_sources(instruction, &[Operand::register(b), Operand::register(b)]);
        }
        assert_eq!(function.uses(a).collect::<Vec<_>>(), [(next, 1), (next, 0)]);
        let expected = [(end, 1), (end, 0), (sum, 1), (sum, 0)];
        assert_eq!(function.uses(b).collect::<Vec<_>>(), expected);
    }

    #[test]
    fn instructions_move_between_places() {
        let (mut function, block) = function();
        let a = function.create_register(RegisterFile::R, 32, None);
        let [first, second, third] = [(); 3].map(|()| add(&mut function, block, a, a, a));
        function.move_to(third, Position::Start(block));
        function.move_to(first, Position::After(second));
        assert_eq!(
            function.instructions(block).collect::<Vec<_>>(),
            [third, second, first]
        );
        assert_eq!(
            function.instructions(block).rev().collect::<Vec<_>>(),
            [first, second, third]
        );
        function.move_to(second, Position::Before(third));
        let both_ends = |mut iterator: super::super::Instructions<'_>| {
            (
                iterator.next(),
                iterator.next_back(),
                iterator.next(),
                iterator.next(),
            )
        };
        let expected = (Some(second), Some(first), Some(third), None);
        assert_eq!(both_ends(function.instructions(block)), expected);
    }

    #[test]
    fn constants_are_interned() {
        let (mut function, _) = function();
        let wide = function.integer_operand(1 << 40);
        assert_eq!(wide, function.integer_operand(1 << 40));
        assert_eq!(function.integer(wide), Some(1 << 40));
        assert!(matches!(
            function.integer_operand(-1).kind(),
            OperandKind::Immediate(-1)
        ));
        let single = function.single_operand(1.5);
        assert_eq!(function.constant_bits(single), Some(u64::from(1.5f32.to_bits())));
        assert_eq!(function.integer(single), None);
    }
}
