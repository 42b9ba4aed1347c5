//! Prints snapshots for people, in a notation close to LLVM's machine IR.

use super::abi::{
    ConstantKind, EdgeRecord, MemoryFlags, MemoryOperandRecord, OperandFlags, OperandKind,
    PROBABILITY_DENOMINATOR, PROBABILITY_UNKNOWN,
};
use super::view::{InstructionRef, OperandRef, Snapshot};
use crate::entity::{
    Block, Constant, EntityRef, PhysicalRegister, Register, Symbol, Variable, from_one_based,
};
use std::fmt::{self, Display, Formatter, Write as _};

impl Display for Snapshot<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        let kind = if self.is_kernel() { "kernel" } else { "function" };
        let function = self.function();
        writeln!(
            out,
            "{kind} {} stage {} sm_{} ptx{} {{",
            self.name(),
            self.stage().name(),
            function.sm,
            function.ptx_version
        )?;
        for block in self.blocks() {
            self.print_block(block, out)?;
        }
        writeln!(out, "}}")
    }
}

/// Without its source position.
impl Display for InstructionRef<'_> {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        self.snapshot().print_instruction(self, out)
    }
}

impl Snapshot<'_> {
    fn print_block(&self, block: Block, out: &mut Formatter<'_>) -> fmt::Result {
        let record = self.block(block);
        write!(out, "bb.{}", record.number)?;
        let name = self.string(record.name);
        if !name.is_empty() {
            write!(out, ".{name}")?;
        }
        write!(out, ":")?;
        if record.frequency != 0 && function_frequency(self) != 0 {
            let relative = record.frequency as f64 / function_frequency(self) as f64;
            write!(out, " frequency {relative:.3}")?;
        }
        for (index, edge) in self.edges(block).iter().enumerate() {
            write!(out, "{}", if index == 0 { " -> " } else { ", " })?;
            self.print_edge(edge, out)?;
        }
        writeln!(out)?;
        for (index, predecessor) in self.predecessors(block).enumerate() {
            let separator = if index == 0 { "  ; predecessors: " } else { ", " };
            write!(out, "{separator}bb.{}", self.block(predecessor).number)?;
        }
        if self.predecessors(block).len() > 0 {
            writeln!(out)?;
        }
        for instruction in self.instructions_of(block) {
            let reference = self.instruction(instruction);
            write!(out, "  @{} {reference}", instruction.index())?;
            self.print_location(&reference, out)?;
        }
        Ok(())
    }

    fn print_edge(&self, edge: &EdgeRecord, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "bb.{}", self.block(Block::new(edge.block as usize)).number)?;
        if edge.probability != PROBABILITY_UNKNOWN {
            let share = f64::from(edge.probability) / f64::from(PROBABILITY_DENOMINATOR);
            write!(out, " ({:.1}%)", share * 100.0)?;
        }
        Ok(())
    }

    fn print_instruction(&self, instruction: &InstructionRef<'_>, out: &mut Formatter<'_>) -> fmt::Result {
        let is_result = |operand: &OperandRef<'_>| {
            operand.flags().contains(OperandFlags::DEF) && !operand.flags().contains(OperandFlags::IMPLICIT)
        };
        let results = instruction.operands().take_while(is_result).count();
        for (number, operand) in instruction.operands().enumerate().take(results) {
            write!(out, "{}", if number == 0 { "" } else { ", " })?;
            self.print_operand(&operand, out)?;
        }
        if results != 0 {
            write!(out, " = ")?;
        }
        write!(out, "{}", instruction.opcode_name())?;
        let mnemonic = self.string(self.opcode(instruction.opcode()).mnemonic);
        if let Some((mnemonic, _letters)) = mnemonic.split_once(' ') {
            write!(out, "({mnemonic})")?;
        }
        for (number, operand) in instruction.operands().enumerate().skip(results) {
            write!(out, "{}", if number == results { " " } else { ", " })?;
            self.print_operand(&operand, out)?;
        }
        for (number, memory) in instruction.memory_operands().iter().enumerate() {
            write!(out, "{}", if number == 0 { " :: " } else { ", " })?;
            self.print_memory_operand(memory, out)?;
        }
        Ok(())
    }

    fn print_location(&self, instruction: &InstructionRef<'_>, out: &mut Formatter<'_>) -> fmt::Result {
        if let Some(location) = instruction.location() {
            let record = self.location(location);
            write!(
                out,
                " ; {}:{}:{}",
                self.string(record.file),
                record.line,
                record.column
            )?;
        }
        writeln!(out)
    }

    fn print_operand(&self, operand: &OperandRef<'_>, out: &mut Formatter<'_>) -> fmt::Result {
        const SHOWN: &[(OperandFlags, &str)] = &[
            (OperandFlags::IMPLICIT, "implicit "),
            (OperandFlags::DEAD, "dead "),
            (OperandFlags::KILL, "killed "),
            (OperandFlags::UNDEF, "undef "),
            (OperandFlags::EARLY_CLOBBER, "early-clobber "),
        ];
        for &(flag, text) in SHOWN {
            if operand.flags().contains(flag) {
                out.write_str(text)?;
            }
        }
        let record = operand.record();
        let index = record.index as usize;
        match operand.kind() {
            OperandKind::Register => {
                write!(out, "%{index}")?;
                if operand.flags().contains(OperandFlags::DEF) {
                    let class = self.class(self.register_class(Register::new(index)));
                    write!(out, ":{}", self.string(class.name).to_lowercase())?;
                }
            }
            OperandKind::NoRegister => write!(out, "$noreg")?,
            OperandKind::Physical => {
                let name = self.string(self.physical_register(PhysicalRegister::new(index)).name);
                write!(out, "${}", name.to_lowercase())?;
            }
            OperandKind::Immediate => write!(out, "{}", record.value)?,
            OperandKind::Constant => self.print_constant(Constant::new(index), out)?,
            OperandKind::Block => write!(out, "%bb.{}", self.block(Block::new(index)).number)?,
            OperandKind::FrameIndex => {
                write!(
                    out,
                    "%stack.{}",
                    index as i64 - i64::from(self.function().fixed_frame_objects)
                )?;
            }
            OperandKind::Symbol => {
                self.print_symbol(Symbol::new(index), out)?;
                if record.value != 0 {
                    write!(out, " + {}", record.value)?;
                }
            }
            OperandKind::Variable => {
                write!(out, "!{}", self.string(self.variable(Variable::new(index)).name))?;
            }
            OperandKind::Metadata => write!(out, "!")?,
            OperandKind::Opaque | OperandKind::Original => write!(out, "<opaque {}>", record.value)?,
        }
        if let Some(tied) = operand.tied_to() {
            write!(out, "(tied {tied})")?;
        }
        Ok(())
    }

    /// Prints a symbol on one line: the text of inline assembly is one too, and may have several.
    fn print_symbol(&self, symbol: Symbol, out: &mut Formatter<'_>) -> fmt::Result {
        out.write_char('@')?;
        for character in self.string(self.symbol(symbol).name).chars() {
            if character.is_control() {
                write!(out, "{}", character.escape_default())?;
            } else {
                out.write_char(character)?;
            }
        }
        Ok(())
    }

    fn print_constant(&self, constant: Constant, out: &mut Formatter<'_>) -> fmt::Result {
        let record = self.constant(constant);
        match ConstantKind::from_abi(record.kind) {
            Some(ConstantKind::Single) => write!(out, "float {:?}", f32::from_bits(record.low as u32)),
            Some(ConstantKind::Double) => write!(out, "double {:?}", f64::from_bits(record.low)),
            Some(ConstantKind::Half) => write!(out, "half {:#06x}", record.low),
            Some(ConstantKind::Bfloat) => write!(out, "bfloat {:#06x}", record.low),
            Some(ConstantKind::Integer) => {
                let value = u128::from(record.high) << 64 | u128::from(record.low);
                write!(out, "i{} {value:#x}", record.bits)
            }
            Some(ConstantKind::Other) | None => write!(out, "<constant of {} bits>", record.bits),
        }
    }

    fn print_memory_operand(&self, memory: &MemoryOperandRecord, out: &mut Formatter<'_>) -> fmt::Result {
        const SHOWN: &[(MemoryFlags, &str)] = &[
            (MemoryFlags::VOLATILE, "volatile "),
            (MemoryFlags::NON_TEMPORAL, "non-temporal "),
            (MemoryFlags::DEREFERENCEABLE, "dereferenceable "),
            (MemoryFlags::INVARIANT, "invariant "),
            (MemoryFlags::ATOMIC, "atomic "),
            (MemoryFlags::LOAD, "load "),
            (MemoryFlags::STORE, "store "),
        ];
        let flags = MemoryFlags::from_bits_truncate(memory.flags);
        write!(out, "(")?;
        for &(flag, text) in SHOWN {
            if flags.contains(flag) {
                out.write_str(text)?;
            }
        }
        if flags.contains(MemoryFlags::SIZE_KNOWN) {
            write!(out, "{} bytes", memory.size_bytes)?;
        } else {
            write!(out, "unknown size")?;
        }
        if let Some(symbol) = from_one_based::<Symbol>(memory.base_symbol) {
            write!(out, " at ")?;
            self.print_symbol(symbol, out)?;
        } else if memory.base_value != 0 {
            write!(out, " at base {}", memory.base_value)?;
        }
        if memory.offset != 0 {
            write!(out, " + {}", memory.offset)?;
        }
        write!(out, ", addrspace {})", memory.address_space)
    }
}

fn function_frequency(snapshot: &Snapshot<'_>) -> u64 {
    snapshot.function().entry_frequency
}
