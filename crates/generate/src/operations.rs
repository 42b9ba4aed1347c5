//! Chooses the next operation and its operands.

use super::filler::{Filler, Target};
use super::index::Value;
use super::model::{Binary, Comparison, Operation, Space, Special, Type, Use};
use super::opcodes::EFFECTS;
use super::options::Form;

const INTEGER: [Binary; 17] = [
    Binary::Add,
    Binary::Subtract,
    Binary::Multiply,
    Binary::And,
    Binary::Or,
    Binary::Xor,
    Binary::ShiftLeft,
    Binary::ShiftRight,
    Binary::ShiftRightSigned,
    Binary::Minimum,
    Binary::Maximum,
    Binary::MinimumUnsigned,
    Binary::MaximumUnsigned,
    Binary::Divide,
    Binary::DivideUnsigned,
    Binary::Remainder,
    Binary::RemainderUnsigned,
];
const INTEGER_WEIGHTS: [u32; 17] = [20, 10, 8, 5, 5, 8, 4, 3, 3, 2, 2, 2, 2, 1, 1, 1, 1];
const FLOAT: [Binary; 4] = [Binary::Add, Binary::Subtract, Binary::Multiply, Binary::Divide];
const FLOAT_WEIGHTS: [u32; 4] = [10, 6, 10, 1];
const PREDICATE: [Binary; 3] = [Binary::And, Binary::Or, Binary::Xor];

impl Filler<'_> {
    /// Returns a value of the type, making one if there is none.
    pub(super) fn operand(&mut self, ty: Type) -> Use {
        let unused = &mut self.unused[ty as usize];
        if !unused.is_empty() && self.random.percent(65) {
            let index = self.random.index(unused.len());
            return Use::Value(unused.swap_remove(index));
        }
        if let Some(variable) = self.variable(ty, 45) {
            return Use::Value(variable);
        }
        let machine = self.target != Target::LlvmIr;
        if machine && self.random.percent(1) {
            return self.undefined(ty);
        }
        match self.scope.pick(ty, self.random) {
            Some(value) => {
                self.mark_used(value);
                Use::Value(value)
            }
            None => Use::Value(make(self, ty)),
        }
    }

    pub(super) fn operand_or_constant(&mut self, ty: Type) -> Use {
        if ty != Type::I1 && ty != Type::B128 && self.random.percent(35) {
            return Use::Integer(self.constant(ty));
        }
        self.operand(ty)
    }

    /// Returns the right operand, or another one if it equals the left: `llc` folds `a < a`, and then
    /// drops the code that a branch on it skips.
    pub(super) fn other_than(&mut self, left: Use, right: Use, ty: Type) -> Use {
        if self.target == Target::LlvmIr && left == right {
            Use::Value(make(self, ty))
        } else {
            right
        }
    }
}

/// Adds one operation on values in scope, and the instructions that compute missing operands.
pub(super) fn add_one(filler: &mut Filler) {
    let machine = u32::from(filler.target != Target::LlvmIr);
    let written = u32::from(filler.assembly) * machine;
    let ty = number(filler);
    match filler.random.weighted(&[
        50,
        6,
        5,
        6,
        6,
        9,
        5,
        5,
        3,
        if filler.calls { 2 } else { 0 },
        3 * machine,
        4 * machine,
        2 * machine,
        2 * machine,
        2 * machine,
        4 * written,
        4 * written,
        4 * written,
    ]) {
        0 => binary(filler, ty),
        1 => compare(filler, ty),
        2 => {
            let operands = [filler.operand(ty), filler.operand(ty), filler.operand(Type::I1)];
            finish(filler, Operation::Select, ty, &operands);
        }
        3 => convert(filler, ty),
        4 => {
            let ty = filler.random.pick(&[Type::F32, Type::F64]);
            let operands = [filler.operand(ty), filler.operand(ty), filler.operand(ty)];
            finish(filler, Operation::MultiplyAdd, ty, &operands);
        }
        5 => {
            load(filler, ty);
        }
        6 => store(filler, ty),
        7 => {
            let binary = filler.random.pick(&PREDICATE);
            let operands = [filler.operand(Type::I1), filler.operand(Type::I1)];
            finish(filler, Operation::Binary(binary), Type::I1, &operands);
        }
        8 => {
            let ty = filler.random.pick(&[Type::F32, Type::F64]);
            let operand = filler.operand(ty);
            finish(filler, Operation::Negate, ty, &[operand]);
        }
        9 => {
            let operands = [filler.operand(Type::I32), filler.operand(Type::F32)];
            // The sequence reads before it writes, but in different instructions: `%a = call(%a)`
            // is not allowed.
            let result = filler.fresh(Type::I32);
            filler.push(Operation::Call, Type::I32, &[result], &operands);
        }
        10 => {
            let ty = filler.random.pick(&Type::ALL);
            finish(filler, Operation::Undefined, ty, &[]);
        }
        11 => {
            let ty = filler.random.pick(&Type::ALL);
            let operand = filler.operand(ty);
            finish(filler, Operation::Copy, ty, &[operand]);
        }
        12 => assembly(filler),
        13 => {
            let operands = [filler.operand(Type::I64), filler.operand(Type::I64)];
            finish(filler, Operation::Pack, Type::B128, &operands);
        }
        15 => assembly(filler),
        16 => effect_among_accesses(filler, ty),
        17 => early_result_of_merged(filler, ty),
        _unpack => {
            let operand = filler.operand(Type::B128);
            // One register cannot be both results, so at most one is a variable.
            let results = [filler.define(Type::I64), filler.fresh(Type::I64)];
            filler.push(Operation::Unpack, Type::B128, &results, &[operand]);
        }
    }
}

fn number(filler: &mut Filler) -> Type {
    match filler.random.below(100) {
        0..45 => Type::I32,
        45..60 => Type::I64,
        60..82 => Type::F32,
        82..92 => Type::F64,
        92.. => Type::I16,
    }
}

fn finish(filler: &mut Filler, operation: Operation, ty: Type, operands: &[Use]) -> Value {
    let result = filler.define(ty);
    filler.push(operation, ty, &[result], operands);
    result
}

fn binary(filler: &mut Filler, ty: Type) {
    let binary = if ty.is_float() {
        FLOAT[filler.random.weighted(&FLOAT_WEIGHTS)]
    } else {
        INTEGER[filler.random.weighted(&INTEGER_WEIGHTS)]
    };
    // In the late form an instruction often reads the register that it writes: `%a = add %a, 1`.
    let in_place = filler.variable(ty, 30);
    let left = in_place.map_or_else(|| filler.operand(ty), Use::Value);
    let right = if binary.is_shift() {
        if filler.random.percent(80) {
            Use::Integer(1 + filler.random.below(u64::from(ty.bits() - 1)) as i64)
        } else {
            // Shift amounts have 32 bits in machine code; LLVM IR converts.
            filler.operand(Type::I32)
        }
    } else if binary.takes_constant(ty) {
        filler.operand_or_constant(ty)
    } else {
        filler.operand(ty)
    };
    let right = if binary.is_shift() {
        right
    } else {
        filler.other_than(left, right, ty)
    };
    let result = in_place.unwrap_or_else(|| filler.define(ty));
    filler.push(Operation::Binary(binary), ty, &[result], &[left, right]);
}

fn compare(filler: &mut Filler, ty: Type) {
    let left = filler.operand(ty);
    let right = filler.operand_or_constant(ty);
    let operands = [left, filler.other_than(left, right, ty)];
    let comparison = filler.random.pick(&Comparison::ALL);
    let result = filler.define(Type::I1);
    filler.push(Operation::Compare(comparison), ty, &[result], &operands);
}

fn convert(filler: &mut Filler, ty: Type) {
    let others: Vec<Type> = Type::NUMBERS.into_iter().filter(|&other| other != ty).collect();
    let from = filler.random.pick(&others);
    let operand = filler.operand(from);
    let signed = filler.random.percent(50);
    let result = filler.define(ty);
    filler.push(Operation::Convert { signed }, ty, &[result], &[operand]);
}

fn space(filler: &mut Filler) -> Space {
    if !filler.shared || filler.random.percent(70) {
        Space::Global
    } else {
        Space::Shared
    }
}

fn address(filler: &mut Filler) -> Use {
    if filler.target != Target::LlvmIr {
        return filler.operand(Type::I64);
    }
    if filler.random.percent(60) {
        return Use::Integer(filler.random.below(1 << 16) as i64);
    }
    filler.operand(Type::I32)
}

fn load(filler: &mut Filler, ty: Type) -> Value {
    let operand = address(filler);
    let space = space(filler);
    finish(filler, Operation::Load(space), ty, &[operand])
}

pub(super) fn store(filler: &mut Filler, ty: Type) {
    let operands = [filler.operand(ty), address(filler)];
    let space = space(filler);
    filler.push(Operation::Store(space), ty, &[], &operands);
}

fn effect(filler: &mut Filler) {
    let effect = filler.random.index(EFFECTS.len());
    filler.push(Operation::Effect(effect), Type::I32, &[], &[]);
}

/// An effect between two loads of an address, or between a store and a load.
fn effect_among_accesses(filler: &mut Filler, ty: Type) {
    let address = filler.operand(Type::I64);
    let space = space(filler);
    if filler.random.coin() {
        finish(filler, Operation::Load(space), ty, &[address]);
    } else {
        let value = filler.operand(ty);
        filler.push(Operation::Store(space), ty, &[], &[value, address]);
    }
    effect(filler);
    finish(filler, Operation::Load(space), ty, &[address]);
}

/// Adds assembly with one early-clobber result that reads a value with which its result may be
/// coalesced: a PHI that gets the result in the next iteration or, in the late form, a copy of the
/// result's register.
fn early_result_of_merged(filler: &mut Filler, ty: Type) {
    let early = Operation::Assembly {
        tied: false,
        early: true,
    };
    if filler.target == Target::Machine(Form::Late) {
        let Some(variable) = filler.variable(ty, 100) else {
            return;
        };
        let copy = filler.fresh(ty);
        filler.push(Operation::Copy, ty, &[copy], &[Use::Value(variable)]);
        filler.push(early, ty, &[variable], &[Use::Value(copy)]);
        return;
    }
    let Some(merged) = filler.merged_value() else {
        return;
    };
    let ty = filler.type_of(merged);
    let result = filler.fresh(ty);
    filler.push(early, ty, &[result], &[Use::Value(merged)]);
    filler.note_early_result(result, merged);
}

fn assembly(filler: &mut Filler) {
    let few = filler.random.between(1, 5);
    let count = if filler.random.percent(3) { few * 6 } else { few };
    let mut results: Vec<Value> = Vec::new();
    let mut operands = Vec::new();
    let ty = filler.random.pick(&Type::NUMBERS);
    // A tied operand has the register of its result. Static single assignment form cannot express
    // this: there the two-address pass does it later.
    let tied = match filler.target {
        Target::Machine(Form::Late) => match filler.variable(ty, 60) {
            Some(variable) => {
                results.push(variable);
                operands.push(Use::Value(variable));
                true
            }
            None => false,
        },
        Target::LlvmIr | Target::Machine(Form::Ssa) => {
            let tied = filler.random.percent(30);
            if tied {
                operands.push(filler.operand(ty));
                // An operand without a value cannot define the result.
                if let Some(Use::Undefined(_)) = operands.first() {
                    operands.clear();
                }
            }
            !operands.is_empty()
        }
    };
    for _ in 0..filler.random.index(4) {
        let ty = any_type(filler);
        let operand = filler.operand(ty);
        if !operands.contains(&operand) {
            operands.push(operand);
        }
    }
    // Results come after the operands, or an operand could be a result without a value yet.
    while results.len() < count {
        let first_is_tied = tied && results.is_empty();
        let result_ty = if first_is_tied { ty } else { any_type(filler) };
        results.push(filler.fresh(result_ty));
    }
    let early = filler.random.percent(40);
    filler.push(Operation::Assembly { tied, early }, ty, &results, &operands);
}

/// Returns a type for an assembly operand; predicates only occur in assembly as in handwritten code.
fn any_type(filler: &mut Filler) -> Type {
    if filler.assembly && filler.random.percent(10) {
        return Type::I1;
    }
    filler.random.pick(&Type::NUMBERS)
}

/// Makes a new value of the type; never a variable.
pub(super) fn make(filler: &mut Filler, ty: Type) -> Value {
    if filler.target == Target::LlvmIr {
        return match ty {
            Type::I1 => {
                let operands = [
                    filler.operand(Type::I32),
                    Use::Integer(filler.constant(Type::I16)),
                ];
                let result = filler.fresh(ty);
                filler.push(
                    Operation::Compare(Comparison::Less),
                    Type::I32,
                    &[result],
                    &operands,
                );
                filler.mark_used(result);
                result
            }
            Type::I16 | Type::I32 | Type::I64 | Type::F32 | Type::F64 | Type::B128 => {
                let result = source(filler, ty);
                filler.mark_used(result);
                result
            }
        };
    }
    match ty {
        Type::B128 => filler.simple(Operation::Undefined, ty),
        Type::I1 | Type::I16 | Type::I32 | Type::I64 | Type::F32 | Type::F64 => {
            let constant = filler.constant(ty);
            filler.simple(Operation::Constant(constant), ty)
        }
    }
}

/// Makes a value of the type that no optimisation can compute.
pub(super) fn source(filler: &mut Filler, ty: Type) -> Value {
    match filler.target {
        Target::LlvmIr => {
            let index = Use::Integer(filler.random.below(1 << 16) as i64);
            let result = filler.fresh(ty);
            filler.push(Operation::Load(Space::Global), ty, &[result], &[index]);
            result
        }
        Target::Machine(_) if ty == Type::I32 && filler.random.percent(30) => {
            let special =
                filler
                    .random
                    .pick(&[Special::ThreadIndex, Special::BlockIndex, Special::BlockSize]);
            filler.simple(Operation::Special(special), ty)
        }
        Target::Machine(_) => filler.simple(Operation::Parameter, ty),
    }
}

/// Uses two values at once.
pub(super) fn combine(filler: &mut Filler, ty: Type, left: Use, right: Use) {
    let binary = if ty.is_float() { Binary::Add } else { Binary::Xor };
    finish(filler, Operation::Binary(binary), ty, &[left, right]);
}

/// Uses the unused values of the block: combines them with each other and stores the result.
pub(super) fn use_what_is_left(filler: &mut Filler) {
    // Predicates first: they become numbers, which cannot become predicates again.
    while let Some(predicate) = filler.take_unused(Type::I1) {
        let operands = [
            filler.operand(Type::I32),
            filler.operand(Type::I32),
            Use::Value(predicate),
        ];
        finish(filler, Operation::Select, Type::I32, &operands);
    }
    for ty in Type::NUMBERS {
        while let Some(left) = filler.take_unused(ty) {
            match filler.take_unused(ty) {
                Some(right) => combine(filler, ty, Use::Value(left), Use::Value(right)),
                None => {
                    let address = address(filler);
                    let space = space(filler);
                    filler.push(Operation::Store(space), ty, &[], &[Use::Value(left), address]);
                }
            }
        }
    }
}
