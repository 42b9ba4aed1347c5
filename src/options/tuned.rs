//! Options of single functions, from a file that `oriel tune --save` writes.
//!
//! The file has one JSON object a line: `{"sm": 80, "hash": "…", "function": "k", "flags": "…"}`, in
//! which other fields are allowed. A function is found by its compute capability and its hash, not by
//! its name, since options chosen for other code are useless. If two functions have the same hash,
//! one may get unsuitable options, but never wrong code: every option preserves behaviour.

use super::{Options, split_flag, split_flags};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};

/// The options that a function may have of its own: those that concern its code.
const ALLOWED: &[&str] = &[
    "oriel",
    "oriel-disable-phases",
    "oriel-enable-phases",
    "oriel-knob",
    "oriel-least-pressure",
    "oriel-maxnreg",
    "oriel-min-blocks",
    "oriel-nounroll",
    "oriel-phases",
    "oriel-profile",
    "oriel-register-budget",
    "oriel-spill-to-shared",
];

/// LLVM's stable hash of a machine function at stage `ssa`. It is the same in each process, and
/// whatever else is in the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct FunctionHash(pub u64);

impl fmt::Display for FunctionHash {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

impl From<FunctionHash> for String {
    fn from(hash: FunctionHash) -> Self {
        hash.to_string()
    }
}

impl TryFrom<String> for FunctionHash {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let hash = u64::from_str_radix(&text, 16);
        hash.map(Self).map_err(|_| format!("'{text}' is no hash"))
    }
}

/// A function with the options that are best for it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TunedFunction {
    /// Compute capability times ten.
    pub sm: u32,
    /// The function's hash.
    pub hash: FunctionHash,
    /// Its name, for readers of the file.
    pub function: String,
    /// The options, as in [`ENVIRONMENT`](super::ENVIRONMENT).
    pub flags: String,
}

/// The functions of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TunedFunctions {
    path: PathBuf,
    functions: BTreeMap<(u32, FunctionHash), TunedFunction>,
}

impl TunedFunctions {
    /// Reads a file. `base` has the phases that its options may name.
    ///
    /// # Errors
    /// If it cannot be read, or a line is invalid; the message names the line.
    pub fn load(path: &Path, base: &Options) -> Result<Self, String> {
        let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let mut functions = BTreeMap::new();
        for (number, line) in text
            .lines()
            .enumerate()
            .filter(|(_, line)| !line.trim().is_empty())
        {
            let function = read_line(line, base)
                .map_err(|problem| format!("{}:{}: {problem}", path.display(), number + 1))?;
            functions.insert((function.sm, function.hash), function);
        }
        Ok(Self {
            path: path.to_owned(),
            functions,
        })
    }

    /// Returns the options of a function, if the file knows it.
    pub fn get(&self, sm: u32, hash: FunctionHash) -> Option<&TunedFunction> {
        self.functions.get(&(sm, hash))
    }

    /// True if the file has options for other code of this name, so that it may be out of date.
    pub fn knows_name(&self, sm: u32, name: &str) -> bool {
        let mut functions = self.functions.values();
        functions.any(|function| function.sm == sm && function.function == name)
    }

    /// Returns the functions, ordered by compute capability and hash.
    pub fn into_functions(self) -> impl Iterator<Item = TunedFunction> {
        self.functions.into_values()
    }

    /// Parses a line of options and returns those that can be set for a single function.
    ///
    /// # Errors
    /// If the line is invalid.
    pub fn allowed_of(flags: &str) -> Result<String, String> {
        let mut allowed: Vec<String> = Vec::new();
        for word in split_flags(flags)? {
            if ALLOWED.contains(&split_flag(&word)?.0) {
                allowed.push(word);
            }
        }
        // None of these options has a value with blanks or quotes.
        Ok(allowed.join(" "))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

fn read_line(line: &str, base: &Options) -> Result<TunedFunction, String> {
    let function: TunedFunction = serde_json::from_str(line).map_err(|error| error.to_string())?;
    for word in split_flags(&function.flags)? {
        let (name, _) = split_flag(&word)?;
        if !ALLOWED.contains(&name) {
            let allowed: Vec<String> = ALLOWED.iter().map(|name| format!("-{name}")).collect();
            return Err(format!(
                "a function cannot have the option -{name}; allowed are: {}",
                allowed.join(", ")
            ));
        }
    }
    base.clone().set_all(&function.flags)?;
    Ok(function)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<TunedFunction, String> {
        read_line(line, &Options::default())
    }

    #[test]
    fn a_line_is_read_back_as_written() {
        let function = TunedFunction {
            sm: 80,
            hash: FunctionHash(0x1f),
            function: "k".to_owned(),
            flags: "-oriel-profile=ptxas -oriel-nounroll=0,2 -oriel-maxnreg=64".to_owned(),
        };
        let line = serde_json::to_string(&function).unwrap();
        assert!(line.contains(r#""hash":"000000000000001f""#), "{line}");
        assert_eq!(read(&line), Ok(function));
    }

    #[test]
    fn wrong_lines_are_refused_with_the_reason() {
        for (fields, expected) in [
            (
                r#""hash": "1", "flags": "-oriel-report=x""#,
                "cannot have the option -oriel-report",
            ),
            (
                r#""hash": "1", "flags": "-oriel-tuned=x""#,
                "cannot have the option -oriel-tuned",
            ),
            (
                r#""hash": "1", "flags": "-oriel-maxnreg=8""#,
                "a number from 16 to 255",
            ),
            (r#""hash": "1", "flags": "-oriel-nounroll=x""#, "numbers of loops"),
            (r#""hash": "g", "flags": """#, "'g' is no hash"),
            (r#""flags": """#, "missing field `hash`"),
        ] {
            let problem = read(&format!(r#"{{"sm": 80, "function": "k", {fields}}}"#)).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }
}
