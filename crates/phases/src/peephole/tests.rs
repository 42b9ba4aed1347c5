//! Tests what rules must not change, and properties for any function.

use crate::testing::{check_ends_in_one_run, run_phase, run_phase_with};
use crate::{PhaseOptions, ori_peephole};
use oriel_ori::parse_function;
use proptest::prelude::*;

/// Returns a kernel with these instructions in its only block.
fn kernel(body: &str) -> String {
    format!(
        "kernel \"k\" sm_80 ssa {{
bix0:
    %1:R32 = LD.global.b32.b32 [0]
    %2:R32 = LD.global.b32.b32 [4]
    %3:R64 = LD.global.b64.b64 [8]
{body}
    RET
}}
"
    )
}

/// True if the phase leaves the body unchanged.
fn stays(body: &str) -> bool {
    let mut function = parse_function(&kernel(body)).unwrap_or_else(|error| panic!("{body}\n{error}"));
    let changed = run_phase(ori_peephole::run, &mut function);
    assert_eq!(function.verify(), [], "{body}");
    !changed
}

#[test]
fn what_others_use_as_well_is_not_made_twice() {
    let fused = "    %8:R32 = IMUL.b32 %1, %2\n    %9:R32 = IADD.b32 %8, %1\n    ST.global.b32.b32 %9, [16]";
    assert!(!stays(fused));
    assert!(stays(&format!("{fused}\n    ST.global.b32.b32 %8, [20]")));
    let turned = "    %8:P = ISETP.lt.s32 %1, %2\n    %9:P = NOT.b1 %8\n    %7:R32 = SEL.b32 %1, 5, %9\n    ST.global.b32.b32 %7, [16]";
    assert!(!stays(turned));
    let both = "    %6:R32 = SEL.b32 %1, 7, %8\n    ST.global.b32.b32 %6, [20]";
    // Instead the selection exchanges its arms.
    assert!(!stays(&format!("{turned}\n{both}")));
    let kept = turned.replace("SEL.b32 %1, 5, %9", "VOTE.ballot.b32 %9, -1");
    assert!(stays(&format!("{kept}\n{both}")));
}

#[test]
fn saturation_and_lanes_are_no_plain_sums() {
    for sum in ["IADD.s32.sat %1, 0", "IADD.b16x2 %1, 0"] {
        let body = format!("    %9:R32 = {sum}\n    ST.global.b32.b32 %9, [16]");
        assert!(stays(&body), "{sum}");
    }
}

#[test]
fn floats_keep_their_bits() {
    let store = "    ST.global.b32.b32 %9, [16]";
    // A product changes a NaN from memory; a flush of subnormals is no copy; -0 + 0 is +0.
    for body in [
        "    %9:R32 = FMUL.f32 %1, 1.0f32",
        "    %8:R32 = FMUL.f32 %1, %2\n    %9:R32 = FMUL.ftz.f32 %8, 1.0f32",
        "    %8:R32 = FMUL.f32 %1, %2\n    %9:R32 = FADD.f32 %8, 0.0f32",
        "    %8:R32 = FMUL.f32 %1, %2\n    %9:R32 = FADD.rm.f32 %8, -0.0f32",
        "    %8:R32 = FNEG.ftz.f32 %1\n    %9:R32 = FNEG.ftz.f32 %8",
        "    %8:R32 = FNEG.ftz.f32 %1\n    %9:R32 = FADD.f32 %2, %8",
        "    %8:R32 = FMUL.contract.f32 %1, %2\n    %9:R32 = FADD.contract.f32 %8, %1",
    ] {
        assert!(stays(&format!("{body}\n{store}")), "{body}");
    }
    // A NaN of 64 bits keeps its sign.
    assert!(stays(
        "    %8:R64 = FNEG.f64 %3\n    %9:R64 = FADD.f64 %3, %8\n    ST.global.b64.b64 %9, [16]"
    ));
}

#[test]
fn rules_about_floats_can_be_switched_off() {
    let text = kernel("    %8:R32 = FNEG.f32 %1\n    %9:R32 = FNEG.f32 %8\n    ST.global.b32.b32 %9, [16]");
    let mut function = parse_function(&text).expect("it is well formed");
    let mut options = PhaseOptions::default();
    options.knobs.set("LimitFoldFp=1").expect("there is such a knob");
    assert!(!run_phase_with(ori_peephole::run, &mut function, &options));
    assert!(run_phase(ori_peephole::run, &mut function));
}

#[test]
fn addresses_take_offsets_only_where_all_accesses_do() {
    let load =
        "    %8:R64 = IADD.b64 %3, 16\n    %9:R32 = LD.global.b32.b32 [%8+4]\n    ST.global.b32.b32 %9, [16]";
    assert!(!stays(load));
    // The address is used as a value as well, the offset is too large, the sum wraps around at 32
    // bits.
    assert!(stays(&format!("{load}\n    ST.global.b64.b64 %8, [24]")));
    assert!(stays(&load.replace("%3, 16", "%3, 8388608")));
    let narrow =
        "    %8:R32 = IADD.b32 %1, 16\n    %9:R32 = LD.shared.b32.b32 [%8+4]\n    ST.global.b32.b32 %9, [16]";
    assert!(stays(narrow));
}

#[test]
fn undefined_values_and_divisions_by_zero_are_left_alone() {
    assert!(stays(
        "    %9:R32 = ISUB.b32 undef %1, undef %1\n    ST.global.b32.b32 %9, [16]"
    ));
    let body = "    %8:R32 = MOV.b32 7\n    %9:R32 = IDIV.s32 %8, 0\n    ST.global.b32.b32 %9, [16]";
    assert!(stays(body));
}

#[test]
fn nothing_moves_into_a_loop() {
    // Two instructions before the loop, one inside: all three words of a tree would be computed in
    // the loop.
    let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = LD.global.b32.b32 [0]
    %2:R32 = LD.global.b32.b32 [4]
    %3:R64 = PACK.b64.b32 %1, %2
    %4:R64 = SHR.u64 %3, 6
    %5:R64 = IADD.b64 %4, 77
    BRA fall bix1
bix1:
    %6:R32 = CVT.u32.u64 %5
    ST.global.b32.b32 %6, [8]
    %7:P = ISETP.lt.s32 %1, %2
    BRA %7, bix1, fall bix2
bix2:
    RET
}
";
    let mut function = parse_function(text).expect("it is well formed");
    assert!(!run_phase(ori_peephole::run, &mut function), "{function}");
    let straight = text
        .replace("    BRA fall bix1\nbix1:\n", "")
        .replace("    BRA %7, bix1, fall bix2\nbix2:\n", "");
    let mut function = parse_function(&straight).expect("it is well formed");
    assert!(run_phase(ori_peephole::run, &mut function), "{function}");
}

#[test]
fn a_value_computed_from_itself_is_not_replaced_by_itself() {
    for cycle in [
        "    %1:R32 = IADD.b32 %1, 0\n",
        "    %2:R32 = NOT.b32 %1\n    %1:R32 = NOT.b32 %2\n",
        "    %2:R32 = IADD.b32 %1, 5\n    %1:R32 = IADD.b32 %2, 7\n",
    ] {
        let text = format!(
            "kernel \"k\" sm_80 ssa {{\nbix0:\n    RET\nbix1:\n{cycle}    ST.global.b32.b32 %1, [64]\n    BRA bix1\n}}\n"
        );
        let mut function = parse_function(&text).expect("it is well formed");
        assert_eq!(function.verify(), []);
        run_phase(ori_peephole::run, &mut function);
        assert_eq!(function.verify(), [], "{function}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// For any function: the result verifies, and a second run finds nothing.
    #[test]
    fn functions_stay_sound(seed: u64) {
        check_ends_in_one_run(ori_peephole::run, seed);
    }
}
