//! One pass over the instructions that collects everything the engine needs about each register.
//!
//! A register with one definition whose uses all follow it in the same block, as most registers of
//! a kernel, is finished by the scan: its range is `[definition, last use)`. For the others the
//! scan records, by register and block, the last use that the block's own definition does not
//! reach, and the predecessors from which a PHI reads the register. For registers with several
//! definitions, the webs, it records each definition with the last read that it reaches in its
//! block.

use super::live_interval::make_room;
use super::slot_index::{INSTRUCTION_DISTANCE, Slot, SlotIndex};
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, Instruction, PackedOption, Register, entity_impl};
use crate::snapshot::abi::{Access, OperandFlags, OperandRecord, RegisterOperandRecord};

/// A block that reads a register before it defines it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpwardUse {
    pub block: Block,
    /// The last such read.
    pub last: SlotIndex,
    /// The register's previous block of this kind, earlier in layout order.
    pub previous: PackedOption<UpwardUseId>,
}

/// An [`UpwardUse`] of the scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct UpwardUseId(u32);
entity_impl!(UpwardUseId, "use");

/// A block at whose end a PHI of a successor reads a register that the block does not define.
#[derive(Clone, Copy, Debug)]
pub(super) struct LiveOutUse {
    pub block: Block,
    pub previous: PackedOption<LiveOutUseId>,
}

/// A [`LiveOutUse`] of the scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct LiveOutUseId(u32);
entity_impl!(LiveOutUseId, "out");

/// A definition of a web other than its last one in layout order.
#[derive(Clone, Copy, Debug)]
struct EarlierDefinition {
    slot: SlotIndex,
    /// End of the piece that begins there, if it ends in the block.
    end: SlotIndex,
    previous: PackedOption<EarlierDefinitionId>,
}

/// An [`EarlierDefinition`] of the scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct EarlierDefinitionId(u32);
entity_impl!(EarlierDefinitionId, "earlier");

/// A register with several definitions, possibly by one instruction.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScannedWeb {
    register: Register,
    earlier: PackedOption<EarlierDefinitionId>,
}

/// A [`ScannedWeb`] of the scan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct WebId(u32);
entity_impl!(WebId, "web");

/// The results of the scan for one register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegisterState {
    /// Its definition; for a web, the last one in layout order.
    pub definition: PackedOption<SlotIndex>,
    /// End of the piece that begins at the definition. Without a definition: present if the
    /// register is mentioned at all.
    pub end: PackedOption<SlotIndex>,
    /// Blocks that read it on entry, the last in layout order first.
    pub upward: PackedOption<UpwardUseId>,
    /// Blocks at whose end PHIs read it.
    pub live_out: PackedOption<LiveOutUseId>,
}

const _: () = assert!(size_of::<RegisterState>() == 16);

impl RegisterState {
    /// True if the register can be live across a block boundary other than the end of the block
    /// that defines it.
    pub(super) fn crosses_blocks(&self) -> bool {
        self.upward.is_some() || self.live_out.is_some()
    }
}

/// The scan and its results. Keeps its memory from function to function.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub registers: Vec<RegisterState>,
    /// Registers in the order of their first definitions in layout order, then room for all others:
    /// the scan adds one at nearly each definition, and `push` would ask for room each time.
    definition_order: Vec<Register>,
    /// The number of registers that are defined.
    defined: usize,
    /// Registers that are mentioned but not defined, ascending.
    pub undefined: Vec<Register>,
    pub upward_uses: Vec<UpwardUse>,
    pub live_out_uses: Vec<LiveOutUse>,
    /// Registers with several definitions.
    pub webs: Vec<ScannedWeb>,
    /// By register; empty if there are no webs.
    web_of: Vec<PackedOption<WebId>>,
    earlier: Vec<EarlierDefinition>,
    /// The block of each entry of the numbering.
    blocks: Vec<Block>,
    /// Reads by PHIs, by predecessor; settled once all definitions are known.
    deferred: Vec<(Register, Block)>,
}

const DEF: u16 = OperandFlags::DEF.bits();
/// Operands that mention a register without reading it.
const NOT_READ: u16 = OperandFlags::UNDEF.bits() | OperandFlags::INTERNAL_READ.bits();
const DEBUG: u16 = OperandFlags::DEBUG.bits();
const EARLY_CLOBBER: u16 = OperandFlags::EARLY_CLOBBER.bits();

/// Returns the slot at which an instruction reads `operand`: early if it is tied to an
/// early-clobber definition.
pub fn use_slot(base: u32, operand: &OperandRecord, operands: &[OperandRecord]) -> SlotIndex {
    let early = operand.tied_to != 0
        && operands
            .get(usize::from(operand.tied_to) - 1)
            .is_some_and(|tied| tied.flags & DEF != 0 && tied.flags & EARLY_CLOBBER != 0);
    SlotIndex::new(base, if early { Slot::EarlyClobber } else { Slot::Register })
}

/// Returns the slot at which an instruction defines `operand`.
pub(super) fn definition_slot(base: u32, operand: &OperandRecord) -> SlotIndex {
    let early = operand.flags & EARLY_CLOBBER != 0;
    SlotIndex::new(base, if early { Slot::EarlyClobber } else { Slot::Register })
}

/// True if the operand reads its register.
pub fn reads(operand: &OperandRecord) -> bool {
    operand.flags & (DEF | NOT_READ | DEBUG) == 0
}

/// True if the operand defines its register.
pub fn defines(operand: &OperandRecord) -> bool {
    operand.flags & DEF != 0
}

/// Returns the slot at which an instruction with the number `base` reads or defines a register.
pub(super) fn access_slot(base: u32, access: Access) -> SlotIndex {
    let early = matches!(access, Access::ReadEarly | Access::DefineEarly);
    SlotIndex::new(base, if early { Slot::EarlyClobber } else { Slot::Register })
}

/// The block that is being scanned.
struct ScannedBlock<'a> {
    block: Block,
    start: SlotIndex,
    /// The first upward-exposed use that the block may have.
    first_use: UpwardUseId,
    /// The block's register operands.
    operands: &'a [RegisterOperandRecord],
    /// The numbers of all instructions.
    numbers: &'a [u32],
}

impl Scan {
    /// Scans the register operands of a function with `registers` registers, numbered by `indexes`.
    pub(super) fn run(
        &mut self,
        registers: usize,
        operands: &[RegisterOperandRecord],
        indexes: &SlotIndexes,
    ) {
        self.registers.clear();
        self.registers.resize(registers, RegisterState::default());
        if self.definition_order.len() < registers {
            self.definition_order.resize(registers, Register::new(0));
        }
        self.defined = 0;
        self.undefined.clear();
        self.upward_uses.clear();
        self.live_out_uses.clear();
        self.webs.clear();
        self.web_of.clear();
        self.earlier.clear();
        self.deferred.clear();
        self.blocks.clear();
        let mut operands = operands;
        for (block, &end) in indexes.first_instructions[1..].iter().enumerate() {
            let entries = indexes.block_starts[block + 1].number() / INSTRUCTION_DISTANCE;
            self.blocks.resize(entries as usize, Block::new(block));
            operands = self.scan_block(indexes, Block::new(block), Instruction::from_u32(end), operands);
        }
        self.settle_phi_reads(indexes);
        // Until here also those that are defined later.
        let registers = &self.registers;
        self.undefined
            .retain(|register| registers[register.index()].definition.is_none());
        self.undefined.sort_unstable();
        self.undefined.dedup();
    }

    /// Returns the registers that are defined, in the order of their first definitions in layout
    /// order.
    pub(super) fn defined(&self) -> &[Register] {
        &self.definition_order[..self.defined]
    }

    /// Scans `block`, which ends before instruction `end` and whose register operands come first in
    /// `operands`. Returns the operands of the following blocks.
    fn scan_block<'a>(
        &mut self,
        indexes: &SlotIndexes,
        block: Block,
        end: Instruction,
        operands: &'a [RegisterOperandRecord],
    ) -> &'a [RegisterOperandRecord] {
        let scanned = ScannedBlock {
            block,
            start: indexes.block_starts[block.index()],
            first_use: UpwardUseId::new(self.upward_uses.len()),
            operands,
            numbers: &indexes.instruction_numbers,
        };
        for (position, operand) in operands.iter().enumerate() {
            let instruction = operand.instruction();
            if instruction >= end {
                return &operands[position..];
            }
            let number = scanned.numbers[instruction.index()];
            let slot = SlotIndex::new(number, Slot::Register);
            if operand.is(Access::Read) {
                self.read(&scanned, operand.register(), slot);
            } else if operand.is(Access::Define) {
                self.define(operand.register(), slot);
            } else {
                self.note_rare_access(&scanned, position, number);
            }
        }
        &[]
    }

    /// Handles the operand at `position` of the instruction with the number `base` if it is neither
    /// a plain read nor a plain definition.
    #[inline(never)]
    fn note_rare_access(&mut self, scanned: &ScannedBlock<'_>, position: usize, base: u32) {
        let operand = &scanned.operands[position];
        let access = operand.access();
        let slot = access_slot(base, access);
        match access {
            Access::Read | Access::ReadEarly => self.read(scanned, operand.register(), slot),
            Access::Define => {
                self.define(operand.register(), slot);
            }
            Access::DefineEarly => {
                if self.define(operand.register(), slot) {
                    self.take_back_late_reads(scanned, operand.register(), slot, position);
                }
            }
            Access::Mention => {
                let state = &mut self.registers[operand.index as usize];
                if state.end.is_none() {
                    state.end = scanned.start.into();
                    self.undefined.push(operand.register());
                }
            }
            Access::ReadByPhi => {
                let predecessor = scanned.operands[position + 1].block();
                self.deferred.push((operand.register(), predecessor));
            }
            Access::FromBlock => {}
        }
    }

    /// Records a definition of `register`. Returns false if it adds nothing to another one by the
    /// same instruction.
    #[inline(always)]
    fn define(&mut self, register: Register, definition: SlotIndex) -> bool {
        if self.registers[register.index()].definition.is_none() {
            self.definition_order[self.defined] = register;
            self.defined += 1;
        } else if !self.set_aside(register, definition) {
            return false;
        }
        let state = &mut self.registers[register.index()];
        state.definition = definition.into();
        state.end = definition.dead_slot().into();
        true
    }

    /// Makes room for another definition of `register`. Returns false if it is by the same
    /// instruction as the last one: together they are one value, defined early.
    #[inline(never)]
    fn set_aside(&mut self, register: Register, definition: SlotIndex) -> bool {
        let state = &mut self.registers[register.index()];
        let (Some(slot), Some(end)) = (state.definition.expand(), state.end.expand()) else {
            return true;
        };
        if slot.is_same_instruction(definition) {
            state.definition = slot.min(definition).into();
            self.note_web(register);
            return false;
        }
        self.note_web(register);
        if let Some(web) = self.web_of(register) {
            let earlier = EarlierDefinitionId::new(self.earlier.len());
            let previous = std::mem::replace(&mut self.webs[web.index()].earlier, earlier.into());
            self.earlier.push(EarlierDefinition { slot, end, previous });
        }
        true
    }

    /// Makes a register a web, if it is not one yet.
    fn note_web(&mut self, register: Register) {
        if self.web_of.is_empty() {
            self.web_of.resize(self.registers.len(), PackedOption::default());
        }
        let web = &mut self.web_of[register.index()];
        if web.is_none() {
            *web = WebId::new(self.webs.len()).into();
            self.webs.push(ScannedWeb {
                register,
                earlier: PackedOption::default(),
            });
        }
    }

    /// Corrects reads that an early-clobber definition reaches: it also reaches reads by the same
    /// instruction whose operands come first, which were taken for reads of the value that enters
    /// the block.
    #[cold]
    fn take_back_late_reads(
        &mut self,
        scanned: &ScannedBlock<'_>,
        register: Register,
        definition: SlotIndex,
        position: usize,
    ) {
        let instruction = scanned.operands[position].instruction();
        // Reads of the register that come first, with their slots, the last one first.
        let before = scanned.operands[..position].iter().rev();
        let slot_of_read = |operand: &RegisterOperandRecord| {
            let access = operand.access();
            let is_read = matches!(access, Access::Read | Access::ReadEarly);
            let number = scanned.numbers[operand.instruction().index()];
            (is_read && operand.register() == register).then(|| access_slot(number, access))
        };
        let is_late = |slot: &SlotIndex| *slot > definition;
        // Late ones are by the same instruction. Most have none, so the block is not searched.
        let mut of_instruction = before
            .clone()
            .take_while(|operand| operand.instruction() == instruction)
            .filter_map(slot_of_read);
        if !of_instruction.any(|slot| is_late(&slot)) {
            return;
        }
        // The remaining reads: those at the definition's slot, and those of earlier instructions.
        let last = before.filter_map(slot_of_read).find(|slot| !is_late(slot));
        let state = &mut self.registers[register.index()];
        let Some(id) = state.upward.expand().filter(|&id| id >= scanned.first_use) else {
            return;
        };
        match last {
            Some(last) => self.upward_uses[id.index()].last = last,
            None => state.upward = self.upward_uses[id.index()].previous,
        }
    }

    /// Records a read of `register` at `slot`. A definition in the same block reaches it if it
    /// comes earlier, if only by a slot of the same instruction.
    #[inline(always)]
    fn read(&mut self, scanned: &ScannedBlock<'_>, register: Register, slot: SlotIndex) {
        let state = &mut self.registers[register.index()];
        let definition = state.definition.expand();
        if definition.is_some_and(|definition| (scanned.start < definition) & (definition < slot)) {
            state.end = state.end.expand().max(Some(slot)).into();
            return;
        }
        // The instruction that reads a web may also be the last one that defines it.
        if definition.is_some_and(|definition| scanned.start < definition)
            && self.extend_earlier(register, scanned.start, slot)
        {
            return;
        }
        let state = &mut self.registers[register.index()];
        if let Some(id) = state.upward.expand()
            && id >= scanned.first_use
        {
            let last = &mut self.upward_uses[id.index()].last;
            *last = slot.max(*last);
            return;
        }
        if definition.is_none() && state.upward.is_none() {
            self.undefined.push(register);
        }
        let id = UpwardUseId::new(self.upward_uses.len());
        make_room(&mut self.upward_uses, 1);
        self.upward_uses.push(UpwardUse {
            block: scanned.block,
            last: slot,
            previous: state.upward,
        });
        state.upward = id.into();
    }

    /// Extends the last definition before `slot` to it, if that one was set aside and lies after
    /// `start`.
    fn extend_earlier(&mut self, register: Register, start: SlotIndex, slot: SlotIndex) -> bool {
        let mut next = self
            .web_of(register)
            .and_then(|web| self.webs[web.index()].earlier.expand());
        while let Some(id) = next {
            let earlier = &mut self.earlier[id.index()];
            if earlier.slot < slot {
                if earlier.slot > start {
                    earlier.end = earlier.end.max(slot);
                }
                return earlier.slot > start;
            }
            next = earlier.previous.expand();
        }
        false
    }

    /// Settles reads by PHIs, which happen at the end of the predecessor: in the defining block
    /// such a read lengthens the piece that begins there; elsewhere the register crosses blocks.
    fn settle_phi_reads(&mut self, indexes: &SlotIndexes) {
        for &(register, predecessor) in &self.deferred {
            let is_web = self.web_of(register).is_some();
            let state = &mut self.registers[register.index()];
            let (start, end) = indexes.block_range(predecessor);
            let definition = state.definition.expand();
            if !is_web && definition.is_some_and(|definition| start < definition && definition < end) {
                state.end = end.into();
                continue;
            }
            if definition.is_none() {
                self.undefined.push(register);
            }
            let id = LiveOutUseId::new(self.live_out_uses.len());
            self.live_out_uses.push(LiveOutUse {
                block: predecessor,
                previous: state.live_out,
            });
            state.live_out = id.into();
        }
    }

    /// Returns the block of a slot of an instruction.
    #[inline]
    pub(super) fn block_of(&self, slot: SlotIndex) -> Block {
        self.blocks[(slot.number() / INSTRUCTION_DISTANCE) as usize]
    }

    /// Returns the web of a register, if it is one.
    #[inline]
    pub(super) fn web_of(&self, register: Register) -> Option<WebId> {
        self.web_of.get(register.index())?.expand()
    }

    /// Returns the definitions of a web with the ends of their pieces, the last in layout order
    /// first.
    pub(super) fn definitions_of(&self, web: WebId) -> impl Iterator<Item = (SlotIndex, SlotIndex)> + '_ {
        let ScannedWeb { register, earlier } = self.webs[web.index()];
        let state = self.registers[register.index()];
        let last = state.definition.expand().zip(state.end.expand());
        let earlier =
            std::iter::successors(earlier.expand(), |id| self.earlier[id.index()].previous.expand());
        let earlier = earlier.map(|id| (self.earlier[id.index()].slot, self.earlier[id.index()].end));
        last.into_iter().chain(earlier)
    }

    /// Returns the blocks that read a register on entry, the last in layout order first.
    pub(super) fn upward_uses_of(&self, state: RegisterState) -> impl Iterator<Item = UpwardUse> + '_ {
        std::iter::successors(state.upward.expand(), |id| {
            self.upward_uses[id.index()].previous.expand()
        })
        .map(|id| self.upward_uses[id.index()])
    }

    /// Returns the blocks from which PHIs read a register and that do not define it.
    pub(super) fn live_out_uses_of(&self, state: RegisterState) -> impl Iterator<Item = Block> + '_ {
        std::iter::successors(state.live_out.expand(), |id| {
            self.live_out_uses[id.index()].previous.expand()
        })
        .map(|id| self.live_out_uses[id.index()].block)
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.registers.capacity() * size_of::<RegisterState>()
            + (self.definition_order.capacity() + self.undefined.capacity()) * size_of::<Register>()
            + self.upward_uses.capacity() * size_of::<UpwardUse>()
            + self.live_out_uses.capacity() * size_of::<LiveOutUse>()
            + self.webs.capacity() * size_of::<ScannedWeb>()
            + self.web_of.capacity() * size_of::<PackedOption<WebId>>()
            + self.earlier.capacity() * size_of::<EarlierDefinition>()
            + self.blocks.capacity() * size_of::<Block>()
            + self.deferred.capacity() * size_of::<(Register, Block)>()
    }
}
