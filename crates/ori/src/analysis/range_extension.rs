//! The cost of extending a register's live range.
//!
//! Reusing an existing value extends its live range. The map has the live units at every point of a
//! function. For a register and a position, it walks back from the position to where the register
//! is live already and returns how many units the fullest point on the way would hold. Accepted
//! extensions are recorded, so a phase can query again without recomputing liveness. Ranges that a
//! phase's edits shorten are not recorded, so the counts are upper bounds.

use crate::{
    ControlFlow, Function, Instruction, Liveness, Operation, Point, RegisterFile, each_pressure, units_of,
};
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

/// The number of predicate registers in the hardware.
const PREDICATE_BUDGET: u32 = 7;

/// The most blocks that a walk visits, and the most mentions of the register that it considers;
/// beyond that the answer is that the extension does not fit.
const BLOCK_LIMIT: usize = 256;
const MENTION_LIMIT: usize = 1024;

/// Units by kind of register: data, predicates, barriers.
type Counts = [u32; 3];

fn kind_of(file: RegisterFile) -> usize {
    match file {
        RegisterFile::R | RegisterFile::Ur => 0,
        RegisterFile::P | RegisterFile::Up => 1,
        RegisterFile::B => 2,
    }
}

/// Returns how many units of a kind of register may be live at once.
fn budget_of(kind: usize, register_budget: u32) -> u32 {
    match kind {
        0 => register_budget,
        _ => PREDICATE_BUDGET,
    }
}

/// Units live at each point of a function.
#[derive(Debug)]
pub struct PressureMap {
    flow: Rc<ControlFlow>,
    liveness: Rc<Liveness>,
    /// By instruction: units where its results are defined, as for [`Point::At`].
    at: Vec<Counts>,
    /// By instruction: position in its block, from one; zero for instructions created later.
    positions: Vec<u32>,
    /// By block: units at its start, and the maximum over its points.
    starts: Vec<Counts>,
    highest: Vec<Counts>,
    /// Number of registers when the map was made.
    register_limit: usize,
    /// Registers that became live-out of blocks by accepted extensions.
    live_out: HashSet<(Register, Block)>,
    /// The registers that replaced others, and are live where those were.
    replaced: HashMap<Register, SmallVec<[Register; 2]>>,
    /// Scratch memory of walks.
    pending: Vec<Block>,
    visited: EntitySet<Block>,
}

/// The points at which a register would become live.
#[derive(Clone, Debug)]
pub struct RangeExtension {
    register: Register,
    kind: usize,
    units: u32,
    peak: u32,
    /// True if the walk ended before the limit.
    is_whole: bool,
    spans: SmallVec<[Span; 4]>,
}

/// A stretch of points in a block.
#[derive(Clone, Copy, Debug)]
struct Span {
    block: Block,
    /// Starts at this instruction; none: at the block's start.
    from: Option<Instruction>,
    /// Ends before this instruction; none: at the block's end, where the register is live-out.
    to: Option<Instruction>,
}

impl RangeExtension {
    /// Returns how many units of the register's kind (data or predicates) the fullest point on the
    /// way would hold: zero if the register is live there already, none if the walk was cut short.
    pub fn peak(&self) -> Option<u32> {
        self.is_whole.then_some(self.peak)
    }

    /// True if there is room for the register all the way. `register_budget` applies to data
    /// registers; predicates are limited by the hardware.
    pub fn fits(&self, register_budget: u32) -> bool {
        self.is_whole && self.peak <= budget_of(self.kind, register_budget)
    }
}

impl PressureMap {
    /// Creates the map of a function.
    pub fn new(function: &Function, flow: Rc<ControlFlow>, liveness: Rc<Liveness>) -> Self {
        let mut map = Self {
            at: vec![Counts::default(); function.instruction_limit()],
            positions: vec![0; function.instruction_limit()],
            starts: vec![Counts::default(); function.block_limit()],
            highest: vec![Counts::default(); function.block_limit()],
            register_limit: function.register_limit(),
            live_out: HashSet::new(),
            replaced: HashMap::new(),
            pending: Vec::new(),
            visited: EntitySet::with_capacity(function.block_limit()),
            flow,
            liveness,
        };
        let (mut present, mut position) = (None, 0);
        let liveness = Rc::clone(&map.liveness);
        let kind = |register| kind_of(function.register(register).file);
        each_pressure(function, &liveness, kind, |point, counts| {
            match point {
                Point::Start(block) => {
                    (present, position) = (Some(block), 0);
                    map.starts[block.index()] = counts;
                }
                Point::At(instruction) => {
                    position += 1;
                    map.positions[instruction.index()] = position;
                    map.at[instruction.index()] = counts;
                }
            }
            let block = present.expect("a block begins before its instructions");
            raise(&mut map.highest[block.index()], counts);
        });
        map
    }

    /// Returns the maximum of data units over a block.
    pub fn highest_in(&self, block: Block) -> u32 {
        self.highest[block.index()][0]
    }

    /// True if there is room for all of the registers from the start of a block to its end.
    pub fn fits_through(
        &self,
        function: &Function,
        block: Block,
        registers: &[Register],
        register_budget: u32,
    ) -> bool {
        let mut counts = self.highest[block.index()];
        registers.iter().all(|&register| {
            let kind = kind_of(function.register(register).file);
            counts[kind] += units_of(function, register);
            counts[kind] <= budget_of(kind, register_budget)
        })
    }

    /// Records that a register may be live from the start of a block to its end.
    pub fn add_through(&mut self, function: &Function, block: Block, register: Register) {
        let kind = kind_of(function.register(register).file);
        let units = units_of(function, register);
        self.starts[block.index()][kind] += units;
        self.highest[block.index()][kind] += units;
        for instruction in function.instructions(block) {
            if let Some(counts) = self.at.get_mut(instruction.index()) {
                counts[kind] += units;
            }
        }
    }

    /// Computes the extension that a use of a register by an instruction needs. The function may
    /// have changed since the map was made, but not its blocks.
    pub fn extension(
        &mut self,
        function: &Function,
        register: Register,
        user: Instruction,
    ) -> RangeExtension {
        let mut extension = RangeExtension {
            register,
            kind: kind_of(function.register(register).file),
            units: units_of(function, register),
            peak: 0,
            is_whole: true,
            spans: SmallVec::new(),
        };
        let block = function.block_of(user).expect("the user is in a block");
        let Some(mentions) = Mentions::of(function, register, user) else {
            extension.is_whole = false;
            return extension;
        };
        let is_used = mentions.count_of(user) > 1;
        if is_used || self.is_live_after(function, &mentions, register, user, block) {
            return extension;
        }
        self.visited.clear();
        self.pending.clear();
        self.extend_back(function, &mentions, &mut extension, block, Some(user));
        let flow = Rc::clone(&self.flow);
        while let Some(block) = self.pending.pop() {
            for &from in flow.graph.predecessors(block) {
                if self.is_live_out(register, from) || !self.visited.insert(from) {
                    continue;
                }
                if extension.spans.len() >= BLOCK_LIMIT {
                    extension.is_whole = false;
                    return extension;
                }
                self.extend_back(function, &mentions, &mut extension, from, None);
            }
        }
        extension
    }

    /// Records an accepted extension. If the register replaces another after the user, it is live
    /// where that one was.
    pub fn accept(&mut self, function: &Function, extension: &RangeExtension, replaced: Option<Register>) {
        let kind = extension.kind;
        for span in &extension.spans {
            let index = span.block.index();
            let mut highest = self.highest[index][kind];
            if span.from.is_none() {
                self.starts[index][kind] += extension.units;
                highest = highest.max(self.starts[index][kind]);
            }
            for instruction in instructions_of(function, *span) {
                if let Some(counts) = self.at.get_mut(instruction.index()) {
                    counts[kind] += extension.units;
                    highest = highest.max(counts[kind]);
                }
            }
            self.highest[index][kind] = highest;
            if span.to.is_none() {
                self.live_out.insert((extension.register, span.block));
            }
        }
        if let Some(replaced) = replaced {
            let earlier = self.replaced.remove(&replaced).unwrap_or_default();
            let all = self.replaced.entry(extension.register).or_default();
            all.push(replaced);
            all.extend(earlier);
        }
    }

    fn is_live_out(&self, register: Register, block: Block) -> bool {
        let is_out = |register: Register| {
            let is_known = register.index() < self.register_limit;
            (is_known && self.liveness.is_live_out(register, block))
                || self.live_out.contains(&(register, block))
        };
        let mut replaced = self.replaced.get(&register).into_iter().flatten();
        is_out(register) || replaced.any(|&replaced| is_out(replaced))
    }

    /// True if the register holds the same live value before and after an instruction.
    fn is_live_after(
        &self,
        function: &Function,
        mentions: &Mentions,
        register: Register,
        instruction: Instruction,
        block: Block,
    ) -> bool {
        let position = self.position(function, instruction);
        let behind = mentions.in_block(function, block);
        let behind = behind.filter(|mention| {
            let redefines = mention.instruction == instruction && !mention.is_use;
            redefines || self.position(function, mention.instruction) > position
        });
        // An instruction that uses and defines the register uses it first.
        let next =
            behind.min_by_key(|mention| (self.position(function, mention.instruction), !mention.is_use));
        match next {
            Some(mention) => mention.is_use,
            None => self.is_live_out(register, block),
        }
    }

    /// Adds the points of a block from the register's last mention before `end`, and remembers the
    /// block if it has none.
    fn extend_back(
        &mut self,
        function: &Function,
        mentions: &Mentions,
        extension: &mut RangeExtension,
        block: Block,
        end: Option<Instruction>,
    ) {
        let limit = end.map_or(u64::MAX, |end| self.position(function, end));
        let before = mentions.in_block(function, block);
        let before = before.filter(|mention| self.position(function, mention.instruction) < limit);
        // An instruction that uses and defines the register defines it last.
        let last =
            before.max_by_key(|mention| (self.position(function, mention.instruction), !mention.is_use));
        let from = match last {
            None => {
                self.pending.push(block);
                None
            }
            Some(Mention {
                instruction,
                is_use: true,
            }) => Some(instruction),
            // Live directly after its definition.
            Some(Mention { instruction, .. }) => match code_behind(function, instruction) {
                next if next == end => return,
                next => next,
            },
        };
        let span = Span { block, from, to: end };
        let kind = extension.kind;
        let fullest = if from.is_none() && end.is_none() {
            self.highest[block.index()][kind]
        } else {
            let start = if from.is_none() {
                self.starts[block.index()][kind]
            } else {
                0
            };
            let counts =
                instructions_of(function, span).map(|instruction| self.counts_at(function, instruction));
            counts.fold(start, |most, counts| most.max(counts[kind]))
        };
        extension.peak = extension.peak.max(fullest + extension.units);
        extension.spans.push(span);
    }

    /// Orders the instructions of a block. Instructions created after the map are ordered by their
    /// distance from the next older one.
    fn position(&self, function: &Function, instruction: Instruction) -> u64 {
        let behind = std::iter::successors(Some(instruction), |&next| function.next(next));
        let mut steps = 0;
        for instruction in behind {
            if let Some(&position) = self
                .positions
                .get(instruction.index())
                .filter(|&&known| known != 0)
            {
                return u64::from(position) << 32 | u64::from(u32::MAX - steps);
            }
            steps += 1;
        }
        u64::from(u32::MAX) << 32 | u64::from(u32::MAX - steps)
    }

    /// Returns the units where an instruction's results are defined. For an instruction created
    /// after the map, those of the nearest older one before it: they are the same if it defines
    /// nothing that the map knows.
    fn counts_at(&self, function: &Function, instruction: Instruction) -> Counts {
        let before = std::iter::successors(Some(instruction), |&next| function.previous(next));
        let mut known = before
            .filter(|&instruction| !function.operation(instruction).is_debug())
            .filter_map(|instruction| self.at.get(instruction.index()));
        let start = || self.starts[function.block_of(instruction).expect("it is in a block").index()];
        known.next().copied().unwrap_or_else(start)
    }
}

fn raise(most: &mut Counts, counts: Counts) {
    for (most, count) in most.iter_mut().zip(counts) {
        *most = (*most).max(count);
    }
}

/// Returns the next instruction that is not a debug instruction.
fn code_behind(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let behind = std::iter::successors(function.next(instruction), |&next| function.next(next));
    behind
        .into_iter()
        .find(|&next| !function.operation(next).is_debug())
}

/// Returns the instructions of a span except debug instructions.
fn instructions_of(function: &Function, span: Span) -> impl Iterator<Item = Instruction> + '_ {
    let first = span.from.or_else(|| function.first(span.block));
    let all = std::iter::successors(first, |&next| function.next(next));
    all.take_while(move |&instruction| Some(instruction) != span.to)
        .filter(|&instruction| !function.operation(instruction).is_debug())
}

/// An instruction that reads or writes a register.
#[derive(Clone, Copy, Debug)]
struct Mention {
    instruction: Instruction,
    is_use: bool,
}

/// The reads and writes of a register in each block. PHIs read at the end of the predecessors,
/// which is not in a block.
struct Mentions(SmallVec<[Mention; 16]>);

impl Mentions {
    /// Collects the mentions of a register and a new user, or none if there are too many.
    fn of(function: &Function, register: Register, user: Instruction) -> Option<Self> {
        let uses = function.uses(register).filter(|&(user, number)| {
            let operation = function.operation(user);
            let is_read = function.source(user, number).read_register().is_some();
            is_read && operation != Operation::Phi && !operation.is_debug()
        });
        let uses = uses.map(|(user, _)| (user, true)).chain([(user, true)]);
        let definitions = function
            .definitions(register)
            .map(|(definition, _)| (definition, false));
        let all = uses.chain(definitions).take(MENTION_LIMIT + 1);
        let mentions: SmallVec<[Mention; 16]> = all
            .map(|(instruction, is_use)| Mention { instruction, is_use })
            .collect();
        (mentions.len() <= MENTION_LIMIT).then_some(Self(mentions))
    }

    /// Returns how often an instruction reads the register, counting the new user once more.
    fn count_of(&self, instruction: Instruction) -> usize {
        let is_use = |mention: &&Mention| mention.is_use && mention.instruction == instruction;
        self.0.iter().filter(is_use).count()
    }

    fn in_block<'a>(&'a self, function: &'a Function, block: Block) -> impl Iterator<Item = Mention> + 'a {
        let in_block = move |mention: &&Mention| function.block_of(mention.instruction) == Some(block);
        self.0.iter().filter(in_block).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_function::random_function;
    use crate::{DataType, InstructionBuilder, Position};
    use oriel_engine::snapshot::abi::Stage;
    use oriel_random::{Random, Stream};
    use proptest::prelude::*;

    fn analyze(function: &Function) -> (Rc<ControlFlow>, Rc<Liveness>) {
        let flow = ControlFlow::of(function);
        let liveness = Liveness::compute(function, &flow);
        (Rc::new(flow), Rc::new(liveness))
    }

    fn map_of(function: &Function) -> PressureMap {
        let (flow, liveness) = analyze(function);
        PressureMap::new(function, flow, liveness)
    }

    /// Returns the maximum over the points where `after` has more units than `before`, for the same
    /// instructions.
    fn fullest_raised(before: &PressureMap, after: &PressureMap, kind: usize) -> u32 {
        let points = before
            .at
            .iter()
            .zip(&after.at)
            .chain(before.starts.iter().zip(&after.starts));
        let raised = points.filter(|(before, after)| before[kind] < after[kind]);
        raised.map(|(_, after)| after[kind]).max().unwrap_or(0)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        #[test]
        fn extensions_are_what_a_use_changes(seed in any::<u64>(), late in any::<bool>()) {
            let stage = if late { Stage::Late } else { Stage::Ssa };
            let mut function = random_function(seed, stage);
            let mut random = Random::new(seed, Stream::TestOri);
            let mut map = map_of(&function);
            let code: Vec<Instruction> = function.all_instructions().collect();
            let code: Vec<Instruction> = code
                .into_iter()
                .filter(|&instruction| {
                    let operation = function.operation(instruction);
                    operation != Operation::Phi && !operation.is_debug()
                })
                .collect();
            let registers: Vec<Register> = function.registers().collect();
            prop_assume!(!registers.is_empty());
            for round in 0..6 {
                let (user, register) = (random.pick(&code), random.pick(&registers));
                let present = map_of(&function);
                let extension = map.extension(&function, register, user);
                let mut used = function.clone();
                let source = used.register_operand(register);
                let new = InstructionBuilder::new(Operation::Mov, DataType::B32).source(source);
                used.insert(Position::Before(user), new);
                let changed = map_of(&used);
                let raised = fullest_raised(&present, &changed, extension.kind);
                let peak = extension.peak().expect("the function is small");
                prop_assert!(peak == raised || (round > 0 && peak > raised), "{} at {}", register, user);
                prop_assert_eq!(extension.spans.is_empty(), raised == 0);
                map.accept(&function, &extension, None);
                function = used;
                prop_assert_eq!(&map.at[..], &map_of(&function).at[..map.at.len()]);
                prop_assert_eq!(&map.starts, &changed.starts);
                prop_assert_eq!(&map.highest, &changed.highest);
            }
        }
    }
}
