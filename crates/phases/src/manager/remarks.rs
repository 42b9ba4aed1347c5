//! Remarks of phases, for hosts that request them.

use oriel_engine::entity::Instruction as MachineInstruction;
use serde::Serialize;

/// The kind of a remark, in LLVM's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkKind {
    /// The code was improved.
    Passed,
    /// The code could not be improved, or it was not worth it.
    Missed,
    /// A result of an analysis.
    Analysis,
}

/// A remark of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// The kind.
    pub kind: RemarkKind,
    /// The phase.
    pub phase: &'static str,
    /// A name for remarks of its kind, such as `DeadInstruction`.
    pub name: &'static str,
    /// The input's instruction that it concerns; none: the function.
    #[serde(skip)]
    pub instruction: Option<MachineInstruction>,
    /// The message, without the phase's name.
    pub message: String,
}
