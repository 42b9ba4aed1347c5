//! Replaces loads and stores of promoted objects by values.

use super::frame_objects::FrameObjects;
use super::piece::{Piece, pieces_of};
use oriel_engine::entity::{Block, EntityRef, EntitySet, FrameObject, PrimaryMap, Register, SecondaryMap};
use oriel_engine::snapshot::abi::ConstantKind;
use oriel_ori::{
    Constant, ControlFlow, DataType, Function, Instruction, InstructionBuilder, JoinPlacer, Joins, Operand,
    OperandKind, Operation, Position, SsaConstruction, Values, Variable, VariableData,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// An object to promote.
#[derive(Clone, Debug)]
pub struct Promotion {
    /// The object.
    pub object: FrameObject,
    /// Its pieces, by offset.
    pub pieces: Vec<Piece>,
    /// Where each of them is live, and where it needs PHIs.
    pub joins: Vec<Joins>,
}

/// The instructions that promotion created and removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RewriteCounts {
    /// Loads removed.
    pub loads: u64,
    /// Stores removed.
    pub stores: u64,
    /// Instructions removed that computed addresses.
    pub addresses: u64,
    /// PHIs made.
    pub phis: u64,
    /// Constants moved into registers.
    pub constants: u64,
    /// Values extended, truncated or widened.
    pub conversions: u64,
    /// Loads of undefined values.
    pub undefined: u64,
}

impl RewriteCounts {
    /// Adds the counts of another round.
    pub fn add(&mut self, other: Self) {
        self.loads += other.loads;
        self.stores += other.stores;
        self.addresses += other.addresses;
        self.phis += other.phis;
        self.constants += other.constants;
        self.conversions += other.conversions;
        self.undefined += other.undefined;
    }
}

impl Promotion {
    /// Computes where the pieces of an object are live and where they need PHIs.
    pub fn plan(
        function: &Function,
        objects: &FrameObjects,
        object: FrameObject,
        pieces: Vec<Piece>,
        placer: &mut JoinPlacer<'_>,
    ) -> Self {
        let mut defining: Vec<EntitySet<Block>> = vec![EntitySet::new(); pieces.len()];
        let mut using = defining.clone();
        for access in &objects.of(object).accesses {
            let block = function
                .block_of(access.instruction)
                .expect("the access is in a block");
            let is_store = access.is_store(function);
            let parts = pieces_of(&pieces, access.start(), access.bytes(function));
            for number in parts {
                if is_store {
                    defining[number].insert(block);
                } else if !defining[number].contains(block) {
                    using[number].insert(block);
                }
            }
        }
        let places = defining.iter().zip(&using);
        let joins = places.map(|(defining, using)| placer.place(defining, using));
        Self {
            object,
            joins: joins.collect(),
            pieces,
        }
    }
}

/// The consecutive variables, one for each piece, that an element of an access consists of.
#[derive(Clone, Copy, Debug)]
struct Parts {
    first: Variable,
    count: u32,
}

impl Parts {
    fn iter(self) -> impl ExactSizeIterator<Item = Variable> {
        let first = self.first.as_u32();
        (0..self.count).map(move |number| Variable::from_u32(first + number))
    }
}

/// By access: the parts of each of its elements.
type Elements = HashMap<Instruction, SmallVec<[Parts; 4]>>;

/// Promotes objects: removes their accesses and addresses, and the objects themselves, in a single
/// walk.
pub fn promote(
    function: &mut Function,
    flow: &ControlFlow,
    objects: &FrameObjects,
    promotions: &[Promotion],
) -> RewriteCounts {
    let plan = RewritePlan::new(function, objects, promotions);
    let accesses = plan.accesses_by_block(function);
    let mut rewriter = Rewriter {
        variables: &plan.variables,
        elements: &plan.elements,
        counts: RewriteCounts::default(),
    };
    let construction = SsaConstruction::new(function, flow, &plan.variables, plan.joins);
    let phis = construction.run(function, &accesses, |function, instruction, values| {
        rewriter.rewrite(function, instruction, values);
    });
    rewriter.counts.phis = phis as u64;
    // In unreachable blocks no value is known.
    for block in accesses.keys().filter(|&block| !flow.order.is_reachable(block)) {
        let mut nothing = Values::default();
        for &instruction in &accesses[block] {
            rewriter.rewrite(function, instruction, &mut nothing);
        }
    }
    let mut counts = rewriter.counts;
    for promotion in promotions {
        let addresses = &objects.of(promotion.object).addresses;
        for &address in addresses {
            function.remove(address);
        }
        counts.addresses += addresses.len() as u64;
        function.remove_stack_object(promotion.object);
    }
    counts
}

/// The variables of all promoted objects, and the accesses in terms of them.
struct RewritePlan {
    variables: PrimaryMap<Variable, VariableData>,
    /// The blocks where variables need PHIs.
    joins: Vec<(Variable, Block)>,
    elements: Elements,
}

impl RewritePlan {
    fn new(function: &Function, objects: &FrameObjects, promotions: &[Promotion]) -> Self {
        let mut plan = Self {
            variables: PrimaryMap::new(),
            joins: Vec::new(),
            elements: Elements::new(),
        };
        for promotion in promotions {
            let first = plan.variables.len();
            for (piece, places) in promotion.pieces.iter().zip(&promotion.joins) {
                let variable = plan.variables.push(piece.variable);
                plan.joins
                    .extend(places.joins.iter().map(|&block| (variable, block)));
            }
            for access in &objects.of(promotion.object).accesses {
                let parts_of = |offset: u64| {
                    let parts = pieces_of(&promotion.pieces, offset, access.element_bytes(function));
                    Parts {
                        first: Variable::new(first + parts.start),
                        count: parts.len() as u32,
                    }
                };
                let parts = access.offsets(function).map(parts_of).collect();
                plan.elements.insert(access.instruction, parts);
            }
        }
        plan
    }

    /// Returns the accesses of all objects by block, in layout order.
    fn accesses_by_block(&self, function: &Function) -> SecondaryMap<Block, Vec<Instruction>> {
        let mut accesses: SecondaryMap<Block, Vec<Instruction>> = SecondaryMap::new();
        for &block in function.blocks() {
            let in_block = function.instructions(block);
            accesses[block].extend(in_block.filter(|instruction| self.elements.contains_key(instruction)));
        }
        accesses
    }
}

/// Rewrites accesses, given the values of the variables before each.
struct Rewriter<'a> {
    variables: &'a PrimaryMap<Variable, VariableData>,
    elements: &'a Elements,
    counts: RewriteCounts,
}

impl Rewriter<'_> {
    fn rewrite(&mut self, function: &mut Function, instruction: Instruction, values: &mut Values) {
        let is_store = function.operation(instruction) == Operation::St;
        for (number, &parts) in self.elements[&instruction].iter().enumerate() {
            match (is_store, parts.count) {
                (true, 1) => {
                    let value = self.stored_value(function, instruction, number, parts.first);
                    values.set(parts.first, value);
                }
                (true, _) => self.store_parts(function, instruction, number, parts, values),
                (false, 1) => {
                    let value = values.get(parts.first);
                    self.replace_loaded(function, instruction, number, parts.first, value);
                }
                (false, _) => self.load_parts(function, instruction, number, parts, values),
            }
        }
        if is_store {
            self.counts.stores += 1;
        } else {
            self.counts.loads += 1;
        }
        function.remove(instruction);
    }

    /// Splits a stored element into its parts.
    fn store_parts(
        &mut self,
        function: &mut Function,
        store: Instruction,
        number: usize,
        parts: Parts,
        values: &mut Values,
    ) {
        let source = function.source(store, number);
        if source.is_undefined() {
            for part in parts.iter() {
                values.set(part, None);
            }
            return;
        }
        let of_part = self.variables[parts.first].data_type;
        if let Some(bits) = function.constant_bits(source) {
            for (number, part) in parts.iter().enumerate() {
                let unused = 64 - of_part.bits();
                let value = (bits >> (number as u32 * of_part.bits())) << unused;
                let value = function.integer_operand(value as i64 >> unused);
                let new = InstructionBuilder::new(Operation::Mov, of_part).source(value);
                values.set(part, Some(self.insert(function, store, new, part)));
                self.counts.constants += 1;
            }
            return;
        }
        let mut new = InstructionBuilder::new(Operation::Unpack, of_part)
            .source_type(function.data_type(store))
            .source(source)
            .in_place_of(function.origin(store));
        for part in parts.iter() {
            let register = self.create_register(function, part);
            new = new.result(function.register_operand(register));
            values.set(part, Some(register));
        }
        function.insert(Position::Before(store), new);
        self.counts.conversions += 1;
    }

    /// Assembles a loaded element from its parts.
    fn load_parts(
        &mut self,
        function: &mut Function,
        load: Instruction,
        number: usize,
        parts: Parts,
        values: &Values,
    ) {
        let result = function.result(load, number).as_register();
        let register = result.expect("a load has registers as results");
        let of_part = self.variables[parts.first].data_type;
        let mut new = InstructionBuilder::new(Operation::Pack, function.data_type(load)).source_type(of_part);
        for part in parts.iter() {
            let value = values.get(part).unwrap_or_else(|| {
                self.counts.undefined += 1;
                let new = never_stored(function, of_part);
                self.insert(function, load, new, part)
            });
            new = new.source(function.register_operand(value));
        }
        insert_as(function, load, new, register);
        self.counts.conversions += 1;
    }

    fn create_register(&self, function: &mut Function, variable: Variable) -> Register {
        let data = &self.variables[variable];
        match data.model {
            Some(model) => function.create_register_like(model),
            None => function.create_register_of(data.data_type),
        }
    }

    /// Returns the register with the value that a store puts into a variable.
    fn stored_value(
        &mut self,
        function: &mut Function,
        store: Instruction,
        number: usize,
        variable: Variable,
    ) -> Option<Register> {
        let wanted = self.variables[variable].data_type;
        let source = function.source(store, number);
        if source.is_undefined() {
            return None;
        }
        let Some(register) = source.as_register() else {
            self.counts.constants += 1;
            let (data_type, constant) = moved_constant(function, source, wanted);
            let new = InstructionBuilder::new(Operation::Mov, data_type).source(constant);
            return Some(self.insert(function, store, new, variable));
        };
        let bits = u32::from(function.register(register).bits);
        if bits == wanted.bits() {
            return Some(register);
        }
        self.counts.conversions += 1;
        let new = InstructionBuilder::new(Operation::Cvt, DataType::unsigned(wanted.bits()))
            .source_type(DataType::unsigned(bits))
            .source(source);
        Some(self.insert(function, store, new, variable))
    }

    fn insert(
        &self,
        function: &mut Function,
        before: Instruction,
        new: InstructionBuilder,
        variable: Variable,
    ) -> Register {
        let register = self.create_register(function, variable);
        let new = new
            .result(function.register_operand(register))
            .in_place_of(function.origin(before));
        function.insert(Position::Before(before), new);
        register
    }

    /// Replaces the uses of an element of a load by the value of its variable.
    fn replace_loaded(
        &mut self,
        function: &mut Function,
        load: Instruction,
        number: usize,
        variable: Variable,
        value: Option<Register>,
    ) {
        let result = function.result(load, number);
        let register = result.as_register().expect("a load has registers as results");
        let memory = function.memory_type(load);
        let wide = u32::from(function.register(register).bits);
        // Only in unreachable code can the value be the load's own result.
        let Some(value) = value.filter(|&value| value != register) else {
            self.counts.undefined += 1;
            let new = never_stored(function, bits_of(function, register));
            insert_as(function, load, new, register);
            return;
        };
        let held = self.variables[variable].data_type.bits();
        if held == wide && memory.bits() == wide {
            let value = function.register_operand(value);
            function.replace_uses(register, value);
            return;
        }
        self.counts.conversions += 1;
        let is_signed = memory.is_signed();
        let typed = |bits: u32| {
            if is_signed {
                DataType::signed(bits)
            } else {
                DataType::unsigned(bits)
            }
        };
        let source = function.register_operand(value);
        // Only a byte is narrower than the register that holds it.
        let new = if is_signed || held < wide {
            InstructionBuilder::new(Operation::Cvt, typed(wide))
                .source_type(typed(memory.bits()))
                .source(source)
        } else {
            debug_assert_eq!(memory.bits(), 8, "{load} loads less than its register");
            let mask = Operand::immediate(0xFF).expect("it fits");
            InstructionBuilder::new(Operation::And, DataType::B16)
                .source(source)
                .source(mask)
        };
        insert_as(function, load, new, register);
    }
}

/// Makes the value of a load that no store reaches: zero. An undefined register would do for most
/// users, but `freeze` is a copy here, and all of its users must see the same value. LLVM gives each
/// user of an undefined register another one.
fn never_stored(function: &mut Function, data_type: DataType) -> InstructionBuilder {
    if data_type.bits() > 64 {
        return InstructionBuilder::new(Operation::ImplicitDef, data_type);
    }
    let zero = function.integer_operand(0);
    InstructionBuilder::new(Operation::Mov, data_type).source(zero)
}

/// Inserts an instruction before a load that defines one of its results.
pub(super) fn insert_as(
    function: &mut Function,
    load: Instruction,
    new: InstructionBuilder,
    result: Register,
) {
    let new = new
        .result(function.register_operand(result))
        .in_place_of(function.origin(load));
    function.insert(Position::Before(load), new);
}

/// Returns the type and the source of a MOV that puts a constant into a register of the type
/// `wanted`: a constant of that width keeps its own type, any other is moved as bits.
pub(super) fn moved_constant(
    function: &mut Function,
    constant: Operand,
    wanted: DataType,
) -> (DataType, Operand) {
    let OperandKind::Constant(id) = constant.kind() else {
        return (wanted, constant);
    };
    let Constant::Bits { kind, bits, low, .. } = function.constant_data(id) else {
        return (wanted, constant);
    };
    let data_type = match kind {
        ConstantKind::Half => DataType::F16,
        ConstantKind::Bfloat => DataType::Bf16,
        ConstantKind::Single => DataType::F32,
        ConstantKind::Double => DataType::F64,
        ConstantKind::Integer | ConstantKind::Other => wanted,
    };
    if bits == wanted.bits() {
        (data_type, constant)
    } else {
        (wanted, function.integer_operand(low as i64))
    }
}

/// Returns the type of plain bits for a register.
pub(super) fn bits_of(function: &Function, register: Register) -> DataType {
    let bits = function.register(register).bits;
    DataType::of_bits(bits.into()).expect("registers for data have a width that a type has")
}
