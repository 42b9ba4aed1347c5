//! Encodes the pressure along the code compactly.

use crate::pressure::FunctionPressure;
use oriel_engine::live::pressure::PressureFile;
use serde::Serialize;

/// The most steps of a curve.
const STEPS: usize = 512;

/// The most 32-bit units live at once in each stretch of code. All stretches have the same number
/// of instructions, except the last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Curve {
    /// Numbered instructions.
    instructions: usize,
    /// Instructions of a stretch.
    step: usize,
    units: Vec<u32>,
}

impl Curve {
    /// The curve of a function.
    pub(super) fn of(pressure: &FunctionPressure<'_>) -> Self {
        let indexes = pressure.intervals().indexes();
        let file = pressure.pressure().file(PressureFile::General);
        let starts: Vec<_> = pressure
            .snapshot()
            .instructions()
            .filter(|&instruction| indexes.has_index(instruction))
            .map(|instruction| indexes.instruction_index(instruction))
            .collect();
        let step = starts.len().div_ceil(STEPS).max(1);
        let ends = starts.iter().skip(step).step_by(step).copied();
        let ends = ends.chain([indexes.last_index()]);
        // Registers live at the start of the first block belong to the first stretch.
        let begins = [indexes.zero_index()].into_iter();
        let begins = begins.chain(starts.iter().skip(step).step_by(step).copied());
        let stretches = begins.zip(ends).take(starts.len().div_ceil(step));
        Self {
            instructions: starts.len(),
            step,
            units: stretches
                .map(|(start, end)| file.peak_between(start, end).units)
                .collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::live::LiveRangeCalc;
    use oriel_engine::snapshot::sample::counting_loop;

    #[test]
    fn a_short_function_has_a_step_an_instruction() {
        let owned = counting_loop();
        let curve = Curve::of(&FunctionPressure::compute(
            owned.view(),
            &mut LiveRangeCalc::new(),
        ));
        assert_eq!((curve.instructions, curve.step), (7, 1));
        // Behind @5, @2 is live to the end of the block for the next round's PHI.
        assert_eq!(curve.units, [1, 1, 1, 1, 1, 1, 0]);
    }
}
