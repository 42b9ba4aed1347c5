//! One pass over the instructions that collects what the engine needs to know of each register.
//!
//! A register with one definition whose uses all follow it in the same block is finished by the scan:
//! its range is `[definition, last use)`. Most registers of a kernel are such. For the others
//! the scan notes, per register and block, the last use that the block's own definition does not
//! reach, and the predecessors that a PHI reads the register from. Registers with several
//! definitions are left to [`resolve`](super::resolve).

use super::live_interval::make_room;
use super::slot_index::{Slot, SlotIndex};
use super::slot_indexes::SlotIndexes;
use crate::entity::{Block, EntityRef, PackedOption, Register, entity_impl};
use crate::snapshot::abi::{
    InstructionRecord, OpcodeFlags, OperandFlags, OperandKind, OperandRecord, RegisterFlags,
};
use crate::snapshot::{Snapshot, SnapshotArrays};

/// A block that reads a register before it defines it.
#[derive(Clone, Copy, Debug)]
pub(super) struct UpwardUse {
    pub block: Block,
    /// The last such read.
    pub last: SlotIndex,
    /// The register's previous block of this kind; earlier in layout order.
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

/// What the scan found out about one register.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RegisterState {
    /// Its definition, if there is exactly one.
    pub definition: PackedOption<SlotIndex>,
    /// End of the piece that begins at the definition. Without a definition: present if the register
    /// is mentioned at all.
    pub end: PackedOption<SlotIndex>,
    /// Blocks that read it on entry, last in layout order first.
    pub upward: PackedOption<UpwardUseId>,
    /// Blocks at whose end PHIs read it.
    pub live_out: PackedOption<LiveOutUseId>,
}

const _: () = assert!(size_of::<RegisterState>() == 16);

impl RegisterState {
    /// Can the register be live across a block boundary other than the end of its definition's block?
    pub(super) fn crosses_blocks(&self) -> bool {
        self.upward.is_some() || self.live_out.is_some()
    }

    /// Does an instruction mention the register?
    pub(super) fn is_mentioned(&self) -> bool {
        self.definition.is_some() || self.end.is_some() || self.crosses_blocks()
    }
}

/// The pass and what it collected. Memory is kept from function to function.
#[derive(Debug, Default)]
pub(super) struct Scan {
    pub registers: Vec<RegisterState>,
    pub upward_uses: Vec<UpwardUse>,
    pub live_out_uses: Vec<LiveOutUse>,
    /// Registers with one definition that cross block boundaries, in the order of discovery.
    pub crossing: Vec<Register>,
    /// Reads by PHIs, by predecessor; settled when all definitions are known.
    deferred: Vec<(Register, Block)>,
    is_phi: Vec<bool>,
}

const DEF: u16 = OperandFlags::DEF.bits();
/// Operands that mention a register without reading it.
const NOT_READ: u16 = OperandFlags::UNDEF.bits() | OperandFlags::INTERNAL_READ.bits();
const DEBUG: u16 = OperandFlags::DEBUG.bits();
const EARLY_CLOBBER: u16 = OperandFlags::EARLY_CLOBBER.bits();
const REGISTER: u8 = OperandKind::Register as u8;
const CHAINED: u16 = RegisterFlags::CHAINED.bits();

/// The slot at which an instruction reads `operand`: early if it is tied to an early-clobber
/// definition.
pub(super) fn use_slot(base: u32, operand: &OperandRecord, operands: &[OperandRecord]) -> SlotIndex {
    let early = operand.tied_to != 0
        && operands
            .get(usize::from(operand.tied_to) - 1)
            .is_some_and(|tied| tied.flags & DEF != 0 && tied.flags & EARLY_CLOBBER != 0);
    SlotIndex::new(base, if early { Slot::EarlyClobber } else { Slot::Register })
}

/// The slot at which an instruction defines `operand`.
pub(super) fn definition_slot(base: u32, operand: &OperandRecord) -> SlotIndex {
    let early = operand.flags & EARLY_CLOBBER != 0;
    SlotIndex::new(base, if early { Slot::EarlyClobber } else { Slot::Register })
}

/// Does the operand read its register?
pub(super) fn reads(operand: &OperandRecord) -> bool {
    operand.flags & (DEF | NOT_READ | DEBUG) == 0
}

/// Does the operand define its register?
pub(super) fn defines(operand: &OperandRecord) -> bool {
    operand.flags & DEF != 0
}

impl Scan {
    /// Scans `snapshot`, which `indexes` numbers.
    pub(super) fn run(&mut self, snapshot: &Snapshot<'_>, indexes: &SlotIndexes) {
        let arrays = snapshot.arrays();
        self.registers.clear();
        self.registers
            .resize(arrays.registers.len(), RegisterState::default());
        self.upward_uses.clear();
        self.live_out_uses.clear();
        self.crossing.clear();
        self.deferred.clear();
        self.is_phi.clear();
        let phi = OpcodeFlags::PHI.bits();
        self.is_phi
            .extend(arrays.opcodes.iter().map(|opcode| opcode.flags & phi != 0));

        for block in snapshot.blocks() {
            self.scan_block(arrays, indexes, block, snapshot.instruction_range(block));
        }
        self.settle_phi_reads(arrays, indexes);
    }

    fn scan_block(
        &mut self,
        arrays: &SnapshotArrays<'_>,
        indexes: &SlotIndexes,
        block: Block,
        instructions: std::ops::Range<usize>,
    ) {
        let start = indexes.block_starts[block.index()];
        let first_use = UpwardUseId::new(self.upward_uses.len());
        let numbers = &indexes.instruction_numbers[instructions.clone()];
        let records = &arrays.instructions[instructions.start..instructions.end + 1];
        let mut phis = true;
        for (position, &number) in numbers.iter().enumerate() {
            let record = &records[position];
            let operands =
                &arrays.operands[record.first_operand as usize..records[position + 1].first_operand as usize];
            if !number.is_multiple_of(4) {
                continue;
            }
            phis = phis && self.is_phi[record.opcode as usize];
            for (place, operand) in operands.iter().enumerate() {
                if operand.kind != REGISTER || operand.flags & DEBUG != 0 {
                    continue;
                }
                let register = Register::from_u32(operand.index);
                if operand.flags & DEF != 0 {
                    if arrays.registers[register.index()].flags & CHAINED == 0 {
                        let definition = definition_slot(number, operand);
                        let state = &mut self.registers[register.index()];
                        state.definition = definition.into();
                        state.end = definition.dead_slot().into();
                        if definition.is_early_clobber() {
                            let earlier = (&records[..=position], numbers);
                            self.take_back_late_reads(
                                arrays, register, definition, operands, place, earlier, first_use,
                            );
                        }
                    }
                } else if operand.flags & NOT_READ != 0 {
                    let state = &mut self.registers[register.index()];
                    if state.end.is_none() {
                        state.end = start.into();
                    }
                } else if phis {
                    let predecessor = Block::from_u32(operands[place + 1].index);
                    self.deferred.push((register, predecessor));
                } else {
                    let slot = use_slot(number, operand, operands);
                    self.read(arrays, register, slot, block, start, first_use);
                }
            }
        }
    }

    /// An early-clobber definition reaches reads by the same instruction, also those whose operands come
    /// first; these were taken for reads of what enters the block.
    #[cold]
    #[allow(clippy::too_many_arguments, reason = "the place in the scan, for a rare case")]
    fn take_back_late_reads(
        &mut self,
        arrays: &SnapshotArrays<'_>,
        register: Register,
        definition: SlotIndex,
        operands: &[OperandRecord],
        place: usize,
        earlier: (&[InstructionRecord], &[u32]),
        first_use: UpwardUseId,
    ) {
        let is_read = |operand: &&OperandRecord| {
            operand.kind == REGISTER && operand.index == register.as_u32() && reads(operand)
        };
        let number = definition.base();
        let is_late = |operand: &OperandRecord| use_slot(number, operand, operands) > definition;
        if !operands[..place].iter().filter(is_read).any(is_late) {
            return;
        }
        // What is left: reads at the definition's slot, and those of earlier instructions.
        let here = operands[..place]
            .iter()
            .filter(is_read)
            .filter(|operand| !is_late(operand));
        let mut last: Option<SlotIndex> = here.map(|_| definition).next();
        let (records, numbers) = earlier;
        for (pair, &number) in records.windows(2).zip(numbers) {
            let operands = &arrays.operands[pair[0].first_operand as usize..pair[1].first_operand as usize];
            if number.is_multiple_of(4) && !self.is_phi[pair[0].opcode as usize] {
                for operand in operands.iter().filter(is_read) {
                    last = last.max(Some(use_slot(number, operand, operands)));
                }
            }
        }
        let state = &mut self.registers[register.index()];
        let Some(id) = state.upward.expand().filter(|&id| id >= first_use) else {
            return;
        };
        match last {
            Some(last) => self.upward_uses[id.index()].last = last,
            None => {
                state.upward = self.upward_uses[id.index()].previous;
                if !state.crosses_blocks() {
                    self.crossing.retain(|&other| other != register);
                }
            }
        }
    }

    /// Notes a read of `register` at `slot`. A definition in the same block reaches it if it comes
    /// earlier, be it by a slot of the same instruction.
    #[inline(always)]
    fn read(
        &mut self,
        arrays: &SnapshotArrays<'_>,
        register: Register,
        slot: SlotIndex,
        block: Block,
        start: SlotIndex,
        first_use: UpwardUseId,
    ) {
        let state = &mut self.registers[register.index()];
        let definition = state.definition.expand();
        if definition.is_some_and(|definition| start < definition && definition < slot) {
            state.end = state.end.expand().max(Some(slot)).into();
            return;
        }
        if let Some(id) = state.upward.expand()
            && id >= first_use
        {
            let last = &mut self.upward_uses[id.index()].last;
            *last = slot.max(*last);
            return;
        }
        if arrays.registers[register.index()].flags & CHAINED != 0 {
            return;
        }
        if !state.crosses_blocks() {
            self.crossing.push(register);
        }
        let id = UpwardUseId::new(self.upward_uses.len());
        make_room(&mut self.upward_uses, 1);
        self.upward_uses.push(UpwardUse {
            block,
            last: slot,
            previous: state.upward,
        });
        state.upward = id.into();
    }

    /// A PHI reads its operand at the end of the predecessor: in the defining block this lengthens the
    /// piece that begins there, elsewhere the register crosses blocks.
    fn settle_phi_reads(&mut self, arrays: &SnapshotArrays<'_>, indexes: &SlotIndexes) {
        for &(register, predecessor) in &self.deferred {
            let state = &mut self.registers[register.index()];
            let (start, end) = indexes.block_range(predecessor);
            let definition = state.definition.expand();
            if definition.is_some_and(|definition| start < definition && definition < end) {
                state.end = end.into();
                continue;
            }
            if arrays.registers[register.index()].flags & CHAINED != 0 {
                continue;
            }
            if !state.crosses_blocks() {
                self.crossing.push(register);
            }
            let id = LiveOutUseId::new(self.live_out_uses.len());
            self.live_out_uses.push(LiveOutUse {
                block: predecessor,
                previous: state.live_out,
            });
            state.live_out = id.into();
        }
    }

    /// The blocks that read a register on entry, last in layout order first.
    pub(super) fn upward_uses_of(&self, state: RegisterState) -> impl Iterator<Item = UpwardUse> + '_ {
        std::iter::successors(state.upward.expand(), |id| {
            self.upward_uses[id.index()].previous.expand()
        })
        .map(|id| self.upward_uses[id.index()])
    }

    /// The blocks that PHIs read a register from and that do not define it.
    pub(super) fn live_out_uses_of(&self, state: RegisterState) -> impl Iterator<Item = Block> + '_ {
        std::iter::successors(state.live_out.expand(), |id| {
            self.live_out_uses[id.index()].previous.expand()
        })
        .map(|id| self.live_out_uses[id.index()].block)
    }

    /// Bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.registers.capacity() * size_of::<RegisterState>()
            + self.upward_uses.capacity() * size_of::<UpwardUse>()
            + self.live_out_uses.capacity() * size_of::<LiveOutUse>()
            + self.crossing.capacity() * size_of::<Register>()
            + self.deferred.capacity() * size_of::<(Register, Block)>()
    }
}
