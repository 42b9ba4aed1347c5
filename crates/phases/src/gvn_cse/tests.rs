use super::*;
use crate::shared::expressions::{
    ExpressionKind, copied_register, depends_on_writes, expression_kind, is_commutative, versions_for,
};
use crate::testing::{kernel, options_with, run_phase_with};
use crate::{PhaseOptions, knobs::Knobs};
use oriel_engine::entity::{Block, EntityRef, Register};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;
use oriel_ori::{ControlFlow, Instruction, MemoryKinds, MemoryVersions, Operand, Operation, Position};
use oriel_random::{Random, Stream};
use proptest::prelude::*;
use std::collections::{BTreeMap, HashSet};

/// Returns the body of a kernel after the phase, without block names and terminators, and whether
/// it changed.
fn after(body: &str, knobs: &[&str]) -> (String, bool) {
    let mut function = kernel("sm_90 ssa", body);
    let before = function.to_string();
    let changed = run_phase_with(run, &mut function, &options_with(knobs));
    assert_eq!(function.verify(), [], "{function}");
    assert_eq!(changed, function.to_string() != before);
    (function.to_string(), changed)
}

/// Returns how many instructions with this name remain of a body.
fn left(body: &str, operation: &str, knobs: &[&str]) -> usize {
    after(body, knobs).0.matches(&format!("= {operation}.")).count()
}

const ONE_BLOCK: &str = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = S2R.b32 ctaid.x
    %2:R32 = IADD.b32 %0, %1
    ST.global.b32 %2, [0]
    BAR.sync 0
    %3:R32 = IADD.b32 %1, %0
    ST.global.b32 %3, [4]
    %4:R32 = IADD.b32 %0, %1
    ST.global.b32 %4, [8]
    RET
";

#[test]
fn commutative_operands_may_stand_in_any_order() {
    assert_eq!(left(ONE_BLOCK, "IADD", &[]), 1);
    let text = ONE_BLOCK.replace("IADD", "ISUB");
    assert_eq!(left(&text, "ISUB", &[]), 2);
}

#[test]
fn a_barrier_ends_the_scope_of_the_simple_mode() {
    assert_eq!(left(ONE_BLOCK, "IADD", &["402=1"]), 2);
    let text = ONE_BLOCK.replace("    BAR.sync 0\n", "    BAR.arrive 0, 64\n");
    assert_eq!(left(&text, "IADD", &["402=1"]), 1);
}

const DOMINATED: &str = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = SHL.b32 %0, 2
    %2:P = ISETP.lt.s32 %0, 7
    ST.global.b32 %1, [0]
    BRA %2, bix2, fall bix1
bix1:
    %3:R32 = SHL.b32 %0, 2
    ST.global.b32 %3, [4]
    BRA fall bix3
bix2:
    %4:R32 = SHL.b32 %0, 3
    ST.global.b32 %4, [8]
    BRA bix3
bix3:
    %5:R32 = SHL.b32 %0, 3
    ST.global.b32 %5, [12]
    RET
";

#[test]
fn values_come_from_dominators_only() {
    // %4 does not dominate %5.
    assert_eq!(left(DOMINATED, "SHL", &[]), 3);
    assert_eq!(left(DOMINATED, "SHL", &["402=1"]), 4);
}

#[test]
fn switches_and_modes_that_do_nothing() {
    for knob in ["EnableGvnCse=0", "402=0", "402=7", "402=-1", "257=0"] {
        assert!(!after(DOMINATED, &[knob]).1, "{knob}");
    }
    for knob in ["402=3", "402=4", "402=5", "402=6"] {
        assert_eq!(left(DOMINATED, "SHL", &[knob]), 3, "{knob}");
    }
}

#[test]
fn the_gate_shuts_the_rest() {
    // %3 is the fifth expression.
    assert_eq!(left(DOMINATED, "SHL", &["257=4"]), 4);
    assert_eq!(left(DOMINATED, "SHL", &["257=5"]), 3);
}

#[test]
fn the_standard_mode_takes_what_loads_are_built_on() {
    // Nothing is loaded, so there are no roots.
    assert_eq!(left(DOMINATED, "SHL", &["402=2"]), 4);
    let text = DOMINATED
        .replace("ST.global.b32 %3, [4]", "%6:R32 = LD.global.b32 [%3+0]")
        .replace("ST.global.b32 %1, [0]", "%7:R32 = LD.global.b32 [%1+0]");
    assert_eq!(left(&text, "SHL", &["402=2"]), 3);
    assert_eq!(left(&text, "LD", &["402=2"]), 1);
}

/// Builds two loads of the same address, with something between.
fn loads(space: &str, between: &str) -> usize {
    let body = format!(
        "\
bix0:
    %0:R64 = S2R.b64 clock64
    %1:R32 = LD.{space}.b32 [%0+4]
    {between}
    %2:R32 = LD.{space}.b32 [%0+4]
    ST.global.b32 %1, [0]
    ST.global.b32 %2, [4]
    RET
"
    );
    left(&body, "LD", &[])
}

#[test]
fn loads_are_common_under_one_version_of_memory() {
    let store = "ST.global.b32 7, [%0+8]";
    assert_eq!(loads("global", "ST.shared.b32 7, [%0+8]"), 1);
    assert_eq!(loads("global", store), 2);
    assert_eq!(loads("global", "MEMBAR"), 2);
    assert_eq!(loads("shared", "BAR.sync 0"), 2);
    assert_eq!(loads("local", "BAR.sync 0"), 1);
    assert_eq!(loads("param::entry", store), 1);
    assert_eq!(loads("const", store), 1);
    // Others have no ordering that separates them.
    for access in ["global.volatile", "global.relaxed.gpu", "param::func"] {
        assert_eq!(loads(access, ""), 2, "{access}");
    }
}

#[test]
fn address_spaces_and_predicates_are_part_of_the_value() {
    let body = "\
bix0:
    %0:R64 = S2R.b64 clock64
    %3:R32 = S2R.b32 clock
    %1:P = ISETP.lt.s32 %3, 1
    %2:P = ISETP.lt.s32 %3, 2
    %4:R32 = LD.const.b32 [%0+4]
    %5:R32 = LD.param::entry.b32 [%0+4]
    %6:R32 = SEL.b32 %4, %5, %1
    %7:R32 = SEL.b32 %4, %5, %2
    %8:R32 = SEL.b32 %4, %5, ~%1
    ST.global.b32 %6, [0]
    ST.global.b32 %7, [4]
    ST.global.b32 %8, [8]
    RET
";
    assert!(!after(body, &[]).1);
}

#[test]
fn special_functions_take_the_extended_scope() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 clock
    %1:R32 = FSIN.f32 %0
    %2:R32 = FSIN.f32 %0
    ST.global.b32 %1, [0]
    ST.global.b32 %2, [4]
    RET
";
    assert_eq!(left(body, "FSIN", &["402=3"]), 2);
    assert_eq!(left(body, "FSIN", &["402=5"]), 1);
}

#[test]
fn what_threads_do_together_stays() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 clock
    %1:P = ISETP.lt.s32 %0, 1
    %2:R32 = SHFL.idx.b32 %0, 0, 31, -1
    %3:R32 = SHFL.idx.b32 %0, 0, 31, -1
    %4:P = VOTE.any.b1 %1, -1
    %5:P = VOTE.any.b1 %1, -1
    %6:R32 = ATOM.global.add.b32 [0], %0
    %7:R32 = ATOM.global.add.b32 [0], %0
    %8:R32 = S2R.b32 clock
    %9:R32 = S2R.b32 clock
    RET
";
    assert!(!after(body, &[]).1);
}

#[test]
fn values_reach_through_copies_and_phis() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = COPY.b32 %0
    %2:R32 = MOV.b32 5
    %3:R32 = MOV.b32 5
    %4:P = ISETP.lt.s32 %0, 7
    BRA %4, bix2, fall bix1
bix1:
    BRA fall bix2
bix2:
    %5:R32 = PHI.b32 %0, bix0, %2, bix1
    %6:R32 = PHI.b32 %1, bix0, %3, bix1
    %7:R32 = IADD.b32 %5, %2
    %8:R32 = IADD.b32 %6, %3
    ST.global.b32 %7, [0]
    ST.global.b32 %8, [4]
    RET
";
    assert_eq!(left(body, "PHI", &[]), 1);
    assert_eq!(left(body, "IADD", &[]), 1);
    // Constants and copies are left to others.
    assert_eq!(left(body, "MOV", &[]), 2);
    assert_eq!(left(body, "COPY", &[]), 1);
}

/// A sum at both ends of four loads that are all live at once.
const UNDER_PRESSURE: &str = "\
bix0:
    %0:R32 = S2R.b32 clock
    %1:R32 = IADD.b32 %0, 1
    ST.global.b32 %1, [0]
    %2:R32 = LD.global.b32 [4]
    %3:R32 = LD.global.b32 [8]
    %4:R32 = LD.global.b32 [12]
    %5:R32 = IADD.b32 %2, %3
    %6:R32 = IADD.b32 %5, %4
    ST.global.b32 %6, [16]
    %7:R32 = IADD.b32 %0, 1
    ST.global.b32 %7, [20]
    RET
";

#[test]
fn a_value_is_kept_only_where_there_is_room() {
    let removed = |budget| {
        let mut function = kernel("sm_90 ssa", UNDER_PRESSURE);
        let options = PhaseOptions {
            register_budget: budget,
            ..PhaseOptions::default()
        };
        run_phase_with(run, &mut function, &options)
    };
    // %0 and three loads are live at once, and %1 would be.
    assert!(removed(5));
    assert!(!removed(4));
}

/// Returns a random function with repeated expressions: copies of them, on the same operands or on
/// copies of these, in blocks that they dominate.
fn function_with_copies(seed: u64) -> Function {
    let mut function = random_function(seed, Stage::Ssa);
    let mut random = Random::new(seed, Stream::TestOri);
    let flow = ControlFlow::of(&function);
    let blocks = flow.dominators.preorder().to_vec();
    for &block in &blocks {
        let is_below = |&other: &Block| flow.dominators.dominates(block, other);
        let below: Vec<Block> = blocks.iter().copied().filter(is_below).collect();
        let target = random.pick(&below);
        let mut copies: BTreeMap<Register, Register> = BTreeMap::new();
        let all: Vec<Instruction> = function.instructions(block).collect();
        for instruction in all {
            let is_phi = function.operation(instruction) == Operation::Phi;
            if expression_kind(&function, instruction).is_none() || is_phi || random.percent(30) {
                continue;
            }
            let results: Vec<Register> = function.result_registers(instruction).collect();
            let new: Vec<Register> = results
                .iter()
                .map(|&result| function.create_register_like(result))
                .collect();
            let operands: Vec<Operand> = new
                .iter()
                .map(|&register| function.register_operand(register))
                .collect();
            let end = function.terminator(target).expect("every block has one");
            let copy = function.clone_instruction(instruction, Position::Before(end), &operands);
            for number in 0..function.sources(copy).len() {
                let source = function.source(copy, number);
                if let Some(other) = source.as_register().and_then(|register| copies.get(&register)) {
                    function.set_source(copy, number, source.with_register(*other));
                }
            }
            if is_commutative(&function, copy) && random.coin() {
                let (first, second) = (function.source(copy, 0), function.source(copy, 1));
                function.set_source(copy, 0, second);
                function.set_source(copy, 1, first);
            }
            copies.extend(results.into_iter().zip(new));
        }
    }
    assert_eq!(function.verify(), [], "{function}");
    function
}

/// Congruence of expressions without hashing: all are assumed equal as far as operation and results
/// go, and separated until operands are equal (B. Alpern, M. N. Wegman, F. K. Zadeck, "Detecting
/// Equality of Variables in Programs", 1988).
struct Naive<'a> {
    function: &'a Function,
    versions: Option<MemoryVersions>,
    expressions: Vec<Instruction>,
    /// By position in the list.
    classes: Vec<usize>,
}

impl<'a> Naive<'a> {
    fn new(function: &'a Function, flow: &ControlFlow) -> Self {
        let all = flow.dominators.preorder().iter();
        let expressions: Vec<Instruction> = all
            .flat_map(|&block| function.instructions(block))
            .filter(|&instruction| expression_kind(function, instruction).is_some())
            .collect();
        let mut naive = Self {
            function,
            versions: versions_for(function, flow),
            classes: vec![0; expressions.len()],
            expressions,
        };
        loop {
            let mut next: Vec<usize> = Vec::new();
            for place in 0..naive.expressions.len() {
                let known = (0..place)
                    .find(|&other| naive.classes[other] == naive.classes[place] && naive.agree(other, place));
                next.push(known.map_or(place, |known| next[known]));
            }
            if next == naive.classes {
                return naive;
            }
            naive.classes = next;
        }
    }

    fn place(&self, instruction: Instruction) -> Option<usize> {
        self.expressions.iter().position(|&other| other == instruction)
    }

    /// Returns the expression and the number of its result that a register comes from, through
    /// copies.
    fn origin(&self, mut register: Register) -> (Register, Option<(usize, usize)>) {
        loop {
            let Some((definition, number)) = self.function.definitions(register).next() else {
                return (register, None);
            };
            let is_copy = expression_kind(self.function, definition) == Some(ExpressionKind::Copy);
            let copied = is_copy.then(|| copied_register(self.function, definition));
            match copied.flatten() {
                Some(source) => register = source,
                None => {
                    let place = self.place(definition);
                    return (register, place.map(|place| (self.classes[place], number)));
                }
            }
        }
    }

    fn operands_agree(&self, left: Operand, right: Operand) -> bool {
        let (Some(first), Some(second)) = (left.as_register(), right.as_register()) else {
            return left == right;
        };
        let (first, second) = (self.origin(first), self.origin(second));
        let is_same = match (first.1, second.1) {
            (Some(first), Some(second)) => first == second,
            _ => first.0 == second.0,
        };
        is_same && left.with_register(Register::new(0)) == right.with_register(Register::new(0))
    }

    fn agree(&self, left: usize, right: usize) -> bool {
        let function = self.function;
        let (left, right) = (self.expressions[left], self.expressions[right]);
        let shape = |instruction: Instruction| {
            let results: Vec<_> = function
                .result_registers(instruction)
                .map(|register| function.register(register))
                .map(|data| (data.file, data.bits))
                .collect();
            let sources = function.sources(instruction).len();
            let block = function
                .block_of(instruction)
                .filter(|_| function.operation(instruction) == Operation::Phi);
            let types = (function.data_type(instruction), function.source_type(instruction));
            (
                function.operation(instruction),
                types,
                function.modifiers(instruction),
                results,
                sources,
                block,
            )
        };
        if shape(left) != shape(right) {
            return false;
        }
        let versions = self.versions.as_ref();
        if function.operation(left) == Operation::Ld {
            let depend = [left, right].map(|load| depends_on_writes(function, load));
            let are_other = |versions: &MemoryVersions| {
                let mut kinds = MemoryKinds::all().iter();
                kinds.any(|kind| versions.read(left, kind) != versions.read(right, kind))
            };
            if depend[0] != depend[1] || (depend[0] && versions.is_some_and(are_other)) {
                return false;
            }
        }
        let (first, second) = (function.sources(left), function.sources(right));
        let in_order =
            (0..first.len()).all(|number| self.operands_agree(first.get(number), second.get(number)));
        let turned = || {
            is_commutative(function, left)
                && self.operands_agree(first.get(0), second.get(1))
                && self.operands_agree(first.get(1), second.get(0))
                && (2..first.len()).all(|number| self.operands_agree(first.get(number), second.get(number)))
        };
        in_order || turned()
    }

    /// True if a value depends on itself, around a cycle.
    fn is_cyclic(&self, instruction: Instruction) -> bool {
        let mut seen = HashSet::new();
        let mut pending = vec![instruction];
        while let Some(next) = pending.pop() {
            for register in self
                .function
                .sources(next)
                .iter()
                .filter_map(Operand::as_register)
            {
                for (definition, _) in self.function.definitions(register) {
                    if definition == instruction {
                        return true;
                    }
                    if seen.insert(definition) {
                        pending.push(definition);
                    }
                }
            }
        }
        false
    }

    /// True if a value is computed from a cyclic one.
    fn depends_on_cycle(&self, instruction: Instruction) -> bool {
        let mut seen = HashSet::from([instruction]);
        let mut pending = vec![instruction];
        while let Some(next) = pending.pop() {
            if self.is_cyclic(next) {
                return true;
            }
            for register in self
                .function
                .sources(next)
                .iter()
                .filter_map(Operand::as_register)
            {
                let definitions = self
                    .function
                    .definitions(register)
                    .map(|(definition, _)| definition);
                pending.extend(definitions.filter(|&definition| seen.insert(definition)));
            }
        }
        false
    }
}

/// True if every path to `inner` leads through `outer`, which comes first.
fn comes_first(function: &Function, flow: &ControlFlow, outer: Instruction, inner: Instruction) -> bool {
    let block = |instruction| function.block_of(instruction).expect("it is in a block");
    if block(outer) != block(inner) {
        return flow.dominators.dominates(block(outer), block(inner));
    }
    let mut in_block = function.instructions(block(inner));
    in_block.find(|&instruction| instruction == outer || instruction == inner) == Some(outer)
}

#[derive(Debug, Default)]
struct Found {
    right: usize,
    constant: usize,
    cyclic: usize,
}

/// Compares the full mode with naive numbering: the pairs found, and the others by reason.
fn compare(seed: u64) -> Found {
    let function = function_with_copies(seed);
    let flow = ControlFlow::of(&function);
    let naive = Naive::new(&function, &flow);
    let gate = Knobs::default().budget(Knob::EnableGvnCsePerInstr);
    let mut numbering = Numbering::run(&function, &flow, Mode::Extended, gate);
    let mut found = Found::default();
    let mut removed = HashSet::new();
    while let Some(redundant) = numbering.next_block() {
        for &Redundant { instruction, leader } in redundant {
            let [place, other] = [instruction, leader].map(|of_pair| naive.place(of_pair).unwrap());
            assert_eq!(
                naive.classes[place], naive.classes[other],
                "{instruction} {leader}\n{function}"
            );
            assert!(
                comes_first(&function, &flow, leader, instruction),
                "{instruction} {leader}\n{function}"
            );
            assert!(!removed.contains(&leader));
            removed.insert(instruction);
            found.right += 1;
        }
    }
    for (place, &instruction) in naive.expressions.iter().enumerate() {
        let is_missed = |(other, &leader): (usize, &Instruction)| {
            other != place
                && naive.classes[other] == naive.classes[place]
                && !removed.contains(&instruction)
                && comes_first(&function, &flow, leader, instruction)
        };
        let kind = expression_kind(&function, instruction);
        if kind == Some(ExpressionKind::Copy) || !naive.expressions.iter().enumerate().any(is_missed) {
            continue;
        }
        if kind == Some(ExpressionKind::Constant) {
            found.constant += 1;
        } else {
            assert!(
                naive.depends_on_cycle(instruction),
                "{instruction} is missed\n{function}"
            );
            found.cyclic += 1;
        }
    }
    found
}

#[test]
fn what_is_found_is_right_and_what_is_missed_is_a_constant_or_goes_round_a_cycle() {
    let mut sum = Found::default();
    for seed in 0..400 {
        let found = compare(seed);
        sum.right += found.right;
        sum.constant += found.constant;
        sum.cyclic += found.cyclic;
    }
    assert!(sum.right > 1000 && sum.constant > 0, "{sum:?}");
}

#[test]
fn a_counter_that_runs_twice_is_missed() {
    let text = "\
bix0:
    %0:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %1:R32 = PHI.b32 %0, bix0, %3, bix1
    %2:R32 = PHI.b32 %0, bix0, %4, bix1
    %3:R32 = IADD.b32 %1, 1
    %4:R32 = IADD.b32 %2, 1
    %5:P = ISETP.lt.s32 %3, %4
    BRA %5, bix1, fall bix2
bix2:
    RET
";
    assert!(!after(text, &[]).1);
}

proptest! {
    /// In any mode the result verifies and nothing is added.
    #[test]
    fn functions_stay_sound(seed: u64, mode in 0i64..8, gate in 0u64..60) {
        let mut function = function_with_copies(seed);
        let before = function.to_string();
        let count = |function: &Function| -> usize {
            function.blocks().iter().map(|&block| function.instructions(block).count()).sum()
        };
        let instructions = count(&function);
        let (mode, gate) = (format!("402={mode}"), format!("257={gate}"));
        let changed = run_phase_with(run, &mut function, &options_with(&[&mode, &gate]));
        prop_assert_eq!(function.verify(), []);
        prop_assert_eq!(changed, function.to_string() != before);
        prop_assert_eq!(changed, count(&function) < instructions);
    }
}
