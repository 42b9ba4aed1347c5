//! The late instance: removes copies and constants that registers already hold, and copies whose
//! source can replace all uses.
//!
//! Each round computes the contents of registers, marks, and applies the marks:
//!
//! - an instruction that gives a register the content that it already has is *propagated*: it is
//!   removed;
//! - a copy is propagated if its source, which still has the value, can replace every use that the
//!   copy reaches;
//! - so is a complement of a predicate, if branches and selects can be inverted at no cost.
//!
//! The registers of two copies marked in one round never form a chain, so no decision affects the
//! conditions of another; the next round continues with the chain.

use super::available_copies::{
    AvailableCopies, AvailableCopy, BOUNDARY_LIMIT, CopiedValue, CopyId, State, Wanted,
};
use super::marks::{Counts, apply_marks};
use super::settings::{CopySettings, Refusal};
use crate::shared::copies::is_alike;
use crate::{Analyses, PhaseContext, RemarkKind};
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, EntitySet, PackedOption, Register, SecondaryMap};
use oriel_ori::analysis::{PressureMap, RangeExtension};
use oriel_ori::{ControlFlow, Function, Instruction, InstructionFlags, Operand, OperandKind, Operation};
use smallvec::{SmallVec, smallvec};

/// The most passes over the function: each pass removes at least every other copy of a chain.
const ROUNDS: usize = 8;

/// The most mentions of a register whose path is examined: each block on the path visits them.
const MENTION_LIMIT: usize = 128;

/// Propagates copies. Returns how many instructions were removed.
pub(super) fn propagate(
    function: &mut Function,
    settings: &mut CopySettings,
    context: &mut PhaseContext<'_>,
) -> Counts {
    let mut total = Counts::default();
    for _ in 0..ROUNDS {
        let flow = context.control_flow(function);
        let summary = Round::run(function, &flow, settings, context);
        if summary.counts == Counts::default() {
            break;
        }
        // An inverted branch has its targets in another order.
        context.keep_only(match summary.turns_branches {
            true => Analyses::empty(),
            false => Analyses::CONTROL_FLOW,
        });
        total += summary.counts;
        if !summary.postpones {
            break;
        }
    }
    total
}

/// The result of a round.
#[derive(Default)]
struct RoundSummary {
    counts: Counts,
    /// True if the targets of a branch were exchanged.
    turns_branches: bool,
    /// True if a copy was postponed to the next round.
    postpones: bool,
}

struct Round<'a> {
    flow: &'a ControlFlow,
    copies: AvailableCopies,
    /// Copies with a use that must stay.
    refused: EntityBitSet<CopyId>,
    /// Copies whose content replaces their uses.
    chosen: EntityBitSet<CopyId>,
    /// The next block in the layout.
    next_in_layout: SecondaryMap<Block, PackedOption<Block>>,
    /// Registers affected by a decision of this round.
    taken: EntitySet<Register>,
    /// True if a copy was postponed because this round changes its registers.
    postpones: bool,
    /// Computed when pressure matters first.
    map: Option<PressureMap>,
}

impl<'a> Round<'a> {
    fn run(
        function: &mut Function,
        flow: &'a ControlFlow,
        settings: &mut CopySettings,
        context: &mut PhaseContext<'_>,
    ) -> RoundSummary {
        let wanted = Wanted {
            constants: settings.several_constants,
            fixed: settings.fixed,
            complements: settings.complements,
            boundary_bits: BOUNDARY_LIMIT,
        };
        let mut round = Self {
            flow,
            copies: AvailableCopies::compute(function, flow, wanted),
            refused: EntityBitSet::new(),
            chosen: EntityBitSet::new(),
            next_in_layout: next_in_layout(function),
            taken: EntitySet::new(),
            postpones: false,
            map: None,
        };
        if round.copies.rows.is_empty() {
            return RoundSummary::default();
        }
        round.survey(function, settings, context);
        round.choose(function, settings, context);
        let (replaced, turns_branches) = round.replace_uses(function);
        let counts = Counts {
            replaced,
            ..apply_marks(function, context)
        };
        RoundSummary {
            counts,
            turns_branches,
            postpones: round.postpones,
        }
    }

    fn reachable(&self, function: &Function) -> Vec<Block> {
        let blocks = function.blocks().iter().copied();
        blocks
            .filter(|&block| self.flow.order.is_reachable(block))
            .collect()
    }

    /// Marks redundant instructions, and records which uses must stay.
    fn survey(
        &mut self,
        function: &mut Function,
        settings: &mut CopySettings,
        context: &mut PhaseContext<'_>,
    ) {
        let mut state = State::default();
        let mut redundant = Vec::new();
        for block in self.reachable(function) {
            self.copies.enter(block, &mut state);
            for instruction in function.instructions(block) {
                if !function.operation(instruction).is_debug() {
                    self.survey_uses(function, settings, instruction, &state);
                    if self.is_redundant(function, instruction, &state) {
                        let is_local = self.copies.is_lost_at_start(block, instruction);
                        redundant.push((instruction, is_local));
                    }
                }
                self.copies.step(function, instruction, &mut state);
            }
        }
        for (instruction, is_local) in redundant {
            let register = function.result(instruction, 0).as_register();
            let register = register.expect("a copy has a result");
            if let Err(refusal) = self.check_held(function, settings, context, instruction, is_local) {
                missed(function, context, instruction, refusal);
                continue;
            }
            function.set_marks(instruction, InstructionFlags::MARK_PROPAGATED, true);
            self.taken.insert(register);
            context.remark(
                RemarkKind::Passed,
                "HeldAlready",
                function,
                Some(instruction),
                || format!("%{} holds this value already", register.as_u32()),
            );
        }
    }

    /// Checks whether an instruction may be removed whose register already holds the value, and
    /// would be live longer.
    fn check_held(
        &mut self,
        function: &Function,
        settings: &mut CopySettings,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        is_local: bool,
    ) -> Result<(), Refusal> {
        let register = function.result(instruction, 0).as_register();
        let register = register.expect("a copy has a result");
        let mentions = function.uses(register).chain(function.definitions(register));
        if !settings.forces_global && mentions.take(MENTION_LIMIT + 1).count() > MENTION_LIMIT {
            return Err(Refusal::Mentions);
        }
        let map = self.map.get_or_insert_with(|| context.pressure_map(function));
        let extensions = extensions_before(function, self.flow, map, register, instruction);
        let has_room = |extension: &RangeExtension| extension.fits(settings.room());
        if !settings.forces_global && !extensions.iter().all(has_room) {
            return Err(Refusal::Pressure);
        }
        if !settings.copies.spend() || (!is_local && !settings.global.spend()) {
            return Err(Refusal::Budget);
        }
        for extension in &extensions {
            map.accept(function, extension, None);
        }
        Ok(())
    }

    /// True if an instruction gives its register the content that it already has.
    fn is_redundant(&self, function: &Function, instruction: Instruction, state: &State) -> bool {
        let made = self.copies.made_by(instruction);
        let holds = |copy: &CopyId| match self.copies.rows[*copy].held {
            CopiedValue::Complement(_) => false,
            CopiedValue::Register(source) => {
                let register = self.copies.rows[*copy].register;
                let reverse = AvailableCopy {
                    register: source,
                    held: CopiedValue::Register(register),
                };
                let reverse = self.copies.find(reverse);
                source == register
                    || state.known.contains(*copy)
                    || reverse.is_some_and(|reverse| state.known.contains(reverse))
            }
            CopiedValue::Bits(_) | CopiedValue::Special(_) => state.known.contains(*copy),
        };
        made.iter().any(holds) && function.is_removable_if_unused(instruction)
    }

    /// True if an instruction can use the complement of one of its source predicates at no cost.
    fn can_turn(&self, function: &Function, user: Instruction, number: usize) -> bool {
        let sources = function.sources(user);
        if sources.get(number).is_modified() {
            return false;
        }
        match function.operation(user) {
            Operation::Sel => {
                let arms = [sources.get(0), sources.get(1)];
                number == 2 && arms.iter().all(|arm| arm.as_register().is_some())
            }
            // LLVM's branches have no complement. If one of the targets is the next block, another
            // instruction would be needed.
            Operation::Bra => {
                let block = function.block_of(user).expect("the branch is in a block");
                let next = self.next_in_layout[block].expand();
                let follows = |target: Operand| target.as_block() == next;
                let is_named = |target: Operand| matches!(target.kind(), OperandKind::Target(_));
                sources.len() == 3
                    && number == 0
                    && sources
                        .iter()
                        .skip(1)
                        .all(|target| is_named(target) && !follows(target))
            }
            _ => false,
        }
    }

    fn survey_uses(
        &mut self,
        function: &Function,
        settings: &CopySettings,
        user: Instruction,
        state: &State,
    ) {
        let sources = function.sources(user);
        for (number, operand) in sources.iter().enumerate() {
            let Some(register) = operand.read_register() else {
                continue;
            };
            for &copy in self.copies.of(register) {
                if !state.reaches.contains(copy) || self.refused.contains(copy) {
                    continue;
                }
                let can_change = state.known.contains(copy)
                    && match self.copies.rows[copy].held {
                        CopiedValue::Register(source) => {
                            settings.check_use(function, user, number, Some(source)).is_ok()
                        }
                        CopiedValue::Complement(_) => self.can_turn(function, user, number),
                        CopiedValue::Bits(_) | CopiedValue::Special(_) => false,
                    };
                if !can_change {
                    self.refused.insert(copy);
                }
            }
        }
    }

    /// Chooses the copies whose sources replace their uses, and marks them.
    fn choose(
        &mut self,
        function: &mut Function,
        settings: &mut CopySettings,
        context: &mut PhaseContext<'_>,
    ) {
        for block in self.reachable(function) {
            let mut next = function.first(block);
            while let Some(instruction) = next {
                next = function.next(instruction);
                let Some(&copy) = self.copies.made_by(instruction).first() else {
                    continue;
                };
                let is_marked = function
                    .flags(instruction)
                    .contains(InstructionFlags::MARK_PROPAGATED);
                if is_marked || self.refused.contains(copy) {
                    continue;
                }
                let AvailableCopy { register, held } = self.copies.rows[copy];
                let (CopiedValue::Register(source) | CopiedValue::Complement(source)) = held else {
                    continue;
                };
                if !self.chosen.contains(copy) {
                    if self.taken.contains(register) || self.taken.contains(source) {
                        self.postpones = true;
                        continue;
                    }
                    if let Err(refusal) = self.check(function, settings, block, register, source) {
                        missed(function, context, instruction, refusal);
                        continue;
                    }
                    self.chosen.insert(copy);
                    self.taken.insert(register);
                    self.taken.insert(source);
                }
                function.set_marks(instruction, InstructionFlags::MARK_PROPAGATED, true);
                context.remark(RemarkKind::Passed, "Copy", function, Some(instruction), || {
                    format!("uses of %{} use %{}", register.as_u32(), source.as_u32())
                });
            }
        }
    }

    /// Checks whether another register may replace the uses of a register in a block or after it.
    fn check(
        &self,
        function: &Function,
        settings: &mut CopySettings,
        home: Block,
        register: Register,
        source: Register,
    ) -> Result<(), Refusal> {
        settings.check_source(function, source)?;
        if !settings.reaching_definitions && function.unique_definition(register).is_none() {
            return Err(Refusal::SeveralDefinitions);
        }
        let mut users = function.uses(register);
        let is_local = users.all(|(user, _)| function.block_of(user) == Some(home));
        if !settings.copies.spend() || (!is_local && !settings.global.spend()) {
            return Err(Refusal::Budget);
        }
        Ok(())
    }

    /// Replaces the uses that chosen copies reach. Returns how many, and whether one was in a
    /// branch.
    fn replace_uses(&self, function: &mut Function) -> (u64, bool) {
        if self.chosen.is_empty() {
            return (0, false);
        }
        let mut state = State::default();
        let (mut replaced, mut turns_branches) = (0, false);
        for block in self.reachable(function) {
            self.copies.enter(block, &mut state);
            let mut next = function.first(block);
            while let Some(user) = next {
                next = function.next(user);
                if !function.operation(user).is_debug() {
                    for number in 0..function.sources(user).len() {
                        let is_changed = self.replace_use(function, user, number, &state);
                        replaced += u64::from(is_changed);
                        turns_branches |= is_changed && function.operation(user) == Operation::Bra;
                    }
                }
                self.copies.step(function, user, &mut state);
            }
        }
        (replaced, turns_branches)
    }

    fn replace_use(&self, function: &mut Function, user: Instruction, number: usize, state: &State) -> bool {
        let operand = function.source(user, number);
        let Some(register) = operand.read_register() else {
            return false;
        };
        let reaches = |copy: &&CopyId| self.chosen.contains(**copy) && state.reaches.contains(**copy);
        let Some(&copy) = self.copies.of(register).iter().find(reaches) else {
            return false;
        };
        match self.copies.rows[copy].held {
            CopiedValue::Register(source) => {
                debug_assert!(is_alike(function, register, source));
                function.set_source(user, number, operand.with_register(source));
            }
            CopiedValue::Complement(source) => turn(function, user, number, source),
            CopiedValue::Bits(_) | CopiedValue::Special(_) => unreachable!("only registers are chosen"),
        }
        true
    }
}

fn next_in_layout(function: &Function) -> SecondaryMap<Block, PackedOption<Block>> {
    let mut next = SecondaryMap::with_capacity(function.block_limit());
    for pair in function.blocks().windows(2) {
        next[pair[0]] = pair[1].into();
    }
    next
}

/// Returns the extensions that keep a register live up to where an instruction writes it.
fn extensions_before(
    function: &Function,
    flow: &ControlFlow,
    map: &mut PressureMap,
    register: Register,
    instruction: Instruction,
) -> SmallVec<[RangeExtension; 2]> {
    let block = function
        .block_of(instruction)
        .expect("the instruction is in a block");
    let mut before = std::iter::successors(function.previous(instruction), |&next| function.previous(next));
    if let Some(before) = before.find(|&before| !function.operation(before).is_debug()) {
        return smallvec![map.extension(function, register, before)];
    }
    let ends = flow.graph.predecessors(block).iter();
    ends.filter_map(|&from| function.terminator(from))
        .map(|end| map.extension(function, register, end))
        .collect()
}

fn missed(function: &Function, context: &mut PhaseContext<'_>, copy: Instruction, refusal: Refusal) {
    context.remark(RemarkKind::Missed, "Copy", function, Some(copy), || {
        format!("the copy stays: {}", refusal.reason())
    });
}

/// Inverts an instruction to use the complement of its predicate.
fn turn(function: &mut Function, user: Instruction, number: usize, predicate: Register) {
    let pair = if number == 0 { (1, 2) } else { (0, 1) };
    let (one, other) = (function.source(user, pair.0), function.source(user, pair.1));
    function.set_source(user, number, Operand::predicate(predicate));
    function.set_source(user, pair.0, other);
    function.set_source(user, pair.1, one);
}
