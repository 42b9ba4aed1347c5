//! Checks that every example has a well-formed launch description that names kernels of its source.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use oriel_interpreter::launch::{Argument, LaunchDescription, Role};

/// The files below `examples/` with one of the extensions, sorted.
fn files(extensions: &[&str]) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder of examples") {
            let path = entry.expect("an entry of a folder").path();
            if path.is_dir() {
                // `examples/embed-*` are hosts, with files of their own kinds.
                if !entry_name(&path).starts_with("embed-") {
                    folders.push(path);
                }
            } else if path
                .extension()
                .is_some_and(|it| extensions.iter().any(|extension| it == *extension))
            {
                found.insert(path);
            }
        }
    }
    found
}

fn entry_name(path: &Path) -> &str {
    path.file_name()
        .and_then(|name| name.to_str())
        .expect("a name in UTF-8")
}

fn sources() -> BTreeSet<PathBuf> {
    files(&["cu", "cl"])
}

/// The names of the functions that are declared `__global__` or `__kernel`.
fn kernels(source: &str) -> BTreeSet<String> {
    const ATTRIBUTES: [&str; 3] = ["__launch_bounds__", "__attribute__", "reqd_work_group_size"];
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut names = BTreeSet::new();
    for marker in ["__global__ ", "__kernel "] {
        for (start, _) in source.match_indices(marker) {
            let signature = &source[start + marker.len()..];
            // The kernel's name is the first word before a parenthesis that is not an attribute's.
            let before_parenthesis = signature.match_indices('(').map(|(at, _)| {
                let text = &signature[..at];
                &text[text.trim_end_matches(is_name).len()..]
            });
            let mut candidates =
                before_parenthesis.filter(|word| !word.is_empty() && !ATTRIBUTES.contains(word));
            names.extend(candidates.next().map(str::to_owned));
        }
    }
    names
}

#[test]
fn there_are_examples_in_both_languages() {
    let sources = sources();
    let count = |extension: &str| {
        sources
            .iter()
            .filter(|path| path.extension().unwrap() == extension)
            .count()
    };
    assert!(sources.len() >= 48, "{} sources", sources.len());
    assert!(count("cl") >= 6, "{} sources in OpenCL C", count("cl"));
}

#[test]
fn each_source_has_a_description_and_each_description_a_source() {
    let described: BTreeSet<PathBuf> = files(&["toml"])
        .iter()
        .map(|path| path.with_extension(""))
        .collect();
    let written: BTreeSet<PathBuf> = sources().iter().map(|path| path.with_extension("")).collect();
    assert_eq!(described, written);
}

#[test]
fn launched_kernels_are_in_the_source_and_all_kernels_are_launched() {
    for path in sources() {
        let source = fs::read_to_string(&path).expect("a source");
        let description = LaunchDescription::load(path.with_extension("toml")).expect("a description");
        let launched: BTreeSet<String> = description
            .launches
            .iter()
            .map(|launch| launch.kernel.clone())
            .collect();
        assert_eq!(launched, kernels(&source), "{}", path.display());
    }
}

fn buffers_of(argument: &Argument) -> Vec<usize> {
    match argument {
        Argument::Buffer { buffer, .. } => vec![buffer.index()],
        Argument::Struct(fields) => fields.iter().flat_map(buffers_of).collect(),
        Argument::Scalar { .. } | Argument::Bytes(_) => Vec::new(),
    }
}

#[test]
fn every_buffer_is_used_and_something_is_written() {
    for path in sources() {
        let description = LaunchDescription::load(path.with_extension("toml")).expect("a description");
        let arguments = description.launches.iter().flat_map(|launch| &launch.arguments);
        let used: BTreeSet<usize> = arguments.flat_map(buffers_of).collect();
        assert_eq!(
            used,
            (0..description.buffers().len()).collect(),
            "{}",
            path.display()
        );
        assert!(
            description.buffers().iter().any(|buffer| buffer.role != Role::In),
            "{}",
            path.display()
        );
    }
}

/// An interpreter of 100 million thread-instructions a second must run each of them in well under a
/// second.
#[test]
fn launches_are_small_but_not_trivial() {
    for path in sources() {
        let description = LaunchDescription::load(path.with_extension("toml")).expect("a description");
        let threads = |launch: &oriel_interpreter::launch::Launch| -> u64 {
            let sizes = launch.grid.iter().chain(&launch.block);
            sizes.map(|&size| u64::from(size)).product()
        };
        let all: u64 = description.launches.iter().map(threads).sum();
        assert!(all <= 20_000, "{}: {all} threads", path.display());
        assert!(
            description.launches.iter().any(|launch| launch.grid != [1; 3]),
            "{}: one block",
            path.display()
        );
        assert!(
            description.launches.iter().any(|launch| threads(launch) > 32),
            "{}: one warp",
            path.display()
        );
    }
}
