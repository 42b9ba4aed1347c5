//! Instructions that still read or write registers when the next one runs.
//!
//! `wgmma.mma_async` works on its accumulators and its matrix A in the background: between
//! `wgmma.fence` and `wgmma.wait_group` no other instruction may touch these registers. Results of
//! `tcgen05.ld` and sources of `tcgen05.st` are in use until `tcgen05.wait` (PTX ISA, at each of
//! these instructions). No operand says so: to LLVM's code and to Ori such registers are values like
//! all others.

use crate::{Function, Instruction, Operation};

/// The beginnings of the names of instructions that use registers after they were issued: PTX's, and
/// LLVM's if it has opcodes for them.
const ASYNCHRONOUS: [(&str, Option<&str>); 3] = [
    ("wgmma.mma_async", None),
    ("tcgen05.ld", Some("TCGEN05_LD_")),
    ("tcgen05.st", Some("TCGEN05_ST_")),
];

/// Returns an instruction that uses registers after it was issued, and its name.
pub fn asynchronous_register_user(function: &Function) -> Option<(Instruction, &'static str)> {
    function.all_instructions().find_map(|instruction| {
        let mut names = ASYNCHRONOUS.into_iter();
        let name = match function.operation(instruction) {
            Operation::InlineAsm | Operation::OpaqueTerminator => {
                let text = function.assembly_text(instruction)?;
                names.find(|(name, _)| text.contains(name))
            }
            Operation::Opaque => {
                let opcode = function.machine_opcode(instruction)?;
                let mnemonic = opcode.mnemonic.as_deref();
                names.find(|(name, prefix)| {
                    mnemonic.is_some_and(|mnemonic| mnemonic.starts_with(name))
                        || prefix.is_some_and(|prefix| opcode.name.starts_with(prefix))
                })
            }
            _ => None,
        };
        name.map(|(name, _)| (instruction, name))
    })
}
