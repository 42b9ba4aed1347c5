//! Uninterpreted instructions: differences that two runs must show, and those that they must not.

use super::super::thread_effects::mix;
use super::super::{BufferResult, FaultKind, Limits, Module, Program, run_blind};
use oriel_ori::parse_functions;

const LIMITS: Limits = Limits {
    steps: 100_000,
    uninterpreted: true,
    ..Limits::DEFAULT
};

/// Returns all memory left by a kernel whose body has its own word of memory at `[%4]`.
#[derive(Debug, PartialEq)]
struct Left {
    writes: Vec<(u64, u8)>,
    variables: Vec<BufferResult>,
}

fn program(stage: &str, body: &str) -> Program {
    let text = format!(
        "kernel \"k\" sm_90 {stage} {{
bix0:
    %1:R64 = LD.param::entry.b64.b64 [&k_param_0]
    %2:R32 = S2R.b32 tid.x
    %3:R64 = IMUL.WIDE.u64.u32 %2, 16
    %4:R64 = IADD.b64 %1, %3
{body}
    RET
}}
"
    );
    let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let ptx = ".visible .entry k(\n.param .u64 .ptr .align 1 k_param_0\n)\n{\n";
    let module = Module::parse(ptx).expect("the declarations are well formed");
    Program::compile(&functions.iter().collect::<Vec<_>>(), &module).expect("one function of a name")
}

fn left_at(stage: &str, body: &str) -> Left {
    let result = run_blind(&program(stage, body), "k", 1, LIMITS).unwrap_or_else(|fault| panic!("{fault}"));
    Left {
        writes: result.writes,
        variables: result.variables,
    }
}

fn left(body: &str) -> Left {
    left_at("ssa", body)
}

/// Returns the words that a kernel leaves in the first eight bytes at each thread's address.
fn pairs(stage: &str, body: &str) -> Vec<(u32, u32)> {
    let bytes: Vec<u8> = left_at(stage, body)
        .writes
        .iter()
        .map(|&(_, byte)| byte)
        .collect();
    let word = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().expect("four bytes"));
    let pairs = bytes.chunks_exact(8);
    pairs.map(|pair| (word(&pair[..4]), word(&pair[4..]))).collect()
}

const WAIT: &str = "OPAQUE(GRIDDEPCONTROL_WAIT side_effects)";

#[test]
fn without_being_asked_it_is_an_error() {
    let limits = Limits {
        uninterpreted: false,
        ..LIMITS
    };
    let program = program("ssa", WAIT);
    assert_eq!(program.unsupported(), ["OPAQUE GRIDDEPCONTROL_WAIT"]);
    let fault = run_blind(&program, "k", 1, limits).unwrap_err();
    assert_eq!(
        fault.kind,
        FaultKind::Unsupported("OPAQUE GRIDDEPCONTROL_WAIT".to_owned())
    );
}

#[test]
fn what_has_no_effects_depends_on_its_inputs() {
    let body = |text: &str, input: &str| {
        format!(
            "    %9:R32 = IADD.b32 %2, 7
    %5:R32 = ASM(INLINEASM inline_asm) &\"f\", 0, 262154, 262153, %2
    %6:R32 = ASM(INLINEASM inline_asm) &\"{text}\", 0, 262154, 262153, {input}
    ST.global.b32 %5, [%4]
    ST.global.b32 %6, [%4+4]"
        )
    };
    assert!(pairs("ssa", &body("f", "%2")).iter().all(|(a, b)| a == b));
    assert!(pairs("ssa", &body("f", "%9")).iter().any(|(a, b)| a != b));
    assert!(pairs("ssa", &body("g", "%2")).iter().any(|(a, b)| a != b));
    // A constant in a register's place is the register's value.
    let constant = "    %9:R32 = MOV.b32 -5
    %5:R32 = ASM(INLINEASM inline_asm) &\"f\", 0, 262154, 262153, %9
    %6:R32 = ASM(INLINEASM inline_asm) &\"f\", 0, 262154, 262153, -5
    ST.global.b32 %5, [%4]
    ST.global.b32 %6, [%4+4]";
    assert!(pairs("ssa", constant).iter().all(|(a, b)| a == b));
}

#[test]
fn loads_see_effects_between_them() {
    let body = |between: &str, flags: &str| {
        format!(
            "    %5:R32 = LD{flags}.global.b32.b32 [%4+8]
    {between}
    %6:R32 = LD{flags}.global.b32.b32 [%4+8]
    ST.global.b32 %5, [%4]
    ST.global.b32 %6, [%4+4]"
        )
    };
    let differ = |between: &str, flags: &str| pairs("ssa", &body(between, flags)).iter().any(|(a, b)| a != b);
    assert!(differ(WAIT, ""));
    assert!(differ(
        "ASM(INLINEASM inline_asm) &\"bar.sync 1, 64;\", 1 asm_side_effects",
        ""
    ));
    assert!(!differ("ASM(INLINEASM inline_asm) &\"// nothing\", 0", ""));
    assert!(!differ("NOP", ""));
}

#[test]
fn a_store_is_loaded_again_and_stays() {
    let body = "    OPAQUE(GRIDDEPCONTROL_WAIT side_effects)
    ST.global.b32 %2, [%4]
    %5:R32 = LD.global.b32.b32 [%4]
    %6:R32 = ISUB.b32 %5, %2
    ST.volatile.global.b32 %6, [%4+4]";
    assert!(pairs("ssa", body).iter().all(|&(_, difference)| difference == 0));
}

#[test]
fn order_shows() {
    let store = "ST.global.b32 %2, [%4]";
    let other = "ASM(INLINEASM inline_asm) &\"membar.gl;\", 1 asm_side_effects";
    let same = |first: &[&str], second: &[&str]| left(&first.join("\n")) == left(&second.join("\n"));
    assert!(!same(&[store, WAIT], &[WAIT, store]));
    assert!(!same(&[WAIT, other], &[other, WAIT]));
    assert!(!same(&[WAIT], &[]));
    assert!(!same(&[WAIT, WAIT], &[WAIT]));
    // The effect observes the first store, whatever the target of the last one.
    let last = "ST.global.b32 5, [%4]";
    assert!(!same(&[store, WAIT, last], &[WAIT, last]));
    // Without an effect in between it is not observed.
    assert!(same(&[store, last, WAIT], &[last, WAIT]));
    // Two stores to different places have no order.
    let beside = "ST.global.b32 9, [%4+4]";
    assert!(same(&[store, beside, WAIT], &[beside, store, WAIT]));
}

#[test]
fn fences_barriers_and_atomics_are_events() {
    let same = |first: &str, second: &str| left(first) == left(second);
    let fence = "MEMBAR.sc.gpu";
    assert!(!same(fence, "NOP"));
    assert!(!same(fence, "MEMBAR.sc.cta"));
    let volatile = "%5:R32 = LD.volatile.global.b32.b32 [%4]";
    assert!(!same(volatile, "%5:R32 = LD.global.b32.b32 [%4]"));
    assert!(!same("BAR.sync.aligned 0", "BAR.sync.aligned 1"));
}

#[test]
fn an_early_result_loses_an_input_in_its_register() {
    // 262154: a result of 32 bits; 262155: an early one; 262153: an input.
    let body = |kind: u32, result: &str| {
        format!(
            "    %5:R32 = IADD.b32 %2, 3
    %6:R32 = MOV.b32 0
    {result} = ASM(INLINEASM inline_asm) &\"f\", 0, {kind}, 262153, %5
    ST.global.b32 {result}, [%4]"
        )
    };
    assert_eq!(
        left_at("late", &body(262154, "%5")),
        left_at("late", &body(262154, "%6"))
    );
    assert_ne!(
        left_at("late", &body(262155, "%5")),
        left_at("late", &body(262155, "%6"))
    );
}

#[test]
fn a_tied_input_is_what_the_result_holds() {
    // 2147483657: an input that is tied to the first constraint.
    let body = |input: &str| {
        format!(
            "    %5:R32 = IADD.b32 %2, 3
    %6:R32 = IADD.b32 %2, 4
    %5 = ASM(INLINEASM inline_asm) &\"f\", 0, 262154, 2147483657, {input}
    ST.global.b32 %5, [%4]"
        )
    };
    assert_eq!(left_at("late", &body("%5")), left_at("late", &body("%6")));
}

#[test]
fn hashes_know_order() {
    assert_ne!(mix(mix(0, 1), 2), mix(mix(0, 2), 1));
    assert_ne!(mix(0, 0), 0);
}
