//! Conversions of addresses between spaces, and of registers to their parts.

use super::lanes::{Handler, handler};
use oriel_ori::{AddressSpace, Variant};

/// The first generic address of shared memory, here and in the interpreter.
pub(crate) const SHARED_WINDOW: u64 = 0x100_0000_0000;
/// The first generic address of a thread's local memory.
pub const LOCAL_WINDOW: u64 = 0x200_0000_0000;
/// The first generic address of a kernel's parameters.
pub(crate) const PARAM_WINDOW: u64 = 0x300_0000_0000;

/// Returns the space of a generic address, and the address within it.
pub fn resolve_generic(address: u64) -> (AddressSpace, u64) {
    let in_window = address & 0xFFFF_FFFF;
    match address & !0xFFFF_FFFF {
        SHARED_WINDOW => (AddressSpace::Shared, in_window),
        LOCAL_WINDOW => (AddressSpace::Local, in_window),
        PARAM_WINDOW => (AddressSpace::EntryParam, in_window),
        _ => (AddressSpace::Global, address),
    }
}

/// Returns the first generic address of a space whose own addresses begin at zero; zero for spaces
/// with generic addresses.
pub const fn window_of(space: AddressSpace) -> u64 {
    match space {
        AddressSpace::Shared | AddressSpace::SharedCluster => SHARED_WINDOW,
        AddressSpace::Local | AddressSpace::DeviceParam => LOCAL_WINDOW,
        AddressSpace::EntryParam => PARAM_WINDOW,
        AddressSpace::None | AddressSpace::Generic | AddressSpace::Global | AddressSpace::Const => 0,
    }
}

/// Converts an address to another space: sources are the address and the first address of the
/// space's window.
pub fn select_conversion(space: AddressSpace, variant: Variant) -> Option<Handler> {
    Some(match (space, variant) {
        (AddressSpace::None | AddressSpace::Generic, _) => return None,
        (AddressSpace::Global | AddressSpace::Const, _) => handler!(|a: u64| -> u64 { a }),
        (_, Variant::FromSpace) => handler!(|a: u64, window: u64| -> u64 { a.wrapping_add(window) }),
        (_, Variant::ToSpace) => handler!(|a: u64, window: u64| -> u64 { a.wrapping_sub(window) }),
        _ => return None,
    })
}

/// True if a generic address lies in a space.
pub fn select_test(space: AddressSpace) -> Option<Handler> {
    /// The window, for the spaces besides global memory.
    fn window(address: u64) -> u64 {
        match resolve_generic(address).0 {
            AddressSpace::Global => 0,
            _ => address & !0xFFFF_FFFF,
        }
    }
    Some(match space {
        AddressSpace::Global => handler!(|a: u64| -> u32 { u32::from(window(a) == 0) }),
        AddressSpace::Shared | AddressSpace::SharedCluster => {
            handler!(|a: u64| -> u32 { u32::from(window(a) == SHARED_WINDOW) })
        }
        AddressSpace::Local => handler!(|a: u64| -> u32 { u32::from(window(a) == LOCAL_WINDOW) }),
        AddressSpace::EntryParam => handler!(|a: u64| -> u32 { u32::from(window(a) == PARAM_WINDOW) }),
        _ => return None,
    })
}

/// Concatenates registers of `from` bits, least significant first.
pub fn select_pack(to: u32, from: u32, count: usize) -> Option<Handler> {
    Some(match (to, from, count) {
        (32, 16, 2) => handler!(|a: u32, b: u32| -> u32 { a & 0xFFFF | b << 16 }),
        (64, 32, 2) => handler!(|a: u32, b: u32| -> u64 { u64::from(a) | u64::from(b) << 32 }),
        (64, 16, 4) => handler!(|a: u32, b: u32, c: u32, d: u32| -> u64 {
            u64::from(a & 0xFFFF | b << 16) | u64::from(c & 0xFFFF | d << 16) << 32
        }),
        _ => return None,
    })
}

/// Extracts `to` bits of a register of `from` bits, starting at the position in the second source.
pub fn select_part(to: u32, from: u32) -> Option<Handler> {
    Some(match (to, from) {
        (16, 32) => handler!(|a: u32, shift: u32| -> u32 { a >> shift & 0xFFFF }),
        (16, 64) => handler!(|a: u64, shift: u32| -> u32 { (a >> shift) as u32 & 0xFFFF }),
        (32, 64) => handler!(|a: u64, shift: u32| -> u32 { (a >> shift) as u32 }),
        _ => return None,
    })
}
