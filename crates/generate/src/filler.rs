//! The values and instructions of a function that is being filled, and what each instruction costs.

use super::index::{Block, Entity, Span, Table, Value};
use super::model::{Instruction, Operation, Phi, Type, Use};
use super::options::{Form, Options};
use super::scope::Scope;
use oriel_random::Random;

/// The form in which the program is emitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Target {
    /// Every value must be used, or `llc` drops its computation.
    LlvmIr,
    Machine(Form),
}

/// The state while a function is filled.
pub(super) struct Filler<'a> {
    pub(super) target: Target,
    pub(super) calls: bool,
    /// True for inline assembly as in handwritten code, and operations with effects among accesses.
    pub(super) assembly: bool,
    /// True if shared memory is used. Clearing it would dominate a small kernel of LLVM IR.
    pub(super) shared: bool,
    pub(super) random: &'a mut Random,
    pub(super) types: Table<Value, Type>,
    /// By type: the variables of the late form.
    pub(super) variables: Vec<Vec<Value>>,
    pub(super) variable_count: usize,
    pub(super) phis: Vec<Phi>,
    pub(super) instructions: Vec<Instruction>,
    pub(super) results: Vec<Value>,
    pub(super) uses: Vec<Use>,
    /// Values from the entry that one late block uses.
    pub(super) long_lived: Vec<Value>,
    /// PHIs of the current block.
    pub(super) merged: Vec<Value>,
    /// Assembly that reads a PHI of its block and has an early-clobber result: block, PHI, result.
    pub(super) early_results: Vec<(Block, Value, Value)>,
    /// The current block.
    pub(super) block: Block,
    pub(super) scope: Scope,
    /// Unused values of the current block, by type; for LLVM IR only.
    pub(super) unused: Vec<Vec<Value>>,
    /// Machine instructions so far, estimated by `cost`.
    pub(super) spent: usize,
}

impl<'a> Filler<'a> {
    /// Returns the state before the first block.
    pub(super) fn new(
        entry: Block,
        target: Target,
        options: &Options,
        budget: usize,
        random: &'a mut Random,
    ) -> Self {
        let mut filler = Self {
            target,
            calls: options.calls,
            assembly: options.assembly,
            merged: Vec::new(),
            early_results: Vec::new(),
            block: entry,
            shared: target != Target::LlvmIr || budget >= 150,
            random,
            types: Table::new(),
            variables: vec![Vec::new(); Type::ALL.len()],
            variable_count: 0,
            phis: Vec::new(),
            instructions: Vec::new(),
            results: Vec::new(),
            uses: Vec::new(),
            long_lived: Vec::new(),
            scope: Scope::default(),
            unused: vec![Vec::new(); Type::ALL.len()],
            spent: 0,
        };
        if target == Target::Machine(Form::Late) {
            filler.make_variables(budget);
        }
        filler
    }

    fn make_variables(&mut self, budget: usize) {
        self.variable_count = (4 + budget / 16).min(256);
        for _ in 0..self.variable_count {
            let ty = match self.random.below(100) {
                0..10 => Type::I1,
                10..18 => Type::I16,
                18..60 => Type::I32,
                60..75 => Type::I64,
                75..88 => Type::F32,
                88..96 => Type::F64,
                96.. => Type::B128,
            };
            let variable = self.types.push(ty);
            self.variables[ty as usize].push(variable);
        }
    }

    /// Returns a new value in scope. The caller defines it in the next instruction or PHI, whose
    /// operands it has chosen already.
    pub(super) fn fresh(&mut self, ty: Type) -> Value {
        let value = self.types.push(ty);
        self.scope.add(ty, value, self.random);
        if self.target == Target::LlvmIr {
            self.unused[ty as usize].push(value);
        }
        value
    }

    /// Returns a result for the next instruction: a new value, or a variable.
    pub(super) fn define(&mut self, ty: Type) -> Value {
        match self.variable(ty, 35) {
            Some(variable) => variable,
            None => self.fresh(ty),
        }
    }

    /// Returns a register without any definition, or a recent value.
    pub(super) fn undefined(&mut self, ty: Type) -> Use {
        match self.scope.pick(ty, self.random) {
            Some(value) if self.random.percent(50) => Use::Undefined(value),
            Some(_) | None => Use::Undefined(self.types.push(ty)),
        }
    }

    /// Returns a PHI of the current block, if it has any.
    pub(super) fn merged_value(&mut self) -> Option<Value> {
        (!self.merged.is_empty()).then(|| self.random.pick(&self.merged))
    }

    pub(super) fn type_of(&self, value: Value) -> Type {
        self.types[value]
    }

    /// Records that assembly reads a PHI of the current block and has an early-clobber result of
    /// its type.
    pub(super) fn note_early_result(&mut self, result: Value, merged: Value) {
        self.early_results.push((self.block, merged, result));
    }

    /// Returns a variable with this probability, if there are any.
    pub(super) fn variable(&mut self, ty: Type, percent: u32) -> Option<Value> {
        let variables = &self.variables[ty as usize];
        if variables.is_empty() || !self.random.percent(percent) {
            return None;
        }
        Some(self.random.pick(variables))
    }

    /// Returns a constant that every form of an instruction of the type accepts.
    pub(super) fn constant(&mut self, ty: Type) -> i64 {
        match ty {
            Type::I1 => self.random.below(2) as i64,
            Type::I16 | Type::F32 | Type::F64 => self.random.below(1000) as i64 - 200,
            Type::I32 | Type::I64 | Type::B128 => self.random.below(1_000_000) as i64 - 200_000,
        }
    }

    /// Removes a value from the unused ones.
    pub(super) fn mark_used(&mut self, value: Value) {
        let unused = &mut self.unused[self.types[value] as usize];
        if let Some(index) = unused.iter().rposition(|&other| other == value) {
            unused.swap_remove(index);
        }
    }

    /// Removes and returns an unused value.
    pub(super) fn take_unused(&mut self, ty: Type) -> Option<Value> {
        self.unused[ty as usize].pop()
    }

    /// Returns a register that an instruction reads besides its own operands.
    fn implicit(&mut self, operation: Operation) -> Option<Value> {
        if !self.takes_implicit(operation) {
            return None;
        }
        let ty = self.random.pick(&Type::ALL);
        match self.variable(ty, 50) {
            Some(variable) => Some(variable),
            None => {
                let value = self.scope.pick(ty, self.random);
                // The instruction's own results are already in scope; they are among the newest.
                value.filter(|&value| value.index() + 8 < self.types.len())
            }
        }
    }

    /// Returns a register that an instruction writes besides its own results.
    fn implicit_result(&mut self, operation: Operation) -> Option<Value> {
        if !self.takes_implicit(operation) {
            return None;
        }
        let ty = self.random.pick(&Type::ALL);
        Some(self.define(ty))
    }

    fn takes_implicit(&mut self, operation: Operation) -> bool {
        let plain = !matches!(
            operation,
            Operation::Assembly { .. }
                | Operation::Effect(_)
                | Operation::Undefined
                | Operation::Copy
                | Operation::Call
        );
        self.target != Target::LlvmIr && plain && self.random.percent(2)
    }

    /// Adds an instruction without operands.
    pub(super) fn simple(&mut self, operation: Operation, ty: Type) -> Value {
        let result = self.fresh(ty);
        self.push(operation, ty, &[result], &[]);
        result
    }

    /// Adds an instruction, sometimes with an implicit operand and an implicit result.
    pub(super) fn push(&mut self, operation: Operation, ty: Type, results: &[Value], operands: &[Use]) {
        let implicit_use = self
            .implicit(operation)
            .filter(|&value| !operands.contains(&Use::Value(value)));
        let implicit_result = self
            .implicit_result(operation)
            .filter(|value| !results.contains(value));
        let first_result = self.results.len();
        self.results.extend_from_slice(results);
        self.results.extend(implicit_result);
        let first_use = self.uses.len();
        self.uses.extend_from_slice(operands);
        self.uses.extend(implicit_use.map(Use::Value));
        let instruction = Instruction {
            operation,
            ty,
            has_implicit_result: implicit_result.is_some(),
            has_implicit_use: implicit_use.is_some(),
            results: Span::new(first_result..self.results.len()),
            operands: Span::new(first_use..self.uses.len()),
        };
        self.spent += cost(self.target, &instruction, operands);
        self.instructions.push(instruction);
    }
}

/// Returns the machine instructions of one operation.
///
/// For LLVM IR this is the average result of `llc -O2` over contexts.
fn cost(target: Target, instruction: &Instruction, operands: &[Use]) -> usize {
    if target != Target::LlvmIr {
        // A call is a sequence of instructions.
        return if instruction.operation == Operation::Call {
            9
        } else {
            1
        };
    }
    let wide = instruction.ty == Type::I64;
    match instruction.operation {
        Operation::Binary(binary) if binary.is_division() && !instruction.ty.is_float() => {
            if wide {
                12
            } else {
                3
            }
        }
        Operation::Binary(binary) if binary.is_shift() && matches!(operands[1], Use::Value(_)) => 2,
        Operation::Convert { .. } if !instruction.ty.is_float() => 3,
        Operation::Store(_) if instruction.ty.is_float() => 2 + address_cost(operands[1]),
        Operation::Store(_) => address_cost(operands[1]),
        Operation::Load(_) => address_cost(operands[0]),
        Operation::Call => 9,
        _ => 1,
    }
}

/// Returns the instructions of an access: a constant index is part of its address.
fn address_cost(index: Use) -> usize {
    match index {
        Use::Integer(_) => 1,
        Use::Value(_) | Use::Undefined(_) => 4,
    }
}
