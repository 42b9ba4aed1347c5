//! OriReassociateAndCommon, phase 50: sums and products in another order, where that makes a part
//! of them common.
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
//! A tree of one associative operation in a block is taken apart into its leaves, which are sorted:
//! registers by number, then what is subtracted, one constant last. The beginnings of such lists go
//! into a table. Where a list begins like that of a chain which dominates it and is near, it takes
//! the value of the beginning; if the other chain computes its leaves in another order it is built
//! anew, from left to right. Sums of products with a common factor become one product. At last each
//! block is gone through for what has become common, in a window.
//!
//! | file | subject |
//! |---|---|
//! | `chain.rs` | trees of one operation and their leaves |
//! | `prefixes.rs` | the table of beginnings; building chains |
//! | `distribute.rs` | `a * b + a * c` |
//!
//! What it needs: SSA form. What it leaves true: control flow. A chain never gets more instructions
//! than it had, and is left as it is where nothing becomes common. Integers wrap around, so any
//! order gives the same bits; sums that saturate or have lanes stay.
//!
//! Departures from the reference:
//!
//! - It rewrites every chain into canonical order and then looks for what is common; here only
//!   chains that gain by it are, since the order that LLVM chose is as good as any other.
//! - It turns a subtraction into an addition of the negative where an addition absorbs that; here
//!   leaves have a sign, and the chain subtracts where it is built, so that no negation is ever
//!   made.
//! - Values of other blocks are leaves, as there; beginnings are shared with chains of dominators,
//!   too.
//! - Floating point is never touched: of LLVM's flags Ori keeps that for contraction, and not the
//!   one for reassociation.
//! - Where it dispatches by the number of functions, here it always runs.

mod chain;
mod distribute;
mod prefixes;

use super::gvn_cse::{Mode, common};
use super::knobs::{Budget, Knob};
use super::replacement::Replacement;
use super::{Analyses, PhaseContext, PhaseResult, RemarkKind};
use chain::Chain;
pub(super) use chain::fold_constants;
use oriel_ori::{ControlFlow, Function, Instruction};
use prefixes::{Prefix, Prefixes, build};

/// Returns the phase.
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
        place: 0,
        is_changed: false,
        shared: 0,
        distributed: 0,
        replacement: Replacement::new(false),
    };
    let flow = context.control_flow(function);
    for &block in flow.dominators.preorder() {
        let mut next = function.first(block);
        while let Some(instruction) = next {
            // What is inserted and removed lies before it.
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
    place: u32,
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
        self.place += 1;
        if self.place as u64 <= self.skip || !self.budget.spend() {
            return;
        }
        if distribute::distribute(function, instruction, &mut self.products) {
            self.distributed += 1;
            self.note_change(context);
            say(
                function,
                context,
                instruction,
                "is one product now, not a sum of two",
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
            .longest(function, &flow.dominators, &chain, self.place, self.window);
        match prefix {
            Some(prefix) => self.share(function, context, chain, prefix),
            None => self.prefixes.enter(function, chain, None, self.place),
        }
    }

    /// Who asks for liveness from here on gets it of the changed function.
    fn note_change(&mut self, context: &mut PhaseContext<'_>) {
        self.is_changed = true;
        context.keep_only(Analyses::CONTROL_FLOW);
    }

    /// Makes a chain begin with the value of another.
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
            return self.prefixes.enter(function, chain, None, self.place);
        }
        say(
            function,
            context,
            chain.root,
            "begins with a value that is at hand",
        );
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
            self.prefixes.enter(function, chain, Some(built), self.place);
        }
    }
}

/// Says what became of the instruction that a chain ends in.
fn say(function: &Function, context: &mut PhaseContext<'_>, instruction: Instruction, what: &str) {
    let (kind, name) = (RemarkKind::Passed, "Reassociated");
    context.remark(kind, name, function, Some(instruction), || {
        format!("{} {what}", function.operation(instruction).name())
    });
}

#[cfg(test)]
mod tests;
