//! Operands that several values start from. Such an operand stays in its register, and the values
//! are recomputed from there: recomputing it, too, would repeat all of its operations for each of
//! them, for the one register that it takes.
//!
//! An example are the 31 elements of a thread's tile, `base | 32`, `base | 64` and so on, which LLVM
//! computes before the loop that compares each with a bound. ptxas moves the copies of `base` to one
//! place again, and spills what it has no registers for.

use super::availability::{distinct_sources, is_cheap};
use crate::instruction_order::Weights;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{EntityRef, Register};
use oriel_ori::{Function, Instruction};

/// A value that might be recomputed elsewhere.
#[derive(Clone, Copy)]
pub(super) struct Candidate {
    pub register: Register,
    pub definition: Instruction,
}

/// An operand stays if recomputing it for all values but one would take this many operations. With
/// fewer, registers that stay made ptxas need more registers, and did not lower spills.
const FEWEST_REPEATED: u32 = 8;

/// Returns the operands that stay, because several of the values start from them. The values come
/// after their users, so that one which stays in its register itself does not count for its own
/// operands.
pub(super) fn shared_operands(
    function: &Function,
    units: &Weights,
    values: &[Candidate],
) -> EntityBitSet<Register> {
    let mut shared = EntityBitSet::with_room(function.register_limit());
    if values.is_empty() {
        return shared;
    }
    let operations = count_operations(function, units);
    // How many operations recomputing an operand for all values met so far would take.
    let mut repeated = vec![0_u32; function.register_limit()];
    for value in values {
        if shared.contains(value.register) || !is_used_elsewhere(function, value) {
            continue;
        }
        for source in distinct_sources(function, value.definition) {
            let of_one = operations[source.index()];
            let of_all = &mut repeated[source.index()];
            if of_one > 0 && *of_all >= FEWEST_REPEATED {
                shared.insert(source);
            }
            *of_all = of_all.saturating_add(of_one);
        }
    }
    shared
}

/// Returns how many operations recompute each register from values that cannot be recomputed, as far
/// as counting matters; 0 for these values, and for what takes no register.
fn count_operations(function: &Function, units: &Weights) -> Vec<u32> {
    let mut operations = vec![0_u32; function.register_limit()];
    for register in function.registers() {
        let definition = function.unique_definition(register);
        let definition = definition.filter(|&it| units.get(register) > 0 && is_cheap(function, it));
        if let Some(definition) = definition {
            let sources = distinct_sources(function, definition).into_iter();
            let of_sources: u32 = sources.map(|source| operations[source.index()]).sum();
            operations[register.index()] = (of_sources + 1).min(FEWEST_REPEATED);
        }
    }
    operations
}

/// True if a value has a use outside the block that computes it.
fn is_used_elsewhere(function: &Function, value: &Candidate) -> bool {
    let home = function.block_of(value.definition);
    let mut users = function.uses(value.register).map(|(user, _)| user);
    users.any(|user| !function.operation(user).is_debug() && function.block_of(user) != home)
}
