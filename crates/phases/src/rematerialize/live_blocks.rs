//! The blocks through which some uses of a value keep it live.

use oriel_engine::bitvector::ScratchSet;
use oriel_engine::entity::{Block, Register};
use oriel_ori::{ControlFlow, Function, Instruction, OperandKind, Operation};

/// The blocks that a value is live into and, if it is live out of it, the block that defines it. Kept
/// from value to value to save allocations.
pub(super) struct LiveBlocks<'a> {
    flow: &'a ControlFlow,
    blocks: ScratchSet<Block>,
    /// The block of the value; none if it is live in no other.
    home: Option<Block>,
    /// The blocks whose predecessors were not visited yet.
    pending: Vec<Block>,
}

impl<'a> LiveBlocks<'a> {
    /// Creates the blocks of a value that is live in none.
    pub fn new(function: &Function, flow: &'a ControlFlow) -> Self {
        Self {
            flow,
            blocks: ScratchSet::with_room(function.block_limit()),
            home: None,
            pending: Vec::new(),
        }
    }

    /// Finds the blocks of a value that is computed in block `home`, as far as uses in other blocks need
    /// them, or at the end of blocks.
    pub fn find(&mut self, home: Block, uses: impl IntoIterator<Item = Block>) {
        self.clear();
        self.home = Some(home);
        self.pending.extend(uses);
        while let Some(block) = self.pending.pop() {
            if self.blocks.insert(block) && block != home {
                self.pending
                    .extend_from_slice(self.flow.graph.predecessors(block));
            }
        }
    }

    /// Finds the blocks of a value for all of its uses; without a definition or uses there are none.
    pub fn find_all(&mut self, function: &Function, register: Register) {
        self.clear();
        let definition = function.unique_definition(register);
        let Some(home) = definition.and_then(|definition| function.block_of(definition)) else {
            return;
        };
        let uses = function.uses(register).filter_map(|(user, number)| {
            let is_read =
                !function.operation(user).is_debug() && !function.source(user, number).is_undefined();
            is_read.then(|| block_of_use(function, user, number))?
        });
        self.find(home, uses.filter(|&block| block != home));
    }

    /// Forgets the value.
    pub fn clear(&mut self) {
        self.blocks.clear();
        self.home = None;
    }

    /// True if the value is live into a block or, for the block that defines it, live out of it.
    pub fn contains(&self, block: Block) -> bool {
        self.blocks.contains(block)
    }

    /// True if the value is live up to the end of a block because a successor needs it: from the
    /// start or, in the block that defines it, from its definition.
    pub fn cross(&self, block: Block) -> bool {
        let needs = |successor: &Block| Some(*successor) != self.home && self.contains(*successor);
        self.contains(block) && self.flow.graph.successors(block).iter().any(needs)
    }
}

/// Returns the block in which an instruction reads a source: a PHI reads it at the end of the block that
/// control comes from.
pub(super) fn block_of_use(function: &Function, user: Instruction, number: usize) -> Option<Block> {
    match function.operation(user) {
        Operation::Phi => match function.source(user, number + 1).kind() {
            OperandKind::Target(from) => Some(from),
            _ => None,
        },
        _ => function.block_of(user),
    }
}
