//! Liveness from its definition, slot by slot.

use crate::entity::{Block, EntityRef, Register};
use crate::live::flow_graph::FlowGraph;
use crate::live::live_interval::LiveIntervals;
use crate::live::scan::{defines, definition_slot, reads, use_slot};
use crate::live::slot_index::{SLOT_COUNT, SlotIndex};
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{OpcodeFlags, OperandKind, RegisterFlags};

/// Returns the slots that a register covers, by definition: one flag for each slot of each entry.
///
/// None if the register has several definitions and a read that none of them reaches: no value can
/// be named there, and LLVM's result depends on the order of uses.
pub fn covered_slots(
    snapshot: &Snapshot<'_>,
    intervals: &LiveIntervals,
    register: Register,
) -> Option<Vec<bool>> {
    let indexes = intervals.indexes();
    let position = |index: SlotIndex| (index.base() / 4 + index.number() % SLOT_COUNT) as usize;
    let slots = position(indexes.last_index()) + 1;
    let (mut defined, mut read) = (vec![false; slots], vec![false; slots]);
    let mut phi_reads = Vec::new();
    for instruction in snapshot
        .instructions()
        .filter(|&instruction| indexes.has_index(instruction))
    {
        let number = indexes.instruction_index(instruction).number();
        let view = snapshot.instruction(instruction);
        let records = view.operand_records();
        let is_phi = view.opcode_flags().contains(OpcodeFlags::PHI);
        for (place, record) in records.iter().enumerate() {
            if record.kind != OperandKind::Register as u8 || record.index != register.as_u32() {
                continue;
            }
            if defines(record) {
                defined[position(definition_slot(number, record))] = true;
            } else if reads(record) && is_phi {
                phi_reads.push(Block::from_u32(records[place + 1].index));
            } else if reads(record) {
                read[position(use_slot(number, record, records))] = true;
            }
        }
    }
    // A normal and an early-clobber definition by one instruction are one, defined early.
    for entry in defined.chunks_mut(SLOT_COUNT as usize) {
        if entry.get(1) == Some(&true) {
            entry.get_mut(2).into_iter().for_each(|late| *late = false);
        }
    }
    let (start, end) = (
        |block: Block| position(indexes.block_start(block)),
        |block: Block| position(indexes.block_end(block)),
    );
    let chained = snapshot.arrays().registers[register.index()].flags & RegisterFlags::CHAINED.bits() != 0;
    let reached = reached_blocks(snapshot, &defined, start, end);
    if chained && phi_reads.iter().any(|block| !reached[block.index()]) {
        return None;
    }
    let any = defined.contains(&true);
    let predecessors = FlowGraph::new(snapshot);
    let mut live_in = vec![false; snapshot.block_count()];
    let mut covered = vec![false; slots];
    let mut changed = true;
    while changed {
        changed = false;
        for block in snapshot.blocks() {
            let entered = predecessors
                .predecessors_of(block)
                .iter()
                .any(|predecessor| reached[predecessor.index()]);
            let mut live = any && phi_reads.contains(&block)
                || snapshot
                    .successors(block)
                    .any(|successor| live_in[successor.index()]);
            for slot in (start(block)..end(block)).rev() {
                covered[slot] = live;
                if defined[slot] {
                    live = false;
                    let dead = slot / 4 * 4 + 3;
                    covered[slot..dead].fill(true);
                }
                let local = defined[start(block)..slot].contains(&true);
                if chained && read[slot] && !local && !entered {
                    return None;
                }
                live |= any && read[slot];
            }
            changed |= live != live_in[block.index()];
            live_in[block.index()] = live;
        }
    }
    Some(covered)
}

/// Returns the blocks at whose end a definition may have happened.
fn reached_blocks(
    snapshot: &Snapshot<'_>,
    defined: &[bool],
    start: impl Fn(Block) -> usize,
    end: impl Fn(Block) -> usize,
) -> Vec<bool> {
    let mut reached: Vec<bool> = snapshot
        .blocks()
        .map(|block| defined[start(block)..end(block)].contains(&true))
        .collect();
    let predecessors = FlowGraph::new(snapshot);
    let mut changed = true;
    while changed {
        changed = false;
        for block in snapshot.blocks() {
            let any = predecessors
                .predecessors_of(block)
                .iter()
                .any(|predecessor| reached[predecessor.index()]);
            changed |= any && !reached[block.index()];
            reached[block.index()] |= any;
        }
    }
    reached
}
