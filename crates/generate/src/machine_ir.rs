//! Writes a program as machine IR text for `llc -mtriple=nvptx64 -x mir`.

use std::io::{self, Write};

use super::flags::{Flags, flags};
use super::graph::{Otherwise, Terminator};
use super::index::{Block, Value};
use super::model::{Function, Instruction, Operation, Use};
use super::opcodes::{self, Opcode};
use super::options::{Form, Options};
use oriel_random::Random;

/// Debug metadata of one function, by number.
struct Debug {
    variable: usize,
    location: usize,
}

/// Metadata nodes before those of the functions, and of each function.
const COMMON_NODES: usize = 5;
const FUNCTION_NODES: usize = 3;

/// Writes the LLVM IR module that precedes the machine functions; without debug info none is
/// needed.
pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    if !options.debug_info {
        return Ok(());
    }
    writeln!(out, "--- |")?;
    for function in 0..options.functions {
        let subprogram = COMMON_NODES + function * FUNCTION_NODES;
        writeln!(
            out,
            "  define void @{}() !dbg !{subprogram} {{",
            name(options, function)
        )?;
        writeln!(out, "    ret void, !dbg !{}", subprogram + 2)?;
        writeln!(out, "  }}")?;
    }
    writeln!(out, "  !llvm.dbg.cu = !{{!0}}")?;
    writeln!(out, "  !llvm.module.flags = !{{!2}}")?;
    writeln!(
        out,
        "  !0 = distinct !DICompileUnit(language: DW_LANG_C, file: !1, emissionKind: FullDebug)"
    )?;
    writeln!(out, "  !1 = !DIFile(filename: \"generated.cu\", directory: \"\")")?;
    writeln!(out, "  !2 = !{{i32 2, !\"Debug Info Version\", i32 3}}")?;
    writeln!(out, "  !3 = !DISubroutineType(types: !{{null}})")?;
    writeln!(
        out,
        "  !4 = !DIBasicType(name: \"int\", size: 32, encoding: DW_ATE_signed)"
    )?;
    for function in 0..options.functions {
        let subprogram = COMMON_NODES + function * FUNCTION_NODES;
        writeln!(
            out,
            "  !{subprogram} = distinct !DISubprogram(name: \"{}\", scope: !1, file: !1, line: 1, type: !3, \
             unit: !0, spFlags: DISPFlagDefinition)",
            name(options, function)
        )?;
        writeln!(
            out,
            "  !{} = !DILocalVariable(name: \"v\", scope: !{subprogram}, file: !1, line: 2, type: !4)",
            subprogram + 1
        )?;
        writeln!(
            out,
            "  !{} = !DILocation(line: 3, column: 1, scope: !{subprogram})",
            subprogram + 2
        )?;
    }
    writeln!(out, "...")
}

/// A function is named by its seed, alone and in a module.
pub(super) fn name(options: &Options, function: usize) -> String {
    format!("f{}", options.seed.wrapping_add(function as u64))
}

pub(super) fn function(
    out: &mut impl Write,
    options: &Options,
    number: usize,
    function: &Function,
    random: &mut Random,
) -> io::Result<()> {
    let node = COMMON_NODES + number * FUNCTION_NODES;
    let debug = options.debug_info.then_some(Debug {
        variable: node + 1,
        location: node + 2,
    });
    writeln!(
        out,
        "---\nname: {}\ntracksRegLiveness: true",
        name(options, number)
    )?;
    if options.form == Form::Late {
        // Stated explicitly, because a small function may happen to have one definition for each
        // register.
        writeln!(out, "noPhis: true\nisSSA: false")?;
    }
    writeln!(out, "body: |")?;
    let flags = flags(function);
    let mut writer = Writer {
        out,
        function,
        flags,
        debug,
        random,
        has_operands: false,
        has_assembly: options.assembly,
    };
    for block in function.graph.blocks() {
        writer.block(block)?;
    }
    writeln!(writer.out, "...")
}

struct Writer<'a, W> {
    out: &'a mut W,
    function: &'a Function,
    flags: Flags,
    debug: Option<Debug>,
    random: &'a mut Random,
    /// True if the current instruction has an operand after its name, so that a comma comes next.
    has_operands: bool,
    /// True if the assembly is written like people's, and there are effects around accesses.
    has_assembly: bool,
}

impl<W: Write> Writer<'_, W> {
    fn block(&mut self, block: Block) -> io::Result<()> {
        let function = self.function;
        writeln!(self.out, "  bb.{block}:")?;
        for (position, successor) in function.graph.successors(block).iter().enumerate() {
            let before = if position == 0 { "    successors: " } else { ", " };
            write!(self.out, "{before}%bb.{successor}")?;
        }
        if !function.graph.successors(block).is_empty() {
            writeln!(self.out, "\n")?;
        }
        for phi in function.phis_of(block) {
            self.definition(phi.result, "")?;
            write!(self.out, " = PHI ")?;
            let operands = function
                .phi_operands(phi)
                .iter()
                .zip(function.graph.predecessors(block));
            for (position, (operand, predecessor)) in operands.enumerate() {
                let before = if position == 0 { "" } else { ", " };
                write!(self.out, "{before}")?;
                self.operand(*operand, false)?;
                write!(self.out, ", %bb.{predecessor}")?;
            }
            self.has_operands = true;
            self.debug_location()?;
            writeln!(self.out)?;
        }
        self.undefined(&function.undefined_at_start[block])?;
        for instruction in function.instructions_of(block) {
            self.instruction(instruction)?;
        }
        self.undefined(&function.undefined_at_end[block])?;
        self.terminator(block)
    }

    fn undefined(&mut self, values: &[Value]) -> io::Result<()> {
        for &value in values {
            self.definition(value, "")?;
            writeln!(self.out, " = IMPLICIT_DEF")?;
        }
        Ok(())
    }

    fn definition(&mut self, value: Value, flags: &str) -> io::Result<()> {
        if flags.is_empty() {
            write!(self.out, "    ")?;
        }
        write!(
            self.out,
            "{flags}%{value}:{}",
            opcodes::class(self.function.types[value])
        )
    }

    /// Writes a register or a constant. A register is written with its class, because a register
    /// that is defined later in the text, or never, has no other indication of it.
    fn operand(&mut self, operand: Use, killed: bool) -> io::Result<()> {
        let class = |value: Value| opcodes::class(self.function.types[value]);
        match operand {
            Use::Value(value) if killed => write!(self.out, "killed %{value}:{}", class(value)),
            Use::Value(value) => write!(self.out, "%{value}:{}", class(value)),
            Use::Undefined(value) => write!(self.out, "undef %{value}:{}", class(value)),
            Use::Integer(constant) => write!(self.out, "{constant}"),
        }
    }

    /// Goes on to the next operand of an instruction.
    fn next(&mut self) -> io::Result<()> {
        let separator = if self.has_operands { ", " } else { " " };
        self.has_operands = true;
        write!(self.out, "{separator}")
    }

    fn debug_location(&mut self) -> io::Result<()> {
        if let Some(Debug { location, .. }) = self.debug {
            self.next()?;
            write!(self.out, "debug-location !{location}")?;
        }
        Ok(())
    }

    /// Sometimes writes that a register, or none, holds a source variable.
    fn debug_value(&mut self, defined: Option<Value>) -> io::Result<()> {
        let Some(Debug { variable, location }) = self.debug else {
            return Ok(());
        };
        let register = match defined {
            Some(value) if self.random.percent(15) => {
                format!("%{value}:{}", opcodes::class(self.function.types[value]))
            }
            Some(_) | None if self.random.percent(3) => "$noreg".to_owned(),
            Some(_) | None => return Ok(()),
        };
        writeln!(
            self.out,
            "    DBG_VALUE {register}, $noreg, !{variable}, !DIExpression(), debug-location !{location}"
        )
    }

    fn instruction(&mut self, instruction: &Instruction) -> io::Result<()> {
        if let Operation::Assembly { tied, early } = instruction.operation {
            return self.assembly(instruction, tied, early);
        }
        if instruction.operation == Operation::Call {
            self.call_start(instruction)?;
        }
        self.results(instruction)?;
        let operands = instruction.operands.range();
        let explicit = operands.start..operands.end - usize::from(instruction.has_implicit_use);
        let Opcode { name, suffix } = self.opcode(instruction);
        write!(self.out, "{name}")?;
        self.has_operands = false;
        match instruction.operation {
            Operation::Constant(constant) => {
                self.next()?;
                write!(self.out, "{constant}")?;
            }
            Operation::Parameter => {
                let bits = instruction.ty.bits();
                self.next()?;
                write!(self.out, "0, 0, 101, 3, {bits}, -1, &param_0, 0")?;
            }
            Operation::Load(space) => {
                let bits = instruction.ty.bits();
                self.next()?;
                write!(
                    self.out,
                    "0, 0, {}, 3, {bits}, -1, ",
                    opcodes::address_space(space)
                )?;
                self.use_at(explicit.start)?;
                let offset = self.offset();
                write!(self.out, ", {offset}")?;
            }
            Operation::Store(space) => {
                self.next()?;
                self.use_at(explicit.start)?;
                let bits = instruction.ty.bits();
                write!(self.out, ", 0, 0, {}, {bits}, ", opcodes::address_space(space))?;
                self.use_at(explicit.start + 1)?;
                let offset = self.offset();
                write!(self.out, ", {offset}")?;
            }
            Operation::Call => {
                self.next()?;
                write!(self.out, "0, 0, 101, 3, 32, -1, &retval0, 0")?;
            }
            _ => {
                for position in explicit {
                    self.next()?;
                    if let Use::Integer(constant) = self.function.uses[position]
                        && instruction.ty.is_float()
                    {
                        let ty = if instruction.ty.bits() == 32 {
                            "float"
                        } else {
                            "double"
                        };
                        write!(self.out, "{ty} {constant}.0")?;
                    } else {
                        self.use_at(position)?;
                    }
                }
            }
        }
        write!(self.out, "{suffix}")?;
        self.implicit(instruction)?;
        self.debug_location()?;
        self.memory_operand(instruction)?;
        writeln!(self.out)?;
        if instruction.operation == Operation::Call {
            writeln!(self.out, "    Callseq_End 0, 1")?;
        }
        self.debug_value(self.function.results_of(instruction).first().copied())
    }

    fn opcode(&self, instruction: &Instruction) -> Opcode {
        let Instruction { operation, ty, .. } = *instruction;
        let operands = self.function.operands_of(instruction);
        let constant = matches!(operands.get(1), Some(Use::Integer(_)));
        let memory = |name: &str| Opcode {
            name: format!("{name}_i{}", ty.bits()),
            suffix: "",
        };
        match operation {
            Operation::Binary(binary) => opcodes::binary(binary, ty, constant),
            Operation::Compare(comparison) => opcodes::compare(comparison, ty, constant),
            Operation::Convert { signed } => {
                let from = match operands[0] {
                    Use::Value(value) | Use::Undefined(value) => self.function.types[value],
                    Use::Integer(_) => unreachable!("a constant is not converted"),
                };
                opcodes::convert(from, ty, signed)
            }
            Operation::Parameter | Operation::Load(_) | Operation::Call => memory("LD"),
            Operation::Store(_) => memory("ST"),
            Operation::Constant(_)
            | Operation::Special(_)
            | Operation::MultiplyAdd
            | Operation::Negate
            | Operation::Select
            | Operation::Undefined
            | Operation::Copy
            | Operation::Pack
            | Operation::Unpack
            | Operation::Effect(_)
            | Operation::Assembly { .. } => {
                opcodes::plain(operation, ty).expect("assembly has been written elsewhere")
            }
        }
    }

    fn results(&mut self, instruction: &Instruction) -> io::Result<()> {
        let results = instruction.results.range();
        let explicit = results.start..results.end - usize::from(instruction.has_implicit_result);
        write!(self.out, "    ")?;
        for position in explicit.clone() {
            if position > explicit.start {
                write!(self.out, ", ")?;
            }
            let value = self.function.results[position];
            let dead = if self.flags.dead[position] && self.random.percent(50) {
                "dead "
            } else {
                ""
            };
            write!(
                self.out,
                "{dead}%{value}:{}",
                opcodes::class(self.function.types[value])
            )?;
        }
        if !explicit.is_empty() {
            write!(self.out, " = ")?;
        }
        Ok(())
    }

    /// Byte offset of an access; few different ones if accesses are to be compared.
    fn offset(&mut self) -> u64 {
        let places = if self.has_assembly { 2 } else { 16 };
        8 * self.random.below(places)
    }

    fn use_at(&mut self, position: usize) -> io::Result<()> {
        let killed = self.flags.killed[position] && self.random.percent(40);
        self.operand(self.function.uses[position], killed)
    }

    fn implicit(&mut self, instruction: &Instruction) -> io::Result<()> {
        if instruction.has_implicit_result {
            let position = instruction.results.range().end - 1;
            let value = self.function.results[position];
            let dead = if self.flags.dead[position] && self.random.percent(50) {
                "dead "
            } else {
                ""
            };
            let class = opcodes::class(self.function.types[value]);
            self.next()?;
            write!(self.out, "implicit-def {dead}%{value}:{class}")?;
        }
        if instruction.has_implicit_use {
            self.next()?;
            write!(self.out, "implicit ")?;
            self.use_at(instruction.operands.range().end - 1)?;
        }
        Ok(())
    }

    fn memory_operand(&mut self, instruction: &Instruction) -> io::Result<()> {
        let bits = instruction.ty.bits();
        match instruction.operation {
            Operation::Load(space) => {
                write!(
                    self.out,
                    " :: (load (s{bits}), addrspace {})",
                    opcodes::address_space(space)
                )
            }
            Operation::Store(space) => {
                write!(
                    self.out,
                    " :: (store (s{bits}), addrspace {})",
                    opcodes::address_space(space)
                )
            }
            Operation::Parameter => {
                write!(
                    self.out,
                    " :: (dereferenceable invariant load (s{bits}), addrspace 101)"
                )
            }
            Operation::Call => write!(self.out, " :: (load (s{bits}), addrspace 101)"),
            Operation::Constant(_)
            | Operation::Special(_)
            | Operation::Binary(_)
            | Operation::MultiplyAdd
            | Operation::Negate
            | Operation::Compare(_)
            | Operation::Select
            | Operation::Convert { .. }
            | Operation::Undefined
            | Operation::Copy
            | Operation::Pack
            | Operation::Unpack
            | Operation::Effect(_)
            | Operation::Assembly { .. } => Ok(()),
        }
    }

    /// The call sequence up to the load of the result, which is printed as the instruction itself.
    fn call_start(&mut self, instruction: &Instruction) -> io::Result<()> {
        writeln!(self.out, "    Callseq_Start 0, 0")?;
        writeln!(self.out, "    DECLARE_PARAM_scalar &param0, 32")?;
        writeln!(self.out, "    DECLARE_PARAM_scalar &param1, 32")?;
        writeln!(self.out, "    DECLARE_PARAM_scalar &retval0, 32")?;
        for (parameter, operand) in self.function.operands_of(instruction).iter().take(2).enumerate() {
            write!(self.out, "    ST_i32 ")?;
            self.operand(*operand, false)?;
            writeln!(
                self.out,
                ", 0, 0, 101, 32, &param{parameter}, 0 :: (store (s32), addrspace 101)"
            )?;
        }
        writeln!(self.out, "    CALL_UNI &device, 1, 2")
    }

    fn assembly(&mut self, instruction: &Instruction, tied: bool, early: bool) -> io::Result<()> {
        const USE: u32 = 1;
        const DEFINITION: u32 = 2;
        const EARLY_CLOBBER: u32 = 3;
        const TIED_TO_FIRST: u32 = 1 << 31;
        /// The first result is the operand after the text, the extra word and the first flag word.
        const FIRST_RESULT: usize = 3;
        let function = self.function;
        let (text, properties) = self.assembly_text();
        write!(self.out, "    INLINEASM &\"{text}\", {properties}")?;
        let results = instruction.results.range();
        let last = results.end - 1;
        for position in results {
            let value = function.results[position];
            let is_early = early && position == last;
            let kind = if is_early { EARLY_CLOBBER } else { DEFINITION };
            let flag = opcodes::assembly_flag(function.types[value], kind);
            let dead = if self.flags.dead[position] && self.random.percent(50) {
                "dead "
            } else {
                ""
            };
            let early = if is_early { "early-clobber " } else { "" };
            let class = opcodes::class(function.types[value]);
            write!(self.out, ", {flag}, def {dead}{early}%{value}:{class}")?;
        }
        let operands = instruction.operands.range();
        for position in operands.clone() {
            let operand = function.uses[position];
            let value = match operand {
                Use::Value(value) | Use::Undefined(value) => value,
                Use::Integer(_) => unreachable!("inline assembly is given registers only"),
            };
            if tied && position == operands.start {
                write!(self.out, ", {}, ", TIED_TO_FIRST | 1 << 3 | USE)?;
                self.use_at(position)?;
                write!(self.out, "(tied-def {FIRST_RESULT})")?;
            } else {
                write!(
                    self.out,
                    ", {}, ",
                    opcodes::assembly_flag(function.types[value], USE)
                )?;
                self.use_at(position)?;
            }
        }
        self.has_operands = true;
        self.debug_location()?;
        writeln!(self.out)?;
        self.debug_value(function.results_of(instruction).first().copied())
    }

    /// The text of inline assembly, and its properties as LLVM 22 prints them.
    fn assembly_text(&mut self) -> (&'static str, String) {
        const TEXTS: [&str; 7] = [
            "// generated",
            "mov.u32 $0, 5;\\0A\\09add.u32 $0, $0, $1;",
            "{ .reg .pred p; setp.ne.u32 p, $1, 0; @p mov.u32 $0, $1; }",
            "cp.async.wait_all;",
            "bar.sync 1, 128;",
            "setmaxnreg.dec.sync.aligned.u32 40;",
            "shfl.sync.down.b32 $0, $1, 1, 31, -1;",
        ];
        const SIDE_EFFECT: u32 = 1;
        const MAY_LOAD: u32 = 8;
        const MAY_STORE: u32 = 16;
        const CONVERGENT: u32 = 32;
        if !self.has_assembly {
            let properties = if self.random.percent(50) {
                "1 /* sideeffect */"
            } else {
                "0"
            };
            return (TEXTS[0], properties.to_owned());
        }
        let mut properties = 0;
        let mut names = Vec::new();
        for (bit, name, percent) in [
            (SIDE_EFFECT, "sideeffect", 60),
            (MAY_LOAD, "mayload", 25),
            (MAY_STORE, "maystore", 25),
            (CONVERGENT, "isconvergent", 15),
        ] {
            if self.random.percent(percent) {
                properties |= bit;
                names.push(name);
            }
        }
        let text = self.random.pick(&TEXTS);
        match names.is_empty() {
            true => (text, "0".to_owned()),
            false => (text, format!("{properties} /* {} */", names.join(" "))),
        }
    }

    fn terminator(&mut self, block: Block) -> io::Result<()> {
        let function = self.function;
        let condition = function.bodies[block].condition;
        let condition = || condition.expect("a block with several ways out has a condition");
        match &function.graph.terminators[block] {
            Terminator::Return => writeln!(self.out, "    Return"),
            Terminator::FallThrough => Ok(()),
            Terminator::Jump(target) => writeln!(self.out, "    GOTO %bb.{target}"),
            Terminator::Branch { target, otherwise } => {
                write!(self.out, "    CBranch ")?;
                self.operand(condition(), false)?;
                writeln!(self.out, ", %bb.{target}")?;
                match otherwise {
                    Otherwise::FallThrough => Ok(()),
                    Otherwise::Jump(other) => writeln!(self.out, "    GOTO %bb.{other}"),
                }
            }
            Terminator::Switch(targets) => {
                let (last, others) = targets.split_last().expect("a switch has targets");
                writeln!(self.out, "    BRX_START {block}")?;
                for target in others {
                    writeln!(self.out, "    BRX_ITEM %bb.{target}")?;
                }
                write!(self.out, "    BRX_END %bb.{last}, ")?;
                self.operand(condition(), false)?;
                writeln!(self.out, ", {block}")
            }
        }
    }
}
