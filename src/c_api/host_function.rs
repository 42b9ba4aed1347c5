//! `OrielHostFunction`: a function in the host's own data structures, read by callbacks.

use super::call::{CallFailure, Message, OrielStatus, call, given};
use super::intervals::OrielIntervals;
use crate::entity::{Block, Register};
use crate::lent::slice;
use crate::live::pressure::PressureFile;
use crate::live::{ListedFunction, MOST_ENTRIES};
use crate::snapshot::abi::Access;
use std::ffi::c_void;

/// `OrielHostOperand`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OrielHostOperand {
    pub(super) register: u32,
    /// An `OrielAccess`.
    pub(super) access: u32,
    pub(super) block: u32,
}

const _: () = assert!(size_of::<OrielHostOperand>() == 12);

/// `OrielHostFunction`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct OrielHostFunction {
    pub(super) context: *mut c_void,
    pub(super) register_count: u32,
    pub(super) block_count: u32,
    pub(super) register_units: Option<unsafe extern "C" fn(*mut c_void, u32) -> u32>,
    pub(super) successors: Option<unsafe extern "C" fn(*mut c_void, u32, *mut usize) -> *const u32>,
    pub(super) instruction_count: Option<unsafe extern "C" fn(*mut c_void, u32) -> u32>,
    pub(super) operands:
        Option<unsafe extern "C" fn(*mut c_void, u32, u32, *mut usize) -> *const OrielHostOperand>,
}

const _: () = assert!(size_of::<OrielHostFunction>() == 48);

/// The array that a callback lends.
///
/// # Safety
/// The callback sets the count and returns null or an array of that length, which stays as it is
/// until the next callback.
unsafe fn lent<'a, T>(callback: impl FnOnce(*mut usize) -> *const T) -> &'a [T] {
    let mut count = 0;
    let first = callback(&raw mut count);
    // SAFETY: the caller vouches for the array.
    unsafe { slice(first, count) }
}

/// The most registers and blocks of a host's function: more is no count, but a mistake.
const MOST: u32 = 1 << 24;

/// The most units that all registers together take: sums are computed with a sign.
const MOST_UNITS: u32 = i32::MAX as u32;

impl OrielHostFunction {
    /// Asks the host for the whole function.
    ///
    /// # Safety
    /// The callbacks are functions of the header's types, which take the context.
    unsafe fn list(&self) -> Result<(ListedFunction, Vec<(PressureFile, u32)>), CallFailure> {
        let register_units = given(self.register_units, "register_units")?;
        let successors = given(self.successors, "successors")?;
        let instruction_count = given(self.instruction_count, "instruction_count")?;
        let operands = given(self.operands, "operands")?;
        for (name, count) in [
            ("register_count", self.register_count),
            ("block_count", self.block_count),
        ] {
            if count > MOST {
                return Err(CallFailure::argument(
                    name,
                    &format!("is {count}, more than {MOST}"),
                ));
            }
        }
        let mut listed = ListedFunction::new(self.register_count as usize);
        let mut units = Vec::with_capacity(self.register_count as usize);
        let mut left = MOST_UNITS;
        let mut entries_left = MOST_ENTRIES - self.block_count as usize;
        for register in 0..self.register_count {
            // SAFETY: the caller vouches for the callbacks, here and below.
            let of_register = match unsafe { register_units(self.context, register) } {
                0 => {
                    listed.set_predicate(Register::from_u32(register));
                    (PressureFile::Predicate, 1)
                }
                general if general <= left => {
                    left -= general;
                    (PressureFile::General, general)
                }
                general => {
                    return Err(CallFailure::argument(
                        "register_units",
                        &format!(
                            "gives register {register} {general} units, with which all have more than {MOST_UNITS}"
                        ),
                    ));
                }
            };
            units.push(of_register);
        }
        for block in 0..self.block_count {
            // SAFETY: see above.
            let targets = unsafe { lent(|count| successors(self.context, block, count)) };
            if let Some(target) = targets.iter().find(|&&target| target >= self.block_count) {
                return Err(CallFailure::argument(
                    "successors",
                    &format!("names block {target} of {} after block {block}", self.block_count),
                ));
            }
            listed.begin_block(targets.iter().map(|&target| Block::from_u32(target)));
            // SAFETY: see above.
            let count = unsafe { instruction_count(self.context, block) };
            entries_left = entries_left.checked_sub(count as usize).ok_or_else(|| {
                let problem = format!(
                    "gives block {block} {count} instructions, with which all blocks have more than {MOST_ENTRIES}, themselves counted"
                );
                CallFailure::argument("instruction_count", &problem)
            })?;
            for instruction in 0..count {
                listed.begin_instruction();
                // SAFETY: see above.
                let operands = unsafe { lent(|count| operands(self.context, block, instruction, count)) };
                for operand in operands {
                    let problem = |problem: String| {
                        let place = format!("{problem} in instruction {instruction} of block {block}");
                        CallFailure::argument("operands", &place)
                    };
                    self.add_operand(&mut listed, operand).map_err(problem)?;
                }
            }
        }
        Ok((listed, units))
    }

    fn add_operand(&self, listed: &mut ListedFunction, operand: &OrielHostOperand) -> Result<(), String> {
        if operand.register >= self.register_count {
            return Err(format!(
                "names register {} of {}",
                operand.register, self.register_count
            ));
        }
        let register = Register::from_u32(operand.register);
        match operand.access {
            0 => listed.operand(register, Access::Read),
            1 => listed.operand(register, Access::Define),
            2 => listed.operand(register, Access::DefineEarly),
            3 if operand.block < self.block_count => {
                listed.phi_operand(register, Block::from_u32(operand.block));
            }
            3 => return Err(format!("names block {} of {}", operand.block, self.block_count)),
            other => return Err(format!("has access {other}, which is no OrielAccess,")),
        }
        Ok(())
    }
}

/// `oriel_intervals_compute_host`.
///
/// # Safety
/// The callbacks of `function` are null or functions of the header's types, which take its context
/// and return null or arrays of the lengths that they set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn oriel_intervals_compute_host(
    function: Option<&OrielHostFunction>,
    intervals: Option<&mut *mut OrielIntervals>,
    message: Message<'_>,
) -> OrielStatus {
    call(message, || {
        let function = given(function, "function")?;
        let out = given(intervals, "intervals")?;
        if function.block_count == 0 {
            return Err(CallFailure::argument("block_count", "is zero"));
        }
        // SAFETY: the caller vouches for the callbacks.
        let (listed, units) = unsafe { function.list()? };
        *out = Box::into_raw(Box::new(OrielIntervals::compute(&listed, units)));
        Ok(())
    })
}
