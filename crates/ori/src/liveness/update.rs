//! Updates of intervals after edits that leave blocks and edges alone.
//!
//! The intervals of the changed registers are rebuilt from their definition and uses. If
//! instructions were placed, the function is renumbered first, and the other intervals are
//! adjusted. Removed instructions need no renumbering: their numbers stay unused.

use super::range_builder::RangeBuilder;
use super::{Liveness, add_files};
use crate::control_flow::ControlFlow;
use crate::function::{Edits, Function, Instruction};
use oriel_engine::entity::{
    Block, EntityRef, EntitySet, Instruction as EnginePosition, PackedOption, Register,
};
use oriel_engine::live::{Slot, SlotIndex};
use std::collections::HashMap;

/// The largest part of all registers, or of all instructions, as its reciprocal, for which an
/// update is cheaper than a computation.
const LARGEST_PART: usize = 4;

/// An update is given up when it has visited this part of the blocks that it may visit, as a
/// reciprocal, and would at this rate visit [`EXCESS`] times as many as it may.
const EARLIEST_PART: usize = 8;
const EXCESS: usize = 2;

impl Liveness {
    /// Brings the intervals up to date with a function and its current control flow. Returns false
    /// if they must be recomputed, and must not be used until then. That is so if blocks or edges
    /// changed, if too many registers or instructions changed or are live through too many blocks,
    /// or if a changed register has several definitions or a use that its definition does not
    /// dominate.
    pub fn update(&mut self, function: &Function, flow: &ControlFlow) -> bool {
        self.update_part(function, flow, LARGEST_PART)
    }

    /// As [`update`](Self::update); `largest_part` is the reciprocal of the part above which too much
    /// is concerned.
    fn update_part(&mut self, function: &Function, flow: &ControlFlow, largest_part: usize) -> bool {
        let Some(edits) = function.edits.since(self.current) else {
            return false;
        };
        if edits.placed.len() > function.instruction_limit() / largest_part {
            return false;
        }
        let most = function.register_limit() / largest_part;
        let Some(registers) = self.concerned_registers(function, edits, most) else {
            return false;
        };
        if !edits.placed.is_empty() || self.is_of_input() {
            self.number_anew(function);
        }
        // A visit of a block takes half of the time that a computation takes for an instruction.
        let most_visits = function.instruction_limit();
        let mut builder = RangeBuilder::new(function, flow, most_visits);
        let count = registers.len();
        for (done, register) in registers.into_iter().enumerate() {
            // In large functions the first ranges tell that all of them would take too long.
            let visits = builder.visits();
            if visits > most_visits / EARLIEST_PART && visits * count > most_visits * EXCESS * done {
                return false;
            }
            if function.is_unused(register) && function.definitions(register).next().is_none() {
                self.intervals.remove_interval(register);
                continue;
            }
            let Some(range) = builder.range(self, register) else {
                return false;
            };
            self.intervals.replace_range(register, range.as_range());
        }
        add_files(&mut self.files, function);
        self.live_in.take();
        self.live_out.take();
        self.current = function.edits.position();
        true
    }

    /// Returns the registers whose intervals edits may have changed, each once; none if there are
    /// more than `most`, or if the intervals ignore a read of one.
    fn concerned_registers(
        &self,
        function: &Function,
        edits: Edits<'_>,
        most: usize,
    ) -> Option<Vec<Register>> {
        let mut found = EntitySet::with_capacity(function.register_limit());
        let mut registers: Vec<Register> = Vec::new();
        let mut note = |register: Register| {
            if found.insert(register) {
                registers.push(register);
            }
        };
        edits.registers.iter().copied().for_each(&mut note);
        // An instruction that moved has the operands that it had.
        for &instruction in edits.placed {
            if function.block_of(instruction).is_some() {
                function.result_registers(instruction).for_each(&mut note);
                let sources = function.sources(instruction).iter();
                sources
                    .filter_map(|source| source.as_register())
                    .for_each(&mut note);
            }
        }
        let unreached = self.intervals.unreached();
        let ignores_read = unreached.iter().any(|&register| found.contains(register));
        (registers.len() <= most && !ignores_read).then_some(registers)
    }

    /// Numbers the instructions as they are now.
    fn number_anew(&mut self, function: &Function) {
        let mut lengths = Vec::with_capacity(function.blocks().len());
        let mut old_names: Vec<PackedOption<EnginePosition>> =
            Vec::with_capacity(function.instruction_limit());
        let mut merged: Vec<(EnginePosition, EnginePosition)> = Vec::new();
        let mut positions = vec![PackedOption::default(); function.instruction_limit()];
        for &block in function.blocks() {
            let first = old_names.len();
            for instruction in function.instructions(block) {
                let position = EnginePosition::new(old_names.len());
                positions[instruction.index()] = position.into();
                let old_name = if !self.is_of_input() {
                    self.positions
                        .get(instruction.index())
                        .copied()
                        .unwrap_or_default()
                } else if instruction.index() < self.input_instructions {
                    let others = function.origins(instruction).skip(1);
                    merged.extend(others.map(|before| (before, position)));
                    function.origin(instruction).into()
                } else {
                    // A copy that a phase made has an origin, too, but that is the original's.
                    PackedOption::default()
                };
                old_names.push(old_name);
            }
            lengths.push(old_names.len() - first);
        }
        self.intervals.number_anew(&lengths, &old_names, &merged);
        self.positions = positions;
    }

    /// Describes a difference from other intervals of the same function; none if there is none.
    /// Numbers may differ: an end is given by the instruction or the block that it is at, a value by
    /// the end where it is defined. LLVM and Ori count several definitions in different orders.
    pub fn difference(&self, other: &Self, function: &Function) -> Option<String> {
        let [ours, theirs] = [self, other].map(|liveness| Ends::new(liveness, function));
        let different = function.registers().find(|&register| {
            self.intervals.has_interval(register) != other.intervals.has_interval(register)
                || ours.of(register) != theirs.of(register)
        });
        match (different, self.different_boundaries(other, function)) {
            (Some(register), _) => Some(format!(
                "{register} is live at {} in one and {} in the other",
                self.range(register),
                other.range(register)
            )),
            (None, Some(block)) => Some(format!("other registers are live at the boundaries of {block}")),
            (None, None) => None,
        }
    }

    /// True if the same registers are live at the boundaries of each block as in another liveness of the
    /// same function.
    pub fn has_boundaries_of(&self, other: &Self, function: &Function) -> bool {
        self.different_boundaries(other, function).is_none()
    }

    fn different_boundaries(&self, other: &Self, function: &Function) -> Option<Block> {
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
    block_starts: &'a [SlotIndex],
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

    /// Returns start, end and the definition of the value of each segment of a register.
    fn of(&self, register: Register) -> Vec<(End, End, Option<End>)> {
        let range = self.liveness.range(register);
        let end = |index| self.end(index);
        let segments = range.segments().iter();
        segments
            .map(|segment| {
                let definition = range.definition(segment.value).map(end);
                (end(segment.start), end(segment.end), definition)
            })
            .collect()
    }

    fn end(&self, index: SlotIndex) -> End {
        match self.block_starts.binary_search(&index) {
            Ok(number) => End::Block(number),
            Err(_) => {
                let position = self.liveness.intervals.indexes().instruction_at(index);
                let instruction = position.and_then(|position| self.instructions.get(&position));
                // Ori has no early clobbers; the intervals of an input may.
                let slot = match index.slot() {
                    Slot::EarlyClobber => Slot::Register,
                    slot => slot,
                };
                End::Slot(instruction.copied(), slot)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::edit::{InstructionBuilder, Position};
    use crate::machine::from_machine;
    use crate::operation::Operation;
    use crate::pressure::RegisterPressure;
    use crate::random_function::random_function;
    use crate::types::DataType;
    use oriel_engine::live::LiveRangeCalc;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_engine::snapshot::sample::counting_loop;
    use oriel_random::{Random, Stream};

    fn parsed(text: &str) -> Function {
        crate::parse_function(text).expect("it is well formed")
    }

    /// Returns a function that keeps a log from now on, with its control flow and liveness.
    fn logged(mut function: Function) -> (Function, ControlFlow, Liveness) {
        function.keep_edit_log();
        let flow = ControlFlow::of(&function);
        let liveness = Liveness::compute(&function, &flow);
        (function, flow, liveness)
    }

    /// Copies an instruction before a user of its result, which then uses the copy, and moves an
    /// instruction that does not depend on where it is to the end of its block.
    fn place(function: &mut Function, flow: &ControlFlow, random: &mut Random) {
        let registers: Vec<Register> = function.registers().collect();
        for _ in 0..2 {
            let register = random.pick(&registers);
            let Some(definition) = function.unique_definition(register) else {
                continue;
            };
            let Some(home) = function.block_of(definition) else {
                continue;
            };
            let is_plain = function.is_removable_if_unused(definition)
                && function.results(definition).len() == 1
                && function.operation(definition) != Operation::Phi;
            let user = function.uses(register).find(|&(user, number)| {
                let is_reachable =
                    |block| flow.order.is_reachable(block) && flow.dominators.dominates(home, block);
                let is_plain = function.operation(user) != Operation::Phi
                    && !function.source(user, number).is_modified();
                is_plain && function.block_of(user).is_some_and(is_reachable)
            });
            let (true, Some((user, number))) = (is_plain, user) else {
                continue;
            };
            let copy = function.create_register_like(register);
            let result = function.register_operand(copy);
            let new = InstructionBuilder::copy_of(function, definition).result(result);
            function.insert(Position::Before(user), new);
            let source = function.source(user, number).with_register(copy);
            function.set_source(user, number, source);
            let uses_at_home = function
                .uses(register)
                .any(|(user, _)| function.block_of(user) == Some(home));
            let end = function.terminator(home).filter(|_| !uses_at_home);
            if let Some(end) = end {
                function.move_to(definition, Position::Before(end));
            }
        }
    }

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
            let (mut function, _, mut liveness) = logged(parsed(text));
            edit(&mut function, first, last);
            let flow = ControlFlow::of(&function);
            assert!(!liveness.update(&function, &flow));
        }
    }

    #[test]
    fn another_end_of_a_block_needs_a_computation() {
        let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %0:R32 = LD.global.b32 [0]
    NOP
    BRA bix1
bix1:
    ST.global.b32 %0, [4]
    RET
}
";
        let without_end = |function: &mut Function, end| function.remove(end);
        let with_exit = |function: &mut Function, end| {
            let nop = function.previous(end).expect("it has one");
            function.set_operation(nop, Operation::Exit);
        };
        let edits: [fn(&mut Function, Instruction); 2] = [without_end, with_exit];
        for edit in edits {
            let (mut function, flow, mut liveness) = logged(parsed(text));
            let end = function.terminator(function.entry()).expect("it has one");
            edit(&mut function, end);
            assert!(!liveness.update(&function, &flow));
        }
    }

    /// Walks from the uses of values that are live everywhere would visit all blocks for each of them.
    #[test]
    fn values_that_are_live_through_many_blocks_are_computed_together() {
        const VALUES: usize = 40;
        const BLOCKS: usize = 100;
        let mut text = String::from("kernel \"k\" sm_80 ssa {\nbix0:\n");
        let loads = (0..VALUES).map(|value| format!("    %{value}:R32 = LD.global.b32 [{value}]\n"));
        text.extend(loads);
        text.extend((1..BLOCKS).map(|block| format!("    BRA bix{block}\nbix{block}:\n")));
        text.extend((0..VALUES).map(|value| format!("    ST.global.b32 %{value}, [{value}]\n")));
        text.push_str("    RET\n}\n");
        for (concerned, is_update) in [(1, true), (VALUES, false)] {
            let (mut function, flow, mut liveness) = logged(parsed(&text));
            let last = function.blocks().last().copied().expect("it has blocks");
            let stores: Vec<Instruction> = function.instructions(last).take(concerned).collect();
            for store in stores {
                let copy = InstructionBuilder::copy_of(&function, store);
                function.insert(Position::Start(last), copy);
            }
            assert_eq!(liveness.update_part(&function, &flow, 1), is_update);
        }
    }

    #[test]
    fn updated_intervals_are_those_computed_anew() {
        let mut updated = 0;
        for seed in 0..2000 {
            let mut random = Random::new(seed, Stream::TestOri);
            let (mut function, flow, mut liveness) = logged(random_function(seed, Stage::Ssa));
            for _ in 0..3 {
                let before = function.edits.position();
                edit(&mut function, &flow, &mut random);
                place(&mut function, &flow, &mut random);
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
        assert!(updated > 1000, "{updated} updates");
    }

    /// The intervals of an input have LLVM's instructions, of which a branch has two.
    #[test]
    fn the_intervals_of_an_input_follow_instructions_placed_in_it() {
        let snapshot = counting_loop();
        let snapshot = snapshot.view();
        let mut function = from_machine(&snapshot).expect("it is a function of LLVM's");
        let flow = ControlFlow::of(&function);
        function.keep_edit_log();
        let intervals = LiveRangeCalc::shared(|engine| engine.analyze(&snapshot));
        let of_input = Liveness::of_input(&function, intervals).expect("definitions reach all reads");
        let check = |liveness: &mut Liveness, function: &Function| {
            assert!(liveness.update_part(function, &flow, 1));
            let anew = Liveness::compute(function, &flow);
            assert_eq!(liveness.difference(&anew, function), None, "{function}");
        };
        check(&mut of_input.clone(), &function);
        for &block in function.blocks().to_vec().iter() {
            let nop = InstructionBuilder::new(Operation::Nop, DataType::None);
            let end = function.terminator(block).expect("a block ends with one");
            function.insert(Position::Before(end), nop);
        }
        let mut liveness = of_input;
        check(&mut liveness, &function);
        let counter = function.blocks()[1];
        let sum = function
            .instructions(counter)
            .find(|&it| function.operation(it) == Operation::Iadd);
        let end = function.terminator(counter).expect("a block ends with one");
        let setp = function
            .previous(function.previous(end).expect("the nop"))
            .expect("the comparison");
        function.move_to(setp, Position::Before(end));
        function.move_to(sum.expect("it counts"), Position::Before(setp));
        check(&mut liveness, &function);
    }

    #[test]
    fn copies_and_placed_terminators_need_a_computation() {
        let mut function = random_function(1, Stage::Ssa);
        let flow = ControlFlow::of(&function);
        let mut liveness = Liveness::compute(&function, &flow);
        assert!(liveness.update(&function, &flow));
        let copy = function.clone();
        assert!(!liveness.update(&copy, &flow));
        let nop = || InstructionBuilder::new(Operation::Nop, DataType::None);
        let entry = function.entry();
        // Without a log there is nothing to follow.
        function.insert(Position::Start(entry), nop());
        assert!(!liveness.update(&function, &flow));
        function.keep_edit_log();
        let mut liveness = Liveness::compute(&function, &flow);
        function.insert(Position::Start(entry), nop());
        assert!(liveness.update(&function, &flow));
        let terminator = function.terminator(entry).expect("a block ends with one");
        let again = InstructionBuilder::copy_of(&function, terminator);
        function.remove(terminator);
        function.insert(Position::End(entry), again);
        assert!(!liveness.update(&function, &flow));
    }
}
