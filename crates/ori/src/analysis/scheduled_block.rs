//! Which registers are live at a point of a block, while a scheduler moves its instructions.
//!
//! ```text
//! label                    intervals
//! 1·G   %1 = MOV 1         %1: 1·G..3·G
//! 2·G   %2 = MOV 2         %2: 2·G..3·G
//! 3·G   %3 = IADD %1, %2   %3: 3·G..∞     live out
//! ```
//!
//! Instructions have labels that ascend with gaps, so that one that moves gets a label of its own
//! and no other changes. The value of a register is live from the label of its definition, or from
//! the start of the block, to that of its last use, or past the end. Only the registers of the
//! instruction that moved are computed anew. When there is no gap left all labels are given anew.
//!
//! What a block takes and leaves must stay the same: instructions may move as
//! [`DependencyGraph`](super::DependencyGraph) allows.

use super::interval_tree::IntervalTree;
use super::walk::read_register;
use crate::{Function, Instruction, Liveness, Operation};
use oriel_engine::entity::{Block, Register, SecondaryMap};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Distance of labels that are given anew.
const GAP: u64 = 1 << 20;

/// Where values that come from other blocks begin.
const START: u64 = 0;

/// Where values end that go on to other blocks.
const END: u64 = u64::MAX;

/// What happens to a register at an instruction, in the order in which it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Use,
    Definition,
}

/// Liveness within a block.
#[derive(Clone, Debug)]
pub struct ScheduledBlock<'a> {
    liveness: &'a Liveness,
    block: Block,
    labels: SecondaryMap<Instruction, u64>,
    tree: IntervalTree,
    /// Where the intervals of each register begin.
    starts: HashMap<Register, SmallVec<[u64; 2]>>,
}

impl<'a> ScheduledBlock<'a> {
    /// For a block as it stands. `liveness` is that of the function.
    pub fn new(function: &Function, liveness: &'a Liveness, block: Block) -> Self {
        let mut scheduled = Self {
            liveness,
            block,
            labels: SecondaryMap::new(),
            tree: IntervalTree::default(),
            starts: HashMap::new(),
        };
        scheduled.rebuild(function);
        scheduled
    }

    /// The block.
    pub fn block(&self) -> Block {
        self.block
    }

    /// The registers that are live after an instruction of the block, ascending. After a PHI: after
    /// all.
    pub fn live_after(&self, instruction: Instruction) -> Vec<Register> {
        self.live_at(self.labels[instruction])
    }

    /// The registers that are live before an instruction of the block that is no PHI, ascending.
    pub fn live_before(&self, instruction: Instruction) -> Vec<Register> {
        self.live_at(self.labels[instruction].saturating_sub(1))
    }

    fn live_at(&self, label: u64) -> Vec<Register> {
        let mut registers = Vec::new();
        self.tree.each_at(label, |register| registers.push(register));
        registers.sort_unstable();
        registers
    }

    /// Takes note that an instruction has moved within the block, in `function`.
    pub fn note_moved(&mut self, function: &Function, instruction: Instruction) {
        let label = |neighbor: Option<Instruction>, none| neighbor.map_or(none, |other| self.labels[other]);
        let before = label(function.previous(instruction), START);
        let after = label(function.next(instruction), before.saturating_add(2 * GAP));
        if after - before < 2 {
            self.rebuild(function);
            return;
        }
        self.labels[instruction] = before + (after - before) / 2;
        for register in registers_of(function, instruction) {
            self.compute(function, register);
        }
    }

    fn rebuild(&mut self, function: &Function) {
        self.tree.clear();
        self.starts.clear();
        let mut label = START;
        let mut registers: Vec<Register> = self.liveness.live_in(self.block).collect();
        registers.extend(self.liveness.live_out(self.block));
        for instruction in function.instructions(self.block) {
            if function.operation(instruction) == Operation::Phi {
                self.labels[instruction] = START;
            } else {
                label += GAP;
                self.labels[instruction] = label;
            }
            registers.extend(registers_of(function, instruction));
        }
        registers.sort_unstable();
        registers.dedup();
        for register in registers {
            self.compute(function, register);
        }
    }

    /// Computes the intervals of a register anew.
    fn compute(&mut self, function: &Function, register: Register) {
        for start in self.starts.remove(&register).unwrap_or_default() {
            self.tree.remove(start, register);
        }
        let mut starts = SmallVec::new();
        let is_from_outside = self.liveness.is_live_in(register, self.block);
        let mut start = is_from_outside.then_some(START);
        let mut last_use = START;
        let mut add = |start: Option<u64>, end: u64| {
            if let Some(start) = start.filter(|&start| start < end) {
                self.tree.insert(start, end, register);
                starts.push(start);
            }
        };
        for (label, event) in events(function, register, self.block, &self.labels) {
            match event {
                Event::Use => last_use = label,
                Event::Definition => {
                    add(start, last_use);
                    start = Some(label);
                    last_use = label;
                }
            }
        }
        let goes_on = self.liveness.is_live_out(register, self.block);
        add(start, if goes_on { END } else { last_use });
        if !starts.is_empty() {
            self.starts.insert(register, starts);
        }
    }
}

/// What happens to a register in a block, in order. PHIs only define.
fn events(
    function: &Function,
    register: Register,
    block: Block,
    labels: &SecondaryMap<Instruction, u64>,
) -> SmallVec<[(u64, Event); 8]> {
    let is_here = |instruction: Instruction| function.block_of(instruction) == Some(block);
    let uses = function.uses(register).filter(|&(user, number)| {
        is_here(user)
            && function.operation(user) != Operation::Phi
            && read_register(function.source(user, number)).is_some()
    });
    let definitions = function
        .definitions(register)
        .filter(|&(definition, _)| is_here(definition));
    let mut events: SmallVec<[(u64, Event); 8]> = uses
        .map(|(user, _)| (labels[user], Event::Use))
        .chain(definitions.map(|(definition, _)| (labels[definition], Event::Definition)))
        .collect();
    events.sort_unstable();
    events
}

/// The registers that an instruction reads and writes, with repetitions.
fn registers_of(function: &Function, instruction: Instruction) -> SmallVec<[Register; 6]> {
    let operands = function
        .results(instruction)
        .iter()
        .chain(function.sources(instruction));
    operands.filter_map(|operand| operand.as_register()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::{BlockWalk, DependencyGraph};
    use crate::random_function::random_function;
    use crate::{ControlFlow, Position};
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    fn check(function: &Function, liveness: &Liveness, scheduled: &ScheduledBlock<'_>) {
        let mut walk = BlockWalk::new(function, liveness);
        walk.visit(scheduled.block(), |instruction, live_after| {
            let expected: Vec<Register> = live_after.iter().collect();
            assert_eq!(scheduled.live_after(instruction), expected, "after {instruction}");
        });
    }

    /// Moves an instruction over those next to it, as far as `most` and the dependencies allow.
    fn move_down(
        function: &mut Function,
        graph: &DependencyGraph,
        from: usize,
        most: usize,
    ) -> Option<Instruction> {
        let moved = graph.nodes().nth(from)?;
        let instruction = graph.instruction(moved);
        let node_of = |other: Instruction| graph.nodes().find(|&node| graph.instruction(node) == other);
        let mut behind = None;
        let mut next = function.next(instruction);
        for _ in 0..most {
            let Some(other) = next else { break };
            let Some(node) = node_of(other).filter(|&node| !graph.is_direct(moved, node)) else {
                break;
            };
            behind = Some(graph.instruction(node));
            next = function.next(other);
        }
        function.move_to(instruction, Position::After(behind?));
        Some(instruction)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn moves_leave_what_computing_anew_gives(
            seed in any::<u64>(),
            late in any::<bool>(),
            moves in prop::collection::vec((0usize..12, 1usize..9), 1..40),
        ) {
            let mut function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            let flow = ControlFlow::analyze(&function, Traversal::default());
            let liveness = Liveness::compute(&function, &flow);
            for block in function.blocks().to_vec() {
                let mut scheduled = ScheduledBlock::new(&function, &liveness, block);
                check(&function, &liveness, &scheduled);
                for &(from, most) in &moves {
                    // The order has changed, and with it the numbers of the nodes.
                    let graph = DependencyGraph::compute(&function, block);
                    if let Some(moved) = move_down(&mut function, &graph, from, most) {
                        scheduled.note_moved(&function, moved);
                        check(&function, &liveness, &scheduled);
                    }
                }
            }
        }
    }

    #[test]
    fn labels_are_given_anew_when_no_gap_is_left() {
        let mut body = String::new();
        for number in 1..=3 {
            body += &format!("    %{number}:R32 = MOV.b32 {number}\n");
        }
        let text =
            format!("kernel \"k\" sm_80 ssa {{\nbix0:\n{body}    %4:R32 = IADD.b32 %1, %2\n    RET\n}}\n");
        let mut function = crate::parse_functions(&text)
            .expect("it is well formed")
            .remove(0);
        let flow = ControlFlow::analyze(&function, Traversal::default());
        let liveness = Liveness::compute(&function, &flow);
        let block = function.entry();
        let mut scheduled = ScheduledBlock::new(&function, &liveness, block);
        // Each turn halves the gap behind the first.
        for _ in 0..100 {
            let instructions: Vec<Instruction> = function.instructions(block).take(3).collect();
            function.move_to(instructions[2], Position::After(instructions[0]));
            scheduled.note_moved(&function, instructions[2]);
            check(&function, &liveness, &scheduled);
        }
    }
}
