//! The parser's position among the tokens, and its expectations.

use super::Result;
use crate::function::RegisterFile;
use crate::lexer::{ParseError, TextPosition, Token, tokens};
use crate::operand::Operand;
use crate::print::RegisterKind;
use oriel_engine::entity::{Block, EntityRef, Register};

/// The tokens and the parser's position.
pub(super) struct Parser<'a> {
    tokens: Vec<(Token<'a>, TextPosition)>,
    next: usize,
    /// Limit for the numbers of registers and blocks: a typing error should not cost gigabytes.
    index_limit: usize,
}

/// The smallest [`Parser::index_limit`]; a longer text may have numbers up to its length.
const LEAST_INDEX_LIMIT: usize = 1 << 16;

impl<'a> Parser<'a> {
    pub(super) fn new(text: &'a str) -> Result<Self> {
        Ok(Self {
            tokens: tokens(text)?,
            next: 0,
            index_limit: text.len().clamp(LEAST_INDEX_LIMIT, Operand::INDEX_LIMIT),
        })
    }

    pub(super) fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    pub(super) fn position(&self) -> TextPosition {
        self.tokens[self.next].1
    }

    /// Takes the next token; at the end, returns the last one again.
    pub(super) fn take(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn take_if(&mut self, token: &Token<'_>) -> bool {
        let is_next = self.peek() == token;
        if is_next {
            self.take();
        }
        is_next
    }

    pub(super) fn take_symbol(&mut self, symbol: char) -> bool {
        self.take_if(&Token::Symbol(symbol))
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        self.take_if(&Token::Word(word))
    }

    pub(super) fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    pub(super) fn skip_newlines(&mut self) {
        while self.take_if(&Token::Newline) {}
    }

    pub(super) fn error<T>(&self, expected: &str) -> Result<T> {
        error_at(
            self.position(),
            format!("expected {expected}, found {}", self.peek()),
        )
    }

    pub(super) fn expect_symbol(&mut self, symbol: char) -> Result<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        self.error(&format!("`{symbol}`"))
    }

    pub(super) fn expect_line_end(&mut self) -> Result<()> {
        match self.peek() {
            Token::Newline | Token::End | Token::Symbol('}') => Ok(()),
            _ => self.error("the end of the line"),
        }
    }

    pub(super) fn expect_word(&mut self, expected: &str) -> Result<&'a str> {
        match self.peek_word() {
            Some(word) => {
                self.take();
                Ok(word)
            }
            None => self.error(expected),
        }
    }

    /// Takes a name: a word or a quoted name.
    pub(super) fn expect_name(&mut self, expected: &str) -> Result<String> {
        match self.take_quoted() {
            Some(name) => Ok(name),
            None => self.expect_word(expected).map(str::to_owned),
        }
    }

    pub(super) fn take_quoted(&mut self) -> Option<String> {
        let Token::Quoted(name) = self.peek() else {
            return None;
        };
        let name = name.clone();
        self.take();
        Some(name)
    }

    /// Takes an unsigned integer, decimal or, with `0x`, hexadecimal.
    pub(super) fn expect_unsigned<T: TryFrom<u128>>(&mut self, expected: &str) -> Result<T> {
        let value = match self.peek() {
            Token::Number(text) => match text.strip_prefix("0x") {
                Some(digits) => u128::from_str_radix(digits, 16).ok(),
                None => text.parse().ok(),
            },
            _ => None,
        };
        match value.and_then(|value| T::try_from(value).ok()) {
            Some(value) => {
                self.take();
                Ok(value)
            }
            None => self.error(expected),
        }
    }

    /// Takes an integer that an operand can hold. Hexadecimal numbers may fill all 64 bits.
    pub(super) fn expect_integer(&mut self) -> Result<i64> {
        const EXPECTED: &str = "an integer of 64 bits";
        let is_negative = self.take_symbol('-');
        let is_hexadecimal = matches!(self.peek(), Token::Number(text) if text.starts_with("0x"));
        let position = self.position();
        let magnitude: u64 = self.expect_unsigned(EXPECTED)?;
        let value = if is_hexadecimal && !is_negative {
            Some(magnitude as i64)
        } else {
            let magnitude = i128::from(magnitude);
            i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
        };
        match value {
            Some(value) => Ok(value),
            None => error_at(position, format!("expected {EXPECTED}")),
        }
    }

    /// Returns the next number and whether a minus sign precedes it, without taking it.
    pub(super) fn peek_signed_number(&self) -> Option<(bool, &'a str)> {
        let is_negative = *self.peek() == Token::Symbol('-');
        match self.tokens.get(self.next + usize::from(is_negative)) {
            Some(&(Token::Number(text), _)) => Some((is_negative, text)),
            _ => None,
        }
    }

    /// True if the next token is a sign.
    pub(super) fn at_offset(&self) -> bool {
        matches!(self.peek(), Token::Symbol('+' | '-'))
    }

    pub(super) fn expect_offset(&mut self) -> Result<i64> {
        self.take_symbol('+');
        self.expect_integer()
    }

    /// Parses the index of an entity from the digits after its prefix.
    pub(super) fn index(&self, digits: &str, position: TextPosition) -> Result<usize> {
        match digits.parse() {
            Ok(index) if index < self.index_limit => Ok(index),
            _ => error_at(
                position,
                format!("expected a number below {} here", self.index_limit),
            ),
        }
    }

    /// Returns the block if the next word names one.
    pub(super) fn peek_block(&self) -> Result<Option<Block>> {
        let digits = self.peek_word().and_then(|word| word.strip_prefix("bix"));
        match digits {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(Block::new(self.index(digits, self.position())?)))
            }
            _ => Ok(None),
        }
    }

    pub(super) fn expect_block(&mut self) -> Result<Block> {
        match self.peek_block()? {
            Some(block) => {
                self.take();
                Ok(block)
            }
            None => self.error("a block such as `bix3`"),
        }
    }

    pub(super) fn expect_register(&mut self) -> Result<Register> {
        let Token::Register(digits) = *self.peek() else {
            return self.error("a register");
        };
        let register = Register::new(self.index(digits, self.position())?);
        self.take();
        Ok(register)
    }

    pub(super) fn expect_register_kind(&mut self) -> Result<RegisterKind> {
        const EXPECTED: &str = "file and width of a register, such as `R32` or `P`";
        let kind = self.peek_word().and_then(|word| {
            let digits = word.trim_start_matches(|character: char| character.is_ascii_alphabetic());
            let name = &word[..word.len() - digits.len()];
            let file = RegisterFile::ALL.into_iter().find(|file| file.name() == name)?;
            let bits = match digits {
                "" if file.is_predicate() => 1,
                _ => digits.parse().ok()?,
            };
            Some(RegisterKind { file, bits })
        });
        match kind {
            Some(kind) => {
                self.take();
                Ok(kind)
            }
            None => self.error(EXPECTED),
        }
    }
}

pub(super) fn error_at<T>(position: TextPosition, message: impl Into<String>) -> Result<T> {
    Err(ParseError {
        position,
        message: message.into(),
    })
}
