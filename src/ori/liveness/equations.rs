//! Liveness by the dataflow equations, solved over matrices of bits.
//!
//! Most registers live and die within one block. Only the others are numbered, each in its file, so a set
//! is a few words long; files without such registers have no sets at all.

use super::{BorderUse, FileLiveness, Liveness, Member, each_border_use};
use crate::bitvector::{EntityBitMatrix, EntityBits};
use crate::dataflow::{Direction, Statistics, fixed_point};
use crate::entity::{Block, EntityRef, EntitySet, PackedOption, PrimaryMap, Register};
use crate::ori::control_flow::ControlFlow;
use crate::ori::function::{Function, RegisterFile};

type Matrix = EntityBitMatrix<Block, Member>;

/// Solves the equations.
pub(super) fn solve(function: &Function, flow: &ControlFlow) -> Liveness {
    let mut crossing = EntitySet::with_capacity(function.register_limit());
    each_border_use(function, |register, _| _ = crossing.insert(register));
    let mut members = vec![PackedOption::default(); function.register_limit()];
    let mut registers = [(); RegisterFile::ALL.len()].map(|()| PrimaryMap::<Member, Register>::new());
    for register in function
        .registers()
        .filter(|&register| crossing.contains(register))
    {
        let file = function.register(register).file;
        members[register.index()] = registers[file as usize].push(register).into();
    }
    let mut statistics = Statistics::default();
    let files = RegisterFile::ALL.into_iter().zip(&registers);
    let files = files
        .filter(|(_, registers)| !registers.is_empty())
        .map(|(file, registers)| {
            let mut equations = Equations::new(function, file, &members, registers.len());
            let solved = equations.solve(function, flow);
            statistics.sweeps = statistics.sweeps.max(solved.sweeps);
            statistics.visits += solved.visits;
            let pairs = |matrix: &Matrix| {
                let row = |block: Block| -> &EntityBits<Member> { matrix.row(block) };
                let blocks = function.blocks().iter();
                blocks
                    .flat_map(|&block| row(block).iter().map(move |member| (block, registers[member])))
                    .collect::<Vec<_>>()
            };
            let (live_in, live_out) = (pairs(&equations.live_in), pairs(&equations.live_out));
            let blocks = function.block_limit();
            FileLiveness::new(file, blocks, live_in.into_iter(), live_out.into_iter())
        })
        .collect();
    Liveness { files, statistics }
}

/// The sets of one file.
struct Equations {
    uses: Matrix,
    definitions: Matrix,
    live_in: Matrix,
    live_out: Matrix,
}

impl Equations {
    /// What does not depend on other blocks.
    fn new(
        function: &Function,
        file: RegisterFile,
        members: &[PackedOption<Member>],
        columns: usize,
    ) -> Self {
        let matrix = || Matrix::new(function.block_limit(), columns);
        let mut equations = Self {
            uses: matrix(),
            definitions: matrix(),
            live_in: matrix(),
            live_out: matrix(),
        };
        let member_of = |register: Register| {
            let is_of_file = function.register(register).file == file;
            members[register.index()].expand().filter(|_| is_of_file)
        };
        each_border_use(function, |register, at| {
            if let Some(member) = member_of(register) {
                match at {
                    BorderUse::In(block) => equations.uses.insert(block, member),
                    BorderUse::OutOf(block) => equations.live_out.insert(block, member),
                };
            }
        });
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                for result in function.results(instruction) {
                    if let Some(member) = result.as_register().and_then(member_of) {
                        equations.definitions.insert(block, member);
                    }
                }
            }
        }
        equations
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
