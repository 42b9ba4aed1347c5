//! Walks the related flow and gives every computation of both functions its value.
//!
//! Nodes are visited in preorder of the dominator tree, so that a node comes after all its
//! predecessors except those of back edges. Variables (registers, memory by kind, the sequence of
//! effects; each of both functions) get their values as in SSA construction (Cytron et al. 1991).
//! The value on a back edge is not known yet when its target is visited. Variables that start equal
//! and are assumed to stay equal share a value (*optimistic* numbering, Alpern, Wegman and Zadeck
//! 1988). After the pass, the values on the back edges must confirm this; otherwise the variables
//! are separated and the pass is repeated.

mod ends;
mod execute;
mod joins;
mod operands;
mod stack;

use super::effects::{Chains, is_convergent, may_not_return, touches, written_by_store};
use super::memory::{Slots, StackPieces};
use super::predicates::PathConditions;
use super::related::{PairEnd, Related, RelatedNode, last_blocks};
use super::side::{Side, terminator};
use super::values::{Named, Operator, Value, Values};
use super::{Doubt, DoubtKind};
use oriel_arithmetic::TypedOperation;
use oriel_engine::entity::{Block, EntityRef, PackedOption, Symbol, entity_impl};
use oriel_engine::graph::DominanceFrontier;
use oriel_engine::hash::NumberMap;
use oriel_ori::{DataType, Function, Instruction, MemoryAccess, Operation};
use smallvec::SmallVec;

/// The value of a variable.
#[derive(Clone, Copy, Debug, Default)]
struct Cell {
    /// None: nothing has defined the variable.
    value: PackedOption<Value>,
    /// The join that produced the value, if nothing else has defined the variable since.
    member: PackedOption<MemberId>,
}

/// A [`Member`] of the plan.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct MemberId(u32);
entity_impl!(MemberId, "member");

/// This bit is set in the numbers of variables that are not registers, so that they differ from registers
/// and from classes.
const NO_REGISTER: u32 = 1 << 29;
/// The classes that a pass tells apart are numbered from here on, above the names of variables.
const FIRST_CLASS: u32 = 1 << 30;

/// A variable whose values meet at a node.
#[derive(Clone, Copy, Debug)]
struct Member {
    node: RelatedNode,
    variable: u32,
    /// The PHI that defines it.
    phi: Option<Instruction>,
    /// Its first cell in the table of operands.
    operands: u32,
    /// Distinguishes it from others that may start equal.
    class: u32,
    /// True if the last pass found that it has the same value as before the loop.
    is_constant: bool,
    /// True if a pass has refuted this.
    is_variable: bool,
}

/// The initial distinction of variables that meet at a loop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    /// By name: phases leave most registers unchanged.
    Names,
    /// None.
    Blind,
}

/// An effect within a node.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub instruction: Instruction,
    /// The operation and its operands, without the state that it depends on.
    pub action: Value,
    pub chains: Chains,
    /// For stores: the place.
    pub address: Option<(Value, u64)>,
    pub access: Option<MemoryAccess>,
}

/// A load of the function after that must be justified. Its alignment is justified separately.
#[derive(Clone, Copy, Debug)]
struct Load {
    node: RelatedNode,
    instruction: Instruction,
    value: Value,
    /// Earlier effects in the node that may not return.
    behind: u32,
}

/// The pass's data besides the functions, reused from pass to pass.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub values: Values,
    cells: Vec<Cell>,
}

/// Settings of one pass.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    /// Distinguishes stores and loads of different places, and allows reordering effects.
    pub is_thorough: bool,
    /// The stack objects whose address does not escape, in pieces; none: stack objects are not tracked.
    pub pieces: Option<&'a StackPieces>,
}

/// One pass.
pub(super) struct NumberingPass<'a, 'f> {
    sides: &'a [Side<'f>; 2],
    related: &'a Related,
    settings: Settings<'a>,
    pub values: &'a mut Values,
    names: &'a mut NumberMap<Box<str>, u32>,
    cells: &'a mut Vec<Cell>,
    undo: Vec<(u32, Cell)>,
    path_conditions: PathConditions,
    /// The first variable of each side, and the end of both.
    bases: [u32; 3],
    members: Vec<Member>,
    /// The members of each node.
    first_member: Vec<u32>,
    operands: Vec<Cell>,
    is_used: Vec<bool>,
    member_values: Vec<PackedOption<Value>>,
    pending: Vec<MemberId>,
    is_visited: Vec<bool>,
    conditions: Vec<PackedOption<Value>>,
    effects: [Vec<Effect>; 2],
    /// The components of stores, by the value of the effect.
    stores: NumberMap<Value, (Value, u64, Option<MemoryAccess>)>,
    loads_before: NumberMap<Value, SmallVec<[(RelatedNode, u32); 2]>>,
    loads_after: Vec<Load>,
    pub slots: Slots,
    pub doubts: Vec<Doubt>,
    /// Variables that were read at a place where no definition dominates.
    pub undominated: Vec<u32>,
    /// Number of unknown values.
    unknowns: u64,
    /// Registers that the function before reads undefined.
    undefined_before: NumberMap<u32, ()>,
    /// True if both functions number symbols and bases alike.
    shares_numbers: bool,
    /// Corresponding instructions of both functions that depend on which threads execute them.
    convergent: NumberMap<(u8, Instruction), Instruction>,
    /// By node: effects of the function before that may not return.
    ends_before: Vec<u32>,
    /// For a value of the function before, a value of the function after and how they are read: whether the
    /// first may become the second.
    compared: NumberMap<(Value, Value, ends::Reading), ends::Compared>,
}

/// The findings of a pass.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub doubts: Vec<Doubt>,
    /// True if variables were separated that the pass had assumed equal, or were found to be
    /// constant.
    pub is_refined: bool,
    pub undominated: Vec<u32>,
}

/// The variables that need joins, and the members of joins, which are the same in all passes.
#[derive(Clone, Debug, Default)]
pub(super) struct JoinPlan {
    members: Vec<Member>,
    first_member: Vec<u32>,
    operand_count: usize,
    next_class: u32,
}

/// Returns the number of variables of both sides.
fn bases(sides: &[Side<'_>; 2], pieces: Option<&StackPieces>) -> [u32; 3] {
    let pieces = pieces.map_or(0, StackPieces::count);
    let count = |side: &Side<'_>| (side.function.register_limit() + Chains::COUNT + pieces) as u32;
    let first = count(&sides[0]);
    [0, first, first + count(&sides[1])]
}

/// Numbers both functions once, and refines the plan by the findings.
pub(super) fn number(
    sides: &[Side<'_>; 2],
    related: &Related,
    settings: Settings<'_>,
    plan: &mut JoinPlan,
    memory: &mut Memory,
    names: &mut NumberMap<Box<str>, u32>,
) -> (Findings, Slots) {
    let Memory { values, cells } = memory;
    values.clear();
    values.is_thorough = settings.is_thorough;
    let bases = bases(sides, settings.pieces);
    cells.clear();
    cells.resize(bases[2] as usize, Cell::default());
    let nodes = related.nodes.len();
    let mut pass = NumberingPass {
        sides,
        related,
        settings,
        values,
        names,
        cells,
        undo: Vec::new(),
        path_conditions: PathConditions::default(),
        bases,
        first_member: std::mem::take(&mut plan.first_member),
        operands: vec![Cell::default(); plan.operand_count],
        is_used: vec![false; plan.members.len()],
        member_values: vec![PackedOption::default(); plan.members.len()],
        members: std::mem::take(&mut plan.members),
        pending: Vec::new(),
        is_visited: vec![false; nodes],
        conditions: vec![PackedOption::default(); nodes],
        effects: Default::default(),
        stores: NumberMap::default(),
        loads_before: NumberMap::default(),
        loads_after: Vec::new(),
        slots: Slots::default(),
        doubts: Vec::new(),
        undominated: Vec::new(),
        unknowns: 0,
        undefined_before: NumberMap::default(),
        shares_numbers: sides[0].shares_numbers(&sides[1]),
        convergent: NumberMap::default(),
        ends_before: vec![0; nodes],
        compared: NumberMap::default(),
    };
    pass.run();
    pass.justify_loads();
    pass.note_escapes_over_edges();
    pass.propagate_uses();
    // Unchanged variables of a loop come first, so that values that differ only because of them are
    // not separated.
    let is_refined =
        !pass.doubts.is_empty() && pass.find_constant_joins() || pass.check_joins(&mut plan.next_class);
    let findings = Findings {
        doubts: std::mem::take(&mut pass.doubts),
        is_refined,
        undominated: std::mem::take(&mut pass.undominated),
    };
    let slots = std::mem::take(&mut pass.slots);
    plan.first_member = std::mem::take(&mut pass.first_member);
    plan.members = std::mem::take(&mut pass.members);
    (findings, slots)
}

impl<'a> NumberingPass<'a, '_> {
    fn run(&mut self) {
        for side in 0..2 {
            for chain in 0..Chains::COUNT {
                let initial = self
                    .values
                    .intern(Operator::Initial { kind: chain as u8 }, 0, &[]);
                self.set(self.chain(side, chain), initial);
            }
        }
        // The path from the entry to the current node, with undo information.
        let mut path: Vec<(RelatedNode, usize, usize)> = Vec::new();
        for index in 0..self.related.dominators.preorder().len() {
            let node = self.related.dominators.preorder()[index];
            while let Some(&(above, undo, path_conditions)) = path.last() {
                if self.related.dominators.dominates(above, node) {
                    break;
                }
                while self.undo.len() > undo {
                    let (variable, cell) = self.undo.pop().expect("the log is longer than the mark");
                    self.cells[variable as usize] = cell;
                }
                self.path_conditions.rewind(path_conditions);
                path.pop();
            }
            path.push((node, self.undo.len(), self.path_conditions.mark()));
            self.visit(node);
        }
    }

    pub(super) fn function(&self, side: usize) -> &'a Function {
        self.sides[side].function
    }

    pub(super) fn pieces(&self) -> Option<&'a StackPieces> {
        self.settings.pieces
    }

    /// Returns a value that equals no other.
    pub(super) fn unknown(&mut self, width: u32) -> Value {
        self.unknowns += 1;
        self.values
            .intern(named(Named::Unknown, self.unknowns), width, &[])
    }

    fn chain(&self, side: usize, chain: usize) -> u32 {
        self.bases[side] + (self.sides[side].function.register_limit() + chain) as u32
    }

    pub(super) fn piece(&self, side: usize, piece: u32) -> u32 {
        self.chain(side, Chains::COUNT) + piece
    }

    pub(super) fn set(&mut self, variable: u32, value: Value) {
        let value = value.into();
        let member = None.into();
        self.set_cell(variable, Cell { value, member });
    }

    fn set_cell(&mut self, variable: u32, cell: Cell) {
        let old = std::mem::replace(&mut self.cells[variable as usize], cell);
        self.undo.push((variable, old));
    }

    fn use_member(&mut self, member: PackedOption<MemberId>) {
        if let Some(member) = member.expand()
            && !std::mem::replace(&mut self.is_used[member.index()], true)
        {
            self.pending.push(member);
        }
    }

    /// Returns the value of a variable.
    pub(super) fn get(&mut self, variable: u32) -> Value {
        let cell = self.cells[variable as usize];
        let Some(value) = cell.value.expand() else {
            self.undominated.push(variable);
            return self.undefined(variable);
        };
        self.use_member(cell.member);
        value
    }

    /// Returns the value of a variable that was never written: any value. The value in the function
    /// before may become the one in the function after.
    fn undefined(&mut self, variable: u32) -> Value {
        let side = usize::from(variable >= self.bases[1]);
        let own = variable - self.bases[side];
        let registers = self.sides[side].function.register_limit() as u32;
        let width = match own < registers {
            true => u32::from(
                self.sides[side]
                    .function
                    .register(oriel_engine::entity::Register::from_u32(own))
                    .bits,
            ),
            false => self.settings.pieces.map_or(0, |pieces| {
                let piece = (own - registers).saturating_sub(Chains::COUNT as u32);
                pieces.width(piece)
            }),
        };
        let register = if own < registers {
            own
        } else {
            NO_REGISTER | (own - registers)
        };
        // A register that only the function after reads undefined may have a different value at
        // each read.
        if side == 0 {
            self.undefined_before.insert(register, ());
        } else if !self.undefined_before.contains_key(&register) {
            return self.unknown(width);
        }
        self.values.intern(Operator::Undefined { register }, width, &[])
    }

    fn doubt(&mut self, kind: DoubtKind, side: usize, instruction: Option<Instruction>, node: RelatedNode) {
        self.doubt_of_values(kind, side, instruction, node, None);
    }

    fn doubt_of_values(
        &mut self,
        kind: DoubtKind,
        side: usize,
        instruction: Option<Instruction>,
        node: RelatedNode,
        values: Option<[Value; 2]>,
    ) {
        let values = values.filter(|_| self.doubts.is_empty() && self.settings.is_thorough);
        let values = values.map(|values| Box::new(values.map(|value| self.values.show(value))));
        let block = instruction
            .and_then(|instruction| self.sides[side].function.block_of(instruction))
            .unwrap_or(last_blocks(&self.related.nodes[node.index()].stretches)[side]);
        self.doubts.push(Doubt {
            instruction,
            values,
            ..Doubt::at(kind, side, block)
        });
    }

    fn visit(&mut self, node: RelatedNode) {
        self.is_visited[node.index()] = true;
        self.learn_from_branch(node);
        self.join(node);
        for effects in &mut self.effects {
            effects.clear();
        }
        for side in 0..2 {
            let function = self.sides[side].function;
            for index in 0..self.related.nodes[node.index()].stretches[side].len() {
                let segment = self.related.nodes[node.index()].stretches[side][index];
                if let Some(from) = segment.entered_from {
                    self.enter(side, segment.block, from);
                }
                for instruction in function.instructions(segment.block) {
                    let operation = function.operation(instruction);
                    if operation != Operation::Phi && !operation.is_debug() {
                        self.execute(node, side, instruction);
                    }
                }
                if let Some(holds) = segment.decided {
                    let branch = terminator(function, segment.block);
                    let condition = self.condition(side, branch);
                    if self.values.as_constant(condition) != Some(holds.into()) {
                        self.doubt(DoubtKind::Undecided, side, Some(branch), node);
                    }
                }
            }
        }
        self.compare_effects(node);
        self.compare_ends(node);
        self.leave(node);
    }

    /// Uses the facts of the only edge to a node.
    fn learn_from_branch(&mut self, node: RelatedNode) {
        let &[above] = self.related.graph.predecessors(node) else {
            return;
        };
        let edges = &self.related.nodes[above.index()].edges;
        let sense = edges
            .iter()
            .find(|edge| edge.target == node)
            .and_then(|edge| edge.sense);
        if let Some(holds) = sense {
            self.learn_condition(above, holds);
        }
    }

    /// Uses that the condition at the end of a node holds, or that it does not.
    fn learn_condition(&mut self, node: RelatedNode, holds: bool) {
        if let Some(condition) = self.conditions[node.index()].expand()
            && !self.values.mentions_undefined(condition)
        {
            self.path_conditions.learn(self.values, condition, holds);
        }
    }

    /// Joins the values of several edges.
    fn join(&mut self, node: RelatedNode) {
        let members = self.first_member[node.index()] as usize..self.first_member[node.index() + 1] as usize;
        if members.is_empty() {
            return;
        }
        let predecessors = self.related.graph.predecessors(node);
        let is_open = !predecessors
            .iter()
            .all(|above| self.is_visited[above.index()] && *above != node);
        let mut known: SmallVec<[Value; 8]> = SmallVec::new();
        for index in members {
            let member = self.members[index];
            known.clear();
            for (number, above) in predecessors.iter().enumerate() {
                if !self.is_visited[above.index()] || *above == node {
                    continue;
                }
                let cell = self.operands[member.operands as usize + number];
                known.push(match cell.value.expand() {
                    Some(value) => value,
                    None => self.undefined(member.variable),
                });
            }
            let first = known.first().copied();
            let is_same = known.iter().all(|&value| Some(value) == first);
            let value = match first {
                Some(first) if is_same && (!is_open || member.is_constant) => first,
                _ if !is_open => self.values.join(node.as_u32(), &known),
                _ => {
                    let width = first.map_or(0, |value| self.values.width(value));
                    let operator = Operator::Join {
                        node: node.as_u32(),
                        class: member.class,
                        is_open,
                    };
                    self.values.intern(operator, width, &known)
                }
            };
            let value = value.into();
            self.member_values[index] = value;
            let join = MemberId::new(index).into();
            self.set_cell(member.variable, Cell { value, member: join });
        }
    }

    /// Handles the PHIs of a block with a single predecessor.
    fn enter(&mut self, side: usize, block: Block, from: Block) {
        let function = self.sides[side].function;
        let phis = function.phis(block);
        let values: SmallVec<[Value; 8]> = phis.map(|phi| self.phi_operand(side, phi, from)).collect();
        for (phi, value) in function.phis(block).zip(values) {
            if let Some(register) = function.result(phi, 0).as_register() {
                self.set(self.bases[side] + register.as_u32(), value);
            }
        }
    }

    fn phi_operand(&mut self, side: usize, phi: Instruction, from: Block) -> Value {
        let function = self.sides[side].function;
        let width = function.data_type(phi).bits();
        match function.phi_value(phi, from) {
            Some(operand) => self.operand(side, operand, width, false),
            None => self
                .values
                .intern(Operator::Undefined { register: u32::MAX }, width, &[]),
        }
    }

    /// Passes the values at the end of a node to the joins after it.
    fn leave(&mut self, node: RelatedNode) {
        for index in 0..self.related.nodes[node.index()].edges.len() {
            let edge = self.related.nodes[node.index()].edges[index];
            let target = edge.target.index();
            let members = self.first_member[target] as usize..self.first_member[target + 1] as usize;
            if members.is_empty() {
                continue;
            }
            // Where several edges meet, the facts of this edge hold for the values on it.
            let mark = self.path_conditions.mark();
            if let Some(holds) = edge.sense {
                self.learn_condition(node, holds);
            }
            let predecessors = self.related.graph.predecessors(edge.target);
            let number = predecessors
                .iter()
                .position(|&above| above == node)
                .expect("an edge has two ends");
            for index in members {
                let member = self.members[index];
                let side = usize::from(member.variable >= self.bases[1]);
                let cell = match member.phi {
                    None => self.cells[member.variable as usize],
                    Some(phi) => match self.sides[side].function.phi_value(phi, edge.from[side]) {
                        Some(operand) => self.cell_of(side, operand, phi),
                        None => Cell::default(),
                    },
                };
                self.operands[member.operands as usize + number] = self.refined(cell);
            }
            self.path_conditions.rewind(mark);
        }
    }
}

fn named(kind: Named, number: u64) -> Operator {
    Operator::Named { kind, number }
}
