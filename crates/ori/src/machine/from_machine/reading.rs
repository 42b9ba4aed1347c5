//! How the import reads an opcode.

use crate::function::MachineOpcode;
use crate::machine::opcode_mapping::{OpcodeMapping, mapping_named};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{OpcodeFlags, OpcodeRecord};

/// The interpretation of an opcode.
#[derive(Clone, Copy, Debug)]
pub(in crate::machine) enum Reading {
    Mapped(&'static OpcodeMapping),
    Copy,
    Phi,
    ImplicitDef,
    Branch,
    ConditionalBranch,
    TableStart,
    TableItem,
    TableEnd,
    Return,
    Exit,
    Debug,
    InlineAsm,
    Opaque,
    OpaqueTerminator,
}

impl Reading {
    /// Returns the interpretation of an opcode of a snapshot.
    pub(in crate::machine) fn of(snapshot: &Snapshot<'_>, record: &OpcodeRecord) -> Self {
        let flags = OpcodeFlags::from_bits_truncate(record.flags);
        Self::of_opcode(
            flags,
            &snapshot.string(record.name),
            &snapshot.string(record.mnemonic),
        )
    }

    pub(super) fn of_opcode(flags: OpcodeFlags, name: &str, mnemonic: &str) -> Self {
        let is_terminator = flags.contains(OpcodeFlags::TERMINATOR);
        for (flag, reading) in [
            (OpcodeFlags::DEBUG, Self::Debug),
            (OpcodeFlags::PHI, Self::Phi),
            (OpcodeFlags::COPY, Self::Copy),
            (OpcodeFlags::IMPLICIT_DEF, Self::ImplicitDef),
            (OpcodeFlags::INLINE_ASM, Self::InlineAsm),
        ] {
            if flags.contains(flag) && !is_terminator {
                return reading;
            }
        }
        match name {
            "GOTO" => return Self::Branch,
            "CBranch" => return Self::ConditionalBranch,
            "BRX_START" => return Self::TableStart,
            "BRX_ITEM" => return Self::TableItem,
            "BRX_END" => return Self::TableEnd,
            "Return" => return Self::Return,
            MachineOpcode::EXIT => return Self::Exit,
            _ => {}
        }
        let key = if mnemonic.is_empty() { name } else { mnemonic };
        match mapping_named(key) {
            Some(mapping) => Self::Mapped(mapping),
            None if is_terminator => Self::OpaqueTerminator,
            None => Self::Opaque,
        }
    }
}
