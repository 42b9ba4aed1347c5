//! Random kernels full of predicates, executed before and after phases: the resulting memory must
//! be equal.
//!
//! Threads hold all combinations of a few small integers, and floats made of them, including NaN.
//! Kernels compare them repeatedly in nested branches and loops, combine the predicates, select by
//! them, and store the results to memory of each thread.

use crate::testing::run_named;
use oriel_interpreter::{Limits, Module, Program, run_blind};
use oriel_ori::{Function, parse_function};
use oriel_random::{Random, Stream, setting};
use std::fmt::Write;

const MODULE: &str = ".version 8.6\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n\tret;\n}\n";

/// The nesting depth of regions.
const DEPTH: u32 = 3;

/// The generator of a kernel.
struct Generator {
    random: Random,
    text: String,
    registers: u32,
    blocks: u32,
    stores: u32,
    /// Available registers, by kind.
    integers: Vec<u32>,
    floats: Vec<u32>,
    predicates: Vec<u32>,
}

impl Generator {
    fn kernel(seed: u64) -> String {
        let mut generator = Self {
            random: Random::new(seed, Stream::TestOri),
            text: String::new(),
            registers: 0,
            blocks: 1,
            stores: 0,
            integers: Vec::new(),
            floats: Vec::new(),
            predicates: Vec::new(),
        };
        generator.prologue();
        generator.region(0, 0);
        generator.text.push_str("    RET\n");
        format!("kernel \"k\" sm_80 ssa {{\nbix0:\n{}}}\n", generator.text)
    }

    fn define(&mut self, file: &str, what: &str) -> u32 {
        let register = self.registers;
        self.registers += 1;
        writeln!(self.text, "    %{register}:{file} = {what}").unwrap();
        register
    }

    fn prologue(&mut self) {
        let thread = self.define("R32", "S2R.b32 tid.x");
        // Register 1 is the thread's address.
        self.define("R64", &format!("IMUL.WIDE.u64.u32 %{thread}, 4096"));
        for shift in [0, 2, 4] {
            let shifted = self.define("R32", &format!("SHR.u32 %{thread}, {shift}"));
            let small = self.define("R32", &format!("AND.b32 %{shifted}, 3"));
            let integer = self.define("R32", &format!("ISUB.b32 %{small}, 1"));
            let float = self.define("R32", &format!("CVT.rn.f32.s32 %{integer}"));
            let is_last = self.define("P", &format!("ISETP.eq.b32 %{small}, 3"));
            let float = self.define("R32", &format!("SEL.f32 f32(0x7fc00000), %{float}, %{is_last}"));
            self.integers.push(integer);
            self.floats.push(float);
            self.predicates.push(is_last);
        }
    }

    fn integer(&mut self) -> String {
        match self.random.below(4) {
            0 => self.random.pick(&["-1", "0", "1", "2"]).to_owned(),
            _ => format!("%{}", self.random.pick(&self.integers.clone())),
        }
    }

    fn predicate(&mut self) -> u32 {
        // Recent predicates are used most often.
        let recent = self.predicates.len().saturating_sub(4);
        let predicates = self.predicates[recent..].to_vec();
        let chosen = self.random.pick(&predicates);
        if self.random.percent(30) {
            self.compare()
        } else {
            chosen
        }
    }

    fn compare(&mut self) -> u32 {
        let predicate = match self.random.below(10) {
            0..5 => {
                let comparison = self.random.pick(&["eq", "ne", "lt", "le", "gt", "ge"]);
                let sign = self.random.pick(&["s32", "s32", "u32"]);
                let (first, second) = (self.random.pick(&self.integers.clone()), self.integer());
                self.define("P", &format!("ISETP.{comparison}.{sign} %{first}, {second}"))
            }
            5..8 => {
                let comparison = self.random.pick(&[
                    "eq", "ne", "lt", "le", "gt", "ge", "equ", "neu", "ltu", "leu", "gtu", "geu", "num",
                    "nan",
                ]);
                let floats = self.floats.clone();
                let (first, second) = (self.random.pick(&floats), self.random.pick(&floats));
                self.define("P", &format!("FSETP.{comparison}.f32 %{first}, %{second}"))
            }
            8 => {
                let (first, second) = (self.predicate_at_hand(), self.predicate_at_hand());
                let operation = self.random.pick(&["AND", "OR", "XOR"]);
                self.define("P", &format!("{operation}.b1 %{first}, %{second}"))
            }
            _ => {
                let operand = self.predicate_at_hand();
                self.define("P", &format!("NOT.b1 %{operand}"))
            }
        };
        self.predicates.push(predicate);
        predicate
    }

    fn predicate_at_hand(&mut self) -> u32 {
        self.random.pick(&self.predicates.clone())
    }

    fn store(&mut self, register: u32) {
        let offset = 4 * self.stores;
        self.stores += 1;
        writeln!(self.text, "    ST.global.b32 %{register}, [%1+{offset}]").unwrap();
    }

    fn select(&mut self) {
        let predicate = self.predicate();
        let selected = match self.random.coin() {
            true => {
                let (first, second) = (self.integer(), self.integer());
                let selected = self.define("R32", &format!("SEL.b32 {first}, {second}, %{predicate}"));
                self.integers.push(selected);
                selected
            }
            false => {
                let floats = self.floats.clone();
                let (first, second) = (self.random.pick(&floats), self.random.pick(&floats));
                let selected = self.define("R32", &format!("SEL.f32 %{first}, %{second}, %{predicate}"));
                self.floats.push(selected);
                selected
            }
        };
        self.store(selected);
    }

    fn begin_block(&mut self) -> u32 {
        let block = self.blocks;
        self.blocks += 1;
        block
    }

    /// Generates statements that begin in a block. Returns the block in which they end.
    fn region(&mut self, mut block: u32, depth: u32) -> u32 {
        for _ in 0..self.random.between(1, 4) {
            match self.random.below(if depth < DEPTH { 9 } else { 5 }) {
                0 | 1 => {
                    self.compare();
                }
                2 | 3 => self.select(),
                4 => {
                    let constant = self.random.pick(&["1", "2", "5"]);
                    let moved = self.define("R32", &format!("MOV.b32 {constant}"));
                    let integer = self.random.pick(&self.integers.clone());
                    let operation = self.random.pick(&["IADD", "IMUL", "ISUB", "XOR"]);
                    let sum = self.define("R32", &format!("{operation}.b32 %{integer}, %{moved}"));
                    self.store(sum);
                }
                5 | 6 => block = self.diamond(block, depth),
                7 => block = self.twins(depth),
                _ => block = self.repetition(block, depth),
            }
        }
        block
    }

    /// Generates two paths, sometimes with equal contents, whose values meet in a PHI.
    fn diamond(&mut self, _: u32, depth: u32) -> u32 {
        let predicate = self.predicate();
        let [first, second, join] = [(); 3].map(|()| self.begin_block());
        writeln!(self.text, "    BRA %{predicate}, bix{first}, bix{second}").unwrap();
        let is_equal = self.random.percent(30);
        let seed = self.random.below(1 << 30);
        let mut values = Vec::new();
        let stores = self.stores;
        for side in [first, second] {
            writeln!(self.text, "bix{side}:").unwrap();
            let lengths = [self.integers.len(), self.floats.len(), self.predicates.len()];
            // The same random numbers give the same statements, with other registers.
            let kept = is_equal.then(|| {
                self.stores = stores;
                std::mem::replace(&mut self.random, Random::new(seed, Stream::TestOri))
            });
            let depth = if is_equal { DEPTH } else { depth + 1 };
            let end = if self.random.percent(25) {
                side
            } else {
                self.region(side, depth)
            };
            let value = match is_equal {
                true => self.integers.last().copied().expect("there are integers"),
                false => self.random.pick(&self.integers.clone()),
            };
            values.push((value, end));
            if let Some(kept) = kept {
                self.random = kept;
            }
            writeln!(self.text, "    BRA bix{join}").unwrap();
            self.integers.truncate(lengths[0]);
            self.floats.truncate(lengths[1]);
            self.predicates.truncate(lengths[2]);
        }
        writeln!(self.text, "bix{join}:").unwrap();
        let [(a, from_a), (b, from_b)] = values[..] else {
            unreachable!("two sides");
        };
        let value = self.define("R32", &format!("PHI.b32 %{a}, bix{from_a}, %{b}, bix{from_b}"));
        self.integers.push(value);
        self.store(value);
        join
    }

    /// Generates a branch to two equal blocks that both branch on its predicate, to the same two
    /// blocks. These know the predicate only as long as the first branch decides.
    fn twins(&mut self, depth: u32) -> u32 {
        let predicate = self.predicate();
        let [one, other, taken, left, join] = [(); 5].map(|()| self.begin_block());
        writeln!(self.text, "    BRA %{predicate}, bix{one}, bix{other}").unwrap();
        let (addend, stored) = (self.random.pick(&self.integers.clone()), self.stores);
        let again = match self.random.percent(70) {
            true => predicate,
            false => self.predicate_at_hand(),
        };
        let sums = [one, other].map(|block| {
            writeln!(self.text, "bix{block}:").unwrap();
            let sum = self.define("R32", &format!("IADD.b32 %{addend}, 3"));
            self.stores = stored;
            self.store(sum);
            writeln!(self.text, "    BRA %{again}, bix{taken}, bix{left}").unwrap();
            sum
        });
        let ends = [taken, left].map(|block| {
            writeln!(self.text, "bix{block}:").unwrap();
            let lengths = [self.integers.len(), self.floats.len(), self.predicates.len()];
            let sum = self.define(
                "R32",
                &format!("PHI.b32 %{}, bix{one}, %{}, bix{other}", sums[0], sums[1]),
            );
            self.integers.push(sum);
            let selected = self.define("R32", &format!("SEL.b32 %{sum}, 7, %{predicate}"));
            self.store(selected);
            let end = self.region(block, depth + 1);
            writeln!(self.text, "    BRA bix{join}").unwrap();
            self.integers.truncate(lengths[0]);
            self.floats.truncate(lengths[1]);
            self.predicates.truncate(lengths[2]);
            (selected, end)
        });
        let [(a, from_a), (b, from_b)] = ends;
        writeln!(self.text, "bix{join}:").unwrap();
        let value = self.define("R32", &format!("PHI.b32 %{a}, bix{from_a}, %{b}, bix{from_b}"));
        self.integers.push(value);
        self.store(value);
        join
    }

    /// Generates a loop of three iterations with a loop-carried predicate.
    fn repetition(&mut self, block: u32, depth: u32) -> u32 {
        let start = self.predicate();
        let zero = self.define("R32", "MOV.b32 0");
        let [header, exit] = [(); 2].map(|()| self.begin_block());
        writeln!(self.text, "    BRA bix{header}\nbix{header}:").unwrap();
        let position = self.text.len();
        let counter = self.registers;
        let carried = counter + 1;
        self.registers += 2;
        let lengths = [self.integers.len(), self.floats.len(), self.predicates.len()];
        self.integers.push(counter);
        self.predicates.push(carried);
        let end = self.region(header, depth + 1);
        let next = self.define("R32", &format!("IADD.b32 %{counter}, 1"));
        let more = self.define("P", &format!("ISETP.lt.s32 %{next}, 3"));
        let latch = match self.random.coin() {
            true => carried,
            false => self.predicate_at_hand(),
        };
        writeln!(self.text, "    BRA %{more}, bix{header}, bix{exit}\nbix{exit}:").unwrap();
        let phis = format!(
            "    %{counter}:R32 = PHI.b32 %{zero}, bix{block}, %{next}, bix{end}\n    \
             %{carried}:P = PHI.b1 %{start}, bix{block}, %{latch}, bix{end}\n"
        );
        self.text.insert_str(position, &phis);
        self.integers.truncate(lengths[0]);
        self.floats.truncate(lengths[1]);
        self.predicates.truncate(lengths[2]);
        exit
    }
}

/// Returns the writes of a kernel.
fn writes(function: &Function) -> Vec<(u64, u8)> {
    let module = Module::parse(MODULE).expect("it is well formed");
    let program = Program::compile(&[function], &module).expect("it can be run");
    run_blind(&program, "k", 1, Limits::default())
        .expect("it ends")
        .writes
}

const BUNDLES: [&str; 5] = [
    "GeneralOptimizeEarly",
    "GeneralOptimize",
    "GeneralOptimizeMid2",
    "GeneralOptimizeLate",
    "GeneralOptimizeLate2",
];

const OTHERS: [&str; 5] = [
    "MergeBasicBlocks",
    "OriPerformLiveDeadFirst",
    "GvnCse",
    "OriCopyPropSsa",
    "LateOriCommoning",
];

#[test]
fn kernels_write_the_same_after_each_bundle_and_after_random_phases() {
    let mut changed = [0; BUNDLES.len()];
    let kernels = setting("ORIEL_ORACLE_KERNELS", 60);
    for seed in 0..kernels {
        let text = Generator::kernel(seed);
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        assert_eq!(function.verify(), [], "{text}");
        let expected = writes(&function);
        for (bundle, changed) in BUNDLES.into_iter().zip(&mut changed) {
            let mut after = function.clone();
            let (_, statistics, _) = run_named(bundle, &mut after, &[], 3);
            assert_eq!(writes(&after), expected, "{bundle}\n{text}\n{after}");
            assert_eq!(statistics.counter(bundle, "stopped-cap"), 0, "{text}");
            *changed += u32::from(after.to_string() != function.to_string());
        }
        let mut random = Random::new(seed, Stream::TestGraph);
        let (mut after, mut names) = (function.clone(), Vec::new());
        for _ in 0..6 {
            names.push(match random.coin() {
                true => random.pick(&BUNDLES),
                false => random.pick(&OTHERS),
            });
            run_named(names[names.len() - 1], &mut after, &[], 3);
        }
        assert_eq!(writes(&after), expected, "{names:?}\n{text}\n{after}");
    }
    assert!(
        changed.iter().all(|&changed| 5 * changed > kernels as u32),
        "{changed:?} of {kernels}"
    );
}
