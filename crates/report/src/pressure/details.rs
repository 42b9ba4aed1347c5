//! The details of a function's pressure.

use super::place::Place;
use super::region::{Region, loops_of};
use super::value::{Describer, LiveValue};
use super::variables::VariableMap;
use super::{FunctionPressure, file_name};
use oriel_engine::entity::Block;
use oriel_engine::graph::LoopForest;
use oriel_engine::live::pressure::PressureFile;
use serde::Serialize;
use std::collections::BTreeMap;

/// Units that the values of one source variable take at a peak.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct VariableShare {
    /// The variable; several names where one value holds several variables.
    pub variable: String,
    /// Units of the register file.
    pub units: u32,
    /// Number of values.
    pub values: usize,
}

/// The peak of a register file.
#[derive(Clone, Debug, Serialize)]
pub struct PeakDetails {
    /// The register file: `r32` or `pred`.
    pub file: &'static str,
    /// The most units live at once.
    pub units: u32,
    /// The first instruction after which the peak is reached; none if nothing is ever live.
    pub place: Option<Place>,
    /// Loop depth of the place.
    pub loop_depth: usize,
    /// The values that are live there; those with the greatest possible gain come first.
    pub values: Vec<LiveValue>,
    /// The same by variable, the largest first; empty without debug information.
    pub variables: Vec<VariableShare>,
}

/// The peaks inside a block.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BlockPressure {
    /// LLVM's number of the block.
    pub block: u32,
    /// Loop depth.
    pub loop_depth: usize,
    /// The most 32-bit units live at once.
    pub peak_pressure_r32: u32,
    /// The most predicates live at once.
    pub peak_pressure_pred: u32,
}

/// The peaks of the blocks of one loop depth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DepthPressure {
    /// Loop depth of the blocks.
    pub loop_depth: usize,
    /// The most 32-bit units live at once.
    pub peak_pressure_r32: u32,
    /// The most predicates live at once.
    pub peak_pressure_pred: u32,
}

/// A function's pressure with its causes.
#[derive(Clone, Debug, Serialize)]
pub struct PressureDetails {
    /// By register file.
    pub peaks: Vec<PeakDetails>,
    /// By block, in the order of the code.
    pub block_pressure: Vec<BlockPressure>,
    /// By loop depth, ascending.
    pub loop_depths: Vec<DepthPressure>,
}

impl FunctionPressure<'_> {
    /// Computes the causes and places of the pressure.
    pub fn details(&self) -> PressureDetails {
        let loops = loops_of(&self.snapshot);
        let variables = VariableMap::of(&self.snapshot);
        let blocks = self.block_pressure(&loops);
        PressureDetails {
            peaks: PressureFile::ALL
                .map(|file| self.peak_details(file, &loops, &variables))
                .into(),
            loop_depths: by_depth(&blocks),
            block_pressure: blocks,
        }
    }

    /// Computes the causes of one file's peak.
    pub fn peak_details_of(&self, file: PressureFile) -> PeakDetails {
        self.peak_details(file, &loops_of(&self.snapshot), &VariableMap::of(&self.snapshot))
    }

    fn peak_details(
        &self,
        file: PressureFile,
        loops: &LoopForest<Block>,
        variables: &VariableMap,
    ) -> PeakDetails {
        let peak = self.peak(file);
        let mut details = PeakDetails {
            file: file_name(file),
            units: peak.units,
            place: None,
            loop_depth: 0,
            values: Vec::new(),
            variables: Vec::new(),
        };
        let (Some(index), Some((block, instruction))) = (peak.index, self.peak_place(file)) else {
            return details;
        };
        let describer = Describer {
            snapshot: &self.snapshot,
            intervals: &self.intervals,
            variables,
        };
        let region = Region::around(&self.snapshot, loops, block);
        details.values = describer.values_at(file, index, &region);
        details.variables = by_variable(&details.values);
        details.loop_depth = loops.depth_of(block);
        details.place = instruction.map(|instruction| Place::of(&self.snapshot, block, instruction));
        details
    }

    fn block_pressure(&self, loops: &LoopForest<Block>) -> Vec<BlockPressure> {
        let peak = |file, block| self.pressure.block_peak(&self.intervals, file, block).units;
        self.snapshot
            .blocks()
            .map(|block| BlockPressure {
                block: self.snapshot.block(block).number,
                loop_depth: loops.depth_of(block),
                peak_pressure_r32: peak(PressureFile::General, block),
                peak_pressure_pred: peak(PressureFile::Predicate, block),
            })
            .collect()
    }
}

fn by_depth(blocks: &[BlockPressure]) -> Vec<DepthPressure> {
    let mut depths: BTreeMap<usize, DepthPressure> = BTreeMap::new();
    for block in blocks {
        let depth = depths.entry(block.loop_depth).or_insert(DepthPressure {
            loop_depth: block.loop_depth,
            peak_pressure_r32: 0,
            peak_pressure_pred: 0,
        });
        depth.peak_pressure_r32 = depth.peak_pressure_r32.max(block.peak_pressure_r32);
        depth.peak_pressure_pred = depth.peak_pressure_pred.max(block.peak_pressure_pred);
    }
    depths.into_values().collect()
}

fn by_variable(values: &[LiveValue]) -> Vec<VariableShare> {
    let mut shares: BTreeMap<String, VariableShare> = BTreeMap::new();
    for value in values.iter().filter(|value| !value.variables.is_empty()) {
        let variable = value.variables.join(", ");
        let share = shares.entry(variable.clone()).or_insert(VariableShare {
            variable,
            units: 0,
            values: 0,
        });
        share.units += value.units;
        share.values += 1;
    }
    let mut shares: Vec<VariableShare> = shares.into_values().collect();
    shares.sort_by_key(|share| std::cmp::Reverse(share.units));
    shares
}
