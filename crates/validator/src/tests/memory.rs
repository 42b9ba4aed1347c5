//! Loads, stores and other effects: which may change places, be merged, or be made elsewhere.

use super::super::{DoubtKind, Subject, Validator};
use super::{compare, parse};
use oriel_ori::Function;

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

/// Of functions that do not come from one snapshot, symbols are compared by name.
#[test]
fn stores_to_different_variables_may_change_places() {
    let stores = |lines: [&str; 2]| {
        let [one, other] = lines;
        let body = format!(
            "bix0:\n    %1:R64 = LD.param::entry.b64 [0]\n    %2:R64 = MOV.b64 &a\n    %3:R64 = IADD.b64 %2, %1\n    {one}\n    {other}\n    RET\n"
        );
        parse("ssa", &body)
    };
    let to_a = "ST.global.b32 1, [%3] access(base 0, &a, 4 bytes)";
    let to_b = "ST.global.b32 2, [&b] access(base 1, &b, 4 bytes)";
    let renumbered = [
        "ST.global.b32 2, [&b] access(base 0, &b, 4 bytes)",
        "ST.global.b32 1, [%3] access(base 1, &a, 4 bytes)",
    ];
    assert_eq!(compare(&stores([to_a, to_b]), &stores([to_b, to_a])), Ok(()));
    assert_eq!(compare(&stores([to_a, to_b]), &stores(renumbered)), Ok(()));
    // Without a variable, or with the same one, the places may be the same.
    for other in [
        "ST.global.b32 2, [%1] access(base 1, 4 bytes)",
        "ST.global.b32 2, [%1] access(base 0, offset 4, 4 bytes)",
        "ST.global.b32 2, [&a] access(base 1, &a, 4 bytes)",
    ] {
        assert!(compare(&stores([to_a, other]), &stores([other, to_a])).is_err());
    }
}

#[test]
fn what_is_loaded_where_an_undefined_value_was_stored_follows_it() {
    let text = "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = UNDEF.b32
    ST.global.b32 3, [%10+12]
    ST.global.b32 4, [%10+8]
    ST.global.b32 %1, [%10+4]
    ST.global.b32 %1, [%10]
    %2:R32 = LD.global.b32.b8 [%10]
    %3:R32 = IADD.b32 %2, 1
    ST.global.b32 %3, [%10+16]
    RET
";
    let undefined = parse("ssa", text);
    let defined = |stored: &str| {
        let text = text
            .replace("    %1:R32 = UNDEF.b32\n", "")
            .replace("ST.global.b32 %3", stored);
        parse("ssa", &text.replace("%1,", "5,"))
    };
    assert_eq!(compare(&undefined, &defined("ST.global.b32 %3")), Ok(()));
    assert!(compare(&defined("ST.global.b32 %3"), &undefined).is_err());
    assert!(compare(&undefined, &defined("ST.global.b32 %2")).is_err());
}

#[test]
fn bytes_that_meet_in_memory_meet_in_wider_registers() {
    let joined = |frame: &str, arms: [&str; 2], end: &str| {
        let [one, other] = arms;
        let body = format!(
            "{frame}bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R16 = LD.global.b16.b8 [%10]
    %2:P = ISETP.ne.b16 %1, 0
    BRA %2, bix1, bix2
bix1:
    {one}
    BRA bix3
bix2:
    {other}
    BRA bix3
bix3:
    {end}
    ST.global.b16.b8 %4, [%10+8]
    RET
"
        );
        parse("ssa", &body)
    };
    let before = joined(
        "    stack frame(0) 1 bytes align 1\n",
        [
            "%3:R16 = LD.global.b16.b8 [%10+1]\n    ST.local.b16.b8 %3, [frame(0)]",
            "ST.local.b16.b8 7, [frame(0)]",
        ],
        "%4:R16 = LD.local.b16.b8 [frame(0)]",
    );
    let after = |other: &str| {
        let phi = format!("%4:R16 = PHI.b16 %3, bix1, {other}, bix2");
        joined(
            "",
            ["%3:R16 = LD.global.b16.b8 [%10+1]", "%5:R16 = MOV.b16 7"],
            &phi,
        )
    };
    assert_eq!(compare(&before, &after("%5")), Ok(()));
    assert!(compare(&before, &after("%1")).is_err());
}

/// Each case is a function and another one that it may not become. `%11` to `%15` are parameters.
#[test]
fn a_result_of_an_undefined_value_is_one_value() {
    let function = |body: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %11:R32 = LD.param::entry.b32 [8]
    %12:R32 = LD.param::entry.b32 [12]
    %13:R32 = LD.param::entry.b32 [16]
    %14:R64 = LD.param::entry.b64 [24]
    %15:R64 = LD.param::entry.b64 [32]
{body}"
            ),
        )
    };
    let end = "    ST.global.b32 %3, [%10]\n    RET\n";
    let twice = "    ST.global.b32 %2, [%10]\n    ST.global.b32 %3, [%10+4]\n    RET\n";
    let both = &twice.replace("%3", "%2");
    let counted = |outside: &str, inside: &str| {
        format!(
            "{outside}    BRA bix1
bix1:
    %3:R32 = PHI.b32 0, bix0, %4, bix1
{inside}    ST.volatile.global.b32 %2, [%10]
    %4:R32 = IADD.b32 %3, 1
    %5:P = ISETP.lt.s32 %4, 10
    BRA %5, bix1, bix2
bix2:
    RET
"
        )
    };
    for [before, after] in [
        // Sixteen bits are no 32.
        [
            format!(
                "    %1:R16 = UNDEF.b16\n    %2:R32 = CVT.u32.u16 %1\n    %3:R32 = IADD.b32 %11, %2\n{end}"
            ),
            format!("    %3:R32 = IADD.b32 %11, %12\n{end}"),
        ],
        [
            format!(
                "    %1:R16 = UNDEF.b16\n    %2:R32 = CVT.u32.u16 %1\n    %3:R32 = IMUL.b32 %11, %2\n{end}"
            ),
            format!("    %3:R32 = IMUL.b32 %11, %12\n{end}"),
        ],
        // Normal forms mention it twice.
        [
            format!(
                "    %1:R32 = UNDEF.b32\n    %2:R32 = IADD.b32 %1, 1\n    %4:R32 = IADD.b32 %11, 1\n    \
                 %3:R32 = IMUL.b32 %2, %4\n{end}"
            ),
            format!(
                "    %2:R32 = IMUL.b32 %13, %11\n    %4:R32 = IADD.b32 %2, %12\n    %5:R32 = IADD.b32 %4, %11\n    \
                 %3:R32 = IADD.b32 %5, 1\n{end}"
            ),
        ],
        // Two stores read one sum.
        [
            format!("    %1:R32 = UNDEF.b32\n    %2:R32 = IADD.b32 %1, 7\n{both}"),
            format!("    %2:R32 = IADD.b32 %11, 7\n    %3:R32 = IADD.b32 %12, 7\n{twice}"),
        ],
        [
            format!("    %1:R32 = UNDEF.b32\n    %2:R32 = FADD.f32 %1, %13\n{both}"),
            format!("    %2:R32 = FADD.f32 %11, %13\n    %3:R32 = FADD.f32 %12, %13\n{twice}"),
        ],
        // All rounds store one sum.
        [
            counted("    %1:R32 = UNDEF.b32\n    %2:R32 = IADD.b32 %1, 7\n", ""),
            counted("", "    %2:R32 = IADD.b32 %3, 7\n"),
        ],
        // One place is loaded.
        [
            format!("    %1:R64 = UNDEF.b64\n    %2:R32 = LD.global.b32 [%1]\n{both}"),
            format!("    %2:R32 = LD.global.b32 [%14]\n    %3:R32 = LD.global.b32 [%15]\n{twice}"),
        ],
    ] {
        assert!(compare(&function(&before), &function(&after)).is_err(), "{after}");
    }
}
