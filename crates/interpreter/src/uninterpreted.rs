//! Instructions whose meaning nobody knows: inline assembly, and opcodes that Ori has no operation
//! for.
//!
//! Two runs can be compared all the same. What such an instruction gives is a hash of what it is
//! and what it reads, and what it does to memory is something that every load and store behind it
//! shows:
//!
//! | the instruction | results | memory |
//! |---|---|---|
//! | has no effects | hash of identity and inputs | stays |
//! | may read memory | and of the thread's *trace* and *changes* | stays |
//! | may write memory, or has side effects | the same | an event joins the trace; a new *epoch* begins |
//!
//! Each thread has a state of its own, so that the order in which threads run tells nothing:
//!
//! - the *trace* is a hash of the events so far, in order: what the instructions above were and read, and every barrier,
//!   fence, atomic operation and access with an ordering. A launch hands it out beside its buffers;
//! - the *epoch* says through which glasses the thread sees global and shared memory: some bits of each word are turned
//!   over when it loads and when it stores, others in each epoch. A load that moves across an effect, or takes the
//!   value of one before it, has another value; a store that moves leaves another one;
//! - *changes* is a sum over the bytes that the thread has changed. A store that is missing before an effect,
//!   or comes behind it, is in the trace.
//!
//! Results are small multiples of 16, and words change in bits 4 to 6: a kernel that takes them for
//! an index, a bound or an address mostly still comes to its end. Accesses with an ordering see
//! memory as it is, for several threads may meet there. So does what is constant or the thread's
//! own; of local memory an instruction reaches only what an input points to.
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
    /// A hash of the text or opcode and of all operands that are no registers.
    pub identity: u64,
    pub inputs: Vec<Cells>,
    pub results: Vec<Cells>,
    /// The results that are written before the inputs are read.
    pub early: Vec<Cells>,
    pub reads_memory: bool,
    /// Has side effects, or may write memory.
    pub has_effect: bool,
    /// What is said where no meaning is asked for: a number of the program's texts.
    pub message: u32,
}

/// Where the values of a register are.
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

/// The generic address of one that a space has; none if the space has no such address.
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
    /// Memory as the threads see it after what they have done, by addresses of a space; none if
    /// they see it as it is.
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
    /// Does an effect reach what lies at a generic address?
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

/// The generic address of an access that has an ordering, for the trace; none of the thread's own
/// memory.
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

/// Adds an input of a lane to a hash. Where the stack lies is nobody's business, so a pointer there
/// counts as what it points to.
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

/// Gives a result a small value, one bit where it is a predicate.
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
