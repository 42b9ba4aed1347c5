//! Checks that everything exists which `docs/reference-map.md` names for a system of the reference.

use oriel::options::Options;
use oriel::phases::knobs::KNOBS;
use oriel::phases::registry::PHASES;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The headings of the columns that name code, tests and knobs.
const CODE: &str = "in Oriel";
const TESTS: &str = "tests";
const INDEX: &str = "index";
const KNOB: &str = "Oriel's knob";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn page() -> String {
    fs::read_to_string(root().join("docs/reference-map.md")).expect("the page is there")
}

/// A row of a table, with the headings of the table.
struct Row {
    line: usize,
    headings: Vec<String>,
    cells: Vec<String>,
}

impl Row {
    /// The cell under a heading; none if the table has no such column.
    fn cell(&self, heading: &str) -> Option<&str> {
        let column = self.headings.iter().position(|other| other == heading)?;
        self.cells.get(column).map(String::as_str)
    }
}

/// The cells of a line of a table.
fn cells(line: &str) -> Option<Vec<String>> {
    let inner = line.strip_prefix('|')?.strip_suffix('|')?;
    Some(inner.split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// The rows of all tables, without headings and rules.
fn rows(page: &str) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut headings: Option<Vec<String>> = None;
    for (index, line) in page.lines().enumerate() {
        assert_eq!(line.starts_with('|'), cells(line).is_some(), "{line}");
        let Some(cells) = cells(line) else {
            headings = None;
            continue;
        };
        match &headings {
            None => headings = Some(cells),
            Some(_) if cells.iter().all(|cell| cell == "---") => {}
            Some(headings) => rows.push(Row {
                line: index + 1,
                headings: headings.clone(),
                cells,
            }),
        }
    }
    rows
}

/// Returns the parts of a text in backticks.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

/// Returns the targets of links, without anchors.
fn links(text: &str) -> impl Iterator<Item = &str> {
    let targets = text.split("](").skip(1);
    targets
        .map(|rest| rest.split_once(')').expect("a link ends").0)
        .map(|target| target.split_once('#').map_or(target, |(path, _)| path))
}

fn path_of(link: &str) -> PathBuf {
    root().join("docs").join(link)
}

fn is_identifier(text: &str) -> bool {
    let mut letters = text.chars();
    letters.next().is_some_and(|first| first.is_alphabetic())
        && letters.all(|letter| letter.is_alphanumeric() || matches!(letter, '_' | ':'))
}

fn has_word(text: &str, word: &str) -> bool {
    text.split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .any(|found| found == word)
}

/// Appends the text of every Rust file in a folder.
fn sources(folder: &Path, text: &mut String) {
    for entry in fs::read_dir(folder).expect("a folder of sources") {
        let path = entry.expect("an entry of a folder").path();
        if path.is_dir() {
            sources(&path, text);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            text.push_str(&fs::read_to_string(path).expect("a source is text"));
        }
    }
}

#[test]
fn links_lead_to_files() {
    let page = page();
    let missing: Vec<&str> = links(&page).filter(|link| !path_of(link).exists()).collect();
    assert!(missing.is_empty(), "{missing:?}");
    assert!(links(&page).count() > 100);
}

#[test]
fn rows_are_whole() {
    let page = page();
    for row in rows(&page) {
        assert_eq!(row.cells.len(), row.headings.len(), "line {}", row.line);
        assert!(
            row.cells.iter().all(|cell| !cell.is_empty()),
            "a cell of line {} is empty",
            row.line
        );
    }
}

#[test]
fn code_is_in_the_files_that_are_named_with_it() {
    let page = page();
    let (mut checked, mut missing) = (0, Vec::new());
    for row in rows(&page) {
        let Some(code) = row.cell(CODE) else { continue };
        let files: String = links(code)
            .filter(|link| path_of(link).is_file())
            .map(|link| fs::read_to_string(path_of(link)).expect("a source is text"))
            .collect();
        for name in quoted(code).filter(|name| is_identifier(name)) {
            for word in name.split("::").filter(|_| !files.is_empty()) {
                if !has_word(&files, word) {
                    missing.push(format!("line {}: {word}", row.line));
                }
                checked += 1;
            }
        }
    }
    assert!(missing.is_empty(), "{missing:#?}");
    assert!(checked > 50, "{checked}");
}

#[test]
fn tests_that_are_named_exist() {
    let mut code = String::new();
    for folder in ["src", "crates"] {
        sources(&root().join(folder), &mut code);
    }
    let functions: BTreeSet<&str> = code
        .split("fn ")
        .skip(1)
        .filter_map(|rest| rest.split_once('(').map(|(name, _)| name))
        .collect();
    let page = page();
    let mut missing = Vec::new();
    for row in rows(&page) {
        let tests = row.cell(TESTS).unwrap_or_default();
        let names = quoted(tests).filter(|name| is_identifier(name) && !functions.contains(name));
        missing.extend(names.map(|name| format!("line {}: {name}", row.line)));
    }
    assert!(missing.is_empty(), "{missing:#?}");
}

#[test]
fn knobs_are_those_of_the_table() {
    let page = page();
    let mut found = BTreeSet::new();
    for row in rows(&page) {
        let (Some(knob), Some(index)) = (row.cell(KNOB), row.cell(INDEX)) else {
            continue;
        };
        for name in quoted(knob) {
            if let Some(option) = name.strip_prefix('-') {
                let problem = Options::default().set(option, "").err().unwrap_or_default();
                assert!(
                    !problem.contains("unknown option"),
                    "line {}: {problem}",
                    row.line
                );
                continue;
            }
            let spec = KNOBS.iter().find(|spec| spec.name == name);
            let spec = spec.unwrap_or_else(|| panic!("line {}: there is no knob {name}", row.line));
            if let Some(number) = spec.index {
                assert_eq!(index, number.to_string(), "line {}: {name}", row.line);
            }
            found.insert(spec.name);
        }
    }
    for spec in KNOBS {
        assert!(found.contains(spec.name), "{} has no row", spec.name);
    }
}

#[test]
fn phases_have_rows() {
    let page = page();
    let rows = rows(&page);
    for phase in PHASES.iter().filter(|phase| phase.run.is_some()) {
        let mut systems = rows.iter().filter(|row| row.cell(CODE).is_some());
        let has_row = systems.any(|row| {
            let system = &row.cells[0];
            quoted(system).any(|name| name == phase.name)
                && phase
                    .number
                    .is_none_or(|number| has_word(system, &number.to_string()))
        });
        assert!(has_row, "{} has no row", phase.name);
    }
}

#[test]
fn nothing_is_said_of_addresses() {
    assert!(!page().contains("sub_"));
}
