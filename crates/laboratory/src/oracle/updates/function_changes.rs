//! Changes to the function and its intervals: the operations of `LiveIntervals` and `SlotIndexes`.

use super::session::Session;
use super::{NONE, Update, UpdateKind};
use oriel_engine::entity::{Block, EntityRef, Instruction, Register};
use oriel_engine::graph::{ReversePostorder, Traversal};
use oriel_engine::live::{
    InsertionPoint, LiveRangeCalc, LiveSegment, SlotIndex, ValueNumber, defines, reads, use_slot,
};
use oriel_engine::snapshot::abi::{OpcodeFlags, OpcodeRecord, OperandFlags, OperandKind};

impl Session<'_> {
    /// Makes one change of the function, and queries now and then.
    pub(super) fn change_function(&mut self) -> Result<(), String> {
        match self.random.below(20) {
            0..7 => self.move_instruction(),
            7..9 => self.insert(),
            9 => self.remove(),
            10..14 => self.shrink(),
            14 | 15 => self.prune(),
            16 | 17 => self.extend(),
            18 => self.split(),
            _ => {
                self.pack()?;
                self.ask()
            }
        }
    }

    fn pick_block(&mut self) -> usize {
        self.random.index(self.order.len())
    }

    /// Creates an instruction without operands, outside the function's order.
    fn new_instruction(&mut self) -> Instruction {
        let snapshot = &mut self.snapshot;
        let instruction = Instruction::new(snapshot.instructions.len() - 1);
        if instruction.index() == self.first_new {
            snapshot.opcodes.push(OpcodeRecord::default());
        }
        let sentinel = *snapshot.instructions.last().expect("there is a sentinel");
        snapshot.instructions.push(sentinel);
        snapshot.instructions[instruction.index()].opcode = snapshot.opcodes.len() as u32 - 1;
        instruction
    }

    /// Returns the judge's name of the entry before position `position` of a block.
    fn anchor(&self, block: usize, position: usize) -> u32 {
        position
            .checked_sub(1)
            .map_or(NONE, |before| self.order[block][before].as_u32())
    }

    fn insert(&mut self) -> Result<(), String> {
        let block = self.pick_block();
        let position = self.random.between(0, self.order[block].len());
        let late = self.random.coin();
        let neighbour = match late {
            false => position.checked_sub(1).map(|before| self.order[block][before]),
            true => self.order[block].get(position).copied(),
        };
        let at = match (late, neighbour) {
            (false, Some(before)) => InsertionPoint::After(before),
            (false, None) => InsertionPoint::AtStart(Block::new(block)),
            (true, Some(next)) => InsertionPoint::Before(next),
            (true, None) => InsertionPoint::AtEnd(Block::new(block)),
        };
        let anchor = self.anchor(block, position);
        let instruction = self.new_instruction();
        self.intervals.insert_instruction(instruction, at);
        self.order[block].insert(position, instruction);
        let update = Update {
            instruction: instruction.as_u32(),
            anchor,
            block: block as u32,
            flag: late.into(),
            ..Update::new(UpdateKind::Insert)
        };
        self.compare(update, &[])
    }

    /// Returns the positions of new instructions in a block.
    fn new_places(&self, block: usize) -> Vec<usize> {
        let order = &self.order[block];
        let is_new = |&place: &usize| order[place].index() >= self.first_new;
        (0..order.len()).filter(is_new).collect()
    }

    fn remove(&mut self) -> Result<(), String> {
        let block = self.pick_block();
        let places = self.new_places(block);
        if places.is_empty() {
            return Ok(());
        }
        let instruction = self.order[block].remove(self.random.pick(&places));
        self.intervals.remove_instruction(instruction);
        let update = Update {
            instruction: instruction.as_u32(),
            ..Update::new(UpdateKind::Remove)
        };
        self.compare(update, &[])
    }

    /// Removes some new instructions of a block and adds others, and only then repairs the indexes.
    pub(super) fn repair(&mut self) -> Result<(), String> {
        let block = self.pick_block();
        let mut gone = Vec::new();
        for place in self.new_places(block).into_iter().rev() {
            if self.random.coin() {
                gone.push(self.order[block].remove(place).as_u32());
            }
        }
        let mut update = Update {
            block: block as u32,
            value: gone.len() as u32,
            list: gone,
            ..Update::new(UpdateKind::Repair)
        };
        for _ in 0..self.random.below(4) {
            let position = self.random.between(0, self.order[block].len());
            let anchor = self.anchor(block, position);
            let instruction = self.new_instruction();
            self.order[block].insert(position, instruction);
            update.list.extend([instruction.as_u32(), anchor]);
        }
        self.intervals
            .repair_instructions(Block::new(block), None, None, &self.order[block]);
        self.compare_but_blanks(&update)
    }

    fn pack(&mut self) -> Result<(), String> {
        self.intervals.pack_indexes();
        self.compare(Update::new(UpdateKind::Pack), &[])
    }

    /// Returns the registers that an instruction reads or writes, or only those that it writes.
    fn registers_of(&self, instruction: Instruction, only_written: bool) -> Vec<Register> {
        let view = self.snapshot.view().instruction(instruction);
        view.operands()
            .filter(|operand| defines(operand.record()) || (!only_written && reads(operand.record())))
            .filter_map(|operand| operand.register())
            .collect()
    }

    fn is_phi(&self, instruction: Instruction) -> bool {
        let view = self.snapshot.view().instruction(instruction);
        view.opcode_flags().contains(OpcodeFlags::PHI)
    }

    /// True if the instructions may be exchanged as far as registers are concerned.
    fn independent(&self, one: Instruction, other: Instruction) -> bool {
        let clash = |one, other| {
            let written = self.registers_of(one, true);
            let touched = self.registers_of(other, false);
            touched.iter().any(|register| written.contains(register))
        };
        !self.is_phi(one) && !self.is_phi(other) && !clash(one, other) && !clash(other, one)
    }

    fn move_instruction(&mut self) -> Result<(), String> {
        let block = self.pick_block();
        if self.order[block].is_empty() {
            return Ok(());
        }
        let from = self.random.index(self.order[block].len());
        let instruction = self.order[block][from];
        // LLVM takes the slot of the read that ended a segment for that of the one that ends it
        // now, even if only one of them is early.
        let reads_early = |register: Register| {
            self.operands_of(register)
                .iter()
                .any(|&(instruction, number, _)| {
                    let records = self.snapshot.view().instruction(instruction).operand_records();
                    reads(&records[number]) && use_slot(0, &records[number], records).is_early_clobber()
                })
        };
        let judged = |register: &Register| {
            self.registers.contains(register) && !self.extended.contains(register) && !reads_early(*register)
        };
        if !self.registers_of(instruction, false).iter().all(judged) {
            return Ok(());
        }
        let down = self.random.coin();
        let mut to = from;
        while let Some(next) = match down {
            true => Some(to + 1),
            false => to.checked_sub(1),
        } && let Some(&other) = self.order[block].get(next)
            && self.independent(instruction, other)
            && (to == from || self.random.percent(80))
        {
            to = next;
        }
        if to == from {
            return Ok(());
        }
        self.order[block].remove(from);
        let anchor = self.anchor(block, to);
        let at = match anchor {
            NONE => InsertionPoint::AtStart(Block::new(block)),
            anchor => InsertionPoint::After(Instruction::from_u32(anchor)),
        };
        self.intervals
            .move_instruction(&self.snapshot.view(), instruction, at);
        self.order[block].insert(to, instruction);
        let update = Update {
            instruction: instruction.as_u32(),
            anchor,
            block: block as u32,
            ..Update::new(UpdateKind::Move)
        };
        self.compare(update, &[])
    }

    /// Returns the operands of a register: instruction, number, and position among all operands.
    fn operands_of(&self, register: Register) -> Vec<(Instruction, usize, usize)> {
        let mut places = Vec::new();
        for &instruction in self.order.iter().flatten() {
            let first = self.snapshot.instructions[instruction.index()].first_operand as usize;
            let end = self.snapshot.instructions[instruction.index() + 1].first_operand as usize;
            let operands = &self.snapshot.operands[first..end];
            let is_register = |&number: &usize| {
                operands[number].kind == OperandKind::Register as u8
                    && operands[number].index == register.as_u32()
            };
            let numbers = (0..operands.len()).filter(is_register);
            places.extend(numbers.map(|number| (instruction, number, first + number)));
        }
        places
    }

    /// Returns a register that no PHI reads: LLVM's operation does not consider their reads.
    fn pick_without_phis(&mut self) -> Option<Register> {
        let register = self.pick_register()?;
        let read_by_phi = self.operands_of(register).iter().any(|&(instruction, _, place)| {
            self.is_phi(instruction) && reads(&self.snapshot.operands[place])
        });
        (!read_by_phi).then_some(register)
    }

    /// Removes some reads of a register, and shrinks its range.
    fn shrink(&mut self) -> Result<(), String> {
        let Some(register) = self.pick_without_phis() else {
            return Ok(());
        };
        let operands = self.operands_of(register);
        for &(instruction, number, place) in &operands {
            if reads(&self.snapshot.operands[place]) && self.random.percent(30) {
                self.snapshot.operands[place].flags |= OperandFlags::UNDEF.bits();
                let update = Update {
                    instruction: instruction.as_u32(),
                    value: number as u32,
                    ..Update::new(UpdateKind::Undef)
                };
                self.perform(&update);
            }
        }
        let range = self.intervals.interval(register);
        let mut uses = Vec::new();
        for &(instruction, _, place) in &operands {
            let index = self.intervals.indexes().instruction_index(instruction);
            let query = range.query(index);
            if reads(&self.snapshot.operands[place]) && query.value_in().is_some() {
                // An instruction that redefines a register early reads it early.
                let definition = query.value_defined().and_then(|value| range.definition(value));
                uses.push(definition.unwrap_or(index.register_slot(false)));
            }
        }
        let shrunk = self.intervals.shrink_to_uses(&self.predecessors, register, &uses);
        self.extended.remove(&register);
        let update = Update::of_range(UpdateKind::Shrink, register);
        let answer = self.perform(&update);
        self.compare_state()?;
        let may_separate = u32::from(shrunk.may_separate);
        if answer[0] != may_separate {
            return Err(format!("may separate: {may_separate}, LLVM: {}", answer[0]));
        }
        // LLVM names instructions all of whose results are dead.
        for &dead in &answer[1..] {
            let index = self
                .intervals
                .indexes()
                .instruction_index(Instruction::from_u32(dead));
            if !shrunk.dead.iter().any(|other| other.is_same_instruction(index)) {
                return Err(format!("LLVM finds the definition at {index} dead"));
            }
        }
        Ok(())
    }

    /// Prunes a value at its definition or after it, and extends it to its former ends.
    fn prune(&mut self) -> Result<(), String> {
        let Some(register) = self.pick_register() else {
            return Ok(());
        };
        let positions = self.positions();
        let range = self.intervals.interval(register);
        let definitions: Vec<(ValueNumber, SlotIndex)> = range
            .values()
            .filter(|(_, definition)| !definition.is_block())
            .collect();
        if definitions.is_empty() {
            return Ok(());
        }
        let (value, definition) = self.random.pick(&definitions);
        let behind = self.pick_index(&positions).register_slot(false);
        let query = self.intervals.interval(register).query(behind);
        let passes = query.value_in().is_some() && query.value_in() == query.value_out();
        let at_definition = self.random.coin() || !passes;
        let kill = if at_definition { definition } else { behind };
        let ends = self.intervals.prune_value(&self.snapshot.view(), register, kill);
        let answer: Vec<u32> = ends.iter().map(|&end| positions.of(end)).collect();
        let update = Update {
            start: positions.of(kill),
            ..Update::of_range(UpdateKind::Prune, register)
        };
        self.compare(update, &answer)?;

        if at_definition {
            let (start, end) = (definition, definition.dead_slot());
            self.intervals
                .range_mut(register)
                .add_segment(LiveSegment { start, end, value });
            let update = Update {
                start: positions.of(start),
                end: positions.of(end),
                value: value.as_u32(),
                ..Update::of_range(UpdateKind::AddSegment, register)
            };
            self.compare(update, &[])?;
        }
        let ends: Vec<SlotIndex> = ends
            .into_iter()
            .filter(|end| !at_definition || *end != definition.dead_slot())
            .collect();
        self.extend_to(register, &ends)
    }

    fn extend_to(&mut self, register: Register, uses: &[SlotIndex]) -> Result<(), String> {
        let positions = self.positions();
        self.intervals
            .extend_to(&mut LiveRangeCalc::new(), &self.predecessors, register, uses);
        let update = Update {
            list: uses.iter().map(|&index| positions.of(index)).collect(),
            ..Update::of_range(UpdateKind::Extend, register)
        };
        self.compare(update, &[])
    }

    /// Extends a range to positions where a value is defined on every path.
    fn extend(&mut self) -> Result<(), String> {
        let Some(register) = self.pick_register() else {
            return Ok(());
        };
        let positions = self.positions();
        let defined = self.defined_on_entry(register);
        let mut uses = Vec::new();
        for _ in 0..1 + self.random.below(3) {
            let index = if self.random.coin() {
                self.pick_index(&positions).register_slot(false)
            } else {
                let block = Block::new(self.pick_block());
                self.intervals.indexes().block_end(block)
            };
            let indexes = self.intervals.indexes();
            let block = indexes.block_before(index).expect("a use is in a block");
            let start = indexes.block_start(block);
            let range = self.intervals.interval(register);
            let mut local = range.values().map(|(_, definition)| definition);
            if defined[block.index()] || local.any(|definition| start < definition && definition < index) {
                uses.push(index);
            }
        }
        self.extended.insert(register);
        self.extend_to(register, &uses)
    }

    /// Returns the blocks on every path to which an instruction defines a register; no unreachable
    /// ones.
    fn defined_on_entry(&self, register: Register) -> Vec<bool> {
        let indexes = self.intervals.indexes();
        let mut defines = vec![false; self.order.len()];
        for (_, definition) in self.intervals.interval(register).values() {
            if !definition.is_block() {
                let block = indexes
                    .block_at(definition)
                    .expect("values are defined in blocks");
                defines[block.index()] = true;
            }
        }
        let order = ReversePostorder::new(&self.predecessors, Traversal::default());
        let blocks = (0..self.order.len()).map(Block::new);
        let mut defined: Vec<bool> = blocks.map(|block| order.is_reachable(block)).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for block in 0..self.order.len() {
                let predecessors = self.predecessors.predecessors_of(Block::new(block));
                let now = defined[block]
                    && block != 0
                    && !predecessors.is_empty()
                    && predecessors
                        .iter()
                        .all(|other| defined[other.index()] || defines[other.index()]);
                changed |= now != defined[block];
                defined[block] = now;
            }
        }
        defined
    }

    /// Splits the components of a range into registers of their own.
    fn split(&mut self) -> Result<(), String> {
        let Some(register) = self.pick_without_phis() else {
            return Ok(());
        };
        if self.extended.contains(&register) {
            return Ok(());
        }
        let old = self.intervals.interval(register).to_owned();
        let class = self.snapshot.registers[register.index()];
        let mut next = self.snapshot.registers.len();
        let (parts, registers) = self.intervals.split_components(&self.predecessors, register, || {
            next += 1;
            Register::new(next - 1)
        });
        self.snapshot.registers.resize(next, class);
        for (instruction, _, place) in self.operands_of(register) {
            let index = self.intervals.indexes().instruction_index(instruction);
            let query = old.as_range().query(index);
            let value = match reads(&self.snapshot.operands[place]) {
                true => query.value_in(),
                false => query.value_defined(),
            };
            let part = value.map_or(0, |value| parts[value.index()]);
            if let Some(part) = part.checked_sub(1) {
                self.snapshot.operands[place].index = registers[part].as_u32();
            }
        }
        let answer: Vec<u32> = registers.iter().map(|register| register.as_u32()).collect();
        self.registers.extend(registers);
        let update = Update::of_range(UpdateKind::Split, register);
        self.compare(update, &answer)
    }
}
