//! Helpers for the tests of several operations.

use crate::entity::{Block, Instruction, Register};
use crate::live::LiveRangeCalc;
use crate::live::live_interval::LiveIntervals;
use crate::live::scan::{defines, definition_slot, reads, use_slot};
use crate::live::slot_index::SlotIndex;
use crate::live::testing::{TestFunction, covered_slots};
use crate::snapshot::abi::OpcodeFlags;

pub(super) fn analyze(function: &TestFunction) -> LiveIntervals {
    LiveRangeCalc::new().analyze(&function.snapshot())
}

/// Returns the registers whose liveness is defined by the function alone.
pub(super) fn judged(function: &TestFunction, intervals: &LiveIntervals) -> Vec<Register> {
    let snapshot = function.snapshot();
    // A range that enters the function belongs to a register that some path leaves undefined. If an
    // instruction defines a register early and reads it, the value read is ambiguous: the one
    // before it or the new one.
    let defined = |register: &Register| {
        let range = intervals.interval(*register);
        covered_slots(&snapshot, intervals, *register).is_some()
            && !range.is_empty()
            && !range.live_at(SlotIndex::ZERO)
            && !is_read_beside_early_definition(function, *register)
    };
    snapshot.registers().filter(defined).collect()
}

/// True if an instruction defines a register early and reads it at the usual slot.
fn is_read_beside_early_definition(function: &TestFunction, register: Register) -> bool {
    let snapshot = function.snapshot();
    snapshot.instructions().any(|instruction| {
        let view = snapshot.instruction(instruction);
        let records = view.operand_records();
        let of_register = view
            .operands()
            .filter(|operand| operand.register() == Some(register));
        let (mut defines_early, mut reads_late) = (false, false);
        for record in of_register.map(|operand| operand.record()) {
            defines_early |= defines(record) && definition_slot(0, record).is_early_clobber();
            reads_late |= reads(record) && use_slot(0, record, records).is_register();
        }
        defines_early && reads_late
    })
}

pub(super) fn registers_of(
    function: &TestFunction,
    instruction: Instruction,
    written: bool,
) -> Vec<Register> {
    let snapshot = function.snapshot();
    let operands = snapshot.instruction(instruction).operands();
    operands
        .filter(|operand| !written || defines(operand.record()))
        .filter_map(|operand| operand.register())
        .collect()
}

/// True if both cover the same positions, whatever the values.
pub(super) fn same_coverage(one: &LiveIntervals, other: &LiveIntervals, register: Register) -> bool {
    let (one, other) = (one.interval(register), other.interval(register));
    one.covers(&other) && other.covers(&one)
}

/// Returns all reads of a register, in the form that `shrink_to_uses` expects.
pub(super) fn uses_of(
    function: &TestFunction,
    intervals: &LiveIntervals,
    register: Register,
) -> Vec<SlotIndex> {
    let snapshot = function.snapshot();
    let mut uses = Vec::new();
    for instruction in snapshot.instructions() {
        if !intervals.indexes().has_index(instruction) {
            continue;
        }
        let number = intervals.indexes().instruction_index(instruction).number();
        let view = snapshot.instruction(instruction);
        let records = view.operand_records();
        for (position, operand) in view.operands().enumerate() {
            if operand.register() != Some(register) || !reads(operand.record()) {
                continue;
            }
            uses.push(if view.opcode_flags().contains(OpcodeFlags::PHI) {
                let block = Block::from_u32(records[position + 1].index);
                intervals.indexes().block_end(block)
            } else {
                use_slot(number, operand.record(), records)
            });
        }
    }
    uses
}
