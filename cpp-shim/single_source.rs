//! One source of all files of a shim. Most of the time to compile one of them goes to LLVM's
//! headers, which are the same for all.

use std::path::{Path, PathBuf};

/// Writes a file to `generated` that includes every C++ file of `folder`, and returns its path.
pub fn write(folder: &Path, generated: &Path) -> PathBuf {
    let entries = std::fs::read_dir(folder).expect("the shim is part of the package");
    let mut sources: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a readable folder").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "cpp"))
        .collect();
    sources.sort();
    let include = |source: &PathBuf| format!("#include \"{}\"\n", source.display());
    let text: String = sources.iter().map(include).collect();
    let source = generated.join("shim.cpp");
    std::fs::write(&source, text).expect("cargo's output folder can be written");
    source
}
