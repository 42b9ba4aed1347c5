//! Expressions that are cheap to recompute.

use super::availability::{Availability, distinct_sources};
use oriel_engine::entity::{Block, Register};
use oriel_ori::{Function, Instruction, units_of};
use smallvec::SmallVec;

/// The greatest depth of an expression in operations. The address of an element has two or three.
const MOST_DEPTH: u32 = 5;

/// The operations that compute a value in a block from operands that are available there.
pub(super) struct Expression {
    /// Their originals, operands before users; the value's own is the last.
    definitions: SmallVec<[Instruction; 4]>,
}

impl Expression {
    /// Returns the expression that recomputes a value in a block; none if it costs as many registers
    /// as the value.
    pub fn of(
        function: &Function,
        available: &Availability<'_>,
        definition: Instruction,
        block: Block,
    ) -> Option<Self> {
        let mut collection = Collection {
            function,
            available,
            block,
            definitions: SmallVec::new(),
        };
        let needed = collection.add(definition, MOST_DEPTH);
        let result = function.results(definition).iter().next();
        let saved = available
            .units
            .get(result.and_then(|result| result.as_register())?);
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
    available: &'a Availability<'a>,
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

    /// Adds the definition of a source if it is not [at hand](Availability::is_at_hand), and if
    /// recomputing it needs fewer units than the source. Returns the units needed.
    fn add_source(&mut self, source: Register, depth: u32) -> u32 {
        if self.available.is_at_hand(self.function, source, self.block) {
            return 0;
        }
        let units = units_of(self.function, source);
        let definition = self.function.unique_definition(source);
        let Some(definition) =
            definition.filter(|&it| depth > 0 && self.available.is_cheap(self.function, it))
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
