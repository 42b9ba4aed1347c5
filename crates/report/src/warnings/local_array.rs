//! Local arrays that stay in memory since an index is not constant, and those that leave it.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! %5 = IMAD.WIDE %index, 4, %4       the index is a variable
//! %6 = LD.local.b32 [%5]
//! ```
//!
//! Registers have no addresses, so such an array is local memory: each access goes through the L1
//! cache. If the index only counts the rounds of a loop with constant rounds, ptxas unrolls the loop,
//! knows each index, and keeps the elements in registers, as many as there are. Front ends prevent
//! that with `#pragma unroll 1`, which becomes `.pragma "nounroll"`.
//!
//! Every register that depends on the array's address is followed. If the address goes anywhere else
//! than to loads and stores, to a call for instance, the array is in memory anyway, and nothing is
//! said.

use super::counters::{is_known_when_unrolled, sum_of};
use super::{Subject, Warning, WarningKind};
use crate::estimate::Target;
use oriel_engine::entity::{FrameObject, Register};
use oriel_engine::hash::NumberSet;
use oriel_ori::{Function, Instruction, Operand, OperandKind, Operation, Special};

/// Smaller objects are single values, not arrays.
const LEAST_BYTES: u64 = 8;

/// The accesses of an array whose address goes nowhere else.
#[derive(Default)]
struct Accesses {
    /// The instructions that add an index.
    indexed: Vec<Instruction>,
    /// Loads and stores.
    accesses: Vec<Instruction>,
    /// True if the address is used for something else.
    escapes: bool,
}

/// Finds the arrays of a function that indexes keep in memory, and those that fill the registers
/// once ptxas has unrolled the loops that index them.
pub(super) fn find(subject: &Subject<'_, '_>) -> Vec<Warning> {
    let function = subject.function;
    let objects = function.stack_objects();
    let objects = objects.filter(|(_, object)| !object.is_removed && object.size >= LEAST_BYTES);
    let (mut kept, mut unrolled) = (Vec::new(), Vec::new());
    for (number, object) in objects {
        let found = follow(function, number);
        if found.escapes || found.accesses.is_empty() {
            continue;
        }
        match found.indexed.iter().find(|&&index| !is_known(subject, index)) {
            Some(&index) => kept.push(kept_in_memory(subject, object.size, index, &found.accesses)),
            None => unrolled.extend(found.indexed.iter().min().map(|&index| (index, object.size))),
        }
    }
    kept.extend(in_registers(subject, &unrolled));
    kept
}

/// True if unrolling makes an index constant.
fn is_known(subject: &Subject<'_, '_>, index: Instruction) -> bool {
    let result = subject.function.result(index, 0).as_register();
    let moved = result.filter(|&result| subject.function.unique_definition(result).is_none());
    if let Some(moved) = moved {
        return is_known_when_unrolled(subject, moved);
    }
    let sources = subject.function.sources(index).iter();
    let mut registers = sources.filter_map(Operand::as_register);
    registers.all(|register| is_known_when_unrolled(subject, register))
}

fn kept_in_memory(
    subject: &Subject<'_, '_>,
    size: u64,
    index: Instruction,
    accesses: &[Instruction],
) -> Warning {
    let in_loops = accesses.iter().filter(|&&it| subject.depth(it) > 0).count();
    let in_loops = match in_loops {
        0 => String::new(),
        count => format!(", {count} of them in loops"),
    };
    Warning {
        kind: WarningKind::IndexedLocalArray,
        place: subject.place(index),
        problem: format!("an index that is not constant keeps an array of {size} bytes in local memory"),
        cost: format!(
            "{size} bytes of memory a thread, and {} accesses to it{in_loops}",
            accesses.len()
        ),
        remedy: "if a loop counts the index, unroll it completely (#pragma unroll); otherwise use shared memory, or a \
                 chain of selects: -oriel-knob=ConvertMemoryToRegIndexedSizeLimit=BYTES"
            .to_owned(),
    }
}

/// Warns if the elements of arrays take all registers beside what is live anyway.
fn in_registers(subject: &Subject<'_, '_>, arrays: &[(Instruction, u64)]) -> Option<Warning> {
    let limit = u64::from(Target::of(subject.snapshot).register_limit);
    let live = u64::from(subject.known.pressure);
    let registers: u64 = arrays.iter().map(|(_, size)| size.div_ceil(4)).sum();
    // ptxas 13.0.88 takes a quarter more than the elements: 168 registers for 128, 254 for 200.
    if registers + registers / 4 + live < limit {
        return None;
    }
    let &(index, _) = arrays.iter().max_by_key(|(_, size)| size)?;
    Some(Warning {
        kind: WarningKind::UnrolledLoop,
        place: subject.place(index),
        problem: format!(
            "ptxas is going to unroll this loop completely and to keep {registers} elements of local arrays in registers"
        ),
        cost: format!("{live} other registers are live at the peak, and a thread has {limit}"),
        remedy: "keep it a loop, so that the array stays in memory (#pragma unroll 1, .pragma \"nounroll\"), or work on a \
                 part of the array at a time"
            .to_owned(),
    })
}

/// Follows the address of an object.
fn follow(function: &Function, object: FrameObject) -> Accesses {
    let mut found = Accesses::default();
    let mut seen: NumberSet<Register> = NumberSet::default();
    let mut pending: Vec<(Instruction, usize)> = Vec::new();
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            for (number, source) in function.sources(instruction).iter().enumerate() {
                if let OperandKind::Special(special) = source.kind()
                    && function.special_data(special) == Special::Frame(object)
                {
                    pending.push((instruction, number));
                }
            }
        }
    }
    while let Some((instruction, number)) = pending.pop() {
        let sources = function.sources(instruction);
        let is_constant = |number: usize| function.integer(sources.get(number)).is_some();
        match function.operation(instruction) {
            operation if operation.is_debug() => continue,
            // Loops compare a pointer with its end.
            Operation::Isetp => continue,
            Operation::Ld if number == 0 => {
                found.accesses.push(instruction);
                continue;
            }
            Operation::St if number + 2 == sources.len() => {
                found.accesses.push(instruction);
                continue;
            }
            Operation::Mov | Operation::Copy | Operation::Cvta => {}
            Operation::Lea if number == 0 && is_constant(1) => {}
            Operation::Iadd if is_constant(1 - number) => {}
            Operation::Iadd => found.indexed.push(instruction),
            Operation::Imad | Operation::ImadWide if number == 2 => found.indexed.push(instruction),
            _ => {
                found.escapes = true;
                return found;
            }
        }
        let Some(result) = function.result(instruction, 0).as_register() else {
            found.escapes = true;
            return found;
        };
        if seen.insert(result) {
            // A pointer that a loop moves is an index, too.
            if function.unique_definition(result).is_none() && is_moved(function, result) {
                found.indexed.push(instruction);
            }
            pending.extend(function.uses(result));
        }
    }
    found
}

/// True if a register with several definitions is computed from itself.
fn is_moved(function: &Function, register: Register) -> bool {
    let definitions = function.definitions(register);
    let mut sums = definitions.filter_map(|(definition, _)| sum_of(function, definition));
    sums.any(|sum| {
        let mut sources = function.sources(sum).iter();
        sources.any(|source| source.as_register() == Some(register))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::entity::EntityRef;
    use oriel_ori::parse_function;

    /// Returns the numbers of indexes and accesses, and whether the address escapes.
    fn found(body: &str) -> (usize, usize, bool) {
        let text = format!(
            "kernel \"k\" sm_80 late {{\n    stack frame(0) 64 bytes align 8\nbix0:\n    %1:R32 = S2R.b32 tid.x\n    %2:R64 = LEA.b64 [frame(0)]\n{body}    RET\n}}\n"
        );
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let found = follow(&function, FrameObject::new(0));
        (found.indexed.len(), found.accesses.len(), found.escapes)
    }

    const INDEXED: &str = "    %3:R64 = IMAD.WIDE.u64.u32 %1, 4, %2\n    ST.local.b32.b32 %1, [%3]\n";

    #[test]
    fn a_variable_index_is_found() {
        assert_eq!(found(INDEXED), (1, 1, false));
    }

    #[test]
    fn constant_offsets_are_none() {
        let body =
            "    %3:R64 = IADD.b64 %2, 16\n    ST.local.b32.b32 %1, [%3]\n    ST.local.b32.b32 %1, [%2+4]\n";
        assert_eq!(found(body), (0, 2, false));
    }

    #[test]
    fn an_address_that_is_stored_escapes() {
        assert!(found(&format!("{INDEXED}    ST.global.b64.b64 %2, [64]\n")).2);
    }

    #[test]
    fn a_pointer_that_a_loop_moves_is_an_index() {
        let body = "    %3:R64 = COPY.b64 %2\nbix1:\n    ST.local.b32.b32 %1, [%3]\n    %4:R64 = IADD.b64 %3, 4\n    %5:P = ISETP.ne.s64 %4, 64\n    %3:R64 = COPY.b64 %4\n    BRA %5, bix1, fall bix2\nbix2:\n";
        let (indexes, accesses, escapes) = found(body);
        assert!(indexes > 0);
        assert_eq!((accesses, escapes), (1, false));
    }
}
