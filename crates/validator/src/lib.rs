//! The validator: proves that a function still does the same after the phases.
//!
//! It compares the two functions and gets no information from the phases. It shares only two parts
//! with them: the evaluation of operations on constants, and the import of machine code. A change
//! without a proof may still be correct; the caller then keeps the function before.
//!
//! ```text
//! before                        after                         the validator
//! %1 = LD.global [%0]           %1 = LD.global [%0]           v1 = load(v0, memory0)
//! %2 = IMUL %1, 8               %2 = SHL %1, 3                v2 = 8 * v1, both
//! %3 = IADD %2, %2              ST.global %4, [%0]            v3 = 16 * v1
//! ST.global %3, [%0]            (%4 = SHL %1, 4 above)        memory1 = store(v0, v3, memory0), both
//! ```
//!
//! ```
//! use oriel_ori::parse_function;
//! use oriel_validator::{Subject, Validator};
//!
//! let text = "kernel \"k\" sm_80 ssa {
//! bix0:
//!     %1:R32 = S2R.b32 tid.x
//!     %2:R32 = IADD.b32 %1, 0
//!     ST.global.b32.b32 %2, [64]
//!     RET
//! }
//! ";
//! let (before, after) = (parse_function(text)?, parse_function(&text.replace("%1, 0", "0, %1"))?);
//! let subject = |function| Subject { function, snapshot: None };
//! assert_eq!(Validator::default().validate(subject(&before), subject(&after)), Ok(()));
//! let wrong = parse_function(&text.replace("%1, 0", "%1, 1"))?;
//! assert!(Validator::default().validate(subject(&before), subject(&wrong)).is_err());
//! # Ok::<(), oriel_ori::ParseError>(())
//! ```
//!
//! 1. `related` pairs stretches of blocks of the two functions that control reaches in step.
//! 2. `numbering` gives every computation of both functions a value in one graph (`values`);
//!    computations with the same value are equal (value-graph translation validation: Tristan,
//!    Govereau and Morrisett, PLDI 2011). Normal forms (`sums`, `bits`, `predicates`) map a
//!    computation and its rewritten form to one value. Each is an identity of integers; for
//!    floating-point numbers only signs are moved (`floats`).
//! 3. At the end of each pair, each kind of memory, the sequence of effects and, if both branch, the
//!    condition must have the same values. Memory is a value as well: each store or effect makes a
//!    new one from the previous one (`effects`).
//! 4. A load may fault, so for each load of the function after, the function before must execute a
//!    load from the same address of corresponding memory on the same path.
//!
//! The proof is by induction over the steps of the related flow: assumptions about the values on
//! back edges are checked against the values that reach them.
//!
//! An undefined value of the function before may become any value in the function after
//! (refinement, as Alive2 defines it), but not the other way round. Instructions that read one must
//! not be executed more often than before (`undefined_reads`).

mod arithmetic;
mod bits;
mod effects;
mod floats;
mod memory;
mod numbering;
mod predicates;
mod related;
mod show;
mod side;
mod sums;
#[cfg(test)]
mod tests;
mod undefined_reads;
mod values;

use memory::StackPieces;
use numbering::{Findings, Guess, JoinPlan, Memory, Settings, number};
use oriel_engine::entity::Block;
use oriel_engine::hash::NumberMap;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::FunctionFlags;
use oriel_ori::machine::from_machine;
use oriel_ori::{Function, Instruction, StackObject};
use related::{Hints, Related, Segment, Unrelated, last_blocks};
use side::Side;
use std::fmt::Write;

/// The reason why two functions could not be proved equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// The kind of difference.
    pub kind: DoubtKind,
    /// True if the instruction is in the function after.
    is_after: bool,
    /// The instruction at which it was found.
    instruction: Option<Instruction>,
    /// Its block.
    block: Block,
    /// Its value in the function before and in the function after, as expressions.
    values: Option<Box<[String; 2]>>,
}

/// The kinds of difference.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubtKind {
    /// Control flow differs.
    Flow,
    /// An effect differs, or is at another place.
    Effect,
    /// Memory of a kind differs, although the effects look alike.
    Memory(&'static str),
    /// Control depends on a different condition.
    Condition {
        /// The known values of the conditions before and after.
        constants: [Option<bool>; 2],
        /// True if one is the negation of the other.
        is_opposite: bool,
    },
    /// A branch is missing that could go either way.
    Undecided,
    /// A block ends differently.
    End,
    /// A load may fault where the function before did not load.
    Load,
    /// The instruction computes with an undefined value, and is executed more often than before.
    Undefined,
    /// The functions differ in kind, GPU or stack objects.
    Declaration,
    /// The proof takes too many steps.
    TooLarge,
}

impl DoubtKind {
    fn sentence(self) -> String {
        match self {
            Self::Flow => "control does not go the same ways".to_owned(),
            Self::Effect => "this effect has no equal in the other function".to_owned(),
            Self::Memory(kind) => format!("{kind} differ at the end of the block"),
            Self::Condition { .. } => "this condition differs from the other function's".to_owned(),
            Self::Undecided => "this branch is not known to go one way only".to_owned(),
            Self::End => "the block ends in another way".to_owned(),
            Self::Load => "nothing shows that the other function loads from here, too".to_owned(),
            Self::Undefined => "this reads an undefined value, and more often than before".to_owned(),
            Self::Declaration => "kind, GPU or stack objects differ".to_owned(),
            Self::TooLarge => "the proof takes too many steps".to_owned(),
        }
    }
}

impl Doubt {
    /// Returns the doubt about a block of the function before (side 0) or after (side 1).
    fn at(kind: DoubtKind, side: usize, block: Block) -> Self {
        Self {
            kind,
            is_after: side == 1,
            instruction: None,
            block,
            values: None,
        }
    }

    /// Describes the doubt in a sentence, with block and instruction.
    pub fn describe(&self, before: &Function, after: &Function) -> String {
        let function = if self.is_after { after } else { before };
        let mut text = format!(
            "{} (bb.{} {}",
            self.kind.sentence(),
            function.label(self.block),
            if self.is_after { "after" } else { "before" }
        );
        if let Some(instruction) = self.instruction {
            let shown = function.display_instruction(instruction).to_string();
            write!(text, ": {}", shown.trim()).expect("writing to a string does not fail");
        }
        text.push(')');
        if let Some(values) = &self.values {
            let [before, after] = &**values;
            write!(text, "; before: {before}; after: {after}").expect("writing to a string does not fail");
        }
        text
    }
}

/// The most passes until all wrongly merged variables are separated.
const WALKS: usize = 24;
/// The most attempts with other assumptions on decided, merged or swapped branches.
const ATTEMPTS: usize = 8;

/// A function with the snapshot that describes its opaque parts.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The function.
    pub function: &'a Function,
    /// The snapshot that its operands come from.
    pub snapshot: Option<Snapshot<'a>>,
}

/// Proves that the function of one snapshot does the same as that of another, for any snapshots.
///
/// # Errors
/// A sentence that tells what could not be proved, or that Ori cannot represent one of the
/// functions.
pub fn validate_snapshots(before: Snapshot<'_>, after: Snapshot<'_>) -> Result<(), String> {
    let import = |snapshot: &Snapshot<'_>| from_machine(snapshot).map_err(|error| error.to_string());
    let (first, second) = (import(&before)?, import(&after)?);
    let subjects = [(&first, before), (&second, after)].map(|(function, snapshot)| Subject {
        function,
        snapshot: Some(snapshot),
    });
    let proof = Validator::default().validate(subjects[0], subjects[1]);
    proof.map_err(|doubt| doubt.describe(&first, &second))
}

/// Proves functions, one after the other, and reuses its memory.
#[derive(Debug, Default)]
pub struct Validator {
    memory: Memory,
}

impl Validator {
    /// Proves that a function still does the same after the phases.
    ///
    /// # Errors
    /// The first thing that could not be proved.
    pub fn validate(&mut self, before: Subject<'_>, after: Subject<'_>) -> Result<(), Doubt> {
        if !are_alike(before.function, after.function) {
            return Err(Doubt::at(DoubtKind::Declaration, 1, after.function.entry()));
        }
        if let Some(instruction) = undefined_reads::added_read(before.function, after.function) {
            let block = after.function.block_of(instruction);
            return Err(Doubt {
                instruction: Some(instruction),
                ..Doubt::at(DoubtKind::Undefined, 1, block.expect("it was found in a block"))
            });
        }
        let sides = [before, after].map(|subject| Side::new(subject.function, subject.snapshot));
        let mut names = NumberMap::default();
        let mut hints = Hints::default();
        let mut first = None;
        for _ in 0..ATTEMPTS {
            let related = match Related::new(&sides, &hints) {
                Ok(related) => related,
                Err(Unrelated { blocks }) => {
                    return Err(first.unwrap_or_else(|| Doubt::at(DoubtKind::Flow, 0, blocks[0])));
                }
            };
            // First with the assumptions that hold for most functions, then with all slower
            // methods.
            for (guess, is_thorough) in [(Guess::Names, false), (Guess::Names, true), (Guess::Blind, true)] {
                let doubts = self.attempt(&sides, &related, guess, is_thorough, &mut names);
                let Some(doubt) = doubts.first() else {
                    return Ok(());
                };
                if is_thorough && first.is_none() {
                    first = Some(doubt.clone());
                }
                if guess == Guess::Blind && !take_hints(&sides, &related, &doubts, &mut hints) {
                    return Err(first.expect("the thorough attempt had this doubt"));
                }
            }
        }
        Err(first.expect("an attempt without a doubt has ended before"))
    }

    /// Repeats the pass until no more variables need to be separated; returns the remaining doubts.
    fn attempt(
        &mut self,
        sides: &[Side<'_>; 2],
        related: &Related,
        guess: Guess,
        is_thorough: bool,
        names: &mut NumberMap<Box<str>, u32>,
    ) -> Vec<Doubt> {
        let mut forced: Vec<u32> = Vec::new();
        let mut pieces: Option<StackPieces> = None;
        let mut plan = JoinPlan::new(sides, related, None, guess, &forced);
        // The pass with the fewest doubts describes the problem best: the others are consequences.
        let mut least: Option<Vec<Doubt>> = None;
        for _ in 0..WALKS {
            let settings = Settings {
                is_thorough,
                pieces: pieces.as_ref(),
            };
            let (findings, slots) = number(sides, related, settings, &mut plan, &mut self.memory, names);
            let Findings {
                doubts,
                is_refined,
                mut undominated,
            } = findings;
            undominated.sort_unstable();
            undominated.dedup();
            undominated.retain(|variable| !forced.contains(variable));
            let followed = match is_thorough {
                true => StackPieces::of(&slots.accesses, &slots.escaped),
                false => None,
            };
            let is_same = followed == pieces;
            if undominated.is_empty() && !is_refined && is_same {
                let is_proved = doubts.is_empty();
                return least
                    .filter(|least| !is_proved && least.len() < doubts.len())
                    .unwrap_or(doubts);
            }
            if !doubts.is_empty() && least.as_ref().is_none_or(|least| doubts.len() < least.len()) {
                least = Some(doubts);
            }
            if !is_same {
                // From here on the variables have other numbers.
                pieces = followed;
                forced.clear();
                plan = JoinPlan::new(sides, related, pieces.as_ref(), guess, &forced);
            } else if !undominated.is_empty() {
                forced.extend(undominated);
                plan = JoinPlan::new(sides, related, pieces.as_ref(), guess, &forced);
            }
        }
        least.unwrap_or_else(|| vec![Doubt::at(DoubtKind::TooLarge, 0, sides[0].function.entry())])
    }
}

/// True if two functions have the same kind and GPU, and the second one's stack objects are among
/// the first one's.
fn are_alike(before: &Function, after: &Function) -> bool {
    let kind = |function: &Function| {
        (
            function.info.flags.contains(FunctionFlags::KERNEL),
            function.info.sm,
        )
    };
    let count = |function: &Function| function.stack_objects().count();
    let is_kept = |one: &StackObject, other: &StackObject| {
        other.is_removed
            || (one.size, one.alignment, one.is_fixed) == (other.size, other.alignment, other.is_fixed)
    };
    let mut objects = before.stack_objects().zip(after.stack_objects());
    kind(before) == kind(after)
        && count(after) <= count(before)
        && objects.all(|((_, one), (_, other))| is_kept(one, other))
}

/// Derives from differing or undecided conditions another way in which branches may correspond; returns whether
/// there is one that was not tried.
fn take_hints(sides: &[Side<'_>; 2], related: &Related, doubts: &[Doubt], hints: &mut Hints) -> bool {
    let mut is_new = false;
    for doubt in doubts {
        if doubt.kind == DoubtKind::Undecided && !doubt.is_after {
            let mut nodes = related.nodes.iter();
            let is_undecided = |it: &Segment| it.block == doubt.block && it.decided.is_some();
            if let Some(node) = nodes.find(|node| node.stretches[0].iter().any(is_undecided)) {
                is_new |= hints.merged.insert(node.place_of(doubt.block), ()).is_none();
            }
            continue;
        }
        let DoubtKind::Condition {
            constants,
            is_opposite,
        } = doubt.kind
        else {
            continue;
        };
        let mut nodes = related.nodes.iter();
        let Some(node) = nodes.find(|node| last_blocks(&node.stretches)[1] == doubt.block) else {
            continue;
        };
        let blocks = last_blocks(&node.stretches);
        for side in 0..2 {
            if let Some(holds) = constants[side]
                && sides[side].function.is_placed(blocks[side])
            {
                let place = node.place_of(blocks[side]);
                is_new |= hints.decided[side].insert(place, holds).is_none();
            }
        }
        if is_opposite && constants == [None, None] {
            let flipped = matches!(node.end, related::PairEnd::Branch { opposite: false });
            is_new |= hints.flipped.insert((blocks[0], blocks[1]), flipped).is_none();
        }
    }
    is_new
}
