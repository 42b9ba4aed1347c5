//! SSA construction: replaces variables with several definitions by registers with one.
//!
//! ```text
//! bix0: x := %1; BRA %p, bix2, fall bix1          bix0: BRA %p, bix2, fall bix1
//! bix1: x := %2; BRA fall bix2             ─▶     bix1: BRA fall bix2
//! bix2: use x                                     bix2: %3 = PHI %1, bix0, %2, bix1; use %3
//! ```
//!
//! A phase that promotes memory to registers, or gives a register another definition, lists its
//! variables with their definitions and uses. PHIs go to the iterated dominance frontier of the
//! definitions (Cytron and others 1991), where the variable is live (*pruned* form: Choi, Cytron
//! and Ferrante 1991). Then a walk over the dominator tree carries the values from definitions to
//! uses. A PHI with only one distinct value is removed at the end; a value that no definition
//! reaches is undefined.
//!
//! Requires the function's control flow, which must not change meanwhile.

use super::control_flow::ControlFlow;
use super::edit::{InstructionBuilder, Position};
use super::function::{Function, Instruction, RegisterFile};
use super::operand::Operand;
use super::operation::Operation;
use super::types::DataType;
use oriel_engine::entity::{Block, EntitySet, PackedOption, PrimaryMap, Register, SecondaryMap, entity_impl};
use oriel_engine::graph::DominanceFrontier;
use std::collections::HashMap;

/// A variable to be promoted to registers.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Variable(u32);
entity_impl!(Variable, "variable");

/// The kind of registers that hold a variable.
#[derive(Clone, Copy, Debug)]
pub struct VariableData {
    /// Its type: plain bits.
    pub data_type: DataType,
    /// A register that holds it somewhere, whose class the others get; none: any class of the
    /// width.
    pub model: Option<Register>,
}

impl VariableData {
    fn create_register(&self, function: &mut Function) -> Register {
        match self.model {
            Some(model) => function.create_register_like(model),
            None => function.create_register(RegisterFile::R, self.data_type.bits() as u16, None),
        }
    }
}

/// Where a variable is live and where it needs PHIs.
#[derive(Clone, Debug, Default)]
pub struct Joins {
    /// Blocks that need a PHI.
    pub joins: Vec<Block>,
    /// Blocks at whose start the variable is live.
    pub live_in: EntitySet<Block>,
}

/// Finds where variables need PHIs.
#[derive(Debug)]
pub struct JoinPlacer<'a> {
    flow: &'a ControlFlow,
    frontier: DominanceFrontier<Block>,
    pending: Vec<Block>,
}

impl<'a> JoinPlacer<'a> {
    /// Creates a placer for a function with this control flow.
    pub fn new(flow: &'a ControlFlow) -> Self {
        Self {
            frontier: DominanceFrontier::new(&flow.graph, &flow.dominators),
            pending: Vec::new(),
            flow,
        }
    }

    /// Places the PHIs of a variable. `defining` are the blocks with a definition, `using` those
    /// with a use before any definition in the block.
    pub fn place(&mut self, defining: &EntitySet<Block>, using: &EntitySet<Block>) -> Joins {
        let mut live_in = EntitySet::new();
        self.pending.extend(using.iter());
        while let Some(block) = self.pending.pop() {
            if live_in.insert(block) {
                let before = self.flow.graph.predecessors(block).iter().copied();
                self.pending
                    .extend(before.filter(|&from| !defining.contains(from)));
            }
        }
        let mut joins = Vec::new();
        let mut reached = EntitySet::new();
        self.pending.extend(defining.iter());
        while let Some(block) = self.pending.pop() {
            for join in self.frontier.of(block) {
                if reached.insert(join) {
                    self.pending.push(join);
                    joins.extend(live_in.contains(join).then_some(join));
                }
            }
        }
        joins.sort_unstable();
        Joins { joins, live_in }
    }
}

/// The values of variables at the current point of the walk.
#[derive(Debug, Default)]
pub struct Values {
    current: SecondaryMap<Variable, PackedOption<Register>>,
    /// Overwritten values, the latest last.
    undo: Vec<(Variable, PackedOption<Register>)>,
}

impl Values {
    /// Returns the register that holds a variable here, or none if its value is undefined.
    pub fn get(&self, variable: Variable) -> Option<Register> {
        self.current[variable].expand()
    }

    /// Defines a variable: from here on it is in this register, or undefined.
    pub fn set(&mut self, variable: Variable, value: Option<Register>) {
        self.undo.push((variable, self.current[variable]));
        self.current[variable] = value.into();
    }

    fn go_back_to(&mut self, depth: usize) {
        for (variable, value) in self.undo.drain(depth..).rev() {
            self.current[variable] = value;
        }
    }
}

/// A PHI created for a variable, and its values known so far.
#[derive(Debug)]
struct Join {
    variable: Variable,
    phi: Instruction,
    result: Register,
    sources: Vec<(Block, Register)>,
}

/// A promotion of variables to registers.
#[derive(Debug)]
pub struct SsaConstruction<'a> {
    flow: &'a ControlFlow,
    variables: &'a PrimaryMap<Variable, VariableData>,
    joins: Vec<Join>,
    /// By block: the positions of its PHIs in the list of all.
    joins_of: SecondaryMap<Block, Vec<u32>>,
}

impl<'a> SsaConstruction<'a> {
    /// Creates PHIs without values at the joins.
    pub fn new(
        function: &mut Function,
        flow: &'a ControlFlow,
        variables: &'a PrimaryMap<Variable, VariableData>,
        joins: impl IntoIterator<Item = (Variable, Block)>,
    ) -> Self {
        let mut construction = Self {
            flow,
            variables,
            joins: Vec::new(),
            joins_of: SecondaryMap::new(),
        };
        for (variable, block) in joins {
            let data = variables[variable];
            let result = data.create_register(function);
            let new = InstructionBuilder::new(Operation::Phi, data.data_type)
                .result(function.register_operand(result));
            let phi = function.insert(Position::Start(block), new);
            construction.joins_of[block].push(construction.joins.len() as u32);
            construction.joins.push(Join {
                variable,
                phi,
                result,
                sources: Vec::new(),
            });
        }
        construction
    }

    /// Visits the reachable blocks, each after those that dominate it, and calls `rewrite` with
    /// each of the block's `mentions` in order; it reads and sets the values of variables. Then
    /// fills in the PHIs. Returns how many remain.
    pub fn run(
        mut self,
        function: &mut Function,
        mentions: &SecondaryMap<Block, Vec<Instruction>>,
        mut rewrite: impl FnMut(&mut Function, Instruction, &mut Values),
    ) -> usize {
        let flow = self.flow;
        let mut values = Values::default();
        // The blocks above the current one, with the length of the undo log before them.
        let mut path: Vec<(Block, usize)> = Vec::new();
        for &block in flow.dominators.preorder() {
            while let Some(&(above, depth)) = path.last()
                && !flow.dominators.dominates(above, block)
            {
                values.go_back_to(depth);
                path.pop();
            }
            path.push((block, values.undo.len()));
            for &join in &self.joins_of[block] {
                let Join { variable, result, .. } = self.joins[join as usize];
                values.set(variable, Some(result));
            }
            for &mention in &mentions[block] {
                rewrite(function, mention, &mut values);
            }
            self.leave(function, block, &values);
        }
        self.finish(function)
    }

    /// Gives the PHIs of a block's successors the values from that block.
    fn leave(&mut self, function: &mut Function, block: Block, values: &Values) {
        let mut successors: Vec<Block> = function.successors(block).collect();
        successors.sort_unstable();
        successors.dedup();
        for successor in successors {
            for &number in &self.joins_of[successor] {
                let join = &mut self.joins[number as usize];
                let value = values
                    .get(join.variable)
                    .unwrap_or_else(|| undefined_value(function, block, &self.variables[join.variable]));
                join.sources.push((block, value));
            }
        }
    }

    fn finish(mut self, function: &mut Function) -> usize {
        for join in &mut self.joins {
            let block = function.block_of(join.phi).expect("the PHI is in its block");
            let mut from: Vec<Block> = self.flow.graph.predecessors(block).to_vec();
            from.sort_unstable();
            from.dedup();
            // Control never comes from an unreachable block, but the PHI must list it.
            for unreachable in from
                .into_iter()
                .filter(|&from| !self.flow.order.is_reachable(from))
            {
                let value = undefined_value(function, unreachable, &self.variables[join.variable]);
                join.sources.push((unreachable, value));
            }
            join.sources.sort_unstable();
            let sources = join.sources.iter();
            let sources: Vec<Operand> = sources
                .flat_map(|&(from, value)| [function.register_operand(value), Operand::target(from)])
                .collect();
            function.set_sources(join.phi, &sources);
        }
        remove_trivial_phis(function, &self.joins)
    }
}

/// Creates a register for an undefined value at the end of a block.
fn undefined_value(function: &mut Function, block: Block, data: &VariableData) -> Register {
    let register = data.create_register(function);
    let new = InstructionBuilder::new(Operation::ImplicitDef, data.data_type)
        .result(function.register_operand(register));
    let end = function.terminator(block).expect("a block ends in a terminator");
    function.insert(Position::Before(end), new);
    register
}

/// Replaces PHIs that choose between one value and themselves by that value. Returns how many
/// remain. A PHI is looked at again whenever one of its values was replaced.
fn remove_trivial_phis(function: &mut Function, joins: &[Join]) -> usize {
    let join_of: HashMap<Instruction, &Join> = joins.iter().map(|join| (join.phi, join)).collect();
    let mut left = joins.len();
    let mut pending: Vec<&Join> = joins.iter().collect();
    while let Some(join) = pending.pop() {
        if function.block_of(join.phi).is_none() {
            continue;
        }
        if let Some(value) = only_value(function, join) {
            let users = function.uses(join.result).map(|(user, _)| user);
            pending.extend(users.filter_map(|user| join_of.get(&user).copied()));
            function.replace_uses(join.result, value);
            function.remove(join.phi);
            left -= 1;
        }
    }
    left
}

fn only_value(function: &Function, join: &Join) -> Option<Operand> {
    let own = function.register_operand(join.result);
    let values = function.sources(join.phi).iter().step_by(2);
    let mut others = values.filter(|&value| value != own);
    let first = others.next()?;
    others.all(|value| value == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;
    use oriel_engine::entity::EntityRef;

    const DIAMOND: &str = "\
kernel \"k\" sm_80 ssa {
    declare %1:R32, %2:R32, %3:P
bix0:
    BRA %3, bix2, fall bix1
bix1:
    BRA fall bix3
bix2:
    BRA bix3
bix3:
    RET
}
";

    fn set(blocks: &[u32]) -> EntitySet<Block> {
        let mut set = EntitySet::new();
        set.extend(blocks.iter().map(|&block| Block::from_u32(block)));
        set
    }

    #[test]
    fn joins_are_where_values_meet_and_matter() {
        let function = parse_function(DIAMOND).unwrap();
        let flow = ControlFlow::of(&function);
        let mut placer = JoinPlacer::new(&flow);
        assert_eq!(
            placer.place(&set(&[0, 1]), &set(&[3])).joins,
            [Block::from_u32(3)]
        );
        assert_eq!(placer.place(&set(&[0, 1]), &set(&[])).joins, []);
        assert_eq!(placer.place(&set(&[0]), &set(&[3])).joins, []);
        let live = placer.place(&set(&[0]), &set(&[3])).live_in;
        assert_eq!(
            live.iter().map(|block| block.index()).collect::<Vec<_>>(),
            [1, 2, 3]
        );
    }

    /// Defines a variable as a register at the end of each given block, and copies it in the last
    /// one.
    fn construct(function: &mut Function, definitions: &[(u32, u32)]) -> usize {
        let flow = ControlFlow::of(function);
        let mut variables = PrimaryMap::new();
        let model = Register::from_u32(1);
        let variable = variables.push(VariableData {
            data_type: DataType::B32,
            model: Some(model),
        });
        let mut mentions: SecondaryMap<Block, Vec<Instruction>> = SecondaryMap::new();
        let mut defined = std::collections::HashMap::new();
        for &(block, register) in definitions {
            let block = Block::from_u32(block);
            let end = function.terminator(block).unwrap();
            mentions[block].push(end);
            defined.insert(end, Register::from_u32(register));
        }
        let last = Block::from_u32(3);
        let use_at = function.terminator(last).unwrap();
        mentions[last].push(use_at);
        let blocks: Vec<u32> = definitions.iter().map(|&(block, _)| block).collect();
        let joins = JoinPlacer::new(&flow).place(&set(&blocks), &set(&[3])).joins;
        let joins = joins.into_iter().map(|block| (variable, block));
        let construction = SsaConstruction::new(function, &flow, &variables, joins);
        construction.run(function, &mentions, |function, mention, values| {
            match defined.get(&mention) {
                Some(&register) => values.set(variable, Some(register)),
                None => {
                    let value = values.get(variable).expect("it is defined");
                    let copy = function.create_register_like(model);
                    let new = InstructionBuilder::new(Operation::Mov, DataType::B32)
                        .result(function.register_operand(copy))
                        .source(function.register_operand(value));
                    function.insert(Position::Before(mention), new);
                }
            }
        })
    }

    #[test]
    fn values_that_meet_get_a_phi() {
        let mut function = parse_function(DIAMOND).unwrap();
        assert_eq!(construct(&mut function, &[(1, 1), (2, 2)]), 1);
        let text = function.to_string();
        assert!(text.contains("PHI.b32 %1, bix1, %2, bix2"), "{text}");
    }

    /// The first and the third are trivial only once the second is gone.
    #[test]
    fn a_phi_that_becomes_trivial_by_another_is_removed() {
        let mut function = parse_function(DIAMOND).unwrap();
        let [from, other] = [1, 2].map(Block::from_u32);
        let join = |function: &mut Function, result: Register, values: [Register; 2]| {
            let new = InstructionBuilder::new(Operation::Phi, DataType::B32)
                .result(function.register_operand(result))
                .source(function.register_operand(values[0]))
                .source(Operand::target(from))
                .source(function.register_operand(values[1]))
                .source(Operand::target(other));
            let phi = function.insert(Position::Start(Block::from_u32(3)), new);
            Join {
                variable: Variable::from_u32(0),
                phi,
                result,
                sources: Vec::new(),
            }
        };
        let value = Register::from_u32(1);
        let results: Vec<Register> = (0..3).map(|_| function.create_register_like(value)).collect();
        let joins = [
            join(&mut function, results[0], [value, results[1]]),
            join(&mut function, results[1], [value, value]),
            join(&mut function, results[2], [results[0], results[1]]),
        ];
        assert_eq!(remove_trivial_phis(&mut function, &joins), 0);
        assert!(!function.to_string().contains("PHI"), "{function}");
    }

    #[test]
    fn one_value_on_all_ways_needs_no_phi() {
        let mut function = parse_function(DIAMOND).unwrap();
        assert_eq!(construct(&mut function, &[(1, 2), (2, 2)]), 0);
        let text = function.to_string();
        assert!(!text.contains("PHI") && text.contains("MOV.b32 %2"), "{text}");
    }

    #[test]
    fn a_way_without_definition_brings_an_undefined_value() {
        let mut function = parse_function(DIAMOND).unwrap();
        assert_eq!(construct(&mut function, &[(1, 1)]), 1);
        let text = function.to_string();
        assert!(text.contains("bix2:\n    %5:R32 = UNDEF.b32"), "{text}");
        assert!(text.contains("PHI.b32 %1, bix1, %5, bix2"), "{text}");
    }
}
