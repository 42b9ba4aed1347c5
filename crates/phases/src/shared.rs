//! Code that several phases use.
//!
//! | file | subject |
//! |---|---|
//! | `basic_blocks.rs` | the state of blocks and edges, and which can be redirected |
//! | `copies.rs` | copies between registers, and registers that are interchangeable |
//! | `dead_code.rs` | finding and removing instructions that nothing needs |
//! | `expressions.rs` | instructions that only compute a value, and when two compute the same one |
//! | `replacement.rs` | reusing available values instead of recomputing them, as far as registers allow |
//! | `value_table.rs` | expressions by the words that describe them |

pub(crate) mod basic_blocks;
pub(crate) mod copies;
pub(crate) mod dead_code;
pub(crate) mod expressions;
pub(crate) mod replacement;
pub(crate) mod value_table;
