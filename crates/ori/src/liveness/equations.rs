//! Liveness by the dataflow equations, solved over matrices of bits.
//!
//! Most registers live and die within one block. Only the others are numbered, each in its file, so
//! a set is a few words long; files without such registers have no sets at all.

use super::{BorderUse, BorderUses, FileLiveness, Liveness, Member};
use crate::control_flow::ControlFlow;
use crate::function::{Function, RegisterFile};
use crate::operand::Operand;
use oriel_engine::bitvector::{EntityBitMatrix, EntityBits};
use oriel_engine::dataflow::{Direction, Statistics, fixed_point};
use oriel_engine::entity::{Block, EntityRef, PackedOption, PrimaryMap, Register};

type Matrix = EntityBitMatrix<Block, Member>;

/// Solves the equations.
pub(super) fn solve(function: &Function, flow: &ControlFlow, uses: &BorderUses) -> Liveness {
    let mut members = vec![PackedOption::default(); function.register_limit()];
    let mut registers = [(); RegisterFile::ALL.len()].map(|()| PrimaryMap::<Member, Register>::new());
    for register in function
        .registers()
        .filter(|&register| uses.crossing.contains(register))
    {
        let file = function.register(register).file;
        members[register.index()] = registers[file as usize].push(register).into();
    }
    let blocks = function.block_limit();
    let mut files = registers
        .each_ref()
        .map(|registers| Equations::new(blocks, registers.len()));
    fill(function, uses, &members, &mut files);
    let mut statistics = Statistics::default();
    let files = RegisterFile::ALL.into_iter().zip(files).zip(&registers);
    let files = files
        .filter(|(_, registers)| !registers.is_empty())
        .map(|((file, mut equations), registers)| {
            let solved = equations.solve(function, flow);
            statistics.sweeps = statistics.sweeps.max(solved.sweeps);
            statistics.visits += solved.visits;
            let pairs = |matrix: &Matrix| {
                let mut pairs = Vec::new();
                for &block in function.blocks() {
                    let row: &EntityBits<Member> = matrix.row(block);
                    pairs.extend(row.iter().map(|member| (block, registers[member])));
                }
                pairs
            };
            let (live_in, live_out) = (pairs(&equations.live_in), pairs(&equations.live_out));
            FileLiveness::new(file, blocks, live_in.into_iter(), live_out.into_iter())
        })
        .collect();
    Liveness { files, statistics }
}

/// Puts what does not depend on other blocks into the sets of all files.
fn fill(
    function: &Function,
    uses: &BorderUses,
    members: &[PackedOption<Member>],
    files: &mut [Equations; RegisterFile::ALL.len()],
) {
    let place = |register: Register| {
        let member = members[register.index()].expand()?;
        Some((function.register(register).file as usize, member))
    };
    for &(register, at) in &uses.uses {
        let (file, member) = place(register).expect("what is used at a border crosses it");
        match at {
            BorderUse::In(block) => files[file].uses.insert(block, member),
            BorderUse::OutOf(block) => files[file].live_out.insert(block, member),
        };
    }
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            for register in function
                .results(instruction)
                .iter()
                .filter_map(Operand::as_register)
            {
                if let Some((file, member)) = place(register) {
                    files[file].definitions.insert(block, member);
                }
            }
        }
    }
}

/// The sets of one file.
struct Equations {
    uses: Matrix,
    definitions: Matrix,
    live_in: Matrix,
    live_out: Matrix,
}

impl Equations {
    fn new(blocks: usize, columns: usize) -> Self {
        let matrix = || Matrix::new(blocks, columns);
        Self {
            uses: matrix(),
            definitions: matrix(),
            live_in: matrix(),
            live_out: matrix(),
        }
    }

    fn solve(&mut self, function: &Function, flow: &ControlFlow) -> Statistics {
        let mut visit = |block: Block| {
            for &successor in flow.graph.successors(block) {
                self.live_out.row_mut(block).or(self.live_in.row(successor));
            }
            let live_in = self.live_in.row_mut(block);
            live_in.or_with_and_not_if_changed(
                self.uses.row(block),
                self.live_out.row(block),
                self.definitions.row(block),
            )
        };
        // Each sweep carries a fact over at least one more retreating edge.
        let limit = flow.order.len() + 2;
        let statistics = fixed_point(&flow.graph, &flow.order, Direction::Backward, limit, &mut visit)
            .expect("sets of registers only grow");
        // Code that is never reached still has to be consistent.
        let unreachable = || {
            function
                .blocks()
                .iter()
                .rev()
                .filter(|&&block| !flow.order.is_reachable(block))
        };
        while unreachable().fold(false, |changed, &block| visit(block) | changed) {}
        statistics
    }
}
