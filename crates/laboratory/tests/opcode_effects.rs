//! Checks every LLVM opcode against the table of effects: none that LLVM declares to have unmodeled
//! side effects, or to store, is pure with respect to memory, unless the table names its operation
//! with a reason. `docs/opcode-effects.md` has the counts; `cargo test --release -p
//! oriel-laboratory --test opcode_effects -- --ignored --nocapture` prints the list.

#![cfg(feature = "llvm")]

use inkwell::targets::{InitializationConfig, Target};
use oriel::ori::machine::mapping_named;
use oriel::ori::{InstructionFlags, MachineOpcode, MemoryRule, Operation, OperationFlags, unknown_effects};
use oriel::snapshot::abi::OpcodeFlags;
use oriel_laboratory::{LlvmOpcode, llvm_opcodes};

/// Opcodes that LLVM declares to have side effects though they only compute a value or branch: it
/// infers that if it has no pattern for the instruction. By the start of the name, with Ori's
/// operation.
const ONLY_VALUES: [(&str, Operation, &str); 5] = [
    ("BRX_", Operation::Brx, "is a part of a branch through a table"),
    (
        "cvta_",
        Operation::Cvta,
        "converts an address between address spaces",
    ),
    ("SETP_", Operation::Fsetp, "compares two pairs of halves"),
    (
        "LD_GLOBAL_NC_",
        Operation::Ld,
        "loads what does not change while the kernel runs",
    ),
    (
        "LDU_GLOBAL_",
        Operation::Ld,
        "only reads, as LLVM's intrinsic says",
    ),
];

fn opcodes() -> Vec<LlvmOpcode> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let all = llvm_opcodes();
    assert!(all.len() > 6000, "{} opcodes", all.len());
    // Opcodes that exist only before instruction selection never reach Oriel.
    let is_selected = |opcode: &LlvmOpcode| !opcode.flags.contains(OpcodeFlags::PRE_ISEL);
    all.into_iter().filter(is_selected).collect()
}

/// Returns Ori's operation of a machine instruction with this opcode, or an unknown one if it has
/// no mapping.
fn operation_of(opcode: &LlvmOpcode) -> Operation {
    match mapping_named(opcode.mapping_name()) {
        Some(mapping) => mapping.operation,
        // Branches and returns have no mappings.
        None if matches!(opcode.name.as_str(), "GOTO" | "CBranch") => Operation::Bra,
        None if opcode.name.starts_with("BRX_") => Operation::Brx,
        None if opcode.name == "Return" => Operation::Ret,
        None if opcode.flags.contains(OpcodeFlags::TERMINATOR) => Operation::OpaqueTerminator,
        None => Operation::Opaque,
    }
}

/// Returns the effects of an opaque instruction with this opcode.
fn unknown(opcode: &LlvmOpcode, operation: Operation) -> OperationFlags {
    let machine = MachineOpcode {
        name: opcode.name.clone().into(),
        mnemonic: None,
        flags: opcode.flags,
    };
    unknown_effects(operation, &machine, InstructionFlags::empty())
}

fn touches_memory(effects: OperationFlags) -> bool {
    effects.contains(OperationFlags::READS | OperationFlags::WRITES)
}

#[test]
fn no_opcode_with_unmodeled_side_effects_is_pure_to_memory() {
    let mut wrong = Vec::new();
    let mut with_effects = 0;
    for opcode in opcodes() {
        if !opcode.flags.contains(OpcodeFlags::SIDE_EFFECTS) {
            continue;
        }
        with_effects += 1;
        // An instruction with a mapping whose operands are unexpected is opaque too.
        if !touches_memory(unknown(&opcode, Operation::Opaque)) {
            wrong.push(format!("{} is pure where it is unknown", opcode.name));
        }
        let operation = operation_of(&opcode);
        let only_value = ONLY_VALUES
            .iter()
            .any(|&(start, known, _)| known == operation && opcode.name.starts_with(start));
        let is_safe = match MemoryRule::of(operation) {
            MemoryRule::Unknown => touches_memory(unknown(&opcode, operation)),
            MemoryRule::Fence | MemoryRule::Atomic | MemoryRule::Call | MemoryRule::Parameters => true,
            // The table gives the reason.
            MemoryRule::Inaccessible => true,
            MemoryRule::Value | MemoryRule::Access => only_value,
        };
        if !is_safe {
            wrong.push(format!("{} is {operation:?}", opcode.name));
        }
    }
    assert!(with_effects > 1500, "{with_effects}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn what_llvm_says_is_stored_is_written_or_out_of_reach() {
    let mut wrong = Vec::new();
    for opcode in opcodes() {
        let operation = operation_of(&opcode);
        let rule = MemoryRule::of(operation);
        let stores = opcode.flags.contains(OpcodeFlags::MAY_STORE);
        let loads = opcode.flags.contains(OpcodeFlags::MAY_LOAD);
        let effects = match rule {
            MemoryRule::Unknown => unknown(&opcode, operation),
            _ => operation.flags(),
        };
        let is_safe = rule == MemoryRule::Inaccessible
            || (!stores || effects.contains(OperationFlags::WRITES))
                && (!loads || effects.contains(OperationFlags::READS));
        if !is_safe {
            wrong.push(format!("{} is {operation:?}", opcode.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Effects out of reach of loads and stores keep their order: nothing merges, removes or repeats
/// them.
#[test]
fn what_is_out_of_reach_keeps_its_order() {
    for &operation in Operation::ALL {
        // Of the special registers only counters have effects.
        if MemoryRule::of(operation) == MemoryRule::Inaccessible && operation != Operation::S2r {
            assert!(
                operation.flags().contains(OperationFlags::SIDE_EFFECTS),
                "{operation:?}"
            );
        }
    }
}

/// Only inline assembly and opcodes without a meaning in Ori write results early or tie operands, so
/// phases check only there.
#[test]
fn no_opcode_of_the_target_writes_early_or_ties_operands() {
    // These exist on every target. NVPTX has no subregisters, and ARITH_FENCE has no meaning in Ori.
    let of_every_target = ["INSERT_SUBREG", "ARITH_FENCE"];
    for opcode in opcodes() {
        let is_bound = opcode.operands.iter().any(|operand| operand.contains(['&', '+']));
        assert!(
            !is_bound || of_every_target.contains(&opcode.name.as_str()),
            "{}: {:?}",
            opcode.name,
            opcode.operands
        );
    }
}

/// Returns the effects of an opaque instruction by the rules before this table: side effects
/// without a load or store touched no memory.
fn class_before(opcode: &LlvmOpcode) -> String {
    let flags = opcode.flags;
    let (loads, stores) = (
        flags.contains(OpcodeFlags::MAY_LOAD),
        flags.contains(OpcodeFlags::MAY_STORE),
    );
    let looks = flags.contains(OpcodeFlags::SIDE_EFFECTS) && (loads || stores);
    class(loads, stores || looks, flags.contains(OpcodeFlags::SIDE_EFFECTS))
}

fn class(reads: bool, writes: bool, is_ordered: bool) -> String {
    let memory = match (reads, writes) {
        (false, false) => "nothing",
        (true, false) => "reads",
        (false, true) => "writes",
        (true, true) => "reads and writes",
    };
    let order = if is_ordered { ", in order" } else { "" };
    format!("{memory}{order}")
}

#[test]
#[ignore = "prints the opcodes whose class the table of effects has changed"]
fn print_what_changed() {
    for opcode in opcodes() {
        let operation = operation_of(&opcode);
        if MemoryRule::of(operation) != MemoryRule::Unknown {
            continue;
        }
        let now = unknown(&opcode, operation);
        let now = class(
            now.contains(OperationFlags::READS),
            now.contains(OperationFlags::WRITES),
            now.contains(OperationFlags::SIDE_EFFECTS),
        );
        let before = class_before(&opcode);
        if before != now {
            println!("changed\t{}\t{before}\t{now}", opcode.mapping_name());
        }
    }
}
