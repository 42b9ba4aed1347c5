//! Loads, stores and atomic operations of a warp.

use super::error::{FaultKind, space_name};
use super::memory::{Flat, Local, Parameters, Space, Spaces};
use super::program::{Access, AtomicFields, AtomicOperation};
use oriel_arithmetic::lanes::{ALL_LANES, LANES, LaneIter, Registers};
use oriel_ori::AddressSpace;

/// The fault and its lane.
pub(super) type LaneFault = (Box<FaultKind>, Option<usize>);

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

/// Calls a method of a [`WarpAccess`] for the size of its elements.
macro_rules! by_size {
    ($access:ident.$method:ident($($argument:expr),*)) => {
        match $access.access.element_bytes {
            1 => $access.$method::<1>($($argument),*),
            2 => $access.$method::<2>($($argument),*),
            4 => $access.$method::<4>($($argument),*),
            _ => $access.$method::<8>($($argument),*),
        }
    };
}

/// An access by the lanes of a mask, or one element of it.
#[derive(Clone, Copy)]
pub(super) struct WarpAccess<'a> {
    access: &'a Access,
    mask: u32,
    addresses: &'a [u64; LANES],
    /// The element's place after the addresses.
    offset: u64,
}

impl<'a> WarpAccess<'a> {
    /// An access of each lane to its address.
    pub fn new(access: &'a Access, mask: u32, addresses: &'a [u64; LANES]) -> Self {
        Self {
            access,
            mask,
            addresses,
            offset: 0,
        }
    }

    /// Loads all elements.
    pub fn load(
        self,
        spaces: &mut Spaces<'_>,
        registers: &mut Registers,
        rows: &[u32],
    ) -> Result<(), LaneFault> {
        const VERB: &str = "load";
        self.check_alignment(VERB)?;
        for (index, &row) in rows.iter().enumerate() {
            let element = self.element(index);
            let result = in_space!(spaces, self.access, |space| by_size!(
                element.load_element(space, registers, row)
            ));
            result.map_err(|lane| element.out_of_bounds(spaces, VERB, lane))?;
        }
        Ok(())
    }

    /// Stores all elements, lane by lane, since lanes may overlap.
    pub fn store(
        self,
        spaces: &mut Spaces<'_>,
        registers: &Registers,
        rows: &[u32],
    ) -> Result<(), LaneFault> {
        const VERB: &str = "store";
        self.check_alignment(VERB)?;
        for (index, &row) in rows.iter().enumerate() {
            let element = self.element(index);
            let result = in_space!(spaces, self.access, |space| by_size!(
                element.store_element(space, registers, row)
            ));
            result.map_err(|lane| element.out_of_bounds(spaces, VERB, lane))?;
        }
        Ok(())
    }

    /// Reads, computes and writes, lane by lane.
    pub fn update(
        self,
        spaces: &mut Spaces<'_>,
        registers: &mut Registers,
        fields: &AtomicFields,
    ) -> Result<(), LaneFault> {
        const VERB: &str = "atomic operation";
        self.check_alignment(VERB)?;
        let operation = fields.operation;
        let operands = fields.operands.map(|row| {
            if self.access.register_bits > 32 {
                *registers.row::<u64>(row)
            } else {
                registers.row::<u32>(row).map(u64::from)
            }
        });
        let mut old = [0; LANES];
        let done = in_space!(spaces, self.access, |space| by_size!(
            self.update_element(space, operation, &operands, &mut old)
        ));
        done.map_err(|lane| self.out_of_bounds(spaces, VERB, lane))?;
        if let Some(row) = fields.result {
            self.write(registers, row, &old);
        }
        Ok(())
    }

    /// Returns the element with a number.
    fn element(self, number: usize) -> Self {
        let offset = number as u64 * u64::from(self.access.element_bytes);
        Self { offset, ..self }
    }

    fn address(&self, lane: usize) -> u64 {
        self.addresses[lane].wrapping_add(self.offset)
    }

    /// Checks the alignment of all addresses.
    fn check_alignment(&self, verb: &'static str) -> Result<(), LaneFault> {
        let unaligned = u64::from(self.access.alignment) - 1;
        let find = |lane: &usize| self.addresses[*lane] & unaligned != 0;
        match LaneIter(self.mask).find(find) {
            None => Ok(()),
            Some(lane) => Err((
                Box::new(FaultKind::Misaligned {
                    verb,
                    space: space_name(self.access.space),
                    address: self.addresses[lane],
                    bytes: self.access.alignment,
                }),
                Some(lane),
            )),
        }
    }

    #[cold]
    fn out_of_bounds(&self, spaces: &Spaces<'_>, verb: &'static str, lane: usize) -> LaneFault {
        let (space, address) = (self.access.space, self.address(lane));
        let kind = FaultKind::OutOfBounds {
            verb,
            space: space_name(space),
            address,
            bytes: self.access.element_bytes,
            problem: spaces.describe(space, lane, address),
        };
        (Box::new(kind), Some(lane))
    }

    /// Loads one element for each lane; returns the lane that failed, if any.
    fn load_element<const N: usize>(
        &self,
        space: &impl Space,
        registers: &mut Registers,
        row: u32,
    ) -> Result<(), usize> {
        if N == 4 && self.access.register_bits == 32 && self.mask == ALL_LANES {
            let mut values = [0; LANES];
            for (lane, value) in values.iter_mut().enumerate() {
                let bytes = space.load::<4>(lane, self.address(lane)).ok_or(lane)?;
                *value = u32::from_le_bytes(bytes);
            }
            *registers.row_mut::<u32>(row) = values;
            return Ok(());
        }
        let mut values = [0; LANES];
        for lane in LaneIter(self.mask) {
            let bytes = space.load::<N>(lane, self.address(lane)).ok_or(lane)?;
            values[lane] = to_register::<N>(widen(bytes), self.access);
        }
        self.write(registers, row, &values);
        Ok(())
    }

    fn store_element<const N: usize>(
        &self,
        space: &mut impl Space,
        registers: &Registers,
        row: u32,
    ) -> Result<(), usize> {
        let mut put = |lane: usize, value: u64| {
            let bytes = std::array::from_fn(|index| (value >> (8 * index)) as u8);
            space.store::<N>(lane, self.address(lane), bytes).ok_or(lane)
        };
        if self.access.register_bits > 32 {
            let values = registers.row::<u64>(row);
            LaneIter(self.mask).try_for_each(|lane| put(lane, values[lane]))
        } else {
            let values = registers.row::<u32>(row);
            LaneIter(self.mask).try_for_each(|lane| put(lane, u64::from(values[lane])))
        }
    }

    fn update_element<const N: usize>(
        &self,
        space: &mut impl Space,
        operation: AtomicOperation,
        operands: &[[u64; LANES]; 2],
        old: &mut [u64; LANES],
    ) -> Result<(), usize> {
        for lane in LaneIter(self.mask) {
            let address = self.address(lane);
            let before = widen(space.load::<N>(lane, address).ok_or(lane)?);
            let after = operation(before, operands[0][lane], operands[1][lane]);
            let bytes = std::array::from_fn(|index| (after >> (8 * index)) as u8);
            space.store::<N>(lane, address, bytes).ok_or(lane)?;
            old[lane] = before;
        }
        Ok(())
    }

    /// Writes the values of the lanes to a row as wide as the access's registers.
    fn write(&self, registers: &mut Registers, row: u32, values: &[u64; LANES]) {
        if self.access.register_bits > 32 {
            registers.write::<u64>(row, self.mask, values);
        } else {
            registers.write::<u32>(row, self.mask, &values.map(|value| value as u32));
        }
    }
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
