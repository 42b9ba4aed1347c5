//! Phase 7: turns the live sets of a batch into segments.
//!
//! Blocks are visited from the last to the first. Where `LiveOut` of a block and `LiveIn` of the
//! next one differ, a segment begins or ends at the boundary; a register that is live through both
//! costs nothing. Inside a block a segment ends at the last upward-exposed use and begins at the
//! definition. All registers of a batch have one definition, hence one value, and segments that touch
//! are merged.

use super::dataflow::Dataflow;
use super::live_interval::{IntervalRecord, LiveIntervals, LiveSegment, make_room};
use super::scan::{Scan, UpwardUseId};
use super::segment::{BatchBit, BatchSet, GENERAL_BITS, PREDICATE_BITS, for_each_bit};
use super::slot_index::SlotIndex;
use super::value::ValueNumber;
use crate::entity::{Block, EntityRef, PackedOption};

/// A finished segment of a register of the batch.
#[derive(Clone, Copy, Debug)]
struct Piece {
    bit: BatchBit,
    start: SlotIndex,
    end: SlotIndex,
}

/// The state of a register while blocks are visited.
#[derive(Clone, Copy, Debug)]
struct Cursor {
    definition: SlotIndex,
    /// End of the piece that begins at the definition, if it ends in the block.
    local_end: SlotIndex,
    /// End of the open segment, whose beginning has not been met yet.
    open_end: SlotIndex,
    /// The next upward-exposed use that may end a segment.
    upward: PackedOption<UpwardUseId>,
    /// Number of finished segments; while they are copied, the position after the next one.
    count: u32,
}

const BITS: usize = GENERAL_BITS + PREDICATE_BITS;

/// Builds segments. Keeps its memory from batch to batch.
#[derive(Debug)]
pub(super) struct Endpoints {
    pieces: Vec<Piece>,
    cursors: Box<[Cursor; BITS]>,
}

impl Default for Endpoints {
    fn default() -> Self {
        let cursor = Cursor {
            definition: SlotIndex::ZERO,
            local_end: SlotIndex::ZERO,
            open_end: SlotIndex::ZERO,
            upward: PackedOption::default(),
            count: 0,
        };
        Self {
            pieces: Vec::new(),
            cursors: Box::new([cursor; BITS]),
        }
    }
}

impl Endpoints {
    /// Adds the intervals of the batch that `dataflow` solved to `result`.
    pub(super) fn materialize(&mut self, dataflow: &mut Dataflow, scan: &Scan, result: &mut LiveIntervals) {
        for (bit, register) in dataflow.batch.members() {
            let state = scan.registers[register.index()];
            let definition = state.definition.expect("queued registers are defined");
            self.cursors[usize::from(bit.0)] = Cursor {
                definition,
                local_end: state.end.expand().unwrap_or(definition.dead_slot()),
                open_end: SlotIndex::ZERO,
                upward: state.upward,
                count: 0,
            };
        }
        self.pieces.clear();
        self.visit_blocks(dataflow, scan, &result.indexes.block_starts);
        self.write_segments(dataflow, result);
    }

    /// Visits the blocks of the batch.
    fn visit_blocks(&mut self, dataflow: &mut Dataflow, scan: &Scan, starts: &[SlotIndex]) {
        // The block visited before: the next one in layout order that has a segment.
        let mut next = Block::new(starts.len() - 1);
        let mut next_in = BatchSet::EMPTY;
        dataflow.segments.visit_backward(|block, segment| {
            let end = starts[block.index() + 1];
            let (all_in, all_out) = (segment.live_in(), segment.live_out());
            if next.index() != block.index() + 1 {
                next_in.for_each(|bit| self.begin(bit, starts[next.index()]));
                next_in = BatchSet::EMPTY;
            }
            for word in 0..BatchSet::WORDS {
                let (live_in, live_out) = (all_in.word(word), all_out.word(word));
                let (definitions, next_in) = (segment.definitions().word(word), next_in.word(word));
                if live_in | live_out | definitions | next_in == 0 {
                    continue;
                }
                for_each_bit(word, next_in & !live_out, |bit| self.begin(bit, end));
                for_each_bit(word, live_out & !next_in, |bit| self.cursor(bit).open_end = end);
                for_each_bit(word, definitions, |bit| {
                    let is_live = |word: u64| word >> (bit.0 % 64) & 1 != 0;
                    let cursor = self.cursor(bit);
                    if !is_live(live_out) {
                        cursor.open_end = cursor.local_end;
                    }
                    let definition = cursor.definition;
                    if !is_live(live_in) {
                        self.begin(bit, definition);
                        return;
                    }
                    // Read before it is defined: only where there are paths without a definition.
                    let read = self.last_read(bit, block, scan);
                    if read != definition {
                        self.begin(bit, definition);
                        self.cursor(bit).open_end = read;
                    }
                });
                for_each_bit(word, live_in & !live_out & !definitions, |bit| {
                    let read = self.last_read(bit, block, scan);
                    self.cursor(bit).open_end = read;
                });
            }
            next = block;
            next_in = all_in;
        });
        next_in.for_each(|bit| self.begin(bit, starts[next.index()]));
    }

    fn cursor(&mut self, bit: BatchBit) -> &mut Cursor {
        &mut self.cursors[usize::from(bit.0)]
    }

    /// Begins the open segment of `bit` at `start`.
    fn begin(&mut self, bit: BatchBit, start: SlotIndex) {
        let cursor = &mut self.cursors[usize::from(bit.0)];
        cursor.count += 1;
        self.pieces.push(Piece {
            bit,
            start,
            end: cursor.open_end,
        });
    }

    /// Returns the last read in `block` that the block's own definition does not reach. Blocks and
    /// the uses of a register are both visited in descending order.
    fn last_read(&mut self, bit: BatchBit, block: Block, scan: &Scan) -> SlotIndex {
        let cursor = &mut self.cursors[usize::from(bit.0)];
        loop {
            let id = cursor
                .upward
                .expand()
                .expect("live-in registers end in a block that reads them");
            let upward = &scan.upward_uses[id.index()];
            if upward.block <= block {
                debug_assert_eq!(upward.block, block, "a range ends where its register is read");
                return upward.last;
            }
            cursor.upward = upward.previous;
        }
    }

    /// Copies the pieces, which are in descending order, to their registers' ranges in the result.
    fn write_segments(&mut self, dataflow: &Dataflow, result: &mut LiveIntervals) {
        let mut first = result.segments.len() as u32;
        let filler = LiveSegment {
            start: SlotIndex::ZERO,
            end: SlotIndex::ZERO,
            value: ValueNumber::ZERO,
        };
        make_room(&mut result.segments, self.pieces.len());
        make_room(&mut result.values, self.cursors.len());
        result
            .segments
            .resize(result.segments.len() + self.pieces.len(), filler);
        for (bit, register) in dataflow.batch.members() {
            let cursor = &mut self.cursors[usize::from(bit.0)];
            result.records[register.index()] = IntervalRecord {
                first_segment: first,
                segment_count: cursor.count,
                first_value: result.values.len() as u32,
                value_count: 1,
            };
            result.values.push(cursor.definition.into());
            first += cursor.count;
            cursor.count = first;
        }
        for piece in &self.pieces {
            let position = &mut self.cursors[usize::from(piece.bit.0)].count;
            *position -= 1;
            result.segments[*position as usize] = LiveSegment {
                start: piece.start,
                end: piece.end,
                value: ValueNumber::ZERO,
            };
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        self.pieces.capacity() * size_of::<Piece>() + size_of::<[Cursor; BITS]>()
    }
}

/// The fast-compile bypass: computes the same segments without sets, by walking back from the
/// uses of each register to its definition.
#[derive(Debug, Default)]
pub(super) struct UseWalker {
    /// By block: the number of the walk in which it was live-in, and of that in which it was
    /// live-out.
    live_in: Vec<u32>,
    live_out: Vec<u32>,
    walk: u32,
    visited: Vec<Block>,
    pieces: Vec<(SlotIndex, SlotIndex)>,
}

impl UseWalker {
    /// Prepares for a function of `blocks` blocks.
    pub(super) fn begin(&mut self, blocks: usize) {
        self.walk = 0;
        for marks in [&mut self.live_in, &mut self.live_out] {
            marks.clear();
            marks.resize(blocks, 0);
        }
    }

    /// Adds the interval of `register`, which has one definition, to `result`.
    pub(super) fn run(
        &mut self,
        register: crate::entity::Register,
        flow: &super::flow_graph::FlowGraph,
        scan: &Scan,
        result: &mut LiveIntervals,
    ) {
        self.walk += 1;
        self.visited.clear();
        self.pieces.clear();
        let starts = &result.indexes.block_starts;
        let state = scan.registers[register.index()];
        let definition = state
            .definition
            .expand()
            .expect("undefined registers were dropped");
        let home = scan.block_of(definition);

        for upward in scan.upward_uses_of(state) {
            self.enter(upward.block);
        }
        for block in scan.live_out_uses_of(state) {
            self.leave(block, home);
        }
        let mut next = 0;
        while let Some(&block) = self.visited.get(next) {
            next += 1;
            for &predecessor in flow.predecessors_of(block) {
                self.leave(predecessor, home);
            }
        }

        for upward in scan.upward_uses_of(state) {
            if self.live_out[upward.block.index()] != self.walk || upward.block == home {
                self.pieces.push((starts[upward.block.index()], upward.last));
            }
        }
        for &block in &self.visited {
            if self.live_out[block.index()] == self.walk && block != home {
                self.pieces
                    .push((starts[block.index()], starts[block.index() + 1]));
            }
        }
        let leaves = self.live_out[home.index()] == self.walk;
        let local_end = state.end.expand().unwrap_or(definition.dead_slot());
        let end = if leaves {
            starts[home.index() + 1]
        } else {
            local_end
        };
        self.pieces.push((definition, end));
        self.pieces.sort_unstable();

        let first_segment = result.segments.len() as u32;
        for &(start, end) in &self.pieces {
            match result.segments[first_segment as usize..].last_mut() {
                Some(last) if last.end >= start => last.end = last.end.max(end),
                _ => result.segments.push(LiveSegment {
                    start,
                    end,
                    value: ValueNumber::ZERO,
                }),
            }
        }
        result.records[register.index()] = IntervalRecord {
            first_segment,
            segment_count: result.segments.len() as u32 - first_segment,
            first_value: result.values.len() as u32,
            value_count: 1,
        };
        result.values.push(definition.into());
    }

    /// Marks the register live on entry to `block`.
    fn enter(&mut self, block: Block) {
        if self.live_in[block.index()] != self.walk {
            self.live_in[block.index()] = self.walk;
            self.visited.push(block);
        }
    }

    /// Marks the register live on exit from `block`.
    fn leave(&mut self, block: Block, home: Block) {
        if self.live_out[block.index()] != self.walk {
            self.live_out[block.index()] = self.walk;
            if block != home {
                self.enter(block);
            }
        }
    }

    /// Returns the bytes of memory held.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.live_in.capacity() + self.live_out.capacity() + self.visited.capacity()) * size_of::<u32>()
            + self.pieces.capacity() * size_of::<(SlotIndex, SlotIndex)>()
    }
}
