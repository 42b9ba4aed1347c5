//! Tests of whole tiny kernels, in text.

use super::super::{
    Buffer, Fault, FaultKind, Launch, LaunchStatistics, Limits, Memory, Module, Program, run, run_blind,
};
use oriel_ori::{Divergence, Function, parse_function, parse_functions};

/// Returns the PTX of a module whose kernel `k` has this many pointer parameters.
fn module(pointers: usize, variables: &str) -> Module {
    let parameters: Vec<String> = (0..pointers)
        .map(|number| format!(".param .u64 .ptr .align 1 k_param_{number}"))
        .collect();
    let ptx = format!(
        "{variables}\n.visible .entry k(\n{}\n)\n{{\n",
        parameters.join(",\n")
    );
    Module::parse(&ptx).expect("the declarations are well formed")
}

struct FinishedRun {
    words: Vec<u32>,
    result: Result<LaunchStatistics, Fault>,
}

/// Runs kernel `k` on one buffer of words.
fn run_on(text: &str, variables: &str, words: usize, grid: u32, block: u32) -> FinishedRun {
    let functions = parse_functions(text).unwrap_or_else(|error| panic!("{error}"));
    let program = Program::compile(&functions.iter().collect::<Vec<_>>(), &module(1, variables)).unwrap();
    let mut memory = program.memory();
    let address = memory.add(Buffer {
        name: "out".to_owned(),
        bytes: vec![0; 4 * words],
        is_constant: false,
    });
    let launch = Launch {
        kernel: "k".to_owned(),
        grid: [grid, 1, 1],
        block: [block, 1, 1],
        arguments: vec![address.to_le_bytes().to_vec()],
        dynamic_shared_bytes: 0,
    };
    let result = run(
        &program,
        &launch,
        &mut memory,
        Limits {
            steps: 100_000,
            ..Limits::DEFAULT
        },
    );
    FinishedRun {
        words: words_of(&memory, "out"),
        result,
    }
}

fn words_of(memory: &Memory, name: &str) -> Vec<u32> {
    let mut buffers = memory.buffers().iter();
    let buffer = buffers.find(|buffer| buffer.name == name);
    let words = buffer.expect("there is such a buffer").bytes.chunks_exact(4);
    words
        .map(|bytes| u32::from_le_bytes(bytes.try_into().unwrap()))
        .collect()
}

fn words(text: &str, count: usize, block: u32) -> Vec<u32> {
    let outcome = run_on(text, "", count, 1, block);
    outcome.result.unwrap_or_else(|fault| panic!("{fault}"));
    outcome.words
}

fn fault(text: &str, block: u32) -> Fault {
    run_on(text, "", 64, 1, block)
        .result
        .expect_err("the kernel fails")
}

/// Returns a kernel that stores `%value`, computed by `body`, to `out[tid]`.
fn storing(body: &str, end: &str) -> String {
    format!(
        "kernel \"k\" sm_80 ssa {{
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.s64.s32 %2, 4
    %4:R64 = IADD.b64 %1, %3
{body}
{end}
    ST.global.b32.b32 %9, [%4]
    RET
}}
"
    )
}

#[test]
fn lanes_that_loop_for_different_times_meet_again() {
    // The sum of 0 to tid, by a loop; SSA with two PHIs.
    let text = storing(
        "    BRA fall bix1
bix1:
    %5:R32 = PHI.b32 %7, bix1, %10, bix0
    %6:R32 = PHI.b32 %8, bix1, %10, bix0
    %7:R32 = IADD.b32 %5, %6
    %8:R32 = IADD.b32 %6, 1
    %11:P = ISETP.gt.s32 %8, %2
    BRA %11, bix2, fall bix1",
        "bix2:
    %12:R32 = ACTIVEMASK.b32
    %13:R32 = POPC.b32.b32 %12
    %14:R32 = SHL.b32 %13, 16
    %9:R32 = IADD.b32 %7, %14",
    );
    let text = text.replace("    %2:R32 = S2R", "    %10:R32 = MOV.b32 0\n    %2:R32 = S2R");
    let expected: Vec<u32> = (0..32).map(|tid| tid * (tid + 1) / 2 + (32 << 16)).collect();
    assert_eq!(words(&text, 32, 32), expected);
}

#[test]
fn phis_are_copied_at_once() {
    // Two values that are swapped in each iteration.
    let text = storing(
        "    %20:R32 = MOV.b32 1
    %21:R32 = MOV.b32 2
    %22:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %5:R32 = PHI.b32 %20, bix0, %6, bix1
    %6:R32 = PHI.b32 %21, bix0, %5, bix1
    %7:R32 = PHI.b32 %22, bix0, %8, bix1
    %8:R32 = IADD.b32 %7, 1
    %11:P = ISETP.gt.s32 %8, %2
    BRA %11, bix2, bix1",
        "bix2:
    %10:R32 = SHL.b32 %5, 8
    %9:R32 = OR.b32 %10, %6",
    );
    let expected: Vec<u32> = (0..8)
        .map(|tid| if tid % 2 == 0 { 0x102 } else { 0x201 })
        .collect();
    assert_eq!(words(&text, 8, 8), expected);
}

const CALLEES: &str = "
function \"double\" sm_80 ssa {
bix0:
    %1:R32 = LD.param::func.b32.b32 [&double_param_0]
    %2:R32 = SHL.b32 %1, 1
    ST.param::func.b32.b32 %2, [&func_retval0]
    RET
}
function \"factorial\" sm_80 ssa {
bix0:
    %1:R32 = LD.param::func.b32.b32 [&factorial_param_0]
    %2:P = ISETP.lt.s32 %1, 2
    BRA %2, bix1, fall bix2
bix1:
    %3:R32 = MOV.b32 1
    ST.param::func.b32.b32 %3, [&func_retval0]
    RET
bix2:
    %4:R32 = IADD.b32 %1, -1
    CALL.START 1, 0
    DECLARE.PARAM &param0, 32
    DECLARE.PARAM &retval0, 32
    ST.param::func.b32.b32 %4, [&param0]
    CALL.uniform &factorial, 1, 1
    %5:R32 = LD.param::func.b32.b32 [&retval0]
    CALL.END 1, 2
    %6:R32 = IMUL.b32 %5, %1
    ST.param::func.b32.b32 %6, [&func_retval0]
    RET
}
";

#[test]
fn calls_through_pointers_part_and_meet() {
    let text = storing(
        "    %5:R32 = AND.b32 %2, 1
    %6:R64 = IMUL.WIDE.s64.s32 %5, 8
    %7:R64 = MOV.b64 &table
    %8:R64 = IADD.b64 %7, %6
    %10:R64 = LD.global.b64.b64 [%8]
    CALL.START 1, 0
    DECLARE.PARAM &param0, 32
    DECLARE.PARAM &retval0, 32
    ST.param::func.b32.b32 %2, [&param0]
    PROTOTYPE &prototype_0
    CALL %10, 1, 1, 0
    %11:R32 = LD.param::func.b32.b32 [&retval0]
    CALL.END 1, 2
    %12:R32 = ACTIVEMASK.b32
    %13:R32 = POPC.b32.b32 %12
    %14:R32 = SHL.b32 %13, 24",
        "    %9:R32 = IADD.b32 %11, %14",
    );
    let table = ".global .align 8 .u64 table[2] = {double, factorial};";
    let outcome = run_on(&format!("{text}{CALLEES}"), table, 12, 1, 12);
    outcome.result.unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u32> = (0..12u32)
        .map(|tid| {
            (if tid % 2 == 0 {
                2 * tid
            } else {
                (1..=tid).product()
            }) + (12 << 24)
        })
        .collect();
    assert_eq!(outcome.words, expected);
}

#[test]
fn branch_tables_take_each_lane_to_its_target() {
    let text = storing(
        "    %5:R32 = AND.b32 %2, 3
    BRX %5, bix1, bix2, bix1, bix3
bix1:
    %6:R32 = MOV.b32 10
    BRA bix4
bix2:
    %7:R32 = MOV.b32 20
    BRA bix4
bix3:
    %8:R32 = MOV.b32 30
    BRA fall bix4",
        "bix4:
    %9:R32 = PHI.b32 %6, bix1, %7, bix2, %8, bix3",
    );
    assert_eq!(words(&text, 8, 8), [10, 20, 10, 30, 10, 20, 10, 30]);
}

#[test]
fn warps_wait_for_each_other_and_combine() {
    // Each thread writes its number to shared memory; after the barrier it reads the opposite
    // thread's.
    let text = storing(
        "    %5:R64 = MOV.b64 &staged
    %6:R64 = IADD.b64 %5, %3
    ST.shared.b32.b32 %2, [%6]
    %7:P = ISETP.lt.s32 %2, 40
    %8:R32 = BAR.RED.b32.popc 0, %7
    %10:R32 = ISUB.b32 95, %2
    %11:R64 = IMUL.WIDE.s64.s32 %10, 4
    %12:R64 = IADD.b64 %5, %11
    %13:R32 = LD.shared.b32.b32 [%12]
    %14:R32 = SHL.b32 %8, 8",
        "    %9:R32 = IADD.b32 %13, %14",
    );
    let outcome = run_on(&text, ".shared .align 4 .b8 staged[384];", 96, 1, 96);
    outcome.result.unwrap_or_else(|fault| panic!("{fault}"));
    let expected: Vec<u32> = (0..96).map(|tid| 95 - tid + (40 << 8)).collect();
    assert_eq!(outcome.words, expected);
}

/// An index below zero with a positive offset: the compiler folds additions into offsets.
#[test]
fn addresses_of_32_bits_wrap_around() {
    let text = storing(
        "    %5:R32 = SHL.b32 %2, 2
    ST.shared.b32.b32 %2, [%5]
    %6:R32 = ISUB.b32 %5, 16",
        "    %9:R32 = LD.shared.b32.b32 [%6+16]",
    );
    let outcome = run_on(&text, ".shared .align 4 .b8 staged[32];", 8, 1, 8);
    outcome.result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(outcome.words, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn shuffles_votes_and_reductions() {
    let text = storing(
        "    %5:R32 = SHFL.b32.bfly %2, 1, 31, -1
    %6:P = ISETP.lt.s32 %2, 4
    %7:R32 = VOTE.b32.ballot %6, -1
    %8:R32 = REDUX.s32.add %2, -1
    %10:R32 = SHL.b32 %7, 8
    %11:R32 = SHL.b32 %8, 16
    %12:R32 = OR.b32 %5, %10",
        "    %9:R32 = OR.b32 %12, %11",
    );
    let expected: Vec<u32> = (0..32).map(|tid| tid ^ 1 | 0xF << 8 | 496 << 16).collect();
    assert_eq!(words(&text, 32, 32), expected);
}

#[test]
fn atomics_of_all_threads_are_counted() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32 = ATOM.global.u32.add [%1], 1
    %3:R32 = S2R.b32 ctaid.x
    %4:R32 = ATOM.global.u32.max [%1+4], %3
    RET
}
";
    let outcome = run_on(text, "", 2, 3, 70);
    let statistics = outcome.result.unwrap_or_else(|fault| panic!("{fault}"));
    assert_eq!(outcome.words, [210, 2]);
    assert_eq!(statistics.threads, 210);
    assert_eq!(statistics.thread_instructions, 210 * 5);
}

#[test]
fn carries_go_from_word_to_word() {
    let text = storing(
        "    %5:R32 = IADD.CC.b32 -1, %2
    %6:R32 = IADD.X.b32 0, 0
    %7:R32 = ISUB.CC.b32 0, %2
    %8:R32 = ISUB.X.b32 0, 0
    %10:R32 = SHL.b32 %6, 4
    %11:R32 = AND.b32 %8, 3",
        "    %9:R32 = OR.b32 %10, %11",
    );
    // -1 + tid carries unless tid is zero, and so does 0 - tid borrow.
    assert_eq!(words(&text, 3, 3), [0, 0x13, 0x13]);
}

#[test]
fn accesses_out_of_bounds_are_found() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.s64.s32 %2, 4
    %4:R64 = IADD.b64 %1, %3
    ST.global.b32.b32 %2, [%4+100]
    RET
}
";
    let fault = fault(text, 64);
    assert!(
        matches!(
            &fault.kind,
            FaultKind::OutOfBounds {
                verb: "store",
                bytes: 4,
                ..
            }
        ),
        "{fault}"
    );
    assert_eq!(
        fault.location.thread,
        Some([39, 0, 0]),
        "39 * 4 + 100 is the end: {fault}"
    );
    assert_eq!(fault.location.function.as_deref(), Some("k"));
    assert!(
        fault.to_string().contains("256 bytes from the start of out"),
        "{fault}"
    );
}

#[test]
fn accesses_that_are_not_aligned_are_found() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32, %3:R32 = LD.global.b32.b32 [%1+4]
    RET
}
";
    let fault = fault(text, 1);
    assert!(
        matches!(fault.kind, FaultKind::Misaligned { bytes: 8, .. }),
        "{fault}"
    );
}

#[test]
fn endless_kernels_end() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    BRA bix0
}
";
    let fault = fault(text, 32);
    assert_eq!(fault.kind, FaultKind::StepLimit(100_000));
}

#[test]
fn barriers_that_are_not_reached_are_found() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    BAR.sync 1, 128
    RET
}
";
    let fault = fault(text, 64);
    assert!(
        matches!(&fault.kind, FaultKind::Deadlock(text) if text.contains("warps 0, 1 wait at barrier 1")),
        "{fault}"
    );
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = S2R.b32 tid.x
    %2:P = ISETP.lt.s32 %1, 3
    BRA %2, bix1, bix2
bix1:
    BAR.sync 0
    BRA bix2
bix2:
    RET
}
";
    assert!(matches!(self::fault(text, 32).kind, FaultKind::Divergence(_)));
}

#[test]
fn what_is_not_modelled_is_named() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    OPAQUE (WGMMA_FENCE side_effects)
    RET
}
";
    let fault = fault(text, 1);
    assert_eq!(
        fault.kind,
        FaultKind::Unsupported("OPAQUE WGMMA_FENCE".to_owned())
    );
}

#[test]
fn threads_of_a_mask_have_to_come_together() {
    let text = storing(
        "    %5:P = ISETP.lt.s32 %2, 3
    BRA %5, bix1, bix2
bix1:
    %6:R32 = SHFL.b32.idx %2, 5, 31, -1
    BRA bix2",
        "bix2:
    %9:R32 = MOV.b32 1",
    );
    let fault = fault(&text, 32);
    assert!(matches!(fault.kind, FaultKind::Divergence(_)), "{fault}");
}

#[test]
fn launches_are_checked() {
    let outcome = run_on("kernel \"k\" sm_80 ssa {\nbix0:\n    RET\n}\n", "", 1, 1, 2048);
    assert!(matches!(outcome.result.unwrap_err().kind, FaultKind::Launch(_)));
}

#[test]
fn blind_launches_repeat_and_differ_by_seed() {
    let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.s64.s32 %2, 4
    %4:R64 = IADD.b64 %1, %3
    %5:R32 = LD.global.b32.b32 [%4]
    %6:R32 = IADD.b32 %5, 1
    ST.global.b32.b32 %6, [%4]
    RET
}
";
    let functions = parse_functions(text).unwrap();
    let program = Program::compile(&functions.iter().collect::<Vec<_>>(), &module(1, "")).unwrap();
    let of =
        |seed| run_blind(&program, "k", seed, Limits::default()).unwrap_or_else(|fault| panic!("{fault}"));
    let (first, again, other) = (of(1), of(1), of(2));
    assert_eq!(first.writes.len(), 4 * 64);
    assert_eq!(first, again);
    assert_ne!(first.writes, other.writes);
    assert_eq!(first.hash(), again.hash());
}

#[test]
fn local_memory_is_each_threads_own() {
    // A table of two words on the stack, of which one is chosen at run time through a generic
    // address.
    let text = storing(
        "    %5:R64 = LEA.b64 frame(1), 0
    %6:R32 = IADD.b32 %2, 100
    ST.generic.b32.b32 %2, [%5]
    ST.generic.b32.b32 %6, [%5+4]
    %7:R32 = AND.b32 %2, 1
    %8:R64 = IMUL.WIDE.s64.s32 %7, 4
    %10:R64 = CVTA.b64.local.to %5
    %11:R64 = IADD.b64 %10, %8",
        "    %9:R32 = LD.local.b32.b32 [%11]",
    );
    let text = text.replace(
        "bix0:",
        "    stack frame(0) 3 bytes align 1\n    stack frame(1) 8 bytes align 4\nbix0:",
    );
    assert_eq!(words(&text, 4, 4), [0, 101, 2, 103]);
    let outside = text.replace("AND.b32 %2, 1", "AND.b32 %2, 64");
    let fault = fault(&outside, 65);
    assert!(
        fault
            .to_string()
            .contains("the thread's local memory has 16 bytes"),
        "{fault}"
    );
    let printed = parse_functions(&text).unwrap()[0].to_string();
    assert!(
        printed.contains("    stack frame(1) 8 bytes align 4\n"),
        "{printed}"
    );
    assert_eq!(parse_functions(&printed).unwrap()[0].to_string(), printed);
}

#[test]
fn a_wrong_divergence_analysis_is_found() {
    let text = "kernel \"k\" sm_80 ssa {\nbix0:\n    %1:R32 = S2R.b32 ctaid.x\n    %2:R64 = CVT.u64.u32 %1\n    RET\n}\n";
    let (uniform, varying) = (text.to_owned(), text.replace("ctaid.x", "tid.x"));
    let [uniform, varying] = [uniform, varying].map(|text| parse_function(&text).expect("it parses"));
    let divergence = [Divergence::of(&uniform)];
    let launch = Launch {
        kernel: "k".into(),
        grid: [2, 1, 1],
        block: [64, 1, 1],
        arguments: Vec::new(),
        dynamic_shared_bytes: 0,
    };
    let run_with = |function: &Function| {
        let program = Program::compile_checked(&[function], &Module::default(), &divergence).unwrap();
        run(&program, &launch, &mut program.memory(), Limits::default())
    };
    assert!(run_with(&uniform).is_ok());
    let fault = run_with(&varying).unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::NotUniform("%1 is called uniform, but is 0x1 and 0x0".into())
    );
}

#[test]
fn each_read_of_an_undefined_register_gives_another_number() {
    let text = storing(
        "    %5:R32 = UNDEF.b32
    %6:R32 = COPY.b32 %5
    %7:R32 = IADD.b32 %5, 7
    %8:R32 = IADD.b32 %6, 7
    ST.global.b32.b32 %7, [%4 + 4]
    ST.global.b32.b32 %8, [%4 + 8]",
        "    %9:R32 = IADD.b32 %7, 0",
    );
    let words = words(&text, 3, 1);
    assert_eq!(words[0], words[1], "what is computed once is the same everywhere");
    assert_ne!(words[1], words[2], "a second read, through a copy");
}
