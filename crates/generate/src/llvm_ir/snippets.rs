//! Operations that the program's model lacks, written as text at the end of blocks.
//!
//! A snippet reads one or two words of the thread's own memory, computes a value, and writes a word
//! back to places that the program's loads read:
//!
//! - *private* snippets, in any block: bytes, vectors, half precision, local arrays, atomic operations on the thread's own
//!   memory, bit counts, funnel shifts, wide products, loops with a stride known at run time,
//!   undefined values that do not matter, predicates that a loop changes;
//! - *common* snippets, in blocks that every thread of the block of threads runs exactly once: barriers, shuffles,
//!   votes, reductions over a loop of barriers, shared memory that threads exchange, atomic operations on it whose
//!   result does not depend on their order.

use std::fmt::Arguments;
use std::io::{self, Write};

use super::{MAX_BLOCK, OUT_BYTES, SHARED_BYTES, Writer};
use crate::graph::{Graph, Terminator};
use crate::index::{Block, Entity, Table};

/// Words of a thread's local array.
const LOCAL_WORDS: usize = 16;

/// Of 100 blocks that can have a private snippet, those that have one; and likewise for common
/// ones.
const PRIVATE_PERCENT: u32 = 30;
const COMMON_PERCENT: u32 = 60;

/// The blocks that every thread runs exactly once, wherever its branches go.
///
/// Entry and returns lie at the ends of the layout or are found in between; a block that no edge
/// jumps over, in either direction, and that nothing returns before, is passed by every path, and
/// none comes back to it.
pub(super) fn run_once(graph: &Graph) -> Table<Block, bool> {
    // Difference array over the layout: the number of edges that jump over or return to each block.
    let mut crossing = vec![0i64; graph.len() + 1];
    for source in graph.blocks() {
        for &target in graph.successors(source) {
            let (first, end) = match target > source {
                true => (source.index() + 1, target.index()),
                false => (target.index(), source.index() + 1),
            };
            crossing[first] += 1;
            crossing[end] -= 1;
        }
    }
    let (mut over, mut returned) = (0, false);
    let blocks = graph.blocks().map(|block| {
        over += crossing[block.index()];
        let passed = over == 0 && !returned;
        returned |= matches!(graph.terminators[block], Terminator::Return);
        passed
    });
    Table::from_items(blocks.collect())
}

/// Declarations for the snippets.
pub(super) fn header(out: &mut impl Write) -> io::Result<()> {
    writeln!(
        out,
        "@exchange = internal addrspace(3) global [{MAX_BLOCK} x i32] poison, align 16"
    )?;
    writeln!(
        out,
        "@common = internal addrspace(3) global i32 poison, align 16\n"
    )?;
    for (_, name) in UNARY {
        writeln!(out, "declare i32 @llvm.{name}")?;
    }
    out.write_all(DECLARATIONS.as_bytes())
}

const DECLARATIONS: &str = "declare i64 @llvm.ctpop.i64(i64)
declare i32 @llvm.fshl.i32(i32, i32, i32)
declare i32 @llvm.fshr.i32(i32, i32, i32)
declare i32 @llvm.nvvm.prmt(i32, i32, i32)
declare float @llvm.nvvm.div.full(float, float)
declare float @llvm.nvvm.div.full.ftz(float, float)
declare i32 @llvm.fptosi.sat.i32.f32(float)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.barrier.cta.red.popc.aligned.all(i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.and.aligned.all(i32, i1)
declare i1 @llvm.nvvm.barrier.cta.red.or.aligned.all(i32, i1)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.up.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.down.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1)
declare i1 @llvm.nvvm.vote.all.sync(i32, i1)
declare i1 @llvm.nvvm.vote.any.sync(i32, i1)
declare i1 @llvm.nvvm.vote.uni.sync(i32, i1)
declare void @llvm.nvvm.exit()

; Combines a word of each thread in a tree; the number of threads is a power of two.
define internal i32 @reduce(i32 %value, i32 %thread, i32 %size) noinline convergent {
  %cell = getelementptr i32, ptr addrspace(3) @exchange, i32 %thread
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  store i32 %value, ptr addrspace(3) %cell
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %half = lshr i32 %size, 1
  br label %step
step:
  %stride = phi i32 [ %half, %0 ], [ %next, %join ]
  %active = icmp ult i32 %thread, %stride
  br i1 %active, label %add, label %join
add:
  %partner = add i32 %thread, %stride
  %partner.cell = getelementptr i32, ptr addrspace(3) @exchange, i32 %partner
  %other = load i32, ptr addrspace(3) %partner.cell
  %own = load i32, ptr addrspace(3) %cell
  %scaled = mul i32 %own, 31
  %sum = add i32 %scaled, %other
  store i32 %sum, ptr addrspace(3) %cell
  br label %join
join:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %next = lshr i32 %stride, 1
  %more = icmp ne i32 %next, 0
  br i1 %more, label %step, label %done
done:
  %result = load i32, ptr addrspace(3) @exchange
  ret i32 %result
}

";

/// Which threads an atomic operation is atomic to; without a scope, to all.
const SCOPES: [&str; 3] = ["", " syncscope(\"block\")", " syncscope(\"device\")"];
/// The first is not for fences.
const ORDERINGS: [&str; 5] = ["monotonic", "acquire", "release", "acq_rel", "seq_cst"];

/// Intrinsics of one 32-bit operand: how a call goes on after the operand, and how the declaration
/// does.
const UNARY: [(&str, &str); 5] = [
    (")", "ctpop.i32(i32)"),
    (")", "bitreverse.i32(i32)"),
    (")", "bswap.i32(i32)"),
    (", i1 false)", "ctlz.i32(i32, i1)"),
    (", i1 false)", "cttz.i32(i32, i1)"),
];

impl<W: Write> Writer<'_, W> {
    /// The thread's local array.
    pub(super) fn snippet_prologue(&mut self) -> io::Result<()> {
        self.line(format_args!(
            "%own.local = alloca [{LOCAL_WORDS} x i32], align 16"
        ))?;
        self.line(format_args!(
            "store [{LOCAL_WORDS} x i32] zeroinitializer, ptr %own.local, align 16"
        ))
    }

    /// Writes the snippets chosen for a block.
    pub(super) fn snippets(&mut self, runs_once: bool) -> io::Result<()> {
        if self.random.percent(PRIVATE_PERCENT) {
            self.private_snippet()?;
        }
        if runs_once && self.random.percent(COMMON_PERCENT) {
            self.common_snippet()?;
        }
        Ok(())
    }

    fn private_snippet(&mut self) -> io::Result<()> {
        match self.random.index(12) {
            0 => self.bytes(),
            1 => self.vectors(),
            2 => self.half_precision(),
            3 => self.local_array(),
            4 => self.own_atomic(),
            5 => self.bit_operation(),
            6 => self.wide_product(),
            7 => self.walk(),
            8 => self.partly_undefined(),
            9 => self.toggle(),
            10 => self.quotient(),
            _ => self.saturating_conversion(),
        }
    }

    fn common_snippet(&mut self) -> io::Result<()> {
        match self.random.index(6) {
            0 => self.neighbour(),
            1 => self.shuffle(),
            2 => self.vote(),
            3 => self.barrier_reduction(),
            4 => self.common_atomic(),
            _ => self.reduction(),
        }
    }

    /// Returns a temporary with the value of an expression.
    pub(super) fn value(&mut self, expression: Arguments<'_>) -> io::Result<usize> {
        let temporary = self.temporary();
        self.line(format_args!("%t{temporary} = {expression}"))?;
        Ok(temporary)
    }

    /// Returns a number from 1 to `most` that depends on a value.
    pub(super) fn number_up_to(&mut self, most: usize, ty: &str, value: usize) -> io::Result<usize> {
        let rest = self.value(format_args!("urem {ty} %t{value}, {most}"))?;
        self.value(format_args!("add {ty} %t{rest}, 1"))
    }

    /// Returns an address in the thread's own memory with the requested alignment, and its address
    /// space.
    pub(super) fn own_place(&mut self, bytes: usize) -> io::Result<(usize, u32)> {
        let (base, space, size) = match self.random.coin() {
            true => ("%own.shared", 3, SHARED_BYTES),
            false => ("%own.out", 1, OUT_BYTES),
        };
        let offset = self.random.index(size / bytes) * bytes;
        let place = self.value(format_args!(
            "getelementptr i8, ptr addrspace({space}) {base}, i64 {offset}"
        ))?;
        Ok((place, space))
    }

    /// Loads `bytes` bytes from the thread's own memory.
    pub(super) fn own_load(&mut self, ty: &str, bytes: usize) -> io::Result<usize> {
        let (place, space) = self.own_place(bytes)?;
        self.value(format_args!(
            "load {ty}, ptr addrspace({space}) %t{place}, align {bytes}"
        ))
    }

    pub(super) fn own_store(&mut self, ty: &str, bytes: usize, value: usize) -> io::Result<()> {
        let (place, space) = self.own_place(bytes)?;
        self.line(format_args!(
            "store {ty} %t{value}, ptr addrspace({space}) %t{place}, align {bytes}"
        ))
    }

    fn barrier(&mut self) -> io::Result<()> {
        self.line(format_args!(
            "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
        ))
    }

    fn bytes(&mut self) -> io::Result<()> {
        let byte = self.own_load("i8", 1)?;
        let extension = self.random.pick(&["zext", "sext"]);
        let wide = self.value(format_args!("{extension} i8 %t{byte} to i32"))?;
        let factor = self.random.between(3, 1000);
        let changed = self.value(format_args!("mul i32 %t{wide}, {factor}"))?;
        let narrow = self.value(format_args!("trunc i32 %t{changed} to i8"))?;
        self.own_store("i8", 1, narrow)?;
        self.own_store("i32", 4, changed)
    }

    fn vectors(&mut self) -> io::Result<()> {
        let (ty, bytes) = self.random.pick(&[
            ("<4 x i32>", 16),
            ("<2 x i64>", 16),
            ("<2 x i32>", 8),
            ("<4 x i16>", 8),
            ("<4 x i8>", 4),
        ]);
        let operation = self.random.pick(&["add", "sub", "xor", "and", "or"]);
        let (left, right) = (self.own_load(ty, bytes)?, self.own_load(ty, bytes)?);
        let result = self.value(format_args!("{operation} {ty} %t{left}, %t{right}"))?;
        self.own_store(ty, bytes, result)
    }

    /// Operands between zero and one, so that no result is a NaN.
    fn half_precision(&mut self) -> io::Result<()> {
        let operand = |writer: &mut Self| -> io::Result<usize> {
            let bits = writer.own_load("i16", 2)?;
            let small = writer.value(format_args!("and i16 %t{bits}, {}", 0x3bff))?;
            writer.value(format_args!("bitcast i16 %t{small} to half"))
        };
        let (left, right) = (operand(self)?, operand(self)?);
        let operation = self.random.pick(&["fadd", "fsub", "fmul"]);
        let result = self.value(format_args!("{operation} half %t{left}, %t{right}"))?;
        self.own_store("half", 2, result)?;
        let wide = self.value(format_args!("fpext half %t{result} to float"))?;
        self.own_store("float", 4, wide)
    }

    /// An approximate quotient of a product and one of its factors. It is stored as the whole number
    /// next to it, which all approximations share.
    fn quotient(&mut self) -> io::Result<()> {
        let number = |writer: &mut Self| -> io::Result<usize> {
            let bits = writer.own_load("i32", 4)?;
            let low = writer.value(format_args!("and i32 %t{bits}, 1023"))?;
            let positive = writer.value(format_args!("or i32 %t{low}, 1024"))?;
            writer.value(format_args!("uitofp i32 %t{positive} to float"))
        };
        let kind = self.random.index(4);
        let factor = number(self)?;
        // A constant only here: LLVM 22 compiles the calls with one to an instruction that its own
        // verifier refuses.
        let divisor = match kind {
            0 => "448.0".to_owned(),
            _ => format!("%t{}", number(self)?),
        };
        let product = self.value(format_args!("fmul float %t{factor}, {divisor}"))?;
        let quotient = match kind {
            0 | 1 => self.value(format_args!("fdiv afn float %t{product}, {divisor}"))?,
            _ => {
                let ftz = if kind == 2 { ".ftz" } else { "" };
                self.value(format_args!(
                    "call float @llvm.nvvm.div.full{ftz}(float %t{product}, float {divisor})"
                ))?
            }
        };
        let above = self.value(format_args!("fadd float %t{quotient}, 0.5"))?;
        let whole = self.value(format_args!("fptoui float %t{above} to i32"))?;
        self.own_store("i32", 4, whole)
    }

    fn local_array(&mut self) -> io::Result<()> {
        let value = self.own_load("i32", 4)?;
        for operation in ["store", "load"] {
            let index = self.own_load("i32", 4)?;
            let index = self.value(format_args!("and i32 %t{index}, {}", LOCAL_WORDS - 1))?;
            let place = self.value(format_args!("getelementptr i32, ptr %own.local, i32 %t{index}"))?;
            if operation == "store" {
                self.line(format_args!("store i32 %t{value}, ptr %t{place}, align 4"))?;
            } else {
                let read = self.value(format_args!("load i32, ptr %t{place}, align 4"))?;
                self.own_store("i32", 4, read)?;
            }
        }
        Ok(())
    }

    /// On memory of the thread alone, so that even the old content is defined.
    fn own_atomic(&mut self) -> io::Result<()> {
        let (ty, bytes) = self.random.pick(&[("i32", 4), ("i64", 8)]);
        let operand = self.own_load(ty, bytes)?;
        let (place, space) = self.own_place(bytes)?;
        let scope = self.random.pick(&SCOPES);
        let ordering = self.random.pick(&ORDERINGS);
        if self.random.percent(20) {
            let expected = self.own_load(ty, bytes)?;
            let on_failure = self.random.pick(&["monotonic", "acquire", "seq_cst"]);
            let both = self.value(format_args!(
                "cmpxchg ptr addrspace({space}) %t{place}, {ty} %t{expected}, {ty} %t{operand}{scope} {ordering} {on_failure}"
            ))?;
            let before = self.value(format_args!("extractvalue {{ {ty}, i1 }} %t{both}, 0"))?;
            return self.own_store(ty, bytes, before);
        }
        if self.random.percent(15) {
            let ordering = self.random.pick(&ORDERINGS[1..]);
            writeln!(self.out, "  fence{scope} {ordering}")?;
        }
        let operation = self
            .random
            .pick(&["add", "and", "or", "xor", "min", "max", "umin", "umax", "xchg"]);
        let before = self.value(format_args!(
            "atomicrmw {operation} ptr addrspace({space}) %t{place}, {ty} %t{operand}{scope} {ordering}"
        ))?;
        self.own_store(ty, bytes, before)
    }

    fn bit_operation(&mut self) -> io::Result<()> {
        let value = self.own_load("i32", 4)?;
        let result = match self.random.index(3) {
            0 => {
                let (rest, declaration) = self.random.pick(&UNARY);
                let name = declaration.split('(').next().unwrap_or(declaration);
                self.value(format_args!("call i32 @llvm.{name}(i32 %t{value}{rest}"))?
            }
            1 => {
                let (other, amount) = (self.own_load("i32", 4)?, self.own_load("i32", 4)?);
                let name = self.random.pick(&["fshl.i32", "fshr.i32", "nvvm.prmt"]);
                self.value(format_args!(
                    "call i32 @llvm.{name}(i32 %t{value}, i32 %t{other}, i32 %t{amount})"
                ))?
            }
            _ => {
                let wide = self.own_load("i64", 8)?;
                let count = self.value(format_args!("call i64 @llvm.ctpop.i64(i64 %t{wide})"))?;
                self.value(format_args!("trunc i64 %t{count} to i32"))?
            }
        };
        self.own_store("i32", 4, result)
    }

    /// The high half of a product, in a type twice as wide.
    fn wide_product(&mut self) -> io::Result<()> {
        let (ty, wide, bits, bytes) = self.random.pick(&[("i32", "i64", 32, 4), ("i64", "i128", 64, 8)]);
        let extension = self.random.pick(&["zext", "sext"]);
        let (left, right) = (self.own_load(ty, bytes)?, self.own_load(ty, bytes)?);
        let left = self.value(format_args!("{extension} {ty} %t{left} to {wide}"))?;
        let right = self.value(format_args!("{extension} {ty} %t{right} to {wide}"))?;
        let product = self.value(format_args!("mul {wide} %t{left}, %t{right}"))?;
        let shifted = self.value(format_args!("lshr {wide} %t{product}, {bits}"))?;
        let high = self.value(format_args!("trunc {wide} %t{shifted} to {ty}"))?;
        self.own_store(ty, bytes, high)
    }

    /// Of any float, NaN and infinity included.
    fn saturating_conversion(&mut self) -> io::Result<()> {
        let float = self.own_load("float", 4)?;
        let result = self.value(format_args!("call i32 @llvm.fptosi.sat.i32.f32(float %t{float})"))?;
        self.own_store("i32", 4, result)
    }

    /// Reads the value that another thread has in its part of shared memory.
    fn neighbour(&mut self) -> io::Result<()> {
        self.barrier()?;
        let distance = self.random.between(1, MAX_BLOCK - 1);
        let sum = self.value(format_args!("add i32 %thread, {distance}"))?;
        let other = self.value(format_args!("urem i32 %t{sum}, %block.size"))?;
        let start = self.value(format_args!("mul i32 %t{other}, {SHARED_BYTES}"))?;
        let offset = self.random.index(SHARED_BYTES / 4) * 4;
        let within = self.value(format_args!("add i32 %t{start}, {offset}"))?;
        let place = self.value(format_args!(
            "getelementptr i8, ptr addrspace(3) @shared, i32 %t{within}"
        ))?;
        let read = self.value(format_args!("load i32, ptr addrspace(3) %t{place}, align 4"))?;
        self.barrier()?;
        self.own_store("i32", 4, read)
    }

    fn shuffle(&mut self) -> io::Result<()> {
        let value = self.own_load("i32", 4)?;
        let mode = self.random.pick(&["idx", "up", "down", "bfly"]);
        let width = self.random.pick(&[32, 16, 8]);
        let clamp = if mode == "up" { 0 } else { 31 };
        let segment = (32 - width) << 8 | clamp;
        let offset = self.random.index(32);
        let result = self.value(format_args!(
            "call i32 @llvm.nvvm.shfl.sync.{mode}.i32(i32 -1, i32 %t{value}, i32 {offset}, i32 {segment})"
        ))?;
        self.own_store("i32", 4, result)
    }

    /// A predicate that differs between threads.
    pub(super) fn predicate(&mut self) -> io::Result<usize> {
        let (left, right) = (self.own_load("i32", 4)?, self.own_load("i32", 4)?);
        let condition = self.random.pick(&["eq", "ne", "slt", "uge"]);
        self.value(format_args!("icmp {condition} i32 %t{left}, %t{right}"))
    }

    pub(super) fn store_predicate(&mut self, predicate: usize) -> io::Result<()> {
        let word = self.value(format_args!("zext i1 %t{predicate} to i32"))?;
        self.own_store("i32", 4, word)
    }

    fn vote(&mut self) -> io::Result<()> {
        let predicate = self.predicate()?;
        if self.random.coin() {
            let ballot = self.value(format_args!(
                "call i32 @llvm.nvvm.vote.ballot.sync(i32 -1, i1 %t{predicate})"
            ))?;
            return self.own_store("i32", 4, ballot);
        }
        let vote = self.random.pick(&["all", "any", "uni"]);
        let result = self.value(format_args!(
            "call i1 @llvm.nvvm.vote.{vote}.sync(i32 -1, i1 %t{predicate})"
        ))?;
        self.store_predicate(result)
    }

    fn barrier_reduction(&mut self) -> io::Result<()> {
        let predicate = self.predicate()?;
        let (ty, name) = self.random.pick(&[("i32", "popc"), ("i1", "and"), ("i1", "or")]);
        let result = self.value(format_args!(
            "call {ty} @llvm.nvvm.barrier.cta.red.{name}.aligned.all(i32 0, i1 %t{predicate})"
        ))?;
        if ty == "i1" {
            return self.store_predicate(result);
        }
        self.own_store("i32", 4, result)
    }

    /// All threads update one word, with an operation whose order makes no difference.
    fn common_atomic(&mut self) -> io::Result<()> {
        let operand = self.own_load("i32", 4)?;
        self.barrier()?;
        let start = self.random.below(1 << 16);
        self.line(format_args!(
            "store atomic i32 {start}, ptr addrspace(3) @common monotonic, align 4"
        ))?;
        self.barrier()?;
        let operation = self
            .random
            .pick(&["add", "and", "or", "xor", "min", "max", "umin", "umax"]);
        self.value(format_args!(
            "atomicrmw {operation} ptr addrspace(3) @common, i32 %t{operand} monotonic"
        ))?;
        self.barrier()?;
        let result = self.value(format_args!("load i32, ptr addrspace(3) @common, align 4"))?;
        self.barrier()?;
        self.own_store("i32", 4, result)
    }

    fn reduction(&mut self) -> io::Result<()> {
        let value = self.own_load("i32", 4)?;
        let result = self.value(format_args!(
            "call i32 @reduce(i32 %t{value}, i32 %thread, i32 %block.size)"
        ))?;
        self.own_store("i32", 4, result)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run_once_of(terminators: Vec<Terminator>) -> Vec<bool> {
        let graph = Graph::new(Table::from_items(terminators), Vec::new());
        let once = run_once(&graph);
        graph.blocks().map(|block| once[block]).collect()
    }

    fn branch(target: usize) -> Terminator {
        Terminator::Branch {
            target: Block::new(target),
            otherwise: crate::graph::Otherwise::FallThrough,
        }
    }

    #[test]
    fn both_ends_of_a_diamond() {
        let diamond = vec![
            branch(2),
            Terminator::Jump(Block::new(3)),
            Terminator::FallThrough,
            Terminator::Return,
        ];
        assert_eq!(run_once_of(diamond), [true, false, false, true]);
    }

    #[test]
    fn no_block_of_a_loop_and_none_behind_a_return() {
        let looping = vec![
            Terminator::FallThrough,
            Terminator::FallThrough,
            branch(1),
            Terminator::FallThrough,
            Terminator::Return,
        ];
        assert_eq!(run_once_of(looping), [true, false, false, true, true]);
        let early = vec![
            branch(2),
            Terminator::Return,
            Terminator::FallThrough,
            Terminator::Return,
        ];
        assert_eq!(run_once_of(early), [true, false, false, false]);
    }
}
