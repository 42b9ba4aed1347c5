//! Interference: which registers hold live values at the same time.
//!
//! Two registers interfere if one is live after an instruction that defines the other, if one
//! instruction defines both, or if both are live at the function's entry. That is when their live
//! ranges overlap (Chaitin, "Register Allocation and Spilling via Graph Coloring", 1982), with two
//! details:
//!
//! - A value without uses still needs a register at its definition.
//! - All PHIs of a block define their results at once, at its start.
//!
//! Copies are no exception: the source of a copy interferes with its result if it is live
//! afterwards. Inline assembly may write a result before it has read its sources, so its results
//! interfere with its sources, whether it declares that or not.

use super::walk::BlockWalk;
use crate::{Function, Instruction, Liveness, Operation, RegisterFile};
use oriel_engine::bitvector::{EntityBitMatrix, EntityBitSet};
use oriel_engine::entity::{Block, PackedOption, PrimaryMap, Register, SecondaryMap, entity_impl};

/// A register in the graph of its file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(u32);
entity_impl!(Node, "node");

/// The interference graph of one register file, with a bit for each pair of registers.
///
/// Its size in bits is the square of the number of registers: 1.2 MB for 10,000. For single queries
/// on larger functions there is [`InterferenceTest`].
#[derive(Clone, Debug)]
pub struct InterferenceGraph {
    registers: PrimaryMap<Node, Register>,
    nodes: SecondaryMap<Register, PackedOption<Node>>,
    rows: EntityBitMatrix<Node, Node>,
}

impl InterferenceGraph {
    /// Computes the graph of the registers of a file.
    pub fn compute(function: &Function, liveness: &Liveness, file: RegisterFile) -> Self {
        let mut graph = Self::without_edges(function, file);
        let mut walk = BlockWalk::new(function, liveness);
        let mut live = EntityBitSet::with_room(graph.registers.len());
        let mut results = Vec::new();
        for &block in function.blocks() {
            let after_phis = walk.visit(block, |instruction, live_after| {
                graph.nodes_of_results(function, instruction, &mut results);
                if results.is_empty() {
                    return;
                }
                graph.nodes_of(live_after.iter(), &mut live);
                if function.is_inline_assembly(instruction) {
                    for source in function.sources(instruction) {
                        live.extend(source.read_register().and_then(|register| graph.node(register)));
                    }
                }
                graph.add_definitions(&results, &mut live);
            });
            graph.nodes_of(after_phis.iter(), &mut live);
            results.clear();
            for phi in function.phis(block) {
                let result = function.result(phi, 0).as_register();
                results.extend(result.and_then(|register| graph.node(register)));
            }
            graph.add_definitions(&results, &mut live);
        }
        if !function.blocks().is_empty() {
            graph.nodes_of(liveness.live_in(function.entry()), &mut live);
            let at_entry: Vec<Node> = live.iter().collect();
            graph.add_definitions(&at_entry, &mut live);
        }
        graph.make_symmetric();
        graph
    }

    fn without_edges(function: &Function, file: RegisterFile) -> Self {
        let mut registers: PrimaryMap<Node, Register> = PrimaryMap::new();
        let mut nodes: SecondaryMap<Register, PackedOption<Node>> = SecondaryMap::new();
        for register in function.registers() {
            if function.register(register).file == file {
                nodes[register] = registers.push(register).into();
            }
        }
        let rows = EntityBitMatrix::new(registers.len(), registers.len());
        Self {
            registers,
            nodes,
            rows,
        }
    }

    fn node(&self, register: Register) -> Option<Node> {
        self.nodes[register].expand()
    }

    fn nodes_of(&self, registers: impl Iterator<Item = Register>, into: &mut EntityBitSet<Node>) {
        into.clear();
        into.extend(registers.filter_map(|register| self.node(register)));
    }

    fn nodes_of_results(&self, function: &Function, instruction: Instruction, into: &mut Vec<Node>) {
        into.clear();
        let registers = function.result_registers(instruction);
        into.extend(registers.filter_map(|register| self.node(register)));
    }

    /// Adds edges between registers defined at once, and between these and the registers live then.
    fn add_definitions(&mut self, defined: &[Node], live: &mut EntityBitSet<Node>) {
        live.extend(defined.iter().copied());
        for &node in defined {
            let row = self.rows.row_mut(node);
            row.or(live);
            row.remove(node);
        }
    }

    fn make_symmetric(&mut self) {
        let mut neighbors: Vec<Node> = Vec::new();
        for node in self.registers.keys() {
            neighbors.clear();
            neighbors.extend(self.rows.row(node).iter());
            for &neighbor in &neighbors {
                self.rows.insert(neighbor, node);
            }
        }
    }

    /// Returns the registers of the graph, those without neighbors included.
    pub fn registers(&self) -> impl Iterator<Item = Register> + '_ {
        self.registers.values().copied()
    }

    /// True if two registers of the file interfere. A register does not interfere with itself, nor
    /// with one of another file.
    pub fn interferes(&self, one: Register, other: Register) -> bool {
        match (self.node(one), self.node(other)) {
            (Some(one), Some(other)) => self.rows.contains(one, other),
            _ => false,
        }
    }

    /// Returns the registers that interfere with a register, in order of their numbers.
    pub fn neighbors(&self, register: Register) -> impl Iterator<Item = Register> + '_ {
        let row = self.node(register).map(|node| self.rows.row(node).iter());
        row.into_iter().flatten().map(|node| self.registers[node])
    }
}

/// Tests interference of two registers without a graph, in time proportional to their definitions
/// times their uses.
#[derive(Clone, Debug)]
pub struct InterferenceTest<'a> {
    function: &'a Function,
    liveness: &'a Liveness,
    /// Position of each instruction in its block; zero for PHIs.
    positions: SecondaryMap<Instruction, u32>,
}

impl<'a> InterferenceTest<'a> {
    /// Creates a test for `function`, whose liveness is given.
    pub fn new(function: &'a Function, liveness: &'a Liveness) -> Self {
        let mut positions = SecondaryMap::with_capacity(function.instruction_limit());
        for &block in function.blocks() {
            let others = function
                .instructions(block)
                .filter(|&instruction| function.operation(instruction) != Operation::Phi);
            for (position, instruction) in others.enumerate() {
                positions[instruction] = position as u32 + 1;
            }
        }
        Self {
            function,
            liveness,
            positions,
        }
    }

    /// True if two registers of one file interfere.
    pub fn interferes(&self, one: Register, other: Register) -> bool {
        self.may_interfere(one, other)
            && (self.are_live_at_entry(one, other)
                || self.is_live_at_definition(one, other)
                || self.is_live_at_definition(other, one))
    }

    fn may_interfere(&self, one: Register, other: Register) -> bool {
        let file = |register| self.function.register(register).file;
        one != other && file(one) == file(other)
    }

    fn are_live_at_entry(&self, one: Register, other: Register) -> bool {
        let entry = self.function.entry();
        let is_live = |register| self.liveness.is_live_in(register, entry);
        is_live(one) && is_live(other)
    }

    /// True if two registers of one file hold different live values at the same time. Unlike
    /// [`Self::interferes`], this accounts for copies between the two: after a copy both hold the
    /// same value, so both may stay live (Chaitin's exception for copies). If false, the two could
    /// be one register.
    pub fn interferes_but_for_copies(&self, one: Register, other: Register) -> bool {
        self.may_interfere(one, other)
            && (self.are_live_at_entry(one, other)
                || self.is_live_at_other_definition(one, other)
                || self.is_live_at_other_definition(other, one))
    }

    /// True if `register` is live where `defined` gets a value that is not copied from `register`.
    fn is_live_at_other_definition(&self, register: Register, defined: Register) -> bool {
        self.definitions_where_live(register, defined).any(|definition| {
            let is_copy = self.function.operation(definition).is_copy();
            let source = || self.function.source(definition, 0);
            !is_copy || source().is_modified() || source().read_register() != Some(register)
        })
    }

    /// True if `register` is live at a definition of `defined`.
    fn is_live_at_definition(&self, register: Register, defined: Register) -> bool {
        self.definitions_where_live(register, defined).next().is_some()
    }

    /// Returns the definitions of `defined` at which `register` is live.
    fn definitions_where_live(
        &self,
        register: Register,
        defined: Register,
    ) -> impl Iterator<Item = Instruction> + '_ {
        let definitions = self
            .function
            .definitions(defined)
            .map(|(definition, _)| definition);
        definitions.filter(move |&definition| {
            let Some(block) = self.function.block_of(definition) else {
                return false;
            };
            self.is_defined_with(register, definition, block)
                || self.is_read_by_asm(register, definition)
                || self.is_live_after(register, definition, block)
        })
    }

    fn is_defined_with(&self, register: Register, definition: Instruction, block: Block) -> bool {
        let is_phi = |instruction| self.function.operation(instruction) == Operation::Phi;
        self.function.definitions(register).any(|(other, _)| {
            other == definition
                || is_phi(definition) && is_phi(other) && self.function.block_of(other) == Some(block)
        })
    }

    fn is_read_by_asm(&self, register: Register, definition: Instruction) -> bool {
        self.function.is_inline_assembly(definition)
            && self
                .function
                .sources(definition)
                .iter()
                .any(|source| source.read_register() == Some(register))
    }

    /// True if a register is live after an instruction of a block.
    pub fn is_live_after(&self, register: Register, instruction: Instruction, block: Block) -> bool {
        let after = self.positions[instruction];
        let next = |references: &mut dyn Iterator<Item = Instruction>| {
            references
                .filter(|&other| self.function.block_of(other) == Some(block))
                .map(|other| self.positions[other])
                .filter(|&position| position > after)
                .min()
        };
        let read = self.function.uses(register).filter(|&(user, number)| {
            self.function.operation(user) != Operation::Phi
                && self.function.source(user, number).read_register().is_some()
        });
        let next_use = next(&mut read.map(|(user, _)| user));
        let next_definition = next(
            &mut self
                .function
                .definitions(register)
                .map(|(definition, _)| definition),
        );
        match (next_use, next_definition) {
            (Some(used), Some(defined)) => used <= defined,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (None, None) => self.liveness.is_live_out(register, block),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random_function::random_function;
    use crate::{ControlFlow, parse_functions};
    use oriel_engine::graph::Traversal;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    fn check(function: &Function) {
        let flow = ControlFlow::analyze(function, Traversal::default());
        let liveness = Liveness::compute(function, &flow);
        let test = InterferenceTest::new(function, &liveness);
        for file in RegisterFile::ALL {
            let graph = InterferenceGraph::compute(function, &liveness, file);
            let registers: Vec<Register> = graph.registers().collect();
            for &one in &registers {
                let neighbors: Vec<Register> = registers
                    .iter()
                    .copied()
                    .filter(|&other| test.interferes(one, other))
                    .collect();
                assert_eq!(graph.neighbors(one).collect::<Vec<_>>(), neighbors, "{one}");
                assert!(neighbors.iter().all(|&other| graph.interferes(other, one)));
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        #[test]
        fn the_graph_is_the_test_for_every_pair(seed in any::<u64>(), late in any::<bool>()) {
            check(&random_function(seed, if late { Stage::Late } else { Stage::Ssa }));
        }
    }

    /// Checks against an execution: if two registers always hold the same value where both are
    /// live, they do not interfere except for copies; if they do not interfere at all, they do not
    /// interfere except for copies either.
    #[test]
    fn copies_between_two_registers_are_no_reason_to_keep_them_apart() {
        let text = |middle: &str, end: &str| {
            format!(
                "kernel \"k\" sm_80 late {{
bix0:
    %1:R32 = LD.global.b32 [0]
    %2:R32 = MOV.b32 %1
{middle}    ST.global.b32 %1, [8]
    ST.global.b32 %2, [8]
{end}    RET
}}
"
            )
        };
        for (middle, end, expected) in [
            ("", "", (true, false)),
            // Another value while the other is live.
            ("    %2 = IADD.b32 %2, 1\n", "", (true, true)),
            ("    %1 = IADD.b32 %2, 1\n", "", (true, true)),
            // Back again.
            ("    %2 = MOV.b32 %1\n    %1 = MOV.b32 %2\n", "", (true, false)),
            // Another value when the other is dead.
            (
                "",
                "    %1 = LD.global.b32 [4]\n    ST.global.b32 %1, [8]\n",
                (true, false),
            ),
        ] {
            let function = &parse_functions(&text(middle, end)).expect("it is well formed")[0];
            let flow = ControlFlow::analyze(function, Traversal::default());
            let liveness = Liveness::compute(function, &flow);
            let test = InterferenceTest::new(function, &liveness);
            let [one, other] = [1, 2].map(Register::from_u32);
            let found = (
                test.interferes(one, other),
                test.interferes_but_for_copies(one, other),
            );
            assert_eq!(found, expected, "{middle}{end}");
            assert_eq!(test.interferes_but_for_copies(other, one), found.1);
        }
    }

    #[test]
    fn what_a_loop_carries_interferes_with_what_it_computes() {
        let text = "kernel \"k\" sm_80 ssa {
bix0:
    %1:R32 = MOV.b32 1
    %2:R32 = MOV.b32 2
    BRA fall bix1
bix1:
    %3:R32 = PHI.b32 %1, bix0, %5, bix1
    %4:R32 = PHI.b32 %2, bix0, %4, bix1
    %5:R32 = IADD.b32 %3, 1
    %6:P = ISETP.gt.s32 %5, %2
    BRA %6, bix2, fall bix1
bix2:
    RET
}
";
        let function = &parse_functions(text).expect("it is well formed")[0];
        check(function);
        let flow = ControlFlow::analyze(function, Traversal::default());
        let liveness = Liveness::compute(function, &flow);
        let graph = InterferenceGraph::compute(function, &liveness, RegisterFile::R);
        let edges: Vec<(u32, u32)> = graph
            .registers()
            .flat_map(|one| {
                graph
                    .neighbors(one)
                    .map(move |other| (one.as_u32(), other.as_u32()))
            })
            .filter(|(one, other)| one < other)
            .collect();
        // 3 dies where 5 begins; 1 ends on the edge where 3 begins.
        assert_eq!(edges, [(1, 2), (2, 3), (2, 4), (2, 5), (3, 4), (4, 5)]);
    }
}
