//! AdvancedPhaseBackPropVReg (phase 82): backward copy propagation.
//!
//! ```text
//! %1 = IADD %4, %5                %3 = IADD %4, %5
//! %2 = MOV %1                ─▶
//! %3 = MOV %2
//! ```
//!
//! If a copy's source is computed only for the copy, the computing instruction writes the copy's
//! result instead, and the copy is removed. This is correct if
//!
//! 1. the copy is the only use of its source,
//! 2. the source has one definition, in the copy's block, whose result can be renamed: the
//!    registers are of one kind, and no inline assembly ties it to an operand,
//! 3. between the two nothing writes or reads the copy's result, and the computing instruction has
//!    no other result in the same register.
//!
//! A single backward walk over each block suffices. A copy that meets conditions 1 and 2 waits for the
//! definition; any mention of its result on the way ends the wait. A renamed definition may be a copy
//! itself, which waits in turn, so one pass handles chains of any length. The sets at block boundaries
//! do not change, nor do control flow and liveness.
//!
//! The reference gives the algorithm, but leaves the implementation to the back ends of ptxas
//! ([`backend`](super::backend)), none of which has one. Departure: it looks up reaching
//! definitions, which the walk makes unnecessary within a block. After LLVM's coalescer, no source
//! that is live across blocks has a single use and could be renamed, so nothing is lost.

use super::knobs::Knob;
use super::shared::copies::{is_alike, registers_of_copy};
use super::{PhaseContext, PhaseResult, RemarkKind};
use oriel_engine::entity::{Block, PackedOption, Register, SecondaryMap};
use oriel_ori::{Function, Instruction, Operation};

/// Runs the phase.
pub(super) fn run(function: &mut Function, context: &mut PhaseContext<'_>) -> PhaseResult {
    let mut budget = context.options.knobs.budget(Knob::BackCopyPropBudget);
    let mut waiting = WaitingCopies {
        copies: SecondaryMap::with_capacity(function.register_limit()),
        sources: SecondaryMap::with_capacity(function.register_limit()),
    };
    let mut propagated = 0;
    for index in 0..function.blocks().len() {
        let block = function.blocks()[index];
        let mut next = function.last(block);
        while let Some(instruction) = next {
            if function.operation(instruction).is_debug() {
                next = function.previous(instruction);
                continue;
            }
            // With two results, one may be that of a copy that waits for the other.
            let results = function.results(instruction).iter();
            results
                .filter_map(|result| result.as_register())
                .for_each(|result| waiting.forget(result));
            // At most one for each result.
            while let Some(copy) = waiting.waiting_for(function, instruction) {
                if !budget.spend() {
                    missed(function, context, copy, "the budget is exhausted");
                    return context.result_of("propagated", propagated);
                }
                say(function, context, copy, instruction);
                waiting.propagate(function, copy, instruction);
                propagated += 1;
            }
            waiting.pass(function, context, instruction, block);
            next = function.previous(instruction);
        }
    }
    context.result_of("propagated", propagated)
}

struct WaitingCopies {
    /// By source: the copy that waits for its definition.
    copies: SecondaryMap<Register, PackedOption<Instruction>>,
    /// By result: the source of the copy that waits.
    sources: SecondaryMap<Register, PackedOption<Register>>,
}

impl WaitingCopies {
    /// Returns the copy that waits for a result of the instruction.
    fn waiting_for(&self, function: &Function, instruction: Instruction) -> Option<Instruction> {
        let mut results = function.results(instruction).iter();
        results.find_map(|result| self.copies[result.as_register()?].expand())
    }

    /// Renames the definition and removes the copy.
    fn propagate(&mut self, function: &mut Function, copy: Instruction, definition: Instruction) {
        let (result, source) = registers_of_copy(function, copy).expect("a copy waits");
        let mut results = function.results(definition).iter();
        let number = results.position(|operand| operand.as_register() == Some(source));
        let number = number.expect("the instruction defines the source");
        self.forget(result);
        function.remove(copy);
        let renamed = function.result(definition, number).with_register(result);
        function.set_result(definition, number, renamed);
    }

    /// Passes an instruction: the registers that it mentions end waits, and a copy begins one.
    fn pass(
        &mut self,
        function: &Function,
        context: &mut PhaseContext<'_>,
        instruction: Instruction,
        block: Block,
    ) {
        let operands = function
            .results(instruction)
            .iter()
            .chain(function.sources(instruction));
        for register in operands.filter_map(|operand| operand.as_register()) {
            self.forget(register);
        }
        let Some((result, source)) = registers_of_copy(function, instruction) else {
            return;
        };
        match problem_with(function, block, result, source) {
            None => {
                self.copies[source] = instruction.into();
                self.sources[result] = source.into();
            }
            Some(problem) => missed(function, context, instruction, problem),
        }
    }

    /// Ends the wait of the copy with this result.
    fn forget(&mut self, result: Register) {
        if let Some(source) = self.sources[result].take() {
            self.copies[source] = PackedOption::default();
        }
    }
}

/// Checks guards 1 and 2: returns why the definition of a copy's source cannot write its result.
fn problem_with(
    function: &Function,
    block: Block,
    result: Register,
    source: Register,
) -> Option<&'static str> {
    let mut uses = function.uses(source);
    if uses.next().is_none() || uses.next().is_some() {
        return Some("the source has other uses");
    }
    let Some(definition) = function.unique_definition(source) else {
        return Some("the source has no single definition");
    };
    if function.block_of(definition) != Some(block) {
        return Some("the source is computed in another block");
    }
    if function.is_inline_assembly(definition) || function.operation(definition) == Operation::Phi {
        return Some("the result of inline assembly or of a PHI is not renamed");
    }
    (!is_alike(function, result, source)).then_some("the registers are of different kinds")
}

fn missed(function: &Function, context: &mut PhaseContext<'_>, copy: Instruction, problem: &str) {
    context.remark(RemarkKind::Missed, "BackCopy", function, Some(copy), || {
        format!("the copy stays: {problem}")
    });
}

fn say(function: &Function, context: &mut PhaseContext<'_>, copy: Instruction, definition: Instruction) {
    context.remark(RemarkKind::Passed, "BackCopy", function, Some(copy), || {
        let (result, source) = registers_of_copy(function, copy).expect("a copy waits");
        let operation = function.operation(definition).name();
        format!(
            "{operation} writes %{} instead of %{}",
            result.as_u32(),
            source.as_u32()
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::registry::{PHASES, Profiles, named};
    use crate::testing::{add_copies, kernel, run_phase, run_phase_with};
    use crate::{Manager, PhaseOptions, PhaseResult, backend};
    use oriel_engine::snapshot::abi::Stage;
    use oriel_ori::random_function::random_function;
    use oriel_random::{Random, Stream};
    use proptest::prelude::*;

    fn after(lines: &str) -> String {
        after_with(lines, &PhaseOptions::default())
    }

    fn after_with(lines: &str, options: &PhaseOptions) -> String {
        let mut function = kernel("sm_80 late", &format!("bix0:\n{lines}    RET\n"));
        let before = function.to_string();
        let changed = run_phase_with(run, &mut function, options);
        assert_eq!(function.verify(), []);
        let printed = function.to_string();
        assert_eq!(changed, printed != before);
        printed
    }

    const CHAIN: &str = "\
    %1:R32 = LD.global.b32 [0]
    %2:R32 = IADD.b32 %1, 1
    %3:R32 = MOV.b32 %2
    %4:R32 = COPY.b32 %3
    %5:R32 = MOV.b32 %4
    ST.global.b32 %5, [64]
";

    #[test]
    fn a_chain_goes_in_one_pass() {
        let printed = after(CHAIN);
        assert!(printed.contains("%5:R32 = IADD.b32 %1, 1"), "{printed}");
        assert!(!printed.contains("MOV") && !printed.contains("COPY"), "{printed}");
    }

    #[test]
    fn the_budget_ends_it() {
        for (budget, left) in [(0, 3), (1, 2), (3, 0)] {
            let mut options = PhaseOptions::default();
            options.knobs.set(&format!("808={budget}")).unwrap();
            let printed = after_with(CHAIN, &options);
            let copies = printed.matches("MOV").count() + printed.matches("COPY").count();
            assert_eq!(copies, left, "{printed}");
        }
    }

    #[test]
    fn guards_keep_copies() {
        // Another use of the source; the result is read or written in between; two definitions; different
        // kinds; the result is another one of the definition.
        for lines in [
            CHAIN.replace("%3\n", "%3\n    ST.global.b32 %3, [4]\n").replace("%5:R32 = MOV.b32 %4", "%5:R32 = IADD.b32 %4, 0"),
            "    %1:R32 = LD.global.b32 [0]\n    %2:R32 = IADD.b32 %1, 1\n    ST.global.b32 %1, [4]\n    %1 = MOV.b32 %2\n    ST.global.b32 %1, [8]\n".to_owned(),
            "    %1:R32 = LD.global.b32 [0]\n    %2:R32 = LD.global.b32 [4]\n    %1 = IADD.b32 %1, 1\n    ST.global.b32 %1, [4]\n    %1 = MOV.b32 %2\n    ST.global.b32 %1, [8]\n".to_owned(),
            "    %2:R32 = LD.global.b32 [0]\n    %2 = IADD.b32 %2, 1\n    %1:R32 = MOV.b32 %2\n    ST.global.b32 %1, [8]\n".to_owned(),
            "    %9:R64 = LD.global.b64 [0]\n    %2:R32, %1:R32 = UNPACK.b32.b64 %9\n    %2 = MOV.b32 %1\n    ST.global.b32 %2, [8]\n".to_owned(),
        ] {
            let printed = after(&lines);
            assert!(printed.contains("MOV") || printed.contains("COPY"), "{printed}");
        }
    }

    #[test]
    fn a_result_may_be_what_the_definition_reads() {
        let printed = after(
            "    %1:R32 = LD.global.b32 [0]\n    %2:R32 = IADD.b32 %1, 1\n    %1 = MOV.b32 %2\n    ST.global.b32 %1, [8]\n",
        );
        assert!(printed.contains("%1 = IADD.b32 %1, 1"), "{printed}");
    }

    #[test]
    fn no_back_end_of_ptxas_has_it_and_neither_has_max() {
        for number in [82, 83] {
            let phase = PHASES
                .iter()
                .find(|phase| phase.number == Some(number))
                .expect("a phase");
            assert_eq!(phase.profiles, Profiles::PTXAS);
            assert!((30..130).all(|sm| !backend::provides(sm, phase.hooks)));
        }
    }

    #[test]
    fn the_progress_of_the_pipeline_is_that_of_the_last_marker() {
        use crate::progress::PipelineProgress;
        let mut function = kernel("sm_80 late", "bix0:\n    RET\n");
        let options = PhaseOptions::default();
        let mut manager = Manager::new(&options, false);
        for (name, progress) in [
            ("AdvancedPhaseBackPropVReg", PipelineProgress::START),
            ("OriBackCopyPropagate", PipelineProgress::BACK_COPY_PROPAGATED),
            ("SetAfterLegalization", PipelineProgress::LEGALIZED),
            ("OriBackCopyPropagate", PipelineProgress::LEGALIZED),
        ] {
            let phase = named(name).next().expect("a phase");
            assert_eq!(manager.run(phase, &mut function), PhaseResult::Unchanged);
            assert_eq!(manager.progress, progress);
        }
        assert!(PipelineProgress::BACK_COPY_PROPAGATED < PipelineProgress::LEGALIZED);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(256))]

        /// For any function: the result verifies, kept analyses are still valid, every removed copy
        /// is counted, and a second run finds nothing.
        #[test]
        fn renaming_keeps_functions_sound(seed: u64, is_late: bool) {
            let mut function = random_function(seed, if is_late { Stage::Late } else { Stage::Ssa });
            let mut random = Random::new(seed, Stream::TestOri);
            add_copies(&mut function, &mut random);
            let phase = named("AdvancedPhaseBackPropVReg").next().expect("a phase");
            let options = PhaseOptions::default();
            let mut manager = Manager::new(&options, false);
            manager.prepare(named("OriSplitLiveRanges").next().expect("it needs all analyses"), &function);
            let count = |function: &Function| -> usize {
                let blocks = function.blocks().iter();
                blocks.map(|&block| function.instructions(block).count()).sum()
            };
            let before = count(&function);
            manager.run(phase, &mut function);
            prop_assert_eq!(function.verify(), []);
            prop_assert_eq!(manager.check_analyses(phase, &function), Ok(()));
            let removed = manager.finish().0.counter(phase.name, "propagated");
            prop_assert_eq!(before - count(&function), removed as usize);
            prop_assert!(!run_phase(run, &mut function), "{}", function);
        }
    }
}
