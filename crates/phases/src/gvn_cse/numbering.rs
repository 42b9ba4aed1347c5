//! Numbers values and finds instructions whose value is available.
//!
//! The walk is in preorder of the dominator tree, whose children are in reverse post-order, so that
//! it is a reverse post-order itself. It never returns to a subtree that it has left, so one
//! instruction per value, the *leader*, is enough. The next instruction with the value replaces a
//! leader that is no longer visible.

use super::mode::Mode;
use super::scope::{Leader, Scope};
use super::scope_tree::ScopeTree;
use crate::knobs::Budget;
use crate::shared::expressions::{ExpressionKind, copied_register, describe, expression_kind, versions_for};
use crate::shared::value_table::ValueTable;
use oriel_engine::entity::{Block, EntityRef, Register, SecondaryMap};
use oriel_engine::hash::Fnv1a;
use oriel_ori::{ControlFlow, Function, Instruction, MemoryVersions, Operation, Variant};

/// The table's entry for a value.
#[derive(Debug)]
struct NumberedValue {
    /// The first instruction with the value, whose results represent it in keys.
    founder: Instruction,
    leader: Leader,
}

/// An instruction whose value a leader has computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Redundant {
    pub instruction: Instruction,
    pub leader: Instruction,
}

/// The values of a function.
pub(super) struct Numbering {
    /// By register: the first register that had its value.
    values: Vec<Register>,
    redundant: Vec<Redundant>,
    /// By block: its range in `redundant`, from the first to before the end.
    parts: SecondaryMap<Block, (u32, u32)>,
    /// The blocks with redundant instructions.
    scope_tree: ScopeTree,
    /// The number of expressions that were numbered.
    pub numbered: u64,
}

impl Numbering {
    /// Numbers the values of a function. Each expression spends the gate; once it is exhausted, the
    /// rest of the block is skipped.
    pub fn run(function: &Function, flow: &ControlFlow, mode: Mode, gate: Budget) -> Self {
        let mut numbering = Self {
            values: function.registers().collect(),
            redundant: Vec::new(),
            parts: SecondaryMap::new(),
            scope_tree: ScopeTree::default(),
            numbered: 0,
        };
        let mut numberer = Numberer {
            function,
            versions: versions_for(function, flow),
            scope: Scope::new(function, flow, mode),
            gate,
            table: ValueTable::default(),
            words: Vec::new(),
            position: 0,
        };
        for &block in flow.dominators.preorder() {
            let first = numbering.redundant.len() as u32;
            numberer.number_block(&mut numbering, block);
            let end = numbering.redundant.len() as u32;
            if end > first {
                numbering.parts[block] = (first, end);
                numbering.scope_tree.insert(block);
            }
        }
        numbering
    }

    /// Returns the redundant instructions of the next block that has some; blocks are in ascending
    /// order.
    pub fn next_block(&mut self) -> Option<&[Redundant]> {
        let block = self.scope_tree.pop()?;
        let (first, end) = self.parts[block];
        Some(&self.redundant[first as usize..end as usize])
    }
}

/// The state of the walk.
struct Numberer<'a> {
    function: &'a Function,
    versions: Option<MemoryVersions>,
    scope: Scope<'a>,
    gate: Budget,
    table: ValueTable<NumberedValue>,
    /// The description of the current expression; kept to reuse its memory.
    words: Vec<u32>,
    /// The number of instructions met so far, the current one included.
    position: u32,
}

impl Numberer<'_> {
    fn number_block(&mut self, numbering: &mut Numbering, block: Block) {
        self.scope.enter(block, self.position);
        for instruction in self.function.instructions(block) {
            self.position += 1;
            if is_waiting_barrier(self.function, instruction) {
                self.scope.pass_barrier(self.position);
            }
            let Some(kind) = expression_kind(self.function, instruction) else {
                continue;
            };
            if !self.scope.takes(instruction, kind) {
                continue;
            }
            if !self.gate.spend() {
                return;
            }
            numbering.numbered += 1;
            self.number(numbering, instruction, kind);
        }
    }

    /// Numbers an expression, and records it if a visible leader has its value.
    fn number(&mut self, numbering: &mut Numbering, instruction: Instruction, kind: ExpressionKind) {
        let function = self.function;
        if kind == ExpressionKind::Copy
            && let Some(source) = copied_register(function, instruction)
        {
            let result = function.result_registers(instruction).next();
            let result = result.expect("a copy has a result");
            numbering.values[result.index()] = numbering.values[source.index()];
            return;
        }
        let value_of = |register: Register| numbering.values[register.index()];
        describe(
            function,
            instruction,
            self.versions.as_ref(),
            value_of,
            &mut self.words,
        );
        let leader = Leader {
            instruction,
            position: self.position,
        };
        let hash = Fnv1a::new().words(&self.words).finish();
        let Some(value) = self.table.find(&self.words, hash) else {
            let founder = instruction;
            self.table
                .insert(&self.words, hash, NumberedValue { founder, leader });
            return;
        };
        let known = &mut self.table[value];
        for (result, founding) in function
            .result_registers(instruction)
            .zip(function.result_registers(known.founder))
        {
            numbering.values[result.index()] = founding;
        }
        if !self.scope.is_visible(function, known.leader, self.position) {
            known.leader = leader;
        } else if kind != ExpressionKind::Constant {
            numbering.redundant.push(Redundant {
                instruction,
                leader: known.leader.instruction,
            });
        }
    }
}

/// True for a barrier at which threads wait. An arrival alone orders nothing that follows it.
fn is_waiting_barrier(function: &Function, instruction: Instruction) -> bool {
    match function.operation(instruction) {
        Operation::Bar => function.modifiers(instruction).variant != Variant::Arrive,
        operation => matches!(operation, Operation::BarRed | Operation::WarpSync),
    }
}
