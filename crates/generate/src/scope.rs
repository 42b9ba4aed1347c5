//! Which values an instruction may use.

use super::index::Value;
use super::model::Type;
use oriel_random::Random;

/// Values of each type remembered; a longer memory means longer live ranges.
const REMEMBERED: usize = 4;

/// Some of the values that dominate a point of the program.
///
/// Each block starts with what its immediate dominator had at its end. New values push out old ones
/// at random, so most values are used soon and a few live long, as in real programs.
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

    /// A value of the type, if one is remembered.
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
