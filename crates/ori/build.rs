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
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    let table = machine::patterns::source_of_table();
    std::fs::write(Path::new(&out).join("opcode_mappings.rs"), table)
        .expect("cargo's folder can be written to");
}
