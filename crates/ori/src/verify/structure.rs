//! Checks of blocks, of the lists that connect a function, and of its tables.

use super::{Finding, FindingKind};
use crate::function::{Constant, Function, Instruction, OperandSlot, Special};
use crate::operand::{Operand, OperandKind};
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};

/// Checks the layout, the links between instructions, and that every operand names something that
/// exists. After this, no query of the function can panic.
pub(super) fn check_entities(function: &Function, findings: &mut Vec<Finding>) {
    if function.blocks().is_empty() {
        findings.push(Finding::new(FindingKind::NoBlocks));
    }
    check_placement(function, findings);
    for &block in function.blocks() {
        if !has_sound_list(function, block) {
            findings.push(Finding::in_block(FindingKind::BrokenInstructionList, block));
            continue;
        }
        for instruction in function.instructions(block) {
            let operands = function
                .results(instruction)
                .iter()
                .chain(function.sources(instruction));
            if operands.into_iter().any(|operand| !exists(function, operand)) {
                findings.push(Finding::at(FindingKind::UnknownEntity, function, instruction));
            }
        }
    }
}

fn check_placement(function: &Function, findings: &mut Vec<Finding>) {
    let mut placed = EntitySet::with_capacity(function.block_limit());
    for &block in function.blocks() {
        if !placed.insert(block) {
            findings.push(Finding::in_block(FindingKind::WrongPlacement, block));
        }
    }
    for (block, data) in &function.blocks {
        if data.is_placed != placed.contains(block) {
            findings.push(Finding::in_block(FindingKind::WrongPlacement, block));
        }
    }
}

/// True if the links lead from the first instruction to the last and back.
fn has_sound_list(function: &Function, block: Block) -> bool {
    let (mut previous, mut next) = (None, function.first(block));
    let mut steps = 0;
    while let Some(instruction) = next {
        steps += 1;
        let is_sound = function.block_of(instruction) == Some(block)
            && function.previous(instruction) == previous
            && steps <= function.instruction_limit();
        if !is_sound {
            return false;
        }
        (previous, next) = (next, function.next(instruction));
    }
    previous == function.last(block)
}

fn exists(function: &Function, operand: Operand) -> bool {
    match operand.kind() {
        OperandKind::None | OperandKind::Immediate(_) => true,
        OperandKind::Register(register) | OperandKind::Predicate(register) => {
            register.index() < function.register_limit()
        }
        OperandKind::Constant(constant) => function.constants.is_valid(constant),
        OperandKind::Target(block) | OperandKind::FallThrough(block) => {
            block.index() < function.block_limit()
        }
        OperandKind::Special(special) => {
            function.specials.is_valid(special)
                && !is_removed_object(function, function.special_data(special))
        }
    }
}

/// True for a stack object that was removed.
fn is_removed_object(function: &Function, special: Special) -> bool {
    let Special::Frame(object) = special else {
        return false;
    };
    function
        .stack_objects
        .get(object)
        .is_some_and(|data| data.is_removed)
}

/// Checks the lists of definitions and uses, and interning.
pub(super) fn check_lists(function: &Function, findings: &mut Vec<Finding>) {
    let mut listed = EntitySet::with_capacity(function.slots.len());
    for register in function.registers() {
        for is_definition in [true, false] {
            check_references(function, register, is_definition, &mut listed, findings);
        }
    }
    for instruction in function.all_instructions() {
        check_references_from(function, instruction, &listed, findings);
    }
    check_tables(function, findings);
    for &instruction in function.merged.keys() {
        if function.block_of(instruction).is_none() {
            findings.push(Finding::at(FindingKind::RecordOfRemoved, function, instruction));
        }
    }
}

/// Walks one list of a register.
fn check_references(
    function: &Function,
    register: Register,
    is_definition: bool,
    listed: &mut EntitySet<OperandSlot>,
    findings: &mut Vec<Finding>,
) {
    let data = function.register(register);
    let head = if is_definition {
        data.definitions
    } else {
        data.uses
    };
    let (mut previous, mut next) = (None, head.expand());
    while let Some(slot) = next {
        let data = &function.slots[slot];
        let instruction = &function.instructions[data.instruction];
        let number = slot.index().wrapping_sub(instruction.first_operand as usize);
        let is_right = data.operand.as_register() == Some(register)
            && data.previous.expand() == previous
            && instruction.block.is_some()
            && number < instruction.operand_count as usize
            && (number < usize::from(instruction.result_count)) == is_definition;
        // A slot that occurs again is in two lists, or the list is cyclic.
        if !is_right || !listed.insert(slot) {
            findings.push(Finding::of_register(FindingKind::StrayReference, register));
            return;
        }
        (previous, next) = (Some(slot), data.next.expand());
    }
}

fn check_references_from(
    function: &Function,
    instruction: Instruction,
    listed: &EntitySet<OperandSlot>,
    findings: &mut Vec<Finding>,
) {
    let data = &function.instructions[instruction];
    let first = data.first_operand as usize;
    for slot in (first..first + data.operand_count as usize).map(OperandSlot::new) {
        if let Some(register) = function.slots[slot].operand.as_register()
            && !listed.contains(slot)
        {
            findings
                .push(Finding::at(FindingKind::MissingReference, function, instruction).register(register));
        }
    }
}

fn check_tables(function: &Function, findings: &mut Vec<Finding>) {
    let mut constants = function.constants.iter();
    let mut specials = function.specials.iter();
    let are_interned = constants.all(|(id, constant)| function.constant_ids.get(constant) == Some(&id))
        && specials.all(|(id, special)| {
            // Operands of machine instructions are all different and need not be found again.
            matches!(special, Special::Machine { .. }) || function.special_ids.get(special) == Some(&id)
        });
    if !are_interned {
        findings.push(Finding::new(FindingKind::NotInterned));
    }
    let is_packable = |constant: &Constant| matches!(constant, Constant::Integer(value) if Operand::immediate(*value).is_some());
    if function.constants.values().any(is_packable) {
        findings.push(Finding::new(FindingKind::UnpackedInteger));
    }
}

/// Checks the ends of blocks and their targets.
pub(super) fn check_blocks(function: &Function, findings: &mut Vec<Finding>) {
    for &block in function.blocks() {
        let mut has_ended = false;
        for instruction in function.instructions(block) {
            let operation = function.operation(instruction);
            if has_ended && !operation.is_debug() {
                let kind = FindingKind::InstructionAfterTerminator;
                findings.push(Finding::at(kind, function, instruction));
            }
            has_ended |= operation.is_terminator();
            let mut blocks = function.sources(instruction).iter().filter_map(Operand::as_block);
            if blocks.any(|block| !function.is_placed(block)) {
                findings.push(Finding::at(FindingKind::UnplacedBlock, function, instruction));
            }
        }
        if !has_ended {
            findings.push(Finding::in_block(FindingKind::MissingTerminator, block));
        }
    }
}
