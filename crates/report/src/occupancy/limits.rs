//! The resources of a streaming multiprocessor, by compute capability.
//!
//! The numbers are NVIDIA's: the table of technical specifications in the CUDA programming guide,
//! and, for granularities, sub-partitions and limits of blocks, the rules of the occupancy
//! calculator that comes with CUDA 13.

/// Threads of a warp.
pub const WARP_THREADS: u32 = 32;
/// The most threads of a block.
pub const MAX_THREADS_PER_BLOCK: u32 = 1024;
/// The most registers of a thread.
pub const MAX_REGISTERS_PER_THREAD: u32 = 255;
/// Registers are allocated to a warp in units of this size.
pub const REGISTER_UNIT: u32 = 256;

const KIB: u32 = 1024;

/// The resources of one multiprocessor, and their allocation units.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmLimits {
    /// Compute capability times ten.
    pub sm: u32,
    /// Resident warps.
    pub warps: u32,
    /// Resident blocks.
    pub blocks: u32,
    /// 32-bit registers.
    pub registers: u32,
    /// 32-bit registers of one block.
    pub registers_per_block: u32,
    /// Sub-partitions with their own registers; a warp stays in one of them.
    pub sub_partitions: u32,
    /// Shared memory in bytes.
    pub shared_bytes: u32,
    /// Shared memory in bytes that one block can have. The host must request more than 48 KiB.
    /// Excludes the memory that the system reserves.
    pub shared_bytes_per_block: u32,
    /// Shared memory in bytes that the system reserves in each block.
    pub reserved_shared_bytes: u32,
    /// Shared memory is allocated in units of this many bytes.
    pub shared_unit: u32,
}

/// A row of the table: up to compute capability 7.5, shared memory is allocated in units of 256
/// bytes, and none is reserved.
const fn up_to_turing(
    sm: u32,
    warps: u32,
    blocks: u32,
    shared_kib: u32,
    shared_kib_per_block: u32,
) -> SmLimits {
    SmLimits {
        sm,
        warps,
        blocks,
        registers: 64 * KIB,
        registers_per_block: 64 * KIB,
        sub_partitions: 4,
        shared_bytes: shared_kib * KIB,
        shared_bytes_per_block: shared_kib_per_block * KIB,
        reserved_shared_bytes: 0,
        shared_unit: 256,
    }
}

/// A row of the table: from compute capability 8.0 on, each block has 1 KiB of reserved shared
/// memory and can have all the rest.
const fn from_ampere(sm: u32, warps: u32, blocks: u32, shared_kib: u32) -> SmLimits {
    SmLimits {
        reserved_shared_bytes: KIB,
        shared_unit: 128,
        ..up_to_turing(sm, warps, blocks, shared_kib, shared_kib - 1)
    }
}

/// The small chips, on which a block can have half of the registers.
const fn half_registers_per_block(limits: SmLimits) -> SmLimits {
    SmLimits {
        registers_per_block: 32 * KIB,
        ..limits
    }
}

/// In ascending order.
static TABLE: [SmLimits; 21] = [
    up_to_turing(50, 64, 32, 64, 48),
    up_to_turing(52, 64, 32, 96, 48),
    half_registers_per_block(up_to_turing(53, 64, 32, 64, 48)),
    SmLimits {
        sub_partitions: 2,
        ..up_to_turing(60, 64, 32, 64, 48)
    },
    up_to_turing(61, 64, 32, 96, 48),
    half_registers_per_block(up_to_turing(62, 64, 32, 64, 48)),
    up_to_turing(70, 64, 32, 96, 96),
    up_to_turing(72, 64, 32, 96, 96),
    up_to_turing(75, 32, 16, 64, 64),
    from_ampere(80, 64, 32, 164),
    from_ampere(86, 48, 16, 100),
    from_ampere(87, 48, 16, 164),
    from_ampere(88, 48, 16, 100),
    from_ampere(89, 48, 24, 100),
    from_ampere(90, 64, 32, 228),
    from_ampere(100, 64, 32, 228),
    from_ampere(101, 48, 24, 228),
    from_ampere(103, 64, 32, 228),
    from_ampere(110, 48, 24, 228),
    from_ampere(120, 48, 24, 100),
    from_ampere(121, 48, 24, 100),
];

impl SmLimits {
    /// Returns the limits of a compute capability times ten; none if it is unknown.
    pub fn of(sm: u32) -> Option<&'static Self> {
        TABLE.iter().find(|limits| limits.sm == sm)
    }

    /// Returns every known compute capability, ascending.
    pub fn all() -> &'static [Self] {
        &TABLE
    }
}
