//! Operations of several threads of a warp: shuffles, votes, matches, reductions.
//!
//! The threads in the mask must execute the operation together, except those that have ended. A
//! shuffle that reads a lane that does not take part gives the reader's own value; PTX leaves this
//! open.

use oriel_arithmetic::lanes::{LANES, LaneIter, Registers};
use oriel_ori::{DataType, Variant};

/// A shuffle: `lane` and `clamp` as PTX has them.
#[derive(Clone, Copy, Debug)]
pub(super) struct ShuffleFields {
    pub mode: Variant,
    pub value: u32,
    pub lane: u32,
    pub clamp: u32,
    pub mask: Option<u32>,
    pub result: u32,
    pub in_range: Option<u32>,
}

/// A vote.
#[derive(Clone, Copy, Debug)]
pub(super) struct VoteFields {
    pub mode: Variant,
    pub predicate: u32,
    pub mask: Option<u32>,
    pub result: u32,
}

/// A match.
#[derive(Clone, Copy, Debug)]
pub(super) struct MatchFields {
    pub mode: Variant,
    pub value: u32,
    pub is_wide: bool,
    pub mask: u32,
    pub result: u32,
    pub all_same: Option<u32>,
}

/// A reduction.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReductionFields {
    pub operation: Variant,
    pub data_type: DataType,
    pub value: u32,
    pub mask: u32,
    pub result: u32,
}

/// Returns the lane that a shuffle reads, and whether it is in range; out of range it is the own
/// lane.
fn source_lane(mode: Variant, lane: u32, b: u32, c: u32) -> (u32, bool) {
    let (offset, clamp, segment) = (b & 31, c & 31, c >> 8 & 31);
    let last = lane & segment | clamp & !segment;
    let first = lane & segment;
    let (source, in_range) = match mode {
        Variant::Up => {
            let source = lane.wrapping_sub(offset) as i32;
            (source as u32, source >= last as i32)
        }
        Variant::Down => (lane + offset, lane + offset <= last),
        Variant::Bfly => (lane ^ offset, lane ^ offset <= last),
        _ => {
            let source = first | offset & !segment;
            (source, source <= last)
        }
    };
    if in_range {
        (source & 31, true)
    } else {
        (lane, false)
    }
}

/// Shuffles a row among the active lanes.
pub(super) fn shuffle(registers: &mut Registers, fields: &ShuffleFields, active: u32) {
    let value = *registers.row::<u32>(fields.value);
    let lane_row = *registers.row::<u32>(fields.lane);
    let clamp = *registers.row::<u32>(fields.clamp);
    let mut result = [0; LANES];
    let mut in_range = [0; LANES];
    for lane in LaneIter(active) {
        let (source, is_in_range) = source_lane(fields.mode, lane as u32, lane_row[lane], clamp[lane]);
        let takes_part = active >> source & 1 != 0;
        result[lane] = value[if takes_part { source as usize } else { lane }];
        in_range[lane] = u32::from(is_in_range);
    }
    registers.write(fields.result, active, &result);
    if let Some(row) = fields.in_range {
        registers.write(row, active, &in_range);
    }
}

/// Combines a predicate over the active lanes of each lane's mask.
pub(super) fn vote(registers: &mut Registers, fields: &VoteFields, active: u32) {
    let votes = registers.predicate(fields.predicate);
    let masks = fields.mask.map(|row| *registers.row::<u32>(row));
    let mode = fields.mode;
    registers.fill::<u32>(fields.result, active, |lane| {
        let members = masks.map_or(active, |masks| masks[lane] & active);
        let yes = votes & members;
        match mode {
            Variant::Any => u32::from(yes != 0),
            Variant::Uni => u32::from(yes == 0 || yes == members),
            Variant::Ballot => yes,
            _ => u32::from(yes == members),
        }
    });
}

/// Finds the lanes with the same value.
pub(super) fn match_values(registers: &mut Registers, fields: &MatchFields, active: u32) {
    let values: [u64; LANES] = if fields.is_wide {
        *registers.row::<u64>(fields.value)
    } else {
        registers.row::<u32>(fields.value).map(u64::from)
    };
    let masks = *registers.row::<u32>(fields.mask);
    let same = |lane: usize| {
        LaneIter(masks[lane] & active)
            .filter(|&other| values[other] == values[lane])
            .fold(0u32, |mask, other| mask | 1 << other)
    };
    if fields.mode == Variant::Any {
        registers.fill::<u32>(fields.result, active, same);
        return;
    }
    let all = |lane: usize| same(lane) == masks[lane] & active;
    if let Some(row) = fields.all_same {
        registers.fill::<u32>(row, active, |lane| u32::from(all(lane)));
    }
    registers.fill::<u32>(fields.result, active, |lane| {
        if all(lane) { masks[lane] & active } else { 0 }
    });
}

/// True if the reduction is modelled.
pub(super) fn is_reduction_modelled(operation: Variant, data_type: DataType) -> bool {
    let is_word = data_type.bits() == 32 && data_type.lanes() == 1 && !data_type.is_float();
    is_word
        && matches!(
            operation,
            Variant::Add | Variant::Min | Variant::Max | Variant::And | Variant::Or | Variant::Xor
        )
}

/// Combines values over the active lanes of each lane's mask.
pub(super) fn reduce(registers: &mut Registers, fields: &ReductionFields, active: u32) {
    let values = *registers.row::<u32>(fields.value);
    let masks = *registers.row::<u32>(fields.mask);
    let (operation, is_signed) = (fields.operation, fields.data_type.is_signed());
    let combine = |a: u32, b: u32| match (operation, is_signed) {
        (Variant::Add, _) => a.wrapping_add(b),
        (Variant::Min, true) => (a as i32).min(b as i32) as u32,
        (Variant::Max, true) => (a as i32).max(b as i32) as u32,
        (Variant::Min, false) => a.min(b),
        (Variant::Max, false) => a.max(b),
        (Variant::And, _) => a & b,
        (Variant::Or, _) => a | b,
        _ => a ^ b,
    };
    registers.fill::<u32>(fields.result, active, |lane| {
        LaneIter(masks[lane] & active)
            .map(|other| values[other])
            .reduce(combine)
            .unwrap_or_default()
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shuffles_follow_ptx() {
        // Down over the whole warp: the last lanes keep their own value.
        assert_eq!(source_lane(Variant::Down, 3, 4, 31), (7, true));
        assert_eq!(source_lane(Variant::Down, 30, 4, 31), (30, false));
        // Segments of 8: the segment mask has the upper bits, the clamp the end of a segment.
        let segments_of_8 = 0x1800 | 7;
        assert_eq!(source_lane(Variant::Down, 5, 4, segments_of_8), (5, false));
        assert_eq!(source_lane(Variant::Bfly, 13, 4, segments_of_8), (9, true));
        assert_eq!(source_lane(Variant::Idx, 13, 2, segments_of_8), (10, true));
        assert_eq!(source_lane(Variant::Up, 5, 4, 0), (1, true));
        assert_eq!(source_lane(Variant::Up, 3, 4, 0), (3, false));
        assert_eq!(source_lane(Variant::Up, 9, 2, 0x1800), (9, false));
        assert_eq!(source_lane(Variant::Idx, 4, 35, 31), (3, true));
    }
}
