//! Random functions that the verifier accepts, for property tests: every operation, any control
//! flow.
//!
//! The control flow graph comes first. Blocks are then filled in preorder of the dominator tree, so
//! that the registers of dominators are available for uses; PHIs get their values last.

use super::constraints::{
    Expected, OperationConstraints, Role, Shape, SourceTypes, has_sound_count, types_fit,
};
use super::edit::{InstructionBuilder, Position};
use super::function::{
    Constant, Function, FunctionInfo, Instruction, InstructionFlags, MachineOpcode, MemoryAccess,
    RegisterFile, Special,
};
use super::modifiers::{
    AddressSpace, Comparison, ModifierFlags, Modifiers, Ordering, Rounding, Scope, SpecialRegister, Variant,
};
use super::operand::Operand;
use super::operation::{ModifierKinds, Operation, OperationFlags};
use super::types::DataType;
use oriel_engine::entity::{
    Block, EntityRef, FrameObject, Instruction as MachineInstruction, PhysicalRegister, Register,
};
use oriel_engine::graph::{ControlFlowGraph, DominatorTree, ReversePostorder, Traversal};
use oriel_engine::snapshot::abi::{ConstantKind, FunctionFlags, MemoryFlags, OpcodeFlags, Stage};
use oriel_random::{Random, Stream};

/// Kinds of registers, with their types.
const REGISTER_TYPES: [DataType; 5] = [
    DataType::B1,
    DataType::B16,
    DataType::B32,
    DataType::B64,
    DataType::B128,
];

/// Names that operands may refer to.
const NAMES: [&str; 3] = ["table", "odd name", "_Z1f$2.x"];

/// Texts of inline assembly, which are names as well.
const ASSEMBLY: [&str; 3] = [
    "mov.u32 $0, 5;\n\tadd.u32 $0, $0, $1;",
    "{ .reg .pred p; setp.ne.u32 p, $1, 0; @p mov.u32 $0, $1; }",
    "cp.async.wait_all;",
];

/// True for operations with a fixed position or that occur in groups.
fn is_placed_apart(operation: Operation) -> bool {
    operation == Operation::Phi
        || operation
            .flags()
            .intersects(OperationFlags::TERMINATOR | OperationFlags::CALL_SEQUENCE)
}

/// Generates a function that the verifier accepts; equal seeds give equal functions.
pub fn random_function(seed: u64, stage: Stage) -> Function {
    let mut random = Random::new(seed, Stream::TestOri);
    let function = empty_function(seed, stage, &mut random);
    let mut generator = Generator {
        function,
        random,
        available: Vec::new(),
    };
    let graph = generator.add_control_flow();
    generator.fill(&graph);
    generator.function
}

fn empty_function(seed: u64, stage: Stage, random: &mut Random) -> Function {
    let form = match stage {
        Stage::Ssa => FunctionFlags::SSA,
        Stage::Late => FunctionFlags::NO_PHIS,
    };
    let mut function = Function::new(FunctionInfo {
        name: format!("random {seed}"),
        stage,
        sm: random.pick(&[70, 80, 90, 100]),
        flags: form
            | random.pick(&[
                FunctionFlags::KERNEL,
                FunctionFlags::DEBUG_INFO,
                FunctionFlags::empty(),
            ]),
        entry_frequency: random.below(3) * 1000,
    });
    for name in NAMES.into_iter().chain(ASSEMBLY) {
        function.symbols.push(name.to_owned());
    }
    function
}

struct Generator {
    function: Function,
    random: Random,
    /// By block: registers that every path to its end defines.
    available: Vec<Vec<Register>>,
}

/// Blocks and how they end.
impl Generator {
    fn add_control_flow(&mut self) -> ControlFlowGraph<Block> {
        let count = self.random.between(1, 8);
        let mut blocks: Vec<Block> = (0..count).map(|_| self.function.create_block(None)).collect();
        // The layout may differ from the numbers, except for the entry.
        for number in (2..count).rev() {
            let other = self.random.between(1, number);
            blocks.swap(number, other);
        }
        for &block in &blocks {
            self.function.place_block(block, None);
            let frequency = self.random.below(3) * 777;
            self.function.blocks[block].frequency = frequency;
            self.function.blocks[block].is_address_taken = self.random.percent(5);
        }
        let edges: Vec<(Block, Vec<Block>)> = blocks
            .iter()
            .map(|&block| {
                let most = if count == 1 { 0 } else { 3 };
                let targets =
                    (0..self.random.between(0, most)).map(|_| Block::new(self.random.between(1, count - 1)));
                (block, targets.collect())
            })
            .collect();
        self.available = vec![Vec::new(); count];
        // Terminators come last: their operands need registers.
        let pairs = edges
            .iter()
            .flat_map(|(block, targets)| targets.iter().map(|&target| (*block, target)));
        ControlFlowGraph::new(count, Block::new(0), pairs)
    }

    fn fill(&mut self, graph: &ControlFlowGraph<Block>) {
        let order = ReversePostorder::new(graph, Traversal::default());
        let dominators = DominatorTree::new(graph, &order);
        let blocks = self.function.blocks().to_vec();
        let unreachable = blocks
            .iter()
            .copied()
            .filter(|&block| !dominators.is_reachable(block));
        let all: Vec<Block> = dominators.preorder().iter().copied().chain(unreachable).collect();
        for block in all {
            let from = dominators.immediate(block).unwrap_or(Block::new(0));
            self.available[block.index()] = self.available[from.index()].clone();
            self.fill_block(block, graph);
        }
        for block in blocks {
            self.add_phi_values(block, graph);
        }
    }

    fn fill_block(&mut self, block: Block, graph: &ControlFlowGraph<Block>) {
        if block == self.function.entry() {
            // One register of each kind is available everywhere.
            for data_type in REGISTER_TYPES {
                self.add_definition(block, Operation::ImplicitDef, data_type);
            }
        } else if self.function.info.stage == Stage::Ssa && !graph.predecessors(block).is_empty() {
            for _ in 0..self.random.between(0, 2) {
                let data_type = self.random.pick(&REGISTER_TYPES);
                self.add_definition(block, Operation::Phi, data_type);
            }
        }
        for _ in 0..self.random.between(0, 12) {
            let operation = self.random.pick(Operation::ALL);
            if operation == Operation::InlineAsm && self.random.percent(80) {
                self.add_assembly(block);
            } else if !is_placed_apart(operation) {
                self.add_instruction(block, operation);
            } else if operation == Operation::Call {
                self.add_call(block);
            }
        }
        self.add_terminator(block, graph.successors(block));
    }

    fn add_definition(&mut self, block: Block, operation: Operation, data_type: DataType) {
        let register = self.new_register(data_type);
        let result = self.function.register_operand(register);
        let new = InstructionBuilder::new(operation, data_type).result(result);
        self.function.insert(Position::End(block), new);
        self.available[block.index()].push(register);
    }

    fn add_phi_values(&mut self, block: Block, graph: &ControlFlowGraph<Block>) {
        let mut predecessors = graph.predecessors(block).to_vec();
        predecessors.sort_unstable();
        predecessors.dedup();
        let phis: Vec<Instruction> = self
            .function
            .instructions(block)
            .filter(|&instruction| self.function.operation(instruction) == Operation::Phi)
            .collect();
        for phi in phis {
            let mut sources = Vec::new();
            for &predecessor in &predecessors {
                let data_type = self.function.data_type(phi);
                sources.push(self.register_source(predecessor, |bits| bits == data_type.bits()));
                sources.push(Operand::target(predecessor));
            }
            self.function.set_sources(phi, &sources);
        }
    }

    fn add_terminator(&mut self, block: Block, targets: &[Block]) {
        let way = |generator: &mut Self, target: Block| {
            if generator.random.coin() {
                Operand::target(target)
            } else {
                Operand::fall_through(target)
            }
        };
        let plain = [Operation::Ret, Operation::Exit, Operation::End];
        let (operation, mut sources) = match targets.len() {
            0 => (self.random.pick(&plain), Vec::new()),
            1 => (Operation::Bra, Vec::new()),
            2 if self.random.coin() => (
                Operation::Bra,
                vec![self.register_source(block, |bits| bits == 1).complemented(true)],
            ),
            2 => (Operation::OpaqueTerminator, Vec::new()),
            _ => (
                Operation::Brx,
                vec![self.register_source(block, |bits| bits == 32)],
            ),
        };
        for &target in targets {
            sources.push(way(self, target));
        }
        let mut new = InstructionBuilder::new(operation, DataType::None);
        new.sources.extend(sources);
        self.decorate(&mut new);
        self.function.insert(Position::End(block), new);
    }

    /// Adds a complete call sequence.
    fn add_call(&mut self, block: Block) {
        for operation in [
            Operation::CallStart,
            Operation::DeclareParam,
            Operation::Prototype,
            Operation::Call,
            Operation::CallEnd,
        ] {
            self.add_instruction(block, operation);
        }
    }
}

/// Instructions.
impl Generator {
    fn add_instruction(&mut self, block: Block, operation: Operation) {
        let (shape, results) = self.shape(operation);
        let mut new = InstructionBuilder::new(operation, shape.data_type);
        new.source_type = shape.source_type;
        new.modifiers = self.modifiers(operation);
        for number in 0..shape.sources {
            let source = self.source(block, shape.expected(Role::Source, number));
            new.sources.push(source);
        }
        for number in 0..results {
            let register = self.result(block, shape.expected(Role::Result, number));
            new.results.push(self.function.register_operand(register));
        }
        self.decorate(&mut new);
        self.function.insert(Position::End(block), new);
        let last = self.function.last(block).expect("an instruction was added");
        self.available[block.index()].extend(self.function.result_registers(last));
    }

    /// Adds inline assembly with LLVM's operands: text, properties, and a word before each
    /// constraint.
    fn add_assembly(&mut self, block: Block) {
        const INPUT: i64 = 1;
        const RESULT: i64 = 2;
        const EARLY_RESULT: i64 = 3;
        const TIED: i64 = 1 << 31;
        let mut new = InstructionBuilder::new(Operation::InlineAsm, DataType::None);
        self.decorate(&mut new);
        let kinds = [
            (InstructionFlags::ASM_SIDE_EFFECTS, 1),
            (InstructionFlags::ASM_READS, 8),
            (InstructionFlags::ASM_WRITES, 16),
            (InstructionFlags::ASM_CONVERGENT, 32),
        ];
        let mut properties = 0;
        for (flag, bit) in kinds {
            let holds = self.random.percent(40);
            new.flags.set(flag, holds);
            properties |= if holds { bit } else { 0 };
        }
        let text = Special::Symbol {
            symbol: EntityRef::new(NAMES.len() + self.random.index(ASSEMBLY.len())),
            offset: 0,
        };
        new.sources.push(self.function.special_operand(text));
        new.sources.push(self.function.integer_operand(properties));
        let class_of = |bits: u32| match bits {
            1 => 1,
            16 => 2,
            32 => 4,
            64 => 6,
            _ => 7,
        };
        let is_late = self.function.info.stage == Stage::Late;
        let mut inputs: Vec<Operand> = (0..self.random.index(4))
            .map(|_| self.register_source(block, |_| true).undefined(false))
            .collect();
        let mut words = Vec::new();
        for number in 0..self.random.index(4) {
            let data_type = self.random.pick(&REGISTER_TYPES);
            let bits = data_type.bits();
            // In late form a tied input already has the register of the result.
            let tied = self.random.percent(30).then(|| {
                self.register_source(block, |other| other == bits)
                    .undefined(false)
            });
            let is_free = |operand: &Operand| {
                let others = inputs.iter().chain(&new.results);
                others
                    .filter(|it| it.as_register() == operand.as_register())
                    .count()
                    == 0
            };
            let result = match tied.filter(|tied| is_late && is_free(tied)) {
                Some(tied) => tied,
                None => {
                    let register = self.new_register(data_type);
                    self.function.register_operand(register)
                }
            };
            let kind = if self.random.percent(40) {
                EARLY_RESULT
            } else {
                RESULT
            };
            new.results.push(result);
            new.sources.push(
                self.function
                    .integer_operand(class_of(bits) << 16 | 1 << 3 | kind),
            );
            let shared = if is_late {
                (tied == Some(result)).then_some(result)
            } else {
                tied
            };
            if let Some(shared) = shared {
                words.push((TIED | (number as i64) << 16 | 1 << 3 | INPUT, shared));
            }
        }
        for input in inputs.drain(..) {
            let register = input.as_register().expect("it is a register");
            let bits = u32::from(self.function.register(register).bits);
            words.push((class_of(bits) << 16 | 1 << 3 | INPUT, input));
        }
        for (word, input) in words {
            new.sources.push(self.function.integer_operand(word));
            new.sources.push(input);
        }
        self.function.insert(Position::End(block), new);
        let last = self.function.last(block).expect("an instruction was added");
        self.available[block.index()].extend(self.function.result_registers(last));
    }

    /// Chooses matching types and numbers of operands, and the number of results.
    fn shape(&mut self, operation: Operation) -> (Shape, usize) {
        let constraints = OperationConstraints::of_operation(operation);
        let properties = operation.properties();
        let count = |random: &mut Random, (least, most): (u16, u16)| {
            random.between(usize::from(least), usize::from(most.min(least + 8)))
        };
        let one_of = |random: &mut Random, types: &[DataType]| {
            if types.is_empty() {
                DataType::None
            } else {
                random.pick(types)
            }
        };
        loop {
            let data_type = one_of(&mut self.random, constraints.data_types);
            let source_type = match constraints.source_types {
                SourceTypes::Optional(types) if self.random.coin() => self.random.pick(types),
                SourceTypes::Never | SourceTypes::Optional(_) => DataType::None,
                SourceTypes::Required(types) => self.random.pick(types),
            };
            let results = count(&mut self.random, properties.results);
            let sources = count(&mut self.random, properties.sources);
            if has_sound_count(operation, sources)
                && types_fit(operation, data_type, source_type, results, sources)
            {
                let shape = Shape {
                    operation,
                    data_type,
                    source_type,
                    sources,
                };
                return (shape, results);
            }
        }
    }

    fn modifiers(&mut self, operation: Operation) -> Modifiers {
        let allowed = operation.properties().modifiers;
        let required = OperationConstraints::of_operation(operation).required;
        let mut given = |kind: ModifierKinds| {
            allowed.contains(kind) && (required.contains(kind) || self.random.percent(50))
        };
        let (rounding, comparison, space) = (
            given(ModifierKinds::ROUNDING),
            given(ModifierKinds::COMPARISON),
            given(ModifierKinds::SPACE),
        );
        let (ordering, variant, flags) = (
            given(ModifierKinds::ORDERING),
            given(ModifierKinds::VARIANT),
            given(ModifierKinds::FLAGS),
        );
        let mut modifiers = Modifiers::default();
        if rounding {
            modifiers.rounding = self.random.pick(Rounding::ALL);
        }
        if comparison {
            modifiers.comparison = self.random.pick(Comparison::ALL);
        }
        if space {
            modifiers.space = self.random.pick(AddressSpace::ALL);
        }
        if ordering {
            modifiers.ordering = self.random.pick(Ordering::ALL);
            modifiers.scope = self.random.pick(Scope::ALL);
        }
        if variant {
            modifiers.variant = self.random.pick(Variant::ALL);
        }
        if flags {
            let all = ModifierFlags::all().bits();
            modifiers.flags = ModifierFlags::from_bits_truncate(self.random.word() as u16 & all);
        }
        modifiers
    }

    /// Adds origin, memory access, flags and opcode.
    fn decorate(&mut self, new: &mut InstructionBuilder) {
        new.flags =
            InstructionFlags::from_bits_truncate(self.random.word() as u16 & self.random.word() as u16);
        if self.random.coin() {
            new.origin = Some(MachineInstruction::new(self.random.index(1000)));
            new.origin_count = self.random.between(1, 3) as u32;
        }
        if new
            .operation
            .flags()
            .intersects(OperationFlags::READS | OperationFlags::WRITES)
            && self.random.coin()
        {
            let access = self.access();
            new.access = Some(self.function.intern_access(access));
        }
        if new.operation.is_opaque() {
            let flags = OpcodeFlags::from_bits_truncate(self.random.word() & self.random.word());
            let name = self.random.pick(&["INLINEASM", "anonymous_1", "a b"]);
            new.opcode = Some(self.function.opcodes.push(MachineOpcode {
                name: name.into(),
                mnemonic: None,
                flags,
            }));
        }
    }

    fn access(&mut self) -> MemoryAccess {
        let size = self.random.coin().then(|| self.random.below(128));
        let mut flags = MemoryFlags::from_bits_truncate(self.random.word() as u16);
        flags.set(MemoryFlags::SIZE_KNOWN, size.is_some());
        let symbols = self.function.symbols.len();
        MemoryAccess {
            base: self.random.coin().then(|| self.random.word()),
            symbol: self
                .random
                .coin()
                .then(|| EntityRef::new(self.random.index(symbols))),
            offset: i64::from(self.random.word() as i32),
            size,
            log2_alignment: self.random.below(64) as u8,
            flags,
        }
    }
}

/// Operands.
impl Generator {
    fn new_register(&mut self, data_type: DataType) -> Register {
        let file = match (data_type, self.random.percent(20)) {
            (DataType::B1, false) => RegisterFile::P,
            (DataType::B1, true) => RegisterFile::Up,
            (_, false) => RegisterFile::R,
            (_, true) => RegisterFile::Ur,
        };
        self.function.create_register(file, data_type.bits() as u16, None)
    }

    /// Returns a register to define: a new one or, in late form, one that has a definition.
    fn result(&mut self, block: Block, expected: Expected) -> Register {
        let bits = match expected {
            Expected::Value(data_type) => data_type.bits(),
            Expected::LowPart(data_type) => data_type.bits().max(16),
            _ => self.random.pick(&REGISTER_TYPES).bits(),
        };
        if self.function.info.stage == Stage::Late && self.random.percent(40) {
            let source = self.register_source(block, |other| other == bits);
            return source.as_register().expect("it is a register");
        }
        self.new_register(DataType::of_bits(bits).expect("a width of registers"))
    }

    /// Returns a register that is defined at the current end of a block.
    fn register_source(&mut self, block: Block, has_width: impl Fn(u32) -> bool) -> Operand {
        let function = &self.function;
        let fitting: Vec<Register> = self.available[block.index()]
            .iter()
            .copied()
            .filter(|&register| has_width(u32::from(function.register(register).bits)))
            .collect();
        let operand = function.register_operand(self.random.pick(&fitting));
        operand.undefined(self.random.percent(3))
    }

    fn source(&mut self, block: Block, expected: Expected) -> Operand {
        match expected {
            Expected::Value(data_type) if self.random.percent(25) => self.constant(data_type),
            Expected::Value(data_type) => {
                let register = self.register_source(block, |bits| bits == data_type.bits());
                let is_float = data_type.is_float();
                register
                    .negated(is_float && self.random.percent(10))
                    .absolute(is_float && self.random.percent(10))
                    .complemented(!is_float && self.random.percent(10))
            }
            Expected::LowPart(data_type) => {
                self.register_source(block, |bits| bits >= data_type.bits().max(16))
            }
            Expected::Address if self.random.coin() => {
                self.register_source(block, |bits| matches!(bits, 32 | 64))
            }
            Expected::Address => self.address(),
            Expected::Constant => self.integer(),
            Expected::Block => Operand::target(block),
            Expected::SpecialRegister => {
                let register = self.random.pick(SpecialRegister::ALL);
                self.function.special_operand(Special::SpecialRegister(register))
            }
            Expected::Machine => self.machine_operand(),
            Expected::Anything => match self.random.below(5) {
                0 => self.machine_operand(),
                1 => self.address(),
                2 => self.integer(),
                3 => Operand::NONE,
                _ => self.register_source(block, |_| true),
            },
        }
    }

    fn machine_operand(&mut self) -> Operand {
        let machine = Special::Machine {
            instruction: MachineInstruction::new(self.random.index(1000)),
            operand: self.random.below(9) as u32,
        };
        self.function.special_operand(machine)
    }

    fn address(&mut self) -> Operand {
        let special = match self.random.below(3) {
            0 => Special::Frame(FrameObject::new(self.random.index(4))),
            1 => Special::Physical(PhysicalRegister::new(self.random.index(4))),
            _ => Special::Symbol {
                symbol: EntityRef::new(self.random.index(self.function.symbols.len())),
                offset: self.random.pick(&[0, 0, 4, -8, i64::MIN, i64::MAX]),
            },
        };
        self.function.special_operand(special)
    }

    fn integer(&mut self) -> Operand {
        let value = match self.random.below(4) {
            0 => self.random.pick(&[i64::MIN, i64::MAX, -1, 0]),
            1 => i64::from(self.random.word() as i32),
            _ => self.random.below(64) as i64,
        };
        self.function.integer_operand(value)
    }

    fn constant(&mut self, data_type: DataType) -> Operand {
        let kind = match data_type {
            DataType::F32 => ConstantKind::Single,
            DataType::F64 => ConstantKind::Double,
            DataType::F16 => ConstantKind::Half,
            DataType::Bf16 => ConstantKind::Bfloat,
            DataType::B128 => ConstantKind::Integer,
            _ => return self.integer(),
        };
        let bits = data_type.bits();
        let word = u64::from(self.random.word()) << 32 | u64::from(self.random.word());
        self.function.constant_operand(Constant::Bits {
            kind,
            bits,
            low: word >> (64 - bits.min(64)),
            high: if bits == 128 { word } else { 0 },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::difference;
    use super::super::{Function, parse_function};
    use super::*;

    fn functions() -> impl Iterator<Item = Function> {
        (0..400).map(|seed| random_function(seed, if seed % 2 == 0 { Stage::Ssa } else { Stage::Late }))
    }

    #[test]
    fn random_functions_are_sound() {
        for function in functions() {
            let findings = function.verify();
            let text: Vec<String> = findings
                .iter()
                .map(|finding| finding.display(&function).to_string())
                .collect();
            assert!(findings.is_empty(), "{text:#?}\n{function}");
        }
    }

    #[test]
    fn random_functions_are_read_as_they_were_printed() {
        for function in functions() {
            let text = function.to_string();
            let read = parse_function(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
            assert_eq!(difference(&function, &read), None, "{text}");
            assert_eq!(read.to_string(), text);
            assert_eq!(read.verify(), []);
        }
    }

    #[test]
    fn random_functions_have_every_operation() {
        let mut missing: Vec<Operation> = Operation::ALL.to_vec();
        for function in functions() {
            for instruction in function.all_instructions() {
                missing.retain(|&operation| operation != function.operation(instruction));
            }
        }
        assert_eq!(missing, []);
    }
}
