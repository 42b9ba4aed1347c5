//! Tests every operation against a set of the standard library, and its formula.

use super::words::WORD_BITS;
use super::{BitMatrix, BitVector, EntityBitMatrix, EntityBitSet, kernels, words};
use crate::entity::{Block, EntityRef, Register};
use proptest::collection::{btree_set, vec};
use proptest::prelude::*;
use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};

type Model = BTreeSet<usize>;

/// Sets with members near each other or far apart, so that lengths around every step size occur.
fn model() -> impl Strategy<Value = Model> {
    let below = |end: usize| btree_set(0..end, 0..end.min(100));
    prop_oneof![below(40), below(300), below(1100), below(3000)]
}

/// Words of the given length, some of them all zeros or all ones.
fn words_of(length: usize) -> impl Strategy<Value = Vec<u32>> {
    vec(prop_oneof![Just(0), Just(u32::MAX), any::<u32>()], length)
}

/// Four operands of one length at an offset from the allocation's alignment.
#[derive(Clone, Debug)]
struct Operands {
    words: [Vec<u32>; 4],
    offset: usize,
}

impl Operands {
    fn slices(&self) -> [&[u32]; 4] {
        self.words.each_ref().map(|words| &words[self.offset..])
    }
}

/// Returns operands of every length up to twenty groups, some nearly equal, so that an operation
/// may change nothing or a single word anywhere.
fn operands() -> impl Strategy<Value = Operands> {
    let longest: usize = if cfg!(miri) { 70 } else { 170 };
    (0..longest, 0..16usize, 0..3u8)
        .prop_flat_map(|(length, offset, kind)| {
            let length = length + offset;
            let words = (
                words_of(length),
                words_of(length),
                words_of(length),
                words_of(length),
            );
            (words, Just(offset), Just(kind), 0..length.max(1), any::<u32>())
        })
        .prop_map(|((a, b, c, d), offset, kind, position, word)| {
            let mut words = [a, b, c, d];
            if kind > 0 {
                let zero = vec![0; words[0].len()];
                words = [words[0].clone(), words[0].clone(), words[0].clone(), zero];
            }
            if kind > 1
                && let Some(changed) = words[0].get_mut(position)
            {
                *changed = word;
            }
            Operands { words, offset }
        })
}

/// An `…_if_changed` kernel with its sources.
type Change<'a> = &'a dyn Fn(&mut [u32]) -> bool;

/// Checks that both variants of an operation turn `before` into the result of `formula` word by
/// word, and that the second reports whether anything changed.
fn check_update(
    before: &[u32],
    formula: impl Fn(usize) -> u32,
    plain: impl Fn(&mut [u32]),
    if_changed: Option<Change<'_>>,
) -> Result<(), TestCaseError> {
    let after: Vec<u32> = (0..before.len()).map(formula).collect();
    let mut dst = before.to_vec();
    plain(&mut dst);
    prop_assert_eq!(&dst, &after);
    if let Some(if_changed) = if_changed {
        let mut dst = before.to_vec();
        prop_assert_eq!(if_changed(&mut dst), before != after);
        prop_assert_eq!(&dst, &after);
    }
    Ok(())
}

fn check_updates([d, a, b, c]: [&[u32]; 4]) -> Result<(), TestCaseError> {
    check_update(
        d,
        |i| d[i] | a[i],
        |d| kernels::or(d, a),
        Some(&|d| kernels::or_if_changed(d, a)),
    )?;
    check_update(
        d,
        |i| d[i] & a[i],
        |d| kernels::and(d, a),
        Some(&|d| kernels::and_if_changed(d, a)),
    )?;
    check_update(
        d,
        |i| d[i] & !a[i],
        |d| kernels::and_not(d, a),
        Some(&|d| kernels::and_not_if_changed(d, a)),
    )?;
    check_update(d, |i| d[i] ^ a[i], |d| kernels::xor(d, a), None)?;
    check_update(d, |i| a[i] & b[i], |d| kernels::assign_and(d, a, b), None)?;
    check_update(
        d,
        |i| d[i] | a[i] | b[i] & !c[i],
        |d| kernels::or_with_and_not(d, a, b, c),
        Some(&|d| kernels::or_with_and_not_if_changed(d, a, b, c)),
    )
}

fn check_questions(a: &[u32], b: &[u32]) -> Result<(), TestCaseError> {
    let pairs = || a.iter().zip(b);
    prop_assert_eq!(kernels::is_subset_of(a, b), pairs().all(|(a, b)| a & !b == 0));
    prop_assert_eq!(kernels::intersects(a, b), pairs().any(|(a, b)| a & b != 0));
    prop_assert_eq!(kernels::is_empty(a), a.iter().all(|&word| word == 0));
    prop_assert_eq!(
        kernels::count(a),
        a.iter().map(|word| word.count_ones() as usize).sum::<usize>()
    );
    Ok(())
}

/// Few cases where Miri runs the tests.
fn config() -> ProptestConfig {
    ProptestConfig {
        cases: if cfg!(miri) { 6 } else { 256 },
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn kernels_follow_their_formulas(operands in operands()) {
        check_updates(operands.slices())?;
        let [a, b, c, d] = operands.slices();
        check_questions(a, b)?;
        check_questions(c, d)?;
        check_questions(d, a)?;
    }

    #[test]
    fn binary_operations_are_those_of_sets(a in model(), b in model()) {
        let set = |model: &Model| model.iter().copied().collect::<BitVector>();
        let (left, right) = (set(&a), set(&b));
        let check = |apply: &dyn Fn(&mut BitVector), expected: Model| {
            let mut result = left.clone();
            apply(&mut result);
            prop_assert_eq!(result.iter().collect::<Vec<_>>(), expected.into_iter().collect::<Vec<_>>());
            Ok(())
        };
        let check_changed = |apply: &dyn Fn(&mut BitVector) -> bool, expected: Model| {
            let changed = expected != a;
            let reported = std::cell::Cell::new(false);
            check(&|set| reported.set(apply(set)), expected)?;
            prop_assert_eq!(reported.get(), changed);
            Ok(())
        };
        check(&|set| *set |= &right, &a | &b)?;
        check(&|set| *set &= &right, &a & &b)?;
        check(&|set| *set -= &right, &a - &b)?;
        check(&|set| *set ^= &right, &a ^ &b)?;
        check(&|set| set.assign(&right), b.clone())?;
        check_changed(&|set| set.or_if_changed(&right), &a | &b)?;
        check_changed(&|set| set.and_if_changed(&right), &a & &b)?;
        check_changed(&|set| set.and_not_if_changed(&right), &a - &b)?;
        prop_assert_eq!(left.is_subset_of(&right), a.is_subset(&b));
        prop_assert_eq!(left.intersects(&right), !a.is_disjoint(&b));
        prop_assert_eq!(left == right, a == b);
    }

    #[test]
    fn operations_on_three_sets_take_any_lengths(models in [model(), model(), model(), model()]) {
        let [d, a, b, c] = models.each_ref().map(|model| model.iter().copied().collect::<BitVector>());
        let mut both = d.clone();
        both.assign_and(&a, &b);
        prop_assert_eq!(both.iter().collect::<Model>(), &models[1] & &models[2]);
        let expected = &(&models[0] | &models[1]) | &(&models[2] - &models[3]);
        let mut plain = d.clone();
        plain.or_with_and_not(&a, &b, &c);
        prop_assert_eq!(&plain.iter().collect::<Model>(), &expected);
        let mut fused = d.clone();
        prop_assert_eq!(fused.or_with_and_not_if_changed(&a, &b, &c), expected != models[0]);
        prop_assert_eq!(&fused, &plain);
        prop_assert!(!fused.or_with_and_not_if_changed(&a, &b, &c));
    }

    #[test]
    fn single_numbers_come_and_go(steps in vec((0..2500usize, any::<bool>()), 0..200)) {
        let (mut set, mut model) = (BitVector::new(), Model::new());
        for (number, insert) in steps {
            if insert {
                prop_assert_eq!(set.insert(number), model.insert(number));
            } else {
                prop_assert_eq!(set.remove(number), model.remove(&number));
            }
            prop_assert_eq!(set.contains(number), insert);
            prop_assert_eq!(set.count(), model.len());
            prop_assert_eq!(set.is_empty(), model.is_empty());
        }
        prop_assert!(set.iter().eq(model));
    }

    #[test]
    fn neighbours_and_ends_are_found(model in model(), from in 0..3200usize) {
        let set: BitVector = model.iter().copied().collect();
        prop_assert_eq!(set.first(), model.first().copied());
        prop_assert_eq!(set.last(), model.last().copied());
        prop_assert_eq!(set.next(from), model.range(from..).next().copied());
        prop_assert_eq!(set.previous(from), model.range(..from).next_back().copied());
    }

    #[test]
    fn ranges_are_their_numbers(model in model(), start in 0..1500usize, length in 0..200usize) {
        let range = start..start + length;
        let set: BitVector = model.iter().copied().collect();
        let mut more = set.clone();
        more.insert_range(range.clone());
        prop_assert!(more.iter().eq(model.iter().copied().chain(range.clone()).collect::<Model>()));
        let mut less = set.clone();
        less.remove_range(range.clone());
        prop_assert!(less.iter().eq(model.iter().copied().filter(|number| !range.contains(number))));
        let mut bits = vec![u32::MAX; length.div_ceil(WORD_BITS) + 1];
        set.extract_bits(range.clone(), &mut bits);
        let extracted = model.range(range).map(|number| number - start);
        prop_assert!(words::SetBits::new(&bits).eq(extracted));
    }

    #[test]
    fn iteration_meets_every_bit_of_any_number_of_words(words in (0..40usize).prop_flat_map(words_of)) {
        let set = |&number: &usize| words[number / WORD_BITS] >> (number % WORD_BITS) & 1 != 0;
        prop_assert!(words::SetBits::new(&words).eq((0..words.len() * WORD_BITS).filter(set)));
    }
}

#[test]
fn stored_zeros_are_no_part_of_the_value() {
    let mut long = BitVector::with_bits(5000);
    let mut short = BitVector::new();
    let state = RandomState::new();
    assert_eq!(long, short);
    assert_eq!(state.hash_one(&long), state.hash_one(&short));
    long.insert(4999);
    assert_ne!(long, short);
    long.insert(7);
    short.insert(7);
    long.remove(4999);
    assert_eq!(long, short);
    assert_eq!(state.hash_one(&long), state.hash_one(&short));
    assert_eq!(format!("{long:?}"), "{7}");
    assert_eq!(HashSet::from([long, short]).len(), 1);
}

#[test]
fn room_is_made_once_and_kept() {
    let mut set = BitVector::with_bits(1000);
    let (storage, length) = (set.words().as_ptr(), set.words().len());
    assert!(length * WORD_BITS >= 1000);
    set.insert_range(0..1000);
    set.allocate(10);
    set.clear();
    assert!(set.is_empty());
    assert_eq!((set.words().as_ptr(), set.words().len()), (storage, length));
    assert!(set.insert(1000 + length * WORD_BITS));
    assert!(set.words().len() > length);
}

#[test]
#[should_panic(expected = "different width")]
fn kernels_refuse_sets_of_different_width() {
    kernels::or(&mut [0; 3], &[0; 4]);
}

#[test]
#[should_panic(expected = "more bits than there is room for")]
fn extraction_refuses_too_little_room() {
    BitVector::with_bits(100).extract_bits(0..33, &mut [0]);
}

#[test]
fn rows_of_a_matrix_are_separate_sets() {
    let mut matrix = BitMatrix::new(3, 300);
    assert!(matrix.insert(0, 299) && matrix.insert(1, 5) && !matrix.insert(1, 5));
    assert!(matrix.contains(0, 299) && !matrix.contains(2, 299) && !matrix.contains(0, 5000));
    assert!(matrix.insert(2, 5) && matrix.insert(2, 299));
    assert_eq!(format!("{matrix:?}"), "[{299}, {5}, {5, 299}]");
    assert!(matrix.remove(2, 5) && !matrix.remove(2, 5));
    assert_eq!(matrix.row(2), matrix.row(0));
    matrix.reset(2, 10);
    assert_eq!(matrix, BitMatrix::new(2, 10));
}

#[test]
#[should_panic(expected = "column 300 of 300")]
fn a_matrix_refuses_a_column_past_its_last() {
    BitMatrix::new(3, 300).insert(0, 300);
}

#[test]
fn a_matrix_without_columns_has_rows() {
    assert!(BitMatrix::new(2, 0).row(1).is_empty());
}

#[test]
fn typed_sets_and_rows_go_together() {
    let [block, other] = [0, 1].map(Block::new);
    let register = |number| Register::new(number);
    let mut live_in = EntityBitMatrix::<Block, Register>::new(2, 500);
    let mut uses = EntityBitMatrix::new(2, 500);
    let mut definitions = EntityBitMatrix::new(2, 500);
    uses.insert(block, register(3));
    definitions.insert(block, register(400));
    let live_out: EntityBitSet<Register> = [400, 499].map(register).into_iter().collect();
    let mut padded = EntityBitSet::with_room(500);
    padded.assign(&live_out);

    let row = live_in.row_mut(block);
    assert!(row.or_with_and_not_if_changed(uses.row(block), &padded, definitions.row(block)));
    assert_eq!(
        live_in.row(block).iter().collect::<Vec<_>>(),
        [3, 499].map(register)
    );
    assert!(live_in.contains(block, register(499)) && live_in.row(other).is_empty());

    let mut live = EntityBitSet::new();
    assert!(live.or_if_changed(live_in.row(block)) && live.intersects(&live_out));
    assert_eq!(
        (live.first(), live.last()),
        (Some(register(3)), Some(register(499)))
    );
    assert_eq!(live.next(register(4)), Some(register(499)));
    assert_eq!(live.previous(register(499)), Some(register(3)));
    live.remove_range(register(0)..register(100));
    assert_eq!(live, EntityBitSet::from_iter([register(499)]));
    assert_eq!(
        format!("{live:?} {live_in:?}"),
        "{%499} {block0: {%3, %499}, block1: {}}"
    );
}
