//! Functions that are little more than a graph, for tests.

use crate::{
    DataType, Function, FunctionInfo, Instruction, InstructionBuilder, Operand, Operation, Position,
    RegisterFile,
};
use oriel_engine::entity::{Block, EntityRef, Register};
use oriel_engine::graph::testing::on_random_graphs;
use oriel_engine::snapshot::abi::{FunctionFlags, Stage};
use oriel_random::Random;

/// Returns a function of empty blocks without terminators.
pub fn empty_function(blocks: usize) -> Function {
    let mut function = Function::new(FunctionInfo {
        name: "test".to_owned(),
        stage: Stage::Ssa,
        sm: 80,
        flags: FunctionFlags::KERNEL,
        entry_frequency: 0,
    });
    for _ in 0..blocks {
        let block = function.create_block(None);
        function.place_block(block, None);
    }
    function
}

/// Builds a function with a block for each list of targets. Without targets the block returns. A
/// single target is reached by a branch, or by falling through if it comes next. Of two targets the
/// first is branched to; for more there is a table.
pub fn function(targets: &[&[usize]]) -> Function {
    let mut function = empty_function(targets.len());
    let predicate = function.create_register(RegisterFile::P, 1, None);
    let index = function.create_register(RegisterFile::R, 32, None);
    for (number, targets) in targets.iter().enumerate() {
        let last = |to: usize| match to == number + 1 {
            true => Operand::fall_through(block(to)),
            false => Operand::target(block(to)),
        };
        let new = |operation| InstructionBuilder::new(operation, DataType::None);
        let terminator = match targets {
            [] => new(Operation::Ret),
            [only] => new(Operation::Bra).source(last(*only)),
            [taken, other] => new(Operation::Bra)
                .source(Operand::predicate(predicate))
                .source(Operand::target(block(*taken)))
                .source(last(*other)),
            many => many.iter().fold(
                new(Operation::Brx).source(Operand::register(index)),
                |new, &to| new.source(Operand::target(block(to))),
            ),
        };
        function.insert(Position::End(block(number)), terminator);
    }
    function
}

/// Runs a test on functions with random graphs whose first block is the entry. Every other block
/// with predecessors has a PHI.
pub fn on_random_functions(mut test: impl FnMut(Function, &mut Random)) {
    on_random_graphs(|graph, random| {
        use oriel_engine::graph::Graph;
        if graph.entry().index() != 0 {
            return;
        }
        let targets: Vec<Vec<usize>> = graph
            .nodes()
            .map(|node| numbers(graph.successors(node)))
            .collect();
        let targets: Vec<&[usize]> = targets.iter().map(Vec::as_slice).collect();
        let mut made = function(&targets);
        for node in graph.nodes().skip(1) {
            let mut from = numbers(graph.predecessors(node));
            from.sort_unstable();
            from.dedup();
            if !from.is_empty() {
                append_phi(&mut made, node.index(), &from);
            }
        }
        test(made, random);
    });
}

/// Adds a PHI to the start of a block with a new value from each predecessor. Returns the PHI and
/// its result.
pub fn append_phi(function: &mut Function, block_number: usize, from: &[usize]) -> (Instruction, Register) {
    let result = function.create_register(RegisterFile::R, 32, None);
    let mut phi = InstructionBuilder::new(Operation::Phi, DataType::B32).result(Operand::register(result));
    for &from in from {
        let value = function.create_register_like(result);
        phi = phi
            .source(Operand::register(value))
            .source(Operand::target(block(from)));
    }
    (function.insert(Position::Start(block(block_number)), phi), result)
}

/// Returns a block by number.
pub fn block(number: usize) -> Block {
    Block::new(number)
}

/// Returns the numbers of blocks.
pub fn numbers(blocks: &[Block]) -> Vec<usize> {
    blocks.iter().map(|block| block.index()).collect()
}
