//! Registers that may be read before they are written.
//!
//! A register that is live at the function's entry is read on some path without a definition. The
//! reference's detector checks every block; the entry suffices, since a register that is live into
//! a block on a path from the entry without a definition is live at the entry.
//!
//! Reads that the program declares irrelevant are no findings: an operand marked undefined reads
//! nothing, and an `IMPLICIT_DEF` is a definition.

use crate::{Function, Liveness};
use oriel_engine::entity::Register;

/// Returns the registers that may be read before they are written, ascending.
pub fn uninitialized_registers(function: &Function, liveness: &Liveness) -> Vec<Register> {
    if function.blocks().is_empty() {
        return Vec::new();
    }
    let registers = function.registers();
    registers
        .filter(|&register| liveness.is_live_in(register, function.entry()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_functions;

    fn found(body: &str) -> Vec<u32> {
        let text = format!("kernel \"k\" sm_80 late {{\n{body}\n}}\n");
        let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{error}"));
        let function = &functions[0];
        let liveness = Liveness::of(function);
        let registers = uninitialized_registers(function, &liveness);
        registers.into_iter().map(Register::as_u32).collect()
    }

    #[test]
    fn a_definition_on_one_of_two_paths_is_not_enough() {
        let body = |other: &str| {
            format!(
                "bix0:
    %1:R32 = S2R.b32 tid.x
    %2:P = ISETP.gt.s32 %1, 5
    BRA %2, bix1, fall bix2
bix1:
    %3:R32 = MOV.b32 1
    BRA fall bix3
bix2:
    {other}
    BRA fall bix3
bix3:
    %4:R32 = IADD.b32 %3, %1
    RET"
            )
        };
        assert_eq!(found(&body("%5:R32 = MOV.b32 2")), [3]);
        assert_eq!(found(&body("%3:R32 = MOV.b32 2")), [0; 0]);
        assert_eq!(found(&body("%3:R32 = UNDEF.b32")), [0; 0]);
    }

    #[test]
    fn a_loop_that_reads_what_its_end_writes_reads_nothing_the_first_time() {
        let body = "bix0:
    %1:R32 = MOV.b32 0
    BRA fall bix1
bix1:
    %1:R32 = IADD.b32 %1, %2
    %2:R32 = IADD.b32 %1, 1
    %3:P = ISETP.gt.s32 %2, 5
    BRA %3, bix2, fall bix1
bix2:
    RET";
        assert_eq!(found(body), [2]);
    }
}
