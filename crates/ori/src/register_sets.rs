//! The live registers of all files, maintained during a walk through a block.
//!
//! The boundaries of blocks are rows of bits, from [`Liveness`]. Inside a block one register is added
//! or removed at a time, and the queries are counts, members and membership. So the moving sets are
//! sparse sets (P. Briggs and L. Torczon, "An Efficient Representation for Sparse Sets", LOPLAS 2,
//! 1993), which are cleared and listed in time proportional to their members. Departure: the
//! reference's manager (`sub_A7BC80`) uses bit vectors here too.
//!
//! With a divergence analysis, uniform registers are counted in files of their own, UR and UP. The
//! register allocator decides whether one value per warp is enough for each of them; see
//! [`Divergence`].

use super::divergence::Divergence;
use super::function::{Function, Instruction, RegisterFile};
use super::liveness::Liveness;
use super::operand::Operand;
use super::operation::Operation;
use oriel_engine::entity::{Block, EntityRef, Register};

/// A point at which registers are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// The start of a block.
    Start(Block),
    /// The definition of an instruction's results. PHIs define theirs one after the other, as in
    /// live intervals.
    At(Instruction),
}

/// The units of each file, in the order of [`RegisterFile::ALL`]: R and UR in units of 32 bits (b16
/// and b32 take one, b64 two, b128 four), the others in registers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Units([u32; RegisterFile::ALL.len()]);

impl Units {
    /// Creates units in the order of [`RegisterFile::ALL`].
    pub(crate) const fn from_files(units: [u32; RegisterFile::ALL.len()]) -> Self {
        Self(units)
    }

    /// Returns the units of one file.
    pub const fn of(self, file: RegisterFile) -> u32 {
        self.0[file as usize]
    }

    /// Returns the units of the data registers, including uniform ones.
    pub const fn data(self) -> u32 {
        self.of(RegisterFile::R) + self.of(RegisterFile::Ur)
    }

    fn add(&mut self, file: RegisterFile, units: u32) {
        self.0[file as usize] += units;
    }

    fn subtract(&mut self, file: RegisterFile, units: u32) {
        self.0[file as usize] -= units;
    }

    /// Returns the maximum of both for each file.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        let mut most = self;
        for (most, other) in most.0.iter_mut().zip(other.0) {
            *most = (*most).max(other);
        }
        most
    }
}

/// Returns how many units a register takes in its file.
pub fn units_of(function: &Function, register: Register) -> u32 {
    let data = function.register(register);
    match data.file {
        RegisterFile::R | RegisterFile::Ur => u32::from(data.bits).div_ceil(32).max(1),
        RegisterFile::P | RegisterFile::Up | RegisterFile::B => 1,
    }
}

/// Returns the file in which a register is counted: with a divergence analysis, that of uniform
/// registers if all threads of a warp have the same value in it.
pub(crate) fn counted_file(
    function: &Function,
    register: Register,
    divergence: Option<&Divergence>,
) -> RegisterFile {
    let file = function.register(register).file;
    let is_uniform = divergence.is_some_and(|divergence| divergence.is_uniform(register));
    match (file, is_uniform) {
        (RegisterFile::R, true) => RegisterFile::Ur,
        (RegisterFile::P, true) => RegisterFile::Up,
        (file, _) => file,
    }
}

/// The live registers of every file at one point of a function.
#[derive(Clone, Debug)]
pub struct RegisterSets<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    /// By register: its file; uniform registers are in files of their own.
    files: Vec<RegisterFile>,
    /// By register: its position in the list of its file, if it is live.
    positions: Vec<u32>,
    /// The live registers by file; files without registers take no memory.
    live: [Vec<Register>; RegisterFile::ALL.len()],
    units: Units,
}

impl<'a> RegisterSets<'a> {
    /// Creates empty sets. Without a divergence analysis, uniform registers are counted with the
    /// others.
    pub fn new(function: &'a Function, liveness: &'a Liveness, divergence: Option<&Divergence>) -> Self {
        let file_of = |register: Register| counted_file(function, register, divergence);
        Self {
            function,
            liveness,
            files: function.registers().map(file_of).collect(),
            positions: vec![0; function.register_limit()],
            live: Default::default(),
            units: Units::default(),
        }
    }

    /// Returns the file in which a register is counted.
    pub fn file(&self, register: Register) -> RegisterFile {
        self.files[register.index()]
    }

    /// Returns the live registers of a file, in no particular order.
    pub fn live(&self, file: RegisterFile) -> &[Register] {
        &self.live[file as usize]
    }

    /// True if a register is live.
    pub fn contains(&self, register: Register) -> bool {
        let position = self.positions[register.index()] as usize;
        self.live(self.file(register)).get(position) == Some(&register)
    }

    /// Returns the units of the live registers.
    pub fn units(&self) -> Units {
        self.units
    }

    fn insert(&mut self, register: Register) {
        if self.contains(register) {
            return;
        }
        let file = self.file(register);
        let list = &mut self.live[file as usize];
        self.positions[register.index()] = list.len() as u32;
        list.push(register);
        self.units.add(file, units_of(self.function, register));
    }

    fn remove(&mut self, register: Register) {
        if !self.contains(register) {
            return;
        }
        let file = self.file(register);
        let list = &mut self.live[file as usize];
        let position = self.positions[register.index()];
        list.swap_remove(position as usize);
        if let Some(&moved) = list.get(position as usize) {
            self.positions[moved.index()] = position;
        }
        self.units.subtract(file, units_of(self.function, register));
    }

    fn assign(&mut self, registers: impl Iterator<Item = Register>) {
        self.live.iter_mut().for_each(Vec::clear);
        self.units = Units::default();
        for register in registers {
            self.insert(register);
        }
    }
}

/// Walks. Debug instructions use and define nothing. PHIs are passed like other instructions, but
/// their sources are used at the end of the predecessors.
impl RegisterSets<'_> {
    /// Moves to the end of a block.
    pub fn enter_end(&mut self, block: Block) {
        let liveness = self.liveness;
        self.assign(liveness.live_out(block));
    }

    /// Moves from behind an instruction to before it.
    pub fn step_back(&mut self, instruction: Instruction) {
        let function = self.function;
        if function.operation(instruction).is_debug() {
            return;
        }
        for register in function.result_registers(instruction) {
            self.remove(register);
        }
        used_registers(function, instruction).for_each(|register| self.insert(register));
    }

    /// Returns the units at the definition of an instruction's results, in a walk that is behind
    /// it: the live registers, and results without uses. A register counts once, however often the
    /// instruction writes it.
    pub(crate) fn units_with_results(&self, instruction: Instruction) -> Units {
        let mut units = self.units;
        for (number, register) in self.function.result_registers(instruction).enumerate() {
            let is_again = || {
                self.function
                    .result_registers(instruction)
                    .take(number)
                    .any(|other| other == register)
            };
            if !self.contains(register) && !is_again() {
                units.add(self.file(register), units_of(self.function, register));
            }
        }
        units
    }
}

/// Returns the registers that an instruction uses at its position.
fn used_registers(function: &Function, instruction: Instruction) -> impl Iterator<Item = Register> + '_ {
    let is_phi = function.operation(instruction) == Operation::Phi;
    let sources = function.sources(instruction).iter();
    sources
        .filter(move |source| !is_phi && !source.is_undefined())
        .filter_map(Operand::as_register)
}

/// Calls `found` for every point of a block, from its end to its start, with the units there and
/// the sets behind the instruction. Units include results without uses; the sets do not.
pub fn each_point(
    sets: &mut RegisterSets<'_>,
    block: Block,
    mut found: impl FnMut(Point, Units, &RegisterSets<'_>),
) {
    let function = sets.function;
    sets.enter_end(block);
    for instruction in function.instructions(block).rev() {
        if !function.operation(instruction).is_debug() {
            found(Point::At(instruction), sets.units_with_results(instruction), sets);
            sets.step_back(instruction);
        }
    }
    found(Point::Start(block), sets.units(), sets);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RegisterPressure;
    use crate::parse_function;
    use crate::random_function::random_function;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    #[test]
    fn files_are_counted_apart() {
        let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R64 = LD.param::entry.b64 [&k_param_0]
    %2:R32 = S2R.b32 ctaid.x
    %3:P = ISETP.lt.s32 %2, 7
    %4:P = ISETP.lt.s32 %0, 7
    %5:R32 = SEL.b32 %0, %2, %3
    %6:R32 = SEL.b32 %0, %5, %4
    ST.global.b32 %6, [%1]
    RET
}
";
        let function = parse_function(text).unwrap();
        let (liveness, divergence) = (Liveness::of(&function), Divergence::of(&function));
        let together = RegisterPressure::compute(&function, &liveness, None);
        let apart = RegisterPressure::compute(&function, &liveness, Some(&divergence));
        let of = |units: Units| RegisterFile::ALL.map(|file| units.of(file));
        assert_eq!(of(together.peak), [4, 0, 2, 0, 0]);
        assert_eq!(of(apart.peak), [2, 3, 1, 1, 0]);
    }

    fn members(sets: &RegisterSets<'_>) -> [BTreeSet<Register>; 5] {
        RegisterFile::ALL.map(|file| sets.live(file).iter().copied().collect())
    }

    proptest! {
        /// A walk passes through what the intervals say is live, ends with what is live at the block's start,
        /// and counts the units of the members.
        #[test]
        fn a_walk_has_what_is_live(seed: u64, is_late: bool) {
            let function = random_function(seed, if is_late { Stage::Late } else { Stage::Ssa });
            let (liveness, divergence) = (Liveness::of(&function), Divergence::of(&function));
            let mut sets = RegisterSets::new(&function, &liveness, Some(&divergence));
            for &block in function.blocks() {
                sets.enter_end(block);
                for instruction in function.instructions(block).rev() {
                    let live: BTreeSet<Register> = members(&sets).into_iter().flatten().collect();
                    let operation = function.operation(instruction);
                    if operation != Operation::Phi && !operation.is_debug() {
                        let after = liveness.index(instruction).dead_slot();
                        let is_live = |register| liveness.range(register).live_at(after);
                        prop_assert!(function.registers().all(|it| live.contains(&it) == is_live(it)));
                    }
                    for file in RegisterFile::ALL {
                        let members = sets.live(file).iter();
                        let sum: u32 = members.map(|&register| units_of(&function, register)).sum();
                        prop_assert_eq!(sets.units().of(file), sum);
                        prop_assert!(sets.live(file).iter().all(|&register| sets.contains(register)));
                    }
                    sets.step_back(instruction);
                }
                let live_in: BTreeSet<Register> = liveness.live_in(block).collect();
                let at_start: BTreeSet<Register> = members(&sets).into_iter().flatten().collect();
                prop_assert_eq!(at_start, live_in);
            }
        }

        /// Uniform registers are counted separately, and the sums agree.
        #[test]
        fn files_add_up(seed: u64) {
            let function = random_function(seed, Stage::Ssa);
            let (liveness, divergence) = (Liveness::of(&function), Divergence::of(&function));
            let mut together = RegisterSets::new(&function, &liveness, None);
            let mut apart = RegisterSets::new(&function, &liveness, Some(&divergence));
            for &block in function.blocks() {
                let mut points = Vec::new();
                each_point(&mut together, block, |point, units, _| points.push((point, units.data())));
                let mut points = points.into_iter();
                each_point(&mut apart, block, |point, units, _| {
                    let (same, other) = points.next().expect("both walks pass the same points");
                    assert_eq!((same, other), (point, units.data()));
                });
            }
        }
    }
}
