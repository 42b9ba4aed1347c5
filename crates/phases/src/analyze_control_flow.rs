//! AnalyzeControlFlow (phase 3): edges, orders, dominators and loops of a function.
//!
//! ```text
//! bix0: ... BRA %p, bix2, fall bix1      successors: bix0 -> bix2, bix1   order: 0 1 2
//! bix1: ... BRA bix1                     back edges: bix1 -> bix1         loop:  bix1
//! ```
//!
//! The reference builds a map of successors from the last instruction of each block, a map of back
//! edges, the reverse post-order and, from both, immediate dominators. This phase computes these
//! and the natural loops. It does not change the function. The analysis remains valid until a phase
//! changes blocks or edges.
//!
//! Departures: Ori's terminators name every target, so nothing depends on the next block, and a
//! call is no terminator. Back edges are those of the depth-first search (`RPO(target) <=
//! RPO(source)`), as in the reference. Natural loops come from dominators, since for a cycle with
//! several entries the search alone does not determine where it begins.

use super::{PhaseContext, PhaseResult, RemarkKind};
use oriel_ori::Function;

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let flow = context.control_flow(function);
    context.count("blocks", flow.order.len() as u64);
    context.count(
        "unreachable-blocks",
        (function.blocks().len() - flow.order.len()) as u64,
    );
    let edges = flow.successors().edge_count();
    context.count("edges", edges as u64);
    context.count("back-edges", flow.back_edges().edge_count() as u64);
    context.count("loops", flow.loops.len() as u64);
    context.count("irreducible-edges", flow.irreducible_edges().count() as u64);
    context.remark(RemarkKind::Analysis, "ControlFlow", function, None, || {
        let irreducible = match flow.irreducible_edges().count() {
            0 => String::new(),
            edges => format!(", {edges} edges into the middle of cycles"),
        };
        format!(
            "{} blocks, {} edges, {} natural loops{irreducible}",
            flow.order.len(),
            edges,
            flow.loops.len()
        )
    });
    PhaseResult::Unchanged
}
