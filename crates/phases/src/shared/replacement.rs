//! Replacement of redundant computations, as far as registers allow.
//!
//! Reusing an available value extends its live range. So the pressure over the extension is checked
//! each time: if it would exceed the register budget, the computation stays. Otherwise the
//! available register replaces the other one.

use crate::{PhaseContext, RemarkKind};
use oriel_engine::entity::Register;
use oriel_ori::analysis::PressureMap;
use oriel_ori::{Function, Instruction};
use smallvec::SmallVec;

/// Replaces instructions and emits remarks.
#[derive(Debug, Default)]
pub(crate) struct Replacement {
    /// Computed for the first replacement.
    pressure: Option<PressureMap>,
    /// True if replacements ignore the pressure.
    is_forced: bool,
    replaced: usize,
    kept: u64,
}

impl Replacement {
    /// Creates a replacement without work; with `is_forced` the pressure is ignored.
    pub fn new(is_forced: bool) -> Self {
        Self {
            is_forced,
            ..Self::default()
        }
    }

    /// Returns how many instructions were replaced.
    pub fn replaced(&self) -> usize {
        self.replaced
    }

    /// Replaces an expression's results by those of `leader` and removes the expression, if there
    /// is room for that.
    pub fn replace(
        &mut self,
        function: &mut Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        leader: Instruction,
    ) -> bool {
        let pairs: SmallVec<[(Register, Register); 2]> = function
            .result_registers(instruction)
            .zip(function.result_registers(leader))
            .filter(|&(result, _)| !function.is_unused(result))
            .collect();
        if !self.has_room(
            function,
            context,
            instruction,
            pairs.iter().map(|&(old, new)| (new, Some(old))),
        ) {
            return false;
        }
        let (kind, name) = (RemarkKind::Passed, "CommonSubexpression");
        context.remark(kind, name, function, Some(instruction), || {
            let operation = function.operation(instruction).name();
            format!("removed {operation}: its value is available")
        });
        for (result, value) in pairs {
            function.replace_uses(result, function.register_operand(value));
        }
        function.merge_into(instruction, leader);
        self.replaced += 1;
        true
    }

    /// True if registers can be live up to an instruction, from where on they may replace others.
    /// They count as live then.
    pub fn has_room(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        registers: impl Iterator<Item = (Register, Option<Register>)>,
    ) -> bool {
        if self.is_forced {
            return true;
        }
        let budget = context.options.register_budget;
        let map = self
            .pressure
            .get_or_insert_with(|| context.pressure_map(function));
        let extensions: SmallVec<[_; 2]> = registers
            .map(|(register, replaced)| (replaced, map.extension(function, register, instruction)))
            .collect();
        if let Some((_, tight)) = extensions.iter().find(|(_, extension)| !extension.fits(budget)) {
            self.kept += 1;
            let peak = tight.peak();
            let (kind, name) = (RemarkKind::Missed, "HighPressure");
            context.remark(kind, name, function, Some(instruction), || {
                let operation = function.operation(instruction).name();
                match peak {
                    Some(peak) => {
                        format!("{operation} stays: keeping the earlier value would take {peak} registers")
                    }
                    None => format!("{operation} stays: the earlier value is too far away"),
                }
            });
            return false;
        }
        for (replaced, extension) in extensions {
            map.accept(function, &extension, replaced);
        }
        true
    }

    /// Adds to the counters of the phase.
    pub fn count(&self, context: &mut PhaseContext<'_>) {
        context.count("removed-instructions", self.replaced as u64);
        context.count("kept-for-pressure", self.kept);
    }
}
