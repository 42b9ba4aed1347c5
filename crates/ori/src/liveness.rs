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
//! There are two ways to the same result:
//!
//! | file | way | time and memory |
//! |---|---|---|
//! | `equations.rs` | the dataflow solver over bit matrices | blocks times registers that live across borders, over the word size |
//! | `paths.rs` | from every use back to the definitions | the sum of all live ranges, in blocks |
//!
//! The matrices are small and fast until a function has some thousand blocks; from there on they
//! grow with the square of its size, and the paths do not.

mod equations;
mod paths;

use super::control_flow::ControlFlow;
use super::function::{Function, RegisterFile};
use super::operation::Operation;
use oriel_engine::dataflow::Statistics;
use oriel_engine::entity::{Block, EntityRef, EntitySet, PackedOption, Register, entity_impl};
use oriel_engine::graph::rows::Rows;

/// Bytes of a matrix of all blocks by the registers that live across borders up to which the
/// equations are solved.
const MATRIX_LIMIT: usize = 64 << 10;

/// A register that is live across the border of a block, by number; for sets of such registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Member(u32);
entity_impl!(Member, "member");

/// The registers that are live at the borders of all blocks.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Those with registers that live across the border of a block.
    files: Vec<FileLiveness>,
    /// What the solver did, all files together; nothing if paths were gone instead.
    pub statistics: Statistics,
}

/// The registers of one file that are live at the borders of blocks.
#[derive(Clone, Debug)]
pub struct FileLiveness {
    file: RegisterFile,
    live_in: Rows<Block, Register>,
    live_out: Rows<Block, Register>,
}

impl Liveness {
    /// Computes liveness. `flow` is the function's present control flow.
    pub fn compute(function: &Function, flow: &ControlFlow) -> Self {
        let uses = BorderUses::find(function);
        if uses.matrix_bytes(function) <= MATRIX_LIMIT {
            equations::solve(function, flow, &uses)
        } else {
            paths::explore(function, flow, &uses)
        }
    }

    /// The files that have registers which live across the border of a block.
    pub fn files(&self) -> &[FileLiveness] {
        &self.files
    }

    fn of_file(&self, function: &Function, register: Register) -> Option<&FileLiveness> {
        let file = function.register(register).file;
        self.files.iter().find(|sets| sets.file == file)
    }

    /// Does a register hold a value that matters where a block begins?
    pub fn is_live_in(&self, function: &Function, register: Register, block: Block) -> bool {
        self.of_file(function, register)
            .is_some_and(|sets| sets.live_in(block).binary_search(&register).is_ok())
    }

    /// Does a register hold a value that matters where control leaves a block?
    pub fn is_live_out(&self, function: &Function, register: Register, block: Block) -> bool {
        self.of_file(function, register)
            .is_some_and(|sets| sets.live_out(block).binary_search(&register).is_ok())
    }

    /// The registers of all files that are live where a block begins.
    pub fn live_in(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.files
            .iter()
            .flat_map(move |sets| sets.live_in(block))
            .copied()
    }

    /// The registers of all files that are live where control leaves a block.
    pub fn live_out(&self, block: Block) -> impl Iterator<Item = Register> + '_ {
        self.files
            .iter()
            .flat_map(move |sets| sets.live_out(block))
            .copied()
    }
}

impl FileLiveness {
    /// From pairs that name the registers of each block in ascending order.
    fn new(
        file: RegisterFile,
        blocks: usize,
        live_in: impl Iterator<Item = (Block, Register)> + Clone,
        live_out: impl Iterator<Item = (Block, Register)> + Clone,
    ) -> Self {
        let mut sets = Self {
            file,
            live_in: Rows::default(),
            live_out: Rows::default(),
        };
        sets.live_in.fill(blocks, live_in);
        sets.live_out.fill(blocks, live_out);
        sets
    }

    /// The file.
    pub fn file(&self) -> RegisterFile {
        self.file
    }

    /// The registers of the file that are live where a block begins, ascending.
    pub fn live_in(&self, block: Block) -> &[Register] {
        self.live_in.of(block)
    }

    /// The registers of the file that are live where control leaves a block, ascending.
    pub fn live_out(&self, block: Block) -> &[Register] {
        self.live_out.of(block)
    }
}

/// A use of a register in front of any definition in its block.
#[derive(Clone, Copy, Debug)]
pub enum BorderUse {
    /// Where the block begins.
    In(Block),
    /// Where control leaves the block for a PHI.
    OutOf(Block),
}

/// All of them.
pub struct BorderUses {
    uses: Vec<(Register, BorderUse)>,
    /// The registers, which are those that live across borders.
    crossing: EntitySet<Register>,
    /// How many these are.
    registers: usize,
}

impl BorderUses {
    fn find(function: &Function) -> Self {
        let mut found = Self {
            uses: Vec::new(),
            crossing: EntitySet::with_capacity(function.register_limit()),
            registers: 0,
        };
        each_border_use(function, |register, at| {
            found.uses.push((register, at));
            found.registers += usize::from(found.crossing.insert(register));
        });
        found
    }

    fn matrix_bytes(&self, function: &Function) -> usize {
        let of_block = self.registers.div_ceil(8);
        function.block_limit().saturating_mul(of_block)
    }
}

/// Bytes of a matrix of all blocks by the registers that live across borders.
pub fn matrix_bytes(function: &Function) -> usize {
    BorderUses::find(function).matrix_bytes(function)
}

/// Calls `found` for the registers that a block uses before it defines them, and for what PHIs use.
pub fn each_border_use(function: &Function, mut found: impl FnMut(Register, BorderUse)) {
    // The block that last defined a register, by register.
    let mut defined_in: Vec<PackedOption<Block>> = vec![PackedOption::default(); function.register_limit()];
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let is_phi = function.operation(instruction) == Operation::Phi;
            let sources = function.sources(instruction);
            for (number, source) in sources.iter().enumerate() {
                let Some(register) = source.as_register().filter(|_| !source.is_undefined()) else {
                    continue;
                };
                if is_phi {
                    let from = sources.get(number + 1).as_block();
                    found(
                        register,
                        BorderUse::OutOf(from.expect("the source of a PHI has a block")),
                    );
                } else if defined_in[register.index()].expand() != Some(block) {
                    found(register, BorderUse::In(block));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph_function::on_random_functions;
    use crate::random_function::random_function;
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    /// Both ways give the same sets.
    fn check(function: &Function) {
        let flow = ControlFlow::analyze(function, Traversal::default());
        let uses = BorderUses::find(function);
        let solved = equations::solve(function, &flow, &uses);
        let explored = paths::explore(function, &flow, &uses);
        for &block in function.blocks() {
            let sets = |liveness: &Liveness| -> [Vec<Register>; 2] {
                [
                    liveness.live_in(block).collect(),
                    liveness.live_out(block).collect(),
                ]
            };
            assert_eq!(sets(&solved), sets(&explored), "{block}");
            for file in solved.files().iter().chain(explored.files()) {
                assert!(file.live_in(block).is_sorted() && file.live_out(block).is_sorted());
            }
        }
    }

    #[test]
    fn both_ways_agree_on_random_graphs() {
        on_random_functions(|function, _| check(&function));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        #[test]
        fn both_ways_agree(seed: u64, late: bool) {
            check(&random_function(seed, if late { Stage::Late } else { Stage::Ssa }));
        }
    }
}
