//! The values that an instruction may use.

use super::index::Value;
use super::model::Type;
use oriel_random::Random;

/// The number of values of each type that are remembered; a longer memory gives longer live ranges.
const REMEMBERED: usize = 4;

/// Some of the values that dominate a point of the program.
///
/// Each block starts with the values at the end of its immediate dominator. New values replace old
/// ones at random, so most values are used soon and a few live long, as in real programs.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    values: [[Option<Value>; REMEMBERED]; Type::ALL.len()],
}

impl Scope {
    pub(super) fn has(&self, ty: Type) -> bool {
        self.values[ty as usize][0].is_some()
    }

    pub(super) fn add(&mut self, ty: Type, value: Value, random: &mut Random) {
        let values = &mut self.values[ty as usize];
        match values.iter_mut().find(|slot| slot.is_none()) {
            Some(slot) => *slot = Some(value),
            None => values[random.index(REMEMBERED)] = Some(value),
        }
    }

    /// Returns a value of the type, if one is remembered.
    pub(super) fn pick(&self, ty: Type, random: &mut Random) -> Option<Value> {
        let values = &self.values[ty as usize];
        let count = values.iter().flatten().count();
        if count == 0 {
            None
        } else {
            values[random.index(count)]
        }
    }
}
