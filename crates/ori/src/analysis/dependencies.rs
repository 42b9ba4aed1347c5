//! Dependencies between the instructions of a block.
//!
//! ```text
//! %1 = LD.global [%0]          1 ─▶ 2  %1 is written, then read
//! %2 = IADD %1, 1              2 ─▶ 4  %1 is read, then written
//! ST.shared %2, [%3]           2 ─▶ 3  %2 is written, then read
//! %1 = LD.global [%4]          1 ─▶ 4  %1 is written, then written
//! ```
//!
//! Every order that respects all dependencies has the same effect. The dependencies are:
//!
//! - through a register: read after write, write after read, write after write;
//! - through memory, if one of two accesses writes and they may overlap. Accesses to disjoint kinds
//!   of memory, to different variables, to different parts of one object, or at different offsets
//!   from one register never overlap;
//! - between operations of several threads, and between effects outside registers and memory, which
//!   keep their order;
//! - a call sequence, inline assembly with effects and everything unknown: nothing moves across
//!   them.
//!
//! NVPTX's calls clobber no virtual registers, so a call clobbers memory only, and nothing moves
//! across it anyway.
//!
//! PHIs come first and the terminator last, so neither is in the graph. Debug instructions are not
//! in it either, so that they do not influence the order of others.

use crate::{
    Function, Instruction, MemoryAccess, MemoryKinds, Operand, Operation, OperationFlags, Ordering,
    memory_kinds,
};
use oriel_engine::entity::{Block, EntityRef, PrimaryMap, Register, entity_impl};
use smallvec::SmallVec;
use std::collections::HashMap;

/// An instruction in the graph, numbered by its position in the block.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DependencyNode(u32);
entity_impl!(DependencyNode, "dependency");

/// Why one instruction must stay after another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DependencyKind {
    /// It reads a register that the other writes.
    ReadAfterWrite,
    /// It writes a register that the other reads.
    WriteAfterRead,
    /// Both write a register.
    WriteAfterWrite,
    /// They may access the same memory, and one of them writes.
    Memory,
    /// The order of their effects can be observed.
    Effects,
}

/// The most accesses that are remembered singly. The next one that writes is ordered after all of
/// them, whatever it accesses, and represents them from then on; one that only reads is compared
/// with those that write. So a block of any length takes linear time.
const PENDING_ACCESSES: usize = 64;

/// The dependencies within a block.
#[derive(Clone, Debug)]
pub struct DependencyGraph {
    instructions: PrimaryMap<DependencyNode, Instruction>,
    successors: PrimaryMap<DependencyNode, SmallVec<[(DependencyNode, DependencyKind); 4]>>,
    predecessors: PrimaryMap<DependencyNode, SmallVec<[DependencyNode; 4]>>,
}

impl DependencyGraph {
    /// Computes the dependencies between the instructions of a block.
    pub fn compute(function: &Function, block: Block) -> Self {
        let mut builder = GraphBuilder::default();
        for instruction in function.instructions(block) {
            let operation = function.operation(instruction);
            let is_fixed = operation == Operation::Phi || operation.is_terminator() || operation.is_debug();
            if !is_fixed {
                builder.add(function, instruction);
            }
        }
        builder.graph
    }

    /// Returns the nodes, in the order of their instructions.
    pub fn nodes(&self) -> impl DoubleEndedIterator<Item = DependencyNode> + ExactSizeIterator + use<> {
        self.instructions.keys()
    }

    /// Returns the instruction of a node.
    pub fn instruction(&self, node: DependencyNode) -> Instruction {
        self.instructions[node]
    }

    /// Returns the nodes that must stay after a node, each once, with the reason.
    pub fn successors(&self, node: DependencyNode) -> &[(DependencyNode, DependencyKind)] {
        &self.successors[node]
    }

    /// Returns the nodes that a node must stay after.
    pub fn predecessors(&self, node: DependencyNode) -> &[DependencyNode] {
        &self.predecessors[node]
    }
}

/// The memory accesses of an instruction.
#[derive(Clone, Copy, Debug)]
struct Accesses {
    node: DependencyNode,
    reads: MemoryKinds,
    writes: MemoryKinds,
    /// The location, for plain loads and stores.
    location: Option<MemoryAccess>,
    /// The register and offset of its address, with the node that has written the register in the
    /// block, if any.
    address: Option<(Register, i64, Option<DependencyNode>)>,
}

/// The last writer of a register and its readers since.
#[derive(Debug, Default)]
struct RegisterState {
    writer: Option<DependencyNode>,
    readers: SmallVec<[DependencyNode; 4]>,
}

struct GraphBuilder {
    graph: DependencyGraph,
    registers: HashMap<Register, RegisterState>,
    /// Accesses since the last representative: those that write and those that do not.
    pending_writes: Vec<Accesses>,
    pending_reads: Vec<Accesses>,
    /// The last instruction with ordered effects.
    last_effect: Option<DependencyNode>,
    /// The last instruction that nothing moves across.
    last_wall: Option<DependencyNode>,
}

impl Default for GraphBuilder {
    fn default() -> Self {
        Self {
            graph: DependencyGraph {
                instructions: PrimaryMap::new(),
                successors: PrimaryMap::new(),
                predecessors: PrimaryMap::new(),
            },
            registers: HashMap::new(),
            pending_writes: Vec::new(),
            pending_reads: Vec::new(),
            last_effect: None,
            last_wall: None,
        }
    }
}

impl GraphBuilder {
    fn add(&mut self, function: &Function, instruction: Instruction) {
        let node = self.graph.instructions.push(instruction);
        self.graph.successors.push(SmallVec::new());
        self.graph.predecessors.push(SmallVec::new());
        // The address is of the registers before the instruction writes its results.
        let accesses = self.accesses(function, instruction, node);
        self.add_registers(function, instruction, node);
        self.add_memory(accesses);
        self.add_effects(function, instruction, node);
    }

    fn depend(&mut self, later: DependencyNode, earlier: DependencyNode, kind: DependencyKind) {
        // `later` is the last node so far, so if the edge exists already it is the last one
        // recorded.
        let successors = &mut self.graph.successors[earlier];
        let is_known = successors.last().is_some_and(|&(known, _)| known == later);
        if earlier != later && !is_known {
            successors.push((later, kind));
            self.graph.predecessors[later].push(earlier);
        }
    }

    fn add_registers(&mut self, function: &Function, instruction: Instruction, node: DependencyNode) {
        for register in function
            .sources(instruction)
            .iter()
            .filter_map(Operand::read_register)
        {
            let state = self.registers.entry(register).or_default();
            state.readers.push(node);
            if let Some(writer) = state.writer {
                self.depend(node, writer, DependencyKind::ReadAfterWrite);
            }
        }
        for register in function.result_registers(instruction) {
            let before = std::mem::take(self.registers.entry(register).or_default());
            for reader in before.readers {
                self.depend(node, reader, DependencyKind::WriteAfterRead);
            }
            if let Some(writer) = before.writer {
                self.depend(node, writer, DependencyKind::WriteAfterWrite);
            }
            self.registers.entry(register).or_default().writer = Some(node);
        }
    }

    fn accesses(&self, function: &Function, instruction: Instruction, node: DependencyNode) -> Accesses {
        let (reads, writes) = memory_kinds(function, instruction);
        let address = address(function, instruction).map(|(register, offset)| {
            let writer = self.registers.get(&register).and_then(|state| state.writer);
            (register, offset, writer)
        });
        Accesses {
            node,
            reads,
            writes,
            location: plain_location(function, instruction),
            address,
        }
    }

    fn add_memory(&mut self, accesses: Accesses) {
        if (accesses.reads | accesses.writes).is_empty() {
            return;
        }
        if accesses.writes.is_empty() {
            self.depend_on_conflicting(&accesses, |builder| &builder.pending_writes);
            self.pending_reads.push(accesses);
        } else if self.pending_writes.len() + self.pending_reads.len() < PENDING_ACCESSES {
            self.depend_on_conflicting(&accesses, |builder| &builder.pending_writes);
            self.depend_on_conflicting(&accesses, |builder| &builder.pending_reads);
            self.pending_writes.push(accesses);
        } else {
            self.stand_for_all(accesses);
        }
    }

    fn depend_on_conflicting(&mut self, accesses: &Accesses, pending: impl Fn(&Self) -> &Vec<Accesses>) {
        for number in 0..pending(self).len() {
            let other = pending(self)[number];
            if conflict(&other, accesses) {
                self.depend(accesses.node, other.node, DependencyKind::Memory);
            }
        }
    }

    /// Orders an access after all pending ones and lets it represent them.
    fn stand_for_all(&mut self, mut accesses: Accesses) {
        let mut pending = std::mem::take(&mut self.pending_writes);
        pending.append(&mut self.pending_reads);
        accesses.location = None;
        for other in &pending {
            self.depend(accesses.node, other.node, DependencyKind::Memory);
            accesses.reads |= other.reads;
            accesses.writes |= other.writes;
        }
        self.pending_writes.push(accesses);
    }

    fn add_effects(&mut self, function: &Function, instruction: Instruction, node: DependencyNode) {
        let effects = function.effects(instruction);
        if let Some(wall) = self.last_wall {
            self.depend(node, wall, DependencyKind::Effects);
        }
        let is_understood = matches!(
            function.operation(instruction),
            Operation::Ld | Operation::St | Operation::Atom
        );
        // Instructions between two reads of a counter stay between them, since they may be
        // measured.
        let is_wall = effects.contains(OperationFlags::CALL_SEQUENCE)
            || effects.contains(OperationFlags::SIDE_EFFECTS) && !is_understood;
        if is_wall {
            let first = self.last_wall.map_or(0, |wall| wall.index() + 1);
            for earlier in (first..node.index()).map(DependencyNode::new) {
                self.depend(node, earlier, DependencyKind::Effects);
            }
            self.last_wall = Some(node);
            self.last_effect = None;
            // Everything later is ordered after the wall, and so after these.
            self.pending_writes.clear();
            self.pending_reads.clear();
        } else if effects.intersects(OperationFlags::SIDE_EFFECTS | OperationFlags::CONVERGENT)
            && let Some(earlier) = self.last_effect.replace(node)
        {
            self.depend(node, earlier, DependencyKind::Effects);
        }
    }
}

/// Returns the location that a plain load or store accesses.
fn plain_location(function: &Function, instruction: Instruction) -> Option<MemoryAccess> {
    let is_plain = matches!(function.operation(instruction), Operation::Ld | Operation::St)
        && matches!(
            function.modifiers(instruction).ordering,
            Ordering::None | Ordering::Weak
        )
        && !function
            .effects(instruction)
            .contains(OperationFlags::SIDE_EFFECTS);
    function.access(instruction).copied().filter(|_| is_plain)
}

/// Returns the register and the offset of an address.
fn address(function: &Function, instruction: Instruction) -> Option<(Register, i64)> {
    let base = function.address_source(instruction)?;
    let register = function.source(instruction, base).as_register()?;
    Some((
        register,
        function.integer(function.source(instruction, base + 1))?,
    ))
}

fn conflict(one: &Accesses, other: &Accesses) -> bool {
    let meets = one.writes.intersects(other.reads | other.writes) || one.reads.intersects(other.writes);
    let offsets = match (one.address, other.address) {
        (Some((register, from, writer)), Some((same, to, same_writer)))
            if register == same && writer == same_writer =>
        {
            Some((from, to))
        }
        _ => None,
    };
    meets && !are_disjoint(one.location, other.location, offsets)
}

/// True if these are known to be different bytes. `offsets` are those from one address, if known.
fn are_disjoint(one: Option<MemoryAccess>, other: Option<MemoryAccess>, offsets: Option<(i64, i64)>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    let ends_before = |low: i64, size: Option<u64>, high: i64| {
        let size = size.and_then(|size| i64::try_from(size).ok());
        size.and_then(|size| low.checked_add(size))
            .is_some_and(|end| end <= high)
    };
    let are_apart = |(from, to)| ends_before(from, one.size, to) || ends_before(to, other.size, from);
    let of_base = (one.base.is_some() && one.base == other.base).then_some((one.offset, other.offset));
    one.symbol.is_some() && other.symbol.is_some() && one.symbol != other.symbol
        || of_base.is_some_and(are_apart)
        || offsets.is_some_and(are_apart)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_functions;
    use crate::random_function::random_function;
    use oriel_engine::bitvector::EntityBitMatrix;
    use oriel_engine::snapshot::abi::Stage;
    use proptest::prelude::*;

    fn edges(body: &str) -> Vec<(usize, usize, DependencyKind)> {
        let text = format!("kernel \"k\" sm_80 late {{\nbix0:\n{body}\n    RET\n}}\n");
        let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{error}"));
        let graph = DependencyGraph::compute(&functions[0], functions[0].entry());
        let mut edges = Vec::new();
        for node in graph.nodes() {
            for &(later, kind) in graph.successors(node) {
                edges.push((node.index(), later.index(), kind));
            }
        }
        edges
    }

    #[test]
    fn registers_keep_the_order_of_writes_and_reads() {
        use DependencyKind::*;
        let found = edges(
            "    %1:R32 = MOV.b32 1
    %2:R32 = IADD.b32 %1, 1
    %1:R32 = MOV.b32 2
    %3:R32 = MOV.b32 3",
        );
        assert_eq!(
            found,
            [
                (0, 1, ReadAfterWrite),
                (0, 2, WriteAfterWrite),
                (1, 2, WriteAfterRead)
            ]
        );
    }

    #[test]
    fn memory_keeps_the_order_where_accesses_may_meet() {
        use DependencyKind::*;
        let found = edges(
            "    ST.global.b32.b32 1, [0]
    ST.shared.b32.b32 1, [0]
    %1:R32 = LD.global.b32.b32 [0]
    ST.b32.b32 1, [0]",
        );
        assert_eq!(
            found,
            [(0, 2, Memory), (0, 3, Memory), (1, 3, Memory), (2, 3, Memory)]
        );
    }

    #[test]
    fn offsets_of_one_register_tell_accesses_apart() {
        use DependencyKind::*;
        let has_memory_edge = |offset: u32, between: &str| {
            let body = format!(
                "    %0:R64 = MOV.b64 64
    %1:R64 = LD.global.b64.b64 [%0+{offset}] access(8 bytes, load)
{between}
    ST.global.b64.b64 7, [%0] access(8 bytes, store)"
            );
            edges(&body).iter().any(|&(.., kind)| kind == Memory)
        };
        assert!(!has_memory_edge(8, ""));
        assert!(has_memory_edge(4, ""));
        assert!(has_memory_edge(8, "    %0 = IADD.b64 %0, 8"));
    }

    #[test]
    fn nothing_moves_across_unknown_effects_and_reads_of_a_counter() {
        use DependencyKind::*;
        for wall in [
            "ASM",
            "OPAQUE (GRIDDEPCONTROL_WAIT side_effects)",
            "%9:R32 = S2R.b32 clock",
        ] {
            let found = edges(&format!(
                "    %1:R32 = LD.global.b32.b32 [0]
    %2:R32 = MOV.b32 1
    {wall}
    %3:R32 = LD.global.b32.b32 [4]"
            ));
            for edge in [(0, 2), (1, 2), (2, 3)] {
                let has_edge = found.iter().any(|&(one, other, _)| (one, other) == edge);
                assert!(has_edge, "{wall}: {found:?}");
            }
            assert!(
                found.iter().all(|&(.., kind)| matches!(kind, Memory | Effects)),
                "{found:?}"
            );
        }
        // Instructions without effects according to LLVM can move.
        assert_eq!(edges("    %1:R32 = LD.global.b32.b32 [0]\n    OPAQUE (MMA)"), []);
    }

    #[test]
    fn long_blocks_take_linear_time() {
        // A quadratic algorithm would take minutes.
        let count = 50_000;
        let mut body = String::new();
        for number in 1..=count {
            body += &format!("    %{number}:R32 = LD.global.b32.b32 [{number}]\n");
        }
        body += "    ST.b32.b32 1, [0]\n    %0:R32 = LD.global.b32.b32 [0]\n    BAR.sync 0";
        let found = edges(&body);
        let into = |node: usize| found.iter().filter(|&&(_, later, _)| later == node).count();
        assert_eq!([count, count + 1, count + 2].map(into), [count, 1, count + 2]);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(96))]

        /// Compares with the definition, pair by pair, transitively.
        #[test]
        fn what_conflicts_is_ordered(seed in any::<u64>(), late in any::<bool>()) {
            let function = random_function(seed, if late { Stage::Late } else { Stage::Ssa });
            for &block in function.blocks() {
                let graph = DependencyGraph::compute(&function, block);
                let count = graph.nodes().len();
                let mut before: EntityBitMatrix<DependencyNode, DependencyNode> =
                    EntityBitMatrix::new(count, count);
                for later in graph.nodes() {
                    for &earlier in graph.predecessors(later) {
                        prop_assert!(earlier < later);
                        let through: Vec<_> = before.row(earlier).iter().collect();
                        for node in through {
                            before.insert(later, node);
                        }
                        before.insert(later, earlier);
                    }
                    for earlier in graph.nodes().take_while(|&earlier| earlier < later) {
                        let pair = [earlier, later].map(|node| graph.instruction(node));
                        if must_stay(&function, block, pair[0], pair[1]) {
                            prop_assert!(before.contains(later, earlier), "{} {}", pair[0], pair[1]);
                        }
                    }
                }
            }
        }
    }

    /// The definition, without considering which memory is accessed.
    fn must_stay(function: &Function, block: Block, earlier: Instruction, later: Instruction) -> bool {
        let reads = |instruction| -> Vec<Register> {
            function
                .sources(instruction)
                .iter()
                .filter_map(Operand::read_register)
                .collect()
        };
        let writes = |instruction| -> Vec<Register> { function.result_registers(instruction).collect() };
        let common = |a: &[Register], b: &[Register]| a.iter().any(|register| b.contains(register));
        let ordered = |instruction| {
            function.effects(instruction).intersects(
                OperationFlags::SIDE_EFFECTS | OperationFlags::CONVERGENT | OperationFlags::CALL_SEQUENCE,
            )
        };
        let (reads_memory, writes_memory) = memory_kinds(function, later);
        let (read_before, written_before) = memory_kinds(function, earlier);
        let locations = [earlier, later].map(|instruction| plain_location(function, instruction));
        let between = function.instructions(block);
        let between = between
            .skip_while(|&it| it != earlier)
            .take_while(|&it| it != later);
        let offsets = match (address(function, earlier), address(function, later)) {
            (Some((one, from)), Some((other, to)))
                if one == other && between.clone().all(|it| !writes(it).contains(&one)) =>
            {
                Some((from, to))
            }
            _ => None,
        };
        common(&writes(earlier), &reads(later))
            || common(&reads(earlier), &writes(later))
            || common(&writes(earlier), &writes(later))
            || ordered(earlier) && ordered(later)
            || (written_before.intersects(reads_memory | writes_memory)
                || read_before.intersects(writes_memory))
                && !are_disjoint(locations[0], locations[1], offsets)
    }
}
