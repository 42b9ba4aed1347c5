//! Operations between the threads of a block: barriers, shuffles, votes, matches and reductions.
//!
//! Pure functions of the waiting threads; [`block`](super::block) decides when to apply them. A
//! thread that has ended does not count: the others do not wait for it.

/// The results for a thread that waited: the fields of the result.
pub(super) type Results = [u64; 2];

/// How a barrier combines the predicates of its threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Combine {
    /// No result.
    None,
    /// The number of true ones.
    Count,
    /// True if all are true.
    All,
    /// True if one is true.
    Any,
}

/// `barrier.cta.*`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Barrier {
    /// True if the second argument gives the number of threads; otherwise all take part.
    pub(super) counted: bool,
    /// True if the thread does not wait.
    pub(super) arrive: bool,
    /// The use of the last argument.
    pub(super) combine: Combine,
}

/// A thread at a barrier.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct BarrierRequest {
    pub(super) number: u32,
    /// The number of threads; all if it is none.
    pub(super) expected: Option<u32>,
    pub(super) combine: Combine,
    pub(super) predicate: bool,
}

impl Barrier {
    /// Creates the request of a call: number, count if it is counted, predicate if predicates are
    /// combined.
    pub(super) fn request(self, arguments: &[u64]) -> BarrierRequest {
        let predicate = arguments[1 + usize::from(self.counted)] & 1 == 1;
        BarrierRequest {
            number: arguments[0] as u32,
            expected: self.counted.then_some(arguments[1] as u32),
            combine: self.combine,
            predicate: self.combine != Combine::None && predicate,
        }
    }
}

/// Returns the result of a barrier for all its threads.
pub(super) fn combine(how: Combine, predicates: impl Iterator<Item = bool>) -> Results {
    let (mut count, mut total) = (0, 0);
    for predicate in predicates {
        count += u64::from(predicate);
        total += 1;
    }
    let result = match how {
        Combine::None => 0,
        Combine::Count => count,
        Combine::All => u64::from(count == total),
        Combine::Any => u64::from(count > 0),
    };
    [result, 0]
}

/// The source of a shuffle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shuffle {
    Index,
    Up,
    Down,
    Butterfly,
}

/// A reduction over lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reduction {
    Add,
    And,
    Or,
    Xor,
    Minimum,
    Maximum,
    MinimumUnsigned,
    MaximumUnsigned,
}

/// An operation of the lanes of a mask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WarpOperation {
    /// Only wait.
    Synchronize,
    /// The lowest lane of the mask, and whether this is it.
    Elect,
    /// Results: the value, and whether it came from another lane's range.
    Shuffle(Shuffle),
    /// The mask of lanes whose predicate is true.
    Ballot,
    VoteAll,
    VoteAny,
    /// True if all predicates are the same.
    VoteUniform,
    /// The mask of lanes with the same value.
    MatchAny,
    /// The mask and true if all lanes have the same value, else zero and false.
    MatchAll,
    Reduce(Reduction),
}

/// A lane at a warp-wide operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct WarpRequest {
    pub(super) operation: WarpOperation,
    /// The lanes that take part.
    pub(super) mask: u32,
    /// The operation's arguments except the mask.
    pub(super) values: [u64; 3],
}

impl WarpRequest {
    /// Creates the request of a call. The mask comes first, but last for a reduction.
    pub(super) fn new(operation: WarpOperation, arguments: &[u64; 4]) -> Self {
        let [first, second, third, fourth] = *arguments;
        let (mask, values) = match operation {
            WarpOperation::Reduce(_) => (second, [first, 0, 0]),
            _ => (first, [second, third, fourth]),
        };
        Self {
            operation,
            mask: mask as u32,
            values,
        }
    }
}

/// Returns the result for each of the lanes that arrived at the same operation with the same mask.
pub(super) fn complete(operation: WarpOperation, lanes: &[(u32, WarpRequest)]) -> Vec<Results> {
    let mask = lanes.iter().fold(0, |mask, (lane, _)| mask | 1u32 << lane);
    let value_of = |lane: u32| {
        let found = lanes.iter().find(|(other, _)| *other == lane);
        found.map(|(_, request)| request.values[0])
    };
    let lanes_where = |condition: &dyn Fn(u64) -> bool| {
        let chosen = lanes.iter().filter(|(_, request)| condition(request.values[0]));
        chosen.fold(0, |mask, (lane, _)| mask | 1u32 << lane)
    };
    let is_true = |value: u64| value & 1 == 1;
    let ballot = lanes_where(&is_true);
    let result = |&(lane, request): &(u32, WarpRequest)| -> Results {
        let own = request.values[0];
        let same = || lanes_where(&|value| value == own);
        match operation {
            WarpOperation::Synchronize => [0, 0],
            WarpOperation::Elect => {
                let leader = mask.trailing_zeros();
                [leader.into(), u64::from(leader == lane)]
            }
            WarpOperation::Shuffle(shuffle) => {
                let (source, in_range) =
                    source_lane(shuffle, lane, request.values[1] as u32, request.values[2] as u32);
                // The value of an inactive lane is undefined: here it is the reader's own.
                [value_of(source).unwrap_or(own), in_range.into()]
            }
            WarpOperation::Ballot => [ballot.into(), 0],
            WarpOperation::VoteAll => [u64::from(ballot == mask), 0],
            WarpOperation::VoteAny => [u64::from(ballot != 0), 0],
            WarpOperation::VoteUniform => [u64::from(ballot == mask || ballot == 0), 0],
            WarpOperation::MatchAny => [same().into(), 0],
            WarpOperation::MatchAll if same() == mask => [mask.into(), 1],
            WarpOperation::MatchAll => [0, 0],
            WarpOperation::Reduce(reduction) => {
                let values = lanes.iter().map(|(_, request)| request.values[0] as u32);
                let reduced = values.reduce(|left, right| reduce(reduction, left, right));
                [reduced.unwrap_or(0).into(), 0]
            }
        }
    };
    lanes.iter().map(result).collect()
}

/// Returns the source lane of a shuffle, and whether it is in the segment; PTX ISA, `shfl.sync`.
fn source_lane(shuffle: Shuffle, lane: u32, offset: u32, clamp_and_segment: u32) -> (u32, bool) {
    let offset = offset & 31;
    let clamp = clamp_and_segment & 31;
    let segment = clamp_and_segment >> 8 & 31;
    let lowest = lane & segment;
    let highest = lowest | (clamp & !segment);
    let (source, in_range) = match shuffle {
        Shuffle::Up => (
            lane.wrapping_sub(offset),
            i64::from(lane) - i64::from(offset) >= i64::from(highest),
        ),
        Shuffle::Down => (lane + offset, lane + offset <= highest),
        Shuffle::Butterfly => (lane ^ offset, lane ^ offset <= highest),
        Shuffle::Index => {
            let source = lowest | (offset & !segment);
            (source, source <= highest)
        }
    };
    if in_range { (source, true) } else { (lane, false) }
}

fn reduce(reduction: Reduction, left: u32, right: u32) -> u32 {
    match reduction {
        Reduction::Add => left.wrapping_add(right),
        Reduction::And => left & right,
        Reduction::Or => left | right,
        Reduction::Xor => left ^ right,
        Reduction::Minimum => (left as i32).min(right as i32) as u32,
        Reduction::Maximum => (left as i32).max(right as i32) as u32,
        Reduction::MinimumUnsigned => left.min(right),
        Reduction::MaximumUnsigned => left.max(right),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the results of a full warp whose lane `l` has the value `100 + l`.
    fn shuffled(shuffle: Shuffle, offset: u64, clamp_and_segment: u64) -> Vec<Results> {
        let operation = WarpOperation::Shuffle(shuffle);
        let lanes: Vec<_> = (0..32)
            .map(|lane| {
                let values = [100 + u64::from(lane), offset, clamp_and_segment];
                let request = WarpRequest {
                    operation,
                    mask: !0,
                    values,
                };
                (lane, request)
            })
            .collect();
        complete(operation, &lanes)
    }

    #[test]
    fn shuffles_stop_at_the_ends_of_the_warp() {
        let down = shuffled(Shuffle::Down, 4, 31);
        assert_eq!((down[3], down[27], down[28]), ([107, 1], [131, 1], [128, 0]));
        let up = shuffled(Shuffle::Up, 4, 0);
        assert_eq!((up[3], up[4], up[31]), ([103, 0], [100, 1], [127, 1]));
        assert_eq!(shuffled(Shuffle::Butterfly, 16, 31)[3], [119, 1]);
        assert_eq!(shuffled(Shuffle::Index, 7, 31)[20], [107, 1]);
    }

    /// Width 8: the segment mask is 0b11000.
    #[test]
    fn shuffles_stay_in_their_segment() {
        let segment = 0b11000 << 8;
        let down = shuffled(Shuffle::Down, 4, segment | 31);
        assert_eq!((down[11], down[12]), ([115, 1], [112, 0]));
        let up = shuffled(Shuffle::Up, 1, segment);
        assert_eq!((up[8], up[9]), ([108, 0], [108, 1]));
        assert_eq!(shuffled(Shuffle::Index, 2, segment | 31)[13], [110, 1]);
    }

    #[test]
    fn votes_and_matches_see_the_lanes_that_arrived() {
        let lanes = |operation, values: [u64; 3]| {
            let request = |value| WarpRequest {
                operation,
                mask: 0b1011,
                values: [value, 0, 0],
            };
            let lanes = [
                (0, request(values[0])),
                (1, request(values[1])),
                (3, request(values[2])),
            ];
            complete(operation, &lanes)
        };
        assert_eq!(lanes(WarpOperation::Ballot, [1, 0, 1])[1], [0b1001, 0]);
        assert_eq!(lanes(WarpOperation::VoteAll, [1, 1, 1])[0], [1, 0]);
        assert_eq!(lanes(WarpOperation::VoteAll, [1, 0, 1])[0], [0, 0]);
        assert_eq!(lanes(WarpOperation::VoteUniform, [0, 0, 0])[2], [1, 0]);
        assert_eq!(
            lanes(WarpOperation::MatchAny, [7, 9, 7]),
            [[0b1001, 0], [0b0010, 0], [0b1001, 0]]
        );
        assert_eq!(lanes(WarpOperation::MatchAll, [7, 7, 7])[0], [0b1011, 1]);
        assert_eq!(lanes(WarpOperation::MatchAll, [7, 9, 7])[0], [0, 0]);
        assert_eq!(
            lanes(WarpOperation::Reduce(Reduction::Minimum), [5, 0xffff_ffff, 3])[0],
            [0xffff_ffff, 0]
        );
        assert_eq!(lanes(WarpOperation::Elect, [0, 0, 0])[1], [0, 0]);
    }

    #[test]
    fn barriers_combine_predicates() {
        let predicates = [true, false, true];
        let result = |how| combine(how, predicates.into_iter())[0];
        assert_eq!(
            (result(Combine::Count), result(Combine::All), result(Combine::Any)),
            (2, 0, 1)
        );
        let barrier = Barrier {
            counted: true,
            arrive: false,
            combine: Combine::Count,
        };
        let request = barrier.request(&[3, 64, 1, 0]);
        assert_eq!(
            (request.number, request.expected, request.predicate),
            (3, Some(64), true)
        );
    }
}
