//! The register-set library beside fixedbitset and bitvec, 64 bits to a million.
//!
//! `cargo bench --bench bitvector` measures with criterion. `-- --table [operation]` runs the
//! contenders in turns instead, so that disturbances hit all of them alike, and prints medians and
//! ratios.

use bitvec::prelude::{BitVec, Lsb0};
use criterion::{BenchmarkId, Criterion};
use fixedbitset::FixedBitSet;
use oriel_engine::bitvector::BitVector;
use std::hint::black_box;
use std::time::{Duration, Instant};

/// Sizes in bits.
const SIZES: [usize; 8] = [64, 256, 1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18, 1 << 20];

/// Numbers that an iteration of the single-bit operations handles.
const NUMBERS: usize = 256;

/// Time that a contender's turn takes.
const TURN: Duration = Duration::from_micros(150);

/// Turns of each contender.
const TURNS: usize = 61;

/// Runs an operation this many times.
type Run = Box<dyn FnMut(u64)>;

/// A way to do an operation, and its name.
type Contender = (&'static str, Run);

/// Returns the contenders for an operation on sets of this many bits, Oriel's first.
type Operation = fn(usize) -> Vec<Contender>;

const OPERATIONS: &[(&str, Operation)] = &[
    ("or", or),
    ("or if changed, no change", or_unchanged),
    ("or if changed, last bit", or_changed),
    ("and", and),
    ("and if changed, no change", and_unchanged),
    ("and if changed, last bit", and_changed),
    ("and not", and_not),
    ("xor", xor),
    ("assign and", assign_and),
    ("is subset", is_subset),
    ("intersects, disjoint", intersects),
    ("count", count),
    ("clear", clear),
    ("assign", assign),
    ("iterate, 1 in 64", iterate_sparse),
    ("iterate, 1 in 2", iterate_dense),
    ("insert", insert),
    ("insert, was it new", insert_new),
    ("contains", contains),
    ("transfer", transfer),
    ("transfer if changed, no change", transfer_unchanged),
    ("transfer if changed, last bit", transfer_changed),
];

fn repeat<R>(name: &'static str, mut body: impl FnMut() -> R + 'static) -> Contender {
    (
        name,
        Box::new(move |times| (0..times).for_each(|_| _ = black_box(body()))),
    )
}

/// Undoes an operation's change to a set and does it again.
///
/// Short sets take turns, so that a change has long been in the cache when the operation reads it:
/// a narrow store soon followed by a wide load costs more than the operation itself.
fn in_turns<S: Clone + 'static, R>(
    name: &'static str,
    bits: usize,
    set: S,
    undo: impl Fn(&mut S) -> R + 'static,
    mut operation: impl FnMut(&mut S) -> bool + 'static,
) -> Contender {
    let mut sets = vec![set; ((1 << 14) / bits).clamp(1, 32)];
    let mut turn = 0;
    sets.iter_mut().for_each(|set| _ = undo(set));
    repeat(name, move || {
        let set = black_box(&mut sets[turn]);
        black_box(operation(set));
        undo(black_box(set));
        turn += 1;
        if turn == sets.len() {
            turn = 0;
        }
    })
}

/// One set in the three libraries.
#[derive(Clone)]
struct Sets {
    oriel: BitVector,
    fixed: FixedBitSet,
    bitvec: BitVec<u64, Lsb0>,
}

impl Sets {
    /// Creates the set of the numbers below `bits` for which `member` is true.
    fn new(bits: usize, member: impl Fn(usize) -> bool) -> Self {
        let mut sets = Sets {
            oriel: BitVector::with_bits(bits),
            fixed: FixedBitSet::with_capacity(bits),
            bitvec: BitVec::repeat(false, bits),
        };
        for number in (0..bits).filter(|&number| member(number)) {
            sets.oriel.insert(number);
            sets.fixed.insert(number);
            sets.bitvec.set(number, true);
        }
        sets
    }

    /// Creates a random set with one number in `one_in`; equal seeds give equal sets.
    fn random(bits: usize, seed: u64, one_in: u64) -> Self {
        Sets::new(bits, |number| {
            random(seed << 32 | number as u64).is_multiple_of(one_in)
        })
    }
}

/// Returns a well-mixed number (the finaliser of SplitMix64).
fn random(seed: u64) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

fn or(bits: usize) -> Vec<Contender> {
    let (mut a, b) = (Sets::random(bits, 1, 4), Sets::random(bits, 2, 4));
    vec![
        repeat("oriel", move || black_box(&mut a.oriel).or(black_box(&b.oriel))),
        repeat("fixedbitset", move || {
            black_box(&mut a.fixed).union_with(black_box(&b.fixed))
        }),
        repeat("bitvec", move || {
            *black_box(&mut a.bitvec) |= black_box(&b.bitvec)
        }),
    ]
}

fn or_unchanged(bits: usize) -> Vec<Contender> {
    let b = Sets::random(bits, 2, 4);
    let mut a = b.clone();
    vec![
        repeat("oriel", move || {
            black_box(&mut a.oriel).or_if_changed(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            union_if_changed(black_box(&mut a.fixed), black_box(&b.fixed))
        }),
    ]
}

fn union_if_changed(a: &mut FixedBitSet, b: &FixedBitSet) -> bool {
    let changes = !b.is_subset(a);
    if changes {
        a.union_with(b);
    }
    changes
}

fn or_changed(bits: usize) -> Vec<Contender> {
    let mut b = Sets::random(bits, 2, 4);
    b.oriel.insert(bits - 1);
    b.fixed.insert(bits - 1);
    vec![
        in_turns(
            "oriel",
            bits,
            b.oriel.clone(),
            move |a| a.remove(bits - 1),
            move |a| a.or_if_changed(black_box(&b.oriel)),
        ),
        in_turns(
            "fixedbitset",
            bits,
            b.fixed.clone(),
            move |a| a.remove(bits - 1),
            move |a| union_if_changed(a, black_box(&b.fixed)),
        ),
    ]
}

fn and(bits: usize) -> Vec<Contender> {
    let (mut a, b) = (Sets::random(bits, 1, 2), Sets::random(bits, 2, 2));
    vec![
        repeat("oriel", move || black_box(&mut a.oriel).and(black_box(&b.oriel))),
        repeat("fixedbitset", move || {
            black_box(&mut a.fixed).intersect_with(black_box(&b.fixed))
        }),
        repeat("bitvec", move || {
            *black_box(&mut a.bitvec) &= black_box(&b.bitvec)
        }),
    ]
}

fn and_unchanged(bits: usize) -> Vec<Contender> {
    let b = Sets::random(bits, 2, 4);
    let mut a = b.clone();
    vec![
        repeat("oriel", move || {
            black_box(&mut a.oriel).and_if_changed(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            intersect_if_changed(black_box(&mut a.fixed), black_box(&b.fixed))
        }),
    ]
}

fn intersect_if_changed(a: &mut FixedBitSet, b: &FixedBitSet) -> bool {
    let changes = !a.is_subset(b);
    if changes {
        a.intersect_with(b);
    }
    changes
}

fn and_changed(bits: usize) -> Vec<Contender> {
    let mut b = Sets::random(bits, 2, 4);
    b.oriel.remove(bits - 1);
    b.fixed.remove(bits - 1);
    vec![
        in_turns(
            "oriel",
            bits,
            b.oriel.clone(),
            move |a| a.insert(bits - 1),
            move |a| a.and_if_changed(black_box(&b.oriel)),
        ),
        in_turns(
            "fixedbitset",
            bits,
            b.fixed.clone(),
            move |a| a.insert(bits - 1),
            move |a| intersect_if_changed(a, black_box(&b.fixed)),
        ),
    ]
}

fn and_not(bits: usize) -> Vec<Contender> {
    let (mut a, b) = (Sets::random(bits, 1, 2), Sets::random(bits, 2, 4));
    vec![
        repeat("oriel", move || {
            black_box(&mut a.oriel).and_not(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            black_box(&mut a.fixed).difference_with(black_box(&b.fixed))
        }),
    ]
}

fn xor(bits: usize) -> Vec<Contender> {
    let (mut a, b) = (Sets::random(bits, 1, 2), Sets::random(bits, 2, 2));
    vec![
        repeat("oriel", move || black_box(&mut a.oriel).xor(black_box(&b.oriel))),
        repeat("fixedbitset", move || {
            black_box(&mut a.fixed).symmetric_difference_with(black_box(&b.fixed))
        }),
        repeat("bitvec", move || {
            *black_box(&mut a.bitvec) ^= black_box(&b.bitvec)
        }),
    ]
}

fn assign_and(bits: usize) -> Vec<Contender> {
    let (a, b) = (Sets::random(bits, 1, 2), Sets::random(bits, 2, 2));
    let mut result = a.clone();
    vec![
        repeat("oriel", move || {
            black_box(&mut result.oriel).assign_and(black_box(&a.oriel), black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            let result = black_box(&mut result.fixed);
            result.clone_from(black_box(&a.fixed));
            result.intersect_with(black_box(&b.fixed));
        }),
        repeat("bitvec", move || {
            let result = black_box(&mut result.bitvec);
            result.copy_from_bitslice(black_box(&a.bitvec));
            *result &= black_box(&b.bitvec);
        }),
    ]
}

fn is_subset(bits: usize) -> Vec<Contender> {
    let a = Sets::random(bits, 1, 4);
    let b = Sets::new(bits, |number| a.oriel.contains(number) || number % 7 == 0);
    vec![
        repeat("oriel", move || {
            black_box(&a.oriel).is_subset_of(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            black_box(&a.fixed).is_subset(black_box(&b.fixed))
        }),
    ]
}

fn intersects(bits: usize) -> Vec<Contender> {
    let a = Sets::random(bits, 1, 2);
    let b = Sets::new(bits, |number| !a.oriel.contains(number));
    vec![
        repeat("oriel", move || {
            black_box(&a.oriel).intersects(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            !black_box(&a.fixed).is_disjoint(black_box(&b.fixed))
        }),
    ]
}

fn count(bits: usize) -> Vec<Contender> {
    let a = Sets::random(bits, 1, 2);
    vec![
        repeat("oriel", move || black_box(&a.oriel).count()),
        repeat("fixedbitset", move || black_box(&a.fixed).count_ones(..)),
        repeat("bitvec", move || black_box(&a.bitvec).count_ones()),
    ]
}

fn clear(bits: usize) -> Vec<Contender> {
    let mut a = Sets::random(bits, 1, 2);
    vec![
        repeat("oriel", move || black_box(&mut a.oriel).clear()),
        repeat("fixedbitset", move || black_box(&mut a.fixed).clear()),
        repeat("bitvec", move || black_box(&mut a.bitvec).fill(false)),
    ]
}

fn assign(bits: usize) -> Vec<Contender> {
    let (mut a, b) = (Sets::random(bits, 1, 2), Sets::random(bits, 2, 2));
    vec![
        repeat("oriel", move || {
            black_box(&mut a.oriel).assign(black_box(&b.oriel))
        }),
        repeat("fixedbitset", move || {
            black_box(&mut a.fixed).clone_from(black_box(&b.fixed))
        }),
        repeat("bitvec", move || {
            black_box(&mut a.bitvec).copy_from_bitslice(black_box(&b.bitvec))
        }),
    ]
}

fn iterate_sparse(bits: usize) -> Vec<Contender> {
    iterate(Sets::random(bits, 1, 64))
}

fn iterate_dense(bits: usize) -> Vec<Contender> {
    iterate(Sets::random(bits, 1, 2))
}

fn iterate(a: Sets) -> Vec<Contender> {
    fn visit(numbers: impl Iterator<Item = usize>) {
        let mut sum = 0;
        for number in numbers {
            sum ^= number;
        }
        black_box(sum);
    }
    vec![
        repeat("oriel", move || visit(black_box(&a.oriel).iter())),
        repeat("fixedbitset", move || visit(black_box(&a.fixed).ones())),
        repeat("bitvec", move || visit(black_box(&a.bitvec).iter_ones())),
    ]
}

/// Random numbers below `bits`.
fn numbers(bits: usize) -> [usize; NUMBERS] {
    std::array::from_fn(|index| random(index as u64) as usize % bits)
}

fn for_each<R>(numbers: &[usize; NUMBERS], mut operation: impl FnMut(usize) -> R) {
    black_box(numbers)
        .iter()
        .for_each(|&number| _ = operation(number));
}

fn count_if(numbers: &[usize; NUMBERS], mut test: impl FnMut(usize) -> bool) -> usize {
    black_box(numbers).iter().filter(|&&number| test(number)).count()
}

fn insert(bits: usize) -> Vec<Contender> {
    let mut a = Sets::random(bits, 1, 2);
    let numbers = numbers(bits);
    vec![
        repeat("oriel", move || {
            for_each(&numbers, |n| black_box(&mut a.oriel).insert(n))
        }),
        repeat("fixedbitset", move || {
            for_each(&numbers, |n| black_box(&mut a.fixed).insert(n))
        }),
        repeat("bitvec", move || {
            for_each(&numbers, |n| black_box(&mut a.bitvec).set(n, true))
        }),
    ]
}

fn insert_new(bits: usize) -> Vec<Contender> {
    let mut a = Sets::random(bits, 1, 2);
    let numbers = numbers(bits);
    vec![
        repeat("oriel", move || {
            count_if(&numbers, |n| black_box(&mut a.oriel).insert(n))
        }),
        repeat("fixedbitset", move || {
            count_if(&numbers, |n| !black_box(&mut a.fixed).put(n))
        }),
        repeat("bitvec", move || {
            count_if(&numbers, |n| !black_box(&mut a.bitvec).replace(n, true))
        }),
    ]
}

fn contains(bits: usize) -> Vec<Contender> {
    let a = Sets::random(bits, 1, 2);
    let numbers = numbers(bits);
    vec![
        repeat("oriel", move || {
            count_if(&numbers, |n| black_box(&a.oriel).contains(n))
        }),
        repeat("fixedbitset", move || {
            count_if(&numbers, |n| black_box(&a.fixed).contains(n))
        }),
        repeat("bitvec", move || count_if(&numbers, |n| black_box(&a.bitvec)[n])),
    ]
}

/// Operands of the transfer function `out |= generate | (input & !kill)`.
#[derive(Clone)]
struct Transfer {
    out: BitVector,
    generate: BitVector,
    input: BitVector,
    kill: BitVector,
}

impl Transfer {
    fn new(bits: usize) -> Self {
        let set = |seed| Sets::random(bits, seed, 4).oriel;
        let mut transfer = Transfer {
            out: set(1),
            generate: set(2),
            input: set(3),
            kill: set(4),
        };
        transfer.generate.insert(bits - 1);
        transfer
    }

    /// Creates operands for which the function changes nothing.
    fn converged(bits: usize) -> Self {
        let mut transfer = Transfer::new(bits);
        transfer
            .out
            .or_with_and_not(&transfer.generate, &transfer.input, &transfer.kill);
        transfer
    }
}

fn transfer(bits: usize) -> Vec<Contender> {
    let mut fused = Transfer::new(bits);
    let mut apart = Transfer::new(bits);
    let mut carried = BitVector::new();
    vec![
        repeat("fused", move || {
            let t = black_box(&mut fused);
            t.out.or_with_and_not(&t.generate, &t.input, &t.kill);
        }),
        repeat("apart", move || {
            let t = black_box(&mut apart);
            carried.assign(&t.input);
            carried.and_not(&t.kill);
            t.out.or(&t.generate);
            t.out.or(&carried);
        }),
    ]
}

fn transfer_unchanged(bits: usize) -> Vec<Contender> {
    let mut fused = Transfer::converged(bits);
    let mut apart = Transfer::converged(bits);
    let mut carried = BitVector::new();
    vec![
        repeat("fused", move || {
            let t = black_box(&mut fused);
            t.out.or_with_and_not_if_changed(&t.generate, &t.input, &t.kill)
        }),
        repeat("apart", move || {
            apart_if_changed(black_box(&mut apart), &mut carried)
        }),
    ]
}

fn transfer_changed(bits: usize) -> Vec<Contender> {
    let undo = move |transfer: &mut Transfer| transfer.out.remove(bits - 1);
    let mut carried = BitVector::new();
    vec![
        in_turns("fused", bits, Transfer::converged(bits), undo, |t| {
            t.out.or_with_and_not_if_changed(&t.generate, &t.input, &t.kill)
        }),
        in_turns("apart", bits, Transfer::converged(bits), undo, move |t| {
            apart_if_changed(t, &mut carried)
        }),
    ]
}

/// Computes the transfer function by separate operations.
fn apart_if_changed(t: &mut Transfer, carried: &mut BitVector) -> bool {
    carried.assign(&t.input);
    carried.and_not(&t.kill);
    let generated = t.out.or_if_changed(&t.generate);
    t.out.or_if_changed(carried) | generated
}

/// Runs the contenders in turns and returns the median time of an operation for each, in
/// nanoseconds.
fn medians(contenders: &mut [Contender]) -> Vec<f64> {
    let time = |run: &mut Run, times: u64| {
        let start = Instant::now();
        run(times);
        start.elapsed()
    };
    let times: Vec<u64> = contenders
        .iter_mut()
        .map(|(_, run)| {
            let mut times = 1;
            while time(run, times) < TURN {
                times *= 2;
            }
            times
        })
        .collect();
    let mut samples = vec![Vec::new(); contenders.len()];
    for _ in 0..TURNS {
        for (contender, (_, run)) in contenders.iter_mut().enumerate() {
            let times = times[contender];
            samples[contender].push(time(run, times).as_secs_f64() * 1e9 / times as f64);
        }
    }
    samples
        .into_iter()
        .map(|mut samples| {
            samples.sort_by(f64::total_cmp);
            samples[samples.len() / 2]
        })
        .collect()
}

/// Prints a line for each operation and size; the ratio is the best other contender's time to the
/// first's.
fn table(filter: Option<&str>) {
    println!(
        "{:<32} {:>8} {:>10}  {:<40} {:>6}",
        "operation", "bits", "oriel, ns", "others, ns", "ratio"
    );
    for (name, operation) in OPERATIONS
        .iter()
        .filter(|(name, _)| filter.is_none_or(|f| name.starts_with(f)))
    {
        for bits in SIZES {
            let mut contenders = operation(bits);
            let medians = medians(&mut contenders);
            let best = medians[1..].iter().copied().fold(f64::INFINITY, f64::min);
            let others: Vec<String> = contenders[1..]
                .iter()
                .zip(&medians[1..])
                .map(|((name, _), ns)| format!("{name} {ns:.1}"))
                .collect();
            let ratio = best / medians[0];
            println!(
                "{name:<32} {bits:>8} {:>10.1}  {:<40} {ratio:>6.2}",
                medians[0],
                others.join(", ")
            );
        }
    }
}

fn criterion() {
    let mut criterion = Criterion::default().configure_from_args();
    for (name, operation) in OPERATIONS {
        let mut group = criterion.benchmark_group(*name);
        for bits in SIZES {
            for (contender, mut run) in operation(bits) {
                group.bench_function(BenchmarkId::new(contender, bits), |bencher| {
                    bencher.iter_custom(|times| {
                        let start = Instant::now();
                        run(times);
                        start.elapsed()
                    });
                });
            }
        }
        group.finish();
    }
    criterion.final_summary();
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    match arguments.iter().position(|argument| argument == "--table") {
        Some(position) => {
            let operation = arguments
                .get(position + 1)
                .filter(|argument| !argument.starts_with('-'));
            table(operation.map(String::as_str));
        }
        None => criterion(),
    }
}
