//! GeneralOptimizeLate (phase 58): folds moves into the arithmetic that they feed, through a window
//! of six.
//!
//! ```text
//! %2 = MOV 5                      %3 = MOV 12
//! %3 = MOV 7                      %5 = IADD %1, 5
//! %4 = IADD %2, %3          ─▶    ...
//! %5 = IADD %1, %2
//! ```
//!
//! A single walk over each block. Moves enter a circular buffer of six slots; the moves of an
//! operation's two operands share a slot, which has at most two. Later instructions are combined
//! with the buffer's content, and each kind of combination has a counter:
//!
//! | counter | event |
//! |---|---|
//! | `register-operands` | an operand became the source of a move |
//! | `immediate-operands` | an operand became a constant, where LLVM has an opcode for that |
//! | `folded-pairs` | an operation on two constants became a move of the result |
//! | `shared-moves` | a move that repeats one in the window was removed, within the budget |
//! | `shared-operations` | an operation on equal moves was removed likewise |
//! | `dead-moves` | an unused move was removed |
//! | `evictions` | a slot was given to another pair |
//!
//! It runs above level 2, but not for functions optimised for size (the reference's reduced
//! levels), and follows moves with one use. Moves with several uses stay, since folding the
//! constant would only shorten the register's live range. Option 31, if its bit 0 and any higher
//! bit are set, lets it follow those too, on GPUs that issue two instructions at once. With option
//! 605 no move enters the window during the walk; it keeps the moves at the beginning of the block.
//!
//! Requires: SSA form. Preserves: control flow; no instruction is added.
//!
//! Departures from the reference (`sub_8F7080`, `sub_8F6FA0`, `sub_8F6530`): its seven groups are
//! numbered but not described, so the counters are named here by what is done. The flags that admit
//! operations 6 and 7 are always set, as both kinds of move are wanted wherever the phase runs.
//! Arithmetic on two constants is folded for the operations that OriReassociateAndCommon folds.

mod window;

use super::backend::is_dual_issue;
use super::general_optimize::fixed_points::{Record, Stop};
use super::general_optimize::values::Values;
use super::knobs::Knob;
use super::ori_reassociate_and_common::fold_constants;
use super::shared::copies::{is_alike, registers_of_copy};
use super::shared::dead_code::remove_dead;
use super::shared::replacement::Replacement;
use super::{Analyses, PhaseContext, PhaseResult};
use oriel_engine::entity::{Block, Register};
use oriel_engine::snapshot::abi::FunctionFlags;
use oriel_ori::machine::takes_directly;
use oriel_ori::{DataType, Function, Instruction, Modifiers, Operand, Operation, OperationFlags};
use window::Window;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let is_reduced = function.info.flags.contains(FunctionFlags::OPT_SIZE);
    if is_reduced || context.optimization_level() <= 2 {
        return PhaseResult::Unchanged;
    }
    let knobs = &context.options.knobs;
    let gate = knobs.integer(Knob::GeneralOptimizeLateGate);
    let is_extended = gate & 1 != 0 && gate >> 1 != 0;
    let mut propagator = LatePropagator {
        follows_shared: is_extended && is_dual_issue(function.info.sm),
        is_fixed: knobs.is_on(Knob::GeneralOptimizeLateFixedWindow),
        window: Window::default(),
        values: Values::default(),
        replacement: Replacement::new(false),
        record: Record::default(),
    };
    for index in 0..function.blocks().len() {
        propagator.visit_block(function, context, function.blocks()[index]);
        propagator.record.note(1, Stop::Converged);
    }
    let result = propagator.record.finish(function, context);
    if result == PhaseResult::Changed {
        context.keep_only(Analyses::CONTROL_FLOW);
    }
    result
}

struct LatePropagator {
    /// True if moves with several uses are followed.
    follows_shared: bool,
    /// True if the window keeps the moves with which the block begins.
    is_fixed: bool,
    window: Window,
    values: Values,
    replacement: Replacement,
    record: Record,
}

impl LatePropagator {
    fn visit_block(&mut self, function: &mut Function, context: &mut PhaseContext<'_>, block: Block) {
        self.window = Window::default();
        let mut is_beginning = true;
        let mut next = function.first_non_phi(block);
        while let Some(instruction) = next {
            next = function.next(instruction);
            if function.operation(instruction).is_debug() {
                continue;
            }
            if is_move(function, instruction) {
                self.visit_move(function, context, instruction, is_beginning || !self.is_fixed);
                continue;
            }
            is_beginning = false;
            if is_arithmetic(function, instruction) {
                self.visit_operation(function, context, instruction);
            }
        }
        self.remove_dead_moves(function, context);
    }

    fn visit_move(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        may_enter: bool,
    ) {
        let [source, result] = [function.source(instruction, 0), function.result(instruction, 0)];
        let leader = self.window.moves().find(|&earlier| {
            let kept = function.result(earlier, 0).as_register();
            function.source(earlier, 0) == source
                && kept
                    .zip(result.as_register())
                    .is_some_and(|(kept, new)| is_alike(function, kept, new))
        });
        if let Some(leader) = leader
            && source.is_constant()
            && !only_phis_use(function, instruction)
            && self.replacement.replace(function, context, instruction, leader)
        {
            self.record.count("shared-moves", 1);
            return;
        }
        if may_enter && self.window.enter(function, instruction) {
            self.record.count("evictions", 1);
        }
    }

    fn visit_operation(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
    ) {
        if self.fold_pair(function, instruction) {
            self.record.count("folded-pairs", 1);
            return;
        }
        if self.share_operation(function, context, instruction) {
            self.record.count("shared-operations", 1);
            return;
        }
        for number in 0..function.sources(instruction).len() {
            let Some(source) = self.moved(function, function.source(instruction, number)) else {
                continue;
            };
            let old = function.source(instruction, number);
            match source.as_register() {
                Some(register) => {
                    function.set_source(instruction, number, old.with_register(register));
                    self.record.count("register-operands", 1);
                }
                None if !old.is_modified() && takes_directly(function, instruction, number, source) => {
                    function.set_source(instruction, number, source);
                    self.record.count("immediate-operands", 1);
                }
                None => {}
            }
        }
    }

    /// Returns the source of the move in the window that defines an operand's register.
    fn moved(&self, function: &Function, operand: Operand) -> Option<Operand> {
        let register = operand.read_register()?;
        let found = self.window.move_to(function, register)?;
        let source = function.source(found, 0);
        let has_one_use = function.uses(register).nth(1).is_none();
        let is_whole = source
            .as_register()
            .is_none_or(|source| is_alike(function, source, register));
        (is_whole && (has_one_use || self.follows_shared)).then_some(source)
    }

    /// Replaces an operation on two constants, at least one of them from the window, by a move of
    /// its result.
    fn fold_pair(&self, function: &mut Function, instruction: Instruction) -> bool {
        let sources = function.sources(instruction);
        if sources.len() != 2 || function.modifiers(instruction) != Modifiers::default() {
            return false;
        }
        let operands = [sources.get(0), sources.get(1)];
        let values = operands.map(|operand| {
            let source = self.moved(function, operand).unwrap_or(operand);
            function.integer(source).filter(|_| !operand.is_modified())
        });
        let [Some(first), Some(second)] = values else {
            return false;
        };
        let data_type = function.data_type(instruction);
        let Some(folded) = fold_constants(function.operation(instruction), data_type, first, second) else {
            return false;
        };
        let Some(plain) = DataType::of_bits(data_type.bits()) else {
            return false;
        };
        let folded = function.integer_operand(folded);
        function.set_operation(instruction, Operation::Mov);
        function.set_types(instruction, plain, DataType::None);
        function.set_sources(instruction, &[folded]);
        true
    }

    /// Removes an operation that an earlier one with a pair in the window computes; otherwise
    /// records it.
    fn share_operation(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
    ) -> bool {
        // Values are the most expensive part of this phase.
        if !self.window.concerns(function, instruction) {
            return false;
        }
        let Some(result) = function.result(instruction, 0).as_register() else {
            return false;
        };
        let value = self.values.of(function, result);
        let earlier = self.window.user_with(value);
        let earlier = earlier.filter(|&earlier| is_same_kind(function, earlier, instruction));
        if let Some(earlier) = earlier {
            return self.replacement.replace(function, context, instruction, earlier);
        }
        self.window.note_user(function, instruction, value);
        false
    }

    fn remove_dead_moves(&mut self, function: &mut Function, context: &mut PhaseContext<'_>) {
        let is_unused = |instruction: &Instruction| {
            let result = function.result(*instruction, 0).as_register();
            result.is_some_and(|register| function.is_unused(register))
        };
        let dead: Vec<Instruction> = self.window.all().iter().copied().filter(is_unused).collect();
        if !dead.is_empty() {
            remove_dead(function, context, &dead);
            self.record.count("dead-moves", dead.len() as u64);
        }
    }
}

/// True for a move of a constant or of a register that the window accepts.
fn is_move(function: &Function, instruction: Instruction) -> bool {
    let is_copy = matches!(function.operation(instruction), Operation::Mov | Operation::Copy);
    is_copy
        && function.is_removable_if_unused(instruction)
        && (function.source(instruction, 0).is_constant()
            || registers_of_copy(function, instruction).is_some())
}

/// True for an operation on registers with one result.
fn is_arithmetic(function: &Function, instruction: Instruction) -> bool {
    let other = OperationFlags::READS | OperationFlags::OPAQUE | OperationFlags::COPY;
    function.is_removable_if_unused(instruction)
        && !function.effects(instruction).intersects(other)
        && function.operation(instruction) != Operation::Phi
        && function.results(instruction).len() == 1
}

fn only_phis_use(function: &Function, instruction: Instruction) -> bool {
    let result = function.result(instruction, 0).as_register();
    result.is_none_or(|register| {
        let mut users = function.uses(register);
        users.all(|(user, _)| function.operation(user) == Operation::Phi)
    })
}

fn is_same_kind(function: &Function, one: Instruction, other: Instruction) -> bool {
    let register = |instruction| -> Option<Register> { function.result(instruction, 0).as_register() };
    function.operation(one) == function.operation(other)
        && register(one)
            .zip(register(other))
            .is_some_and(|(one, other)| is_alike(function, one, other))
}

#[cfg(test)]
mod tests;
