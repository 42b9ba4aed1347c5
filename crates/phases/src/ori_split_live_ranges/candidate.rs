//! Registers that can be split, by the kind of their definition.

use crate::shared::expressions::only_defines_register;
use oriel_engine::entity::{EntitySet, Register};
use oriel_ori::{AddressSpace, Function, Instruction, Operand, Operation, OperationFlags, RegisterFile};
use smallvec::SmallVec;

/// How a value is recomputed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A constant, an address, a special register, a parameter: recomputed from nothing.
    Move,
    /// A copy, or a PHI of one value: replaced by the register at the end of the chain.
    Chain(Register),
    /// Cheap arithmetic: recomputed from these registers.
    MultiOperand(SmallVec<[Register; 2]>),
}

impl Kind {
    /// Returns the registers that must be live where the value is recomputed.
    pub fn needs(&self) -> &[Register] {
        match self {
            Self::Move => &[],
            Self::Chain(root) => std::slice::from_ref(root),
            Self::MultiOperand(sources) => sources,
        }
    }
}

/// The most copies and PHIs in a chain.
const LONGEST_CHAIN: usize = 16;

/// Returns how the value of a register can be recomputed; none if it cannot, or if that would cost
/// more than holding it.
pub(super) fn classify(
    function: &Function,
    single_valued: &EntitySet<Register>,
    register: Register,
) -> Option<Kind> {
    if function.register(register).file != RegisterFile::R || !single_valued.contains(register) {
        return None;
    }
    let root = chain_root(function, single_valued, register);
    if root != register {
        return Some(Kind::Chain(root));
    }
    let definition = function.unique_definition(register)?;
    if !is_cheap(function, definition) {
        return None;
    }
    let mut sources: SmallVec<[Register; 2]> = SmallVec::new();
    for source in function.sources(definition) {
        match source.as_register() {
            Some(source_register) => {
                if source.is_undefined() || !single_valued.contains(source_register) {
                    return None;
                }
                sources.push(source_register);
            }
            None => continue,
        }
    }
    sources.sort_unstable();
    sources.dedup();
    Some(match sources.is_empty() {
        true => Kind::Move,
        false => Kind::MultiOperand(sources),
    })
}

/// Returns the register at the root of a chain of copies and PHIs with one value.
fn chain_root(function: &Function, single_valued: &EntitySet<Register>, register: Register) -> Register {
    let mut root = register;
    for _ in 0..LONGEST_CHAIN {
        let Some(definition) = function.unique_definition(root) else {
            break;
        };
        let mut values: SmallVec<[Operand; 4]> = match function.operation(definition) {
            Operation::Copy | Operation::Mov => function.sources(definition).iter().collect(),
            Operation::Phi => function.sources(definition).iter().step_by(2).collect(),
            _ => break,
        };
        values.retain(|value| value.as_register() != Some(root));
        let Some((&first, rest)) = values.split_first() else {
            break;
        };
        let Some(source) = first.as_register() else { break };
        let (of_root, of_source) = (function.register(root), function.register(source));
        if rest.iter().any(|&value| value != first)
            || first.is_modified()
            || first.is_undefined()
            || !single_valued.contains(source)
            || (of_root.bits, of_root.class) != (of_source.bits, of_source.class)
        {
            break;
        }
        root = source;
    }
    root
}

/// True if executing it again is cheaper than holding its result in a register, as ptxas sees it.
/// Rematerialize, which may add an instruction to each block, has a choice of its own.
fn is_cheap(function: &Function, definition: Instruction) -> bool {
    if !only_defines_register(function, definition) {
        return false;
    }
    let operation = function.operation(definition);
    if operation == Operation::Ld {
        // Parameters are in constant memory, from which instructions can read them directly.
        let mut sources = function.sources(definition).iter();
        return function.modifiers(definition).space == AddressSpace::EntryParam
            && sources.all(|source| source.as_register().is_none());
    }
    operation.flags().contains(OperationFlags::REMATERIALIZABLE)
}
