//! The live-range engine: computes where each register of a machine function holds which value.
//!
//! ```text
//! Function ─▶ SlotIndexes ─▶ LiveRangeCalc ─▶ LiveIntervals ─▶ queries, updates, pressure, text
//! ```
//!
//! The intervals are those of LLVM's `LiveIntervals`, segment by segment and value by value. The
//! engine needs neither LLVM nor Ori, only a [`Function`], such as a snapshot.
//!
//! | file | subject |
//! |---|---|
//! | `function.rs`, `listed_function.rs` | the input |
//! | `slot_index.rs`, `slot_indexes.rs`, `slot_update.rs`, `entry_map.rs` | instruction numbers and their updates |
//! | `live_range_calc.rs` | the engine: its phases, the bypass |
//! | `scan.rs` | phase 4: definitions and uses, registers of one block |
//! | `segment.rs`, `segment_table.rs`, `dataflow.rs` | phase 5: sets per block, their table, propagation |
//! | `webs.rs`, `web_batch.rs`, `web_values.rs`, `web_pieces.rs`, `phi_order.rs`, `resolve.rs`, `value.rs` | phase 6: values of registers with several definitions |
//! | `block_words.rs` | phases 5 and 7 in windows of 64 blocks |
//! | `endpoints.rs` | phase 7: segments from sets; the bypass |
//! | `flow_graph.rs`, `number_order.rs` | the graph, with dominators of [`graph`](crate::graph) |
//! | `live_interval.rs`, `query.rs`, `print.rs` | the result, its queries and text |
//! | `range_update.rs`, `update/` | updates of ranges while the function changes |
//! | `segment_list.rs` | adding and extending segments, for phase 6 and for updates |
//! | `fuzz.rs` | checks that any snapshot must pass |
//! | `pressure.rs` | registers live at once, by file |
//! | `verify.rs` | consistency of a result with its function |

mod block_words;
mod dataflow;
mod endpoints;
mod entry_map;
mod flow_graph;
mod function;
#[cfg(any(test, feature = "testing"))]
pub mod fuzz;
mod listed_function;
mod live_interval;
mod live_range_calc;
mod number_order;
mod phi_order;
pub mod pressure;
mod print;
mod query;
mod range_update;
mod resolve;
mod scan;
mod segment;
mod segment_list;
mod segment_table;
mod slot_index;
mod slot_indexes;
mod slot_update;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
mod update;
mod value;
mod verify;
mod web_batch;
mod web_pieces;
mod web_values;
mod webs;

pub use entry_map::{InsertionPoint, Renumbering};
pub use flow_graph::FlowGraph;
pub use function::Function;
pub use listed_function::ListedFunction;
pub use live_interval::{Definition, LiveInterval, LiveIntervals, LiveRange, LiveSegment, OwnedLiveRange};
pub use live_range_calc::{Bypass, LiveRangeCalc};
pub use query::LiveQuery;
#[cfg(any(test, feature = "testing"))]
pub use scan::{defines, reads, use_slot};
pub use segment::{BatchBit, BatchSet, EMPTY_KEY, Segment, TOMBSTONE_KEY};
pub use segment_table::{SegmentId, SegmentTable};
pub use slot_index::{INSTRUCTION_DISTANCE, SLOT_COUNT, Slot, SlotIndex};
pub use slot_indexes::{MOST_ENTRIES, SlotIndexes};
pub use update::Shrunk;
pub use value::{VNInfo, ValueNumber};
pub use verify::{Finding, FindingKind};
