//! The validity check of snapshots.
//!
//! A snapshot from a file is checked before it is used: every index is in range, every range is in
//! order, and every number of an enumerator is known. After that the accessors of [`Snapshot`]
//! cannot fail.

use super::abi::{
    ABI_VERSION, Access, ConstantKind, OpcodeFlags, OperandFlags, OperandKind, PROBABILITY_DENOMINATOR,
    PROBABILITY_UNKNOWN, RegisterFile, RegisterFlags, Stage, StringRecord, SymbolKind,
};
use super::view::Snapshot;
use crate::entity::{Block, EntityRef, Instruction};
use bitvec::vec::BitVec;

/// An invalid record of a snapshot.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{subject}: {problem}")]
pub struct SnapshotError {
    /// The record, such as `operand 12`.
    pub subject: String,
    /// The defect.
    pub problem: String,
}

type Checked = Result<(), SnapshotError>;

fn fail<T>(subject: impl Into<String>, problem: impl Into<String>) -> Result<T, SnapshotError> {
    Err(SnapshotError {
        subject: subject.into(),
        problem: problem.into(),
    })
}

/// Fails unless `index` is below `count`.
fn in_range(subject: impl Fn() -> String, what: &str, index: u32, count: usize) -> Checked {
    if (index as usize) < count {
        return Ok(());
    }
    fail(
        subject(),
        format!("{what} {index} does not exist; there are {count}"),
    )
}

/// Fails unless the one-based `index` is zero or at most `count`.
fn optional_in_range(subject: impl Fn() -> String, what: &str, index: u32, count: usize) -> Checked {
    if (index as usize) <= count {
        return Ok(());
    }
    fail(
        subject(),
        format!("{what} {} does not exist; there are {count}", index - 1),
    )
}

/// Fails unless the starts of consecutive ranges ascend from zero to `total`.
fn ascending(name: &str, what: &str, starts: impl Iterator<Item = u32>, total: usize) -> Checked {
    let mut previous = 0;
    for (index, start) in starts.enumerate() {
        if start < previous || (index == 0 && start != 0) {
            return fail(
                format!("{name} {index}"),
                format!("its {what} start at {start}, before {previous}"),
            );
        }
        previous = start;
    }
    if previous as usize != total {
        return fail(
            format!("the last {name}"),
            format!("its {what} end at {previous}, not at {total}"),
        );
    }
    Ok(())
}

impl Snapshot<'_> {
    /// Checks that every record is valid, so that no accessor can fail.
    ///
    /// # Errors
    /// Returns the first invalid record.
    pub fn check(&self) -> Checked {
        self.check_strings()?;
        self.check_function()?;
        self.check_ranges()?;
        self.check_tables()?;
        self.check_blocks()?;
        self.check_predecessors()?;
        self.check_instructions()?;
        self.check_chains()
    }

    fn check_strings(&self) -> Checked {
        let arrays = self.arrays();
        let size = arrays.strings.len() as u64;
        let check = |subject: String, string: StringRecord| {
            if u64::from(string.offset) + u64::from(string.length) <= size {
                return Ok(());
            }
            fail(subject, format!("its text is outside the {size} string bytes"))
        };
        let function = arrays.function;
        for (name, string) in [
            ("module", function.module),
            ("name", function.name),
            ("triple", function.triple),
            ("cpu", function.cpu),
        ] {
            check(format!("function {name}"), string)?;
        }
        macro_rules! check_all {
            ($($array:ident: $($field:ident),*;)*) => {$(
                for (index, record) in arrays.$array.iter().enumerate() {
                    $( check(format!("{} {index}", stringify!($array)), record.$field)?; )*
                }
            )*};
        }
        check_all! {
            blocks: name;
            register_classes: name;
            opcodes: name, mnemonic;
            symbols: name;
            physical_registers: name;
            locations: file, function;
            variables: name, function;
        }
        Ok(())
    }

    fn check_function(&self) -> Checked {
        let function = self.function();
        if function.abi_version != ABI_VERSION {
            return fail(
                "function",
                format!("it has ABI version {}, not {ABI_VERSION}", function.abi_version),
            );
        }
        if Stage::from_abi(function.stage).is_none() {
            return fail("function", format!("stage {} is unknown", function.stage));
        }
        if function.fixed_frame_objects as usize > self.arrays().frame_objects.len() {
            return fail("function", "it has more fixed frame objects than frame objects");
        }
        Ok(())
    }

    fn check_ranges(&self) -> Checked {
        let arrays = self.arrays();
        ascending(
            "block",
            "instructions",
            arrays.blocks.iter().map(|block| block.first_instruction),
            self.instruction_count(),
        )?;
        ascending(
            "block",
            "edges",
            arrays.blocks.iter().map(|block| block.first_successor),
            arrays.edges.len(),
        )?;
        ascending(
            "block",
            "predecessors",
            arrays.blocks.iter().map(|block| block.first_predecessor),
            arrays.predecessors.len(),
        )?;
        ascending(
            "instruction",
            "operands",
            arrays
                .instructions
                .iter()
                .map(|instruction| instruction.first_operand),
            arrays.operands.len(),
        )?;
        ascending(
            "instruction",
            "memory operands",
            arrays
                .instructions
                .iter()
                .map(|instruction| instruction.first_memory_operand),
            arrays.memory_operands.len(),
        )
    }

    fn check_tables(&self) -> Checked {
        let arrays = self.arrays();
        for (index, class) in arrays.register_classes.iter().enumerate() {
            if RegisterFile::from_abi(class.file).is_none() {
                return fail(
                    format!("register class {index}"),
                    format!("register file {} is unknown", class.file),
                );
            }
        }
        for (index, register) in arrays.registers.iter().enumerate() {
            in_range(
                || format!("register {index}"),
                "register class",
                register.register_class.into(),
                arrays.register_classes.len(),
            )?;
        }
        // The most that can be live at once has to be a number.
        let units = arrays.registers.iter().map(|register| {
            let class = &arrays.register_classes[register.register_class as usize];
            u64::from(class.bits.div_ceil(32).max(1))
        });
        if units.sum::<u64>() > i32::MAX as u64 {
            return fail(
                "registers".to_owned(),
                "they have more bits than can be counted".to_owned(),
            );
        }
        for (index, constant) in arrays.constants.iter().enumerate() {
            if ConstantKind::from_abi(constant.kind).is_none() {
                return fail(
                    format!("constant {index}"),
                    format!("kind {} is unknown", constant.kind),
                );
            }
        }
        for (index, symbol) in arrays.symbols.iter().enumerate() {
            if SymbolKind::from_abi(symbol.kind).is_none() {
                return fail(
                    format!("symbol {index}"),
                    format!("kind {} is unknown", symbol.kind),
                );
            }
        }
        for (index, location) in arrays.locations.iter().enumerate() {
            // Calls come before the code inlined at them, so no chain has a cycle.
            optional_in_range(
                || format!("location {index}"),
                "location",
                location.inlined_at,
                index,
            )?;
        }
        Ok(())
    }

    fn check_blocks(&self) -> Checked {
        let arrays = self.arrays();
        let count = self.block_count();
        for (index, edge) in arrays.edges.iter().enumerate() {
            in_range(|| format!("edge {index}"), "block", edge.block, count)?;
            if edge.probability > PROBABILITY_DENOMINATOR && edge.probability != PROBABILITY_UNKNOWN {
                return fail(format!("edge {index}"), "its probability is above one");
            }
        }
        let mut numbers: Vec<u32> = arrays.blocks[..count].iter().map(|block| block.number).collect();
        numbers.sort_unstable();
        if let Some(pair) = numbers.windows(2).find(|pair| pair[0] == pair[1]) {
            return fail("blocks", format!("number {} occurs twice", pair[0]));
        }
        Ok(())
    }

    /// Checks that the predecessor list of each edge's target contains the edge once.
    fn check_predecessors(&self) -> Checked {
        let arrays = self.arrays();
        let count = self.block_count();
        if arrays.predecessors.len() != arrays.edges.len() {
            return fail("predecessors", "their number differs from that of the edges");
        }
        for (index, &predecessor) in arrays.predecessors.iter().enumerate() {
            in_range(|| format!("predecessor {index}"), "block", predecessor, count)?;
        }
        let mut edges: Vec<(Block, Block)> = Vec::with_capacity(arrays.edges.len());
        let mut listed: Vec<(Block, Block)> = Vec::with_capacity(arrays.edges.len());
        for block in self.blocks() {
            edges.extend(self.successors(block).map(|successor| (successor, block)));
            listed.extend(self.predecessors(block).map(|predecessor| (block, predecessor)));
        }
        edges.sort_unstable();
        listed.sort_unstable();
        match edges.iter().zip(&listed).find(|(edge, pair)| edge != pair) {
            Some((&(target, _), &(block, _))) => fail(
                format!("block {}", target.min(block).index()),
                "its predecessors are not the blocks whose edges lead to it",
            ),
            None => Ok(()),
        }
    }

    fn check_instructions(&self) -> Checked {
        let arrays = self.arrays();
        for index in 0..self.instruction_count() {
            let record = &arrays.instructions[index];
            let subject = || format!("instruction {index}");
            in_range(subject, "opcode", record.opcode, arrays.opcodes.len())?;
            optional_in_range(subject, "location", record.location, arrays.locations.len())?;
            self.check_operands(Instruction::new(index))?;
        }
        for (index, memory) in arrays.memory_operands.iter().enumerate() {
            optional_in_range(
                || format!("memory operand {index}"),
                "symbol",
                memory.base_symbol,
                arrays.symbols.len(),
            )?;
        }
        Ok(())
    }

    fn check_operands(&self, instruction: Instruction) -> Checked {
        let arrays = self.arrays();
        let operands = self.instruction(instruction).operand_records();
        let is_phi = self
            .instruction(instruction)
            .opcode_flags()
            .contains(OpcodeFlags::PHI);
        for (number, operand) in operands.iter().enumerate() {
            let subject = || format!("operand {number} of instruction {}", instruction.index());
            let Some(kind) = OperandKind::from_abi(operand.kind.into()) else {
                return fail(subject(), format!("kind {} is unknown", operand.kind));
            };
            if OperandFlags::from_bits(operand.flags).is_none() {
                return fail(subject(), format!("flags {:#x} are unknown", operand.flags));
            }
            let (what, count) = match kind {
                OperandKind::Register => ("register", arrays.registers.len()),
                OperandKind::Physical => ("physical register", arrays.physical_registers.len()),
                OperandKind::Constant => ("constant", arrays.constants.len()),
                OperandKind::Block => ("block", self.block_count()),
                OperandKind::FrameIndex => ("frame object", arrays.frame_objects.len()),
                OperandKind::Symbol => ("symbol", arrays.symbols.len()),
                OperandKind::Variable => ("variable", arrays.variables.len()),
                OperandKind::Original => return fail(subject(), "only plans refer to other operands"),
                OperandKind::NoRegister
                | OperandKind::Immediate
                | OperandKind::Metadata
                | OperandKind::Opaque => continue,
            };
            in_range(subject, what, operand.index, count)?;
            // A tie that does not fit into eight bits is saturated and may point to any later
            // operand.
            if operand.tied_to != u8::MAX {
                optional_in_range(subject, "operand", operand.tied_to.into(), operands.len())?;
            }
        }
        if is_phi && !is_well_formed_phi(operands) {
            return fail(
                format!("instruction {}", instruction.index()),
                "a PHI must have a definition and pairs of register and block",
            );
        }
        Ok(())
    }

    /// Checks that every register with several definitions is marked and has all its operands
    /// listed, each once.
    fn check_chains(&self) -> Checked {
        let arrays = self.arrays();
        let mut operands = Vec::new();
        arrays.collect_register_operands(&mut operands);
        if arrays.register_operands.is_some_and(|listed| listed != operands) {
            return fail("register operands", "they do not match the instructions");
        }
        let mut definitions = vec![0u32; arrays.registers.len()];
        let mut mentions = vec![0u32; arrays.registers.len()];
        for operand in operands
            .iter()
            .filter(|operand| operand.access() != Access::FromBlock)
        {
            definitions[operand.index as usize] += u32::from(operand.access().is_definition());
            mentions[operand.index as usize] += 1;
        }
        let mut listed: BitVec = BitVec::repeat(false, operands.len());
        let mut previous = 0;
        for (index, chained) in arrays.chained_operands.iter().enumerate() {
            let subject = || format!("chained operand {index}");
            if chained.register < previous {
                return fail(subject(), "registers are out of order");
            }
            previous = chained.register;
            in_range(subject, "register", chained.register, arrays.registers.len())?;
            in_range(
                subject,
                "register operand",
                chained.register_operand,
                operands.len(),
            )?;
            let operand = &operands[chained.register_operand as usize];
            if operand.access() == Access::FromBlock || operand.index != chained.register {
                return fail(subject(), "it is another register's operand");
            }
            if definitions[operand.index as usize] < 2 {
                return fail(subject(), "its register does not have several definitions");
            }
            if listed.replace(chained.register_operand as usize, true) {
                return fail(subject(), "it is listed twice");
            }
            mentions[operand.index as usize] -= 1;
        }
        for (index, record) in arrays.registers.iter().enumerate() {
            let subject = || format!("register {index}");
            let chained = RegisterFlags::from_bits_truncate(record.flags).contains(RegisterFlags::CHAINED);
            if chained != (definitions[index] > 1) {
                let problem = "its mark as chained does not match its number of definitions";
                return fail(subject(), problem);
            }
            if chained && mentions[index] > 0 {
                let problem = format!("{} of its operands are not listed", mentions[index]);
                return fail(subject(), problem);
            }
        }
        Ok(())
    }
}

/// Checks for a definition, then pairs of register (or nothing) and block.
fn is_well_formed_phi(operands: &[super::abi::OperandRecord]) -> bool {
    let Some((definition, incoming)) = operands.split_first() else {
        return false;
    };
    let is_register = |operand: &super::abi::OperandRecord| operand.kind == OperandKind::Register as u8;
    let is_definition = |operand: &super::abi::OperandRecord| {
        OperandFlags::from_bits_truncate(operand.flags).contains(OperandFlags::DEF)
    };
    is_register(definition)
        && is_definition(definition)
        && incoming.len().is_multiple_of(2)
        && incoming.chunks_exact(2).all(|pair| {
            is_register(&pair[0]) && !is_definition(&pair[0]) && pair[1].kind == OperandKind::Block as u8
        })
}
