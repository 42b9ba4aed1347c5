//! The visibility of leaders, and the pre-pass over extended basic blocks that restricts it.

use super::mode::Mode;
use crate::shared::expressions::{ExpressionKind, expression_kind};
use oriel_engine::entity::{Block, EntitySet, PackedOption, SecondaryMap};
use oriel_engine::graph::DominatorTree;
use oriel_engine::hash::Fnv1a;
use oriel_ori::{ControlFlow, Function, Instruction, Operand};

/// An instruction that represents a value where it is visible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leader {
    pub instruction: Instruction,
    /// Its number in the walk, counted from one.
    pub position: u32,
}

/// The results of the pre-pass of the standard mode.
#[derive(Debug, Default)]
pub(super) struct PrePass {
    /// Instructions whose values are numbered.
    candidates: EntitySet<Instruction>,
    /// Blocks whose expressions, or those of blocks above, may occur again in blocks below.
    shares: EntitySet<Block>,
}

impl PrePass {
    /// Marks the trees of expressions under copies, PHIs and loads, and then the blocks that have
    /// something to share.
    pub fn run(function: &Function, flow: &ControlFlow) -> Self {
        let mut pass = Self::default();
        pass.mark_candidates(function, flow);
        pass.mark_blocks(function, flow);
        pass
    }

    /// Marks expressions at the root of trees and then, until nothing changes, those that compute
    /// their operands: a tree is numbered completely or not at all.
    fn mark_candidates(&mut self, function: &Function, flow: &ControlFlow) {
        let mut pending = Vec::new();
        for &block in flow.order.as_slice() {
            for instruction in function.instructions(block) {
                let is_root = matches!(
                    expression_kind(function, instruction),
                    Some(ExpressionKind::Copy | ExpressionKind::Phi | ExpressionKind::Load)
                );
                if is_root && self.candidates.insert(instruction) {
                    pending.push(instruction);
                }
            }
        }
        while let Some(instruction) = pending.pop() {
            for register in function
                .sources(instruction)
                .iter()
                .filter_map(Operand::as_register)
            {
                if let Some(definition) = function.unique_definition(register)
                    && !matches!(
                        expression_kind(function, definition),
                        None | Some(ExpressionKind::SpecialFunction)
                    )
                    && self.candidates.insert(definition)
                {
                    pending.push(definition);
                }
            }
        }
    }

    /// Marks a block if a block below it has an expression of a class that it or a dominator has.
    /// Classes are bits of a word, chosen by a hash of operation and type.
    fn mark_blocks(&mut self, function: &Function, flow: &ControlFlow) {
        let dominators = &flow.dominators;
        let mut needed: SecondaryMap<Block, u64> = SecondaryMap::new();
        let mut at_hand: SecondaryMap<Block, u64> = SecondaryMap::new();
        for &block in dominators.preorder() {
            let classes = function
                .instructions(block)
                .filter(|&instruction| self.candidates.contains(instruction))
                .fold(0, |classes, instruction| {
                    classes | class_bit(function, instruction)
                });
            let above = dominators.immediate(block).map_or(0, |above| at_hand[above]);
            (needed[block], at_hand[block]) = (classes, classes | above);
        }
        for &block in dominators.preorder().iter().rev() {
            if let Some(above) = dominators.immediate(block) {
                let below = needed[block];
                needed[above] |= below;
                if below & at_hand[above] != 0 {
                    self.shares.insert(above);
                }
            }
        }
    }
}

/// Returns the bit of an instruction's class, see [`PrePass::mark_blocks`].
fn class_bit(function: &Function, instruction: Instruction) -> u64 {
    let hash = Fnv1a::new()
        .word(function.operation(instruction) as u32)
        .word(function.data_type(instruction) as u32);
    1 << (hash.finish() >> 26)
}

/// The values visible at the walk's position.
pub(super) struct Scope<'a> {
    mode: Mode,
    dominators: &'a DominatorTree<Block>,
    pre_pass: Option<PrePass>,
    /// By block: the outermost block whose values it may use.
    outermost: SecondaryMap<Block, PackedOption<Block>>,
    block: Block,
    /// In the modes of one block: leaders up to this position are out of scope.
    scope_start: u32,
    /// The last query and its answer: adjacent instructions often have leaders in the same block.
    cached: Option<((Block, Block), bool)>,
}

impl<'a> Scope<'a> {
    pub fn new(function: &Function, flow: &'a ControlFlow, mode: Mode) -> Self {
        Self {
            mode,
            dominators: &flow.dominators,
            pre_pass: (mode == Mode::Standard).then(|| PrePass::run(function, flow)),
            outermost: SecondaryMap::new(),
            block: function.entry(),
            scope_start: 0,
            cached: None,
        }
    }

    /// Enters a block after its dominators; `position` is that of the last instruction before it.
    pub fn enter(&mut self, block: Block, position: u32) {
        (self.block, self.scope_start) = (block, position);
        let shared = self
            .dominators
            .immediate(block)
            .filter(|&above| match &self.pre_pass {
                Some(pre_pass) => pre_pass.shares.contains(above),
                None => matches!(self.mode, Mode::Full | Mode::Extended),
            });
        self.outermost[block] = shared.map_or(block.into(), |above| self.outermost[above]);
    }

    /// Passes a barrier at this position: the simple mode reuses no value across it.
    pub fn pass_barrier(&mut self, position: u32) {
        if self.mode == Mode::Simple {
            self.scope_start = position;
        }
    }

    /// True if expressions of this kind are numbered.
    pub fn takes(&self, instruction: Instruction, kind: ExpressionKind) -> bool {
        let mode_takes =
            kind != ExpressionKind::SpecialFunction || matches!(self.mode, Mode::Extended | Mode::Window(_));
        let is_candidate = |pre_pass: &PrePass| pre_pass.candidates.contains(instruction);
        mode_takes && self.pre_pass.as_ref().is_none_or(is_candidate)
    }

    /// True if a leader is visible at this position. If not, it will not be visible again in the
    /// walk.
    pub fn is_visible(&mut self, function: &Function, leader: Leader, position: u32) -> bool {
        match self.mode {
            Mode::Simple => return leader.position > self.scope_start,
            Mode::Window(window) => {
                return leader.position > self.scope_start && position - leader.position <= window;
            }
            Mode::Standard | Mode::Full | Mode::Extended => {}
        }
        let Some(from) = function.block_of(leader.instruction) else {
            return false;
        };
        let pair = (from, self.block);
        if let Some((known, answer)) = self.cached
            && known == pair
        {
            return answer;
        }
        let answer =
            self.outermost[from] == self.outermost[self.block] && self.dominators.dominates(from, self.block);
        self.cached = Some((pair, answer));
        answer
    }
}
