//! The live range of one register, block by block.

use oriel_engine::entity::{Block, EntityRef, EntitySet, Register, SecondaryMap};
use oriel_ori::{ControlFlow, Function, Instruction, Operation};
use smallvec::SmallVec;

/// A use of a register: the position in the block where its value is needed, and the operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Use {
    pub position: u32,
    /// The value is needed before this instruction: the user itself, or the terminator of the
    /// predecessor for a PHI.
    pub before: Instruction,
    pub user: Instruction,
    pub number: usize,
}

/// The live range of a register with one definition that precedes every use, as sets of blocks.
#[derive(Debug, Default)]
pub(super) struct Range {
    /// The block of the definition; a single one, so no set.
    kill: Option<Block>,
    /// Blocks that use the value on entry: the reference's gen set.
    upward: EntitySet<Block>,
    /// Blocks through which it is live without a use.
    live_through: EntitySet<Block>,
    live_in: EntitySet<Block>,
    live_out: EntitySet<Block>,
    /// The members of the sets, for clearing them.
    blocks: Vec<Block>,
    /// Uses by block, in order; of blocks in `blocks`.
    uses: SecondaryMap<Block, SmallVec<[Use; 2]>>,
    pub definition_position: u32,
}

impl Range {
    /// Computes the range of another register. `positions` are those of instructions in their
    /// blocks, from one, with PHIs at zero.
    pub fn compute(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        positions: &[u32],
        register: Register,
    ) {
        for block in self.blocks.drain(..) {
            self.uses[block].clear();
        }
        for set in [
            &mut self.upward,
            &mut self.live_through,
            &mut self.live_in,
            &mut self.live_out,
        ] {
            set.clear();
        }
        let definition = function
            .unique_definition(register)
            .expect("a range has one definition");
        let home = function.block_of(definition).expect("a definition is in a block");
        self.definition_position = positions[definition.index()];
        self.kill = Some(home);
        self.blocks.push(home);
        let mut pending = Vec::new();
        for (user, number) in function.uses(register) {
            self.add_use(function, positions, home, (user, number), &mut pending);
        }
        while let Some(block) = pending.pop() {
            if !self.live_in.insert(block) {
                continue;
            }
            self.blocks.push(block);
            for &predecessor in flow.graph.predecessors(block) {
                self.live_out.insert(predecessor);
                if predecessor != home {
                    pending.push(predecessor);
                }
            }
        }
        for &block in &self.blocks {
            self.uses[block].sort_unstable_by_key(|place| place.position);
            if self.live_in.contains(block) && !self.upward.contains(block) {
                self.live_through.insert(block);
            }
        }
    }

    fn add_use(
        &mut self,
        function: &Function,
        positions: &[u32],
        home: Block,
        (user, number): (Instruction, usize),
        pending: &mut Vec<Block>,
    ) {
        if function.source(user, number).is_undefined() || function.operation(user).is_debug() {
            return;
        }
        let (block, before) = if function.operation(user) == Operation::Phi {
            let from = function.source(user, number + 1).as_block();
            let from = from.expect("the source of a PHI has a block");
            let end = function
                .terminator(from)
                .expect("a block that leads on has a terminator");
            self.live_out.insert(from);
            (from, end)
        } else {
            (function.block_of(user).expect("a user is in a block"), user)
        };
        self.uses[block].push(Use {
            position: positions[before.index()],
            before,
            user,
            number,
        });
        if block != home {
            self.upward.insert(block);
            pending.push(block);
        }
    }

    /// Returns the blocks in which the register is live or defined.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// Returns the uses in a block, in order.
    pub fn uses(&self, block: Block) -> &[Use] {
        &self.uses[block]
    }

    /// Returns the block in which the register is defined.
    ///
    /// # Panics
    /// No range was computed.
    pub fn home(&self) -> Block {
        self.kill.expect("a range has a definition")
    }

    /// True if the register is defined in the block.
    pub fn is_home(&self, block: Block) -> bool {
        self.kill == Some(block)
    }

    /// True if the register is live at the end of the block.
    pub fn is_live_out(&self, block: Block) -> bool {
        self.live_out.contains(block)
    }

    /// Returns the blocks on whose entry the register is live after having been live at a point
    /// with too high pressure: those after blocks for which `is_hot` holds, given the first
    /// position in the block at which the range could end.
    pub fn crossed(&self, flow: &ControlFlow, is_hot: impl Fn(Block, u32) -> bool) -> EntitySet<Block> {
        let mut crossed = EntitySet::new();
        let from = |block: Block| {
            if self.is_home(block) {
                self.definition_position + 1
            } else {
                0
            }
        };
        let leaves_hot = |&&block: &&Block| self.is_live_out(block) && is_hot(block, from(block));
        let mut pending: Vec<Block> = self.blocks.iter().filter(leaves_hot).copied().collect();
        while let Some(block) = pending.pop() {
            for &successor in flow.graph.successors(block) {
                if self.live_in.contains(successor)
                    && crossed.insert(successor)
                    && self.is_live_out(successor)
                {
                    pending.push(successor);
                }
            }
        }
        crossed
    }

    /// True if the register is live through the block without being used or defined in it.
    pub fn is_live_through(&self, block: Block) -> bool {
        self.live_through.contains(block)
    }
}
