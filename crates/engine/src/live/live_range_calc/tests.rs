use super::*;
use crate::entity::EntityRef;
use crate::live::segment::{GENERAL_BITS, PREDICATE_BITS};
use crate::live::testing::{
    COPY, DEBUG, PHI, PLAIN, Random, TestFunction, covered_slots, def, from, operand, random_function, read,
    structured_function,
};
use crate::live::{FindingKind, Slot};
use crate::snapshot::abi::OperandFlags;
use proptest::prelude::*;

fn text(function: &TestFunction, bypass: Bypass) -> String {
    let snapshot = function.snapshot();
    LiveRangeCalc::with_bypass(bypass).analyze(&snapshot).to_string()
}

fn check(function: TestFunction, expected: &[&str]) {
    let mut order = 0;
    let function = function.finish(|| {
        order += 1;
        order
    });
    for bypass in [Bypass::Never, Bypass::Always, Bypass::Small] {
        let expected: String = expected
            .iter()
            .map(|line| format!("{line}  weight:0.000000e+00\n"))
            .collect();
        assert_eq!(text(&function, bypass), expected, "{bypass:?}");
    }
}

#[test]
fn straight_line() {
    let mut function = TestFunction::new(5);
    function.block(&[]);
    function.instruction(PLAIN, &[def(0)]);
    function.instruction(DEBUG, &[operand(3, OperandFlags::DEBUG)]);
    function.instruction(PLAIN, &[def(1), read(0)]);
    function.instruction(PLAIN, &[read(1), read(0), operand(2, OperandFlags::UNDEF)]);
    check(
        function,
        &["%0 [16r,48r:0) 0@16r", "%1 [32r,48r:0) 0@32r", "%2 EMPTY"],
    );
}

#[test]
fn dead_and_early_clobber_definitions() {
    let mut function = TestFunction::new(3);
    let early = operand(1, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
    function.block(&[]);
    function.instruction(PLAIN, &[def(0)]);
    function.instruction(PLAIN, &[early, read(0)]);
    let mut tied = read(1);
    tied.tied_to = 1;
    let early = operand(2, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
    function.instruction(PLAIN, &[early, tied]);
    check(
        function,
        &[
            "%0 [16r,32r:0) 0@16r",
            "%1 [32e,48e:0) 0@32e",
            "%2 [48e,48d:0) 0@48e",
        ],
    );
}

#[test]
fn a_read_beside_an_early_definition_does_not_lengthen_the_value_before() {
    let mut function = TestFunction::new(1);
    let early = operand(0, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
    function.block(&[1]);
    function.instruction(PLAIN, &[def(0)]);
    function.block(&[]);
    function.instruction(PLAIN, &[read(0)]);
    function.instruction(PLAIN, &[def(0)]);
    function.instruction(PLAIN, &[read(0)]);
    function.instruction(PLAIN, &[read(0), early]);
    function.instruction(PLAIN, &[read(0)]);
    check(
        function,
        &["%0 [16r,48r:0)[64r,80r:1)[96e,112r:2) 0@16r 1@64r 2@96e"],
    );
}

#[test]
fn one_block_reads_a_register_before_and_between_its_definitions() {
    let mut function = TestFunction::new(1);
    function.block(&[1]);
    function.instruction(PLAIN, &[def(0)]);
    function.block(&[1, 2]);
    function.instruction(PLAIN, &[read(0)]);
    function.instruction(PLAIN, &[def(0)]);
    function.instruction(PLAIN, &[def(0), read(0)]);
    function.block(&[]);
    function.instruction(PLAIN, &[read(0)]);
    check(
        function,
        &["%0 [16r,32B:0)[32B,48r:3)[64r,80r:1)[80r,112r:2) 0@16r 1@64r 2@80r 3@32B-phi"],
    );
}

#[test]
fn loop_with_phi() {
    let mut function = TestFunction::new(4);
    function.block(&[1]);
    function.instruction(PLAIN, &[def(0)]);
    function.instruction(PLAIN, &[def(3)]);
    function.block(&[1, 2]);
    function.instruction(PHI, &[def(1), read(0), from(0), read(2), from(1)]);
    function.instruction(PLAIN, &[def(2), read(1), read(3)]);
    function.block(&[]);
    function.instruction(PLAIN, &[read(2)]);
    check(
        function,
        &[
            "%0 [16r,48B:0) 0@16r",
            "%1 [64r,80r:0) 0@64r",
            "%2 [80r,112r:0) 0@80r",
            "%3 [32r,96B:0) 0@32r",
        ],
    );
}

#[test]
fn loop_variable_gets_a_phi_value() {
    let mut function = TestFunction::new(1);
    function.block(&[1]);
    function.instruction(COPY, &[def(0)]);
    function.block(&[1, 2]);
    function.instruction(PLAIN, &[def(0), read(0)]);
    function.block(&[]);
    function.instruction(PLAIN, &[read(0)]);
    check(
        function,
        &["%0 [16r,32B:0)[32B,48r:2)[48r,80r:1) 0@16r 1@48r 2@32B-phi"],
    );
}

#[test]
fn partially_defined_in_a_loop_is_one_value() {
    let mut function = TestFunction::new(1);
    function.block(&[1]);
    function.instruction(PLAIN, &[]);
    function.block(&[1, 2]);
    function.instruction(PLAIN, &[def(0), read(0)]);
    function.block(&[]);
    check(function, &["%0 [0B,64B:0) 0@48r"]);
}

#[test]
fn undefined_registers_have_empty_intervals() {
    let mut function = TestFunction::new(2);
    function.block(&[1]);
    function.block(&[]);
    function.instruction(PLAIN, &[read(1)]);
    check(function, &["%1 EMPTY"]);
}

#[test]
fn many_registers_take_several_batches() {
    let mut function = TestFunction::new(6000);
    function.block(&[1]);
    for register in 0..6000 {
        function.instruction(PLAIN, &[def(register)]);
    }
    function.block(&[1, 2]);
    function.instruction(PLAIN, &[]);
    function.block(&[]);
    for register in 0..6000 {
        function.instruction(PLAIN, &[read(register)]);
    }
    let function = function.finish(|| 0);
    let snapshot = function.snapshot();
    let mut calc = LiveRangeCalc::with_bypass(Bypass::Never);
    let mut intervals = LiveIntervals::default();
    intervals.renumber(&snapshot);
    calc.compute(&snapshot, &mut intervals);
    assert_eq!(calc.general.len() + calc.predicates.len(), 6000);
    assert!(calc.general.len() > GENERAL_BITS && calc.predicates.len() > PREDICATE_BITS);
    for bypass in [Bypass::Always, Bypass::Small] {
        assert_eq!(intervals.to_string(), text(&function, bypass));
    }
    assert_eq!(intervals.verify(&snapshot), []);
}

/// A chain of 100,000 blocks with a detour around every fifth: one register with one
/// definition, and one that every thousandth block redefines.
#[test]
fn a_hundred_thousand_blocks() {
    const BLOCKS: u32 = 100_000;
    let mut function = TestFunction::new(2);
    for block in 0..BLOCKS {
        let around = (block % 5 == 0).then_some(block + 2);
        let successors = [Some(block + 1), around].into_iter().flatten();
        let successors: Vec<u32> = successors.filter(|&next| next < BLOCKS).collect();
        function.block(&successors);
        match block % 1000 {
            0 if block == 0 => function.instruction(PLAIN, &[def(0), def(1)]),
            0 => function.instruction(PLAIN, &[def(1), read(1)]),
            _ => {}
        }
    }
    function.instruction(PLAIN, &[read(0), read(1)]);
    let function = function.finish(|| 0);
    let snapshot = function.snapshot();
    let intervals = LiveRangeCalc::with_bypass(Bypass::Never).analyze(&snapshot);
    let others = LiveRangeCalc::with_bypass(Bypass::Always).analyze(&snapshot);
    assert_eq!(intervals.to_string(), others.to_string());
    let [one, several] = [0, 1].map(|number| intervals.interval(Register::new(number)));
    // 100,000 block entries and 101 instructions before the last use.
    let end = SlotIndex::new((BLOCKS + 100) * 16, Slot::Register);
    assert_eq!(one.to_string(), format!("[16r,{end}:0) 0@16r"));
    assert_eq!((several.start(), several.end()), (one.start(), one.end()));
    assert_eq!(several.value_count(), 100);
    assert_eq!(several.segments().len(), 100);
    assert!(intervals.verify(&snapshot).is_empty());
}

/// One block of 200,000 instructions like inline assembly that reads one register and writes
/// another early: the time for each must not grow with the block.
#[test]
fn a_long_block_of_early_clobber_definitions() {
    const LENGTH: u32 = 200_000;
    let mut function = TestFunction::new(LENGTH as usize + 1);
    function.block(&[]);
    function.instruction(PLAIN, &[def(0)]);
    for number in 1..=LENGTH {
        let early = operand(number, OperandFlags::DEF | OperandFlags::EARLY_CLOBBER);
        function.instruction(PLAIN, &[early, read(number - 1)]);
    }
    let function = function.finish(|| 0);
    let intervals = LiveRangeCalc::new().analyze(&function.snapshot());
    let last = intervals.interval(Register::new(LENGTH as usize - 1));
    let (start, end) = (LENGTH * 16, (LENGTH + 1) * 16);
    assert_eq!(last.to_string(), format!("[{start}e,{end}r:0) 0@{start}e"));
}

#[test]
fn memory_is_reused_without_stale_state() {
    let mut random = Random(7);
    let mut calc = LiveRangeCalc::with_bypass(Bypass::Never);
    let mut intervals = LiveIntervals::default();
    for round in 0..200 {
        // At times more than one batch of webs.
        let (most_blocks, registers) = if round % 8 == 0 { (100, 300) } else { (12, 24) };
        let blocks = 1 + random.below(most_blocks);
        let function = random_function(&mut random, blocks, registers, 8);
        let snapshot = function.snapshot();
        intervals.renumber(&snapshot);
        calc.compute(&snapshot, &mut intervals);
        assert_eq!(
            intervals.to_string(),
            text(&function, Bypass::Never),
            "round {round}"
        );
    }
}

/// Returns whether code with reads of undefined registers may have such a finding.
fn is_tolerated(kind: FindingKind) -> bool {
    matches!(kind, FindingKind::ReadOfNothing)
}

fn check_random(seed: u64, blocks: u32, registers: u32, length: u32) -> Result<(), TestCaseError> {
    check_all_ways(&random_function(&mut Random(seed), blocks, registers, length))
}

fn check_all_ways(function: &TestFunction) -> Result<(), TestCaseError> {
    let snapshot = function.snapshot();
    let intervals = LiveRangeCalc::with_bypass(Bypass::Never).analyze(&snapshot);
    prop_assert_eq!(intervals.to_string(), text(function, Bypass::Always));
    prop_assert_eq!(intervals.to_string(), text(function, Bypass::Small));
    let mut compared = Vec::new();
    for register in snapshot.registers() {
        let Some(expected) = covered_slots(&snapshot, &intervals, register) else {
            continue;
        };
        compared.push(register);
        let range = intervals.interval(register);
        for (position, &expected) in expected.iter().enumerate() {
            let number = position as u32 / 4 * 16 + position as u32 % 4;
            let index = SlotIndex::from_number(number);
            prop_assert_eq!(
                range.live_at(index),
                expected,
                "%{} at {} in {}",
                register.index(),
                index,
                range
            );
        }
    }
    let findings: Vec<_> = intervals.verify(&snapshot);
    let wrong = findings
        .iter()
        .find(|finding| compared.contains(&finding.register) && !is_tolerated(finding.kind));
    prop_assert!(
        wrong.is_none(),
        "{}: {}",
        wrong.unwrap(),
        intervals.interval(wrong.unwrap().register)
    );
    Ok(())
}

/// Returns a random function of many blocks most of whose registers are read close to their
/// definitions. Edges skip blocks of groups of eight and go back a few blocks.
fn function_of_short_ranges(random: &mut Random, blocks: u32) -> TestFunction {
    let mut function = TestFunction::new(blocks as usize);
    for block in 0..blocks {
        let last_of_group = (block | 7).min(blocks - 1);
        // Without the edge to the next block some blocks are unreachable.
        let mut successors = match block + 1 < blocks && random.chance(98) {
            true => vec![block + 1; 1 + usize::from(random.chance(5))],
            false => vec![],
        };
        if random.chance(40) && block < last_of_group {
            successors.push(block + 1 + random.below(last_of_group - block));
        }
        if random.chance(10) && block > 0 {
            successors.push(block - random.below(block.min(12)));
        }
        function.block(&successors);
        if random.chance(80) {
            function.instruction(PLAIN, &[def(block)]);
        }
        for _ in 0..random.below(4) {
            let distance = [1, 9, 20, 40, 100][random.below(5) as usize];
            // The first block of a group dominates what follows.
            let register = block.saturating_sub(random.below(distance)) & !7;
            let register = register + u32::from(random.chance(5));
            function.instruction(PLAIN, &[read(register.min(blocks - 1))]);
        }
    }
    function.finish(|| 0)
}

#[test]
fn windows_of_blocks_solve_many_registers_and_leave_the_others() {
    let mut random = Random(1);
    let function = function_of_short_ranges(&mut random, 800);
    let snapshot = function.snapshot();
    let mut calc = LiveRangeCalc::new();
    let intervals = calc.analyze(&snapshot);
    let crossing = snapshot.registers().filter(|&register| {
        let range = intervals.interval(register);
        range.segments().len() > 1
            || range.segments().iter().any(|segment| {
                intervals.indexes.block_at(segment.start) != intervals.indexes.block_before(segment.end)
            })
    });
    let (crossing, left) = (crossing.count(), calc.general.len());
    assert!(
        left * 4 > crossing && left * 4 < crossing * 3,
        "{left} of {crossing}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn short_ranges_in_many_blocks(seed: u64, blocks in 60_u32..300) {
        check_all_ways(&function_of_short_ranges(&mut Random(seed), blocks))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn several_batches_of_webs(
        seed: u64, blocks in 40_u32..160, registers in 200_u32..400, length in 1_u32..8
    ) {
        check_random(seed, blocks, registers, length)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6000))]

    #[test]
    fn many_values_of_few_registers(
        seed: u64, blocks in 8_u32..40, registers in 2_u32..8, length in 0_u32..3
    ) {
        check_random(seed, blocks, registers, length)?;
    }

    #[test]
    fn many_values_in_nested_loops(seed: u64) {
        check_all_ways(&structured_function(&mut Random(seed)))?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn equals_liveness_by_definition(
        seed: u64, blocks in 1_u32..12, registers in 1_u32..24, length in 0_u32..10
    ) {
        check_random(seed, blocks, registers, length)?;
    }

    #[test]
    fn one_block_functions(seed: u64, registers in 1_u32..12, length in 0_u32..20) {
        check_random(seed, 1, registers, length)?;
    }

    #[test]
    fn index_lookups_agree(seed: u64, blocks in 1_u32..12, length in 0_u32..10) {
        let function = random_function(&mut Random(seed), blocks, 8, length);
        let snapshot = function.snapshot();
        let indexes = SlotIndexes::new(&snapshot);
        for block in snapshot.blocks() {
            let (start, end) = indexes.block_range(block);
            prop_assert_eq!(indexes.block_at(start), Some(block));
            prop_assert_eq!(indexes.block_before(end), Some(block));
            let mut before = start;
            for instruction in snapshot.instructions_of(block) {
                if !indexes.has_index(instruction) {
                    prop_assert_eq!(indexes.index_at_or_before(instruction), before);
                    continue;
                }
                let index = indexes.instruction_index(instruction);
                prop_assert_eq!(index.number(), before.number() + 16);
                prop_assert_eq!(indexes.instruction_at(index.dead_slot()), Some(instruction));
                prop_assert_eq!(indexes.block_at(index), Some(block));
                prop_assert_eq!(indexes.next_instruction_index(before), index);
                before = index;
            }
            prop_assert_eq!(end.number(), before.number() + 16);
            prop_assert_eq!(indexes.instruction_at(end), None);
        }
    }
}
