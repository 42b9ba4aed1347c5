//! Operands that several values start from. Such an operand stays in its register, and the values
//! are recomputed from it. Recomputing the operand, too, would save one register but repeat all of
//! its operations for each value.
//!
//! An example is the 31 elements of a thread's tile, `base | 32`, `base | 64` and so on, which LLVM
//! computes before the loop that compares each with a bound. ptxas merges the copies of `base` again
//! and spills values for which it has no registers.

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
/// a lower threshold, the operands that stay raised ptxas' registers without lowering spills.
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
    let mut operations = OperationCounts::new(function, units);
    // How many operations recomputing an operand for all values met so far would take.
    let mut repeated = vec![0_u32; function.register_limit()];
    for value in values {
        if shared.contains(value.register) || !is_used_elsewhere(function, value) {
            continue;
        }
        for source in distinct_sources(function, value.definition) {
            let of_one = operations.of(source);
            let of_all = &mut repeated[source.index()];
            if of_one > 0 && *of_all >= FEWEST_REPEATED {
                shared.insert(source);
            }
            *of_all = of_all.saturating_add(of_one);
        }
    }
    shared
}

/// The number of operations that recompute a register from values that cannot be recomputed, up to
/// the threshold. Only a few registers are queried.
struct OperationCounts<'a> {
    function: &'a Function,
    units: &'a Weights,
    known: Vec<Option<u32>>,
    /// The registers whose count waits for the count of the one above.
    pending: Vec<Register>,
}

impl<'a> OperationCounts<'a> {
    fn new(function: &'a Function, units: &'a Weights) -> Self {
        Self {
            function,
            units,
            known: vec![None; function.register_limit()],
            pending: Vec::new(),
        }
    }

    /// Returns the number for a register; 0 for values that cannot be recomputed, and for what takes
    /// no register.
    fn of(&mut self, register: Register) -> u32 {
        self.pending.push(register);
        while let Some(&next) = self.pending.last() {
            let waiting = self.pending.len();
            let count = self.known[next.index()].unwrap_or_else(|| self.count(next));
            if self.pending.len() == waiting {
                self.known[next.index()] = Some(count);
                self.pending.pop();
            }
        }
        self.known[register.index()].expect("it was just counted")
    }

    /// Counts for a register, if nothing is pending for it then.
    fn count(&mut self, register: Register) -> u32 {
        let function = self.function;
        let definition = function.unique_definition(register);
        let definition = definition.filter(|&it| self.units.get(register) > 0 && is_cheap(function, it));
        let Some(definition) = definition else {
            return 0;
        };
        let mut count = 1;
        // Registers that phases made can have higher numbers than their users. That such a one counts
        // for nothing keeps unreachable code, where definitions may form a circle, from being one here.
        let mut sources = distinct_sources(function, definition);
        sources.retain(|source| *source < register);
        for source in sources {
            match self.known[source.index()] {
                Some(of_source) => count += of_source,
                None => self.pending.push(source),
            }
        }
        count.min(FEWEST_REPEATED)
    }
}

/// True if a value has a use outside the block that computes it.
fn is_used_elsewhere(function: &Function, value: &Candidate) -> bool {
    let home = function.block_of(value.definition);
    let mut users = function.uses(value.register).map(|(user, _)| user);
    users.any(|user| !function.operation(user).is_debug() && function.block_of(user) != home)
}
