//! The shim as the host of phases.

use super::records::{self, NONE};
use super::stages::{AtSsa, OrielStages};
use super::text::OrielText;
use crate::options::{FunctionHash, Options};
use crate::phases::registry::Phase;
use crate::phases::{Remark, RemarkKind};
use crate::pipeline::Host;
use crate::report::{CodeRemark, Piece};
use std::ffi::c_void;
use std::sync::Arc;

/// `OrielHost`.
#[repr(C)]
pub struct OrielHost {
    context: *mut c_void,
    phase_begins: Option<unsafe extern "C" fn(*mut c_void, OrielText)>,
    phase_ended: Option<unsafe extern "C" fn(*mut c_void)>,
    function_hash: unsafe extern "C" fn(*mut c_void) -> u64,
    may_exchange_registers: unsafe extern "C" fn(*mut c_void) -> u32,
    has_body: Option<unsafe extern "C" fn(*mut c_void, OrielText) -> u32>,
    stages: *const OrielStages,
    machine_function: *const c_void,
    function: OrielText,
    function_number: u32,
    wants_remarks: u32,
}

const _: () = assert!(size_of::<OrielHost>() == 88);

impl OrielHost {
    /// Returns the hash of LLVM's function in its present state.
    pub(super) fn function_hash(&self) -> FunctionHash {
        // SAFETY: the shim's function takes the shim's context.
        FunctionHash(unsafe { (self.function_hash)(self.context) })
    }

    /// Returns the data of the pipeline's functions that are kept between their stages.
    pub(super) fn stages(&self) -> &OrielStages {
        // SAFETY: the shim's driver owns them, and lives longer than its host.
        unsafe { &*self.stages }
    }

    /// True if the shim says when the module ends.
    pub(super) fn knows_module(&self) -> bool {
        self.has_body.is_some()
    }

    /// True if the module has the body of the function with a name.
    pub(super) fn has_body(&self, name: &str) -> bool {
        // SAFETY: the shim's function takes the shim's context and the name for the time of the call.
        self.has_body
            .is_some_and(|has_body| unsafe { has_body(self.context, OrielText::borrowed(name)) } != 0)
    }

    /// Keeps data for the late stage of the function.
    pub(super) fn leave_to_late_stage(&self, at_ssa: AtSsa) {
        let address = self.machine_function.addr();
        self.stages().leave(address, self.function_number, at_ssa);
    }

    /// Returns the data of stage `ssa` for the late stage of the function, once, if it is compiled with
    /// these options. Drops data of another function at this address.
    pub(super) fn take_from_ssa(&self, given: &Arc<Options>) -> Option<AtSsa> {
        let address = self.machine_function.addr();
        let earlier = self.stages().take(address, self.function_number)?;
        // SAFETY: the shim's function lives longer than its host.
        let name = unsafe { self.function.as_str() };
        earlier.is_of(&name, given).then_some(earlier)
    }
}

impl Host for OrielHost {
    fn wants_remarks(&self) -> bool {
        self.wants_remarks != 0
    }

    fn may_exchange_registers(&self) -> bool {
        // SAFETY: the shim's function takes the shim's context.
        unsafe { (self.may_exchange_registers)(self.context) != 0 }
    }

    fn phase_begins(&self, phase: &Phase) {
        if let Some(phase_begins) = self.phase_begins {
            // SAFETY: the shim's function takes the shim's context, and the name lives as long as
            // the process.
            unsafe { phase_begins(self.context, OrielText::from_static(phase.name)) }
        }
    }

    fn phase_ended(&self) {
        if let Some(phase_ended) = self.phase_ended {
            // SAFETY: the shim's function takes the shim's context.
            unsafe { phase_ended(self.context) }
        }
    }
}

/// `OrielRemark`.
#[repr(C)]
pub struct OrielRemark {
    kind: records::RemarkKind,
    instruction: u32,
    phase: OrielText,
    name: OrielText,
    message: OrielText,
}

const _: () = assert!(size_of::<OrielRemark>() == 56);

impl OrielRemark {
    /// Converts a remark. The texts live as long as the remark.
    pub(super) fn of(remark: &Remark) -> Self {
        Self {
            kind: match remark.kind {
                RemarkKind::Passed => records::RemarkKind::Passed,
                RemarkKind::Missed => records::RemarkKind::Missed,
                RemarkKind::Analysis => records::RemarkKind::Analysis,
            },
            instruction: remark
                .instruction
                .map_or(NONE, |instruction| instruction.as_u32()),
            phase: OrielText::from_static(remark.phase),
            name: OrielText::from_static(remark.name),
            message: OrielText::borrowed(&remark.message),
        }
    }
}

/// `OrielCodeRemark`.
#[repr(C)]
pub struct OrielCodeRemark {
    instruction: u32,
    piece_count: u32,
    name: OrielText,
}

const _: () = assert!(size_of::<OrielCodeRemark>() == 24);

impl OrielCodeRemark {
    pub(super) fn of(remark: &CodeRemark) -> Self {
        Self {
            instruction: remark
                .instruction
                .map_or(NONE, |instruction| instruction.as_u32()),
            piece_count: remark.pieces.len() as u32,
            name: OrielText::from_static(remark.name),
        }
    }
}

/// `OrielRemarkPiece`.
#[repr(C)]
pub struct OrielRemarkPiece {
    key: OrielText,
    text: OrielText,
}

const _: () = assert!(size_of::<OrielRemarkPiece>() == 32);

impl OrielRemarkPiece {
    /// Converts a piece. The texts live as long as the piece.
    pub(super) fn of(piece: &Piece) -> Self {
        Self {
            key: OrielText::from_static(piece.key.unwrap_or_default()),
            text: OrielText::borrowed(&piece.text),
        }
    }
}
