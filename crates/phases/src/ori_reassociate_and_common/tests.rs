use super::*;
use crate::PhaseOptions;
use crate::testing::{kernel, options_with, run_phase_with};
use oriel_engine::entity::Register;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::random_function::random_function;
use oriel_ori::{DataType, Operand, Operation};
use oriel_random::{Random, Stream};
use proptest::prelude::*;
use std::collections::HashMap;
use std::fmt::Write;

fn count(function: &Function) -> usize {
    let blocks = function.blocks().iter();
    blocks.map(|&block| function.instructions(block).count()).sum()
}

/// Returns the value of an operand, given those of registers.
fn operand_value(function: &Function, values: &HashMap<Register, u64>, operand: Operand) -> u64 {
    match operand.as_register() {
        Some(register) => values[&register],
        None => function.integer(operand).expect("it is a number") as u64,
    }
}

/// Executes the stores of a function without PHIs, all blocks in layout order. Each special
/// register has a distinct number.
fn stored(function: &Function) -> Vec<u64> {
    let mut values: HashMap<Register, u64> = HashMap::new();
    let mut stored = Vec::new();
    for instruction in function.all_instructions() {
        let sources: Vec<Operand> = function.sources(instruction).iter().collect();
        let value = |number: usize| operand_value(function, &values, sources[number]);
        let result = match function.operation(instruction) {
            Operation::S2r => (values.len() as u64 + 3).wrapping_mul(0x9E37_79B9_7F4A_7C15),
            Operation::Iadd => value(0).wrapping_add(value(1)),
            Operation::Isub => value(0).wrapping_sub(value(1)),
            Operation::Imul => value(0).wrapping_mul(value(1)),
            Operation::Imad => value(0).wrapping_mul(value(1)).wrapping_add(value(2)),
            Operation::And => value(0) & value(1),
            Operation::Or => value(0) | value(1),
            Operation::Xor => value(0) ^ value(1),
            Operation::St => {
                stored.push(value(0));
                continue;
            }
            _ if function.results(instruction).is_empty() => continue,
            // Any other operation depends on its operands alone.
            other => (0..sources.len()).fold(other as u64, |hash, number| {
                (hash ^ value(number))
                    .wrapping_mul(0x9E37_79B9_7F4A_7C15)
                    .rotate_left(29)
            }),
        };
        let bits = function.data_type(instruction).bits();
        let register = function.result(instruction, 0).as_register().unwrap();
        values.insert(register, result << (64 - bits) >> (64 - bits));
    }
    stored
}

/// Returns the function after the phase, checking that it computes the same, and the number of
/// instructions removed.
fn after(body: &str, knobs: &[&str]) -> (Function, usize) {
    let mut function = kernel("sm_90 ssa", body);
    let options = options_with(knobs);
    let (before, instructions, text) = (stored(&function), count(&function), function.to_string());
    let changed = run_phase_with(run, &mut function, &options);
    assert_eq!(function.verify(), [], "{text}{function}");
    assert_eq!(stored(&function), before, "{text}{function}");
    assert_eq!(changed, function.to_string() != text);
    assert!(count(&function) <= instructions, "{text}{function}");
    let saved = instructions - count(&function);
    (function, saved)
}

/// Returns how many instructions the phase saves.
fn saved(body: &str, knobs: &[&str]) -> usize {
    after(body, knobs).1
}

const INPUTS: &str = "\
bix0:
    %0:R32 = S2R.b32 clock
    %1:R32 = S2R.b32 clock
    %2:R32 = S2R.b32 clock
    %3:R32 = S2R.b32 clock
";

fn body(code: &str) -> String {
    format!("{INPUTS}{code}    RET\n")
}

/// (%0 + %1) + %2 and (%0 + %2) + %1.
fn two_orders() -> String {
    body(
        "    %4:R32 = IADD.b32 %0, %1
    %5:R32 = IADD.b32 %4, %2
    ST.global.b32 %5, [0]
    %6:R32 = IADD.b32 %0, %2
    %7:R32 = IADD.b32 %6, %1
    ST.global.b32 %7, [4]
",
    )
}

#[test]
fn sums_in_two_orders_are_one() {
    assert_eq!(saved(&two_orders(), &[]), 2);
    for operation in ["IMUL", "AND", "OR", "XOR"] {
        assert_eq!(
            saved(&two_orders().replace("IADD", operation), &[]),
            2,
            "{operation}"
        );
    }
    assert_eq!(
        saved(
            &two_orders()
                .replace("IADD", "IMIN")
                .replace("b32 %", "s32 %")
                .replace("global.s32", "global.b32"),
            &[]
        ),
        0
    );
}

#[test]
fn a_longer_sum_takes_the_beginning() {
    let text = two_orders().replace(
        "ST.global.b32 %7",
        "%8:R32 = IADD.b32 %7, %3\n    ST.global.b32 %8",
    );
    assert_eq!(saved(&text, &[]), 2);
    let (function, _) = after(&text, &[]);
    assert!(
        function.to_string().contains("%8:R32 = IADD.b32 %5, %3"),
        "{function}"
    );
}

#[test]
fn subtraction_is_absorbed_and_never_negated() {
    let text = body(
        "    %4:R32 = IADD.b32 %0, %1
    %5:R32 = ISUB.b32 %4, %2
    ST.global.b32 %5, [0]
    %6:R32 = ISUB.b32 %0, %2
    %7:R32 = IADD.b32 %6, %1
    %8:R32 = IADD.b32 %7, 5
    ST.global.b32 %8, [4]
",
    );
    assert_eq!(saved(&text, &[]), 2);
    let (function, _) = after(&text, &[]);
    assert!(!function.to_string().contains("INEG"), "{function}");
    // A difference alone has nothing to gain.
    assert_eq!(
        saved(&text.replace("%7, 5", "%7, 5\n    ST.global.b32 %6, [8]"), &[]),
        0
    );
}

#[test]
fn the_other_sum_is_built_anew_if_that_makes_a_part_common() {
    let text = body(
        "    %4:R32 = IADD.b32 %0, %2
    %5:R32 = IADD.b32 %4, %1
    %6:R32 = IADD.b32 %5, %3
    ST.global.b32 %6, [0]
    %7:R32 = IADD.b32 %1, %0
    %8:R32 = IADD.b32 %7, 9
    ST.global.b32 %8, [4]
",
    );
    assert_eq!(saved(&text, &[]), 1);
}

#[test]
fn constants_are_folded_if_they_fit() {
    let text = |constant: &str| {
        two_orders()
            .replace("R32", "R64")
            .replace("b32", "b64")
            .replace("clock", "clock64")
            .replace(
                "ST.global.b64 %7",
                &format!(
                    "%8:R64 = IADD.b64 %7, {constant}\n    %9:R64 = IADD.b64 %8, 1\n    ST.global.b64 %9"
                ),
            )
    };
    assert_eq!(saved(&text("4"), &[]), 3);
    assert_eq!(saved(&text("-1"), &[]), 4);
    assert_eq!(saved(&text("0x7fffffff"), &[]), 0);
    assert_eq!(saved(&text("0x7fffffff"), &["ReassociateLargeImmInUIADD64=1"]), 3);
}

#[test]
fn what_other_instructions_use_stays() {
    // %6 is stored as well: it cannot be removed, and is a leaf.
    let text = two_orders().replace("%6, %1", "%6, %1\n    ST.global.b32 %6, [8]");
    assert_eq!(saved(&text, &[]), 0);
}

#[test]
fn knobs() {
    let text = two_orders();
    assert_eq!(saved(&text, &["AllowReassociateCSE=0"]), 0);
    // The tenth instruction is the root of the second sum.
    assert_eq!(saved(&text, &["ReassociateCSEBudget=8"]), 0);
    assert_eq!(saved(&text, &["ReassociateCSEBudget=9"]), 2);
    assert_eq!(saved(&text, &["ReassociateCSESkip=5"]), 2);
    assert_eq!(saved(&text, &["ReassociateCSESkip=6"]), 0);
    assert_eq!(saved(&text, &["ReassociateCSEWindow=2"]), 0);
    assert_eq!(saved(&text, &["ReassociateCSEWindow=3"]), 2);
}

#[test]
fn sums_of_products_become_one() {
    let text = body(
        "    %4:R32 = IMUL.b32 %0, %1
    %5:R32 = IMUL.b32 %2, %0
    %6:R32 = IADD.b32 %4, %5
    ST.global.b32 %6, [0]
",
    );
    assert_eq!(saved(&text, &[]), 1);
    assert_eq!(saved(&text.replace("IADD", "ISUB"), &[]), 1);
    assert_eq!(saved(&text.replace("%2, %0", "%0, 7"), &[]), 1);
    assert_eq!(saved(&text.replace("%2, %0", "%2, %3"), &[]), 0);
    assert_eq!(saved(&text, &["DistributeAndReassociateMulBudget=0"]), 0);
    let fused = text
        .replace("    %4:R32 = IMUL.b32 %0, %1\n", "")
        .replace("IADD.b32 %4, %5", "IMAD.b32 %0, %1, %5");
    let (function, saved) = after(&fused, &[]);
    assert_eq!(saved, 0);
    assert!(
        function.to_string().contains("%6:R32 = IMUL.b32 %7, %0"),
        "{function}"
    );
}

#[test]
fn a_factor_that_is_a_product_itself_may_become_a_part_of_the_product() {
    let text = body(
        "    %4:R32 = IMUL.b32 %0, %1
    %5:R32 = IMUL.b32 %4, %2
    %6:R32 = IMUL.b32 %4, %3
    %7:R32 = IADD.b32 %5, %6
    ST.global.b32 %7, [0]
",
    );
    assert_eq!(saved(&text, &[]), 1);
    assert_eq!(saved(&text.replace("IADD", "ISUB"), &[]), 1);
    assert_eq!(saved(&text.replace("%0, %1", "%0, %0"), &[]), 1);
    // Another chain that begins with the same product.
    let more =
        "    %8:R32 = IMUL.b32 %1, %2\n    %9:R32 = IMUL.b32 %8, %0\n    ST.global.b32 %9, [4]\n    RET";
    assert_eq!(saved(&text.replace("    RET", more), &[]), 2);
}

#[test]
fn dominators_share_with_the_blocks_below() {
    let text = two_orders().replace(
        "    %6:R32",
        "    %9:P = ISETP.lt.s32 %5, 0\n    BRA %9, bix2, fall bix1\nbix1:\n    BRA fall bix2\nbix2:\n    %6:R32",
    );
    assert_eq!(saved(&text, &[]), 2);
    // Neither of two branches dominates the other.
    let text = two_orders()
        .replace(
            "    %4:R32",
            "    %9:P = ISETP.lt.s32 %0, 0\n    BRA %9, bix2, fall bix1\nbix1:\n    %4:R32",
        )
        .replace("    %6:R32", "    RET\nbix2:\n    %6:R32");
    assert_eq!(saved(&text, &[]), 0);
}

#[test]
fn what_follows_becomes_common_too() {
    let text = two_orders()
        .replace("ST.global.b32 %5", "%8:R32 = SHL.b32 %5, 2\n    ST.global.b32 %8")
        .replace("ST.global.b32 %7", "%9:R32 = SHL.b32 %7, 2\n    ST.global.b32 %9");
    let (function, _) = after(&text, &[]);
    assert_eq!(function.to_string().matches("SHL").count(), 1, "{function}");
}

#[test]
fn floats_and_saturating_sums_stay() {
    assert_eq!(saved(&two_orders().replace("IADD.b32", "FADD.f32"), &[]), 0);
    assert_eq!(saved(&two_orders().replace("IADD.b32", "IADD.sat.s32"), &[]), 0);
}

/// Generates sums, products and bit operations on a few registers, so that the same leaves occur in
/// other orders.
fn random_body(seed: u64) -> String {
    let mut random = Random::new(seed, Stream::TestOri);
    let wide = random.coin();
    let (file, data_type, clock) = if wide {
        ("R64", "b64", "clock64")
    } else {
        ("R32", "b32", "clock")
    };
    let mut text = "bix0:\n".to_owned();
    for register in 0..4 {
        writeln!(text, "    %{register}:{file} = S2R.{data_type} {clock}").unwrap();
    }
    let operations = random.pick(&[
        &["IADD", "ISUB"][..],
        &["IMUL", "IADD", "IMAD"],
        &["AND", "OR", "XOR"],
    ]);
    let mut next = 4;
    for block in 0..3 {
        if block > 0 {
            writeln!(text, "    BRA fall bix{block}\nbix{block}:").unwrap();
        }
        for _ in 0..random.between(2, 8) {
            let mut value = random.index(4);
            for _ in 0..random.between(1, 4) {
                let operation = random.pick(operations);
                let mut operand = || match random.below(6) {
                    0 => format!("{}", random.between(0, 9) as i64 - 4),
                    1 => format!("%{}", random.index(next)),
                    _ => format!("%{}", random.index(4)),
                };
                let mut sources = vec![format!("%{value}"), operand()];
                if operation == "IMAD" {
                    sources.push(format!("%{}", random.index(next)));
                }
                if operation != "ISUB" && random.coin() {
                    sources.swap(0, 1);
                }
                if !sources[0].starts_with('%') {
                    sources.swap(0, 1);
                }
                writeln!(
                    text,
                    "    %{next}:{file} = {operation}.{data_type} {}",
                    sources.join(", ")
                )
                .unwrap();
                value = next;
                next += 1;
            }
            writeln!(text, "    ST.global.{data_type} %{value}, [0]").unwrap();
        }
        if operations[0] == "IMUL" && random.coin() {
            let [one, other, left, right] = [(); 4].map(|()| random.index(4));
            let [product, first, second, sum] = [0, 1, 2, 3].map(|number| next + number);
            let operation = random.pick(&["IADD", "ISUB"]);
            for (result, operation, left, right) in [
                (product, "IMUL", one, other),
                (first, "IMUL", product, left),
                (second, "IMUL", right, product),
                (sum, operation, first, second),
            ] {
                writeln!(
                    text,
                    "    %{result}:{file} = {operation}.{data_type} %{left}, %{right}"
                )
                .unwrap();
            }
            writeln!(text, "    ST.global.{data_type} %{sum}, [0]").unwrap();
            next += 4;
        }
    }
    text + "    RET\n"
}

#[test]
fn random_sums_keep_their_values() {
    let saved: usize = (0..500).map(|seed| saved(&random_body(seed), &[])).sum();
    assert!(saved > 500, "{saved}");
}

#[test]
fn every_type_of_a_chain_has_a_width() {
    for data_type in [DataType::B16, DataType::B32, DataType::B64] {
        let name = data_type.name();
        let text = format!(
            "bix0:\n    %0:R{0} = LD.global.{name} [0]\n    %1:R{0} = LD.global.volatile.{name} [0]\n    \
             %2:R{0} = IADD.{name} %0, %1\n    %3:R{0} = IADD.{name} %2, 3\n    ST.global.{name} %3, [0]\n    \
             %4:R{0} = IADD.{name} %0, 3\n    %5:R{0} = IADD.{name} %4, %1\n    ST.global.{name} %5, [8]\n    RET\n",
            data_type.bits()
        );
        let mut function = kernel("sm_90 ssa", &text);
        let before = count(&function);
        assert!(run_phase_with(run, &mut function, &PhaseOptions::default()));
        assert_eq!(count(&function), before - 2);
    }
}

proptest! {
    /// For any function, the result verifies and has no more instructions.
    #[test]
    fn functions_stay_sound(seed: u64) {
        let mut function = random_function(seed, Stage::Ssa);
        let (before, instructions) = (function.to_string(), count(&function));
        let changed = run_phase_with(run, &mut function, &PhaseOptions::default());
        prop_assert_eq!(function.verify(), []);
        prop_assert_eq!(changed, function.to_string() != before);
        prop_assert!(count(&function) <= instructions);
    }
}
