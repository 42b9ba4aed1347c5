//! Redundant comparisons and selects: those that an earlier instruction computes, or whose
//! complement an earlier comparison computes.
//!
//! ```text
//! %3 = ISETP.lt %1, %2            %3 = ISETP.lt %1, %2
//! %4 = ISETP.le %2, %1      ─▶
//! %5 = SEL %1, %2, %4             %5 = SEL %2, %1, %3
//! ```
//!
//! If one instruction dominates an equal one that the walk meets later, the later one is redundant,
//! provided there is room for the earlier one's register up to there.

use super::branch_conditions::{BranchConditions, PairId};
use super::condition::{Condition, Relations};
use super::values::Values;
use crate::PhaseContext;
use crate::shared::copies::is_alike;
use crate::shared::replacement::Replacement;
use oriel_engine::entity::{Block, Register, SecondaryMap};
use oriel_engine::hash::NumberMap;
use oriel_ori::{ControlFlow, Function, Instruction, Operation};
use smallvec::SmallVec;

/// The most earlier instructions of one kind that are considered.
const SCANNED: usize = 16;

/// A redundant instruction and its leader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    /// The redundant instruction.
    pub redundant: Instruction,
    /// The instruction that computes its value, or the complement.
    pub leader: Instruction,
    /// True if it computes the complement.
    pub is_inverse: bool,
}

/// An instruction that may make others redundant.
#[derive(Clone, Copy, Debug)]
struct EarlierInstruction {
    instruction: Instruction,
    register: Register,
    block: Block,
}

/// The comparisons and selects met so far by a walk in reverse post-order.
#[derive(Debug, Default)]
pub(crate) struct Redundancy {
    comparisons: SecondaryMap<PairId, SmallVec<[(EarlierInstruction, Relations); 2]>>,
    selects: NumberMap<Register, SmallVec<[EarlierInstruction; 1]>>,
}

impl Redundancy {
    /// Returns what makes an instruction redundant. If nothing does, the instruction may make later
    /// ones redundant.
    pub fn visit(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        branch_conditions: &BranchConditions,
        values: &mut Values,
        instruction: Instruction,
    ) -> Option<Pair> {
        let block = function.block_of(instruction)?;
        if !function.is_removable_if_unused(instruction) {
            return None;
        }
        let leads = |leader: &EarlierInstruction| {
            // An instruction met earlier in the same block comes before this one.
            function.block_of(leader.instruction) == Some(leader.block)
                && flow.dominators.dominates(leader.block, block)
        };
        let pair = |leader: &EarlierInstruction, is_inverse| Pair {
            redundant: instruction,
            leader: leader.instruction,
            is_inverse,
        };
        match function.operation(instruction) {
            Operation::Isetp | Operation::Fsetp => {
                let register = function.result(instruction, 0).as_register()?;
                let (
                    id,
                    Condition {
                        pair: compared,
                        holds,
                    },
                ) = branch_conditions
                    .condition(register)
                    .filter(|(_, it)| !it.is_plain())?;
                let complement = compared.possible() & holds.complement();
                let known = &mut self.comparisons[id];
                let found = known.iter().rev().take(SCANNED).find_map(|(leader, relations)| {
                    let is_inverse = *relations == complement;
                    let is_same = *relations == holds;
                    ((is_same || is_inverse)
                        && is_alike(function, register, leader.register)
                        && leads(leader))
                    .then(|| pair(leader, !is_same))
                });
                if found.is_none() {
                    let leader = EarlierInstruction {
                        instruction,
                        register,
                        block,
                    };
                    known.push((leader, holds));
                }
                found
            }
            Operation::Sel => {
                let register = function.result(instruction, 0).as_register()?;
                let known = self.selects.entry(values.of(function, register)).or_default();
                let mut recent = known.iter().rev().take(SCANNED);
                let found =
                    recent.find(|leader| is_alike(function, register, leader.register) && leads(leader));
                let found = found.map(|leader| pair(leader, false));
                if found.is_none() {
                    known.push(EarlierInstruction {
                        instruction,
                        register,
                        block,
                    });
                }
                found
            }
            _ => None,
        }
    }
}

/// Replaces the redundant instruction by its leader, if there is room and, for complements, if all
/// uses can take the other side at no cost.
pub(crate) fn replace(
    function: &mut Function,
    context: &mut PhaseContext<'_>,
    replacement: &mut Replacement,
    pair: Pair,
) -> bool {
    let Pair {
        redundant,
        leader,
        is_inverse,
    } = pair;
    if !is_inverse {
        return replacement.replace(function, context, redundant, leader);
    }
    let register_of = |instruction| function.result(instruction, 0).as_register();
    let (Some(old), Some(new)) = (register_of(redundant), register_of(leader)) else {
        return false;
    };
    let uses: SmallVec<[(Instruction, usize); 4]> = function.uses(old).collect();
    if !uses
        .iter()
        .all(|&(user, number)| takes_complement(function, user, number))
        || !replacement.has_room(function, context, redundant, [(new, Some(old))].into_iter())
    {
        return false;
    }
    for (user, _) in uses {
        take_complement(function, user, new);
    }
    function.merge_into(redundant, leader);
    true
}

/// True if a use can take the complement of its predicate without another instruction. A select
/// can. LLVM's branches have no complemented form: the next block would have to be branched to, and
/// block placement determines later which block that is.
fn takes_complement(function: &Function, user: Instruction, number: usize) -> bool {
    function.operation(user) == Operation::Sel && number == 2
}

/// Changes a select to use the complement of another predicate.
fn take_complement(function: &mut Function, select: Instruction, predicate: Register) {
    let [first, second, condition] = [0, 1, 2].map(|number| function.source(select, number));
    function.set_sources(select, &[second, first, condition.with_register(predicate)]);
}
