//! Dead code: finding and removing instructions whose results are not needed.
//!
//! An instruction is *needed* if it has an effect besides its results, or if one of its results
//! reaches an operand of a needed instruction. So a counter that is only incremented is dead, though
//! each addition uses the previous one.
//!
//! This is liveness in which only needed instructions use their operands (*strongly live
//! variables*): in a backward walk, an instruction whose results are all dead makes none of its
//! operands live. A single walk decides and updates liveness, so that registers used only by dead
//! instructions are dead in the same walk. The sets at block boundaries begin empty and grow to the
//! least fixed point.
//!
//! In SSA form need is propagated from uses to definitions instead, which gives the same result
//! faster. In late form large functions use this method, too, since the sets grow with the square of
//! a function's size (see `MATRIX_LIMIT`); all definitions of a register are then needed if one is.

use crate::knobs::Budget;
use crate::{PhaseContext, RemarkKind};
use oriel_engine::bitvector::{EntityBitMatrix, EntityBitSet};
use oriel_engine::dataflow::{Direction, fixed_point};
use oriel_engine::entity::{Block, EntityRef, EntitySet, PackedOption, PrimaryMap, Register, entity_impl};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::{ControlFlow, Function, Instruction, Operand, Operation, each_boundary_use};

/// A register that is live across a block boundary, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Member(u32);
entity_impl!(Member, "member");

/// The registers that are live across block boundaries, numbered.
pub(crate) struct BoundaryRegisters {
    registers: PrimaryMap<Member, Register>,
    /// By register.
    members: Vec<PackedOption<Member>>,
}

impl BoundaryRegisters {
    pub(crate) fn find(function: &Function) -> Self {
        let mut registers: PrimaryMap<Member, Register> = PrimaryMap::new();
        let mut members = vec![PackedOption::default(); function.register_limit()];
        each_boundary_use(function, |register| {
            let member = &mut members[register.index()];
            if member.is_none() {
                *member = registers.push(register).into();
            }
        });
        Self { registers, members }
    }

    /// Returns the size in bytes of a matrix of all blocks by these registers.
    fn matrix_bytes(&self, function: &Function) -> usize {
        let of_block = self.registers.len().div_ceil(8);
        function.block_limit().saturating_mul(of_block)
    }

    fn member(&self, register: Register) -> Option<Member> {
        self.members[register.index()].expand()
    }
}

/// The live registers at the current point of a backward walk over a block.
pub(crate) trait LiveSet {
    fn contains(&self, register: Register) -> bool;
    fn insert(&mut self, register: Register);
    fn remove(&mut self, register: Register);
    /// Adds a register that a PHI uses at the end of `from`.
    fn insert_at_end(&mut self, from: Block, register: Register);
}

/// The live registers of one block, judged by that block alone: a register that is live across a
/// boundary counts as live everywhere.
pub(crate) struct LocalLiveSet<'a> {
    boundary: &'a BoundaryRegisters,
    local: EntityBitSet<Register>,
}

impl<'a> LocalLiveSet<'a> {
    pub(crate) fn new(function: &Function, boundary: &'a BoundaryRegisters) -> Self {
        Self {
            boundary,
            local: EntityBitSet::with_room(function.register_limit()),
        }
    }
}

impl LiveSet for LocalLiveSet<'_> {
    fn contains(&self, register: Register) -> bool {
        self.boundary.member(register).is_some() || self.local.contains(register)
    }

    fn insert(&mut self, register: Register) {
        self.local.insert(register);
    }

    fn remove(&mut self, register: Register) {
        self.local.remove(register);
    }

    fn insert_at_end(&mut self, _: Block, register: Register) {
        debug_assert!(self.boundary.member(register).is_some());
    }
}

/// Walks a block backward, from the registers live at its end to those live at its start.
///
/// Calls `dead` for each unneeded instruction. Instructions in `kept` always count as needed.
pub(crate) fn walk_backward(
    function: &Function,
    block: Block,
    live: &mut impl LiveSet,
    kept: &EntitySet<Instruction>,
    mut dead: impl FnMut(Instruction),
) {
    for instruction in function.instructions(block).rev() {
        let operation = function.operation(instruction);
        if operation.is_debug() {
            continue;
        }
        if is_dead(function, instruction, live, kept) {
            dead(instruction);
            continue;
        }
        for register in function.result_registers(instruction) {
            live.remove(register);
        }
        let sources = function.sources(instruction);
        for (number, source) in sources.iter().enumerate() {
            let Some(register) = source.read_register() else {
                continue;
            };
            if operation == Operation::Phi {
                let from = sources.get(number + 1).as_block();
                live.insert_at_end(from.expect("the source of a PHI has a block"), register);
            } else {
                live.insert(register);
            }
        }
    }
}

/// True if none of the instruction's results is live after it and it has no other effect.
fn is_dead(
    function: &Function,
    instruction: Instruction,
    live: &impl LiveSet,
    kept: &EntitySet<Instruction>,
) -> bool {
    let results = function.results(instruction);
    let is_dead_result = |result: oriel_ori::Operand| {
        let register = result.as_register();
        register.is_some_and(|register| !live.contains(register))
    };
    !results.is_empty()
        && results.iter().all(is_dead_result)
        && function.is_removable_if_unused(instruction)
        && !kept.contains(instruction)
}

/// The strongly live registers at the boundaries of all blocks.
struct StrongLiveness {
    boundary: BoundaryRegisters,
    live_in: EntityBitMatrix<Block, Member>,
    live_out: EntityBitMatrix<Block, Member>,
    /// The registers live at the current point; empty between visits.
    live: EntityBitSet<Register>,
    /// The boundary registers that this visit inserted into `live`, even if removed since.
    touched: Vec<(Register, Member)>,
    /// True if this visit has added a register to a set that another block reads.
    changed: bool,
}

impl LiveSet for StrongLiveness {
    fn contains(&self, register: Register) -> bool {
        self.live.contains(register)
    }

    fn insert(&mut self, register: Register) {
        if self.live.insert(register)
            && let Some(member) = self.boundary.member(register)
        {
            self.touched.push((register, member));
        }
    }

    fn remove(&mut self, register: Register) {
        self.live.remove(register);
    }

    fn insert_at_end(&mut self, from: Block, register: Register) {
        let member = self.boundary.member(register);
        let member = member.expect("a source of a PHI is live across a boundary");
        self.changed |= self.live_out.insert(from, member);
    }
}

impl StrongLiveness {
    fn solve(function: &Function, flow: &ControlFlow, kept: &EntitySet<Instruction>) -> Self {
        let boundary = BoundaryRegisters::find(function);
        let (rows, columns) = (function.block_limit(), boundary.registers.len());
        let mut sets = Self {
            boundary,
            live_in: EntityBitMatrix::new(rows, columns),
            live_out: EntityBitMatrix::new(rows, columns),
            live: EntityBitSet::with_room(function.register_limit()),
            touched: Vec::new(),
            changed: false,
        };
        // A visit that changes something adds at least one register at one boundary.
        let limit = 2 * rows * columns + 2;
        loop {
            let visit = |block: Block| sets.visit(function, flow, kept, block, |_| {});
            fixed_point(&flow.graph, &flow.order, Direction::Backward, limit, visit)
                .expect("sets of registers only grow");
            if !sets.solve_unreachable(function, flow, kept) {
                return sets;
            }
        }
    }

    /// Solves blocks that the entry does not reach. Something other than a branch refers to them,
    /// so the registers that they use may come from anywhere. Returns whether anything became live
    /// elsewhere.
    fn solve_unreachable(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        kept: &EntitySet<Instruction>,
    ) -> bool {
        let blocks = function.blocks().iter().rev();
        let unreachable: Vec<Block> = blocks
            .copied()
            .filter(|&block| !flow.order.is_reachable(block))
            .collect();
        loop {
            let mut changed = false;
            for &block in &unreachable {
                changed |= self.visit(function, flow, kept, block, |_| {});
            }
            if !changed {
                break;
            }
        }
        let mut used: EntityBitSet<Member> = EntityBitSet::new();
        for &block in &unreachable {
            used.or(self.live_in.row(block));
        }
        let mut changed = false;
        for &block in function.blocks() {
            for member in &used {
                changed |= self.live_out.insert(block, member);
            }
        }
        changed
    }

    /// Propagates liveness through a block. Returns whether the part that its predecessors read
    /// changed.
    fn visit(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        kept: &EntitySet<Instruction>,
        block: Block,
        dead: impl FnMut(Instruction),
    ) -> bool {
        for &successor in flow.graph.successors(block) {
            self.live_out.row_mut(block).or(self.live_in.row(successor));
        }
        for member in self.live_out.row(block) {
            let register = self.boundary.registers[member];
            self.live.insert(register);
            self.touched.push((register, member));
        }
        self.changed = false;
        walk_backward(function, block, self, kept, dead);
        // The remaining registers are live across the boundary, since any other register used here is
        // defined here first.
        for (register, member) in self.touched.drain(..) {
            if self.live.remove(register) {
                self.changed |= self.live_in.insert(block, member);
            }
        }
        debug_assert!(self.live.is_empty());
        self.changed
    }
}

/// Limit in bytes for a matrix of all blocks by the registers that are live across boundaries; strong
/// liveness needs two.
const MATRIX_LIMIT: usize = 4 << 20;

/// Returns the unneeded instructions in no particular order. Each can be removed only together with
/// those that use it.
pub(crate) fn find_dead(
    function: &Function,
    flow: &ControlFlow,
    kept: &EntitySet<Instruction>,
) -> Vec<Instruction> {
    if function.info.stage == Stage::Ssa
        || BoundaryRegisters::find(function).matrix_bytes(function) > MATRIX_LIMIT
    {
        return find_dead_by_chains(function, kept);
    }
    find_dead_by_liveness(function, flow, kept)
}

/// Finds unneeded instructions by strong liveness at each instruction.
fn find_dead_by_liveness(
    function: &Function,
    flow: &ControlFlow,
    kept: &EntitySet<Instruction>,
) -> Vec<Instruction> {
    let mut sets = StrongLiveness::solve(function, flow, kept);
    let mut dead = Vec::new();
    for &block in function.blocks() {
        sets.visit(function, flow, kept, block, |instruction| dead.push(instruction));
    }
    dead
}

/// Finds unneeded instructions by propagating need from uses to definitions, without sets at block
/// boundaries.
fn find_dead_by_chains(function: &Function, kept: &EntitySet<Instruction>) -> Vec<Instruction> {
    let mut needed = EntitySet::with_capacity(function.instruction_limit());
    let code = || function.all_instructions();
    let goes_if_unused = |instruction: Instruction| {
        let results = function.results(instruction);
        !results.is_empty()
            && results.iter().all(|result| result.as_register().is_some())
            && function.is_removable_if_unused(instruction)
            && !kept.contains(instruction)
    };
    let mut pending: Vec<Instruction> = code()
        .filter(|&instruction| !function.operation(instruction).is_debug() && !goes_if_unused(instruction))
        .collect();
    needed.extend(pending.iter().copied());
    while let Some(user) = pending.pop() {
        let sources = function.sources(user).iter();
        let used = sources.filter(|source| !source.is_undefined());
        for register in used.filter_map(|source| source.as_register()) {
            for (definition, _) in function.definitions(register) {
                if needed.insert(definition) {
                    pending.push(definition);
                }
            }
        }
    }
    let is_dead = |instruction: &Instruction| {
        !function.operation(*instruction).is_debug() && !needed.contains(*instruction)
    };
    code().filter(is_dead).collect()
}

/// Returns the instructions that may be removed, found by `find` given those that must stay: at
/// most as many as the budget allows.
pub(crate) fn within_budget(
    mut budget: Budget,
    find: impl Fn(&EntitySet<Instruction>) -> Vec<Instruction>,
) -> Vec<Instruction> {
    let mut kept = EntitySet::new();
    let dead = find(&kept);
    for &instruction in &dead {
        if !budget.spend() {
            kept.insert(instruction);
        }
    }
    if kept.is_empty() {
        return dead;
    }
    // Instructions that the kept ones use must stay, too.
    find(&kept)
}

/// Removes instructions and emits remarks.
pub(crate) fn remove_dead(function: &mut Function, context: &mut PhaseContext<'_>, dead: &[Instruction]) {
    for &instruction in dead {
        context.remark(
            RemarkKind::Passed,
            "DeadInstruction",
            function,
            Some(instruction),
            || {
                let operation = function.operation(instruction).name();
                format!("removed {operation}: its result is not needed")
            },
        );
        function.remove(instruction);
    }
    context.count("removed-instructions", dead.len() as u64);
}

/// True if nothing needs an instruction.
pub(crate) fn is_unneeded(function: &Function, instruction: Instruction) -> bool {
    let results = function.results(instruction);
    let is_unused = |result: Operand| {
        result
            .as_register()
            .is_some_and(|register| function.is_unused(register))
    };
    !results.is_empty() && results.iter().all(is_unused) && function.is_removable_if_unused(instruction)
}

/// Removes unneeded instructions, and those that only they needed. Returns how many.
pub(crate) fn remove_unneeded(function: &mut Function, pending: Vec<Instruction>) -> u64 {
    remove_unneeded_by(function, pending, Function::remove)
}

/// As [`remove_unneeded`], by a removal that may note what it does.
pub(crate) fn remove_unneeded_by(
    function: &mut Function,
    mut pending: Vec<Instruction>,
    mut remove: impl FnMut(&mut Function, Instruction),
) -> u64 {
    let mut removed = 0;
    while let Some(instruction) = pending.pop() {
        if function.block_of(instruction).is_none() || !is_unneeded(function, instruction) {
            continue;
        }
        let sources = function.sources(instruction).iter();
        pending.extend(sources.filter_map(|source| function.unique_definition(source.as_register()?)));
        remove(function, instruction);
        removed += 1;
    }
    removed
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mark_and_sweep::marked;
    use crate::registry::{self, PHASES};
    use crate::{PhaseOptions, Statistics};
    use oriel_ori::OperationFlags;
    use oriel_ori::random_function::random_function;
    use std::collections::BTreeSet;

    fn instructions(function: &Function) -> BTreeSet<Instruction> {
        function.all_instructions().collect()
    }

    fn run(name: &str, function: &mut Function, knob: Option<&str>) -> u64 {
        let phase = registry::named(name).next().expect("a phase");
        let mut options = PhaseOptions::default();
        if let Some(knob) = knob {
            options.knobs.set(knob).expect("a knob");
        }
        let mut statistics = Statistics::default();
        crate::run(phase, function, &options, &mut statistics);
        statistics.counter(phase.name, "removed-instructions")
    }

    /// Runs a test on random functions of both stages without unreachable blocks.
    fn on_random_functions(mut test: impl FnMut(Function)) {
        for seed in 0..1000 {
            for stage in [Stage::Ssa, Stage::Late] {
                let mut function = random_function(seed, stage);
                function.remove_unreachable_blocks();
                test(function);
            }
        }
    }

    #[test]
    fn what_is_left_is_what_mark_and_sweep_marks() {
        let mut removed = 0;
        on_random_functions(|mut function| {
            let flow = ControlFlow::of(&function);
            if flow.order.len() != function.blocks().len() {
                return;
            }
            let wanted = marked(&function);
            removed += run("OriPerformLiveDeadFirst", &mut function, None);
            assert_eq!(instructions(&function), wanted, "{function}");
            assert_eq!(function.verify(), []);
        });
        assert!(removed > 1000, "only {removed} instructions were dead");
    }

    #[test]
    fn chains_find_the_same_in_ssa_form_and_a_part_of_it_in_late_form() {
        on_random_functions(|function| {
            let flow = ControlFlow::of(&function);
            if flow.order.len() != function.blocks().len() {
                return;
            }
            let found = |dead: Vec<Instruction>| dead.into_iter().collect::<BTreeSet<_>>();
            let whole = found(find_dead_by_liveness(&function, &flow, &EntitySet::new()));
            let by_chains = found(find_dead_by_chains(&function, &EntitySet::new()));
            match function.info.stage {
                Stage::Ssa => assert_eq!(by_chains, whole, "{function}"),
                Stage::Late => assert!(by_chains.is_subset(&whole), "{function}"),
            }
        });
    }

    #[test]
    fn nothing_with_effects_goes() {
        let effects = OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT
            | OperationFlags::TERMINATOR
            | OperationFlags::CALL_SEQUENCE;
        on_random_functions(|function| {
            for name in ["EarlyOriSimpleLiveDead", "OriPerformLiveDeadFourth"] {
                let mut after = function.clone();
                run(name, &mut after, None);
                for instruction in instructions(&function).difference(&instructions(&after)) {
                    assert!(!function.effects(*instruction).intersects(effects));
                }
            }
        });
    }

    #[test]
    fn the_local_phase_removes_a_part_and_what_it_leaves_verifies() {
        let (mut local, mut global) = (0, 0);
        on_random_functions(|function| {
            let [mut early, mut whole] = [function.clone(), function];
            local += run("EarlyOriSimpleLiveDead", &mut early, None);
            global += run("OriPerformLiveDeadFirst", &mut whole, None);
            assert!(instructions(&whole).is_subset(&instructions(&early)), "{early}");
            assert_eq!(early.verify(), []);
        });
        assert!(0 < local && local < global, "{local} of {global}");
    }

    #[test]
    fn a_budget_is_kept_and_what_it_leaves_verifies() {
        on_random_functions(|function| {
            for budget in [0, 1, 3] {
                let mut after = function.clone();
                let knob = format!("OriPerformLiveDeadBudget={budget}");
                let removed = run("OriPerformLiveDeadSecond", &mut after, Some(&knob));
                assert!(removed <= budget);
                assert_eq!(after.verify(), []);
            }
        });
    }

    #[test]
    fn the_instances_of_the_global_phase_are_one_phase() {
        let instances = PHASES.iter().filter(|phase| phase.is_named("OriPerformLiveDead"));
        assert_eq!(instances.count(), 4);
    }

    #[test]
    fn unreachable_code_stays_consistent() {
        for seed in 0..300 {
            let function = random_function(seed, Stage::Late);
            let flow = ControlFlow::of(&function);
            let mut after = function.clone();
            for instruction in find_dead(&function, &flow, &EntitySet::new()) {
                after.remove(instruction);
            }
            assert_eq!(after.verify(), []);
        }
    }
}
