//! The circular buffer: six slots, each with a pair of moves and the operation that they feed.

use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, Operation};
use smallvec::SmallVec;

/// Slots in the buffer.
const SLOTS: usize = 6;

/// Moves in a slot.
const PAIR: usize = 2;

/// A slot.
#[derive(Clone, Debug, Default)]
struct Slot {
    /// The moves: those whose only user is one common operation.
    moves: SmallVec<[Instruction; PAIR]>,
    /// An operation with these as operands, and its value.
    user: Option<(Instruction, Register)>,
}

/// The latest moves of a block.
#[derive(Clone, Debug, Default)]
pub(super) struct Window {
    slots: [Slot; SLOTS],
    /// The slot to be reused next.
    oldest: usize,
    /// All moves that have been in the window.
    all: Vec<Instruction>,
}

impl Window {
    /// Adds a move: beside the other move of its user, or in the oldest slot. Returns whether
    /// another move was evicted.
    pub fn enter(&mut self, function: &Function, instruction: Instruction) -> bool {
        self.all.push(instruction);
        let user = only_user(function, instruction);
        let partner = self.slots.iter_mut().find(
            |slot| matches!(slot.moves[..], [only] if user.is_some() && only_user(function, only) == user),
        );
        if let Some(slot) = partner {
            slot.moves.push(instruction);
            return false;
        }
        let slot = &mut self.slots[self.oldest];
        self.oldest = (self.oldest + 1) % SLOTS;
        let is_taken = !slot.moves.is_empty();
        *slot = Slot::default();
        slot.moves.push(instruction);
        is_taken
    }

    /// Returns the moves in the buffer that still exist.
    pub fn moves(&self) -> impl Iterator<Item = Instruction> + '_ {
        self.slots.iter().flat_map(|slot| slot.moves.iter().copied())
    }

    /// Returns every move that has been in the buffer.
    pub fn all(&self) -> &[Instruction] {
        &self.all
    }

    /// Returns the move that defines a register.
    pub fn move_to(&self, function: &Function, register: Register) -> Option<Instruction> {
        let definition = function.unique_definition(register)?;
        self.moves().find(|&instruction| instruction == definition)
    }

    /// True if an operation may be a recorded one, or one to record.
    pub fn concerns(&self, function: &Function, user: Instruction) -> bool {
        let is_noted = self.slots.iter().any(|slot| slot.user.is_some());
        let mut sources = function.sources(user).iter();
        is_noted
            || sources.any(|source| {
                let register = source.as_register();
                register.is_some_and(|register| self.move_to(function, register).is_some())
            })
    }

    /// Returns an operation on a pair in the buffer with this value.
    pub fn user_with(&self, value: Register) -> Option<Instruction> {
        let mut users = self.slots.iter().filter_map(|slot| slot.user);
        users.find(|&(_, other)| other == value).map(|(user, _)| user)
    }

    /// Records an operation if it has a move in the buffer as an operand.
    pub fn note_user(&mut self, function: &Function, user: Instruction, value: Register) {
        let sources = function.sources(user);
        let defined: SmallVec<[Instruction; 3]> = sources
            .iter()
            .filter_map(|source| function.unique_definition(source.as_register()?))
            .collect();
        let slot = self
            .slots
            .iter_mut()
            .find(|slot| slot.moves.iter().any(|it| defined.contains(it)));
        if let Some(slot) = slot {
            slot.user = Some((user, value));
        }
    }
}

/// Returns the only instruction that uses a move's result, if that is an operation.
fn only_user(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let register = function.result(instruction, 0).as_register()?;
    let mut users = function.uses(register).map(|(user, _)| user);
    let first = users.next()?;
    let is_only = users.all(|user| user == first) && function.operation(first) != Operation::Phi;
    is_only.then_some(first)
}
