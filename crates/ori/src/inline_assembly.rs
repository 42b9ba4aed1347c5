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

use super::function::{Function, Instruction};
use super::operation::Operation;
use oriel_engine::entity::Register;
use oriel_engine::snapshot::abi::OpcodeFlags;
use smallvec::SmallVec;
use std::ops::Range;

/// The text and the word for the whole come before the groups.
const FIRST_GROUP: usize = 2;
const KIND_MASK: u32 = 7;
const COUNT_SHIFT: u32 = 3;
const COUNT_MASK: u32 = (1 << 13) - 1;
const MATCHED_SHIFT: u32 = 16;
const MATCHED_MASK: u32 = (1 << 15) - 1;
const IS_MATCHED: u32 = 1 << 31;

/// Kinds of groups.
const READ: u32 = 1;
const WRITTEN: u32 = 2;
const WRITTEN_EARLY: u32 = 3;
const CLOBBERED: u32 = 4;
const LAST_KIND: u32 = 7;

/// The operand descriptions of inline assembly.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AssemblyOperands {
    /// Results that are written early, by number.
    early: SmallVec<[usize; 2]>,
    /// Sources and the results that they are tied to, by number.
    tied: SmallVec<[(usize, usize); 2]>,
}

impl AssemblyOperands {
    /// Reads the words. Nothing is known of other instructions, and of inline assembly with
    /// malformed words.
    pub fn of(function: &Function, instruction: Instruction) -> Self {
        if !function.is_inline_assembly(instruction) {
            return Self::default();
        }
        Self::read(function, instruction).unwrap_or_default()
    }

    fn read(function: &Function, instruction: Instruction) -> Option<Self> {
        let sources = function.sources(instruction);
        let mut found = Self::default();
        // The results of each group; empty for a group that is read.
        let mut groups: SmallVec<[Range<usize>; 4]> = SmallVec::new();
        let (mut number, mut results) = (FIRST_GROUP, 0);
        while number < sources.len() {
            // Metadata follows the groups.
            let Some(word) = function.integer(sources.get(number)) else {
                break;
            };
            let word = word as u32;
            number += 1;
            let count = (word >> COUNT_SHIFT & COUNT_MASK) as usize;
            match word & KIND_MASK {
                kind @ (WRITTEN | WRITTEN_EARLY | CLOBBERED) => {
                    let group = results..results + count;
                    if kind == WRITTEN_EARLY {
                        found.early.extend(group.clone());
                    }
                    results = group.end;
                    groups.push(group);
                }
                READ..=LAST_KIND => {
                    if word & IS_MATCHED != 0 {
                        let matched = groups
                            .get((word >> MATCHED_SHIFT & MATCHED_MASK) as usize)?
                            .clone();
                        found.tied.extend((number..number + count).zip(matched));
                    }
                    groups.push(0..0);
                    number += count;
                }
                _ => return None,
            }
        }
        (results <= function.results(instruction).len()).then_some(found)
    }

    /// Returns the numbers of the results that are written before all sources are read.
    pub fn early(&self) -> impl Iterator<Item = usize> + '_ {
        self.early.iter().copied()
    }

    /// True if a source is tied to a result.
    pub fn is_tied(&self, source: usize, result: usize) -> bool {
        self.tied.contains(&(source, result))
    }
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

    /// Returns a result of inline assembly that is written early and shares its register with a
    /// source that is not tied to it.
    pub(super) fn early_clobber_problem(&self, instruction: Instruction) -> Option<Register> {
        let operands = AssemblyOperands::of(self, instruction);
        let results = self.results(instruction);
        operands.early().find_map(|number| {
            let register = results.get(number).as_register()?;
            let mut sources = self.sources(instruction).iter().enumerate();
            let is_shared = sources.any(|(source, operand)| {
                operand.as_register() == Some(register)
                    && !operand.is_undefined()
                    && !operands.is_tied(source, number)
            });
            is_shared.then_some(register)
        })
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
        WRITTEN | 1 << COUNT_SHIFT,
        WRITTEN_EARLY | 1 << COUNT_SHIFT,
        READ | 1 << COUNT_SHIFT,
        READ | 1 << COUNT_SHIFT | IS_MATCHED,
    ];

    #[test]
    fn words_tell_early_results_and_tied_sources() {
        let [written, early, read, matched] = WORDS;
        let (function, instruction) = assembly(&format!(
            "%2, %3:R32 = ASM machine(0, 0), 1, {written}, {early}, {matched}, %2, {read}, %1"
        ));
        let operands = AssemblyOperands::of(&function, instruction);
        assert_eq!(operands.early().collect::<Vec<_>>(), [1]);
        assert!(operands.is_tied(5, 0) && !operands.is_tied(5, 1) && !operands.is_tied(7, 0));
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
}
