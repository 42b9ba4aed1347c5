//! The most that is live at once within a block.

use super::weights::Weights;
use crate::bitvector::EntityBitSet;
use crate::entity::{Block, Register};
use crate::ori::{Function, Instruction, Liveness, Operation};

/// Finds the fullest points of a function's blocks, in this order or another.
pub(super) struct PeakFinder<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    weights: &'a Weights,
    live: EntityBitSet<Register>,
}

impl<'a> PeakFinder<'a> {
    /// For a function, with its liveness.
    pub fn new(function: &'a Function, liveness: &'a Liveness, weights: &'a Weights) -> Self {
        Self {
            function,
            liveness,
            weights,
            live: EntityBitSet::with_room(function.register_limit()),
        }
    }

    /// The most units that are live at once in a block.
    pub fn peak_of_block(&mut self, block: Block) -> u32 {
        self.peak_of(block, self.function.instructions(block).rev())
    }

    /// The most that would be, if the instructions between PHIs and terminator stood in this order.
    pub fn peak_of_order(
        &mut self,
        block: Block,
        order: impl DoubleEndedIterator<Item = Instruction>,
    ) -> u32 {
        self.peak_of(
            block,
            self.function.terminator(block).into_iter().chain(order.rev()),
        )
    }

    /// A bound that no order gets below: what is live where a block begins and where it ends.
    pub fn least_at_borders(&self, block: Block) -> u32 {
        let units = |registers: &mut dyn Iterator<Item = Register>| -> u32 {
            registers.map(|register| self.weights.get(register)).sum()
        };
        units(&mut self.liveness.live_in(block)).max(units(&mut self.liveness.live_out(block)))
    }

    fn peak_of(&mut self, block: Block, backwards: impl Iterator<Item = Instruction>) -> u32 {
        let (function, weights) = (self.function, self.weights);
        self.live.clear();
        let mut units = 0;
        for register in self.liveness.live_out(block) {
            self.live.insert(register);
            units += weights.get(register);
        }
        let mut peak = units;
        for instruction in backwards {
            let operation = function.operation(instruction);
            if operation == Operation::Phi {
                break;
            }
            if operation.is_debug() {
                continue;
            }
            let results = || {
                function
                    .results(instruction)
                    .iter()
                    .filter_map(|result| result.as_register())
            };
            // A result that nothing reads needs a register all the same.
            let unread: u32 = results()
                .filter(|&register| !self.live.contains(register))
                .map(|register| weights.get(register))
                .sum();
            peak = peak.max(units + unread);
            for register in results() {
                if self.live.remove(register) {
                    units -= weights.get(register);
                }
            }
            for source in function.sources(instruction) {
                if let Some(register) = source.as_register().filter(|_| !source.is_undefined())
                    && self.live.insert(register)
                {
                    units += weights.get(register);
                }
            }
            peak = peak.max(units);
        }
        peak
    }
}
