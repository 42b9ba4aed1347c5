//! Device functions with undefined values that do not matter to their results.
//!
//! A PHI is undefined on a path on which nothing needs it, the first round of a loop does not need
//! what the round before computed, vectors have elements that nobody reads, and a frozen value is
//! stored, loaded in another block, and compared with itself.

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
    let vector = random.pick(&["<2 x i32>", "<4 x i32>", "<2 x i16>"]);
    let element = if vector == "<2 x i16>" { "i16" } else { "i32" };
    let constants: [usize; 4] = std::array::from_fn(|_| random.between(3, 100_000));
    let mut operation = || random.pick(&OPERATIONS);
    writeln!(
        out,
        "define internal i32 @undefined{number}(i32 %left, i32 %right, i32 %rounds) noinline {{"
    )?;
    writeln!(out, "  %word.cell = alloca i32\n  %vector.cell = alloca {vector}")?;
    for value in 0..frozen {
        writeln!(out, "  %cell{value} = alloca i32")?;
        writeln!(out, "  %nothing{value} = freeze i32 poison")?;
        let constant = constants[0] + value;
        writeln!(
            out,
            "  %frozen{value} = {} i32 %nothing{value}, {constant}",
            operation()
        )?;
        writeln!(out, "  store volatile i32 %frozen{value}, ptr %cell{value}")?;
    }
    // Volatile, so that none is loaded later.
    for word in 0..WORDS {
        writeln!(out, "  store volatile i32 %left, ptr %word.cell")?;
        writeln!(out, "  %word{word} = load volatile i32, ptr %word.cell")?;
    }
    writeln!(out, "  %is.set = icmp ult i32 %left, %right")?;
    writeln!(out, "  br i1 %is.set, label %set, label %join\nset:")?;
    // Or LLVM would compute it on both paths.
    writeln!(out, "  %given = load volatile i32, ptr %word.cell")?;
    writeln!(out, "  %some = {} i32 %given, {}", operation(), constants[1])?;
    writeln!(out, "  br label %join\njoin:")?;
    writeln!(out, "  %maybe = phi i32 [ %some, %set ], [ poison, %0 ]")?;
    writeln!(
        out,
        "  %speculative = {} i32 %maybe, {}",
        operation(),
        constants[2]
    )?;
    writeln!(out, "  br label %round\nround:")?;
    writeln!(out, "  %count = phi i32 [ 0, %join ], [ %count.next, %round ]")?;
    writeln!(out, "  %sum = phi i32 [ %right, %join ], [ %sum.next, %round ]")?;
    writeln!(out, "  %carried = phi i32 [ poison, %join ], [ %new, %round ]")?;
    writeln!(out, "  %changed = {} i32 %carried, {}", operation(), constants[3])?;
    writeln!(out, "  %is.first = icmp eq i32 %count, 0")?;
    writeln!(out, "  %old = select i1 %is.first, i32 %left, i32 %changed")?;
    writeln!(out, "  %new = {} i32 %old, %sum", operation())?;
    writeln!(out, "  %sum.next = {} i32 %new, %count", operation())?;
    writeln!(out, "  %count.next = add i32 %count, 1")?;
    writeln!(out, "  %more = icmp ult i32 %count.next, %rounds")?;
    writeln!(out, "  br i1 %more, label %round, label %behind\nbehind:")?;
    match element {
        "i32" => writeln!(out, "  %narrow = or i32 %new, 0")?,
        _ => writeln!(out, "  %narrow = trunc i32 %new to i16")?,
    }
    writeln!(
        out,
        "  %one = insertelement {vector} poison, {element} %narrow, i64 1"
    )?;
    writeln!(out, "  %both = {} {vector} %one, %one", operation())?;
    writeln!(out, "  store volatile {vector} %both, ptr %vector.cell")?;
    writeln!(out, "  br i1 %is.set, label %use, label %end\nuse:")?;
    writeln!(out, "  %used = xor i32 %speculative, %sum.next")?;
    writeln!(out, "  br label %end\nend:")?;
    writeln!(out, "  %result = phi i32 [ %used, %use ], [ %sum.next, %behind ]")?;
    writeln!(out, "  %read = load volatile {vector}, ptr %vector.cell")?;
    writeln!(out, "  %read.one = extractelement {vector} %read, i64 1")?;
    match element {
        "i32" => writeln!(out, "  %wide = or i32 %read.one, 0")?,
        _ => writeln!(out, "  %wide = zext i16 %read.one to i32")?,
    }
    writeln!(out, "  %sum0 = add i32 %result, %wide")?;
    for word in 0..WORDS {
        let next = word + 1;
        writeln!(out, "  %scaled{word} = mul i32 %sum{word}, 31")?;
        writeln!(out, "  %sum{next} = add i32 %scaled{word}, %word{word}")?;
    }
    writeln!(out, "  %total0 = add i32 %sum{WORDS}, 0")?;
    for value in 0..frozen {
        let next = value + 1;
        writeln!(out, "  %again{value} = load volatile i32, ptr %cell{value}")?;
        writeln!(
            out,
            "  %difference{value} = xor i32 %again{value}, %frozen{value}"
        )?;
        writeln!(out, "  %total{next} = add i32 %total{value}, %difference{value}")?;
    }
    writeln!(out, "  ret i32 %total{frozen}\n}}\n")
}

impl<W: Write> Writer<'_, W> {
    /// Calls one of the functions with words from the thread's memory.
    pub(super) fn partly_undefined(&mut self) -> io::Result<()> {
        let (left, right) = (self.own_load("i32", 4)?, self.own_load("i32", 4)?);
        let some = self.own_load("i32", 4)?;
        let rest = self.value(format_args!("urem i32 %t{some}, {ROUNDS}"))?;
        let rounds = self.value(format_args!("add i32 %t{rest}, 1"))?;
        let number = self.random.index(FUNCTIONS);
        let result = self.value(format_args!(
            "call i32 @undefined{number}(i32 %t{left}, i32 %t{right}, i32 %t{rounds})"
        ))?;
        self.own_store("i32", 4, result)
    }
}
