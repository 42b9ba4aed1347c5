//! Structural equivalence: registers that hold equal values because they are computed alike.
//!
//! The reference compares two chains in nine steps. Here the content of each step is part of the
//! key by which a value is looked up, so that no pairs need to be compared:
//!
//! | step | where it is |
//! |---|---|
//! | def-chain, register resolution | the single definition of a register in SSA form |
//! | pair detection, first and second | the lookup: the first register with a key stands for all others |
//! | predicates are compatible | predicates are operands, and so part of the key |
//! | operand formats | the operands' kinds are |
//! | equal registers | so are the values that operands stand for |
//! | negation, absolute value | so are the operands' modifiers |
//! | sub-DAG to depth 2, alias hazard | operands are taken for what computes them, two levels down; a load that a write may change stands for itself |
//!
//! Values that are equal by this criterion are equal wherever both are live, since the values that
//! they are computed from dominate them.

use crate::shared::expressions::{
    ExpressionKind, copied_register, depends_on_writes, describe, expression_kind,
};
use crate::shared::value_table::ValueTable;
use oriel_engine::entity::{PackedOption, Register, SecondaryMap};
use oriel_engine::hash::CodeHash;
use oriel_ori::{Function, Instruction, Operation};

/// The number of levels of definitions that are compared.
const DEPTH: usize = 2;

/// The leaders of registers, computed on demand.
#[derive(Debug, Default)]
pub(crate) struct Values {
    levels: [Level; DEPTH],
}

/// The leaders for a given number of levels.
#[derive(Debug, Default)]
struct Level {
    /// By register: the first one with the same key.
    leaders: SecondaryMap<Register, PackedOption<Register>>,
    table: ValueTable<Register>,
    /// The words of the definition that is looked up.
    words: Vec<u32>,
}

impl Values {
    /// Returns the leader of all registers with the value of this one.
    pub fn of(&mut self, function: &Function, register: Register) -> Register {
        self.leader(function, register, DEPTH)
    }

    /// Returns the leader of the registers that equal this one to a given depth.
    fn leader(&mut self, function: &Function, register: Register, depth: usize) -> Register {
        let Some(level) = depth.checked_sub(1) else {
            return origin_of(function, register);
        };
        if let Some(leader) = self.levels[level].leaders[register].expand() {
            return leader;
        }
        let origin = origin_of(function, register);
        let leader = match transparent_definition(function, origin) {
            None => origin,
            Some(definition) => self.leader_of_definition(function, origin, definition, level),
        };
        self.levels[level].leaders[register] = leader.into();
        leader
    }

    /// Returns the leader of the results that are like this one of a transparent definition.
    fn leader_of_definition(
        &mut self,
        function: &Function,
        result: Register,
        definition: Instruction,
        level: usize,
    ) -> Register {
        let mut words = std::mem::take(&mut self.levels[level].words);
        let value = |source| self.leader(function, source, level);
        describe(function, definition, None, value, &mut words);
        let mut results = function.results(definition).iter();
        let number = results.position(|operand| operand.as_register() == Some(result));
        words.push(number.expect("it is a result") as u32);
        let hash = CodeHash::new().words(&words).finish();
        let table = &mut self.levels[level].table;
        let known = table.find(&words, hash);
        let value = known.unwrap_or_else(|| table.insert(&words, hash, result));
        let leader = table[value];
        self.levels[level].words = words;
        leader
    }
}

/// Returns the register at the end of a chain of copies.
fn origin_of(function: &Function, mut register: Register) -> Register {
    // A cycle of copies has no definition that dominates it; verified functions have none.
    for _ in 0..function.register_limit() {
        let source = function
            .unique_definition(register)
            .filter(|&definition| matches!(function.operation(definition), Operation::Mov | Operation::Copy))
            .filter(|&definition| !function.source(definition, 0).is_undefined())
            .and_then(|definition| copied_register(function, definition));
        match source {
            Some(source) => register = source,
            None => break,
        }
    }
    register
}

/// Returns the definition of a register, if equal operands give equal values wherever it is.
fn transparent_definition(function: &Function, register: Register) -> Option<Instruction> {
    let definition = function.unique_definition(register)?;
    match expression_kind(function, definition)? {
        ExpressionKind::Phi => None,
        ExpressionKind::Load if depends_on_writes(function, definition) => None,
        _ => Some(definition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kernel;
    use oriel_engine::entity::EntityRef;

    fn equal(lines: &str, one: usize, other: usize) -> bool {
        let function = kernel("sm_80 ssa", &format!("bix0:\n{lines}    RET\n"));
        let mut values = Values::default();
        values.of(&function, Register::new(one)) == values.of(&function, Register::new(other))
    }

    #[test]
    fn equal_trees_are_equal_to_the_second_level() {
        let tree = "    %1:R32 = LD.global.b32 [0]\n\
                    \x20   %2:R32 = IADD.b32 %1, 1\n    %3:R32 = SHL.b32 %2, 2\n    %4:P = ISETP.lt.s32 %3, 7\n\
                    \x20   %5:R32 = IADD.b32 %1, 1\n    %6:R32 = SHL.b32 %5, 2\n    %7:P = ISETP.lt.s32 %6, 7\n";
        assert!(equal(tree, 2, 5) && equal(tree, 3, 6));
        // The third level is not compared.
        assert!(!equal(tree, 4, 7));
        assert!(!equal(tree, 2, 3));
    }

    #[test]
    fn modifiers_and_formats_keep_values_apart() {
        let lines = "    %1:R32 = LD.global.b32 [0]\n\
                     \x20   %2:R32 = FADD.rn.f32 %1, %1\n    %3:R32 = FADD.rn.f32 -%1, %1\n    %4:R32 = FADD.rn.f32 |%1|, %1\n\
                     \x20   %5:R32 = FADD.rn.ftz.f32 %1, %1\n    %6:R32 = IADD.b32 %1, 5\n    %7:R32 = IADD.b32 %1, %1\n";
        for other in [3, 4, 5] {
            assert!(!equal(lines, 2, other), "{other}");
        }
        assert!(!equal(lines, 6, 7));
    }

    #[test]
    fn what_may_be_written_in_between_is_not_equal() {
        let lines = "    %1:R32 = LD.global.b32 [0]\n    ST.global.b32 %1, [4]\n    %2:R32 = LD.global.b32 [0]\n\
                     \x20   %3:R32 = LD.param::entry.b32 [0]\n    %4:R32 = LD.param::entry.b32 [0]\n    %5:R32 = COPY.b32 %1\n";
        assert!(!equal(lines, 1, 2));
        assert!(equal(lines, 3, 4));
        assert!(equal(lines, 1, 5));
    }
}
