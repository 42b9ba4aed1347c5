//! Instructions with their source positions.

use oriel_engine::entity::{Block, EntityRef, Instruction, from_one_based};
use oriel_engine::snapshot::Snapshot;
use serde::{Deserialize, Serialize};
use std::fmt;

/// A source position.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SourceFrame {
    /// Source file, as named in the debug information.
    pub file: String,
    /// Line from one; zero for generated code.
    pub line: u32,
    /// Column from one; zero if unknown.
    pub column: u32,
    /// The function that the line is in.
    pub function: String,
}

impl fmt::Display for SourceFrame {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        match self.column {
            0 => Ok(()),
            column => write!(f, ":{column}"),
        }
    }
}

/// An instruction with its source location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Place {
    /// LLVM's number of the block: `%bb.N`.
    pub block: u32,
    /// Position in the function, as snapshots print it.
    pub instruction: u32,
    /// LLVM's name of the opcode.
    pub opcode: String,
    /// The location and the calls that it was inlined at, innermost first; empty without debug
    /// information.
    pub source: Vec<SourceFrame>,
}

impl Place {
    /// Returns the place of an instruction of `block`.
    pub(crate) fn of(snapshot: &Snapshot<'_>, block: Block, instruction: Instruction) -> Self {
        let reference = snapshot.instruction(instruction);
        let mut source = Vec::new();
        let mut location = reference.location();
        while let Some(current) = location {
            let record = snapshot.location(current);
            source.push(SourceFrame {
                file: snapshot.string(record.file).into_owned(),
                line: record.line,
                column: record.column,
                function: snapshot.string(record.function).into_owned(),
            });
            location = from_one_based(record.inlined_at);
        }
        Self {
            block: snapshot.block(block).number,
            instruction: instruction.index() as u32,
            opcode: reference.opcode_name().into_owned(),
            source,
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "bb.{} @{} {}", self.block, self.instruction, self.opcode)?;
        for (depth, frame) in self.source.iter().enumerate() {
            write!(f, "{}{frame}", if depth == 0 { ", " } else { " inlined at " })?;
        }
        Ok(())
    }
}
