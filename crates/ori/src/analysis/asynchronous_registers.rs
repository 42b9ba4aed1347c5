//! Instructions that still read or write registers when the next one runs.
//!
//! `wgmma.mma_async` works on its accumulators and its matrix A in the background: between
//! `wgmma.fence` and `wgmma.wait_group` no other instruction may touch these registers. Results of
//! `tcgen05.ld` and sources of `tcgen05.st` are in use until `tcgen05.wait` (PTX ISA, at each of
//! these instructions). No operand says so: to LLVM's code and to Ori such registers are values like
//! all others.

use crate::{Function, Operation};

/// The beginnings of the names of instructions that use registers after they were issued: PTX's, and
/// LLVM's if it has opcodes for them.
const ASYNCHRONOUS: [(&str, Option<&str>); 3] = [
    ("wgmma.mma_async", None),
    ("tcgen05.ld", Some("TCGEN05_LD_")),
    ("tcgen05.st", Some("TCGEN05_ST_")),
];

/// Returns PTX's name of an instruction of the function that uses registers after it was issued.
pub fn asynchronous_register_user(function: &Function) -> Option<&'static str> {
    function.all_instructions().find_map(|instruction| {
        let operation = function.operation(instruction);
        if !matches!(
            operation,
            Operation::InlineAsm | Operation::OpaqueTerminator | Operation::Opaque
        ) {
            return None;
        }
        let opcode = function.machine_opcode(instruction);
        let has_prefix = |prefix| opcode.is_some_and(|opcode| opcode.name.starts_with(prefix));
        let mut names = ASYNCHRONOUS.into_iter();
        let found = names.find(|&(name, prefix)| {
            function.has_ptx_name(instruction, name) || prefix.is_some_and(has_prefix)
        });
        found.map(|(name, _)| name)
    })
}
