//! The cost of spilling a register, and where it would be stored and loaded.
//!
//! ```text
//! cost = (stores + loads) / length
//! ```
//!
//! Each definition becomes a store and each use a load, weighted by how often their block runs: by
//! LLVM's frequencies where they are known, otherwise ten times per enclosing loop. The length is
//! the number of instructions after which the register is live, which is what spilling frees for
//! others. The register with the lowest cost is the one to spill (Chaitin, "Register Allocation and
//! Spilling via Graph Coloring", 1982, with the length as in LLVM's spill weights).

use crate::{ControlFlow, Function, Instruction, Liveness, Operation};
use oriel_engine::entity::{Block, Register, SecondaryMap};

/// How often blocks run, relative to the entry.
#[derive(Clone, Debug)]
pub struct BlockWeights {
    weights: SecondaryMap<Block, f64>,
}

impl BlockWeights {
    /// Iterations per entry of a loop if frequencies are not known.
    const TRIPS: f64 = 10.0;

    /// Computes the weights of a function's blocks.
    pub fn compute(function: &Function, flow: &ControlFlow) -> Self {
        let entry = function.info.entry_frequency;
        let all_known = entry != 0
            && function
                .blocks()
                .iter()
                .all(|&block| function.frequency(block) != 0);
        let mut weights = SecondaryMap::new();
        weights.resize(function.block_limit());
        for &block in function.blocks() {
            weights[block] = if all_known {
                function.frequency(block) as f64 / entry as f64
            } else {
                Self::TRIPS.powi(flow.loops.depth_of(block).min(64) as i32)
            };
        }
        Self { weights }
    }

    /// Returns how often a block runs.
    pub fn of(&self, block: Block) -> f64 {
        self.weights[block]
    }
}

/// The cost of spilling a register.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct SpillCost {
    /// Executed stores per execution of the function.
    pub stores: f64,
    /// Executed loads per execution of the function.
    pub loads: f64,
    /// Instructions after which the register is live.
    pub length: u64,
}

impl SpillCost {
    /// Returns memory accesses per instruction that is freed; infinite if none is.
    pub fn cost(&self) -> f64 {
        if self.length == 0 {
            f64::INFINITY
        } else {
            (self.stores + self.loads) / self.length as f64
        }
    }
}

/// Returns the costs of all registers. PHIs cost nothing by themselves: both sides of a PHI share
/// one stack slot.
pub fn spill_costs(
    function: &Function,
    liveness: &Liveness,
    weights: &BlockWeights,
) -> SecondaryMap<Register, SpillCost> {
    let mut costs: SecondaryMap<Register, SpillCost> = SecondaryMap::new();
    // The end of the current value, in instructions from the end of the block, walking backward.
    let mut ends: SecondaryMap<Register, Option<u64>> = SecondaryMap::new();
    for &block in function.blocks() {
        let weight = weights.of(block);
        for register in liveness.live_out(block) {
            ends[register] = Some(0);
        }
        let mut behind = 0;
        for instruction in function.instructions(block).rev() {
            behind += 1;
            if function.operation(instruction) == Operation::Phi {
                behind -= 1;
            }
            visit(function, instruction, weight, behind, &mut costs, &mut ends);
        }
        for register in liveness.live_in(block) {
            if let Some(end) = ends[register].take() {
                costs[register].length += behind - end;
            }
        }
    }
    costs
}

/// Counts an instruction; `behind` is its distance from the end of its block, counting itself.
fn visit(
    function: &Function,
    instruction: Instruction,
    weight: f64,
    behind: u64,
    costs: &mut SecondaryMap<Register, SpillCost>,
    ends: &mut SecondaryMap<Register, Option<u64>>,
) {
    let is_phi = function.operation(instruction) == Operation::Phi;
    for register in function.result_registers(instruction) {
        if let Some(end) = ends[register].take() {
            costs[register].length += behind - end;
        }
        if !is_phi {
            costs[register].stores += weight;
        }
    }
    if is_phi {
        return;
    }
    let sources = function.sources(instruction);
    for (number, source) in sources.iter().enumerate() {
        let Some(register) = source.read_register() else {
            continue;
        };
        ends[register].get_or_insert(behind);
        // One load serves all operands of an instruction.
        let mut before = sources.iter().take(number);
        if !before.any(|other| other.read_register() == Some(register)) {
            costs[register].loads += weight;
        }
    }
}

/// A load of a spilled register that serves the uses of one block.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ReloadCandidate {
    /// The block whose uses it serves.
    pub block: Block,
    /// The first of these uses.
    pub first_use: Instruction,
    /// A block at whose end the load could be placed instead and run less often: the cheapest one
    /// that dominates.
    pub hoisted: Option<Block>,
}

/// Returns where a spilled register would be loaded: once for each block that uses it before
/// defining it. A store follows each definition.
pub fn reload_candidates(
    function: &Function,
    flow: &ControlFlow,
    liveness: &Liveness,
    weights: &BlockWeights,
    register: Register,
) -> Vec<ReloadCandidate> {
    let mentions = |instruction: Instruction| {
        function.operation(instruction) != Operation::Phi
            && function
                .sources(instruction)
                .iter()
                .any(|source| source.read_register() == Some(register))
    };
    let is_defined_in = |block: Block| {
        let mut definitions = function.definitions(register);
        definitions.any(|(definition, _)| function.block_of(definition) == Some(block))
    };
    let mut candidates = Vec::new();
    for &block in function.blocks() {
        if !liveness.is_live_in(register, block) {
            continue;
        }
        let Some(first_use) = function
            .instructions(block)
            .find(|&instruction| mentions(instruction))
        else {
            continue;
        };
        let mut hoisted: Option<Block> = None;
        let mut above = block;
        // With several definitions, one that does not dominate may lie in between.
        let has_one_value = function.unique_definition(register).is_some();
        while has_one_value && let Some(dominator) = flow.dominators.immediate(above) {
            let cheapest = hoisted.unwrap_or(block);
            if liveness.is_live_out(register, dominator) && weights.of(dominator) < weights.of(cheapest) {
                hoisted = Some(dominator);
            }
            // Above the definition there is no value.
            if is_defined_in(dominator) {
                break;
            }
            above = dominator;
        }
        candidates.push(ReloadCandidate {
            block,
            first_use,
            hoisted,
        });
    }
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_functions;
    use crate::random_function::random_function;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn costs_are_what_counting_gives(seed in any::<u64>(), late in any::<bool>()) {
            let function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            let flow = ControlFlow::of(&function);
            let liveness = Liveness::compute(&function, &flow);
            let weights = BlockWeights::compute(&function, &flow);
            let costs = spill_costs(&function, &liveness, &weights);
            let mut lengths: SecondaryMap<Register, u64> = SecondaryMap::new();
            let counted = function.all_instructions().filter(|&it| function.operation(it) != Operation::Phi);
            for after in counted.map(|it| liveness.index(it).dead_slot()) {
                for register in function.registers().filter(|&it| liveness.range(it).live_at(after)) {
                    lengths[register] += 1;
                }
            }
            for register in function.registers() {
                let is_counted = |instruction: Instruction| function.operation(instruction) != Operation::Phi;
                let weight = |instruction| weights.of(function.block_of(instruction).unwrap());
                let stores: f64 = function
                    .definitions(register)
                    .map(|(definition, _)| definition)
                    .filter(|&definition| is_counted(definition))
                    .map(weight)
                    .sum();
                let mut users: Vec<Instruction> = function
                    .uses(register)
                    .filter(|&(user, number)| function.source(user, number).read_register().is_some())
                    .map(|(user, _)| user)
                    .filter(|&user| is_counted(user))
                    .collect();
                users.sort_unstable();
                users.dedup();
                let loads: f64 = users.into_iter().map(weight).sum();
                let cost = costs[register];
                prop_assert_eq!(cost.length, lengths[register], "{}", register);
                prop_assert!((cost.stores - stores).abs() <= 1e-9 * stores);
                prop_assert!((cost.loads - loads).abs() <= 1e-9 * loads);
            }
        }
    }

    #[test]
    fn a_load_leaves_the_loop_that_does_not_change_the_value() {
        let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %3:R32 = PHI.b32 %2, bix0, %4, bix1
    %4:R32 = IADD.b32 %3, %1
    %5:P = ISETP.gt.s32 %4, 100
    BRA %5, bix2, fall bix1
bix2:
    RET
}
";
        let function = &parse_functions(text).expect("it is well formed")[0];
        let flow = ControlFlow::of(function);
        let liveness = Liveness::compute(function, &flow);
        let weights = BlockWeights::compute(function, &flow);
        let register = Register::from_u32(1);
        let candidates = reload_candidates(function, &flow, &liveness, &weights, register);
        let found: Vec<_> = candidates
            .iter()
            .map(|candidate| (candidate.block.as_u32(), candidate.hoisted.map(Block::as_u32)))
            .collect();
        assert_eq!(found, [(1, Some(0))]);
        let costs = spill_costs(function, &liveness, &weights);
        let cost = costs[register];
        // Live after all three of the first block and all three of the second.
        assert_eq!((cost.stores, cost.loads, cost.length), (1.0, 10.0, 6));
        assert!(cost.cost() < costs[Register::from_u32(4)].cost());
    }
}
