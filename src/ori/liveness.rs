//! Liveness at the borders of blocks, by register file.
//!
//! ```text
//! LiveOut(B) = ⋃ LiveIn(S) over successors S  ∪  what PHIs of S take from B
//! LiveIn(B)  = Uses(B) | (LiveOut(B) & ~Definitions(B))
//! ```
//!
//! Uses are those before any definition in the block. PHIs define their results where their block
//! begins and use their sources where control leaves the predecessor, as LLVM's intervals have it.
//! Debug instructions use nothing, and neither does an operand whose value does not matter.
//!
//! Most registers live and die within one block. Only the others are numbered, each in its file, so a set
//! is a few words long; files without such registers have no sets at all.

use super::control_flow::ControlFlow;
use super::function::{Function, RegisterFile};
use super::operation::Operation;
use crate::bitvector::{EntityBitMatrix, EntityBits};
use crate::dataflow::{Direction, Statistics, fixed_point};
use crate::entity::{Block, EntityRef, EntitySet, PackedOption, PrimaryMap, Register, entity_impl};

/// A register that is live across the border of a block, by number in its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(u32);
entity_impl!(Member, "member");

/// Sets of registers at the borders of all blocks.
#[derive(Clone, Debug)]
pub struct Liveness {
    files: Vec<FileLiveness>,
    /// By register; none where it never lives across a border.
    members: Vec<PackedOption<Member>>,
    /// What the solver did, all files together.
    pub statistics: Statistics,
}

/// The sets of one register file.
#[derive(Clone, Debug)]
pub struct FileLiveness {
    file: RegisterFile,
    registers: PrimaryMap<Member, Register>,
    live_in: EntityBitMatrix<Block, Member>,
    live_out: EntityBitMatrix<Block, Member>,
}

impl Liveness {
    /// Computes liveness. `flow` is the function's present control flow.
    pub fn compute(function: &Function, flow: &ControlFlow) -> Self {
        let mut members = vec![PackedOption::default(); function.register_limit()];
        let mut registers = [(); RegisterFile::ALL.len()].map(|()| PrimaryMap::<Member, Register>::new());
        each_border_use(function, |register| {
            let member = &mut members[register.index()];
            if member.is_none() {
                let file = function.register(register).file;
                *member = registers[file as usize].push(register).into();
            }
        });
        let mut statistics = Statistics::default();
        let files = RegisterFile::ALL.into_iter().zip(registers);
        let files = files
            .filter(|(_, registers)| !registers.is_empty())
            .map(|(file, registers)| {
                let mut sets = FileLiveness::new(function, file, registers);
                let solved = sets.solve(function, flow, &members);
                statistics.sweeps = statistics.sweeps.max(solved.sweeps);
                statistics.visits += solved.visits;
                sets
            })
            .collect();
        Self {
            files,
            members,
            statistics,
        }
    }

    /// Bytes of a table of all blocks by the registers that live across borders, of which [`compute`](Self::compute) holds four at
    /// once. In large functions that is the square of their size, over some thousand.
    pub fn table_bytes(function: &Function) -> usize {
        let mut crossing = EntitySet::with_capacity(function.register_limit());
        let mut count = 0_usize;
        each_border_use(function, |register| {
            count += usize::from(crossing.insert(register))
        });
        function.block_limit().saturating_mul(count.div_ceil(8))
    }

    /// The files that have registers which live across the border of a block.
    pub fn files(&self) -> &[FileLiveness] {
        &self.files
    }

    fn find(&self, function: &Function, register: Register) -> Option<(&FileLiveness, Member)> {
        let member = self.members[register.index()].expand()?;
        let file = function.register(register).file;
        let sets = self.files.iter().find(|sets| sets.file == file)?;
        Some((sets, member))
    }

    /// Does a register hold a value that matters where a block begins?
    pub fn is_live_in(&self, function: &Function, register: Register, block: Block) -> bool {
        self.find(function, register)
            .is_some_and(|(sets, member)| sets.live_in.contains(block, member))
    }

    /// Does a register hold a value that matters where control leaves a block?
    pub fn is_live_out(&self, function: &Function, register: Register, block: Block) -> bool {
        self.find(function, register)
            .is_some_and(|(sets, member)| sets.live_out.contains(block, member))
    }

    /// The registers of all files that are live where a block begins.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.files.iter().flat_map(move |sets| sets.live_in(block))
    }

    /// The registers of all files that are live where control leaves a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.files.iter().flat_map(move |sets| sets.live_out(block))
    }
}

impl FileLiveness {
    fn new(function: &Function, file: RegisterFile, registers: PrimaryMap<Member, Register>) -> Self {
        let (rows, columns) = (function.block_limit(), registers.len());
        Self {
            file,
            registers,
            live_in: EntityBitMatrix::new(rows, columns),
            live_out: EntityBitMatrix::new(rows, columns),
        }
    }

    /// The file.
    pub fn file(&self) -> RegisterFile {
        self.file
    }

    /// The registers of the file that live across the border of some block.
    pub fn registers(&self) -> &PrimaryMap<Member, Register> {
        &self.registers
    }

    /// The set where a block begins.
    pub fn live_in_set(&self, block: Block) -> &EntityBits<Member> {
        self.live_in.row(block)
    }

    /// The set where control leaves a block.
    pub fn live_out_set(&self, block: Block) -> &EntityBits<Member> {
        self.live_out.row(block)
    }

    /// The registers of the file that are live where a block begins.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.live_in
            .row(block)
            .iter()
            .map(|member| self.registers[member])
    }

    /// The registers of the file that are live where control leaves a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.live_out
            .row(block)
            .iter()
            .map(|member| self.registers[member])
    }

    fn solve(
        &mut self,
        function: &Function,
        flow: &ControlFlow,
        members: &[PackedOption<Member>],
    ) -> Statistics {
        let (rows, columns) = (function.block_limit(), self.registers.len());
        let mut uses: EntityBitMatrix<Block, Member> = EntityBitMatrix::new(rows, columns);
        let mut definitions: EntityBitMatrix<Block, Member> = EntityBitMatrix::new(rows, columns);
        let member_of = |register: Register| {
            let is_of_file = function.register(register).file == self.file;
            members[register.index()].expand().filter(|_| is_of_file)
        };
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                let is_phi = function.operation(instruction) == Operation::Phi;
                let sources = function.sources(instruction);
                for (number, source) in sources.iter().enumerate() {
                    let register = source.as_register().filter(|_| !source.is_undefined());
                    let Some(member) = register.and_then(member_of) else {
                        continue;
                    };
                    if is_phi {
                        let from = sources.get(number + 1).as_block();
                        self.live_out
                            .insert(from.expect("the source of a PHI has a block"), member);
                    } else if !definitions.contains(block, member) {
                        uses.insert(block, member);
                    }
                }
                for result in function.results(instruction) {
                    if let Some(member) = result.as_register().and_then(member_of) {
                        definitions.insert(block, member);
                    }
                }
            }
        }
        let mut visit = |block: Block| {
            for &successor in flow.graph.successors(block) {
                self.live_out.row_mut(block).or(self.live_in.row(successor));
            }
            let live_in = self.live_in.row_mut(block);
            live_in.or_with_and_not_if_changed(
                uses.row(block),
                self.live_out.row(block),
                definitions.row(block),
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

/// Calls `found` for the registers that a block uses before it defines them, and for what PHIs use.
pub(crate) fn each_border_use(function: &Function, mut found: impl FnMut(Register)) {
    // The block that last defined a register, by register.
    let mut defined_in: Vec<PackedOption<Block>> = vec![PackedOption::default(); function.register_limit()];
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let is_phi = function.operation(instruction) == Operation::Phi;
            for source in function.sources(instruction) {
                if let Some(register) = source.as_register().filter(|_| !source.is_undefined())
                    && (is_phi || defined_in[register.index()].expand() != Some(block))
                {
                    found(register);
                }
            }
            for result in function.results(instruction) {
                if let Some(register) = result.as_register() {
                    defined_in[register.index()] = block.into();
                }
            }
        }
    }
}
