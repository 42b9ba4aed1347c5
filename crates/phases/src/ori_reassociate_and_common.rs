//! OriReassociateAndCommon (phase 50): reorders sums and products where that creates common
//! subexpressions.
//!
//! ```text
//! %3 = IADD %0, %1          %3 = IADD %0, %1
//! %4 = IADD %3, %2          %4 = IADD %3, %2
//! ...                  ─▶   ...
//! %5 = IADD %0, %2          %6 = ISUB %4, 4
//! %6 = ISUB %5, 4           %7 = ...
//! %7 = IADD %6, %1
//! ```
//!
//! A tree of one associative operation in a block is split into its leaves, which are sorted:
//! registers by number, then subtracted ones, one constant last. The prefixes of such lists go into
//! a table. If a list shares a prefix with a nearby chain that dominates it, it uses the value of
//! the prefix; if the other chain computes its leaves in another order, it is rebuilt from left to
//! right. Sums of products with a common factor become one product. Finally expressions are
//! commoned in each block, within a window.
//!
//! | file | subject |
//! |---|---|
//! | `chain.rs` | trees of one operation and their leaves |
//! | `prefixes.rs` | the table of prefixes; building chains |
//! | `distribute.rs` | `a * b + a * c` |
//!
//! Requires: SSA form. Preserves: control flow. A chain never gets more instructions than before,
//! and stays unchanged if nothing becomes common. Integers wrap around, so any order gives the same
//! bits; saturating and multi-lane sums stay.
//!
//! Departures from the reference:
//!
//! - It rewrites every chain into canonical order and then searches for common parts; here only
//!   chains that gain are rewritten, since LLVM's order is as good as any other.
//! - It turns a subtraction into an addition of the negative where an addition absorbs that; here
//!   leaves have a sign, and the rebuilt chain subtracts, so that no negation is ever created.
//! - Values of other blocks are leaves, as in the reference; prefixes are also shared with chains
//!   of dominators.
//! - Floating point is never changed: of LLVM's flags, Ori keeps the one for contraction but not
//!   the one for reassociation.
//! - It dispatches by the number of functions; here the phase always runs.

mod chain;
mod distribute;
mod prefixes;

use super::gvn_cse::{Mode, common};
use super::knobs::{Budget, Knob};
use super::shared::replacement::Replacement;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use chain::Chain;
pub(super) use chain::fold_constants;
use oriel_ori::{ControlFlow, Function, Instruction};
use prefixes::{Prefix, Prefixes, build};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let knobs = &context.options.knobs;
    if !knobs.is_on(Knob::AllowReassociateCSE) {
        return PhaseResult::Unchanged;
    }
    let window = u32::try_from(knobs.integer(Knob::ReassociateCSEWindow)).unwrap_or(0);
    let mut reassociator = Reassociator {
        prefixes: Prefixes::default(),
        budget: knobs.budget(Knob::ReassociateCSEBudget),
        products: knobs.budget(Knob::DistributeAndReassociateMulBudget),
        skip: u64::try_from(knobs.integer(Knob::ReassociateCSESkip)).unwrap_or(0),
        window,
        allows_large: knobs.is_on(Knob::ReassociateLargeImmInUIADD64),
        position: 0,
        is_changed: false,
        shared: 0,
        distributed: 0,
        replacement: Replacement::new(false),
    };
    let flow = context.control_flow(function);
    for &block in flow.dominators.preorder() {
        let mut next = function.first(block);
        while let Some(instruction) = next {
            // Insertions and removals are before it.
            next = function.next(instruction);
            reassociator.visit(function, context, &flow, instruction);
        }
    }
    if reassociator.is_changed {
        let gate = context.options.knobs.budget(Knob::ReassociateCSEBudget);
        common(function, context, Mode::Window(window), gate);
    }
    reassociator.replacement.count(context);
    context.count("shared-beginnings", reassociator.shared);
    context.count("distributed-products", reassociator.distributed);
    PhaseResult::of(reassociator.is_changed)
}

struct Reassociator {
    prefixes: Prefixes,
    budget: Budget,
    products: Budget,
    skip: u64,
    window: u32,
    allows_large: bool,
    position: u32,
    is_changed: bool,
    shared: u64,
    distributed: u64,
    replacement: Replacement,
}

impl Reassociator {
    fn visit(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        flow: &ControlFlow,
        instruction: Instruction,
    ) {
        self.position += 1;
        if self.position as u64 <= self.skip || !self.budget.spend() {
            return;
        }
        if distribute::distribute(function, instruction, &mut self.products) {
            self.distributed += 1;
            self.note_change(context);
            say(
                function,
                context,
                instruction,
                "became one product instead of a sum of two",
            );
        }
        let Some(mut chain) = Chain::of_root(function, instruction) else {
            return;
        };
        if !chain.fold_constants(function, self.allows_large) {
            return;
        }
        let prefix = self
            .prefixes
            .longest(function, &flow.dominators, &chain, self.position, self.window);
        match prefix {
            Some(prefix) => self.share(function, context, chain, prefix),
            None => self.prefixes.enter(function, chain, None, self.position),
        }
    }

    /// Records a change, so that later queries of liveness see the changed function.
    fn note_change(&mut self, context: &mut PhaseContext<'_>) {
        self.is_changed = true;
        context.keep_only(Analyses::CONTROL_FLOW);
    }

    /// Replaces the start of a chain by the value of another.
    fn share(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        chain: Chain,
        prefix: Prefix,
    ) {
        let (begin, is_built) = self.prefixes.register(function, prefix);
        if is_built {
            self.note_change(context);
        }
        let is_all = prefix.length == chain.leaves.len();
        let result = chain.result(function);
        let taken = std::iter::once((begin, is_all.then_some(result)));
        if !self.replacement.has_room(function, context, chain.root, taken) {
            return self.prefixes.enter(function, chain, None, self.position);
        }
        say(function, context, chain.root, "begins with an available value");
        self.shared += 1;
        self.note_change(context);
        if is_all {
            function.replace_uses(result, function.register_operand(begin));
            function.remove(chain.root);
            for inner in chain.inner {
                function.remove(inner);
            }
        } else {
            let built = build(function, &chain, Some((begin, prefix.length)));
            self.prefixes.enter(function, chain, Some(built), self.position);
        }
    }
}

/// Emits a remark about the instruction that ends a chain.
fn say(function: &Function, context: &mut PhaseContext<'_>, instruction: Instruction, what: &str) {
    let (kind, name) = (RemarkKind::Passed, "Reassociated");
    context.remark(kind, name, function, Some(instruction), || {
        format!("{} {what}", function.operation(instruction).name())
    });
}

#[cfg(test)]
mod tests;
