//! Files that are written in one step.

use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{fs, process};

/// Writes a file so that readers see a complete one, also while several threads or processes write
/// it: the last one counts. Anything but a regular file, such as a pipe or a link, is written to directly,
/// and so is a file in a folder that takes no new ones.
///
/// # Errors
/// The file cannot be written.
pub fn write_in_one_step(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok_and(|found| !found.is_file()) {
        return fs::write(path, bytes);
    }
    match write_and_rename(path, bytes) {
        Err(error) if takes_no_new_file(&error) => fs::write(path, bytes),
        result => result,
    }
}

/// True if a folder takes no new files, or none in the place of this one. After other errors, such as a
/// full disk, writing in place would only destroy the file that was there.
fn takes_no_new_file(error: &io::Error) -> bool {
    use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem, ResourceBusy};
    matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem | ResourceBusy)
}

/// Writes another file, and gives it the name when it is complete.
fn write_and_rename(path: &Path, bytes: &[u8]) -> io::Result<()> {
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    // Machines and containers that share a folder may have processes of one number.
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap_or_default()
        .as_nanos();
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!(".oriel-{}-{time}-{number}.part", process::id());
    // A file can only be renamed within a file system.
    let part = path.with_file_name(name);
    let mut file = fs::File::create_new(&part)?;
    if let Ok(known) = fs::metadata(path) {
        // Who may read and write a file stays as it is.
        _ = file.set_permissions(known.permissions());
    }
    let written = file.write_all(bytes).and_then(|()| fs::rename(&part, path));
    if written.is_err() {
        _ = fs::remove_file(&part);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread::ScopedJoinHandle;

    #[cfg(unix)]
    #[test]
    fn who_may_read_a_file_stays_as_it_is() {
        use std::os::unix::fs::PermissionsExt;
        let path = std::env::temp_dir().join(format!("oriel-mode-{}", process::id()));
        fs::write(&path, b"old").unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o664)).unwrap();
        write_in_one_step(&path, b"new").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o664);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_file(&path).unwrap();
    }

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

    /// Says nothing where the tests run as root, who may make files anywhere.
    #[test]
    fn a_file_is_written_where_no_other_can_be_made() {
        use std::os::unix::fs::PermissionsExt;
        let folder = std::env::temp_dir().join(format!("oriel-one-step-closed-{}", process::id()));
        fs::create_dir_all(&folder).unwrap();
        let path = folder.join("file");
        fs::write(&path, b"old").unwrap();
        let set_mode = |mode| fs::set_permissions(&folder, fs::Permissions::from_mode(mode)).unwrap();
        set_mode(0o555);
        write_in_one_step(&path, b"new").unwrap();
        set_mode(0o755);
        assert_eq!(fs::read(&path).unwrap(), b"new");
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn after_an_error_of_the_disk_nothing_is_written_in_place() {
        let of = |kind| takes_no_new_file(&io::Error::from(kind));
        assert!(of(io::ErrorKind::PermissionDenied) && of(io::ErrorKind::ReadOnlyFilesystem));
        assert!(!of(io::ErrorKind::StorageFull) && !of(io::ErrorKind::FileTooLarge));
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
