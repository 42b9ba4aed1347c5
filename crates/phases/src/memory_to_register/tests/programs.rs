//! Random programs that keep their values on the stack, and their run before and after the phase.

use crate::testing::run_phase_with;
use crate::{PhaseOptions, general_optimize_mid};
use oriel_interpreter::{Kernel, Limits, Module, Parameter, run_blind};
use oriel_ori::Function;
use oriel_random::{Random, Stream};
use std::fmt::Write;

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

/// The text of a random program that keeps its values on the stack.
pub(super) struct Program {
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

    /// Generates the blocks of a kernel.
    pub(super) fn random(seed: u64, has_array: bool, has_sums: bool) -> String {
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

/// Returns a kernel after the phase, checking that it leaves the same memory.
pub(super) fn promoted_with_same_memory(function: &Function, options: &PhaseOptions, seed: u64) -> Function {
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
