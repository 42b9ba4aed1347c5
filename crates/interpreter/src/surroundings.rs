//! The environment of a warp: memory of its block, parameters, and special registers.

use super::memory::Memory;
use oriel_arithmetic::lanes::LANES;
use oriel_ori::SpecialRegister;

/// [`LANES`] as the special register `WARP_SZ` has it.
pub(super) const WARP_SIZE: u32 = LANES as u32;

/// The launched kernel and its threads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The kernel's name.
    pub kernel: String,
    /// Blocks in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block in x, y and z.
    pub block: [u32; 3],
    /// The bytes of each parameter, in order.
    pub arguments: Vec<Vec<u8>>,
    /// Size of the shared memory array that the launch gives.
    pub dynamic_shared_bytes: u32,
}

/// The environment of a warp.
pub(super) struct Surroundings<'a> {
    pub memory: &'a mut Memory,
    pub shared: Vec<u8>,
    pub parameters: Vec<u8>,
    pub parameter_offsets: Vec<u32>,
    pub launch: &'a Launch,
    pub block: [u32; 3],
    /// The time that clocks show before the first step.
    pub clock: u64,
    /// The time that a step takes.
    pub time_of_step: u64,
}

impl Surroundings<'_> {
    /// Position of a thread in its block.
    pub fn thread(&self, warp: u32, lane: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.block;
        let number = warp * WARP_SIZE + lane;
        [number % x, number / x % y, number / x / y]
    }

    /// Returns the value of a special register. Counters count the warp's own steps.
    pub fn special(&self, register: SpecialRegister, warp: u32, lane: u32, steps: u64) -> u64 {
        use SpecialRegister as R;
        let [tid_x, tid_y, tid_z] = self.thread(warp, lane);
        let [ntid_x, ntid_y, ntid_z] = self.launch.block;
        let [ctaid_x, ctaid_y, ctaid_z] = self.block;
        let [nctaid_x, nctaid_y, nctaid_z] = self.launch.grid;
        let own = 1u32 << lane;
        let value = match register {
            R::TidX => tid_x,
            R::TidY => tid_y,
            R::TidZ => tid_z,
            R::NtidX => ntid_x,
            R::NtidY => ntid_y,
            R::NtidZ => ntid_z,
            R::CtaidX => ctaid_x,
            R::CtaidY => ctaid_y,
            R::CtaidZ => ctaid_z,
            R::NctaidX => nctaid_x,
            R::NctaidY => nctaid_y,
            R::NctaidZ => nctaid_z,
            R::LaneId => lane,
            R::WarpId => warp,
            R::NwarpId => 64,
            R::WarpSize => WARP_SIZE,
            // One multiprocessor, which runs one grid.
            R::SmId | R::None => 0,
            R::NsmId | R::GridId => 1,
            R::LaneMaskEq => own,
            R::LaneMaskLe => own | (own - 1),
            R::LaneMaskLt => own - 1,
            R::LaneMaskGe => !(own - 1),
            R::LaneMaskGt => !(own | (own - 1)),
            R::Clock | R::Clock64 | R::GlobalTimer | R::GlobalTimerLo => {
                return self.clock + steps * self.time_of_step;
            }
            R::TotalSmemSize => self.shared.len() as u32,
            R::DynamicSmemSize => self.launch.dynamic_shared_bytes,
        };
        u64::from(value)
    }
}
