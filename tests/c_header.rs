//! Checks that `include/oriel.h` and the library have the same functions and the same numbers.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

fn read(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Returns the header without comments.
fn header() -> String {
    let text = read("include/oriel.h");
    let mut code = String::new();
    for piece in text.split("/*") {
        let end = if code.is_empty() && !text.starts_with("/*") {
            0
        } else {
            piece.find("*/").map_or(0, |at| at + 2)
        };
        code.push_str(&piece[end..]);
    }
    code
}

/// Returns the words of a text that begin with `prefix` and are followed by `next`.
fn words(text: &str, prefix: &str, next: char) -> BTreeSet<String> {
    let is_word = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let mut found = BTreeSet::new();
    for (start, _) in text.match_indices(prefix) {
        let word: String = text[start..]
            .chars()
            .take_while(|&letter| is_word(letter))
            .collect();
        let is_start = !text[..start].ends_with(is_word);
        if is_start && text[start + word.len()..].starts_with(next) {
            found.insert(word);
        }
    }
    found
}

fn library() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/c_api");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    files.sort();
    files
        .iter()
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[test]
fn every_function_is_declared_and_defined() {
    let mut declared = words(&header(), "oriel_", '(');
    // A macro.
    assert!(declared.remove("oriel_check_abi"));
    let exported = library()
        .split("#[unsafe(no_mangle)]")
        .skip(1)
        .map(|function| {
            let (_, name) = function.split_once("extern \"C\" fn ").unwrap();
            name[..name.find(['(', '<']).unwrap()].to_owned()
        })
        .collect::<BTreeSet<String>>();
    assert!(declared.len() > 30, "{declared:?}");
    assert_eq!(declared, exported);
}

#[test]
fn statuses_have_the_same_numbers() {
    let number = |line: &str| -> Option<(String, u32)> {
        let (name, number) = line.trim().trim_end_matches(',').split_once(" = ")?;
        Some((name.to_owned(), number.parse().ok()?))
    };
    let header = header();
    let statuses = header
        .split("typedef enum OrielStatus {")
        .nth(1)
        .unwrap()
        .split('}')
        .next()
        .unwrap();
    let declared: BTreeMap<u32, String> = statuses
        .lines()
        .filter_map(number)
        .map(|(name, number)| {
            (
                number,
                name.strip_prefix("ORIEL_")
                    .unwrap()
                    .replace('_', "")
                    .to_lowercase(),
            )
        })
        .collect();
    let library = library();
    let statuses = library
        .split("pub enum OrielStatus {")
        .nth(1)
        .unwrap()
        .split("\n}")
        .next()
        .unwrap();
    let defined: BTreeMap<u32, String> = statuses
        .lines()
        .filter_map(number)
        .map(|(name, number)| (number, name.to_lowercase()))
        .collect();
    assert_eq!(declared.len(), 12);
    assert_eq!(declared, defined);
}
