//! What functions take.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// What a function takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Figures {
    /// Registers a thread.
    pub registers: u32,
    /// Bytes a thread of stores and loads of spilled registers; the estimate knows none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spill_bytes: Option<u32>,
    /// Bytes of SASS, or machine instructions behind Oriel for the estimate.
    pub code_size: u64,
    /// Warps that a multiprocessor holds of a kernel.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub warps: Option<u32>,
}

/// Figures by function.
pub type Judgement = BTreeMap<String, Figures>;
