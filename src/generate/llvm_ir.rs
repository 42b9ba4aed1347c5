//! Writes a program as an LLVM IR module of kernels.
//!
//! Every kernel has the parameters `(in, out, i32, i64, i16, float, double)`, may be launched with at most
//! `MAX_BLOCK` threads a block and `MAX_GRID` threads altogether in one dimension, and gives the same memory in
//! every correct execution:
//!
//! - `in` has `IN_BYTES` bytes, which are only read; indexes are masked;
//! - `out` has `OUT_BYTES` bytes for each thread of the grid, which only that thread reads and writes; it has to be
//!   filled before the launch, as its old content may be read;
//! - shared memory has `SHARED_BYTES` bytes for each thread of the block, likewise its own, given known values at the start;
//! - a divisor is odd and positive, a shift amount is masked;
//! - a float is clamped before it becomes an integer, and a NaN becomes zero before it is stored, as the bits of a
//!   NaN are not defined;
//! - loops of structured shapes run at most `MAX_TRIPS` times each time that they are entered; in other shapes all
//!   edges back in the layout together are taken at most `FUEL` times.
//!
//! With [`Options::all_operations`] threads work together, and blocks need a power of two of threads, at least 32.

mod snippets;

use std::fmt;
use std::io::{self, Write};

use super::graph::{CountedLoop, Graph, Otherwise, Terminator};
use super::index::{Block, Table, Value};
use super::model::{Binary, Comparison, Function, Instruction, Operation, Space, Special, Type, Use};
use super::options::Options;
use crate::random::Random;

/// Threads that a block of a generated kernel's launch may have at most.
pub const MAX_BLOCK: usize = 64;
/// Blocks that the grid of a generated kernel's launch may have at most.
pub const MAX_GRID: usize = 1024;
/// Size in bytes of the buffer that a kernel reads.
pub const IN_BYTES: usize = 4096;
/// Bytes of the output buffer that belong to one thread.
pub const OUT_BYTES: usize = 256;
/// Bytes of shared memory that belong to one thread.
pub const SHARED_BYTES: usize = 128;
/// How often the body of a counted loop runs at most.
pub const MAX_TRIPS: usize = 4;
/// How often all edges back that are not those of counted loops are taken in one run at most.
pub const FUEL: usize = 64;

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
    }
    if options.calls {
        // Not inlined, or no call would be left; the float is compared only, so that it may be anything.
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
        // Locations of single instructions are written in line, with this node as their scope.
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
    let loops = Loops::new(&function.graph, random);
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
    let runs_once = options
        .all_operations
        .then(|| snippets::run_once(&function.graph));
    let mut writer = Writer {
        out,
        function,
        loops,
        runs_once,
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

/// How the loops of a function are bounded.
struct Loops {
    /// By header: the latch and how often the loop runs.
    headers: Table<Block, Option<(Block, usize)>>,
    /// By latch: the header.
    latches: Table<Block, Option<Block>>,
    /// Edges back in the layout of no counted loop exist, so that fuel is needed.
    needs_fuel: bool,
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
        }
    }
}

fn name(ty: Type) -> &'static str {
    match ty {
        Type::I1 => "i1",
        Type::I16 => "i16",
        Type::I32 => "i32",
        Type::I64 => "i64",
        Type::F32 => "float",
        Type::F64 => "double",
        Type::B128 => unreachable!("LLVM IR is given no register pairs"),
    }
}

/// An operand as text.
enum Text {
    Value(Value),
    Integer(i64),
    Float(i64),
}

impl fmt::Display for Text {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => write!(out, "%v{value}"),
            Self::Integer(constant) => write!(out, "{constant}"),
            Self::Float(constant) => write!(out, "{constant}.0"),
        }
    }
}

fn text(operand: Use, ty: Type) -> Text {
    match operand {
        Use::Value(value) => Text::Value(value),
        Use::Integer(constant) if ty.is_float() => Text::Float(constant),
        Use::Integer(constant) => Text::Integer(constant),
        Use::Undefined(_) => unreachable!("LLVM IR is given no undefined values"),
    }
}

struct Writer<'a, W> {
    out: &'a mut W,
    function: &'a Function,
    loops: Loops,
    /// With snippets: the blocks that every thread runs exactly once.
    runs_once: Option<Table<Block, bool>>,
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
            write!(self.out, "  %count.{block} = phi i32")?;
            self.incoming(block, |_, predecessor| match predecessor == latch {
                true => format!("%next.{block}"),
                false => "0".to_owned(),
            })?;
        }
        if self.loops.needs_fuel && block != function.graph.entry() {
            write!(self.out, "  %fuel.{block} = phi i32")?;
            self.incoming(block, |_, predecessor| format!("%left.{predecessor}"))?;
        }
        if block == function.graph.entry() {
            self.prologue()?;
        }
        for instruction in function.instructions_of(block) {
            self.instruction(instruction)?;
        }
        if let Some(runs_once) = &self.runs_once {
            self.snippets(runs_once[block])?;
        }
        self.terminator(block)
    }

    /// The operands of a PHI; LLVM wants one for each edge.
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

    /// One line; with debug info, some lines have the same source line as the one before.
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

    /// Where the thread's own memory begins, and known values in shared memory.
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
        if self.runs_once.is_some() {
            self.snippet_prologue()?;
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

    fn instruction(&mut self, instruction: &Instruction) -> io::Result<()> {
        let function = self.function;
        let Instruction { operation, ty, .. } = *instruction;
        let operands = function.operands_of(instruction);
        let operand = |position: usize| text(operands[position], ty);
        let result = function.results_of(instruction).first().copied();
        let result = || result.expect("only a store has no result");
        let type_name = || name(ty);
        match operation {
            Operation::Parameter => {
                let zero = if ty.is_float() { "-0.0" } else { "0" };
                let add = if ty.is_float() { "fadd" } else { "add" };
                let ty = type_name();
                self.line(format_args!("%v{} = {add} {ty} %p_{ty}, {zero}", result()))
            }
            Operation::Special(special) => {
                let known = SPECIALS.iter().find(|(_, known)| *known == special);
                let (name, _) = known.expect("the table has every special register");
                self.line(format_args!(
                    "%v{} = call i32 @llvm.nvvm.read.ptx.sreg.{name}()",
                    result()
                ))
            }
            Operation::Binary(binary) => self.binary(binary, ty, result(), operands),
            Operation::MultiplyAdd => {
                let bits = ty.bits();
                let ty = type_name();
                self.line(format_args!(
                    "%v{} = call {ty} @llvm.fma.f{bits}({ty} {}, {ty} {}, {ty} {})",
                    result(),
                    operand(0),
                    operand(1),
                    operand(2)
                ))
            }
            Operation::Negate => self.line(format_args!(
                "%v{} = fneg {} {}",
                result(),
                type_name(),
                operand(0)
            )),
            Operation::Compare(comparison) => {
                let condition = condition(comparison, ty);
                self.line(format_args!(
                    "%v{} = {condition} {} {}, {}",
                    result(),
                    type_name(),
                    operand(0),
                    operand(1)
                ))
            }
            Operation::Select => {
                let predicate = text(operands[2], Type::I1);
                let ty = type_name();
                self.line(format_args!(
                    "%v{} = select i1 {predicate}, {ty} {}, {ty} {}",
                    result(),
                    operand(0),
                    operand(1)
                ))
            }
            Operation::Convert { signed } => self.convert(signed, ty, result(), operands[0]),
            Operation::Load(space) => {
                let address = self.address(space, operands[0], ty, false)?;
                let (ty, bytes) = (type_name(), ty.bits() / 8);
                let space = address_space(space);
                self.line(format_args!(
                    "%v{} = load {ty}, ptr addrspace({space}) %t{address}, align {bytes}",
                    result()
                ))
            }
            Operation::Store(space) => {
                let address = self.address(space, operands[1], ty, true)?;
                let value = self.without_nan(operands[0], ty)?;
                let (ty, bytes) = (type_name(), ty.bits() / 8);
                let space = address_space(space);
                self.line(format_args!(
                    "store {ty} {value}, ptr addrspace({space}) %t{address}, align {bytes}"
                ))
            }
            Operation::Call => {
                let scale = text(operands[1], Type::F32);
                self.line(format_args!(
                    "%v{} = call i32 @device(i32 {}, float {scale})",
                    result(),
                    operand(0)
                ))
            }
            Operation::Constant(_)
            | Operation::Undefined
            | Operation::Copy
            | Operation::Pack
            | Operation::Unpack
            | Operation::Assembly { .. } => unreachable!("{operation:?} is for machine code only"),
        }
    }

    fn binary(&mut self, binary: Binary, ty: Type, result: Value, operands: &[Use]) -> io::Result<()> {
        let left = text(operands[0], ty);
        let type_name = name(ty);
        if ty.is_float() {
            let name = float_name(binary);
            let right = text(operands[1], ty);
            return self.line(format_args!("%v{result} = {name} {type_name} {left}, {right}"));
        }
        let right = if binary.is_shift() {
            match operands[1] {
                Use::Integer(amount) => amount.to_string(),
                amount @ (Use::Value(_) | Use::Undefined(_)) => self.shift_amount(ty, amount)?,
            }
        } else if binary.is_division() {
            // Odd and below 2^14: never zero, and never -1 under the smallest number.
            let (masked, odd) = (self.temporary(), self.temporary());
            let right = text(operands[1], ty);
            self.line(format_args!("%t{masked} = and {type_name} {right}, 16383"))?;
            self.line(format_args!("%t{odd} = or {type_name} %t{masked}, 1"))?;
            format!("%t{odd}")
        } else {
            text(operands[1], ty).to_string()
        };
        let name = match binary {
            Binary::Add => "add",
            Binary::Subtract => "sub",
            Binary::Multiply => "mul",
            Binary::And => "and",
            Binary::Or => "or",
            Binary::Xor => "xor",
            Binary::ShiftLeft => "shl",
            Binary::ShiftRight => "lshr",
            Binary::ShiftRightSigned => "ashr",
            Binary::Divide => "sdiv",
            Binary::DivideUnsigned => "udiv",
            Binary::Remainder => "srem",
            Binary::RemainderUnsigned => "urem",
            Binary::Minimum => "smin",
            Binary::Maximum => "smax",
            Binary::MinimumUnsigned => "umin",
            Binary::MaximumUnsigned => "umax",
        };
        let is_call = matches!(
            binary,
            Binary::Minimum | Binary::Maximum | Binary::MinimumUnsigned | Binary::MaximumUnsigned
        );
        if is_call {
            self.line(format_args!(
                "%v{result} = call {type_name} @llvm.{name}.{type_name}({type_name} {left}, {type_name} {right})"
            ))
        } else {
            self.line(format_args!("%v{result} = {name} {type_name} {left}, {right}"))
        }
    }

    /// A 32-bit amount, masked to what the type allows and converted to it.
    fn shift_amount(&mut self, ty: Type, amount: Use) -> io::Result<String> {
        let masked = self.temporary();
        self.line(format_args!(
            "%t{masked} = and i32 {}, {}",
            text(amount, Type::I32),
            ty.bits() - 1
        ))?;
        let conversion = match ty {
            Type::I16 => "trunc",
            Type::I64 => "zext",
            Type::I1 | Type::I32 | Type::F32 | Type::F64 | Type::B128 => return Ok(format!("%t{masked}")),
        };
        let converted = self.temporary();
        self.line(format_args!(
            "%t{converted} = {conversion} i32 %t{masked} to {}",
            name(ty)
        ))?;
        Ok(format!("%t{converted}"))
    }

    fn convert(&mut self, signed: bool, ty: Type, result: Value, operand: Use) -> io::Result<()> {
        let from = match operand {
            Use::Value(value) | Use::Undefined(value) => self.function.types[value],
            Use::Integer(_) => unreachable!("a constant is not converted"),
        };
        let (from_name, to_name) = (name(from), name(ty));
        let mut value = text(operand, from).to_string();
        let conversion = match (from.is_float(), ty.is_float()) {
            (true, true) if from.bits() < ty.bits() => "fpext",
            (true, true) => "fptrunc",
            (false, true) if signed => "sitofp",
            (false, true) => "uitofp",
            (true, false) => {
                // Outside of the integer's range the result would be poison.
                let (low, high, inside, kept) = (
                    self.temporary(),
                    self.temporary(),
                    self.temporary(),
                    self.temporary(),
                );
                self.line(format_args!("%t{low} = fcmp ogt {from_name} {value}, 0.0"))?;
                self.line(format_args!("%t{high} = fcmp olt {from_name} {value}, 30000.0"))?;
                self.line(format_args!("%t{inside} = and i1 %t{low}, %t{high}"))?;
                self.line(format_args!(
                    "%t{kept} = select i1 %t{inside}, {from_name} {value}, {from_name} 7.0"
                ))?;
                value = format!("%t{kept}");
                if signed { "fptosi" } else { "fptoui" }
            }
            (false, false) if from.bits() > ty.bits() => "trunc",
            (false, false) if signed => "sext",
            (false, false) => "zext",
        };
        self.line(format_args!(
            "%v{result} = {conversion} {from_name} {value} to {to_name}"
        ))
    }

    /// The value, or zero instead of a NaN.
    fn without_nan(&mut self, operand: Use, ty: Type) -> io::Result<String> {
        let value = text(operand, ty).to_string();
        if !ty.is_float() {
            return Ok(value);
        }
        let (ordered, kept) = (self.temporary(), self.temporary());
        let ty = name(ty);
        self.line(format_args!("%t{ordered} = fcmp ord {ty} {value}, 0.0"))?;
        self.line(format_args!(
            "%t{kept} = select i1 %t{ordered}, {ty} {value}, {ty} 0.0"
        ))?;
        Ok(format!("%t{kept}"))
    }

    /// A temporary that holds the address of an element, always inside its buffer.
    fn address(&mut self, space: Space, index: Use, ty: Type, written: bool) -> io::Result<usize> {
        // What is only read is read from either buffer.
        let (base, bytes) = match space {
            Space::Shared => ("%own.shared", SHARED_BYTES),
            Space::Global if written || self.random.percent(30) => ("%own.out", OUT_BYTES),
            Space::Global => ("%in", IN_BYTES),
        };
        let count = (bytes * 8 / ty.bits() as usize) as i64;
        let space = address_space(space);
        let element = name(ty);
        let address = match index {
            Use::Integer(constant) => {
                let address = self.temporary();
                let index = constant % count;
                self.line(format_args!(
                    "%t{address} = getelementptr {element}, ptr addrspace({space}) {base}, i64 {index}"
                ))?;
                address
            }
            Use::Value(_) | Use::Undefined(_) => {
                let (masked, wide, address) = (self.temporary(), self.temporary(), self.temporary());
                self.line(format_args!(
                    "%t{masked} = and i32 {}, {}",
                    text(index, Type::I32),
                    count - 1
                ))?;
                self.line(format_args!("%t{wide} = zext i32 %t{masked} to i64"))?;
                self.line(format_args!(
                    "%t{address} = getelementptr {element}, ptr addrspace({space}) {base}, i64 %t{wide}"
                ))?;
                address
            }
        };
        Ok(address)
    }

    fn terminator(&mut self, block: Block) -> io::Result<()> {
        let graph = &self.function.graph;
        let next = || graph.next(block).expect("the last block does not fall through");
        let goes_back = graph.successors(block).iter().any(|&target| target <= block);
        if self.loops.needs_fuel {
            let spent = i32::from(goes_back);
            self.line(format_args!("%left.{block} = sub i32 %fuel.{block}, {spent}"))?;
        }
        let condition = self.function.bodies[block].condition;
        let condition = || condition.expect("a block with several ways out has a condition");
        match &graph.terminators[block] {
            Terminator::Return => self.line(format_args!("ret void")),
            Terminator::FallThrough => self.line(format_args!("br label %b{}", next())),
            Terminator::Jump(target) => self.line(format_args!("br label %b{target}")),
            Terminator::Branch { target, otherwise } => {
                let other = match *otherwise {
                    Otherwise::FallThrough => next(),
                    Otherwise::Jump(other) => other,
                };
                if let Some(header) = self.loops.latches[block] {
                    return self.latch(header, other, condition());
                }
                let condition = text(condition(), Type::I1).to_string();
                self.branch(block, condition, *target, other)
            }
            Terminator::Switch(targets) => self.switch(block, targets, condition()),
        }
    }

    /// Goes back as long as the count and the program's own condition allow.
    fn latch(&mut self, header: Block, exit: Block, condition: Use) -> io::Result<()> {
        let (_, trips) = self.loops.headers[header].expect("the latch of a loop knows its header");
        self.line(format_args!("%next.{header} = add i32 %count.{header}, 1"))?;
        self.line(format_args!(
            "%more.{header} = icmp slt i32 %next.{header}, {trips}"
        ))?;
        let condition = text(condition, Type::I1);
        self.line(format_args!(
            "%again.{header} = and i1 %more.{header}, {condition}"
        ))?;
        self.line(format_args!(
            "br i1 %again.{header}, label %b{header}, label %b{exit}"
        ))
    }

    /// A branch that cannot go back without fuel.
    fn branch(&mut self, block: Block, condition: String, target: Block, other: Block) -> io::Result<()> {
        let backward = (target <= block, other <= block);
        let guarded = match backward {
            (false, false) => condition,
            (true, _) | (_, true) => {
                let (left, guarded) = (self.temporary(), self.temporary());
                self.line(format_args!("%t{left} = icmp sgt i32 %left.{block}, 0"))?;
                if backward.0 {
                    self.line(format_args!("%t{guarded} = and i1 {condition}, %t{left}"))?;
                } else {
                    let empty = self.temporary();
                    self.line(format_args!("%t{empty} = xor i1 %t{left}, true"))?;
                    self.line(format_args!("%t{guarded} = or i1 {condition}, %t{empty}"))?;
                }
                format!("%t{guarded}")
            }
        };
        self.line(format_args!("br i1 {guarded}, label %b{target}, label %b{other}"))
    }

    /// A switch on an index that hits the table most of the time.
    fn switch(&mut self, block: Block, targets: &[Block], index: Use) -> io::Result<()> {
        let masked = self.temporary();
        let mask = targets.len().next_power_of_two() - 1;
        self.line(format_args!(
            "%t{masked} = and i32 {}, {mask}",
            text(index, Type::I32)
        ))?;
        // The default is a way forward, taken without fuel whatever the index is.
        let forward = targets
            .iter()
            .position(|&target| target > block)
            .expect("every block has a way forward");
        let mut masked = format!("%t{masked}");
        if targets.iter().any(|&target| target <= block) {
            let (left, guarded) = (self.temporary(), self.temporary());
            self.line(format_args!("%t{left} = icmp sgt i32 %left.{block}, 0"))?;
            self.line(format_args!(
                "%t{guarded} = select i1 %t{left}, i32 {masked}, i32 {forward}"
            ))?;
            masked = format!("%t{guarded}");
        }
        write!(self.out, "  switch i32 {masked}, label %b{} [", targets[forward])?;
        for (position, target) in targets
            .iter()
            .enumerate()
            .filter(|&(position, _)| position != forward)
        {
            write!(self.out, " i32 {position}, label %b{target}")?;
        }
        self.line(format_args!("]"))
    }
}

fn float_name(binary: Binary) -> &'static str {
    match binary {
        Binary::Add => "fadd",
        Binary::Subtract => "fsub",
        Binary::Multiply => "fmul",
        Binary::Divide => "fdiv",
        Binary::And
        | Binary::Or
        | Binary::Xor
        | Binary::ShiftLeft
        | Binary::ShiftRight
        | Binary::ShiftRightSigned
        | Binary::Minimum
        | Binary::Maximum
        | Binary::MinimumUnsigned
        | Binary::MaximumUnsigned
        | Binary::DivideUnsigned
        | Binary::Remainder
        | Binary::RemainderUnsigned => unreachable!("{binary:?} is for integers only"),
    }
}

fn address_space(space: Space) -> u32 {
    match space {
        Space::Global => 1,
        Space::Shared => 3,
    }
}

fn condition(comparison: Comparison, ty: Type) -> &'static str {
    match (comparison, ty.is_float()) {
        (Comparison::Equal, false) => "icmp eq",
        (Comparison::NotEqual, false) => "icmp ne",
        (Comparison::Less, false) => "icmp slt",
        (Comparison::LessOrEqual, false) => "icmp ule",
        (Comparison::Greater, false) => "icmp ugt",
        (Comparison::GreaterOrEqual, false) => "icmp sge",
        (Comparison::Equal, true) => "fcmp oeq",
        (Comparison::NotEqual, true) => "fcmp une",
        (Comparison::Less, true) => "fcmp olt",
        (Comparison::LessOrEqual, true) => "fcmp ole",
        (Comparison::Greater, true) => "fcmp ugt",
        (Comparison::GreaterOrEqual, true) => "fcmp oge",
    }
}
