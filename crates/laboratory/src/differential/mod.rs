//! Differential tests: phases must not change the memory that functions leave.
//!
//! ```text
//!                 ┌────────────── run ──────────────▶ Baseline ─┐
//! TestedModule ───┤                                             ├─ the same? ── no ─▶ reduce ─▶ Case
//!                 └─ phases, each verified ─▶ run ──────────────┘
//! ```
//!
//! A [`TestedModule`] is the functions of a module at one stage, with inputs. [`check`] runs lists of
//! phases on it; [`reduce()`] reduces failures; [`Case::save`] writes them for `oriel exec`.
//! [`mutation_check`] makes wrong edits on purpose and counts how many of them the same check
//! finds.
//!
//! | file | subject |
//! |---|---|
//! | `tested_module.rs` | functions, inputs, and the results of a run |
//! | `sequence.rs` | lists of phases: each alone, the pipeline, random ones |
//! | `check.rs` | compares the function before and after |
//! | `reduce.rs`, `shrink.rs`, `failure_test.rs` | fewer phases; smaller functions |
//! | `case.rs` | failures on disk |
//! | `wrong_edit.rs`, `edits.rs`, `effect_edits.rs`, `probe.rs`, `mutation_check.rs` | wrong edits, and whether the checks detect them |

mod case;
mod check;
mod edits;
mod effect_edits;
mod failure_test;
mod mutation_check;
mod probe;
mod reduce;
mod sequence;
mod shrink;
mod tested_module;
#[cfg(test)]
mod tests;
mod wrong_edit;

pub use case::Case;
pub use check::{CheckReport, Failure, FailureKind, check, check_sequence};
pub use mutation_check::{MutationCounts, MutationTrial, WrongProof, mutation_check};
pub use reduce::reduce;
pub use sequence::{Sequence, Step, sequences};
pub use tested_module::{Baseline, Contents, Input, TestedModule};
pub use wrong_edit::{Edit, EditKind};
