//! Sizes of nests of loops whose rounds are constant, as if ptxas unrolled them completely.
//!
//! ```text
//! for i in 0..8 {        8 rounds of 4 * 5 + 2 instructions: 176
//!     2 instructions
//!     for j in 0..4 {    4 rounds of 5 instructions: 20
//!         5 instructions
//! ```
//!
//! ptxas unrolls such nests from the inside as long as the result stays small. Its loads then go
//! first, so a kernel with a small loop may take hundreds of registers.

use super::features::{UNROLLED_LIMIT, UNROLLED_ROUNDS};
use super::live_cells::LiveCells;
use super::nodes::{Nodes, Order};
use super::rounds::constant_rounds;
use oriel_ori::{ControlFlow, Function};

/// The largest nests of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoopNests {
    /// Most rounds of a nest, those of the outer loops times those of the inner ones.
    pub rounds: usize,
    /// Instructions of the largest nest, unrolled.
    pub nodes: usize,
    /// Loads of the nest that has the most, unrolled.
    pub loads: usize,
    /// Loops with constant rounds.
    pub constant_loops: usize,
    /// Most cells live into an innermost loop, with the results of its loads in all the rounds that
    /// are unrolled.
    pub live_with_loads: usize,
}

/// A loop, unrolled.
#[derive(Clone, Copy, Debug, Default)]
struct Body {
    nodes: usize,
    loads: usize,
    rounds: usize,
    /// Cells that its loads define.
    loaded: usize,
}

/// Beyond this size nothing is unrolled, and the numbers say no more.
const MOST: usize = 100_000;

impl LoopNests {
    /// Measures the nests of a function.
    pub fn new(function: &Function, flow: &ControlFlow, nodes: &Nodes, live: &LiveCells) -> Self {
        let mut bodies = vec![Body::default(); flow.loops.len()];
        let index = |wanted| flow.loops.loops().position(|other| other == wanted);
        for &block in function.blocks() {
            let Some(place) = flow.loops.innermost(block).and_then(index) else {
                continue;
            };
            let of_block = nodes.of(block);
            bodies[place].nodes += of_block.len();
            for node in of_block {
                if matches!(node.order, Order::Load(_)) || node.is_global_load {
                    bodies[place].loads += 1;
                    bodies[place].loaded += node.defined.len();
                }
            }
        }
        let mut found = Self::default();
        // Inner loops come after those around them.
        for natural_loop in flow.loops.loops().rev() {
            let Some(place) = index(natural_loop) else {
                continue;
            };
            let mut latches = flow.loops.latches(&flow.graph, natural_loop);
            let rounds = latches.find_map(|latch| constant_rounds(function, latch));
            let times = rounds.unwrap_or(1);
            if flow.loops.children(natural_loop).next().is_none() {
                let size = bodies[place].nodes;
                let fits = |&rounds: &usize| rounds * size <= UNROLLED_LIMIT;
                let copies = rounds.filter(fits).or(Some(UNROLLED_ROUNDS).filter(fits));
                let into = live.live_in(flow.loops.header(natural_loop)).len();
                let with_loads = into + copies.unwrap_or(1) * bodies[place].loaded;
                found.live_with_loads = found.live_with_loads.max(with_loads);
            }
            let body = &mut bodies[place];
            body.rounds = body.rounds.max(1).saturating_mul(times).min(MOST);
            body.nodes = body.nodes.saturating_mul(times).min(MOST);
            body.loads = body.loads.saturating_mul(times).min(MOST);
            let body = *body;
            if rounds.is_some() {
                found.constant_loops += 1;
                found.rounds = found.rounds.max(body.rounds);
                found.nodes = found.nodes.max(body.nodes);
                found.loads = found.loads.max(body.loads);
            }
            if let Some(parent) = flow.loops.parent(natural_loop).and_then(index) {
                let parent = &mut bodies[parent];
                parent.nodes += body.nodes;
                parent.loads += body.loads;
                parent.rounds = parent.rounds.max(body.rounds);
            }
        }
        found
    }
}
