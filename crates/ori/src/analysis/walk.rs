//! Walks a block backward with the registers that are live after each instruction.

use crate::{Function, Instruction, Liveness, Operation};
use oriel_engine::bitvector::{EntityBitSet, ScratchSet};
use oriel_engine::entity::{Block, Register};

/// Walks blocks backward. Keeps its set from block to block.
pub struct BlockWalk<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    live: ScratchSet<Register>,
}

impl<'a> BlockWalk<'a> {
    /// Creates a walk over `function`, whose liveness is given.
    pub fn new(function: &'a Function, liveness: &'a Liveness) -> Self {
        Self {
            function,
            liveness,
            live: ScratchSet::with_room(function.register_limit()),
        }
    }

    /// Calls `visit` with every instruction of a block except PHIs, last first, and the registers
    /// live after it. Returns the registers live after the PHIs, including results of PHIs that are
    /// used: PHIs take effect all at once at the start of the block.
    pub fn visit(
        &mut self,
        block: Block,
        mut visit: impl FnMut(Instruction, &EntityBitSet<Register>),
    ) -> &EntityBitSet<Register> {
        self.live.clear();
        for register in self.liveness.live_out(block) {
            self.live.insert(register);
        }
        for instruction in self.function.instructions(block).rev() {
            if self.function.operation(instruction) == Operation::Phi {
                break;
            }
            visit(instruction, &self.live);
            for register in self.function.result_registers(instruction) {
                self.live.remove(register);
            }
            for source in self.function.sources(instruction) {
                if let Some(register) = source.read_register() {
                    self.live.insert(register);
                }
            }
        }
        &self.live
    }
}
