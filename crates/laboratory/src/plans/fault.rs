//! Deliberately damaged plans: `-oriel-inject-fault`, for tests of the guard around write-back.

use super::{EditedInstruction, Editor, InsertionPoint, NewInstruction, Operand};
use oriel_engine::entity::{EntityRef, RegisterClass};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{
    OpcodeFlags, OperandFlags, OperandKind, OperandRecord, RegisterFile, StringRecord,
};
use oriel_ori::plan::Plan;
use oriel_ori::plan::abi::PlanAction;
use oriel_random::{Random, Stream};

/// Returns a plan that the shim must refuse: its first instruction does not exist.
pub fn malformed(snapshot: &Snapshot<'_>) -> Plan {
    let mut plan = Plan::identity(snapshot);
    if let Some(first) = plan.instructions.first_mut() {
        first.source = snapshot.instruction_count() as u32 + 1;
    }
    plan
}

/// Returns a well-formed plan that LLVM's verifier refuses: the edits and, in every block, before
/// its terminators or at its end, a new register whose definition is marked undefined.
pub fn unverifiable(mut editor: Editor<'_>) -> Plan {
    let snapshot = editor.snapshot();
    let classes = snapshot.arrays().register_classes;
    let general = classes
        .iter()
        .position(|class| class.file == RegisterFile::General as u32);
    // A function without registers stays unchanged.
    let Some(class) = general.map(RegisterClass::new) else {
        return editor.finish();
    };
    for block in editor.layout().to_vec() {
        let nodes = editor.nodes_of(block);
        let is_terminator =
            |&&node: &&EditedInstruction| editor.opcode_flags(node).contains(OpcodeFlags::TERMINATOR);
        let index = nodes.len() - nodes.iter().filter(is_terminator).count();
        let register = editor.new_register(class);
        editor.insert(
            InsertionPoint { block, index },
            NewInstruction {
                opcode: "IMPLICIT_DEF",
                operands: &[Operand::Definition(register)],
                source: None,
            },
        );
    }
    let mut plan = editor.finish();
    for operand in &mut plan.operands {
        let flags = OperandFlags::from_bits_truncate(operand.flags);
        if operand.kind == OperandKind::Register as u8 && flags.contains(OperandFlags::DEF) {
            operand.flags = (flags | OperandFlags::UNDEF).bits();
        }
    }
    plan
}

/// Returns a damaged plan, the same for the same `seed`: an identity plan, or one with every
/// instruction rewritten to itself, with up to six random changes.
pub fn mutated(snapshot: &Snapshot<'_>, seed: u64) -> Plan {
    let mut random = Random::new(seed, Stream::PlanMutation);
    let mut plan = Plan::identity(snapshot);
    if random.coin() {
        spell_out(&mut plan, snapshot);
    }
    if random.coin() {
        // Mostly existing classes and names, so that later checks are reached.
        let classes = snapshot.arrays().register_classes.len() as u32;
        let general = classes.saturating_sub(1).max(1);
        plan.new_registers = (0..random.between(1, 3))
            .map(|_| random.below(general.into()) as u32)
            .collect();
        for name in [
            "COPY",
            "IMPLICIT_DEF",
            "PHI",
            "GOTO",
            "ADD32rr",
            "Return",
            "CBranch",
        ] {
            let (offset, length) = (plan.strings.len() as u32, name.len() as u32);
            plan.opcode_names.push(StringRecord { offset, length });
            plan.strings.extend_from_slice(name.as_bytes());
        }
        if random.below(16) == 0 {
            plan.new_registers.push(random.word());
            plan.strings[0] ^= 0x20;
        }
    }
    for _ in 0..random.between(1, 6) {
        mutate_once(&mut plan, &mut random);
    }
    if random.below(8) == 0 {
        plan.removed_frame_objects = (0..random.between(1, 2))
            .map(|_| random.below(3) as u32)
            .collect();
    }
    plan
}

/// Writes out the operands of every instruction that has only plain ones.
fn spell_out(plan: &mut Plan, snapshot: &Snapshot<'_>) {
    for (index, instruction) in snapshot.instructions().enumerate() {
        plan.instructions[index].first_operand = plan.operands.len() as u32;
        let operands = snapshot.instruction(instruction).operand_records();
        plan.instructions[index].action = PlanAction::Replace as u32;
        for (number, record) in operands.iter().enumerate() {
            let kind = OperandKind::from_abi(record.kind.into());
            let plain = matches!(
                kind,
                Some(
                    OperandKind::Register
                        | OperandKind::Immediate
                        | OperandKind::Block
                        | OperandKind::Constant
                )
            );
            plan.operands.push(if plain {
                *record
            } else {
                OperandRecord {
                    kind: OperandKind::Original as u8,
                    index: index as u32,
                    value: number as i64,
                    ..OperandRecord::default()
                }
            });
        }
    }
    let end = plan.operands.len() as u32;
    if let Some(sentinel) = plan.instructions.last_mut() {
        sentinel.first_operand = end;
    }
}

/// Returns a number near the old one, or far off.
fn other_number(old: u32, random: &mut Random) -> u32 {
    match random.below(6) {
        0 => old.wrapping_add(1),
        1 => old.wrapping_sub(1),
        2 => 0,
        3 => u32::MAX,
        4 => random.below(32) as u32,
        _ => random.word(),
    }
}

fn mutate_once(plan: &mut Plan, random: &mut Random) {
    fn pick(length: usize, random: &mut Random) -> Option<usize> {
        (length != 0).then(|| random.index(length))
    }
    match random.below(10) {
        0 => {
            if let Some(at) = pick(plan.blocks.len(), random) {
                let block = &mut plan.blocks[at];
                let field = match random.below(4) {
                    0 => &mut block.block,
                    1 => &mut block.origin,
                    2 => &mut block.first_instruction,
                    _ => &mut block.first_successor,
                };
                *field = other_number(*field, random);
            }
        }
        1 => {
            if let Some(at) = pick(plan.successors.len(), random) {
                let edge = &mut plan.successors[at];
                let field = if random.coin() {
                    &mut edge.block
                } else {
                    &mut edge.probability
                };
                *field = other_number(*field, random);
            }
        }
        2 | 3 => {
            if let Some(at) = pick(plan.instructions.len(), random) {
                let instruction = &mut plan.instructions[at];
                let field = match random.below(5) {
                    0 => &mut instruction.action,
                    1 => &mut instruction.source,
                    2 => &mut instruction.opcode,
                    3 => &mut instruction.first_operand,
                    _ => &mut instruction.first_merged,
                };
                *field = other_number(*field, random);
            }
        }
        4 | 5 => {
            if let Some(at) = pick(plan.operands.len(), random) {
                let operand = &mut plan.operands[at];
                match random.below(5) {
                    0 => operand.kind = random.below(14) as u8,
                    1 => operand.flags ^= 1 << random.below(16),
                    2 => operand.value = i64::from(random.word() as i32),
                    3 => operand.tied_to = random.word() as u8,
                    _ => operand.index = other_number(operand.index, random),
                }
            }
        }
        6 => {
            // A reordering is often still a valid plan.
            if plan.instructions.len() > 2 {
                let last = plan.instructions.len() - 1;
                let (a, b) = (random.index(last), random.index(last));
                let (first, second) = (plan.instructions[a], plan.instructions[b]);
                plan.instructions[a].source = second.source;
                plan.instructions[b].source = first.source;
            }
        }
        7 => {
            if plan.blocks.len() > 2 {
                let last = plan.blocks.len() - 1;
                let (a, b) = (random.index(last), random.index(last));
                let (first, second) = (plan.blocks[a].block, plan.blocks[b].block);
                plan.blocks[a].block = second;
                plan.blocks[b].block = first;
            }
        }
        8 => {
            // One instruction less.
            if plan.instructions.len() > 1 && plan.operands.is_empty() {
                let at = random.index(plan.instructions.len() - 1);
                plan.instructions.remove(at);
                for block in &mut plan.blocks {
                    block.first_instruction -= u32::from(block.first_instruction as usize > at);
                }
            }
        }
        _ => {
            let merged = random.below(64) as u32;
            plan.merged.push(merged);
            let end = plan.merged.len() as u32;
            if let Some(sentinel) = plan.instructions.last_mut() {
                sentinel.first_merged = end;
            }
        }
    }
}
