//! Replaces indexed accesses to an object by accesses at each possible position.
//!
//! ```text
//! %4 = IMUL.WIDE.u64.u32 %1, 4              %6 = ISETP.eq %1, 1
//! %5 = IADD.b64 %3, %4                      %7 = LD.local.b32 [frame(0)]
//! %2 = LD.local.b32 [%5]          ─▶        %8 = LD.local.b32 [frame(0)+4]
//!                                           %2 = SEL.b32 %8, %7, %6
//! ```
//!
//! For a load, the element with the index's value is selected; a store writes to each element
//! either the new value or the old one. With constant offsets alone, the object can be promoted. An
//! address outside the object, or one that is not sufficiently aligned, is undefined behaviour, so
//! an index is always the number of an element.

use super::frame_objects::{Access, Use};
use super::index::Index;
use super::piece::MOST_PIECES;
use super::rewrite::{bits_of, insert_as, moved_constant};
use oriel_engine::entity::{FrameObject, Register};
use oriel_ori::{
    Comparison, DataType, Function, Instruction, InstructionBuilder, Modifiers, Operand, Operation, Position,
    RegisterFile, Special,
};
use smallvec::SmallVec;

/// True if the accesses at all positions of an index would have more pieces than an object may have.
/// Expanding them first would take the memory and the time of all these accesses for nothing.
pub fn has_too_many_positions(function: &Function, object: FrameObject, found: &Use) -> bool {
    let size = function.stack_object(object).size;
    found.accesses.iter().any(|access| {
        access.index.is_some_and(|index| {
            let positions = index.positions(access.offset, access.bytes(function), size);
            positions.take(MOST_PIECES + 1).count() > MOST_PIECES
        })
    })
}

/// Replaces all indexed accesses to an object by accesses at constant positions, and removes the
/// indexed addresses. Returns the number of selections.
pub fn expand(function: &mut Function, object: FrameObject, found: &Use) -> u64 {
    let mut expansion = Expansion {
        base: function.special_operand(Special::Frame(object)),
        size: function.stack_object(object).size,
        selected: 0,
    };
    for access in &found.accesses {
        if let Some(index) = access.index {
            expansion.expand(function, access, index);
            function.remove(access.instruction);
        }
    }
    // Each is after those that it depends on.
    for &address in found.indexed_addresses.iter().rev() {
        function.remove(address);
    }
    expansion.selected
}

struct Expansion {
    /// The object.
    base: Operand,
    size: u64,
    selected: u64,
}

impl Expansion {
    fn expand(&mut self, function: &mut Function, access: &Access, index: Index) {
        let positions: Vec<(u64, i64)> = index
            .positions(access.offset, access.bytes(function), self.size)
            .collect();
        if access.is_store(function) {
            for &(position, value) in &positions {
                self.store(function, access, index, position, value);
            }
        } else {
            self.load(function, access, index, &positions);
        }
    }

    /// Loads all elements and selects one.
    fn load(&mut self, function: &mut Function, access: &Access, index: Index, positions: &[(u64, i64)]) {
        let load = access.instruction;
        let results: SmallVec<[Register; 4]> = access
            .values(function)
            .iter()
            .map(|result| result.as_register().expect("a load has registers as results"))
            .collect();
        let Some((&(first, _), others)) = positions.split_first() else {
            // There is no such element, so control never gets here.
            for &result in &results {
                let new = InstructionBuilder::new(Operation::ImplicitDef, bits_of(function, result));
                insert_as(function, load, new, result);
            }
            return;
        };
        let mut selected = self.load_at(function, load, &results, first);
        for &(position, value) in others {
            let loaded = self.load_at(function, load, &results, position);
            let is_chosen = is_equal(function, load, index, value);
            for (selected, loaded) in selected.iter_mut().zip(loaded) {
                let into = function.create_register_like(loaded);
                self.select(function, load, into, [loaded, *selected], is_chosen);
                *selected = into;
            }
        }
        for (&result, &selected) in results.iter().zip(&selected) {
            let selected = function.register_operand(selected);
            function.replace_uses(result, selected);
        }
    }

    /// Stores to an element if the index selects it.
    fn store(&mut self, function: &mut Function, access: &Access, index: Index, position: u64, value: i64) {
        let store = access.instruction;
        let data_type = function.data_type(store);
        let sources = access.values(function);
        let stored: SmallVec<[Register; 4]> = sources
            .iter()
            .map(|&source| stored_register(function, store, source))
            .collect();
        let before: SmallVec<[Register; 4]> = stored
            .iter()
            .map(|&model| function.create_register_like(model))
            .collect();
        let position = function.integer_operand(position as i64);
        let mut load = InstructionBuilder::new(Operation::Ld, data_type)
            .source_type(function.source_type(store))
            .modifiers(function.modifiers(store))
            .with_sources(&[self.base, position]);
        for &register in &before {
            load = load.result(function.register_operand(register));
        }
        function.insert(Position::Before(store), load);
        let is_chosen = is_equal(function, store, index, value);
        let mut after: SmallVec<[Operand; 6]> = SmallVec::new();
        for ((&new, &old), source) in stored.iter().zip(&before).zip(&sources) {
            let into = if source.is_undefined() {
                old
            } else {
                let into = function.create_register_like(new);
                self.select(function, store, into, [new, old], is_chosen);
                into
            };
            after.push(function.register_operand(into));
        }
        after.extend([self.base, position]);
        let new = InstructionBuilder::copy_of(function, store).with_sources(&after);
        function.insert(Position::Before(store), new);
    }

    /// Copies a load to a position of its own. Returns its results.
    fn load_at(
        &self,
        function: &mut Function,
        load: Instruction,
        models: &[Register],
        position: u64,
    ) -> SmallVec<[Register; 4]> {
        let mut sources: SmallVec<[Operand; 4]> = function.sources(load).iter().collect();
        sources[0] = self.base;
        sources[1] = function.integer_operand(position as i64);
        let mut new = InstructionBuilder::copy_of(function, load).with_sources(&sources);
        let mut loaded = SmallVec::new();
        for &model in models {
            let register = function.create_register_like(model);
            new = new.result(function.register_operand(register));
            loaded.push(register);
        }
        function.insert(Position::Before(load), new);
        loaded
    }

    /// Selects the first value where a predicate is true, the second where it is false.
    fn select(
        &mut self,
        function: &mut Function,
        at: Instruction,
        into: Register,
        values: [Register; 2],
        predicate: Operand,
    ) {
        let [one, other] = values.map(|value| function.register_operand(value));
        let new = InstructionBuilder::new(Operation::Sel, bits_of(function, into))
            .result(function.register_operand(into))
            .with_sources(&[one, other, predicate])
            .in_place_of(function.origin(at));
        function.insert(Position::Before(at), new);
        self.selected += 1;
    }
}

/// Returns a predicate that is true where an index has a value.
fn is_equal(function: &mut Function, at: Instruction, index: Index, value: i64) -> Operand {
    let predicate = function.create_register(RegisterFile::P, 1, None);
    let predicate = function.register_operand(predicate);
    let modifiers = Modifiers {
        comparison: Comparison::Eq,
        ..Modifiers::default()
    };
    let sources = [
        function.register_operand(index.register),
        function.integer_operand(value),
    ];
    let new = InstructionBuilder::new(Operation::Isetp, DataType::B1)
        .source_type(bits_of(function, index.register))
        .modifiers(modifiers)
        .result(predicate)
        .with_sources(&sources)
        .in_place_of(function.origin(at));
    function.insert(Position::Before(at), new);
    predicate
}

/// Returns a register with the value that a store stores.
fn stored_register(function: &mut Function, store: Instruction, source: Operand) -> Register {
    if let Some(register) = source.as_register() {
        return register;
    }
    let bits = function.memory_type(store).bits().max(16);
    let wanted = DataType::of_bits(bits).expect("loads and stores have elements of up to 64 bits");
    let (data_type, constant) = moved_constant(function, source, wanted);
    let register = function.create_register_of(wanted);
    let new = InstructionBuilder::new(Operation::Mov, data_type)
        .result(function.register_operand(register))
        .source(constant)
        .in_place_of(function.origin(store));
    function.insert(Position::Before(store), new);
    register
}
