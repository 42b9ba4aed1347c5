//! Computes the share of a module's instructions that Ori knows, and lists the others.

use bitvec::vec::BitVec;
use oriel_engine::entity::EntityRef;
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::OpcodeFlags;
use oriel_ori::machine::{ImportError, from_machine};
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt::{self, Display, Formatter};

/// Counts over functions at one stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct StageOpcodes {
    /// Functions.
    pub functions: usize,
    /// Functions that Ori cannot represent; their instructions count as opaque.
    pub refused: usize,
    /// Instructions, debug instructions not counted.
    pub instructions: usize,
    /// Instructions with full meaning.
    pub known: usize,
    /// How often each opcode was opaque: LLVM's name, or the mnemonic of one without a name.
    pub opaque: BTreeMap<String, usize>,
}

/// Counts by stage.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct OpcodeReport {
    /// By the name of the stage.
    pub stages: BTreeMap<&'static str, StageOpcodes>,
}

impl OpcodeReport {
    /// Counts a function's instructions.
    pub fn add(&mut self, snapshot: &Snapshot<'_>) {
        let counts = self.stages.entry(snapshot.stage().name()).or_default();
        counts.functions += 1;
        let is_opaque = match opaque_instructions(snapshot) {
            Ok(is_opaque) => is_opaque,
            Err(_) => {
                counts.refused += 1;
                BitVec::repeat(true, snapshot.instruction_count())
            }
        };
        for id in snapshot.instructions() {
            let instruction = snapshot.instruction(id);
            if instruction.opcode_flags().contains(OpcodeFlags::DEBUG) {
                continue;
            }
            counts.instructions += 1;
            if !is_opaque[id.index()] {
                counts.known += 1;
                continue;
            }
            let mnemonic = snapshot.string(snapshot.opcode(instruction.opcode()).mnemonic);
            let name = match mnemonic.split_once(' ') {
                Some((mnemonic, _)) => mnemonic.to_owned(),
                None => instruction.opcode_name().into_owned(),
            };
            *counts.opaque.entry(name).or_default() += 1;
        }
    }
}

/// Which machine instructions are opaque for Ori.
fn opaque_instructions(snapshot: &Snapshot<'_>) -> Result<BitVec, ImportError> {
    let function = from_machine(snapshot)?;
    let mut is_opaque: BitVec = BitVec::repeat(false, snapshot.instruction_count());
    for instruction in function.all_instructions() {
        if function.operation(instruction).is_opaque() {
            for origin in function.origins(instruction) {
                is_opaque.set(origin.index(), true);
            }
        }
    }
    Ok(is_opaque)
}

impl StageOpcodes {
    /// Returns the share of instructions with full meaning, in percent; 100 for an empty count.
    pub fn known_percent(&self) -> f64 {
        match self.instructions {
            0 => 100.0,
            all => 100.0 * self.known as f64 / all as f64,
        }
    }
}

impl Display for OpcodeReport {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        for (stage, counts) in &self.stages {
            writeln!(
                out,
                "stage {stage}: {} functions, {} refused; {} instructions, {} with full meaning ({:.2}%)",
                counts.functions,
                counts.refused,
                counts.instructions,
                counts.known,
                counts.known_percent()
            )?;
            let mut opaque: Vec<_> = counts.opaque.iter().collect();
            opaque.sort_by_key(|&(name, &count)| (std::cmp::Reverse(count), name));
            for (name, count) in opaque {
                writeln!(out, "{count:>8}  {name}")?;
            }
        }
        Ok(())
    }
}
