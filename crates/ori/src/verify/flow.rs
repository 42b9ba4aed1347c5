//! Checks along the control flow.

use super::{Finding, FindingKind};
use crate::function::{Function, Instruction};
use crate::operand::Operand;
use crate::operation::{Operation, OperationFlags};
use oriel_engine::entity::{Block, Register, SecondaryMap};
use oriel_engine::graph::{ControlFlowGraph, DominatorTree, ReversePostorder, Traversal};
use oriel_engine::snapshot::abi::FunctionFlags;

pub(super) fn check(function: &Function, findings: &mut Vec<Finding>) {
    let flow = Flow::new(function);
    if function.info.flags.contains(FunctionFlags::SSA) {
        flow.check_single_definitions(findings);
        flow.check_dominance(findings);
    } else {
        flow.check_reaching(findings);
    }
    for &block in function.blocks() {
        flow.check_phis(block, findings);
        check_call_sequences(function, block, findings);
    }
}

struct Flow<'a> {
    function: &'a Function,
    graph: ControlFlowGraph<Block>,
    dominators: DominatorTree<Block>,
    /// The position of each instruction in its block.
    positions: SecondaryMap<Instruction, u32>,
}

impl<'a> Flow<'a> {
    fn new(function: &'a Function) -> Self {
        let edges: Vec<(Block, Block)> = function
            .blocks()
            .iter()
            .flat_map(|&block| function.successors(block).map(move |target| (block, target)))
            .collect();
        let graph = ControlFlowGraph::new(function.block_limit(), function.entry(), edges.into_iter());
        let order = ReversePostorder::new(&graph, Traversal::default());
        let dominators = DominatorTree::new(&graph, &order);
        let mut positions = SecondaryMap::new();
        for &block in function.blocks() {
            for (position, instruction) in function.instructions(block).enumerate() {
                positions[instruction] = position as u32;
            }
        }
        Self {
            function,
            graph,
            dominators,
            positions,
        }
    }

    fn block_of(&self, instruction: Instruction) -> Block {
        self.function
            .block_of(instruction)
            .expect("lists have only instructions of blocks")
    }

    /// Returns where a use reads: before an instruction or, for a PHI, at the end of the block that
    /// its value comes from.
    fn place_of_use(&self, instruction: Instruction, number: usize) -> (Block, u32) {
        if self.function.operation(instruction) == Operation::Phi {
            let source = self.function.source(instruction, number + 1);
            let block = source.as_block().expect("operands have been checked");
            return (block, u32::MAX);
        }
        (self.block_of(instruction), self.positions[instruction])
    }

    /// Returns the uses whose value matters.
    fn uses(&self, register: Register) -> impl Iterator<Item = (Instruction, usize)> + '_ {
        let function = self.function;
        let matters =
            move |&(instruction, number): &(_, _)| !function.source(instruction, number).is_undefined();
        function.uses(register).filter(matters)
    }

    fn check_single_definitions(&self, findings: &mut Vec<Finding>) {
        for register in self.function.registers() {
            if self.function.definitions(register).nth(1).is_some() {
                findings.push(Finding::of_register(FindingKind::SeveralDefinitions, register));
            }
        }
    }

    fn check_dominance(&self, findings: &mut Vec<Finding>) {
        let function = self.function;
        for register in function.registers() {
            let definition = function
                .definitions(register)
                .next()
                .map(|(definition, _)| definition);
            for (instruction, number) in self.uses(register) {
                let kind = match definition {
                    None => FindingKind::UndefinedUse,
                    Some(definition) if !self.reaches(definition, instruction, number) => {
                        FindingKind::UseNotDominated
                    }
                    Some(_) => continue,
                };
                findings.push(Finding::at(kind, function, instruction).register(register));
            }
        }
    }

    /// True if the definition dominates the use. An unreachable use may use anything.
    fn reaches(&self, definition: Instruction, instruction: Instruction, number: usize) -> bool {
        let (block, position) = self.place_of_use(instruction, number);
        let defined_in = self.block_of(definition);
        if !self.dominators.is_reachable(block) {
            return true;
        }
        if defined_in == block {
            return self.positions[definition] < position;
        }
        self.dominators.strictly_dominates(defined_in, block)
    }

    /// Checks, outside SSA form, that a path from some definition leads to each use.
    ///
    /// Computes reachability only for uses without an earlier definition in their block, so that
    /// each block is visited at most once for each register.
    fn check_reaching(&self, findings: &mut Vec<Finding>) {
        let function = self.function;
        let mut reachability = Reachability::default();
        for register in function.registers() {
            let exposed: Vec<(Instruction, Block)> = self
                .uses(register)
                .map(|(instruction, number)| (instruction, self.place_of_use(instruction, number)))
                .filter(|&(_, (block, position))| !self.is_defined_before(register, block, position))
                .map(|(instruction, (block, _))| (instruction, block))
                .collect();
            if exposed.is_empty() {
                continue;
            }
            let definitions = function.definitions(register);
            let blocks = definitions.map(|(definition, _)| self.block_of(definition));
            reachability.start(blocks.flat_map(|block| self.graph.successors(block).iter().copied()));
            reachability.run(&self.graph);
            for (instruction, block) in exposed {
                if self.dominators.is_reachable(block) && !reachability.contains(block) {
                    let finding = Finding::at(FindingKind::UndefinedUse, function, instruction);
                    findings.push(finding.register(register));
                }
            }
        }
    }

    fn is_defined_before(&self, register: Register, block: Block, position: u32) -> bool {
        self.function.definitions(register).any(|(definition, _)| {
            self.block_of(definition) == block && self.positions[definition] < position
        })
    }

    /// Returns the blocks of a PHI's values. A block may occur several times, as in LLVM for
    /// several edges from one block, if it has the same value each time.
    fn phi_blocks(&self, phi: Instruction) -> Vec<Block> {
        let sources: Vec<Operand> = self.function.sources(phi).iter().collect();
        let values = sources.chunks_exact(2);
        let mut pairs: Vec<(Option<Block>, u32)> =
            values.map(|pair| (pair[1].as_block(), pair[0].bits())).collect();
        pairs.sort_unstable();
        pairs.dedup();
        pairs.into_iter().filter_map(|(block, _)| block).collect()
    }

    fn check_phis(&self, block: Block, findings: &mut Vec<Finding>) {
        let function = self.function;
        let mut predecessors = self.graph.predecessors(block).to_vec();
        predecessors.sort_unstable();
        predecessors.dedup();
        let mut is_start = true;
        for instruction in function.instructions(block) {
            if function.operation(instruction) != Operation::Phi {
                is_start = false;
                continue;
            }
            let problem = if function.info.flags.contains(FunctionFlags::NO_PHIS) {
                FindingKind::UnexpectedPhi
            } else if !is_start {
                FindingKind::PhiNotFirst
            } else if block == function.entry() {
                FindingKind::PhiInEntry
            } else if self.phi_blocks(instruction) != predecessors {
                FindingKind::PhiBlocks
            } else {
                continue;
            };
            findings.push(Finding::at(problem, function, instruction));
        }
    }
}

/// The blocks reachable from a set of blocks.
#[derive(Default)]
struct Reachability {
    /// The number of the last query that reached the block.
    reached_in: SecondaryMap<Block, u32>,
    query: u32,
    pending: Vec<Block>,
}

impl Reachability {
    fn start(&mut self, blocks: impl Iterator<Item = Block>) {
        self.query += 1;
        for block in blocks {
            self.reach(block);
        }
    }

    fn reach(&mut self, block: Block) {
        if std::mem::replace(&mut self.reached_in[block], self.query) != self.query {
            self.pending.push(block);
        }
    }

    fn run(&mut self, graph: &ControlFlowGraph<Block>) {
        while let Some(block) = self.pending.pop() {
            for &successor in graph.successors(block) {
                self.reach(successor);
            }
        }
    }

    fn contains(&self, block: Block) -> bool {
        self.reached_in[block] == self.query
    }
}

/// Checks that each call sequence is complete within one block, and that its parts occur only
/// inside one.
fn check_call_sequences(function: &Function, block: Block, findings: &mut Vec<Finding>) {
    let kind = FindingKind::BrokenCallSequence;
    let mut is_inside = false;
    for instruction in function.instructions(block) {
        let operation = function.operation(instruction);
        if !operation.flags().contains(OperationFlags::CALL_SEQUENCE) {
            continue;
        }
        let is_start = operation == Operation::CallStart;
        if is_inside == is_start {
            findings.push(Finding::at(kind, function, instruction));
        }
        is_inside = operation != Operation::CallEnd;
    }
    if is_inside {
        findings.push(Finding::in_block(kind, block));
    }
}
