//! Tests of the harness on small functions.

use super::{
    Baseline, Edit, EditKind, Failure, FailureKind, Input, MutationCounts, MutationTrial, Sequence, Step,
    TestedModule,
};
use super::{check, check_sequence, mutation_check, reduce, sequences};
use oriel_engine::entity::Register;
use oriel_engine::snapshot::abi::Stage;
use oriel_interpreter::{Kernel, Limits, Module, Parameter};
use oriel_ori::parse_functions;
use oriel_phases::PhaseOptions;

const LIMITS: Limits = Limits {
    steps: 100_000,
    ..Limits::DEFAULT
};

/// A loop that adds up numbers, next to unrelated work.
const LOOP: &str = r#"
kernel "k" sm_80 ssa {
bix0:
    %1:R64 = LD.entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.u64.u32 %2, 16
    %4:R64 = IADD.b64 %1, %3
    %5:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %6:R32 = PHI.b32 %5, bix0, %7, bix1
    %8:R32 = PHI.b32 %2, bix0, %9, bix1
    %9:R32 = IADD.b32 %8, %6
    %7:R32 = IADD.b32 %6, 1
    %10:P = ISETP.lt.s32 %7, 10
    BRA %10, bix1, fall bix2
bix2:
    %11:R32 = ISUB.b32 %9, %2
    %12:R32 = XOR.b32 %2, 85
    %13:R32 = SHL.b32 %12, 3
    ST.global.b32 %13, [%4]
    ST.global.b32 %11, [%4+8]
    RET
}
"#;

/// Each thread reads what the warp before has written.
const RACE: &str = r#"
kernel "k" sm_80 ssa {
bix0:
    %1:R64 = LD.entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.u64.u32 %2, 16
    %4:R64 = IADD.b64 %1, %3
    %5:R32 = LD.global.b32.b32 [%1]
    ST.global.b32 %2, [%1]
    ST.global.b32 %5, [%4+8]
    RET
}
"#;

fn tested(text: &str) -> TestedModule {
    let functions = parse_functions(&text.replace("LD.entry", "LD.param::entry")).expect("the text is right");
    let kernel = functions[0].info.name.clone();
    let parameter = Parameter {
        size: 8,
        alignment: 8,
        is_pointer: true,
    };
    TestedModule {
        name: "test".to_owned(),
        functions,
        module: Module {
            variables: Vec::new(),
            kernels: vec![Kernel {
                name: kernel.clone(),
                parameters: vec![parameter],
            }],
        },
        inputs: (1..4)
            .map(|seed| Input::Blind {
                kernel: kernel.clone(),
                seed,
            })
            .collect(),
        phase_options: PhaseOptions::default(),
    }
}

/// Returns a wrong edit of the definition of a register.
fn edit(tested: &TestedModule, kind: EditKind, result: u32) -> Sequence {
    let function = &tested.functions[0];
    let definition = function.unique_definition(Register::from_u32(result));
    Sequence(vec![Step::Edit(Edit {
        kind,
        function: function.info.name.clone(),
        instruction: definition.expect("the register has one definition"),
    })])
}

/// Makes one wrong edit, with only the tested module's inputs; the validator must not prove an edit
/// that a run detects.
fn mutate(
    tested: &TestedModule,
    baseline: &Baseline,
    kind: EditKind,
    seed: u64,
    limits: Limits,
) -> MutationCounts {
    let trial = MutationTrial {
        tested,
        baseline,
        more: &tested.inputs,
        snapshots: &[],
        limits,
    };
    let (counts, wrong_proof) = mutation_check(trial, kind, seed);
    assert!(wrong_proof.is_none(), "{wrong_proof:?}");
    counts
}

/// Effects among loads and stores. The numbers before the assembly's operands are LLVM's: 262154 a
/// result of 32 bits, 262155 one that is written early, 262153 an input.
const EFFECTS: &str = r#"
kernel "k" sm_90 STAGE {
bix0:
    %1:R64 = LD.entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.u64.u32 %2, 64
    %4:R64 = IADD.b64 %1, %3
    %5:R32 = XOR.b32 %2, 5
    %6:R32 = LD.global.b32.b32 [%4]
    OPAQUE(GRIDDEPCONTROL_WAIT side_effects)
    %7:R32 = LD.global.b32.b32 [%4]
    ST.global.b32 %7, [%4+4]
    ASM(INLINEASM inline_asm) &"membar.gl;", 1 asm_side_effects
    %8:R32 = ASM(INLINEASM inline_asm) &"f $0, $1, $2;", 0, 262155, 262153, %2, 262153, %5
    ST.global.b32 %8, [%4+8]
    MEMBAR.sc.gpu
    %9:R32 = ATOM.relaxed.gpu.global.add.b32 [%4+12], %6
    %10:R32 = ASM(INLINEASM inline_asm) &"g $0, $1;", 1, 262154, 262153, %9 asm_side_effects
    ST.global.b32 %10, [%4+16]
    %11:R32 = FADD.f32 %6, 1.5f32
    ST.global.b32 %11, [%4+20]
    %12:P = ISETP.lt.s32 %2, 20
    %13:R32 = SEL.b32 %2, %5, %12
    ST.global.b32 %13, [%4+24]
    BRA %12, bix1, fall bix2
bix1:
    ST.global.b32 1, [%4+28]
    BRA bix3
bix2:
    ST.global.b32 2, [%4+32]
    BRA fall bix3
bix3:
    ST.volatile.global.b32 %5, [%4+36]
    RET
}
"#;

#[test]
fn edits_of_effects_are_found() {
    let kinds = [
        EditKind::SwapEffects,
        EditKind::LoadAboveEffect,
        EditKind::MergeAcrossEffect,
        EditKind::StoreBelowEffect,
        EditKind::DropEffect,
        EditKind::ViolateEarlyClobber,
        EditKind::WrongAssemblyOperand,
        EditKind::WrongPredicateSense,
        EditKind::SwapSuccessors,
        EditKind::WrongTarget,
        EditKind::WrongConstant,
        EditKind::WeakenOrdering,
    ];
    let limits = Limits {
        uninterpreted: true,
        ..LIMITS
    };
    for stage in ["ssa", "late"] {
        let tested = tested(&EFFECTS.replace("STAGE", stage));
        let baseline = tested.baseline(limits).unwrap();
        assert_eq!(
            baseline.usable_inputs(),
            3,
            "{:?}",
            baseline.faults().collect::<Vec<_>>()
        );
        for kind in kinds {
            let mut counts = MutationCounts::default();
            for seed in 0..4 {
                counts += mutate(&tested, &baseline, kind, seed, limits);
            }
            // In SSA form no two results share a register; in late form Ori's verifier reports that
            // they do.
            let is_early_clobber = kind == EditKind::ViolateEarlyClobber;
            assert_eq!(counts.injected > 0, !is_early_clobber, "{} {stage}", kind.name());
            assert_eq!(
                counts.refused > 0,
                is_early_clobber && stage == "late",
                "{} {stage}",
                kind.name()
            );
            assert_eq!(
                counts.caught,
                counts.injected,
                "{} {stage}: {counts:?}",
                kind.name()
            );
        }
    }
}

#[test]
fn a_merged_load_is_found_only_where_effects_have_a_meaning() {
    let tested = tested(&EFFECTS.replace("STAGE", "ssa"));
    let merged = edit(&tested, EditKind::MergeAcrossEffect, 7);
    assert_eq!(tested.baseline(LIMITS).unwrap().usable_inputs(), 0);
    let limits = Limits {
        uninterpreted: true,
        ..LIMITS
    };
    let baseline = tested.baseline(limits).unwrap();
    let failure = check_sequence(&tested, &baseline, &merged).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Memory, "{failure}");
}

#[test]
fn phases_leave_memory_as_it_is() {
    let tested = tested(LOOP);
    let baseline = tested.baseline(LIMITS).unwrap();
    assert_eq!(
        baseline.usable_inputs(),
        3,
        "{:?}",
        baseline.faults().collect::<Vec<_>>()
    );
    let lists = sequences(Stage::Ssa, &|_| true, 20, 1);
    let report = check(&tested, &baseline, &lists);
    assert_eq!(report.failures, []);
    assert_eq!(report.sequences, lists.len());
}

#[test]
fn a_wrong_edit_is_found_and_made_small() {
    let tested = tested(LOOP);
    let baseline = tested.baseline(LIMITS).unwrap();
    let wrong = edit(&tested, EditKind::SwapOperands, 11);
    let mut sequence =
        Sequence::of_phases(
            sequences(Stage::Ssa, &|_| true, 0, 1)[0]
                .0
                .iter()
                .map(|step| match step {
                    Step::Phase(phase) => *phase,
                    Step::Edit(_) => unreachable!("lists have no edits"),
                }),
        );
    sequence.0.extend(wrong.0);
    let failure = check_sequence(&tested, &baseline, &sequence).unwrap_err();
    assert_eq!(failure.kind, FailureKind::Memory);
    let (small, fewer, failure) = reduce(&tested, &sequence, &failure, LIMITS);
    assert_eq!(failure.kind, FailureKind::Memory);
    assert_eq!((fewer.0.len(), small.inputs.len()), (1, 1));
    // The subtraction, a store, the address, an operand or two, and the end.
    let function = &small.functions[0];
    assert_eq!(function.blocks().len(), 1, "{function}");
    assert!(function.instructions(function.entry()).count() <= 8, "{function}");
}

#[test]
fn a_loop_that_loses_its_end_is_found() {
    // The counter is positive after one round; while it is, the wrong loop goes on.
    let tested = tested(&LOOP.replace("%7, 10", "%7, 0"));
    let baseline = tested.baseline(LIMITS).unwrap();
    let failure = check_sequence(&tested, &baseline, &edit(&tested, EditKind::InvertComparison, 10));
    let failure: Failure = failure.unwrap_err();
    assert_eq!(failure.kind, FailureKind::Fault);
    assert!(failure.text.contains("no end"), "{failure}");
}

#[test]
fn edits_that_make_a_difference_are_found() {
    let tested = tested(LOOP);
    let baseline = tested.baseline(LIMITS).unwrap();
    let mut all = MutationCounts::default();
    for &kind in EditKind::ALL {
        for seed in 0..4 {
            let counts = mutate(&tested, &baseline, kind, seed, LIMITS);
            // More copies of the same inputs cannot detect more.
            assert_eq!(counts.caught_with_more, 0, "{}", kind.name());
            all += counts;
        }
    }
    assert!(all.caught > 20, "{all:?}");
    assert_eq!(all.caught, all.doubted);
    assert_eq!(all.caught + all.doubted_only + all.equivalent, all.injected);
    assert_eq!((all.doubted_only, all.equivalent), (0, 0), "{all:?}");
}

#[test]
fn a_launch_whose_result_depends_on_the_order_of_the_warps_is_no_evidence() {
    let baseline = tested(RACE).baseline(LIMITS).unwrap();
    let faults: Vec<String> = baseline.faults().map(ToString::to_string).collect();
    assert_eq!(faults.len(), 3);
    assert!(faults[0].contains("order of the warps"), "{}", faults[0]);
    let without = RACE.replace("    ST.global.b32 %2, [%1]\n", "");
    assert_eq!(tested(&without).baseline(LIMITS).unwrap().usable_inputs(), 3);
}
