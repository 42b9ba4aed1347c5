//! Tests promotion by GeneralOptimizeMid on small functions, and on random ones that the
//! interpreter executes before and after.

use crate::testing::{kernel, options_with, run_phase_with};
use crate::{PhaseOptions, general_optimize_mid};
use oriel_interpreter::{Kernel, Limits, Module, Parameter, run_blind};
use oriel_ori::Function;
use oriel_random::{Random, Stream};
use std::fmt::Write;

/// Returns the body of a kernel after the phase.
fn after_with(body: &str, options: &PhaseOptions) -> String {
    let mut function = kernel("sm_90 ssa", body);
    let before = function.to_string();
    let changed = run_phase_with(general_optimize_mid::run, &mut function, options);
    assert_eq!(function.verify(), [], "{function}");
    assert_eq!(changed, function.to_string() != before);
    function
        .to_string()
        .replace("  edited", "")
        .replace("  new", "")
        .replace(" new", "")
}

fn after(body: &str) -> String {
    after_with(body, &PhaseOptions::default())
}

/// True if the only object of this body stays in memory.
fn stays(body: &str) -> bool {
    let text = after(body);
    !text.contains("removed")
}

const SCALAR: &str = "\
    stack frame(0) 16 bytes align 8
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R64 = LEA.b64 [frame(0)]
    %3:R64 = CVTA.to.local.b64 %2
    ST.local.b32.b32 %1, [%3+8]
    %4:R64 = IADD.b64 %3, 4
    %5:R32 = LD.local.b32.b32 [%4+4]
    ST.global.b32.b32 %5, [64]
    RET
";

#[test]
fn what_is_loaded_is_what_was_stored() {
    let text = after(SCALAR);
    assert!(
        text.contains("    stack frame(0) 16 bytes align 8 removed\nbix0:\n    %1:R32 = S2R.b32 tid.x\n    ST.global.b32.b32 %1, [64]\n    RET\n"),
        "{text}"
    );
}

#[test]
fn an_address_in_other_hands_keeps_the_object() {
    assert!(!stays(SCALAR));
    for other in [
        // The address is stored, passed to a call, compared, and converted to a number.
        "ST.global.b64.b64 %3, [128]",
        "%9:P = ISETP.eq.b64 %3, 0",
        "%9:R64 = XOR.b64 %3, 1",
        "%9:P = ISSPACEP.local.b1 %2",
        "%9:R32 = CVT.u32.u64 %3",
        // An index, an ordered access, accesses outside the object, a byte of a word, and an
        // extension of two halves.
        "%9:R64 = IADD.b64 %3, %3",
        "%9:R32 = LD.volatile.thread.local.b32.b32 [%3+8]",
        "%9:R32 = LD.local.b32.b32 [%3+16]",
        "%9:R32 = LD.local.b32.b32 [%3+-4]",
        "%9:R16 = LD.local.b16.u8 [%3+9]",
        "%9:R64 = LD.local.b64.u32 [%3+6]",
    ] {
        let body = SCALAR.replace("    RET\n", &format!("    {other}\n    RET\n"));
        assert!(stays(&body), "{other}");
    }
}

#[test]
fn accesses_through_generic_addresses_count() {
    let body = SCALAR.replace("LD.local.b32.b32 [%4+4]", "LD.generic.b32.b32 [%2+8]");
    assert!(!stays(&body), "{}", after(&body));
}

#[test]
fn what_the_caller_lays_out_stays() {
    assert!(stays(&SCALAR.replace("align 8", "align 8 fixed")));
}

#[test]
fn a_pointer_in_a_promoted_object_is_known_in_the_next_round() {
    let body = "\
    stack frame(0) 8 bytes align 8
    stack frame(1) 4 bytes align 4
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R64 = LEA.b64 [frame(1)]
    ST.local.b64.b64 %2, [frame(0)]
    %3:R64 = LD.local.b64.b64 [frame(0)]
    ST.generic.b32.b32 %1, [%3]
    %4:R32 = LD.local.b32.b32 [frame(1)]
    ST.global.b32.b32 %4, [64]
    RET
";
    let text = after(body);
    assert_eq!(text.matches("removed").count(), 2, "{text}");
    assert!(
        text.contains("bix0:\n    %1:R32 = S2R.b32 tid.x\n    ST.global.b32.b32 %1, [64]\n"),
        "{text}"
    );
}

#[test]
fn what_was_never_stored_is_zero() {
    let body = SCALAR.replace("    ST.local.b32.b32 %1, [%3+8]\n", "");
    assert!(after(&body).contains("%5:R32 = MOV.b32 0"), "{}", after(&body));
}

#[test]
fn narrow_loads_extend_what_registers_hold() {
    let body = |load: &str| {
        format!(
            "\
    stack frame(0) 1 bytes align 1
bix0:
    %1:R16 = LD.global.b16.u8 [0]
    ST.local.b16.b8 %1, [frame(0)]
    %2:{load} [frame(0)]
    RET
"
        )
    };
    for (load, expected) in [
        ("R16 = LD.local.b16.u8", "%2:R16 = AND.b16 %1, 255"),
        ("R16 = LD.local.b16.s8", "%2:R16 = CVT.s16.s8 %1"),
        ("R32 = LD.local.b32.s8", "%2:R32 = CVT.s32.s8 %1"),
        ("R64 = LD.local.b64.u8", "%2:R64 = CVT.u64.u8 %1"),
    ] {
        let text = after(&body(load));
        assert!(text.contains(expected), "{load}: {text}");
    }
}

#[test]
fn wide_accesses_are_made_of_narrow_ones() {
    let with = |other: &str| after(&SCALAR.replace("    RET\n", &format!("    {other}\n    RET\n")));
    let text = with("%9:R16 = LD.local.b16.b16 [%3+10]");
    assert!(text.contains("R16 = UNPACK.b16.b32 %1"), "{text}");
    assert!(text.contains("%5:R32 = PACK.b32.b16 "), "{text}");
    let text = with("ST.local.b64.b64 4294967298, [%3+8]");
    assert!(
        text.contains("MOV.b32 2\n") && text.contains("MOV.b32 1\n"),
        "{text}"
    );
    let text = with("%9:R64 = LD.local.b64.b64 [%3+8]");
    assert!(
        text.contains("= MOV.b32 0\n    %9:R64 = PACK.b64.b32 %1, "),
        "{text}"
    );
}

const LOOP: &str = "\
    stack frame(0) 4 bytes align 4
bix0:
    %1:R32 = S2R.b32 tid.x
    ST.local.b32.b32 0, [frame(0)]
    BRA fall bix1
bix1:
    %2:R32 = LD.local.b32.b32 [frame(0)]
    %3:R32 = IADD.b32 %2, 1
    ST.local.b32.b32 %3, [frame(0)]
    %4:P = ISETP.lt.s32 %3, %1
    BRA %4, bix1, fall bix2
bix2:
    %5:R32 = LD.local.b32.b32 [frame(0)]
    ST.global.b32.b32 %5, [64]
    RET
";

#[test]
fn a_counter_in_memory_becomes_a_phi() {
    let text = after(LOOP);
    assert!(text.contains("PHI.b32 %7, bix0, %3, bix1"), "{text}");
    assert!(text.contains("ST.global.b32.b32 %3, [64]"), "{text}");
    assert!(!text.contains("local"), "{text}");
}

#[test]
fn knobs_and_the_budget_keep_objects_in_memory() {
    for knobs in [
        &["GeneralOptimize=0"],
        &["136=0"],
        &["MovWeightForConvertMemToReg=100"],
    ] {
        assert_eq!(
            after_with(LOOP, &options_with(knobs)),
            kernel("sm_90 ssa", LOOP).to_string(),
            "{knobs:?}"
        );
    }
    let across = "\
    stack frame(0) 4 bytes align 4
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R32 = IADD.b32 %1, 7
    ST.local.b32.b32 %2, [frame(0)]
    %3:R32 = IMUL.b32 %1, %1
    %4:R32 = IADD.b32 %3, %1
    ST.global.b32.b32 %4, [64]
    %5:R32 = LD.local.b32.b32 [frame(0)]
    ST.global.b32.b32 %5, [68]
    RET
";
    let with_budget = |register_budget| PhaseOptions {
        register_budget,
        ..PhaseOptions::default()
    };
    assert!(after_with(across, &with_budget(3)).contains("removed"));
    assert!(!after_with(across, &with_budget(2)).contains("removed"));
}

#[test]
fn accesses_that_are_never_executed_go_too() {
    let body = LOOP.replace(
        "    RET\n",
        "    RET\nbix3:\n    %8:R32 = LD.local.b32.b32 [frame(0)]\n    ST.local.b32.b32 %8, [frame(0)]\n    BRA bix2\n",
    );
    let text = after(&body);
    assert!(text.contains("bix3:\n    %8:R32 = MOV.b32 0"), "{text}");
}

/// The accessed fields of the objects of a random program: object, offset, and the types to store
/// and load with.
const FIELDS: [(u32, u32, &[&str], &[&str]); 12] = [
    (0, 0, &["b32.b32"], &["b32.b32", "b32.f32"]),
    (0, 4, &["b32.b32"], &["b32.u32"]),
    (0, 8, &["b64.b64"], &["b64.b64"]),
    (0, 0, &["b64.b64"], &["b64.b64"]),
    (2, 0, &["b64.b64"], &["b64.b64"]),
    (2, 0, &["b32.b32"], &["b32.b32"]),
    (2, 4, &["b16.b16"], &["b16.b16", "b32.s16"]),
    (2, 6, &["b32.b16"], &["b32.u16"]),
    (
        1,
        0,
        &["b16.b8", "b32.b8"],
        &["b16.u8", "b16.s8", "b32.s8", "b32.u8"],
    ),
    (1, 1, &["b16.b8"], &["b16.s8"]),
    (
        1,
        2,
        &["b16.b16", "b32.b16"],
        &["b16.b16", "b32.s16", "b32.u16", "b64.s16"],
    ),
    (1, 4, &["b32.b32", "b64.b32"], &["b32.b32", "b64.s32", "b64.u32"]),
];

/// The text of a program that keeps its values on the stack.
struct Program {
    /// True if there is an array with indexed accesses.
    has_array: bool,
    /// True if some addresses are what remains of the sum of two.
    has_sums: bool,
    random: Random,
    text: String,
    /// Registers of 32 bits that are defined on every path here.
    values: Vec<u32>,
    registers: u32,
    blocks: u32,
}

impl Program {
    fn line(&mut self, line: &str) {
        writeln!(self.text, "    {line}").unwrap();
    }

    /// Defines a new register by `rest` and returns it.
    fn define(&mut self, kind: &str, rest: &str) -> u32 {
        self.registers += 1;
        let register = self.registers;
        self.line(&format!("%{register}:{kind} = {rest}"));
        register
    }

    fn begin_block(&mut self, block: u32) {
        writeln!(self.text, "bix{block}:").unwrap();
    }

    fn new_block(&mut self) -> u32 {
        self.blocks += 1;
        self.blocks
    }

    /// Returns the address of a field, written in one of several ways.
    fn address(&mut self, object: u32, offset: u32) -> String {
        if self.has_sums && self.random.below(64) == 0 {
            return self.address_of_sum(object, offset);
        }
        match self.random.below(3) {
            0 => format!("[frame({object})+{offset}]"),
            1 => {
                let base = self.define("R64", &format!("LEA.b64 [frame({object})]"));
                let base = self.define("R64", &format!("CVTA.to.local.b64 %{base}"));
                format!("[%{base}+{offset}]")
            }
            _ => {
                let base = self.define("R64", &format!("LEA.b64 [frame({object})+{offset}]"));
                let base = self.define("R64", &format!("CVTA.to.local.b64 %{base}"));
                let base = self.define("R64", &format!("IADD.b64 %{base}, -8"));
                format!("[%{base}+8]")
            }
        }
    }

    /// Returns the address of a field: the sum of it and another object's, less the other one.
    fn address_of_sum(&mut self, object: u32, offset: u32) -> String {
        let other = (object + self.random.pick(&[1, 2])) % 3;
        let [object, other] = [object, other].map(|it| {
            let address = self.define("R64", &format!("LEA.b64 [frame({it})]"));
            self.define("R64", &format!("CVTA.to.local.b64 %{address}"))
        });
        let sides = self.random.pick(&[[object, other], [other, object]]);
        let sum = self.define("R64", &format!("IADD.b64 %{}, %{}", sides[0], sides[1]));
        let rest = self.define("R64", &format!("ISUB.b64 %{sum}, %{other}"));
        format!("[%{rest}+{offset}]")
    }

    fn store(&mut self, field: usize) {
        let (object, offset, types, _) = FIELDS[field];
        let types = self.random.pick(types);
        let value = self.random.pick(&self.values);
        let stored = match (&types[..3], self.random.below(4)) {
            (_, 0) => self.random.below(100).to_string(),
            ("b16", _) => format!("%{}", self.define("R16", &format!("CVT.u16.u32 %{value}"))),
            ("b64", _) => format!("%{}", self.define("R64", &format!("CVT.s64.s32 %{value}"))),
            _ => format!("%{value}"),
        };
        let address = self.address(object, offset);
        self.line(&format!("ST.local.{types} {stored}, {address}"));
    }

    /// Stores both singles of the first object at once.
    fn store_pair(&mut self) {
        let (one, other) = (self.random.pick(&self.values), self.random.pick(&self.values));
        let address = self.address(0, 0);
        self.line(&format!("ST.local.b32.b32 %{one}, %{other}, {address}"));
    }

    fn load(&mut self, field: usize) {
        let (object, offset, _, types) = FIELDS[field];
        let types = self.random.pick(types);
        let address = self.address(object, offset);
        let loaded = format!("LD.local.{types} {address}");
        let value = match &types[..3] {
            "b16" => {
                let narrow = self.define("R16", &loaded);
                self.define("R32", &format!("CVT.s32.s16 %{narrow}"))
            }
            "b64" => {
                let wide = self.define("R64", &loaded);
                let high = self.define("R64", &format!("SHR.u64 %{wide}, 17"));
                let mixed = self.define("R64", &format!("XOR.b64 %{wide}, %{high}"));
                self.define("R32", &format!("CVT.u32.u64 %{mixed}"))
            }
            _ => self.define("R32", &loaded),
        };
        self.values.push(value);
    }

    /// Returns the address of an element of the array: base, then offset in the instruction.
    fn element(&mut self) -> String {
        let value = self.random.pick(&self.values);
        let number = self.define("R32", &format!("AND.b32 %{value}, 3"));
        let base = self.define("R64", "LEA.b64 [frame(3)]");
        let base = self.define("R64", &format!("CVTA.to.local.b64 %{base}"));
        // The same position from the previous element, or one that does not exist.
        let offset = self.random.pick(&[0, 4]);
        let number = match offset {
            0 => number,
            _ => self.define("R32", &format!("IADD.b32 %{number}, -1")),
        };
        let address = match self.random.below(4) {
            0 => self.define("R64", &format!("IMAD.WIDE.s64.s32 %{number}, 4, %{base}")),
            kind => {
                let bytes = if kind == 1 {
                    let wide = self.define("R64", &format!("CVT.s64.s32 %{number}"));
                    self.define("R64", &format!("SHL.b64 %{wide}, 2"))
                } else {
                    self.define("R64", &format!("IMUL.WIDE.s64.s32 %{number}, 4"))
                };
                let sides = if kind == 2 { [base, bytes] } else { [bytes, base] };
                self.define("R64", &format!("IADD.b64 %{}, %{}", sides[0], sides[1]))
            }
        };
        format!("[%{address}+{offset}]")
    }

    fn access_element(&mut self) {
        let address = self.element();
        if self.random.below(2) == 0 {
            let value = self.define("R32", &format!("LD.local.b32.b32 {address}"));
            self.values.push(value);
        } else {
            let value = match self.random.below(4) {
                0 => self.random.below(100).to_string(),
                _ => format!("%{}", self.random.pick(&self.values)),
            };
            self.line(&format!("ST.local.b32.b32 {value}, {address}"));
        }
    }

    fn statements(&mut self, depth: u32) {
        for _ in 0..self.random.between(2, 6) {
            if self.has_array && self.random.below(3) == 0 {
                self.access_element();
            }
            match self.random.below(if depth == 0 { 5 } else { 8 }) {
                0 | 1 => {
                    let field = self.random.index(FIELDS.len());
                    self.store(field);
                }
                2 | 3 => {
                    let field = self.random.index(FIELDS.len());
                    self.load(field);
                    let (one, other) = (self.values[self.values.len() - 1], self.random.pick(&self.values));
                    let sum = self.define("R32", &format!("IADD.b32 %{one}, %{other}"));
                    self.values.push(sum);
                }
                4 => self.store_pair(),
                5 | 6 => self.choice(depth - 1),
                _ => self.repetition(depth - 1),
            }
        }
    }

    fn choice(&mut self, depth: u32) {
        let (one, other, end) = (self.new_block(), self.new_block(), self.new_block());
        let value = self.random.pick(&self.values);
        let bit = self.define("R32", &format!("AND.b32 %{value}, 1"));
        let is_odd = self.define("P", &format!("ISETP.ne.b32 %{bit}, 0"));
        self.line(&format!("BRA %{is_odd}, bix{one}, bix{other}"));
        for block in [one, other] {
            let known = self.values.len();
            self.begin_block(block);
            self.statements(depth);
            self.line(&format!("BRA bix{end}"));
            self.values.truncate(known);
        }
        self.begin_block(end);
    }

    /// Generates a loop of three iterations, counted in a register.
    fn repetition(&mut self, depth: u32) {
        let (before, body, end) = (self.new_block(), self.new_block(), self.new_block());
        self.line(&format!("BRA bix{before}"));
        self.begin_block(before);
        let zero = self.define("R32", "MOV.b32 0");
        self.line(&format!("BRA bix{body}"));
        self.begin_block(body);
        self.registers += 2;
        let (count, next) = (self.registers - 1, self.registers);
        let phi = self.text.len();
        let known = self.values.len();
        self.statements(depth);
        self.values.truncate(known);
        // The block from which control returns is known now.
        let last = self.text.rfind("\nbix").map_or(body, |at| {
            let digits = self.text[at + 4..].split(':').next();
            digits.and_then(|digits| digits.parse().ok()).expect("a label")
        });
        self.text.insert_str(
            phi,
            &format!("    %{count}:R32 = PHI.b32 %{zero}, bix{before}, %{next}, bix{last}\n"),
        );
        self.line(&format!("%{next}:R32 = IADD.b32 %{count}, 1"));
        let again = self.define("P", &format!("ISETP.lt.s32 %{next}, 3"));
        self.line(&format!("BRA %{again}, bix{body}, bix{end}"));
        self.begin_block(end);
    }

    fn random(seed: u64, has_array: bool, has_sums: bool) -> String {
        let mut program = Self {
            has_array,
            has_sums,
            random: Random::new(seed, Stream::TestOri),
            text: String::new(),
            values: Vec::new(),
            registers: 0,
            blocks: 0,
        };
        program.line("stack frame(0) 16 bytes align 8");
        program.line("stack frame(1) 8 bytes align 8");
        program.line("stack frame(2) 8 bytes align 8");
        if has_array {
            program.line("stack frame(3) 16 bytes align 4");
        }
        program.begin_block(0);
        let memory = program.define("R64", "LD.param::entry.b64.b64 [&k_param_0]");
        let lane = program.define("R32", "S2R.b32 tid.x");
        let offset = program.define("R64", &format!("IMUL.WIDE.u64.u32 %{lane}, 64"));
        let memory = program.define("R64", &format!("IADD.b64 %{memory}, %{offset}"));
        let value = program.define("R32", &format!("IMUL.b32 %{lane}, -1640531527"));
        program.values = vec![lane, value];
        for field in 0..FIELDS.len() {
            program.store(field);
        }
        if has_array {
            for element in 0..4 {
                let value = program.random.pick(&program.values);
                program.line(&format!("ST.local.b32.b32 %{value}, [frame(3)+{}]", 4 * element));
            }
        }
        program.statements(3);
        for field in 0..FIELDS.len() {
            program.load(field);
            let value = program.values[program.values.len() - 1];
            program.line(&format!("ST.global.b32.b32 %{value}, [%{memory}+{}]", 4 * field));
        }
        program.line("RET");
        program.text
    }
}

#[test]
fn an_object_that_goes_round_the_entry_stays() {
    let mut function = kernel(
        "sm_90 ssa",
        "\
    stack frame(0) 4 bytes align 4
bix0:
    %1:R32 = LD.local.b32.b32 [frame(0)]
    %2:R32 = IADD.b32 %1, 1
    ST.local.b32.b32 %2, [frame(0)]
    %3:P = ISETP.lt.s32 %2, 10
    BRA %3, bix0, fall bix1
bix1:
    RET
",
    );
    assert!(!run_phase_with(
        general_optimize_mid::run,
        &mut function,
        &PhaseOptions::default()
    ));
}

#[test]
fn where_control_never_comes_a_value_may_be_its_own() {
    let mut function = kernel(
        "sm_90 ssa",
        "\
    stack frame(0) 4 bytes align 4
bix0:
    RET
bix1:
    ST.local.b32.b32 %1, [frame(0)]
    %1:R32 = LD.local.b32.b32 [frame(0)]
    ST.global.b32.b32 %1, [64]
    BRA bix1
",
    );
    run_phase_with(general_optimize_mid::run, &mut function, &PhaseOptions::default());
    assert_eq!(function.verify(), [], "{function}");
}

#[test]
fn random_programs_leave_the_same_memory() {
    let programs = std::env::var("ORIEL_ORACLE_KERNELS").map_or(60, |count| count.parse().expect("a number"));
    // Only costs may keep an object in memory.
    let whatever_it_costs = PhaseOptions {
        register_budget: 255,
        ..options_with(&["ConvertMemToRegCostRatio=1000"])
    };
    let mut kept = 0;
    for seed in 0..programs {
        let function = kernel("sm_90 ssa", &Program::random(seed, false, false));
        promoted_with_same_memory(&function, &PhaseOptions::default(), seed);
        let mut all_promoted = function.clone();
        run_phase_with(general_optimize_mid::run, &mut all_promoted, &whatever_it_costs);
        let text = all_promoted.to_string();
        assert!(!text.contains(".local"), "seed {seed}:\n{text}");
        let mut promoted = function.clone();
        let blocks = promoted.blocks().to_vec();
        promoted.info.entry_frequency = 1;
        for block in blocks {
            promoted.set_frequency(block, 1);
        }
        assert!(run_phase_with(
            general_optimize_mid::run,
            &mut promoted,
            &PhaseOptions::default()
        ));
        kept += u64::from(promoted.to_string().contains(".local"));
        let again = run_phase_with(general_optimize_mid::run, &mut promoted, &PhaseOptions::default());
        assert!(!again, "seed {seed}: a second run finds something to do");
    }
    // If paths meet often, the moves of an object's pieces can cost more than its loads and stores,
    // though all blocks run equally often.
    assert!(
        100 * kept <= programs,
        "{kept} of {programs} programs keep an object"
    );
}

#[test]
fn random_programs_with_an_array_leave_the_same_memory() {
    let programs = std::env::var("ORIEL_ORACLE_KERNELS").map_or(60, |count| count.parse().expect("a number"));
    let options = PhaseOptions {
        register_budget: 255,
        ..options_with(&["ConvertMemoryToRegIndexedSizeLimit=16"])
    };
    let mut promoted_arrays = 0;
    for seed in 0..programs {
        let function = kernel("sm_90 ssa", &Program::random(seed, true, false));
        let promoted = promoted_with_same_memory(&function, &options, seed);
        promoted_arrays += u64::from(!promoted.to_string().contains("LEA.b64 [frame(3)]"));
    }
    assert!(
        100 * promoted_arrays >= 95 * programs,
        "{promoted_arrays} of {programs}"
    );
}

#[test]
fn random_programs_with_sums_of_addresses_leave_the_same_memory() {
    let options = options_with(&["ConvertMemoryToRegIndexedSizeLimit=16"]);
    let (mut kept, mut removed) = (0, 0);
    for seed in 0..60 {
        let function = kernel("sm_90 ssa", &Program::random(seed, false, true));
        let text = promoted_with_same_memory(&function, &options, seed).to_string();
        kept += text.matches("align 8\n").count();
        removed += text.matches(" removed\n").count();
    }
    assert!(
        kept >= 30 && removed >= 30,
        "{kept} objects are kept, {removed} removed"
    );
}

/// Builds an access to an element with an index.
fn indexed(declarations: &str, address: &str, access: &str) -> String {
    format!(
        "    stack frame(0) {declarations}
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R64 = LEA.b64 [frame(0)]
    ST.local.b32.b32 %1, [frame(0)]
    ST.local.b32.b32 7, [frame(0)+4]
{address}{access}    ST.global.b32.b32 %9, [64]
    RET
"
    )
}

const PRODUCT: &str = "    %3:R64 = IMUL.WIDE.u64.u32 %1, 4\n    %4:R64 = IADD.b64 %2, %3\n";
const LOAD: &str = "    %9:R32 = LD.local.b32.b32 [%4]\n";

/// The first object's address is an index into the second one, and what remains after that is taken away
/// points into the first.
#[test]
fn the_sum_of_two_addresses_keeps_both_objects() {
    let body = "\
    stack frame(0) 8 bytes align 4
    stack frame(1) 8 bytes align 4
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:R64 = LEA.b64 [frame(0)]
    %3:R64 = LEA.b64 [frame(1)]
    ST.local.b32.b32 %1, [%2]
    %4:R64 = IADD.b64 %2, %3
    %5:R64 = ISUB.b64 %4, %3
    ST.local.b32.b32 7, [%5]
    %6:R32 = LD.local.b32.b32 [%2]
    ST.global.b32.b32 %6, [64]
    RET
";
    for body in [
        body.to_owned(),
        body.replace("IADD.b64 %2, %3", "IADD.b64 %3, %2"),
    ] {
        let text = after_with(&body, &options_with(&["135=16"]));
        assert!(!text.contains("removed"), "{text}");
    }
}

#[test]
fn an_index_selects_one_of_the_elements() {
    let options = options_with(&["135=8"]);
    let text = after_with(&indexed("8 bytes align 4", PRODUCT, LOAD), &options);
    assert!(text.contains(" = ISETP.eq.b32 %1, 1\n"), "{text}");
    assert!(text.contains("ST.global.b32.b32 %"), "{text}");
    assert!(text.contains("removed") && !text.contains(".local"), "{text}");
    assert_eq!(text.matches("SEL.b32").count(), 1, "{text}");
    // A store preserves the other element.
    let store = "    ST.local.b32.b32 5, [%4]\n    %9:R32 = LD.local.b32.b32 [frame(0)+4]\n";
    let text = after_with(&indexed("8 bytes align 4", PRODUCT, store), &options);
    assert_eq!(text.matches("SEL.b32").count(), 2, "{text}");
    assert!(!text.contains(".local"), "{text}");
}

#[test]
fn an_index_may_count_bytes_from_anywhere() {
    let options = options_with(&["135=8"]);
    // Of elements of eight bytes, only one begins four bytes before the base.
    let address = "    %3:R64 = CVT.s64.s32 %1\n    %5:R64 = SHL.b64 %3, 3\n    %6:R64 = IADD.b64 %2, %5\n    %4:R64 = IADD.b64 %6, 12\n";
    let text = after_with(&indexed("8 bytes align 4", address, LOAD), &options);
    assert!(!text.contains(".local") && !text.contains("SEL"), "{text}");
    // An unsigned index cannot select an element before the base.
    let before = PRODUCT.replace(
        "IADD.b64 %2, %3\n",
        "IADD.b64 %2, %3\n    %8:R64 = IADD.b64 %4, 8\n",
    );
    let load = LOAD.replace("%4", "%8");
    let text = after_with(&indexed("8 bytes align 4", &before, &load), &options);
    assert!(text.contains("UNDEF.b32"), "{text}");
}

#[test]
fn some_indexed_objects_stay() {
    let stays = |declarations: &str, address: &str, access: &str, limit: &str| {
        let text = after_with(&indexed(declarations, address, access), &options_with(&[limit]));
        text.contains("LD.local")
    };
    let plain = "8 bytes align 4";
    assert!(!stays(plain, PRODUCT, LOAD, "135=8"));
    assert!(stays(plain, PRODUCT, LOAD, "135=7"));
    assert!(stays(plain, PRODUCT, LOAD, "135=0"));
    assert!(stays("8 bytes align 2", PRODUCT, LOAD, "135=8"));
    let twice = PRODUCT.replace("IADD.b64 %2, %3", "IADD.b64 %2, %3\n    %5:R64 = IADD.b64 %4, %3");
    assert!(stays(plain, &twice, &LOAD.replace("%4", "%5"), "135=8"));
    // A byte of a word that is stored whole is not an element of its own.
    let byte = "    %8:R16 = LD.local.b16.u8 [%4]\n    %9:R32 = CVT.u32.u16 %8\n";
    assert!(stays(plain, PRODUCT, byte, "135=8"));
    // The address escapes.
    let stored = format!("    ST.global.b64.b64 %4, [128]\n{LOAD}");
    assert!(stays(plain, PRODUCT, &stored, "135=8"));
}

/// Returns the writes of a kernel.
fn memory_of(function: &Function) -> Vec<(u64, u8)> {
    let parameter = Parameter {
        size: 8,
        alignment: 8,
        is_pointer: true,
    };
    let module = Module {
        variables: Vec::new(),
        kernels: vec![Kernel {
            name: "k".to_owned(),
            parameters: vec![parameter],
        }],
    };
    let limits = Limits {
        steps: 400_000,
        ..Limits::DEFAULT
    };
    let program = oriel_interpreter::Program::compile(&[function], &module).unwrap();
    run_blind(&program, "k", 1, limits)
        .unwrap_or_else(|fault| panic!("{fault}\n{function}"))
        .writes
}

/// Returns the kernel after the phase, checking that it leaves the same memory.
fn promoted_with_same_memory(function: &Function, options: &PhaseOptions, seed: u64) -> Function {
    let mut promoted = function.clone();
    run_phase_with(general_optimize_mid::run, &mut promoted, options);
    assert_eq!(promoted.verify(), [], "seed {seed}");
    assert_eq!(
        memory_of(&promoted),
        memory_of(function),
        "seed {seed}:\n{function}"
    );
    promoted
}
