//! Parses operands: registers, numbers, blocks, symbols and so on.

use super::cursor::error_at;
use super::{FunctionParser, Result};
use crate::edit::InstructionBuilder;
use crate::function::{Constant, Special};
use crate::lexer::Token;
use crate::modifiers::SpecialRegister;
use crate::operand::Operand;
use crate::print::{constant_kind_name, instruction_flag};
use oriel_engine::entity::{FrameObject, Instruction as MachineInstruction, PhysicalRegister};
use oriel_engine::snapshot::abi::ConstantKind;
use std::ops::Neg;
use std::str::FromStr;

impl FunctionParser<'_, '_> {
    pub(super) fn parse_sources(&mut self, new: &mut InstructionBuilder) -> Result<()> {
        if self.at_attribute() {
            return Ok(());
        }
        loop {
            if *self.parser.peek() == Token::Symbol('[') {
                self.parse_bracket(new)?;
            } else {
                let source = self.parse_operand()?;
                new.sources.push(source);
            }
            if !self.parser.take_symbol(',') {
                return Ok(());
            }
            // Long lists continue in the next line.
            self.parser.skip_newlines();
        }
    }

    /// True at the end of the operands.
    fn at_attribute(&self) -> bool {
        match self.parser.peek() {
            Token::Newline | Token::End | Token::Symbol('}' | '@') => true,
            Token::Word("merged" | "access") => true,
            Token::Word(word) => instruction_flag(word).is_some(),
            _ => false,
        }
    }

    /// Parses an address, `[%5+8]`, which is two sources, or a list, `[%1, bix0]`, which groups
    /// operands.
    fn parse_bracket(&mut self, new: &mut InstructionBuilder) -> Result<()> {
        self.parser.expect_symbol('[')?;
        let first = self.parse_operand()?;
        new.sources.push(first);
        if self.parser.take_symbol(',') {
            loop {
                let source = self.parse_operand()?;
                new.sources.push(source);
                if !self.parser.take_symbol(',') {
                    break;
                }
            }
        } else {
            let offset = if self.parser.at_offset() {
                self.parser.expect_offset()?
            } else {
                0
            };
            new.sources.push(self.function.integer_operand(offset));
        }
        self.parser.expect_symbol(']')
    }

    /// Parses an operand with its prefixes: `undef`, then `-`, `|`, and `~` or `!`.
    fn parse_operand(&mut self) -> Result<Operand> {
        let is_undefined = self.parser.take_word("undef");
        let is_negated =
            *self.parser.peek() == Token::Symbol('-') && self.parser.peek_signed_number().is_none();
        if is_negated {
            self.parser.take();
        }
        let is_absolute = self.parser.take_symbol('|');
        let is_complemented = self.parser.take_symbol('~') || self.parser.take_symbol('!');
        let operand = if self.parser.take_symbol('(') {
            let inner = self.parse_plain_operand()?;
            self.parser.expect_symbol(')')?;
            inner
        } else {
            self.parse_plain_operand()?
        };
        if is_absolute {
            self.parser.expect_symbol('|')?;
        }
        Ok(operand
            .negated(is_negated)
            .absolute(is_absolute)
            .complemented(is_complemented)
            .undefined(is_undefined))
    }

    fn parse_plain_operand(&mut self) -> Result<Operand> {
        match self.parser.peek().clone() {
            Token::Register(_) => Ok(Operand::register(self.register()?)),
            Token::Number(_) | Token::Symbol('-') => self.parse_number(),
            Token::Symbol('&') => {
                let symbol = self.symbol()?;
                let offset = if self.parser.at_offset() {
                    self.parser.expect_offset()?
                } else {
                    0
                };
                Ok(self.function.special_operand(Special::Symbol { symbol, offset }))
            }
            Token::Word(word) => self.parse_word_operand(word),
            _ => self.parser.error("an operand"),
        }
    }

    fn parse_word_operand(&mut self, word: &str) -> Result<Operand> {
        let position = self.parser.position();
        if let Some(block) = self.parser.peek_block()? {
            self.parser.take();
            self.blocks.entry(block).or_insert(position);
            return Ok(Operand::target(block));
        }
        if let Some(register) = SpecialRegister::from_name(word) {
            self.parser.take();
            return Ok(self.function.special_operand(Special::SpecialRegister(register)));
        }
        match word {
            "none" => {
                self.parser.take();
                Ok(Operand::NONE)
            }
            "fall" => {
                self.parser.take();
                let position = self.parser.position();
                let block = self.parser.expect_block()?;
                self.blocks.entry(block).or_insert(position);
                Ok(Operand::fall_through(block))
            }
            "frame" => {
                let [object] = self.parse_numbers()?;
                Ok(self
                    .function
                    .special_operand(Special::Frame(FrameObject::from_u32(object))))
            }
            "physical" => {
                let [register] = self.parse_numbers()?;
                let register = PhysicalRegister::from_u32(register);
                Ok(self.function.special_operand(Special::Physical(register)))
            }
            "machine" => {
                let [instruction, operand] = self.parse_numbers()?;
                let instruction = MachineInstruction::from_u32(instruction);
                Ok(self
                    .function
                    .special_operand(Special::Machine { instruction, operand }))
            }
            _ => self.parse_bits(word),
        }
    }

    /// Parses a word and numbers in parentheses, each an index into a table.
    pub(super) fn parse_numbers<const COUNT: usize>(&mut self) -> Result<[u32; COUNT]> {
        self.parser.take();
        self.parser.expect_symbol('(')?;
        let mut numbers = [0; COUNT];
        for (position, number) in numbers.iter_mut().enumerate() {
            if position != 0 {
                self.parser.expect_symbol(',')?;
            }
            *number = self.expect_machine_index()?;
        }
        self.parser.expect_symbol(')')?;
        Ok(numbers)
    }

    /// Parses an index into a table of the snapshot. The greatest number is reserved.
    pub(super) fn expect_machine_index(&mut self) -> Result<u32> {
        let position = self.parser.position();
        match self.parser.expect_unsigned("a number")? {
            u32::MAX => error_at(position, "the number is too large"),
            index => Ok(index),
        }
    }

    /// Parses the bits of a number: `f32(0x7fc00000)`, `i128(0x1)`.
    fn parse_bits(&mut self, word: &str) -> Result<Operand> {
        let format = ConstantKind::ALL
            .iter()
            .find_map(|&kind| match constant_kind_name(kind) {
                (name, Some(bits)) => (word == name).then_some((kind, bits)),
                (name, None) => Some((kind, word.strip_prefix(name)?.parse().ok()?)),
            });
        let Some((kind, bits)) = format else {
            return self.parser.error("an operand");
        };
        self.parser.take();
        self.parser.expect_symbol('(')?;
        let position = self.parser.position();
        let value: u128 = self.parser.expect_unsigned("the bits of a number")?;
        if bits < 128 && value >> bits != 0 {
            return error_at(position, format!("expected at most {bits} bits"));
        }
        self.parser.expect_symbol(')')?;
        Ok(self.function.constant_operand(Constant::Bits {
            kind,
            bits,
            low: value as u64,
            high: (value >> 64) as u64,
        }))
    }

    /// `12`, `-0x1f`, `1.5f32`.
    fn parse_number(&mut self) -> Result<Operand> {
        let (is_negative, text) = self.parser.peek_signed_number().unwrap_or_default();
        if let Some(digits) = float_digits(text, "f32") {
            let value: f32 = self.expect_float(is_negative, digits, |value: &f32| value.is_finite())?;
            return Ok(self.function.single_operand(value));
        }
        if let Some(digits) = float_digits(text, "f64") {
            let value: f64 = self.expect_float(is_negative, digits, |value: &f64| value.is_finite())?;
            return Ok(self.function.double_operand(value));
        }
        let value = self.parser.expect_integer()?;
        Ok(self.function.integer_operand(value))
    }

    /// Parses a floating-point number whose digits have been seen.
    fn expect_float<F: FromStr + Neg<Output = F>>(
        &mut self,
        is_negative: bool,
        digits: &str,
        is_finite: impl Fn(&F) -> bool,
    ) -> Result<F> {
        if is_negative {
            self.parser.take();
        }
        match digits.parse::<F>().ok().filter(is_finite) {
            Some(value) => {
                self.parser.take();
                Ok(if is_negative { -value } else { value })
            }
            None => self.parser.error("a finite floating-point number"),
        }
    }
}

/// Returns the digits of a floating-point number with this suffix.
fn float_digits<'a>(text: &'a str, suffix: &str) -> Option<&'a str> {
    text.strip_suffix(suffix).filter(|_| !text.starts_with("0x"))
}
