//! Tests of the validator: pairs of equivalent functions, pairs of different ones, and normal forms
//! compared with arithmetic.

use super::values::{Bitwise, Named, Operator, Value, Values, mask};
use super::{DoubtKind, Subject, Validator};
use oriel_ori::{Comparison, Function, parse_function};
use oriel_random::{Random, Stream};
use proptest::prelude::*;

fn parse(stage: &str, body: &str) -> Function {
    let text = format!("kernel \"k\" sm_80 {stage} {{\n{body}}}\n");
    parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn compare(before: &Function, after: &Function) -> Result<(), DoubtKind> {
    let subject = |function| Subject {
        function,
        snapshot: None,
    };
    let proof = Validator::default().validate(subject(before), subject(after));
    proof.map_err(|doubt| {
        assert!(doubt.describe(before, after).contains("bb."));
        doubt.kind
    })
}

/// Returns a function that stores `%9`, which the lines compute from `%1` and `%2`.
fn computing(lines: &str) -> Function {
    let body = format!(
        "bix0:\n    %10:R64 = LD.param::entry.b64 [0]\n    %1:R32 = LD.global.b32 [%10]\n    \
         %2:R32 = LD.global.b32 [%10+4]\n{lines}    ST.global.b32 %9, [%10+8]\n    RET\n"
    );
    parse("ssa", &body)
}

#[test]
fn what_is_written_in_another_way_is_the_same() {
    for (before, after) in [
        ("    %9:R32 = IMUL.b32 %1, 8\n", "    %9:R32 = SHL.b32 %1, 3\n"),
        (
            "    %3:R32 = IADD.b32 %1, %2\n    %9:R32 = ISUB.b32 %3, %1\n",
            "    %9:R32 = MOV.b32 %2\n",
        ),
        (
            "    %3:R32 = SHL.b32 %1, 5\n    %4:R32 = SHR.u32 %1, 27\n    %9:R32 = OR.b32 %3, %4\n",
            "    %9:R32 = SHF.l.b32 %1, %1, 5\n",
        ),
        (
            "    %3:R32 = AND.b32 %1, 255\n    %9:R32 = AND.b32 %3, 4095\n",
            "    %9:R32 = BFE.u32 %1, 0, 8\n",
        ),
        (
            // The first factor, 1 << 31, is its own negation; the constants are each other's.
            "    %3:R32 = SHL.b32 %1, 31\n    %4:R32 = IADD.b32 %3, 65535\n    %5:P = ISETP.eq.s32 %4, 0\n    %9:R32 = SEL.b32 %1, %2, %5\n",
            "    %3:R32 = SHL.b32 %1, 31\n    %4:R32 = ISUB.b32 %3, 65535\n    %5:P = ISETP.eq.s32 %4, 0\n    %9:R32 = SEL.b32 %1, %2, %5\n",
        ),
        (
            "    %3:P = ISETP.lt.s32 %1, %2\n    %9:R32 = SEL.b32 %1, %2, %3\n",
            "    %3:P = ISETP.ge.s32 %1, %2\n    %9:R32 = SEL.b32 %2, %1, %3\n",
        ),
        (
            "    %3:R64 = CVT.s64.s32 %1\n    %4:R64 = CVT.s64.s32 %2\n    %5:R64 = IMUL.b64 %3, %4\n    \
             %6:R64 = SHR.u64 %5, 32\n    %9:R32 = CVT.u32.u64 %6\n",
            "    %9:R32 = IMUL.HI.s32 %2, %1\n",
        ),
        (
            "    %3:R32 = NOT.b32 %1\n    %9:R32 = IADD.b32 %3, 1\n",
            "    %9:R32 = INEG.s32 %1\n",
        ),
        (
            "    %3:R32 = SHR.s32 %1, 5\n    %4:R32 = SHL.b32 %3, 5\n    %9:R32 = ISUB.b32 %2, %4\n",
            "    %4:R32 = AND.b32 %1, -32\n    %9:R32 = ISUB.b32 %2, %4\n",
        ),
        (
            "    %3:R32 = FNEG.f32 %1\n    %9:R32 = FADD.f32 %3, %2\n",
            "    %9:R32 = FSUB.f32 %2, %1\n",
        ),
        (
            "    %3:R32 = FNEG.f32 %1\n    %4:R32 = FNEG.f32 %2\n    %9:R32 = FMUL.rm.f32 %3, %4\n",
            "    %9:R32 = FMUL.rm.f32 %1, %2\n",
        ),
        (
            "    %3:R32 = FNEG.f32 %2\n    %9:R32 = FFMA.f32 %1, %3, %2\n",
            "    %3:R32 = FNEG.f32 %1\n    %9:R32 = FFMA.f32 %3, %2, %2\n",
        ),
        (
            "    %3:R32 = FNEG.f32 %1\n    %9:R32 = FMUL.f32 %3, 3.0f32\n",
            "    %9:R32 = FMUL.f32 %1, -3.0f32\n",
        ),
    ] {
        let (before, after) = (computing(before), computing(after));
        assert_eq!(compare(&before, &after), Ok(()), "{after:?}");
        assert_eq!(compare(&after, &before), Ok(()), "{before:?}");
    }
}

#[test]
fn what_differs_is_seen() {
    for (before, after) in [
        ("    %9:R32 = ISUB.b32 %1, %2\n", "    %9:R32 = ISUB.b32 %2, %1\n"),
        ("    %9:R32 = SHR.u32 %1, 1\n", "    %9:R32 = SHR.s32 %1, 1\n"),
        ("    %9:R32 = IADD.b32 %1, 1\n", "    %9:R32 = IADD.b32 %1, 2\n"),
        (
            "    %9:R32 = FADD.f32 %1, %2\n",
            "    %9:R32 = FADD.ftz.f32 %1, %2\n",
        ),
        (
            "    %9:R32 = FADD.rn.f32 %1, %2\n",
            "    %9:R32 = FADD.rz.f32 %1, %2\n",
        ),
        (
            "    %9:R32 = FFMA.f32 %1, %2, %1\n",
            "    %9:R32 = FFMA.f32 %1, %1, %2\n",
        ),
        ("    %9:R32 = FSUB.f32 %1, %2\n", "    %9:R32 = FSUB.f32 %2, %1\n"),
        ("    %9:R32 = IDIV.u32 5, 0\n", "    %9:R32 = MOV.b32 -1\n"),
        ("    %9:R32 = FSIN.f32 0.0f32\n", "    %9:R32 = MOV.b32 0.0f32\n"),
        (
            "    %3:R32 = FNEG.ftz.f32 %1\n    %9:R32 = FADD.f32 %3, %2\n",
            "    %9:R32 = FSUB.f32 %2, %1\n",
        ),
        (
            "    %3:R32 = FMUL.f32 %1, %2\n    %9:R32 = FNEG.f32 %3\n",
            "    %3:R32 = FNEG.f32 %1\n    %9:R32 = FMUL.f32 %3, %2\n",
        ),
        (
            "    %3:R32 = FNEG.f32 %1\n    %9:R32 = FFMA.f32 %3, %2, %2\n",
            "    %3:R32 = FNEG.f32 %2\n    %9:R32 = FFMA.f32 %1, %2, %3\n",
        ),
        (
            "    %3:P = ISETP.lt.s32 %1, %2\n    %9:R32 = SEL.b32 %1, %2, %3\n",
            "    %3:P = ISETP.lt.u32 %1, %2\n    %9:R32 = SEL.b32 %1, %2, %3\n",
        ),
    ] {
        let (before, after) = (computing(before), computing(after));
        assert_eq!(compare(&before, &after), Err(DoubtKind::Effect), "{after:?}");
    }
}

/// Two loads of one place with an instruction between them, and the result of LateOriCommoning.
fn around(between: &str) -> [Function; 2] {
    let body = |second: &str, stored: u32| {
        format!(
            "bix0:\n    %10:R64 = LD.param::entry.b64 [0]\n    %1:R32 = LD.shared.b32 [%10]\n{between}{second}    \
             ST.global.b32 %1, [%10]\n    ST.global.b32 %{stored}, [%10+4]\n    RET\n"
        )
    };
    [
        parse("ssa", &body("    %2:R32 = LD.shared.b32 [%10]\n", 2)),
        parse("ssa", &body("", 1)),
    ]
}

#[test]
fn loads_are_one_only_where_nothing_is_between_that_may_write() {
    for (between, is_one) in [
        ("", true),
        ("    ST.global.b32 7, [%10+64]\n", true),
        ("    %5:R32, %6:P = SHFL.bfly.b32 %1, 1, 31, -1\n", true),
        ("    ST.shared.b32 7, [%10+64]\n", true),
        ("    ST.shared.b32 7, [%1]\n", false),
        ("    BAR.sync 0\n", false),
        ("    MEMBAR.sc.gpu\n", false),
        ("    OPAQUE (GRIDDEPCONTROL_WAIT side_effects)\n", false),
        ("    OPAQUE (mbar_try_wait_cta may_load)\n", false),
        ("    ASM\n", false),
    ] {
        let [before, after] = around(between);
        assert_eq!(compare(&before, &after).is_ok(), is_one, "{between}");
        assert_eq!(compare(&before, &before), Ok(()), "{between}");
    }
}

#[test]
fn effects_keep_their_order_and_number() {
    let text = |lines: &str| parse("late", &format!("bix0:\n{lines}    RET\n"));
    let (one, other) = ("    OPAQUE (A side_effects)\n", "    OPAQUE (B side_effects)\n");
    let before = text(&format!("{one}{other}"));
    for wrong in [
        format!("{other}{one}"),
        one.to_owned(),
        format!("{one}{other}{other}"),
        format!("{one}{one}"),
        String::new(),
    ] {
        assert!(compare(&before, &text(&wrong)).is_err(), "{wrong}");
    }
}

const LOOP: &str = "\
bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %20:R32 = LD.param::entry.b32 [8]
    BRA bix1
bix1:
    %1:R32 = PHI.b32 0, bix0, %3, bix1
    %2:R32 = PHI.b32 0, bix0, %4, bix1
    ST.global.b32 %2, [%10]
    %3:R32 = IADD.b32 %1, 1
    %4:R32 = IADD.b32 %2, STEP
    %5:P = ISETP.lt.s32 %3, %20
    BRA %5, bix1, bix2
bix2:
    RET
";

#[test]
fn variables_that_loops_keep_alike_are_found_and_others_told_apart() {
    let before = parse("ssa", &LOOP.replace("STEP", "1"));
    // The two counters are equal.
    let merged = LOOP
        .replace("ST.global.b32 %2,", "ST.global.b32 %1,")
        .replace("STEP", "1");
    assert_eq!(compare(&before, &parse("ssa", &merged)), Ok(()));
    // They start equal, and only the back edge distinguishes them.
    let other = LOOP.replace("STEP", "2");
    assert!(compare(&before, &parse("ssa", &other)).is_err());
    let wrong = other.replace("ST.global.b32 %2,", "ST.global.b32 %1,");
    assert!(compare(&parse("ssa", &other), &parse("ssa", &wrong)).is_err());
}

#[test]
fn blocks_may_be_merged_and_branches_turned_round() {
    let before = parse(
        "ssa",
        "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.lt.s32 %1, 4
    BRA %2, bix1, bix2
bix1:
    BRA bix3
bix3:
    ST.global.b32 1, [%10]
    BRA bix4
bix2:
    ST.global.b32 2, [%10]
    BRA bix4
bix4:
    RET
",
    );
    let after = |comparison: &str, first: u32, second: u32| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.{comparison}.s32 %1, 4
    BRA %2, bix2, bix1
bix1:
    ST.global.b32 {first}, [%10]
    RET
bix2:
    ST.global.b32 {second}, [%10]
    RET
"
            ),
        )
    };
    assert_eq!(compare(&before, &after("ge", 1, 2)), Ok(()));
    assert!(compare(&before, &after("lt", 1, 2)).is_err());
    assert!(compare(&before, &after("ge", 2, 1)).is_err());
    assert!(compare(&before, &after("gt", 1, 2)).is_err());
}

#[test]
fn base_and_offset_of_volatile_and_atomic_accesses_may_change_together() {
    let function = |offset: i64, in_access: i64| {
        let at = |more: i64| match in_access + more {
            0 => "[%1]".to_owned(),
            offset => format!("[%1+{offset}]"),
        };
        parse(
            "ssa",
            &format!(
                "bix0:
    %0:R64 = LD.param::entry.b64 [0]
    %1:R64 = IADD.b64 %0, {offset}
    %2:R32 = LD.volatile.global.b32.b32 {}
    %3:R32 = ATOM.global.add.b32 {}, %2
    ST.volatile.global.b32 %3, {}
    RET
",
                at(0),
                at(4),
                at(8)
            ),
        )
    };
    assert_eq!(compare(&function(32, 0), &function(0, 32)), Ok(()));
    assert_eq!(compare(&function(32, 0), &function(16, 16)), Ok(()));
    assert!(compare(&function(32, 0), &function(0, 28)).is_err());
}

#[test]
fn what_a_branch_has_decided_is_known_behind_it_only() {
    let text = |in_block: &str, behind: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.lt.s32 %1, 4
    %3:P = ISETP.ge.s32 %1, 4
    BRA %2, bix1, bix2
bix1:
    %4:R32 = SEL.b32 5, 6, {in_block}
    ST.global.b32 %4, [%10]
    BRA bix2
bix2:
    %5:R32 = SEL.b32 7, 8, {behind}
    ST.global.b32 %5, [%10+4]
    RET
"
            ),
        )
    };
    let before = text("%3", "%3");
    let known = |function: &Function| {
        let text = function.display(oriel_ori::PrintOptions::default()).to_string();
        parse_function(&text).expect("it was printed")
    };
    assert_eq!(compare(&before, &known(&before)), Ok(()));
    let constant = text("%3", "%3");
    let mut decided = constant.clone();
    let block = decided.blocks()[1];
    let select = decided.first(block).expect("it is there");
    decided.set_source(select, 0, oriel_ori::Operand::immediate(6).expect("it fits"));
    assert_eq!(
        compare(&before, &decided),
        Ok(()),
        "the predicate does not hold there"
    );
    let mut wrong = constant;
    let block = wrong.blocks()[2];
    let select = wrong.first(block).expect("it is there");
    wrong.set_source(select, 0, oriel_ori::Operand::immediate(8).expect("it fits"));
    assert!(compare(&before, &wrong).is_err(), "both ways lead there");
}

/// Returns a function that stores %4 on one of two paths, with %4 defined before the branch or on
/// that path.
fn defined_early_or_late(early: &str, late: &str) -> Function {
    parse(
        "ssa",
        &format!(
            "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
{early}    %2:P = ISETP.lt.s32 %1, 4
    BRA %2, bix1, bix2
bix1:
{late}    ST.shared.b32 %4, [0]
    RET
bix2:
    RET
"
        ),
    )
}

#[test]
fn a_load_is_not_made_where_none_was() {
    let load = "    %4:R32 = LD.global.b32 [%10]\n";
    assert_eq!(
        compare(&defined_early_or_late(load, ""), &defined_early_or_late("", load)),
        Ok(())
    );
    assert_eq!(
        compare(&defined_early_or_late("", load), &defined_early_or_late(load, "")),
        Err(DoubtKind::Load)
    );
}

/// Instructions that Ori does not know may fault like any load if LLVM says that they read memory.
#[test]
fn an_opaque_load_is_not_made_where_none_was() {
    for load in [
        "OPAQUE (TEX_1D may_load) %10",
        "ASM (INLINEASM inline_asm) 0, 0, 131082 asm_reads",
    ] {
        let load = format!("    %4:R32 = {load}\n");
        assert_eq!(
            compare(
                &defined_early_or_late(&load, ""),
                &defined_early_or_late("", &load)
            ),
            Ok(()),
            "{load}"
        );
        let hoisted = compare(
            &defined_early_or_late("", &load),
            &defined_early_or_late(&load, ""),
        );
        assert_eq!(hoisted, Err(DoubtKind::Load), "{load}");
    }
    let pure = "    %4:R32 = OPAQUE (DEPBAR_VALUE) %10\n";
    assert_eq!(
        compare(&defined_early_or_late("", pure), &defined_early_or_late(pure, "")),
        Ok(())
    );
}

/// A load of several elements faults unless its address is a multiple of the whole size.
#[test]
fn loads_are_merged_only_where_the_address_is_aligned() {
    let text = |loads: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %10:R64 = LD.param::entry.b64 [0]
{loads}    ST.global.b32 %1, [%10+64]
    ST.global.b32 %2, [%10+68]
    RET
"
            ),
        )
    };
    let apart = text("    %1:R32 = LD.global.b32 [%10+8]\n    %2:R32 = LD.global.b32 [%10+12]\n");
    let pair = text("    %1:R32, %2:R32 = LD.global.b32 [%10+8]\n");
    let four = text("    %3:R32, %4:R32, %1:R32, %2:R32 = LD.global.b32 [%10]\n");
    assert_eq!(compare(&apart, &pair), Err(DoubtKind::Load));
    assert_eq!(compare(&pair, &four), Err(DoubtKind::Load));
    assert_eq!(compare(&pair, &apart), Ok(()));
    assert_eq!(compare(&four, &pair), Ok(()));
    assert_eq!(compare(&four, &apart), Ok(()));
}

/// The base of a memory operand is a value of the source, which is another address in each round of
/// a loop. Where blocks of two rounds have been joined, the addresses tell.
#[test]
fn equal_bases_in_two_rounds_of_a_loop_are_different_addresses() {
    let text = |lines: [&str; 2], low: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %1:R64 = LD.param::entry.b64 [0]
    %2:R64 = IADD.b64 %1, {low}
{}{}    ST.shared.b32 %3, [0]
    RET
",
                lines[0], lines[1]
            ),
        )
    };
    let store = "    ST.global.b32 1, [%1] access(base 0, 4 bytes)\n";
    let load = "    %3:R32 = LD.global.b32 [%2+4] access(base 0, offset 4, 4 bytes)\n";
    let snapshot = oriel_engine::snapshot::sample::counting_loop();
    for (low, is_proved) in [("-4", false), ("4", true)] {
        let [before, after] = [[store, load], [load, store]].map(|lines| text(lines, low));
        let subject = |function| Subject {
            function,
            snapshot: Some(snapshot.view()),
        };
        let proof = Validator::default().validate(subject(&before), subject(&after));
        assert_eq!(proof.is_ok(), is_proved, "{low}");
    }
}

/// Assembly writes early-clobber results before it reads its inputs.
#[test]
fn an_early_result_is_no_input() {
    let text = |input: u32| {
        parse(
            "late",
            &format!(
                "bix0:
    %1:R32 = LD.param::entry.b32 [0]
    %3:R32 = MOV.b32 %1
    %2:R32 = MOV.b32 %1
    %2 = ASM (INLINEASM inline_asm) 0, 1, 131083, 131081, %{input}
    ST.shared.b32 %2, [0]
    RET
"
            ),
        )
    };
    assert_eq!(compare(&text(3), &text(1)), Ok(()));
    assert!(compare(&text(3), &text(2)).is_err());
}

/// Pairs of different functions. The validator once had a wrong proof of each of them.
#[test]
fn what_was_proved_wrongly_once_is_not() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src/wrong_pairs");
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.join(name)).expect("it is there");
        parse_function(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
    };
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).expect("it is there") {
        let name = entry
            .expect("it is readable")
            .file_name()
            .into_string()
            .expect("it is text");
        let Some(stem) = name.strip_suffix(".before.ori") else {
            continue;
        };
        let (before, after) = (read(&name), read(&format!("{stem}.after.ori")));
        assert!(compare(&before, &after).is_err(), "{stem}");
        assert_eq!(compare(&before, &before), Ok(()), "{stem}");
        count += 1;
    }
    assert_eq!(count, 22);
}

/// The normal forms of random expressions have the expressions' values.
#[derive(Clone, Debug)]
struct Expression {
    steps: Vec<(u8, usize, usize, u64)>,
    width: u32,
}

fn expressions() -> impl Strategy<Value = Expression> {
    let step = (
        0..16u8,
        any::<prop::sample::Index>(),
        any::<prop::sample::Index>(),
        any::<u64>(),
    );
    (
        prop::sample::select(vec![8u32, 16, 32, 64]),
        prop::collection::vec(step, 1..14),
    )
        .prop_map(|(width, steps)| {
            let steps = steps
                .into_iter()
                .enumerate()
                .map(|(number, (kind, left, right, constant))| {
                    (kind, left.index(number + 3), right.index(number + 3), constant)
                })
                .collect();
            Expression { steps, width }
        })
}

/// Evaluates a node for these values of the inputs.
fn evaluate(values: &Values, value: Value, inputs: &[u64; 3]) -> u64 {
    let width = values.width(value);
    let part = |index: usize| evaluate(values, values.operand(value, index), inputs);
    let bits = match values.operator(value) {
        Operator::Constant { low, .. } => low,
        Operator::Named { number, .. } => inputs[number as usize],
        Operator::Sum { constant } => values
            .as_sum(value)
            .terms
            .iter()
            .fold(constant, |sum, &(term, factor)| {
                sum.wrapping_add(factor.wrapping_mul(evaluate(values, term, inputs)))
            }),
        Operator::LongSum => part(0).wrapping_add(part(1)),
        Operator::Product => {
            let parts = values.parts_of(value);
            parts.fold(1u64, |product, part| {
                product.wrapping_mul(evaluate(values, part, inputs))
            })
        }
        Operator::Piece { low } => part(0) >> low,
        Operator::SignExtension => {
            let shift = 64 - values.width(values.operand(value, 0));
            ((part(0) << shift) as i64 >> shift) as u64
        }
        Operator::Bitwise(kind) => {
            let parts: Vec<u64> = values
                .parts_of(value)
                .map(|part| evaluate(values, part, inputs))
                .collect();
            let combine = |left: u64, right: &u64| match kind {
                Bitwise::And => left & right,
                Bitwise::Or => left | right,
                Bitwise::Xor => left ^ right,
            };
            parts[1..].iter().fold(parts[0], combine)
        }
        Operator::IsZero => u64::from(part(0) == 0),
        Operator::Less { signed } => {
            let shift = 64 - values.width(values.operand(value, 0));
            let (left, right) = (part(0) << shift, part(1) << shift);
            u64::from(if signed {
                (left as i64) < right as i64
            } else {
                left < right
            })
        }
        Operator::Select => {
            if part(0) == 1 {
                part(1)
            } else {
                part(2)
            }
        }
        other => panic!("{other:?} is not made here"),
    };
    bits & mask(width)
}

/// Builds the expression as nodes, and evaluates it for the inputs at the same time.
fn build(values: &mut Values, expression: &Expression, inputs: &[u64; 3]) -> Vec<(Value, u64)> {
    let width = expression.width;
    let all = mask(width);
    let mut known: Vec<(Value, u64)> = (0..3)
        .map(|number| {
            let operator = Operator::Named {
                kind: Named::SpecialRegister,
                number: number as u64,
            };
            (values.intern(operator, width, &[]), inputs[number] & all)
        })
        .collect();
    for &(kind, left, right, constant) in &expression.steps {
        let ((one, a), (other, b)) = (known[left], known[right]);
        let by = constant % u64::from(width);
        let low = constant as u32 % width;
        let bits = 1 + (constant >> 32) as u32 % (width - low);
        let signed = constant >> 60 & 1 == 1;
        let shift = 64 - width;
        let number = values.constant(width, constant);
        let step = match kind {
            0 => (values.add(width, one, other), a.wrapping_add(b)),
            1 => (values.subtract(width, one, other), a.wrapping_sub(b)),
            2 => (values.multiply(width, one, other), a.wrapping_mul(b)),
            3 => (values.shift_left(width, one, by), a << by),
            4 => {
                let shifted = if signed {
                    ((a << shift) as i64 >> shift >> by) as u64
                } else {
                    a >> by
                };
                (values.shift_right(width, one, by, signed), shifted)
            }
            5 => (values.bitwise(Bitwise::And, width, one, other), a & b),
            6 => (values.bitwise(Bitwise::Or, width, one, other), a | b),
            7 => (values.bitwise(Bitwise::Xor, width, one, other), a ^ b),
            8 => (values.bitwise(Bitwise::And, width, one, number), a & constant),
            9 => (values.bitwise(Bitwise::Or, width, one, number), a | constant),
            10 => (values.complement(width, one), !a),
            11 => {
                let field = values.extract(one, low, bits);
                let value = a >> low & mask(bits);
                let value = if signed {
                    (value << (64 - bits)) as i64 >> (64 - bits)
                } else {
                    value as i64
                };
                (values.resize(width, field, signed), value as u64)
            }
            12 => (values.add(width, one, number), a.wrapping_add(constant)),
            13 => {
                let comparison = [
                    Comparison::Eq,
                    Comparison::Ne,
                    Comparison::Lt,
                    Comparison::Le,
                    Comparison::Gt,
                    Comparison::Ge,
                ][(constant >> 8) as usize % 6];
                let other = if constant >> 59 & 1 == 1 { number } else { other };
                let b = if constant >> 59 & 1 == 1 {
                    constant & all
                } else {
                    b
                };
                let order = |bits: u64| {
                    if signed {
                        i128::from((bits << shift) as i64 >> shift)
                    } else {
                        i128::from(bits)
                    }
                };
                let (a, b) = (order(a), order(b));
                let holds = match comparison {
                    Comparison::Eq => a == b,
                    Comparison::Ne => a != b,
                    Comparison::Lt => a < b,
                    Comparison::Le => a <= b,
                    Comparison::Gt => a > b,
                    _ => a >= b,
                };
                let predicate = values
                    .compare(comparison, one, other, signed)
                    .expect("it is one of integers");
                let small = values.extend(width, predicate);
                (small, u64::from(holds))
            }
            14 => {
                let zero = values.is_zero(one);
                (
                    values.select(width, zero, other, number),
                    if a == 0 { b } else { constant },
                )
            }
            _ => {
                let predicate = values.is_zero(other);
                let not = values.not(predicate);
                (values.select(width, not, one, other), if b == 0 { b } else { a })
            }
        };
        known.push((step.0, step.1 & all));
    }
    known
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    /// Any normal form of an expression has the expression's value.
    #[test]
    fn normal_forms_have_the_value_of_what_they_are_made_of(expression in expressions(), seed in any::<u64>(), is_thorough in any::<bool>()) {
        let mut random = Random::new(seed, Stream::TestOri);
        for _ in 0..4 {
            let mut values = Values::default();
            values.is_thorough = is_thorough;
            let all = mask(expression.width);
            let inputs = [0; 3].map(|_: u64| {
                let word = u64::from(random.word()) << 32 | u64::from(random.word());
                [word, word & 7, 0, u64::MAX, 1 << (expression.width - 1), word & word >> 7][random.index(6)] & all
            });
            for (number, (value, expected)) in build(&mut values, &expression, &inputs).into_iter().enumerate() {
                prop_assert_eq!(evaluate(&values, value, &inputs), expected, "value {} is {}", number, values.show(value));
            }
        }
    }
}

#[test]
fn a_branch_between_two_returns_is_a_return() {
    let branching = |other_way: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:\n    %1:R64 = LD.param::entry.b64 [0]\n    %2:R32 = LD.global.b32 [%1]\n    \
                 %3:P = ISETP.eq.b32 %2, 0\n    BRA %3, bix1, fall bix2\nbix1:\n    RET\nbix2:\n{other_way}    RET\n"
            ),
        )
    };
    let after = parse("ssa", "bix0:\n    RET\n");
    assert_eq!(compare(&branching(""), &after), Ok(()));
    assert!(compare(&branching("    ST.global.b32 %2, [%1]\n"), &after).is_err());
}
