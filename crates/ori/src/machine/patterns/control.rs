//! Patterns of calls and other control instructions. Branches consist of several instructions and
//! have no mappings; see `from_machine.rs`.

use super::PatternTable;
use crate::modifiers::ModifierFlags;
use crate::operation::Operation;
use crate::types::DataType;

/// Adds all patterns. Among equally good mappings of an operation, the first is used.
pub(super) fn add(table: &mut PatternTable) {
    calls_and_traps(table);
}

fn calls_and_traps(table: &mut PatternTable) {
    let none = ModifierFlags::empty();
    let uniform = ModifierFlags::UNIFORM;
    let convergent = ModifierFlags::CONVERGENT;
    for (name, operation, words, flags) in [
        ("Callseq_Start", Operation::CallStart, "count count", none),
        ("Callseq_End", Operation::CallEnd, "count count", none),
        (
            "DECLARE_PARAM_scalar",
            Operation::DeclareParam,
            "symbol count",
            none,
        ),
        (
            "DECLARE_PARAM_array",
            Operation::DeclareParam,
            "symbol count count",
            none,
        ),
        ("CALL_PROTOTYPE", Operation::Prototype, "symbol", none),
        // Function, results, parameters; for a call by address also the prototype.
        ("CALL_UNI", Operation::Call, "base count count", uniform),
        (
            "CALL_UNI_conv",
            Operation::Call,
            "base count count",
            uniform | convergent,
        ),
        ("CALL", Operation::Call, "base count count count", none),
        ("CALL_conv", Operation::Call, "base count count count", convergent),
        ("trapinst", Operation::Trap, "", none),
    ] {
        table.add(name, operation, DataType::None, words).flags(flags);
    }
}
