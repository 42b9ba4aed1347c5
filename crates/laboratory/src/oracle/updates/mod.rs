//! Updates and questions judged by another implementation, LLVM's.
//!
//! Random sequences of operations are done to the engine's intervals and to the judge's. After
//! each, every interval is compared segment by segment and value by value, and what the operations
//! return. A sequence follows from the function alone, so that a difference can be seen again.
//!
//! The judge numbers positions differently once instructions were inserted, so both sides speak of
//! the place of an entry in the list of entries, times four, plus the slot.

mod function_changes;
mod questions;
mod range_changes;
mod session;

use super::intervals::{self, ForeignIntervals};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::c_enum;
use session::Session;

c_enum! {
    /// What is to be done or answered; see `cpp-shim/oriel_ffi.h` for what each takes and answers.
    UpdateKind {
        /// A new instruction gets an index.
        Insert = 0,
        /// A new instruction loses it.
        Remove = 1,
        /// Several come and go, and the block is repaired.
        Repair = 2,
        /// An instruction moves.
        Move = 3,
        /// An operand reads nothing any more.
        Undef = 4,
        /// A range shrinks to its uses.
        Shrink = 5,
        /// A value is pruned.
        Prune = 6,
        /// A range is extended.
        Extend = 7,
        /// A range falls into components.
        Split = 8,
        /// All is numbered anew.
        Pack = 9,
        /// A value is defined.
        CreateDeadDefinition = 10,
        /// A value is extended in its block.
        ExtendInBlock = 11,
        /// A segment is added.
        AddSegment = 12,
        /// A segment is removed.
        RemoveSegment = 13,
        /// A value is removed.
        RemoveValue = 14,
        /// Two values become one.
        MergeValues = 15,
        /// Values are numbered in the order of segments.
        RenumberValues = 16,
        /// A value without segments is made.
        NewValue = 17,
        /// Another range becomes part of a value.
        MergeSegments = 18,
        /// A value of another range becomes part of a value.
        MergeValue = 19,
        /// Two ranges become one.
        Join = 20,
        /// What is known of positions?
        AskPosition = 21,
        /// How do two ranges lie to each other?
        AskPair = 22,
        /// Where does a range enter and leave blocks?
        AskBlocks = 23,
        /// Do the registers of a copy interfere?
        AskCopy = 24,
    }
}

/// An operation; unused fields are zero.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[allow(missing_docs, reason = "the fields are those of `OrielUpdate`")]
pub struct Update {
    pub kind: u32,
    pub register: u32,
    pub other: u32,
    pub instruction: u32,
    pub anchor: u32,
    pub block: u32,
    pub start: u32,
    pub end: u32,
    pub value: u32,
    pub into: u32,
    pub flag: u32,
    pub list: Vec<u32>,
}

impl Update {
    fn new(kind: UpdateKind) -> Self {
        Self {
            kind: kind as u32,
            ..Self::default()
        }
    }
}

/// The other implementation, at work on the same function.
pub trait Judge {
    /// Does what `update` says and returns the answer.
    fn perform(&mut self, update: &Update) -> Vec<u32>;

    /// Returns the state of all intervals.
    fn state(&mut self) -> ForeignIntervals<'_>;

    /// Starts anew with the intervals of the function as it is.
    fn restart(&mut self);
}

/// Stands for "none" in numbers that the judge gives and takes.
const NONE: u32 = u32::MAX;
/// Sequences of changes to single ranges that each function gets.
const RANGE_SEQUENCES: u64 = 2;
/// Operations of each of these.
const RANGE_OPERATIONS: usize = 60;
/// Changes of the function and its intervals.
const FUNCTION_OPERATIONS: usize = 80;
/// Repairs of blocks at the end of that.
const REPAIRS: usize = 6;

/// Does random sequences of operations to the intervals of `snapshot` and to those of `judge`. With
/// `damage` one of the intervals is wrong from the start, for tests that a difference is found.
///
/// # Errors
/// They differ; the message shows the operations, and both sides.
pub fn check(snapshot: &Snapshot<'_>, judge: &mut dyn Judge, damage: bool) -> Result<(), String> {
    let seed = u64::from(crc32fast::hash(&snapshot.to_bytes())) << 8;
    for sequence in 0..RANGE_SEQUENCES {
        judge.restart();
        let mut session = Session::new(snapshot, judge, seed + sequence);
        if damage {
            intervals::damage(&mut session.intervals);
        }
        let done = (0..RANGE_OPERATIONS).try_for_each(|_| session.change_ranges());
        done.map_err(|problem| session.explain(&problem))?;
    }
    // This one last: it changes the judge's function.
    judge.restart();
    let mut session = Session::new(snapshot, judge, seed + RANGE_SEQUENCES);
    let done = (0..FUNCTION_OPERATIONS).try_for_each(|_| session.change_function());
    // From then on the sides differ in entries that belong to nothing, so nothing else can follow.
    let done = done.and_then(|()| (0..REPAIRS).try_for_each(|_| session.repair()));
    done.map_err(|problem| session.explain(&problem))
}
