//! Support for the engine's tests: small functions, random ones, and liveness from its definition.

use super::flow_graph::FlowGraph;
use super::live_interval::LiveIntervals;
use super::scan::{defines, definition_slot, reads, use_slot};
use super::slot_index::{SLOT_COUNT, SlotIndex};
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, Instruction, Register};
use crate::snapshot::abi::{
    Access, BlockRecord, ChainedOperandRecord, EdgeRecord, FunctionRecord, InstructionRecord, OpcodeFlags,
    OpcodeRecord, OperandFlags, OperandKind, OperandRecord, RegisterClassRecord, RegisterFile, RegisterFlags,
    RegisterOperandRecord, RegisterRecord,
};
use crate::snapshot::{Snapshot, SnapshotArrays};

/// Opcodes of test functions.
pub const PLAIN: u32 = 0;
/// The opcode of PHIs.
pub const PHI: u32 = 1;
/// The opcode of debug values.
pub const DEBUG: u32 = 2;
/// The opcode of copies.
pub const COPY: u32 = 3;

/// A test function under construction.
#[derive(Clone, Debug, Default)]
pub struct TestFunction {
    function: FunctionRecord,
    blocks: Vec<BlockRecord>,
    edges: Vec<EdgeRecord>,
    predecessors: Vec<u32>,
    instructions: Vec<InstructionRecord>,
    operands: Vec<OperandRecord>,
    registers: Vec<RegisterRecord>,
    chained: Vec<ChainedOperandRecord>,
    classes: Vec<RegisterClassRecord>,
    opcodes: Vec<OpcodeRecord>,
}

/// Creates a register operand that is written.
pub fn def(register: u32) -> OperandRecord {
    operand(register, OperandFlags::DEF)
}

/// Creates a register operand that is read.
pub fn read(register: u32) -> OperandRecord {
    operand(register, OperandFlags::empty())
}

/// Returns a register operand with flags.
pub fn operand(register: u32, flags: OperandFlags) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Register as u8,
        flags: flags.bits(),
        index: register,
        ..OperandRecord::default()
    }
}

/// Returns a block operand.
pub fn from(block: u32) -> OperandRecord {
    OperandRecord {
        kind: OperandKind::Block as u8,
        index: block,
        ..OperandRecord::default()
    }
}

impl TestFunction {
    /// Creates a function of so many registers, without blocks.
    pub fn new(registers: usize) -> Self {
        let class = |bits, file: RegisterFile| RegisterClassRecord {
            bits,
            file: file as u32,
            ..RegisterClassRecord::default()
        };
        let opcode = |flags: OpcodeFlags| OpcodeRecord {
            flags: flags.bits(),
            ..OpcodeRecord::default()
        };
        let mut function = Self {
            classes: vec![
                class(32, RegisterFile::General),
                class(1, RegisterFile::Predicate),
                class(64, RegisterFile::General),
                class(128, RegisterFile::General),
                class(16, RegisterFile::General),
                class(64, RegisterFile::Special),
            ],
            opcodes: [
                OpcodeFlags::empty(),
                OpcodeFlags::PHI,
                OpcodeFlags::DEBUG,
                OpcodeFlags::COPY,
            ]
            .map(opcode)
            .into(),
            ..Self::default()
        };
        function.function.abi_version = crate::snapshot::abi::ABI_VERSION;
        let classes = function.classes.len();
        function.registers = (0..registers)
            .map(|register| RegisterRecord {
                register_class: (register % classes) as u16,
                flags: 0,
            })
            .collect();
        function
    }

    /// Begins a block with these successors.
    pub fn block(&mut self, successors: &[u32]) {
        self.blocks.push(BlockRecord {
            first_instruction: self.instructions.len() as u32,
            first_successor: self.edges.len() as u32,
            number: self.blocks.len() as u32,
            ..BlockRecord::default()
        });
        self.edges.extend(successors.iter().map(|&block| EdgeRecord {
            block,
            probability: 0,
        }));
    }

    /// Adds an instruction to the last block.
    pub fn instruction(&mut self, opcode: u32, operands: &[OperandRecord]) {
        self.instructions.push(InstructionRecord {
            opcode,
            first_operand: self.operands.len() as u32,
            ..InstructionRecord::default()
        });
        self.operands.extend_from_slice(operands);
    }

    /// Adds the sentinels, the lists of predecessors and the operand lists of registers with
    /// several definitions; `shuffle` gives their order.
    pub fn finish(mut self, mut shuffle: impl FnMut() -> u64) -> Self {
        self.blocks.push(BlockRecord {
            first_instruction: self.instructions.len() as u32,
            first_successor: self.edges.len() as u32,
            first_predecessor: self.predecessors.len() as u32,
            ..BlockRecord::default()
        });
        self.instructions.push(InstructionRecord {
            first_operand: self.operands.len() as u32,
            ..InstructionRecord::default()
        });
        if self.predecessors.is_empty() {
            self.list_predecessors(&mut shuffle);
        }
        let mut places: Vec<Vec<ChainedOperandRecord>> = vec![Vec::new(); self.registers.len()];
        let mut definitions = vec![0; self.registers.len()];
        for (position, operand) in self.register_operands().iter().enumerate() {
            if operand.access() == Access::FromBlock {
                continue;
            }
            definitions[operand.index as usize] += usize::from(operand.access().is_definition());
            places[operand.index as usize].push(ChainedOperandRecord {
                register: operand.index,
                register_operand: position as u32,
            });
        }
        for (register, mut places) in places.into_iter().enumerate() {
            if definitions[register] > 1 {
                self.registers[register].flags |= RegisterFlags::CHAINED.bits();
                places.sort_by_cached_key(|_| shuffle());
                self.chained.extend(places);
            }
        }
        self
    }

    /// Returns the accesses of instructions to registers.
    fn register_operands(&self) -> Vec<RegisterOperandRecord> {
        let mut list = Vec::new();
        self.snapshot().arrays().collect_register_operands(&mut list);
        list
    }

    fn list_predecessors(&mut self, mut shuffle: impl FnMut() -> u64) {
        let mut lists: Vec<Vec<u32>> = vec![Vec::new(); self.blocks.len()];
        for (source, pair) in self.blocks.windows(2).enumerate() {
            for edge in &self.edges[pair[0].first_successor as usize..pair[1].first_successor as usize] {
                lists[edge.block as usize].push(source as u32);
            }
        }
        for (record, mut list) in self.blocks.iter_mut().zip(lists) {
            record.first_predecessor = self.predecessors.len() as u32;
            list.sort_by_cached_key(|_| shuffle());
            self.predecessors.extend(list);
        }
    }

    /// Returns the finished function with its instructions in another order, given by their old
    /// positions.
    pub fn permuted(&self, order: &[usize]) -> Self {
        let mut result = self.clone();
        result.instructions.clear();
        result.operands.clear();
        for &old in order {
            let record = self.instructions[old];
            let operands = record.first_operand as usize..self.instructions[old + 1].first_operand as usize;
            result.instruction(record.opcode, &self.operands[operands]);
        }
        result.instruction(PLAIN, &[]);
        // Instructions bring their register operands along, in order.
        let (before, after) = (self.register_operands(), result.register_operands());
        let first = |list: &[RegisterOperandRecord], instruction: Instruction| {
            list.partition_point(|operand| operand.instruction() < instruction)
        };
        let mut new_position = vec![Instruction::new(0); order.len()];
        for (position, &old) in order.iter().enumerate() {
            new_position[old] = Instruction::new(position);
        }
        for place in &mut result.chained {
            let position = place.register_operand as usize;
            let instruction = before[position].instruction();
            let number = position - first(&before, instruction);
            let moved = first(&after, new_position[instruction.index()]) + number;
            place.register_operand = moved as u32;
        }
        result
    }

    /// Changes register operands in place. Definitions must stay definitions.
    pub fn change_operands(&mut self, mut change: impl FnMut(&mut OperandRecord)) {
        let is_register = |operand: &&mut OperandRecord| operand.kind == OperandKind::Register as u8;
        self.operands.iter_mut().filter(is_register).for_each(&mut change);
    }

    /// Recomputes which registers have several definitions, after operands were changed.
    fn relist(mut self) -> Self {
        self.blocks.pop();
        self.instructions.pop();
        for register in &mut self.registers {
            register.flags = 0;
        }
        self.chained.clear();
        self.finish(|| 0)
    }

    /// Returns the function with `registers` registers and the operands of `register` renamed as
    /// `owner` says for their slot.
    pub fn renamed(
        &self,
        register: Register,
        registers: usize,
        owner: impl Fn(SlotIndex, bool) -> Option<Register>,
        indexes: &SlotIndexes,
    ) -> Self {
        let mut result = self.clone();
        result
            .registers
            .resize(registers.max(self.registers.len()), RegisterRecord::default());
        for instruction in self.snapshot().instructions() {
            if !indexes.has_index(instruction) {
                continue;
            }
            let number = indexes.instruction_index(instruction).number();
            let first = self.instructions[instruction.index()].first_operand as usize;
            let last = self.instructions[instruction.index() + 1].first_operand as usize;
            let records = &self.operands[first..last];
            let is_phi = self.instructions[instruction.index()].opcode == PHI;
            for (place, record) in records.iter().enumerate() {
                if record.kind != OperandKind::Register as u8 || record.index != register.as_u32() {
                    continue;
                }
                let owner = if defines(record) {
                    owner(definition_slot(number, record), false)
                } else if reads(record) && is_phi {
                    owner(indexes.block_end(Block::from_u32(records[place + 1].index)), true)
                } else if reads(record) {
                    owner(use_slot(number, record, records), true)
                } else {
                    None
                };
                if let Some(owner) = owner {
                    result.operands[first + place].index = owner.as_u32();
                }
            }
        }
        result.relist()
    }

    /// Returns the function without the copy `instruction`, with `source` renamed to `result`.
    pub fn joined(&self, result: Register, source: Register, instruction: Instruction) -> Self {
        let mut joined = self.clone();
        let first = self.instructions[instruction.index()].first_operand as usize;
        for operand in &mut joined.operands[first..first + 2] {
            operand.kind = OperandKind::Immediate as u8;
        }
        joined.instructions[instruction.index()].opcode = PLAIN;
        joined.change_operands(|operand| {
            if operand.index == source.as_u32() {
                operand.index = result.as_u32();
            }
        });
        joined.relist()
    }

    /// Returns a view of the function.
    pub fn snapshot(&self) -> Snapshot<'_> {
        Snapshot::new(SnapshotArrays {
            function: &self.function,
            blocks: &self.blocks,
            edges: &self.edges,
            predecessors: &self.predecessors,
            instructions: &self.instructions,
            operands: &self.operands,
            register_operands: None,
            memory_operands: &[],
            registers: &self.registers,
            chained_operands: &self.chained,
            register_classes: &self.classes,
            opcodes: &self.opcodes,
            constants: &[],
            symbols: &[],
            frame_objects: &[],
            physical_registers: &[],
            locations: &[],
            variables: &[],
            strings: &[],
        })
    }
}

/// A generator of numbers for random functions (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The random numbers of test functions (SplitMix64).
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit, which is not zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        (self.word() % u64::from(limit)) as u32
    }

    /// Returns true in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// Returns a random function: any control flow over blocks that the entry reaches, any mix of
/// registers with no, one and several definitions, including reads that no definition reaches.
pub fn random_function(random: &mut Random, blocks: u32, registers: u32, length: u32) -> TestFunction {
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); blocks as usize];
    for block in 1..blocks {
        let parent = if random.chance(70) {
            block - 1
        } else {
            random.below(block)
        };
        successors[parent as usize].push(block);
    }
    for _ in 0..random.below(blocks + 1) {
        let (source, target) = (random.below(blocks), random.below(blocks));
        // No edge leads back to the entry block of a machine function.
        if target != 0 {
            successors[source as usize].push(target);
        }
    }
    let mut function = TestFunction::new(registers as usize);
    // Most registers get one definition, so that both kinds occur.
    let single = registers * 3 / 4;
    let mut undefined: Vec<u32> = (0..single).collect();
    for block in 0..blocks {
        function.block(&successors[block as usize]);
        let preds: Vec<u32> = (0..blocks)
            .filter(|&other| successors[other as usize].contains(&block))
            .collect();
        if !preds.is_empty() && random.chance(40) && !undefined.is_empty() {
            let position = random.below(undefined.len() as u32) as usize;
            let mut operands = vec![def(undefined.swap_remove(position))];
            for &predecessor in &preds {
                operands.extend([read(random.below(registers)), from(predecessor)]);
            }
            function.instruction(PHI, &operands);
        }
        for _ in 0..random.below(length + 1) {
            let operands = random_operands(random, registers, single, &mut undefined);
            let opcode = if random.chance(5) { DEBUG } else { PLAIN };
            if opcode == DEBUG {
                let debug: Vec<_> = (0..2)
                    .map(|_| operand(random.below(registers), OperandFlags::DEBUG))
                    .collect();
                function.instruction(DEBUG, &debug);
            }
            let plain_copy = operands.len() >= 2
                && defines(&operands[0])
                && operands[0].flags & OperandFlags::EARLY_CLOBBER.bits() == 0
                && reads(&operands[1]);
            if plain_copy && random.chance(40) {
                let source = read(operands[1].index);
                function.instruction(COPY, &[operands[0], source]);
            } else {
                function.instruction(PLAIN, &operands);
            }
        }
    }
    let mut order = random.clone();
    function.finish(move || order.word())
}

fn random_operands(
    random: &mut Random,
    registers: u32,
    single: u32,
    undefined: &mut Vec<u32>,
) -> Vec<OperandRecord> {
    let mut operands = Vec::new();
    for _ in 0..random.below(3) {
        let mut written = if random.chance(75) && !undefined.is_empty() {
            let position = random.below(undefined.len().min(3) as u32) as usize;
            def(undefined.remove(position))
        } else if single < registers {
            def(single + random.below(registers - single))
        } else {
            continue;
        };
        if random.chance(10) {
            written.flags |= OperandFlags::EARLY_CLOBBER.bits();
        }
        operands.push(written);
    }
    for _ in 0..random.below(4) {
        let mut used = read(random.below(registers));
        if random.chance(8) {
            used.flags |= OperandFlags::UNDEF.bits();
        }
        let definitions = operands.iter().filter(|operand| defines(operand)).count() as u32;
        if definitions > 0 && random.chance(15) {
            let tied = random.below(definitions);
            used.tied_to = tied as u8 + 1;
            used.index = operands[tied as usize].index;
        }
        operands.push(used);
    }
    // Implicit definitions come after the operands that are read.
    if random.chance(20) && operands.iter().all(|operand| operand.tied_to == 0) {
        operands.reverse();
    }
    operands
}

/// Returns the slots that a register covers, by definition: one flag for each slot of each entry.
///
/// None if the register has several definitions and a read that none of them reaches: no value can
/// be named there, and LLVM's result depends on the order of uses.
pub fn covered_slots(
    snapshot: &Snapshot<'_>,
    intervals: &LiveIntervals,
    register: Register,
) -> Option<Vec<bool>> {
    let indexes = intervals.indexes();
    let position = |index: SlotIndex| (index.base() / 4 + index.number() % SLOT_COUNT) as usize;
    let slots = position(indexes.last_index()) + 1;
    let (mut defined, mut read) = (vec![false; slots], vec![false; slots]);
    let mut phi_reads = Vec::new();
    for instruction in snapshot
        .instructions()
        .filter(|&instruction| indexes.has_index(instruction))
    {
        let number = indexes.instruction_index(instruction).number();
        let view = snapshot.instruction(instruction);
        let records = view.operand_records();
        let is_phi = view.opcode_flags().contains(OpcodeFlags::PHI);
        for (place, record) in records.iter().enumerate() {
            if record.kind != OperandKind::Register as u8 || record.index != register.as_u32() {
                continue;
            }
            if defines(record) {
                defined[position(definition_slot(number, record))] = true;
            } else if reads(record) && is_phi {
                phi_reads.push(Block::from_u32(records[place + 1].index));
            } else if reads(record) {
                read[position(use_slot(number, record, records))] = true;
            }
        }
    }
    // A normal and an early-clobber definition by one instruction are one, defined early.
    for entry in defined.chunks_mut(SLOT_COUNT as usize) {
        if entry.get(1) == Some(&true) {
            entry.get_mut(2).into_iter().for_each(|late| *late = false);
        }
    }
    let (start, end) = (
        |block: Block| position(indexes.block_start(block)),
        |block: Block| position(indexes.block_end(block)),
    );
    let chained = snapshot.arrays().registers[register.index()].flags & RegisterFlags::CHAINED.bits() != 0;
    let reached = reached_blocks(snapshot, &defined, start, end);
    if chained && phi_reads.iter().any(|block| !reached[block.index()]) {
        return None;
    }
    let any = defined.contains(&true);
    let predecessors = FlowGraph::new(snapshot);
    let mut live_in = vec![false; snapshot.block_count()];
    let mut covered = vec![false; slots];
    let mut changed = true;
    while changed {
        changed = false;
        for block in snapshot.blocks() {
            let entered = predecessors
                .predecessors_of(block)
                .iter()
                .any(|predecessor| reached[predecessor.index()]);
            let mut live = any && phi_reads.contains(&block)
                || snapshot
                    .successors(block)
                    .any(|successor| live_in[successor.index()]);
            for slot in (start(block)..end(block)).rev() {
                covered[slot] = live;
                if defined[slot] {
                    live = false;
                    let dead = slot / 4 * 4 + 3;
                    covered[slot..dead].fill(true);
                }
                let local = defined[start(block)..slot].contains(&true);
                if chained && read[slot] && !local && !entered {
                    return None;
                }
                live |= any && read[slot];
            }
            changed |= live != live_in[block.index()];
            live_in[block.index()] = live;
        }
    }
    Some(covered)
}

/// Returns the blocks at whose end a definition may have happened.
fn reached_blocks(
    snapshot: &Snapshot<'_>,
    defined: &[bool],
    start: impl Fn(Block) -> usize,
    end: impl Fn(Block) -> usize,
) -> Vec<bool> {
    let mut reached: Vec<bool> = snapshot
        .blocks()
        .map(|block| defined[start(block)..end(block)].contains(&true))
        .collect();
    let predecessors = FlowGraph::new(snapshot);
    let mut changed = true;
    while changed {
        changed = false;
        for block in snapshot.blocks() {
            let any = predecessors
                .predecessors_of(block)
                .iter()
                .any(|predecessor| reached[predecessor.index()]);
            changed |= any && !reached[block.index()];
            reached[block.index()] |= any;
        }
    }
    reached
}

/// Successors of a block, and the opcode and operands of each instruction.
type KernelBlock = (Vec<u32>, Vec<(u32, Vec<OperandRecord>)>);

/// A kernel of about `instructions` instructions in SSA form: nested ifs and loops over short
/// blocks, most values read soon after they are computed, some long after.
pub struct Kernel {
    random: Random,
    blocks: Vec<KernelBlock>,
    visible: Vec<u32>,
    registers: u32,
    budget: i64,
}

impl Kernel {
    /// Returns a random function of so many instructions.
    pub fn generate(seed: u64, instructions: u32) -> TestFunction {
        let mut kernel = Self {
            random: Random(seed),
            blocks: vec![(Vec::new(), Vec::new())],
            visible: Vec::new(),
            registers: 0,
            budget: i64::from(instructions),
        };
        for _ in 0..8 {
            kernel.emit(0);
        }
        while kernel.budget > 0 {
            kernel.region(0);
        }
        let registers = kernel.registers as usize;
        let mut function = TestFunction::new(registers);
        for (successors, body) in &kernel.blocks {
            function.block(successors);
            for (opcode, operands) in body {
                function.instruction(*opcode, operands);
            }
        }
        for register in &mut function.registers {
            register.register_class = u16::from(kernel.random.chance(5));
        }
        function.finish(|| 0)
    }

    fn start_block(&mut self) -> u32 {
        self.blocks.push((Vec::new(), Vec::new()));
        self.blocks.len() as u32 - 1
    }

    fn last(&self) -> u32 {
        self.blocks.len() as u32 - 1
    }

    fn pick(&mut self) -> OperandRecord {
        let count = self.visible.len() as u32;
        let distance = match self.random.below(100) {
            0..80 => self.random.below(count.min(8)),
            80..97 => self.random.below(count.min(100)),
            97..98 => self.random.below(count.min(1000)),
            _ => count - 1 - self.random.below(count.min(8)),
        };
        read(self.visible[(count - 1 - distance) as usize])
    }

    fn emit(&mut self, reads: u32) -> u32 {
        let register = self.registers;
        self.registers += 1;
        let mut operands = vec![def(register)];
        for _ in 0..reads {
            operands.push(self.pick());
        }
        self.push(PLAIN, operands);
        self.visible.push(register);
        register
    }

    fn push(&mut self, opcode: u32, operands: Vec<OperandRecord>) {
        self.budget -= 1;
        self.blocks
            .last_mut()
            .expect("there is a block")
            .1
            .push((opcode, operands));
    }

    fn link(&mut self, source: u32, target: u32) {
        self.blocks[source as usize].0.push(target);
    }

    /// Generates straight code, then perhaps an if or a loop, then a block where control continues.
    fn region(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(24) {
            let reads = 1 + self.random.below(2);
            self.emit(reads);
        }
        if depth > 5 || self.budget < 0 {
            return;
        }
        let scope = self.visible.len();
        let head = self.last();
        match self.random.below(5) {
            0 | 1 => {
                let condition = self.pick();
                self.push(PLAIN, vec![condition]);
                let then = self.start_block();
                self.link(head, then);
                self.region(depth + 1);
                let end = self.last();
                self.visible.truncate(scope);
                let join = self.start_block();
                self.link(head, join);
                self.link(end, join);
            }
            2 => {
                let initial = self.pick();
                let body = self.start_block();
                self.link(head, body);
                let phi = self.registers;
                self.registers += 1;
                self.blocks[body as usize]
                    .1
                    .push((PHI, vec![def(phi), initial, from(head)]));
                self.visible.push(phi);
                self.region(depth + 1);
                self.region(depth + 1);
                let next = self.emit(2);
                let latch = self.last();
                self.blocks[body as usize].1[0]
                    .1
                    .extend([read(next), from(latch)]);
                self.link(latch, body);
                let exit = self.start_block();
                self.link(latch, exit);
                self.visible.truncate(scope + 1);
            }
            _ => {
                let next = self.start_block();
                self.link(head, next);
            }
        }
    }
}
