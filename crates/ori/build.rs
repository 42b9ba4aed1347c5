//! Makes the table from LLVM's opcodes to Ori.

#[expect(
    dead_code,
    reason = "what the library needs of this file, and the table of mappings does not"
)]
#[path = "src/modifiers.rs"]
mod modifiers;
#[expect(
    dead_code,
    reason = "what the library needs of this file, and the table of mappings does not"
)]
#[path = "src/operation.rs"]
mod operation;
#[expect(
    dead_code,
    reason = "what the library needs of this file, and the table of mappings does not"
)]
#[path = "src/types.rs"]
mod types;

#[path = "src/machine"]
#[expect(
    dead_code,
    reason = "what the library needs of this file, and the table of mappings does not"
)]
mod machine {
    pub mod name_hash;
    pub mod operand_class;
    pub mod patterns;
}

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    write_mappings();
}

/// Writes a source file that the library includes.
fn write_source(name: &str, source: &str) {
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join(name), source).expect("cargo's folder can be written to");
}

/// Writes the table from LLVM's opcodes to Ori.
fn write_mappings() {
    for read in [
        "modifiers.rs",
        "operation.rs",
        "types.rs",
        "machine/name_hash.rs",
        "machine/patterns",
        "machine/operand_class.rs",
    ] {
        println!("cargo::rerun-if-changed=src/{read}");
    }
    write_source("opcode_mappings.rs", &machine::patterns::source_of_table());
}
