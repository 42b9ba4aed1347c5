//! The instance for SSA form: propagates copies and selects forward to their uses.
//!
//! One walk in reverse post-order decides and marks, another applies:
//!
//! - a copy of a register is *propagated*: its source replaces all its uses, for whole chains at
//!   once, since the source has been followed to its root when the copy is visited;
//! - a constant is *deferred*: it replaces uses for which LLVM has an opcode with the constant, and
//!   the move is removed if these were all;
//! - a select with a known predicate, or with equal arms, is a copy of an arm;
//! - other selects are two copies under a guard, *predicated*: a use where the predicate is known,
//!   because a branch on it leads there or because a select on the same predicate takes it, is
//!   replaced by the arm. The reference visits selects forward and then backward for that; here the
//!   select's position is tested first, its uses second.
//!
//! Replacing every use of a copy never raises the pressure: the source is live where the copy was,
//! and the copy is removed. Replacing only some uses extends the source's live range, which is
//! weighed.

use super::marks::{Counts, apply_marks};
use super::settings::{CopySettings, Refusal};
use crate::general_optimize::branch_conditions::{BranchConditions, FlowPoint};
use crate::general_optimize::values::Values;
use crate::shared::copies::is_alike;
use crate::{PhaseContext, RemarkKind};
use oriel_engine::entity::{Block, PackedOption, Register, SecondaryMap};
use oriel_engine::hash::NumberMap;
use oriel_ori::analysis::PressureMap;
use oriel_ori::machine::takes_directly;
use oriel_ori::{ControlFlow, Function, Instruction, InstructionFlags, Operand, Operation};
use smallvec::SmallVec;
use std::cell::OnceCell;
use std::rc::Rc;

/// What is known of the predicates of selects.
#[derive(Debug)]
pub(crate) enum Guards {
    /// Nothing: only selects with equal arms are copies.
    Unknown,
    /// What branches decide in the function.
    Known(BranchConditions),
    /// The same, to be found out if there is a select.
    OnDemand,
}

/// Propagates copies. Returns how many instructions were removed.
pub(super) fn propagate(
    function: &mut Function,
    settings: &mut CopySettings,
    context: &mut PhaseContext<'_>,
    guards: Guards,
) -> Counts {
    let flow = context.control_flow(function);
    let mut propagator = CopyPropagator {
        decides_selects: !matches!(guards, Guards::Unknown),
        branch_conditions: match guards {
            Guards::Known(conditions) => OnceCell::from(conditions),
            Guards::Unknown | Guards::OnDemand => OnceCell::new(),
        },
        flow,
        roots: SecondaryMap::with_capacity(function.register_limit()),
        fixed: NumberMap::default(),
        map: None,
    };
    let mut marked: Vec<(Instruction, Decision)> = Vec::new();
    for &block in propagator.flow.clone().order.as_slice() {
        for instruction in function.instructions(block) {
            if let Some(decision) = propagator.decide(function, settings, context, instruction, block) {
                marked.push((instruction, decision));
            }
        }
    }
    let mut replaced = 0;
    for (instruction, decision) in marked {
        replaced += propagator.apply(function, settings, context, instruction, decision);
    }
    Counts {
        replaced,
        ..apply_marks(function, context)
    }
}

/// The decision about the uses of an instruction's result.
#[derive(Clone, Copy, Debug)]
enum Decision {
    /// A register replaces all of them.
    Register(Register),
    /// A constant replaces those that allow one.
    Constant(Operand),
    /// An arm replaces those where the predicate is known.
    Guarded,
}

struct CopyPropagator {
    flow: Rc<ControlFlow>,
    /// True if selects are decided by their predicates.
    decides_selects: bool,
    /// Computed for the first select, before any change.
    branch_conditions: OnceCell<BranchConditions>,
    /// By result of a copy: the root of its chain.
    roots: SecondaryMap<Register, PackedOption<Register>>,
    /// The first result of each read of a special register, and its block.
    fixed: NumberMap<Operand, SmallVec<[(Register, Block); 1]>>,
    /// Computed when pressure matters first.
    map: Option<PressureMap>,
}

impl CopyPropagator {
    fn root(&self, register: Register) -> Register {
        self.roots[register].expand().unwrap_or(register)
    }

    /// Returns a predicate's value at a point, if known.
    fn value(&self, function: &Function, predicate: Register, place: FlowPoint) -> Option<bool> {
        let make = || BranchConditions::new(function, &self.flow, &mut Values::default(), true);
        let branch_conditions = self.branch_conditions.get_or_init(make);
        branch_conditions.value(function, &self.flow, predicate, place)
    }

    /// Decides whether an instruction is a copy, or a select between two.
    fn decide(
        &mut self,
        function: &Function,
        settings: &mut CopySettings,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        block: Block,
    ) -> Option<Decision> {
        let decision = match function.operation(instruction) {
            Operation::Mov | Operation::Copy => self.decide_copy(function, settings, instruction)?,
            Operation::Sel => self.decide_select(function, instruction, block)?,
            Operation::S2r if settings.fixed => {
                self.decide_fixed(function, settings, context, instruction, block)?
            }
            _ => return None,
        };
        let result = function.result(instruction, 0).as_register()?;
        if let Err(refusal) = check(function, settings, decision, result, block) {
            context.remark(RemarkKind::Missed, "Copy", function, Some(instruction), || {
                format!("the copy stays: {}", refusal.reason())
            });
            return None;
        }
        if let Decision::Register(source) = decision {
            self.roots[result] = source.into();
        }
        Some(decision)
    }

    fn decide_copy(
        &self,
        function: &Function,
        settings: &CopySettings,
        copy: Instruction,
    ) -> Option<Decision> {
        let (result, source) = (function.result(copy, 0).as_register()?, function.source(copy, 0));
        if source.is_modified() || source.is_undefined() {
            return None;
        }
        match source.as_register() {
            Some(source) => is_alike(function, result, source).then(|| Decision::Register(self.root(source))),
            None => {
                (source.is_constant() && !settings.no_constant_operands).then_some(Decision::Constant(source))
            }
        }
    }

    fn decide_select(&self, function: &Function, select: Instruction, block: Block) -> Option<Decision> {
        let result = function.result(select, 0).as_register()?;
        let [first, second] = arms(function, select)?;
        let alike = |arm: Operand| arm.as_register().filter(|&arm| is_alike(function, result, arm));
        if let (Some(first), Some(second)) = (alike(first), alike(second))
            && self.root(first) == self.root(second)
        {
            return Some(Decision::Register(self.root(first)));
        }
        if !self.decides_selects {
            return None;
        }
        let (predicate, is_turned) = condition(function, select)?;
        if let Some(value) = self.value(function, predicate, FlowPoint::In(block)) {
            let arm = if value != is_turned { first } else { second };
            return match alike(arm) {
                Some(register) => Some(Decision::Register(self.root(register))),
                None => arm.is_constant().then_some(Decision::Constant(arm)),
            };
        }
        let is_guarded = |(user, number): (Instruction, usize)| {
            self.arm_at(function, (predicate, is_turned), user, number)
                .is_some()
        };
        function.uses(result).any(is_guarded).then_some(Decision::Guarded)
    }

    /// Decides whether a read of a special register is a copy of an earlier one.
    fn decide_fixed(
        &mut self,
        function: &Function,
        settings: &CopySettings,
        context: &mut PhaseContext<'_>,
        read: Instruction,
        block: Block,
    ) -> Option<Decision> {
        let result = function.result(read, 0).as_register()?;
        if !function.is_removable_if_unused(read) {
            return None;
        }
        let before = self.fixed.entry(function.source(read, 0)).or_default();
        let dominating = before.iter().find(|&&(register, home)| {
            self.flow.dominators.dominates(home, block) && is_alike(function, register, result)
        });
        let Some(&(register, _)) = dominating else {
            before.push((result, block));
            return None;
        };
        // The register must stay live until the new read, which it replaces from there on.
        let map = Self::pressure(&mut self.map, function, context);
        let extension = map.extension(function, register, read);
        if !settings.forces_global && !extension.fits(settings.room()) {
            context.remark(RemarkKind::Missed, "Pressure", function, Some(read), || {
                format!(
                    "it is read again: there is no room for %{} up to here",
                    register.as_u32()
                )
            });
            return None;
        }
        map.accept(function, &extension, Some(result));
        Some(Decision::Register(register))
    }

    fn pressure<'m>(
        map: &'m mut Option<PressureMap>,
        function: &Function,
        context: &mut PhaseContext<'_>,
    ) -> &'m mut PressureMap {
        map.get_or_insert_with(|| context.pressure_map(function))
    }

    /// Returns the arm that a use of a select gets, if its predicate is known there.
    fn arm_at(
        &self,
        function: &Function,
        (predicate, is_turned): (Register, bool),
        user: Instruction,
        number: usize,
    ) -> Option<bool> {
        let holds = match function.operation(user) {
            Operation::Phi => {
                let from = function.source(user, number + 1).as_block()?;
                let to = function.block_of(user)?;
                self.value(function, predicate, FlowPoint::Edge(from, to))
            }
            Operation::Sel
                if number < 2 && condition(function, user).is_some_and(|(other, _)| other == predicate) =>
            {
                let (_, is_turned) = condition(function, user)?;
                Some((number == 0) != is_turned)
            }
            _ => self.value(function, predicate, FlowPoint::In(function.block_of(user)?)),
        };
        holds.map(|holds| holds != is_turned)
    }

    /// Replaces uses and marks the instruction. Returns how many uses.
    fn apply(
        &mut self,
        function: &mut Function,
        settings: &CopySettings,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        decision: Decision,
    ) -> u64 {
        let result = function.result(instruction, 0).as_register();
        let result = result.expect("a copy has a result");
        let uses: SmallVec<[(Instruction, usize); 8]> = function.uses(result).collect();
        let guard = match decision {
            Decision::Guarded => condition(function, instruction).zip(arms(function, instruction)),
            Decision::Register(_) | Decision::Constant(_) => None,
        };
        let mut replaced = 0;
        for &(user, number) in &uses {
            let new = match decision {
                Decision::Register(source) => Some(function.register_operand(source)),
                Decision::Constant(constant) => Some(constant),
                Decision::Guarded => guard.and_then(|(condition, arms)| {
                    let is_first = self.arm_at(function, condition, user, number)?;
                    Some(if is_first { arms[0] } else { arms[1] })
                }),
            };
            let is_whole = matches!(decision, Decision::Register(_));
            if let Some(new) = new
                && is_allowed(function, settings, user, number, new)
                && (is_whole || self.has_room(function, settings, context, (user, number), new))
            {
                let old = function.source(user, number);
                let new = new.as_register().map_or(new, |source| old.with_register(source));
                function.set_source(user, number, new);
                replaced += 1;
            }
        }
        let left = uses.len() as u64 - replaced;
        let marks = match decision {
            Decision::Register(_) if left == 0 => InstructionFlags::MARK_PROPAGATED,
            Decision::Register(_) | Decision::Constant(_) => InstructionFlags::MARK_DEFERRED,
            Decision::Guarded => InstructionFlags::MARK_PREDICATED | InstructionFlags::MARK_DEFERRED,
        };
        if replaced != 0 || left == 0 {
            function.set_marks(instruction, marks, true);
        }
        if replaced != 0 {
            context.remark(RemarkKind::Passed, "Copy", function, Some(instruction), || {
                let what = match decision {
                    Decision::Register(source) => format!("%{}", source.as_u32()),
                    Decision::Constant(_) => "the constant".to_owned(),
                    Decision::Guarded => "an arm".to_owned(),
                };
                format!("{replaced} uses of %{} use {what}, {left} stay", result.as_u32())
            });
        }
        replaced
    }

    /// True if there is room for a value that replaces one of several uses of another.
    fn has_room(
        &mut self,
        function: &Function,
        settings: &CopySettings,
        context: &mut PhaseContext<'_>,
        (user, number): (Instruction, usize),
        new: Operand,
    ) -> bool {
        let Some(source) = new.as_register() else {
            return true;
        };
        // A PHI uses the value at the end of the predecessor.
        let at = match function.operation(user) {
            Operation::Phi => function
                .source(user, number + 1)
                .as_block()
                .and_then(|from| function.terminator(from)),
            _ => Some(user),
        };
        let Some(at) = at else {
            return false;
        };
        let map = Self::pressure(&mut self.map, function, context);
        let extension = map.extension(function, source, at);
        let fits = settings.forces_global || extension.fits(settings.room());
        if fits {
            map.accept(function, &extension, None);
        } else {
            context.remark(RemarkKind::Missed, "Pressure", function, Some(user), || {
                format!("there is no room for %{} up to here", source.as_u32())
            });
        }
        fits
    }
}

/// Checks whether the uses of a result in a block or after it may be replaced.
fn check(
    function: &Function,
    settings: &mut CopySettings,
    decision: Decision,
    result: Register,
    block: Block,
) -> Result<(), Refusal> {
    if let Decision::Register(source) = decision {
        settings.check_source(function, source)?;
        let mut users = function.uses(result);
        let is_local = users.all(|(user, _)| function.block_of(user) == Some(block));
        if !is_local && !settings.global.spend() {
            return Err(Refusal::Budget);
        }
    }
    match settings.copies.spend() {
        true => Ok(()),
        false => Err(Refusal::Budget),
    }
}

/// True if another operand may replace a use.
fn is_allowed(
    function: &Function,
    settings: &CopySettings,
    user: Instruction,
    number: usize,
    new: Operand,
) -> bool {
    let old = function.source(user, number);
    match new.as_register() {
        Some(source) => settings.check_use(function, user, number, Some(source)).is_ok(),
        None => {
            !old.is_modified()
                && settings.check_use(function, user, number, None).is_ok()
                && takes_directly(function, user, number, new)
        }
    }
}

/// Returns the arms of a select.
fn arms(function: &Function, select: Instruction) -> Option<[Operand; 2]> {
    let arms = [function.source(select, 0), function.source(select, 1)];
    let is_plain = |arm: &Operand| !arm.is_modified() && !arm.is_undefined();
    arms.iter().all(is_plain).then_some(arms)
}

/// Returns the predicate of a select, and whether the select uses its complement.
fn condition(function: &Function, select: Instruction) -> Option<(Register, bool)> {
    let operand = function.source(select, 2);
    let register = operand.read_register()?;
    Some((register, operand.is_complemented()))
}
