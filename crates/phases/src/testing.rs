//! Small functions for the tests of phases, and common checks.

use super::ori_copy_prop::marks::clear_marks;
use super::registry::{self, Run};
use super::{Manager, PhaseOptions, PhaseResult, Remark, Statistics};
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::snapshot::abi::Stage;
pub(crate) use oriel_ori::graph_function::{
    append_phi, block, empty_function, function, numbers, on_random_functions,
};
use oriel_ori::random_function::random_function;
use oriel_ori::{
    DataType, Function, Instruction, InstructionBuilder, Operand, Operation, Position, parse_function,
};
use oriel_random::Random;

/// Parses a kernel in a form, such as `sm_80 ssa`, from its blocks, and verifies it.
pub(crate) fn kernel(form: &str, blocks: &str) -> Function {
    let text = format!("kernel \"k\" {form} {{\n{blocks}}}\n");
    let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    assert_eq!(function.verify(), [], "{function}");
    function
}

/// Returns the default options with knobs.
pub(crate) fn options_with(knobs: &[&str]) -> PhaseOptions {
    let mut options = PhaseOptions::default();
    for knob in knobs {
        options.knobs.set(knob).expect("a knob");
    }
    options
}

/// Runs one phase. Returns whether it reported a change.
pub(crate) fn run_phase(run: Run, function: &mut Function) -> bool {
    run_phase_with(run, function, &PhaseOptions::default())
}

/// Runs one phase with options.
pub(crate) fn run_phase_with(run: Run, function: &mut Function, options: &PhaseOptions) -> bool {
    run_and_count(run, function, options).0 == PhaseResult::Changed
}

/// Runs one phase. Returns one of its counters.
pub(crate) fn count_of(run: Run, function: &mut Function, counter: &'static str) -> u64 {
    let (_, statistics) = run_and_count(run, function, &PhaseOptions::default());
    statistics.counter("test", counter)
}

/// Returns a function's text after one phase. Checks that the result verifies, and that the phase
/// reports whether it changed something.
pub(crate) fn text_after(run: Run, text: &str) -> String {
    let mut function = parse_function(text).expect("it is well formed");
    let before = function.to_string();
    let changed = run_phase(run, &mut function);
    assert_eq!(function.verify(), []);
    let after = function.to_string();
    assert_eq!(changed, after != before);
    after
}

fn run_and_count(run: Run, function: &mut Function, options: &PhaseOptions) -> (PhaseResult, Statistics) {
    let mut statistics = Statistics::default();
    let result = crate::run(&registry::test_phase(run), function, options, &mut statistics);
    (result, statistics)
}

/// Runs one phase on a function at an optimisation level and verifies the result. Returns its
/// statistics and remarks.
pub(crate) fn run_named(
    name: &str,
    function: &mut Function,
    knobs: &[&str],
    optimization_level: u32,
) -> (PhaseResult, Statistics, Vec<Remark>) {
    let options = PhaseOptions {
        optimization_level,
        ..options_with(knobs)
    };
    run_with(name, function, &options)
}

/// The same with any options.
pub(crate) fn run_with(
    name: &str,
    function: &mut Function,
    options: &PhaseOptions,
) -> (PhaseResult, Statistics, Vec<Remark>) {
    let phase = registry::named(name).next().expect("a phase");
    let mut manager = Manager::new(options, true);
    let result = manager.run(phase, function);
    assert_eq!(function.verify(), [], "{function}");
    manager
        .check_analyses(phase, function)
        .expect("what it keeps is right");
    let (statistics, remarks) = manager.finish();
    (result, statistics, remarks)
}

/// Returns the lines of an SSA kernel's body after a phase at an optimisation level.
pub(crate) fn lines_after(name: &str, body: &str, knobs: &[&str], optimization_level: u32) -> Vec<String> {
    let mut function = kernel("sm_80 ssa", body);
    let before = function.to_string();
    let (result, ..) = run_named(name, &mut function, knobs, optimization_level);
    let printed = function.to_string();
    assert_eq!(result, PhaseResult::of(printed != before), "{printed}");
    let lines = printed.lines().skip(1).map(|line| line.trim().to_owned());
    lines.filter(|line| line != "}").collect()
}

/// True if a line has a part.
pub(crate) fn has(lines: &[String], part: &str) -> bool {
    lines.iter().any(|line| line.contains(part))
}

/// Runs a phase on many random functions and checks that it leaves them valid, reports changes
/// correctly, finds work, and ends its fixed points before their limit.
pub(crate) fn check_on_random_functions(name: &str, optimization_level: u32) {
    let mut changed = 0;
    for seed in 0..600 {
        let mut function = random_function(seed, Stage::Ssa);
        // Marks left by others do not count.
        clear_marks(&mut function);
        let before = function.to_string();
        let (result, statistics, _) = run_named(name, &mut function, &[], optimization_level);
        assert_eq!(
            result,
            PhaseResult::of(function.to_string() != before),
            "{before}"
        );
        assert_eq!(
            statistics.counter(name, "stopped-cap"),
            0,
            "{name}: {before}\n{statistics:?}"
        );
        changed += u32::from(result == PhaseResult::Changed);
    }
    assert!(changed > 10, "{changed} functions changed");
}

/// Runs a phase on a random function in SSA form and checks that the result verifies and that a
/// second run finds nothing.
pub(crate) fn check_ends_in_one_run(run: Run, seed: u64) {
    let mut function = random_function(seed, Stage::Ssa);
    run_phase(run, &mut function);
    assert_eq!(function.verify(), [], "{function}");
    assert!(
        !run_phase(run, &mut function),
        "a second run finds something to do: {function}"
    );
}

/// Inserts copies before random uses, which then use the copies.
pub(crate) fn add_copies(function: &mut Function, random: &mut Random) {
    let all: Vec<Instruction> = function.all_instructions().collect();
    for user in all {
        if matches!(
            function.operation(user),
            Operation::Phi | Operation::Debug | Operation::InlineAsm
        ) {
            continue;
        }
        for number in 0..function.sources(user).len() {
            let operand = function.source(user, number);
            let Some(register) = operand.as_register().filter(|_| random.below(3) == 0) else {
                continue;
            };
            if operand.is_undefined() || operand.is_modified() {
                continue;
            }
            let copy = function.create_register_like(register);
            let data_type = DataType::of_bits(u32::from(function.register(register).bits));
            let new = InstructionBuilder::new(Operation::Mov, data_type.unwrap_or_default())
                .result(function.register_operand(copy))
                .source(operand);
            function.insert(Position::Before(user), new);
            let changed = function.register_operand(copy);
            function.set_source(user, number, changed);
        }
    }
}

/// Returns the edges, by layout.
pub(crate) fn edges(function: &Function) -> Vec<(usize, usize)> {
    let from = |block: Block| {
        function
            .successors(block)
            .map(move |to| (block.index(), to.index()))
    };
    function.blocks().iter().copied().flat_map(from).collect()
}

/// Returns the PHIs' values by block and predecessor.
pub(crate) fn phi_values(function: &Function) -> Vec<(Instruction, Vec<Operand>)> {
    let mut values: Vec<_> = function
        .blocks()
        .iter()
        .flat_map(|&block| function.phis(block))
        .map(|phi| (phi, function.sources(phi).iter().collect()))
        .collect();
    values.sort_unstable_by_key(|&(phi, _)| phi);
    values
}

/// Runs a phase that only changes the layout on random functions, and checks that edges and PHIs
/// stay, every block is placed once, and the entry stays first.
pub(crate) fn check_layout_phase(run: Run) {
    on_random_functions(|mut function, random| {
        for index in 0..function.blocks().len() {
            let block = function.blocks()[index];
            let frequency = random.pick(&[0, 1, 50, 1000, 100_000]);
            function.set_frequency(block, frequency);
        }
        function.info.entry_frequency = random.pick(&[0, 1000, 100_000]);
        let entry = function.entry();
        let before = (sorted(edges(&function)), phi_values(&function));
        let blocks = sorted(numbers(function.blocks()));
        let layout = numbers(function.blocks());
        let changed = run_phase(run, &mut function);
        assert_eq!(changed, layout != numbers(function.blocks()));
        assert_eq!((sorted(edges(&function)), phi_values(&function)), before);
        assert_eq!(sorted(numbers(function.blocks())), blocks);
        assert_eq!(function.entry(), entry);
        assert!(
            !run_phase(run, &mut function),
            "a second run finds something to do"
        );
    });
}

fn sorted<T: Ord>(mut items: Vec<T>) -> Vec<T> {
    items.sort_unstable();
    items
}
