//! Checks every mapping of Ori's table against LLVM: the opcode exists, its operands match their
//! classes, and LLVM's output agrees with operation, types and modifiers.

#![cfg(feature = "llvm")]

use inkwell::targets::{InitializationConfig, Target};
use oriel::ori::machine::{Description, Encoding, OpcodeMapping, OperandClass, all_mappings};
use oriel::ori::{AddressSpace, DataType, ModifierFlags, Operation, Rounding, Scope, TypeClass, Variant};
use oriel_laboratory::{LlvmOpcode, llvm_opcodes, print_llvm_opcode};
use std::collections::HashMap;

/// LLVM's opcodes by name, and by mnemonic where the name is a number.
fn opcodes() -> HashMap<String, LlvmOpcode> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let mut by_name = HashMap::new();
    for opcode in llvm_opcodes() {
        by_name.entry(opcode.mapping_name().to_owned()).or_insert(opcode);
    }
    by_name
}

/// True if an operand with LLVM's description can have this class.
fn fits(class: OperandClass, described: &str) -> bool {
    let is_register = |bits: u8| described == format!("B{bits}");
    match class {
        OperandClass::Result(bits) => described == format!("=B{bits}"),
        OperandClass::Register(bits) => is_register(bits),
        // There is no description: LLVM leaves the operand to the printer.
        OperandClass::Constant(_) | OperandClass::Count => matches!(described, "i" | "?"),
        OperandClass::Value(_) => described == "?",
        // Symbols of calls are described as immediates, those of parameters as registers.
        OperandClass::Symbol => matches!(described, "i" | "?"),
        OperandClass::Base => matches!(described, "?" | "B32" | "B64"),
        OperandClass::UsedBytes | OperandClass::Modifier(_) => matches!(described, "i" | "?"),
    }
}

/// Operands that instruction selection makes, where LLVM's own description of the opcode is another
/// one: `lit-tests/ori/full-division.ll` has such instructions.
const SELECTED_OTHERWISE: [(&str, [&str; 4]); 1] = [("FDIV32ri", ["=B32", "B32", "B32", "?"])];

/// Returns the operands of an opcode as functions have them.
fn operands_of(opcode: &LlvmOpcode) -> Vec<&str> {
    let selected = SELECTED_OTHERWISE.iter().find(|(name, _)| opcode.name == *name);
    match selected {
        Some((_, operands)) => operands.to_vec(),
        None => opcode.operands.iter().map(String::as_str).collect(),
    }
}

#[test]
fn every_form_is_an_opcode_with_these_operands() {
    let opcodes = opcodes();
    let mut wrong = Vec::new();
    for mapping in all_mappings() {
        match opcodes.get(mapping.name()) {
            None => wrong.push(format!("{}: LLVM has no such opcode", mapping.name())),
            Some(opcode) => {
                let operands = operands_of(opcode);
                let mut places = mapping.operands().iter().zip(&operands);
                if mapping.operands().len() != operands.len()
                    || !places.all(|(&class, described)| fits(class, described))
                {
                    wrong.push(format!(
                        "{}: {:?} but {:?}",
                        mapping.name(),
                        mapping.operands(),
                        operands
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(all_mappings().count() > 1000);
}

/// Returns numbers for all operands except registers, and the mapping's description with them
/// decoded.
fn numbers_for(mapping: &OpcodeMapping, opcode: &LlvmOpcode) -> (Vec<i64>, Description) {
    let mut description = mapping.description;
    let mut numbers = Vec::new();
    for (class, described) in mapping.operands().iter().zip(&opcode.operands) {
        let number = match *class {
            OperandClass::Modifier(encoding) => match encoding {
                Encoding::Ftz => 1,
                Encoding::IntegerComparison | Encoding::FloatComparison => 4,
                Encoding::Conversion => 5,
                Encoding::Permutation => 2,
                Encoding::Space => 1,
                Encoding::Ordering | Encoding::Scope | Encoding::MemoryClass => 0,
                Encoding::MemoryWidth => i64::from(mapping.description.data_type.bits()),
            },
            // All bytes; any other number is printed as a pragma of its own.
            OperandClass::UsedBytes => -1,
            _ => 0,
        };
        if let OperandClass::Modifier(encoding) = *class {
            assert!(
                encoding.decode(number, &mut description),
                "{}: {class:?}",
                mapping.name()
            );
        }
        if !described.trim_start_matches('=').starts_with('B') {
            numbers.push(number);
        }
    }
    (numbers, description)
}

/// Returns PTX's names of an operation.
fn stems(operation: Operation) -> &'static [&'static str] {
    use Operation as O;
    match operation {
        O::Iadd | O::Fadd | O::IaddCarryOut => &["add"],
        O::IaddCarry => &["addc"],
        O::Isub | O::Fsub | O::IsubCarryOut => &["sub"],
        O::IsubCarry => &["subc"],
        O::Imul | O::ImulHi | O::ImulWide | O::Fmul => &["mul"],
        O::Imul24 => &["mul24"],
        O::Imad | O::ImadWide => &["mad"],
        O::Isad => &["sad"],
        O::Idiv | O::Fdiv => &["div"],
        O::Irem => &["rem"],
        O::Imin | O::Fmin => &["min"],
        O::Imax | O::Fmax => &["max"],
        O::Iabs | O::Fabs => &["abs"],
        O::Ineg | O::Fneg => &["neg"],
        O::Dp2a => &["dp2a"],
        O::Dp4a => &["dp4a"],
        O::And => &["and"],
        O::Or => &["or"],
        O::Xor => &["xor"],
        O::Not => &["not"],
        O::Shl => &["shl"],
        O::Shr => &["shr"],
        O::Shf => &["shf"],
        O::Bfe => &["bfe"],
        O::Bfi => &["bfi"],
        O::Bfind => &["bfind"],
        O::Bmsk => &["bmsk"],
        O::Szext => &["szext"],
        O::Brev => &["brev"],
        O::Clz => &["clz"],
        O::Popc => &["popc"],
        O::Prmt => &["prmt"],
        O::Fns => &["fns"],
        O::Ffma => &["fma"],
        O::Frcp => &["rcp"],
        O::Fsqrt => &["sqrt"],
        O::Frsqrt => &["rsqrt"],
        O::Fsin => &["sin"],
        O::Fcos => &["cos"],
        O::Flg2 => &["lg2"],
        O::Fex2 => &["ex2"],
        O::Ftanh => &["tanh"],
        O::Fcopysign => &["copysign"],
        O::Ftestinf => &["testp"],
        O::Isetp | O::Fsetp => &["setp"],
        O::Sel => &["selp"],
        O::Cvt => &["cvt"],
        O::Cvta => &["cvta"],
        O::Isspacep => &["isspacep"],
        O::Mov | O::S2r | O::Pack | O::Unpack | O::Extract | O::FrameAddress => &["mov"],
        O::Lea => &["add", "mov"],
        O::Ld => &["ld", "ldu"],
        O::St => &["st"],
        O::Atom => &["atom"],
        O::Membar => &["membar", "fence"],
        O::Bar | O::BarRed | O::WarpSync => &["bar", "barrier"],
        O::Shfl => &["shfl"],
        O::Vote => &["vote"],
        O::Match => &["match"],
        O::Redux => &["redux"],
        O::ActiveMask => &["activemask"],
        O::Trap => &["trap"],
        other => panic!("{other:?} has no mnemonic to compare with"),
    }
}

/// Returns a disagreement between a mapping and the words of the mnemonic that LLVM prints.
fn disagreement(mapping: &OpcodeMapping, description: &Description, words: &[&str]) -> Option<String> {
    let has = |word: &str| words.contains(&word);
    if !stems(mapping.operation).contains(&words[0]) {
        return Some(format!("operation {:?}", mapping.operation));
    }
    let modifiers = &description.modifiers;
    for (flag, word) in [
        (ModifierFlags::FTZ, "ftz"),
        (ModifierFlags::SAT, "sat"),
        (ModifierFlags::RELU, "relu"),
        (ModifierFlags::SATFINITE, "satfinite"),
        (ModifierFlags::NAN, "NaN"),
        (ModifierFlags::XORSIGN_ABS, "xorsign"),
        (ModifierFlags::CLAMP, "clamp"),
    ] {
        if modifiers.flags.contains(flag) != has(word) {
            return Some(format!("flag {word}"));
        }
    }
    for &rounding in Rounding::ALL {
        if (modifiers.rounding == rounding) != has(rounding.name()) {
            return Some(format!("rounding {}", rounding.name()));
        }
    }
    let mut wanted = vec![modifiers.comparison.name()];
    // LLVM does not print these: a direction of `cvta`, the half of a register.
    if !matches!(modifiers.variant, Variant::FromSpace) && mapping.operation != Operation::Extract {
        wanted.push(modifiers.variant.name());
    }
    wanted.push(match modifiers.space {
        AddressSpace::EntryParam => "param",
        AddressSpace::Generic => "",
        space => space.name(),
    });
    if mapping.operation == Operation::Membar || mapping.name().contains("SATOM") {
        wanted.push(modifiers.ordering.name());
        wanted.push(match modifiers.scope {
            Scope::Device if words[0] == "membar" => "gl",
            scope => scope.name(),
        });
    }
    if let Some(missing) = wanted.into_iter().find(|word| !word.is_empty() && !has(word)) {
        return Some(format!("{missing} is missing"));
    }
    let own = [description.data_type, description.source_type];
    let is_own = |printed: DataType| {
        own.iter().any(|own| {
            let plain = own.class() == TypeClass::Bits || printed.class() == TypeClass::Bits;
            own.bits() == printed.bits() && (plain || own.class() == printed.class())
        })
    };
    let parse = |word: &&str| match *word {
        "pred" => Some(DataType::B1),
        word => DataType::from_name(word),
    };
    words
        .iter()
        .filter_map(parse)
        .find(|&printed| !is_own(printed))
        .map(|printed| format!("type {printed:?}"))
}

#[test]
fn what_llvm_prints_agrees_with_every_form() {
    let opcodes = opcodes();
    let mut wrong = Vec::new();
    let mut printed = 0;
    for mapping in all_mappings() {
        // Parts of calls are printed by surrounding ones.
        let is_of_call = mapping
            .operation
            .flags()
            .contains(oriel::ori::OperationFlags::CALL_SEQUENCE);
        let opcode = &opcodes[mapping.name()];
        if is_of_call {
            continue;
        }
        let (numbers, description) = numbers_for(mapping, opcode);
        let text = print_llvm_opcode(&opcode.name, &numbers).expect("LLVM has the opcode");
        // If LLVM names a register for the half that it drops, the instruction comes second.
        let text = text
            .trim()
            .trim_start_matches("{ .reg .b16 tmp;")
            .trim_start_matches("{ .reg .b32 tmp;");
        let text = text.trim_start_matches("{\t").trim();
        let text = text.split_once("tmp;").map_or(text, |(_, rest)| rest.trim());
        let mnemonic = text.split([' ', '\t', ';']).next().unwrap_or_default();
        let words: Vec<&str> = mnemonic.split('.').collect();
        printed += 1;
        if let Some(what) = disagreement(mapping, &description, &words) {
            wrong.push(format!("{}: {what}: {text}", mapping.name()));
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(printed > 1000);
}
