//! Device functions with predicates that change: a loop carries them and inverts or exchanges them on one of its paths. In
//! late form each of them is one register.
//!
//! On the path that a predicate decides, values that depend on it are constants: the halves of a sum of 128 bits, and the
//! operands of an atomic operation.

use std::io::{self, Write};

use oriel_random::{Random, Stream};

use super::{Options, Writer};

/// Functions in a module.
const FUNCTIONS: usize = 4;
/// The most rounds of a loop.
const ROUNDS: usize = 5;

/// Writes the functions.
pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    let random = &mut Random::new(options.seed, Stream::Toggles);
    (0..FUNCTIONS).try_for_each(|number| function(out, random, number))
}

fn function(out: &mut impl Write, random: &mut Random, number: usize) -> io::Result<()> {
    let [few, some, yes, no, expected] = std::array::from_fn(|_| random.between(1, 9));
    let condition = random.pick(&["eq", "ne", "slt", "ugt"]);
    let [join, mix, change] = std::array::from_fn(|_| random.pick(&["and", "or", "xor"]));
    // What the predicates are after a round, on the one way and on the other.
    let (flag_there, flag_else) = random.pick(&[
        ("%not", "%flag"),
        ("%flag", "%not"),
        ("%not", "%not"),
        ("%other", "%not"),
        ("%joined", "%flag"),
    ]);
    let (other_there, other_else) = random.pick(&[
        ("%other", "%other"),
        ("%flag", "%other"),
        ("%flag", "%flag"),
        ("%other", "%joined"),
    ]);
    let atomic = match random.coin() {
        true => format!(
            "%both = cmpxchg ptr addrspace(1) %place, i32 {expected}, i32 %chosen monotonic monotonic
  %old = extractvalue {{ i32, i1 }} %both, 0"
        ),
        false => format!(
            "%old = atomicrmw {} ptr addrspace(1) %place, i32 %chosen monotonic",
            random.pick(&["add", "xor", "xchg", "umax"])
        ),
    };
    writeln!(
        out,
        "define internal i32 @toggle{number}(ptr addrspace(1) %place, i32 %left, i64 %right, i32 %rounds) noinline {{
  %is.few = icmp {condition} i32 %left, {few}
  %is.some = icmp ult i64 %right, {some}
  %first = {join} i1 %is.few, %is.some
  %wide.right = zext i64 %right to i128
  br label %round
round:
  %flag = phi i1 [ %first, %0 ], [ %flag.next, %latch ]
  %other = phi i1 [ %is.some, %0 ], [ %other.next, %latch ]
  %bits = phi i32 [ %left, %0 ], [ %bits.next, %latch ]
  %rest = phi i32 [ %rounds, %0 ], [ %rest.next, %latch ]
  %not = xor i1 %flag, true
  %joined = {change} i1 %flag, %other
  %all = sext i1 %other to i128
  %chosen = select i1 %other, i32 {yes}, i32 {no}
  %bit = zext i1 %flag to i32
  %shifted = shl i32 %bits, 1
  %mixed = {mix} i32 %shifted, %bit
  br i1 %other, label %there, label %latch
there:
  %sum = add i128 %wide.right, %all
  %high = lshr i128 %sum, 64
  %halves = xor i128 %high, %sum
  %word = trunc i128 %halves to i32
  {atomic}
  %changed = add i32 %mixed, %word
  %bits.there = xor i32 %changed, %old
  br label %latch
latch:
  %flag.next = phi i1 [ {flag_there}, %there ], [ {flag_else}, %round ]
  %other.next = phi i1 [ {other_there}, %there ], [ {other_else}, %round ]
  %bits.next = phi i32 [ %bits.there, %there ], [ %mixed, %round ]
  %rest.next = sub i32 %rest, 1
  %more = icmp ne i32 %rest.next, 0
  br i1 %more, label %round, label %exit
exit:
  ret i32 %bits.next
}}
"
    )
}

impl<W: Write> Writer<'_, W> {
    /// Calls one of the functions with words from the thread's memory.
    pub(super) fn toggle(&mut self) -> io::Result<()> {
        let (left, right) = (self.own_load("i32", 4)?, self.own_load("i64", 8)?);
        let rounds = self.number_up_to(ROUNDS, "i32", left)?;
        let number = self.random.index(FUNCTIONS);
        let result = self.value(format_args!(
            "call i32 @toggle{number}(ptr addrspace(1) %own.out, i32 %t{left}, i64 %t{right}, i32 %t{rounds})"
        ))?;
        self.own_store("i32", 4, result)
    }
}
