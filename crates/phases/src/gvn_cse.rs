//! GvnCse (phase 49): global value numbering. Removes instructions whose value is available and
//! replaces their uses by it.
//!
//! ```text
//! bix0: %2 = IADD %0, %1            bix0: %2 = IADD %0, %1
//!       BRA %p, bix1, fall bix2           BRA %p, bix1, fall bix2
//! bix1: %3 = IADD %1, %0        ─▶  bix1: %4 = SHL %2, 2
//!       %4 = SHL %3, 2                    ST %4, ...
//!       ST %4, ...
//! ```
//!
//! Values are numbered by how they are computed: operation, types, modifiers and the numbers of the
//! operands, sorted for a commutative operation, hashed by FNV-1a into the value table. An
//! expression is removed if an instruction that dominates it has its value. The steps and their
//! files:
//!
//! | file | step |
//! |---|---|
//! | `mode.rs` | the scope by knob 402, remapped where the back end has no extended scope |
//! | `scope.rs` | visibility of values; the pre-pass over extended basic blocks |
//! | `numbering.rs`, with `shared/value_table.rs` | numbers values and finds redundant ones |
//! | `scope_tree.rs` | visits the blocks with redundant values |
//!
//! Requires: SSA form. Preserves: control flow. No instruction is added or moved. An expression
//! stays if extending the available value would exceed the register budget.
//!
//! Modes 1 and 2 stay in the block, or follow immediate dominators that the pre-pass marked; 3 to 6
//! consider all dominators. A barrier ends the scope of mode 1; in the others it creates new memory
//! versions, and arithmetic is the same on both of its sides. A load equals another of the same
//! memory at the same version, or of memory that is never written, such as kernels' parameters.
//!
//! Departures from the reference (`sub_BEE370` and its callees):
//!
//! - Its key is a number that two instructions share if they define one value record; here it is
//!   the expression.
//! - Its eligibility predicate names copies, texture reads, special functions, shuffles, atomics,
//!   reductions, votes and matches. Copies and PHIs, loads and special functions are eligible here
//!   under the conditions that make them pure; the others never are, since it matters which threads
//!   execute them, or they write. Arithmetic, which the same text has in its value table, is always
//!   eligible except in mode 2, where only the expressions that the pre-pass finds under eligible
//!   roots are.
//! - Its pre-pass may be disabled on new GPUs by a knob whose meaning is not given. Here it always
//!   precedes mode 2, and marks the blocks whose values are visible.
//! - It turns a redundant instruction into a copy, for copy propagation to remove; here its uses
//!   get the value at once. Commutative operands are sorted in keys but not in the code.
//! - Instructions have no guards; a predicate is an operand and part of the key like others.
//! - Its cache of one dominance query is a global variable; here it is part of the numberer.
//! - Constants are numbered, so that expressions of them are recognised, but not removed: holding
//!   one in a register costs more than recomputing it.

mod mode;
mod numbering;
mod scope;
mod scope_tree;

use super::knobs::{Budget, Knob};
use super::shared::replacement::Replacement;
use super::{PhaseContext, PhaseResult};
pub(super) use mode::Mode;
use numbering::{Numbering, Redundant};
use oriel_ori::Function;

/// Whether special functions are handled. In the reference a flag of the back end decides, with
/// unknown values; they are as pure as other arithmetic.
const HAS_EXTENDED_SCOPE: bool = true;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    let mode = Mode::dispatch(knobs.integer(Knob::EnableGvnCseMode), HAS_EXTENDED_SCOPE);
    let Some(mode) = mode.filter(|_| knobs.is_on(Knob::EnableGvnCse)) else {
        return PhaseResult::Unchanged;
    };
    let gate = knobs.budget(Knob::EnableGvnCsePerInstr);
    PhaseResult::of(common(function, context, mode, gate) > 0)
}

/// Removes instructions whose value is available, and counts them. Returns how many.
pub(super) fn common(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    mode: Mode,
    gate: Budget,
) -> usize {
    let flow = context.control_flow(function);
    let mut numbering = Numbering::run(function, &flow, mode, gate);
    let mut replacement = Replacement::new(false);
    while let Some(redundant) = numbering.next_block() {
        for &Redundant { instruction, leader } in redundant {
            replacement.replace(function, context, instruction, leader);
        }
    }
    context.count("numbered-expressions", numbering.numbered);
    replacement.count(context);
    replacement.replaced()
}

#[cfg(test)]
mod tests;
