//! Planning and applying rewrites.

use super::rewrite::{Becomes, NewInstruction, Rewrite, Value};
use crate::shared::copies::is_alike;
use oriel_engine::entity::Register;
use oriel_engine::snapshot::abi::ConstantKind;
use oriel_ori::machine::has_machine_opcode;
use oriel_ori::{
    Constant, DataType, Function, Instruction, InstructionBuilder, Operand, Operation, Position,
};
use smallvec::{SmallVec, smallvec};

/// A rewrite with operands for all its values.
#[derive(Debug)]
pub(super) struct Planned {
    pub changes: SmallVec<[PlannedChange; 1]>,
}

/// The change of one instruction.
#[derive(Debug)]
pub(super) struct PlannedChange {
    pub target: Instruction,
    /// The value that replaces its result everywhere; then there are no nodes.
    pub value: Option<Register>,
    /// The instructions that replace it, the last one with its result.
    pub nodes: SmallVec<[InstructionBuilder; 1]>,
    /// Results of all nodes except the last.
    inner: SmallVec<[Register; 2]>,
}

impl Planned {
    /// Returns the change of an instruction.
    pub fn change_of(&self, instruction: Instruction) -> Option<&PlannedChange> {
        self.changes.iter().find(|change| change.target == instruction)
    }

    /// True if a new instruction reads a register, or a result is replaced by it.
    pub fn reads(&self, register: Register) -> bool {
        self.changes.iter().any(|change| change.reads(register))
    }
}

impl PlannedChange {
    fn reads(&self, register: Register) -> bool {
        let mut sources = self.nodes.iter().flat_map(|node| node.sources());
        self.value == Some(register) || sources.any(|source| source.as_register() == Some(register))
    }

    /// Returns the registers that the target newly reads.
    pub fn new_reads(&self, function: &Function) -> impl Iterator<Item = Register> + '_ {
        let old: SmallVec<[Register; 4]> = function
            .sources(self.target)
            .iter()
            .filter_map(Operand::as_register)
            .collect();
        let sources = self.nodes.iter().flat_map(|node| node.sources());
        let read = sources
            .filter_map(|source| source.as_register())
            .chain(self.value);
        read.filter(move |register| !old.contains(register) && !self.inner.contains(register))
    }
}

/// Creates operands for the values of a rewrite; none if LLVM has no opcode for a new instruction.
pub(super) fn plan(function: &mut Function, rewrite: &Rewrite) -> Option<Planned> {
    let mut changes = SmallVec::new();
    for change in rewrite {
        let planned = match &change.becomes {
            Becomes::Value(value) => plan_value(function, change.target, *value)?,
            Becomes::Nodes(nodes) => plan_nodes(function, change.target, nodes)?,
            Becomes::Sources(values) => {
                let sources: SmallVec<[Operand; 4]> = values
                    .iter()
                    .map(|&value| operand(function, value, DataType::None, &[]))
                    .collect();
                let builder = InstructionBuilder::copy_of(function, change.target).with_sources(&sources);
                PlannedChange {
                    target: change.target,
                    value: None,
                    nodes: smallvec![builder],
                    inner: SmallVec::new(),
                }
            }
        };
        changes.push(planned);
    }
    Some(Planned { changes })
}

fn plan_value(function: &mut Function, target: Instruction, value: Value) -> Option<PlannedChange> {
    let result = function.result(target, 0).as_register()?;
    let bits = u32::from(function.register(result).bits);
    let data_type = match value {
        Value::Bits(_) => function.data_type(target),
        _ => DataType::of_bits(bits)?,
    };
    let new = operand(function, value, data_type, &[]);
    if new.as_register() == Some(result) {
        // In unreachable code a value can be computed from itself.
        return None;
    }
    if let Some(register) = new.as_register().filter(|&new| is_alike(function, new, result)) {
        return Some(PlannedChange {
            target,
            value: Some(register),
            nodes: SmallVec::new(),
            inner: SmallVec::new(),
        });
    }
    // A register of another class is copied.
    let operation = match new.as_register() {
        Some(register) if u32::from(function.register(register).bits) == bits => Operation::Copy,
        Some(_) => return None,
        None => Operation::Mov,
    };
    let builder = InstructionBuilder::new(operation, data_type)
        .result(function.result(target, 0))
        .source(new);
    (operation == Operation::Copy || has_machine_opcode(function, &builder)).then(|| PlannedChange {
        target,
        value: None,
        nodes: smallvec![builder],
        inner: SmallVec::new(),
    })
}

fn plan_nodes(
    function: &mut Function,
    target: Instruction,
    nodes: &[NewInstruction],
) -> Option<PlannedChange> {
    let mut inner: SmallVec<[Register; 2]> = SmallVec::new();
    let mut builders: SmallVec<[InstructionBuilder; 1]> = SmallVec::new();
    for (number, node) in nodes.iter().enumerate() {
        let typed = node.typed;
        let is_last = number + 1 == nodes.len();
        let result = match is_last {
            true => function.result(target, 0),
            false => {
                let register = new_register(function, target, typed.data_type);
                inner.push(register);
                function.register_operand(register)
            }
        };
        let of_sources = match typed.source_type {
            DataType::None => typed.data_type,
            source_type => source_type,
        };
        let mut builder = InstructionBuilder::new(typed.operation, typed.data_type)
            .source_type(typed.source_type)
            .modifiers(typed.modifiers)
            .result(result)
            .in_place_of(function.origin(target));
        for &source in &node.sources {
            builder = builder.source(operand(function, source, of_sources, &inner));
        }
        if !has_machine_opcode(function, &builder) {
            return None;
        }
        builders.push(builder);
    }
    Some(PlannedChange {
        target,
        value: None,
        nodes: builders,
        inner,
    })
}

/// Creates a register for a value of a type, if possible of the kind of one that the target
/// mentions.
fn new_register(function: &mut Function, target: Instruction, data_type: DataType) -> Register {
    let mentioned = function.results(target).iter().chain(function.sources(target));
    let model = mentioned
        .filter_map(Operand::as_register)
        .find(|&register| u32::from(function.register(register).bits) == data_type.bits());
    match model {
        Some(model) => function.create_register_like(model),
        None => function.create_register_of(data_type),
    }
}

/// Returns the operand for a value. Integers are sign-extended from their width.
fn operand(function: &mut Function, value: Value, data_type: DataType, inner: &[Register]) -> Operand {
    match value {
        Value::Operand(operand) => operand,
        Value::Integer(value) => function.integer_operand(value),
        Value::NewInstruction(number) => function.register_operand(inner[number]),
        Value::Bits(bits) => {
            let kind = match data_type {
                DataType::F64 => ConstantKind::Double,
                _ => ConstantKind::Single,
            };
            function.constant_operand(Constant::Bits {
                kind,
                bits: data_type.bits(),
                low: bits,
                high: 0,
            })
        }
    }
}

/// Applies a rewrite and removes dead instructions. Adds instructions worth another visit to
/// `touched`, the first one last.
pub(super) fn apply(function: &mut Function, planned: &Planned, gone: &[Instruction]) -> Vec<Instruction> {
    let mut touched = Vec::new();
    for change in &planned.changes {
        note_users(function, change.target, &mut touched);
        match change.value {
            Some(value) => {
                let result = function.result(change.target, 0).as_register();
                let result = result.expect("what is replaced has a result");
                function.replace_uses(result, function.register_operand(value));
                note_definition(function, value, &mut touched);
            }
            None => replace(function, change, &mut touched),
        }
    }
    for &instruction in gone {
        let sources: SmallVec<[Register; 4]> = function
            .sources(instruction)
            .iter()
            .filter_map(Operand::as_register)
            .collect();
        function.remove(instruction);
        for register in sources {
            note_definition(function, register, &mut touched);
        }
    }
    touched
}

/// Inserts the nodes before the target, which becomes the last one.
fn replace(function: &mut Function, change: &PlannedChange, touched: &mut Vec<Instruction>) {
    let (last, before) = change.nodes.split_last().expect("there is a node");
    for node in before {
        touched.push(function.insert(Position::Before(change.target), node.clone()));
    }
    let old: SmallVec<[Register; 4]> = function
        .sources(change.target)
        .iter()
        .filter_map(Operand::as_register)
        .collect();
    function.become_like(change.target, last);
    for register in old {
        note_definition(function, register, touched);
    }
    touched.push(change.target);
}

/// Notes the users of an instruction's result, which may match now.
fn note_users(function: &Function, instruction: Instruction, touched: &mut Vec<Instruction>) {
    for register in function.result_registers(instruction) {
        touched.extend(function.uses(register).map(|(user, _)| user));
    }
}

/// Notes the definition and the single remaining user of a register that has lost a use; both may
/// match now.
fn note_definition(function: &Function, register: Register, touched: &mut Vec<Instruction>) {
    let mut uses = function.uses(register);
    if let (Some((user, _)), None) = (uses.next(), uses.next()) {
        touched.push(user);
    }
    touched.extend(function.unique_definition(register));
}
