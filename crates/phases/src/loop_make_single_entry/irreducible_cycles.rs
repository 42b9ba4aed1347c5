//! Cycles with several entries get a single one: part of LoopMakeSingleEntry.
//!
//! ```text
//! bix0: BRA %p, bix2, fall bix1        bix0: BRA %p, bix5, fall bix4
//! bix1: ... BRA fall bix2              bix4: %s = MOV -1;  BRA bix6
//! bix2: ... BRA %q, bix1, fall bix3    bix5: %s = MOV 0;   BRA bix6
//!                                 ─▶   bix6: BRA %s, bix1, bix2
//!                                      bix1: ... %s = MOV 0;  BRA bix6
//!                                      bix2: ... BRA %q, bix7, fall bix3
//!                                      bix7: %s = MOV -1;  BRA bix6
//! ```
//!
//! All edges to the entries, from outside and from the cycle, lead to a *dispatch block*, which
//! continues with the one that a *selector* names. The dispatch block is the header of the natural
//! loop that the cycle becomes. Nothing is duplicated, at the price of a branch in each iteration.
//! With more than two entries there is a selector, and a block that tests it, for each except the
//! last.
//!
//! Selectors have a definition on every edge, so this works on late form only.
//!
//! No cycle inside the cycle contains an entry without the dispatch block, so inner cycles are
//! those of the part without entries; the same holds for the header of a natural loop. So all
//! cycles are found, from the outside in, as strongly connected components.
//!
//! P. Havlak, "Nesting of Reducible and Irreducible Loops", TOPLAS 19 (1997), describes a
//! transformation of this kind, which merges entries; LLVM's FixIrreducible does it in its IR.

use crate::shared::basic_blocks::can_redirect;
use oriel_engine::entity::{Block, EntitySet, Register, SecondaryMap};
use oriel_engine::graph::ComponentSearch;
use oriel_ori::{
    ControlFlow, DataType, Function, InstructionBuilder, Liveness, Operand, Operation, Position, RegisterFile,
};

/// Returns the entries of each cycle that has several.
pub(super) fn find(function: &Function, flow: &ControlFlow) -> Vec<Vec<Block>> {
    let mut search = ComponentSearch::new();
    let mut found = Vec::new();
    // By block: the number of the pending part that contains it.
    let mut part_of: SecondaryMap<Block, usize> = SecondaryMap::new();
    let reachable = flow.order.as_slice().to_vec();
    let mut parts = 1;
    for &block in &reachable {
        part_of[block] = parts;
    }
    let mut pending = vec![(parts, reachable)];
    while let Some((part, blocks)) = pending.pop() {
        for mut cycle in search.components(&flow.graph, &blocks, |block| part_of[block] == part) {
            cycle.sort_unstable_by_key(|&block| flow.order.position(block));
            parts += 1;
            for &block in &cycle {
                part_of[block] = parts;
            }
            let is_entered = |block: Block| {
                let mut predecessors = flow.graph.predecessors(block).iter();
                let enters = |&&from: &&Block| flow.order.is_reachable(from) && part_of[from] != parts;
                block == function.entry() || predecessors.any(|from| enters(&from))
            };
            let (entries, rest): (Vec<Block>, Vec<Block>) =
                cycle.into_iter().partition(|&block| is_entered(block));
            for &entry in &entries {
                part_of[entry] = 0;
            }
            pending.push((parts, rest));
            if entries.len() > 1 {
                found.push(entries);
            }
        }
    }
    found
}

/// Creates a dispatch block for the entries of a cycle. Returns whether that is possible. `flow` is
/// the control flow before any was created, in which an edge belongs to only one cycle, and
/// `liveness` that for `flow`.
pub(super) fn add_dispatch(
    function: &mut Function,
    flow: &ControlFlow,
    liveness: &Liveness,
    entries: &[Block],
) -> bool {
    let is_predicate = |register: &Register| function.register(*register).file == RegisterFile::P;
    let Some(model) = function.registers().find(is_predicate) else {
        return false;
    };
    let predecessors = |entry: Block| flow.graph.predecessors(entry);
    if !entries
        .iter()
        .all(|&entry| can_redirect(function, entry, predecessors(entry)))
    {
        return false;
    }
    let selectors: Vec<Register> = (1..entries.len())
        .map(|_| function.create_register_like(model))
        .collect();
    let dispatch = build_dispatch(function, entries, &selectors);
    for (number, &entry) in entries.iter().enumerate() {
        let mut sources = predecessors(entry).to_vec();
        sources.sort_unstable();
        sources.dedup();
        let undefined = needed_by_others(liveness, entries, entry);
        for source in sources {
            let last = block_of_edge(function, source, entry);
            select(function, last, &selectors, number);
            define(function, last, &undefined);
            function
                .redirect_edge(last, entry, dispatch)
                .expect("the edge is there and can be led elsewhere");
        }
    }
    true
}

/// Builds blocks before the first entry that continue with the entry whose selector is true, or
/// else with the last.
fn build_dispatch(function: &mut Function, entries: &[Block], selectors: &[Register]) -> Block {
    let place = function.blocks().iter().position(|&block| block == entries[0]);
    let place = place.expect("the entry of a cycle is in the layout");
    let mut after = function.blocks()[place - 1];
    let blocks: Vec<Block> = selectors
        .iter()
        .map(|_| {
            let block = function.create_block(Some(entries[0]));
            function.place_block(block, Some(after));
            after = block;
            block
        })
        .collect();
    for (number, &selector) in selectors.iter().enumerate() {
        let other = blocks.get(number + 1).unwrap_or(&entries[number + 1]);
        let branch = InstructionBuilder::new(Operation::Bra, DataType::None)
            .source(Operand::predicate(selector))
            .source(Operand::target(entries[number]))
            .source(Operand::fall_through(*other));
        function.insert(Position::End(blocks[number]), branch);
    }
    blocks[0]
}

/// Returns the block that belongs to the edges from one block to another: the first if it leads
/// nowhere else, or a new one.
fn block_of_edge(function: &mut Function, source: Block, target: Block) -> Block {
    let mut successors = function.successors(source);
    if (successors.next(), successors.next()) == (Some(target), None) {
        return source;
    }
    drop(successors);
    function
        .split_edge(source, target)
        .expect("the edge is there and can be led elsewhere")
}

/// Returns the registers that the path to another entry needs and the one to this entry does not.
fn needed_by_others(liveness: &Liveness, entries: &[Block], entry: Block) -> Vec<Register> {
    let mut needed: Vec<Register> = entries
        .iter()
        .flat_map(|&other| liveness.live_in(other))
        .collect();
    needed.sort_unstable();
    needed.dedup();
    let mut here: EntitySet<Register> = EntitySet::new();
    here.extend(liveness.live_in(entry));
    needed.retain(|&register| !here.contains(register));
    needed
}

/// Defines registers with an arbitrary value: otherwise, to LLVM, the registers that one entry
/// needs could be read undefined after arriving by the path to another.
fn define(function: &mut Function, block: Block, registers: &[Register]) {
    let branch = function.terminator(block).expect("the block leads to an entry");
    for &register in registers {
        let bits = u32::from(function.register(register).bits);
        let data_type = DataType::of_bits(bits).unwrap_or_default();
        let new = InstructionBuilder::new(Operation::ImplicitDef, data_type)
            .result(function.register_operand(register));
        function.insert(Position::Before(branch), new);
    }
}

/// Sets the selectors to lead to entry `number`.
fn select(function: &mut Function, block: Block, selectors: &[Register], number: usize) {
    let branch = function.terminator(block).expect("the block leads to an entry");
    for (other, &selector) in selectors.iter().enumerate() {
        // LLVM represents true in this way.
        let value = Operand::immediate(if other == number { -1 } else { 0 });
        let new = InstructionBuilder::new(Operation::Mov, DataType::B1)
            .result(Operand::predicate(selector))
            .source(value.expect("24 bits hold it"));
        function.insert(Position::Before(branch), new);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{block, edges, function, numbers, run_phase};
    use oriel_engine::entity::EntityRef;
    use oriel_engine::snapshot::abi::Stage;

    fn late(targets: &[&[usize]]) -> Function {
        let mut function = function(targets);
        function.info.stage = Stage::Late;
        function
    }

    /// Walks `steps` blocks of the original function, guided by `choices`. Returns the input blocks
    /// visited.
    fn walk(function: &Function, mut choices: u64, steps: usize) -> Vec<usize> {
        let mut predicates: SecondaryMap<Register, i64> = SecondaryMap::new();
        let mut passed = Vec::new();
        let mut at = function.entry();
        let input = (0..).map(Block::new);
        let inputs = input
            .take(function.block_limit())
            .filter(|&block| function.label(block) == block.index() as u32);
        let inputs: Vec<Block> = inputs.collect();
        while passed.len() < steps {
            let is_input = inputs.contains(&at);
            if is_input {
                passed.push(at.index());
            }
            for instruction in function.instructions(at) {
                if function.operation(instruction) == Operation::Mov {
                    let result = function.result(instruction, 0).as_register().unwrap();
                    predicates[result] = function.integer(function.source(instruction, 0)).unwrap();
                }
            }
            let successors: Vec<Block> = function.successors(at).collect();
            if successors.is_empty() {
                break;
            }
            let which = if is_input {
                let choice = choices % successors.len() as u64;
                choices = choices.rotate_right(1) ^ 0x9E37_79B9;
                choice as usize
            } else if successors.len() == 2 {
                let end = function.terminator(at).unwrap();
                let selector = function.source(end, 0).as_register().unwrap();
                usize::from(predicates[selector] == 0)
            } else {
                0
            };
            at = successors[which];
        }
        passed
    }

    #[test]
    fn two_entries_become_one() {
        let mut function = late(&[&[2, 1], &[2], &[1, 3], &[]]);
        let before: Vec<_> = (0..64).map(|choices| walk(&function, choices, 20)).collect();
        assert!(run_phase(crate::loop_make_single_entry::run, &mut function));
        let flow = ControlFlow::of(&function);
        assert_eq!(flow.irreducible_edges().count(), 0);
        assert_eq!(flow.loops.len(), 1);
        let after: Vec<_> = (0..64).map(|choices| walk(&function, choices, 20)).collect();
        assert_eq!(before, after);
    }

    #[test]
    fn three_entries_take_two_selectors() {
        let mut function = late(&[&[1, 2, 3], &[2], &[3], &[1, 4], &[]]);
        let registers = function.register_limit();
        let before: Vec<_> = (0..64).map(|choices| walk(&function, choices, 20)).collect();
        assert!(run_phase(crate::loop_make_single_entry::run, &mut function));
        assert_eq!(function.register_limit(), registers + 2);
        let after: Vec<_> = (0..64).map(|choices| walk(&function, choices, 20)).collect();
        assert_eq!(before, after);
    }

    #[test]
    fn a_cycle_in_a_cycle_is_found() {
        // Entries 1 and 2; inside, 3 and 4, both reached from 2.
        let function = late(&[&[2, 1], &[2], &[3, 4], &[4], &[3, 5], &[1, 6], &[]]);
        let flow = ControlFlow::of(&function);
        let mut found: Vec<_> = find(&function, &flow)
            .iter()
            .map(|entries| numbers(entries))
            .collect();
        for entries in &mut found {
            entries.sort_unstable();
        }
        assert_eq!(found, [[1, 2], [3, 4]]);
    }

    #[test]
    fn a_cycle_that_the_function_begins_in_stays() {
        let mut function = late(&[&[1, 2], &[2], &[1, 0]]);
        let before = edges(&function);
        let flow = ControlFlow::of(&function);
        // The function begins in 0, which is the only entry; 1 and 2 are those of the inner cycle.
        let found = find(&function, &flow);
        assert_eq!(found.iter().map(|entries| entries.len()).collect::<Vec<_>>(), [2]);
        let liveness = Liveness::compute(&function, &flow);
        assert!(!add_dispatch(
            &mut function,
            &flow,
            &liveness,
            &[block(0), block(1)]
        ));
        assert_eq!(edges(&function), before);
    }

    #[test]
    fn ways_through_random_functions_stay() {
        crate::testing::on_random_functions(|made, random| {
            let targets: Vec<Vec<usize>> = (0..made.block_limit())
                .map(|number| numbers(&made.successors(block(number)).collect::<Vec<_>>()))
                .collect();
            let targets: Vec<&[usize]> = targets.iter().map(Vec::as_slice).collect();
            let mut function = late(&targets);
            let seeds: Vec<u64> = (0..8).map(|_| u64::from(random.word())).collect();
            let ways = |function: &Function| -> Vec<_> {
                seeds.iter().map(|&seed| walk(function, seed, 50)).collect()
            };
            let before = ways(&function);
            run_phase(crate::loop_make_single_entry::run, &mut function);
            assert_eq!(before, ways(&function));
        });
    }
}
