//! Device functions that walk over the thread's own memory with a stride known at run time.
//!
//! LLVM places the header of such a loop after its body and then copies it into the latch. So one
//! block accesses memory through the same pointer of the source in two iterations. Accesses with the
//! same pointer and different offsets may then overlap, since the stride may be the difference.

use std::io::{self, Write};

use oriel_random::{Random, Stream};

use super::{OUT_BYTES, Options, Writer};

/// Functions in a module.
const WALKS: usize = 4;
/// Strides, positions and alignments are multiples of this number of bytes.
const UNIT: usize = 8;
/// The stride is below this number of units.
const STRIDES: usize = 3;
/// The most rounds of a loop.
const ROUNDS: usize = 5;
/// The offset from the loop's pointer is below this number of units.
const OFFSETS: usize = 6;
/// The widest access in bytes.
const WIDEST: usize = 16;
const _: () = assert!(
    (STRIDES - 1) * UNIT * ROUNDS + (OFFSETS - 1) * UNIT + WIDEST <= OUT_BYTES,
    "a walk stays within the thread's memory"
);

/// Writes the functions.
pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    let random = &mut Random::new(options.seed, Stream::Walks);
    (0..WALKS).try_for_each(|number| {
        Walk {
            out: &mut *out,
            random: &mut *random,
            temporary: 0,
        }
        .function(number)
    })
}

struct Walk<'a, W> {
    out: &'a mut W,
    random: &'a mut Random,
    temporary: usize,
}

impl<W: Write> Walk<'_, W> {
    /// Writes one function. LLVM copies the header into the latch because it comes last, has few
    /// instructions and leads to another loop.
    fn function(&mut self, number: usize) -> io::Result<()> {
        let out = &mut *self.out;
        writeln!(
            out,
            "define internal i64 @walk{number}(ptr addrspace(1) %start, i64 %stride, i64 %rounds) noinline {{"
        )?;
        writeln!(out, "  br label %header\nbody:")?;
        writeln!(out, "  %bits = phi i64 [ %sum, %header ], [ %shifted, %again ]")?;
        writeln!(out, "  %low = and i64 %bits, 3")?;
        writeln!(
            out,
            "  switch i64 %low, label %test [ i64 1, label %again i64 2, label %exit ]"
        )?;
        writeln!(out, "again:\n  %shifted = lshr i64 %bits, 1")?;
        let again = self.accesses("%bits")?;
        self.store("i64", &again)?;
        writeln!(self.out, "  br label %body\ntest:")?;
        writeln!(self.out, "  %left.next = sub i64 %left, 1")?;
        writeln!(self.out, "  %more = icmp ne i64 %left.next, 0")?;
        writeln!(self.out, "  br i1 %more, label %latch, label %exit\nlatch:")?;
        writeln!(self.out, "  %word.next = mul i64 %bits, %rounds")?;
        let sum = self.accesses("%bits")?;
        let out = &mut *self.out;
        writeln!(
            out,
            "  %next = getelementptr i8, ptr addrspace(1) %here, i64 %stride"
        )?;
        writeln!(out, "  br label %header\nexit:\n  ret i64 %sum\nheader:")?;
        for (name, ty, first, next) in [
            ("here", "ptr addrspace(1)", "%start", "%next"),
            ("before", "ptr addrspace(1)", "%start", "%here"),
            ("left", "i64", "%rounds", "%left.next"),
            ("sum", "i64", "%rounds", sum.as_str()),
            ("word", "i64", "%stride", "%word.next"),
        ] {
            writeln!(out, "  %{name} = phi {ty} [ {first}, %0 ], [ {next}, %latch ]")?;
        }
        if self.random.percent(80) {
            // The word does not wait for the latch's loads, and an order that needs few registers
            // stores it before them.
            let value = if self.random.percent(70) { "%word" } else { "%sum" };
            self.store("i64", value)?;
        }
        writeln!(self.out, "  br label %body\n}}\n")
    }

    /// Writes a store of `value` near one of the pointers.
    fn store(&mut self, ty: &str, value: &str) -> io::Result<()> {
        let place = self.place()?;
        writeln!(
            self.out,
            "  store {ty} {value}, ptr addrspace(1) {place}, align {UNIT}"
        )
    }

    /// Returns the address of a word at or after one of the pointers.
    fn place(&mut self) -> io::Result<String> {
        let base = if self.random.percent(80) {
            "%here"
        } else {
            "%before"
        };
        if self.random.percent(70) {
            return Ok(base.to_owned());
        }
        let offset = self.random.index(OFFSETS) * UNIT;
        self.value(format_args!(
            "getelementptr i8, ptr addrspace(1) {base}, i64 {offset}"
        ))
    }

    /// Writes loads and stores, and returns `sum` with what was loaded.
    fn accesses(&mut self, sum: &str) -> io::Result<String> {
        let mut sum = sum.to_owned();
        for _ in 0..self.random.between(1, 4) {
            let ty = self.random.pick(&["i32", "i64", "<2 x i64>", "<2 x i64>"]);
            if self.random.percent(30) {
                let value = match ty {
                    "i64" => sum.clone(),
                    "i32" => self.value(format_args!("trunc i64 {sum} to i32"))?,
                    _two => self.value(format_args!(
                        "insertelement <2 x i64> splat (i64 3), i64 {sum}, i64 1"
                    ))?,
                };
                self.store(ty, &value)?;
                continue;
            }
            let place = self.place()?;
            let loaded = self.value(format_args!("load {ty}, ptr addrspace(1) {place}, align {UNIT}"))?;
            let wide = match ty {
                "i64" => loaded,
                "i32" => self.value(format_args!("zext i32 {loaded} to i64"))?,
                _two => self.value(format_args!("extractelement <2 x i64> {loaded}, i64 1"))?,
            };
            let scaled = self.value(format_args!("mul i64 {sum}, 31"))?;
            sum = self.value(format_args!("xor i64 {scaled}, {wide}"))?;
        }
        Ok(sum)
    }

    fn value(&mut self, expression: std::fmt::Arguments<'_>) -> io::Result<String> {
        self.temporary += 1;
        let name = format!("%t{}", self.temporary);
        writeln!(self.out, "  {name} = {expression}")?;
        Ok(name)
    }
}

impl<W: Write> Writer<'_, W> {
    /// Calls one of the functions with a stride and a number of rounds from the thread's memory.
    pub(super) fn walk(&mut self) -> io::Result<()> {
        let some = self.own_load("i64", 8)?;
        let units = self.value(format_args!("urem i64 %t{some}, {STRIDES}"))?;
        let stride = self.value(format_args!("mul i64 %t{units}, {UNIT}"))?;
        let high = self.value(format_args!("lshr i64 %t{some}, 9"))?;
        let rounds = self.number_up_to(ROUNDS, "i64", high)?;
        let number = self.random.index(WALKS);
        let sum = self.value(format_args!(
            "call i64 @walk{number}(ptr addrspace(1) %own.out, i64 %t{stride}, i64 %t{rounds})"
        ))?;
        self.own_store("i64", 8, sum)
    }
}
