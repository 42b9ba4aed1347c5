//! Registers, constants, stack objects and blocks: new ones, and the layout.

use crate::function::{
    AccessId, BlockData, Constant, Function, MemoryAccess, RegisterData, RegisterFile, Special,
};
use crate::operand::Operand;
use crate::types::DataType;
use oriel_engine::entity::{Block, FrameObject, PackedOption, Register, RegisterClass};
use oriel_engine::snapshot::abi::ConstantKind;

impl Function {
    /// Creates a register of the same kind as another.
    ///
    /// # Panics
    /// There are as many registers as operand words can number.
    pub fn create_register_like(&mut self, model: Register) -> Register {
        let RegisterData {
            file, bits, class, ..
        } = self.registers[model];
        self.create_register(file, bits, class.expand())
    }

    /// Creates a register for values of a type, without an LLVM register class.
    ///
    /// # Panics
    /// There are no registers of this width: the type is empty or has eight bits.
    pub fn create_register_of(&mut self, data_type: DataType) -> Register {
        let bits = data_type.bits();
        assert!(
            matches!(bits, 1 | 16 | 32 | 64 | 128),
            "no register holds {data_type:?}"
        );
        let file = if bits == 1 {
            RegisterFile::P
        } else {
            RegisterFile::R
        };
        self.create_register(file, bits as u16, None)
    }

    /// Creates a register.
    ///
    /// # Panics
    /// There are as many registers as operand words can number.
    pub fn create_register(
        &mut self,
        file: RegisterFile,
        bits: u16,
        class: Option<RegisterClass>,
    ) -> Register {
        assert!(
            self.registers.len() < Operand::INDEX_LIMIT,
            "a function has at most 2^24 registers"
        );
        self.registers.push(RegisterData {
            file,
            bits,
            class: class.into(),
            definitions: PackedOption::default(),
            uses: PackedOption::default(),
        })
    }

    /// Returns the operand for an integer.
    pub fn integer_operand(&mut self, value: i64) -> Operand {
        Operand::immediate(value).unwrap_or_else(|| self.constant_operand(Constant::Integer(value)))
    }

    /// Returns the operand for a binary32.
    pub(crate) fn single_operand(&mut self, value: f32) -> Operand {
        self.constant_operand(Constant::Bits {
            kind: ConstantKind::Single,
            bits: 32,
            low: u64::from(value.to_bits()),
            high: 0,
        })
    }

    /// Returns the operand for a binary64.
    pub(crate) fn double_operand(&mut self, value: f64) -> Operand {
        self.constant_operand(Constant::Bits {
            kind: ConstantKind::Double,
            bits: 64,
            low: value.to_bits(),
            high: 0,
        })
    }

    /// Returns the operand for a constant.
    pub fn constant_operand(&mut self, constant: Constant) -> Operand {
        let constants = &mut self.constants;
        let id = *self
            .constant_ids
            .entry(constant)
            .or_insert_with(|| constants.push(constant));
        Operand::constant(id)
    }

    /// Returns the operand for something that the machine function describes.
    pub fn special_operand(&mut self, special: Special) -> Operand {
        let specials = &mut self.specials;
        let id = *self
            .special_ids
            .entry(special)
            .or_insert_with(|| specials.push(special));
        Operand::special(id)
    }

    /// Removes an object from the stack.
    ///
    /// # Panics
    /// There is no such object, or it is removed already. The verifier checks that nothing uses it
    /// any more.
    pub fn remove_stack_object(&mut self, object: FrameObject) {
        let data = &mut self.stack_objects[object];
        assert!(!data.is_removed, "{object} was removed already");
        data.is_removed = true;
    }

    /// Returns the row of a memory access, adding it if necessary.
    pub(crate) fn intern_access(&mut self, access: MemoryAccess) -> AccessId {
        let accesses = &mut self.accesses;
        *self
            .access_ids
            .entry(access)
            .or_insert_with(|| accesses.push(access))
    }

    /// Creates a block that is not in the layout yet.
    pub fn create_block(&mut self, origin: Option<Block>) -> Block {
        assert!(
            self.blocks.len() < Operand::INDEX_LIMIT,
            "a function has at most 2^24 blocks"
        );
        let label = origin.map_or(self.blocks.len() as u32, |origin| self.blocks[origin].label);
        // For a new block, LLVM knows only its own origin.
        let origin = origin.map(|origin| self.blocks[origin].origin.unwrap_or(origin));
        self.blocks.push(BlockData {
            label,
            origin,
            ..BlockData::default()
        })
    }

    /// Inserts a block into the layout, after another or at the end.
    ///
    /// # Panics
    /// It is in the layout already, or the other is not.
    pub fn place_block(&mut self, block: Block, after: Option<Block>) {
        assert!(!self.blocks[block].is_placed, "{block} is in the layout already");
        self.edits.note_flow();
        self.blocks[block].is_placed = true;
        match after {
            None => self.layout.push(block),
            Some(anchor) => {
                let index = self.layout.iter().position(|&placed| placed == anchor);
                self.layout
                    .insert(index.expect("the other block is in the layout") + 1, block);
            }
        }
    }

    /// Sets how often control reaches a block; zero if unknown.
    pub fn set_frequency(&mut self, block: Block, frequency: u64) {
        self.blocks[block].frequency = frequency;
    }

    /// Reorders the blocks.
    ///
    /// # Panics
    /// The order does not consist of the blocks of the layout, the entry first.
    pub fn set_layout(&mut self, order: Vec<Block>) {
        assert_eq!(order.first(), self.layout.first(), "the entry stays first");
        assert_eq!(order.len(), self.layout.len(), "an order has every block once");
        for &block in &self.layout {
            self.blocks[block].is_placed = false;
        }
        for &block in &order {
            assert!(!self.blocks[block].is_placed, "{block} is in the order twice");
            self.blocks[block].is_placed = true;
        }
        assert!(
            self.layout.iter().all(|&block| self.blocks[block].is_placed),
            "a block is missing"
        );
        self.layout = order;
        self.edits.note_flow();
    }

    /// Removes blocks with everything in them.
    ///
    /// # Panics
    /// The entry is among them.
    pub(crate) fn remove_blocks(&mut self, is_removed: impl Fn(Block) -> bool) {
        assert!(!is_removed(self.entry()), "the entry cannot be removed");
        self.edits.note_flow();
        let layout = std::mem::take(&mut self.layout);
        for &block in layout.iter().filter(|&&block| is_removed(block)) {
            while let Some(instruction) = self.first(block) {
                self.remove(instruction);
            }
            self.blocks[block].is_placed = false;
        }
        self.layout = layout.into_iter().filter(|&block| !is_removed(block)).collect();
    }
}
