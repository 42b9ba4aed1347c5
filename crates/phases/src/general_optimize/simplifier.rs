//! The bidirectional simplifier: finds the value of a predicate at a point.
//!
//! Forward, control flow decides: the branches on the way, and the predicates that this one
//! combines. Backward, definitions decide: a PHI is known if it is known, with the same value, on
//! every edge; PHIs that lead around a loop to one already visited are ignored, which is correct if
//! all others agree.
//!
//! As in the reference (`sub_908A60`), the forward scan comes first; if it finds *part* of the
//! information, the backward scan is not tried.

use super::branch_conditions::{BranchConditions, FlowPoint, parts};
use oriel_engine::entity::{Block, Register};
use oriel_engine::hash::NumberSet;
use oriel_ori::{ControlFlow, Function, Operand, Operation};

/// The result of a scan.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Scan {
    /// The value.
    hit: Option<bool>,
    /// True if something is known about the parts of the value.
    is_partial: bool,
}

/// Returns the value of a predicate operand in a block, if a scan finds it.
pub(super) fn simplify(
    function: &Function,
    flow: &ControlFlow,
    branch_conditions: &BranchConditions,
    predicate: Operand,
    block: Block,
) -> Option<bool> {
    let register = predicate.read_register()?;
    let forward = scan_forward(function, flow, branch_conditions, register, block);
    let found = match forward {
        Scan { hit: Some(_), .. } => forward,
        Scan { is_partial: true, .. } => Scan::default(),
        Scan { .. } => scan_backward(function, flow, branch_conditions, register),
    };
    found.hit.map(|value| value != predicate.is_complemented())
}

fn scan_forward(
    function: &Function,
    flow: &ControlFlow,
    branch_conditions: &BranchConditions,
    predicate: Register,
    block: Block,
) -> Scan {
    let place = FlowPoint::In(block);
    let is_known = |operand| {
        branch_conditions
            .value_of_operand(function, flow, operand, place)
            .is_some()
    };
    Scan {
        hit: branch_conditions.value(function, flow, predicate, place),
        is_partial: parts(function, predicate)
            .is_some_and(|(_, operands)| operands.into_iter().any(is_known)),
    }
}

fn scan_backward(
    function: &Function,
    flow: &ControlFlow,
    branch_conditions: &BranchConditions,
    predicate: Register,
) -> Scan {
    let mut visited: NumberSet<Register> = NumberSet::default();
    let mut pending = vec![predicate];
    visited.insert(predicate);
    let mut found = Scan::default();
    while let Some(register) = pending.pop() {
        let phi = function
            .unique_definition(register)
            .filter(|&definition| function.operation(definition) == Operation::Phi);
        let Some((phi, to)) = phi.and_then(|phi| Some((phi, function.block_of(phi)?))) else {
            return Scan {
                hit: None,
                is_partial: found.hit.is_some(),
            };
        };
        for number in (0..function.sources(phi).len()).step_by(2) {
            let (value, from) = (function.source(phi, number), function.source(phi, number + 1));
            let (Some(value), Some(from)) = (Some(value).filter(|it| !it.is_undefined()), from.as_block())
            else {
                continue;
            };
            match branch_conditions.value_of_operand(function, flow, value, FlowPoint::Edge(from, to)) {
                Some(known) if found.hit.is_none_or(|hit| hit == known) => found.hit = Some(known),
                Some(_) => {
                    return Scan {
                        hit: None,
                        is_partial: true,
                    };
                }
                None => match value.as_register() {
                    Some(register) if !value.is_complemented() => {
                        if visited.insert(register) {
                            pending.push(register);
                        }
                    }
                    _ => {
                        return Scan {
                            hit: None,
                            is_partial: true,
                        };
                    }
                },
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::general_optimize::branch_conditions::conditional_branch;
    use crate::general_optimize::values::Values;
    use crate::testing::{block, kernel};

    /// Returns the known value of the predicate on which a block branches.
    fn known(text: &str, number: usize) -> Option<bool> {
        let function = kernel("sm_80 ssa", text);
        let flow = ControlFlow::of(&function);
        let branch_conditions = BranchConditions::new(&function, &flow, &mut Values::default(), true);
        let (predicate, _) = conditional_branch(&function, block(number)).expect("a branch");
        simplify(&function, &flow, &branch_conditions, predicate, block(number))
    }

    /// Builds a function in which bix0 branches by the first line to bix1, otherwise to bix4, and
    /// bix1 by the second.
    fn nested(lines: &str, sides: &str) -> String {
        format!(
            "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n{lines}    BRA %3, {sides}\n\
             bix1:\n    BRA %4, bix3, fall bix2\nbix2:\n    ST.global.b32 %1, [8]\n    BRA fall bix3\nbix3:\n    RET\n\
             bix4:\n    RET\n"
        )
    }

    #[test]
    fn a_branch_decides_what_follows_from_it() {
        let cases = [
            ("lt.s32 %1, %2", "lt.s32 %1, %2", Some(true), Some(false)),
            ("lt.s32 %1, %2", "ge.s32 %1, %2", Some(false), Some(true)),
            ("lt.s32 %1, %2", "gt.s32 %2, %1", Some(true), Some(false)),
            ("lt.s32 %1, %2", "ne.s32 %1, %2", Some(true), None),
            ("lt.s32 %1, %2", "eq.b32 %1, %2", Some(false), None),
            ("lt.s32 %1, %2", "lt.u32 %1, %2", None, None),
            ("eq.b32 %1, %2", "le.u32 %1, %2", Some(true), None),
            ("eq.b32 %1, %2", "lt.s32 %1, %2", Some(false), None),
            ("lt.s32 %1, 7", "lt.s32 %1, 8", None, None),
        ];
        for (first, second, if_taken, if_not) in cases {
            let lines = format!("    %3:P = ISETP.{first}\n    %4:P = ISETP.{second}\n");
            for (sides, expected) in [("bix1, bix4", if_taken), ("bix4, bix1", if_not)] {
                assert_eq!(known(&nested(&lines, sides), 1), expected, "{lines}{sides}");
            }
        }
    }

    #[test]
    fn nan_is_neither() {
        let lines = "    %3:P = FSETP.lt.f32 %1, %2\n    %4:P = FSETP.ge.f32 %1, %2\n";
        assert_eq!(known(&nested(lines, "bix1, bix4"), 1), Some(false));
        assert_eq!(known(&nested(lines, "bix4, bix1"), 1), None);
        let lines = "    %3:P = FSETP.lt.f32 %1, %2\n    %4:P = FSETP.geu.f32 %1, %2\n";
        assert_eq!(known(&nested(lines, "bix4, bix1"), 1), Some(true));
    }

    #[test]
    fn parts_of_a_conjunction_are_known_with_it() {
        let lines =
            "    %4:P = ISETP.lt.s32 %1, 7\n    %5:P = ISETP.lt.s32 %2, 7\n    %3:P = AND.b1 %4, %5\n";
        assert_eq!(known(&nested(lines, "bix1, bix4"), 1), Some(true));
        assert_eq!(known(&nested(lines, "bix4, bix1"), 1), None);
        let lines =
            "    %3:P = ISETP.lt.s32 %1, 7\n    %5:P = ISETP.lt.s32 %2, 7\n    %4:P = AND.b1 %3, %5\n";
        assert_eq!(known(&nested(lines, "bix4, bix1"), 1), Some(false));
        assert_eq!(known(&nested(lines, "bix1, bix4"), 1), None);
    }

    #[test]
    fn two_facts_together_leave_equality() {
        let text = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %3:P = ISETP.lt.s32 %1, %2\n\
                    \x20   BRA %3, bix3, fall bix1\nbix1:\n    %4:P = ISETP.gt.s32 %1, %2\n    BRA %4, bix3, fall bix2\n\
                    bix2:\n    %5:P = ISETP.eq.b32 %1, %2\n    BRA %5, bix3, fall bix4\nbix3:\n    RET\nbix4:\n    RET\n";
        assert_eq!(known(text, 2), Some(true));
        assert_eq!(known(text, 1), None);
    }

    #[test]
    fn a_block_with_another_way_in_knows_nothing() {
        let text = "bix0:\n    %1:R32 = LD.global.b32 [0]\n    %3:P = ISETP.lt.s32 %1, 7\n    %4:P = ISETP.lt.s32 %1, 9\n\
                    \x20   BRA %4, bix1, fall bix2\nbix1:\n    BRA %3, bix2, fall bix3\nbix2:\n    BRA %3, bix3, fall bix3\n\
                    bix3:\n    RET\n";
        assert_eq!(known(text, 2), None);
    }

    #[test]
    fn a_phi_is_known_if_all_edges_agree_round_loops_too() {
        let text = |value: &str| {
            format!(
                "bix0:\n    %1:P = MOV.b1 1\n    %2:R32 = LD.global.b32 [0]\n    %3:P = ISETP.lt.s32 %2, 7\n    BRA fall bix1\n\
                 bix1:\n    %4:P = PHI.b1 %1, bix0, {value}, bix1\n    BRA %4, bix1, fall bix2\nbix2:\n    RET\n"
            )
        };
        assert_eq!(known(&text("%4"), 1), Some(true));
        assert_eq!(known(&text("%3"), 1), None);
    }
}
