//! Prints functions in text form, which `parse` reads back; `docs/ori-text.md` has the grammar.

use super::function::{
    Constant, Function, Instruction, InstructionFlags, MachineOpcode, MemoryAccess, RegisterData,
    RegisterFile, Special, StackObject,
};
use super::lexer::is_word;
use super::operand::{Operand, OperandKind};
use super::operation::Operation;
use super::suffix::Suffixes;
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register};
use oriel_engine::snapshot::abi::{ConstantKind, FunctionFlags, MemoryFlags, Stage};
use std::fmt::{self, Display, Formatter, Write};

/// Optional parts of the text form.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrintOptions {
    /// Print the reference's number of each operation that has one, as a comment.
    pub reference_numbers: bool,
}

/// A function in text form.
pub struct FunctionText<'a> {
    function: &'a Function,
    options: PrintOptions,
}

/// An instruction in text form: a line without indentation and register widths.
pub struct InstructionText<'a> {
    function: &'a Function,
    instruction: Instruction,
}

impl Function {
    /// Returns the function in text form.
    pub fn display(&self, options: PrintOptions) -> FunctionText<'_> {
        FunctionText {
            function: self,
            options,
        }
    }

    /// Returns an instruction in text form, for messages.
    pub fn display_instruction(&self, instruction: Instruction) -> InstructionText<'_> {
        InstructionText {
            function: self,
            instruction,
        }
    }
}

impl Display for Function {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.display(PrintOptions::default()).fmt(out)
    }
}

impl Display for InstructionText<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.function.print_instruction(self.instruction, None, out)
    }
}

impl Display for FunctionText<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let function = self.function;
        function.print_header(out)?;
        out.write_str(" {\n")?;
        for (object, data) in function.stack_objects() {
            let StackObject {
                size,
                alignment,
                is_fixed,
                is_removed,
            } = data;
            let fixed = if *is_fixed { " fixed" } else { "" };
            let removed = if *is_removed { " removed" } else { "" };
            writeln!(
                out,
                "    stack frame({}) {size} bytes align {alignment}{fixed}{removed}",
                object.index()
            )?;
        }
        let mut declared = function.print_declarations(out)?;
        for &block in function.blocks() {
            function.print_label(block, out)?;
            for instruction in function.instructions(block) {
                out.write_str("    ")?;
                function.print_instruction(instruction, Some(&mut declared), out)?;
                if let Some(number) = self.reference_number(instruction) {
                    write!(out, "  // {number}")?;
                }
                out.write_char('\n')?;
            }
        }
        out.write_str("}\n")
    }
}

impl FunctionText<'_> {
    fn reference_number(&self, instruction: Instruction) -> Option<u16> {
        let properties = self.function.operation(instruction).properties();
        properties
            .reference_number
            .filter(|_| self.options.reference_numbers)
    }
}

/// Returns the flags that the header of a function implies.
pub(super) const fn implied_flags(stage: Stage) -> FunctionFlags {
    match stage {
        Stage::Ssa => FunctionFlags::SSA,
        Stage::Late => FunctionFlags::NO_PHIS,
    }
}

/// Flags that the header shows in a way of its own.
pub(super) const SHOWN_FLAGS: FunctionFlags = FunctionFlags::KERNEL
    .union(FunctionFlags::ARCH_SPECIFIC)
    .union(FunctionFlags::FAMILY_SPECIFIC);

/// A name, in quotes unless it is a word.
struct Name<'a>(&'a str);

impl Display for Name<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        if is_word(self.0) {
            return out.write_str(self.0);
        }
        Quoted(self.0).fmt(out)
    }
}

/// A name in quotes.
struct Quoted<'a>(&'a str);

impl Display for Quoted<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_char('"')?;
        for character in self.0.chars() {
            match character {
                '"' | '\\' => write!(out, "\\{character}")?,
                control if control.is_control() => write!(out, "\\u{{{:x}}}", u32::from(control))?,
                other => out.write_char(other)?,
            }
        }
        out.write_char('"')
    }
}

/// File and width of a register: `R32`, `P`.
pub(super) struct RegisterKind {
    pub file: RegisterFile,
    pub bits: u16,
}

impl Display for RegisterKind {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_str(self.file.name())?;
        if self.file.is_predicate() && self.bits == 1 {
            return Ok(());
        }
        write!(out, "{}", self.bits)
    }
}

/// A register in text.
struct RegisterName(Register);

impl Display for RegisterName {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "%{}", self.0.index())
    }
}

/// A block in text.
struct BlockName(Block);

impl Display for BlockName {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "bix{}", self.0.index())
    }
}

/// Header, declarations, labels.
impl Function {
    fn print_header(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let info = &self.info;
        let is_kernel = info.flags.contains(FunctionFlags::KERNEL);
        write!(out, "{} ", if is_kernel { "kernel" } else { "function" })?;
        write!(out, "{} sm_{}", Quoted(&info.name), info.sm)?;
        for (flag, letter) in [
            (FunctionFlags::ARCH_SPECIFIC, 'a'),
            (FunctionFlags::FAMILY_SPECIFIC, 'f'),
        ] {
            if info.flags.contains(flag) {
                out.write_char(letter)?;
            }
        }
        write!(out, " {}", info.stage.name())?;
        let implied = implied_flags(info.stage);
        for (name, _) in (implied - info.flags).iter_names() {
            write!(out, " !{}", name.to_ascii_lowercase())?;
        }
        for (name, _) in (info.flags - implied - SHOWN_FLAGS).iter_names() {
            write!(out, " {}", name.to_ascii_lowercase())?;
        }
        if info.entry_frequency != 0 {
            write!(out, " frequency {}", info.entry_frequency)?;
        }
        Ok(())
    }

    fn register_kind(&self, register: Register) -> RegisterKind {
        let &RegisterData { file, bits, .. } = self.register(register);
        RegisterKind { file, bits }
    }

    /// Declares the registers that instructions use but none defines. Returns their set.
    fn print_declarations(&self, out: &mut Formatter<'_>) -> Result<EntitySet<Register>, fmt::Error> {
        let mut declared = EntitySet::new();
        let is_undefined =
            |&register: &Register| !self.is_unused(register) && self.definitions(register).next().is_none();
        for register in self.registers().filter(is_undefined) {
            let separator = if declared.is_empty() { "    declare " } else { ", " };
            write!(
                out,
                "{separator}{}:{}",
                RegisterName(register),
                self.register_kind(register)
            )?;
            declared.insert(register);
        }
        if !declared.is_empty() {
            out.write_char('\n')?;
        }
        Ok(declared)
    }

    fn print_label(&self, block: Block, out: &mut Formatter<'_>) -> fmt::Result {
        let data = &self.blocks[block];
        write!(out, "{}:", BlockName(block))?;
        if data.frequency != 0 {
            write!(out, " frequency {}", data.frequency)?;
        }
        if data.is_address_taken {
            out.write_str(" address_taken")?;
        }
        if let Some(origin) = data.origin {
            write!(out, " origin {}", BlockName(origin))?;
        }
        if data.frequency != 0 && self.info.entry_frequency != 0 {
            let relative = data.frequency as f64 / self.info.entry_frequency as f64;
            write!(out, "  // {relative:.3}")?;
        }
        out.write_char('\n')
    }
}

/// Instructions.
impl Function {
    /// Prints an instruction. Results that are not declared yet get their kind, if a set of
    /// declared registers is given.
    fn print_instruction(
        &self,
        instruction: Instruction,
        mut declared: Option<&mut EntitySet<Register>>,
        out: &mut Formatter<'_>,
    ) -> fmt::Result {
        for (number, result) in self.results(instruction).iter().enumerate() {
            out.write_str(if number == 0 { "" } else { ", " })?;
            self.print_operand(result, out)?;
            if let (Some(declared), Some(register)) = (&mut declared, result.as_register())
                && declared.insert(register)
            {
                write!(out, ":{}", self.register_kind(register))?;
            }
        }
        if !self.results(instruction).is_empty() {
            out.write_str(" = ")?;
        }
        let operation = self.operation(instruction);
        out.write_str(operation.name())?;
        let suffixes = Suffixes {
            modifiers: self.modifiers(instruction),
            data_type: self.data_type(instruction),
            source_type: self.source_type(instruction),
        };
        suffixes.print(operation, out)?;
        if operation.is_opaque()
            && let Some(opcode) = self.machine_opcode(instruction)
        {
            print_opcode(opcode, out)?;
        }
        self.print_sources(instruction, out)?;
        self.print_attributes(instruction, out)
    }

    fn print_sources(&self, instruction: Instruction, out: &mut Formatter<'_>) -> fmt::Result {
        let sources = self.sources(instruction);
        let address = self.address_source(instruction);
        let mut number = 0;
        while number < sources.len() {
            out.write_str(if number == 0 { " " } else { ", " })?;
            if address == Some(number) {
                self.print_address(sources.get(number), sources.get(number + 1), out)?;
                number += 2;
            } else {
                self.print_operand(sources.get(number), out)?;
                number += 1;
            }
        }
        Ok(())
    }

    /// Returns the number of the source that is the base of an address, with its offset, an integer,
    /// behind it.
    pub(crate) fn address_source(&self, instruction: Instruction) -> Option<usize> {
        let sources = self.sources(instruction);
        let base = match self.operation(instruction) {
            Operation::Lea => 0,
            _ => self.accessed_address(instruction)?,
        };
        let is_offset = sources.len() >= base + 2 && is_plain_integer(self, sources.get(base + 1));
        is_offset.then_some(base)
    }

    /// Prints `[%5+8]`. A symbol's own offset comes first: `[&buffer+4+8]`.
    fn print_address(&self, base: Operand, offset: Operand, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_char('[')?;
        self.print_operand(base, out)?;
        let offset = self.integer(offset).unwrap_or(0);
        if let OperandKind::Special(special) = base.kind()
            && let Special::Symbol { offset: 0, .. } = self.special_data(special)
            && offset != 0
        {
            out.write_str("+0")?;
        }
        if offset != 0 {
            write!(out, "{offset:+}")?;
        }
        out.write_char(']')
    }

    fn print_attributes(&self, instruction: Instruction, out: &mut Formatter<'_>) -> fmt::Result {
        let data = &self.instructions[instruction];
        let mut separator = "  ";
        let mut attribute = |out: &mut Formatter<'_>, text: fmt::Arguments<'_>| {
            write!(out, "{}{text}", std::mem::replace(&mut separator, " "))
        };
        if let Some(origin) = data.origin.expand() {
            attribute(out, format_args!("@{}", origin.index()))?;
            if data.origin_count > 1 {
                write!(out, "-{}", origin.index() + data.origin_count as usize - 1)?;
            }
        }
        if let Some((first, others)) = self.merged(instruction).split_first() {
            attribute(out, format_args!("merged({}", first.index()))?;
            for other in others {
                write!(out, ", {}", other.index())?;
            }
            out.write_char(')')?;
        }
        for (name, _) in data.flags.iter_names() {
            attribute(out, format_args!("{}", name.to_ascii_lowercase()))?;
        }
        if let Some(access) = self.access(instruction) {
            attribute(out, format_args!("access("))?;
            self.print_access(access, out)?;
        }
        Ok(())
    }

    /// Prints the part between the parentheses of an access.
    fn print_access(&self, access: &MemoryAccess, out: &mut Formatter<'_>) -> fmt::Result {
        let &MemoryAccess {
            base,
            symbol,
            offset,
            size,
            log2_alignment,
            flags,
        } = access;
        let mut separator = "";
        let mut item = |out: &mut Formatter<'_>, text: fmt::Arguments<'_>| {
            write!(out, "{}{text}", std::mem::replace(&mut separator, ", "))
        };
        if let Some(base) = base {
            item(out, format_args!("base {base}"))?;
        }
        if let Some(symbol) = symbol {
            item(out, format_args!("&{}", Name(self.symbol_name(symbol))))?;
        }
        if offset != 0 {
            item(out, format_args!("offset {offset}"))?;
        }
        if let Some(size) = size {
            item(out, format_args!("{size} bytes"))?;
        }
        if log2_alignment != 0 {
            item(out, format_args!("align {}", 1u64 << log2_alignment.min(63)))?;
        }
        for (name, _) in (flags - MemoryFlags::SIZE_KNOWN).iter_names() {
            item(out, format_args!("{}", name.to_ascii_lowercase()))?;
        }
        out.write_char(')')
    }
}

/// LLVM's name and flags: `(INT_FOO may_load convergent)`.
fn print_opcode(opcode: &MachineOpcode, out: &mut Formatter<'_>) -> fmt::Result {
    write!(out, "({}", Name(&opcode.name))?;
    for (name, _) in opcode.flags.iter_names() {
        write!(out, " {}", name.to_ascii_lowercase())?;
    }
    out.write_char(')')
}

fn is_plain_integer(function: &Function, operand: Operand) -> bool {
    function.integer(operand).is_some() && !operand.is_modified() && !operand.is_undefined()
}

/// Operands.
impl Function {
    fn print_operand(&self, operand: Operand, out: &mut Formatter<'_>) -> fmt::Result {
        if operand.is_undefined() {
            out.write_str("undef ")?;
        }
        if operand.is_negated() {
            out.write_char('-')?;
        }
        if operand.is_absolute() {
            out.write_char('|')?;
        }
        if operand.is_complemented() {
            let is_predicate = matches!(operand.kind(), OperandKind::Predicate(_));
            out.write_char(if is_predicate { '!' } else { '~' })?;
        }
        // A sign before a number would belong to the number.
        let needs_parentheses = operand.is_modified() && operand.is_constant();
        if needs_parentheses {
            out.write_char('(')?;
        }
        self.print_plain_operand(operand, out)?;
        if needs_parentheses {
            out.write_char(')')?;
        }
        if operand.is_absolute() {
            out.write_char('|')?;
        }
        Ok(())
    }

    fn print_plain_operand(&self, operand: Operand, out: &mut Formatter<'_>) -> fmt::Result {
        match operand.kind() {
            OperandKind::None => out.write_str("none"),
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                RegisterName(register).fmt(out)
            }
            OperandKind::Immediate(value) => write!(out, "{value}"),
            OperandKind::Constant(constant) => print_constant(self.constant_data(constant), out),
            OperandKind::Target(block) => BlockName(block).fmt(out),
            OperandKind::FallThrough(block) => write!(out, "fall {}", BlockName(block)),
            OperandKind::Special(special) => self.print_special(self.special_data(special), out),
        }
    }

    fn print_special(&self, special: Special, out: &mut Formatter<'_>) -> fmt::Result {
        match special {
            Special::Symbol { symbol, offset } => {
                write!(out, "&{}", Name(self.symbol_name(symbol)))?;
                if offset != 0 {
                    write!(out, "{offset:+}")?;
                }
                Ok(())
            }
            Special::Frame(object) => write!(out, "frame({})", object.index()),
            Special::Physical(register) => write!(out, "physical({})", register.index()),
            Special::SpecialRegister(register) => out.write_str(register.name()),
            Special::Machine { instruction, operand } => {
                write!(out, "machine({}, {operand})", instruction.index())
            }
        }
    }
}

/// Returns the name of a constant's format, to which the width is appended unless the name includes
/// it.
pub(super) const fn constant_kind_name(kind: ConstantKind) -> (&'static str, Option<u32>) {
    match kind {
        ConstantKind::Half => ("f16", Some(16)),
        ConstantKind::Bfloat => ("bf16", Some(16)),
        ConstantKind::Single => ("f32", Some(32)),
        ConstantKind::Double => ("f64", Some(64)),
        ConstantKind::Integer => ("i", None),
        ConstantKind::Other => ("other", None),
    }
}

fn print_constant(constant: Constant, out: &mut Formatter<'_>) -> fmt::Result {
    let (kind, bits, low, high) = match constant {
        Constant::Integer(value) => return write!(out, "{value}"),
        Constant::Bits {
            kind,
            bits,
            low,
            high,
        } => (kind, bits, low, high),
    };
    match kind {
        ConstantKind::Single if f32::from_bits(low as u32).is_finite() => {
            return write!(out, "{:?}f32", f32::from_bits(low as u32));
        }
        ConstantKind::Double if f64::from_bits(low).is_finite() => {
            return write!(out, "{:?}f64", f64::from_bits(low));
        }
        _ => {}
    }
    let (name, width) = constant_kind_name(kind);
    out.write_str(name)?;
    if width.is_none() {
        write!(out, "{bits}")?;
    }
    write!(out, "(0x{:x})", u128::from(high) << 64 | u128::from(low))
}

/// Returns the instruction flag with this name in text form.
pub(super) fn instruction_flag(name: &str) -> Option<InstructionFlags> {
    InstructionFlags::all()
        .iter_names()
        .find(|(flag, _)| flag.eq_ignore_ascii_case(name))
        .map(|(_, flag)| flag)
}
