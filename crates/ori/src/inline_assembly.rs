//! Operands of inline assembly: results that are written before all sources are read, and sources
//! that share a register with a result.
//!
//! ```text
//! ASM &"...", 1, 2818059, 2818057, %3, 2147483657, %4      results %1, %2
//!                │        │            └ matches group 0: tied to %1
//!                │        └ one register is read
//!                └ one register is written early
//! ```
//!
//! LLVM describes each group of operands by a word before it (llvm/IR/InlineAsm.h): its kind in
//! bits 0 to 2, the number of operands in bits 3 to 15, and with bit 31 the group that it matches
//! in bits 16 to 30. In Ori the words are among the sources, results among the results.

use super::function::{Function, Instruction, Special};
use super::operand::OperandKind;
use super::operation::Operation;
use oriel_engine::entity::Register;
use oriel_engine::snapshot::abi::OpcodeFlags;
use smallvec::SmallVec;
use std::borrow::Cow;
use std::ops::Range;

/// The text and the word for the whole come before the groups.
const FIRST_GROUP: usize = 2;
const KIND_MASK: u32 = 7;
const COUNT_SHIFT: u32 = 3;
const COUNT_MASK: u32 = (1 << 13) - 1;
const DATA_SHIFT: u32 = 16;
const DATA_MASK: u32 = (1 << 15) - 1;
const IS_MATCHED: u32 = 1 << 31;

/// The kind of a group of operands, with LLVM's numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AssemblyGroupKind {
    /// Registers that are read.
    Read = 1,
    /// Results.
    Written = 2,
    /// Results that are written before all sources are read.
    WrittenEarly = 3,
    /// Registers that the assembly overwrites.
    Clobbered = 4,
    /// An immediate.
    Constant = 5,
    /// An address.
    Memory = 6,
    /// A function.
    Function = 7,
}

impl AssemblyGroupKind {
    fn of(word: u32) -> Option<Self> {
        Some(match word & KIND_MASK {
            1 => Self::Read,
            2 => Self::Written,
            3 => Self::WrittenEarly,
            4 => Self::Clobbered,
            5 => Self::Constant,
            6 => Self::Memory,
            7 => Self::Function,
            _ => return None,
        })
    }

    const fn is_written(self) -> bool {
        matches!(self, Self::Written | Self::WrittenEarly | Self::Clobbered)
    }
}

/// A group of operands of inline assembly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AssemblyGroup {
    /// Its kind.
    pub kind: AssemblyGroupKind,
    /// Its operands: numbers of results for a group that is written, of sources for the others.
    pub operands: Range<usize>,
    /// The results that its sources are tied to, by number; empty for most groups.
    pub tied: Range<usize>,
    /// LLVM's register class for a group that is not tied, numbered from one.
    pub class: u32,
    /// The number of the source behind the group.
    pub end: usize,
}

impl AssemblyGroup {
    /// Returns the number of the result that a source is tied to.
    pub fn tied_result(&self, source: usize) -> Option<usize> {
        if self.kind.is_written() || !self.operands.contains(&source) {
            return None;
        }
        self.tied.clone().nth(source - self.operands.start)
    }
}

/// Returns the text of inline assembly as LLVM prints it for NVPTX, but for its operands: the first of each
/// list of variants, `$(one$|other$)`. A name may be in parts where there are variants.
pub(super) fn printed_text(text: &str) -> Cow<'_, str> {
    if !text.contains("$(") {
        return Cow::Borrowed(text);
    }
    let mut printed = String::with_capacity(text.len());
    // The number of the variant that the rest belongs to, if it belongs to one.
    let mut variant: Option<u32> = None;
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('$') {
        let is_printed = |variant: Option<u32>| variant.is_none_or(|number| number == 0);
        if is_printed(variant) {
            printed.push_str(before);
        }
        let mark = behind.chars().next();
        rest = &behind[mark.map_or(0, char::len_utf8)..];
        match (mark, variant) {
            (Some('('), None) => variant = Some(0),
            (Some('|'), Some(number)) => variant = Some(number + 1),
            (Some(')'), Some(_)) => variant = None,
            (mark, _) if is_printed(variant) => {
                printed.push('$');
                printed.extend(mark);
            }
            _ => {}
        }
    }
    printed.push_str(rest);
    Cow::Owned(printed)
}

impl Function {
    /// True if the instruction is inline assembly. Inline assembly that branches ends a block.
    pub fn is_inline_assembly(&self, instruction: Instruction) -> bool {
        match self.operation(instruction) {
            Operation::InlineAsm => true,
            Operation::OpaqueTerminator => self
                .machine_opcode(instruction)
                .is_some_and(|opcode| opcode.flags.contains(OpcodeFlags::INLINE_ASM)),
            _ => false,
        }
    }

    /// Returns the text of inline assembly; none for other instructions.
    pub fn assembly_text(&self, instruction: Instruction) -> Option<&str> {
        if !self.is_inline_assembly(instruction) {
            return None;
        }
        let OperandKind::Special(special) = self.sources(instruction).iter().next()?.kind() else {
            return None;
        };
        match self.special_data(special) {
            Special::Symbol { symbol, .. } => Some(self.symbol_name(symbol)),
            _ => None,
        }
    }

    /// True for inline assembly that contains `name` as LLVM prints it, and for an opcode that [has
    /// it](crate::MachineOpcode::has_ptx_name).
    pub fn has_ptx_name(&self, instruction: Instruction, name: &str) -> bool {
        if let Some(text) = self.assembly_text(instruction) {
            return printed_text(text).contains(name);
        }
        let opcode = self.machine_opcode(instruction);
        opcode.is_some_and(|opcode| opcode.has_ptx_name(name))
    }

    /// True if inline assembly may write a register while it still reads its sources, so that no
    /// source may become this register. Any result counts: assembly of several lines writes one
    /// result before it reads the last source, and not all of it declares that. Opcodes that Ori has
    /// no meaning for are treated alike, since `ARITH_FENCE` ties its source to its result.
    pub fn may_write_early(&self, instruction: Instruction, register: Register) -> bool {
        let is_opaque = self.operation(instruction) == Operation::Opaque;
        (is_opaque || self.is_inline_assembly(instruction))
            && self
                .results(instruction)
                .iter()
                .any(|result| result.as_register() == Some(register))
    }

    /// Returns the groups of operands of inline assembly, in order. `None` for other instructions,
    /// and if the words are malformed.
    pub fn assembly_groups(&self, instruction: Instruction) -> Option<SmallVec<[AssemblyGroup; 4]>> {
        if !self.is_inline_assembly(instruction) {
            return None;
        }
        let sources = self.sources(instruction);
        let mut groups: SmallVec<[AssemblyGroup; 4]> = SmallVec::new();
        let (mut source, mut result) = (FIRST_GROUP, 0);
        while source < sources.len() {
            // Metadata and implicit operands follow the groups.
            let Some(word) = self.integer(sources.get(source)) else {
                break;
            };
            let word = word as u32;
            let kind = AssemblyGroupKind::of(word)?;
            let count = (word >> COUNT_SHIFT & COUNT_MASK) as usize;
            let data = word >> DATA_SHIFT & DATA_MASK;
            source += 1;
            let next = if kind.is_written() {
                &mut result
            } else {
                &mut source
            };
            let operands = *next..*next + count;
            *next = operands.end;
            let matched = match word & IS_MATCHED != 0 && !kind.is_written() {
                true => Some(groups.get(data as usize)?),
                false => None,
            };
            let tied = matched
                .filter(|group| group.kind.is_written())
                .map_or(0..0, |group| group.operands.clone());
            groups.push(AssemblyGroup {
                kind,
                operands,
                tied,
                class: data,
                end: source,
            });
        }
        (source <= sources.len() && result <= self.results(instruction).len()).then_some(groups)
    }

    /// Returns the sources of inline assembly that a result may overwrite before they are read, by
    /// number: those in the register of a result that is written early, unless they are tied to it.
    /// If the words are malformed, any source in the register of a result counts.
    pub fn clobbered_sources(&self, instruction: Instruction) -> SmallVec<[usize; 2]> {
        if !self.is_inline_assembly(instruction) {
            return SmallVec::new();
        }
        let results = self.results(instruction);
        let groups = self.assembly_groups(instruction);
        let may_overwrite = |source: usize, result: usize| match &groups {
            Some(groups) => {
                let is_early = |group: &AssemblyGroup| {
                    group.kind == AssemblyGroupKind::WrittenEarly && group.operands.contains(&result)
                };
                let is_tied = |group: &AssemblyGroup| group.tied_result(source) == Some(result);
                groups.iter().any(is_early) && !groups.iter().any(is_tied)
            }
            None => true,
        };
        let is_clobbered = |&source: &usize| {
            let register = self.source(instruction, source).as_register();
            register.is_some()
                && results
                    .iter()
                    .enumerate()
                    .any(|(number, result)| result.as_register() == register && may_overwrite(source, number))
        };
        (0..self.sources(instruction).len())
            .filter(is_clobbered)
            .collect()
    }

    /// Returns a result of inline assembly that is written early and shares its register with a
    /// source that is not tied to it.
    pub(super) fn early_clobber_problem(&self, instruction: Instruction) -> Option<Register> {
        // Nothing is known of malformed words.
        self.assembly_groups(instruction)?;
        let clobbered = self.clobbered_sources(instruction).into_iter();
        let mut sources = clobbered.map(|number| self.source(instruction, number));
        sources.find(|source| !source.is_undefined())?.as_register()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{FindingKind, parse_function};

    fn assembly(line: &str) -> (Function, Instruction) {
        let text = format!(
            "kernel \"k\" sm_80 late {{\nbix0:\n    %1:R32 = MOV.b32 1\n    %2:R32 = MOV.b32 2\n    {line}\n    RET\n}}\n"
        );
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let instruction = function
            .instructions(function.entry())
            .find(|&it| function.operation(it) == Operation::InlineAsm)
            .expect("it is there");
        (function, instruction)
    }

    /// One register is written, one written early, one read; one that matches the first group is
    /// read.
    const WORDS: [u32; 4] = [
        AssemblyGroupKind::Written as u32 | 1 << COUNT_SHIFT,
        AssemblyGroupKind::WrittenEarly as u32 | 1 << COUNT_SHIFT,
        AssemblyGroupKind::Read as u32 | 1 << COUNT_SHIFT,
        AssemblyGroupKind::Read as u32 | 1 << COUNT_SHIFT | IS_MATCHED,
    ];

    #[test]
    fn words_tell_early_results_and_tied_sources() {
        let [written, early, read, matched] = WORDS;
        let (function, instruction) = assembly(&format!(
            "%2, %3:R32 = ASM machine(0, 0), 1, {written}, {early}, {matched}, %2, {read}, %1"
        ));
        let groups = function
            .assembly_groups(instruction)
            .expect("the words are well formed");
        let described = groups
            .iter()
            .map(|group| (group.kind, group.operands.clone(), group.end));
        assert_eq!(
            described.collect::<Vec<_>>(),
            [
                (AssemblyGroupKind::Written, 0..1, 3),
                (AssemblyGroupKind::WrittenEarly, 1..2, 4),
                (AssemblyGroupKind::Read, 5..6, 6),
                (AssemblyGroupKind::Read, 7..8, 8),
            ]
        );
        assert_eq!(groups[2].tied_result(5), Some(0));
        assert_eq!(groups[3].tied_result(7), None);
        assert!(
            [2, 3]
                .map(Register::from_u32)
                .into_iter()
                .all(|register| { function.may_write_early(instruction, register) })
        );
        assert!(!function.may_write_early(instruction, Register::from_u32(1)));
        assert_eq!(function.verify(), []);
    }

    #[test]
    fn of_variants_the_first_is_printed() {
        for (text, printed) in [
            ("mov.u32 $0, $$1;", "mov.u32 $0, $$1;"),
            ("a$(b$0$|c$$d$)e$(f$)g", "ab$0efg"),
            ("wgmma$(.mma_async$|.x$).sync", "wgmma.mma_async.sync"),
            ("$(|$|$(é$)x$|y$)$", "|x$|y$)$"),
        ] {
            assert_eq!(printed_text(text), printed, "{text}");
        }
    }

    #[test]
    fn the_verifier_finds_an_early_result_in_the_register_of_a_source() {
        let [written, early, read, _] = WORDS;
        let tied = WORDS[3];
        for (line, is_wrong) in [
            (format!("%1 = ASM machine(0, 0), 1, {early}, {read}, %1"), true),
            (format!("%1 = ASM machine(0, 0), 1, {written}, {read}, %1"), false),
            (format!("%1 = ASM machine(0, 0), 1, {early}, {tied}, %1"), false),
            (
                format!("%1 = ASM machine(0, 0), 1, {early}, {tied}, %1, {read}, %1"),
                true,
            ),
            (
                format!("%1 = ASM machine(0, 0), 1, {early}, {read}, undef %1"),
                false,
            ),
            (format!("%1 = ASM machine(0, 0), 1, {early}, {read}, %2"), false),
        ] {
            let (function, _) = assembly(&line);
            let kinds: Vec<FindingKind> = function.verify().iter().map(|finding| finding.kind).collect();
            let expected: &[FindingKind] = if is_wrong {
                &[FindingKind::EarlyClobber]
            } else {
                &[]
            };
            assert_eq!(kinds, expected, "{line}");
        }
    }

    #[test]
    fn malformed_words_clobber_every_source_in_the_register_of_a_result() {
        let [written, _, read, matched] = WORDS;
        // No kind; more sources than there are; a group that does not come before.
        for words in [
            format!("{written}, 8, %1"),
            format!("{written}, {}, %1", read + (1 << COUNT_SHIFT)),
            format!("{matched}, %1"),
        ] {
            let (function, instruction) = assembly(&format!("%1 = ASM machine(0, 0), 1, {words}"));
            assert_eq!(function.assembly_groups(instruction), None, "{words}");
            assert_eq!(function.clobbered_sources(instruction).len(), 1, "{words}");
        }
    }
}
