//! Tests promotion by GeneralOptimizeMid on small functions, and on random ones that the
//! interpreter executes before and after.

mod programs;

use crate::testing::{kernel, options_with, run_phase_with};
use crate::{PhaseOptions, general_optimize_mid};
use oriel_random::setting;
use programs::{Program, promoted_with_same_memory};

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
    let programs = setting("ORIEL_ORACLE_KERNELS", 60);
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
    let programs = setting("ORIEL_ORACLE_KERNELS", 60);
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
