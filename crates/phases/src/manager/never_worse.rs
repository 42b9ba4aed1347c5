//! The guard of profiles: reverts the phases of a stage if together they made a function worse.
//!
//! Two figures are compared. *Weighted instructions*: the instructions that become PTX, each
//! weighted by how often its block runs per execution of the function (by LLVM's frequencies, which
//! exist only in the late stage, otherwise by loop depth); an access to local memory counts four
//! times. *Excess pressure*: the number of registers by which the peak exceeds the register budget;
//! these would spill. An improvement of one figure does not make up for the other.

use oriel_engine::entity::{Block, EntitySet, Register};
use oriel_ori::analysis::BlockWeights;
use oriel_ori::{
    AddressSpace, ControlFlow, Function, Instruction, Liveness, OperandKind, Operation, RegisterFile,
    each_boundary_use, peaks_of_blocks, units_of,
};
use std::rc::Rc;

/// LLVM rounds frequencies, so the targets of a branch may together weigh less than the branch. A
/// difference below this share of the weight is ignored.
const ROUNDING: f64 = 1.0 / 1024.0;

/// The weight of a load or store of local memory relative to other instructions: a multiprocessor
/// has a quarter as many lanes for them as for arithmetic.
const LOCAL_ACCESS: f64 = 4.0;

/// How many executed instructions a phase may add to lower the pressure, in percent of all.
pub(crate) const MOST_ADDED_PERCENT: f64 = 6.0;

/// The cost of a function, as far as it is known before ptxas runs.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cost {
    /// Estimated executed instructions per execution of the function.
    pub weighted_instructions: f64,
    /// Units of data registers above the budget at the fullest point.
    pub excess_pressure: u32,
}

impl Cost {
    /// Computes the cost of a function for a register budget. Calls `liveness` only if necessary, or
    /// if it is known.
    pub fn of(
        function: &Function,
        flow: &ControlFlow,
        register_budget: u32,
        is_liveness_known: bool,
        liveness: impl FnOnce() -> Rc<Liveness>,
    ) -> Self {
        Self {
            weighted_instructions: weighted_instructions(function, flow),
            excess_pressure: excess_pressure(function, register_budget, is_liveness_known, liveness),
        }
    }

    /// Describes how this cost is higher than another; none if it is not.
    pub fn worse_than(self, other: Self) -> Option<String> {
        let (before, after) = (other.weighted_instructions, self.weighted_instructions);
        if after > before + before * ROUNDING {
            return Some(format!(
                "weighted instructions {before:.1} before, {after:.1} after phases"
            ));
        }
        let (before, after) = (other.excess_pressure, self.excess_pressure);
        (after > before).then(|| {
            format!("the fullest point exceeds the register budget by {before} units before, by {after} after phases")
        })
    }
}

/// Returns the [weighted instructions](Cost::weighted_instructions) of a function.
pub fn weighted_instructions(function: &Function, flow: &ControlFlow) -> f64 {
    let weights = BlockWeights::compute(function, flow);
    let of_block = |block| -> f64 {
        let code = function
            .instructions(block)
            .filter(|&instruction| becomes_code(function, instruction));
        code.map(|instruction| count_of(function, instruction)).sum()
    };
    let blocks = function.blocks().iter();
    blocks.map(|&block| weights.of(block) * of_block(block)).sum()
}

/// Returns the weight of an instruction.
fn count_of(function: &Function, instruction: Instruction) -> f64 {
    let is_access = matches!(function.operation(instruction), Operation::Ld | Operation::St);
    if is_access && function.modifiers(instruction).space == AddressSpace::Local {
        LOCAL_ACCESS
    } else {
        1.0
    }
}

/// True if an instruction becomes one in PTX.
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

/// Returns the [excess pressure](Cost::excess_pressure) of a function for a register budget. Calls
/// `liveness` only if necessary, or if it is known.
pub fn excess_pressure(
    function: &Function,
    register_budget: u32,
    is_liveness_known: bool,
    liveness: impl FnOnce() -> Rc<Liveness>,
) -> u32 {
    let is_data = |register| is_data(function, register);
    let units = |register| match is_data(register) {
        true => units_of(function, register),
        false => 0,
    };
    // Liveness is the most expensive part, and most functions have few registers anyway.
    let all: u32 = function.registers().map(units).sum();
    let fits = || !is_liveness_known && most_live(function, is_data) <= register_budget;
    if all <= register_budget || fits() {
        return 0;
    }
    let peaks = peaks_of_blocks(function, &liveness(), units).into_iter();
    let peak = peaks.map(|(_, peak)| peak).max().unwrap_or(0);
    peak.saturating_sub(register_budget)
}

pub(crate) fn is_data(function: &Function, register: Register) -> bool {
    matches!(
        function.register(register).file,
        RegisterFile::R | RegisterFile::Ur
    )
}

/// Returns an upper bound for the units live at once: those of all registers that are live across
/// some block boundary, and those defined in the fullest block.
pub(crate) fn most_live(function: &Function, is_data: impl Fn(Register) -> bool) -> u32 {
    let mut lives_across: EntitySet<Register> = EntitySet::with_capacity(function.register_limit());
    let mut across = 0;
    each_boundary_use(function, |register| {
        if is_data(register) && lives_across.insert(register) {
            across += units_of(function, register);
        }
    });
    let of_block = |&block: &Block| -> u32 {
        let registers = function
            .instructions(block)
            .flat_map(|instruction| function.result_registers(instruction));
        registers
            .filter(|&register| is_data(register) && !lives_across.contains(register))
            .map(|register| units_of(function, register))
            .sum()
    };
    across + function.blocks().iter().map(of_block).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::random_function::random_function;
    use oriel_ori::{RegisterPressure, parse_function};
    use proptest::prelude::*;

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
        let flow = ControlFlow::of(&function);
        let liveness = || Rc::new(Liveness::compute(&function, &flow));
        Cost::of(&function, &flow, budget, false, liveness)
    }

    #[test]
    fn phis_and_falling_through_cost_nothing() {
        assert_eq!(cost(CODE, 70).weighted_instructions, 4.0);
        assert_eq!(cost(&CODE.replace("fall ", ""), 70).weighted_instructions, 5.0);
    }

    #[test]
    fn what_is_in_a_loop_runs_several_times_where_frequencies_are_not_known() {
        let around = CODE.replace("    RET\n", "    BRA %4, bix1, fall bix2\nbix2:\n    RET\n");
        let around = around.replace("PHI.b32 %2, bix0", "PHI.b32 %2, bix0, %3, bix1");
        let around = around.replace(
            "kernel \"k\" sm_80 ssa {\n",
            "kernel \"k\" sm_80 ssa {\n    declare %4:P\n",
        );
        // Two loads and the return, and ten times a store and a branch.
        assert_eq!(cost(&around, 70).weighted_instructions, 23.0);
    }

    #[test]
    fn local_memory_costs_more_than_arithmetic() {
        let local = CODE.replace("ST.global", "ST.local");
        assert_eq!(cost(&local, 70).weighted_instructions, 3.0 + LOCAL_ACCESS);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn the_bound_is_one(seed: u64) {
            for stage in [Stage::Ssa, Stage::Late] {
                let function = random_function(seed, stage);
                let liveness = Liveness::of(&function);
                let peak = RegisterPressure::compute(&function, &liveness, None).peak_data;
                let bound = most_live(&function, |register| is_data(&function, register));
                prop_assert!(peak <= bound, "{peak} of {bound}\n{function}");
                let liveness = Rc::new(liveness);
                for (budget, is_known) in [(peak / 2, true), (peak / 2, false), (peak, true)] {
                    let excess = excess_pressure(&function, budget, is_known, || Rc::clone(&liveness));
                    prop_assert_eq!(excess, peak - budget, "{}", function);
                }
            }
        }
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
        assert_eq!(cost(9_000.0, 3).worse_than(cost(10_000.0, 3)), None);
        assert_eq!(cost(10_009.0, 0).worse_than(cost(10_000.0, 0)), None);
        let reason = cost(10_010.0, 0).worse_than(cost(10_000.0, 3)).unwrap();
        assert!(reason.contains("10000.0 before, 10010.0 after"), "{reason}");
        assert!(cost(9_000.0, 4).worse_than(cost(10_000.0, 3)).is_some());
    }
}
