//! Liveness by going from every use back to the definitions (F. Brandner, B. Boissinot, A. Darte,
//! B. Dupont de Dinechin and F. Rastello, "Computing Liveness Sets for SSA-Form Programs", 2011:
//! path exploration, by variable; their proof for one definition holds for several as long as a
//! path ends at each).
//!
//! One register after another; which blocks a walk has been to is told by marks with the register's
//! name, so nothing is ever cleared. A block that control enters with the register live is noted
//! once, and so is one that it leaves.

use super::{BorderUse, BorderUses, FileLiveness, Liveness};
use crate::control_flow::ControlFlow;
use crate::function::{Function, RegisterFile};
use oriel_engine::dataflow::Statistics;
use oriel_engine::entity::{Block, EntityRef, PackedOption, Register};
use oriel_engine::graph::rows::Rows;

/// Goes all paths.
pub(super) fn explore(function: &Function, flow: &ControlFlow, uses: &BorderUses) -> Liveness {
    let (mut entering, mut leaving) = (Vec::new(), Vec::new());
    for &(register, at) in &uses.uses {
        match at {
            BorderUse::In(block) => entering.push((register, block)),
            BorderUse::OutOf(block) => leaving.push((register, block)),
        }
    }
    let by_register = |uses: Vec<(Register, Block)>| {
        let mut rows = Rows::default();
        rows.fill(function.register_limit(), uses.iter().copied());
        rows
    };
    // What is no longer needed goes at once, here and below: these lists are among the largest of a
    // compilation.
    let (entering, leaving) = (by_register(entering), by_register(leaving));
    let mut walks: [Walk; RegisterFile::ALL.len()] = Default::default();
    let mut marks = Marks::new(function.block_limit());
    for register in function.registers() {
        let (entered, left) = (entering.of(register), leaving.of(register));
        if entered.is_empty() && left.is_empty() {
            continue;
        }
        for (definition, _) in function.definitions(register) {
            if let Some(block) = function.block_of(definition) {
                marks.defined[block.index()] = register.into();
            }
        }
        let walk = &mut walks[function.register(register).file as usize];
        for &block in left {
            walk.leave(register, block, &mut marks);
        }
        for &block in entered {
            walk.enter(register, block, &mut marks);
        }
        while let Some(block) = marks.pending.pop() {
            for &predecessor in flow.graph.predecessors(block) {
                walk.leave(register, predecessor, &mut marks);
            }
        }
    }
    drop((entering, leaving, marks));
    let files = RegisterFile::ALL.into_iter().zip(walks);
    let files = files.filter(|(_, walk)| !walk.live_in.blocks.is_empty() || !walk.live_out.blocks.is_empty());
    let blocks = function.block_limit();
    Liveness {
        files: files
            .map(|(file, walk)| FileLiveness {
                file,
                live_in: walk.live_in.into_rows(blocks),
                live_out: walk.live_out.into_rows(blocks),
            })
            .collect(),
        statistics: Statistics::default(),
    }
}

/// By block: the last register that the walk had to do with it for.
struct Marks {
    entered: Vec<PackedOption<Register>>,
    left: Vec<PackedOption<Register>>,
    defined: Vec<PackedOption<Register>>,
    /// Blocks that are entered with the register live and whose predecessors have not been looked
    /// at.
    pending: Vec<Block>,
}

impl Marks {
    fn new(blocks: usize) -> Self {
        Self {
            entered: vec![PackedOption::default(); blocks],
            left: vec![PackedOption::default(); blocks],
            defined: vec![PackedOption::default(); blocks],
            pending: Vec::new(),
        }
    }
}

/// Marks a block; was it not marked with the register before?
fn mark(place: &mut PackedOption<Register>, register: Register) -> bool {
    std::mem::replace(place, register.into()).expand() != Some(register)
}

/// What was found of one file, by register in ascending order.
#[derive(Default)]
struct Walk {
    live_in: Places,
    live_out: Places,
}

/// The blocks of one register after another. There are several for each instruction of a large
/// function, so they are kept without their register.
#[derive(Default)]
struct Places {
    blocks: Vec<Block>,
    /// Each register with the place that its blocks begin at.
    begins: Vec<(Register, usize)>,
}

impl Places {
    fn push(&mut self, register: Register, block: Block) {
        if self.begins.last().is_none_or(|&(last, _)| last != register) {
            self.begins.push((register, self.blocks.len()));
        }
        self.blocks.push(block);
    }

    /// The registers of each block, ascending.
    fn into_rows(self, blocks: usize) -> Rows<Block, Register> {
        let mut rows = Rows::default();
        rows.fill(blocks, self.pairs());
        rows
    }

    fn pairs(&self) -> impl Iterator<Item = (Block, Register)> + Clone {
        let ends = self.begins.iter().skip(1).map(|&(_, begin)| begin);
        let ends = ends.chain([self.blocks.len()]);
        let rows = self.begins.iter().zip(ends);
        rows.flat_map(|(&(register, begin), end)| {
            let blocks = self.blocks[begin..end].iter();
            blocks.map(move |&block| (block, register))
        })
    }
}

impl Walk {
    /// The register is live where control leaves a block.
    fn leave(&mut self, register: Register, block: Block, marks: &mut Marks) {
        if mark(&mut marks.left[block.index()], register) {
            self.live_out.push(register, block);
            if marks.defined[block.index()].expand() != Some(register) {
                self.enter(register, block, marks);
            }
        }
    }

    /// The register is live where a block begins.
    fn enter(&mut self, register: Register, block: Block, marks: &mut Marks) {
        if mark(&mut marks.entered[block.index()], register) {
            self.live_in.push(register, block);
            marks.pending.push(block);
        }
    }
}
