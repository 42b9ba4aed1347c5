//! Local arrays that stay in memory since an index is not constant, and those that leave it.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! %5 = IMAD.WIDE %index, 4, %4       the index is a variable
//! %6 = LD.local.b32 [%5]
//! ```
//!
//! Registers have no addresses, so such an array is in local memory: each access goes through the L1
//! cache. If the index only counts the iterations of a loop with a constant trip count, ptxas unrolls
//! the loop, knows each index, and keeps all elements in registers. Front ends prevent that with
//! `#pragma unroll 1`, which becomes `.pragma "nounroll"`.
//!
//! A variable index also becomes constant where ptxas replaces the access by one for each element, and
//! selects between them; [`becomes_selects`] decides when.
//!
//! Every register that depends on the array's address is followed. If the address is used by
//! anything but loads and stores, such as a call, the array is in memory anyway, and there is no
//! warning. There is none either if nothing reads the array: `-oriel-warn-unread-stores` is about
//! such stores.

use super::counters::{is_known_when_unrolled, sum_of};
use super::{Warning, WarningContext, WarningKind};
use crate::estimate::Target;
use oriel_engine::entity::{FrameObject, Register};
use oriel_engine::hash::NumberSet;
use oriel_ori::analysis::{FrameAddress, frame_addresses};
use oriel_ori::{AddressSpace, Function, Instruction, Operand, Operation};

/// Smaller objects are single values, not arrays.
const LEAST_BYTES: u64 = 8;

/// ptxas 13.0.88 keeps larger arrays with a variable index in memory.
const MOST_ELEMENTS_OF_SELECTS: u64 = 93;

/// A load or store of an array.
#[derive(Clone, Copy)]
struct Access {
    instruction: Instruction,
    /// True if its address has an index that stays variable.
    is_variable: bool,
}

/// The accesses of an array whose address is not used for anything else.
#[derive(Default)]
struct Accesses {
    /// The instructions that add an index.
    indexed: Vec<Instruction>,
    /// Loads and stores.
    accesses: Vec<Access>,
    /// True if a loop that is not unrolled moves a pointer along the array.
    has_moved_pointer: bool,
    /// True if the address is used for something else.
    escapes: bool,
}

/// Finds the arrays of a function that indexes keep in memory, and those that fill the registers
/// once ptxas has unrolled the loops that index them.
pub(super) fn find(context: &WarningContext<'_, '_>) -> Vec<Warning> {
    let function = context.function;
    if function.stack_objects().next().is_none() {
        return Vec::new();
    }
    let addresses = frame_addresses(function);
    let objects = function.stack_objects();
    let objects = objects.filter(|(_, object)| !object.is_removed && object.size >= LEAST_BYTES);
    let (mut kept, mut unrolled) = (Vec::new(), Vec::new());
    for (number, object) in objects {
        let found = follow(function, &addresses, number, |index| !is_known(context, index));
        let is_load = |it: &Access| function.operation(it.instruction) == Operation::Ld;
        if found.escapes || !found.accesses.iter().any(is_load) {
            continue;
        }
        match found.indexed.iter().find(|&&index| !is_known(context, index)) {
            Some(_)
                if !found.has_moved_pointer
                    && becomes_selects(function, object.size, &found.accesses, |it| context.depth(it)) => {}
            Some(&index) => kept.push(kept_in_memory(context, object.size, index, &found.accesses)),
            None if element_bits(function, &found.accesses).is_none() => {}
            None => unrolled.extend(found.indexed.iter().min().map(|&index| (index, object.size))),
        }
    }
    kept.extend(in_registers(context, &unrolled));
    kept
}

/// True if unrolling makes an index constant.
fn is_known(context: &WarningContext<'_, '_>, index: Instruction) -> bool {
    let result = context.function.result(index, 0).as_register();
    let moved = result.filter(|&result| context.function.unique_definition(result).is_none());
    if let Some(moved) = moved {
        return is_known_when_unrolled(context, moved);
    }
    let sources = context.function.sources(index).iter();
    let mut registers = sources.filter_map(Operand::as_register);
    registers.all(|register| is_known_when_unrolled(context, register))
}

/// Returns the bits of an array's elements if ptxas can have them in registers: all accesses are of this
/// size, 16 or 32, and only those of 32 bits are of several elements at once. ptxas 13.0.88 keeps other
/// arrays in memory, whatever their indexes are.
fn element_bits(function: &Function, accesses: &[Access]) -> Option<u32> {
    let bits = |it: &Access| function.memory_type(it.instruction).bits();
    let element = bits(accesses.first()?);
    let fits = |it: &Access| bits(it) == element && (element == 32 || is_scalar(function, it.instruction));
    (matches!(element, 16 | 32) && accesses.iter().all(fits)).then_some(element)
}

/// True if ptxas replaces each access with a variable index by accesses of all elements, so that the
/// elements are in registers.
///
/// The rule follows ptxas 13.0.88 on arrays of 2 to 200 elements with up to 45 variable accesses: an
/// access that is replaced costs 0.265 for each element above 6, and each constant access that becomes a
/// register saves 1. In a loop, both count ten times. The index has to be added to the array's address;
/// an array with a pointer that a loop moves stays in memory.
fn becomes_selects(
    function: &Function,
    size: u64,
    accesses: &[Access],
    depth: impl Fn(Instruction) -> usize,
) -> bool {
    let Some(bits) = element_bits(function, accesses) else {
        return false;
    };
    let elements = 8 * size / u64::from(bits);
    let mut variable = accesses.iter().filter(|it| it.is_variable);
    if elements > MOST_ELEMENTS_OF_SELECTS || !variable.all(|it| is_scalar(function, it.instruction)) {
        return false;
    }
    let weight = |are_variable: bool| -> u64 {
        let counted = accesses.iter().filter(|it| it.is_variable == are_variable);
        let weights = counted.map(|it| 10_u64.pow(depth(it.instruction).min(4) as u32));
        weights.sum()
    };
    weight(true) * 53 * elements.saturating_sub(6) <= weight(false) * 200
}

/// True if a load or store is of a single value.
fn is_scalar(function: &Function, access: Instruction) -> bool {
    match function.operation(access) {
        Operation::St => function.sources(access).len() == 3,
        _ => function.results(access).len() == 1,
    }
}

/// True if an array contains only values that are loaded from the kernel's parameters.
fn is_copy_of_parameters(function: &Function, accesses: &[Access]) -> bool {
    let is_parameter = |value: Operand| {
        let register = value.as_register();
        let definition = register.and_then(|register| function.unique_definition(register));
        definition.is_some_and(|definition| function.modifiers(definition).space == AddressSpace::EntryParam)
    };
    let mut stores = accesses
        .iter()
        .map(|it| it.instruction)
        .filter(|&it| function.operation(it) == Operation::St);
    stores.all(|store| {
        let sources = function.sources(store);
        sources.iter().take(sources.len() - 2).all(is_parameter)
    })
}

fn kept_in_memory(
    context: &WarningContext<'_, '_>,
    size: u64,
    index: Instruction,
    accesses: &[Access],
) -> Warning {
    let is_copy = is_copy_of_parameters(context.function, accesses);
    let kept = if is_copy {
        "a copy of the kernel's parameters"
    } else {
        "an array"
    };
    let remedy = if is_copy {
        "pass the parameter by reference to the functions that the kernel calls with it, so that there is no copy"
    } else {
        "if a loop counts the index, unroll it completely (#pragma unroll); otherwise use shared memory"
    };
    let in_loops = accesses
        .iter()
        .filter(|it| context.depth(it.instruction) > 0)
        .count();
    let in_loops = match in_loops {
        0 => String::new(),
        count => format!(", {count} of them in loops"),
    };
    Warning {
        kind: WarningKind::IndexedLocalArray,
        place: context.place(index),
        problem: format!("an index that is not constant keeps {kept} of {size} bytes in local memory"),
        cost: format!(
            "{size} bytes of memory a thread, and {} accesses to it{in_loops}",
            accesses.len()
        ),
        remedy: remedy.to_owned(),
    }
}

/// Warns if the elements of arrays and the other live values do not fit into the registers.
fn in_registers(context: &WarningContext<'_, '_>, arrays: &[(Instruction, u64)]) -> Option<Warning> {
    let limit = u64::from(Target::of(context.snapshot).register_limit);
    let live = u64::from(context.known.pressure);
    let registers: u64 = arrays.iter().map(|(_, size)| size.div_ceil(4)).sum();
    // ptxas 13.0.88 takes a quarter more than the elements: 168 registers for 128, 254 for 200.
    if registers + registers / 4 + live < limit {
        return None;
    }
    let &(index, _) = arrays.iter().max_by_key(|(_, size)| size)?;
    Some(Warning {
        kind: WarningKind::UnrolledLoop,
        place: context.place(index),
        problem: format!(
            "ptxas is going to unroll this loop completely and to keep {registers} elements of local arrays in registers"
        ),
        cost: format!("{live} other registers are live at the peak, and a thread has {limit}"),
        remedy: "keep it a loop, so that the array stays in memory (#pragma unroll 1, .pragma \"nounroll\"), or work on a \
                 part of the array at a time"
            .to_owned(),
    })
}

/// Follows the address of an object. For an instruction that adds an index, `stays_variable` tells
/// whether the index is still variable after ptxas has unrolled loops.
fn follow(
    function: &Function,
    addresses: &[FrameAddress],
    object: FrameObject,
    stays_variable: impl Fn(Instruction) -> bool,
) -> Accesses {
    let mut found = Accesses::default();
    // Registers that are reached with only constant indexes, and those that are reached with others.
    let mut seen: [NumberSet<Register>; 2] = Default::default();
    // An instruction, which of its sources is the address, and whether that has a variable index.
    let of_object = addresses.iter().filter(|address| address.object == object);
    let mut pending: Vec<(Instruction, usize, bool)> = of_object
        .map(|address| (address.instruction, address.number, false))
        .collect();
    while let Some((instruction, number, mut is_variable)) = pending.pop() {
        let access = Access {
            instruction,
            is_variable,
        };
        let mut has_index = false;
        let sources = function.sources(instruction);
        let is_constant = |number: usize| function.integer(sources.get(number)).is_some();
        match function.operation(instruction) {
            operation if operation.is_debug() => continue,
            // Loops compare a pointer with its end.
            Operation::Isetp => continue,
            Operation::Ld if number == 0 => {
                found.accesses.push(access);
                continue;
            }
            Operation::St if number + 2 == sources.len() => {
                found.accesses.push(access);
                continue;
            }
            Operation::Mov | Operation::Copy | Operation::Cvta => {}
            Operation::Lea if number == 0 && is_constant(1) => {}
            Operation::Iadd if is_constant(1 - number) => {}
            Operation::Iadd => has_index = true,
            Operation::Imad | Operation::ImadWide if number == 2 => has_index = true,
            _ => {
                found.escapes = true;
                return found;
            }
        }
        let Some(result) = function.result(instruction, 0).as_register() else {
            found.escapes = true;
            return found;
        };
        // A pointer that a loop moves is an index, too.
        let is_pointer_moved = function.unique_definition(result).is_none() && is_moved(function, result);
        if has_index || is_pointer_moved {
            found.indexed.push(instruction);
            let stays = stays_variable(instruction);
            found.has_moved_pointer |= is_pointer_moved && stays;
            is_variable |= stays;
        }
        if seen[usize::from(is_variable)].insert(result) {
            pending.extend(
                function
                    .uses(result)
                    .map(|(user, number)| (user, number, is_variable)),
            );
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
    use oriel_ori::{ControlFlow, parse_function};

    /// Follows the address of the only object, whose indexes all stay variable.
    fn followed(function: &Function) -> Accesses {
        follow(function, &frame_addresses(function), FrameObject::new(0), |_| {
            true
        })
    }

    /// Returns the numbers of indexes and accesses, and whether the address escapes.
    fn found(body: &str) -> (usize, usize, bool) {
        let text = format!(
            "kernel \"k\" sm_80 late {{\n    stack frame(0) 64 bytes align 8\nbix0:\n    %1:R32 = S2R.b32 tid.x\n    %2:R64 = LEA.b64 [frame(0)]\n{body}    RET\n}}\n"
        );
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let found = followed(&function);
        (found.indexed.len(), found.accesses.len(), found.escapes)
    }

    const INDEXED: &str = "    %3:R64 = IMAD.WIDE.u64.u32 %1, 4, %2\n    ST.local.b32.b32 %1, [%3]\n";

    #[test]
    fn a_variable_index_is_found() {
        assert_eq!(found(INDEXED), (1, 1, false));
    }

    /// True if ptxas keeps an array of elements of 4 bytes in memory, with `constant` loads that have a
    /// constant offset and `variable` stores that have an index, in a loop or not.
    fn is_kept(elements: u64, constant: usize, variable: usize, in_loop: bool) -> bool {
        let bytes = 4 * elements;
        let stores = "    ST.local.b32.b32 %1, [%3]\n".repeat(variable);
        let body = if in_loop {
            format!("    BRA bix1\nbix1:\n{stores}    BRA %5, bix1, fall bix2\nbix2:\n")
        } else {
            stores
        };
        let loads: String = (0..constant)
            .map(|number| {
                format!(
                    "    %{}:R32 = LD.local.b32.b32 [%2+{}]\n",
                    10 + number,
                    number as u64 % elements * 4
                )
            })
            .collect();
        let text = format!(
            "kernel \"k\" sm_80 late {{\n    stack frame(0) {bytes} bytes align 8\nbix0:\n    %1:R32 = S2R.b32 tid.x\n    %5:P = ISETP.ne.s32 %1, 64\n    %2:R64 = LEA.b64 [frame(0)]\n    %3:R64 = IMAD.WIDE.u64.u32 %1, 4, %2\n{body}{loads}    RET\n}}\n"
        );
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let flow = ControlFlow::of(&function);
        let depth = |it| {
            flow.loops
                .depth_of(function.block_of(it).expect("it is in a block"))
        };
        let found = followed(&function);
        !becomes_selects(&function, bytes, &found.accesses, depth)
    }

    #[test]
    fn only_elements_of_one_size_leave_memory() {
        let bits = |body: &str| {
            let text = format!(
                "kernel \"k\" sm_80 late {{\n    stack frame(0) 64 bytes align 8\nbix0:\n    %2:R64 = LEA.b64 [frame(0)]\n{body}    RET\n}}\n"
            );
            let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
            let found = followed(&function);
            element_bits(&function, &found.accesses)
        };
        let word = "    %3:R32 = LD.local.b32.b32 [%2]\n";
        let pair = "    %4:R32, %5:R32 = LD.local.b32.b32 [%2+8]\n";
        let wide = "    %6:R64 = LD.local.b64.b64 [%2+16]\n";
        assert_eq!(bits(word), Some(32));
        assert_eq!(bits(&format!("{word}{pair}")), Some(32));
        assert_eq!(bits(wide), None);
        assert_eq!(bits(&format!("{word}{wide}")), None);
    }

    #[test]
    fn small_arrays_become_selects() {
        // From ptxas 13.0.88: elements, and the most stores with which the array is in registers.
        for (elements, most, most_in_loop) in [(8, 30, 3), (12, 15, 1), (16, 12, 1), (32, 9, 0), (64, 8, 0)] {
            let constant = 2 * elements as usize;
            assert!(!is_kept(elements, constant, most, false), "{elements} elements");
            assert!(
                is_kept(elements, constant, most + 1, false),
                "{elements} elements"
            );
            assert!(
                !is_kept(elements, constant, most_in_loop, true),
                "{elements} elements"
            );
            assert!(
                is_kept(elements, constant, most_in_loop + 1, true),
                "{elements} elements"
            );
        }
        assert!(!is_kept(6, 2, 45, false));
        assert!(is_kept(100, 200, 1, false));
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
