//! Writes a program as an LLVM IR module of kernels.
//!
//! Every kernel has the parameters `(in, out, i32, i64, i16, float, double)`. It may be launched in
//! one dimension with at most `MAX_BLOCK` threads a block, and leaves the same memory in every
//! correct execution:
//!
//! - `in` has `IN_BYTES` bytes, which are only read; indexes are masked;
//! - `out` has `OUT_BYTES` bytes for each thread of the grid, which only that thread reads and
//!   writes; it must be filled before the launch, as its old content may be read;
//! - shared memory has `SHARED_BYTES` bytes for each thread of the block, which only that thread
//!   uses and which are initialised at the start;
//! - a divisor is odd and positive, a shift amount is masked;
//! - a float is clamped before it is converted to an integer, and a NaN becomes zero before it is
//!   stored, as the bits of a NaN are not defined;
//! - loops of structured shapes run at most `MAX_TRIPS` times each time they are entered; in other
//!   shapes, all backward edges in the layout together are taken at most `FUEL` times.
//!
//! Every second loop of a structured shape has an index beside its counter. Both always have the same
//! value.
//!
//! With [`Options::all_operations`], threads cooperate, and blocks need a power of two of threads,
//! at least 32. With [`Options::assembly`], they must have 64 threads; the kernels' results then
//! have no meaning, but ptxas accepts the kernels.

mod assembly;
mod instructions;
mod matrices;
mod operands;
mod snippets;
mod statements;
mod terminators;
mod toggles;
mod undefined;
mod walks;

use std::fmt;
use std::io::{self, Write};

use super::graph::{CountedLoop, Graph};
use super::index::{Block, Entity, Table};
use super::model::{Function, Operation, Space, Special};
use super::options::Options;
use operands::{name, text};
use oriel_random::Random;

/// The most threads of a block in a launch of a generated kernel.
pub(crate) const MAX_BLOCK: usize = 64;
/// Size in bytes of the buffer that a kernel reads.
pub(crate) const IN_BYTES: usize = 4096;
/// Bytes of the output buffer that belong to one thread.
pub(crate) const OUT_BYTES: usize = 256;
/// Bytes of shared memory that belong to one thread.
pub const SHARED_BYTES: usize = 128;
/// The most iterations of a counted loop.
pub(crate) const MAX_TRIPS: usize = 4;
/// How often the backward edges outside counted loops are taken in one run, at most.
pub(crate) const FUEL: usize = 64;

/// Metadata nodes before those of the functions, and of each function.
const COMMON_NODES: usize = 4;
const FUNCTION_NODES: usize = 2;

pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    writeln!(out, "target triple = \"nvptx64-nvidia-cuda\"\n")?;
    let words = MAX_BLOCK * SHARED_BYTES / 8;
    writeln!(
        out,
        "@shared = internal addrspace(3) global [{words} x i64] poison, align 16\n"
    )?;
    for (name, _) in SPECIALS {
        writeln!(out, "declare i32 @llvm.nvvm.read.ptx.sreg.{name}()")?;
    }
    for ty in ["i16", "i32", "i64"] {
        for name in ["smin", "smax", "umin", "umax"] {
            writeln!(out, "declare {ty} @llvm.{name}.{ty}({ty}, {ty})")?;
        }
    }
    writeln!(out, "declare float @llvm.fma.f32(float, float, float)")?;
    writeln!(out, "declare double @llvm.fma.f64(double, double, double)\n")?;
    if options.all_operations {
        snippets::header(out)?;
        walks::header(out, options)?;
        undefined::header(out, options)?;
        toggles::header(out, options)?;
    }
    if options.assembly {
        assembly::header(out, options)?;
    }
    if options.calls {
        // Not inlined, or no call would be left. The float is only compared, so any value is valid.
        writeln!(
            out,
            "define internal i32 @device(i32 %number, float %scale) noinline {{"
        )?;
        writeln!(out, "  %large = fcmp ogt float %scale, 1.0")?;
        writeln!(out, "  %shifted = lshr i32 %number, 3")?;
        writeln!(out, "  %mixed = mul i32 %number, 17")?;
        writeln!(out, "  %result = select i1 %large, i32 %shifted, i32 %mixed")?;
        writeln!(out, "  ret i32 %result\n}}\n")?;
    }
    Ok(())
}

const SPECIALS: [(&str, Special); 3] = [
    ("tid.x", Special::ThreadIndex),
    ("ctaid.x", Special::BlockIndex),
    ("ntid.x", Special::BlockSize),
];

pub(super) fn footer(out: &mut impl Write, options: &Options) -> io::Result<()> {
    if !options.debug_info {
        return Ok(());
    }
    writeln!(out, "!llvm.dbg.cu = !{{!0}}")?;
    writeln!(out, "!llvm.module.flags = !{{!2}}")?;
    writeln!(
        out,
        "!0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)"
    )?;
    writeln!(out, "!1 = !DIFile(filename: \"generated.cu\", directory: \"\")")?;
    writeln!(out, "!2 = !{{i32 2, !\"Debug Info Version\", i32 3}}")?;
    writeln!(out, "!3 = !DISubroutineType(types: !{{null}})")?;
    for number in 0..options.functions {
        let subprogram = COMMON_NODES + number * FUNCTION_NODES;
        let seed = options.seed.wrapping_add(number as u64);
        writeln!(
            out,
            "!{subprogram} = distinct !DISubprogram(name: \"f{seed}\", scope: !1, file: !1, line: 1, type: !3, \
             unit: !0, spFlags: DISPFlagDefinition)"
        )?;
        // Locations of single instructions are written inline, with this node as their scope.
        writeln!(
            out,
            "!{} = !DILexicalBlock(scope: !{subprogram}, file: !1, line: 1)",
            subprogram + 1
        )?;
    }
    Ok(())
}

pub(super) fn function(
    out: &mut impl Write,
    options: &Options,
    number: usize,
    function: &Function,
    random: &mut Random,
) -> io::Result<()> {
    let seed = options.seed.wrapping_add(number as u64);
    let subprogram = COMMON_NODES + number * FUNCTION_NODES;
    let mut loops = Loops::new(&function.graph, random);
    if options.assembly {
        loops.choose_early(&function.graph, random);
    }
    write!(
        out,
        "define ptx_kernel void @f{seed}(ptr addrspace(1) noalias readonly align 16 %in, \
         ptr addrspace(1) noalias align 16 %out, i32 %p_i32, i64 %p_i64, i16 %p_i16, float %p_float, \
         double %p_double)"
    )?;
    if options.debug_info {
        write!(out, " !dbg !{subprogram}")?;
    }
    writeln!(out, " {{")?;
    let scope = options.debug_info.then_some(subprogram + 1);
    let runs_once = (options.all_operations || options.assembly).then(|| snippets::run_once(&function.graph));
    let mut writer = Writer {
        out,
        function,
        loops,
        runs_once,
        has_snippets: options.all_operations,
        has_assembly: options.assembly,
        processor: (options.sm, options.is_architecture_specific),
        scope,
        line: 1,
        temporary: 0,
        random,
    };
    for block in function.graph.blocks() {
        writer.block(block)?;
    }
    writeln!(writer.out, "}}\n")
}

/// The bounds of a function's loops.
struct Loops {
    /// By header: the latch and the trip count.
    headers: Table<Block, Option<(Block, usize)>>,
    /// By latch: the header.
    latches: Table<Block, Option<Block>>,
    /// True if there are backward edges outside counted loops, so that fuel is needed.
    needs_fuel: bool,
    /// By header: how a counted loop carries an early-clobber result.
    early: Table<Block, Option<assembly::EarlyLoop>>,
    /// By exit: headers of loops whose early-clobber result is stored there.
    early_exits: Table<Block, Vec<Block>>,
}

impl Loops {
    fn new(graph: &Graph, random: &mut Random) -> Self {
        let mut headers = Table::filled(graph.len(), None);
        let mut latches = Table::filled(graph.len(), None);
        for &CountedLoop { header, latch } in &graph.counted {
            headers[header] = Some((latch, random.between(1, MAX_TRIPS)));
            latches[latch] = Some(header);
        }
        let needs_fuel = graph.blocks().any(|block| {
            let mut back = graph.successors(block).iter().filter(|&&target| target <= block);
            back.any(|&target| latches[block] != Some(target))
        });
        Self {
            headers,
            latches,
            needs_fuel,
            early: Table::filled(graph.len(), None),
            early_exits: Table::filled(graph.len(), Vec::new()),
        }
    }

    /// Chooses loops that carry an early-clobber result.
    fn choose_early(&mut self, graph: &Graph, random: &mut Random) {
        for header in graph.blocks() {
            let Some((latch, _)) = self.headers[header] else {
                continue;
            };
            self.early[header] = assembly::EarlyLoop::choose(random);
            // A latch has two successors and branches back to one of them.
            let mut successors = graph.successors(latch).iter();
            let exit = successors.find(|&&target| target != header);
            if let (Some(_), Some(&exit)) = (self.early[header], exit) {
                self.early_exits[exit].push(header);
            }
        }
    }
}

/// True if a counted loop has an index beside its counter. Not all have one: it takes instructions that
/// nobody asked for.
fn has_index(header: Block) -> bool {
    header.index().is_multiple_of(2)
}

struct Writer<'a, W> {
    out: &'a mut W,
    function: &'a Function,
    loops: Loops,
    /// With snippets or assembly: the blocks that every thread runs exactly once.
    runs_once: Option<Table<Block, bool>>,
    has_snippets: bool,
    has_assembly: bool,
    /// Compute capability, and whether the processor's name ends in `a`.
    processor: (u32, bool),
    /// The scope of debug locations.
    scope: Option<usize>,
    line: usize,
    temporary: usize,
    random: &'a mut Random,
}

impl<W: Write> Writer<'_, W> {
    fn block(&mut self, block: Block) -> io::Result<()> {
        let function = self.function;
        writeln!(self.out, "b{block}:")?;
        for phi in function.phis_of(block) {
            let ty = name(function.types[phi.result]);
            write!(self.out, "  %v{} = phi {ty}", phi.result)?;
            let operands = function.phi_operands(phi);
            self.incoming(block, |position, _| {
                text(operands[position], function.types[phi.result])
            })?;
        }
        if let Some((latch, _)) = self.loops.headers[block] {
            self.counter(block, latch, "count", "next")?;
            if has_index(block) {
                self.counter(block, latch, "index", "index.next")?;
            }
        }
        self.early_phis(block)?;
        if self.loops.needs_fuel && block != function.graph.entry() {
            write!(self.out, "  %fuel.{block} = phi i32")?;
            self.incoming(block, |_, predecessor| format!("%left.{predecessor}"))?;
        }
        if block == function.graph.entry() {
            self.prologue()?;
        }
        self.early_stores_at_exit(block)?;
        let runs_once = self.runs_once.as_ref().is_some_and(|once| once[block]);
        for instruction in function.instructions_of(block) {
            self.instruction(instruction)?;
            if self.has_assembly {
                self.assembly_behind(runs_once)?;
            }
        }
        if self.has_snippets {
            self.snippets(runs_once)?;
        }
        if self.has_assembly {
            self.assembly_at_end(runs_once)?;
            self.early_latch(block)?;
        }
        self.terminator(block)
    }

    /// Writes a PHI that begins with 0 and continues with `next`.
    fn counter(&mut self, header: Block, latch: Block, name: &str, next: &str) -> io::Result<()> {
        write!(self.out, "  %{name}.{header} = phi i32")?;
        self.incoming(header, |_, predecessor| match predecessor == latch {
            true => format!("%{next}.{header}"),
            false => "0".to_owned(),
        })
    }

    /// Writes the operands of a PHI; LLVM requires one for each edge.
    fn incoming<T: fmt::Display>(
        &mut self,
        block: Block,
        value: impl Fn(usize, Block) -> T,
    ) -> io::Result<()> {
        let graph = &self.function.graph;
        let mut separator = "";
        let edges = graph.edges_from_predecessors(block);
        for (position, (&predecessor, &edges)) in graph.predecessors(block).iter().zip(edges).enumerate() {
            let value = value(position, predecessor);
            for _ in 0..edges {
                write!(self.out, "{separator} [ {value}, %b{predecessor} ]")?;
                separator = ",";
            }
        }
        writeln!(self.out)
    }

    /// Writes one line; with debug info, some lines share the source line of the previous one.
    fn line(&mut self, line: fmt::Arguments<'_>) -> io::Result<()> {
        match self.scope {
            Some(scope) => {
                self.line += self.random.index(3);
                let column = self.random.between(1, 40);
                let number = self.line;
                writeln!(
                    self.out,
                    "  {line}, !dbg !DILocation(line: {number}, column: {column}, scope: !{scope})"
                )
            }
            None => writeln!(self.out, "  {line}"),
        }
    }

    fn temporary(&mut self) -> usize {
        self.temporary += 1;
        self.temporary
    }

    /// Writes the start of the thread's own memory, and initialises shared memory.
    fn prologue(&mut self) -> io::Result<()> {
        self.line(format_args!(
            "%thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()"
        ))?;
        self.line(format_args!(
            "%block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()"
        ))?;
        self.line(format_args!(
            "%block.size = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()"
        ))?;
        self.line(format_args!("%before = mul i32 %block, %block.size"))?;
        self.line(format_args!("%global = add i32 %before, %thread"))?;
        self.line(format_args!("%global.wide = zext i32 %global to i64"))?;
        self.line(format_args!("%out.start = mul i64 %global.wide, {OUT_BYTES}"))?;
        self.line(format_args!(
            "%own.out = getelementptr i8, ptr addrspace(1) %out, i64 %out.start"
        ))?;
        self.line(format_args!("%thread.wide = zext i32 %thread to i64"))?;
        self.line(format_args!(
            "%shared.start = mul i64 %thread.wide, {SHARED_BYTES}"
        ))?;
        self.line(format_args!(
            "%own.shared = getelementptr i8, ptr addrspace(3) @shared, i64 %shared.start"
        ))?;
        if self.runs_once.is_some() || self.uses_shared() {
            for offset in (0..SHARED_BYTES).step_by(8) {
                let address = self.temporary();
                self.line(format_args!(
                    "%t{address} = getelementptr i8, ptr addrspace(3) %own.shared, i64 {offset}"
                ))?;
                self.line(format_args!(
                    "store i64 {offset}, ptr addrspace(3) %t{address}, align 8"
                ))?;
            }
        }
        if self.has_snippets {
            self.snippet_prologue()?;
        }
        if self.has_assembly && self.multiplies_in_background() {
            self.fragments()?;
        }
        if self.loops.needs_fuel {
            // Not a constant, or loops might be unrolled.
            self.line(format_args!("%fuel.some = and i32 %p_i32, {}", FUEL / 2 - 1))?;
            self.line(format_args!("%fuel.0 = add i32 %fuel.some, {}", FUEL / 2))?;
        }
        Ok(())
    }

    fn uses_shared(&self) -> bool {
        let mut instructions = self.function.instructions.iter();
        instructions.any(|instruction| {
            matches!(
                instruction.operation,
                Operation::Load(Space::Shared) | Operation::Store(Space::Shared)
            )
        })
    }
}
