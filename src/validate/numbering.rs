//! The walk over the related flow that gives every computation of both functions its value.
//!
//! Nodes are visited in preorder of the dominator tree, so that a node comes after all others that lead to it but those
//! of back edges. Variables (registers, memory by kind, the sequence of effects; each of both functions) get their values as
//! in the construction of SSA form (Cytron et al. 1991). Where a back edge leads to a node, what it brings is not known yet:
//! variables that begin alike and are taken to stay alike share a value (*optimistic* numbering, Alpern, Wegman and Zadeck
//! 1988), and when the walk is over, what came over the back edge has to bear that out, or they are told apart and the walk
//! is done again.

use super::arithmetic::Form;
use super::effects::{Chains, clobbered_inputs, is_convergent, may_not_return, touches};
use super::memory::{Slots, StackPieces};
use super::predicates::Facts;
use super::related::{Node, PairEnd, Related};
use super::side::{Side, terminator};
use super::values::{Operator, Value, Values};
use super::{Doubt, DoubtKind};
use crate::entity::{Block, EntityRef};
use crate::graph::DominanceFrontier;
use crate::hash::NumberMap;
use crate::ori::{
    Constant, DataType, Function, Instruction, MemoryAccess, Modifiers, Operand, OperandKind, Operation,
    Role, Special,
};
use smallvec::SmallVec;

/// No variable, member or value.
const NONE: u32 = u32::MAX;

/// What a variable holds.
#[derive(Clone, Copy, Debug)]
struct Cell {
    value: u32,
    /// The join that the value was taken from, if the variable has been defined by nothing else since.
    member: u32,
}

const UNSET: Cell = Cell {
    value: NONE,
    member: NONE,
};

/// A variable whose values meet at a node.
#[derive(Clone, Copy, Debug)]
struct Member {
    node: Node,
    variable: u32,
    /// The PHI that says so.
    phi: Option<Instruction>,
    /// Its first cell in the table of operands.
    operands: u32,
    /// Tells it from others that may begin alike.
    class: u32,
    /// Is it what it was before the loop, as the last walk has seen?
    is_constant: bool,
    /// Has a walk refuted that?
    is_variable: bool,
}

/// How variables that meet at a loop are told apart to begin with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    /// By their names: phases leave most registers what they are.
    Names,
    /// Not at all.
    Blind,
}

/// An effect as it is seen within a node.
#[derive(Clone, Debug)]
pub(super) struct Effect {
    pub instruction: Instruction,
    /// The operation and its operands, without what it depends on.
    pub action: Value,
    pub chains: Chains,
    /// Of stores: where.
    pub address: Option<(Value, u64)>,
    pub access: Option<MemoryAccess>,
}

/// A load of the function after, to be justified.
#[derive(Clone, Copy, Debug)]
struct Load {
    node: Node,
    instruction: Instruction,
    value: Value,
    /// Effects before it in the node that may not return.
    behind: u32,
}

/// What the walk needs beside the functions, kept from one to the next.
#[derive(Debug, Default)]
pub(super) struct Memory {
    pub values: Values,
    cells: Vec<Cell>,
}

/// Settings of one walk.
#[derive(Debug)]
pub(super) struct Settings<'a> {
    /// Are stores and loads of different places told apart, and effects allowed to change places?
    pub is_thorough: bool,
    /// Stack objects whose address goes nowhere, in pieces; none are looked at without it.
    pub pieces: Option<&'a StackPieces>,
}

/// One walk.
pub(super) struct Walk<'a, 'f> {
    sides: &'a [Side<'f>; 2],
    related: &'a Related,
    settings: Settings<'a>,
    pub values: &'a mut Values,
    names: &'a mut NumberMap<Box<str>, u32>,
    cells: &'a mut Vec<Cell>,
    undo: Vec<(u32, Cell)>,
    facts: Facts,
    /// The first variable of each side, and of what comes behind both.
    bases: [u32; 3],
    members: Vec<Member>,
    /// The members of each node.
    first_member: Vec<u32>,
    operands: Vec<Cell>,
    is_used: Vec<bool>,
    member_values: Vec<u32>,
    pending: Vec<u32>,
    is_visited: Vec<bool>,
    conditions: Vec<u32>,
    effects: [Vec<Effect>; 2],
    /// What stores were made of, by the value of the effect.
    stores: NumberMap<Value, (Value, u64, Option<MemoryAccess>)>,
    loads_before: NumberMap<Value, SmallVec<[(Node, u32); 2]>>,
    loads_after: Vec<Load>,
    pub slots: Slots,
    pub doubts: Vec<Doubt>,
    /// Variables that were read where no definition reaches that dominates the place.
    pub undominated: Vec<u32>,
    clobbered: u64,
    /// Registers that the function before reads without a value.
    undefined_before: NumberMap<u32, ()>,
    /// Do both functions number symbols and bases alike?
    shares_numbers: bool,
    /// Instructions of both functions that depend on which threads execute them, as they correspond.
    convergent: NumberMap<(u8, Instruction), Instruction>,
    /// By node: effects of the function before that may not return.
    ends_before: Vec<u32>,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(super) struct Findings {
    pub doubts: Vec<Doubt>,
    /// Were variables told apart that the walk had taken to be alike, or found to be constant?
    pub is_refined: bool,
    pub undominated: Vec<u32>,
}

/// The variables that need joins, and the members of joins, which stay the same from walk to walk.
#[derive(Clone, Debug, Default)]
pub(super) struct Plan {
    members: Vec<Member>,
    first_member: Vec<u32>,
    operand_count: usize,
    next_class: u32,
}

/// The number of variables of both sides.
fn bases(sides: &[Side<'_>; 2], pieces: Option<&StackPieces>) -> [u32; 3] {
    let pieces = pieces.map_or(0, StackPieces::count);
    let count = |side: &Side<'_>| (side.function.register_limit() + Chains::COUNT + pieces) as u32;
    let first = count(&sides[0]);
    [0, first, first + count(&sides[1])]
}

impl Plan {
    /// Finds where the values of variables meet. `forced` are variables with one definition that does not dominate all uses.
    pub fn new(
        sides: &[Side<'_>; 2],
        related: &Related,
        pieces: Option<&StackPieces>,
        guess: Guess,
        forced: &[u32],
    ) -> Self {
        let bases = bases(sides, pieces);
        let mut first_definition = vec![NONE; bases[2] as usize];
        let mut definitions: Vec<(u32, Node)> = Vec::new();
        let mut phis: Vec<(Node, u32, Instruction)> = Vec::new();
        let mut define = |variable: u32, node: Node, always: bool| {
            let first = &mut first_definition[variable as usize];
            if *first == NONE {
                *first = node.as_u32();
                if always {
                    definitions.push((variable, node));
                }
            } else if *first & !(1 << 31) != node.as_u32() || always {
                if *first >> 31 == 0 && !always {
                    definitions.push((variable, Node::from_u32(*first)));
                    *first |= 1 << 31;
                }
                definitions.push((variable, node));
            }
        };
        let mut is_forced = vec![false; if forced.is_empty() { 0 } else { bases[2] as usize }];
        for &variable in forced {
            is_forced[variable as usize] = true;
        }
        let is_forced = |variable: u32| is_forced.get(variable as usize).copied().unwrap_or(false);
        for &node in related.dominators.preorder() {
            for (number, side) in sides.iter().enumerate() {
                let function = side.function;
                let registers = function.register_limit() as u32;
                let base = bases[number];
                let mut written = Chains::empty();
                for (index, segment) in related.nodes[node.index()].stretches[number].iter().enumerate() {
                    for instruction in function.instructions(segment.block) {
                        let operation = function.operation(instruction);
                        if operation.is_debug() {
                            continue;
                        }
                        for result in function.results(instruction) {
                            let Some(register) = result.as_register() else {
                                continue;
                            };
                            let variable = base + register.as_u32();
                            define(variable, node, is_forced(variable));
                            if operation == Operation::Phi && index == 0 {
                                phis.push((node, variable, instruction));
                            }
                        }
                        written |= touches(function, instruction).writes;
                        if let Some(pieces) = pieces
                            && operation == Operation::St
                        {
                            // Which pieces a store writes is known only with its address: any may be.
                            for piece in 0..pieces.count() as u32 {
                                define(base + registers + Chains::COUNT as u32 + piece, node, true);
                            }
                        }
                    }
                }
                for chain in written.numbers() {
                    define(base + registers + chain as u32, node, true);
                }
            }
        }
        let mut joins = place_joins(related, definitions);
        joins.extend(
            phis.iter()
                .map(|&(node, variable, phi)| (node, variable, Some(phi))),
        );
        // A PHI comes before what a definition elsewhere would ask for.
        joins.sort_unstable_by_key(|&(node, variable, phi)| (node, variable, phi.is_none()));
        joins.dedup_by_key(|&mut (node, variable, _)| (node, variable));
        let mut plan = Self {
            next_class: 1 << 30,
            ..Self::default()
        };
        let mut position = 0;
        for node in 0..related.nodes.len() {
            plan.first_member.push(plan.members.len() as u32);
            let predecessors = related.graph.predecessors(Node::new(node)).len();
            while position < joins.len() && joins[position].0.index() == node {
                let (node, variable, phi) = joins[position];
                position += 1;
                let side = usize::from(variable >= bases[1]);
                let registers = sides[side].function.register_limit() as u32;
                let own = variable - bases[side];
                let name = if own < registers {
                    own
                } else {
                    1 << 29 | (own - registers)
                };
                plan.members.push(Member {
                    node,
                    variable,
                    phi,
                    operands: plan.operand_count as u32,
                    class: if guess == Guess::Names { name } else { 0 },
                    is_constant: false,
                    is_variable: false,
                });
                plan.operand_count += predecessors;
            }
        }
        plan.first_member.push(plan.members.len() as u32);
        plan
    }
}

/// The iterated dominance frontiers of definitions, given in any order.
fn place_joins(
    related: &Related,
    mut definitions: Vec<(u32, Node)>,
) -> Vec<(Node, u32, Option<Instruction>)> {
    let mut joins = Vec::new();
    if definitions.is_empty() || related.graph.edge_count() < related.nodes.len() {
        return joins;
    }
    definitions.sort_unstable();
    definitions.dedup();
    let frontier = DominanceFrontier::new(&related.graph, &related.dominators);
    let mut marked = vec![NONE; related.nodes.len()];
    let mut pending: Vec<Node> = Vec::new();
    for group in definitions.chunk_by(|left, right| left.0 == right.0) {
        let variable = group[0].0;
        pending.extend(group.iter().map(|&(_, node)| node));
        while let Some(node) = pending.pop() {
            for &join in frontier.of(node) {
                if std::mem::replace(&mut marked[join.index()], variable) != variable {
                    joins.push((join, variable, None));
                    pending.push(join);
                }
            }
        }
    }
    joins
}

/// Numbers both functions once, and refines the plan by what was found.
pub(super) fn walk(
    sides: &[Side<'_>; 2],
    related: &Related,
    settings: Settings<'_>,
    plan: &mut Plan,
    memory: &mut Memory,
    names: &mut NumberMap<Box<str>, u32>,
) -> (Findings, Slots) {
    let Memory { values, cells } = memory;
    values.clear();
    values.is_thorough = settings.is_thorough;
    let bases = bases(sides, settings.pieces);
    cells.clear();
    cells.resize(bases[2] as usize, UNSET);
    let nodes = related.nodes.len();
    let mut walk = Walk {
        sides,
        related,
        settings,
        values,
        names,
        cells,
        undo: Vec::new(),
        facts: Facts::default(),
        bases,
        first_member: std::mem::take(&mut plan.first_member),
        operands: vec![UNSET; plan.operand_count],
        is_used: vec![false; plan.members.len()],
        member_values: vec![NONE; plan.members.len()],
        members: std::mem::take(&mut plan.members),
        pending: Vec::new(),
        is_visited: vec![false; nodes],
        conditions: vec![NONE; nodes],
        effects: Default::default(),
        stores: NumberMap::default(),
        loads_before: NumberMap::default(),
        loads_after: Vec::new(),
        slots: Slots::default(),
        doubts: Vec::new(),
        undominated: Vec::new(),
        clobbered: 0,
        undefined_before: NumberMap::default(),
        shares_numbers: sides[0].shares_numbers(&sides[1]),
        convergent: NumberMap::default(),
        ends_before: vec![0; nodes],
    };
    walk.run();
    walk.justify_loads();
    walk.note_escapes_over_edges();
    walk.propagate_uses();
    // What a loop does not change comes first: values that differ only for that are not told apart.
    let is_refined =
        !walk.doubts.is_empty() && walk.find_constant_joins() || walk.check_joins(&mut plan.next_class);
    let findings = Findings {
        doubts: std::mem::take(&mut walk.doubts),
        is_refined,
        undominated: std::mem::take(&mut walk.undominated),
    };
    let slots = std::mem::take(&mut walk.slots);
    plan.first_member = std::mem::take(&mut walk.first_member);
    plan.members = std::mem::take(&mut walk.members);
    (findings, slots)
}

impl<'a> Walk<'a, '_> {
    fn run(&mut self) {
        for side in 0..2 {
            for chain in 0..Chains::COUNT {
                let initial = self
                    .values
                    .intern(Operator::Initial { kind: chain as u8 }, 0, &[]);
                self.set(self.chain(side, chain), initial);
            }
        }
        // The way from the entry to the node that is looked at, with where to go back to.
        let mut path: Vec<(Node, usize, usize)> = Vec::new();
        for index in 0..self.related.dominators.preorder().len() {
            let node = self.related.dominators.preorder()[index];
            while let Some(&(above, undo, facts)) = path.last() {
                if self.related.dominators.dominates(above, node) {
                    break;
                }
                while self.undo.len() > undo {
                    let (variable, cell) = self.undo.pop().expect("the log is longer than the mark");
                    self.cells[variable as usize] = cell;
                }
                self.facts.rewind(facts);
                path.pop();
            }
            path.push((node, self.undo.len(), self.facts.mark()));
            self.visit(node);
        }
    }

    pub(super) fn function(&self, side: usize) -> &'a Function {
        self.sides[side].function
    }

    pub(super) fn pieces(&self) -> Option<&'a StackPieces> {
        self.settings.pieces
    }

    /// A value of which nothing is known.
    pub(super) fn unknown(&mut self, width: u32) -> Value {
        self.clobbered += 1;
        self.values.intern(named(5, self.clobbered << 1), width, &[])
    }

    fn chain(&self, side: usize, chain: usize) -> u32 {
        self.bases[side] + (self.sides[side].function.register_limit() + chain) as u32
    }

    pub(super) fn piece(&self, side: usize, piece: u32) -> u32 {
        self.chain(side, Chains::COUNT) + piece
    }

    pub(super) fn set(&mut self, variable: u32, value: Value) {
        self.set_cell(variable, value, NONE);
    }

    fn set_cell(&mut self, variable: u32, value: Value, member: u32) {
        let cell = &mut self.cells[variable as usize];
        self.undo.push((variable, *cell));
        *cell = Cell {
            value: value.as_u32(),
            member,
        };
    }

    fn use_member(&mut self, member: u32) {
        if member != NONE && !std::mem::replace(&mut self.is_used[member as usize], true) {
            self.pending.push(member);
        }
    }

    /// The value of a variable.
    pub(super) fn get(&mut self, variable: u32) -> Value {
        let cell = self.cells[variable as usize];
        if cell.value == NONE {
            self.undominated.push(variable);
            return self.undefined(variable);
        }
        self.use_member(cell.member);
        Value::from_u32(cell.value)
    }

    /// What a variable holds that nothing was written to: any value. The one of the function before may be that of the
    /// function after.
    fn undefined(&mut self, variable: u32) -> Value {
        let side = usize::from(variable >= self.bases[1]);
        let own = variable - self.bases[side];
        let registers = self.sides[side].function.register_limit() as u32;
        let width = match own < registers {
            true => u32::from(
                self.sides[side]
                    .function
                    .register(crate::entity::Register::from_u32(own))
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
            1 << 30 | (own - registers)
        };
        // What only the function after reads without a value may be anything at each read.
        if side == 0 {
            self.undefined_before.insert(register, ());
        } else if !self.undefined_before.contains_key(&register) {
            return self.unknown(width);
        }
        self.values.intern(Operator::Undefined { register }, width, &[])
    }

    fn doubt(&mut self, kind: DoubtKind, side: usize, instruction: Option<Instruction>, node: Node) {
        self.doubt_of_values(kind, side, instruction, node, None);
    }

    fn doubt_of_values(
        &mut self,
        kind: DoubtKind,
        side: usize,
        instruction: Option<Instruction>,
        node: Node,
        values: Option<[Value; 2]>,
    ) {
        let values = values.filter(|_| self.doubts.is_empty() && self.settings.is_thorough);
        let values = values.map(|values| Box::new(values.map(|value| self.values.show(value))));
        let segments = &self.related.nodes[node.index()].stretches[side];
        let block = instruction
            .and_then(|instruction| self.sides[side].function.block_of(instruction))
            .unwrap_or(segments[segments.len() - 1].block);
        self.doubts.push(Doubt {
            kind,
            is_after: side == 1,
            instruction,
            block,
            values,
        });
    }

    fn visit(&mut self, node: Node) {
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
                    let condition = self.source(side, branch, 0);
                    let condition = self.facts.apply(self.values, condition);
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

    /// What the only way to a node says.
    fn learn_from_branch(&mut self, node: Node) {
        let &[above] = self.related.graph.predecessors(node) else {
            return;
        };
        let edges = &self.related.nodes[above.index()].edges;
        let sense = edges
            .iter()
            .find(|edge| edge.target == node)
            .and_then(|edge| edge.sense);
        let condition = self.conditions[above.index()];
        if let Some(holds) = sense
            && condition != NONE
            && !self.values.mentions_undefined(Value::from_u32(condition))
        {
            self.facts.learn(self.values, Value::from_u32(condition), holds);
        }
    }

    /// Values that several edges bring.
    fn join(&mut self, node: Node) {
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
                known.push(match cell.value {
                    NONE => self.undefined(member.variable),
                    value => Value::from_u32(value),
                });
            }
            let first = known.first().copied();
            let is_same = known.iter().all(|&value| Some(value) == first);
            let value = match first {
                Some(first) if is_same && (!is_open || member.is_constant) => first,
                _ => {
                    let width = first.map_or(0, |value| self.values.width(value));
                    let operator = Operator::Join {
                        node: node.as_u32(),
                        class: if is_open { member.class } else { 0 },
                        is_open,
                    };
                    self.values.intern(operator, width, &known)
                }
            };
            self.member_values[index] = value.as_u32();
            self.set_cell(member.variable, value, index as u32);
        }
    }

    /// The PHIs of a block that is entered from one other.
    fn enter(&mut self, side: usize, block: Block, from: Block) {
        let function = self.sides[side].function;
        let phis = || {
            function
                .instructions(block)
                .take_while(|&instruction| function.operation(instruction) == Operation::Phi)
        };
        let values: SmallVec<[Value; 8]> = phis().map(|phi| self.phi_operand(side, phi, from)).collect();
        for (phi, value) in phis().zip(values) {
            if let Some(register) = function.result(phi, 0).as_register() {
                self.set(self.bases[side] + register.as_u32(), value);
            }
        }
    }

    fn phi_source(&self, side: usize, phi: Instruction, from: Block) -> Option<Operand> {
        let sources = self.sides[side].function.sources(phi);
        (0..sources.len() / 2)
            .find(|&pair| sources.get(2 * pair + 1).as_block() == Some(from))
            .map(|pair| sources.get(2 * pair))
    }

    fn phi_operand(&mut self, side: usize, phi: Instruction, from: Block) -> Value {
        let width = self.sides[side].function.data_type(phi).bits();
        match self.phi_source(side, phi, from) {
            Some(operand) => self.operand(side, operand, width, false),
            None => self
                .values
                .intern(Operator::Undefined { register: NONE }, width, &[]),
        }
    }

    /// Hands the values at the end of a node on to the joins behind it.
    fn leave(&mut self, node: Node) {
        for index in 0..self.related.nodes[node.index()].edges.len() {
            let edge = self.related.nodes[node.index()].edges[index];
            let target = edge.target.index();
            let members = self.first_member[target] as usize..self.first_member[target + 1] as usize;
            if members.is_empty() {
                continue;
            }
            // Where several edges lead, what this one says holds for what it brings.
            let mark = self.facts.mark();
            let condition = self.conditions[node.index()];
            if let Some(holds) = edge.sense
                && condition != NONE
                && !self.values.mentions_undefined(Value::from_u32(condition))
            {
                self.facts.learn(self.values, Value::from_u32(condition), holds);
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
                    Some(phi) => match self.phi_source(side, phi, edge.from[side]) {
                        Some(operand) => self.cell_of(side, operand, phi),
                        None => UNSET,
                    },
                };
                self.operands[member.operands as usize + number] = self.refined(cell);
            }
            self.facts.rewind(mark);
        }
    }

    /// What a variable holds where the facts of an edge are known.
    fn refined(&mut self, cell: Cell) -> Cell {
        if cell.value == NONE {
            return cell;
        }
        let value = self.facts.refine(self.values, Value::from_u32(cell.value));
        Cell {
            value: value.as_u32(),
            ..cell
        }
    }

    fn cell_of(&mut self, side: usize, operand: Operand, phi: Instruction) -> Cell {
        match operand.as_register() {
            Some(register) if !operand.is_undefined() => {
                self.cells[(self.bases[side] + register.as_u32()) as usize]
            }
            _ => {
                let width = self.sides[side].function.data_type(phi).bits();
                let value = self.operand(side, operand, width, false);
                Cell {
                    value: value.as_u32(),
                    member: NONE,
                }
            }
        }
    }

    /// The value of a source in the width that the instruction reads.
    fn source(&mut self, side: usize, instruction: Instruction, number: usize) -> Value {
        let function = self.sides[side].function;
        let operand = function.source(instruction, number);
        if let (OperandKind::Register(register) | OperandKind::Predicate(register), false) =
            (operand.kind(), operand.is_modified() || operand.is_undefined())
        {
            let value = self.get(self.bases[side] + register.as_u32());
            let value = self.facts.refine(self.values, value);
            let Some(data_type) = function.operand_type(instruction, Role::Source, number) else {
                return value;
            };
            let bits = data_type.bits();
            return match bits < self.values.width(value) {
                true => self.values.extract(value, 0, bits),
                false => value,
            };
        }
        let data_type = function.operand_type(instruction, Role::Source, number);
        let width = data_type.map_or(64, DataType::bits);
        self.operand(side, operand, width, data_type.is_some_and(DataType::is_float))
    }

    /// The value of an operand, of which `width` bits are read.
    fn operand(&mut self, side: usize, operand: Operand, width: u32, is_float: bool) -> Value {
        let function = self.sides[side].function;
        let plain = match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                let variable = self.bases[side] + register.as_u32();
                match operand.is_undefined() {
                    true => self.undefined(variable),
                    false => {
                        let value = self.get(variable);
                        self.facts.refine(self.values, value)
                    }
                }
            }
            OperandKind::Immediate(value) => self.integer(width, i64::from(value)),
            OperandKind::Constant(constant) => match function.constant_data(constant) {
                Constant::Integer(value) => self.integer(width, value),
                Constant::Bits { low, high, .. } if width > 64 => self.values.wide_constant(width, low, high),
                Constant::Bits { low, .. } => self.values.constant(width, low),
            },
            OperandKind::Special(special) => self.special(side, function.special_data(special)),
            OperandKind::Target(block) | OperandKind::FallThrough(block) => {
                self.values
                    .intern(named(0, u64::from(function.label(block))), 0, &[])
            }
            OperandKind::None => self.values.intern(named(1, 0), 0, &[]),
        };
        let have = self.values.width(plain);
        let mut value = match width < have && have > 0 {
            true => self.values.extract(plain, 0, width),
            false => plain,
        };
        let bits = self.values.width(value);
        if operand.is_absolute() {
            value = self
                .values
                .compute(plain_form(Operation::Fabs, bits, is_float), &[value], bits);
        }
        if operand.is_negated() {
            value = match is_float {
                true => self
                    .values
                    .compute(plain_form(Operation::Fneg, bits, true), &[value], bits),
                false => self.values.scale(bits, value, u64::MAX),
            };
        }
        if operand.is_complemented() {
            value = self.values.complement(bits, value);
        }
        value
    }

    fn integer(&mut self, width: u32, value: i64) -> Value {
        match width > 64 {
            true => self
                .values
                .wide_constant(width, value as u64, (value >> 63) as u64),
            false => self.values.constant(width, value as u64),
        }
    }

    fn name(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.names.get(name) {
            return number;
        }
        let number = self.names.len() as u32;
        self.names.insert(name.into(), number);
        number
    }

    fn special(&mut self, side: usize, special: Special) -> Value {
        let function = self.sides[side].function;
        match special {
            Special::Symbol { symbol, offset } => {
                let name = self.name(function.symbol_name(symbol));
                let address = self.values.intern(Operator::Symbol { name }, 64, &[]);
                let offset = self.values.constant(64, offset as u64);
                self.values.add(64, address, offset)
            }
            Special::Frame(object) => {
                let object = object.as_u32();
                self.values.intern(Operator::Frame { object }, 64, &[])
            }
            Special::Physical(register) => self.values.intern(named(2, register.index() as u64), 64, &[]),
            Special::SpecialRegister(register) => self.values.intern(named(3, register as u64), 32, &[]),
            Special::Machine { .. } => {
                let number = self.sides[side].machine_operand(special);
                self.values.intern(named(4, number), 0, &[])
            }
        }
    }
}

fn named(space: u8, number: u64) -> Operator {
    Operator::Named { space, number }
}

fn plain_form(operation: Operation, bits: u32, is_float: bool) -> Form {
    let data_type = match (bits, is_float) {
        (16, true) => DataType::F16,
        (32, true) => DataType::F32,
        (64, true) => DataType::F64,
        _ => DataType::of_bits(bits).unwrap_or_default(),
    };
    Form {
        operation,
        data_type,
        source_type: DataType::None,
        modifiers: Modifiers::default(),
    }
}

/// Instructions.
impl Walk<'_, '_> {
    fn execute(&mut self, node: Node, side: usize, instruction: Instruction) {
        let function = self.sides[side].function;
        let operation = function.operation(instruction);
        match operation {
            Operation::Bra | Operation::Brx | Operation::Ret | Operation::End | Operation::Nop => return,
            Operation::ImplicitDef => {
                for result in function.results(instruction) {
                    if let Some(register) = result.as_register() {
                        let variable = self.bases[side] + register.as_u32();
                        let value = self.undefined(variable);
                        self.set(variable, value);
                    }
                }
                return;
            }
            _ => {}
        }
        let touched = touches(function, instruction);
        let is_plain = touched.writes.is_empty();
        match operation {
            Operation::Ld if is_plain => return self.load(node, side, instruction, touched.reads),
            Operation::St if !touched.writes.contains(Chains::EFFECTS) => {
                return self.store(side, instruction, touched.writes);
            }
            _ => {}
        }
        let mut sources: SmallVec<[Value; 8]> = (0..function.sources(instruction).len())
            .map(|number| self.source(side, instruction, number))
            .collect();
        if operation == Operation::InlineAsm {
            for number in clobbered_inputs(function, instruction) {
                // What the assembly finds there is its own result, and nobody knows which.
                let width = self.values.width(sources[number]);
                sources[number] = self.unknown(width);
            }
        }
        if touched.is_nothing() && !operation.is_opaque() {
            return self.compute(side, instruction, &sources);
        }
        self.note_escapes(&sources);
        let operator = self.operator_of(side, instruction);
        let action = match is_plain {
            true => None,
            false => Some(self.values.intern(operator, 0, &sources)),
        };
        for chain in (touched.reads | touched.writes).numbers() {
            let value = self.get(self.chain(side, chain));
            sources.push(value);
        }
        let whole = self.values.intern(operator, 0, &sources);
        for (index, result) in function.results(instruction).iter().enumerate() {
            if let Some(register) = result.as_register() {
                let width = u32::from(function.register(register).bits);
                let operator = Operator::Result { index: index as u16 };
                let value = self.values.intern(operator, width, &[whole]);
                self.set(self.bases[side] + register.as_u32(), value);
            }
        }
        if let Some(action) = action {
            self.effect(
                side,
                whole,
                Effect {
                    instruction,
                    action,
                    chains: touched.reads | touched.writes,
                    address: None,
                    access: None,
                },
                touched.writes,
            );
        }
    }

    fn effect(&mut self, side: usize, whole: Value, effect: Effect, writes: Chains) {
        for chain in writes.numbers() {
            let value = self
                .values
                .intern(Operator::After { kind: chain as u8 }, 0, &[whole]);
            self.set(self.chain(side, chain), value);
        }
        self.effects[side].push(effect);
    }

    fn operator_of(&mut self, side: usize, instruction: Instruction) -> Operator {
        let function = self.sides[side].function;
        let operation = function.operation(instruction);
        match function.machine_opcode(instruction) {
            Some(opcode) if operation.is_opaque() => {
                let name = match &opcode.mnemonic {
                    Some(mnemonic) => format!("{} {mnemonic}", opcode.name),
                    None => opcode.name.clone().into_owned(),
                };
                Operator::Machine {
                    name: self.name(&name),
                }
            }
            _ => Operator::Operation {
                operation,
                data_type: function.data_type(instruction),
                source_type: function.source_type(instruction),
                modifiers: function.modifiers(instruction),
            },
        }
    }

    /// An instruction without effects.
    fn compute(&mut self, side: usize, instruction: Instruction, sources: &[Value]) {
        let function = self.sides[side].function;
        let form = Form {
            operation: function.operation(instruction),
            data_type: function.data_type(instruction),
            source_type: function.source_type(instruction),
            modifiers: function.modifiers(instruction),
        };
        let results = function.results(instruction);
        if results.len() == 1 {
            let Some(register) = results.get(0).as_register() else {
                return;
            };
            let width = u32::from(function.register(register).bits);
            let mut value = self.values.compute(form, sources, width);
            if width == 1 {
                value = self.facts.apply(self.values, value);
            }
            self.set(self.bases[side] + register.as_u32(), value);
            return;
        }
        let whole = self.values.uninterpreted(form, sources, 0);
        for (index, result) in results.iter().enumerate() {
            let Some(register) = result.as_register() else {
                continue;
            };
            let width = u32::from(function.register(register).bits);
            let value = match form.operation {
                Operation::Unpack => self.values.extract(sources[0], index as u32 * width, width),
                _ => self
                    .values
                    .intern(Operator::Result { index: index as u16 }, width, &[whole]),
            };
            self.set(self.bases[side] + register.as_u32(), value);
        }
    }

    /// Base and offset, which are the sources from `first` on.
    fn address(&mut self, side: usize, instruction: Instruction, first: usize) -> Value {
        let base = self.source(side, instruction, first);
        let function = self.sides[side].function;
        let offset = function.integer(function.source(instruction, first + 1));
        let width = match self.values.width(base) {
            32 => 32,
            _ => 64,
        };
        match offset {
            Some(0) => base,
            Some(offset) if self.values.width(base) == width => {
                let offset = self.values.constant(width, offset as u64);
                self.values.add(width, base, offset)
            }
            // A symbol and an offset that is one, too; or a base that is no number.
            _ => {
                let offset = self.source(side, instruction, first + 1);
                self.values.intern(named(6, 0), width, &[base, offset])
            }
        }
    }

    fn memory_type(&self, side: usize, instruction: Instruction) -> DataType {
        let function = self.sides[side].function;
        match function.source_type(instruction) {
            DataType::None => function.data_type(instruction),
            other => other,
        }
    }

    fn load(&mut self, node: Node, side: usize, instruction: Instruction, reads: Chains) {
        let function = self.sides[side].function;
        let in_memory = self.memory_type(side, instruction);
        let bits = in_memory.bits();
        let address = self.address(side, instruction, 0);
        if self.load_of_stack(side, instruction, address, in_memory) {
            return;
        }
        let operator = Operator::Operation {
            operation: Operation::Ld,
            data_type: DataType::None,
            source_type: DataType::of_bits(bits).unwrap_or(in_memory),
            modifiers: function.modifiers(instruction),
        };
        let results = function.results(instruction);
        let mut rest: SmallVec<[Value; 4]> = SmallVec::new();
        let size = u64::from(bits / 8) * results.len() as u64;
        for chain in reads.numbers() {
            let version = self.get(self.chain(side, chain));
            let version = match self.settings.is_thorough {
                true => self.last_write(version, chain, address, size, function.access(instruction)),
                false => version,
            };
            rest.push(version);
        }
        if function.sources(instruction).len() > 2 {
            let used = self.source(side, instruction, 2);
            rest.push(used);
        }
        for index in 0..results.len() {
            let mut operands: SmallVec<[Value; 6]> = SmallVec::new();
            let step = self.values.constant(
                self.values.width(address).max(1),
                index as u64 * u64::from(bits / 8),
            );
            operands.push(match index {
                0 => address,
                _ => self.values.add(self.values.width(address), address, step),
            });
            operands.extend_from_slice(&rest);
            let loaded = self.values.intern(operator, bits, &operands);
            match side {
                0 => {
                    let place = (node, self.may_not_return(0));
                    let places = self.loads_before.entry(loaded).or_default();
                    if places.last().is_none_or(|&(last, _)| last != node) {
                        places.push(place);
                    }
                }
                _ => self.loads_after.push(Load {
                    node,
                    instruction,
                    value: loaded,
                    behind: self.may_not_return(1),
                }),
            }
            self.set_loaded(side, instruction, index, loaded, in_memory);
        }
    }

    /// Extends what was loaded to the width of the result.
    pub(super) fn set_loaded(
        &mut self,
        side: usize,
        instruction: Instruction,
        index: usize,
        loaded: Value,
        in_memory: DataType,
    ) {
        let function = self.sides[side].function;
        let Some(register) = function.result(instruction, index).as_register() else {
            return;
        };
        let width = u32::from(function.register(register).bits);
        let value = match width > 64 {
            true => loaded,
            false => self.values.resize(width, loaded, in_memory.is_signed()),
        };
        self.set(self.bases[side] + register.as_u32(), value);
    }

    fn store(&mut self, side: usize, instruction: Instruction, writes: Chains) {
        let function = self.sides[side].function;
        let count = function.sources(instruction).len() - 2;
        let in_memory = self.memory_type(side, instruction);
        let bits = in_memory.bits();
        let address = self.address(side, instruction, count);
        let mut operands: SmallVec<[Value; 8]> = SmallVec::new();
        operands.push(address);
        for number in 0..count {
            let value = self.source(side, instruction, number);
            operands.push(match self.values.width(value) > bits {
                true => self.values.extract(value, 0, bits),
                false => value,
            });
        }
        if self.store_to_stack(side, address, in_memory, &operands[1..]) {
            return;
        }
        let operator = Operator::Operation {
            operation: Operation::St,
            data_type: DataType::None,
            source_type: DataType::of_bits(bits).unwrap_or(in_memory),
            modifiers: function.modifiers(instruction),
        };
        let action = match self.settings.is_thorough {
            true => self.values.intern(operator, 0, &operands),
            false => address,
        };
        for chain in writes.numbers() {
            let version = self.get(self.chain(side, chain));
            operands.push(version);
        }
        let whole = self.values.intern(operator, 0, &operands);
        let size = u64::from(bits / 8) * count as u64;
        let access = function.access(instruction).copied();
        if self.settings.is_thorough {
            self.stores.insert(whole, (address, size, access));
        }
        self.effect(
            side,
            whole,
            Effect {
                instruction,
                action,
                chains: writes,
                address: Some((address, size)),
                access,
            },
            writes,
        );
    }

    /// The last version of memory that may differ at a place: stores to other places are passed over.
    fn last_write(
        &mut self,
        version: Value,
        chain: usize,
        address: Value,
        size: u64,
        access: Option<&MemoryAccess>,
    ) -> Value {
        const STEPS: usize = 64;
        let mut version = version;
        for _ in 0..STEPS {
            let Operator::After { .. } = self.values.operator(version) else {
                break;
            };
            let whole = self.values.operand(version, 0);
            let Some(&(stored_at, stored, other)) = self.stores.get(&whole) else {
                break;
            };
            if !self.are_apart((address, size, access), (stored_at, stored, other.as_ref())) {
                break;
            }
            // The versions that the store came from are its last operands.
            let chains = self.chains_of_store(whole);
            let Some(position) = chains.numbers().position(|number| number == chain) else {
                break;
            };
            let words = self.values.words(whole);
            let first = words.len() - chains.bits().count_ones() as usize;
            version = Value::from_u32(words[first + position]);
        }
        version
    }

    fn chains_of_store(&self, whole: Value) -> Chains {
        let last = self.values.words(whole).iter().rev();
        let count = last
            .take_while(|&&word| self.values.width(Value::from_u32(word)) == 0)
            .count();
        // A store to generic memory has three, others one.
        let Operator::Operation { modifiers, .. } = self.values.operator(whole) else {
            return Chains::empty();
        };
        let chains = super::effects::written_by_store(modifiers.space);
        if chains.bits().count_ones() as usize == count {
            chains
        } else {
            Chains::empty()
        }
    }

    /// Are two places known to have no byte in common?
    pub(super) fn are_apart(
        &mut self,
        one: (Value, u64, Option<&MemoryAccess>),
        other: (Value, u64, Option<&MemoryAccess>),
    ) -> bool {
        if let (Some(left), Some(right)) = (one.2, other.2) {
            // Numbers of symbols and bases are those of one snapshot.
            if !self.shares_numbers {
                return self.are_addresses_apart(one.0, one.1, other.0, other.1);
            }
            if left.symbol.is_some() && right.symbol.is_some() && left.symbol != right.symbol {
                return true;
            }
            let ends_before = |low: &MemoryAccess, high: &MemoryAccess| {
                let size = low.size.and_then(|size| i64::try_from(size).ok());
                let end = size.and_then(|size| low.offset.checked_add(size));
                end.is_some_and(|end| end <= high.offset)
            };
            let is_same_base = left.base.is_some() && left.base == right.base;
            if is_same_base && (ends_before(left, right) || ends_before(right, left)) {
                return true;
            }
        }
        self.are_addresses_apart(one.0, one.1, other.0, other.1)
    }

    /// Are two addresses so far apart that accesses of these sizes have no byte in common?
    fn are_addresses_apart(&mut self, one: Value, size: u64, other: Value, other_size: u64) -> bool {
        let width = self.values.width(one);
        if width != self.values.width(other) || width == 0 {
            return false;
        }
        let difference = self.values.subtract(width, one, other);
        let Some(distance) = self.values.as_constant(difference) else {
            return false;
        };
        let back = distance.wrapping_neg() & super::values::mask(width);
        distance >= other_size && back >= size
    }
}

/// What has to be the same at the end of a node.
impl Walk<'_, '_> {
    /// Instructions that depend on which threads execute them together correspond one to one: none becomes two, or two one.
    fn match_convergent(&mut self, node: Node) {
        let of_side = |walk: &Self, side: usize| -> SmallVec<[Instruction; 8]> {
            let function = walk.sides[side].function;
            let effects = walk.effects[side].iter().map(|effect| effect.instruction);
            effects
                .filter(|&effect| is_convergent(function, effect))
                .collect()
        };
        let [before, after] = [0, 1].map(|side| of_side(self, side));
        for (&one, &other) in before.iter().zip(&after) {
            for (side, key, value) in [(0, one, other), (1, other, one)] {
                if *self.convergent.entry((side, key)).or_insert(value) != value {
                    self.doubt(DoubtKind::Effect, 1, Some(other), node);
                }
            }
        }
    }

    fn compare_effects(&mut self, node: Node) {
        self.ends_before[node.index()] = self.may_not_return(0);
        self.match_convergent(node);
        let differs = |walk: &Self, chain: usize| {
            let [before, after] = [0, 1].map(|side| walk.cells[walk.chain(side, chain) as usize]);
            before.value != after.value
        };
        let is_equal = (0..Chains::COUNT).all(|chain| !differs(self, chain));
        for chain in 0..Chains::COUNT {
            for side in 0..2 {
                let member = self.cells[self.chain(side, chain) as usize].member;
                self.use_member(member);
            }
        }
        if is_equal {
            return;
        }
        match self.settings.is_thorough.then(|| self.match_effects()) {
            Some(Ok(())) => {
                // Whatever order they are in, memory and effects are the same now.
                for chain in 0..Chains::COUNT {
                    let cell = self.cells[self.chain(0, chain) as usize];
                    self.set_cell(self.chain(1, chain), Value::from_u32(cell.value), cell.member);
                }
            }
            Some(Err((side, effect, values))) => {
                self.doubt_of_values(DoubtKind::Effect, side, Some(effect), node, values);
            }
            None => {
                let chain = (0..Chains::COUNT)
                    .find(|&chain| differs(self, chain))
                    .unwrap_or(0);
                let [before, after] = [0, 1].map(|side: usize| self.effects[side].len());
                let first = (0..before.max(after)).find(|&number| {
                    let [one, other] =
                        [0, 1].map(|side: usize| self.effects[side].get(number).map(|e| e.action));
                    one != other
                });
                let effect = first.and_then(|number| {
                    let on = |side: usize| {
                        self.effects[side]
                            .get(number)
                            .map(|effect| (side, effect.instruction))
                    };
                    on(1).or_else(|| on(0))
                });
                match effect {
                    Some((side, instruction)) => self.doubt(DoubtKind::Effect, side, Some(instruction), node),
                    None => self.doubt(DoubtKind::Memory(Chains::name(chain)), 1, None, node),
                }
            }
        }
    }

    /// Are the effects of both stretches the same but for the order of those that do not meet? What entered the node has to
    /// be the same.
    fn match_effects(&mut self) -> Result<(), (usize, Instruction, Option<[Value; 2]>)> {
        let [before, mut after] = std::mem::take(&mut self.effects);
        for effect in &before {
            let found = after.iter().position(|other| {
                effect.chains == other.chains && self.refines(effect.action, other.action, 8)
            });
            let Some(position) = found else {
                let like = after.iter().find(|other| {
                    effect.chains == other.chains
                        && self.values.operator(effect.action) == self.values.operator(other.action)
                });
                let values = like.map(|other| self.first_difference(effect.action, other.action));
                return Err((0, effect.instruction, values));
            };
            if !after[..position]
                .iter()
                .all(|passed| self.commute(passed, effect))
            {
                return Err((0, effect.instruction, None));
            }
            after.remove(position);
        }
        match after.first() {
            Some(effect) => Err((1, effect.instruction, None)),
            None => Ok(()),
        }
    }

    /// The innermost values that differ, where the same operations are done around them.
    fn first_difference(&self, before: Value, after: Value) -> [Value; 2] {
        let mut pair = [before, after];
        loop {
            let [before, after] = pair;
            let is_alike = self.values.operator(before) == self.values.operator(after)
                && self.values.words(before).len() == self.values.words(after).len();
            let only_in = |value: Value, other: Value| {
                self.values
                    .parts_of(value)
                    .find(|part| self.values.parts_of(other).all(|known| known != *part))
            };
            match (only_in(before, after), only_in(after, before)) {
                (Some(one), Some(other)) if is_alike => pair = [one, other],
                _ => return pair,
            }
        }
    }

    fn commute(&mut self, one: &Effect, other: &Effect) -> bool {
        if !one.chains.intersects(other.chains) {
            return true;
        }
        match (one.address, other.address) {
            (Some((left, size)), Some((right, other_size))) => self.are_apart(
                (left, size, one.access.as_ref()),
                (right, other_size, other.access.as_ref()),
            ),
            _ => false,
        }
    }

    /// May a value of the function before be that of the function after? Undefined values may be any.
    fn refines(&self, before: Value, after: Value, depth: u32) -> bool {
        if before == after {
            return true;
        }
        let operator = self.values.operator(before);
        if let Operator::Undefined { .. } = operator {
            return true;
        }
        // What loops bring back to two joins is compared only where they are one value.
        if depth == 0 || matches!(operator, Operator::Join { is_open: true, .. }) {
            return false;
        }
        if let Operator::Join { is_open: false, .. } = operator
            && self.values.operator(after) != operator
        {
            return self
                .values
                .parts_of(before)
                .all(|part| self.refines(part, after, depth - 1));
        }
        let (one, other) = (self.values.words(before), self.values.words(after));
        operator == self.values.operator(after)
            && !matches!(operator, Operator::Sum { .. })
            && self.values.width(before) == self.values.width(after)
            && one.len() == other.len()
            && one
                .iter()
                .zip(other)
                .all(|(&one, &other)| self.refines(Value::from_u32(one), Value::from_u32(other), depth - 1))
    }

    fn compare_ends(&mut self, node: Node) {
        let blocks = [0, 1].map(|side: usize| {
            let stretch = &self.related.nodes[node.index()].stretches[side];
            stretch[stretch.len() - 1].block
        });
        match self.related.nodes[node.index()].end {
            PairEnd::Jump => {}
            PairEnd::Fork { side } => {
                let branch = terminator(self.sides[side].function, blocks[side]);
                let condition = self.source(side, branch, 0);
                let condition = self.facts.apply(self.values, condition);
                self.conditions[node.index()] = condition.as_u32();
            }
            PairEnd::Branch { opposite } => {
                let branches = [0, 1].map(|side: usize| terminator(self.sides[side].function, blocks[side]));
                let conditions = [0, 1].map(|side| {
                    let condition = self.source(side, branches[side], 0);
                    self.facts.apply(self.values, condition)
                });
                self.conditions[node.index()] = conditions[0].as_u32();
                let after = match opposite {
                    true => self.values.not(conditions[1]),
                    false => conditions[1],
                };
                if !self.refines(conditions[0], after, 8) {
                    let constants = conditions.map(|condition| self.values.as_constant(condition));
                    let is_opposite = self.values.not(conditions[0]) == after;
                    let kind = DoubtKind::Condition {
                        constants: constants.map(|bits| bits.map(|bits| bits != 0)),
                        is_opposite,
                    };
                    self.doubt_of_values(
                        kind,
                        1,
                        Some(branches[1]),
                        node,
                        Some(self.first_difference(conditions[0], after)),
                    );
                }
            }
            PairEnd::Choice => {
                let ends = [0, 1].map(|side: usize| terminator(self.sides[side].function, blocks[side]));
                let operation = self.sides[0].function.operation(ends[0]);
                if operation != self.sides[1].function.operation(ends[1]) {
                    self.doubt(DoubtKind::End, 1, Some(ends[1]), node);
                } else if operation == Operation::Brx {
                    let [before, after] = [0, 1].map(|side| self.source(side, ends[side], 0));
                    if !self.refines(before, after, 8) {
                        let kind = DoubtKind::Condition {
                            constants: [None; 2],
                            is_opposite: false,
                        };
                        self.doubt(kind, 1, Some(ends[1]), node);
                    }
                }
            }
            PairEnd::Leave => {
                let ends = [0, 1].map(|side: usize| self.sides[side].function.terminator(blocks[side]));
                let operations =
                    [0, 1].map(|side: usize| ends[side].map(|end| self.sides[side].function.operation(end)));
                if operations[0] != operations[1] {
                    self.doubt(DoubtKind::End, 1, ends[1], node);
                }
            }
        }
    }

    /// Each load of the function after has to be one that the function before does anyway: on the way to it, or on every way
    /// from it.
    fn justify_loads(&mut self) {
        for number in 0..self.loads_after.len() {
            let load = self.loads_after[number];
            let is_justified = self.loads_before.get(&load.value).is_some_and(|places| {
                places.iter().any(|&(place, behind)| match place == load.node {
                    true => behind <= load.behind,
                    false => self.related.dominators.dominates(place, load.node),
                }) || self.is_loaded_behind(load, places)
            });
            if !is_justified && !self.never_faults(load.instruction) {
                self.doubt(DoubtKind::Load, 1, Some(load.instruction), load.node);
            }
        }
    }

    fn never_faults(&self, load: Instruction) -> bool {
        use crate::ori::AddressSpace;
        use crate::snapshot::abi::MemoryFlags;
        let function: &Function = self.sides[1].function;
        matches!(
            function.modifiers(load).space,
            AddressSpace::EntryParam | AddressSpace::DeviceParam
        ) || function
            .access(load)
            .is_some_and(|access| access.flags.contains(MemoryFlags::DEREFERENCEABLE))
    }

    /// Does every way from a load come to one of the places, with nothing between that may not return, and before any loop
    /// closes?
    fn is_loaded_behind(&self, load: Load, places: &[(Node, u32)]) -> bool {
        const NODES: usize = 64;
        if load.behind != self.ends_before[load.node.index()] {
            return false;
        }
        let mut pending: SmallVec<[Node; 8]> = SmallVec::new();
        let mut met: SmallVec<[Node; 16]> = SmallVec::new();
        pending.push(load.node);
        while let Some(node) = pending.pop() {
            let edges = &self.related.nodes[node.index()].edges;
            if edges.is_empty() {
                return false;
            }
            for edge in edges {
                if places
                    .iter()
                    .any(|&(place, behind)| place == edge.target && behind == 0)
                {
                    continue;
                }
                if met.contains(&edge.target)
                    || met.len() >= NODES
                    || self.ends_before[edge.target.index()] > 0
                    || self.related.dominators.dominates(edge.target, node)
                {
                    return false;
                }
                met.push(edge.target);
                pending.push(edge.target);
            }
        }
        true
    }

    /// The effects of a stretch so far that may not return.
    fn may_not_return(&self, side: usize) -> u32 {
        let function = self.sides[side].function;
        let effects = self.effects[side].iter();
        effects
            .filter(|effect| may_not_return(function, effect.instruction))
            .count() as u32
    }

    /// An address that a loop carries on is not followed.
    fn note_escapes_over_edges(&mut self) {
        for index in 0..self.operands.len() {
            let value = self.operands[index].value;
            if value != NONE {
                self.values
                    .stack_objects_in(Value::from_u32(value), &mut self.slots.escaped);
            }
        }
    }

    /// A variable whose value is used uses the values that it comes from.
    fn propagate_uses(&mut self) {
        while let Some(member) = self.pending.pop() {
            let Member { node, operands, .. } = self.members[member as usize];
            let count = self.related.graph.predecessors(node).len();
            for number in 0..count {
                let cell = self.operands[operands as usize + number];
                self.use_member(cell.member);
            }
        }
    }

    /// Do the back edges bring what was assumed of them? Where they do not, variables are told apart for the next walk.
    fn check_joins(&mut self, next_class: &mut u32) -> bool {
        let mut groups: NumberMap<u32, SmallVec<[u32; 2]>> = NumberMap::default();
        let mut is_refined = false;
        for index in 0..self.members.len() {
            if !self.is_used[index] {
                continue;
            }
            let member = self.members[index];
            if !(0..self.edges_to(member.node)).any(|number| self.is_back_edge(member.node, number)) {
                continue;
            }
            if member.is_constant {
                // It was taken to be what it is before the loop.
                let all: SmallVec<[u32; 4]> = (0..self.edges_to(member.node))
                    .map(|number| self.brought(member, number))
                    .collect();
                if all.iter().any(|&value| value != all[0]) {
                    self.members[index].is_constant = false;
                    self.members[index].is_variable = true;
                    is_refined = true;
                }
                continue;
            }
            groups
                .entry(self.member_values[index])
                .or_default()
                .push(index as u32);
        }
        // Members that share a value have to get one value over each back edge.
        let mut split: Vec<(u32, u32)> = Vec::new();
        for group in groups.values() {
            for &index in &group[1..] {
                if !self.get_the_same(group[0], index) {
                    split.push((group[0], index));
                }
            }
        }
        split.sort_unstable();
        let mut classes: Vec<(u32, u32, u32)> = Vec::new();
        for (first, index) in split {
            is_refined = true;
            // Those that differ from the first in the same way stay together.
            let like = classes
                .iter()
                .find(|&&(of, other, _)| of == first && self.get_the_same(other, index));
            let class = match like {
                Some(&(.., class)) => class,
                None => {
                    *next_class += 1;
                    classes.push((first, index, *next_class));
                    *next_class
                }
            };
            self.members[index as usize].class = class;
        }
        is_refined
    }

    fn edges_to(&self, node: Node) -> usize {
        self.related.graph.predecessors(node).len()
    }

    /// Does an edge to a node come from where the walk had not been yet?
    fn is_back_edge(&self, node: Node, number: usize) -> bool {
        let above = self.related.graph.predecessors(node)[number];
        self.related.dominators.number(above) >= self.related.dominators.number(node)
    }

    /// The value that an edge brings to a member.
    fn brought(&mut self, member: Member, number: usize) -> u32 {
        match self.operands[member.operands as usize + number].value {
            NONE => self.undefined(member.variable).as_u32(),
            value => value,
        }
    }

    /// Do the back edges bring two members of one node the same?
    fn get_the_same(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.members[one as usize], self.members[other as usize]);
        (0..self.edges_to(one.node)).all(|number| {
            !self.is_back_edge(one.node, number) || self.brought(one, number) == self.brought(other, number)
        })
    }

    /// Takes variables for constant that a loop was seen not to change.
    fn find_constant_joins(&mut self) -> bool {
        let mut is_found = false;
        for index in 0..self.members.len() {
            let member = self.members[index];
            let own = self.member_values[index];
            if !self.is_used[index] || member.is_constant || member.is_variable || own == NONE {
                continue;
            }
            let count = self.related.graph.predecessors(member.node).len();
            let brought: SmallVec<[u32; 4]> = (0..count).map(|number| self.brought(member, number)).collect();
            let mut others = brought.iter().filter(|&&value| value != own);
            let Some(first) = others.next() else { continue };
            if brought.contains(&own) && others.all(|value| value == first) {
                self.members[index].is_constant = true;
                is_found = true;
            }
        }
        is_found
    }
}
