//! `oriel phases` and `oriel knobs`: list the names that options accept.

use clap::Args;
use oriel::phases::knobs::KNOBS;
use oriel::phases::registry::{Forms, PHASES, Profiles};
use serde_json::json;
use std::io::{ErrorKind, Write};

/// Options of `oriel phases` and `oriel knobs`.
#[derive(Args)]
pub struct TableArguments {
    /// Print one JSON object a row
    #[arg(long)]
    json: bool,
}

/// Runs `oriel phases`.
pub fn run_phases(arguments: &TableArguments) -> Result<(), String> {
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for phase in PHASES {
        let number = phase.number.map(|number| number.to_string());
        let forms: Vec<&str> = [(Forms::SSA, "ssa"), (Forms::LATE, "late")]
            .into_iter()
            .filter(|(form, _)| phase.forms.contains(*form))
            .map(|(_, name)| name)
            .collect();
        let profiles: Vec<&str> = [(Profiles::PTXAS, "ptxas"), (Profiles::MAX, "max")]
            .into_iter()
            .filter(|(profile, _)| phase.profiles.contains(*profile))
            .map(|(_, name)| name)
            .collect();
        let is_part = phase.run.is_some();
        if arguments.json {
            let row = json!({
                "number": phase.number, "name": phase.name, "group": phase.group,
                "stage": is_part.then_some(phase.stage.name()), "forms": forms, "profiles": profiles,
                "is_part_of_oriel": is_part,
            });
            lines.push(row.to_string());
        } else {
            rows.push([
                number.unwrap_or_default(),
                phase.name.to_owned(),
                phase.group.unwrap_or_default().to_owned(),
                if is_part { phase.stage.name() } else { "-" }.to_owned(),
                forms.join(","),
                profiles.join(","),
            ]);
        }
    }
    if !arguments.json {
        lines = aligned(["number", "name", "group", "runs at", "forms", "profiles"], &rows);
        lines.push("\n- : a place in ptxas' order that Oriel has no phase for".to_owned());
    }
    print(&lines)
}

/// Runs `oriel knobs`.
pub fn run_knobs(arguments: &TableArguments) -> Result<(), String> {
    let (mut lines, mut rows) = (Vec::new(), Vec::new());
    for spec in KNOBS {
        let kind = spec.default.kind().name();
        if arguments.json {
            let row = json!({
                "name": spec.name, "rot13": spec.rot13(), "index": spec.index, "type": kind,
                "default": spec.default, "readers": spec.readers, "help": spec.help,
            });
            lines.push(row.to_string());
        } else {
            rows.push([
                spec.index.map(|index| index.to_string()).unwrap_or_default(),
                spec.name.to_owned(),
                spec.rot13(),
                kind.to_owned(),
                spec.default.to_string(),
                spec.readers.join(","),
                spec.help.to_owned(),
            ]);
        }
    }
    if !arguments.json {
        let headings = [
            "index",
            "name",
            "ROT13",
            "type",
            "default",
            "read by",
            "what it does",
        ];
        lines = aligned(headings, &rows);
    }
    print(&lines)
}

/// Prints lines until the reader stops.
fn print(lines: &[String]) -> Result<(), String> {
    let text = lines.join("\n") + "\n";
    match std::io::stdout().write_all(text.as_bytes()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(error.to_string()),
        _ => Ok(()),
    }
}

/// Formats the lines of a table with columns as wide as their widest cells.
fn aligned<const N: usize>(headings: [&str; N], rows: &[[String; N]]) -> Vec<String> {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].len());
        cells.chain([headings[column].len()]).max().unwrap_or(0)
    };
    let widths: [usize; N] = std::array::from_fn(width);
    let line = |cells: [&str; N]| {
        let padded: Vec<String> = cells
            .iter()
            .zip(widths)
            .map(|(cell, width)| format!("{cell:width$}"))
            .collect();
        padded.join("  ").trim_end().to_owned()
    };
    let cells = rows
        .iter()
        .map(|row| std::array::from_fn(|column| row[column].as_str()));
    std::iter::once(headings).chain(cells).map(line).collect()
}
