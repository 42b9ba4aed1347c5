//! Generated NVPTX functions for tests, fuzzing and benchmarks: deterministic from a seed, without
//! LLVM.
//!
//! A random program can be written in two ways:
//!
//! - [`fn@llvm_ir`]: a module of kernels for `llc` and `clang`, of any size, with defined semantics;
//!   [`launch_description`] says how to run them;
//! - [`fn@machine_ir`]: a `.mir` file with control flow and registers that no front end makes, in SSA or late form.
//!
//! ```text
//! options ─▶ shape ─▶ graph ─▶ fill ─▶ function ─┬─▶ llvm_ir
//!            compose           operations        └─▶ defined, webs (late form) ─▶ flags ─▶ machine_ir
//!            scatter           filler, scope
//! ```
//!
//! ```
//! use oriel_generate::{Options, llvm_ir};
//!
//! let mut text = Vec::new();
//! llvm_ir(&Options { seed: 7, functions: 2, ..Options::default() }, &mut text)?;
//! assert!(String::from_utf8(text).unwrap().contains("define ptx_kernel void @f8"));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! The same [`Options`] give the same bytes everywhere; see `crates/random/src/lib.rs` for the
//! reasons.

mod compose;
mod defined;
mod fill;
mod filler;
mod flags;
mod graph;
mod index;
mod launch;
pub mod llvm_ir;
mod machine_ir;
mod model;
mod opcodes;
mod operations;
mod options;
mod scatter;
mod scope;
mod shape;
mod webs;

use std::io::{self, BufWriter, Write};

use fill::fill;
use filler::Target;
use index::Entity;
pub use launch::launch_description;
use model::Function;
pub use options::{Form, Options, Shape, UnknownName, parse_processor};
use oriel_random::{Random, Stream};

/// Writes a module of `options.functions` kernels; see [`llvm_ir`](mod@llvm_ir) for valid launches.
pub fn llvm_ir(options: &Options, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    llvm_ir::header(&mut out, options)?;
    for number in 0..options.functions {
        let seed = options.seed.wrapping_add(number as u64);
        let function = program(options, seed, Target::LlvmIr);
        llvm_ir::function(
            &mut out,
            options,
            number,
            &function,
            &mut Random::new(seed, Stream::Text),
        )?;
    }
    llvm_ir::footer(&mut out, options)?;
    out.flush()
}

/// Writes `options.functions` machine functions, one YAML document each.
pub fn machine_ir(options: &Options, out: impl Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    machine_ir::header(&mut out, options)?;
    for number in 0..options.functions {
        let seed = options.seed.wrapping_add(number as u64);
        let mut function = program(options, seed, Target::Machine(options.form));
        if options.form == Form::Late {
            defined::repair(&mut function, &mut Random::new(seed, Stream::Repair));
            webs::split(&mut function);
        }
        machine_ir::function(
            &mut out,
            options,
            number,
            &function,
            &mut Random::new(seed, Stream::Text),
        )?;
    }
    out.flush()
}

/// Instructions of a kernel that every LLVM IR function has, whatever its content.
const PROLOGUE: usize = 15;

fn program(options: &Options, seed: u64, target: Target) -> Function {
    let mut random = Random::new(seed, Stream::Graph);
    let blocks = (options.instructions / options.block_size.max(1)).max(1);
    let graph = shape::graph(options, target == Target::LlvmIr, blocks, &mut random);
    let budget = match target {
        // `llc` folds a few percent of the written instructions.
        Target::LlvmIr => options.instructions.saturating_sub(PROLOGUE) * 21 / 20,
        Target::Machine(_) => options.instructions,
    };
    fill(
        graph,
        target,
        options,
        budget,
        &mut Random::new(seed, Stream::Body),
    )
}

/// Returns the number of blocks and the edges of a graph of about `blocks` blocks, as used for
/// functions.
pub fn edges(shape: Shape, blocks: usize, random: &mut Random) -> (usize, Vec<(usize, usize)>) {
    let options = Options {
        shape,
        ..Options::default()
    };
    let graph = shape::graph(&options, random.coin(), blocks, random);
    let mut edges = Vec::new();
    for block in graph.blocks() {
        let counts = graph.edges_from_predecessors(block).iter();
        for (&predecessor, &count) in graph.predecessors(block).iter().zip(counts) {
            edges.extend(std::iter::repeat_n((predecessor.index(), block.index()), count));
        }
    }
    (graph.len(), edges)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(options: &Options) -> Vec<u8> {
        let mut text = Vec::new();
        machine_ir(options, &mut text).expect("a vector takes all bytes");
        text
    }

    fn kernels(options: &Options) -> Vec<u8> {
        let mut text = Vec::new();
        llvm_ir(options, &mut text).expect("a vector takes all bytes");
        text
    }

    #[test]
    fn the_same_options_give_the_same_bytes() {
        for form in [Form::Ssa, Form::Late] {
            let options = Options {
                form,
                shape: Shape::Mixed,
                functions: 20,
                debug_info: true,
                ..Options::default()
            };
            assert_eq!(machine(&options), machine(&options));
            assert_eq!(kernels(&options), kernels(&options));
        }
    }

    #[test]
    fn a_function_of_a_module_can_be_made_alone() {
        let module = Options {
            form: Form::Late,
            shape: Shape::Mixed,
            functions: 3,
            ..Options::default()
        };
        let alone = |seed| {
            machine(&Options {
                seed,
                functions: 1,
                ..module.clone()
            })
        };
        assert_eq!(machine(&module), [alone(0), alone(1), alone(2)].concat());
    }

    /// FNV-1a of the output: a change here changes the function of every seed.
    #[test]
    fn the_bytes_are_pinned() {
        let hash = |bytes: &[u8]| {
            bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, &byte| {
                (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
            })
        };
        let options = Options {
            shape: Shape::Mixed,
            functions: 20,
            calls: true,
            ..Options::default()
        };
        let late = Options {
            form: Form::Late,
            ..options.clone()
        };
        let found = [
            hash(&machine(&options)),
            hash(&machine(&late)),
            hash(&kernels(&options)),
        ];
        assert_eq!(found, PINNED, "{found:#x?}");
    }

    const PINNED: [u64; 3] = [
        0x2df6_b1c6_6481_4140,
        0x0629_9b73_536d_3d76,
        0x20ef_d093_422c_a242,
    ];
}
