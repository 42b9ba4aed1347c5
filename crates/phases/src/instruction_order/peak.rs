//! The peak within a block.

use super::loads_first::loads_first;
use super::{BlockOrder, Weights};
use oriel_engine::bitvector::ScratchSet;
use oriel_engine::entity::{Block, Register};
use oriel_ori::analysis::DependencyNode;
use oriel_ori::{Function, Instruction, Liveness, Operation};

/// Finds the peaks of a function's blocks, in this order or another.
pub(crate) struct PeakFinder<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    weights: &'a Weights,
    live: ScratchSet<Register>,
}

impl<'a> PeakFinder<'a> {
    /// Creates a finder for a function with its liveness.
    pub fn new(function: &'a Function, liveness: &'a Liveness, weights: &'a Weights) -> Self {
        Self {
            function,
            liveness,
            weights,
            live: ScratchSet::with_room(function.register_limit()),
        }
    }

    /// Returns the peak of a block.
    pub fn peak_of_block(&mut self, block: Block) -> u32 {
        self.peak_of(block, self.function.instructions(block).rev())
    }

    /// Returns the peak of a block in another order.
    pub fn peak_of_block_order(&mut self, order: &BlockOrder) -> u32 {
        self.peak_of_nodes(order, order.nodes())
    }

    /// Returns the peaks of a block in the present order and in another, once ptxas has moved loads
    /// up.
    pub fn peaks_with_loads_first(&mut self, order: &BlockOrder) -> [u32; 2] {
        let present: Vec<DependencyNode> = order.graph().nodes().collect();
        [present.as_slice(), order.nodes()].map(|nodes| {
            let nodes = loads_first(self.function, order.graph(), nodes);
            self.peak_of_nodes(order, &nodes)
        })
    }

    fn peak_of_nodes(&mut self, order: &BlockOrder, nodes: &[DependencyNode]) -> u32 {
        let instructions = nodes.iter().map(|&node| order.graph().instruction(node));
        let end = self.function.terminator(order.block());
        self.peak_of(order.block(), end.into_iter().chain(instructions.rev()))
    }

    /// Returns a lower bound for all orders: the units live at the start and at the end of a block.
    pub fn least_at_boundaries(&self, block: Block) -> u32 {
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
            let results = || function.result_registers(instruction);
            // A result without reads needs a register all the same.
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
                if let Some(register) = source.read_register()
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
