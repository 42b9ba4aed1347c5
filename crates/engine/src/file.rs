//! Files that are written in one step.

use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::{fs, process};

/// Writes a file so that readers see a complete one, also while several threads or processes write
/// it: the last one counts. Anything but a regular file, such as a pipe, is written to directly.
///
/// # Errors
/// The file cannot be written; one that was there before is unchanged.
pub fn write_in_one_step(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    // A file can only be renamed within a file system.
    let part = path.with_file_name(format!(".oriel-{}-{number}.part", process::id()));
    let written = fs::write(&part, bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::ScopedJoinHandle;

    #[test]
    fn readers_see_complete_files_while_threads_write() {
        const TIMES: usize = 200;
        let folder = std::env::temp_dir().join(format!("oriel-one-step-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        let contents = [vec![b'a'; 100_000], vec![b'b'; 50_000]];
        write_in_one_step(&path, &contents[0]).unwrap();
        let write = |content| (0..TIMES).for_each(|_| write_in_one_step(&path, content).unwrap());
        std::thread::scope(|scope| {
            let writers = contents.each_ref().map(|content| scope.spawn(|| write(content)));
            while !writers.iter().all(ScopedJoinHandle::is_finished) {
                assert!(contents.contains(&fs::read(&path).unwrap()));
            }
        });
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 1, "nothing else is left");
        let missing = write_in_one_step(&folder.join("no/file"), b"");
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
        fs::remove_dir_all(&folder).unwrap();
    }

    /// A rename would put a file in the place of a link, a terminal or a pipe.
    #[test]
    fn a_link_stays_a_link() {
        let folder = std::env::temp_dir().join(format!("oriel-one-step-link-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (target, link) = (folder.join("target"), folder.join("link"));
        std::os::unix::fs::symlink(&target, &link).unwrap();
        write_in_one_step(&link, b"text").unwrap();
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::read(&target).unwrap(), b"text");
        fs::remove_dir_all(&folder).unwrap();
    }
}
