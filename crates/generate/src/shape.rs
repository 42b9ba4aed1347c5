//! Builds a graph of a given shape.

use super::compose::{Composition, structured};
use super::graph::Graph;
use super::options::{Options, Shape};
use super::scatter::{Scatter, huge_switch, scattered};
use oriel_random::Random;

/// Returns a graph of the requested shape, of about `blocks` blocks.
///
/// With `terminates` every block is reachable, and from every block a path forward in the layout
/// leads to a return.
pub(super) fn graph(options: &Options, terminates: bool, blocks: usize, random: &mut Random) -> Graph {
    let composition = Composition {
        diamond: 4,
        triangle: 4,
        nested_loop: 5,
        self_loop: 2,
        switch: 1,
        early_exit: 1,
        loop_depth: options.loop_depth,
    };
    let scatter = Scatter {
        back: 10,
        forward: 25,
        can_leave: terminates,
        ..Scatter::default()
    };
    // Irregularities that a terminating function cannot have are left out.
    let unless_terminates = |percent| if terminates { 0 } else { percent };
    let scattered_with = |random: &mut Random, scatter| scattered(random, scatter, blocks);
    match chosen(options.shape, random) {
        Shape::Straight => scattered(random, scatter_nothing(), 1),
        Shape::Structured => structured(random, composition, blocks),
        Shape::SelfLoops => {
            let self_loops = Composition {
                diamond: 0,
                triangle: 0,
                nested_loop: 0,
                self_loop: 20,
                switch: 0,
                early_exit: 0,
                loop_depth: 1,
            };
            structured(random, self_loops, blocks)
        }
        Shape::Switches => structured(
            random,
            Composition {
                switch: 30,
                ..composition
            },
            blocks,
        ),
        Shape::HugeSwitch => huge_switch(random, blocks),
        Shape::Irreducible => scattered_with(
            random,
            Scatter {
                back: 45,
                forward: 45,
                ..scatter
            },
        ),
        Shape::InfiniteLoops => scattered_with(
            random,
            Scatter {
                endless: unless_terminates(50),
                ..scatter
            },
        ),
        Shape::Unreachable => scattered_with(
            random,
            Scatter {
                unreachable: unless_terminates(30),
                ..scatter
            },
        ),
        Shape::ParallelEdges => scattered_with(
            random,
            Scatter {
                parallel: 60,
                ..scatter
            },
        ),
        Shape::EmptyBlocks => scattered_with(
            random,
            Scatter {
                fall_through: 100,
                ..scatter
            },
        ),
        Shape::Random | Shape::Mixed => {
            let everything = Scatter {
                back: 15,
                parallel: 10,
                endless: unless_terminates(10),
                unreachable: unless_terminates(6),
                fall_through: 20,
                ..scatter
            };
            scattered_with(random, everything)
        }
    }
}

/// Returns the shape of one function of a module.
fn chosen(shape: Shape, random: &mut Random) -> Shape {
    if shape == Shape::Mixed {
        random.pick(Shape::ALL)
    } else {
        shape
    }
}

fn scatter_nothing() -> Scatter {
    Scatter::default()
}
