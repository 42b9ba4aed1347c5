//! LLVM IR in files and in memory.

#[cfg(feature = "llvm")]
use inkwell::context::Context;
#[cfg(feature = "llvm")]
use inkwell::module::Module;
#[cfg(feature = "llvm")]
use oriel::compile::{CompileError, Compiler};
use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};

/// True for a file name of LLVM IR or bitcode.
pub fn is_ir(path: &Path) -> bool {
    let extension = path.extension().unwrap_or_default();
    extension == "ll" || extension == "bc"
}

/// LLVM IR or bitcode, in a file or in memory.
#[derive(Clone, Debug)]
pub enum Source {
    /// A file.
    File(PathBuf),
    /// Memory.
    Memory {
        /// Its name in messages.
        name: String,
        /// IR or bitcode.
        content: Vec<u8>,
    },
}

impl Source {
    /// True for LLVM IR or bitcode; a file is judged by its name.
    pub fn is_ir(&self) -> bool {
        match self {
            Self::File(path) => is_ir(path),
            Self::Memory { .. } => true,
        }
    }

    /// Runs a function on the module; errors name the source.
    ///
    /// # Errors
    /// If the module cannot be read, or `work` fails.
    #[cfg(feature = "llvm")]
    pub fn with_module<R>(
        &self,
        work: impl FnOnce(&Module<'_>) -> Result<R, CompileError>,
    ) -> Result<R, String> {
        let context = Context::create();
        let module = match self {
            Self::File(path) => Compiler::read(&context, path),
            Self::Memory { name, content } => Compiler::parse(&context, name, content),
        };
        module
            .and_then(|module| work(&module))
            .map_err(|problem| match problem {
                CompileError::Unreadable(message) => message,
                problem => format!("{self}: {problem}"),
            })
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => path.display().fmt(f),
            Self::Memory { name, .. } => f.write_str(name),
        }
    }
}

impl From<&Path> for Source {
    fn from(path: &Path) -> Self {
        Self::File(path.to_owned())
    }
}

/// Converts the arguments of commands.
impl From<OsString> for Source {
    fn from(path: OsString) -> Self {
        Self::File(path.into())
    }
}
