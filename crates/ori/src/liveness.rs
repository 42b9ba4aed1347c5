//! Liveness of Ori's registers, from the live-range engine's intervals.
//!
//! [`Liveness`] lists the function's blocks, instructions and register operands for
//! [`oriel_engine::live`] and keeps the resulting intervals. Blocks and instructions have other
//! numbers there, in layout order; the methods here take Ori's.
//!
//! PHIs use their sources at the end of the predecessor, and their results are not live into their
//! block, as in LLVM's intervals. Debug instructions and undefined operands use nothing. LLVM's
//! intervals ignore a read that no definition reaches. Here such a read keeps its register live
//! like any other, since unreachable code must be consistent, too.
//!
//! While phases edit a function, [`Liveness::update`] follows its log of edits.

mod range_builder;
mod update;

use super::control_flow::ControlFlow;
use super::function::{EditLogPosition, Function, Instruction, RegisterFile};
use super::operation::Operation;
use oriel_engine::entity::{
    Block, EntityRef, Instruction as ListedInstruction, PackedOption, PrimaryMap, Register,
};
use oriel_engine::graph::rows::Rows;
use oriel_engine::live::{
    Function as _, ListedFunction, LiveIntervals, LiveRange, LiveRangeCalc, LiveSegment, OwnedLiveRange,
    SlotIndex,
};
use oriel_engine::snapshot::abi::Access;
use std::cell::OnceCell;
use std::ops::Range;

/// The live intervals of a function's registers, valid while it does not change.
#[derive(Clone, Debug)]
pub struct Liveness {
    intervals: LiveIntervals,
    /// Position of each instruction in the engine's order; empty if the intervals are a snapshot's.
    positions: Vec<PackedOption<ListedInstruction>>,
    /// The number of instructions that the function was imported with, if they are.
    input_instructions: usize,
    /// Position of each block in the engine's order.
    layout_blocks: Vec<PackedOption<Block>>,
    /// The blocks in the engine's order, which is that of the layout.
    layout: Vec<Block>,
    /// The file of each register, by which the registers live at boundaries are sorted. These are computed
    /// only on a query, when the function is not available.
    files: PrimaryMap<Register, RegisterFile>,
    live_in: OnceCell<Rows<Block, Register>>,
    live_out: OnceCell<Rows<Block, Register>>,
    /// The point in the function's history that this describes.
    current: EditLogPosition,
}

impl Liveness {
    /// Computes the intervals of a function and, for that alone, its control flow.
    pub fn of(function: &Function) -> Self {
        Self::compute(function, &ControlFlow::of(function))
    }

    /// Computes the intervals of a function with its current control flow.
    pub fn compute(function: &Function, flow: &ControlFlow) -> Self {
        let mut positions = vec![PackedOption::default(); function.instruction_limit()];
        let layout_blocks = layout_blocks(function);
        let listed = list(function, flow, &layout_blocks, &mut positions);
        let intervals = LiveRangeCalc::shared(|engine| {
            let mut intervals = engine.analyze(&listed);
            for register in intervals.unreached().to_vec() {
                extend_to_unreached_reads(
                    function,
                    &listed,
                    &layout_blocks,
                    &positions,
                    &mut intervals,
                    register,
                );
            }
            intervals
        });
        Self::new(function, intervals, positions, layout_blocks)
    }

    /// Returns the liveness of a function that is as it was imported, from its snapshot's intervals.
    /// It tells what is live at the boundaries of blocks and how many registers are live at once;
    /// instructions have no index until it is [updated](Self::update). None if the intervals ignore
    /// a read.
    pub fn of_input(function: &Function, intervals: LiveIntervals) -> Option<Self> {
        // Blocks and registers keep their numbers.
        let is_complete = intervals.unreached().is_empty();
        is_complete.then(|| Self::new(function, intervals, Vec::new(), layout_blocks(function)))
    }

    fn new(
        function: &Function,
        intervals: LiveIntervals,
        positions: Vec<PackedOption<ListedInstruction>>,
        layout_blocks: Vec<PackedOption<Block>>,
    ) -> Self {
        let mut files = PrimaryMap::new();
        add_files(&mut files, function);
        Self {
            intervals,
            positions,
            input_instructions: function.instruction_limit(),
            layout_blocks,
            layout: function.blocks().to_vec(),
            files,
            live_in: OnceCell::new(),
            live_out: OnceCell::new(),
            current: function.edits.position(),
        }
    }

    /// True if the intervals are a snapshot's, in which instructions have no index.
    fn is_of_input(&self) -> bool {
        self.positions.is_empty()
    }

    /// Returns the engine's intervals.
    pub fn intervals(&self) -> &LiveIntervals {
        &self.intervals
    }

    /// Returns the live range of a register.
    #[inline]
    pub fn range(&self, register: Register) -> LiveRange<'_> {
        self.intervals.interval(register)
    }

    /// Returns the segments of a register's live range.
    #[inline]
    pub fn segments(&self, register: Register) -> &[LiveSegment] {
        self.intervals.segments(register)
    }

    /// Returns the index of an instruction.
    ///
    /// # Panics
    /// It is in no block, or the intervals are a snapshot's.
    pub fn index(&self, instruction: Instruction) -> SlotIndex {
        let position = self.positions[instruction.index()].expand();
        let position = position.expect("the instruction is in a block");
        self.intervals.indexes().instruction_index(position)
    }

    /// Returns the start and the end of a block.
    ///
    /// # Panics
    /// It is not in the layout.
    pub fn block_range(&self, block: Block) -> (SlotIndex, SlotIndex) {
        self.intervals.indexes().block_range(self.layout_block(block))
    }

    fn layout_block(&self, block: Block) -> Block {
        let layout_block = self
            .layout_blocks
            .get(block.index())
            .and_then(|layout_block| layout_block.expand());
        layout_block.expect("the block is in the layout")
    }

    /// True if a register is live at the start of a block.
    pub fn is_live_in(&self, register: Register, block: Block) -> bool {
        self.intervals.is_live_in(register, self.layout_block(block))
    }

    /// True if a register is live at the end of a block.
    pub fn is_live_out(&self, register: Register, block: Block) -> bool {
        self.intervals.is_live_out(register, self.layout_block(block))
    }

    /// Returns the registers live at the start of a block, ascending within each file. The first call finds
    /// them for all blocks.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        let rows = self
            .live_in
            .get_or_init(|| self.rows(Boundary::Start, self.files.keys()));
        rows.of(block).iter().copied()
    }

    /// Returns the registers live at the end of a block, ascending within each file. The first call finds
    /// them for all blocks.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        let rows = self
            .live_out
            .get_or_init(|| self.rows(Boundary::End, self.files.keys()));
        rows.of(block).iter().copied()
    }

    /// Returns which of these registers are live at the start of each block, ascending within each file.
    pub(super) fn live_in_among(&self, registers: impl Iterator<Item = Register>) -> Rows<Block, Register> {
        self.rows(Boundary::Start, registers)
    }

    /// Returns which of these registers are live at the given boundary of each block.
    fn rows(&self, boundary: Boundary, registers: impl Iterator<Item = Register>) -> Rows<Block, Register> {
        let starts = self.intervals.indexes().block_starts();
        let mut crossing: Vec<Register> = registers
            .filter(|&register| crosses_boundary(&self.intervals, register))
            .collect();
        crossing.sort_by_key(|&register| self.files[register]);
        // A register is live in ranges of blocks, which are far fewer than blocks.
        let mut ranges: Vec<(Register, Range<u32>)> = Vec::with_capacity(crossing.len());
        for register in crossing {
            // Segments that touch hold different values of the register, and ascend.
            let mut next = 0;
            for segment in self.segments(register) {
                // The first block that begins at or behind the start of the segment.
                let behind = first_block(starts, next, |start| start >= segment.start);
                let end = first_block(starts, behind, |start| start >= segment.end);
                next = end.saturating_sub(1);
                let (first, last) = match boundary {
                    Boundary::Start => (behind, end),
                    // Blocks whose end, which is the start of the next, is behind the start and not
                    // behind the end of the segment.
                    Boundary::End => {
                        let first = first_block(starts, behind, |start| start > segment.start);
                        let last = end + usize::from(starts.get(end) == Some(&segment.end));
                        (first - 1, last - 1)
                    }
                };
                if first < last {
                    ranges.push((register, first as u32..last as u32));
                }
            }
        }
        let pairs = ranges.iter().flat_map(|(register, blocks)| {
            let blocks = &self.layout[blocks.start as usize..blocks.end as usize];
            blocks.iter().map(|&block| (block, *register))
        });
        let mut rows = Rows::default();
        rows.fill(self.layout_blocks.len(), pairs);
        rows
    }
}

/// Adds the files of a function's new registers to those of the others, which never change.
fn add_files(files: &mut PrimaryMap<Register, RegisterFile>, function: &Function) {
    let new = function.registers().skip(files.len());
    files.extend(new.map(|register| function.register(register).file));
}

/// Returns the positions of blocks in the layout.
fn layout_blocks(function: &Function) -> Vec<PackedOption<Block>> {
    let mut layout_blocks = vec![PackedOption::default(); function.block_limit()];
    for (layout_block, &block) in function.blocks().iter().enumerate() {
        layout_blocks[block.index()] = Block::new(layout_block).into();
    }
    layout_blocks
}

/// Returns the first block from `from` on for which `is_behind` holds; it holds for all blocks
/// behind that one too. The step grows from block to block (J. L. Bentley and A. C. Yao, "An Almost
/// Optimal Algorithm for Unbounded Searching", IPL 5(3), 1976), since most segments are short.
fn first_block(starts: &[SlotIndex], from: usize, is_behind: impl Fn(SlotIndex) -> bool) -> usize {
    let (mut low, mut step) = (from, 1);
    while let Some(&start) = starts.get(low + step - 1)
        && !is_behind(start)
    {
        low += step;
        step *= 2;
    }
    let high = starts.len().min(low + step);
    low + starts[low..high].partition_point(|&start| !is_behind(start))
}

/// One of the two boundaries of a block.
#[derive(Clone, Copy, Debug)]
enum Boundary {
    Start,
    End,
}

/// True if a register is live across a block boundary.
fn crosses_boundary(intervals: &LiveIntervals, register: Register) -> bool {
    let range = intervals.interval(register);
    match range.segments() {
        [] => false,
        [segment] => {
            let indexes = intervals.indexes();
            let block = indexes.block_at(segment.start);
            block.is_none_or(|block| {
                let (start, end) = indexes.block_range(block);
                segment.start == start || segment.end >= end
            })
        }
        _ => true,
    }
}

/// Extends a register to reads that no definition reaches: every block that it is then live into
/// begins with a value of its own.
fn extend_to_unreached_reads(
    function: &Function,
    listed: &ListedFunction,
    layout_blocks: &[PackedOption<Block>],
    positions: &[PackedOption<ListedInstruction>],
    intervals: &mut LiveIntervals,
    register: Register,
) {
    let indexes = intervals.indexes();
    let layout_block = |block: Block| {
        layout_blocks[block.index()]
            .expand()
            .expect("the block is in the layout")
    };
    let slot = |instruction: Instruction| {
        let position = positions[instruction.index()].expand();
        let position = position.expect("what uses a register is in a block");
        indexes.instruction_index(position).register_slot(false)
    };
    let mut range = OwnedLiveRange::default();
    for (definition, _) in function.definitions(register) {
        range.create_dead_definition(slot(definition));
    }
    let mut pending: Vec<(Block, SlotIndex)> = Vec::new();
    for (user, number) in function.uses(register) {
        let operation = function.operation(user);
        if operation.is_debug() || function.source(user, number).is_undefined() {
            continue;
        }
        if operation == Operation::Phi {
            let from = function.source(user, number + 1).as_block();
            let from = layout_block(from.expect("the source of a PHI has a block"));
            pending.push((from, indexes.block_end(from)));
        } else {
            let block = function
                .block_of(user)
                .expect("what uses a register is in a block");
            pending.push((layout_block(block), slot(user)));
        }
    }
    while let Some((block, slot)) = pending.pop() {
        let start = indexes.block_start(block);
        if range.extend_in_block(start, slot).is_none() {
            range.create_dead_definition(start);
            range.extend_in_block(start, slot);
            pending.extend(
                listed
                    .predecessors(block)
                    .map(|predecessor| (predecessor, indexes.block_end(predecessor))),
            );
        }
    }
    intervals.set_range(register, range);
}

/// Lists a function for the engine.
fn list(
    function: &Function,
    flow: &ControlFlow,
    layout_blocks: &[PackedOption<Block>],
    positions: &mut [PackedOption<ListedInstruction>],
) -> ListedFunction {
    let layout_block = |block: Block| {
        layout_blocks[block.index()]
            .expand()
            .expect("edges lead to the layout")
    };
    let mut listed = ListedFunction::new(function.register_limit());
    listed.reserve(function.slots.len());
    for register in function.registers() {
        if function.register(register).file.is_predicate() {
            listed.set_predicate(register);
        }
    }
    for &block in function.blocks() {
        listed.begin_block(
            flow.graph
                .successors(block)
                .iter()
                .map(|&target| layout_block(target)),
        );
        for instruction in function.instructions(block) {
            positions[instruction.index()] = listed.begin_instruction().into();
            let operation = function.operation(instruction);
            if operation.is_debug() {
                continue;
            }
            for register in function.result_registers(instruction) {
                listed.operand(register, Access::Define);
            }
            let sources = function.sources(instruction);
            for (number, source) in sources.iter().enumerate() {
                let Some(register) = source.as_register() else {
                    continue;
                };
                if source.is_undefined() {
                    listed.operand(register, Access::Mention);
                } else if operation == Operation::Phi {
                    let from = sources.get(number + 1).as_block();
                    listed.phi_operand(
                        register,
                        layout_block(from.expect("the source of a PHI has a block")),
                    );
                } else {
                    listed.operand(register, Access::Read);
                }
            }
        }
    }
    listed
}

/// Calls `found` for the registers that a block uses before it defines them, and for the sources of
/// PHIs: with repetitions, for those that live across the boundary of a block.
pub fn each_boundary_use(function: &Function, mut found: impl FnMut(Register)) {
    // By register: the block that last defined it.
    let mut defined_in: Vec<PackedOption<Block>> = vec![PackedOption::default(); function.register_limit()];
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let is_phi = function.operation(instruction) == Operation::Phi;
            for source in function.sources(instruction) {
                if let Some(register) = source.read_register()
                    && (is_phi || defined_in[register.index()].expand() != Some(block))
                {
                    found(register);
                }
            }
            for register in function.result_registers(instruction) {
                defined_in[register.index()] = block.into();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_function::on_random_functions;
    use crate::random_function::random_function;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    /// Compares the sets at block boundaries with the definition: the least solution of the equations.
    fn check(function: &Function) {
        let flow = ControlFlow::of(function);
        let liveness = Liveness::compute(function, &flow);
        let mut live_in: Vec<BTreeSet<Register>> = vec![BTreeSet::new(); function.block_limit()];
        let mut live_out = live_in.clone();
        let mut used_at_boundaries = BTreeSet::new();
        each_boundary_use(function, |register| {
            used_at_boundaries.insert(register);
        });
        let mut defined = BTreeSet::new();
        for &block in function.blocks() {
            defined.clear();
            for instruction in function.instructions(block) {
                let sources = function.sources(instruction);
                for (number, source) in sources.iter().enumerate() {
                    let Some(register) = source.read_register() else {
                        continue;
                    };
                    if function.operation(instruction) == Operation::Phi {
                        let from = sources.get(number + 1).as_block().expect("it has a block");
                        live_out[from.index()].insert(register);
                    } else if !defined.contains(&register) {
                        live_in[block.index()].insert(register);
                    }
                }
                defined.extend(function.result_registers(instruction));
            }
        }
        assert_eq!(
            BTreeSet::from_iter(live_in.iter().chain(&live_out).flatten().copied()),
            used_at_boundaries
        );
        let mut changed = true;
        while changed {
            changed = false;
            for &block in function.blocks() {
                for &successor in flow.graph.successors(block) {
                    for register in live_in[successor.index()].clone() {
                        changed |= live_out[block.index()].insert(register);
                    }
                }
                for register in live_out[block.index()].clone() {
                    let mut definitions = function.definitions(register);
                    if definitions.all(|(definition, _)| function.block_of(definition) != Some(block)) {
                        changed |= live_in[block.index()].insert(register);
                    }
                }
            }
        }
        for &block in function.blocks() {
            let ours: Vec<Register> = liveness.live_in(block).collect();
            let file = |&register: &Register| (function.register(register).file, register);
            assert!(ours.is_sorted_by_key(file));
            assert_eq!(BTreeSet::from_iter(ours), live_in[block.index()], "into {block}");
            let ours: Vec<Register> = liveness.live_out(block).collect();
            assert!(ours.is_sorted_by_key(file));
            assert_eq!(
                BTreeSet::from_iter(ours),
                live_out[block.index()],
                "out of {block}"
            );
        }
    }

    #[test]
    fn boundaries_of_random_graphs() {
        on_random_functions(|function, _| check(&function));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn boundaries_are_what_the_equations_give(seed: u64, late: bool) {
            check(&random_function(seed, if late { Stage::Late } else { Stage::Ssa }));
        }
    }
}
