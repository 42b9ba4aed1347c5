//! The figures of functions.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The figures of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes a thread of spill stores and loads; none for the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
    /// Bytes a block of static shared memory by ptxas; none for the estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared_bytes: Option<u32>,
    /// Bytes of SASS or, for the estimate, machine instructions after Oriel.
    pub code_size: u64,
    /// Warps that a multiprocessor holds of a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warps: Option<u32>,
    /// Nanoseconds that its launches take on a GPU, if they are timed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_ns: Option<u64>,
}

/// Figures by function.
pub type Judgement = BTreeMap<String, Figures>;
