//! Compares variants.

use super::figures::{Figures, Judgement};
use clap::ValueEnum;
use serde::Serialize;
use std::fmt;

/// The figure to improve.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Goal {
    /// Fewer registers
    Registers,
    /// Fewer bytes of spilled registers
    Spills,
    /// More warps on a multiprocessor
    Occupancy,
    /// Less machine code
    Sass,
    /// Less time on the GPU of this machine, for the launches of --launch
    Time,
}

/// Figures by priority; less is better.
pub type Score = [i64; 4];

impl Goal {
    /// Returns the value of a function: the goal first, then the other costs of ptxas' code.
    pub fn score(self, figures: &Figures) -> Score {
        let registers = i64::from(figures.registers);
        let spills = i64::from(figures.spill_bytes.unwrap_or(0));
        let warps = -i64::from(figures.warps.unwrap_or(0));
        let size = figures.code_size as i64;
        match self {
            Self::Registers => [registers, spills, size, warps],
            Self::Spills => [spills, size, registers, warps],
            Self::Occupancy => [warps, spills, size, registers],
            Self::Sass => [size, spills, warps, registers],
            Self::Time => [figures.time_ns.unwrap_or(0) as i64, spills, warps, registers],
        }
    }

    /// Returns the value of several functions together.
    pub fn sum<'f>(self, functions: impl Iterator<Item = &'f Figures>) -> Score {
        functions
            .map(|figures| self.score(figures))
            .fold([0; 4], |sum, score| {
                std::array::from_fn(|place| sum[place] + score[place])
            })
    }

    /// True if a function may change like this. Neither the goal nor spills may get worse, nor
    /// occupancy if the goal is code size or more shared memory is in use; code may grow by this
    /// percentage. Where the time is measured, it alone counts.
    pub fn allows(self, before: &Figures, after: &Figures, tolerance: f64) -> bool {
        let (score_before, score_after) = (self.score(before), self.score(after));
        if self == Self::Time && before.time_ns.is_some() {
            return after.time_ns <= before.time_ns;
        }
        let room = before.code_size as f64 * (1.0 + tolerance / 100.0);
        score_after[0] <= score_before[0]
            && after.spill_bytes <= before.spill_bytes
            && after.code_size as f64 <= room
            && (!matches!(self, Self::Sass | Self::Time) && after.shared_bytes <= before.shared_bytes
                || after.warps >= before.warps)
    }
}

impl fmt::Display for Goal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value().expect("all goals can be asked for");
        formatter.write_str(value.get_name())
    }
}

/// Returns the functions of a judgement that count, with their figures: all, or only one.
pub fn judged<'f>(
    judgement: &'f Judgement,
    only: Option<&'f str>,
) -> impl Iterator<Item = (&'f str, &'f Figures)> {
    let all = judgement.iter().map(|(name, figures)| (name.as_str(), figures));
    all.filter(move |&(name, _)| only.is_none_or(|only| name == only))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures(registers: u32, spill_bytes: u32, code_size: u64, warps: u32) -> Figures {
        Figures {
            registers,
            spill_bytes: Some(spill_bytes),
            code_size,
            warps: Some(warps),
            ..Figures::default()
        }
    }

    #[test]
    fn the_goal_comes_first_and_the_rest_decides_between_equals() {
        let (one, other) = (figures(20, 0, 1000, 32), figures(24, 0, 900, 48));
        let better = |goal: Goal| goal.score(&one) < goal.score(&other);
        assert_eq!(
            Goal::value_variants()
                .iter()
                .map(|&goal| better(goal))
                .collect::<Vec<_>>(),
            [true, false, false, false, false]
        );
        assert!(
            Goal::Registers.score(&figures(20, 0, 1000, 32))
                < Goal::Registers.score(&figures(20, 4, 900, 32))
        );
    }

    #[test]
    fn nothing_may_be_paid_with_spills_and_little_with_code() {
        let before = figures(24, 8, 1000, 32);
        for (goal, after, allowed) in [
            (Goal::Registers, figures(20, 8, 1020, 32), true),
            (Goal::Registers, figures(20, 8, 1021, 32), false),
            (Goal::Registers, figures(20, 12, 900, 32), false),
            (Goal::Registers, figures(25, 0, 900, 32), false),
            (Goal::Spills, figures(40, 0, 1000, 16), true),
            (Goal::Occupancy, figures(25, 8, 1000, 32), true),
            (Goal::Occupancy, figures(20, 8, 1000, 31), false),
            (Goal::Sass, figures(26, 8, 900, 32), true),
            (Goal::Sass, figures(26, 8, 900, 31), false),
        ] {
            assert_eq!(goal.allows(&before, &after, 2.0), allowed, "{goal:?} {after:?}");
        }
        let timed = |time_ns, spill_bytes| Figures {
            time_ns,
            ..figures(24, spill_bytes, 1000, 32)
        };
        for (after, allowed) in [(timed(Some(7), 100), true), (timed(Some(9), 0), false)] {
            assert_eq!(
                Goal::Time.allows(&timed(Some(8), 0), &after, 2.0),
                allowed,
                "{after:?}"
            );
        }
        // For a kernel that is not launched, the other figures count.
        assert!(!Goal::Time.allows(&timed(None, 0), &timed(None, 4), 2.0));
        for (warps, allowed) in [(32, true), (31, false)] {
            let after = Figures {
                shared_bytes: Some(4096),
                ..figures(24, 0, 1000, warps)
            };
            assert_eq!(Goal::Spills.allows(&before, &after, 2.0), allowed);
        }
    }
}
