//! Tests of the validator: pairs of equivalent functions, pairs of different ones, and normal forms
//! compared with arithmetic.

mod branches;
mod memory;
mod normal_forms;

use super::{DoubtKind, Subject, Validator};
use oriel_ori::{Function, parse_function};

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
            // Offsets of lanes, as Triton swizzles them: bits 4 and 5 are an exclusive or, the others lie beside them.
            "    %3:R32 = AND.b32 %1, 48\n    %4:R32 = AND.b32 %2, 48\n    %5:R32 = XOR.b32 %3, %4\n    \
             %6:R32 = AND.b32 %1, 12\n    %7:R32 = IADD.b32 %5, 64\n    %9:R32 = OR.b32 %6, %7\n",
            "    %3:R32 = AND.b32 %1, 48\n    %4:R32 = AND.b32 %2, 48\n    %5:R32 = XOR.b32 %3, %4\n    \
             %6:R32 = AND.b32 %1, 12\n    %7:R32 = IADD.b32 %5, %6\n    %9:R32 = IADD.b32 %7, 64\n",
        ),
        (
            // The terms at bits 17 and 19 carry into each other, but not into the bits below.
            "    %3:R32 = SHL.b32 %1, 17\n    %4:R32 = SHL.b32 %2, 19\n    %5:R32 = IADD.b32 %3, %4\n    \
             %6:R32 = AND.b32 %1, 120\n    %7:R32 = IADD.b32 %5, %6\n    %8:R32 = AND.b32 %1, 896\n    \
             %9:R32 = OR.b32 %7, %8\n",
            "    %3:R32 = SHL.b32 %1, 17\n    %4:R32 = SHL.b32 %2, 19\n    %5:R32 = IADD.b32 %3, %4\n    \
             %6:R32 = AND.b32 %1, 1016\n    %9:R32 = IADD.b32 %5, %6\n",
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
        (
            // The sum has carries from bit 4 on.
            "    %3:R32 = AND.b32 %1, 31\n    %4:R32 = AND.b32 %2, 16\n    %5:R32 = IADD.b32 %3, %4\n    \
             %6:R32 = AND.b32 %1, 32\n    %9:R32 = OR.b32 %5, %6\n",
            "    %3:R32 = AND.b32 %1, 63\n    %4:R32 = AND.b32 %2, 16\n    %9:R32 = IADD.b32 %3, %4\n",
        ),
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
