//! Directives for ptxas that options ask for.

use super::{Host, messages};
use crate::options::{MinBlocks, Mode, Options, RolledLoops};
use crate::phases::Remark;
use crate::report::occupancy::LaunchBounds;
use crate::snapshot::Snapshot;
use crate::snapshot::abi::{FunctionFlags, Stage};

/// The directives for ptxas in the function's PTX.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// True if the kernel gets the mark `.minnctapersm 1`.
    pub sets_min_blocks: bool,
    /// True if the kernel loses its number of blocks.
    pub removes_min_blocks: bool,
    /// The limit that `.maxnreg` sets.
    pub max_registers: Option<u32>,
    /// The loops that get the mark `.pragma "nounroll"`.
    pub rolled_loops: RolledLoops,
    /// True if the kernel gets the mark `.pragma "enable_smem_spilling"`, unless the host finds
    /// something in its code that forbids it.
    pub spills_to_shared: bool,
}

impl Directives {
    /// Returns the directives that do not depend on the function's code, and adds remarks on the effect
    /// of the options to `remarks`. The limit and the loops are set at the first stage, so that the
    /// second knows the limit. The mark on spills is an instruction for LLVM, so it is set at the late
    /// stage, and phases need not know it.
    pub(super) fn of(
        snapshot: &Snapshot<'_>,
        options: &Options,
        host: &impl Host,
        remarks: &mut Vec<Remark>,
    ) -> Self {
        let mut directives = match (options.mode, snapshot.stage()) {
            (Mode::Off | Mode::Analyze, _) => Self::default(),
            (Mode::Optimize, Stage::Ssa) => Self::on_bounds_and_loops(snapshot, options),
            (Mode::Optimize, Stage::Late) => Self::on_spills(snapshot, options, remarks),
        };
        if directives.max_registers.is_some() && host.may_exchange_registers() {
            directives.max_registers = None;
            remarks.push(messages::exchanges_registers(".maxnreg"));
        }
        if directives.removes_min_blocks {
            directives.removes_min_blocks = !host.may_exchange_registers();
            remarks.push(match directives.removes_min_blocks {
                true => messages::min_blocks_removed(),
                false => messages::needs_min_blocks(),
            });
        }
        directives
    }

    fn on_spills(snapshot: &Snapshot<'_>, options: &Options, remarks: &mut Vec<Remark>) -> Self {
        if !options.spills_to_shared || !snapshot.is_kernel() {
            return Self::default();
        }
        let obstacle = obstacle_to_shared_spills(snapshot);
        remarks.extend(obstacle.map(messages::no_shared_spills));
        Self {
            spills_to_shared: obstacle.is_none(),
            ..Self::default()
        }
    }

    fn on_bounds_and_loops(snapshot: &Snapshot<'_>, options: &Options) -> Self {
        let has_limit = !snapshot.is_kernel() || snapshot.function().max_registers != 0;
        let bounds = LaunchBounds::of(snapshot);
        // ptxas obeys `.maxnreg` even if the threads of a block do not fit with so many registers.
        let most = || bounds.register_limit_of_ptxas(snapshot.function().sm);
        Self {
            removes_min_blocks: options.min_blocks() == MinBlocks::Remove
                && snapshot.is_kernel()
                && bounds.max_threads_per_block.is_some()
                && bounds.min_blocks_per_sm.is_some(),
            max_registers: options
                .max_registers
                .filter(|&limit| !has_limit && limit < most()),
            rolled_loops: options.rolled_loops.clone(),
            ..Self::default()
        }
    }
}

/// Returns the reason, apart from its code, why ptxas cannot spill a kernel's registers to shared
/// memory.
fn obstacle_to_shared_spills(snapshot: &Snapshot<'_>) -> Option<&'static str> {
    let function = snapshot.function();
    let knows_mark = match function.ptx_version {
        // LLVM's default is the first version for the GPU.
        0 => function.sm >= 120,
        version => version >= 87,
    };
    if !knows_mark {
        Some("PTX 8.7 or newer is needed (ptx87)")
    } else if function.max_threads[0] == 0 && function.required_threads[0] == 0 {
        // ptxas would reserve what the largest block needs.
        Some("the kernel has no block size (.maxntid or .reqntid)")
    } else if snapshot.flags().contains(FunctionFlags::FOR_DEBUGGER) {
        Some("it is compiled for a debugger")
    } else {
        None
    }
}
