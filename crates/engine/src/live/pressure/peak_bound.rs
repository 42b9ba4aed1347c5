//! A bound on the peak of the general file that needs no live intervals.
//!
//! Registers that are live across the border of a block count everywhere, the others where they are live.
//! One walk from the last operand to the first tells both.

use super::general_units;
use crate::entity::{Block, EntityRef, Register, SecondaryMap};
use crate::live::function::Function;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::Access;
use smallvec::SmallVec;

/// Where the walk has met a register.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Met {
    #[default]
    Nowhere,
    /// Only in this block. Here its value is live, or it is not.
    Within(Block, bool),
    /// In another block, too, or it is live at the start of its only one.
    Across,
}

impl Met {
    /// Tells whether the value is live here, unless the register is met outside `block`, too.
    fn is_live_within(self, block: Block) -> Option<bool> {
        match self {
            Self::Nowhere => Some(false),
            Self::Within(home, is_live) => (home == block).then_some(is_live),
            Self::Across => None,
        }
    }
}

/// Returns units of the general file that the peak of a function does not exceed.
pub(super) fn of(snapshot: &Snapshot<'_>) -> u32 {
    let mut list = Vec::new();
    let mut operands = Function::register_operands(snapshot, &mut list);
    let mut met: SecondaryMap<Register, Met> = SecondaryMap::new();
    met.resize(snapshot.register_count());
    let (mut across, mut most_within) = (0, 0);
    let mut read_in_block: SmallVec<[Register; 64]> = SmallVec::new();
    for block in snapshot.blocks().rev() {
        let start = snapshot.instruction_range(block).start;
        let before = operands.partition_point(|operand| operand.instruction().index() < start);
        let of_block = &operands[before..];
        operands = &operands[..before];
        let mut within = 0;
        for of_instruction in of_block
            .chunk_by(|one, other| one.instruction() == other.instruction())
            .rev()
        {
            // All results together with all that is read, though they may share registers.
            let mut at_instruction = within;
            for is_definition in [true, false] {
                for operand in of_instruction {
                    let is_by_phi = match operand.access() {
                        Access::Define | Access::DefineEarly if is_definition => false,
                        Access::Read | Access::ReadEarly if !is_definition => false,
                        Access::ReadByPhi if !is_definition => true,
                        _ => continue,
                    };
                    let register = operand.register();
                    let of_register = &mut met[register];
                    if *of_register == Met::Across {
                        continue;
                    }
                    let is_live = of_register.is_live_within(block).filter(|_| !is_by_phi);
                    if !is_definition && is_live == Some(true) {
                        continue;
                    }
                    let units = general_units(snapshot, register);
                    match is_live {
                        Some(true) => within -= units,
                        Some(false) => at_instruction += units,
                        None => {
                            across += units;
                            *of_register = Met::Across;
                            continue;
                        }
                    }
                    *of_register = Met::Within(block, !is_definition);
                    if !is_definition {
                        read_in_block.push(register);
                        within += units;
                    }
                }
            }
            most_within = most_within.max(at_instruction);
        }
        for register in read_in_block.drain(..) {
            if met[register] == Met::Within(block, true) {
                met[register] = Met::Across;
                across += general_units(snapshot, register);
            }
        }
    }
    across + most_within
}
