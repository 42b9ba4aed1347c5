//! Expressions that are cheap to recompute.

use super::places::PlaceSearch;
use super::shared::distinct_sources;
use crate::never_worse::is_data;
use oriel_engine::entity::{Block, Register};
use oriel_ori::{AddressSpace, DataType, Function, Instruction, Operation, OperationFlags, units_of};
use smallvec::SmallVec;

/// The greatest depth of an expression in operations. The address of an element has two or three.
const MOST_DEPTH: u32 = 5;

/// The operations that compute a value in a block from what the block has.
pub(super) struct Expression {
    /// Their originals, operands before users; the value's own is the last.
    definitions: SmallVec<[Instruction; 4]>,
}

impl Expression {
    /// Returns the expression that recomputes a value in a block; none if it costs as many registers
    /// as the value.
    pub fn of(
        function: &Function,
        search: &PlaceSearch<'_>,
        definition: Instruction,
        block: Block,
    ) -> Option<Self> {
        let mut collection = Collection {
            function,
            search,
            block,
            definitions: SmallVec::new(),
        };
        let needed = collection.add(definition, MOST_DEPTH);
        let result = function.results(definition).iter().next();
        let saved = search.units.get(result.and_then(|result| result.as_register())?);
        (needed < saved).then_some(Self {
            definitions: collection.definitions,
        })
    }

    /// Returns the definitions to copy, operands before users.
    pub fn definitions(&self) -> &[Instruction] {
        &self.definitions
    }

    /// Returns the number of operations.
    pub fn len(&self) -> usize {
        self.definitions.len()
    }
}

/// Collects the operations of an expression.
struct Collection<'a> {
    function: &'a Function,
    search: &'a PlaceSearch<'a>,
    block: Block,
    definitions: SmallVec<[Instruction; 4]>,
}

impl Collection<'_> {
    /// Adds a definition and those that it needs, at most `depth` operations deep. Returns how many
    /// units become live in the block for it.
    fn add(&mut self, definition: Instruction, depth: u32) -> u32 {
        let sources = distinct_sources(self.function, definition).into_iter();
        let units = sources.map(|source| self.add_source(source, depth - 1)).sum();
        if !self.definitions.contains(&definition) {
            self.definitions.push(definition);
        }
        units
    }

    /// Adds the definition of a source if it is not [at hand](PlaceSearch::is_at_hand), and if
    /// recomputing it needs fewer units than the source. Returns the units needed.
    fn add_source(&mut self, source: Register, depth: u32) -> u32 {
        if self.search.is_at_hand(self.function, source, self.block) {
            return 0;
        }
        let units = units_of(self.function, source);
        let definition = self.function.unique_definition(source);
        let Some(definition) = definition.filter(|&it| depth > 0 && self.search.is_cheap(self.function, it))
        else {
            return units;
        };
        let known = self.definitions.len();
        let needed = self.add(definition, depth);
        if needed >= units {
            self.definitions.truncate(known);
            return units;
        }
        needed
    }
}

/// True if recomputing it is cheaper than holding it in a register.
pub(super) fn is_cheap(function: &Function, definition: Instruction) -> bool {
    is_cheap_operation(function, definition)
        && has_one_result(function, definition)
        && function.is_removable_if_unused(definition)
        && !function.reads_undefined(definition)
}

/// True if the only result of an instruction is a register for data.
fn has_one_result(function: &Function, definition: Instruction) -> bool {
    let mut results = function.results(definition).iter();
    let first = results.next().and_then(|result| result.as_register());
    first.is_some_and(|result| is_data(function, result)) && results.next().is_none()
}

/// True if an operation takes less than a register is worth.
fn is_cheap_operation(function: &Function, definition: Instruction) -> bool {
    match function.operation(definition) {
        // Reading a special register takes long, and an undefined value costs nothing.
        Operation::S2r | Operation::ImplicitDef => false,
        // LLVM folds it into the address of the stack object, if both are in one block.
        Operation::Cvta => function.modifiers(definition).space != AddressSpace::Local,
        Operation::Cvt => is_widening(function.source_type(definition), function.data_type(definition)),
        // With a sum these are one instruction, and no slower than a sum.
        Operation::ImulWide | Operation::ImadWide => true,
        Operation::Imul | Operation::Imad => function.data_type(definition).bits() <= 32,
        operation => operation.flags().contains(OperationFlags::REMATERIALIZABLE),
    }
}

/// True for a widening integer conversion.
fn is_widening(from: DataType, to: DataType) -> bool {
    let is_integer = |data_type| {
        matches!(
            data_type,
            DataType::S16 | DataType::U16 | DataType::S32 | DataType::U32 | DataType::S64 | DataType::U64
        )
    };
    is_integer(from) && (is_integer(to) || to == DataType::B64) && from.bits() < to.bits()
}
