//! Stores to stack objects that nothing reads.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! ST.local.b32 %1, [%4+8]      no load of frame(0), and its address goes nowhere else
//! ```
//!
//! Follows every register that depends on an object's address, whatever is added to it. If the
//! registers are used only to compute other addresses or to store there, nothing reads the object. A
//! pointer that is this object's address only on some paths may point to anything on the others, so
//! its stores may be read. Requires SSA form, in which an address has one definition.

use super::frame_objects::base_number;
use oriel_engine::entity::{EntityRef, EntitySet, FrameObject, PackedOption, Register, SecondaryMap};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{self, OpcodeFlags, OperandFlags};
use oriel_ori::analysis::{FrameAddress, frame_addresses};
use oriel_ori::{Function, Instruction, Operand, OperandKind, Operation, OperationFlags, Special};

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
            let object = match abi::OperandKind::from_abi(operand.kind.into()) {
                Some(abi::OperandKind::FrameIndex) => Some(FrameObject::from_u32(operand.index)),
                Some(abi::OperandKind::Register) if !is_definition => {
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
    // Selections and PHIs of addresses.
    let mut choices = Vec::new();
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
            operation if derives_address(operation, number) => {
                let result = function.result(instruction, 0).as_register()?;
                if seen.insert(result) {
                    pending.extend(function.uses(result));
                    if matches!(operation, Operation::Sel | Operation::Phi) {
                        choices.push(instruction);
                    }
                }
            }
            _ => return None,
        }
    }
    let is_of_object = |source: Operand| match source.kind() {
        OperandKind::Register(register) => seen.contains(register),
        OperandKind::Special(special) => function.special_data(special) == Special::Frame(object),
        _ => false,
    };
    let chooses_elsewhere = |&choice: &Instruction| {
        let mut sources = function.sources(choice).iter().enumerate();
        sources.any(|(number, source)| match function.operation(choice) {
            Operation::Sel if number == 2 => false,
            _ => !matches!(source.kind(), OperandKind::Target(_)) && !is_of_object(source),
        })
    };
    if choices.iter().any(chooses_elsewhere) {
        return None;
    }
    stores.sort_unstable();
    Some(stores)
}

/// True if an operation computes an address from one that is its source of a number.
fn derives_address(operation: Operation, number: usize) -> bool {
    match operation {
        Operation::Mov
        | Operation::Copy
        | Operation::Cvta
        | Operation::Lea
        | Operation::Iadd
        | Operation::Sel
        | Operation::Phi => true,
        // What is subtracted is not what the difference points to.
        Operation::Isub => number == 0,
        Operation::Imad | Operation::ImadWide => number == 2,
        _ => false,
    }
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
    fn a_store_through_one_of_two_pointers_may_go_elsewhere() {
        let selected = |other: &str| {
            format!(
                "    %2:R64 = LEA.b64 [frame(0)]
    %3:R64 = {other}
    %4:P = ISETP.eq.b32.b1 %1, 0
    %5:R64 = SEL.b64 %2, %3, %4
    ST.b32.b32 %1, [%5]
"
            )
        };
        assert_eq!(found(&selected("CVT.u64.u32 %1")), 0);
        assert_eq!(found(&selected("IADD.b64 %2, 8")), 1);
    }

    #[test]
    fn a_pointer_that_moves_through_the_object_in_a_loop_stays_in_it() {
        let text = "    %2:R64 = LEA.b64 [frame(0)]
    BRA fall bix1
bix1:
    %3:R64 = PHI %2, bix0, %4, bix1
    ST.b32.b32 %1, [%3]
    %4:R64 = IADD.b64 %3, 4
    %5:P = ISETP.eq.b32.b1 %1, 0
    BRA %5, bix1, fall bix2
bix2:
";
        assert_eq!(found(text), 1);
        assert_eq!(found(&text.replace("IADD.b64 %3, 4", "CVT.u64.u32 %1")), 0);
    }

    #[test]
    fn a_difference_of_addresses_is_no_address() {
        let text = "    %2:R64 = LEA.b64 [frame(0)]
    %3:R64 = CVT.u64.u32 %1
    %4:R64 = ISUB.b64 %3, %2
    ST.b32.b32 %1, [%4]
";
        assert_eq!(found(text), 0);
    }

    #[test]
    fn an_address_that_goes_elsewhere_may_be_read() {
        assert_eq!(found(&format!("{STORES}    ST.global.b64.b64 %2, [64]\n")), 0);
    }
}
