//! The weights of registers.

use crate::never_worse::is_data;
use oriel_engine::entity::{EntityRef, Register};
use oriel_ori::{AddressSpace, Function, Operand, OperandKind, Operation, Special, units_of};

/// The 32-bit units of ptxas' registers that each register takes. A predicate takes none; neither
/// does a value that ptxas uses as an operand: an immediate, the address of a variable, a kernel's
/// parameter.
#[derive(Clone, Debug)]
pub(crate) struct Weights {
    /// By register.
    units: Vec<u32>,
}

impl Weights {
    /// Computes the weights of a function's registers.
    pub fn of(function: &Function) -> Self {
        let mut weights = Self { units: Vec::new() };
        weights.add_new(function);
        weights
    }

    /// Adds the weights of the registers that were created since the others were computed. Those stay right
    /// as long as definitions are only removed, copied or moved.
    pub fn add_new(&mut self, function: &Function) {
        let known = self.units.len();
        self.units.resize(function.register_limit(), 0);
        for register in function.registers().skip(known) {
            if is_data(function, register) && !is_operand(function, register) {
                self.units[register.index()] = units_of(function, register);
            }
        }
    }

    /// True if the register existed when the weights were computed.
    pub fn knows(&self, register: Register) -> bool {
        register.index() < self.units.len()
    }

    /// Returns the weight of a register.
    pub fn get(&self, register: Register) -> u32 {
        self.units[register.index()]
    }
}

/// True if the register's only value is one that instructions take as an operand.
fn is_operand(function: &Function, register: Register) -> bool {
    let Some(definition) = function.unique_definition(register) else {
        return false;
    };
    let is_parameter = |instruction| {
        function.operation(instruction) == Operation::Ld
            && function.modifiers(instruction).space == AddressSpace::EntryParam
    };
    let source = function.sources(definition).iter().next();
    match function.operation(definition) {
        Operation::ImplicitDef | Operation::Lea | Operation::FrameAddress => true,
        Operation::Mov | Operation::Copy => source.is_some_and(|source| is_constant(function, source)),
        Operation::Ld => is_parameter(definition),
        // A pointer passed to the kernel is the same number in each space.
        Operation::Cvta => {
            let pointer = source.and_then(Operand::as_register);
            let pointer = pointer.and_then(|pointer| function.unique_definition(pointer));
            pointer.is_some_and(is_parameter)
        }
        _ => false,
    }
}

fn is_constant(function: &Function, operand: Operand) -> bool {
    match operand.kind() {
        OperandKind::Immediate(_) | OperandKind::Constant(_) => true,
        OperandKind::Special(special) => matches!(
            function.special_data(special),
            Special::Symbol { .. } | Special::Frame(_)
        ),
        _ => false,
    }
}
