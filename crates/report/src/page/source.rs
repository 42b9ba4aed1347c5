//! Embeds source files in the page.

use serde::Serialize;
use std::fs;
use std::path::{Path, PathBuf};

/// Larger files are not embedded.
const LARGEST_FILE: u64 = 512 * 1024;

/// A source file, or the reason why it is missing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Source {
    /// Its name in the debug information.
    file: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
}

impl Source {
    /// Finds a file by its name in the debug information, relative to the working directory, then
    /// beside the module.
    pub(super) fn find(file: &str, module: &str) -> Self {
        let beside_module = Path::new(module).parent().map(|folder| folder.join(file));
        let candidates = [Some(PathBuf::from(file)), beside_module];
        let path = candidates.into_iter().flatten().find(|path| path.is_file());
        let text = match path {
            None => Err("the file was not there when the page was made".to_owned()),
            Some(path) => read(&path),
        };
        let (text, problem) = match text {
            Ok(text) => (Some(text), None),
            Err(problem) => (None, Some(problem)),
        };
        Self {
            file: file.to_owned(),
            text,
            problem,
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > LARGEST_FILE {
        return Err(format!("the file has {length} bytes, too many for the page"));
    }
    let bytes = fs::read(path).map_err(|error| error.to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_found_beside_the_module() {
        let module = concat!(env!("CARGO_MANIFEST_DIR"), "/src/page/module.bc");
        let source = Source::find("source.rs", module);
        assert!(
            source
                .text
                .is_some_and(|text| text.contains("a_file_is_found_beside_the_module"))
        );
        let missing = Source::find("missing.cu", module);
        assert_eq!((missing.text, missing.file.as_str()), (None, "missing.cu"));
        assert!(missing.problem.is_some());
    }
}
