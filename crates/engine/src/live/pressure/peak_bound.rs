//! A bound on the peak of the general file that needs no live intervals.
//!
//! Registers that are live across a block boundary count at every point, the others only where they are
//! live. One walk from the last operand to the first finds both.

use super::general_units;
use crate::entity::{Block, EntityRef, Register, SecondaryMap};
use crate::live::function::Function;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Access;
use smallvec::SmallVec;

/// Where the walk, which goes backward, has met a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Met {
    #[default]
    Nowhere,
    /// Only in this block, and its value is live here.
    Live(Block),
    /// Only in this block, and its value is not live here.
    NotLive(Block),
    /// In another block, too, or it is live at the start of its only one.
    Across,
}

/// The walk through a function.
struct Walk<'a> {
    snapshot: &'a Snapshot<'a>,
    met: SecondaryMap<Register, Met>,
    block: Block,
    /// Units of the registers that are live across a boundary.
    across: u32,
    /// Units of the others that are live at this point of the block. Those of a register that turned out to be
    /// live across a boundary may still be among them.
    within: u32,
    /// Units of the others that an instruction reads, or defines, or that are live after it.
    at_instruction: u32,
    /// The registers met as [`Met::Live`] in this block.
    read_in_block: SmallVec<[Register; 64]>,
}

impl Walk<'_> {
    fn units(&self, register: Register) -> u32 {
        general_units(self.snapshot, register)
    }

    fn define(&mut self, register: Register) {
        match self.met[register] {
            Met::Across => return,
            Met::Live(home) if home == self.block => self.within -= self.units(register),
            // Nothing reads the value, but the instruction needs a register for it.
            Met::NotLive(home) if home == self.block => self.at_instruction += self.units(register),
            Met::Nowhere => self.at_instruction += self.units(register),
            Met::Live(_) | Met::NotLive(_) => return self.cross(register),
        }
        self.met[register] = Met::NotLive(self.block);
    }

    fn read(&mut self, register: Register) {
        match self.met[register] {
            Met::Across => return,
            Met::Live(home) if home == self.block => return,
            Met::NotLive(home) if home == self.block => {}
            Met::Nowhere => {}
            Met::Live(_) | Met::NotLive(_) => return self.cross(register),
        }
        self.within += self.units(register);
        self.at_instruction += self.units(register);
        self.met[register] = Met::Live(self.block);
        self.read_in_block.push(register);
    }

    /// Notes that a register is live across a boundary.
    fn cross(&mut self, register: Register) {
        if self.met[register] != Met::Across {
            self.met[register] = Met::Across;
            self.across += self.units(register);
        }
    }

    fn begin_block(&mut self, block: Block) {
        (self.block, self.within) = (block, 0);
    }

    /// Ends a block, at its start: what is live there crosses it.
    fn end_block(&mut self) {
        while let Some(register) = self.read_in_block.pop() {
            if self.met[register] == Met::Live(self.block) {
                self.cross(register);
            }
        }
    }
}

/// Returns units of the general file that the peak of a function does not exceed.
pub(super) fn of(snapshot: &Snapshot<'_>) -> u32 {
    let mut list = Vec::new();
    let mut operands = Function::register_operands(snapshot, &mut list);
    let mut walk = Walk {
        snapshot,
        met: SecondaryMap::new(),
        block: Block::new(0),
        across: 0,
        within: 0,
        at_instruction: 0,
        read_in_block: SmallVec::new(),
    };
    walk.met.resize(snapshot.register_count());
    let mut most_within = 0;
    for block in snapshot.blocks().rev() {
        let start = snapshot.instruction_range(block).start;
        let before = operands.partition_point(|operand| operand.instruction().index() < start);
        let of_block = &operands[before..];
        operands = &operands[..before];
        walk.begin_block(block);
        for of_instruction in of_block
            .chunk_by(|one, other| one.instruction() == other.instruction())
            .rev()
        {
            // All results together with all that is read, though they may share registers.
            walk.at_instruction = walk.within;
            for operand in of_instruction {
                if matches!(operand.access(), Access::Define | Access::DefineEarly) {
                    walk.define(operand.register());
                }
            }
            for operand in of_instruction {
                match operand.access() {
                    Access::Read | Access::ReadEarly => walk.read(operand.register()),
                    Access::ReadByPhi => walk.cross(operand.register()),
                    _ => {}
                }
            }
            most_within = most_within.max(walk.at_instruction);
        }
        walk.end_block();
    }
    walk.across + most_within
}
