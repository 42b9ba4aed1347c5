//! The file with the best options of each function, for `-oriel-tuned`.

use super::search::Search;
use super::workshop::Workshop;
use oriel::file::write_in_one_step;
use oriel::options::{Options, TunedFunction, TunedFunctions};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Writes the best options of the functions that were tuned to a file. What the file has on other
/// functions stays; a function for which nothing is better than LLVM's and Oriel's defaults loses
/// its line. `given` are the options that all variants started from.
///
/// # Errors
/// If the file is there and invalid, or cannot be written.
pub fn save(path: &Path, given: &str, searches: &[Search], workshop: &Workshop) -> Result<(), String> {
    let mut lines = BTreeMap::new();
    // Another run that saves to the same file waits. Not every file system has locks.
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = File::open(folder.unwrap_or(Path::new(".")));
    let _locked = folder.and_then(|folder| folder.lock().map(|()| folder));
    if path.is_file() {
        let known = TunedFunctions::load(path, &workshop.base)?;
        lines.extend(known.into_functions().map(|it| ((it.sm, it.hash), it)));
    }
    let sm = workshop.sm_times_ten();
    let given = TunedFunctions::allowed_of(given)?;
    for search in searches {
        let function = search.function.as_ref().expect("each search is for a function");
        // Oriel has not seen a function without a hash, such as one marked optnone.
        let Some(&hash) = workshop.hashes.get(function) else {
            continue;
        };
        let own = search.best().variant.oriel_flags(&workshop.base);
        let flags = format!("{given} {own}").trim().to_owned();
        lines.remove(&(sm, hash));
        if !flags.is_empty() {
            let function = function.clone();
            lines.insert(
                (sm, hash),
                TunedFunction {
                    sm,
                    hash,
                    function,
                    flags,
                },
            );
        }
    }
    let mut text = String::new();
    for line in lines.values() {
        text += &serde_json::to_string(line).map_err(|error| error.to_string())?;
        text.push('\n');
    }
    // A compilation that reads the file meanwhile finds the old or the new one.
    write_in_one_step(path, text.as_bytes()).map_err(|error| format!("{}: {error}", path.display()))
}

/// Returns the options with those of a file for single functions on top.
///
/// # Errors
/// If the file cannot be read.
pub fn options_with_file(path: &Path, base: &Options) -> Result<Options, String> {
    let tuned = TunedFunctions::load(path, base)?;
    Ok(Options {
        tuned: Some(Arc::new(tuned)),
        ..base.clone()
    })
}
