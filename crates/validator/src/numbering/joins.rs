//! Joins: finds which variables need them, and checks the assumptions about back edges.

use super::ends::Compared;
use super::*;
use crate::related::Segment;

/// The definitions that may need joins, and the PHIs.
struct Definitions<'a> {
    bases: [u32; 3],
    pieces: Option<&'a StackPieces>,
    /// By variable.
    seen: Vec<Seen>,
    /// The definitions whose dominance frontiers get joins.
    listed: Vec<(u32, RelatedNode)>,
    phis: Vec<(RelatedNode, u32, Instruction)>,
}

/// The definitions of a variable so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Seen {
    None,
    /// Definitions in one node, which dominate all uses and need no join.
    InOneNode(RelatedNode),
    /// Definitions that are listed.
    Listed,
}

impl<'a> Definitions<'a> {
    /// Collects the definitions in both functions. `forced` are variables whose definitions are
    /// listed even if they are in one node.
    fn of(sides: &[Side<'_>; 2], related: &Related, pieces: Option<&'a StackPieces>, forced: &[u32]) -> Self {
        let bases = bases(sides, pieces);
        let mut definitions = Self {
            bases,
            pieces,
            seen: vec![Seen::None; bases[2] as usize],
            listed: Vec::new(),
            phis: Vec::new(),
        };
        for &variable in forced {
            definitions.seen[variable as usize] = Seen::Listed;
        }
        for &node in related.dominators.preorder() {
            for (number, side) in sides.iter().enumerate() {
                definitions.add_stretch(node, number, side, &related.nodes[node.index()].stretches[number]);
            }
        }
        definitions
    }

    fn add_stretch(&mut self, node: RelatedNode, number: usize, side: &Side<'_>, stretch: &[Segment]) {
        let function = side.function;
        let base = self.bases[number];
        let first_chain = base + function.register_limit() as u32;
        let first_piece = first_chain + Chains::COUNT as u32;
        let mut written = Chains::empty();
        let mut has_store = false;
        for (index, segment) in stretch.iter().enumerate() {
            for instruction in function.instructions(segment.block) {
                let operation = function.operation(instruction);
                if operation.is_debug() {
                    continue;
                }
                for register in function.result_registers(instruction) {
                    let variable = base + register.as_u32();
                    self.define_register(variable, node);
                    if operation == Operation::Phi && index == 0 {
                        self.phis.push((node, variable, instruction));
                    }
                }
                written |= touches(function, instruction).writes;
                has_store |= operation == Operation::St;
            }
        }
        for chain in written.numbers() {
            self.listed.push((first_chain + chain as u32, node));
        }
        if let (Some(pieces), true) = (self.pieces, has_store) {
            // The pieces that a store writes are known only with its address: it may write any.
            let all = 0..pieces.count() as u32;
            self.listed.extend(all.map(|piece| (first_piece + piece, node)));
        }
    }

    fn define_register(&mut self, variable: u32, node: RelatedNode) {
        let seen = &mut self.seen[variable as usize];
        match *seen {
            Seen::None => *seen = Seen::InOneNode(node),
            Seen::InOneNode(first) if first == node => {}
            Seen::InOneNode(first) => {
                *seen = Seen::Listed;
                self.listed.extend([(variable, first), (variable, node)]);
            }
            Seen::Listed => self.listed.push((variable, node)),
        }
    }
}

impl JoinPlan {
    /// Finds the joins of variables. `forced` are variables with one definition that does not
    /// dominate all uses.
    pub fn new(
        sides: &[Side<'_>; 2],
        related: &Related,
        pieces: Option<&StackPieces>,
        guess: Guess,
        forced: &[u32],
    ) -> Self {
        let Definitions {
            bases, listed, phis, ..
        } = Definitions::of(sides, related, pieces, forced);
        let mut joins = place_joins(related, listed);
        joins.extend(
            phis.iter()
                .map(|&(node, variable, phi)| (node, variable, Some(phi))),
        );
        // A PHI takes precedence over a join for a definition elsewhere.
        joins.sort_unstable_by_key(|&(node, variable, phi)| (node, variable, phi.is_none()));
        joins.dedup_by_key(|&mut (node, variable, _)| (node, variable));
        let mut plan = Self {
            next_class: FIRST_CLASS,
            ..Self::default()
        };
        let mut joins = joins.into_iter().peekable();
        for number in 0..related.nodes.len() {
            plan.first_member.push(plan.members.len() as u32);
            let predecessors = related.graph.predecessors(RelatedNode::new(number)).len();
            while let Some((node, variable, phi)) = joins.next_if(|&(node, ..)| node.index() == number) {
                let side = usize::from(variable >= bases[1]);
                let registers = sides[side].function.register_limit() as u32;
                let own = variable - bases[side];
                // Registers of the same number, and chains and pieces of the same number.
                let name = match own < registers {
                    true => own,
                    false => NO_REGISTER | (own - registers),
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

/// Returns the iterated dominance frontiers of definitions, given in any order.
fn place_joins(
    related: &Related,
    mut definitions: Vec<(u32, RelatedNode)>,
) -> Vec<(RelatedNode, u32, Option<Instruction>)> {
    let mut joins = Vec::new();
    if definitions.is_empty() || related.graph.edge_count() < related.nodes.len() {
        return joins;
    }
    definitions.sort_unstable();
    definitions.dedup();
    let frontier = DominanceFrontier::new(&related.graph, &related.dominators);
    // By node: the last variable that got a join there.
    let mut marked: Vec<Option<u32>> = vec![None; related.nodes.len()];
    let mut pending: Vec<RelatedNode> = Vec::new();
    for group in definitions.chunk_by(|left, right| left.0 == right.0) {
        let variable = group[0].0;
        pending.extend(group.iter().map(|&(_, node)| node));
        while let Some(node) = pending.pop() {
            for join in frontier.of(node) {
                if marked[join.index()].replace(variable) != Some(variable) {
                    joins.push((join, variable, None));
                    pending.push(join);
                }
            }
        }
    }
    joins
}

/// Checks after a pass.
impl NumberingPass<'_, '_> {
    /// Checks that the function before also executes each load of the function after: on the path to
    /// it, or on every path from it.
    pub(super) fn justify_loads(&mut self) {
        let mut refined: NumberMap<Value, SmallVec<[Value; 1]>> = NumberMap::default();
        for (&(before, after, _), compared) in &self.compared {
            if matches!(compared, Compared::Refined) && self.loads_before.contains_key(&before) {
                refined.entry(after).or_default().push(before);
            }
        }
        for number in 0..self.loads_after.len() {
            let load = self.loads_after[number];
            let is_executed_before = |value: &Value| {
                self.loads_before.get(value).is_some_and(|places| {
                    places.iter().any(|&(place, behind)| match place == load.node {
                        true => behind <= load.behind,
                        false => self.related.dominators.dominates(place, load.node),
                    }) || self.is_loaded_behind(load, places)
                })
            };
            // Where the function before stored undefined values, its load from the same address is another value.
            let is_justified = is_executed_before(&load.value)
                || refined
                    .get(&load.value)
                    .is_some_and(|values| values.iter().any(is_executed_before));
            if !is_justified && !self.never_faults(load.instruction) {
                self.doubt(DoubtKind::Load, 1, Some(load.instruction), load.node);
            }
        }
    }

    fn never_faults(&self, load: Instruction) -> bool {
        use oriel_engine::snapshot::abi::MemoryFlags;
        use oriel_ori::AddressSpace;
        let function: &Function = self.sides[1].function;
        matches!(
            function.modifiers(load).space,
            AddressSpace::EntryParam | AddressSpace::DeviceParam
        ) || function
            .access(load)
            .is_some_and(|access| access.flags.contains(MemoryFlags::DEREFERENCEABLE))
    }

    /// True if every path from a load reaches one of the given positions before a loop closes, with
    /// no instruction on the way that may not return.
    fn is_loaded_behind(&self, load: Load, places: &[(RelatedNode, u32)]) -> bool {
        const NODES: usize = 64;
        if load.behind != self.ends_before[load.node.index()] {
            return false;
        }
        let mut pending: SmallVec<[RelatedNode; 8]> = SmallVec::new();
        let mut met: SmallVec<[RelatedNode; 16]> = SmallVec::new();
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

    /// Returns the number of effects of a stretch so far that may not return.
    pub(super) fn may_not_return(&self, side: usize) -> u32 {
        let function = self.sides[side].function;
        let effects = self.effects[side].iter();
        effects
            .filter(|effect| may_not_return(function, effect.instruction))
            .count() as u32
    }

    /// Marks the stack objects whose addresses flow over edges as escaped, since addresses that a
    /// loop changes are not tracked.
    pub(super) fn note_escapes_over_edges(&mut self) {
        for index in 0..self.operands.len() {
            if let Some(value) = self.operands[index].value.expand() {
                self.values.stack_objects_in(value, &mut self.slots.escaped);
            }
        }
    }

    /// Propagates uses from the values of variables to the values that they join.
    pub(super) fn propagate_uses(&mut self) {
        while let Some(member) = self.pending.pop() {
            let Member { node, operands, .. } = self.members[member.index()];
            let count = self.related.graph.predecessors(node).len();
            for number in 0..count {
                let cell = self.operands[operands as usize + number];
                self.use_member(cell.member);
            }
        }
    }

    /// Checks whether the back edges confirm the assumptions. Where they do not, the next pass
    /// separates the variables.
    pub(super) fn check_joins(&mut self, next_class: &mut u32) -> bool {
        let mut groups: NumberMap<Value, SmallVec<[u32; 2]>> = NumberMap::default();
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
                // The variable was assumed to keep its value from before the loop.
                let all: SmallVec<[Value; 4]> = (0..self.edges_to(member.node))
                    .map(|number| self.brought(member, number))
                    .collect();
                if all.iter().any(|&value| value != all[0]) {
                    self.members[index].is_constant = false;
                    self.members[index].is_variable = true;
                    is_refined = true;
                }
                continue;
            }
            if let Some(value) = self.member_values[index].expand() {
                groups.entry(value).or_default().push(index as u32);
            }
        }
        // Members that share a value must get one value over each back edge.
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
            // Members that differ from the first in the same way stay together.
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

    fn edges_to(&self, node: RelatedNode) -> usize {
        self.related.graph.predecessors(node).len()
    }

    /// True if an edge to a node comes from a node that the pass has not reached yet.
    fn is_back_edge(&self, node: RelatedNode, number: usize) -> bool {
        let above = self.related.graph.predecessors(node)[number];
        self.related.dominators.number(above) >= self.related.dominators.number(node)
    }

    /// Returns the value of a member on an edge.
    fn brought(&mut self, member: Member, number: usize) -> Value {
        match self.operands[member.operands as usize + number].value.expand() {
            Some(value) => value,
            None => self.undefined(member.variable),
        }
    }

    /// True if two members of one node get the same values over the back edges.
    fn get_the_same(&mut self, one: u32, other: u32) -> bool {
        let (one, other) = (self.members[one as usize], self.members[other as usize]);
        (0..self.edges_to(one.node)).all(|number| {
            !self.is_back_edge(one.node, number) || self.brought(one, number) == self.brought(other, number)
        })
    }

    /// Assumes that variables are constant if a loop was seen not to change them.
    pub(super) fn find_constant_joins(&mut self) -> bool {
        let mut is_found = false;
        for index in 0..self.members.len() {
            let member = self.members[index];
            let Some(own) = self.member_values[index].expand() else {
                continue;
            };
            if !self.is_used[index] || member.is_constant || member.is_variable {
                continue;
            }
            let count = self.related.graph.predecessors(member.node).len();
            let brought: SmallVec<[Value; 4]> =
                (0..count).map(|number| self.brought(member, number)).collect();
            // The loop brings back the variable itself, or what it begins with.
            let mut others = brought.iter().filter(|&&value| value != own);
            let Some(first) = others.next() else { continue };
            if others.all(|value| value == first) {
                self.members[index].is_constant = true;
                is_found = true;
            }
        }
        is_found
    }
}
