//! Tests four classical problems on random programs against their definitions by paths.

use super::*;
use crate::entity::{Block, PrimaryMap};
use crate::graph::testing::{graph, on_random_graphs};
use crate::graph::{ControlFlowGraph, Traversal, retreating_edges};
use oriel_random::Random;

type Cfg = ControlFlowGraph<Block>;

const VARIABLES: usize = 8;

/// Variables, definitions or expressions, as bits.
type Facts = u64;

/// The number of definitions that are facts. Others are writes too, but are not tracked.
const TRACKED: usize = Facts::BITS as usize;

#[derive(Clone, Copy, Debug)]
enum Step {
    Read(usize),
    Write(usize),
}

/// The code of each block. Expression `v` uses variable `v`: a read evaluates it, a write changes
/// its value.
struct Program {
    code: PrimaryMap<Block, Vec<Step>>,
}

impl Program {
    fn new(graph: &Cfg, random: &mut Random) -> Self {
        let density = random.index(4);
        let mut step = |_| {
            let variable = random.index(VARIABLES);
            if random.coin() {
                Step::Read(variable)
            } else {
                Step::Write(variable)
            }
        };
        Self {
            code: graph
                .nodes()
                .map(|_| (0..density).map(&mut step).collect())
                .collect(),
        }
    }

    /// Returns the steps of a block that concern a variable, in order; true for a write.
    fn writes(&self, block: Block, variable: usize) -> impl DoubleEndedIterator<Item = bool> {
        self.code[block].iter().filter_map(move |&step| match step {
            Step::Read(read) => (read == variable).then_some(false),
            Step::Write(written) => (written == variable).then_some(true),
        })
    }

    /// Returns the definitions of the function in order: block and variable. The first [`TRACKED`]
    /// are facts.
    fn definitions(&self) -> Vec<(Block, usize)> {
        let mut definitions = Vec::new();
        for (block, code) in &self.code {
            for &step in code {
                if let Step::Write(variable) = step {
                    definitions.push((block, variable));
                }
            }
        }
        definitions
    }

    /// Reaching definitions: the last definition of a variable in a block reaches the block's end
    /// and kills all earlier ones of the variable.
    fn reaching_definitions(&self, definitions: &[(Block, usize)]) -> GenKill<true, false> {
        let nothing: PrimaryMap<Block, Facts> = self.code.keys().map(|_| 0).collect();
        let mut problem = GenKill {
            made: nothing.clone(),
            destroyed: nothing,
        };
        let mut number = 0;
        for (block, code) in &self.code {
            for &step in code {
                let Step::Write(variable) = step else {
                    continue;
                };
                let facts = definitions.iter().enumerate().take(TRACKED);
                let same = facts.filter(|(_, other)| other.1 == variable);
                let same = same.fold(0, |facts, (fact, _)| facts | 1 << fact);
                problem.destroyed[block] |= same;
                problem.made[block] &= !same;
                if number < TRACKED {
                    problem.made[block] |= 1 << number;
                }
                number += 1;
            }
        }
        problem
    }
}

/// A problem whose transfer is `made | (state & !destroyed)`.
struct GenKill<const FORWARD: bool, const ON_EVERY_PATH: bool> {
    made: PrimaryMap<Block, Facts>,
    destroyed: PrimaryMap<Block, Facts>,
}

impl<const FORWARD: bool, const ON_EVERY_PATH: bool> GenKill<FORWARD, ON_EVERY_PATH> {
    /// A fact for each variable. Its first step in the block decides for a backward problem, its
    /// last for a forward one: a read generates the fact, a write kills it.
    fn of_variables(program: &Program) -> Self {
        let decided = |block, by_write| {
            let deciding = |&variable: &usize| {
                let mut writes = program.writes(block, variable);
                let last = if FORWARD {
                    writes.next_back()
                } else {
                    writes.next()
                };
                last == Some(by_write)
            };
            (0..VARIABLES)
                .filter(deciding)
                .fold(0, |facts, variable| facts | 1 << variable)
        };
        Self {
            made: program.code.keys().map(|block| decided(block, false)).collect(),
            destroyed: program.code.keys().map(|block| decided(block, true)).collect(),
        }
    }
}

/// The facts where blocks begin and end.
struct Solution {
    order: ReversePostorder<Block>,
    at_entry: PrimaryMap<Block, Facts>,
    at_exit: PrimaryMap<Block, Facts>,
}

impl Solution {
    fn at_entry(&self, block: Block) -> Option<Facts> {
        let is_reachable = self.order.is_reachable(block);
        is_reachable.then(|| self.at_entry[block])
    }

    fn at_exit(&self, block: Block) -> Option<Facts> {
        let is_reachable = self.order.is_reachable(block);
        is_reachable.then(|| self.at_exit[block])
    }
}

/// Solves a problem and checks that it took no more sweeps than is known to suffice.
fn solved<const FORWARD: bool, const ON_EVERY_PATH: bool>(
    graph: &Cfg,
    problem: &GenKill<FORWARD, ON_EVERY_PATH>,
) -> Solution {
    let order = ReversePostorder::new(graph, Traversal::default());
    let bottom = if ON_EVERY_PATH { Facts::MAX } else { 0 };
    let mut before: PrimaryMap<Block, Facts> = graph.nodes().map(|_| bottom).collect();
    let mut after = before.clone();
    let direction = match FORWARD {
        true => Direction::Forward,
        false => Direction::Backward,
    };
    let limit = retreating_edges(graph, &order).count() + 2;
    let visit = |block: Block| {
        let (is_boundary, sources) = match direction {
            Direction::Forward => (block == graph.entry(), graph.predecessors(block)),
            Direction::Backward => (graph.successors(block).is_empty(), graph.successors(block)),
        };
        if is_boundary {
            before[block] = 0;
        }
        for &source in sources {
            match ON_EVERY_PATH {
                true => before[block] &= after[source],
                false => before[block] |= after[source],
            }
        }
        let facts = problem.made[block] | (before[block] & !problem.destroyed[block]);
        std::mem::replace(&mut after[block], facts) != facts
    };
    let SolverWork { visits, sweeps } =
        fixed_point(graph, &order, direction, limit, visit).expect("gen/kill problems converge");
    assert!(order.len() <= visits && visits <= sweeps * order.len());
    let (at_entry, at_exit) = match direction {
        Direction::Forward => (before, after),
        Direction::Backward => (after, before),
    };
    Solution {
        order,
        at_entry,
        at_exit,
    }
}

/// Follows every path from `starts` block by block; each block tells whether the paths through it
/// are decided. Returns whether one was decided with true.
fn some_path(
    graph: &Cfg,
    direction: Direction,
    starts: &[Block],
    mut decide: impl FnMut(Block) -> Option<bool>,
) -> bool {
    let mut seen = NodeSet::new(graph.node_count());
    let mut stack = starts.to_vec();
    while let Some(block) = stack.pop() {
        if !seen.insert(block) {
            continue;
        }
        match decide(block) {
            Some(true) => return true,
            Some(false) => {}
            None => stack.extend_from_slice(match direction {
                Direction::Forward => graph.successors(block),
                Direction::Backward => graph.predecessors(block),
            }),
        }
    }
    false
}

#[test]
fn a_variable_is_live_if_a_path_leads_to_a_read_and_not_to_a_write_first() {
    on_random_graphs(|graph, random| {
        let program = Program::new(graph, random);
        let solution = solved(graph, &GenKill::<false, false>::of_variables(&program));
        for block in graph.nodes() {
            let (Some(at_entry), Some(at_exit)) = (solution.at_entry(block), solution.at_exit(block)) else {
                continue;
            };
            for variable in 0..VARIABLES {
                let read_first = |block| program.writes(block, variable).next().map(|written| !written);
                let live = some_path(graph, Direction::Forward, &[block], read_first);
                assert_eq!(at_entry >> variable & 1 != 0, live, "{variable} in {block}");
                let live = some_path(graph, Direction::Forward, graph.successors(block), read_first);
                assert_eq!(at_exit >> variable & 1 != 0, live, "{variable} after {block}");
            }
        }
    });
}

#[test]
fn a_definition_reaches_where_a_path_leads_without_another_write() {
    on_random_graphs(|graph, random| {
        let program = Program::new(graph, random);
        let definitions = program.definitions();
        let problem = program.reaching_definitions(&definitions);
        let solution = solved(graph, &problem);
        for (fact, &(from, variable)) in definitions.iter().enumerate().take(TRACKED) {
            let mut later = definitions[fact + 1..].iter();
            let overwritten = later.any(|&other| other == (from, variable));
            for to in graph.nodes() {
                let Some(at_entry) = solution.at_entry(to) else {
                    continue;
                };
                let arrives = |block: Block| {
                    if block == to {
                        return Some(true);
                    }
                    program
                        .writes(block, variable)
                        .any(|written| written)
                        .then_some(false)
                };
                let reachable = solution.at_exit(from).is_some();
                let reaches = reachable
                    && !overwritten
                    && some_path(graph, Direction::Forward, graph.successors(from), arrives);
                assert_eq!(at_entry >> fact & 1 != 0, reaches, "definition {fact} in {to}");
            }
        }
    });
}

#[test]
fn an_expression_is_available_unless_a_path_comes_without_its_value() {
    on_random_graphs(|graph, random| {
        let program = Program::new(graph, random);
        let solution = solved(graph, &GenKill::<true, true>::of_variables(&program));
        for block in graph.nodes() {
            let Some(at_entry) = solution.at_entry(block) else {
                continue;
            };
            for variable in 0..VARIABLES {
                let comes_without = |before: Block| {
                    if solution.at_entry(before).is_none() {
                        return Some(false);
                    }
                    let begins = (before == graph.entry()).then_some(true);
                    program.writes(before, variable).next_back().or(begins)
                };
                let missing = block == graph.entry()
                    || some_path(
                        graph,
                        Direction::Backward,
                        graph.predecessors(block),
                        comes_without,
                    );
                assert_eq!(at_entry >> variable & 1 == 0, missing, "{variable} in {block}");
            }
        }
    });
}

#[test]
fn an_expression_is_anticipated_unless_a_path_ends_or_changes_it_first() {
    on_random_graphs(|graph, random| {
        let program = Program::new(graph, random);
        let solution = solved(graph, &GenKill::<false, true>::of_variables(&program));
        for block in graph.nodes() {
            let Some(at_entry) = solution.at_entry(block) else {
                continue;
            };
            for variable in 0..VARIABLES {
                let misses = |block: Block| {
                    let ends = graph.successors(block).is_empty().then_some(true);
                    program.writes(block, variable).next().or(ends)
                };
                let missed = some_path(graph, Direction::Forward, &[block], misses);
                assert_eq!(at_entry >> variable & 1 == 0, missed, "{variable} in {block}");
            }
        }
    });
}

#[test]
fn a_problem_that_does_not_converge_is_an_error() {
    let endless = graph(2, &[(0, 1), (1, 1)]);
    let order = ReversePostorder::new(&endless, Traversal::default());
    let error = fixed_point(&endless, &order, Direction::Forward, 5, |_| true);
    let error = error.expect_err("every visit changes something");
    assert_eq!(error, NotConverged(SolverWork { visits: 6, sweeps: 5 }));
    assert_eq!(
        error.to_string(),
        "dataflow has not converged after 5 sweeps (6 visits)"
    );
}

#[test]
fn without_cycles_every_node_is_visited_once() {
    let diamond = graph(4, &[(0, 2), (0, 1), (1, 3), (2, 3)]);
    let order = ReversePostorder::new(&diamond, Traversal::default());
    let statistics = fixed_point(&diamond, &order, Direction::Forward, 5, |_| true);
    assert_eq!(statistics, Ok(SolverWork { visits: 4, sweeps: 1 }));
}
