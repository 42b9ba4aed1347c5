//! Schedules a region's instructions and counts the registers of the schedule.
//!
//! ptxas hoists loads to where their addresses are known and schedules other work until they arrive,
//! as far as its register target allows. That depends on more than one region, so each region is
//! scheduled under several orders, whose costs bound that of ptxas' schedule:
//!
//! | name | order |
//! |---|---|
//! | [`ScheduleOrder::Source`] | LLVM's order |
//! | [`ScheduleOrder::Least`] | few registers |
//! | [`ScheduleOrder::Latency`] | list scheduling by the length of the path to the end of the block, any number of registers |
//! | [`ScheduleOrder::Loads`] | loads and their addresses first, then the rest in LLVM's order, without waiting for results, since other warps run meanwhile; at the register target, a node that frees registers, or else the next in the order of few registers |
//! | [`ScheduleOrder::OnDemand`] | LLVM's order, but loads where their results are first read; no feature |
//!
//! Each definition of a cell is a separate value here, as in the SSA form that ptxas schedules.
//!
//! | file | subject |
//! |---|---|
//! | `value.rs` | values, and what each means for the registers |
//! | `graph.rs` | the instructions of a region, their values, and what waits for what |
//! | `memory_order.rs` | the order of memory accesses |
//! | `walk.rs` | registers that are live while instructions are scheduled |
//! | `allocation.rs` | registers that ptxas allocates beyond live ones |
//! | `least.rs` | the order that needs few registers |
//! | `latency.rs` | the order by latency |
//! | `loads_first.rs` | the order with loads first |
//! | `on_demand.rs` | LLVM's order with loads where they are read |
//! | `ready.rs` | instructions that may be scheduled next |
//! | `peaks.rs` | the peaks over all regions |

mod allocation;
mod graph;
mod latency;
mod least;
mod loads_first;
mod memory_order;
mod on_demand;
mod peaks;
mod ready;
mod value;
mod walk;

pub use graph::{BlockGraph, Scratch};
pub use peaks::SchedulePeaks;

use walk::Walk;

/// The order in which a block is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScheduleOrder {
    /// The given order.
    Source,
    /// Few registers, see `least.rs`.
    Least,
    /// Longest path first.
    Latency,
    /// LLVM's, with loads where their results are first read.
    OnDemand,
    /// Loads first, while fewer than this many registers are live.
    Loads(u32),
}

/// The cost of a schedule.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// The most registers live at once, temporaries included.
    pub registers: u32,
    /// The most uniform registers live at once.
    pub uniform: u32,
    /// The most registers of both kinds live at once.
    pub everything: u32,
    /// The most results of loads live at once.
    pub loaded: u32,
    /// Registers that ptxas allocates if it has enough: live ones, those that memory instructions
    /// still read, and gaps.
    pub spaced: u32,
    /// Registers without those whose values are cheap to compute again.
    pub kept: u32,
    /// The most registers of both kinds live across an exchange between lanes.
    pub over_exchanges: u32,
}

impl Cost {
    /// Returns the maximum of each field.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Self {
            registers: self.registers.max(other.registers),
            uniform: self.uniform.max(other.uniform),
            everything: self.everything.max(other.everything),
            loaded: self.loaded.max(other.loaded),
            spaced: self.spaced.max(other.spaced),
            kept: self.kept.max(other.kept),
            over_exchanges: self.over_exchanges.max(other.over_exchanges),
        }
    }
}

impl BlockGraph {
    /// Returns the cost of an order, [`Cost::spaced`] only of the orders whose features need it.
    pub fn cost(&self, order: ScheduleOrder) -> Cost {
        match order {
            ScheduleOrder::Source => {
                let mut walk = Walk::<false>::new(self);
                (0..self.nodes.len()).for_each(|node| walk.step(node));
                walk.most()
            }
            ScheduleOrder::Least => {
                let mut walk = Walk::<true>::new(self);
                self.least().iter().for_each(|&node| walk.step(node as usize));
                walk.most()
            }
            ScheduleOrder::Latency => self.latency_cost(),
            ScheduleOrder::OnDemand => self.on_demand_cost(),
            ScheduleOrder::Loads(u32::MAX) => self.loads_cost::<false>(u32::MAX).0,
            ScheduleOrder::Loads(target) => self.loads_cost::<true>(target).0,
        }
    }
}
