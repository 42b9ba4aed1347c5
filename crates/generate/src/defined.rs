//! Ensures that LLVM's live intervals accept every use of a variable.
//!
//! LLVM follows each use backward and stops with "Use of %n does not have a corresponding
//! definition on every path" at a block without predecessors. A use is sound if every backward path
//! reaches a definition before the entry and before any unreachable block. One of three repairs is
//! chosen for each variable:
//!
//! - define it at the entry;
//! - put an `IMPLICIT_DEF` at the end of each predecessor without any definition where another
//!   predecessor has one, as PHI elimination does: the value stays defined on some paths only;
//! - leave the graph alone.
//!
//! Uses that are still unsound are marked `undef`.

use super::graph::Graph;
use super::index::{Block, Entity, Value};
use super::model::{Function, Use};
use oriel_random::Random;

/// Rounds of joining: an `IMPLICIT_DEF` at the end of a block makes new joins at its other
/// successors.
const ROUNDS: usize = 16;

pub(super) fn repair(function: &mut Function, random: &mut Random) {
    if function.variables == 0 {
        return;
    }
    let words = function.variables.div_ceil(64);
    let mut joined = vec![0; words];
    let mut at_entry = vec![0; words];
    for variable in 0..function.variables {
        match random.below(100) {
            0..50 => insert(&mut joined, variable),
            50..65 => insert(&mut at_entry, variable),
            65.. => {}
        }
    }
    let mut local = Local::new(function, words);
    let entry = function.graph.entry();
    for variable in members(&at_entry) {
        function.undefined_at_start[entry].push(Value::new(variable));
    }
    local.define_at_start(entry, &at_entry);
    for _ in 0..ROUNDS {
        let flow = Flow::new(&function.graph, &local);
        if !join(function, &mut local, &flow, &joined) {
            break;
        }
    }
    let flow = Flow::new(&function.graph, &local);
    mark_undefined(function, &flow);
}

/// One set of variables for each block.
pub(super) struct Sets {
    words: usize,
    bits: Vec<u64>,
}

impl Sets {
    fn new(blocks: usize, words: usize) -> Self {
        Self {
            words,
            bits: vec![0; blocks * words],
        }
    }

    pub(super) fn of(&self, block: Block) -> &[u64] {
        &self.bits[block.index() * self.words..][..self.words]
    }

    fn of_mut(&mut self, block: Block) -> &mut [u64] {
        &mut self.bits[block.index() * self.words..][..self.words]
    }
}

fn insert(set: &mut [u64], variable: usize) {
    set[variable / 64] |= 1 << (variable % 64);
}

fn contains(set: &[u64], variable: usize) -> bool {
    set[variable / 64] >> (variable % 64) & 1 != 0
}

pub(super) fn members(set: &[u64]) -> impl Iterator<Item = usize> {
    (0..set.len() * 64).filter(|&variable| contains(set, variable))
}

/// The local properties of each block.
pub(super) struct Local {
    /// Read before it is written in the block.
    exposed: Sets,
    written: Sets,
}

impl Local {
    pub(super) fn new(function: &Function, words: usize) -> Self {
        let blocks = function.graph.len();
        let mut local = Self {
            exposed: Sets::new(blocks, words),
            written: Sets::new(blocks, words),
        };
        for block in function.graph.blocks() {
            let mut read = |written: &Sets, operand: &Use| {
                if let Use::Value(value) = *operand
                    && function.is_variable(value)
                    && !contains(written.of(block), value.index())
                {
                    insert(local.exposed.of_mut(block), value.index());
                }
            };
            for instruction in function.instructions_of(block) {
                function
                    .operands_of(instruction)
                    .iter()
                    .for_each(|operand| read(&local.written, operand));
                for &result in function.results_of(instruction) {
                    if function.is_variable(result) {
                        insert(local.written.of_mut(block), result.index());
                    }
                }
            }
            function.bodies[block]
                .condition
                .iter()
                .for_each(|operand| read(&local.written, operand));
        }
        local
    }

    /// Takes into account the definitions that a repair has added; `new` sees only instructions.
    pub(super) fn add_repairs(&mut self, function: &Function) {
        let mut at_start = vec![0; self.written.words];
        for block in function.graph.blocks() {
            at_start.fill(0);
            function.undefined_at_start[block]
                .iter()
                .for_each(|value| insert(&mut at_start, value.index()));
            self.define_at_start(block, &at_start);
            if let Some(Use::Value(value)) = function.bodies[block].condition
                && function.undefined_at_end[block].contains(&value)
                && !self.reads_first(function, block, value)
            {
                // The definition at the end comes before the terminator, which reads it.
                self.exposed.of_mut(block)[value.index() / 64] &= !(1 << (value.index() % 64));
            }
            for value in &function.undefined_at_end[block] {
                insert(self.written.of_mut(block), value.index());
            }
        }
    }

    /// True if an instruction other than the terminator reads a variable; only called where none
    /// writes it.
    fn reads_first(&self, function: &Function, block: Block, value: Value) -> bool {
        let mut instructions = function.instructions_of(block).iter();
        instructions.any(|instruction| function.operands_of(instruction).contains(&Use::Value(value)))
    }

    fn define_at_start(&mut self, block: Block, variables: &[u64]) {
        let exposed = self.exposed.of_mut(block).iter_mut();
        let written = self.written.of_mut(block).iter_mut();
        for ((exposed, written), &variables) in exposed.zip(written).zip(variables) {
            *exposed &= !variables;
            *written |= variables;
        }
    }
}

/// The properties of the start of each block.
pub(super) struct Flow {
    /// A path from an entry reaches it without a definition.
    maybe_undefined: Sets,
    /// A path from a definition reaches it.
    maybe_defined: Sets,
    /// A path from it reaches a use before a definition.
    pub(super) live: Sets,
}

impl Flow {
    pub(super) fn new(graph: &Graph, local: &Local) -> Self {
        let words = local.written.words;
        let mut maybe_undefined = Sets::new(graph.len(), words);
        let mut maybe_defined = Sets::new(graph.len(), words);
        let mut live = Sets::new(graph.len(), words);
        for block in graph.blocks() {
            if is_entry(graph, block) {
                maybe_undefined.of_mut(block).fill(u64::MAX);
            }
            live.of_mut(block).copy_from_slice(local.exposed.of(block));
        }
        let mut changed = true;
        while changed {
            changed = false;
            for &block in graph.order.iter().filter(|&&block| graph.is_reachable(block)) {
                for &predecessor in graph.predecessors(block) {
                    for word in 0..words {
                        let written = local.written.of(predecessor)[word];
                        let undefined = maybe_undefined.of(predecessor)[word] & !written;
                        changed |= add(&mut maybe_undefined.of_mut(block)[word], undefined);
                        let defined = maybe_defined.of(predecessor)[word] | written;
                        changed |= add(&mut maybe_defined.of_mut(block)[word], defined);
                    }
                }
            }
            for &block in graph.order.iter().rev() {
                for &successor in graph.successors(block) {
                    for word in 0..words {
                        let through = live.of(successor)[word] & !local.written.of(block)[word];
                        changed |= add(&mut live.of_mut(block)[word], through);
                    }
                }
            }
        }
        Self {
            maybe_undefined,
            maybe_defined,
            live,
        }
    }
}

/// True if the backward search ends at the start of a block.
///
/// LLVM places the values of joins by the dominator tree, which lacks unreachable blocks: a
/// variable that is live into one would have no value there. Each of them therefore counts as an
/// entry.
fn is_entry(graph: &Graph, block: Block) -> bool {
    block == graph.entry() || !graph.is_reachable(block)
}

/// Adds bits to a word; returns whether some are new.
fn add(word: &mut u64, bits: u64) -> bool {
    let new = bits & !*word;
    *word |= bits;
    new != 0
}

/// Performs one round of the second repair; returns whether it changed anything.
fn join(function: &mut Function, local: &mut Local, flow: &Flow, joined: &[u64]) -> bool {
    let mut changed = false;
    let graph = &function.graph;
    for block in graph.blocks() {
        let wanted: Vec<u64> = (0..joined.len())
            .map(|word| flow.live.of(block)[word] & flow.maybe_defined.of(block)[word] & joined[word])
            .collect();
        if wanted.iter().all(|&word| word == 0) {
            continue;
        }
        if block == graph.entry() {
            // The edge from outside is one more predecessor, without a definition.
            function.undefined_at_start[block].extend(members(&wanted).map(Value::new));
            local.define_at_start(block, &wanted);
            changed = true;
        }
        for &predecessor in graph.predecessors(block) {
            for (word, &wanted) in wanted.iter().enumerate() {
                let written = &mut local.written.of_mut(predecessor)[word];
                let missing = wanted & !(flow.maybe_defined.of(predecessor)[word] | *written);
                *written |= missing;
                changed |= missing != 0;
                let variables = (0..64)
                    .filter(|bit| missing >> bit & 1 != 0)
                    .map(|bit| word * 64 + bit);
                function.undefined_at_end[predecessor].extend(variables.map(Value::new));
            }
        }
    }
    changed
}

fn mark_undefined(function: &mut Function, flow: &Flow) {
    let words = flow.live.words;
    let mut sound = vec![0; words];
    for block in function.graph.blocks() {
        for (word, sound) in sound.iter_mut().enumerate() {
            *sound = flow.maybe_defined.of(block)[word] & !flow.maybe_undefined.of(block)[word];
        }
        for value in &function.undefined_at_start[block] {
            insert(&mut sound, value.index());
        }
        let variables = function.variables;
        let check = |sound: &[u64], operand: &mut Use| {
            if let Use::Value(value) = *operand
                && value.index() < variables
                && !contains(sound, value.index())
            {
                *operand = Use::Undefined(value);
            }
        };
        for instruction in &function.instructions[function.bodies[block].instructions.range()] {
            for operand in &mut function.uses[instruction.operands.range()] {
                check(&sound, operand);
            }
            for &result in &function.results[instruction.results.range()] {
                if result.index() < variables {
                    insert(&mut sound, result.index());
                }
            }
        }
        for value in &function.undefined_at_end[block] {
            insert(&mut sound, value.index());
        }
        if let Some(condition) = &mut function.bodies[block].condition {
            check(&sound, condition);
        }
    }
}
