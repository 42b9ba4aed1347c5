//! Compares the ends of a pair of stretches: effects, memory, and control flow.

use super::*;

/// The deepest nesting of values that are compared.
const DEEPEST: u32 = 64;

/// How a value is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Reading {
    /// By a store, another effect or a branch, as it is. Each of them may read an undefined value as another one.
    Direct,
    /// To compute a result, which is one value for all its readers, whatever its operand is read as. So an
    /// undefined operand must stay.
    Computing,
}

/// The knowledge of whether one value may become another one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Compared {
    /// It may.
    Refined,
    /// Comparing operations nested so deeply did not show it.
    NotWithin(u32),
}

impl NumberingPass<'_, '_> {
    /// Instructions that depend on which threads execute them together must correspond one to one.
    fn match_convergent(&mut self, node: RelatedNode) {
        let of_side = |pass: &Self, side: usize| -> SmallVec<[Instruction; 8]> {
            let function = pass.sides[side].function;
            let effects = pass.effects[side].iter().map(|effect| effect.instruction);
            effects
                .filter(|&effect| is_convergent(function, effect))
                .collect()
        };
        let [before, after] = [0, 1].map(|side| of_side(self, side));
        for (&one, &other) in before.iter().zip(&after) {
            for (side, key, value) in [(0, one, other), (1, other, one)] {
                if *self.convergent.entry((side, key)).or_insert(value) != value {
                    self.doubt(DoubtKind::Effect, 1, Some(other), node);
                }
            }
        }
    }

    pub(super) fn compare_effects(&mut self, node: RelatedNode) {
        self.ends_before[node.index()] = self.may_not_return(0);
        self.match_convergent(node);
        let differs = |pass: &Self, chain: usize| {
            let [before, after] = [0, 1].map(|side| pass.cells[pass.chain(side, chain) as usize]);
            before.value != after.value
        };
        let is_equal = (0..Chains::COUNT).all(|chain| !differs(self, chain));
        for chain in 0..Chains::COUNT {
            for side in 0..2 {
                let member = self.cells[self.chain(side, chain) as usize].member;
                self.use_member(member);
            }
        }
        if is_equal {
            return;
        }
        match self.settings.is_thorough.then(|| self.match_effects()) {
            Some(Ok(())) => {
                // The effects may be reordered, but memory and effects have equal values now.
                for chain in 0..Chains::COUNT {
                    let cell = self.cells[self.chain(0, chain) as usize];
                    self.set_cell(self.chain(1, chain), cell);
                }
            }
            Some(Err((side, effect, values))) => {
                self.doubt_of_values(DoubtKind::Effect, side, Some(effect), node, values);
            }
            None => {
                let chain = (0..Chains::COUNT)
                    .find(|&chain| differs(self, chain))
                    .unwrap_or(0);
                let [before, after] = [0, 1].map(|side: usize| self.effects[side].len());
                let first = (0..before.max(after)).find(|&number| {
                    let [one, other] =
                        [0, 1].map(|side: usize| self.effects[side].get(number).map(|e| e.action));
                    one != other
                });
                let effect = first.and_then(|number| {
                    let on = |side: usize| {
                        self.effects[side]
                            .get(number)
                            .map(|effect| (side, effect.instruction))
                    };
                    on(1).or_else(|| on(0))
                });
                match effect {
                    Some((side, instruction)) => self.doubt(DoubtKind::Effect, side, Some(instruction), node),
                    None => self.doubt(DoubtKind::Memory(Chains::name(chain)), 1, None, node),
                }
            }
        }
    }

    /// True if the effects of both stretches are the same, except for the order of independent
    /// ones. The state on entry to the node must be the same.
    fn match_effects(&mut self) -> Result<(), (usize, Instruction, Option<[Value; 2]>)> {
        let [before, mut after] = std::mem::take(&mut self.effects);
        for effect in &before {
            let found = after.iter().position(|other| {
                effect.chains == other.chains && self.effect_refines(effect.action, other.action, DEEPEST)
            });
            let Some(position) = found else {
                let like = after.iter().find(|other| {
                    effect.chains == other.chains
                        && self.values.operator(effect.action) == self.values.operator(other.action)
                });
                let values = like.map(|other| self.first_difference(effect.action, other.action));
                return Err((0, effect.instruction, values));
            };
            if !after[..position]
                .iter()
                .all(|passed| self.commute(passed, effect))
            {
                return Err((0, effect.instruction, None));
            }
            after.remove(position);
        }
        match after.first() {
            Some(effect) => Err((1, effect.instruction, None)),
            None => Ok(()),
        }
    }

    /// Returns the innermost differing values inside equal operations.
    fn first_difference(&self, before: Value, after: Value) -> [Value; 2] {
        let mut pair = [before, after];
        loop {
            let [before, after] = pair;
            let is_alike = self.values.operator(before) == self.values.operator(after)
                && self.values.words(before).len() == self.values.words(after).len();
            let only_in = |value: Value, other: Value| {
                self.values
                    .parts_of(value)
                    .find(|part| self.values.parts_of(other).all(|known| known != *part))
            };
            match (only_in(before, after), only_in(after, before)) {
                (Some(one), Some(other)) if is_alike => pair = [one, other],
                _ => return pair,
            }
        }
    }

    fn commute(&mut self, one: &Effect, other: &Effect) -> bool {
        if !one.chains.intersects(other.chains) {
            return true;
        }
        match (one.address, other.address) {
            (Some((left, size)), Some((right, other_size))) => self.are_apart(
                (left, size, one.access.as_ref()),
                (right, other_size, other.access.as_ref()),
            ),
            _ => false,
        }
    }

    /// True if an instruction of the function before that reads one value may read the other one instead. An
    /// undefined value may become any value.
    pub(super) fn refines(&mut self, before: Value, after: Value) -> bool {
        self.compare(Reading::Direct, before, after, DEEPEST)
    }

    /// True if an effect of the function before may become one of the function after.
    fn effect_refines(&mut self, before: Value, after: Value, depth: u32) -> bool {
        self.values.operator(before) == self.values.operator(after)
            && self.parts_refine(Reading::Direct, before, after, depth)
    }

    fn compare(&mut self, reading: Reading, before: Value, after: Value, depth: u32) -> bool {
        if before == after {
            return true;
        }
        let operator = self.values.operator(before);
        if let Operator::Undefined { .. } = operator {
            return reading == Reading::Direct && self.values.width(before) == self.values.width(after);
        }
        // Values that loops bring back to two joins are compared only where the joins are one
        // value.
        if depth == 0 || matches!(operator, Operator::Join { is_open: true, .. }) {
            return false;
        }
        // A state of memory contains all earlier ones, so the same pairs come up again and again.
        let key = (before, after, reading);
        match self.compared.get(&key).copied() {
            Some(Compared::Refined) => return true,
            Some(Compared::NotWithin(tried)) if depth <= tried => return false,
            _ => {}
        }
        let is_refined = self.operands_refine(reading, before, after, depth - 1);
        let result = match is_refined {
            true => Compared::Refined,
            false => Compared::NotWithin(depth),
        };
        self.compared.insert(key, result);
        is_refined
    }

    fn operands_refine(&mut self, reading: Reading, before: Value, after: Value, depth: u32) -> bool {
        let operator = self.values.operator(before);
        let is_same = operator == self.values.operator(after);
        match operator {
            Operator::Join { .. } if !is_same => {
                let parts: SmallVec<[Value; 8]> = self.values.parts_of(before).collect();
                parts
                    .into_iter()
                    .all(|part| self.compare(reading, part, after, depth))
            }
            _ if !is_same => false,
            Operator::Join { .. } => self.parts_refine(reading, before, after, depth),
            Operator::After { .. } => {
                let [one, other] = [before, after].map(|value| self.values.operand(value, 0));
                one == other || self.effect_refines(one, other, depth)
            }
            // The load of an undefined address is made once, and may not become loads of several.
            _ if self.loads_before.contains_key(&before) => {
                self.values.operand(before, 0) == self.values.operand(after, 0)
                    && self.parts_refine(Reading::Direct, before, after, depth)
            }
            _ => self.parts_refine(Reading::Computing, before, after, depth),
        }
    }

    /// True if the operands of a value may become those of another one of the same kind.
    fn parts_refine(&mut self, reading: Reading, before: Value, after: Value, depth: u32) -> bool {
        let [one, other] = [before, after].map(|value| self.values.words(value));
        if self.values.width(before) != self.values.width(after) || one.len() != other.len() {
            return false;
        }
        // A sum's words are terms with factors, which must be equal.
        let step = self.values.operator(before).words_of_part();
        let [one, other] = [one, other].map(|words| words.chunks(step));
        if one
            .clone()
            .zip(other.clone())
            .any(|(one, other)| one[1..] != other[1..])
        {
            return false;
        }
        let first = |words: &[u32]| Value::from_u32(words[0]);
        let pairs: SmallVec<[[Value; 2]; 8]> = one
            .zip(other)
            .map(|(one, other)| [first(one), first(other)])
            .collect();
        pairs
            .into_iter()
            .all(|[one, other]| self.compare(reading, one, other, depth))
    }

    /// Returns the value on which a branch decides, simplified by the facts known there.
    pub(super) fn condition(&mut self, side: usize, branch: Instruction) -> Value {
        let condition = self.source(side, branch, 0);
        self.path_conditions.apply(self.values, condition)
    }

    pub(super) fn compare_ends(&mut self, node: RelatedNode) {
        let blocks = last_blocks(&self.related.nodes[node.index()].stretches);
        match self.related.nodes[node.index()].end {
            PairEnd::Jump => {}
            PairEnd::Merged => {
                let branch = terminator(self.sides[0].function, blocks[0]);
                self.conditions[node.index()] = self.condition(0, branch).into();
            }
            PairEnd::Branch { opposite } => {
                let branches = [0, 1].map(|side: usize| terminator(self.sides[side].function, blocks[side]));
                let conditions = [0, 1].map(|side| self.condition(side, branches[side]));
                self.conditions[node.index()] = conditions[0].into();
                let after = match opposite {
                    true => self.values.not(conditions[1]),
                    false => conditions[1],
                };
                if !self.refines(conditions[0], after) {
                    let constants = conditions.map(|condition| self.values.as_constant(condition));
                    let is_opposite = self.values.not(conditions[0]) == after;
                    let kind = DoubtKind::Condition {
                        constants: constants.map(|bits| bits.map(|bits| bits != 0)),
                        is_opposite,
                    };
                    self.doubt_of_values(
                        kind,
                        1,
                        Some(branches[1]),
                        node,
                        Some(self.first_difference(conditions[0], after)),
                    );
                }
            }
            PairEnd::Choice => {
                let ends = [0, 1].map(|side: usize| terminator(self.sides[side].function, blocks[side]));
                let operation = self.sides[0].function.operation(ends[0]);
                if operation != self.sides[1].function.operation(ends[1]) {
                    self.doubt(DoubtKind::End, 1, Some(ends[1]), node);
                } else if operation == Operation::Brx {
                    let [before, after] = [0, 1].map(|side| self.source(side, ends[side], 0));
                    if !self.refines(before, after) {
                        let kind = DoubtKind::Condition {
                            constants: [None; 2],
                            is_opposite: false,
                        };
                        self.doubt(kind, 1, Some(ends[1]), node);
                    }
                }
            }
            PairEnd::Leave => {
                let ends = [0, 1].map(|side: usize| self.sides[side].function.terminator(blocks[side]));
                let operations =
                    [0, 1].map(|side: usize| ends[side].map(|end| self.sides[side].function.operation(end)));
                if operations[0] != operations[1] {
                    self.doubt(DoubtKind::End, 1, ends[1], node);
                }
            }
        }
    }
}
