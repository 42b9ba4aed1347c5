//! Textbook dead code elimination: mark the needed instructions and sweep the rest. For tests.

use oriel_engine::entity::{Block, Register};
use oriel_ori::{Function, Instruction, Operation};
use std::collections::BTreeSet;

/// Returns the definitions of a register that reach the point before `next`, or the end of the
/// block, by searching backward along every path.
fn reaching(
    function: &Function,
    block: Block,
    next: Option<Instruction>,
    register: Register,
) -> Vec<Instruction> {
    let predecessors = function.predecessors();
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let mut pending = vec![(block, next)];
    while let Some((block, next)) = pending.pop() {
        let before = function
            .instructions(block)
            .take_while(|&instruction| Some(instruction) != next);
        let defines = |&instruction: &Instruction| {
            let mut results = function.results(instruction).iter();
            results.any(|result| result.as_register() == Some(register))
        };
        if let Some(definition) = before.filter(defines).last() {
            found.push(definition);
            continue;
        }
        let from = predecessors[block].iter().filter(|&&from| seen.insert(from));
        pending.extend(from.map(|&from| (from, None)));
    }
    found
}

/// Returns the instructions that a mark-and-sweep over reaching definitions keeps.
pub fn marked(function: &Function) -> BTreeSet<Instruction> {
    let all = || function.all_instructions();
    let is_root = |instruction: Instruction| {
        let has_other_result = |operand: oriel_ori::Operand| operand.as_register().is_none();
        let results = function.results(instruction);
        !function.is_removable_if_unused(instruction)
            || results.is_empty()
            || results.iter().any(has_other_result)
    };
    let mut marked: BTreeSet<Instruction> = all().filter(|&instruction| is_root(instruction)).collect();
    let mut pending: Vec<Instruction> = marked.iter().copied().collect();
    while let Some(instruction) = pending.pop() {
        if function.operation(instruction).is_debug() {
            continue;
        }
        let sources = function.sources(instruction);
        for (number, source) in sources.iter().enumerate() {
            let Some(register) = source.read_register() else {
                continue;
            };
            let (block, next) = match function.operation(instruction) {
                Operation::Phi => (sources.get(number + 1).as_block().unwrap(), None),
                _ => (function.block_of(instruction).unwrap(), Some(instruction)),
            };
            for definition in reaching(function, block, next, register) {
                if marked.insert(definition) {
                    pending.push(definition);
                }
            }
        }
    }
    marked
}
