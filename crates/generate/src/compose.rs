//! Structured control flow: nested loops, diamonds, switches and early exits.

use super::graph::{CountedLoop, Graph, Otherwise, Terminator};
use super::index::{Block, Entity, Label, Table};
use oriel_random::Random;

/// The weights of the constructs, and the limit on the nesting depth of loops.
#[derive(Clone, Copy, Debug)]
pub(super) struct Composition {
    pub(super) diamond: u32,
    pub(super) triangle: u32,
    pub(super) nested_loop: u32,
    pub(super) self_loop: u32,
    pub(super) switch: u32,
    pub(super) early_exit: u32,
    pub(super) loop_depth: usize,
}

/// The remaining tasks, last first: an explicit stack instead of recursion over the nesting.
enum Task {
    /// Generate control flow of about this many blocks from the open block on.
    Region(Region),
    /// End the open block with a jump, or by falling through if the label comes next.
    JumpTo(Label),
    /// Open a block here.
    Bind(Label),
    /// End the open block as the latch of a loop, and open the block after the loop.
    CloseLoop { header: Label, exit: Label },
}

#[derive(Clone, Copy)]
struct Region {
    blocks: usize,
    depth: usize,
    /// The target of a `break` of the innermost loop.
    exit: Option<Label>,
}

/// Terminators before blocks have numbers.
enum Draft {
    Return,
    Jump(Label),
    Branch(Label, Label),
    Switch(Vec<Label>),
}

struct Composer<'a> {
    random: &'a mut Random,
    composition: Composition,
    /// The block of each label that has been bound.
    placed: Table<Label, Option<Block>>,
    /// The terminators of the blocks so far, except the open one.
    drafts: Table<Block, Draft>,
    /// The block without a terminator.
    open: Block,
    loops: Vec<CountedLoop>,
    tasks: Vec<Task>,
}

/// Returns a graph of about `blocks` blocks; all are reachable, and all loops are counted.
pub(super) fn structured(random: &mut Random, composition: Composition, blocks: usize) -> Graph {
    let mut composer = Composer {
        random,
        composition,
        placed: Table::new(),
        drafts: Table::new(),
        open: Block::new(0),
        loops: Vec::new(),
        tasks: vec![Task::Region(Region {
            blocks: blocks.saturating_sub(1),
            depth: 0,
            exit: None,
        })],
    };
    while let Some(task) = composer.tasks.pop() {
        composer.run(task);
    }
    composer.close(Draft::Return);
    composer.finish()
}

impl Composer<'_> {
    fn run(&mut self, task: Task) {
        match task {
            Task::Region(region) => self.region(region),
            Task::JumpTo(label) => self.close(Draft::Jump(label)),
            Task::Bind(label) => self.bind(label),
            Task::CloseLoop { header, exit } => {
                let latch = self.open;
                self.close(Draft::Branch(header, exit));
                self.loops.push(CountedLoop {
                    header: self.block(header),
                    latch,
                });
                self.bind(exit);
            }
        }
    }

    fn label(&mut self) -> Label {
        self.placed.push(None)
    }

    fn block(&self, label: Label) -> Block {
        self.placed[label].expect("a label that is used has been placed")
    }

    /// Opens the block of a label, after the last one.
    fn bind(&mut self, label: Label) {
        debug_assert_eq!(self.placed[label], None);
        self.open = Block::new(self.drafts.len());
        self.placed[label] = Some(self.open);
    }

    /// Ends the open block; [`bind`](Self::bind) opens the next one.
    fn close(&mut self, draft: Draft) {
        debug_assert_eq!(self.open.index(), self.drafts.len());
        self.drafts.push(draft);
    }

    /// Pushes tasks in the order in which they are to run.
    fn then(&mut self, tasks: impl DoubleEndedIterator<Item = Task>) {
        self.tasks.extend(tasks.rev());
    }

    /// Starts a region with one construct, chosen at random; tasks generate the rest.
    fn region(&mut self, region: Region) {
        let Region { blocks, depth, exit } = region;
        if blocks == 0 {
            return;
        }
        let c = self.composition;
        let may_loop = depth < c.loop_depth;
        let weights = [
            if blocks >= 3 { c.diamond } else { 0 },
            if blocks >= 2 { c.triangle } else { 0 },
            if may_loop && blocks >= 3 { c.nested_loop } else { 0 },
            if may_loop && blocks >= 2 { c.self_loop } else { 0 },
            if blocks >= 6 { c.switch } else { 0 },
            if blocks >= 2 { c.early_exit } else { 0 },
            // One more block, which is always possible.
            1,
        ];
        match self.random.weighted(&weights) {
            0 => self.diamond(region),
            1 => self.triangle(region),
            2 => self.nested_loop(region),
            3 => self.self_loop(region),
            4 => self.switch(region),
            5 => self.early_exit(region),
            _one_block => {
                let next = self.label();
                let rest = Region {
                    blocks: blocks - 1,
                    depth,
                    exit,
                };
                self.then([Task::JumpTo(next), Task::Bind(next), Task::Region(rest)].into_iter());
            }
        }
    }

    /// Returns the number of blocks for the inner part of a construct; the rest is for the code
    /// after it.
    fn share(&mut self, blocks: usize) -> usize {
        // A large region is split roughly in half: long chains would leave no nesting, thin slices
        // no breadth.
        self.random.between(blocks / 4, blocks - blocks / 4)
    }

    fn diamond(&mut self, region: Region) {
        let inner = self.share(region.blocks - 3);
        let left = self.random.between(0, inner);
        let (on_true, on_false, join) = (self.label(), self.label(), self.label());
        self.close(Draft::Branch(on_true, on_false));
        let part = |blocks| Task::Region(Region { blocks, ..region });
        self.then(
            [
                Task::Bind(on_false),
                part(left),
                Task::JumpTo(join),
                Task::Bind(on_true),
                part(inner - left),
                Task::JumpTo(join),
                Task::Bind(join),
                part(region.blocks - 3 - inner),
            ]
            .into_iter(),
        );
    }

    fn triangle(&mut self, region: Region) {
        let inner = self.share(region.blocks - 2);
        let (body, join) = (self.label(), self.label());
        self.close(Draft::Branch(join, body));
        let part = |blocks| Task::Region(Region { blocks, ..region });
        self.then(
            [
                Task::Bind(body),
                part(inner),
                Task::JumpTo(join),
                Task::Bind(join),
                part(region.blocks - 2 - inner),
            ]
            .into_iter(),
        );
    }

    fn nested_loop(&mut self, region: Region) {
        let inner = self.share(region.blocks - 2);
        let (header, exit) = (self.label(), self.label());
        let body = Region {
            blocks: inner,
            depth: region.depth + 1,
            exit: Some(exit),
        };
        self.then(
            [
                Task::JumpTo(header),
                Task::Bind(header),
                Task::Region(body),
                Task::CloseLoop { header, exit },
                Task::Region(Region {
                    blocks: region.blocks - 2 - inner,
                    ..region
                }),
            ]
            .into_iter(),
        );
    }

    fn self_loop(&mut self, region: Region) {
        let (header, exit) = (self.label(), self.label());
        self.then(
            [
                Task::JumpTo(header),
                Task::Bind(header),
                Task::CloseLoop { header, exit },
                Task::Region(Region {
                    blocks: region.blocks - 2,
                    ..region
                }),
            ]
            .into_iter(),
        );
    }

    fn switch(&mut self, region: Region) {
        let most = (region.blocks - 2).min(if self.random.percent(5) { 40 } else { 6 });
        let cases = self.random.between(3, most.max(3));
        let inner = self.share(region.blocks - cases - 1);
        let labels: Vec<Label> = (0..cases).map(|_| self.label()).collect();
        let join = self.label();
        // Some blocks occur twice in the table, as in `case 1: case 5:`.
        let mut targets = labels.clone();
        for _ in 0..self.random.index(cases) {
            targets.push(self.random.pick(&labels));
        }
        self.close(Draft::Switch(targets));
        let mut tasks = Vec::new();
        let mut rest = inner;
        for (position, &label) in labels.iter().enumerate() {
            let blocks = self.random.between(0, rest / 2);
            rest -= blocks;
            let falls_into_next = self.random.percent(15);
            let target = labels
                .get(position + 1)
                .copied()
                .filter(|_| falls_into_next)
                .unwrap_or(join);
            tasks.extend([
                Task::Bind(label),
                Task::Region(Region { blocks, ..region }),
                Task::JumpTo(target),
            ]);
        }
        let blocks = region.blocks - cases - 1 - inner + rest;
        tasks.extend([Task::Bind(join), Task::Region(Region { blocks, ..region })]);
        self.then(tasks.into_iter());
    }

    /// Generates a `return` or a `break` on a condition.
    fn early_exit(&mut self, region: Region) {
        let next = self.label();
        match region.exit.filter(|_| self.random.percent(60)) {
            Some(exit) => {
                self.close(Draft::Branch(exit, next));
                let rest = Region {
                    blocks: region.blocks - 1,
                    ..region
                };
                self.then([Task::Bind(next), Task::Region(rest)].into_iter());
            }
            None => {
                let last = self.label();
                self.close(Draft::Branch(next, last));
                self.bind(last);
                self.close(Draft::Return);
                let rest = Region {
                    blocks: region.blocks - 2,
                    ..region
                };
                self.then([Task::Bind(next), Task::Region(rest)].into_iter());
            }
        }
    }

    /// Replaces labels by blocks, and jumps to the next block by falling through.
    fn finish(self) -> Graph {
        let terminators = self.drafts.iter().map(|(block, draft)| {
            let is_next = |target: Block| target.index() == block.index() + 1;
            match draft {
                Draft::Return => Terminator::Return,
                Draft::Jump(label) => {
                    let target = self.block(*label);
                    if is_next(target) {
                        Terminator::FallThrough
                    } else {
                        Terminator::Jump(target)
                    }
                }
                Draft::Branch(target, other) => {
                    let other = self.block(*other);
                    let otherwise = if is_next(other) {
                        Otherwise::FallThrough
                    } else {
                        Otherwise::Jump(other)
                    };
                    Terminator::Branch {
                        target: self.block(*target),
                        otherwise,
                    }
                }
                Draft::Switch(labels) => {
                    Terminator::Switch(labels.iter().map(|&label| self.block(label)).collect())
                }
            }
        });
        let terminators = Table::from_items(terminators.collect());
        Graph::new(terminators, self.loops)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_random::Stream;

    const ALL: Composition = Composition {
        diamond: 2,
        triangle: 2,
        nested_loop: 2,
        self_loop: 1,
        switch: 1,
        early_exit: 1,
        loop_depth: 4,
    };

    #[test]
    fn every_edge_back_is_a_counted_latch() {
        for seed in 0..200 {
            let mut random = Random::new(seed, Stream::Graph);
            let graph = structured(&mut random, ALL, 1 + seed as usize);
            for block in graph.blocks() {
                assert!(graph.is_reachable(block));
                for &target in graph.successors(block).iter().filter(|&&target| target <= block) {
                    assert!(graph.counted.contains(&CountedLoop {
                        header: target,
                        latch: block
                    }));
                }
            }
        }
    }

    #[test]
    fn size_is_about_what_was_asked_for() {
        for blocks in [1, 10, 1000, 100_000] {
            let mut random = Random::new(3, Stream::Graph);
            let made = structured(&mut random, ALL, blocks).len();
            assert!(
                made.abs_diff(blocks) <= 2 + blocks / 20,
                "{made} blocks for {blocks}"
            );
        }
    }
}
