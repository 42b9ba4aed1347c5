//! Available copies: the known contents of registers, which may be another register's value, a
//! constant, or a special register.
//!
//! ```text
//! %1 = MOV 7          %1 holds 7
//! %2 = MOV %1         %2 holds the value of %1, and 7
//! %1 = IADD %1, 1     %1 holds nothing that is known, %2 still 7
//! ```
//!
//! A *copy* is a pair of a register and its content. There are two forward gen/kill problems over
//! all copies:
//!
//! ```text
//! Lost(B, end)   = Kill(B) | (Lost(B, start) & ~Gen(B))       union over predecessors; all are lost at the entry
//! Reaches(B, end) = Made(B) | (Reaches(B, start) & ~Over(B))  union over predecessors
//! ```
//!
//! Only copies of registers that are live across block boundaries take part; others are known within
//! their block. A copy that is not lost holds on every path: these are the available copies (A.
//! Aho, M. Lam, R. Sethi, J. Ullman, "Compilers", 2nd edition, 9.1). A copy reaches a point if on
//! some path the register was last written by one of the instructions that establish it. If a copy
//! reaches a use and is lost there, the use sees other values as well.

use crate::shared::copies::is_alike;
use oriel_engine::bitvector::{EntityBitMatrix, EntityBitSet};
use oriel_engine::dataflow::{Direction, fixed_point};
use oriel_engine::entity::{Block, EntitySet, PrimaryMap, Register, SecondaryMap, entity_impl};
use oriel_engine::hash::NumberMap;
use oriel_ori::{
    ControlFlow, Function, Instruction, Operand, OperandKind, Operation, Special, each_boundary_use,
};
use smallvec::SmallVec;

/// A copy, by number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CopyId(u32);
entity_impl!(CopyId, "copy");

/// The content of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum CopiedValue {
    /// The value of another register.
    Register(Register),
    /// The complement of a predicate.
    Complement(Register),
    /// A constant, by its bits.
    Bits(u64),
    /// An address, or a special register.
    Special(Operand),
}

impl CopiedValue {
    /// Returns the register whose value it depends on.
    fn register(self) -> Option<Register> {
        match self {
            Self::Register(register) | Self::Complement(register) => Some(register),
            Self::Bits(_) | Self::Special(_) => None,
        }
    }
}

/// A register and its content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct AvailableCopy {
    pub register: Register,
    pub held: CopiedValue,
}

/// The most copies of one register, and the most that depend on one register: each use and
/// definition visits them.
const HOLDER_LIMIT: usize = 32;
const SOURCE_LIMIT: usize = 512;

/// The most bits in a matrix of copies by blocks; in larger functions only registers that are local
/// to a block take part.
pub(super) const BOUNDARY_LIMIT: usize = 1 << 24;

/// The copies that an instruction establishes.
type Made = SmallVec<[CopyId; 2]>;

/// All copies of a function, and where they are lost.
pub(super) struct AvailableCopies {
    pub rows: PrimaryMap<CopyId, AvailableCopy>,
    /// By instruction: the copies that it establishes, the register's value first.
    made: SecondaryMap<Instruction, Made>,
    /// By register: the copies that a definition of it ends.
    of_register: SecondaryMap<Register, SmallVec<[CopyId; 2]>>,
    /// By register: the copies of its content.
    by_holder: SecondaryMap<Register, SmallVec<[CopyId; 2]>>,
    ids: NumberMap<AvailableCopy, CopyId>,
    /// The copies of registers that are live across boundaries; they have the first numbers.
    at_boundaries: EntityBitSet<CopyId>,
    /// The copies lost at the start of each block, over copies at boundaries.
    lost_in: EntityBitMatrix<Block, CopyId>,
    /// The copies that reach the start of each block, over copies at boundaries.
    reaches_in: EntityBitMatrix<Block, CopyId>,
}

/// The instructions that establish copies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted {
    /// Constants and addresses in registers with several definitions.
    pub constants: bool,
    /// Special registers.
    pub fixed: bool,
    /// Complements of predicates.
    pub complements: bool,
    /// The most bits in a matrix of copies by blocks for registers that are live across boundaries to
    /// take part.
    pub boundary_bits: usize,
}

impl AvailableCopies {
    /// Computes the contents of registers in a function without PHIs.
    pub fn compute(function: &Function, flow: &ControlFlow, wanted: Wanted) -> Self {
        let mut copies = Self {
            rows: PrimaryMap::new(),
            made: SecondaryMap::with_capacity(function.instruction_limit()),
            of_register: SecondaryMap::with_capacity(function.register_limit()),
            by_holder: SecondaryMap::with_capacity(function.register_limit()),
            ids: NumberMap::default(),
            at_boundaries: EntityBitSet::new(),
            lost_in: EntityBitMatrix::default(),
            reaches_in: EntityBitMatrix::default(),
        };
        let mut lives_across: EntitySet<Register> = EntitySet::with_capacity(function.register_limit());
        each_boundary_use(function, |register| {
            lives_across.insert(register);
        });
        copies.collect(function, flow, wanted, |register| lives_across.contains(register));
        if copies.rows.len().saturating_mul(function.block_limit()) > wanted.boundary_bits {
            copies.forget_rows();
        }
        copies.at_boundaries = EntityBitSet::with_room(copies.rows.len());
        copies.at_boundaries.extend(copies.rows.keys());
        copies.collect(function, flow, wanted, |register| {
            !lives_across.contains(register)
        });
        copies.solve(function, flow);
        copies
    }

    fn forget_rows(&mut self) {
        self.rows.clear();
        self.made.clear();
        self.of_register.clear();
        self.by_holder.clear();
        self.ids.clear();
    }

    /// Collects the copies of instructions whose result satisfies `takes_part`.
    fn collect(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        wanted: Wanted,
        takes_part: impl Fn(Register) -> bool,
    ) {
        // The constant that a register holds at this point of the block, and the number of the
        // block.
        let mut local: SecondaryMap<Register, Option<(u32, CopiedValue)>> =
            SecondaryMap::with_capacity(function.register_limit());
        for (number, &block) in function.blocks().iter().enumerate() {
            let number = number as u32;
            for instruction in function.instructions(block) {
                let held = held_by(function, instruction, wanted);
                let constant = held.and_then(|held| match held {
                    CopiedValue::Register(source) => local[source]
                        .filter(|&(block, _)| block == number)
                        .map(|(_, held)| held)
                        .or_else(|| only_constant(function, flow, wanted, source, block)),
                    CopiedValue::Complement(_) => None,
                    CopiedValue::Bits(_) | CopiedValue::Special(_) => Some(held),
                });
                for register in function.result_registers(instruction) {
                    local[register] = None;
                }
                let Some(held) = held else { continue };
                let register = function.result(instruction, 0).as_register();
                let register = register.expect("a copy has a result");
                local[register] = constant.map(|held| (number, held));
                if !takes_part(register) {
                    continue;
                }
                let of_register = held.register().is_some().then_some(held);
                for held in of_register.into_iter().chain(constant) {
                    if let Some(copy) = self.intern(AvailableCopy { register, held }) {
                        self.made[instruction].push(copy);
                    }
                }
            }
        }
    }

    /// Returns the number of a copy, or none if its registers have too many.
    fn intern(&mut self, copy: AvailableCopy) -> Option<CopyId> {
        if let Some(&id) = self.ids.get(&copy) {
            return Some(id);
        }
        let source = copy.held.register();
        if self.by_holder[copy.register].len() >= HOLDER_LIMIT
            || source.is_some_and(|source| self.of_register[source].len() >= SOURCE_LIMIT)
        {
            return None;
        }
        let id = self.rows.push(copy);
        self.ids.insert(copy, id);
        self.of_register[copy.register].push(id);
        self.by_holder[copy.register].push(id);
        if let Some(source) = source {
            self.of_register[source].push(id);
        }
        Some(id)
    }

    fn solve(&mut self, function: &Function, flow: &ControlFlow) {
        let (rows, columns) = (function.block_limit(), self.at_boundaries.count());
        let new = || EntityBitMatrix::<Block, CopyId>::new(rows, columns);
        self.lost_in = new();
        self.reaches_in = new();
        if columns == 0 {
            return;
        }
        let [mut generated, mut killed, mut made, mut over] = [new(), new(), new(), new()];
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                for register in function.result_registers(instruction) {
                    for &copy in self.at_boundary(&self.of_register[register]) {
                        generated.remove(block, copy);
                        killed.insert(block, copy);
                    }
                    for &copy in self.at_boundary(&self.by_holder[register]) {
                        made.remove(block, copy);
                        over.insert(block, copy);
                    }
                }
                for copy in self.made_anew(instruction) {
                    if self.at_boundaries.contains(copy) {
                        generated.insert(block, copy);
                        killed.remove(block, copy);
                        made.insert(block, copy);
                    }
                }
            }
        }
        let [mut lost_out, mut reaches_out] = [new(), new()];
        self.lost_in.row_mut(function.entry()).or(&self.at_boundaries);
        let limit = flow.order.len() + 3;
        let visit = |block: Block| {
            for &from in flow.graph.predecessors(block) {
                self.lost_in.row_mut(block).or(lost_out.row(from));
                self.reaches_in.row_mut(block).or(reaches_out.row(from));
            }
            let lost = lost_out.row_mut(block).or_with_and_not_if_changed(
                killed.row(block),
                self.lost_in.row(block),
                generated.row(block),
            );
            let reaches = reaches_out.row_mut(block).or_with_and_not_if_changed(
                made.row(block),
                self.reaches_in.row(block),
                over.row(block),
            );
            lost | reaches
        };
        fixed_point(&flow.graph, &flow.order, Direction::Forward, limit, visit)
            .expect("sets of copies only grow");
    }

    /// Returns the copies of a list that are at boundaries; they were numbered, and so listed, first.
    fn at_boundary<'a>(&self, copies: &'a [CopyId]) -> &'a [CopyId] {
        let end = copies.partition_point(|&copy| self.at_boundaries.contains(copy));
        &copies[..end]
    }

    /// Returns the copies that an instruction establishes. `%1 = MOV %1` establishes none.
    fn made_anew(&self, instruction: Instruction) -> impl Iterator<Item = CopyId> + '_ {
        let made = self.made[instruction].iter().copied();
        made.filter(|&copy| {
            let AvailableCopy { register, held } = self.rows[copy];
            held.register() != Some(register)
        })
    }

    /// Sets the state to that at the start of a block.
    pub fn enter(&self, block: Block, state: &mut State) {
        state.known.assign(&self.at_boundaries);
        state.known.and_not(self.lost_in.row(block));
        state.reaches.assign(self.reaches_in.row(block));
    }

    /// Updates the state from before an instruction to after it.
    pub fn step(&self, function: &Function, instruction: Instruction, state: &mut State) {
        for register in function.result_registers(instruction) {
            for &copy in &self.of_register[register] {
                state.known.remove(copy);
            }
            for &copy in &self.by_holder[register] {
                state.reaches.remove(copy);
            }
        }
        for copy in self.made_anew(instruction) {
            state.known.insert(copy);
            state.reaches.insert(copy);
        }
    }

    /// True if none of the copies that an instruction establishes is known at the start of its
    /// block.
    pub fn is_lost_at_start(&self, block: Block, instruction: Instruction) -> bool {
        let made = self.made[instruction].iter();
        made.copied()
            .all(|copy| !self.at_boundaries.contains(copy) || self.lost_in.contains(block, copy))
    }

    /// Returns the copies that an instruction establishes.
    pub fn made_by(&self, instruction: Instruction) -> &[CopyId] {
        &self.made[instruction]
    }

    /// Returns the copies of a register.
    pub fn of(&self, register: Register) -> &[CopyId] {
        &self.by_holder[register]
    }

    /// Returns the number of a copy, if some instruction establishes it.
    pub fn find(&self, copy: AvailableCopy) -> Option<CopyId> {
        self.ids.get(&copy).copied()
    }
}

/// The known copies at one point.
#[derive(Default)]
pub(super) struct State {
    /// Copies that hold.
    pub known: EntityBitSet<CopyId>,
    /// Copies whose register was, on some path, last written by an instruction that establishes it.
    pub reaches: EntityBitSet<CopyId>,
}

/// Returns the content of an instruction's result after it.
fn held_by(function: &Function, instruction: Instruction, wanted: Wanted) -> Option<CopiedValue> {
    let operation = function.operation(instruction);
    let is_wanted = match operation {
        Operation::Mov | Operation::Copy => true,
        Operation::S2r => wanted.fixed && function.is_removable_if_unused(instruction),
        Operation::Not => wanted.complements,
        _ => false,
    };
    if !is_wanted {
        return None;
    }
    let (result, source) = (function.result(instruction, 0), function.source(instruction, 0));
    let result = result.as_register()?;
    if source.is_modified() || source.is_undefined() {
        return None;
    }
    if operation == Operation::Not {
        // `%1 = NOT %1` leaves nothing that %1 is the complement of.
        let source = source.as_register().filter(|&source| source != result)?;
        return function
            .register(source)
            .file
            .is_predicate()
            .then_some(CopiedValue::Complement(source));
    }
    if let Some(source) = source.as_register() {
        return is_alike(function, result, source).then_some(CopiedValue::Register(source));
    }
    match source.kind() {
        OperandKind::Special(special) => {
            let is_known = match function.special_data(special) {
                Special::Symbol { .. } | Special::Frame(_) => wanted.constants,
                Special::SpecialRegister(_) => wanted.fixed,
                Special::Physical(_) | Special::Machine { .. } => false,
            };
            is_known.then_some(CopiedValue::Special(source))
        }
        _ if wanted.constants => {
            let bits = function.register(result).bits;
            let mask = u64::MAX
                .checked_shr(64 - u32::from(bits.min(64)))
                .unwrap_or_default();
            let bits = function.constant_bits(source).filter(|_| bits <= 64)?;
            Some(CopiedValue::Bits(bits & mask))
        }
        _ => None,
    }
}

/// Returns the constant that a register holds at the start of a block, because its only definition
/// sets it and no path to the block avoids the definition: on such a path the register would be
/// undefined.
fn only_constant(
    function: &Function,
    flow: &ControlFlow,
    wanted: Wanted,
    register: Register,
    block: Block,
) -> Option<CopiedValue> {
    let definition = function.unique_definition(register)?;
    let home = function.block_of(definition)?;
    let held = held_by(function, definition, wanted)?;
    let is_constant = matches!(held, CopiedValue::Bits(_) | CopiedValue::Special(_));
    (is_constant && flow.dominators.strictly_dominates(home, block)).then_some(held)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::add_copies;
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::parse_function;
    use oriel_ori::random_function::random_function;
    use oriel_random::{Random, Stream};
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    const ALL: Wanted = Wanted {
        boundary_bits: BOUNDARY_LIMIT,
        constants: true,
        fixed: true,
        complements: true,
    };

    /// Computes the state of a copy at the start of a block from the definition, by walking every
    /// path backward: whether some path loses it, and whether on some path an instruction that
    /// establishes it wrote the register last.
    fn on_paths(function: &Function, copies: &AvailableCopies, block: Block, id: CopyId) -> (bool, bool) {
        let AvailableCopy { register, held } = copies.rows[id];
        let predecessors = function.predecessors();
        let (mut is_lost, mut reaches) = (false, false);
        // Blocks to visit backward, and whether both questions are still open there.
        let mut pending: Vec<(Block, bool, bool)> = Vec::new();
        let mut seen = BTreeSet::new();
        let enter = |block: Block, lost: bool, reach: bool, pending: &mut Vec<_>, is_lost: &mut bool| {
            *is_lost |= lost && block == function.entry();
            pending.extend(predecessors[block].iter().map(|&from| (from, lost, reach)));
        };
        enter(block, true, true, &mut pending, &mut is_lost);
        while let Some((block, mut asks_lost, mut asks_reach)) = pending.pop() {
            if !seen.insert((block, asks_lost, asks_reach)) {
                continue;
            }
            for instruction in function.instructions(block).rev() {
                let writes = |wanted: Register| {
                    function
                        .result_registers(instruction)
                        .any(|result| result == wanted)
                };
                let makes = copies.made_by(instruction).contains(&id) && held.register() != Some(register);
                let writes_register = writes(register);
                let writes_source = held.register().is_some_and(writes);
                if asks_lost && (makes || writes_register || writes_source) {
                    is_lost |= !makes;
                    asks_lost = false;
                }
                if asks_reach && writes_register {
                    reaches |= makes;
                    asks_reach = false;
                }
            }
            if asks_lost || asks_reach {
                enter(block, asks_lost, asks_reach, &mut pending, &mut is_lost);
            }
        }
        (is_lost, reaches)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(128))]

        #[test]
        fn boundaries_are_what_paths_say(seed: u64) {
            let mut function = random_function(seed, Stage::Late);
            function.remove_unreachable_blocks();
            let mut random = Random::new(seed, Stream::TestOri);
            add_copies(&mut function, &mut random);
            let flow = ControlFlow::of(&function);
            prop_assume!(flow.order.len() == function.blocks().len());
            let copies = AvailableCopies::compute(&function, &flow, ALL);
            let mut state = State::default();
            for &block in function.blocks() {
                copies.enter(block, &mut state);
                for id in copies.at_boundaries.iter().take(64) {
                    let found = (!state.known.contains(id), state.reaches.contains(id));
                    prop_assert_eq!(found, on_paths(&function, &copies, block, id), "{} {:?}", block, copies.rows[id]);
                }
            }
        }
    }

    #[test]
    fn in_large_functions_only_registers_of_one_block_hold_something() {
        let function = parse_function(
            "kernel \"k\" sm_80 late {
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = MOV.b32 %0
    %2:R32 = MOV.b32 %0
    %3:R64 = LD.param::entry.b64 [&k_param_0]
    ST.global.b32 %2, [%3]
    BRA fall bix1
bix1:
    ST.global.b32 %1, [%3]
    EXIT
}
",
        )
        .unwrap();
        let flow = ControlFlow::of(&function);
        let holders = |boundary_bits| {
            let wanted = Wanted {
                fixed: false,
                boundary_bits,
                ..ALL
            };
            let copies = AvailableCopies::compute(&function, &flow, wanted);
            let rows = copies.rows.values();
            rows.map(|row| row.register.to_string()).collect::<Vec<_>>()
        };
        assert_eq!(holders(BOUNDARY_LIMIT), ["%1", "%2"]);
        // One copy at the boundaries of two blocks.
        assert_eq!(holders(2), ["%1", "%2"]);
        assert_eq!(holders(1), ["%2"]);
    }
}
