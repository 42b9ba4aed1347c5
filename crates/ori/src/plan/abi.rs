//! The plan's records, declared in `records.rs` for both sides.

use bytemuck::{Pod, Zeroable};
use oriel_engine::snapshot::abi::abi;

include!("records.rs");
