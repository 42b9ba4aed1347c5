//! Updates of intervals after edits that placed no instruction.
//!
//! Such edits, which remove instructions and replace operands, leave the numbering valid, since the
//! number of a removed instruction just stays unused. The intervals of the registers concerned are
//! built again from their definition and uses. Instructions at new positions would need numbers of
//! their own, in a numbering that is slower to read: after these, computing everything anew costs
//! less.

use super::{Liveness, files};
use crate::control_flow::ControlFlow;
use crate::function::{Function, Instruction};
use crate::operation::Operation;
use oriel_engine::entity::{Block, EntityRef, EntitySet, Instruction as EnginePosition, Register};
use oriel_engine::live::{LiveSegment, OwnedLiveRange, Slot, SlotIndex};
use smallvec::SmallVec;
use std::borrow::Cow;
use std::collections::HashMap;

/// The largest part of all registers, as its reciprocal, for which an update is cheaper than a
/// computation.
const LARGEST_PART: usize = 4;

impl Liveness {
    /// Brings the intervals up to date with a function and its current control flow. Returns false
    /// if they have to be computed anew: because instructions were placed or edges changed, because
    /// too many registers are concerned, or because one of them has several definitions, or a use
    /// that its definition does not dominate. They must not be used then.
    pub fn update(&mut self, function: &Function, flow: &ControlFlow) -> bool {
        let Some(edited) = function.edits.since(self.current) else {
            return false;
        };
        let most = function.register_limit() / LARGEST_PART;
        let mut registers: EntitySet<Register> = EntitySet::with_capacity(function.register_limit());
        let mut changed: Vec<Register> = Vec::new();
        for &register in edited {
            if registers.insert(register) {
                changed.push(register);
                if changed.len() > most {
                    return false;
                }
            }
        }
        let unreached = self.intervals.unreached().iter();
        if unreached
            .into_iter()
            .any(|&register| registers.contains(register))
        {
            return false;
        }
        for &register in &changed {
            if function.is_unused(register) && function.definitions(register).next().is_none() {
                self.intervals.remove_interval(register);
                continue;
            }
            let Some(range) = self.range_in_ssa(function, flow, register) else {
                return false;
            };
            self.intervals.replace_range(register, range.as_range());
        }
        self.files = files(function);
        self.live_in.take();
        self.live_out.take();
        self.current = function.edits.position();
        true
    }

    /// Returns the range of a register whose only definition dominates its uses; otherwise none.
    fn range_in_ssa(
        &self,
        function: &Function,
        flow: &ControlFlow,
        register: Register,
    ) -> Option<OwnedLiveRange> {
        let definition = function.unique_definition(register)?;
        let home = function.block_of(definition)?;
        let mut range = OwnedLiveRange::default();
        let value = range.create_dead_definition(self.index(definition).register_slot(false));
        let mut pending: SmallVec<[(Block, SlotIndex); 8]> = SmallVec::new();
        for (user, number) in function.uses(register) {
            if function.operation(user).is_debug() || function.source(user, number).is_undefined() {
                continue;
            }
            let (block, index) = self.point_of_use(function, user, number)?;
            if !flow.order.is_reachable(block) || !flow.dominators.dominates(home, block) {
                return None;
            }
            pending.push((block, index));
        }
        while let Some((block, index)) = pending.pop() {
            let (start, _) = self.block_range(block);
            if range.extend_in_block(start, index).is_some() {
                continue;
            }
            range.add_segment(LiveSegment {
                start,
                end: index,
                value,
            });
            let predecessors = flow.graph.predecessors(block);
            if predecessors.is_empty() {
                return None;
            }
            for &predecessor in predecessors {
                if !flow.order.is_reachable(predecessor) {
                    return None;
                }
                pending.push((predecessor, self.block_range(predecessor).1));
            }
        }
        Some(range)
    }

    /// Returns where an instruction uses its source, and the block of that place.
    fn point_of_use(
        &self,
        function: &Function,
        user: Instruction,
        number: usize,
    ) -> Option<(Block, SlotIndex)> {
        if function.operation(user) == Operation::Phi {
            let from = function.source(user, number + 1).as_block()?;
            return Some((from, self.block_range(from).1));
        }
        Some((function.block_of(user)?, self.index(user).register_slot(false)))
    }

    /// Describes a difference from other intervals of the same function; none if there is none.
    /// Numbers may differ: an end is given by the instruction or the block that it is at.
    pub fn difference(&self, other: &Self, function: &Function) -> Option<String> {
        let [ours, theirs] = [self, other].map(|liveness| Ends::new(liveness, function));
        let different = function.registers().find(|&register| {
            self.intervals.has_interval(register) != other.intervals.has_interval(register)
                || ours.of(register) != theirs.of(register)
        });
        match (different, self.different_borders(other, function)) {
            (Some(register), _) => Some(format!(
                "{register} is live at {} in one and {} in the other",
                self.range(register),
                other.range(register)
            )),
            (None, Some(block)) => Some(format!("other registers are live at the borders of {block}")),
            (None, None) => None,
        }
    }

    /// True if the same registers are live at the borders of each block as in another liveness of the
    /// same function.
    pub fn has_borders_of(&self, other: &Self, function: &Function) -> bool {
        self.different_borders(other, function).is_none()
    }

    fn different_borders(&self, other: &Self, function: &Function) -> Option<Block> {
        let sets = |liveness: &Self, block| {
            [
                liveness.live_in(block).collect::<Vec<_>>(),
                liveness.live_out(block).collect(),
            ]
        };
        let mut blocks = function.blocks().iter().copied();
        blocks.find(|&block| sets(self, block) != sets(other, block))
    }
}

/// The ends of live ranges by what they are at, which does not depend on numbers.
struct Ends<'a> {
    liveness: &'a Liveness,
    block_starts: Cow<'a, [SlotIndex]>,
    /// The instructions of the function, by position.
    instructions: HashMap<EnginePosition, Instruction>,
}

/// The start of a block, by its place in the layout, or a slot of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Block(usize),
    Slot(Option<Instruction>, Slot),
}

impl<'a> Ends<'a> {
    fn new(liveness: &'a Liveness, function: &Function) -> Self {
        let instructions = function.all_instructions();
        let positions = instructions.filter_map(|instruction| {
            let position = liveness.positions.get(instruction.index())?.expand()?;
            Some((position, instruction))
        });
        Self {
            liveness,
            block_starts: liveness.intervals.indexes().block_starts(),
            instructions: positions.collect(),
        }
    }

    /// Returns start, end and value of each segment of a register.
    fn of(&self, register: Register) -> Vec<(End, End, usize)> {
        let segments = self.liveness.range(register).segments().iter();
        segments
            .map(|segment| {
                (
                    self.end(segment.start),
                    self.end(segment.end),
                    segment.value.index(),
                )
            })
            .collect()
    }

    fn end(&self, index: SlotIndex) -> End {
        match self.block_starts.binary_search(&index) {
            Ok(number) => End::Block(number),
            Err(_) => {
                let position = self.liveness.intervals.indexes().instruction_at(index);
                let instruction = position.and_then(|position| self.instructions.get(&position));
                End::Slot(instruction.copied(), index.slot())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{InstructionBuilder, Position};
    use crate::pressure::RegisterPressure;
    use crate::random_function::random_function;
    use crate::types::DataType;
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_random::{Random, Stream};

    /// Replaces uses by registers that are defined before, and removes what is unused then.
    fn edit(function: &mut Function, flow: &ControlFlow, random: &mut Random) {
        let registers: Vec<Register> = function.registers().collect();
        for _ in 0..4 {
            let [one, other] = [0, 1].map(|_| random.pick(&registers));
            let home = |register| {
                let definition = function.unique_definition(register)?;
                function.block_of(definition)
            };
            let (Some(from), Some(to)) = (home(one), home(other)) else {
                continue;
            };
            let data = |register| {
                let data = function.register(register);
                (data.file, data.bits, data.class)
            };
            let is_modified =
                |(user, number): (Instruction, usize)| function.source(user, number).is_modified();
            if from != to
                && flow.dominators.dominates(to, from)
                && data(one) == data(other)
                && !function.uses(one).any(is_modified)
            {
                function.replace_uses(one, function.register_operand(other));
                let definition = function.unique_definition(one).expect("it has a block");
                if function.is_removable_if_unused(definition) && function.results(definition).len() == 1 {
                    function.remove(definition);
                }
            }
        }
    }

    #[test]
    fn changed_edges_need_a_computation() {
        let text = "\
kernel \"k\" sm_80 ssa {
    declare %0:R32, %1:P
bix0:
    %2:R32 = IADD.b32 %0, 1
    BRA %1, bix1, fall bix2
bix1:
    BRA bix3
bix2:
    %3:R32 = IADD.b32 %2, 1
    BRA bix3
bix3:
    RET
}
";
        let [first, last] = [1, 3].map(Block::new);
        let cases: [fn(&mut Function, Block, Block); 2] = [
            |function, first, _| {
                function
                    .make_unconditional(function.entry(), first)
                    .expect("it is a target")
            },
            |function, first, last| {
                function
                    .redirect_edge(function.entry(), first, last)
                    .expect("it is an edge")
            },
        ];
        for edit in cases {
            let mut function = crate::parse_function(text).expect("it is well formed");
            let flow = ControlFlow::analyze(&function, Traversal::default());
            function.keep_edit_log();
            let mut liveness = Liveness::compute(&function, &flow);
            edit(&mut function, first, last);
            let flow = ControlFlow::analyze(&function, Traversal::default());
            assert!(!liveness.update(&function, &flow));
        }
    }

    #[test]
    fn updated_intervals_are_those_computed_anew() {
        let mut updated = 0;
        for seed in 0..2000 {
            let mut random = Random::new(seed, Stream::TestOri);
            let mut function = random_function(seed, Stage::Ssa);
            let flow = ControlFlow::analyze(&function, Traversal::default());
            function.keep_edit_log();
            let mut liveness = Liveness::compute(&function, &flow);
            for _ in 0..3 {
                let before = function.edits.position();
                edit(&mut function, &flow, &mut random);
                let is_edited = before != function.edits.position();
                if !liveness.update(&function, &flow) {
                    break;
                }
                updated += usize::from(is_edited);
                let anew = Liveness::compute(&function, &flow);
                assert_eq!(liveness.difference(&anew, &function), None, "{function}");
                let [updated, computed] =
                    [&liveness, &anew].map(|liveness| RegisterPressure::compute(&function, liveness, None));
                assert_eq!(updated, computed, "{function}");
            }
        }
        assert!(updated > 100, "{updated} updates");
    }

    #[test]
    fn placed_instructions_and_copies_need_a_computation() {
        let mut function = random_function(1, Stage::Ssa);
        let flow = ControlFlow::analyze(&function, Traversal::default());
        // Without a log there is nothing to follow.
        let mut liveness = Liveness::compute(&function, &flow);
        assert!(liveness.update(&function, &flow));
        let entry = function.entry();
        let nop = InstructionBuilder::new(Operation::Nop, DataType::None);
        function.insert(Position::Start(entry), nop);
        assert!(!liveness.update(&function, &flow));
        let mut liveness = Liveness::compute(&function, &flow);
        let copy = function.clone();
        assert!(!liveness.update(&copy, &flow));
    }
}
