//! AdvancedPhaseBackPropVReg, phase 82: backward copy propagation.
//!
//! ```text
//! %1 = IADD %4, %5                %3 = IADD %4, %5
//! %2 = MOV %1                ─▶
//! %3 = MOV %2
//! ```
//!
//! The instruction that computes what a copy copies writes the copy's result instead, and the copy goes. That is right if
//!
//! 1. the copy is the only use of its source,
//! 2. the source has one definition, in the copy's block, whose result can be renamed: the registers are of one kind, and no
//!    inline assembly ties it to an operand,
//! 3. between the two nothing writes or reads the copy's result.
//!
//! One walk over each block from its end to its start does it: a copy that guards 1 and 2 let pass waits for the definition; a
//! mention of its result on the way ends the wait. A definition that was renamed may be a copy itself and waits in turn, so a
//! chain of any length goes in one pass. Sets at the borders of blocks stay as they are, and so do control flow and liveness.
//!
//! The reference leaves the body to the back ends of ptxas ([`backend`](super::backend)), none of which has one, and gives
//! the algorithm; departure: it looks up reaching definitions, which the walk makes unnecessary within a block. Behind
//! LLVM's coalescer no source lives across blocks with a single use that could be renamed, so nothing is lost.

use super::copies::{is_alike, registers_of_copy};
use super::knobs::Knob;
use super::{PhaseContext, PhaseResult, RemarkKind};
use crate::entity::{Block, PackedOption, Register, SecondaryMap};
use crate::ori::{Function, Instruction, Operation};

/// The phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut budget = context.options.knobs.budget(Knob::BackCopyPropBudget);
    let mut walk = Walk {
        copies: SecondaryMap::with_capacity(function.register_limit()),
        sources: SecondaryMap::with_capacity(function.register_limit()),
    };
    let mut propagated = 0;
    for index in 0..function.blocks().len() {
        let block = function.blocks()[index];
        let mut next = function.last(block);
        while let Some(instruction) = next {
            if function.operation(instruction).is_debug() {
                next = function.previous(instruction);
                continue;
            }
            if let Some(copy) = walk.waiting_for(function, instruction) {
                if !budget.spend() {
                    missed(function, context, copy, "the budget is spent");
                    return context.result_of("propagated", propagated);
                }
                say(function, context, copy, instruction);
                walk.propagate(function, copy, instruction);
                propagated += 1;
            }
            walk.pass(function, context, instruction, block);
            next = function.previous(instruction);
        }
        walk.leave(function, block);
    }
    context.result_of("propagated", propagated)
}

struct Walk {
    /// By source: the copy that waits for its definition.
    copies: SecondaryMap<Register, PackedOption<Instruction>>,
    /// By result: the source of the copy that waits.
    sources: SecondaryMap<Register, PackedOption<Register>>,
}

impl Walk {
    /// The copy that waits for what an instruction defines.
    fn waiting_for(&self, function: &Function, instruction: Instruction) -> Option<Instruction> {
        let mut results = function.results(instruction).iter();
        results.find_map(|result| self.copies[result.as_register()?].expand())
    }

    /// Renames the definition and removes the copy.
    fn propagate(&mut self, function: &mut Function, copy: Instruction, definition: Instruction) {
        let (result, source) = registers_of_copy(function, copy).expect("a copy waits");
        let mut results = function.results(definition).iter();
        let number = results.position(|operand| operand.as_register() == Some(source));
        let number = number.expect("the instruction defines the source");
        self.forget(result);
        function.remove(copy);
        let renamed = function.result(definition, number).with_register(result);
        function.set_result(definition, number, renamed);
    }

    /// Goes past an instruction: what it mentions ends waits, and a copy begins one.
    fn pass(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        block: Block,
    ) {
        let operands = function
            .results(instruction)
            .iter()
            .chain(function.sources(instruction));
        for register in operands.filter_map(|operand| operand.as_register()) {
            self.forget(register);
        }
        let Some((result, source)) = registers_of_copy(function, instruction) else {
            return;
        };
        match problem_with(function, block, result, source) {
            None => {
                self.copies[source] = instruction.into();
                self.sources[result] = source.into();
            }
            Some(problem) => missed(function, context, instruction, problem),
        }
    }

    /// Ends the wait of the copy with a result.
    fn forget(&mut self, result: Register) {
        if let Some(source) = self.sources[result].take() {
            self.copies[source] = PackedOption::default();
        }
    }

    /// No copy waits beyond the start of its block: its definition is in it, so the result has been mentioned in between.
    fn leave(&self, function: &Function, block: Block) {
        let first = function.first(block);
        debug_assert!(first.is_none_or(|first| self.waiting_for(function, first).is_none()));
    }
}

/// Guards 1 and 2: what keeps the definition of a copy's source from writing its result.
fn problem_with(
    function: &Function,
    block: Block,
    result: Register,
    source: Register,
) -> Option<&'static str> {
    let mut uses = function.uses(source);
    if uses.next().is_none() || uses.next().is_some() {
        return Some("the source has other uses");
    }
    let Some(definition) = function.unique_definition(source) else {
        return Some("the source has no single definition");
    };
    if function.block_of(definition) != Some(block) {
        return Some("the source is computed in another block");
    }
    if matches!(
        function.operation(definition),
        Operation::InlineAsm | Operation::Phi
    ) {
        return Some("the result of inline assembly or of a PHI is not renamed");
    }
    (!is_alike(function, result, source)).then_some("the registers are of different kinds")
}

fn missed(function: &Function, context: &mut PhaseContext<'_>, copy: Instruction, problem: &str) {
    context.remark(RemarkKind::Missed, "BackCopy", function, Some(copy), || {
        format!("the copy stays: {problem}")
    });
}

fn say(function: &Function, context: &mut PhaseContext<'_>, copy: Instruction, definition: Instruction) {
    context.remark(RemarkKind::Passed, "BackCopy", function, Some(copy), || {
        let (result, source) = registers_of_copy(function, copy).expect("a copy waits");
        let operation = function.operation(definition).name();
        format!(
            "{operation} writes %{} instead of %{}",
            result.as_u32(),
            source.as_u32()
        )
    });
}
