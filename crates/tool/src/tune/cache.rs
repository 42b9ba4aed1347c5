//! Caches ptxas' results in files: the same PTX gets the same result from the same ptxas.

use super::figures::Judgement;
use oriel::file::write_in_one_step;
use std::fs;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::Xxh3;

/// Changes whenever the meaning of entries changes.
const FORMAT: &str = "oriel tune 2";

/// A folder of results.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
}

/// The key of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key(u128);

impl Key {
    /// Returns the key of PTX and of all else that the result depends on.
    pub fn new(ptx: &[u8], rest: &[&str]) -> Self {
        let mut hasher = Xxh3::new();
        for part in [FORMAT.as_bytes(), ptx]
            .into_iter()
            .chain(rest.iter().map(|part| part.as_bytes()))
        {
            // Lengths keep the parts apart.
            hasher.update(&part.len().to_le_bytes());
            hasher.update(part);
        }
        Self(hasher.digest128())
    }
}

impl Cache {
    /// The user's cache, below `XDG_CACHE_HOME` or `~/.cache`; none without a home.
    pub fn of_user() -> Option<Self> {
        let absolute = |name| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")))?;
        Some(Self::in_folder(&caches.join("oriel").join("tune")))
    }

    /// A cache in a folder, which need not exist yet.
    pub fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.to_owned(),
        }
    }

    fn path(&self, key: Key) -> PathBuf {
        self.folder.join(format!("{:032x}.json", key.0))
    }

    /// Returns the result, if there is one that can be read.
    pub fn get(&self, key: Key) -> Option<Judgement> {
        serde_json::from_slice(&fs::read(self.path(key)).ok()?).ok()
    }

    /// Stores a result, if possible: a failure only costs time later.
    pub fn put(&self, key: Key, answer: &Judgement) {
        let write = || -> std::io::Result<()> {
            fs::create_dir_all(&self.folder)?;
            write_in_one_step(&self.path(key), &serde_json::to_vec(answer)?)
        };
        _ = write();
    }
}

#[cfg(test)]
mod tests {
    use super::super::figures::Figures;
    use super::*;

    #[test]
    fn answers_are_found_by_all_that_they_depend_on() {
        let folder = std::env::temp_dir().join(format!("oriel-tune-cache-{}", std::process::id()));
        let cache = Cache::in_folder(&folder);
        let key = Key::new(b"ptx", &["13.0.88", "90"]);
        for other in [
            Key::new(b"ptx", &["13.0.88", "80"]),
            Key::new(b"ptx", &["13.0.889", "0"]),
            Key::new(b"ptx1", &["3.0.88", "90"]),
        ] {
            assert_ne!(key, other);
        }
        assert!(cache.get(key).is_none());
        let figures = Figures {
            registers: 24,
            spill_bytes: Some(8),
            code_size: 1280,
            ..Figures::default()
        };
        let answer = Judgement::from([("k".to_owned(), figures)]);
        cache.put(key, &answer);
        assert_eq!(cache.get(key), Some(answer));
        fs::write(cache.path(key), "{").unwrap();
        assert!(cache.get(key).is_none());
        fs::remove_dir_all(folder).unwrap();
    }
}
