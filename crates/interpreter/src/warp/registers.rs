//! Steps that need only registers: neither memory nor paths.

use super::{Stop, Warp, failure};
use crate::access::LaneFault;
use crate::error::FaultKind;
use crate::program::BarrierKind;
use crate::surroundings::Surroundings;
use crate::thread_effects::mix;
use crate::uninterpreted;
use oriel_arithmetic::lanes::LaneIter;
use oriel_engine::entity::Register;
use oriel_ori::SpecialRegister;

impl Warp {
    /// Returns the lanes of each target of a branch table.
    pub(super) fn group_targets(
        &self,
        index: u32,
        targets: &[u32],
        mask: u32,
    ) -> Result<Vec<(u32, u32)>, LaneFault> {
        let indices = self.registers.row::<u32>(index);
        let mut groups: Vec<(u32, u32)> = Vec::new();
        for lane in LaneIter(mask) {
            let Some(&target) = targets.get(indices[lane] as usize) else {
                let problem = format!("entry {} of a table of {}", indices[lane], targets.len());
                return Err((Box::new(FaultKind::Call(problem)), Some(lane)));
            };
            match groups.iter_mut().find(|(other, _)| *other == target) {
                Some((_, lanes)) => *lanes |= 1 << lane,
                None => groups.push((target, 1 << lane)),
            }
        }
        Ok(groups)
    }

    /// Checks that every thread named in the threads' own masks is here or has ended: any other will
    /// never join them. Each thread's mask must name the thread itself.
    pub(super) fn check_members(&self, members: Option<u32>, mask: u32) -> Result<(), LaneFault> {
        let Some(row) = members else { return Ok(()) };
        let masks = self.registers.row::<u32>(row);
        for lane in LaneIter(mask) {
            let missing = masks[lane] & self.live & !mask;
            if missing != 0 || masks[lane] >> lane & 1 == 0 {
                let problem = format!(
                    "threads {:#010x} of the mask {:#010x} are elsewhere, or the thread is not in the mask",
                    missing, masks[lane]
                );
                return Err((Box::new(FaultKind::Divergence(problem)), Some(lane)));
            }
        }
        Ok(())
    }

    /// Checks that all lanes of a mask have the same value of a register.
    pub(super) fn check_agreement(
        &self,
        register: Register,
        row: u32,
        is_wide: bool,
        mask: u32,
    ) -> Result<(), LaneFault> {
        let value = |lane: usize| match is_wide {
            true => self.registers.row::<u64>(row)[lane],
            false => u64::from(self.registers.row::<u32>(row)[lane]),
        };
        let expected = value(mask.trailing_zeros() as usize);
        match LaneIter(mask).find(|&lane| value(lane) != expected) {
            None => Ok(()),
            Some(lane) => {
                let problem = format!(
                    "{register} is called uniform, but is {:#x} and {expected:#x}",
                    value(lane)
                );
                Err((Box::new(FaultKind::NotUniform(problem)), Some(lane)))
            }
        }
    }

    /// Checks that all threads of the warp that have not ended are at one barrier, and records it.
    pub(super) fn stop_at_barrier(
        &mut self,
        barrier: u32,
        threads: Option<u32>,
        kind: BarrierKind,
        mask: u32,
    ) -> Result<Stop, LaneFault> {
        let first = mask.trailing_zeros() as usize;
        let of_all = |row: u32| {
            let row = self.registers.row::<u32>(row);
            let differs = |&lane: &usize| row[lane] != row[first];
            match LaneIter(mask).find(differs) {
                None => Ok(row[first]),
                Some(lane) => {
                    let problem = "threads of a warp are at different barriers".to_owned();
                    Err((Box::new(FaultKind::Divergence(problem)), Some(lane)))
                }
            }
        };
        if mask != self.live {
            let problem = format!(
                "a barrier is reached by threads {mask:#010x} of a warp, but {:#010x} have not ended",
                self.live
            );
            return Err(failure(FaultKind::Divergence(problem), mask));
        }
        let number = of_all(barrier)?;
        let threads = threads.map(of_all).transpose()?;
        self.note(mix(uninterpreted::BARRIER, u64::from(number)), mask);
        Ok(Stop::Barrier {
            number,
            threads,
            kind,
        })
    }

    /// Writes the value of a special register.
    pub(super) fn read_special(
        &mut self,
        around: &Surroundings<'_>,
        register: SpecialRegister,
        result: u32,
        is_wide: bool,
        mask: u32,
    ) {
        let (number, steps) = (self.number, self.steps);
        let value = |lane: usize| around.special(register, number, lane as u32, steps);
        if is_wide {
            self.registers.fill::<u64>(result, mask, value);
        } else {
            self.registers
                .fill::<u32>(result, mask, |lane| value(lane) as u32);
        }
    }

    /// Writes a value that depends only on how many undefined values were read before.
    pub(super) fn read_undefined(&mut self, result: u32, bits: u32, mask: u32) {
        self.undefined_reads += 1;
        let value = mix(0, self.undefined_reads) >> (64 - bits);
        if bits > 32 {
            self.registers.fill::<u64>(result, mask, |_| value);
        } else {
            self.registers.fill::<u32>(result, mask, |_| value as u32);
        }
    }
}
