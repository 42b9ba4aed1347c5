//! Graphs with edges between random blocks, which no front end would make.

use super::graph::{Graph, Otherwise, Terminator};
use super::index::{Block, Entity, Table};
use oriel_random::Random;

/// How often each irregularity occurs, in percent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Scatter {
    /// A block has a backward edge in the layout.
    pub(super) back: u32,
    /// A block has one more edge forward.
    pub(super) forward: u32,
    /// Both targets of a branch are the same block.
    pub(super) parallel: u32,
    /// A block jumps back and has no other successor.
    pub(super) endless: u32,
    /// A block is unreachable.
    pub(super) unreachable: u32,
    /// A block does nothing but fall through.
    pub(super) fall_through: u32,
    /// Every loop has an exit: each block with a backward edge also has a forward one, and no edge
    /// leads to the entry.
    pub(super) can_leave: bool,
}

/// Most edges are at most this long, so that the graph has local structure and the dominator tree
/// is deep.
const NEAR: usize = 12;

/// Returns a graph of exactly `blocks` blocks.
pub(super) fn scattered(random: &mut Random, scatter: Scatter, blocks: usize) -> Graph {
    let reached: Vec<bool> = (0..blocks)
        .map(|index| index == 0 || !random.percent(scatter.unreachable))
        .collect();
    let mut targets = tree(random, &reached);
    for index in 0..blocks {
        let near = |random: &mut Random, low: usize, high: usize| {
            let far = random.percent(10);
            let low = if far {
                low
            } else {
                low.max(index.saturating_sub(NEAR))
            };
            let high = if far { high } else { high.min(index + NEAR) };
            random.between(low, high.max(low))
        };
        let first = usize::from(scatter.can_leave && index > 0);
        let may_go_back = !scatter.can_leave || index > 0;
        // An unreachable block may lead anywhere, a reachable one only to blocks that are meant to
        // be reachable.
        let allowed = |target: usize| reached[target] || !reached[index];
        if random.percent(scatter.endless) && targets[index].is_empty() {
            let target = near(random, first, index);
            if allowed(target) {
                targets[index].push(target);
                continue;
            }
        }
        if random.percent(scatter.forward) && index + 1 < blocks {
            let target = near(random, index + 1, blocks - 1);
            if allowed(target) {
                targets[index].push(target);
            }
        }
        if may_go_back && random.percent(scatter.back) {
            let target = near(random, first, index);
            if allowed(target) {
                targets[index].push(target);
            }
        }
        if random.percent(scatter.parallel)
            && let &[only] = &targets[index][..]
        {
            targets[index].push(only);
        }
        let stuck = !targets[index].is_empty() && targets[index].iter().all(|&target| target <= index);
        if scatter.can_leave && stuck {
            // The last block then has no edge, and returns.
            match (index + 1..blocks).find(|&target| reached[target]) {
                Some(target) => targets[index].push(target),
                None => targets[index].clear(),
            }
        }
    }
    let terminators = targets.iter().enumerate().map(|(index, targets)| {
        let falls = random.percent(scatter.fall_through);
        terminator(index, targets, falls, random)
    });
    let terminators = Table::from_items(terminators.collect());
    Graph::new(terminators, Vec::new())
}

/// Adds an edge to every block that must be reachable, from an earlier reachable block.
fn tree(random: &mut Random, reached: &[bool]) -> Vec<Vec<usize>> {
    let mut targets: Vec<Vec<usize>> = vec![Vec::new(); reached.len()];
    let mut earlier = vec![0];
    for (index, _) in reached
        .iter()
        .enumerate()
        .skip(1)
        .filter(|&(_, &reached)| reached)
    {
        let back = match random.below(100) {
            0..50 => 1,
            50..97 => random.between(1, NEAR),
            97.. => random.between(1, earlier.len()),
        };
        let parent = earlier[earlier.len() - back.min(earlier.len())];
        targets[parent].push(index);
        earlier.push(index);
    }
    targets
}

fn terminator(index: usize, targets: &[usize], falls: bool, random: &mut Random) -> Terminator {
    let next = index + 1;
    match *targets {
        [] => Terminator::Return,
        [target] if target == next && (falls || random.percent(60)) => Terminator::FallThrough,
        [target] => Terminator::Jump(Block::new(target)),
        [first, second] => {
            let (target, other) = if first == next {
                (second, first)
            } else {
                (first, second)
            };
            let otherwise = if other == next && (falls || random.percent(80)) {
                Otherwise::FallThrough
            } else {
                Otherwise::Jump(Block::new(other))
            };
            Terminator::Branch {
                target: Block::new(target),
                otherwise,
            }
        }
        _ => {
            let mut table: Vec<Block> = targets.iter().copied().map(Block::new).collect();
            for _ in 0..random.index(3) {
                table.push(random.pick(&table));
            }
            Terminator::Switch(table)
        }
    }
}

/// One switch to `blocks - 2` blocks that lead to a common end, or some to the next case.
pub(super) fn huge_switch(random: &mut Random, blocks: usize) -> Graph {
    let blocks = blocks.max(3);
    let last = blocks - 1;
    let mut table: Vec<Block> = (1..last).map(Block::new).collect();
    for _ in 0..random.index(table.len().min(64)) {
        table.push(random.pick(&table));
    }
    let mut terminators = Table::new();
    terminators.push(Terminator::Switch(table));
    for index in 1..last {
        terminators.push(if index + 1 == last || random.percent(5) {
            Terminator::FallThrough
        } else {
            Terminator::Jump(Block::new(last))
        });
    }
    terminators.push(Terminator::Return);
    Graph::new(terminators, Vec::new())
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_random::Stream;

    #[test]
    fn without_unreachable_blocks_all_are_reached_and_can_leave() {
        let scatter = Scatter {
            back: 40,
            forward: 30,
            parallel: 20,
            can_leave: true,
            ..Scatter::default()
        };
        for seed in 0..100 {
            let graph = scattered(&mut Random::new(seed, Stream::Graph), scatter, 1 + seed as usize);
            for block in graph.blocks() {
                assert!(graph.is_reachable(block));
                let successors = graph.successors(block);
                assert!(successors.is_empty() || successors.iter().any(|&target| target > block));
            }
        }
    }

    #[test]
    fn unreachable_blocks_stay_so() {
        let scatter = Scatter {
            back: 30,
            forward: 30,
            unreachable: 30,
            ..Scatter::default()
        };
        let graph = scattered(&mut Random::new(1, Stream::Graph), scatter, 200);
        let reached = graph.blocks().filter(|&block| graph.is_reachable(block)).count();
        assert!((100..180).contains(&reached), "{reached}");
    }
}
