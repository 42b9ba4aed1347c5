//! The source variables that values hold, according to debug instructions.

use oriel_engine::entity::{EntityRef, Instruction, Register, Variable};
use oriel_engine::live::{LiveIntervals, ValueNumber};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::OperandKind;

/// The variable that a register holds from an instruction on.
struct Holding {
    register: Register,
    instruction: Instruction,
    variable: Variable,
}

/// The debug instructions of a function, by ascending register.
pub(crate) struct VariableMap(Vec<Holding>);

impl VariableMap {
    /// Reads the debug instructions; a function without variables has none.
    pub(crate) fn of(snapshot: &Snapshot<'_>) -> Self {
        let mut holdings = Vec::new();
        if snapshot.arrays().variables.is_empty() {
            return Self(holdings);
        }
        for instruction in snapshot.instructions() {
            let reference = snapshot.instruction(instruction);
            if !reference.is_debug() {
                continue;
            }
            let of_kind = |kind| reference.operands().filter(move |operand| operand.kind() == kind);
            for variable in of_kind(OperandKind::Variable) {
                let variable = Variable::new(variable.record().index as usize);
                holdings.extend(of_kind(OperandKind::Register).map(|operand| Holding {
                    register: Register::new(operand.record().index as usize),
                    instruction,
                    variable,
                }));
            }
        }
        holdings.sort_by_key(|holding| holding.register);
        Self(holdings)
    }

    /// Returns the names of the variables that a value of a register holds, each once. Where values
    /// meet, debug instructions often describe only the incoming ones; then the result is the names
    /// of the register's other values.
    pub(crate) fn names(
        &self,
        snapshot: &Snapshot<'_>,
        intervals: &LiveIntervals,
        register: Register,
        value: ValueNumber,
    ) -> Vec<String> {
        let first = self.0.partition_point(|holding| holding.register < register);
        let length = self.0[first..].partition_point(|holding| holding.register == register);
        let of_register = &self.0[first..first + length];
        let of_value = of_register.iter().filter(|holding| {
            // The debug instruction comes after the definition of the value.
            let index = intervals.indexes().index_at_or_before(holding.instruction);
            intervals.interval(register).query(index).value_out() == Some(value)
        });
        let names = distinct_names(snapshot, of_value);
        match names.is_empty() {
            true => distinct_names(snapshot, of_register.iter()),
            false => names,
        }
    }
}

fn distinct_names<'h>(snapshot: &Snapshot<'_>, holdings: impl Iterator<Item = &'h Holding>) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for holding in holdings {
        let name = snapshot.string(snapshot.variable(holding.variable).name);
        if !names.iter().any(|known| *known == name) {
            names.push(name.into_owned());
        }
    }
    names
}
