//! The effect of each phase on the size and the register pressure of a function.

use super::registry::Phase;
use crate::{Manager, PhaseResult, Statistics};
use oriel_engine::snapshot::abi::Stage;
use oriel_ori::{Function, Liveness, RegisterFile, RegisterPressure};
use serde::{Serialize, Serializer};

/// The size and the register pressure of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Instructions, without debug instructions.
    pub instructions: usize,
    /// Blocks of the layout.
    pub blocks: usize,
    /// Units of 32 bits that are live at once. With PHIs, the pressure after PHI elimination may
    /// differ.
    pub peak_pressure_r32: u32,
    /// Predicates that are live at once.
    pub peak_pressure_pred: u32,
}

impl Extent {
    /// Measures a function.
    pub fn of(function: &Function, liveness: &Liveness) -> Self {
        let count = |&block| {
            let instructions = function.instructions(block);
            instructions
                .filter(|&instruction| !function.operation(instruction).is_debug())
                .count()
        };
        let pressure = RegisterPressure::compute(function, liveness, None);
        let peak = pressure.peak;
        Self {
            instructions: function.blocks().iter().map(count).sum(),
            blocks: function.blocks().len(),
            peak_pressure_r32: pressure.peak_data,
            peak_pressure_pred: peak.of(RegisterFile::P) + peak.of(RegisterFile::Up),
        }
    }
}

/// The state after one phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PhaseEffect {
    /// The phase.
    pub phase: &'static str,
    /// Its time, without analyses that it shares with others.
    pub ns: u64,
    /// Its counters.
    #[serde(serialize_with = "as_object")]
    pub counters: Vec<(&'static str, u64)>,
    /// The function after it.
    #[serde(flatten)]
    pub after: Extent,
}

fn as_object<S: Serializer>(counters: &[(&'static str, u64)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(counters.iter().copied())
}

/// The effects of the phases of a stage on a function, in order of execution.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StageEffects {
    /// `ssa` or `late`.
    pub stage: &'static str,
    /// The function before the first phase.
    pub before: Extent,
    /// The state after each phase.
    pub phases: Vec<PhaseEffect>,
    /// Why all changes were reverted; none if they were kept.
    pub taken_back: Option<String>,
}

impl StageEffects {
    /// Measures a function before its first phase.
    pub fn new(stage: Stage, function: &Function, manager: &mut Manager<'_>) -> Self {
        Self {
            stage: stage.name(),
            before: Extent::of(function, &manager.liveness(function)),
            phases: Vec::new(),
            taken_back: None,
        }
    }

    /// Measures the function after a phase.
    pub fn note(
        &mut self,
        phase: &Phase,
        result: PhaseResult,
        function: &Function,
        manager: &mut Manager<'_>,
    ) {
        let after = match result {
            PhaseResult::Changed => Extent::of(function, &manager.liveness(function)),
            PhaseResult::Unchanged => self.phases.last().map_or(self.before, |last| last.after),
        };
        self.phases.push(PhaseEffect {
            phase: phase.name,
            ns: 0,
            counters: Vec::new(),
            after,
        });
    }

    /// Adds the phases' counters and times.
    pub fn add_statistics(&mut self, statistics: &Statistics) {
        for effect in &mut self.phases {
            let mut times = statistics.times().filter(|(phase, _)| *phase == effect.phase);
            effect.ns = times.next().map_or(0, |(_, time)| time.as_nanos() as u64);
            let mut counters = statistics.iter().filter(|(phase, _)| *phase == effect.phase);
            effect.counters = counters
                .next()
                .map_or_else(Vec::new, |(_, counters)| counters.to_vec());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PhaseOptions;
    use crate::registry::PHASES;
    use oriel_ori::parse_function;

    #[test]
    fn a_phase_that_removes_dead_code_leaves_less() {
        let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %1:R64 = LD.global.b64 [0]
    %2:R32 = IADD.b32 1, 2
    ST.global.b32 3, [%1]
    RET
}
";
        let mut function = parse_function(text).expect("it is well formed");
        let options = PhaseOptions::default();
        let mut manager = Manager::new(&options, false);
        let mut effects = StageEffects::new(Stage::Ssa, &function, &mut manager);
        for name in ["OriPerformLiveDeadFirst", "AnalyzeControlFlow"] {
            let phase = PHASES
                .iter()
                .find(|phase| phase.name == name)
                .expect("it is there");
            let result = manager.run(phase, &mut function);
            effects.note(phase, result, &function, &mut manager);
        }
        let (statistics, _) = manager.finish();
        effects.add_statistics(&statistics);
        let extent = |instructions, peak_pressure_r32| Extent {
            instructions,
            blocks: 1,
            peak_pressure_r32,
            peak_pressure_pred: 0,
        };
        assert_eq!(effects.before, extent(4, 3));
        assert_eq!(effects.phases[0].after, extent(3, 2));
        assert!(effects.phases[0].ns > 0 && !effects.phases[0].counters.is_empty());
        // A phase that changes nothing leaves the measured values.
        assert_eq!(effects.phases[1].after, effects.phases[0].after);
    }
}
