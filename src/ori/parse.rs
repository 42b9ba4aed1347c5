//! Functions read from text; `docs/ori-text.md` has the grammar.
//!
//! Instructions are collected first and inserted at the end, because only then every register's file
//! is known and every block has been seen.

use super::edit::{InstructionBuilder, Position};
use super::function::{
    Constant, Function, FunctionInfo, InstructionFlags, MachineOpcode, MemoryAccess, RegisterFile, Special,
};
use super::lexer::{ParseError, Place, Token, tokens};
use super::modifiers::SpecialRegister;
use super::operand::Operand;
use super::print::{RegisterKind, constant_kind_name, implied_flags, instruction_flag};
use super::suffix::Suffixes;
use crate::entity::{
    Block, EntityRef, FrameObject, Instruction as MachineInstruction, Opcode, PhysicalRegister, Register,
    Symbol,
};
use crate::snapshot::abi::{ConstantKind, FunctionFlags, MemoryFlags, OpcodeFlags, Stage};
use smallvec::SmallVec;
use std::collections::{HashMap, HashSet};

/// All functions of a text, in order.
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

/// The one function of a text.
///
/// # Errors
/// The text is no Ori, or has not exactly one function.
pub fn parse_function(text: &str) -> Result<Function, ParseError> {
    let mut functions = parse_functions(text)?;
    match (functions.pop(), functions.is_empty()) {
        (Some(function), true) => Ok(function),
        (first, _) => Err(ParseError {
            place: Place { line: 1, column: 1 },
            message: match first {
                None => "expected a function".to_owned(),
                Some(_) => format!("expected one function, found {}", functions.len() + 1),
            },
        }),
    }
}

type Result<T, E = ParseError> = std::result::Result<T, E>;

/// The tokens, and where in them the parser is.
struct Parser<'a> {
    tokens: Vec<(Token<'a>, Place)>,
    next: usize,
    /// Numbers of registers and blocks stay below: a slip of the pen should not cost gigabytes.
    index_limit: usize,
}

/// Smallest [`Parser::index_limit`]; a longer text may have numbers up to its length.
const LEAST_INDEX_LIMIT: usize = 1 << 16;

impl<'a> Parser<'a> {
    fn new(text: &'a str) -> Result<Self> {
        Ok(Self {
            tokens: tokens(text)?,
            next: 0,
            index_limit: text.len().clamp(LEAST_INDEX_LIMIT, Operand::INDEX_LIMIT),
        })
    }

    fn peek(&self) -> &Token<'a> {
        &self.tokens[self.next].0
    }

    fn place(&self) -> Place {
        self.tokens[self.next].1
    }

    /// The next token; the last one again and again.
    fn take(&mut self) -> Token<'a> {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    fn take_if(&mut self, token: &Token<'_>) -> bool {
        let is_next = self.peek() == token;
        if is_next {
            self.take();
        }
        is_next
    }

    fn take_symbol(&mut self, symbol: char) -> bool {
        self.take_if(&Token::Symbol(symbol))
    }

    fn take_word(&mut self, word: &str) -> bool {
        self.take_if(&Token::Word(word))
    }

    fn peek_word(&self) -> Option<&'a str> {
        match self.peek() {
            Token::Word(word) => Some(word),
            _ => None,
        }
    }

    fn skip_newlines(&mut self) {
        while self.take_if(&Token::Newline) {}
    }

    fn error<T>(&self, expected: &str) -> Result<T> {
        error_at(
            self.place(),
            format!("expected {expected}, found {}", self.peek()),
        )
    }

    fn expect_symbol(&mut self, symbol: char) -> Result<()> {
        if self.take_symbol(symbol) {
            return Ok(());
        }
        self.error(&format!("`{symbol}`"))
    }

    fn expect_line_end(&mut self) -> Result<()> {
        match self.peek() {
            Token::Newline | Token::End | Token::Symbol('}') => Ok(()),
            _ => self.error("the end of the line"),
        }
    }

    fn expect_word(&mut self, expected: &str) -> Result<&'a str> {
        match self.peek_word() {
            Some(word) => {
                self.take();
                Ok(word)
            }
            None => self.error(expected),
        }
    }

    /// A name: a word or in quotes.
    fn expect_name(&mut self, expected: &str) -> Result<String> {
        match self.take_quoted() {
            Some(name) => Ok(name),
            None => self.expect_word(expected).map(str::to_owned),
        }
    }

    fn take_quoted(&mut self) -> Option<String> {
        let Token::Quoted(name) = self.peek() else {
            return None;
        };
        let name = name.clone();
        self.take();
        Some(name)
    }

    /// An integer without sign, in tens or, with `0x`, in sixteens.
    fn expect_unsigned<T: TryFrom<u128>>(&mut self, expected: &str) -> Result<T> {
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

    /// An integer that an operand can be. Sixteens may fill all 64 bits.
    fn expect_integer(&mut self) -> Result<i64> {
        const EXPECTED: &str = "an integer of 64 bits";
        let is_negative = self.take_symbol('-');
        let is_hexadecimal = matches!(self.peek(), Token::Number(text) if text.starts_with("0x"));
        let place = self.place();
        let magnitude: u64 = self.expect_unsigned(EXPECTED)?;
        let value = if is_hexadecimal && !is_negative {
            Some(magnitude as i64)
        } else {
            let magnitude = i128::from(magnitude);
            i64::try_from(if is_negative { -magnitude } else { magnitude }).ok()
        };
        match value {
            Some(value) => Ok(value),
            None => error_at(place, format!("expected {EXPECTED}")),
        }
    }

    /// Is it at a sign and a number?
    fn at_offset(&self) -> bool {
        matches!(self.peek(), Token::Symbol('+' | '-'))
    }

    fn expect_offset(&mut self) -> Result<i64> {
        self.take_symbol('+');
        self.expect_integer()
    }

    /// An index of entities, after whatever names their kind.
    fn index(&self, digits: &str, place: Place) -> Result<usize> {
        match digits.parse() {
            Ok(index) if index < self.index_limit => Ok(index),
            _ => error_at(
                place,
                format!("expected a number below {} here", self.index_limit),
            ),
        }
    }

    /// The block, if the next word is one.
    fn peek_block(&self) -> Result<Option<Block>> {
        let digits = self.peek_word().and_then(|word| word.strip_prefix("bix"));
        match digits {
            Some(digits) if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) => {
                Ok(Some(Block::new(self.index(digits, self.place())?)))
            }
            _ => Ok(None),
        }
    }

    fn expect_block(&mut self) -> Result<Block> {
        match self.peek_block()? {
            Some(block) => {
                self.take();
                Ok(block)
            }
            None => self.error("a block such as `bix3`"),
        }
    }

    fn expect_register(&mut self) -> Result<Register> {
        let Token::Register(digits) = *self.peek() else {
            return self.error("a register");
        };
        let register = Register::new(self.index(digits, self.place())?);
        self.take();
        Ok(register)
    }

    fn expect_register_kind(&mut self) -> Result<RegisterKind> {
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

fn error_at<T>(place: Place, message: impl Into<String>) -> Result<T> {
    Err(ParseError {
        place,
        message: message.into(),
    })
}

/// The flag with this name; any case, so that text has it in small letters.
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

/// A function that is being read.
struct FunctionParser<'a, 'p> {
    parser: &'p mut Parser<'a>,
    function: Function,
    instructions: Vec<ParsedInstruction>,
    /// Labels in order, and what stands there.
    labels: Vec<Label>,
    labelled: HashSet<Block>,
    /// The kinds of registers that have been given, and the place where each register first stands.
    kinds: HashMap<Register, RegisterKind>,
    registers: HashMap<Register, Place>,
    blocks: HashMap<Block, Place>,
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

    fn register(&mut self) -> Result<Register> {
        let place = self.parser.place();
        let register = self.parser.expect_register()?;
        self.registers.entry(register).or_insert(place);
        Ok(register)
    }

    /// A kind may stand behind each definition of a register; all of them say the same.
    fn parse_kind_of(&mut self, register: Register) -> Result<()> {
        if !self.parser.take_symbol(':') {
            return Ok(());
        }
        let place = self.parser.place();
        let kind = self.parser.expect_register_kind()?;
        if let Some(other) = self.kinds.get(&register)
            && (other.file, other.bits) != (kind.file, kind.bits)
        {
            return error_at(place, format!("%{} is {other} already", register.index()));
        }
        self.kinds.insert(register, kind);
        Ok(())
    }

    fn parse_label(&mut self) -> Result<()> {
        let place = self.parser.place();
        let block = self.parser.expect_block()?;
        if !self.labelled.insert(block) {
            return error_at(place, format!("bix{} is there already", block.index()));
        }
        self.blocks.entry(block).or_insert(place);
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
        let place = self.parser.place();
        let word = self.parser.expect_word("a register or an operation")?;
        let (operation, suffixes) = match Suffixes::parse(word) {
            Ok(parsed) => parsed,
            Err(message) => return error_at(place, message),
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
                return self.parser.error("a flag of an opcode or `)`");
            };
            self.parser.take();
            flags |= flag;
        }
        let opcodes = &mut self.function.opcodes;
        let create = || {
            opcodes.push(MachineOpcode {
                name: name.clone(),
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
            None => return parser.error("a flag of functions"),
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

/// Operands.
impl FunctionParser<'_, '_> {
    fn parse_sources(&mut self, new: &mut InstructionBuilder) -> Result<()> {
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
            // Long lists go on in the next line.
            self.parser.skip_newlines();
        }
    }

    /// Is it at the end of the operands?
    fn at_attribute(&self) -> bool {
        match self.parser.peek() {
            Token::Newline | Token::End | Token::Symbol('}' | '@') => true,
            Token::Word("merged" | "access") => true,
            Token::Word(word) => instruction_flag(word).is_some(),
            _ => false,
        }
    }

    /// An address, `[%5+8]`, is two sources; a list, `[%1, bix0]`, groups what belongs together.
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

    /// An operand with what stands before it: `undef`, then `-`, `|`, and `~` or `!`.
    fn parse_operand(&mut self) -> Result<Operand> {
        let is_undefined = self.parser.take_word("undef");
        let is_negated = *self.parser.peek() == Token::Symbol('-') && !self.at_negative_number();
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

    fn at_negative_number(&self) -> bool {
        matches!(
            self.parser.tokens.get(self.parser.next + 1),
            Some((Token::Number(_), _))
        )
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
        let place = self.parser.place();
        if let Some(block) = self.parser.peek_block()? {
            self.parser.take();
            self.blocks.entry(block).or_insert(place);
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
                let place = self.parser.place();
                let block = self.parser.expect_block()?;
                self.blocks.entry(block).or_insert(place);
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

    /// A word, and numbers in parentheses that each index a table.
    fn parse_numbers<const COUNT: usize>(&mut self) -> Result<[u32; COUNT]> {
        self.parser.take();
        self.parser.expect_symbol('(')?;
        let mut numbers = [0; COUNT];
        for (place, number) in numbers.iter_mut().enumerate() {
            if place != 0 {
                self.parser.expect_symbol(',')?;
            }
            *number = self.expect_machine_index()?;
        }
        self.parser.expect_symbol(')')?;
        Ok(numbers)
    }

    /// An index into a table of the snapshot. The greatest number stands for none there.
    fn expect_machine_index(&mut self) -> Result<u32> {
        let place = self.parser.place();
        match self.parser.expect_unsigned("a number")? {
            u32::MAX => error_at(place, "the number is too large"),
            index => Ok(index),
        }
    }

    /// The bits of a number: `f32(0x7fc00000)`, `i128(0x1)`.
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
        let place = self.parser.place();
        let value: u128 = self.parser.expect_unsigned("the bits of a number")?;
        if bits < 128 && value >> bits != 0 {
            return error_at(place, format!("expected at most {bits} bits"));
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
        let sign_place = self.parser.next;
        let is_negative = self.parser.take_symbol('-');
        if let Token::Number(text) = *self.parser.peek()
            && !text.starts_with("0x")
        {
            const EXPECTED: &str = "a finite floating-point number";
            if let Some(digits) = text.strip_suffix("f32") {
                return match digits.parse::<f32>() {
                    Ok(value) if value.is_finite() => {
                        self.parser.take();
                        Ok(self
                            .function
                            .single_operand(if is_negative { -value } else { value }))
                    }
                    _ => self.parser.error(EXPECTED),
                };
            }
            if let Some(digits) = text.strip_suffix("f64") {
                return match digits.parse::<f64>() {
                    Ok(value) if value.is_finite() => {
                        self.parser.take();
                        Ok(self
                            .function
                            .double_operand(if is_negative { -value } else { value }))
                    }
                    _ => self.parser.error(EXPECTED),
                };
            }
        }
        self.parser.next = sign_place;
        let value = self.parser.expect_integer()?;
        Ok(self.function.integer_operand(value))
    }
}

/// What stands behind the operands.
impl FunctionParser<'_, '_> {
    fn parse_attributes(
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
            let place = self.parser.place();
            last = self.expect_machine_index()?;
            if last <= first {
                return error_at(place, format!("expected a number above {first}"));
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
                let place = self.parser.place();
                let alignment: u64 = self.parser.expect_unsigned("an alignment")?;
                if !alignment.is_power_of_two() {
                    return error_at(place, "expected a power of two");
                }
                access.log2_alignment = alignment.trailing_zeros() as u8;
            }
            Token::Word(word) => match flag::<MemoryFlags>(word) {
                Some(flag) => {
                    self.parser.take();
                    access.flags |= flag;
                }
                None => return self.parser.error("what is known of an access"),
            },
            _ => return self.parser.error("what is known of an access"),
        }
        Ok(())
    }
}

/// What has been collected becomes the function.
impl FunctionParser<'_, '_> {
    fn create_registers(&mut self) -> Result<()> {
        let undeclared = self
            .registers
            .iter()
            .filter(|(register, _)| !self.kinds.contains_key(register))
            .min_by_key(|&(_, &place)| place);
        if let Some((register, &place)) = undeclared {
            let number = register.index();
            return error_at(
                place,
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
            .min_by_key(|&(_, &place)| place);
        if let Some((block, &place)) = missing {
            return error_at(place, format!("there is no block bix{}", block.index()));
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

/// The operand with the tag that its register's file asks for.
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
