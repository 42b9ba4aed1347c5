//! LoopMakeSingleEntry, the transformation of LoopStructurePass: gives every loop a single entry
//! edge.
//!
//! ```text
//! bix0: BRA %p, bix2, fall bix1        bix0: BRA %p, bix3, fall bix1
//! bix1: BRA fall bix2                  bix1: BRA bix3
//! bix2: %3 = PHI %1, bix0,        ─▶   bix3: %5 = PHI %1, bix0, %2, bix1
//!                %2, bix1,                   BRA fall bix2
//!                %4, bix2              bix2: %3 = PHI %5, bix3, %4, bix2
//!       BRA %q, bix2, fall bix4              BRA %q, bix2, fall bix4
//! ```
//!
//! A natural loop with several entry edges gets a *preheader*: a new block to which they lead
//! instead and whose only edge leads to the header. Phases that hoist code out of loops put it
//! there. In SSA form each PHI of the header is split: one merges the values from outside, the
//! other those from latches.
//!
//! A cycle with several entries is not a natural loop. In late form it becomes one: see
//! `irreducible_cycles.rs`. In SSA form it stays and is counted, since values defined in one part of
//! it would need PHIs in the new header.
//!
//! Nothing is duplicated. A loop stays unchanged if the function's entry is its header, or if an
//! edge to it cannot be redirected: a branch of unknown form, or a reference from outside.
//!
//! The effect is the reference's. The reference recognises headers and latches by operations with
//! which earlier phases mark them; this phase uses dominators. The reference's gate, knob 487, is
//! off by default, and so is this phase.

mod irreducible_cycles;

use super::shared::basic_blocks::can_redirect;
use super::{Analyses, PhaseContext, PhaseResult};
use oriel_engine::entity::Block;
use oriel_engine::graph::Loop;
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::{ControlFlow, Function, Instruction, InstructionBuilder, Operand, Operation, Position};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let has_dispatch = make_cycles_natural(function, context);
    let flow = context.control_flow(function);
    let mut preheaders = 0;
    for natural_loop in flow.loops.loops() {
        let entering = entering_edges(&flow, natural_loop);
        let header = flow.loops.header(natural_loop);
        if entering.len() < 2 {
            continue;
        }
        if can_redirect(function, header, &entering) {
            add_preheader(function, header, entering);
            preheaders += 1;
        } else {
            context.count("missed-loops", 1);
        }
    }
    context.count("preheaders", preheaders);
    PhaseResult::of(has_dispatch || preheaders != 0)
}

/// Turns cycles with several entries into natural loops in late form. Returns whether it changed
/// any; in SSA form it only counts them.
fn make_cycles_natural(function: &mut Function, context: &mut PhaseContext<'_>) -> bool {
    let flow = context.control_flow(function);
    if flow.irreducible_edges().next().is_none() {
        return false;
    }
    let cycles = irreducible_cycles::find(function, &flow);
    let mut made_natural = 0;
    if function.info.stage == Stage::Late {
        let liveness = context.liveness(function);
        for entries in &cycles {
            let has_dispatch = irreducible_cycles::add_dispatch(function, &flow, &liveness, entries);
            made_natural += u64::from(has_dispatch);
        }
    }
    context.count("dispatch-blocks", made_natural);
    context.count("missed-irreducible-cycles", cycles.len() as u64 - made_natural);
    if made_natural != 0 {
        context.keep_only(Analyses::empty());
    }
    made_natural != 0
}

/// Returns the sources of the edges that enter a loop, one for each edge.
fn entering_edges(flow: &ControlFlow, natural_loop: Loop) -> Vec<Block> {
    let header = flow.loops.header(natural_loop);
    let predecessors = flow.graph.predecessors(header).iter().copied();
    predecessors
        .filter(|&block| !flow.loops.contains(natural_loop, block))
        .collect()
}

/// Creates the preheader of a loop: all entry edges lead to it, and it falls through to the header.
/// It is placed after an entering block that falls through to the header, or else directly before
/// the header.
fn add_preheader(function: &mut Function, header: Block, mut entering: Vec<Block>) {
    entering.sort_unstable();
    entering.dedup();
    let falls_in = |&&block: &&Block| {
        let terminator = function.terminator(block).expect("an edge leads on from here");
        let mut targets = function.target_operands(terminator);
        targets.any(|operand| operand == Operand::fall_through(header))
    };
    let before_header = || {
        let place = function.blocks().iter().position(|&block| block == header);
        function.blocks()[place.expect("the header is in the layout") - 1]
    };
    let after = entering
        .iter()
        .find(falls_in)
        .map_or_else(before_header, |&block| block);
    let preheader = function.create_block(Some(header));
    function.place_block(preheader, Some(after));
    function.append_fall_through(preheader, header);
    for phi in function.phis(header).collect::<Vec<_>>() {
        split_phi(function, phi, preheader, &entering);
    }
    for &block in &entering {
        function
            .redirect_edge(block, header, preheader)
            .expect("the edge is there and can be led elsewhere");
    }
}

/// Moves the values of a header's PHI from outside the loop to the preheader.
fn split_phi(function: &mut Function, phi: Instruction, preheader: Block, entering: &[Block]) {
    let values: Vec<Operand> = entering
        .iter()
        .map(|&block| {
            function
                .phi_value(phi, block)
                .expect("a PHI has a value for every edge")
        })
        .collect();
    let value = if values.iter().all(|&value| value == values[0]) {
        values[0]
    } else {
        let result = function
            .result(phi, 0)
            .as_register()
            .expect("the result of a PHI is a register");
        let outer = function.create_register_like(result);
        let result = function.register_operand(outer);
        let mut new = InstructionBuilder::new(Operation::Phi, function.data_type(phi))
            .result(result)
            .in_place_of(function.origin(phi));
        for (&value, &block) in values.iter().zip(entering) {
            new = new.source(value).source(Operand::target(block));
        }
        let terminator = function
            .terminator(preheader)
            .expect("the preheader has its branch");
        function.insert(Position::Before(terminator), new);
        result
    };
    let mut sources: Vec<Operand> = function.sources(phi).iter().collect();
    sources.extend([value, Operand::target(preheader)]);
    function.set_sources(phi, &sources);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{
        append_phi, block, count_of, edges, function, numbers, on_random_functions, run_phase,
    };

    #[test]
    fn edges_into_a_loop_meet_in_its_preheader() {
        let mut function = function(&[&[2, 1], &[2], &[2, 3], &[]]);
        let (phi, _) = append_phi(&mut function, 2, &[0, 1, 2]);
        let value = |function: &Function, number| function.phi_value(phi, block(number));
        let [first, second, round] = [0, 1, 2].map(|number| value(&function, number).unwrap());
        assert!(run_phase(super::run, &mut function));
        assert_eq!(numbers(function.blocks()), [0, 1, 4, 2, 3]);
        assert_eq!(edges(&function), [(0, 4), (0, 1), (1, 4), (4, 2), (2, 2), (2, 3)]);
        let outer = function.phis(block(4)).next().unwrap();
        assert_eq!(function.phi_value(outer, block(0)), Some(first));
        assert_eq!(function.phi_value(outer, block(1)), Some(second));
        assert_eq!(value(&function, 4), Some(function.result(outer, 0)));
        assert_eq!(value(&function, 2), Some(round));
        assert_eq!(function.sources(phi).len(), 4);
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn one_value_from_outside_needs_no_phi() {
        let mut function = function(&[&[2, 1], &[2], &[2, 3], &[]]);
        let (phi, _) = append_phi(&mut function, 2, &[0, 1, 2]);
        let value = function.source(phi, 0);
        function.set_source(phi, 2, value);
        assert!(run_phase(super::run, &mut function));
        assert_eq!(function.phis(block(4)).count(), 0);
        assert_eq!(function.phi_value(phi, block(4)), Some(value));
    }

    #[test]
    fn a_loop_with_one_edge_into_it_stays() {
        let mut function = function(&[&[1, 3], &[2], &[1, 3], &[]]);
        assert!(!run_phase(super::run, &mut function));
    }

    #[test]
    fn irreducible_cycles_stay_in_ssa_form() {
        let mut function = function(&[&[2, 1], &[2], &[1, 3], &[]]);
        assert_eq!(
            count_of(super::run, &mut function, "missed-irreducible-cycles"),
            1
        );
        assert_eq!(edges(&function), [(0, 2), (0, 1), (1, 2), (2, 1), (2, 3)]);
    }

    /// Checks that every loop has one entry edge, and that nothing is irreducible in late form.
    fn check_random(stage: Stage) {
        on_random_functions(|mut function, _| {
            function.info.stage = stage;
            if stage == Stage::Late {
                for block in function.blocks().to_vec() {
                    for phi in function.phis(block).collect::<Vec<_>>() {
                        function.remove(phi);
                    }
                }
            }
            let entry = function.entry();
            run_phase(super::run, &mut function);
            let flow = ControlFlow::of(&function);
            let enters_entry = !flow.graph.predecessors(entry).is_empty();
            for natural_loop in flow.loops.loops() {
                let header = flow.loops.header(natural_loop);
                assert!(header == entry || entering_edges(&flow, natural_loop).len() <= 1);
            }
            let is_reducible = flow.irreducible_edges().next().is_none();
            assert!(stage == Stage::Ssa || enters_entry || is_reducible);
            for &block in function.blocks() {
                for phi in function.phis(block) {
                    let mut from: Vec<Block> = flow.graph.predecessors(block).to_vec();
                    from.sort_unstable();
                    from.dedup();
                    let mut known: Vec<Block> = function
                        .sources(phi)
                        .iter()
                        .filter_map(Operand::as_block)
                        .collect();
                    known.sort_unstable();
                    assert_eq!(known, from);
                }
            }
        });
    }

    #[test]
    fn random_loops_in_ssa_form_are_entered_by_one_edge() {
        check_random(Stage::Ssa);
    }

    #[test]
    fn random_cycles_in_late_form_are_entered_by_one_edge() {
        check_random(Stage::Late);
    }
}
