//! The blocks where registers are short.

use super::live_blocks::LiveBlocks;
use crate::instruction_order::Weights;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, Register};
use oriel_engine::live::{LiveSegment, SlotIndex};
use oriel_ori::{Function, Liveness};
use std::ops::Range;

/// The blocks of a function whose peaks reach a limit, in the order of the layout. A block's place in
/// this order is its number.
pub(super) struct FullBlocks {
    /// Each with its peak in units.
    blocks: Vec<(Block, u32)>,
    is_full: EntityBitSet<Block>,
    /// Where these blocks start, in ascending order. A function may have thousands of them, so that
    /// they are searched for each segment.
    starts: Vec<SlotIndex>,
    /// Where they end.
    ends: Vec<SlotIndex>,
}

impl FullBlocks {
    /// Returns the blocks with a peak of at least `least` units; `peaks` is in the order of the layout.
    pub fn new(function: &Function, liveness: &Liveness, peaks: &[(Block, u32)], least: u32) -> Self {
        let blocks = peaks.iter().copied().filter(|&(_, peak)| peak >= least);
        let blocks: Vec<(Block, u32)> = blocks.collect();
        let mut is_full = EntityBitSet::with_room(function.block_limit());
        for &(block, _) in &blocks {
            is_full.insert(block);
        }
        let ranges = blocks.iter().map(|&(block, _)| liveness.block_range(block));
        let (starts, ends): (Vec<_>, Vec<_>) = ranges.unzip();
        debug_assert!(
            starts.is_sorted() && ends.is_sorted(),
            "blocks come in the order of the layout"
        );
        Self {
            blocks,
            is_full,
            starts,
            ends,
        }
    }

    /// True if a block is full.
    pub fn contains(&self, block: Block) -> bool {
        self.is_full.contains(block)
    }

    /// Returns the full blocks that a segment enters or leaves.
    pub fn entered_or_left(&self, segment: &LiveSegment) -> impl Iterator<Item = Block> {
        self.overlapped(segment).filter_map(|number| {
            let enters = self.starts[number] >= segment.start;
            let leaves = self.ends[number] <= segment.end;
            (enters || leaves).then_some(self.blocks[number].0)
        })
    }

    /// Returns the numbers of the full blocks in which a segment is live.
    fn overlapped(&self, segment: &LiveSegment) -> Range<usize> {
        let first = self.ends.partition_point(|&end| end <= segment.start);
        let behind = self.starts.partition_point(|&start| start < segment.end);
        first..behind.max(first)
    }

    /// Returns a lower bound on the function's peak after the ranges of some registers changed: the
    /// highest peak of these blocks without those of them that were live in one and no longer cross it.
    /// Liveness is that before; each register is in `changed` once. `now_live` is the memory for this.
    pub fn least_peak_after(
        &self,
        function: &Function,
        liveness: &Liveness,
        units: &Weights,
        changed: &[Register],
        now_live: &mut LiveBlocks<'_>,
    ) -> u32 {
        let mut peaks: Vec<u32> = self.blocks.iter().map(|&(_, peak)| peak).collect();
        for &register in changed {
            let segments = liveness.segments(register).iter();
            let mut numbers = segments.flat_map(|segment| self.overlapped(segment)).peekable();
            if numbers.peek().is_some() {
                now_live.find_all(function, register);
            }
            for number in numbers {
                if !now_live.cross(self.blocks[number].0) {
                    peaks[number] = peaks[number].saturating_sub(units.get(register));
                }
            }
        }
        peaks.into_iter().max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use oriel_ori::{ControlFlow, parse_function, peaks_of_blocks};

    #[test]
    fn a_block_keeps_what_still_crosses_it() {
        let text = "\
kernel \"k\" sm_80 ssa {
bix0:
    %0:R32 = LD.global.b32.b32 [0]
    %1:R32 = LD.global.b32.b32 [4]
    %2:R32 = LD.global.b32.b32 [8]
    BRA fall bix1
bix1:
    ST.global.b32.b32 %1, [4]
    ST.global.b32.b32 %2, [8]
    BRA fall bix2
bix2:
    ST.global.b32.b32 %0, [0]
    RET
}
";
        let mut function = parse_function(text).expect("it is well formed");
        let flow = ControlFlow::of(&function);
        let liveness = Liveness::compute(&function, &flow);
        let units = Weights::of(&function);
        let peaks = peaks_of_blocks(&function, &liveness, |register| units.get(register));
        let registers: Vec<Register> = function.registers().collect();
        let first = registers[0];
        let full = FullBlocks::new(&function, &liveness, &peaks, 3);
        let blocks = function.blocks();
        assert!(full.contains(blocks[0]) && full.contains(blocks[1]) && !full.contains(blocks[2]));
        let crossed: Vec<Block> = full.entered_or_left(&liveness.segments(first)[0]).collect();
        assert_eq!(crossed, blocks[..2]);
        let least = |function: &Function, changed: &[Register]| {
            let mut now_live = LiveBlocks::new(function, &flow);
            full.least_peak_after(function, &liveness, &units, changed, &mut now_live)
        };
        // All three are live at the end of the first block.
        assert_eq!(least(&function, &registers), 3);
        let last_user = function.instructions(blocks[2]).next().expect("a store");
        function.remove(last_user);
        // In the second block, the peak may be after the last uses of the other two.
        assert_eq!((least(&function, &[first]), least(&function, &registers)), (2, 2));
        assert_eq!(least(&function, &[]), 3);
    }
}
