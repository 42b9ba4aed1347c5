//! Launch descriptions: the kernels of an example, their buffers, and the comparison of results.
//!
//! `docs/launch-format.md` specifies the format. [`LaunchDescription::load`] reads and validates a
//! file, so that everything here can be used without further checks: buffers exist, offsets are in
//! range, values fit their types, grids and blocks are within the limits of CUDA.

mod check;
mod compare;
mod element;
mod random;
mod raw;

use std::fs;
use std::path::{Path, PathBuf};

pub use compare::{Comparison, Difference};
pub use element::Element;
pub use random::SplitMix64;
pub use raw::{Number, Role};
use thiserror::Error;

/// The reason why a launch description cannot be used.
#[derive(Debug, Error)]
pub enum LaunchError {
    /// The file cannot be read.
    #[error("{}: cannot be read: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        source: std::io::Error,
    },
    /// Not TOML, an unknown key, or a value of the wrong kind; `message` names the line and the
    /// allowed values.
    #[error("{}: {message}", path.display())]
    Syntax {
        /// The file.
        path: PathBuf,
        /// The problem, with its line.
        message: String,
    },
    /// A well-formed value that is not allowed; `key` is its path, such as
    /// `launch[1].arguments[0]`.
    #[error("{}: {key}: {problem}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The path of the value.
        key: String,
        /// The problem, and the allowed values.
        problem: String,
    },
}

/// A checked description: buffers, and the launches that run on them in order.
#[derive(Debug, Clone, PartialEq)]
pub struct LaunchDescription {
    /// What the launches compute, in a sentence.
    pub description: String,
    buffers: Vec<Buffer>,
    /// In the order in which they run; each sees the writes of the previous ones.
    pub launches: Vec<Launch>,
}

/// A buffer of a [`LaunchDescription`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BufferId(u32);

impl BufferId {
    /// Position of the buffer in [`LaunchDescription::buffers`].
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// Memory that the kernels read or write.
#[derive(Debug, Clone, PartialEq)]
pub struct Buffer {
    /// Its name, by which arguments refer to it.
    pub name: String,
    /// The type of its elements.
    pub element: Element,
    /// Number of elements, at least one.
    pub length: usize,
    /// How the kernels access it.
    pub role: Role,
    /// Its content before the first launch.
    pub initial: Initial,
    /// The comparison of the final contents of two runs. Buffers of role `in` are compared exactly:
    /// a kernel may not write them.
    pub comparison: Comparison,
}

/// The initial content of a buffer.
#[derive(Debug, Clone, PartialEq)]
pub enum Initial {
    /// Zero bytes.
    Zero,
    /// The same value in every element.
    Constant(Number),
    /// Element `i` is `start + i * step`.
    Sequence {
        /// Element 0.
        start: Number,
        /// The difference between elements.
        step: Number,
    },
    /// For integers both bounds are included, for floating point only the lower one.
    Uniform {
        /// The seed of the random stream.
        seed: u64,
        /// The smallest value.
        low: Number,
        /// The largest value.
        high: Number,
    },
    /// Random bits, which for floating point includes infinities and NaNs.
    Random {
        /// The seed of the random stream.
        seed: u64,
    },
    /// One value an element.
    Values(Vec<Number>),
}

/// One kernel launch.
#[derive(Debug, Clone, PartialEq)]
pub struct Launch {
    /// The kernel's name, as PTX has it.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// Size of the `extern __shared__` array.
    pub dynamic_shared_bytes: u32,
    /// In the order of the kernel's parameters.
    pub arguments: Vec<Argument>,
}

/// One kernel argument.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// The address of a byte of a buffer.
    Buffer {
        /// The buffer.
        buffer: BufferId,
        /// Offset from the buffer's first byte.
        offset_bytes: u64,
    },
    /// A number, little endian, in as many bytes as its type has.
    Scalar {
        /// The parameter's type.
        element: Element,
        /// Its value.
        bytes: Vec<u8>,
    },
    /// A struct by value, as bytes in memory order.
    Bytes(Vec<u8>),
    /// A struct by value, each field at its natural alignment.
    Struct(Vec<Argument>),
}

/// Alignment in bytes of every buffer's first byte: `cudaMalloc` guarantees it, and vector accesses
/// rely on it.
pub const BUFFER_ALIGNMENT: u64 = 256;

impl LaunchDescription {
    /// Reads and checks the description in `path`.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, LaunchError> {
        let path = path.as_ref();
        let text = fs::read_to_string(path).map_err(|source| LaunchError::Read {
            path: path.to_owned(),
            source,
        })?;
        Self::parse(&text, path)
    }

    /// Checks the description in `text`; `path` only names it in errors.
    pub fn parse(text: &str, path: impl AsRef<Path>) -> Result<Self, LaunchError> {
        let path = path.as_ref();
        let raw = toml::from_str(text).map_err(|error| LaunchError::Syntax {
            path: path.to_owned(),
            message: error.to_string().trim_end().to_owned(),
        })?;
        check::description(raw).map_err(|check::InvalidKey { key, problem }| LaunchError::Invalid {
            path: path.to_owned(),
            key,
            problem,
        })
    }

    /// All buffers, in the order of the file.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }
}

impl Buffer {
    /// Its size in bytes.
    pub fn size_bytes(&self) -> usize {
        self.length * self.element.size_bytes()
    }

    /// Returns the contents before the first launch, little endian.
    pub fn initial_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::with_capacity(self.size_bytes());
        let mut push = |number: Number| {
            let encoded = self
                .element
                .encode(number)
                .expect("checked: every value fits the element type");
            bytes.extend_from_slice(&encoded);
        };
        match &self.initial {
            Initial::Zero => bytes.resize(self.size_bytes(), 0),
            Initial::Constant(value) => (0..self.length).for_each(|_| push(*value)),
            Initial::Sequence { start, step } => {
                (0..self.length).for_each(|index| push(start.plus_multiple(*step, index)));
            }
            Initial::Uniform { seed, low, high } => {
                let is_float = self.element.is_float();
                SplitMix64::new(*seed)
                    .take(self.length)
                    .for_each(|bits| push(random::uniform(bits, *low, *high, is_float)));
            }
            Initial::Random { seed } => {
                let size = self.element.size_bytes();
                SplitMix64::new(*seed)
                    .take(self.length)
                    .for_each(|bits| bytes.extend_from_slice(&bits.to_le_bytes()[..size]));
            }
            Initial::Values(values) => values.iter().for_each(|value| push(*value)),
        }
        bytes
    }

    /// Compares the final contents of two runs; both must be [`size_bytes`](Self::size_bytes) long.
    pub fn compare(&self, expected: &[u8], actual: &[u8]) -> Result<(), Difference> {
        assert_eq!(
            expected.len(),
            self.size_bytes(),
            "expected contents of {}",
            self.name
        );
        assert_eq!(
            actual.len(),
            self.size_bytes(),
            "actual contents of {}",
            self.name
        );
        self.comparison.compare(self.element, expected, actual)
    }
}

impl Argument {
    /// Returns the alignment of the argument in the kernel's parameter space; raw bytes have that
    /// of a byte.
    pub fn alignment(&self) -> usize {
        match self {
            Argument::Buffer { .. } => 8,
            Argument::Scalar { bytes, .. } => bytes.len(),
            Argument::Bytes(_) => 1,
            Argument::Struct(fields) => fields.iter().map(Argument::alignment).max().unwrap_or(1),
        }
    }

    /// Returns the argument as the kernel sees it, given the address of each buffer's first byte.
    pub fn to_bytes(&self, address_of: &dyn Fn(BufferId) -> u64) -> Vec<u8> {
        match self {
            Argument::Buffer { buffer, offset_bytes } => {
                (address_of(*buffer) + offset_bytes).to_le_bytes().to_vec()
            }
            Argument::Scalar { bytes, .. } | Argument::Bytes(bytes) => bytes.clone(),
            Argument::Struct(fields) => {
                let mut bytes = Vec::new();
                for field in fields {
                    bytes.resize(bytes.len().next_multiple_of(field.alignment()), 0);
                    bytes.extend(field.to_bytes(address_of));
                }
                bytes.resize(bytes.len().next_multiple_of(self.alignment()), 0);
                bytes
            }
        }
    }
}

#[cfg(test)]
mod tests;
