//! Register pressure: the number of registers live at once.
//!
//! Registers are counted in units of 32 bits: b16 and b32 take one, b64 two, b128 four. Predicates
//! are a file of their own with one unit each. A value occupies its register at every slot of its
//! segments; a value that ends where another begins, at the same slot, can share its register.

mod peak_bound;

use super::function::Function;
use super::live_interval::LiveIntervals;
use super::live_range_calc::LiveRangeCalc;
use super::slot_index::{INSTRUCTION_DISTANCE, SLOT_COUNT, SlotIndex};
use crate::entity::{Block, EntityRef, Register, SecondaryMap};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{Access, FunctionFlags, RegisterFile};
use std::ops::Range;

/// Registers that the reference's allocator allows a kernel by default (`-maxreg`).
pub const DEFAULT_BUDGET: u32 = 70;

/// The most units of 32 bits that a register has.
const MOST_UNITS: usize = 4;

/// A register file whose pressure is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PressureFile {
    /// Data registers, in units of 32 bits.
    General,
    /// Predicates, one unit each.
    Predicate,
}

impl PressureFile {
    /// Both files.
    pub const ALL: [Self; 2] = [Self::General, Self::Predicate];
}

/// The pressure from one position up to the next change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct PressurePoint {
    /// Where it begins.
    pub index: SlotIndex,
    /// Units live from there on.
    pub units: u32,
}

/// The maximum pressure and its first position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Peak {
    /// Units of the register file.
    pub units: u32,
    /// The first position with this pressure; none if nothing is ever live.
    pub index: Option<SlotIndex>,
}

/// The pressure of one register file over a function.
#[derive(Clone, Debug, Default)]
pub struct PressureCurve {
    /// In ascending order; the pressure before the first point is zero.
    points: Vec<PressurePoint>,
}

impl PressureCurve {
    /// Returns every position at which the pressure changes, in ascending order.
    pub fn points(&self) -> &[PressurePoint] {
        &self.points
    }

    /// Units live at `index`.
    pub fn at(&self, index: SlotIndex) -> u32 {
        let next = self.points.partition_point(|point| point.index <= index);
        next.checked_sub(1)
            .map_or(0, |position| self.points[position].units)
    }

    /// Returns the maximum pressure in `[start, end)`.
    pub fn peak_between(&self, start: SlotIndex, end: SlotIndex) -> Peak {
        let mut peak = Peak {
            units: self.at(start),
            index: None,
        };
        if peak.units > 0 {
            peak.index = Some(start);
        }
        let first = self.points.partition_point(|point| point.index <= start);
        for point in self.points[first..].iter().take_while(|point| point.index < end) {
            if point.units > peak.units {
                peak = Peak {
                    units: point.units,
                    index: Some(point.index),
                };
            }
        }
        peak
    }

    /// Returns the maximum pressure of the function.
    pub fn peak(&self) -> Peak {
        self.points.iter().fold(Peak::default(), |peak, point| {
            if point.units > peak.units {
                Peak {
                    units: point.units,
                    index: Some(point.index),
                }
            } else {
                peak
            }
        })
    }
}

/// The pressure of a function's register files.
#[derive(Clone, Debug, Default)]
pub struct Pressure {
    general: PressureCurve,
    predicate: PressureCurve,
}

/// Returns the file of a register and the units that it takes there.
pub fn units_of(snapshot: &Snapshot<'_>, register: Register) -> (PressureFile, u32) {
    let class = snapshot.class(snapshot.register_class(register));
    if class.file == RegisterFile::Predicate as u32 {
        (PressureFile::Predicate, 1)
    } else {
        (PressureFile::General, class.bits.div_ceil(32).max(1))
    }
}

/// Returns true only if more than `budget` units of the general file are live at once; false means
/// unknown. A cheap check before an analysis, which looks at one block at a time: of the registers that
/// are live through a block without a read, it counts only those that the entry block defines, in SSA
/// form. Reads in unreachable blocks count, and so do others that no definition reaches, which the
/// intervals ignore.
pub fn exceeds_in_a_block(snapshot: &Snapshot<'_>, budget: u32) -> bool {
    let mut list = Vec::new();
    let operands = Function::register_operands(snapshot, &mut list);
    // A register is live if it is marked with the number after the block's first instruction. Nothing
    // has to be cleared between blocks.
    let mut marks: SecondaryMap<Register, u32> = SecondaryMap::new();
    marks.resize(snapshot.register_count());
    let mut live_units = 0;
    let is_ssa = snapshot.flags().contains(FunctionFlags::SSA);
    let mut blocks = snapshot.blocks().rev();
    let (mut first, mut mark) = (usize::MAX, 0);
    for of_instruction in operands
        .chunk_by(|one, other| one.instruction() == other.instruction())
        .rev()
    {
        while of_instruction[0].instruction().index() < first {
            let Some(block) = blocks.next() else { break };
            let Range { start, end } = snapshot.instruction_range(block);
            (first, mark) = (start, start as u32 + 1);
            live_units = 0;
            if block.index() == 0 && is_ssa {
                // All other blocks have been walked, so a mark is a use there.
                let of_block = operands
                    .iter()
                    .take_while(|operand| operand.instruction().index() < end);
                for operand in of_block.filter(|operand| operand.access().is_definition()) {
                    let register = operand.register();
                    if marks[register] != 0 {
                        marks[register] = mark;
                        live_units += general_units(snapshot, register);
                    }
                }
            }
        }
        for operand in of_instruction {
            if operand.access().is_definition() {
                let of_register = &mut marks[operand.register()];
                if *of_register == mark {
                    *of_register = 0;
                    live_units -= general_units(snapshot, operand.register());
                }
            }
        }
        for operand in of_instruction {
            // PHIs read in other blocks.
            if matches!(operand.access(), Access::Read | Access::ReadEarly) {
                let of_register = &mut marks[operand.register()];
                if *of_register != mark {
                    *of_register = mark;
                    live_units += general_units(snapshot, operand.register());
                }
            }
        }
        if live_units > budget {
            return true;
        }
    }
    false
}

/// Returns by how many units the peak of the general registers of a function exceeds `budget`; zero
/// if it fits. This is the peak of its [`Pressure`], without a curve and so without sorting.
pub fn excess_pressure(snapshot: &Snapshot<'_>, budget: u32) -> u32 {
    if !may_exceed(snapshot, budget) || peak_bound::of(snapshot) <= budget {
        return 0;
    }
    let intervals = LiveRangeCalc::shared(|engine| engine.analyze(snapshot));
    general_peak(&intervals, snapshot).saturating_sub(budget)
}

/// True if the registers of a function are enough to exceed `budget` units. Most functions have few.
pub fn may_exceed(snapshot: &Snapshot<'_>, budget: u32) -> bool {
    snapshot.register_count() * MOST_UNITS > budget as usize
}

/// Returns the most units of the general file that are live at once: the peak of the [`Pressure`] of
/// `intervals`, the live intervals of `snapshot`.
pub fn general_peak(intervals: &LiveIntervals, snapshot: &Snapshot<'_>) -> u32 {
    peak_of_starts(intervals, snapshot, |start| start)
}

/// Returns what [`general_peak`] would be if results that are written early could have the register
/// of a source.
pub fn general_peak_without_early_clobbers(intervals: &LiveIntervals, snapshot: &Snapshot<'_>) -> u32 {
    peak_of_starts(intervals, snapshot, |start| match start.is_early_clobber() {
        true => start.register_slot(false),
        false => start,
    })
}

/// Returns the peak of the general file if each segment begins where `start_of` puts its start.
fn peak_of_starts(
    intervals: &LiveIntervals,
    snapshot: &Snapshot<'_>,
    start_of: impl Fn(SlotIndex) -> SlotIndex,
) -> u32 {
    let slots = Slots::of(intervals);
    let mut changes = vec![0_i32; slots.count()];
    for register in snapshot.registers() {
        let segments = intervals.segments(register);
        if segments.is_empty() {
            continue;
        }
        let units = general_units(snapshot, register) as i32;
        for segment in segments {
            changes[slots.place(start_of(segment.start))] += units;
            changes[slots.place(segment.end)] -= units;
        }
    }
    let mut units = 0;
    let peak = changes.iter().map(|change| {
        units += change;
        units
    });
    peak.max().map_or(0, |peak| peak as u32)
}

/// Returns the units that a register takes of the general file.
fn general_units(snapshot: &Snapshot<'_>, register: Register) -> u32 {
    match units_of(snapshot, register) {
        (PressureFile::General, units) => units,
        (PressureFile::Predicate, _) => 0,
    }
}

impl Pressure {
    /// Computes the pressure of `intervals`, the live intervals of `snapshot`.
    pub fn new(intervals: &LiveIntervals, snapshot: &Snapshot<'_>) -> Self {
        Self::of(intervals, |register| units_of(snapshot, register))
    }

    /// The pressure of `intervals`, of whose registers `units` says the file and the units.
    pub fn of(intervals: &LiveIntervals, units: impl Fn(Register) -> (PressureFile, u32)) -> Self {
        let slots = Slots::of(intervals);
        let mut changes = vec![[0_i32; 2]; slots.count()];
        for register in intervals.registers() {
            let (file, units) = units(register);
            let units = units as i32;
            for segment in intervals.segments(register) {
                changes[slots.place(segment.start)][file as usize] += units;
                changes[slots.place(segment.end)][file as usize] -= units;
            }
        }
        let mut points: [Vec<PressurePoint>; 2] = [Vec::new(), Vec::new()];
        let mut live = [0_i32; 2];
        for (place, changes) in changes.iter().enumerate() {
            for (file, &change) in changes.iter().enumerate() {
                // Where ranges end and begin at the same position, only the sum counts.
                if change != 0 {
                    live[file] += change;
                    points[file].push(PressurePoint {
                        index: slots.index(place),
                        units: u32::try_from(live[file]).expect("ranges end after they begin"),
                    });
                }
            }
        }
        let [general, predicate] = points.map(|points| PressureCurve { points });
        Self { general, predicate }
    }

    /// Returns the pressure of one file.
    pub fn file(&self, file: PressureFile) -> &PressureCurve {
        match file {
            PressureFile::General => &self.general,
            PressureFile::Predicate => &self.predicate,
        }
    }

    /// Returns the peak of one file inside a block.
    pub fn block_peak(&self, intervals: &LiveIntervals, file: PressureFile, block: Block) -> Peak {
        let (start, end) = intervals.indexes().block_range(block);
        self.file(file).peak_between(start, end)
    }
}

/// The slots of a numbering, counted without the numbers between instructions.
#[derive(Clone, Copy, Debug)]
struct Slots {
    /// The numbers from one entry to the next.
    distance: u32,
    last: SlotIndex,
}

impl Slots {
    fn of(intervals: &LiveIntervals) -> Self {
        let indexes = intervals.indexes();
        Self {
            // A fresh numbering has four slots in every sixteen numbers.
            distance: match indexes.is_edited() {
                true => SLOT_COUNT,
                false => INSTRUCTION_DISTANCE,
            },
            last: indexes.last_index(),
        }
    }

    fn count(self) -> usize {
        self.place(self.last) + SLOT_COUNT as usize
    }

    fn place(self, index: SlotIndex) -> usize {
        let (entry, slot) = (index.number() / self.distance, index.number() % SLOT_COUNT);
        (entry * SLOT_COUNT + slot) as usize
    }

    fn index(self, place: usize) -> SlotIndex {
        let (entry, slot) = (place as u32 / SLOT_COUNT, place as u32 % SLOT_COUNT);
        SlotIndex::from_number(entry * self.distance + slot)
    }
}

impl LiveIntervals {
    /// Returns the registers of `file` that are live at `index`, in ascending order.
    pub fn live_at(&self, snapshot: &Snapshot<'_>, file: PressureFile, index: SlotIndex) -> Vec<Register> {
        self.registers()
            .filter(|&register| {
                units_of(snapshot, register).0 == file && self.interval(register).live_at(index)
            })
            .collect()
    }

    /// Returns the registers that are live at the peak of `file`.
    pub fn live_at_peak(
        &self,
        snapshot: &Snapshot<'_>,
        pressure: &Pressure,
        file: PressureFile,
    ) -> Vec<Register> {
        match pressure.file(file).peak().index {
            Some(index) => self.live_at(snapshot, file, index),
            None => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entity::EntityRef;
    use crate::live::LiveRangeCalc;
    use crate::live::testing::{PLAIN, Random, TestFunction, def, operand, random_function, read};
    use crate::snapshot::abi::OperandFlags;
    use proptest::prelude::*;

    #[test]
    fn counts_units_by_width_and_file() {
        // Registers 0 and 6 are b32, 1 is a predicate, 2 is b64.
        let mut function = TestFunction::new(7);
        function.block(&[]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[def(2)]);
        function.instruction(PLAIN, &[def(1)]);
        function.instruction(PLAIN, &[def(6), read(0), read(2)]);
        function.instruction(PLAIN, &[read(6), read(1)]);
        let function = function.finish(|| 0);
        let snapshot = function.snapshot();
        let intervals = LiveRangeCalc::new().analyze(&snapshot);
        let pressure = Pressure::new(&intervals, &snapshot);
        let peak = pressure.file(PressureFile::General).peak();
        assert_eq!(
            (peak.units, peak.index.unwrap().to_string()),
            (3, "32r".to_owned())
        );
        let live = intervals.live_at_peak(&snapshot, &pressure, PressureFile::General);
        assert_eq!(live, [Register::new(0), Register::new(2)]);
        assert_eq!(pressure.file(PressureFile::Predicate).peak().units, 1);
        let excess = [2, DEFAULT_BUDGET].map(|budget| excess_pressure(&snapshot, budget));
        assert_eq!(excess, [1, 0]);
        let block = pressure.block_peak(&intervals, PressureFile::General, Block::new(0));
        assert_eq!(block, peak);
    }

    #[test]
    fn an_early_result_has_a_register_beside_the_sources() {
        let early = operand(4, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        for (result, peak) in [(early, 2), (def(4), 1)] {
            let mut function = TestFunction::new(5);
            function.block(&[]);
            function.instruction(PLAIN, &[def(0)]);
            function.instruction(PLAIN, &[result, read(0)]);
            function.instruction(PLAIN, &[read(4)]);
            let function = function.finish(|| 0);
            let snapshot = function.snapshot();
            let intervals = LiveRangeCalc::new().analyze(&snapshot);
            assert_eq!(intervals.has_early_clobbers(), peak == 2);
            assert_eq!(general_peak(&intervals, &snapshot), peak);
            assert_eq!(general_peak_without_early_clobbers(&intervals, &snapshot), 1);
        }
    }

    #[test]
    fn a_block_alone_shows_what_it_reads() {
        // Register 0 is live through block 1, which does not read it.
        let mut function = TestFunction::new(7);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.block(&[2]);
        function.instruction(PLAIN, &[def(2)]);
        function.instruction(PLAIN, &[def(6)]);
        function.instruction(PLAIN, &[read(2), read(6)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        let function = function.finish(|| 0);
        let snapshot = function.snapshot();
        assert_eq!(excess_pressure(&snapshot, 0), 4);
        assert!(exceeds_in_a_block(&snapshot, 2));
        assert!(!exceeds_in_a_block(&snapshot, 3));
    }

    #[test]
    fn the_entry_block_shows_what_it_leaves_to_others() {
        // Register 0 is read after block 1, 6 in it, and 4 (b32 too) nowhere.
        let mut function = TestFunction::new(7);
        function.block(&[1]);
        function.instruction(PLAIN, &[def(0)]);
        function.instruction(PLAIN, &[def(6)]);
        function.instruction(PLAIN, &[def(4)]);
        function.block(&[2]);
        function.instruction(PLAIN, &[read(6)]);
        function.block(&[]);
        function.instruction(PLAIN, &[read(0)]);
        let mut function = function.finish(|| 0);
        assert!(!exceeds_in_a_block(&function.snapshot(), 1));
        function.mark_ssa();
        let snapshot = function.snapshot();
        assert!(exceeds_in_a_block(&snapshot, 1));
        assert!(!exceeds_in_a_block(&snapshot, 2));
    }

    #[test]
    fn wide_narrow_and_special_registers_count_by_their_bits() {
        // b32, predicate, b64, b128, b16, and 64 bits of a special class.
        let mut function = TestFunction::new(6);
        function.block(&[]);
        let all: Vec<_> = (0..6).map(def).collect();
        function.instruction(PLAIN, &all);
        let all: Vec<_> = (0..6).map(read).collect();
        function.instruction(PLAIN, &all);
        let function = function.finish(|| 0);
        let snapshot = function.snapshot();
        let units: Vec<_> = snapshot
            .registers()
            .map(|register| units_of(&snapshot, register))
            .collect();
        let general = |units| (PressureFile::General, units);
        assert_eq!(
            units,
            [
                general(1),
                (PressureFile::Predicate, 1),
                general(2),
                general(4),
                general(1),
                general(2)
            ]
        );
        let intervals = LiveRangeCalc::new().analyze(&snapshot);
        let pressure = Pressure::new(&intervals, &snapshot);
        assert_eq!(pressure.file(PressureFile::General).peak().units, 10);
        assert_eq!(pressure.file(PressureFile::Predicate).peak().units, 1);
        assert_eq!(excess_pressure(&snapshot, 9), 1);
    }

    proptest! {
        /// Every register has a definition that reaches its reads: others are never live. In SSA form it
        /// is the only one.
        #[test]
        fn what_a_block_shows_is_not_above_the_peak(
            seed: u64,
            blocks in 1_u32..8,
            length in 0_u32..8,
            is_ssa: bool,
        ) {
            let mut random = Random(seed);
            let mut function = TestFunction::new(12);
            for block in 0..blocks {
                let mut successors: Vec<u32> = (block + 1..blocks).take(1).collect();
                if blocks > 1 && random.chance(40) {
                    successors.push(1 + random.below(blocks - 1));
                }
                function.block(&successors);
                if block == 0 {
                    let all: Vec<_> = (0..12).map(def).collect();
                    let at_once = if is_ssa { 1 } else { all.len() };
                    all.chunks(at_once)
                        .for_each(|registers| function.instruction(PLAIN, registers));
                }
                for _ in 0..random.below(length + 1) {
                    let definitions = if is_ssa { 0 } else { random.below(2) };
                    let mut operands: Vec<_> = (0..definitions).map(|_| def(random.below(12))).collect();
                    operands.extend((0..random.below(4)).map(|_| read(random.below(12))));
                    function.instruction(PLAIN, &operands);
                }
            }
            let mut function = function.finish(|| 0);
            if is_ssa {
                function.mark_ssa();
            }
            let snapshot = function.snapshot();
            let pressure = Pressure::new(&LiveRangeCalc::new().analyze(&snapshot), &snapshot);
            let peak = pressure.file(PressureFile::General).peak().units;
            prop_assert!(!exceeds_in_a_block(&snapshot, peak));
        }

        #[test]
        fn equals_the_sum_at_every_slot(seed: u64, blocks in 1_u32..8, length in 0_u32..8) {
            let function = random_function(&mut Random(seed), blocks, 12, length);
            let snapshot = function.snapshot();
            let intervals = LiveRangeCalc::new().analyze(&snapshot);
            let pressure = Pressure::new(&intervals, &snapshot);
            for file in PressureFile::ALL {
                let mut most = 0;
                for number in 0..=intervals.indexes().last_index().number() {
                    let index = SlotIndex::from_number(number);
                    let expected: u32 = intervals
                        .live_at(&snapshot, file, index)
                        .into_iter()
                        .map(|register| units_of(&snapshot, register).1)
                        .sum();
                    prop_assert_eq!(pressure.file(file).at(index), expected);
                    most = most.max(expected);
                }
                prop_assert_eq!(pressure.file(file).peak().units, most);
                if file == PressureFile::General {
                    prop_assert_eq!(general_peak(&intervals, &snapshot), most);
                    prop_assert!(peak_bound::of(&snapshot) >= most);
                }
                let blocks = snapshot.blocks().map(|block| {
                    pressure.block_peak(&intervals, file, block).units
                });
                prop_assert_eq!(blocks.max().unwrap_or(0), most);
            }
        }
    }
}
