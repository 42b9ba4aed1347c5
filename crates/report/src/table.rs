//! Prints the report as text: a table of functions, and the causes of the pressure of each.

use super::code_report::CodeReport;
use super::pressure::{LiveValue, PeakDetails, PressureDetails};
use std::fmt::{self, Write};

/// The most values listed for a peak.
const LISTED_VALUES: usize = 12;
/// The most variables listed for a peak.
const LISTED_VARIABLES: usize = 8;

/// Writes a table with one row for each function.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_table(reports: &[CodeReport], out: &mut impl Write) -> fmt::Result {
    let has = |field: fn(&CodeReport) -> bool| reports.iter().any(field);
    let estimate = has(|report| report.figures.registers_estimate.is_some());
    let ptxas = has(|report| report.ptxas.is_some());
    let occupancy = has(|report| report.figures.occupancy.is_some());
    let mut header = vec!["function", "", "SM", "instructions", "peak r32", "pred", "at"];
    header.extend(
        estimate
            .then_some(["estimate", "range", "spill risk"])
            .into_iter()
            .flatten(),
    );
    header.extend(ptxas.then_some(["ptxas", "spilled bytes"]).into_iter().flatten());
    header.extend(occupancy.then_some(["warps", "limited by"]).into_iter().flatten());
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    for report in reports {
        let mut row = base_cells(report);
        if estimate {
            row.extend(estimate_cells(report));
        }
        if ptxas {
            row.extend(ptxas_cells(report));
        }
        if occupancy {
            row.extend(occupancy_cells(report));
        }
        rows.push(row);
    }
    write_aligned(&rows, out)
}

fn base_cells(report: &CodeReport) -> Vec<String> {
    let figures = &report.figures;
    let place = match (&figures.peak_file, figures.peak_line, figures.peak_block) {
        (Some(file), Some(line), _) => format!("{file}:{line}"),
        (_, _, Some(block)) => format!("bb.{block}"),
        _ => String::new(),
    };
    vec![
        report.function.clone(),
        if report.is_kernel { "kernel" } else { "function" }.to_owned(),
        report.sm.to_string(),
        report.instructions_out.to_string(),
        figures.peak_pressure_r32.to_string(),
        figures.peak_pressure_pred.to_string(),
        place,
    ]
}

fn estimate_cells(report: &CodeReport) -> [String; 3] {
    let figures = &report.figures;
    let estimate =
        figures
            .registers_estimate
            .map_or(String::new(), |it| match figures.registers_estimate_unlike {
                None => it.to_string(),
                Some(_) => format!("{it}?"),
            });
    let range = figures
        .registers_estimate_low
        .zip(figures.registers_estimate_high);
    let risk = figures.spill_risk_percent;
    [
        estimate,
        range.map_or(String::new(), |(low, high)| format!("{low}-{high}")),
        risk.map_or(String::new(), |percent| format!("{percent}%")),
    ]
}

fn ptxas_cells(report: &CodeReport) -> [String; 2] {
    let Some(ptxas) = report.ptxas else {
        return Default::default();
    };
    let spilled = ptxas.ptxas_spill_store_bytes + ptxas.ptxas_spill_load_bytes;
    [
        ptxas.ptxas_registers.map_or(String::new(), |it| it.to_string()),
        spilled.to_string(),
    ]
}

fn occupancy_cells(report: &CodeReport) -> [String; 2] {
    match report.figures.occupancy {
        None => Default::default(),
        Some(occupancy) => [
            format!(
                "{}/{}",
                occupancy.occupancy_warps_per_sm, occupancy.occupancy_max_warps_per_sm
            ),
            occupancy.occupancy_limiter.to_string(),
        ],
    }
}

/// Writes rows in columns, the first row underlined; columns of numbers are right-aligned.
fn write_aligned(rows: &[Vec<String>], out: &mut impl Write) -> fmt::Result {
    let columns = rows[0].len();
    let is_number = |cell: &String| cell.bytes().all(|byte| byte.is_ascii_digit());
    let layout: Vec<(usize, bool)> = (0..columns)
        .map(|column| {
            let width = rows.iter().map(|row| row[column].chars().count()).max();
            (
                width.unwrap_or(0),
                rows[1..].iter().all(|row| is_number(&row[column])),
            )
        })
        .collect();
    for (number, row) in rows.iter().enumerate() {
        let mut line = String::new();
        for (cell, &(width, right)) in row.iter().zip(&layout) {
            // Rust's formatting takes no width above 65,535, and names may be longer.
            let padding = " ".repeat(width - cell.chars().count());
            match right {
                true => write!(line, "{padding}{cell}  ")?,
                false => write!(line, "{cell}{padding}  ")?,
            }
        }
        writeln!(out, "{}", line.trim_end())?;
        if number == 0 {
            let width = layout.iter().map(|(width, _)| width + 2).sum::<usize>() - 2;
            writeln!(out, "{}", "-".repeat(width))?;
        }
    }
    Ok(())
}

/// Writes the warnings on all functions.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_warnings(reports: &[CodeReport], out: &mut impl Write) -> fmt::Result {
    for report in reports {
        for warning in &report.figures.warnings {
            write!(out, "\nwarning: {} (sm_{})", report.function, report.sm)?;
            if let Some(place) = &warning.place {
                write!(out, " at {place}")?;
            }
            writeln!(out, "\n  {}", warning.problem)?;
            writeln!(out, "  cost: {}", warning.cost)?;
            writeln!(out, "  remedy: {}", warning.remedy)?;
        }
    }
    Ok(())
}

/// Writes the causes of a function's pressure.
///
/// # Errors
/// If `out` cannot be written to.
pub fn write_details(report: &CodeReport, details: &PressureDetails, out: &mut impl Write) -> fmt::Result {
    writeln!(out, "\n{} (sm_{})", report.function, report.sm)?;
    for peak in &details.peaks {
        write_peak(peak, out)?;
    }
    for depth in &details.loop_depths {
        writeln!(
            out,
            "  in {} loops: {} r32, {} pred",
            depth.loop_depth, depth.peak_pressure_r32, depth.peak_pressure_pred
        )?;
    }
    for block in &details.block_pressure {
        writeln!(
            out,
            "  bb.{}: {} r32, {} pred",
            block.block, block.peak_pressure_r32, block.peak_pressure_pred
        )?;
    }
    Ok(())
}

fn write_peak(peak: &PeakDetails, out: &mut impl Write) -> fmt::Result {
    let Some(place) = &peak.place else {
        return Ok(());
    };
    writeln!(out, "  {} {} at {place}", peak.units, peak.file)?;
    for share in peak.variables.iter().take(LISTED_VARIABLES) {
        writeln!(
            out,
            "    {} in {} ({} values)",
            share.units, share.variable, share.values
        )?;
    }
    for value in peak.values.iter().take(LISTED_VALUES) {
        write_value(value, out)?;
    }
    match peak.values.len().checked_sub(LISTED_VALUES) {
        None | Some(0) => Ok(()),
        Some(more) => writeln!(out, "    and {more} more"),
    }
}

fn write_value(value: &LiveValue, out: &mut impl Write) -> fmt::Result {
    write!(out, "    %{}:{}", value.register, value.class)?;
    if !value.variables.is_empty() {
        write!(out, " ({})", value.variables.join(", "))?;
    }
    if let Some(definition) = &value.definition {
        write!(out, " from {definition}")?;
    }
    if let Some(last_use) = &value.last_use {
        write!(out, " to {last_use}")?;
    }
    match value.relief {
        None => writeln!(out),
        Some(relief) => writeln!(out, ": {relief}"),
    }
}
