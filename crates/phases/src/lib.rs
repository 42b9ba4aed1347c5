//! The phases, and the manager that runs them in ptxas' order.
//!
//! A phase has one file, of the name that the [registry], options, dumps and tests use. It gets a
//! function and returns whether it changed the function.
//!
//! ```
//! use oriel_ori::parse_function;
//! use oriel_phases::registry::named;
//! use oriel_phases::{PhaseOptions, PhaseResult, Statistics, run};
//!
//! let text = "kernel \"k\" sm_80 ssa {
//! bix0:
//!     %1:R32 = S2R.b32 tid.x
//!     %2:R32 = IADD.b32 %1, 0
//!     ST.global.b32.b32 %2, [64]
//!     RET
//! }
//! ";
//! let mut function = parse_function(text)?;
//! let phase = named("OriPeephole").next().expect("it is in the table");
//! let result = run(phase, &mut function, &PhaseOptions::default(), &mut Statistics::default());
//! assert_eq!(result, PhaseResult::Changed);
//! assert!(!function.to_string().contains("IADD"), "{function}");
//! # Ok::<(), oriel_ori::ParseError>(())
//! ```
//!
//! | file | subject |
//! |---|---|
//! | `manager.rs`, `manager/` | runs the phases: the tables of phases ([registry]) and [knobs], analyses kept from phase to phase, the guard that reverts changes |
//! | `shared/` | code that several phases use: dead code, copies, values, blocks |
//! | `mark_additional_cold_blocks.rs` | a phase of a back end |
//! | `general_optimize/` | shared by the GeneralOptimize bundles; `general_optimize.rs` is phase 29 |
//! | `instruction_order/` | orders of the instructions of a block |
//! | `memory_to_register/` | promotion of stack objects to registers, for `general_optimize_mid.rs` |
//! | `peephole/` | constant folding and identities |

pub mod advanced_phase_back_prop_v_reg;
pub mod analyze_control_flow;
pub mod early_ori_simple_live_dead;
pub mod general_optimize;
pub mod general_optimize_early;
pub mod general_optimize_late;
pub mod general_optimize_late2;
pub mod general_optimize_mid;
pub mod general_optimize_mid2;
pub mod gvn_cse;
mod instruction_order;
pub mod late_ori_commoning;
pub mod loop_make_single_entry;
mod manager;
pub mod mark_additional_cold_blocks;
#[cfg(any(test, feature = "testing"))]
pub mod mark_and_sweep;
mod memory_to_register;
pub mod merge_basic_blocks;
pub mod optimize_hot_cold_flow;
pub mod optimize_hot_cold_in_loop;
pub mod ori_back_copy_propagate;
pub mod ori_common_constants;
pub mod ori_copy_prop;
pub mod ori_peephole;
pub mod ori_perform_live_dead;
pub mod ori_reassociate_and_common;
pub mod ori_split_high_pressure_live_ranges;
pub mod ori_split_live_ranges;
pub mod peephole;
pub mod place_blocks_in_source_order;
pub mod rematerialize;
mod remove_unreachable_blocks;
pub mod reorder_instructions;
pub mod schedule_for_pressure;
pub mod set_after_legalization;
pub mod set_control_flow_op_last_in_bb;
mod shared;
pub mod speculative_hoist_common_insts;
#[cfg(test)]
pub(crate) mod testing;

pub use manager::{
    Analyses, Extent, Manager, PhaseContext, PhaseEffect, Remark, RemarkKind, Selected, StageEffects,
    Statistics, run,
};
pub use manager::{backend, knobs, never_worse, progress, registry};
pub use memory_to_register::{may_have_unread_stores, unread_stores};

use knobs::Knobs;
use oriel_engine::graph::Traversal;
use oriel_engine::live::pressure::DEFAULT_BUDGET;

/// Whether a phase changed the function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PhaseResult {
    /// The function is unchanged.
    Unchanged,
    /// The function was changed.
    Changed,
}

impl PhaseResult {
    /// Returns the result of a phase that changed something or not.
    pub const fn of(changed: bool) -> Self {
        if changed { Self::Changed } else { Self::Unchanged }
    }
}

/// The options of phases, other than which of them run.
#[derive(Clone, Debug, PartialEq)]
pub struct PhaseOptions {
    /// True if MergeBasicBlocks does nothing.
    pub dont_merge_basic_blocks: bool,
    /// The depth-first search that numbers blocks.
    pub traversal: Traversal,
    /// LLVM's optimisation level of the function's code, 0 to 3.
    pub optimization_level: u32,
    /// The register budget: the units of data registers that a function should have live at once at
    /// most.
    pub register_budget: u32,
    /// The values of the knobs.
    pub knobs: Knobs,
}

/// LLVM's default optimisation level.
const DEFAULT_OPTIMIZATION_LEVEL: u32 = 2;

impl Default for PhaseOptions {
    fn default() -> Self {
        Self {
            dont_merge_basic_blocks: false,
            traversal: Traversal::default(),
            optimization_level: DEFAULT_OPTIMIZATION_LEVEL,
            register_budget: DEFAULT_BUDGET,
            knobs: Knobs::default(),
        }
    }
}
