//! Memory: the address windows of the spaces, and their contents.
//!
//! Every buffer has its own window of 4 GiB of global addresses, so that a shift finds the buffer
//! of an address, and an access beyond its buffer never hits another one. Generic addresses of the
//! other spaces have windows of their own:
//!
//! | generic address | space |
//! |---|---|
//! | `0x100_0000_0000` + shared address | shared memory of the block |
//! | `0x200_0000_0000` + local address | local memory of the thread: its stack, parameters of calls included |
//! | `0x300_0000_0000` + param address | the kernel's parameters |
//! | `0x400_0000_0000` + 16 * number | functions |
//! | `0x7000_0000_0000` + 2^32 * number + 2^28 | buffers and module variables; global and constant addresses are the same |

use super::blind::Blind;
use super::thread_effects::WarpEffects;
use oriel_arithmetic::spaces::resolve_generic;
use oriel_ori::AddressSpace;

pub(super) const FUNCTION_WINDOW: u64 = 0x400_0000_0000;
pub(super) const FUNCTION_STRIDE: u64 = 16;
const BUFFER_WINDOW: u64 = 0x7000_0000_0000;
const WINDOW_BITS: u32 = 32;
/// A buffer does not start at the beginning of its window, so that addresses before it are invalid.
const MARGIN: u64 = 1 << 28;

/// A named piece of global or constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Buffer {
    /// Its name, for messages.
    pub name: String,
    /// Its content.
    pub bytes: Vec<u8>,
    /// True if writes are errors.
    pub is_constant: bool,
}

/// Global memory: the module's variables, then the buffers that were added, in order.
#[derive(Clone, Debug, Default)]
pub struct Memory {
    buffers: Vec<Buffer>,
    pub(super) blind: Option<Blind>,
    /// A hash of the events of each thread so far, if they are recorded.
    pub(super) traces: Vec<u64>,
}

/// The first address of buffer `number`.
pub(super) const fn buffer_address(number: usize) -> u64 {
    BUFFER_WINDOW + ((number as u64) << WINDOW_BITS) + MARGIN
}

impl Memory {
    /// Memory without a buffer.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a buffer; returns its address, a multiple of 256.
    ///
    /// # Panics
    /// If it has more than 2 GiB, or there are more than 65535 buffers already.
    pub fn add(&mut self, buffer: Buffer) -> u64 {
        assert!(
            buffer.bytes.len() <= 1 << 31,
            "buffer {} is too large",
            buffer.name
        );
        assert!(self.buffers.len() < 0xFFFF, "there are too many buffers");
        let address = buffer_address(self.buffers.len());
        self.buffers.push(buffer);
        address
    }

    /// All buffers, in the order in which they were added.
    pub fn buffers(&self) -> &[Buffer] {
        &self.buffers
    }

    /// Bytes written outside of all buffers in a blind launch: address and value, by address.
    pub(crate) fn blind_writes(&self) -> Vec<(u64, u8)> {
        self.blind.as_ref().map_or_else(Vec::new, Blind::writes)
    }

    fn locate(address: u64) -> (usize, u64) {
        let from_start = address.wrapping_sub(BUFFER_WINDOW);
        (
            (from_start >> WINDOW_BITS) as usize,
            (from_start & ((1 << WINDOW_BITS) - 1)).wrapping_sub(MARGIN),
        )
    }

    /// True if an address is in a buffer that is never written.
    pub(super) fn is_constant_at(&self, address: u64) -> bool {
        let (number, _) = Self::locate(address);
        self.buffers.get(number).is_some_and(|buffer| buffer.is_constant)
    }

    /// Describes the object at or near an address, for a message.
    pub(super) fn describe(&self, address: u64) -> String {
        let (number, offset) = Self::locate(address);
        match self.buffers.get(number) {
            Some(buffer) if buffer.is_constant && offset < buffer.bytes.len() as u64 => {
                format!("constant {} cannot be written", buffer.name)
            }
            Some(buffer) => format!(
                "{} bytes from the start of {}, which has {}",
                offset as i64,
                buffer.name,
                buffer.bytes.len()
            ),
            None => "nothing is there".to_owned(),
        }
    }
}

/// Memory that the lanes of a warp access.
pub(super) trait Space {
    /// Reads an address; none if nothing is there.
    fn load<const N: usize>(&self, lane: usize, address: u64) -> Option<[u8; N]>;

    /// Writes to an address; none if it cannot be written.
    fn store<const N: usize>(&mut self, lane: usize, address: u64, value: [u8; N]) -> Option<()>;
}

fn load_from<const N: usize>(bytes: &[u8], offset: u64) -> Option<[u8; N]> {
    let offset = usize::try_from(offset).ok()?;
    bytes.get(offset..offset.checked_add(N)?)?.try_into().ok()
}

fn store_to<const N: usize>(bytes: &mut [u8], offset: u64, value: [u8; N]) -> Option<()> {
    let offset = usize::try_from(offset).ok()?;
    bytes
        .get_mut(offset..offset.checked_add(N)?)?
        .copy_from_slice(&value);
    Some(())
}

impl Space for Memory {
    #[inline]
    fn load<const N: usize>(&self, _: usize, address: u64) -> Option<[u8; N]> {
        let (number, offset) = Self::locate(address);
        match self.buffers.get(number) {
            Some(buffer) => load_from(&buffer.bytes, offset),
            None => Some(self.blind.as_ref()?.load(address)),
        }
    }

    #[inline]
    fn store<const N: usize>(&mut self, _: usize, address: u64, value: [u8; N]) -> Option<()> {
        let (number, offset) = Self::locate(address);
        match self.buffers.get_mut(number) {
            Some(buffer) if buffer.is_constant => None,
            Some(buffer) => store_to(&mut buffer.bytes, offset, value),
            None => {
                self.blind.as_mut()?.store(address, value);
                Some(())
            }
        }
    }
}

/// Memory that all lanes share.
pub(super) struct Flat<'a>(pub &'a mut [u8]);

impl Space for Flat<'_> {
    #[inline]
    fn load<const N: usize>(&self, _: usize, address: u64) -> Option<[u8; N]> {
        load_from(self.0, address)
    }

    #[inline]
    fn store<const N: usize>(&mut self, _: usize, address: u64, value: [u8; N]) -> Option<()> {
        store_to(self.0, address, value)
    }
}

/// Parameters of a kernel, which are read only.
pub(super) struct Parameters<'a>(pub &'a [u8]);

impl Space for Parameters<'_> {
    #[inline]
    fn load<const N: usize>(&self, _: usize, address: u64) -> Option<[u8; N]> {
        load_from(self.0, address)
    }

    fn store<const N: usize>(&mut self, _: usize, _: u64, _: [u8; N]) -> Option<()> {
        None
    }
}

/// Memory that belongs to one lane.
pub(super) struct Local<'a>(pub &'a mut [Vec<u8>]);

impl Space for Local<'_> {
    #[inline]
    fn load<const N: usize>(&self, lane: usize, address: u64) -> Option<[u8; N]> {
        load_from(&self.0[lane], address)
    }

    #[inline]
    fn store<const N: usize>(&mut self, lane: usize, address: u64, value: [u8; N]) -> Option<()> {
        store_to(&mut self.0[lane], address, value)
    }
}

/// All spaces that a warp can reach; as a space itself, by generic addresses.
pub(super) struct Spaces<'a> {
    pub global: &'a mut Memory,
    pub shared: &'a mut [u8],
    pub local: &'a mut [Vec<u8>],
    pub parameters: &'a [u8],
    /// The events of the threads, if they change what the threads see of memory.
    pub threads: Option<&'a mut WarpEffects>,
}

impl Space for Spaces<'_> {
    #[inline]
    fn load<const N: usize>(&self, lane: usize, address: u64) -> Option<[u8; N]> {
        match resolve_generic(address) {
            (AddressSpace::Shared, address) => load_from(self.shared, address),
            (AddressSpace::Local, address) => load_from(&self.local[lane], address),
            (AddressSpace::EntryParam, address) => load_from(self.parameters, address),
            (_, address) => self.global.load(lane, address),
        }
    }

    #[inline]
    fn store<const N: usize>(&mut self, lane: usize, address: u64, value: [u8; N]) -> Option<()> {
        match resolve_generic(address) {
            (AddressSpace::Shared, address) => store_to(self.shared, address, value),
            (AddressSpace::Local, address) => store_to(&mut self.local[lane], address, value),
            (AddressSpace::EntryParam, _) => None,
            (_, address) => self.global.store(lane, address, value),
        }
    }
}

impl Spaces<'_> {
    /// Describes the object at or near an address that could not be accessed.
    pub fn describe(&self, space: AddressSpace, lane: usize, address: u64) -> String {
        let (space, address) = match space {
            AddressSpace::Generic | AddressSpace::None => resolve_generic(address),
            named => (named, address),
        };
        let of_size = |name: &str, size: usize| format!("{name} has {size} bytes");
        match space {
            AddressSpace::Shared | AddressSpace::SharedCluster => of_size("shared memory", self.shared.len()),
            AddressSpace::Local | AddressSpace::DeviceParam => {
                of_size("the thread's local memory", self.local[lane].len())
            }
            AddressSpace::EntryParam if address < self.parameters.len() as u64 => {
                "kernel parameters cannot be written".to_owned()
            }
            AddressSpace::EntryParam => of_size("the kernel's parameter space", self.parameters.len()),
            _ => self.global.describe(address),
        }
    }
}
