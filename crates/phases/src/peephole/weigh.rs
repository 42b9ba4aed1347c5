//! Decides whether a rewrite improves the code.

use super::apply::{Planned, PlannedChange};
use crate::PhaseContext;
use oriel_engine::entity::Register;
use oriel_ori::analysis::PressureMap;
use oriel_ori::{Function, Instruction, InstructionBuilder, Operand, Operation, units_of};
use smallvec::SmallVec;

/// The most instructions below a root that are checked for becoming unused.
const MOST_GONE: usize = 24;

/// Returns the rank of an instruction, which decides between equal counts: slow ones rank higher
/// than fast ones, wide ones higher than narrow ones, and each register read adds to it.
pub(super) fn rank(operation: Operation, bits: u32, sources: impl Iterator<Item = Operand>) -> u32 {
    let own = match operation {
        Operation::Mov | Operation::Copy => 0,
        // One hardware instruction, while a 64-bit product is several.
        Operation::ImulWide => 12,
        Operation::Imul | Operation::ImulHi | Operation::Imul24 => 16,
        Operation::Imad | Operation::ImadWide => 18,
        Operation::Idiv | Operation::Irem | Operation::Fdiv => 64,
        _ => 8,
    };
    own + bits / 32 + sources.filter(|source| source.as_register().is_some()).count() as u32
}

/// Weighs the rewrites of one function.
#[derive(Debug)]
pub(super) struct Scale {
    /// Units of data registers that may be live where a value's range is extended.
    room: u32,
    /// Computed when a rewrite that could raise the pressure is weighed first.
    pressure: Option<PressureMap>,
    kept_for_pressure: u64,
}

impl Scale {
    /// Creates a scale for a register budget, of which a fifth is left to ptxas, as in OriCopyProp.
    pub fn new(register_budget: u32) -> Self {
        Self {
            room: register_budget - register_budget / 5,
            pressure: None,
            kept_for_pressure: 0,
        }
    }

    /// Returns how many rewrites were rejected for lack of registers.
    pub fn kept_for_pressure(&self) -> u64 {
        self.kept_for_pressure
    }

    /// Returns the removed instructions, including targets whose results are replaced, if the
    /// rewrite improves the code.
    pub fn weigh(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        planned: &Planned,
    ) -> Option<SmallVec<[Instruction; 4]>> {
        let gone = find_gone(function, planned);
        if !falls(function, planned, &gone) || !keeps_blocks_small(function, planned, &gone) {
            return None;
        }
        if !self.has_room(function, context, planned, &gone) {
            self.kept_for_pressure += 1;
            return None;
        }
        Some(gone)
    }

    /// True if there is room for the values with extended ranges.
    fn has_room(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        planned: &Planned,
        gone: &[Instruction],
    ) -> bool {
        // Up to the target the results of removed instructions were live, each from where its own
        // sources end.
        let narrowest = gone
            .iter()
            .filter(|&&instruction| planned.change_of(instruction).is_none())
            .flat_map(|&instruction| function.result_registers(instruction))
            .map(|register| units_of(function, register))
            .min();
        let mut longer: SmallVec<[(Register, Instruction); 4]> = SmallVec::new();
        for change in &planned.changes {
            for register in change.new_reads(function) {
                if !longer
                    .iter()
                    .any(|&(known, target)| known == register && target == change.target)
                {
                    longer.push((register, change.target));
                }
            }
        }
        let is_free = |units: u32| narrowest.is_some_and(|narrowest| units <= narrowest);
        let is_one_target = planned.changes.len() == 1;
        let units: u32 = longer
            .iter()
            .map(|&(register, _)| units_of(function, register))
            .sum();
        let first_unit = longer
            .first()
            .map_or(0, |&(register, _)| units_of(function, register));
        let is_one_register = longer.iter().all(|&(register, _)| register == longer[0].0);
        if longer.is_empty() || is_one_target && is_free(units) || is_one_register && is_free(first_unit) {
            return true;
        }
        let map = self
            .pressure
            .get_or_insert_with(|| context.pressure_map(function));
        let extensions: SmallVec<[_; 4]> = longer
            .iter()
            .map(|&(register, target)| map.extension(function, register, target))
            .collect();
        if !extensions.iter().all(|extension| extension.fits(self.room)) {
            return false;
        }
        for extension in extensions {
            map.accept(function, &extension, None);
        }
        true
    }
}

/// Returns the instructions that are unneeded after the rewrite, those replaced by a value first.
fn find_gone(function: &Function, planned: &Planned) -> SmallVec<[Instruction; 4]> {
    let mut gone: SmallVec<[Instruction; 4]> = SmallVec::new();
    for change in &planned.changes {
        if change.nodes.is_empty() {
            gone.push(change.target);
        }
    }
    let targets = planned.changes.iter().map(|change| change.target);
    let mut pending: SmallVec<[Instruction; 8]> = targets.collect();
    while let Some(user) = pending.pop() {
        for source in function.sources(user) {
            let Some(register) = source.as_register() else {
                continue;
            };
            let Some(definition) = function.unique_definition(register) else {
                continue;
            };
            if gone.len() >= MOST_GONE
                || gone.contains(&definition)
                || planned.change_of(definition).is_some()
            {
                continue;
            }
            if is_unneeded(function, planned, &gone, definition) {
                gone.push(definition);
                pending.push(definition);
            }
        }
    }
    gone
}

/// True if nothing will use an instruction.
fn is_unneeded(
    function: &Function,
    planned: &Planned,
    gone: &[Instruction],
    instruction: Instruction,
) -> bool {
    if !function.is_removable_if_unused(instruction) || function.operation(instruction) == Operation::Phi {
        return false;
    }
    let mut results = function.results(instruction).iter();
    results.all(|result| {
        result.as_register().is_some_and(|register| {
            let mut users = function.uses(register);
            let is_left = |user: Instruction| gone.contains(&user) || planned.change_of(user).is_some();
            !planned.reads(register) && users.all(|(user, _)| is_left(user))
        })
    })
}

/// True if the measure falls.
fn falls(function: &Function, planned: &Planned, gone: &[Instruction]) -> bool {
    let rank_of = |instruction: Instruction| {
        let bits = function
            .data_type(instruction)
            .bits()
            .max(function.source_type(instruction).bits());
        rank(
            function.operation(instruction),
            bits,
            function.sources(instruction).iter(),
        )
    };
    let rank_of_new =
        |new: &InstructionBuilder| rank(new.operation(), new.widest_bits(), new.sources().iter().copied());
    let mut before = (
        gone.len(),
        gone.iter().map(|&instruction| rank_of(instruction)).sum::<u32>(),
    );
    let mut after = (0, 0);
    for PlannedChange { target, nodes, .. } in &planned.changes {
        if nodes.is_empty() {
            continue;
        }
        before = (before.0 + 1, before.1 + rank_of(*target));
        after.0 += nodes.len();
        after.1 += nodes.iter().map(rank_of_new).sum::<u32>();
    }
    after < before
}

/// True if each block with new instructions loses as many.
fn keeps_blocks_small(function: &Function, planned: &Planned, gone: &[Instruction]) -> bool {
    planned.changes.iter().all(|change| {
        let block = function.block_of(change.target);
        let lost = gone
            .iter()
            .filter(|&&instruction| function.block_of(instruction) == block);
        // The new instructions replace the target.
        change.nodes.len() <= 1 + lost.filter(|&&instruction| instruction != change.target).count()
    })
}
