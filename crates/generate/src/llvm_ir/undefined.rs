//! Device functions with undefined values that do not matter to their results.
//!
//! A PHI is undefined on a path on which nothing needs it; the first iteration of a loop does not
//! need the value of the previous one; vectors have elements that nothing reads; and a frozen value
//! is stored, loaded in another block, and compared with itself.

use std::io::{self, Write};

use oriel_random::{Random, Stream};

use super::{Options, Writer};

/// Functions in a module.
const FUNCTIONS: usize = 4;
/// The most rounds of a loop.
const ROUNDS: usize = 5;
/// Words that live through the whole function, so that registers are scarce.
const WORDS: usize = 10;
/// Frozen values, enough that computing them again where they are compared leaves registers free.
const FROZEN: usize = 6;

/// Operations on any two words, undefined ones too.
const OPERATIONS: [&str; 6] = ["add", "sub", "mul", "xor", "and", "or"];

/// Writes the functions.
pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    let random = &mut Random::new(options.seed, Stream::Undefined);
    (0..FUNCTIONS).try_for_each(|number| function(out, random, number))
}

fn function(out: &mut impl Write, random: &mut Random, number: usize) -> io::Result<()> {
    let frozen = if random.coin() { FROZEN } else { 0 };
    let (vector, element) = random.pick(&[("<2 x i32>", "i32"), ("<4 x i32>", "i32"), ("<2 x i16>", "i16")]);
    // Of a 32-bit word and back.
    let [narrow, wide] = match element {
        "i32" => ["bitcast i32 %new to i32", "bitcast i32 %element to i32"],
        _ => ["trunc i32 %new to i16", "zext i16 %element to i32"],
    };
    let [a, b, c, d] = std::array::from_fn(|_| random.between(3, 100_000));
    let mut operation = || random.pick(&OPERATIONS);
    let [some, speculative, changed, new, sum, both] = std::array::from_fn(|_| operation());
    writeln!(
        out,
        "define internal i32 @undefined{number}(i32 %left, i32 %right, i32 %rounds) noinline {{
  %word.cell = alloca i32
  %vector.cell = alloca {vector}"
    )?;
    for value in 0..frozen {
        writeln!(
            out,
            "  %cell{value} = alloca i32
  %nothing{value} = freeze i32 poison
  %frozen{value} = {} i32 %nothing{value}, {}
  store volatile i32 %frozen{value}, ptr %cell{value}",
            operation(),
            a + value
        )?;
    }
    // Volatile, so that none is loaded later.
    for word in 0..WORDS {
        writeln!(
            out,
            "  store volatile i32 %left, ptr %word.cell
  %word{word} = load volatile i32, ptr %word.cell"
        )?;
    }
    // LLVM would compute %some on both paths if it did not start from a volatile load.
    writeln!(
        out,
        "  %is.set = icmp ult i32 %left, %right
  br i1 %is.set, label %set, label %join
set:
  %given = load volatile i32, ptr %word.cell
  %some = {some} i32 %given, {b}
  br label %join
join:
  %maybe = phi i32 [ %some, %set ], [ poison, %0 ]
  %speculative = {speculative} i32 %maybe, {c}
  br label %round
round:
  %count = phi i32 [ 0, %join ], [ %count.next, %round ]
  %sum = phi i32 [ %right, %join ], [ %sum.next, %round ]
  %carried = phi i32 [ poison, %join ], [ %new, %round ]
  %changed = {changed} i32 %carried, {d}
  %is.first = icmp eq i32 %count, 0
  %old = select i1 %is.first, i32 %left, i32 %changed
  %new = {new} i32 %old, %sum
  %sum.next = {sum} i32 %new, %count
  %count.next = add i32 %count, 1
  %more = icmp ult i32 %count.next, %rounds
  br i1 %more, label %round, label %behind
behind:
  %narrow = {narrow}
  %one = insertelement {vector} poison, {element} %narrow, i64 1
  %both = {both} {vector} %one, %one
  store volatile {vector} %both, ptr %vector.cell
  br i1 %is.set, label %use, label %end
use:
  %used = xor i32 %speculative, %sum.next
  br label %end
end:
  %result = phi i32 [ %used, %use ], [ %sum.next, %behind ]
  %read = load volatile {vector}, ptr %vector.cell
  %element = extractelement {vector} %read, i64 1
  %wide = {wide}
  %total.0 = add i32 %result, %wide"
    )?;
    for word in 0..WORDS {
        writeln!(
            out,
            "  %scaled{word} = mul i32 %total.{word}, 31
  %total.{} = add i32 %scaled{word}, %word{word}",
            word + 1
        )?;
    }
    for value in 0..frozen {
        let total = WORDS + value;
        writeln!(
            out,
            "  %again{value} = load volatile i32, ptr %cell{value}
  %difference{value} = xor i32 %again{value}, %frozen{value}
  %total.{} = add i32 %total.{total}, %difference{value}",
            total + 1
        )?;
    }
    writeln!(out, "  ret i32 %total.{}\n}}\n", WORDS + frozen)
}

impl<W: Write> Writer<'_, W> {
    /// Calls one of the functions with words from the thread's memory.
    pub(super) fn partly_undefined(&mut self) -> io::Result<()> {
        let (left, right) = (self.own_load("i32", 4)?, self.own_load("i32", 4)?);
        let some = self.own_load("i32", 4)?;
        let rounds = self.number_up_to(ROUNDS, "i32", some)?;
        let number = self.random.index(FUNCTIONS);
        let result = self.value(format_args!(
            "call i32 @undefined{number}(i32 %t{left}, i32 %t{right}, i32 %t{rounds})"
        ))?;
        self.own_store("i32", 4, result)
    }
}
