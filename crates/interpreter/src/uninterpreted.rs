//! Instructions without a known meaning: inline assembly, and opcodes that Ori has no operation
//! for.
//!
//! Two runs can still be compared. The result of such an instruction is a hash of its identity and
//! its inputs, and its effect on memory shows in every later load and store:
//!
//! | the instruction | results | memory |
//! |---|---|---|
//! | has no effects | hash of identity and inputs | unchanged |
//! | may read memory | also of the thread's *trace* and *changes* | unchanged |
//! | may write memory, or has side effects | the same | an event joins the trace; a new *epoch* begins |
//!
//! Each thread has its own state, so that the order of threads has no influence:
//!
//! - the *trace* is an ordered hash of the events so far: the instructions above with their inputs,
//!   and every barrier, fence, atomic operation and access with an ordering. A launch returns it
//!   beside its buffers;
//! - the *epoch* determines how the thread sees global and shared memory: when it loads and stores,
//!   some bits of each word are flipped, different ones in each epoch. A load that moves across an
//!   effect, or takes the value of an earlier load, gets another value; a store that moves leaves
//!   another value;
//! - *changes* is a sum over the bytes that the thread has changed. It makes a store that is
//!   missing before an effect, or comes after it, visible in the trace.
//!
//! Results are small multiples of 16, and words change in bits 4 to 6, so that a kernel which uses
//! them as an index, a bound or an address usually still terminates. Accesses with an ordering see
//! memory unchanged, because several threads may access it. The same holds for constant memory and
//! the thread's own memory. An instruction reaches only the local memory that an input points to.
//!
//! Results that are written before the inputs are read (*early clobber*) get another hash first. In
//! the late form, where registers are shared, an input in the same register is lost, as on
//! hardware; a tied input is read from its result.

use super::memory::{Space, Spaces};
use super::thread_effects::{WarpEffects, mix};
use oriel_arithmetic::lanes::{LANES, LaneIter, Registers};
use oriel_arithmetic::spaces::{LOCAL_WINDOW, resolve_generic, window_of};
use oriel_ori::AddressSpace;

/// Bytes of local memory that an instruction reaches through a pointer.
const REACH: u64 = 4;

/// The event of a barrier.
pub(super) const BARRIER: u64 = 0xBA;

/// An instruction without a meaning.
#[derive(Clone, Debug, Default)]
pub(super) struct Uninterpreted {
    /// A hash of the text or opcode and of all operands other than registers.
    pub identity: u64,
    pub inputs: Vec<Cells>,
    pub results: Vec<Cells>,
    /// The early-clobber results.
    pub early: Vec<Cells>,
    pub reads_memory: bool,
    /// True if it has side effects, or may write memory.
    pub has_effect: bool,
    /// The error without uninterpreted execution: a number of the program's texts.
    pub message: u32,
}

/// The rows of a register's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Cells {
    pub row: u32,
    pub bits: u32,
}

/// Memory as the threads of a warp see it.
pub(super) struct Viewed<'a> {
    pub spaces: Spaces<'a>,
    /// The space that addresses belong to.
    pub space: AddressSpace,
    pub threads: &'a mut WarpEffects,
}

/// Returns the generic address of an address of a space; none if the space has no such address.
fn to_generic(space: AddressSpace, address: u64) -> Option<u64> {
    match space {
        AddressSpace::None | AddressSpace::Generic => Some(address),
        AddressSpace::Global | AddressSpace::Const => {
            (resolve_generic(address).0 == AddressSpace::Global).then_some(address)
        }
        named => (address >> 32 == 0).then(|| address + window_of(named)),
    }
}

impl Spaces<'_> {
    /// Returns memory as the threads see it after their events, by addresses of a space; none if
    /// they see it unchanged.
    pub fn viewed(&mut self, space: AddressSpace) -> Option<Viewed<'_>> {
        let threads = self.threads.as_deref_mut()?;
        let spaces = Spaces {
            global: &mut *self.global,
            shared: &mut *self.shared,
            local: &mut *self.local,
            parameters: self.parameters,
            threads: None,
        };
        Some(Viewed {
            spaces,
            space,
            threads,
        })
    }
}

impl Viewed<'_> {
    /// True if an effect can reach the object at a generic address.
    fn is_reached(&self, address: u64) -> bool {
        match resolve_generic(address).0 {
            AddressSpace::Shared => true,
            AddressSpace::Global => !self.spaces.global.is_constant_at(address),
            _ => false,
        }
    }
}

impl Space for Viewed<'_> {
    fn load<const N: usize>(&self, lane: usize, address: u64) -> Option<[u8; N]> {
        let address = to_generic(self.space, address)?;
        let bytes = self.spaces.load::<N>(lane, address)?;
        match self.is_reached(address) {
            true => Some(self.threads[lane].look(address, bytes)),
            false => Some(bytes),
        }
    }

    fn store<const N: usize>(&mut self, lane: usize, address: u64, value: [u8; N]) -> Option<()> {
        let address = to_generic(self.space, address)?;
        if !self.is_reached(address) {
            return self.spaces.store(lane, address, value);
        }
        let thread = &mut self.threads[lane];
        let before = thread.look(address, self.spaces.load::<N>(lane, address)?);
        self.spaces.store(lane, address, thread.look(address, value))?;
        thread.change(address, before, value);
        Some(())
    }
}

/// Returns the generic address of an access that has an ordering, for the trace; none for the
/// thread's own memory.
pub(super) fn common_address(space: AddressSpace, address: u64) -> Option<u64> {
    let address = to_generic(space, address)?;
    let common = matches!(
        resolve_generic(address).0,
        AddressSpace::Shared | AddressSpace::Global
    );
    common.then_some(address)
}

/// Executes an instruction without a meaning.
pub(super) fn execute(
    what: &Uninterpreted,
    registers: &mut Registers,
    spaces: &mut Spaces<'_>,
    threads: &mut WarpEffects,
    mask: u32,
) {
    for (number, early) in what.early.iter().enumerate() {
        let garbage = mix(mix(what.identity, 0xEA71), number as u64);
        write(registers, *early, mask, |_| garbage);
    }
    let mut seen = [what.identity; LANES];
    for lane in LaneIter(mask) {
        for input in &what.inputs {
            seen[lane] = read(what, registers, spaces, *input, lane, seen[lane]);
        }
        let thread = &mut threads[lane];
        if what.reads_memory || what.has_effect {
            seen[lane] = mix(mix(seen[lane], thread.trace), thread.changes);
        }
        if what.has_effect {
            thread.note(seen[lane]);
            // Zero stands for memory as it is.
            thread.epoch = mix(thread.epoch, seen[lane]) | 1;
        }
    }
    for (number, result) in what.results.iter().enumerate() {
        write(registers, *result, mask, |lane| mix(seen[lane], number as u64));
    }
}

/// Adds an input of a lane to a hash. The position of the stack must not matter, so a pointer to it
/// counts as its target.
fn read(
    what: &Uninterpreted,
    registers: &Registers,
    spaces: &mut Spaces<'_>,
    input: Cells,
    lane: usize,
    hash: u64,
) -> u64 {
    if input.bits <= 32 {
        let value = registers.row::<u32>(input.row)[lane] & (u32::MAX >> (32 - input.bits));
        return mix(hash, u64::from(value));
    }
    let value = registers.row::<u64>(input.row)[lane];
    if input.bits > 64 {
        return mix(mix(hash, value), registers.row::<u64>(input.row + 1)[lane]);
    }
    if value & !0xFFFF_FFFF != LOCAL_WINDOW {
        return mix(hash, value);
    }
    let mut hash = mix(hash, LOCAL_WINDOW);
    if !what.reads_memory && !what.has_effect {
        return hash;
    }
    for address in value..value + REACH {
        let Some([byte]) = spaces.load::<1>(lane, address) else {
            break;
        };
        hash = mix(hash, u64::from(byte));
        if what.has_effect {
            let turned = byte ^ ((mix(hash, address - value) & 7) << 4) as u8;
            spaces.store(lane, address, [turned]);
        }
    }
    hash
}

/// Sets a result to a small value, or to one bit if it is a predicate.
fn write(registers: &mut Registers, result: Cells, mask: u32, hash: impl Fn(usize) -> u64) {
    let small = |lane: usize| (hash(lane) >> 8 & 0xFF) << 4;
    match result.bits {
        1 => registers.fill::<u32>(result.row, mask, |lane| hash(lane) as u32 & 1),
        2..=32 => registers.fill::<u32>(result.row, mask, |lane| small(lane) as u32),
        33..=64 => registers.fill::<u64>(result.row, mask, small),
        _ => {
            registers.fill::<u64>(result.row, mask, small);
            registers.fill::<u64>(result.row + 1, mask, |lane| small(lane) >> 4);
        }
    }
}
