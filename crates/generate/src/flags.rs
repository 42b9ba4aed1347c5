//! Computes where a `killed` or `dead` flag would be correct.

use super::index::{Block, Table, Value};
use super::model::{Function, Use};

/// Flags that the text may have; LLVM treats missing flags as unknown.
pub(super) struct Flags {
    /// By position in the pool of uses: no later instruction reads the value.
    pub(super) killed: Vec<bool>,
    /// By position in the pool of results: no instruction reads the value.
    pub(super) dead: Vec<bool>,
}

/// The positions of the instructions that name a value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Home {
    Nowhere,
    /// All in one block, starting with a definition.
    In(Block),
    Several,
}

/// The first access to a value after the current instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Next {
    Read,
    Written,
}

pub(super) fn flags(function: &Function) -> Flags {
    let homes = homes(function);
    let mut flags = Flags {
        killed: vec![false; function.uses.len()],
        dead: vec![false; function.results.len()],
    };
    // Storing the block with the event avoids clearing events of other blocks.
    let mut next: Table<Value, Option<(Block, Next)>> = Table::filled(homes.len(), None);
    for block in function.graph.blocks() {
        if let Some(Use::Value(value)) = function.bodies[block].condition {
            next[value] = Some((block, Next::Read));
        }
        for &value in &function.undefined_at_end[block] {
            next[value] = Some((block, Next::Written));
        }
        // A condition is read after the definitions at the end.
        if let Some(Use::Value(value)) = function.bodies[block].condition
            && function.undefined_at_end[block].contains(&value)
        {
            next[value] = Some((block, Next::Written));
        }
        for instruction in function.instructions_of(block).iter().rev() {
            let unread = |next: &Table<Value, Option<(Block, Next)>>, value: Value| match next[value] {
                Some((at, Next::Read)) if at == block => false,
                Some((at, Next::Written)) if at == block => true,
                Some(_) | None => homes[value] == Home::In(block),
            };
            for position in instruction.results.range().rev() {
                let value = function.results[position];
                flags.dead[position] = unread(&next, value);
                next[value] = Some((block, Next::Written));
            }
            for position in instruction.operands.range().rev() {
                if let Use::Value(value) = function.uses[position] {
                    flags.killed[position] = unread(&next, value);
                    next[value] = Some((block, Next::Read));
                }
            }
        }
    }
    flags
}

fn homes(function: &Function) -> Table<Value, Home> {
    let mut homes = Table::filled(function.types.len(), Home::Nowhere);
    let mut see = |value: Value, block: Block, is_read: bool| {
        homes[value] = match homes[value] {
            Home::Nowhere if is_read => Home::Several,
            Home::Nowhere => Home::In(block),
            Home::In(home) if home == block => Home::In(block),
            Home::In(_) | Home::Several => Home::Several,
        };
    };
    for block in function.graph.blocks() {
        for phi in function.phis_of(block) {
            see(phi.result, block, false);
        }
        for &value in &function.undefined_at_start[block] {
            see(value, block, false);
        }
        for instruction in function.instructions_of(block) {
            for operand in function.operands_of(instruction) {
                if let Use::Value(value) = *operand {
                    see(value, block, true);
                }
            }
            for &value in function.results_of(instruction) {
                see(value, block, false);
            }
        }
        for &value in &function.undefined_at_end[block] {
            see(value, block, false);
        }
        if let Some(Use::Value(value)) = function.bodies[block].condition {
            see(value, block, true);
        }
    }
    // A PHI reads its operands on edges, after all instructions of the block.
    for phi in &function.phis {
        for operand in function.phi_operands(phi) {
            if let Use::Value(value) = *operand {
                homes[value] = Home::Several;
            }
        }
    }
    homes
}

#[cfg(test)]
mod tests {
    use super::super::fill::fill;
    use super::super::filler::Target;
    use super::super::index::Entity;
    use super::super::options::{Form, Options, Shape};
    use super::super::shape;
    use super::*;
    use oriel_random::{Random, Stream};

    /// Within one block the flags are easy to check: a killed value is not read again before it is
    /// written again.
    #[test]
    fn killed_values_are_not_read_again() {
        let options = Options {
            shape: Shape::Straight,
            form: Form::Late,
            ..Options::default()
        };
        let mut random = Random::new(5, Stream::Body);
        let graph = shape::graph(&options, false, 1, &mut random);
        let function = fill(graph, Target::Machine(Form::Late), &options, 500, &mut random);
        let flags = flags(&function);
        let mut killed = vec![false; function.types.len()];
        let block = function.graph.entry();
        for instruction in function.instructions_of(block) {
            for position in instruction.operands.range() {
                if let Use::Value(value) = function.uses[position] {
                    assert!(!killed[value.index()]);
                    killed[value.index()] |= flags.killed[position];
                }
            }
            for position in instruction.results.range() {
                killed[function.results[position].index()] = flags.dead[position];
            }
        }
        assert!(flags.killed.contains(&true) && flags.dead.contains(&true));
    }
}
