//! The files that reports are written to.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// A file that is overwritten on the first write. All copies of the options that name it share it,
/// so it gets the functions of all modules that are compiled with these options, on any thread.
#[derive(Debug)]
pub struct SharedFile<W> {
    path: PathBuf,
    writer: OnceLock<Result<Mutex<W>, String>>,
}

impl<W> SharedFile<W> {
    /// Creates the target for `path` without touching the file.
    pub fn new(path: impl Into<PathBuf>) -> Arc<Self> {
        Arc::new(Self {
            path: path.into(),
            writer: OnceLock::new(),
        })
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes to the file; on the first write `open` prepares it.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub fn write(
        &self,
        open: impl FnOnce(File) -> io::Result<W>,
        write: impl FnOnce(&mut W) -> io::Result<()>,
    ) -> Result<(), String> {
        let problem = |error: io::Error| format!("{} cannot be written: {error}", self.path.display());
        let create = || empty_file(&self.path).and_then(open).map(Mutex::new);
        let opened = self.writer.get_or_init(|| create().map_err(problem));
        let writer = opened.as_ref().map_err(String::clone)?;
        write(&mut writer.lock().unwrap_or_else(PoisonError::into_inner)).map_err(problem)
    }
}

/// Creates or empties a file. Every write goes to its end, wherever that is then: another process may have
/// emptied it or written to it.
fn empty_file(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).append(true).open(path)?;
    // A pipe cannot be emptied.
    if file.metadata()?.is_file() {
        file.set_len(0)?;
    }
    Ok(file)
}

/// The destination of a report's lines.
#[derive(Clone, Debug)]
pub enum ReportTarget {
    /// Standard output.
    Stdout,
    /// A file.
    File(Arc<SharedFile<File>>),
}

impl ReportTarget {
    /// Writes one line, with its newline.
    ///
    /// # Errors
    /// If it cannot be written; the message names the destination.
    pub fn write(&self, line: &str) -> Result<(), String> {
        match self {
            Self::Stdout => {
                let mut out = io::stdout().lock();
                let written = out.write_all(line.as_bytes()).and_then(|()| out.flush());
                written.map_err(|error| format!("the report cannot be written: {error}"))
            }
            Self::File(file) => file
                .write(Ok, |file| file.write_all(line.as_bytes()))
                .map_err(|problem| format!("the report {problem}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_two_processes_stay_whole() {
        let path = std::env::temp_dir().join(format!("oriel-two-{}", std::process::id()));
        // What another process has is another target of the same file.
        let [one, other] = [(); 2].map(|()| ReportTarget::File(SharedFile::new(&path)));
        one.write("a line that is lost\n").unwrap();
        one.write("another one\n").unwrap();
        other.write("first\n").unwrap();
        one.write("second\n").unwrap();
        other.write("third\n").unwrap();
        let written = std::fs::read_to_string(&path).unwrap();
        assert_eq!(written, "first\nsecond\nthird\n");
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_is_made_once_for_all_copies_of_the_options_and_threads() {
        let path = std::env::temp_dir().join(format!("oriel-shared-file-{}", std::process::id()));
        std::fs::write(&path, "of an earlier run").unwrap();
        let target = ReportTarget::File(SharedFile::new(&path));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "of an earlier run");
        std::thread::scope(|scope| {
            for _ in 0..4 {
                let target = target.clone();
                scope.spawn(move || (0..100).for_each(|_| target.write("a whole line\n").unwrap()));
            }
        });
        assert_eq!(
            std::fs::read_to_string(&path).unwrap(),
            "a whole line\n".repeat(400)
        );
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn a_file_that_cannot_be_made_is_named_each_time() {
        let target = ReportTarget::File(SharedFile::new("/nowhere/at all"));
        for _ in 0..2 {
            let problem = target.write("").unwrap_err();
            assert!(
                problem.starts_with("the report /nowhere/at all cannot be written: "),
                "{problem}"
            );
        }
    }
}
