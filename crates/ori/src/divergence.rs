//! Divergence: which registers hold the same value in all lanes of a warp that execute an
//! instruction together.
//!
//! ```text
//! %1 = S2R tid.x            divergent: a source of divergence
//! %2 = IADD %1, 4           divergent: computed from %1
//! %3 = ISETP.lt %2, %0      divergent, and so is the branch on it
//! BRA %3, bix1, fall bix2
//! bix3: %4 = PHI 1, bix1, 2, bix2     divergent: lanes come here by different ways
//! ```
//!
//! A register is divergent if one execution of one of its definitions can give two active lanes
//! different values. The causes:
//!
//! - **sources**: thread and lane numbers, counters, atomic operations, shuffles, loads from memory
//!   that another thread may write, results of calls, parameters of device functions, opaque
//!   operations, and votes and the like unless all lanes of the warp certainly take part;
//! - **data**: an operand is divergent;
//! - **joins**: a divergent branch sends lanes along different paths, and PHIs of the blocks where
//!   two of these paths first meet choose by lane;
//! - **time**: lanes leave a loop in different iterations by a divergent exit, so a use behind the
//!   loop sees values of different iterations, though inside the loop all lanes agree. The *use* is
//!   divergent, the register is not.
//!
//! Joins are found with labels: every target of the branch sends out its own label, and a block
//! that receives two different labels is a join and sends out its own. Labels stop at the branch's
//! immediate post-dominator, where all lanes reconverge. Blocks that a label reaches before that
//! are under *divergent control*.
//!
//! A register with several definitions, as in late form, has no PHIs. It is divergent if a
//! definition lies on the lanes' paths and the register is live where the lanes join, or after a
//! loop that they leave at different times. So its classification holds for all of its values.
//!
//! Cycles with several entries have no header at which lanes reconverge: if lanes diverge inside
//! such a cycle or before its entries, everything defined in it counts as divergent.
//!
//! The algorithm is that of R. Karrenberg and S. Hack, "Improving Performance of OpenCL on CPUs",
//! CC 2012, in the form of LLVM's GenericUniformityImpl and SyncDependenceAnalysis.
//!
//! *Uniform* is a property of values: lanes that execute an instruction together agree. A uniform
//! register cannot always be a single register for the whole warp, since lanes on another path may
//! still need another value.

mod labels;

use super::control_flow::ControlFlow;
use super::function::{Function, Instruction, Special};
use super::liveness::Liveness;
use super::modifiers::{AddressSpace, ModifierFlags, Ordering, SpecialRegister, Variant};
use super::operand::{Operand, OperandKind};
use super::operation::Operation;
use labels::Labels;
use oriel_engine::entity::{Block, EntitySet, Register, SecondaryMap};
use oriel_engine::graph::rows::Rows;
use oriel_engine::graph::{ComponentSearch, Loop, PostDominatorTree};
use oriel_engine::snapshot::abi::{FunctionFlags, MemoryFlags, Stage};
use std::cell::OnceCell;
use std::collections::{HashMap, HashSet};

/// The divergent registers, uses and branches of a function.
#[derive(Clone, Debug)]
pub struct Divergence {
    registers: EntitySet<Register>,
    /// Uses after a loop that lanes leave at different times, of registers that are uniform inside
    /// it.
    late_uses: HashSet<(Instruction, usize)>,
    branches: EntitySet<Block>,
    control: EntitySet<Block>,
}

impl Divergence {
    /// Analyses a function and, for that alone, its control flow and liveness.
    pub fn of(function: &Function) -> Self {
        let flow = ControlFlow::of(function);
        Self::compute(function, &flow, &Liveness::compute(function, &flow))
    }

    /// Analyses a function with its current control flow and liveness.
    pub fn compute(function: &Function, flow: &ControlFlow, liveness: &Liveness) -> Self {
        let mut analysis = Analysis::new(function, flow, liveness);
        analysis.start();
        while let Some(register) = analysis.pending.pop() {
            for (instruction, _) in function.uses(register) {
                analysis.visit(instruction);
            }
        }
        analysis.found
    }

    /// True if the register holds the same value in all lanes whenever one of its definitions is
    /// executed.
    pub fn is_uniform(&self, register: Register) -> bool {
        !self.registers.contains(register)
    }

    /// True if the value that an instruction reads as a source may differ between lanes.
    pub fn is_divergent_source(&self, function: &Function, instruction: Instruction, number: usize) -> bool {
        let operand = function.source(instruction, number);
        self.is_divergent_operand(function, operand) || self.late_uses.contains(&(instruction, number))
    }

    fn is_divergent_operand(&self, function: &Function, operand: Operand) -> bool {
        match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                self.registers.contains(register)
            }
            OperandKind::Special(special) => match function.special_data(special) {
                Special::SpecialRegister(register) => is_divergent_special(register),
                Special::Symbol { .. } | Special::Frame(_) => false,
                Special::Physical(_) | Special::Machine { .. } => true,
            },
            OperandKind::None
            | OperandKind::Immediate(_)
            | OperandKind::Constant(_)
            | OperandKind::Target(_)
            | OperandKind::FallThrough(_) => false,
        }
    }

    /// True if lanes may diverge at the end of the block.
    pub fn is_divergent_branch(&self, block: Block) -> bool {
        self.branches.contains(block)
    }

    /// True if a part of the warp may execute the block while the rest executes other code.
    pub fn is_divergent_control(&self, block: Block) -> bool {
        self.control.contains(block)
    }
}

/// True if two lanes of a warp can read different values, or one warp different values at different
/// times.
const fn is_divergent_special(register: SpecialRegister) -> bool {
    use SpecialRegister as S;
    match register {
        S::NtidX | S::NtidY | S::NtidZ | S::CtaidX | S::CtaidY | S::CtaidZ => false,
        S::NctaidX | S::NctaidY | S::NctaidZ | S::NwarpId | S::WarpSize | S::NsmId => false,
        S::GridId | S::TotalSmemSize | S::DynamicSmemSize => false,
        S::TidX | S::TidY | S::TidZ | S::LaneId => true,
        S::LaneMaskEq | S::LaneMaskLe | S::LaneMaskLt | S::LaneMaskGe | S::LaneMaskGt => true,
        S::WarpId | S::SmId | S::Clock | S::Clock64 | S::GlobalTimer | S::GlobalTimerLo | S::None => true,
    }
}

/// The origin of the values of an operation's results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// The operands alone.
    Operands,
    /// Something that differs between lanes whatever the operands are.
    Lane,
    /// All participating lanes, if the source with this number names the same ones for all.
    Warp(Option<usize>),
}

fn origin_of_results(function: &Function, instruction: Instruction) -> Origin {
    use Operation as O;
    let operation = function.operation(instruction);
    match operation {
        O::Iadd | O::Isub | O::Imul | O::ImulHi | O::ImulWide | O::Imul24 | O::Imad | O::ImadWide => {
            Origin::Operands
        }
        O::Isad | O::Idiv | O::Irem | O::Imin | O::Imax | O::Iabs | O::Ineg => Origin::Operands,
        O::IaddCarryOut | O::IaddCarry | O::IsubCarryOut | O::IsubCarry => Origin::Operands,
        O::Dp2a | O::Dp4a | O::And | O::Or | O::Xor | O::Not | O::Shl | O::Shr | O::Shf => Origin::Operands,
        O::Bfe | O::Bfi | O::Bfind | O::Bmsk | O::Szext | O::Brev | O::Clz | O::Popc | O::Prmt | O::Fns => {
            Origin::Operands
        }
        O::Fadd | O::Fsub | O::Fmul | O::Ffma | O::Fdiv | O::Frcp | O::Fsqrt | O::Frsqrt => Origin::Operands,
        O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh | O::Fmin | O::Fmax | O::Fneg | O::Fabs => {
            Origin::Operands
        }
        O::Fcopysign | O::Ftestinf | O::Isetp | O::Fsetp | O::Sel | O::Cvt | O::Cvta => Origin::Operands,
        O::Isspacep | O::Mov | O::Copy | O::Phi | O::S2r | O::Lea | O::FrameAddress => Origin::Operands,
        O::Pack | O::Unpack | O::Extract => Origin::Operands,
        // The missing value of a PHI became an undefined one; its choice does not matter before
        // registers are shared.
        O::ImplicitDef if function.info.stage == Stage::Ssa => Origin::Operands,
        O::ImplicitDef => Origin::Lane,
        O::Ld if reads_constant_memory(function, instruction) => Origin::Operands,
        O::Ld | O::Atom | O::Shfl => Origin::Lane,
        O::Vote => Origin::Warp((function.sources(instruction).len() > 1).then_some(1)),
        O::Redux => Origin::Warp(Some(1)),
        O::Match if function.modifiers(instruction).variant == Variant::All => Origin::Warp(Some(1)),
        O::Match => Origin::Lane,
        O::ActiveMask | O::BarRed => Origin::Warp(None),
        O::InlineAsm | O::Opaque | O::OpaqueTerminator => Origin::Lane,
        // Without results.
        O::St | O::Membar | O::Bar | O::WarpSync | O::Bra | O::Brx | O::Ret | O::Exit | O::End => {
            Origin::Operands
        }
        O::Trap
        | O::CallStart
        | O::DeclareParam
        | O::Prototype
        | O::Call
        | O::CallEnd
        | O::Nop
        | O::Debug => Origin::Operands,
    }
}

/// True if a load returns the same for the same address while the kernel runs, whichever thread
/// loads.
fn reads_constant_memory(function: &Function, instruction: Instruction) -> bool {
    let modifiers = function.modifiers(instruction);
    if matches!(modifiers.ordering, Ordering::Volatile | Ordering::RelaxedMmio) {
        return false;
    }
    let has = |flag| {
        let access = function.access(instruction);
        access.is_some_and(|access| access.flags.contains(flag))
    };
    match modifiers.space {
        AddressSpace::Const | AddressSpace::EntryParam => true,
        AddressSpace::Global => {
            let is_invariant = modifiers.flags.contains(ModifierFlags::INVARIANT);
            (is_invariant || has(MemoryFlags::INVARIANT)) && !has(MemoryFlags::VOLATILE)
        }
        // Equal generic or local addresses are different memory for different threads, and others
        // may write.
        AddressSpace::None
        | AddressSpace::Generic
        | AddressSpace::Shared
        | AddressSpace::Local
        | AddressSpace::SharedCluster
        | AddressSpace::DeviceParam => false,
    }
}

/// True if the operation writes a carry for another instruction or reads one.
const fn has_carry(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::IaddCarryOut | Operation::IaddCarry | Operation::IsubCarryOut | Operation::IsubCarry
    )
}

struct Analysis<'a> {
    function: &'a Function,
    flow: &'a ControlFlow,
    liveness: &'a Liveness,
    /// Computed at the first branch where lanes diverge.
    post_dominators: OnceCell<PostDominatorTree<Block>>,
    /// Computed at the first join or loop of divergent lanes.
    several_valued: OnceCell<EntitySet<Register>>,
    /// The registers with several values that are live into each block, computed at the first join.
    several_valued_into: OnceCell<Rows<Block, Register>>,
    found: Divergence,
    /// Registers that have become divergent and whose uses are still to be visited.
    pending: Vec<Register>,
    /// Blocks where lanes meet from different paths.
    joins: EntitySet<Block>,
    /// Links between a carry's writer and its reader, in both directions.
    carry_readers: HashMap<Instruction, Instruction>,
    carry_writers: HashMap<Instruction, Instruction>,
    divergent_loops: HashSet<Loop>,
    /// Cycles with several entries that are not divergent yet.
    irreducible: Vec<Vec<Block>>,
    labels: Labels,
}

impl<'a> Analysis<'a> {
    fn new(function: &'a Function, flow: &'a ControlFlow, liveness: &'a Liveness) -> Self {
        Self {
            function,
            flow,
            liveness,
            post_dominators: OnceCell::new(),
            several_valued: OnceCell::new(),
            several_valued_into: OnceCell::new(),
            found: Divergence {
                registers: EntitySet::with_capacity(function.register_limit()),
                late_uses: HashSet::new(),
                branches: EntitySet::with_capacity(function.block_limit()),
                control: EntitySet::with_capacity(function.block_limit()),
            },
            pending: Vec::new(),
            joins: EntitySet::with_capacity(function.block_limit()),
            carry_readers: HashMap::new(),
            carry_writers: HashMap::new(),
            divergent_loops: HashSet::new(),
            irreducible: irreducible_cycles(flow),
            labels: Labels::default(),
        }
    }

    /// Returns the registers with several values: with several definitions, or with one that does
    /// not come before every use, which leaves them live into the function.
    fn several_valued(&self) -> &EntitySet<Register> {
        self.several_valued.get_or_init(|| {
            let (function, liveness) = (self.function, self.liveness);
            let mut found = EntitySet::with_capacity(function.register_limit());
            found.extend(function.registers().filter(|&register| {
                function.unique_definition(register).is_none()
                    || liveness.is_live_in(register, function.entry())
            }));
            found
        })
    }

    /// Visits every instruction once.
    fn start(&mut self) {
        if !self.function.info.flags.contains(FunctionFlags::KERNEL) {
            // A part of a warp may call it.
            self.found.control.extend(self.function.blocks().iter().copied());
        }
        for register in self.function.registers() {
            if self.function.definitions(register).next().is_none() && !self.function.is_unused(register) {
                self.mark(register);
            }
        }
        for &block in self.function.blocks() {
            let mut carry = None;
            for instruction in self.function.instructions(block) {
                let operation = self.function.operation(instruction);
                if has_carry(operation)
                    && let Some(writer) = carry.replace(instruction)
                    && matches!(operation, Operation::IaddCarry | Operation::IsubCarry)
                {
                    self.carry_readers.insert(writer, instruction);
                    self.carry_writers.insert(instruction, writer);
                }
                self.visit(instruction);
            }
        }
    }

    fn mark(&mut self, register: Register) {
        if self.found.registers.insert(register) {
            self.pending.push(register);
        }
    }

    /// Visits an instruction after one of its inputs has become divergent.
    fn visit(&mut self, instruction: Instruction) {
        let operation = self.function.operation(instruction);
        let Some(block) = self.function.block_of(instruction) else {
            return;
        };
        if operation.is_debug() {
            return;
        }
        if operation.is_terminator() {
            if operation == Operation::OpaqueTerminator || self.has_divergent_source(instruction) {
                self.mark_branch(block);
            }
        } else if !self.is_marked(instruction) && self.gives_divergent_results(instruction, block) {
            self.mark_results(instruction);
        }
    }

    /// True if there is nothing left to mark: all results are, and no carry depends on them.
    fn is_marked(&self, instruction: Instruction) -> bool {
        let mut results = self.function.results(instruction).iter();
        let is_marked = |result: Operand| {
            let register = result.as_register();
            register.is_none_or(|register| self.found.registers.contains(register))
        };
        results.all(is_marked) && !has_carry(self.function.operation(instruction))
    }

    fn mark_results(&mut self, instruction: Instruction) {
        let function = self.function;
        for register in function.result_registers(instruction) {
            self.mark(register);
        }
        if let Some(&reader) = self.carry_readers.get(&instruction) {
            self.visit_carry_chain(reader);
        }
    }

    /// Marks the rest of a chain of carries whose first instruction is divergent.
    fn visit_carry_chain(&mut self, first: Instruction) {
        let mut next = Some(first);
        while let Some(reader) = next {
            let result = self.function.result(reader, 0).as_register();
            result.into_iter().for_each(|register| self.mark(register));
            next = self.carry_readers.get(&reader).copied();
        }
    }

    fn has_divergent_source(&self, instruction: Instruction) -> bool {
        let sources = self.function.sources(instruction).len();
        (0..sources).any(|number| self.found.is_divergent_source(self.function, instruction, number))
    }

    fn gives_divergent_results(&self, instruction: Instruction, block: Block) -> bool {
        match origin_of_results(self.function, instruction) {
            Origin::Lane => true,
            Origin::Warp(members) => {
                self.found.is_divergent_control(block)
                    || members.is_some_and(|number| {
                        self.found.is_divergent_source(self.function, instruction, number)
                    })
            }
            Origin::Operands => {
                let reads_unknown_carry = || {
                    let operation = self.function.operation(instruction);
                    matches!(operation, Operation::IaddCarry | Operation::IsubCarry)
                        && !self.carry_writers.contains_key(&instruction)
                };
                self.has_divergent_source(instruction)
                    || (self.joins.contains(block) && self.chooses_by_way(instruction))
                    || reads_unknown_carry()
            }
        }
    }

    /// True if it is a PHI with different values for different predecessors.
    fn chooses_by_way(&self, instruction: Instruction) -> bool {
        if self.function.operation(instruction) != Operation::Phi {
            return false;
        }
        let mut values = self.function.sources(instruction).iter().step_by(2);
        let first = values.next();
        values.any(|value| Some(value) != first)
    }

    /// Marks a block at whose end lanes may diverge.
    fn mark_branch(&mut self, block: Block) {
        if !self.flow.order.is_reachable(block) || !self.found.branches.insert(block) {
            return;
        }
        let flow = self.flow;
        let post_dominators = self.post_dominators.get_or_init(|| flow.post_dominators());
        let meeting = post_dominators.immediate(block);
        let mut labels = std::mem::take(&mut self.labels);
        labels.spread(flow, block, meeting);
        for &influenced in labels.reached() {
            if Some(influenced) != meeting {
                self.mark_control(influenced);
            }
        }
        for &join in labels.joins() {
            self.mark_join(join, |block| Some(block) != meeting && labels.is_reached(block));
        }
        let innermost = flow.loops.innermost(block);
        let meet_inside = innermost
            .zip(meeting)
            .is_some_and(|(inner, at)| flow.loops.contains(inner, at));
        if meet_inside && labels.is_reached(block) {
            self.mark_rounds(
                labels
                    .reached()
                    .iter()
                    .filter(|&&reached| Some(reached) != meeting),
            );
        }
        self.labels = labels;
        let mut next = innermost;
        while let Some(inner) = next {
            if meeting.is_none_or(|meeting| !flow.loops.contains(inner, meeting)) {
                self.mark_loop(inner);
            }
            next = flow.loops.parent(inner);
        }
        self.mark_irreducible_cycles(block);
    }

    /// Marks a block that a part of the warp may execute.
    fn mark_control(&mut self, block: Block) {
        if !self.found.control.insert(block) {
            return;
        }
        let function = self.function;
        for instruction in function.instructions(block) {
            if matches!(origin_of_results(function, instruction), Origin::Warp(_)) {
                self.mark_results(instruction);
            }
        }
    }

    /// Marks a block where lanes meet from different paths through the blocks for which `is_on_way`
    /// holds.
    fn mark_join(&mut self, join: Block, is_on_way: impl Fn(Block) -> bool) {
        let (function, liveness) = (self.function, self.liveness);
        if self.joins.insert(join) {
            for phi in function.phis(join) {
                self.visit(phi);
            }
        }
        let all_into = self
            .several_valued_into
            .get_or_init(|| liveness.live_in_among(self.several_valued().iter()));
        for &register in all_into.of(join) {
            let mut definitions = function.definitions(register);
            if definitions.any(|(definition, _)| function.block_of(definition).is_some_and(&is_on_way))
                && self.found.registers.insert(register)
            {
                self.pending.push(register);
            }
        }
    }

    /// Marks a loop that lanes leave at different times.
    fn mark_loop(&mut self, left: Loop) {
        if !self.divergent_loops.insert(left) {
            return;
        }
        let (function, flow) = (self.function, self.flow);
        let exits: Vec<Block> = flow
            .loops
            .exit_edges(&flow.graph, left)
            .map(|(_, to)| to)
            .collect();
        for &block in flow.loops.nodes(left) {
            for instruction in function.instructions(block) {
                for register in function.result_registers(instruction) {
                    if !self.several_valued().contains(register) {
                        self.mark_uses_behind(left, register);
                    } else if !self.found.registers.contains(register)
                        && exits.iter().any(|&exit| self.liveness.is_live_in(register, exit))
                    {
                        self.mark(register);
                    }
                }
            }
        }
    }

    fn mark_uses_behind(&mut self, left: Loop, register: Register) {
        let (function, loops) = (self.function, &self.flow.loops);
        for (user, number) in function.uses(register) {
            let block = function.block_of(user);
            if block.is_some_and(|block| !loops.contains(left, block))
                && self.found.late_uses.insert((user, number))
            {
                self.visit(user);
            }
        }
    }

    /// Marks blocks that lanes go round while others wait at the join in the same loop: a cycle
    /// with the same header, which is no loop of its own. So lanes arrive at the join with values
    /// of different iterations.
    fn mark_rounds<'b>(&mut self, blocks: impl Iterator<Item = &'b Block>) {
        for &block in blocks {
            for instruction in self.function.instructions(block) {
                self.mark_results(instruction);
            }
        }
    }

    /// Marks the cycles with several entries that a divergent branch affects: lanes diverge inside
    /// them, or reach several of their entries.
    fn mark_irreducible_cycles(&mut self, branch: Block) {
        let is_hit = |cycle: &Vec<Block>| {
            cycle
                .iter()
                .any(|&block| block == branch || self.joins.contains(block))
        };
        let (hit, rest): (Vec<_>, Vec<_>) = std::mem::take(&mut self.irreducible)
            .into_iter()
            .partition(is_hit);
        self.irreducible = rest;
        self.mark_rounds(hit.iter().flatten());
    }
}

/// Returns the blocks of each cycle with several entries.
fn irreducible_cycles(flow: &ControlFlow) -> Vec<Vec<Block>> {
    let mut search = ComponentSearch::new();
    let mut cycles: Vec<Vec<Block>> = Vec::new();
    for (source, target) in flow.irreducible_edges() {
        if cycles.iter().any(|cycle| cycle.contains(&target)) {
            continue;
        }
        // The innermost loop around both; without its header its own cycles remain.
        let mut around = flow.loops.innermost(target);
        while around.is_some_and(|outer| !flow.loops.contains(outer, source)) {
            around = around.and_then(|inner| flow.loops.parent(inner));
        }
        let blocks: Vec<Block> = match around {
            Some(around) => {
                let header = flow.loops.header(around);
                let nodes = flow.loops.nodes(around).iter().copied();
                nodes.filter(|&block| block != header).collect()
            }
            None => flow.order.as_slice().to_vec(),
        };
        let mut is_inside: SecondaryMap<Block, bool> = SecondaryMap::new();
        for &block in &blocks {
            is_inside[block] = true;
        }
        let components = search.components(&flow.graph, &blocks, |block| is_inside[block]);
        cycles.extend(components.into_iter().find(|cycle| cycle.contains(&target)));
    }
    cycles
}

#[cfg(test)]
mod tests;
