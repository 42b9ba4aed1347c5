//! Computes how many blocks and warps of a kernel a multiprocessor holds at once, and which
//! resource limits them.
//!
//! The rules are those of NVIDIA's occupancy calculator:
//!
//! ```text
//! warps per block      = ⌈threads / 32⌉
//! registers per warp   = 32 · registers per thread, rounded up to 256
//! blocks by registers  = ⌊sub-partitions · ⌊registers per sub-partition / registers per warp⌋ / warps per block⌋
//! blocks by warps      = ⌊warps per SM / warps per block⌋
//! blocks by shared     = ⌊shared per SM / (static + dynamic + reserved, rounded up to the unit)⌋
//! ```
//!
//! The result is the least of these and of the blocks that an SM can hold at all. A kernel with a
//! block that exceeds the limits of a block does not run.

mod launch_bounds;
mod limits;
#[cfg(test)]
mod tests;

pub use launch_bounds::{LaunchBounds, static_shared_bytes};
pub use limits::{MAX_REGISTERS_PER_THREAD, MAX_THREADS_PER_BLOCK, REGISTER_UNIT, SmLimits, WARP_THREADS};

use oriel_engine::snapshot::Snapshot;
use serde::Serialize;
use std::fmt;

/// The resource use of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Threads of a block; at least one.
    pub threads_per_block: u32,
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Shared memory of a block in bytes, static and dynamic, without the part reserved by the
    /// system.
    pub shared_bytes_per_block: u64,
}

impl Usage {
    /// Returns the resource use of a kernel with this many registers a thread, without dynamic
    /// shared memory.
    pub fn of_kernel(snapshot: &Snapshot<'_>, registers_per_thread: u32) -> Self {
        Self {
            threads_per_block: LaunchBounds::of(snapshot).threads_per_block(),
            registers_per_thread,
            shared_bytes_per_block: static_shared_bytes(snapshot),
        }
    }
}

/// The resource that limits the number of blocks. If there are several, the first one counts;
/// limits that cannot be changed come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Limiter {
    /// All warps are in use. This is full occupancy, unless too few are left for another block.
    Warps,
    /// All block slots are in use.
    Blocks,
    /// Registers.
    Registers,
    /// Shared memory.
    SharedMemory,
}

impl Limiter {
    /// Returns the name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warps => "warps",
            Self::Blocks => "blocks",
            Self::Registers => "registers",
            Self::SharedMemory => "shared_memory",
        }
    }
}

impl fmt::Display for Limiter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The blocks and warps that fit on a multiprocessor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occupancy {
    /// Blocks at once; zero if not even one fits.
    pub blocks_per_sm: u32,
    /// Warps at once.
    pub warps_per_sm: u32,
    /// The limiting resource.
    pub limiter: Limiter,
}

/// A number of registers at which the occupancy changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// Registers of a thread.
    pub registers_per_thread: u32,
    /// Warps at once with this many.
    pub warps_per_sm: u32,
}

impl SmLimits {
    /// Returns the occupancy with `usage`.
    pub fn occupancy(&self, usage: Usage) -> Occupancy {
        let warps_per_block = usage.threads_per_block.max(1).div_ceil(WARP_THREADS);
        let bounds = [
            (self.blocks_by_warps(usage.threads_per_block), Limiter::Warps),
            (self.blocks, Limiter::Blocks),
            (
                self.blocks_by_registers(usage.registers_per_thread, warps_per_block),
                Limiter::Registers,
            ),
            (
                self.blocks_by_shared_memory(usage.shared_bytes_per_block),
                Limiter::SharedMemory,
            ),
        ];
        let (blocks_per_sm, limiter) = bounds.into_iter().min().expect("there are four bounds");
        Occupancy {
            blocks_per_sm,
            warps_per_sm: blocks_per_sm * warps_per_block,
            limiter,
        }
    }

    /// Returns the most registers with which more warps fit than with `usage`; none if no number
    /// does.
    pub fn step_up(&self, usage: Usage) -> Option<Step> {
        self.most_registers(usage, self.occupancy(usage).warps_per_sm + 1)
    }

    /// Returns the fewest registers with which fewer warps fit than with `usage`; none if no number
    /// that a thread can have does.
    pub fn step_down(&self, usage: Usage) -> Option<Step> {
        let last = self.most_registers(usage, self.occupancy(usage).warps_per_sm)?;
        (last.registers_per_thread < MAX_REGISTERS_PER_THREAD)
            .then(|| self.step(usage, last.registers_per_thread + 1))
    }

    /// Returns the most registers with which at least `blocks` blocks of `threads_per_block` fit,
    /// ignoring shared memory; none if no number does.
    pub fn registers_for(&self, threads_per_block: u32, blocks: u32) -> Option<u32> {
        let usage = Usage {
            threads_per_block,
            registers_per_thread: 0,
            shared_bytes_per_block: 0,
        };
        let warps = blocks.saturating_mul(threads_per_block.max(1).div_ceil(WARP_THREADS));
        let step = self.most_registers(usage, warps);
        step.map(|step| step.registers_per_thread)
    }

    /// Returns the most registers with which `usage` would have at least `warps` warps; none if no
    /// number does.
    fn most_registers(&self, usage: Usage, warps: u32) -> Option<Step> {
        // More registers never leave more warps.
        let (mut enough, mut most) = (0, MAX_REGISTERS_PER_THREAD);
        while enough < most {
            let middle = (enough + most).div_ceil(2);
            if self.step(usage, middle).warps_per_sm >= warps {
                enough = middle;
            } else {
                most = middle - 1;
            }
        }
        (enough > 0).then(|| self.step(usage, enough))
    }

    /// Returns the occupancy of `usage` with another register count.
    fn step(&self, usage: Usage, registers_per_thread: u32) -> Step {
        let usage = Usage {
            registers_per_thread,
            ..usage
        };
        Step {
            registers_per_thread,
            warps_per_sm: self.occupancy(usage).warps_per_sm,
        }
    }

    fn blocks_by_warps(&self, threads_per_block: u32) -> u32 {
        if threads_per_block > MAX_THREADS_PER_BLOCK {
            return 0;
        }
        self.warps / threads_per_block.max(1).div_ceil(WARP_THREADS)
    }

    fn blocks_by_registers(&self, registers_per_thread: u32, warps_per_block: u32) -> u32 {
        if registers_per_thread == 0 {
            return u32::MAX;
        }
        if registers_per_thread > MAX_REGISTERS_PER_THREAD {
            return 0;
        }
        let per_warp = (registers_per_thread * WARP_THREADS).next_multiple_of(REGISTER_UNIT);
        // A block's registers count as if its warps were spread evenly over the sub-partitions.
        if per_warp * warps_per_block.next_multiple_of(self.sub_partitions) > self.registers_per_block {
            return 0;
        }
        let warps = self.registers / self.sub_partitions / per_warp * self.sub_partitions;
        warps / warps_per_block
    }

    fn blocks_by_shared_memory(&self, bytes_per_block: u64) -> u32 {
        let reserved = u64::from(self.reserved_shared_bytes);
        if bytes_per_block > u64::from(self.shared_bytes_per_block) {
            return 0;
        }
        let allocated = (bytes_per_block + reserved).next_multiple_of(u64::from(self.shared_unit));
        match allocated {
            0 => u32::MAX,
            // At least one byte is allocated, so the quotient is at most the SM's limit.
            _ => (u64::from(self.shared_bytes) / allocated) as u32,
        }
    }
}
