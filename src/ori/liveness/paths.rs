//! Liveness by going from every use back to the definitions (F. Brandner, B. Boissinot, A. Darte, B. Dupont de Dinechin and
//! F. Rastello, "Computing Liveness Sets for SSA-Form Programs", 2011: path exploration, by variable; their proof for one
//! definition holds for several as long as a path ends at each).
//!
//! One register after another; which blocks a walk has been to is told by marks with the register's name, so nothing is ever
//! cleared. A block that control enters with the register live is noted once, and so is one that it leaves.

use super::{BorderUse, BorderUses, FileLiveness, Liveness};
use crate::dataflow::Statistics;
use crate::entity::{Block, EntityRef, PackedOption, Register};
use crate::graph::rows::Rows;
use crate::ori::control_flow::ControlFlow;
use crate::ori::function::{Function, RegisterFile};

/// Goes all paths.
pub(super) fn explore(function: &Function, flow: &ControlFlow, uses: &BorderUses) -> Liveness {
    let (mut entering, mut leaving) = (Vec::new(), Vec::new());
    for &(register, at) in &uses.uses {
        match at {
            BorderUse::In(block) => entering.push((register, block)),
            BorderUse::OutOf(block) => leaving.push((register, block)),
        }
    }
    let by_register = |uses: &[(Register, Block)]| {
        let mut rows = Rows::default();
        rows.fill(function.register_limit(), uses.iter().copied());
        rows
    };
    let (entering, leaving) = (by_register(&entering), by_register(&leaving));
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
    let files = RegisterFile::ALL.into_iter().zip(walks);
    let files = files.filter(|(_, walk)| !walk.live_in.is_empty() || !walk.live_out.is_empty());
    let blocks = function.block_limit();
    Liveness {
        files: files
            .map(|(file, walk)| {
                FileLiveness::new(
                    file,
                    blocks,
                    walk.live_in.iter().copied(),
                    walk.live_out.iter().copied(),
                )
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
    /// Blocks that are entered with the register live and whose predecessors have not been looked at.
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
    live_in: Vec<(Block, Register)>,
    live_out: Vec<(Block, Register)>,
}

impl Walk {
    /// The register is live where control leaves a block.
    fn leave(&mut self, register: Register, block: Block, marks: &mut Marks) {
        if mark(&mut marks.left[block.index()], register) {
            self.live_out.push((block, register));
            if marks.defined[block.index()].expand() != Some(register) {
                self.enter(register, block, marks);
            }
        }
    }

    /// The register is live where a block begins.
    fn enter(&mut self, register: Register, block: Block, marks: &mut Marks) {
        if mark(&mut marks.entered[block.index()], register) {
            self.live_in.push((block, register));
            marks.pending.push(block);
        }
    }
}
