//! Classes of instructions, as bits of a word: a filter before the search for equal ones.
//!
//! | bits | meaning |
//! |---|---|
//! | 0 | an expression |
//! | 1 to 19 | one of them, by operation and type |
//! | 20, 21 | the memory that is read: global, shared, local, other |
//! | 25 | its result is uniform |
//! | 27 | it reads memory |
//! | 28 | that memory may be written |
//! | 32 to 63 | one of them, by all that makes it equal to others |
//!
//! The numbers up to 28 are the reference's. Equal instructions have equal bits, so if a bit has
//! not been met on the path from the entry, there is nothing to find.

use crate::shared::expressions::depends_on_writes;
use oriel_engine::entity::{Block, SecondaryMap};
use oriel_ori::{AddressSpace, Function, Instruction, Operation, RegisterFile};

const EXPRESSION: u64 = 1;
const FIRST_OPERATION_BIT: u32 = 1;
const OPERATION_BITS: u32 = 19;
const SPACE_SHIFT: u32 = 20;
const UNIFORM: u64 = 1 << 25;
const MEMORY: u64 = 1 << 27;
const WRITABLE: u64 = 1 << 28;
const FIRST_HASH_BIT: u32 = 32;
const HASH_BITS: u32 = 5;

/// Returns the class of an expression with this hash.
pub(super) fn class_of(function: &Function, instruction: Instruction, hash: u32) -> u64 {
    let operation = function.operation(instruction);
    let by_operation = (operation as u32 * 7 + function.data_type(instruction) as u32) % OPERATION_BITS
        + FIRST_OPERATION_BIT;
    let mut class =
        EXPRESSION | 1 << by_operation | 1 << (FIRST_HASH_BIT + (hash >> (u32::BITS - HASH_BITS)));
    let is_uniform = |register| function.register(register).file == RegisterFile::Ur;
    if function.result_registers(instruction).any(is_uniform) {
        class |= UNIFORM;
    }
    if operation == Operation::Ld {
        let space = match function.modifiers(instruction).space {
            AddressSpace::Global => 0,
            AddressSpace::Shared | AddressSpace::SharedCluster => 1,
            AddressSpace::Local => 2,
            _ => 3,
        };
        class |= MEMORY | space << SPACE_SHIFT;
        if depends_on_writes(function, instruction) {
            class |= WRITABLE;
        }
    }
    class
}

/// The classes met on the path from the entry to the position of a dominator-tree walk.
#[derive(Debug, Default)]
pub(super) struct ClassTable {
    /// By block: the classes met up to its end.
    at_end: SecondaryMap<Block, u64>,
    accumulator: u64,
}

impl ClassTable {
    /// Enters a block below its immediate dominator.
    pub fn enter(&mut self, dominator: Option<Block>) {
        self.accumulator = dominator.map_or(0, |dominator| self.at_end[dominator]);
    }

    /// Leaves a block.
    pub fn leave(&mut self, block: Block) {
        self.at_end[block] = self.accumulator;
    }

    /// Records an instruction of a class. Returns whether one of that class may have been met
    /// before.
    pub fn meet(&mut self, class: u64) -> bool {
        let may_be_known = class & !self.accumulator == 0;
        self.accumulator |= class;
        may_be_known
    }
}
