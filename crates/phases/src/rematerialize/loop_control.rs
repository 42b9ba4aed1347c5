//! The values by which ptxas recognises loops.

use oriel_engine::entity::{Block, Register};
use oriel_engine::graph::{Loop, LoopForest};
use oriel_ori::{ControlFlow, Function, Instruction, Operand, OperandKind, Operation};
use smallvec::SmallVec;

/// True if an instruction, or a use of its result, decides whether a loop ends or steps its
/// counter: ptxas recognises a loop by these.
pub(super) fn controls_loop(function: &Function, loops: &LoopForest<Block>, user: Instruction) -> bool {
    let ends_loop = |branch: Instruction| {
        function.operation(branch) != Operation::Bra
            || function.block_of(branch).is_some_and(|block| {
                let mut next = function.successors(block);
                let inner = loops.innermost(block);
                inner.is_some_and(|inner| next.any(|next| !loops.contains(inner, next)))
            })
    };
    let is_control = |instruction: Instruction| match function.operation(instruction) {
        Operation::Phi => function
            .block_of(instruction)
            .is_some_and(|block| loops.is_header(block)),
        Operation::Isetp => each_use_of_results(function, instruction).any(ends_loop),
        _ => false,
    };
    is_control(user) || each_use_of_results(function, user).any(is_control)
}

/// True if a loop counts from a constant to a constant. ptxas unrolls such a loop as a whole if
/// it is not too large, which copies may make it.
pub(super) fn counts_constants(function: &Function, flow: &ControlFlow, natural_loop: Loop) -> bool {
    let loops = &flow.loops;
    let header = loops.header(natural_loop);
    let starts_constant = |phi: Instruction| {
        let sources: SmallVec<[_; 4]> = function.sources(phi).iter().collect();
        let mut pairs = sources.chunks(2);
        pairs.any(|pair| match pair[1].kind() {
            OperandKind::Target(from) => {
                !loops.contains(natural_loop, from) && is_constant(function, pair[0])
            }
            _ => false,
        })
    };
    let is_counter = |register: Register| {
        let mut definition = function.unique_definition(register);
        if let Some(sum) = definition.filter(|&it| function.operation(it) == Operation::Iadd) {
            let mut sources = function.sources(sum).iter();
            let counter = sources.find_map(|source| source.as_register());
            definition = counter.and_then(|counter| function.unique_definition(counter));
        }
        definition.is_some_and(|phi| {
            function.operation(phi) == Operation::Phi
                && function.block_of(phi) == Some(header)
                && starts_constant(phi)
        })
    };
    let mut exits = loops.exit_edges(&flow.graph, natural_loop);
    exits.any(|(block, _)| {
        let branch = function.terminator(block);
        let predicate = branch.and_then(|branch| {
            let mut sources = function.sources(branch).iter();
            sources.find_map(|source| source.as_register())
        });
        let comparison = predicate.and_then(|predicate| function.unique_definition(predicate));
        let comparison = comparison.filter(|&it| function.operation(it) == Operation::Isetp);
        comparison.is_some_and(|comparison| {
            let (left, right) = (function.source(comparison, 0), function.source(comparison, 1));
            left.as_register().is_some_and(is_counter) && is_constant(function, right)
        })
    })
}

/// True if an operand is a number, or a register that holds one.
fn is_constant(function: &Function, operand: Operand) -> bool {
    let is_number = |operand: Operand| {
        matches!(
            operand.kind(),
            OperandKind::Immediate(_) | OperandKind::Constant(_)
        )
    };
    let definition = operand
        .as_register()
        .and_then(|register| function.unique_definition(register));
    is_number(operand)
        || definition.is_some_and(|definition| {
            function.operation(definition) == Operation::Mov && is_number(function.source(definition, 0))
        })
}

/// Returns the instructions that use a result of another.
fn each_use_of_results(
    function: &Function,
    instruction: Instruction,
) -> impl Iterator<Item = Instruction> + '_ {
    function
        .result_registers(instruction)
        .flat_map(|register| function.uses(register).map(|(user, _)| user))
}
