//! The description of an instruction to create.

use crate::function::{AccessId, Function, Instruction, InstructionFlags};
use crate::modifiers::Modifiers;
use crate::operand::Operand;
use crate::operation::Operation;
use crate::types::DataType;
use oriel_engine::entity::{Instruction as MachineInstruction, Opcode};

/// An instruction to create. Build one from an operation and everything that differs from the
/// default:
///
/// ```
/// use oriel_ori::{DataType, InstructionBuilder, Operation};
/// let add = InstructionBuilder::new(Operation::Iadd, DataType::B32);
/// ```
#[derive(Clone, Debug)]
pub struct InstructionBuilder {
    pub(crate) operation: Operation,
    pub(crate) data_type: DataType,
    pub(crate) source_type: DataType,
    pub(crate) modifiers: Modifiers,
    pub(crate) results: smallvec::SmallVec<[Operand; 2]>,
    pub(crate) sources: smallvec::SmallVec<[Operand; 4]>,
    pub(crate) flags: InstructionFlags,
    pub(crate) origin: Option<MachineInstruction>,
    pub(crate) origin_count: u32,
    pub(crate) opcode: Option<Opcode>,
    pub(crate) access: Option<AccessId>,
}

impl InstructionBuilder {
    /// Creates an instruction without operands.
    pub fn new(operation: Operation, data_type: DataType) -> Self {
        Self {
            operation,
            data_type,
            source_type: DataType::None,
            modifiers: Modifiers::default(),
            results: smallvec::SmallVec::new(),
            sources: smallvec::SmallVec::new(),
            flags: InstructionFlags::NEW,
            origin: None,
            origin_count: 0,
            opcode: None,
            access: None,
        }
    }

    /// Becomes what [`InstructionBuilder::new`] returns, and keeps its vectors' memory.
    pub(crate) fn start_again(&mut self, operation: Operation, data_type: DataType) {
        let (mut results, mut sources) = (
            std::mem::take(&mut self.results),
            std::mem::take(&mut self.sources),
        );
        results.clear();
        sources.clear();
        *self = Self {
            results,
            sources,
            ..Self::new(operation, data_type)
        };
    }

    /// Copies an instruction without its results.
    pub fn copy_of(function: &Function, instruction: Instruction) -> Self {
        let data = &function.instructions[instruction];
        let made = InstructionFlags::NEW | InstructionFlags::CLONE;
        let flags = if data.flags.intersects(made) {
            data.flags
        } else {
            (data.flags - InstructionFlags::EDITED) | InstructionFlags::CLONE
        };
        Self {
            operation: data.operation,
            data_type: data.data_type,
            source_type: data.source_type,
            modifiers: data.modifiers,
            results: smallvec::SmallVec::new(),
            sources: function.sources(instruction).iter().collect(),
            flags,
            origin: data.origin.expand(),
            origin_count: data.origin_count,
            opcode: data.opcode.expand(),
            access: data.access.expand(),
        }
    }

    /// Sets a type of sources or memory that differs from that of the result.
    #[must_use]
    pub fn source_type(mut self, source_type: DataType) -> Self {
        self.source_type = source_type;
        self
    }

    /// Sets the modifiers.
    #[must_use]
    pub fn modifiers(mut self, modifiers: Modifiers) -> Self {
        self.modifiers = modifiers;
        self
    }

    /// Adds a result.
    #[must_use]
    pub fn result(mut self, result: Operand) -> Self {
        self.results.push(result);
        self
    }

    /// Adds a source.
    #[must_use]
    pub fn source(mut self, source: Operand) -> Self {
        self.sources.push(source);
        self
    }

    /// Returns the operation.
    pub fn operation(&self) -> Operation {
        self.operation
    }

    /// Returns the width of its type or of its source type, whichever is more.
    pub fn widest_bits(&self) -> u32 {
        self.data_type.bits().max(self.source_type.bits())
    }

    /// Returns the sources so far.
    pub fn sources(&self) -> &[Operand] {
        &self.sources
    }

    /// Replaces the sources.
    #[must_use]
    pub fn with_sources(mut self, sources: &[Operand]) -> Self {
        self.sources = smallvec::SmallVec::from_slice(sources);
        self
    }

    /// Replaces a machine instruction: takes its location, flags and memory operands.
    #[must_use]
    pub fn in_place_of(mut self, origin: Option<MachineInstruction>) -> Self {
        self.origin = origin;
        self.origin_count = u32::from(origin.is_some());
        self
    }
}
