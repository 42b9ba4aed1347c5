//! Launches from a description, and blind ones.

use super::blind::{Blind, hash};
use super::memory::buffer_address;
use super::{Buffer, Fault, Launch, LaunchStatistics, Limits, Memory, Program, run};
use crate::launch::{BUFFER_ALIGNMENT, BufferId, LaunchDescription, Role};

/// A buffer after the launches of a description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferResult {
    /// Its name.
    pub name: String,
    /// Its contents.
    pub bytes: Vec<u8>,
}

/// The results of a description's launches.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DescribedResult {
    /// The description's buffers, in its order.
    pub buffers: Vec<BufferResult>,
    /// The module's variables, which launches may have changed; with [`Limits::uninterpreted`] also
    /// the events of all threads, as hashes.
    pub variables: Vec<BufferResult>,
    /// The sum over all launches.
    pub statistics: LaunchStatistics,
}

impl DescribedResult {
    /// Returns a hash of all memory contents.
    pub fn hash(&self) -> u64 {
        hash_buffers(self.buffers.iter().chain(&self.variables))
    }
}

/// Returns a hash of the contents of buffers.
pub fn hash_buffers<'a>(buffers: impl Iterator<Item = &'a BufferResult>) -> u64 {
    hash_bytes(buffers.flat_map(|buffer| buffer.bytes.iter().copied()))
}

impl Launch {
    /// Makes a launch of a description, given the address of each buffer's first byte.
    pub fn from_description(launch: &crate::launch::Launch, address_of: &dyn Fn(BufferId) -> u64) -> Self {
        Self {
            kernel: launch.kernel.clone(),
            grid: launch.grid,
            block: launch.block,
            arguments: launch
                .arguments
                .iter()
                .map(|argument| argument.to_bytes(address_of))
                .collect(),
            dynamic_shared_bytes: launch.dynamic_shared_bytes,
        }
    }
}

/// A hash of bytes: FNV-1a, 64 bits.
fn hash_bytes(bytes: impl Iterator<Item = u8>) -> u64 {
    bytes.fold(0xCBF2_9CE4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
    })
}

/// Runs the launches of a description, in order, from the initial contents of its buffers.
///
/// # Errors
/// If a launch failed, or changed a buffer that is read only.
pub fn run_described(
    program: &Program,
    description: &LaunchDescription,
    limits: Limits,
) -> Result<DescribedResult, Fault> {
    let mut memory = program.memory();
    let variables = memory.buffers().len();
    let (mut addresses, mut read_only) = (Vec::new(), Vec::new());
    for buffer in description.buffers() {
        let bytes = buffer.initial_bytes();
        read_only.push((buffer.role == Role::In).then(|| bytes.clone()));
        let address = memory.add(Buffer {
            name: buffer.name.clone(),
            bytes,
            is_constant: false,
        });
        debug_assert!(address.is_multiple_of(BUFFER_ALIGNMENT));
        addresses.push(address);
    }
    let address_of = |id: BufferId| addresses[id.index()];
    let mut statistics = LaunchStatistics::default();
    for launch in &description.launches {
        let launch = Launch::from_description(launch, &address_of);
        statistics += run(program, &launch, &mut memory, limits)?;
    }
    let contents = |buffers: &[Buffer]| {
        let result = |buffer: &Buffer| BufferResult {
            name: buffer.name.clone(),
            bytes: buffer.bytes.clone(),
        };
        buffers.iter().map(result).collect::<Vec<_>>()
    };
    let (variables, buffers) = memory.buffers().split_at(variables);
    let result = DescribedResult {
        buffers: contents(buffers),
        variables: contents(variables).into_iter().chain(events(&memory)).collect(),
        statistics,
    };
    for (expected, result) in read_only.iter().zip(&result.buffers) {
        if expected
            .as_ref()
            .is_some_and(|expected| *expected != result.bytes)
        {
            let problem = format!("{} is read only, but was changed", result.name);
            return Err(Fault::of_launch(problem));
        }
    }
    Ok(result)
}

/// The writes of a blind launch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BlindResult {
    /// Each byte that was written, by address.
    pub writes: Vec<(u64, u8)>,
    /// The module's variables; with [`Limits::uninterpreted`] also the events of all threads, as
    /// hashes.
    pub variables: Vec<BufferResult>,
    /// Its statistics.
    pub statistics: LaunchStatistics,
}

impl BlindResult {
    /// Returns a hash of all writes, addresses included.
    pub fn hash(&self) -> u64 {
        let writes = self
            .writes
            .iter()
            .flat_map(|&(address, byte)| address.to_le_bytes().into_iter().chain([byte]));
        let variables = self
            .variables
            .iter()
            .flat_map(|variable| variable.bytes.iter().copied());
        hash_bytes(writes.chain(variables))
    }
}

/// Returns the events of the threads, eight bytes each, if they were recorded.
fn events(memory: &Memory) -> Option<BufferResult> {
    (!memory.traces.is_empty()).then(|| BufferResult {
        name: "events of threads".to_owned(),
        bytes: memory
            .traces
            .iter()
            .flat_map(|trace| trace.to_le_bytes())
            .collect(),
    })
}

/// Bytes of dynamic shared memory of a blind launch.
const BLIND_SHARED_BYTES: u32 = 16 << 10;

/// Runs a kernel without a description: two blocks of 64 threads, on memory where every global
/// address exists and unwritten bytes are a hash of seed and address. Pointers get addresses far
/// apart, other parameters small numbers.
///
/// # Errors
/// If the kernel failed, possibly because its arguments are invalid.
pub fn run_blind(program: &Program, kernel: &str, seed: u64, limits: Limits) -> Result<BlindResult, Fault> {
    let declared = program
        .kernel(kernel)
        .ok_or_else(|| Fault::of_launch(format!("the parameters of {kernel} are not known")))?;
    let mut memory: Memory = program.memory();
    let variables = memory.buffers().len();
    memory.blind = Some(Blind::new(seed));
    // After the windows of the variables, and no two in one window.
    let arguments = declared.parameters.iter().enumerate().map(|(number, parameter)| {
        if parameter.is_pointer {
            return buffer_address(variables + 16 * (number + 1))
                .to_le_bytes()
                .to_vec();
        }
        let word = |index: u64| hash(seed, (number as u64) << 32 | index) % 61 + 3;
        match parameter.size {
            size @ 1..=8 => word(0).to_le_bytes()[..size as usize].to_vec(),
            // A struct: numbers that are also valid addresses, aligned for every access.
            size => (0..size.div_ceil(4))
                .flat_map(|index| (word(index) as u32 * 16).to_le_bytes())
                .take(size as usize)
                .collect(),
        }
    });
    let launch = Launch {
        kernel: kernel.to_owned(),
        grid: [2, 1, 1],
        block: [64, 1, 1],
        arguments: arguments.collect(),
        dynamic_shared_bytes: BLIND_SHARED_BYTES,
    };
    let statistics = run(program, &launch, &mut memory, limits)?;
    let result = |buffer: &Buffer| BufferResult {
        name: buffer.name.clone(),
        bytes: buffer.bytes.clone(),
    };
    Ok(BlindResult {
        variables: memory
            .buffers()
            .iter()
            .map(result)
            .chain(events(&memory))
            .collect(),
        writes: memory.blind_writes(),
        statistics,
    })
}
