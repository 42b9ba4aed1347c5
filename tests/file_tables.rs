//! Checks that a table of files in a module's documentation names every module that the file declares.

use oriel::phases::registry::PHASES;
use std::fs;
use std::path::{Path, PathBuf};

/// The source files below a folder.
fn sources(folder: &Path, into: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("it can be read").path();
        if path.is_dir() {
            sources(&path, into);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            into.push(path);
        }
    }
}

/// The modules that a source file declares in files of their own, except those for tests.
fn modules(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut is_conditional = false;
    for line in text.lines() {
        let declared = line.strip_suffix(';').and_then(|line| line.rsplit_once("mod "));
        match declared {
            Some((visibility, name))
                if !is_conditional && !visibility.starts_with(' ') && !visibility.contains("//") =>
            {
                found.push(name);
            }
            _ => {}
        }
        is_conditional = line.starts_with("#[cfg(");
    }
    found
}

/// True if a phase's name begins like this: the table of the phases' crate does not repeat that of phases.
fn is_phase(module: &str) -> bool {
    let plain = module.replace('_', "");
    PHASES
        .iter()
        .any(|phase| phase.name.to_lowercase().starts_with(&plain))
}

#[test]
fn tables_of_files_are_complete() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    for krate in fs::read_dir(root.join("crates")).expect("the folder is there") {
        sources(&krate.expect("it can be read").path().join("src"), &mut files);
    }
    let mut tables = 0;
    let mut missing = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).expect("it can be read");
        let documentation: Vec<&str> = text.lines().take_while(|line| line.starts_with("//!")).collect();
        if !documentation.contains(&"//! | file | subject |") {
            continue;
        }
        tables += 1;
        for module in modules(&text) {
            let is_named = documentation
                .iter()
                .flat_map(|line| line.split('`').skip(1).step_by(2))
                .any(|quoted| {
                    let name = quoted.trim_end_matches('/').trim_end_matches(".rs");
                    name.rsplit('/').next() == Some(module)
                });
            if !is_named && !is_phase(module) {
                missing.push(format!("{}: {module}", file.display()));
            }
        }
    }
    assert!(tables > 20, "only {tables} tables were found");
    assert!(missing.is_empty(), "not in the table of files: {missing:#?}");
}
