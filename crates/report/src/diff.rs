//! Compares two reports of the same functions.
//!
//! A baseline is a saved report: the lines of `oriel report --json` or `-oriel-report`. Only lines
//! of stage `late` count.

use crate::pressure::SourceFrame;
use crate::warnings::write_line;
use serde::Deserialize;
use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// The compared fields of a function; other fields of a line are ignored.
#[derive(Clone, Debug, Deserialize)]
pub struct Row {
    function: String,
    sm: u32,
    stage: String,
    instructions_out: Option<u64>,
    peak_pressure_r32: Option<u64>,
    peak_pressure_pred: Option<u64>,
    registers_estimate: Option<u64>,
    spill_risk_percent: Option<u64>,
    ptxas_registers: Option<u64>,
    ptxas_spill_store_bytes: Option<u64>,
    ptxas_spill_load_bytes: Option<u64>,
    occupancy_warps_per_sm: Option<u64>,
    #[serde(default)]
    module: String,
    peak_file: Option<String>,
    peak_line: Option<u32>,
    #[serde(default)]
    warnings: Vec<RowWarning>,
}

/// A warning of a report's line.
#[derive(Clone, Debug, Deserialize)]
pub struct RowWarning {
    pub(crate) kind: String,
    pub(crate) place: Option<RowPlace>,
    pub(crate) problem: String,
    pub(crate) cost: String,
    pub(crate) remedy: String,
}

/// The place of a warning.
#[derive(Clone, Debug, Deserialize)]
pub struct RowPlace {
    pub(crate) source: Vec<SourceFrame>,
}

/// A figure of a function; smaller is better, except for warps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Metric {
    Instructions,
    Registers,
    SpillRisk,
    SpilledBytes,
    Warps,
}

impl Row {
    fn metrics(&self) -> [(&'static str, Metric, Option<u64>); 9] {
        [
            ("instructions_out", Metric::Instructions, self.instructions_out),
            ("peak_pressure_r32", Metric::Registers, self.peak_pressure_r32),
            ("peak_pressure_pred", Metric::Registers, self.peak_pressure_pred),
            ("registers_estimate", Metric::Registers, self.registers_estimate),
            ("spill_risk_percent", Metric::SpillRisk, self.spill_risk_percent),
            ("ptxas_registers", Metric::Registers, self.ptxas_registers),
            (
                "ptxas_spill_store_bytes",
                Metric::SpilledBytes,
                self.ptxas_spill_store_bytes,
            ),
            (
                "ptxas_spill_load_bytes",
                Metric::SpilledBytes,
                self.ptxas_spill_load_bytes,
            ),
            (
                "occupancy_warps_per_sm",
                Metric::Warps,
                self.occupancy_warps_per_sm,
            ),
        ]
    }
}

/// Reads a report's lines, and keeps those about the code that ptxas gets.
///
/// # Errors
/// If a line is not a JSON object, or has no function.
pub fn read(text: &str) -> Result<Vec<Row>, String> {
    let mut rows = Vec::new();
    for (number, line) in text
        .lines()
        .enumerate()
        .filter(|(_, line)| !line.trim().is_empty())
    {
        let row: Row = serde_json::from_str(line).map_err(|error| format!("line {}: {error}", number + 1))?;
        if row.stage == "late" {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// How much worse a function may become.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Tolerance {
    /// Additional registers, and additional predicates.
    pub registers: u64,
    /// Additional instructions, in percent.
    pub instructions_percent: f64,
    /// Additional spill risk, in percentage points.
    pub spill_risk_percent: u64,
    /// Warps per multiprocessor that may be lost.
    pub warps: u64,
}

impl Tolerance {
    fn allows(&self, metric: Metric, before: u64, after: u64) -> bool {
        let more = after.saturating_sub(before);
        let fewer = before.saturating_sub(after);
        match metric {
            Metric::Registers => more <= self.registers,
            Metric::Instructions => more as f64 <= before as f64 * self.instructions_percent / 100.0,
            Metric::SpillRisk => more <= self.spill_risk_percent,
            Metric::SpilledBytes => more == 0,
            Metric::Warps => fewer <= self.warps,
        }
    }
}

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// Worse than the tolerance allows.
    Worse,
    /// Worse, within the tolerance.
    Tolerated,
    /// Better.
    Better,
    /// The function is only in the second report.
    Added,
    /// The function is only in the first report.
    Removed,
}

/// A change of one figure of one function.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The function.
    pub function: String,
    /// Compute capability times ten.
    pub sm: u32,
    /// The report's field; empty if the function was added or removed.
    pub field: &'static str,
    /// The figure in the first report.
    pub before: u64,
    /// The figure in the second one.
    pub after: u64,
    /// The kind of the change.
    pub kind: ChangeKind,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            function,
            sm,
            field,
            before,
            after,
            kind,
        } = self;
        let verdict = match kind {
            ChangeKind::Added => return write!(f, "added: {function} (sm_{sm})"),
            ChangeKind::Removed => return write!(f, "removed: {function} (sm_{sm})"),
            ChangeKind::Worse => "worse",
            ChangeKind::Tolerated => "within tolerance",
            ChangeKind::Better => "better",
        };
        let difference = i128::from(*after) - i128::from(*before);
        write!(
            f,
            "{verdict}: {function} (sm_{sm}): {field} {before} -> {after} ({difference:+})"
        )
    }
}

/// Returns every change from one report to another: in the order of the second one's functions, then
/// the removed functions. Functions of the same name and SM are paired if their modules have one name, the
/// others in order. A figure that one report lacks is not compared.
pub fn compare(before: &[Row], after: &[Row], tolerance: Tolerance) -> Vec<Change> {
    let mut earlier: BTreeMap<(&str, u32), VecDeque<&Row>> = BTreeMap::new();
    for row in before {
        earlier.entry((&row.function, row.sm)).or_default().push_back(row);
    }
    let whole_function = |row: &Row, kind| Change {
        function: row.function.clone(),
        sm: row.sm,
        field: "",
        before: 0,
        after: 0,
        kind,
    };
    let mut partners: Vec<Option<&Row>> = vec![None; after.len()];
    for needs_module in [true, false] {
        for (partner, row) in partners.iter_mut().zip(after) {
            let rows = earlier.get_mut(&(row.function.as_str(), row.sm));
            let Some(rows) = rows.filter(|_| partner.is_none()) else {
                continue;
            };
            let place = rows
                .iter()
                .position(|other| !needs_module || other.module == row.module);
            *partner = place.and_then(|place| rows.remove(place));
        }
    }
    let mut changes = Vec::new();
    for (row, partner) in after.iter().zip(partners) {
        match partner {
            None => changes.push(whole_function(row, ChangeKind::Added)),
            Some(partner) => changes.extend(compare_rows(partner, row, tolerance)),
        }
    }
    let gone = earlier.into_values().flatten();
    changes.extend(gone.map(|row| whole_function(row, ChangeKind::Removed)));
    changes
}

/// Returns the warnings of the second report that the first one lacks, each with its row. Warnings
/// are matched by function, SM and kind, since lines move.
pub fn new_warnings<'r>(before: &[Row], after: &'r [Row]) -> Vec<(&'r Row, &'r RowWarning)> {
    let mut known: BTreeMap<(&str, u32, &str), usize> = BTreeMap::new();
    for row in before {
        for warning in &row.warnings {
            *known.entry((&row.function, row.sm, &warning.kind)).or_default() += 1;
        }
    }
    let mut found = Vec::new();
    for row in after {
        for warning in &row.warnings {
            match known.get_mut(&(row.function.as_str(), row.sm, warning.kind.as_str())) {
                Some(left @ 1..) => *left -= 1,
                _ => found.push((row, warning)),
            }
        }
    }
    found
}

impl Row {
    /// Returns the function's name.
    pub fn function(&self) -> &str {
        &self.function
    }

    /// Returns the compute capability times ten.
    pub fn sm(&self) -> u32 {
        self.sm
    }

    /// Returns the file and line of the pressure peak, or the module's name without debug information.
    pub(crate) fn position(&self) -> (&str, Option<u32>) {
        match (&self.peak_file, self.peak_line) {
            (Some(file), line) => (file, line.filter(|&line| line > 0)),
            (None, _) => (&self.module, None),
        }
    }
}

impl fmt::Display for RowWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_line(f, &self.problem, &self.cost, &self.remedy)
    }
}

impl RowWarning {
    /// Returns file and line, if there is debug information.
    pub(crate) fn position(&self) -> Option<(&str, u32)> {
        let frames = self.place.iter().flat_map(|place| &place.source);
        let mut located = frames.filter(|frame| frame.line > 0);
        located.next().map(|frame| (frame.file.as_str(), frame.line))
    }
}

/// Returns the changes of the figures that both rows have.
fn compare_rows(before: &Row, after: &Row, tolerance: Tolerance) -> impl Iterator<Item = Change> {
    let pairs = before.metrics().into_iter().zip(after.metrics());
    pairs.filter_map(move |((field, metric, before_value), (_, _, after_value))| {
        let (before_value, after_value) = (before_value?, after_value?);
        let order = match metric {
            Metric::Warps => before_value.cmp(&after_value),
            _ => after_value.cmp(&before_value),
        };
        let kind = match order {
            std::cmp::Ordering::Equal => return None,
            std::cmp::Ordering::Less => ChangeKind::Better,
            std::cmp::Ordering::Greater if tolerance.allows(metric, before_value, after_value) => {
                ChangeKind::Tolerated
            }
            std::cmp::Ordering::Greater => ChangeKind::Worse,
        };
        Some(Change {
            function: after.function.clone(),
            sm: after.sm,
            field,
            before: before_value,
            after: after_value,
            kind,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: &str = r#"
{"function":"k","sm":80,"stage":"ssa","instructions_out":1}
{"function":"k","sm":80,"stage":"late","instructions_out":100,"registers_estimate":20,"spill_risk_percent":10,"ptxas_spill_load_bytes":0,"occupancy_warps_per_sm":64}
{"function":"k","sm":90,"stage":"late","instructions_out":100,"occupancy_warps_per_sm":48}
{"function":"gone","sm":80,"stage":"late","instructions_out":100}
"#;
    const AFTER: &str = r#"
{"function":"k","sm":80,"stage":"late","instructions_out":104,"registers_estimate":22,"spill_risk_percent":13,"ptxas_spill_load_bytes":4,"occupancy_warps_per_sm":56,"extra":[]}
{"function":"k","sm":90,"stage":"late","instructions_out":90,"registers_estimate":1,"occupancy_warps_per_sm":64}
{"function":"new","sm":80,"stage":"late","instructions_out":100}
"#;

    fn lines(tolerance: Tolerance) -> Vec<String> {
        let (before, after) = (read(BEFORE).unwrap(), read(AFTER).unwrap());
        compare(&before, &after, tolerance)
            .iter()
            .map(ToString::to_string)
            .collect()
    }

    #[test]
    fn says_what_became_worse() {
        assert_eq!(
            lines(Tolerance::default()),
            [
                "worse: k (sm_80): instructions_out 100 -> 104 (+4)",
                "worse: k (sm_80): registers_estimate 20 -> 22 (+2)",
                "worse: k (sm_80): spill_risk_percent 10 -> 13 (+3)",
                "worse: k (sm_80): ptxas_spill_load_bytes 0 -> 4 (+4)",
                "worse: k (sm_80): occupancy_warps_per_sm 64 -> 56 (-8)",
                "better: k (sm_90): instructions_out 100 -> 90 (-10)",
                "better: k (sm_90): occupancy_warps_per_sm 48 -> 64 (+16)",
                "added: new (sm_80)",
                "removed: gone (sm_80)",
            ]
        );
    }

    #[test]
    fn tolerance_is_in_registers_and_percent() {
        let tolerance = Tolerance {
            registers: 2,
            instructions_percent: 4.0,
            spill_risk_percent: 3,
            warps: 8,
        };
        let lines = lines(tolerance);
        assert!(lines[0].starts_with("within tolerance: k (sm_80): instructions_out"));
        assert!(lines[1].starts_with("within tolerance: k (sm_80): registers_estimate"));
        assert!(lines[2].starts_with("within tolerance: k (sm_80): spill_risk_percent"));
        // A spill is never tolerated.
        assert!(lines[3].starts_with("worse: "));
        assert!(lines[4].starts_with("within tolerance: k (sm_80): occupancy_warps_per_sm"));
    }

    #[test]
    fn only_warnings_that_were_not_there_are_new() {
        let line = |kinds: &[&str]| {
            let warnings: Vec<String> = kinds
                .iter()
                .map(|kind| {
                    format!(r#"{{"kind":"{kind}","place":null,"problem":"p","cost":"c","remedy":"r"}}"#)
                })
                .collect();
            let text = format!(
                r#"{{"function":"k","sm":80,"stage":"late","warnings":[{}]}}"#,
                warnings.join(",")
            );
            read(&text).unwrap()
        };
        let (before, after) = (line(&["a", "b"]), line(&["b", "a", "a"]));
        let kinds = |before: &[Row], after: &[Row]| -> Vec<String> {
            let new = new_warnings(before, after);
            new.iter().map(|(_, warning)| warning.kind.clone()).collect()
        };
        assert_eq!(kinds(&before, &after), ["a"]);
        assert_eq!(kinds(&after, &before), [""; 0]);
    }

    #[test]
    fn equal_functions_of_one_name_pair_up_in_order() {
        let rows = read(&BEFORE.repeat(2)).unwrap();
        assert_eq!(compare(&rows, &rows, Tolerance::default()), []);
    }

    #[test]
    fn functions_of_one_name_are_told_apart_by_their_modules() {
        let in_module = |module: &str, instructions: u32| {
            format!(
                r#"{{"function":"k","sm":80,"stage":"late","module":"{module}","instructions_out":{instructions}}}"#
            )
        };
        let read = |lines: &[String]| read(&lines.join("\n")).unwrap();
        let before = read(&[in_module("a.ll", 5), in_module("b.ll", 300)]);
        let turned = read(&[in_module("b.ll", 300), in_module("a.ll", 5)]);
        assert_eq!(compare(&before, &turned, Tolerance::default()), []);
        // A module that was renamed takes what is left.
        let renamed = read(&[in_module("c.ll", 300), in_module("a.ll", 5)]);
        assert_eq!(compare(&before, &renamed, Tolerance::default()), []);
    }

    #[test]
    fn a_line_that_is_no_report_is_refused() {
        assert!(read("{}").unwrap_err().starts_with("line 1: missing field"));
        assert!(read("\nno").unwrap_err().starts_with("line 2: "));
    }
}
