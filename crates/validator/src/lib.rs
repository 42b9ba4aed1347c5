//! The validator: proves that a function does after the phases what it did before.
//!
//! It takes both functions as they are and shares no code with the phases. What it can't prove is
//! not wrong for that; whoever asks keeps the function before.
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
//! 1. `related` pairs stretches of blocks of the two functions, so that both go the same way step by step.
//! 2. `numbering` gives every computation of both functions a value, in one graph (`values`): equal values are equal
//!    computations (value-graph translation validation: Tristan, Govereau and Morrisett, PLDI 2011). Normal forms
//!    (`sums`, `bits`, `predicates`) make a computation and what a phase makes of it one value; each is an
//!    identity of integers; of floating-point numbers only signs move (`floats`).
//! 3. At the end of each pair, memory by kind, the sequence of effects and the condition of the branch have to be the same
//!    value. Memory is a value as well: each store or effect makes a new one of the last (`effects`).
//! 4. A load that the function after does has to be one that the function before does on the same way, since it may fault.
//!
//! That the relation holds for ever follows by induction over the steps of the related flow: what
//! is assumed of values that loops bring back is checked against what they do bring.
//!
//! An undefined value of the function before may be any value in the function after (refinement, as
//! Alive2 defines it), never the other way round.

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
mod values;

use memory::StackPieces;
use numbering::{Findings, Guess, Memory, Plan, Settings, walk};
use oriel_engine::entity::Block;
use oriel_engine::hash::NumberMap;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::FunctionFlags;
use oriel_ori::machine::from_machine;
use oriel_ori::{Function, Instruction, StackObject};
use related::{Hints, Related, Unrelated};
use side::Side;
use std::fmt::Write;

/// Why two functions are not known to do the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Doubt {
    /// What differs.
    pub kind: DoubtKind,
    /// Is it in the function after, or in the one before?
    is_after: bool,
    /// The instruction that it was seen at.
    instruction: Option<Instruction>,
    /// Its block.
    block: Block,
    /// What it is in the function before and in the one after, as expressions.
    values: Option<Box<[String; 2]>>,
}

/// What may differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DoubtKind {
    /// Control goes other ways.
    Flow,
    /// An effect is another one, or at another place.
    Effect,
    /// Memory of a kind is not the same, though the effects look alike.
    Memory(&'static str),
    /// Control depends on another condition.
    Condition {
        /// What is known of the conditions before and after.
        constants: [Option<bool>; 2],
        /// Is one the opposite of the other?
        is_opposite: bool,
    },
    /// A branch is gone that could go either way.
    Undecided,
    /// A block ends in another way.
    End,
    /// A load may fault where nothing was loaded before.
    Load,
    /// The functions are of different kinds, for different GPUs, or have other objects on the
    /// stack.
    Declaration,
    /// The proof takes too many steps.
    TooLarge,
}

impl DoubtKind {
    /// A short name, for counters and remarks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Flow => "flow",
            Self::Effect => "effect",
            Self::Memory(_) => "memory",
            Self::Condition { .. } => "condition",
            Self::Undecided => "undecided-branch",
            Self::End => "end-of-block",
            Self::Load => "load",
            Self::Declaration => "declaration",
            Self::TooLarge => "too-large",
        }
    }

    fn sentence(self) -> String {
        match self {
            Self::Flow => "control does not go the same ways".to_owned(),
            Self::Effect => "this effect has no equal in the other function".to_owned(),
            Self::Memory(kind) => format!("{kind} differ at the end of the block"),
            Self::Condition { .. } => "this condition differs from the other function's".to_owned(),
            Self::Undecided => "this branch is not known to go one way only".to_owned(),
            Self::End => "the block ends in another way".to_owned(),
            Self::Load => "nothing shows that the other function loads from here, too".to_owned(),
            Self::Declaration => "kind, GPU or stack objects differ".to_owned(),
            Self::TooLarge => "the proof takes too many steps".to_owned(),
        }
    }
}

impl Doubt {
    /// The doubt in a sentence, with block and instruction.
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

/// Walks until variables that were taken to be alike are told apart, at most.
const WALKS: usize = 24;
/// Attempts with other branches taken to be decided or turned round, at most.
const ATTEMPTS: usize = 8;

/// A function, and the snapshot that describes what Ori has no meaning for.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// The function.
    pub function: &'a Function,
    /// The snapshot that its operands come from.
    pub snapshot: Option<Snapshot<'a>>,
}

/// Proves that the function of one snapshot does what that of another does, whatever the snapshots
/// hold.
///
/// # Errors
/// What could not be proved, or that Ori cannot represent one of them, in a sentence.
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

/// Proves functions, one after the other, with the same memory.
#[derive(Debug, Default)]
pub struct Validator {
    memory: Memory,
}

impl Validator {
    /// Proves that a function does after phases what it did before.
    ///
    /// # Errors
    /// What could not be proved, the first of it.
    pub fn validate(&mut self, before: Subject<'_>, after: Subject<'_>) -> Result<(), Doubt> {
        if !are_alike(before.function, after.function) {
            return Err(Doubt {
                kind: DoubtKind::Declaration,
                is_after: true,
                instruction: None,
                block: after.function.entry(),
                values: None,
            });
        }
        let sides = [before, after].map(|subject| Side::new(subject.function, subject.snapshot));
        let mut names = NumberMap::default();
        let mut hints = Hints::default();
        let mut first = None;
        for _ in 0..ATTEMPTS {
            let related = match Related::new(&sides, &hints) {
                Ok(related) => related,
                Err(unrelated) => return Err(first.unwrap_or_else(|| doubt_of(unrelated))),
            };
            // As things are in most functions, then with all that takes longer.
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

    /// Walks until nothing has to be told apart any more; what is in doubt then.
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
        let mut plan = Plan::new(sides, related, None, guess, &forced);
        // The walk with the fewest doubts says best what is wrong: the others follow from it.
        let mut least: Option<Vec<Doubt>> = None;
        for _ in 0..WALKS {
            let settings = Settings {
                is_thorough,
                pieces: pieces.as_ref(),
            };
            let (findings, slots) = walk(sides, related, settings, &mut plan, &mut self.memory, names);
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
                // The variables have other numbers from here on.
                pieces = followed;
                forced.clear();
                plan = Plan::new(sides, related, pieces.as_ref(), guess, &forced);
            } else if !undominated.is_empty() {
                forced.extend(undominated);
                plan = Plan::new(sides, related, pieces.as_ref(), guess, &forced);
            }
        }
        least.unwrap_or_else(|| {
            vec![Doubt {
                kind: DoubtKind::TooLarge,
                is_after: false,
                instruction: None,
                block: sides[0].function.entry(),
                values: None,
            }]
        })
    }
}

/// Are two functions of one kind, for one GPU, with the same objects on the stack, as far as the
/// second has them still?
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

fn doubt_of(unrelated: Unrelated) -> Doubt {
    Doubt {
        kind: DoubtKind::Flow,
        is_after: false,
        instruction: None,
        block: unrelated.blocks[0],
        values: None,
    }
}

/// Takes from conditions that differ how branches may correspond otherwise; is there a way that was
/// not tried?
fn take_hints(sides: &[Side<'_>; 2], related: &Related, doubts: &[Doubt], hints: &mut Hints) -> bool {
    let mut is_new = false;
    for doubt in doubts {
        let DoubtKind::Condition {
            constants,
            is_opposite,
        } = doubt.kind
        else {
            continue;
        };
        let node = related.nodes.iter().find(|node| {
            let stretch = &node.stretches[1];
            stretch[stretch.len() - 1].block == doubt.block
        });
        let Some(node) = node else { continue };
        let blocks = [0, 1].map(|side: usize| node.stretches[side][node.stretches[side].len() - 1].block);
        for side in 0..2 {
            if let Some(holds) = constants[side]
                && sides[side].function.is_placed(blocks[side])
            {
                let begin = [0, 1].map(|side: usize| node.stretches[side][0].block);
                let place = (begin[0], begin[1], blocks[side]);
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
