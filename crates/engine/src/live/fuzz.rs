//! Checks that hold for every snapshot, however odd: the engine, its bypass and the verifier.
//!
//! The fuzz target `intervals` and a test call this with the bytes of damaged snapshot files.

use super::live_range_calc::{Bypass, LiveRangeCalc};
use super::verify::FindingKind;
use crate::snapshot::{Snapshot, try_to_use};

/// Loads a snapshot from `bytes` and, if that succeeds, computes and checks its intervals. Returns
/// whether `bytes` are a snapshot.
///
/// # Panics
/// The bypass gives other intervals, or the verifier finds a malformed range.
pub fn check_bytes(bytes: &[u8]) -> bool {
    match try_to_use(bytes) {
        Ok(snapshot) => {
            check_snapshot(&snapshot.view());
            true
        }
        Err(_) => false,
    }
}

/// Computes and checks the intervals of `snapshot`.
///
/// # Panics
/// As for [`check_bytes`].
pub fn check_snapshot(snapshot: &Snapshot<'_>) {
    let intervals = LiveRangeCalc::with_bypass(Bypass::Never).analyze(snapshot);
    let text = intervals.to_string();
    for bypass in [Bypass::Always, Bypass::Small] {
        let other = LiveRangeCalc::with_bypass(bypass).analyze(snapshot);
        assert_eq!(text, other.to_string(), "bypass {bypass:?}");
    }
    // Code with undefined reads may have other findings; segments are well formed for any code.
    let wrong = intervals.verify(snapshot).into_iter().find(|finding| {
        matches!(
            finding.kind,
            FindingKind::EmptySegment
                | FindingKind::OverlappingSegments
                | FindingKind::UnmergedSegments
                | FindingKind::UnknownValue
                | FindingKind::DuplicateDefinition
                | FindingKind::PhiNotAtBlockStart
        )
    });
    assert!(wrong.is_none(), "{}", wrong.expect("there is one"));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::testing::{Kernel, Random, random_function};
    use crate::snapshot::damaged;
    use oriel_random::setting;
    use std::time::{Duration, Instant};

    /// Damages snapshots for a second, or for `ORIEL_FUZZ_SECONDS`.
    #[test]
    fn damaged_snapshots_are_refused_or_have_intervals() {
        let end = Instant::now() + Duration::from_secs(setting("ORIEL_FUZZ_SECONDS", 1));
        let mut random = Random(11);
        let mut usable = 0_u64;
        while Instant::now() < end {
            let size = 1 + random.below(9);
            let function = if random.chance(30) {
                Kernel::generate(random.word(), 20 + random.below(60))
            } else {
                random_function(&mut random, size, 12, 8)
            };
            let bytes = function.snapshot().to_bytes();
            assert!(
                check_bytes(&bytes) || bytes.is_empty(),
                "an undamaged snapshot is refused"
            );
            for _ in 0..200 {
                usable += u64::from(check_bytes(&damaged(&bytes, random.word())));
            }
        }
        println!("{usable} damaged snapshots were usable");
    }
}
