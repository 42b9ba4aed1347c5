//! Tests on functions in text form. `oriel exec --check-uniformity` tests by execution, on examples
//! and generated kernels.

use super::*;
use crate::parse_function;
use crate::random_function::random_function;
use proptest::prelude::*;

fn parse(header: &str, body: &str) -> Function {
    let function = parse_function(&format!("{header} {{\n{body}}}\n")).expect("it parses");
    assert_eq!(function.verify(), []);
    function
}

/// Returns the divergent registers of a kernel's body, by number.
fn divergent(form: &str, body: &str) -> Vec<u32> {
    let function = parse(&format!("kernel \"k\" sm_80 {form}"), body);
    let divergence = Divergence::of(&function);
    let registers = function.registers();
    registers
        .filter(|&register| !divergence.is_uniform(register))
        .map(|register| register.as_u32())
        .collect()
}

#[test]
fn sources_and_what_is_computed_from_them() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = S2R.b32 ctaid.x
    %2:R32 = IADD.b32 %1, 4
    %3:R32 = IADD.b32 %2, %0
    %4:R64 = LD.param::entry.b64 [&k_param_0]
    %5:R32 = LD.global.b32 [%4]
    %6:R32 = LD.global.nc.b32 [%4]
    %7:R32 = S2R.b32 clock
    %8:R32 = LD.shared.b32 [64]
    %9:R32 = LD.const.b32 [%4+8]
    ST.global.b32 %3, [%4]
    RET
";
    assert_eq!(divergent("ssa", body), [0, 3, 5, 7, 8]);
}

/// `bix1` is the header of one natural loop with two latches, itself and `bix2`; lanes that leave
/// the short cycle wait in `bix2` for those that go round it.
#[test]
fn lanes_leave_a_cycle_with_the_header_of_the_loop_around_it_in_different_rounds() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = S2R.b32 ctaid.x
    BRA fall bix1
bix1:
    %2:R32 = PHI.b32 %1, bix0, %3, bix1, %5, bix2
    %3:R32 = IADD.b32 %2, -1
    %4:P = ISETP.gt.s32 %3, %0
    BRA %4, bix1, fall bix2
bix2:
    %5:R32 = IADD.b32 %3, -1
    %6:P = ISETP.gt.s32 %1, 3
    BRA %6, bix1, fall bix3
bix3:
    RET
";
    assert_eq!(divergent("ssa", body), [0, 2, 3, 4, 5]);
    let late = body.replace("    %2:R32 = PHI.b32 %1, bix0, %3, bix1, %5, bix2\n", "");
    let late = late.replace("%3:R32 = IADD.b32 %2", "%2:R32 = IADD.b32 %2");
    let late = late
        .replace("%5:R32 = IADD.b32 %3", "%2 = IADD.b32 %2")
        .replace("%3, %0", "%2, %0");
    let late = late.replace(
        "    BRA fall bix1\n",
        "    %2:R32 = MOV.b32 %1\n    BRA fall bix1\n",
    );
    let late = late.replace("%2:R32 = IADD", "%2 = IADD");
    assert_eq!(divergent("late", &late), [0, 2, 4]);
}

#[test]
fn lanes_join_at_phis_that_choose() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:P = ISETP.lt.s32 %0, 7
    BRA %1, bix2, fall bix1
bix1:
    BRA bix3
bix2:
    BRA fall bix3
bix3:
    %2:R32 = PHI.b32 1, bix1, 2, bix2
    %3:R32 = PHI.b32 1, bix1, 1, bix2
    %4:R32 = S2R.b32 ctaid.x
    %5:P = ISETP.lt.s32 %4, 7
    BRA %5, bix5, fall bix4
bix4:
    BRA fall bix5
bix5:
    %6:R32 = PHI.b32 1, bix3, 2, bix4
    RET
";
    assert_eq!(divergent("ssa", body), [0, 1, 2]);
    let function = parse("kernel \"k\" sm_80 ssa", body);
    let divergence = Divergence::of(&function);
    let blocks = |holds: &dyn Fn(Block) -> bool| {
        let blocks = function.blocks().iter().filter(|&&block| holds(block));
        blocks.map(|block| block.as_u32()).collect::<Vec<_>>()
    };
    assert_eq!(blocks(&|block| divergence.is_divergent_branch(block)), [0]);
    assert_eq!(blocks(&|block| divergence.is_divergent_control(block)), [1, 2]);
}

const LOOP: &str = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    BRA fall bix1
bix1:
    %1:R32 = PHI.b32 0, bix0, %2, bix1
    %2:R32 = IADD.b32 %1, 1
    %3:P = ISETP.lt.s32 %2, BOUND
    BRA %3, bix1, fall bix2
bix2:
    %4:R32 = IADD.b32 %2, 1
    RET
";

#[test]
fn a_value_is_divergent_behind_a_loop_that_lanes_leave_at_different_times() {
    assert_eq!(divergent("ssa", &LOOP.replace("BOUND", "7")), [0]);
    let body = LOOP.replace("BOUND", "%0");
    assert_eq!(divergent("ssa", &body), [0, 3, 4]);
    let function = parse("kernel \"k\" sm_80 ssa", &body);
    let divergence = Divergence::of(&function);
    let mut uses = function.uses(Register::from_u32(2));
    let late = |(user, number)| divergence.is_divergent_source(&function, user, number);
    assert_eq!(uses.by_ref().filter(|&place| late(place)).count(), 1);
}

#[test]
fn registers_with_several_definitions_have_no_phis() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = MOV.b32 1
    %2:R32 = MOV.b32 1
    %3:P = ISETP.lt.s32 %0, 7
    BRA %3, bix2, fall bix1
bix1:
    %1:R32 = MOV.b32 2
    %2:R32 = MOV.b32 2
    %4:R32 = IADD.b32 %2, 1
    BRA fall bix2
bix2:
    %5:R32 = IADD.b32 %1, 1
    RET
";
    assert_eq!(divergent("late", body), [0, 1, 3, 5]);
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %1:R32 = IADD.b32 %1, 1
    %3:P = ISETP.lt.s32 %1, BOUND
    BRA %3, bix1, fall bix2
bix2:
    %4:R32 = IADD.b32 %1, 1
    RET
";
    assert_eq!(divergent("late", &body.replace("BOUND", "7")), [0]);
    assert_eq!(divergent("late", &body.replace("BOUND", "%0")), [0, 1, 3, 4]);
}

#[test]
fn votes_count_where_the_whole_warp_takes_part() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 tid.x
    %1:P = ISETP.lt.s32 %0, 7
    %2:R32 = VOTE.ballot.b32 %1, -1
    %3:R32 = VOTE.ballot.b32 %1, %0
    %4:R32 = REDUX.add.u32 %0, -1
    %5:R32 = ACTIVEMASK.b32
    %6:R32 = SHFL.idx.b32 %0, 0, 31, -1
    BRA %1, bix1, fall bix2
bix1:
    %7:R32 = ACTIVEMASK.b32
    BRA fall bix2
bix2:
    RET
";
    assert_eq!(divergent("ssa", body), [0, 1, 3, 6, 7]);
    let function = parse("function \"f\" sm_80 ssa", body);
    assert!(!Divergence::of(&function).is_uniform(Register::from_u32(2)));
}

#[test]
fn a_carry_passes_divergence_on() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 SOURCE
    %1:R32 = IADD.CC.b32 %0, 1
    %2:R32 = IADD.X.b32 1, 1
    %3:R32 = IADD.X.b32 2, 2
    %4:R32 = IADD.CC.b32 1, 1
    %5:R32 = IADD.X.b32 1, 1
    RET
";
    assert!(divergent("ssa", &body.replace("SOURCE", "ctaid.x")).is_empty());
    assert_eq!(divergent("ssa", &body.replace("SOURCE", "tid.x")), [0, 1, 2, 3]);
}

#[test]
fn a_cycle_with_several_entries_brings_nobody_together() {
    let body = "\
bix0:
    %0:R32 = S2R.b32 SOURCE
    %1:P = ISETP.lt.s32 %0, 7
    BRA %1, bix2, fall bix1
bix1:
    %2:R32 = LD.const.b32 [64]
    BRA fall bix2
bix2:
    %3:R32 = LD.const.b32 [68]
    %4:P = ISETP.lt.s32 %3, 7
    BRA %4, bix1, fall bix3
bix3:
    RET
";
    assert!(divergent("ssa", &body.replace("SOURCE", "ctaid.x")).is_empty());
    assert_eq!(
        divergent("ssa", &body.replace("SOURCE", "tid.x")),
        [0, 1, 2, 3, 4]
    );
}

/// Finds the targets of a branch from which two paths meet in a block, by following one path at a
/// time.
fn meet_by_disjoint_ways(flow: &ControlFlow, branch: Block, meeting: Option<Block>) -> Vec<Block> {
    let goes_on = |block: Block| Some(block) != meeting && block != branch;
    // Returns whether a path leads from `start` to `end` through none of `blocked`, and the blocks
    // on it.
    let reach = |start: Block, blocked: Option<Block>| {
        let mut reached = EntitySet::with_capacity(64);
        let mut pending = vec![start];
        while let Some(block) = pending.pop() {
            if Some(block) == blocked || !reached.insert(block) || !goes_on(block) {
                continue;
            }
            pending.extend(flow.graph.successors(block).iter().copied());
        }
        reached
    };
    let mut targets = flow.graph.successors(branch).to_vec();
    targets.sort_unstable();
    targets.dedup();
    let mut joins = Vec::new();
    for &block in flow.order.as_slice() {
        // By Menger's theorem two paths are disjoint so far if no single block is on all paths.
        let reaching: Vec<Block> = targets
            .iter()
            .copied()
            .filter(|&target| reach(target, None).contains(block))
            .collect();
        let is_cut = |cut: Block| {
            cut != block
                && reaching
                    .iter()
                    .all(|&target| !reach(target, Some(cut)).contains(block))
        };
        if reaching.len() > 1 && !flow.order.as_slice().iter().any(|&cut| is_cut(cut)) {
            joins.push(block);
        }
    }
    joins
}

proptest! {
    /// Labels find every join that exists and, without retreating edges, nothing else.
    #[test]
    fn labels_find_the_joins_of_disjoint_ways(seed: u64) {
        let function = random_function(seed, Stage::Ssa);
        let flow = ControlFlow::of(&function);
        let post_dominators = flow.post_dominators();
        let mut labels = Labels::default();
        for &block in flow.order.as_slice() {
            let meeting = post_dominators.immediate(block);
            labels.spread(&flow, block, meeting);
            let expected = meet_by_disjoint_ways(&flow, block, meeting);
            for join in &expected {
                prop_assert!(labels.joins().contains(join), "{join:?} of {block:?}");
            }
            if flow.back_edges().edge_count() == 0 {
                prop_assert_eq!(labels.joins().len(), expected.len());
            }
        }
    }

    /// A divergent input makes the result divergent.
    #[test]
    fn the_result_is_a_fixed_point(seed: u64, is_late: bool) {
        let stage = if is_late { Stage::Late } else { Stage::Ssa };
        let function = random_function(seed, stage);
        let divergence = Divergence::of(&function);
        for instruction in function.all_instructions() {
            let sources = 0..function.sources(instruction).len();
            let reads = sources.into_iter().any(|number| {
                divergence.is_divergent_source(&function, instruction, number)
            });
            let of_operands = origin_of_results(&function, instruction) == Origin::Operands;
            for result in function.result_registers(instruction) {
                prop_assert!(!(reads && of_operands && divergence.is_uniform(result)));
            }
        }
    }
}
