//! Every form of Ori's table against LLVM: the opcode is there, its operands are what the places say,
//! and what LLVM prints for it agrees with operation, types and modifiers.

#![cfg(feature = "llvm")]

use inkwell::targets::{InitializationConfig, Target};
use oriel::ori::machine::{Encoding, Form, Place, forms};
use oriel::ori::{
    AddressSpace, DataType, ModifierFlags, Operation, Ordering, Rounding, Scope, TypeClass, Variant,
};
use oriel::{LlvmOpcode, llvm_opcodes, print_llvm_opcode};
use std::collections::HashMap;

/// LLVM's opcodes by name, and by mnemonic where the name is a number.
fn opcodes() -> HashMap<String, LlvmOpcode> {
    Target::initialize_nvptx(&InitializationConfig::default());
    let mut by_name = HashMap::new();
    for opcode in llvm_opcodes() {
        let key = if opcode.mnemonic.is_empty() {
            opcode.name.clone()
        } else {
            opcode.mnemonic.clone()
        };
        by_name.entry(key).or_insert(opcode);
    }
    by_name
}

/// May an operand that LLVM describes so stand in this place?
fn fits(place: Place, described: &str) -> bool {
    let is_register = |bits: u8| described == format!("B{bits}");
    match place {
        Place::Result(bits) => described == format!("=B{bits}"),
        Place::Register(bits) => is_register(bits),
        // An absent description: LLVM leaves the operand to the printer.
        Place::Constant(_) | Place::Count => matches!(described, "i" | "?"),
        Place::Value(_) => described == "?",
        // Symbols of calls are described as immediates, those of parameters as registers.
        Place::Symbol => matches!(described, "i" | "?"),
        Place::Base => matches!(described, "?" | "B32" | "B64"),
        Place::UsedBytes | Place::Modifier(_) => matches!(described, "i" | "?"),
    }
}

#[test]
fn every_form_is_an_opcode_with_these_operands() {
    let opcodes = opcodes();
    let mut wrong = Vec::new();
    for (_, form) in forms().iter() {
        match opcodes.get(&form.name) {
            None => wrong.push(format!("{}: LLVM has no such opcode", form.name)),
            Some(opcode) => {
                let places = form.places.iter().zip(&opcode.operands);
                if form.places.len() != opcode.operands.len()
                    || !places.clone().all(|(&place, described)| fits(place, described))
                {
                    wrong.push(format!(
                        "{}: {:?} but {:?}",
                        form.name, form.places, opcode.operands
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
    assert!(forms().iter().count() > 1000);
}
