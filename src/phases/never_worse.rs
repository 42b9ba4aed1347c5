//! The guard of profiles: what the phases of a stage made worse, all together, stays as LLVM made it.
//!
//! Two figures are compared. *Weighted instructions*: those that become PTX, each as often as LLVM thinks that its block runs. *Excess
//! pressure*: by how much the data registers live at the fullest point exceed the register budget, which is what spills. Less of
//! one does not buy more of the other.

use crate::ori::{
    Function, Instruction, Liveness, OperandKind, Operation, RegisterFile, RegisterPressure, units_of,
};
use std::rc::Rc;

/// LLVM rounds frequencies, so the targets of a branch may together weigh less than the branch. A part of the weight that is as
/// small as that is nothing.
const ROUNDING: u128 = 1024;

/// What a function costs, as far as that is known before ptxas has run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cost {
    /// Sum of the frequencies of all instructions that become PTX.
    pub weighted_instructions: u128,
    /// Units of data registers at the fullest point above the budget.
    pub excess_pressure: u32,
}

impl Cost {
    /// The cost of a function with a budget of registers, from its liveness, which is not always asked for.
    pub fn of(function: &Function, register_budget: u32, liveness: impl FnOnce() -> Rc<Liveness>) -> Self {
        Self {
            weighted_instructions: weighted_instructions(function),
            excess_pressure: excess_pressure(function, register_budget, liveness),
        }
    }

    /// What makes this cost higher than another; none: nothing.
    pub fn worse_than(self, other: Self) -> Option<String> {
        let (before, after) = (other.weighted_instructions, self.weighted_instructions);
        if after > before + before / ROUNDING {
            return Some(format!(
                "weighted instructions {before} before, {after} after phases"
            ));
        }
        let (before, after) = (other.excess_pressure, self.excess_pressure);
        (after > before).then(|| {
            format!("the fullest point exceeds the register budget by {before} units before, by {after} after phases")
        })
    }
}

/// The [weighted instructions](Cost::weighted_instructions) of a function.
pub fn weighted_instructions(function: &Function) -> u128 {
    let weight = |block| u128::from(function.frequency(block).max(1));
    let count = |block| {
        let all = function.instructions(block);
        all.filter(|&instruction| becomes_code(function, instruction))
            .count() as u128
    };
    let blocks = function.blocks().iter();
    blocks.map(|&block| weight(block) * count(block)).sum()
}

/// Is an instruction one of PTX?
fn becomes_code(function: &Function, instruction: Instruction) -> bool {
    match function.operation(instruction) {
        Operation::Phi | Operation::ImplicitDef | Operation::Nop => false,
        // Falling through is no instruction.
        Operation::Bra => {
            let mut sources = function.sources(instruction).iter();
            sources.any(|source| !matches!(source.kind(), OperandKind::FallThrough(_)))
        }
        operation => !operation.is_debug(),
    }
}

/// The [excess pressure](Cost::excess_pressure) of a function with a budget of registers, from its liveness, which is not always
/// asked for.
pub fn excess_pressure(
    function: &Function,
    register_budget: u32,
    liveness: impl FnOnce() -> Rc<Liveness>,
) -> u32 {
    let is_data = |register| {
        matches!(
            function.register(register).file,
            RegisterFile::R | RegisterFile::Ur
        )
    };
    // Liveness takes longer than all else here, and most functions have few registers at all.
    let registers = function.registers().filter(|&register| is_data(register));
    let all: u32 = registers.map(|register| units_of(function, register)).sum();
    if all <= register_budget {
        return 0;
    }
    let peak = RegisterPressure::compute(function, &liveness(), None).peak.data();
    peak.saturating_sub(register_budget)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Traversal;
    use crate::ori::{ControlFlow, parse_function};

    const CODE: &str = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.global.b64 [0]
    %2:R32 = LD.global.b32 [8]
    BRA fall bix1
bix1:
    %3:R32 = PHI.b32 %2, bix0
    ST.global.b32 %3, [%1]
    RET
}
";

    fn cost(text: &str, budget: u32) -> Cost {
        let function = parse_function(text).expect("it is well formed");
        let flow = ControlFlow::analyze(&function, Traversal::default());
        Cost::of(&function, budget, || Rc::new(Liveness::compute(&function, &flow)))
    }

    #[test]
    fn phis_and_falling_through_cost_nothing() {
        assert_eq!(cost(CODE, 70).weighted_instructions, 4);
        assert_eq!(cost(&CODE.replace("fall ", ""), 70).weighted_instructions, 5);
    }

    #[test]
    fn pressure_counts_above_the_budget() {
        assert_eq!(
            [2, 3, 4].map(|budget| cost(CODE, budget).excess_pressure),
            [1, 0, 0]
        );
    }

    #[test]
    fn less_of_one_does_not_buy_more_of_the_other() {
        let cost = |weighted_instructions, excess_pressure| Cost {
            weighted_instructions,
            excess_pressure,
        };
        assert_eq!(cost(9_000, 3).worse_than(cost(10_000, 3)), None);
        assert_eq!(cost(10_009, 0).worse_than(cost(10_000, 0)), None);
        let reason = cost(10_010, 0).worse_than(cost(10_000, 3)).unwrap();
        assert!(reason.contains("10000 before, 10010 after"), "{reason}");
        assert!(cost(9_000, 4).worse_than(cost(10_000, 3)).is_some());
    }
}
