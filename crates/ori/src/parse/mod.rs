//! Parses functions in text form; `docs/ori-text.md` has the grammar.
//!
//! Instructions are collected first and inserted at the end, because only then the file of every
//! register is known and every block has been seen.
//!
//! | file | subject |
//! |---|---|
//! | `cursor.rs` | the position among the tokens, and errors about them |
//! | `operands.rs`, `attributes.rs` | parts of an instruction |

mod attributes;
mod cursor;
mod operands;
#[cfg(test)]
mod tests;

use crate::edit::{InstructionBuilder, Position};
use crate::function::{Function, FunctionInfo, InstructionFlags, MachineOpcode, RegisterFile, StackObject};
use crate::lexer::{ParseError, TextPosition, Token};
use crate::operand::Operand;
use crate::print::{RegisterKind, implied_flags};
use crate::suffix::Suffixes;
use cursor::{Parser, error_at};
use oriel_engine::entity::{Block, EntityRef, Instruction as MachineInstruction, Opcode, Register, Symbol};
use oriel_engine::snapshot::abi::{FunctionFlags, OpcodeFlags, Stage};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// Parses all functions of a text, in order.
pub fn parse_functions(text: &str) -> Result<Vec<Function>, ParseError> {
    let mut parser = Parser::new(text)?;
    let mut functions = Vec::new();
    loop {
        parser.skip_newlines();
        if *parser.peek() == Token::End {
            return Ok(functions);
        }
        functions.push(FunctionParser::parse(&mut parser)?);
    }
}

/// Parses the only function of a text.
///
/// # Errors
/// The text is malformed or does not have exactly one function.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut functions = parse_functions(text)?;
    match (functions.pop(), functions.is_empty()) {
        (Some(function), true) => Ok(function),
        (first, _) => Err(ParseError {
            position: TextPosition { line: 1, column: 1 },
            message: match first {
                None => "expected a function".to_owned(),
                Some(_) => format!("expected one function, found {}", functions.len() + 1),
            },
        }),
    }
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

/// Returns the flag with this name, ignoring case; the text form uses lower case.
fn flag<F: bitflags::Flags>(name: &str) -> Option<F> {
    let named = F::FLAGS
        .iter()
        .find(|flag| flag.name().eq_ignore_ascii_case(name))?;
    Some(F::from_bits_retain(named.value().bits()))
}

/// An instruction that is not yet in the function.
struct ParsedInstruction {
    block: Block,
    new: InstructionBuilder,
    merged: SmallVec<[MachineInstruction; 2]>,
}

/// The parser of one function.
struct FunctionParser<'a, 'p> {
    parser: &'p mut Parser<'a>,
    function: Function,
    instructions: Vec<ParsedInstruction>,
    /// Labels in order, with their blocks.
    labels: Vec<Label>,
    labelled: HashSet<Block>,
    /// The kinds of registers given so far, and the position of each register's first mention.
    kinds: HashMap<Register, RegisterKind>,
    registers: HashMap<Register, TextPosition>,
    blocks: HashMap<Block, TextPosition>,
    symbols: HashMap<String, Symbol>,
    opcodes: HashMap<(String, u32), Opcode>,
}

struct Label {
    block: Block,
    frequency: u64,
    is_address_taken: bool,
    origin: Option<Block>,
}

impl<'a, 'p> FunctionParser<'a, 'p> {
    fn parse(parser: &'p mut Parser<'a>) -> Result<Function> {
        let info = parse_header(parser)?;
        let mut this = Self {
            parser,
            function: Function::new(info),
            instructions: Vec::new(),
            labels: Vec::new(),
            labelled: HashSet::new(),
            kinds: HashMap::new(),
            registers: HashMap::new(),
            blocks: HashMap::new(),
            symbols: HashMap::new(),
            opcodes: HashMap::new(),
        };
        this.parse_body()?;
        this.create_registers()?;
        this.create_blocks()?;
        Ok(this.insert_instructions())
    }

    fn parse_body(&mut self) -> Result<()> {
        self.parser.expect_symbol('{')?;
        loop {
            self.parser.skip_newlines();
            if self.parser.take_symbol('}') {
                return Ok(());
            }
            if self.parser.take_word("declare") {
                self.parse_declarations()?;
            } else if self.parser.take_word("stack") {
                self.parse_stack_object()?;
            } else if self.parser.peek_block()?.is_some() {
                self.parse_label()?;
            } else {
                self.parse_instruction()?;
            }
            self.parser.expect_line_end()?;
        }
    }

    /// `%1:R32, %2:P`.
    fn parse_declarations(&mut self) -> Result<()> {
        loop {
            let register = self.register()?;
            if *self.parser.peek() != Token::Symbol(':') {
                return self.parser.error("`:`");
            }
            self.parse_kind_of(register)?;
            if !self.parser.take_symbol(',') {
                return Ok(());
            }
        }
    }

    /// `frame(0) 16 bytes align 4 [fixed] [removed]`, objects in order.
    fn parse_stack_object(&mut self) -> Result<()> {
        let next = self.function.stack_objects.len() as u32;
        let expected = format!("frame({next})");
        if self.parser.peek_word() != Some("frame") {
            return self.parser.error(&format!("`{expected}`"));
        }
        let position = self.parser.position();
        let [number] = self.parse_numbers()?;
        if number != next {
            return error_at(position, format!("the next stack object is {expected}"));
        }
        let size = self.parser.expect_unsigned("a size in bytes")?;
        if !self.parser.take_word("bytes") || !self.parser.take_word("align") {
            return self.parser.error("`bytes align` and the alignment");
        }
        let alignment = self.parser.expect_unsigned("an alignment in bytes")?;
        let is_fixed = self.parser.take_word("fixed");
        let is_removed = self.parser.take_word("removed");
        self.function.stack_objects.push(StackObject {
            size,
            alignment,
            is_fixed,
            is_removed,
        });
        Ok(())
    }

    fn register(&mut self) -> Result<Register> {
        let position = self.parser.position();
        let register = self.parser.expect_register()?;
        self.registers.entry(register).or_insert(position);
        Ok(register)
    }

    /// Parses a kind after a definition of a register; all kinds of a register must agree.
    fn parse_kind_of(&mut self, register: Register) -> Result<()> {
        if !self.parser.take_symbol(':') {
            return Ok(());
        }
        let position = self.parser.position();
        let kind = self.parser.expect_register_kind()?;
        if let Some(other) = self.kinds.get(&register)
            && (other.file, other.bits) != (kind.file, kind.bits)
        {
            return error_at(position, format!("%{} is {other} already", register.index()));
        }
        self.kinds.insert(register, kind);
        Ok(())
    }

    fn parse_label(&mut self) -> Result<()> {
        let position = self.parser.position();
        let block = self.parser.expect_block()?;
        if !self.labelled.insert(block) {
            return error_at(position, format!("bix{} is there already", block.index()));
        }
        self.blocks.entry(block).or_insert(position);
        self.parser.expect_symbol(':')?;
        let mut label = Label {
            block,
            frequency: 0,
            is_address_taken: false,
            origin: None,
        };
        while let Some(word) = self.parser.peek_word() {
            match word {
                "frequency" => {
                    self.parser.take();
                    label.frequency = self.parser.expect_unsigned("a frequency")?;
                }
                "address_taken" => {
                    self.parser.take();
                    label.is_address_taken = true;
                }
                "origin" => {
                    self.parser.take();
                    label.origin = Some(self.parser.expect_block()?);
                }
                _ => return self.parser.error("`frequency`, `address_taken` or `origin`"),
            }
        }
        self.labels.push(label);
        Ok(())
    }

    fn parse_instruction(&mut self) -> Result<()> {
        let Some(label) = self.labels.last() else {
            return self.parser.error("a block such as `bix0:`");
        };
        let block = label.block;
        let results = self.parse_results()?;
        let position = self.parser.position();
        let word = self.parser.expect_word("a register or an operation")?;
        let (operation, suffixes) = match Suffixes::parse(word) {
            Ok(parsed) => parsed,
            Err(message) => return error_at(position, message),
        };
        let mut new = InstructionBuilder::new(operation, suffixes.data_type);
        new.source_type = suffixes.source_type;
        new.modifiers = suffixes.modifiers;
        new.flags = InstructionFlags::empty();
        new.results = results;
        if *self.parser.peek() == Token::Symbol('(') && operation.is_opaque() {
            new.opcode = Some(self.parse_opcode()?);
        }
        self.parse_sources(&mut new)?;
        let merged = self.parse_attributes(&mut new)?;
        self.instructions.push(ParsedInstruction { block, new, merged });
        Ok(())
    }

    fn parse_results(&mut self) -> Result<SmallVec<[Operand; 2]>> {
        let mut results = SmallVec::new();
        if !matches!(self.parser.peek(), Token::Register(_)) && self.parser.peek_word() != Some("undef") {
            return Ok(results);
        }
        loop {
            if results.len() == usize::from(u16::MAX) {
                return self.parser.error("`=`: there are too many results");
            }
            let is_undefined = self.parser.take_word("undef");
            let register = self.register()?;
            self.parse_kind_of(register)?;
            results.push(Operand::register(register).undefined(is_undefined));
            if !self.parser.take_symbol(',') {
                self.parser.expect_symbol('=')?;
                return Ok(results);
            }
        }
    }

    /// `(NAME flag flag)`.
    fn parse_opcode(&mut self) -> Result<Opcode> {
        self.parser.expect_symbol('(')?;
        let name = self.parser.expect_name("the name of an opcode")?;
        let mut flags = OpcodeFlags::empty();
        while !self.parser.take_symbol(')') {
            let Some(flag) = self.parser.peek_word().and_then(flag::<OpcodeFlags>) else {
                return self.parser.error("an opcode flag or `)`");
            };
            self.parser.take();
            flags |= flag;
        }
        let opcodes = &mut self.function.opcodes;
        let create = || {
            opcodes.push(MachineOpcode {
                name: name.clone().into(),
                mnemonic: None,
                flags,
            })
        };
        Ok(*self
            .opcodes
            .entry((name.clone(), flags.bits()))
            .or_insert_with(create))
    }

    fn symbol(&mut self) -> Result<Symbol> {
        self.parser.expect_symbol('&')?;
        let name = self.parser.expect_name("the name of a symbol")?;
        let symbols = &mut self.function.symbols;
        Ok(*self
            .symbols
            .entry(name.clone())
            .or_insert_with(|| symbols.push(name)))
    }
}

/// `kernel "name" sm_80 ssa`, and flags.
fn parse_header(parser: &mut Parser<'_>) -> Result<FunctionInfo> {
    let mut own_flags = match parser.peek_word() {
        Some("kernel") => FunctionFlags::KERNEL,
        Some("function") => FunctionFlags::empty(),
        _ => return parser.error("`kernel` or `function`"),
    };
    parser.take();
    let Some(name) = parser.take_quoted() else {
        return parser.error("the function's name in quotes");
    };
    let sm = parse_sm(parser, &mut own_flags)?;
    let stage = Stage::ALL
        .iter()
        .copied()
        .find(|stage| parser.take_word(stage.name()));
    let Some(stage) = stage else {
        return parser.error("`ssa` or `late`");
    };
    let mut flags = implied_flags(stage) | own_flags;
    let mut entry_frequency = 0;
    loop {
        if parser.take_word("frequency") {
            entry_frequency = parser.expect_unsigned("a frequency")?;
            continue;
        }
        let is_set = !parser.take_symbol('!');
        match parser.peek_word().and_then(flag::<FunctionFlags>) {
            Some(flag) => flags.set(flag, is_set),
            None if is_set => break,
            None => return parser.error("a function flag"),
        }
        parser.take();
    }
    Ok(FunctionInfo {
        name,
        stage,
        sm,
        flags,
        entry_frequency,
    })
}

/// `sm_90a`.
fn parse_sm(parser: &mut Parser<'_>, flags: &mut FunctionFlags) -> Result<u32> {
    let sm = parser.peek_word().and_then(|word| {
        let number = word.strip_prefix("sm_")?;
        let digits = number.trim_end_matches(['a', 'f']);
        let letters = match &number[digits.len()..] {
            "" => FunctionFlags::empty(),
            "a" => FunctionFlags::ARCH_SPECIFIC,
            "f" => FunctionFlags::FAMILY_SPECIFIC,
            "af" => FunctionFlags::ARCH_SPECIFIC | FunctionFlags::FAMILY_SPECIFIC,
            _ => return None,
        };
        Some((digits.parse().ok()?, letters))
    });
    let Some((sm, letters)) = sm else {
        return parser.error("an architecture such as `sm_80`");
    };
    parser.take();
    *flags |= letters;
    Ok(sm)
}

/// Builds the function from the collected instructions.
impl FunctionParser<'_, '_> {
    fn create_registers(&mut self) -> Result<()> {
        let undeclared = self
            .registers
            .iter()
            .filter(|(register, _)| !self.kinds.contains_key(register))
            .min_by_key(|&(_, &position)| position);
        if let Some((register, &position)) = undeclared {
            let number = register.index();
            return error_at(
                position,
                format!(
                    "%{number} has no file and width: write `%{number}:R32` at a definition or after `declare`"
                ),
            );
        }
        let limit = self
            .registers
            .keys()
            .map(|register| register.index() + 1)
            .max()
            .unwrap_or(0);
        for number in 0..limit {
            let kind = self.kinds.get(&Register::new(number));
            let (file, bits) = kind.map_or((RegisterFile::R, 32), |kind| (kind.file, kind.bits));
            self.function.create_register(file, bits, None);
        }
        Ok(())
    }

    fn create_blocks(&mut self) -> Result<()> {
        let missing = self
            .blocks
            .iter()
            .filter(|(block, _)| !self.labelled.contains(block))
            .min_by_key(|&(_, &position)| position);
        if let Some((block, &position)) = missing {
            return error_at(position, format!("there is no block bix{}", block.index()));
        }
        let limit = self
            .blocks
            .keys()
            .map(|block| block.index() + 1)
            .max()
            .unwrap_or(0);
        for _ in 0..limit {
            self.function.create_block(None);
        }
        for label in &self.labels {
            self.function.place_block(label.block, None);
            let data = &mut self.function.blocks[label.block];
            data.frequency = label.frequency;
            data.is_address_taken = label.is_address_taken;
            data.origin = label.origin;
        }
        Ok(())
    }

    fn insert_instructions(mut self) -> Function {
        for ParsedInstruction {
            block,
            mut new,
            merged,
        } in std::mem::take(&mut self.instructions)
        {
            for operand in new.results.iter_mut().chain(&mut new.sources) {
                *operand = with_file(&self.function, *operand);
            }
            let instruction = self.function.insert(Position::End(block), new);
            if !merged.is_empty() {
                self.function.merged.insert(instruction, merged);
            }
        }
        self.function
    }
}

/// Returns the operand with the tag of its register's file.
fn with_file(function: &Function, operand: Operand) -> Operand {
    match operand.as_register() {
        Some(register) => function
            .register_operand(register)
            .negated(operand.is_negated())
            .absolute(operand.is_absolute())
            .complemented(operand.is_complemented())
            .undefined(operand.is_undefined()),
        None => operand,
    }
}
