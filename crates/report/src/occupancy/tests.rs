//! The calculator against NVIDIA's, for every compute capability of the table.

use super::*;
use proptest::prelude::*;

/// Threads of a block, registers of a thread, bytes of shared memory of a block.
const USES: [(u32, u32, u64); 9] = [
    (256, 32, 0),
    (256, 64, 0),
    (128, 40, 0),
    (1024, 64, 0),
    (96, 168, 0),
    (32, 16, 0),
    (64, 255, 0),
    (192, 33, 20_000),
    (128, 24, 40_000),
];

/// For each of these uses, the blocks that fit and the limits (warps, blocks, registers, shared
/// memory) as computed by the calculator of CUDA 13 (`cuda_occupancy.h`) with the largest
/// shared-memory split.
const EXPECTED: [(u32, &str); 21] = [
    (50, "8W 4R 12R 1R 4R 32B 4R 3S 1S"),
    (52, "8W 4R 12R 1R 4R 32B 4R 4S 2S"),
    (53, "8W 4R 12R 0R 4R 32B 4R 3S 1S"),
    (60, "8W 4R 12R 1R 4R 32B 4R 3S 1S"),
    (61, "8W 4R 12R 1R 4R 32B 4R 4S 2S"),
    (62, "8W 4R 12R 0R 4R 32B 4R 3S 1S"),
    (70, "8W 4R 12R 1R 4R 32B 4R 4S 2S"),
    (72, "8W 4R 12R 1R 4R 32B 4R 4S 2S"),
    (75, "4W 4W 8W 1W 4R 16B 4R 3S 1S"),
    (80, "8W 4R 12R 1R 4R 32B 4R 7S 4S"),
    (86, "6W 4R 12W 1W 4R 16B 4R 4S 2S"),
    (87, "6W 4R 12W 1W 4R 16B 4R 7S 4S"),
    (88, "6W 4R 12W 1W 4R 16B 4R 4S 2S"),
    (89, "6W 4R 12W 1W 4R 24B 4R 4S 2S"),
    (90, "8W 4R 12R 1R 4R 32B 4R 8R 5S"),
    (100, "8W 4R 12R 1R 4R 32B 4R 8R 5S"),
    (101, "6W 4R 12W 1W 4R 24B 4R 8W 5S"),
    (103, "8W 4R 12R 1R 4R 32B 4R 8R 5S"),
    (110, "6W 4R 12W 1W 4R 24B 4R 8W 5S"),
    (120, "6W 4R 12W 1W 4R 24B 4R 4S 2S"),
    (121, "6W 4R 12W 1W 4R 24B 4R 4S 2S"),
];

#[test]
fn equals_the_published_calculator() {
    let known: Vec<u32> = SmLimits::all().iter().map(|limits| limits.sm).collect();
    assert_eq!(known, EXPECTED.map(|(sm, _)| sm));
    for (limits, (sm, expected)) in SmLimits::all().iter().zip(EXPECTED) {
        let found = USES.map(
            |(threads_per_block, registers_per_thread, shared_bytes_per_block)| {
                let occupancy = limits.occupancy(Usage {
                    threads_per_block,
                    registers_per_thread,
                    shared_bytes_per_block,
                });
                let warps = occupancy.blocks_per_sm * threads_per_block.div_ceil(WARP_THREADS);
                assert_eq!(occupancy.warps_per_sm, warps);
                let limiter = &occupancy.limiter.name()[..1];
                format!("{}{}", occupancy.blocks_per_sm, limiter.to_uppercase())
            },
        );
        assert_eq!(found.join(" "), expected, "sm_{sm}");
    }
}

#[test]
fn unknown_multiprocessors_have_no_limits() {
    assert!(
        [0, 30, 51, 85, 99, 130]
            .into_iter()
            .all(|sm| SmLimits::of(sm).is_none())
    );
    assert_eq!(SmLimits::of(90).unwrap().sm, 90);
}

fn usage(threads_per_block: u32, registers_per_thread: u32) -> Usage {
    Usage {
        threads_per_block,
        registers_per_thread,
        shared_bytes_per_block: 0,
    }
}

#[test]
fn steps_are_where_the_occupancy_changes() {
    let limits = SmLimits::of(80).unwrap();
    let step = |registers_per_thread, warps_per_sm| {
        Some(Step {
            registers_per_thread,
            warps_per_sm,
        })
    };
    // 41 registers take 1,536 a warp, ten warps a sub-partition; 40 take 1,280, twelve warps.
    assert_eq!(limits.occupancy(usage(128, 41)).warps_per_sm, 40);
    assert_eq!(limits.step_up(usage(128, 41)), step(40, 48));
    assert_eq!(limits.step_down(usage(128, 41)), step(49, 36));
    // All warps are there; none is left.
    assert_eq!(limits.step_up(usage(128, 32)), None);
    assert_eq!(limits.step_down(usage(128, 32)), step(33, 48));
    assert_eq!(limits.step_down(usage(128, 255)), None);
    // More than a thread can have: nothing runs.
    assert_eq!(limits.occupancy(usage(128, 256)).blocks_per_sm, 0);
    assert_eq!(limits.step_up(usage(128, 300)), step(255, 8));
    // Shared memory limits: fewer registers do not help.
    let shared = Usage {
        shared_bytes_per_block: 100_000,
        ..usage(128, 64)
    };
    assert_eq!(limits.occupancy(shared).limiter, Limiter::SharedMemory);
    assert_eq!(limits.step_up(shared), None);
}

#[test]
fn steps_are_those_of_a_search_over_all_numbers() {
    for (sm, _) in EXPECTED {
        let limits = SmLimits::of(sm).unwrap();
        let warps = |usage| limits.occupancy(usage).warps_per_sm;
        for (threads, registers, shared_bytes_per_block) in USES {
            let used = Usage {
                shared_bytes_per_block,
                ..usage(threads, registers)
            };
            let with = |registers_per_thread| Usage {
                registers_per_thread,
                ..used
            };
            let mut all = 1..=MAX_REGISTERS_PER_THREAD;
            let up = all
                .clone()
                .rev()
                .find(|&number| warps(with(number)) > warps(used));
            assert_eq!(limits.step_up(used).map(|step| step.registers_per_thread), up);
            let down = all.find(|&number| number > registers && warps(with(number)) < warps(used));
            assert_eq!(limits.step_down(used).map(|step| step.registers_per_thread), down);
        }
    }
}

#[test]
fn shared_memory_beyond_what_a_block_can_have_does_not_run() {
    let limits = SmLimits::of(86).unwrap();
    let shared = |shared_bytes_per_block| Usage {
        shared_bytes_per_block,
        ..usage(128, 32)
    };
    assert_eq!(limits.occupancy(shared(99 * 1024)).blocks_per_sm, 1);
    assert_eq!(limits.occupancy(shared(99 * 1024 + 1)).blocks_per_sm, 0);
}

#[test]
fn launch_bounds_limit_registers() {
    let limits = SmLimits::of(80).unwrap();
    let bounds = |threads, blocks| LaunchBounds {
        max_threads_per_block: threads,
        min_blocks_per_sm: blocks,
        max_registers: None,
    };
    assert_eq!(bounds(None, None).register_limit(limits), Some(255));
    assert_eq!(bounds(None, Some(16)).register_limit(limits), Some(255));
    assert_eq!(bounds(Some(1024), None).register_limit(limits), Some(64));
    assert_eq!(bounds(Some(256), Some(4)).register_limit(limits), Some(64));
    assert_eq!(bounds(Some(256), Some(8)).register_limit(limits), Some(32));
    assert_eq!(bounds(Some(256), Some(9)).register_limit(limits), None);
    let with_limit = LaunchBounds {
        max_registers: Some(40),
        ..bounds(Some(256), Some(4))
    };
    assert_eq!(with_limit.register_limit(limits), Some(40));
    assert_eq!(bounds(None, None).threads_per_block(), 128);
    assert_eq!(with_limit.register_limit_of_ptxas(80), 40);
    assert_eq!(with_limit.register_limit_of_ptxas(1), 40);
}

#[test]
fn registers_are_allotted_by_a_limit_or_by_threads_and_blocks() {
    let allotted = |threads, blocks, registers| {
        let bounds = LaunchBounds {
            max_threads_per_block: threads,
            min_blocks_per_sm: blocks,
            max_registers: registers,
        };
        bounds.allotted_registers(80)
    };
    assert_eq!(allotted(Some(128), Some(1), None), Some(255));
    assert_eq!(allotted(Some(256), Some(4), None), Some(64));
    assert_eq!(allotted(None, None, Some(96)), Some(96));
    assert_eq!(allotted(Some(256), Some(1), Some(96)), Some(96));
    assert_eq!(allotted(Some(256), Some(9), Some(96)), Some(96));
    // Not by threads alone, by blocks alone, or by what cannot be met.
    assert_eq!(allotted(Some(128), None, None), None);
    assert_eq!(allotted(None, Some(2), None), None);
    assert_eq!(allotted(Some(256), Some(9), None), None);
}

/// What ptxas 13.0.88 gives kernels with 160 values live at once.
#[test]
fn ptxas_gives_a_thread_so_many_registers() {
    for (threads, blocks, most, registers) in [
        (288, Some(2), None, 96),
        (1024, Some(1), None, 64),
        (1024, None, None, 64),
        (768, Some(1), None, 80),
        (96, Some(7), None, 80),
        (160, Some(5), None, 72),
        (33, Some(13), None, 72),
        (352, Some(2), None, 80),
        (1024, Some(2), None, 32),
        // Cannot be met.
        (1024, Some(4), None, 64),
        // `.maxnreg` replaces what the threads of a block leave, but not what several blocks leave.
        (1024, None, Some(128), 128),
        (1024, Some(1), Some(128), 64),
        (1024, None, Some(24), 24),
        (1024, Some(1), Some(24), 24),
    ] {
        let bounds = LaunchBounds {
            max_threads_per_block: Some(threads),
            min_blocks_per_sm: blocks,
            max_registers: most,
        };
        let limit = bounds.register_limit_of_ptxas(80);
        assert_eq!(
            limit, registers,
            "{threads} threads, {blocks:?} blocks, at most {most:?}"
        );
    }
}

proptest! {
    /// More of anything never lets more blocks fit, and steps are no more than one register off.
    #[test]
    fn use_only_costs(sm in 0..EXPECTED.len(), threads in 1_u32..=1024, registers in 1_u32..255, shared in 0_u64..60_000) {
        let limits = &SmLimits::all()[sm];
        let usage = Usage { threads_per_block: threads, registers_per_thread: registers, shared_bytes_per_block: shared };
        let blocks = |usage| limits.occupancy(usage).blocks_per_sm;
        let more_registers = Usage { registers_per_thread: registers + 1, ..usage };
        prop_assert!(blocks(more_registers) <= blocks(usage));
        let more_shared = Usage { shared_bytes_per_block: shared + 1, ..usage };
        prop_assert!(blocks(more_shared) <= blocks(usage));
        prop_assert!(limits.occupancy(usage).warps_per_sm <= limits.warps);
        if let Some(step) = limits.step_up(usage) {
            let next = Usage { registers_per_thread: step.registers_per_thread + 1, ..usage };
            prop_assert_eq!(blocks(next), blocks(usage));
        }
        if let Some(step) = limits.step_down(usage) {
            let before = Usage { registers_per_thread: step.registers_per_thread - 1, ..usage };
            prop_assert_eq!(blocks(before), blocks(usage));
        }
    }
}
