//! The launch bounds of a kernel.

use super::limits::{MAX_REGISTERS_PER_THREAD, SmLimits};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::SymbolKind;

/// The address space of shared memory.
const SHARED: u32 = 3;

/// The assumed block size if a kernel does not declare one: a warp for each sub-partition. Blocks
/// of this size never limit occupancy on any multiprocessor, so only the kernel's own resources do.
const ASSUMED_THREADS: u32 = 128;

/// The least number of registers that ptxas can be limited to.
const LEAST_LIMIT: u32 = 24;

/// The launch bounds of a kernel: `__launch_bounds__`, `.reqntid`, `.maxnreg`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LaunchBounds {
    /// The most threads of a block, or their required number.
    pub max_threads_per_block: Option<u32>,
    /// Blocks that must fit at once.
    pub min_blocks_per_sm: Option<u32>,
    /// Registers that a thread may have, as ptxas understands `.maxnreg`: 24 to 255.
    pub max_registers: Option<u32>,
}

impl LaunchBounds {
    /// The bounds of a function.
    pub fn of(snapshot: &Snapshot<'_>) -> Self {
        let function = snapshot.function();
        let threads = |dimensions: [u32; 3]| {
            let product = dimensions
                .into_iter()
                .filter(|&threads| threads > 0)
                .fold(1, u32::saturating_mul);
            dimensions.iter().any(|&threads| threads > 0).then_some(product)
        };
        let given = |number: u32| (number > 0).then_some(number);
        Self {
            max_threads_per_block: threads(function.required_threads)
                .or_else(|| threads(function.max_threads)),
            min_blocks_per_sm: given(function.min_blocks_per_sm),
            max_registers: given(function.max_registers)
                .map(|most| most.clamp(LEAST_LIMIT, MAX_REGISTERS_PER_THREAD)),
        }
    }

    /// Returns the threads of a block for which occupancy is computed.
    pub fn threads_per_block(&self) -> u32 {
        self.max_threads_per_block.unwrap_or(ASSUMED_THREADS)
    }

    /// Returns the most registers that a thread can have within these bounds; without bounds, the
    /// limit of the hardware. None if no number meets the bounds.
    pub fn register_limit(&self, limits: &SmLimits) -> Option<u32> {
        let most = self.max_registers.unwrap_or(MAX_REGISTERS_PER_THREAD);
        match (self.max_threads_per_block, self.min_blocks_per_sm) {
            // Without a bound on threads, ptxas ignores a bound on blocks.
            (None, _) => Some(most),
            // ptxas prefers `.maxnreg` to what the threads of one block leave.
            (Some(_), None) if self.max_registers.is_some() => Some(most),
            (Some(threads), blocks) => limits
                .registers_for(threads, blocks.unwrap_or(1))
                .map(|registers| registers.min(most)),
        }
    }

    /// The most registers that ptxas gives a thread: a number of blocks that cannot be met it
    /// ignores. Of an unknown multiprocessor only `.maxnreg` counts.
    pub fn register_limit_of_ptxas(&self, sm: u32) -> u32 {
        let without_blocks = Self {
            min_blocks_per_sm: None,
            ..*self
        };
        let limits = SmLimits::of(sm);
        let allowed = [self, &without_blocks]
            .into_iter()
            .find_map(|bounds| bounds.register_limit(limits?));
        let most = self.max_registers.unwrap_or(MAX_REGISTERS_PER_THREAD);
        allowed.unwrap_or(most.min(MAX_REGISTERS_PER_THREAD))
    }

    /// The registers that the bounds allot to a thread, if they do: by `.maxnreg`, or by threads
    /// together with a number of blocks that can be met. ptxas then uses up to that many to hide
    /// latency, where it would stop at a step of occupancy otherwise.
    pub fn allotted_registers(&self, sm: u32) -> Option<u32> {
        let is_met = |limits| self.register_limit(limits).is_some();
        let by_blocks = self.max_threads_per_block.is_some()
            && self.min_blocks_per_sm.is_some()
            && SmLimits::of(sm).is_some_and(is_met);
        (self.max_registers.is_some() || by_blocks).then(|| self.register_limit_of_ptxas(sm))
    }
}

/// Returns the bytes of static shared memory that a function's own instructions refer to, each
/// variable aligned.
pub fn static_shared_bytes(snapshot: &Snapshot<'_>) -> u64 {
    snapshot
        .arrays()
        .symbols
        .iter()
        .filter(|symbol| symbol.kind == SymbolKind::Variable as u32 && symbol.address_space == SHARED)
        .fold(0, |bytes: u64, symbol| {
            bytes.next_multiple_of(u64::from(symbol.alignment.max(1))) + symbol.size_bytes
        })
}
