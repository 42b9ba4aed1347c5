//! GvnCse, phase 49: what computes a value that is at hand goes, and its uses take the value.
//!
//! ```text
//! bix0: %2 = IADD %0, %1            bix0: %2 = IADD %0, %1
//!       BRA %p, bix1, fall bix2           BRA %p, bix1, fall bix2
//! bix1: %3 = IADD %1, %0        ─▶  bix1: %4 = SHL %2, 2
//!       %4 = SHL %3, 2                    ST %4, ...
//!       ST %4, ...
//! ```
//!
//! Values get numbers by what computes them: operation, types, modifiers and the numbers of the
//! operands, those of a commutative operation in order, hashed by FNV-1a into the value table. An
//! expression goes if an instruction that dominates it has its value. The steps, and the files:
//!
//! | file | step |
//! |---|---|
//! | `mode.rs` | knob 402 says how far to look, remapped where the back end has no extended scope |
//! | `scope.rs` | which values are visible from where; the pre-pass over extended basic blocks |
//! | `numbering.rs`, `value_table.rs` of the crate | the walk that numbers values and finds what is redundant |
//! | `scope_tree.rs` | the blocks with something redundant, which are then gone through |
//!
//! What it needs: SSA form. What it leaves true: control flow. No instruction is added or moved. An
//! expression stays where its value, kept from before, would have no room in the register budget.
//!
//! Modes 1 and 2 stay in the block, or follow immediate dominators that the pre-pass marked; 3 to 6
//! look in all dominators. A barrier ends the scope of mode 1; in the others it gives memory new
//! versions, and arithmetic is the same on both of its sides. A load is common with another of the
//! same memory at the same version, or of memory that is never written, such as kernels'
//! parameters.
//!
//! Departures from the reference (`sub_BEE370` and what it calls):
//!
//! - The key there is a number that two instructions share if they define one value record; here it
//!   is the expression.
//! - Its eligibility predicate names copies, texture reads, special functions, shuffles, atomics,
//!   reductions, votes and matches. Copies and PHIs, loads and special functions are eligible here
//!   under the conditions that make them pure; the others never, as which threads execute them
//!   matters, or they write. Arithmetic, which the same text has in its value table, is eligible in
//!   its own right but in mode 2, where it is what the pre-pass finds under eligible roots.
//! - The pre-pass there may be switched off on new GPUs by a knob whose meaning is not given; here
//!   it comes before mode 2 always, and what it marks are the blocks through which values can be
//!   had.
//! - A redundant instruction becomes a copy there, for copy propagation to remove; here its uses
//!   get the value at once. Commutative operands are ordered in keys, and stay as they are in the
//!   code.
//! - Instructions have no guards; a predicate is an operand and part of the key like others.
//! - Its cache of one dominance query is a global variable; here it is part of the walk.
//! - Constants are numbered, so that what is computed from them is common, and stay: to hold one in
//!   a register costs more than to make it again.

mod mode;
mod numbering;
mod scope;
mod scope_tree;

use super::knobs::{Budget, Knob};
use super::replacement::Replacement;
use super::{PhaseContext, PhaseResult};
pub(super) use mode::Mode;
use numbering::{Numbering, Redundant};
use oriel_ori::Function;

/// Whether special functions are taken. In the reference a flag of the back end says so, and for
/// which generations it is set is not known; they are as pure as other arithmetic.
const HAS_EXTENDED_SCOPE: bool = true;

/// Returns the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    let mode = Mode::dispatch(knobs.integer(Knob::EnableGvnCseMode), HAS_EXTENDED_SCOPE);
    let Some(mode) = mode.filter(|_| knobs.is_on(Knob::EnableGvnCse)) else {
        return PhaseResult::Unchanged;
    };
    let gate = knobs.budget(Knob::EnableGvnCsePerInstr);
    PhaseResult::of(common(function, context, mode, gate) > 0)
}

/// Removes what computes a value that is at hand, and counts that; how many instructions it were.
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
