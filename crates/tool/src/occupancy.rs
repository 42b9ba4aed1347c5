//! `oriel occupancy`: computes occupancy from a kernel's resources.

use clap::Args;
use oriel::report::occupancy::{MAX_THREADS_PER_BLOCK, SmLimits, Usage};
use serde_json::json;

/// Options of `oriel occupancy`.
#[derive(Args)]
pub struct OccupancyArguments {
    /// Compute capability, such as 80 or 90a
    #[arg(long, value_name = "SM", value_parser = crate::sm::number)]
    sm: u32,

    /// Threads of a block
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_THREADS_PER_BLOCK)))]
    threads: u32,

    /// Registers of a thread
    #[arg(long, value_name = "N")]
    registers: u32,

    /// Shared memory of a block in bytes, static and dynamic
    #[arg(long, value_name = "BYTES", default_value_t = 0)]
    shared: u64,

    /// Print a JSON object
    #[arg(long)]
    json: bool,
}

/// Runs the command.
pub fn run(arguments: &OccupancyArguments) -> Result<(), String> {
    let limits = SmLimits::of(arguments.sm).ok_or_else(|| {
        let known: Vec<String> = SmLimits::all()
            .iter()
            .map(|limits| limits.sm.to_string())
            .collect();
        format!(
            "sm_{} is not known; known are: {}",
            arguments.sm,
            known.join(", ")
        )
    })?;
    let usage = Usage {
        threads_per_block: arguments.threads,
        registers_per_thread: arguments.registers,
        shared_bytes_per_block: arguments.shared,
    };
    let occupancy = limits.occupancy(usage);
    let (more, fewer) = (limits.step_up(usage), limits.step_down(usage));
    if arguments.json {
        let line = json!({
            "sm": limits.sm,
            "occupancy_blocks_per_sm": occupancy.blocks_per_sm,
            "occupancy_warps_per_sm": occupancy.warps_per_sm,
            "occupancy_max_warps_per_sm": limits.warps,
            "occupancy_limiter": occupancy.limiter,
            "registers_for_more_warps": more.map(|step| step.registers_per_thread),
            "registers_for_fewer_warps": fewer.map(|step| step.registers_per_thread),
        });
        say_line!("{line}");
        return Ok(());
    }
    say_line!(
        "{} blocks, {} of {} warps, limited by {}",
        occupancy.blocks_per_sm,
        occupancy.warps_per_sm,
        limits.warps,
        occupancy.limiter
    );
    for (step, what) in [(more, "down to"), (fewer, "up to")] {
        if let Some(step) = step {
            say_line!(
                "{what} {} registers: {} warps",
                step.registers_per_thread,
                step.warps_per_sm
            );
        }
    }
    Ok(())
}
