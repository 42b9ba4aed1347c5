//! State that stage `ssa` passes to the late stage of the same function.

use crate::options::Options;
use crate::phases::StageEffects;
use crate::report::estimate::CallGraph;
use crate::report::takes_min_blocks;
use crate::snapshot::Snapshot;
use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The data that the run at stage `ssa` passes to the late stage of the same function.
pub(super) struct AtSsa {
    /// The function's name.
    function: String,
    /// The options of the process or compilation.
    pub given: Arc<Options>,
    /// The function's own.
    pub options: Arc<Options>,
    /// Whether the profile left the function alone, if that was decided. The decision holds for
    /// both stages, since the phases of the late stage follow up on those of the first.
    pub is_left_alone: Option<bool>,
    /// The compute capability, times ten.
    pub sm: u32,
    /// True if `.minnctapersm 1` may have to be set.
    pub takes_min_blocks: bool,
    /// The effects of the phases, if they are needed for a page.
    pub effects: Option<StageEffects>,
}

impl AtSsa {
    pub(super) fn new(
        snapshot: &Snapshot<'_>,
        given: Arc<Options>,
        options: Arc<Options>,
        is_left_alone: Option<bool>,
    ) -> Self {
        Self {
            function: snapshot.name().into_owned(),
            given,
            options,
            is_left_alone,
            sm: snapshot.function().sm,
            takes_min_blocks: takes_min_blocks(snapshot),
            effects: None,
        }
    }

    /// True if this is of the function with that name, compiled with these options.
    pub(super) fn is_of(&self, function: &str, given: &Arc<Options>) -> bool {
        self.function == function && Arc::ptr_eq(&self.given, given)
    }
}

/// `OrielStages`: the data that stage `ssa` passes to the late stage, for the functions of one pipeline by
/// address, with their numbers in the module. LLVM may run many functions through the first stage before one
/// reaches the second.
#[derive(Default)]
pub struct OrielStages {
    functions: Mutex<HashMap<usize, (u32, AtSsa)>>,
    /// Why files could not be written, as far as it was reported.
    reported: Mutex<HashSet<String>>,
    /// The functions of the present module whose figures were requested.
    graph: Mutex<CallGraph>,
}

impl OrielStages {
    fn functions(&self) -> MutexGuard<'_, HashMap<usize, (u32, AtSsa)>> {
        self.functions.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the graph of the present module.
    pub(super) fn graph(&self) -> MutexGuard<'_, CallGraph> {
        self.graph.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// True the first time for each problem: a file that cannot be written would be reported for every
    /// function.
    pub(super) fn is_new(&self, problem: &str) -> bool {
        let mut reported = self.reported.lock().unwrap_or_else(PoisonError::into_inner);
        reported.insert(problem.to_owned())
    }

    /// Keeps data for the late stage of a function.
    pub(super) fn leave(&self, address: usize, number: u32, at_ssa: AtSsa) {
        self.functions().insert(address, (number, at_ssa));
    }

    /// Returns the data of stage `ssa` for the late stage of the function with an address and a number,
    /// once. If another function was at the address and LLVM has freed it since, its data are dropped.
    pub(super) fn take(&self, address: usize, number: u32) -> Option<AtSsa> {
        let (of, at_ssa) = self.functions().remove(&address)?;
        (of == number).then_some(at_ssa)
    }
}

#[unsafe(no_mangle)]
extern "C" fn oriel_stages_create() -> Box<OrielStages> {
    Box::default()
}

#[unsafe(no_mangle)]
extern "C" fn oriel_stages_dispose(_: Option<Box<OrielStages>>) {}

#[unsafe(no_mangle)]
extern "C" fn oriel_stages_end_module(stages: &OrielStages) {
    *stages.graph() = CallGraph::default();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::snapshot::sample;

    /// LLVM may free a function that has not reached the late stage, and put another at its address.
    #[test]
    fn an_entry_is_of_one_function_and_its_options() {
        let sample = sample::counting_loop();
        let (snapshot, given) = (sample.view(), Arc::<Options>::default());
        let at_ssa = AtSsa::new(&snapshot, given.clone(), given.clone(), None);
        assert!(at_ssa.is_of(&snapshot.name(), &given));
        assert!(!at_ssa.is_of("another", &given));
        assert!(!at_ssa.is_of(&snapshot.name(), &Arc::default()));

        // Functions without a name have one name.
        let stages = OrielStages::default();
        let leave = || {
            let at_ssa = AtSsa::new(&snapshot, given.clone(), given.clone(), None);
            stages.leave(64, 3, at_ssa);
        };
        leave();
        assert!(stages.take(64, 3).is_some());
        assert!(stages.take(64, 3).is_none());
        leave();
        assert!(stages.take(64, 4).is_none());
        assert!(stages.take(64, 3).is_none());
    }
}
