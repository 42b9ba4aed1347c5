//! Versions of memory: which writes a read may see.
//!
//! ```text
//! bix0:  LD.global %1         version 0: memory as the function found it
//!        ST.global            makes version 1
//!        LD.global %2         version 1
//!        LD.shared %3         version 0: another memory
//! ```
//!
//! Memory is a small number of variables, one for each kind that does not overlap with others, in
//! static single assignment form: a write creates a new version, and where different versions meet
//! there is a new one (Cytron et al., "Efficiently Computing Static Single Assignment Form and the
//! Control Dependence Graph", 1991: placement by iterated dominance frontiers, renaming by a walk
//! of the dominator tree). Two reads of one location with equal versions return the same value, as
//! long as nothing else writes to the memory. That holds within a thread between points at which it
//! may see what others did. Every such point (barrier, fence, atomic, volatile access, call,
//! anything unknown with side effects) creates new versions of all memory that others can access;
//! `effects.rs` has the table.

use super::control_flow::ControlFlow;
use super::effects::{MemoryKinds, memory_kinds};
use super::function::{Function, Instruction};
use oriel_engine::entity::{Block, PackedOption, SecondaryMap, entity_impl};
use oriel_engine::graph::{DominanceFrontier, NodeSet};

/// A version of one kind of memory. Versions of different kinds are different.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MemoryVersion(u32);
entity_impl!(MemoryVersion, "memory");

/// The versions at an instruction, by kind.
type Versions = [PackedOption<MemoryVersion>; MemoryKinds::COUNT];

/// The memory versions of a function, valid while it does not change.
#[derive(Clone, Debug)]
pub struct MemoryVersions {
    /// Before each instruction that reads or writes memory: the versions of the kinds that it
    /// reads.
    read: SecondaryMap<Instruction, Versions>,
    count: u32,
}

impl MemoryVersions {
    /// Numbers the versions of a function with its current control flow.
    pub fn compute(function: &Function, flow: &ControlFlow) -> Self {
        let starts = place_joins(function, flow);
        let mut versions = Self {
            read: SecondaryMap::new(),
            count: 0,
        };
        let mut at_entry: Versions = Default::default();
        for version in &mut at_entry {
            *version = versions.fresh().into();
        }
        let mut leaving: SecondaryMap<Block, Versions> = SecondaryMap::new();
        // A block comes after its immediate dominator, so the versions that leave that one are
        // known.
        for &block in flow.dominators.preorder() {
            let mut current = flow
                .dominators
                .immediate(block)
                .map_or(at_entry, |above| leaving[above]);
            for (kind, version) in current.iter_mut().enumerate() {
                if starts[kind].contains(block) {
                    *version = versions.fresh().into();
                }
            }
            versions.number_block(function, block, &mut current);
            leaving[block] = current;
        }
        for &block in function
            .blocks()
            .iter()
            .filter(|&&block| !flow.order.is_reachable(block))
        {
            // Nothing is known about how control gets here: every unreachable block begins with
            // versions of its own.
            let mut current: Versions = Default::default();
            for version in &mut current {
                *version = versions.fresh().into();
            }
            versions.number_block(function, block, &mut current);
        }
        versions
    }

    fn number_block(&mut self, function: &Function, block: Block, current: &mut Versions) {
        for instruction in function.instructions(block) {
            let (reads, writes) = memory_kinds(function, instruction);
            if !reads.is_empty() {
                let mut met: Versions = Default::default();
                for kind in reads.indices() {
                    met[kind] = current[kind];
                }
                self.read[instruction] = met;
            }
            for kind in writes.indices() {
                current[kind] = self.fresh().into();
            }
        }
    }

    fn fresh(&mut self) -> MemoryVersion {
        self.count += 1;
        MemoryVersion::from_u32(self.count - 1)
    }

    /// Returns the version of one kind of memory that an instruction reads, or none if it does not
    /// read that kind.
    ///
    /// # Panics
    /// `kind` is not exactly one kind.
    pub fn read(&self, instruction: Instruction, kind: MemoryKinds) -> Option<MemoryVersion> {
        assert_eq!(kind.bits().count_ones(), 1, "{kind:?} is not one kind of memory");
        self.read[instruction][kind.bits().trailing_zeros() as usize].expand()
    }
}

/// Returns the blocks where versions meet, by kind.
fn place_joins(function: &Function, flow: &ControlFlow) -> [NodeSet<Block>; MemoryKinds::COUNT] {
    let mut pending: [Vec<Block>; MemoryKinds::COUNT] = Default::default();
    for &block in flow.order.as_slice() {
        let mut written = MemoryKinds::empty();
        for instruction in function.instructions(block) {
            written |= memory_kinds(function, instruction).1;
        }
        for kind in written.indices() {
            pending[kind].push(block);
        }
    }
    let frontier = DominanceFrontier::new(&flow.graph, &flow.dominators);
    pending.map(|mut pending| {
        let mut starts = NodeSet::new(function.block_limit());
        while let Some(block) = pending.pop() {
            for join in frontier.of(block) {
                if starts.insert(join) {
                    pending.push(join);
                }
            }
        }
        // Control may also return to the entry.
        if flow
            .graph
            .predecessors(function.entry())
            .iter()
            .any(|&block| flow.order.is_reachable(block))
        {
            starts.insert(function.entry());
        }
        starts
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        AddressSpace, DataType, InstructionBuilder, Modifiers, Operand, Operation, Position, RegisterFile,
        graph_function,
    };
    use oriel_engine::entity::{EntityRef, Register};
    use proptest::prelude::*;

    fn access(
        function: &mut Function,
        block: Block,
        operation: Operation,
        space: AddressSpace,
        address: Register,
    ) -> Instruction {
        let offset = Operand::immediate(0).unwrap();
        let modifiers = Modifiers {
            space,
            ..Modifiers::default()
        };
        let new = InstructionBuilder::new(operation, DataType::B32).modifiers(modifiers);
        let new = if operation == Operation::Ld {
            let result = function.create_register(RegisterFile::R, 32, None);
            new.result(Operand::register(result))
        } else {
            new.source(Operand::immediate(1).unwrap())
        };
        let terminator = function.terminator(block).unwrap();
        function.insert(
            Position::Before(terminator),
            new.source(Operand::register(address)).source(offset),
        )
    }

    /// The accesses of a block (write or not, and where) and its successors, two at most.
    type BlockSketch = (Vec<(bool, AddressSpace)>, Vec<usize>);

    fn build(blocks: &[BlockSketch]) -> Function {
        let targets: Vec<&[usize]> = blocks.iter().map(|(_, targets)| targets.as_slice()).collect();
        let mut function = graph_function::function(&targets);
        let address = function.create_register(RegisterFile::R, 64, None);
        for (index, (accesses, _)) in blocks.iter().enumerate() {
            for &(is_write, space) in accesses {
                let operation = if is_write { Operation::St } else { Operation::Ld };
                access(&mut function, Block::new(index), operation, space, address);
            }
        }
        function
    }

    fn space() -> impl Strategy<Value = AddressSpace> {
        prop_oneof![
            Just(AddressSpace::Global),
            Just(AddressSpace::Shared),
            Just(AddressSpace::Generic),
            Just(AddressSpace::Const),
        ]
    }

    fn blocks() -> impl Strategy<Value = Vec<BlockSketch>> {
        (3usize..7).prop_flat_map(|count| {
            let accesses = prop::collection::vec((any::<bool>(), space()), 0..4);
            let targets = prop::collection::vec(0..count, 1..3);
            prop::collection::vec((accesses, targets), count)
        })
    }

    fn read_the_same(versions: &MemoryVersions, left: Instruction, right: Instruction) -> bool {
        versions.read[left] == versions.read[right]
    }

    #[test]
    fn reads_without_a_write_between_see_the_same() {
        let global = |is_write| (is_write, AddressSpace::Global);
        let function = build(&[
            (
                vec![
                    global(false),
                    (true, AddressSpace::Shared),
                    global(false),
                    global(true),
                    global(false),
                ],
                vec![1, 2],
            ),
            (vec![global(false)], vec![2]),
            (vec![global(false)], vec![]),
        ]);
        let flow = ControlFlow::of(&function);
        let versions = MemoryVersions::compute(&function, &flow);
        let reads: Vec<Instruction> = function
            .all_instructions()
            .filter(|&instruction| function.operation(instruction) == Operation::Ld)
            .collect();
        assert!(read_the_same(&versions, reads[0], reads[1]));
        assert!(!read_the_same(&versions, reads[1], reads[2]));
        assert!(read_the_same(&versions, reads[2], reads[3]));
        assert!(read_the_same(&versions, reads[3], reads[4]));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        /// On any path: if a read dominates another and the versions are equal, nothing was written
        /// between the last execution of the first and the second.
        #[test]
        fn equal_versions_mean_no_write_between(blocks in blocks(), turns in prop::collection::vec(any::<bool>(), 24)) {
            let function = build(&blocks);
            let flow = ControlFlow::of(&function);
            let versions = MemoryVersions::compute(&function, &flow);
            let mut clock = 0u32;
            let mut last_write = [0u32; MemoryKinds::COUNT];
            let mut executed: Vec<(Instruction, Block, [u32; MemoryKinds::COUNT])> = Vec::new();
            let mut block = function.entry();
            for turn in turns {
                for instruction in function.instructions(block) {
                    let (reads, writes) = memory_kinds(&function, instruction);
                    if !reads.is_empty() {
                        for &(earlier, from, seen) in &executed {
                            if earlier != instruction
                                && read_the_same(&versions, earlier, instruction)
                                && flow.dominators.dominates(from, block)
                                && (from != block || earlier < instruction)
                            {
                                for kind in reads.indices() {
                                    prop_assert_eq!(seen[kind], last_write[kind], "{} and {}", earlier, instruction);
                                }
                            }
                        }
                        executed.retain(|&(earlier, ..)| earlier != instruction);
                        executed.push((instruction, block, last_write));
                    }
                    for kind in writes.indices() {
                        clock += 1;
                        last_write[kind] = clock;
                    }
                }
                let successors: Vec<Block> = function.successors(block).collect();
                match successors.as_slice() {
                    [] => break,
                    [only] => block = *only,
                    [first, second, ..] => block = if turn { *first } else { *second },
                }
            }
        }
    }
}
