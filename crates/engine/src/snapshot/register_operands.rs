//! The accesses of instructions to virtual registers as a list: all that liveness depends on.
//!
//! The shim writes the list while it walks LLVM's operands. For other snapshots it is derived here
//! from the operands; the result is the same.

use super::abi::{
    ACCESS_BITS, ACCESS_MASK, Access, InstructionRecord, OpcodeFlags, OperandFlags, OperandKind,
    OperandRecord, RegisterOperandRecord,
};
use super::view::SnapshotArrays;
use crate::entity::{Block, EntityRef, Instruction, Register};

impl RegisterOperandRecord {
    /// Creates the record of an access to `register`, or of the predecessor block of a PHI's
    /// operand.
    pub fn new(index: u32, instruction: Instruction, access: Access) -> Self {
        Self {
            index,
            place: instruction.as_u32() << ACCESS_BITS | access as u32,
        }
    }

    /// Returns the register.
    #[inline]
    pub fn register(&self) -> Register {
        Register::from_u32(self.index)
    }

    /// Returns the block of a record that follows a read by a PHI.
    #[inline]
    pub fn block(&self) -> Block {
        Block::from_u32(self.index)
    }

    /// Returns the instruction.
    #[inline]
    pub fn instruction(&self) -> Instruction {
        Instruction::from_u32(self.place >> ACCESS_BITS)
    }

    /// True if the access is of this kind. Cheaper than [`access`](Self::access), which chooses
    /// between all.
    #[inline]
    pub fn is(&self, access: Access) -> bool {
        self.place & ACCESS_MASK == access as u32
    }

    /// Returns the kind of access.
    #[inline]
    pub fn access(&self) -> Access {
        match Access::from_abi(self.place & ACCESS_MASK) {
            Some(access) => access,
            None => Access::Mention,
        }
    }
}

impl Access {
    /// True if the instruction defines the register.
    #[inline]
    pub fn is_definition(self) -> bool {
        matches!(self, Self::Define | Self::DefineEarly)
    }
}

impl SnapshotArrays<'_> {
    /// Replaces the content of `list` by the function's register operands.
    pub(crate) fn collect_register_operands(&self, list: &mut Vec<RegisterOperandRecord>) {
        list.clear();
        for (index, pair) in self.instructions.windows(2).enumerate() {
            let flags = OpcodeFlags::from_bits_truncate(self.opcodes[pair[0].opcode as usize].flags);
            if flags.contains(OpcodeFlags::DEBUG) {
                continue;
            }
            let instruction = Instruction::new(index);
            let operands = self.operands_between(&pair[0], &pair[1]);
            for (number, operand) in operands.iter().enumerate() {
                let Some(access) = access(operand, operands) else {
                    continue;
                };
                let is_phi = flags.contains(OpcodeFlags::PHI);
                let from = operands
                    .get(number + 1)
                    .filter(|_| is_phi && !access.is_definition());
                let access = match access {
                    Access::Read if from.is_some() => Access::ReadByPhi,
                    access => access,
                };
                list.push(RegisterOperandRecord::new(operand.index, instruction, access));
                list.extend(
                    from.map(|from| RegisterOperandRecord::new(from.index, instruction, Access::FromBlock)),
                );
            }
        }
    }

    /// Returns the operands of the instruction of `record`; `next` is the record after it.
    fn operands_between(&self, record: &InstructionRecord, next: &InstructionRecord) -> &[OperandRecord] {
        &self.operands[record.first_operand as usize..next.first_operand as usize]
    }
}

/// Returns the access of an instruction with these operands through `operand`, or none if that is
/// no virtual register or belongs to a debug instruction. Reads by PHIs are not distinguished.
fn access(operand: &OperandRecord, operands: &[OperandRecord]) -> Option<Access> {
    let flags = OperandFlags::from_bits_truncate(operand.flags);
    let is_early = |operand: &OperandRecord| {
        let early = OperandFlags::DEF | OperandFlags::EARLY_CLOBBER;
        OperandFlags::from_bits_truncate(operand.flags).contains(early)
    };
    if operand.kind != OperandKind::Register as u8 || flags.contains(OperandFlags::DEBUG) {
        return None;
    }
    if flags.contains(OperandFlags::DEF) {
        return Some(if is_early(operand) {
            Access::DefineEarly
        } else {
            Access::Define
        });
    }
    if flags.intersects(OperandFlags::UNDEF | OperandFlags::INTERNAL_READ) {
        return Some(Access::Mention);
    }
    let tied = usize::from(operand.tied_to).checked_sub(1);
    let tied = tied.and_then(|number| operands.get(number));
    Some(if tied.is_some_and(is_early) {
        Access::ReadEarly
    } else {
        Access::Read
    })
}
