//! Executes every example of every rule before and after in the interpreter.
//!
//! An example is the middle of a kernel whose threads each read a record of inputs. All values of
//! 16 bits are tried, with boundary values for the second operand (a part of them if the tests are
//! not optimised); wider values are boundaries and random numbers.

use super::rule::Rule;
use super::table::table;
use crate::ori_peephole;
use crate::testing::{count_of, run_phase};
use oriel_interpreter::{Buffer, Launch, Limits, Module, Program, run};
use oriel_ori::{Function, parse_function};
use oriel_random::{Random, Stream};
use proptest::prelude::*;

/// The code before an example, as far as it is mentioned: `%1` and `%2` have `{w}` bits, `%3` and
/// `%10` 64, `%4` and `%5` 32, `%12` 16; `%11` is a predicate and `%13` an address. All come from
/// memory, so that no rule knows anything about them.
const BEGIN: &str = "\
kernel \"k\" sm_80 ssa {
bix0:
    %20:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %21:R64 = LD.param::entry.b64.b64 [&k_param_1]
    %22:R64 = LD.param::entry.b64.b64 [&k_param_2]
    %23:R32 = S2R.b32 tid.x
    %24:R32 = S2R.b32 ctaid.x
    %25:R32 = IMAD.b32 %24, 256, %23
    %26:R64 = IMAD.WIDE.u64.u32 %25, 24, %20
    %27:R64 = IMAD.WIDE.u64.u32 %25, 8, %21
    %13:R64 = IMAD.WIDE.u64.u32 %25, 128, %22
    %1:R{w} = LD.global.b{w}.b{w} [%26]
    %2:R{w} = LD.global.b{w}.b{w} [%26+8]
    %3:R64 = LD.global.b64.b64 [%26]
    %4:R32 = LD.global.b32.b32 [%26]
    %5:R32 = LD.global.b32.b32 [%26+8]
    %12:R16 = LD.global.b16.b16 [%26]
    %10:R64 = LD.global.b64.b64 [%26+8]
    %28:R32 = LD.global.b32.b32 [%26+16]
    %11:P = FTESTINF.f32 %28
";

/// Registers of [`BEGIN`] used in addresses.
const ALWAYS: [&str; 7] = ["%20", "%21", "%23", "%24", "%25", "%26", "%27"];

/// Registers of [`BEGIN`] that depend on others.
const NEEDED: [(&str, &str); 2] = [("%11", "%28"), ("%13", "%22")];

/// Returns the code after an example, which depends on the kind of its value.
fn ending(body: &str) -> String {
    let store = |bits: u32| format!("    ST.global.b{bits}.b{bits} %9, [%27]\n    RET\n}}\n");
    if body.contains("BRA") {
        let block = |number: u32| format!("bix{number}:\n    ST.global.b32.b32 {number}, [%27]\n    RET\n");
        return block(1) + &block(2) + "}\n";
    }
    let kind = body.split("%9:").nth(1).and_then(|rest| rest.split(' ').next());
    match kind.expect("the example defines %9") {
        "P" => "    %29:R32 = SEL.b32 1, 2, %9\n    ST.global.b32.b32 %29, [%27]\n    RET\n}\n".to_owned(),
        kind => store(kind[1..].parse().expect("a width")),
    }
}

/// Returns the kernel of an example in one of the widths.
fn kernel(example: &str, width: u32) -> Function {
    let body = example.replace("{w}", &width.to_string());
    let begin = BEGIN.replace("{w}", &width.to_string());
    let is_needed = |line: &&str| match line.trim().split_once(':') {
        Some((register, _)) if register.starts_with('%') && !ALWAYS.contains(&register) => body
            .split(|letter: char| !letter.is_alphanumeric() && letter != '%')
            .any(|word| word == register || NEEDED.contains(&(word, register))),
        _ => true,
    };
    let begin: Vec<&str> = begin.lines().filter(is_needed).collect();
    let text = format!("{}\n{body}\n{}", begin.join("\n"), ending(&body));
    let function = parse_function(&text).unwrap_or_else(|error| panic!("{text}\n{error}"));
    assert_eq!(function.verify(), [], "{text}");
    function
}

/// Returns the widths in which an example is tried.
fn widths(rule: &Rule, example: &str) -> Vec<u32> {
    if !example.contains("{w}") {
        return vec![32];
    }
    let all = [16, 32, 64].into_iter();
    all.filter(|width| rule.widths.is_empty() || rule.widths == [1] || rule.widths.contains(width))
        .collect()
}

/// Runs a test on every example of every rule in every width.
fn each_example(mut test: impl FnMut(&Rule, &str, u32)) {
    for number in 0..table().len() {
        let rule = table().rule(number);
        for example in rule.examples {
            for width in widths(rule, example) {
                test(rule, example, width);
            }
        }
    }
}

type Record = [u64; 3];

/// A word that is read as infinite, so that the predicate is true.
const TRUE: u64 = 0x7F80_0000;

/// Returns the memory that the threads leave for these inputs.
fn outcome(function: &Function, records: &[Record]) -> Vec<Vec<u8>> {
    const BLOCK: usize = 256;
    let parameters: Vec<String> = (0..3)
        .map(|number| format!(".param .u64 k_param_{number}"))
        .collect();
    let ptx = format!(".visible .entry k(\n{}\n)\n{{\n", parameters.join(",\n"));
    let module = Module::parse(&ptx).expect("the declarations are well formed");
    let program = Program::compile(&[function], &module).expect("it compiles");
    assert!(program.unsupported().is_empty(), "{function}");
    let mut memory = program.memory();
    let grid = records.len().div_ceil(BLOCK);
    let threads = grid * BLOCK;
    let padding = std::iter::repeat_n(&[0; 3], threads - records.len());
    let inputs = records
        .iter()
        .chain(padding)
        .flatten()
        .flat_map(|word| word.to_le_bytes())
        .collect();
    let mut add = |name: &str, bytes: Vec<u8>| {
        memory.add(Buffer {
            name: name.to_owned(),
            bytes,
            is_constant: false,
        })
    };
    let scratch = (0..128 * threads).map(|byte| (byte % 251) as u8).collect();
    let addresses = [
        add("in", inputs),
        add("out", vec![0; 8 * threads]),
        add("scratch", scratch) + 64,
    ];
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [grid as u32, 1, 1],
        block: [BLOCK as u32, 1, 1],
        arguments: addresses
            .iter()
            .map(|address| address.to_le_bytes().to_vec())
            .collect(),
        dynamic_shared_bytes: 0,
    };
    run(&program, &launch, &mut memory, Limits::default())
        .unwrap_or_else(|fault| panic!("{function}\n{fault}"));
    let outputs = &memory.buffers()[1..];
    outputs.iter().map(|buffer| buffer.bytes.clone()).collect()
}

/// Checks that the rule preserves the result of an example.
fn check(rule: &Rule, example: &str, width: u32, records: &[Record]) {
    let before = kernel(example, width);
    let mut after = kernel(example, width);
    run_phase(ori_peephole::run, &mut after);
    let [results, changed] = [&before, &after].map(|function| outcome(function, records));
    for ((before, after), record) in results[0].chunks(8).zip(changed[0].chunks(8)).zip(records) {
        assert_eq!(
            before, after,
            "{}: {example} in {width} bits, inputs {record:x?}",
            rule.name
        );
    }
    assert_eq!(results[1], changed[1], "{}: {example}: memory", rule.name);
}

/// Values at which carries, signs and float formats change.
const BORDERS: [u64; 24] = [
    0,
    1,
    2,
    5,
    31,
    32,
    0x7FFF,
    0x8000,
    0xFFFF,
    0x1_0000,
    0x7F80_0000,
    0x3F80_0000,
    0x7F80_0001,
    0x7FFF_FFFF,
    0x8000_0000,
    0x8000_0001,
    0xFFC0_0000,
    0xFFFF_FFFF,
    0x1_0000_0000,
    0x3FF0_0000_0000_0000,
    0x7FF0_0000_0000_0001,
    0x7FFF_FFFF_FFFF_FFFF,
    0x8000_0000_0000_0000,
    u64::MAX,
];

#[test]
fn every_rule_has_examples_that_it_applies_to() {
    for number in 0..table().len() {
        let rule = table().rule(number);
        assert!(!rule.examples.is_empty(), "{} is not proved", rule.name);
    }
    let mut problems = String::new();
    each_example(|rule, example, width| {
        let mut function = kernel(example, width);
        let applied = count_of(ori_peephole::run, &mut function, rule.name);
        let findings = function.verify();
        if applied == 0 || !findings.is_empty() || run_phase(ori_peephole::run, &mut function) {
            problems += &format!(
                "{}: {applied} times, {findings:?}: {example}\n{function}\n",
                rule.name
            );
        }
    });
    assert!(
        problems.is_empty(),
        "not applied, not sound or not done at once:\n{problems}"
    );
}

#[test]
fn what_surrounds_the_examples_is_left_alone() {
    let mut function = kernel("%9:R32 = IADD.b32 %4, %5", 32);
    assert!(!run_phase(ori_peephole::run, &mut function), "{function}");
}

#[test]
fn rules_hold_for_all_values_of_16_bits() {
    each_example(|rule, example, width| {
        if width != 16 && !example.contains("%12") {
            return;
        }
        // Without optimisation, trying all in the interpreter would take minutes.
        let others = match (example.contains("%2"), cfg!(debug_assertions)) {
            (true, false) => &[0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234][..],
            (true, true) => &[0x8001],
            (false, _) => &[0],
        };
        let step = if cfg!(debug_assertions) { 17 } else { 1 };
        for &other in others {
            let records: Vec<Record> = (0..=0xFFFF)
                .step_by(step)
                .map(|value| [value, other, (value & 1) * TRUE])
                .collect();
            check(rule, example, width, &records);
        }
    });
}

#[test]
fn rules_hold_at_borders() {
    let pairs = BORDERS.iter().flat_map(|&a| BORDERS.iter().map(move |&b| (a, b)));
    let records: Vec<Record> = pairs.flat_map(|(a, b)| [[a, b, 0], [a, b, TRUE]]).collect();
    each_example(|rule, example, width| check(rule, example, width, &records));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    #[test]
    fn rules_hold_for_any_values(seed: u64) {
        let mut random = Random::new(seed, Stream::Inputs);
        let mut value = || {
            let [high, low] = [(); 2].map(|()| u64::from(random.word()));
            (high << 32 | low) >> random.below(64)
        };
        let records: Vec<Record> = (0..256).map(|_| [value(), value(), (value() & 1) * TRUE]).collect();
        each_example(|rule, example, width| check(rule, example, width, &records));
    }
}
