//! Remarks: what a phase tells those who ask the host for remarks.

use oriel_engine::entity::Instruction as MachineInstruction;
use serde::Serialize;

/// What a remark is about, in LLVM's terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum RemarkKind {
    /// Something was made better.
    Passed,
    /// Something could not be made better, or was not worth it.
    Missed,
    /// Something was found out.
    Analysis,
}

/// A remark of a phase.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// What it is about.
    pub kind: RemarkKind,
    /// The phase.
    pub phase: &'static str,
    /// A name for remarks of its sort, such as `DeadInstruction`.
    pub name: &'static str,
    /// The input's instruction that it is about; none: the function.
    #[serde(skip)]
    pub instruction: Option<MachineInstruction>,
    /// What there is to say, without the phase's name.
    pub message: String,
}
