//! Updates and queries judged by another implementation, LLVM's.
//!
//! Random sequences of operations are applied to the engine's intervals and to the judge's. After
//! each, every interval is compared segment by segment and value by value, and so are the results
//! of the operations. A sequence depends on the function alone, so that a difference can be
//! reproduced.
//!
//! The judge numbers positions differently once instructions were inserted, so both sides use an
//! entry's position in the list of entries, times four, plus the slot.

mod function_changes;
mod questions;
mod range_changes;
mod session;

use super::intervals::{self, ForeignIntervals};
use oriel_engine::entity::Register;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::c_enum;
use session::Session;

c_enum! {
    /// The operation or query; `cpp-shim/oriel_ffi.h` describes the arguments and answers.
    UpdateKind {
        /// Give a new instruction an index.
        Insert = 0,
        /// Remove the index of a new instruction.
        Remove = 1,
        /// Add and remove several instructions, and repair the block.
        Repair = 2,
        /// Move an instruction.
        Move = 3,
        /// Make an operand undefined.
        Undef = 4,
        /// Shrink a range to its uses.
        Shrink = 5,
        /// Prune a value.
        Prune = 6,
        /// Extend a range.
        Extend = 7,
        /// Split a range into components.
        Split = 8,
        /// Renumber everything.
        Pack = 9,
        /// Define a value.
        CreateDeadDefinition = 10,
        /// Extend a value in its block.
        ExtendInBlock = 11,
        /// Add a segment.
        AddSegment = 12,
        /// Remove a segment.
        RemoveSegment = 13,
        /// Remove a value.
        RemoveValue = 14,
        /// Merge two values.
        MergeValues = 15,
        /// Number values in the order of segments.
        RenumberValues = 16,
        /// Create a value without segments.
        NewValue = 17,
        /// Merge another range into a value.
        MergeSegments = 18,
        /// Merge a value of another range into a value.
        MergeValue = 19,
        /// Join two ranges.
        Join = 20,
        /// Query positions.
        AskPosition = 21,
        /// Query the relation of two ranges.
        AskPair = 22,
        /// Query where a range enters and leaves blocks.
        AskBlocks = 23,
        /// Query whether the registers of a copy interfere.
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

    fn of_range(kind: UpdateKind, register: Register) -> Self {
        Self {
            register: register.as_u32(),
            ..Self::new(kind)
        }
    }
}

/// The other implementation, working on the same function.
pub trait Judge {
    /// Performs `update` and returns the answer.
    fn perform(&mut self, update: &Update) -> Vec<u32>;

    /// Returns the state of all intervals.
    fn state(&mut self) -> ForeignIntervals<'_>;

    /// Restarts with the intervals of the current function.
    fn restart(&mut self);
}

/// Represents "none" in the judge's numbers.
const NONE: u32 = u32::MAX;
/// Sequences of changes to single ranges for each function.
const RANGE_SEQUENCES: u64 = 2;
/// Operations of each of these.
const RANGE_OPERATIONS: usize = 60;
/// Changes of the function and its intervals.
const FUNCTION_OPERATIONS: usize = 80;
/// Repairs of blocks at the end.
const REPAIRS: usize = 6;

/// Applies random sequences of operations to the intervals of `snapshot` and to those of `judge`.
/// With `damage` one of the intervals is wrong from the start, for tests that a difference is
/// found.
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
    // This is the last one: it changes the judge's function.
    judge.restart();
    let mut session = Session::new(snapshot, judge, seed + RANGE_SEQUENCES);
    let done = (0..FUNCTION_OPERATIONS).try_for_each(|_| session.change_function());
    // From then on the sides differ in entries that belong to nothing, so nothing else can follow.
    let done = done.and_then(|()| (0..REPAIRS).try_for_each(|_| session.repair()));
    done.map_err(|problem| session.explain(&problem))
}
