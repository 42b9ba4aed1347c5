//! Loads, stores and atomic operations of a warp.

use super::error::{FaultKind, space_name};
use super::memory::{Flat, Local, Parameters, Space, Spaces};
use super::program::{Access, AtomicFields, AtomicOperation};
use oriel_arithmetic::lanes::{ALL_LANES, LANES, LaneIter, Registers};
use oriel_ori::AddressSpace;

/// The fault and its lane.
pub(super) type Failure = (Box<FaultKind>, Option<usize>);

/// Runs `$body` with `$space` bound to the memory of `$access`.
macro_rules! in_space {
    ($spaces:expr, $access:expr, |$space:ident| $body:expr) => {
        if let Some(mut viewed) = $spaces.viewed($access.space) {
            let $space = &mut viewed;
            $body
        } else {
            match $access.space {
                AddressSpace::Global | AddressSpace::Const => {
                    let $space = &mut *$spaces.global;
                    $body
                }
                AddressSpace::Shared | AddressSpace::SharedCluster => {
                    let $space = &mut Flat($spaces.shared);
                    $body
                }
                AddressSpace::Local | AddressSpace::DeviceParam => {
                    let $space = &mut Local($spaces.local);
                    $body
                }
                AddressSpace::EntryParam => {
                    let $space = &mut Parameters($spaces.parameters);
                    $body
                }
                AddressSpace::None | AddressSpace::Generic => {
                    let $space = &mut *$spaces;
                    $body
                }
            }
        }
    };
}

/// Loads all elements of an access.
pub(super) fn load(
    spaces: &mut Spaces<'_>,
    registers: &mut Registers,
    access: &Access,
    rows: &[u32],
    mask: u32,
    addresses: &[u64; LANES],
) -> Result<(), Failure> {
    check_alignment(access, "load", mask, addresses)?;
    for (index, &row) in rows.iter().enumerate() {
        let offset = index as u64 * u64::from(access.element_bytes);
        let result = in_space!(spaces, access, |space| match access.element_bytes {
            1 => load_element::<1>(space, registers, access, row, mask, addresses, offset),
            2 => load_element::<2>(space, registers, access, row, mask, addresses, offset),
            4 => load_element::<4>(space, registers, access, row, mask, addresses, offset),
            _ => load_element::<8>(space, registers, access, row, mask, addresses, offset),
        });
        result.map_err(|lane| {
            out_of_bounds(spaces, access, "load", lane, addresses[lane].wrapping_add(offset))
        })?;
    }
    Ok(())
}

/// Stores all elements of an access, lane by lane, since lanes may overlap.
pub(super) fn store(
    spaces: &mut Spaces<'_>,
    registers: &Registers,
    access: &Access,
    rows: &[u32],
    mask: u32,
    addresses: &[u64; LANES],
) -> Result<(), Failure> {
    check_alignment(access, "store", mask, addresses)?;
    for (index, &row) in rows.iter().enumerate() {
        let offset = index as u64 * u64::from(access.element_bytes);
        let result = in_space!(spaces, access, |space| match access.element_bytes {
            1 => store_element::<1>(space, registers, access, row, mask, addresses, offset),
            2 => store_element::<2>(space, registers, access, row, mask, addresses, offset),
            4 => store_element::<4>(space, registers, access, row, mask, addresses, offset),
            _ => store_element::<8>(space, registers, access, row, mask, addresses, offset),
        });
        result.map_err(|lane| {
            out_of_bounds(
                spaces,
                access,
                "store",
                lane,
                addresses[lane].wrapping_add(offset),
            )
        })?;
    }
    Ok(())
}

/// Reads, computes and writes, lane by lane.
pub(super) fn atomic(
    spaces: &mut Spaces<'_>,
    registers: &mut Registers,
    access: &Access,
    fields: &AtomicFields,
    mask: u32,
    addresses: &[u64; LANES],
) -> Result<(), Failure> {
    const VERB: &str = "atomic operation";
    check_alignment(access, VERB, mask, addresses)?;
    let operation = fields.operation;
    let operands = fields.operands.map(|row| {
        if access.register_bits > 32 {
            *registers.row::<u64>(row)
        } else {
            registers.row::<u32>(row).map(u64::from)
        }
    });
    let operands = [&operands[0], &operands[1]];
    let mut old = [0; LANES];
    let done = in_space!(spaces, access, |space| match access.element_bytes {
        2 => update::<2>(space, operation, operands, mask, addresses, &mut old),
        4 => update::<4>(space, operation, operands, mask, addresses, &mut old),
        _ => update::<8>(space, operation, operands, mask, addresses, &mut old),
    });
    done.map_err(|lane| out_of_bounds(spaces, access, VERB, lane, addresses[lane]))?;
    let Some(row) = fields.result else { return Ok(()) };
    if access.register_bits > 32 {
        registers.write::<u64>(row, mask, &old);
    } else {
        registers.write::<u32>(row, mask, &old.map(|value| value as u32));
    }
    Ok(())
}

/// Checks the alignment of all addresses of an access.
fn check_alignment(
    access: &Access,
    verb: &'static str,
    mask: u32,
    addresses: &[u64; LANES],
) -> Result<(), Failure> {
    let unaligned = u64::from(access.alignment) - 1;
    let find = |lane: &usize| addresses[*lane] & unaligned != 0;
    match LaneIter(mask).find(find) {
        None => Ok(()),
        Some(lane) => Err((
            Box::new(FaultKind::Misaligned {
                verb,
                space: space_name(access.space),
                address: addresses[lane],
                bytes: access.alignment,
            }),
            Some(lane),
        )),
    }
}

#[cold]
fn out_of_bounds(
    spaces: &Spaces<'_>,
    access: &Access,
    verb: &'static str,
    lane: usize,
    address: u64,
) -> Failure {
    let kind = FaultKind::OutOfBounds {
        verb,
        space: space_name(access.space),
        address,
        bytes: access.element_bytes,
        problem: spaces.describe(access.space, lane, address),
    };
    (Box::new(kind), Some(lane))
}

fn widen<const N: usize>(bytes: [u8; N]) -> u64 {
    let mut wide = [0; 8];
    wide[..N].copy_from_slice(&bytes);
    u64::from_le_bytes(wide)
}

/// Sign-extends, if requested, and truncates to the width of the register.
fn to_register<const N: usize>(value: u64, access: &Access) -> u64 {
    let unused = 64 - 8 * N as u32;
    let value = if access.is_signed {
        ((value << unused) as i64 >> unused) as u64
    } else {
        value
    };
    value & u64::MAX >> (64 - access.register_bits)
}

/// Loads one element for each lane; returns the lane that failed, if any.
fn load_element<const N: usize>(
    space: &impl Space,
    registers: &mut Registers,
    access: &Access,
    row: u32,
    mask: u32,
    addresses: &[u64; LANES],
    offset: u64,
) -> Result<(), usize> {
    if N == 4 && access.register_bits == 32 && mask == ALL_LANES {
        let mut values = [0; LANES];
        for lane in 0..LANES {
            let bytes = space
                .load::<4>(lane, addresses[lane].wrapping_add(offset))
                .ok_or(lane)?;
            values[lane] = u32::from_le_bytes(bytes);
        }
        *registers.row_mut::<u32>(row) = values;
        return Ok(());
    }
    let mut values = [0; LANES];
    for lane in LaneIter(mask) {
        let bytes = space
            .load::<N>(lane, addresses[lane].wrapping_add(offset))
            .ok_or(lane)?;
        values[lane] = to_register::<N>(widen(bytes), access);
    }
    if access.register_bits > 32 {
        registers.write::<u64>(row, mask, &values);
    } else {
        registers.write::<u32>(row, mask, &values.map(|value| value as u32));
    }
    Ok(())
}

fn store_element<const N: usize>(
    space: &mut impl Space,
    registers: &Registers,
    access: &Access,
    row: u32,
    mask: u32,
    addresses: &[u64; LANES],
    offset: u64,
) -> Result<(), usize> {
    let mut put = |lane: usize, value: u64| {
        let bytes = std::array::from_fn(|index| (value >> (8 * index)) as u8);
        space
            .store::<N>(lane, addresses[lane].wrapping_add(offset), bytes)
            .ok_or(lane)
    };
    if access.register_bits > 32 {
        let values = registers.row::<u64>(row);
        LaneIter(mask).try_for_each(|lane| put(lane, values[lane]))
    } else {
        let values = registers.row::<u32>(row);
        LaneIter(mask).try_for_each(|lane| put(lane, u64::from(values[lane])))
    }
}

fn update<const N: usize>(
    space: &mut impl Space,
    operation: AtomicOperation,
    operands: [&[u64; LANES]; 2],
    mask: u32,
    addresses: &[u64; LANES],
    old: &mut [u64; LANES],
) -> Result<(), usize> {
    for lane in LaneIter(mask) {
        let before = widen(space.load::<N>(lane, addresses[lane]).ok_or(lane)?);
        let after = operation(before, operands[0][lane], operands[1][lane]);
        let bytes = std::array::from_fn(|index| (after >> (8 * index)) as u8);
        space.store::<N>(lane, addresses[lane], bytes).ok_or(lane)?;
        old[lane] = before;
    }
    Ok(())
}
