//! Edits of a function, collected into a plan.
//!
//! The editor starts with the unchanged input. Edits are stored next to the input, so the plan
//! contains only the changes.

use oriel_engine::entity::{
    Block, EntityRef, FrameObject, Instruction, PrimaryMap, Register, RegisterClass, SecondaryMap,
    entity_impl,
};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{
    Behavior, EdgeRecord, OpcodeFlags, OperandFlags, OperandKind, OperandRecord, StringRecord,
};
use oriel_ori::plan::Plan;
use oriel_ori::plan::abi::{PlanAction, PlanBlockRecord, PlanInstructionRecord};
use smallvec::SmallVec;
use std::collections::HashMap;

/// An instruction under edit: an input instruction or an added one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EditedInstruction(u32);
entity_impl!(EditedInstruction, "edited");

/// A position between instructions: before instruction number `index` of `block`, or at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InsertionPoint {
    /// The block.
    pub block: Block,
    /// The number of earlier instructions in the block.
    pub index: usize,
}

/// An edit that cannot be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditError {
    /// The instruction is no longer in a block.
    #[error("the instruction was deleted")]
    Deleted,
    /// The block is no longer in the function.
    #[error("the block was deleted")]
    DeletedBlock,
    /// A block with predecessors cannot be deleted.
    #[error("the block still has predecessors")]
    StillReached,
    /// The instruction has fewer operands.
    #[error("the instruction has no operand {0}")]
    NoOperand(usize),
    /// There is no edge to change.
    #[error("there is no edge between these blocks")]
    NoEdge,
    /// There is such an edge already.
    #[error("there is an edge between these blocks already")]
    EdgeExists,
    /// A PHI of the new target would need a value for the new edge.
    #[error("the target has PHIs, which would need a value for the new edge")]
    PhiNeedsValue,
    /// A block cannot be split among its PHIs or after its terminator.
    #[error("a block cannot be split there")]
    BadSplit,
    /// The instruction must not be duplicated.
    #[error("the instruction must not be duplicated")]
    NotDuplicable,
    /// The entry block must stay first.
    #[error("the entry block must stay first")]
    EntryBlock,
}

/// An operand for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A use of a register.
    Use(Register),
    /// A definition of a register.
    Definition(Register),
    /// An immediate.
    Immediate(i64),
    /// A block.
    Block(Block),
    /// Operand `number` of an input instruction, unchanged.
    Original(Instruction, usize),
}

impl Operand {
    fn record(self) -> OperandRecord {
        let (kind, flags, index, value) = match self {
            Self::Use(register) => (OperandKind::Register, OperandFlags::empty(), register.as_u32(), 0),
            Self::Definition(register) => (OperandKind::Register, OperandFlags::DEF, register.as_u32(), 0),
            Self::Immediate(value) => (OperandKind::Immediate, OperandFlags::empty(), 0, value),
            Self::Block(block) => (OperandKind::Block, OperandFlags::empty(), block.as_u32(), 0),
            Self::Original(instruction, number) => (
                OperandKind::Original,
                OperandFlags::empty(),
                instruction.as_u32(),
                number as i64,
            ),
        };
        OperandRecord {
            kind: kind as u8,
            tied_to: 0,
            flags: flags.bits(),
            index,
            value,
        }
    }
}

/// An instruction to add.
#[derive(Clone, Debug)]
pub struct NewInstruction<'a> {
    /// LLVM's name of the opcode.
    pub opcode: &'a str,
    /// All operands, definitions first.
    pub operands: &'a [Operand],
    /// The input instruction that it replaces, for its location, flags and memory operands.
    pub source: Option<Instruction>,
}

/// The origin of a node.
#[derive(Clone, Debug)]
enum Origin {
    Input(Instruction),
    Clone(Instruction),
    New {
        opcode: u32,
        source: Option<Instruction>,
    },
}

#[derive(Clone, Debug)]
struct EditedData {
    origin: Origin,
    /// The operands, if they differ from the input's.
    operands: Option<Vec<OperandRecord>>,
    /// Input instructions that this one represents, too.
    merged: SmallVec<[Instruction; 2]>,
}

/// A block under edit.
#[derive(Clone, Debug, Default)]
pub(super) struct EditBlock {
    /// The input block that it comes from.
    pub(super) origin: u32,
    pub(super) nodes: Vec<EditedInstruction>,
    pub(super) successors: Vec<EdgeRecord>,
}

/// A function under edit.
#[derive(Clone, Debug)]
pub struct Editor<'a> {
    pub(super) snapshot: Snapshot<'a>,
    /// Input instructions are the first nodes, under their own numbers.
    nodes: PrimaryMap<EditedInstruction, EditedData>,
    pub(super) blocks: PrimaryMap<Block, EditBlock>,
    /// The layout.
    pub(super) order: Vec<Block>,
    new_registers: Vec<RegisterClass>,
    removed_frame_objects: Vec<FrameObject>,
    opcode_names: Vec<String>,
    opcode_indices: HashMap<String, u32>,
}

impl<'a> Editor<'a> {
    /// Creates an editor of `snapshot`, with no edits yet.
    pub fn new(snapshot: Snapshot<'a>) -> Self {
        let node = |instruction| EditedData {
            origin: Origin::Input(instruction),
            operands: None,
            merged: SmallVec::new(),
        };
        let block = |block: Block| EditBlock {
            origin: block.as_u32(),
            nodes: snapshot
                .instruction_range(block)
                .map(EditedInstruction::new)
                .collect(),
            successors: snapshot.edges(block).to_vec(),
        };
        Self {
            snapshot,
            nodes: snapshot.instructions().map(node).collect(),
            blocks: snapshot.blocks().map(block).collect(),
            order: snapshot.blocks().collect(),
            new_registers: Vec::new(),
            removed_frame_objects: Vec::new(),
            opcode_names: Vec::new(),
            opcode_indices: HashMap::new(),
        }
    }

    /// Returns the original function.
    pub fn snapshot(&self) -> Snapshot<'a> {
        self.snapshot
    }

    /// Returns the node of an input instruction.
    pub fn node(&self, instruction: Instruction) -> EditedInstruction {
        EditedInstruction::new(instruction.index())
    }

    /// Returns the blocks in layout order.
    pub fn layout(&self) -> &[Block] {
        &self.order
    }

    /// Returns the instructions of a block, in order.
    pub fn nodes_of(&self, block: Block) -> &[EditedInstruction] {
        &self.blocks[block].nodes
    }

    /// Returns where a node is.
    ///
    /// # Errors
    /// The node was deleted.
    pub fn position(&self, node: EditedInstruction) -> Result<InsertionPoint, EditError> {
        for &block in &self.order {
            if let Some(index) = self.blocks[block].nodes.iter().position(|&other| other == node) {
                return Ok(InsertionPoint { block, index });
            }
        }
        Err(EditError::Deleted)
    }

    /// Returns the input instruction that a node is or copies.
    pub fn source(&self, node: EditedInstruction) -> Option<Instruction> {
        match self.nodes[node].origin {
            Origin::Input(instruction) | Origin::Clone(instruction) => Some(instruction),
            Origin::New { source, .. } => source,
        }
    }

    /// Returns the flags of a node's opcode; empty for opcodes that the input does not use.
    pub(super) fn opcode_flags(&self, node: EditedInstruction) -> OpcodeFlags {
        match &self.nodes[node].origin {
            Origin::Input(instruction) | Origin::Clone(instruction) => {
                self.snapshot.instruction(*instruction).opcode_flags()
            }
            Origin::New { opcode, .. } => {
                let name = &self.opcode_names[*opcode as usize];
                let known = self
                    .snapshot
                    .arrays()
                    .opcodes
                    .iter()
                    .find(|record| self.snapshot.string(record.name) == *name);
                known.map_or(OpcodeFlags::empty(), |record| {
                    OpcodeFlags::from_bits_truncate(record.flags)
                })
            }
        }
    }

    /// Returns a node's current operands.
    pub fn operands(&self, node: EditedInstruction) -> &[OperandRecord] {
        let data = &self.nodes[node];
        match (&data.operands, &data.origin) {
            (Some(operands), _) => operands,
            (None, Origin::Input(instruction) | Origin::Clone(instruction)) => {
                self.snapshot.instruction(*instruction).operand_records()
            }
            (None, Origin::New { .. }) => &[],
        }
    }

    /// Returns a node's operands, to modify.
    pub(super) fn operands_mut(&mut self, node: EditedInstruction) -> &mut Vec<OperandRecord> {
        let data = &mut self.nodes[node];
        data.operands.get_or_insert_with(|| match data.origin {
            Origin::Input(instruction) | Origin::Clone(instruction) => {
                editable_operands(&self.snapshot, instruction)
            }
            Origin::New { .. } => Vec::new(),
        })
    }

    /// Creates a register of a class.
    pub fn new_register(&mut self, class: RegisterClass) -> Register {
        self.new_registers.push(class);
        Register::new(self.snapshot.register_count() + self.new_registers.len() - 1)
    }

    /// Removes an object from the stack, which nothing may use then. Objects must be removed in the
    /// order of their numbers.
    pub fn remove_frame_object(&mut self, object: FrameObject) {
        self.removed_frame_objects.push(object);
    }

    /// Deletes an instruction.
    ///
    /// # Errors
    /// It was deleted already.
    pub fn delete(&mut self, node: EditedInstruction) -> Result<(), EditError> {
        let position = self.position(node)?;
        self.blocks[position.block].nodes.remove(position.index);
        Ok(())
    }

    /// Deletes `node`, which `survivor` represents from now on: flags are intersected, memory
    /// operands and locations merged.
    ///
    /// # Errors
    /// One of the two was deleted already.
    pub fn merge(&mut self, node: EditedInstruction, survivor: EditedInstruction) -> Result<(), EditError> {
        self.position(survivor)?;
        self.delete(node)?;
        let mut stands_for = std::mem::take(&mut self.nodes[node].merged);
        stands_for.extend(self.source(node));
        self.nodes[survivor].merged.extend(stands_for);
        Ok(())
    }

    /// Changes an operand. A definition stays a definition, a use a use.
    ///
    /// # Errors
    /// There is no such operand.
    pub fn set_operand(
        &mut self,
        node: EditedInstruction,
        number: usize,
        operand: Operand,
    ) -> Result<(), EditError> {
        let place = self
            .operands_mut(node)
            .get_mut(number)
            .ok_or(EditError::NoOperand(number))?;
        let record = operand.record();
        // Flags such as `implicit` belong to the position, not to the value.
        let kept = if record.kind == OperandKind::Register as u8 && place.kind == record.kind {
            place.flags & !(OperandFlags::KILL | OperandFlags::UNDEF).bits()
        } else {
            record.flags
        };
        *place = OperandRecord {
            flags: kept,
            tied_to: place.tied_to,
            ..record
        };
        Ok(())
    }

    /// Replaces every use and definition of `from` by `to`.
    pub fn replace_register(&mut self, from: Register, to: Register) {
        let mentions = |operand: &OperandRecord| {
            operand.kind == OperandKind::Register as u8 && operand.index == from.as_u32()
        };
        let all: Vec<EditedInstruction> = self
            .order
            .iter()
            .flat_map(|&block| self.blocks[block].nodes.iter().copied())
            .collect();
        for node in all {
            if self.operands(node).iter().any(mentions) {
                for operand in self
                    .operands_mut(node)
                    .iter_mut()
                    .filter(|operand| mentions(operand))
                {
                    operand.index = to.as_u32();
                    operand.flags &= !(OperandFlags::KILL | OperandFlags::DEAD).bits();
                }
            }
        }
    }

    /// Adds an instruction.
    pub fn insert(&mut self, at: InsertionPoint, new: NewInstruction<'_>) -> EditedInstruction {
        let opcode = self.opcode_index(new.opcode);
        let node = self.nodes.push(EditedData {
            origin: Origin::New {
                opcode,
                source: new.source,
            },
            operands: Some(new.operands.iter().map(|operand| operand.record()).collect()),
            merged: SmallVec::new(),
        });
        self.blocks[at.block].nodes.insert(at.index, node);
        node
    }

    /// Adds a copy of an input instruction, with its original operands.
    ///
    /// # Errors
    /// The instruction is convergent, a call or has side effects, or LLVM does not allow its
    /// duplication.
    pub fn clone_instruction(
        &mut self,
        instruction: Instruction,
        at: InsertionPoint,
    ) -> Result<EditedInstruction, EditError> {
        const NOT_DUPLICABLE: OpcodeFlags = OpcodeFlags::NOT_DUPLICABLE
            .union(OpcodeFlags::CONVERGENT)
            .union(OpcodeFlags::CALL);
        let original = self.snapshot.instruction(instruction);
        if original.opcode_flags().intersects(NOT_DUPLICABLE)
            || original
                .behavior()
                .intersects(Behavior::ASM_CONVERGENT | Behavior::ASM_SIDE_EFFECTS | Behavior::ATTACHMENTS)
        {
            return Err(EditError::NotDuplicable);
        }
        let node = self.nodes.push(EditedData {
            origin: Origin::Clone(instruction),
            operands: Some(editable_operands(&self.snapshot, instruction)),
            merged: SmallVec::new(),
        });
        self.blocks[at.block].nodes.insert(at.index, node);
        Ok(node)
    }

    /// Moves an instruction before or after another.
    ///
    /// # Errors
    /// One of the two was deleted.
    pub fn move_instruction(
        &mut self,
        node: EditedInstruction,
        anchor: EditedInstruction,
        after: bool,
    ) -> Result<(), EditError> {
        self.position(anchor)?;
        self.delete(node)?;
        let at = self.position(anchor)?;
        self.blocks[at.block]
            .nodes
            .insert(at.index + usize::from(after), node);
        Ok(())
    }

    fn opcode_index(&mut self, name: &str) -> u32 {
        if let Some(&index) = self.opcode_indices.get(name) {
            return index;
        }
        let index = self.opcode_names.len() as u32;
        self.opcode_names.push(name.to_owned());
        self.opcode_indices.insert(name.to_owned(), index);
        index
    }

    /// Returns the plan for the edits.
    pub fn finish(&self) -> Plan {
        let mut plan = Plan {
            new_registers: self.new_registers.iter().map(|class| class.as_u32()).collect(),
            removed_frame_objects: self
                .removed_frame_objects
                .iter()
                .map(|object| object.as_u32())
                .collect(),
            ..Plan::default()
        };
        for name in &self.opcode_names {
            let (offset, length) = (plan.strings.len() as u32, name.len() as u32);
            plan.opcode_names.push(StringRecord { offset, length });
            plan.strings.extend_from_slice(name.as_bytes());
        }
        let numbers = self.block_numbers();
        for &block in &self.order {
            self.finish_block(block, &numbers, &mut plan);
        }
        plan.blocks.push(PlanBlockRecord {
            first_instruction: plan.instructions.len() as u32,
            first_successor: plan.successors.len() as u32,
            ..PlanBlockRecord::default()
        });
        plan.instructions.push(PlanInstructionRecord {
            first_operand: plan.operands.len() as u32,
            first_merged: plan.merged.len() as u32,
            ..PlanInstructionRecord::default()
        });
        plan
    }

    /// Returns the plan's number of each block: dropped new blocks leave no gap.
    fn block_numbers(&self) -> SecondaryMap<Block, u32> {
        let mut numbers = SecondaryMap::new();
        let input = self.snapshot.block_count();
        let mut next = input as u32;
        for block in self.blocks.keys() {
            if block.index() < input {
                numbers[block] = block.as_u32();
            } else if self.order.contains(&block) {
                numbers[block] = next;
                next += 1;
            }
        }
        numbers
    }

    fn finish_block(&self, block: Block, numbers: &SecondaryMap<Block, u32>, plan: &mut Plan) {
        let number = |index: u32| numbers[Block::from_u32(index)];
        plan.blocks.push(PlanBlockRecord {
            block: numbers[block],
            origin: self.blocks[block].origin,
            first_instruction: plan.instructions.len() as u32,
            first_successor: plan.successors.len() as u32,
        });
        let edges = self.blocks[block].successors.iter();
        plan.successors.extend(edges.map(|edge| EdgeRecord {
            block: number(edge.block),
            ..*edge
        }));
        for &node in &self.blocks[block].nodes {
            let data = &self.nodes[node];
            let is_kept = data.operands.is_none();
            let (action, source, opcode) = match data.origin {
                Origin::Input(source) if is_kept => (PlanAction::Keep, Some(source), 0),
                Origin::Input(source) => (PlanAction::Replace, Some(source), 0),
                Origin::Clone(source) => (PlanAction::Clone, Some(source), 0),
                Origin::New { opcode, source } => (PlanAction::New, source, opcode),
            };
            plan.instructions.push(PlanInstructionRecord {
                action: action as u32,
                source: oriel_engine::entity::to_one_based(source),
                opcode,
                first_operand: plan.operands.len() as u32,
                first_merged: plan.merged.len() as u32,
                reserved: 0,
            });
            plan.merged
                .extend(data.merged.iter().map(|instruction| instruction.as_u32()));
            for operand in data.operands.iter().flatten() {
                let is_block = operand.kind == OperandKind::Block as u8;
                let index = if is_block {
                    number(operand.index)
                } else {
                    operand.index
                };
                plan.operands.push(OperandRecord { index, ..*operand });
            }
        }
    }
}

/// Returns the operands of an input instruction in a form for plans: operands without a form of
/// their own refer to the original.
fn editable_operands(snapshot: &Snapshot<'_>, instruction: Instruction) -> Vec<OperandRecord> {
    let records = snapshot.instruction(instruction).operands();
    let editable = |(number, operand): (usize, oriel_engine::snapshot::OperandRef<'_>)| match operand.kind() {
        OperandKind::Register
        | OperandKind::NoRegister
        | OperandKind::Immediate
        | OperandKind::Constant
        | OperandKind::Block => *operand.record(),
        OperandKind::Physical
        | OperandKind::FrameIndex
        | OperandKind::Symbol
        | OperandKind::Variable
        | OperandKind::Metadata
        | OperandKind::Opaque
        | OperandKind::Original => Operand::Original(instruction, number).record(),
    };
    records.enumerate().map(editable).collect()
}
