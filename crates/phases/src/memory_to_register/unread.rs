//! Stores to stack objects that nothing reads.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! ST.local.b32 %1, [%4+8]      no load of frame(0), and its address goes nowhere else
//! ```
//!
//! Follows every register that depends on an object's address, whatever is added to it. If its only
//! uses compute another address or store there, nothing reads the object. Requires SSA form, in
//! which an address has one definition.

use super::frame_objects::base_number;
use oriel_engine::entity::{EntityRef, EntitySet, FrameObject, PackedOption, Register, SecondaryMap};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{OpcodeFlags, OperandFlags, OperandKind};
use oriel_ori::analysis::{FrameAddress, frame_addresses};
use oriel_ori::{Function, Instruction, Operation, OperationFlags};

/// True if [`unread_stores`] may find something. One walk over the machine code tells that some
/// instruction reads each object, for a small part of the time of an import.
///
/// The walk only knows the first object that a register points to, and nothing that is defined
/// further down, so it may miss a read. It never takes for a read what `unread_stores` does not.
pub fn may_have_unread_stores(snapshot: &Snapshot<'_>) -> bool {
    let reads = OpcodeFlags::MAY_LOAD | OpcodeFlags::CALL | OpcodeFlags::INLINE_ASM;
    let objects = snapshot.arrays().frame_objects.len();
    let (mut is_named, mut is_read) = (vec![false; objects], vec![false; objects]);
    let mut pointed: SecondaryMap<Register, PackedOption<FrameObject>> = SecondaryMap::new();
    for instruction in snapshot.instructions() {
        let instruction = snapshot.instruction(instruction);
        let flags = instruction.opcode_flags();
        let operands = instruction.operand_records();
        for (number, operand) in operands.iter().enumerate() {
            let is_definition = operand.flags & OperandFlags::DEF.bits() != 0;
            let object = match OperandKind::from_abi(operand.kind.into()) {
                Some(OperandKind::FrameIndex) => Some(FrameObject::from_u32(operand.index)),
                Some(OperandKind::Register) if !is_definition => {
                    pointed[Register::from_u32(operand.index)].expand()
                }
                _ => None,
            };
            let Some(object) = object else {
                continue;
            };
            is_named[object.index()] = true;
            // The first operand of a store is what it stores.
            let is_stored = number == 0 && flags.contains(OpcodeFlags::MAY_STORE);
            if flags.intersects(reads) || is_stored {
                is_read[object.index()] = true;
            }
            for result in instruction.operands().filter_map(|operand| operand.definition()) {
                if pointed[result].is_none() {
                    pointed[result] = object.into();
                }
            }
        }
    }
    is_named
        .iter()
        .zip(is_read)
        .any(|(&is_named, is_read)| is_named && !is_read)
}

/// Returns the stores to objects that are written but never read, in the order of the objects.
pub fn unread_stores(function: &Function) -> Vec<Instruction> {
    let addresses = frame_addresses(function);
    let objects = function.stack_objects().map(|(object, _)| object);
    objects
        .flat_map(|object| stores_if_unread(function, object, &addresses).unwrap_or_default())
        .collect()
}

/// Returns the stores to an object, or none if something may read it.
fn stores_if_unread(
    function: &Function,
    object: FrameObject,
    addresses: &[FrameAddress],
) -> Option<Vec<Instruction>> {
    let mut stores = Vec::new();
    let mut seen: EntitySet<Register> = EntitySet::new();
    let of_object = addresses.iter().filter(|address| address.object == object);
    let mut pending: Vec<(Instruction, usize)> = of_object
        .map(|address| (address.instruction, address.number))
        .collect();
    while let Some((instruction, number)) = pending.pop() {
        match function.operation(instruction) {
            operation if operation.is_debug() => {}
            Operation::St if base_number(function, instruction) == Some(number) => {
                if function
                    .effects(instruction)
                    .contains(OperationFlags::SIDE_EFFECTS)
                {
                    return None;
                }
                stores.push(instruction);
            }
            Operation::Mov
            | Operation::Copy
            | Operation::Cvta
            | Operation::Lea
            | Operation::Iadd
            | Operation::Isub
            | Operation::Imad
            | Operation::ImadWide
            | Operation::Sel
            | Operation::Phi => {
                let result = function.result(instruction, 0).as_register()?;
                if seen.insert(result) {
                    pending.extend(function.uses(result));
                }
            }
            _ => return None,
        }
    }
    stores.sort_unstable();
    Some(stores)
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::parse_functions;

    fn found(body: &str) -> usize {
        let text = format!(
            "kernel \"k\" sm_80 ssa {{\n    stack frame(0) 16 bytes align 8\nbix0:\n    %1:R32 = S2R.b32 tid.x\n{body}    RET\n}}\n"
        );
        let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{error}"));
        unread_stores(&functions[0]).len()
    }

    const STORES: &str = "    %2:R64 = LEA.b64 [frame(0)]
    ST.local.b32.b32 %1, [%2]
    ST.local.b32.b32 %1, [%2+4]
";

    #[test]
    fn stores_without_a_load_are_found() {
        assert_eq!(found(STORES), 2);
        assert_eq!(
            found(&format!("{STORES}    %3:R32 = LD.local.b32.b32 [%2+8]\n")),
            0
        );
    }

    #[test]
    fn an_address_that_goes_elsewhere_may_be_read() {
        assert_eq!(found(&format!("{STORES}    ST.global.b64.b64 %2, [64]\n")), 0);
    }
}
