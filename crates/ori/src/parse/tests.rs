//! Tests of the text form.

use crate::testing::difference;
use crate::{DataType, Function, Operation, PrintOptions, parse_function, parse_functions};
use oriel_engine::entity::{Block, EntityRef};
use proptest::prelude::*;

/// A function with every construct.
const EVERYTHING: &str = r#"kernel "odd \"name\" \u{a}" sm_90a ssa frequencies debug_info frequency 16384 {
    declare %0:R64, %31:P
bix0: frequency 16384  // 1.000
    %1:R32 = S2R.b32 tid.x  @3
    %2:P = ISETP.lt.s32 %1, 7  @4 merged(8, 9) edited
    %3:R32 = LD.relaxed.gpu.global.b32.f32 [%0+8]  @5 access(base 3, &table, offset 4, 4 bytes, align 4, load, volatile)
    %4:R32, %5:R32 = LD.shared.b32 [&"a b"+4-8], 255
    ST.weak.generic.b64 %0, 1.5f64, [%0]  new access()
    BRA !%2, bix2, fall bix1  @6-7
bix1: frequency 12 address_taken origin bix0  // 0.001
    %6:R32 = PHI.b32 %1, bix0, undef %6, bix1
    %7:R32 = FADD.rn.ftz.xorsign.abs.f32 -|~%6|, -1e-7f32
    %8:R32 = FADD.f32 |%7|, f32(0x7fc00000)
    %9:R128 = MOV.b128 i128(0xffffffffffffffff0000000000000001)
    %10:R64, %11:UP = OPAQUE(anonymous_14980 may_load convergent) frame(1), physical(0), none, machine(12, 3), -(3), %31
    ASM(INLINEASM inline_asm)  @9 asm_side_effects asm_reads
    %12:R64 = MOV.b64 &$str.1+16
    %13:R64 = IADD.b64 %12, -9223372036854775808
    BRX %4, bix1, bix2
bix2:
    RET
}
"#;

fn round_trip(text: &str) -> Function {
    let function = parse_function(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let printed = function.to_string();
    let again = parse_function(&printed).unwrap_or_else(|error| panic!("{error}\n{printed}"));
    assert_eq!(difference(&function, &again), None);
    assert_eq!(again.to_string(), printed);
    function
}

#[test]
fn everything_is_printed_as_it_was_read() {
    assert_eq!(round_trip(EVERYTHING).to_string(), EVERYTHING);
}

#[test]
fn text_may_be_written_freely() {
    let function = round_trip(
        "// A comment.\nfunction \"f\" sm_80 late !no_phis {\n bix0:\n %1:R32 = IADD.b32 0x10,\n\n -0x10 }",
    );
    let block = Block::new(0);
    let add = function.first(block).expect("the block has an instruction");
    assert_eq!(function.operation(add), Operation::Iadd);
    assert_eq!(function.data_type(add), DataType::B32);
    assert_eq!(function.integer(function.source(add, 1)), Some(-16));
    assert!(function.info.flags.is_empty());
}

#[test]
fn several_functions_follow_one_another() {
    let text = format!("{EVERYTHING}\n// second\n{EVERYTHING}");
    assert_eq!(parse_functions(&text).expect("it parses").len(), 2);
    assert_eq!(
        parse_function(&text).expect_err("there are two").to_string(),
        "1:1: expected one function, found 2"
    );
}

#[test]
fn reference_numbers_are_comments() {
    let function = parse_function(EVERYTHING).expect("it parses");
    let options = PrintOptions {
        reference_numbers: true,
    };
    let printed = function.display(options).to_string();
    assert!(printed.contains("    RET  // 72\n"), "{printed}");
    let again = parse_function(&printed).expect("it parses");
    assert_eq!(difference(&function, &again), None);
}

#[test]
fn errors_say_where_and_what() {
    let in_body = |line: &str| format!("kernel \"k\" sm_80 ssa {{\nbix0:\n    {line}\n}}\n");
    for (line, message) in [
        (
            "%1 = IADD.b32 1, 2",
            "3:5: %1 has no file and width: write `%1:R32` at a definition or after `declare`",
        ),
        (
            "%1:R32 = IADD.b32 1 2",
            "3:25: expected the end of the line, found `2`",
        ),
        ("%1:R32 = FOO 1", "3:14: unknown operation `FOO`"),
        (
            "%1:Q32 = IADD 1",
            "3:8: expected file and width of a register, such as `R32` or `P`, found `Q32`",
        ),
        ("BRA bix7", "3:9: there is no block bix7"),
        ("RET\nbix0:", "4:1: bix0 is there already"),
        (
            "%99999999:R32 = IADD.b32 1, 2",
            "3:5: expected a number below 65536 here",
        ),
        ("%1:R32, %1:P = UNPACK.b32 1", "3:16: %1 is R32 already"),
        (
            "%1:R32 = LD.b32 [1",
            "3:23: expected `]`, found the end of the line",
        ),
        ("%1:R32 = MOV.b32 f16(0x10000)", "3:26: expected at most 16 bits"),
        (
            "%1:R32 = MOV.b32 1e99f32",
            "3:22: expected a finite floating-point number, found `1e99f32`",
        ),
        (
            "%1:R32 = MOV.b32 9223372036854775808",
            "3:22: expected an integer of 64 bits",
        ),
        ("RET @4-4", "3:12: expected a number above 4"),
        ("RET access(align 3)", "3:22: expected a power of two"),
        (
            "RET bix0 foo",
            "3:14: expected an attribute or the end of the line, found `foo`",
        ),
    ] {
        let error = parse_function(&in_body(line)).expect_err(line);
        assert_eq!(error.to_string(), message, "{line}");
    }
    for (text, message) in [
        ("", "1:1: expected a function"),
        ("foo", "1:1: expected `kernel` or `function`, found `foo`"),
        (
            "kernel k",
            "1:8: expected the function's name in quotes, found `k`",
        ),
        (
            "kernel \"k\" sm_x",
            "1:12: expected an architecture such as `sm_80`, found `sm_x`",
        ),
        (
            "kernel \"k\" sm_80 ssa",
            "1:21: expected `{`, found the end of the text",
        ),
        (
            "kernel \"k\" sm_80 ssa { RET }",
            "1:24: expected a block such as `bix0:`, found `RET`",
        ),
        (
            "kernel \"k\" sm_80 ssa {",
            "1:23: expected a block such as `bix0:`, found the end of the text",
        ),
    ] {
        assert_eq!(
            parse_function(text).expect_err(text).to_string(),
            message,
            "{text}"
        );
    }
}

/// Pieces of Ori text, combined at random.
const PIECES: &[&str] = &[
    "kernel", "\"k\"", "sm_80", "ssa", "{", "}", "bix0", "bix1", ":", "\n", "%1", "%2:P", ":R32", "=", ",",
    "IADD.b32", "LD", ".global", "[", "]", "+", "-", "8", "|", "~", "!", "(", ")", "f32", "0x7", "1.5f32",
    "@", "access", "merged", "edited", "&x", "undef", "fall", "none", "frame", "tid.x", "OPAQUE", "declare",
    "BRA", " ", "//", "1e", "é", "\"",
];

proptest! {
    #[test]
    fn garbage_never_panics(text in any::<String>()) {
        let _ = parse_functions(&text);
    }

    #[test]
    fn pieces_never_panic(pieces in prop::collection::vec(prop::sample::select(PIECES), 0..60)) {
        let body = format!("kernel \"k\" sm_80 ssa {{\nbix0:\n{}", pieces.join(" "));
        let _ = parse_functions(&body);
        if let Ok(functions) = parse_functions(&pieces.concat()) {
            for function in functions {
                round_trip(&function.to_string());
            }
        }
    }

    #[test]
    fn damaged_text_parses_or_says_why(at in 0..EVERYTHING.len(), length in 0usize..8, piece in prop::sample::select(PIECES)) {
        let mut text = EVERYTHING.as_bytes().to_vec();
        let end = (at + length).min(text.len());
        text.splice(at..end, piece.bytes());
        if let Ok(function) = parse_function(&String::from_utf8_lossy(&text)) {
            round_trip(&function.to_string());
        }
    }
}
