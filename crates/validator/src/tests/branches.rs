//! Blocks, branches, loops, and what a branch has decided.

use super::{compare, parse};
use oriel_ori::{Function, parse_function};

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

/// The back edge brings what the loop begins with, a constant or a value from before the loop; beside it is a counter that
/// begins with the same.
#[test]
fn a_variable_that_a_loop_sets_to_its_first_value_is_that_value() {
    for (first, other) in [("0", "1"), ("%20", "0")] {
        let before = LOOP.replace("0, bix0, %4, bix1", &format!("{first}, bix0, {first}, bix1"));
        let after = |value: &str| {
            let lines = before.lines().filter(|line| !line.contains("%2:R32"));
            let text: String = lines.map(|line| format!("{line}\n")).collect();
            text.replace("%2,", &format!("{value},"))
        };
        let parsed = |text: &str| parse("ssa", &text.replace("STEP", "1"));
        assert_eq!(
            compare(&parsed(&before), &parsed(&after(first))),
            Ok(()),
            "{first}"
        );
        assert!(
            compare(&parsed(&before), &parsed(&after(other))).is_err(),
            "{first}"
        );
        let changed = before.replace(&format!("{first}, bix1"), &format!("{other}, bix1"));
        assert!(
            compare(&parsed(&changed), &parsed(&after(first))).is_err(),
            "{first}"
        );
    }
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

/// Returns a function with a branch whose one target does nothing but jump to the other one, which
/// has another predecessor; `way` is how control leaves the block that branches.
fn with_an_empty_arm(way: &str, value: &str) -> Function {
    parse(
        "ssa",
        &format!(
            "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.global.b32 [%10]
    %2:R32 = LD.global.b32 [%10+4]
    %3:P = ISETP.ne.s32 %1, 0
    BRA %3, bix3, bix1
bix1:
    ST.global.b32 %1, [%10+8]
    %4:P = ISETP.ne.s32 %2, 0
{way}bix3:
    %5:R32 = PHI.b32 {value}
    ST.global.b32 %5, [%10+12]
    RET
"
        ),
    )
}

#[test]
fn a_branch_around_nothing_is_no_branch() {
    let branch = "    BRA %4, bix3, bix2\nbix2:\n    BRA fall bix3\n";
    let opposite = "    BRA %4, bix2, bix3\nbix2:\n    BRA fall bix3\n";
    let jump = with_an_empty_arm("    BRA fall bix3\n", "%1, bix0, %2, bix1");
    for way in [branch, opposite] {
        let same = with_an_empty_arm(way, "%1, bix0, %2, bix1, %2, bix2");
        assert_eq!(compare(&same, &jump), Ok(()));
        assert_eq!(compare(&jump, &same), Ok(()));
        // The PHI tells the two ways from each other.
        let other = with_an_empty_arm(way, "%1, bix0, %2, bix1, %1, bix2");
        assert!(compare(&other, &jump).is_err());
        assert!(compare(&jump, &other).is_err());
    }
}

#[test]
fn two_ways_to_leave_that_do_the_same_are_one() {
    let code = |first: &str, second: &str| {
        parse(
            "ssa",
            &format!(
                "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.lt.s32 %1, 4
    BRA %2, bix1, bix2
bix1:
    {first}
    RET
bix2:
    {second}
    RET
"
            ),
        )
    };
    let merged = |body: &str| {
        let head = "bix0:\n    %10:R64 = LD.param::entry.b64 [0]\n    %1:R32 = LD.param::entry.b32 [8]\n";
        parse("ssa", &format!("{head}    {body}\n    RET\n"))
    };
    let [one, other] =
        ["%3", "%4"].map(|sum| format!("{sum}:R32 = IADD.b32 %1, 5\n    ST.global.b32 {sum}, [%10]"));
    assert_eq!(compare(&code(&one, &other), &merged(&one)), Ok(()));
    let different = other.replace("%1, 5", "%1, 6");
    assert!(compare(&code(&one, &different), &merged(&one)).is_err());
    let elsewhere = other.replace("[%10]", "[%10+4]");
    assert!(compare(&code(&one, &elsewhere), &merged(&one)).is_err());
    let unlike = other.replace("ST.global.b32 %4", "ST.global.b32 %1");
    assert!(compare(&code(&one, &unlike), &merged(&one)).is_err());
    let longer = format!("{other}\n    ST.global.b32 0, [%10]");
    assert!(compare(&code(&one, &longer), &merged(&one)).is_err());
}

/// The function selects by a second comparison after the edge on which a first one holds, or does not.
fn selection_behind(first: &str, side: u32, second: &str, selection: &str) -> Function {
    let selected = format!("%6:P = FSETP.{second} %1, %2\n    %7:R32 = {selection}");
    parse(
        "ssa",
        &format!(
            "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:R32 = LD.param::entry.b32 [12]
    %3:P = FSETP.{first} %1, %2
    BRA %3, bix1, bix2
bix1:
    {}
    ST.global.b32 {}, [%10]
    RET
bix2:
    {}
    ST.global.b32 {}, [%10]
    RET
",
            if side == 1 { &selected } else { "" },
            if side == 1 { "%7" } else { "0" },
            if side == 2 { &selected } else { "" },
            if side == 2 { "%7" } else { "0" },
        ),
    )
}

#[test]
fn a_comparison_of_floats_decides_others_of_the_same_numbers() {
    let is_proved = |first: &str, side: u32, second: &str, chosen: u32| {
        let before = selection_behind(first, side, second, "SEL.b32 5, 6, %6");
        let after = selection_behind(first, side, second, &format!("MOV.b32 {chosen}"));
        compare(&before, &after).is_ok()
    };
    for (first, side, second, chosen) in [
        ("eq.f32", 1, "lt.f32", 6),
        ("eq.f32", 1, "le.f32", 5),
        ("eq.f32", 1, "neu.f32", 6),
        ("lt.f32", 1, "ne.f32", 5),
        ("lt.f32", 1, "num.f32", 5),
        ("lt.f32", 1, "gtu.f32", 6),
        ("num.f32", 2, "ge.f32", 6),
        ("geu.f32", 2, "lt.f32", 5),
    ] {
        assert!(is_proved(first, side, second, chosen), "{first} {side} {second}");
        assert!(
            !is_proved(first, side, second, 11 - chosen),
            "{first} {side} {second}"
        );
    }
    // What is not less may be a NaN, and flushed numbers compare otherwise.
    for (first, side, second) in [
        ("lt.f32", 2, "ge.f32"),
        ("lt.f32", 1, "gt.ftz.f32"),
        ("le.f32", 1, "lt.f32"),
        ("ne.f32", 2, "eq.f32"),
    ] {
        for chosen in [5, 6] {
            assert!(!is_proved(first, side, second, chosen), "{first} {side} {second}");
        }
    }
}

/// Both targets of the branch do the same, if `ONE` and `OTHER` do.
const TWICE: &str = "\
bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.lt.s32 %1, 4
    BRA %2, bix1, bix2
bix1:
    ONE
    BRA bix3
bix2:
    OTHER
    BRA bix3
bix3:
    RET
";

#[test]
fn targets_that_do_the_same_may_be_merged() {
    const STORE: &str = "ST.global.b32 1, [%10]";
    const VOLATILE: &str = "ST.volatile.global.b32 1, [%10]";
    // It depends on which threads execute it together.
    const BARRIER: &str = "BAR.sync 0";
    let is_allowed = |one: &str, other: &str, label: &str| {
        let [before, after] = [("BRA %2, bix1, bix2", other), (label, one)].map(|(branch, other)| {
            let text = TWICE.replace("BRA %2, bix1, bix2", branch);
            parse("ssa", &text.replace("ONE", one).replace("OTHER", other))
        });
        compare(&before, &after).is_ok()
    };
    for label in ["BRA bix1", "BRA bix2"] {
        assert!(is_allowed(STORE, STORE, label));
        assert!(is_allowed(VOLATILE, VOLATILE, label));
        assert!(!is_allowed(STORE, "ST.global.b32 2, [%10]", label));
        assert!(!is_allowed(BARRIER, BARRIER, label));
    }
}

#[test]
fn a_branch_on_several_comparisons_decides_a_select_with_the_same_condition() {
    let text = "bix0:
    %10:R64 = LD.param::entry.b64 [0]
    %1:R32 = LD.param::entry.b32 [8]
    %2:P = ISETP.ne.b32 %1, 0
    %3:P = ISETP.ne.b32 %1, 1
    %4:P = AND.b1 %2, %3
    %5:R32 = SEL.b32 0, %1, %4
    BRA %4, bix2, bix1
bix1:
    ST.global.b32 %5, [%10]
    RET
bix2:
    ST.global.b32 7, [%10]
    RET
";
    let before = parse("ssa", text);
    let after = |value: &str| {
        parse(
            "ssa",
            &text.replace("ST.global.b32 %5", &format!("ST.global.b32 {value}")),
        )
    };
    assert_eq!(compare(&before, &after("%1")), Ok(()));
    assert!(compare(&before, &after("0")).is_err());
}

#[test]
fn returning_blocks_that_depend_on_which_threads_execute_them_are_not_alike() {
    const END: &str = "    %4:R32 = ACTIVEMASK.b32\n    BAR.sync 0\n    ST.global.b32 %4, [%1]\n    RET\n";
    let text = |branch: &str, others: &str| {
        format!(
            "bix0:
    %1:R64 = LD.param::entry.b64 [0]
    %2:R32 = S2R.b32 tid.x
    %3:P = ISETP.lt.s32 %2, 7
    {branch}
bix3:
{END}{others}"
        )
    };
    let one = parse("ssa", &text("BRA bix3", ""));
    let other = format!("bix4:\n{}", END.replace("%4", "%5"));
    let two = parse("ssa", &text("BRA %3, bix3, bix4", &other));
    assert!(compare(&one, &two).is_err());
    assert!(compare(&two, &one).is_err());
}
