//! Writes the control flow of a function for Graphviz, with blocks coloured by their register
//! pressure.

use super::pressure::FunctionPressure;
use std::fmt::{self, Write};

/// Writes the graph: blocks without pressure are white, blocks at the function's peak are red.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_pressure_dot(pressure: &FunctionPressure<'_>, out: &mut impl Write) -> fmt::Result {
    let snapshot = pressure.snapshot();
    let details = pressure.details();
    let most = details.peaks[0].units.max(1);
    writeln!(out, "digraph \"{}\" {{", snapshot.name().escape_default())?;
    writeln!(
        out,
        "node [shape=box,style=filled,fontname=\"Courier\",fontsize=10];"
    )?;
    for (block, peaks) in snapshot.blocks().zip(&details.block_pressure) {
        let saturation = f64::from(peaks.peak_pressure_r32) / f64::from(most);
        let debug = snapshot
            .instructions_of(block)
            .filter(|&instruction| snapshot.instruction(instruction).is_debug())
            .count();
        writeln!(
            out,
            "bb{} [label=\"bb.{}\\n{} instructions, depth {}\\n{} r32, {} pred\",fillcolor=\"0.000 {saturation:.3} 1.000\"];",
            peaks.block,
            peaks.block,
            snapshot.instructions_of(block).len() - debug,
            peaks.loop_depth,
            peaks.peak_pressure_r32,
            peaks.peak_pressure_pred,
        )?;
        for target in snapshot.successors(block) {
            writeln!(out, "bb{} -> bb{};", peaks.block, snapshot.block(target).number)?;
        }
    }
    writeln!(out, "}}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_engine::live::LiveRangeCalc;
    use oriel_engine::snapshot::sample::counting_loop;

    #[test]
    fn the_peak_is_red_and_no_pressure_white() {
        let owned = counting_loop();
        let pressure = FunctionPressure::compute(owned.view(), &mut LiveRangeCalc::new());
        let mut text = String::new();
        write_pressure_dot(&pressure, &mut text).unwrap();
        let line = |start: &str| text.lines().find(|line| line.starts_with(start)).unwrap();
        assert_eq!(
            line("bb1 ["),
            "bb1 [label=\"bb.1\\n5 instructions, depth 1\\n1 r32, 1 pred\",fillcolor=\"0.000 1.000 1.000\"];"
        );
        assert!(line("bb2 [").ends_with("fillcolor=\"0.000 0.000 1.000\"];"));
        assert!(text.contains("bb1 -> bb1;\nbb1 -> bb2;\n"));
    }
}
