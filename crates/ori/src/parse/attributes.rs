//! Parses attributes of instructions: origin, flags, memory access.

use super::cursor::error_at;
use super::{FunctionParser, Result, flag};
use crate::edit::InstructionBuilder;
use crate::function::MemoryAccess;
use crate::lexer::Token;
use crate::print::instruction_flag;
use oriel_engine::entity::Instruction as MachineInstruction;
use oriel_engine::snapshot::abi::MemoryFlags;
use smallvec::SmallVec;

impl FunctionParser<'_, '_> {
    pub(super) fn parse_attributes(
        &mut self,
        new: &mut InstructionBuilder,
    ) -> Result<SmallVec<[MachineInstruction; 2]>> {
        let mut merged = SmallVec::new();
        loop {
            if self.parser.take_symbol('@') {
                self.parse_origin(new)?;
                continue;
            }
            match self.parser.peek_word() {
                Some("merged") => self.parse_merged(&mut merged)?,
                Some("access") => {
                    let access = self.parse_access()?;
                    new.access = Some(self.function.intern_access(access));
                }
                Some(word) => match instruction_flag(word) {
                    Some(flag) => {
                        self.parser.take();
                        new.flags |= flag;
                    }
                    None => return self.parser.error("an attribute or the end of the line"),
                },
                None => return Ok(merged),
            }
        }
    }

    /// `12`, or `12-14` for three instructions.
    fn parse_origin(&mut self, new: &mut InstructionBuilder) -> Result<()> {
        let first = self.expect_machine_index()?;
        let mut last = first;
        if self.parser.take_symbol('-') {
            let position = self.parser.position();
            last = self.expect_machine_index()?;
            if last <= first {
                return error_at(position, format!("expected a number above {first}"));
            }
        }
        new.origin = Some(MachineInstruction::from_u32(first));
        new.origin_count = last - first + 1;
        Ok(())
    }

    fn parse_merged(&mut self, merged: &mut SmallVec<[MachineInstruction; 2]>) -> Result<()> {
        self.parser.take();
        self.parser.expect_symbol('(')?;
        loop {
            merged.push(MachineInstruction::from_u32(self.expect_machine_index()?));
            if !self.parser.take_symbol(',') {
                return self.parser.expect_symbol(')');
            }
        }
    }

    /// `access(base 3, &table, offset 4, 8 bytes, align 4, load)`.
    fn parse_access(&mut self) -> Result<MemoryAccess> {
        self.parser.take();
        self.parser.expect_symbol('(')?;
        let mut access = MemoryAccess {
            base: None,
            symbol: None,
            offset: 0,
            size: None,
            log2_alignment: 0,
            flags: MemoryFlags::empty(),
        };
        if self.parser.take_symbol(')') {
            return Ok(access);
        }
        loop {
            self.parse_access_item(&mut access)?;
            if !self.parser.take_symbol(',') {
                self.parser.expect_symbol(')')?;
                return Ok(access);
            }
        }
    }

    fn parse_access_item(&mut self, access: &mut MemoryAccess) -> Result<()> {
        match *self.parser.peek() {
            Token::Symbol('&') => access.symbol = Some(self.symbol()?),
            Token::Number(_) => {
                access.size = Some(self.parser.expect_unsigned("a number of bytes")?);
                access.flags |= MemoryFlags::SIZE_KNOWN;
                if !self.parser.take_word("bytes") {
                    return self.parser.error("`bytes`");
                }
            }
            Token::Word("base") => {
                self.parser.take();
                access.base = Some(self.parser.expect_unsigned("the number of a base")?);
            }
            Token::Word("offset") => {
                self.parser.take();
                access.offset = self.parser.expect_integer()?;
            }
            Token::Word("align") => {
                self.parser.take();
                let position = self.parser.position();
                let alignment: u64 = self.parser.expect_unsigned("an alignment")?;
                if !alignment.is_power_of_two() {
                    return error_at(position, "expected a power of two");
                }
                access.log2_alignment = alignment.trailing_zeros() as u8;
            }
            Token::Word(word) => match flag::<MemoryFlags>(word) {
                Some(flag) => {
                    self.parser.take();
                    access.flags |= flag;
                }
                None => return self.parser.error("a property of an access"),
            },
            _ => return self.parser.error("a property of an access"),
        }
        Ok(())
    }
}
