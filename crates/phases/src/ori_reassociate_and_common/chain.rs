//! Chains: trees of one associative operation in a block, as lists of their leaves in canonical
//! order.

use oriel_engine::entity::{EntityRef, Register};
use oriel_ori::{DataType, Function, Instruction, Modifiers, Operand, Operation};
use smallvec::SmallVec;

/// The most leaves of a chain.
const MOST_LEAVES: usize = 16;

/// A leaf of a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Leaf {
    pub operand: Operand,
    /// True if it is subtracted.
    pub is_negative: bool,
}

impl Leaf {
    /// Orders leaves: constants last, subtracted ones after added ones, then by register number.
    fn rank(self) -> (bool, bool, u32) {
        (self.operand.is_constant(), self.is_negative, self.operand.bits())
    }
}

/// A tree of additions and subtractions, multiplications, conjunctions or disjunctions whose inner
/// values have no other uses.
#[derive(Clone, Debug)]
pub(super) struct Chain {
    pub root: Instruction,
    /// The operation of the chain; for sums, addition.
    pub operation: Operation,
    pub data_type: DataType,
    pub leaves: SmallVec<[Leaf; 6]>,
    /// The instructions below the root.
    pub inner: SmallVec<[Instruction; 4]>,
}

/// Returns the operation and type of a chain through this instruction, or none if it is not part of
/// a chain.
fn family(function: &Function, instruction: Instruction) -> Option<(Operation, DataType)> {
    let operation = match function.operation(instruction) {
        Operation::Iadd | Operation::Isub => Operation::Iadd,
        operation @ (Operation::Imul | Operation::And | Operation::Or | Operation::Xor) => operation,
        _ => return None,
    };
    let data_type = function.data_type(instruction);
    // Saturating and multi-lane operations are not associative, or not for these constants.
    let is_plain = matches!(
        data_type,
        DataType::B1 | DataType::B16 | DataType::B32 | DataType::B64
    ) && function.modifiers(instruction) == Modifiers::default();
    is_plain.then_some((operation, data_type))
}

/// True if the only user of a result, in the same block, belongs to the same chain.
fn is_inner(function: &Function, instruction: Instruction) -> bool {
    let Some(result) = function.result(instruction, 0).as_register() else {
        return false;
    };
    let mut uses = function.uses(result);
    let (Some((user, number)), None) = (uses.next(), uses.next()) else {
        return false;
    };
    !function.source(user, number).is_modified()
        && function.block_of(user) == function.block_of(instruction)
        && family(function, user).is_some_and(|of_user| Some(of_user) == family(function, instruction))
}

impl Chain {
    /// Returns the chain that ends in an instruction. None if the instruction is not the root of a
    /// chain, or if the chain is too long or has an operand that is modified or undefined.
    pub fn of_root(function: &Function, root: Instruction) -> Option<Self> {
        let (operation, data_type) = family(function, root)?;
        if is_inner(function, root) {
            return None;
        }
        let mut chain = Self {
            root,
            operation,
            data_type,
            leaves: SmallVec::new(),
            inner: SmallVec::new(),
        };
        let mut pending: SmallVec<[(Instruction, bool); 8]> = SmallVec::from_slice(&[(root, false)]);
        while let Some((node, is_negative)) = pending.pop() {
            for (number, operand) in function.sources(node).iter().enumerate() {
                let turns = number == 1 && function.operation(node) == Operation::Isub;
                let is_negative = is_negative != turns;
                match chain.inner_definition(function, operand) {
                    Some(inner) => {
                        chain.inner.push(inner);
                        pending.push((inner, is_negative));
                    }
                    None => chain.leaves.push(Leaf { operand, is_negative }),
                }
            }
            let is_odd = chain
                .leaves
                .iter()
                .any(|leaf| leaf.operand.is_undefined() || leaf.operand.is_modified());
            if is_odd || chain.leaves.len() + pending.len() > MOST_LEAVES {
                return None;
            }
        }
        chain.leaves.sort_unstable_by_key(|leaf| leaf.rank());
        Some(chain)
    }

    fn inner_definition(&self, function: &Function, operand: Operand) -> Option<Instruction> {
        let register = operand.as_register().filter(|_| !operand.is_modified())?;
        let definition = function.unique_definition(register)?;
        let is_part = family(function, definition) == Some((self.operation, self.data_type))
            && function.block_of(definition) == function.block_of(self.root)
            && is_inner(function, definition);
        is_part.then_some(definition)
    }

    /// Folds all constants into one, and drops an identity. Returns whether the chain is then in
    /// canonical form: not if it adds no register, has too few leaves, or if the constant is too
    /// large for the limit.
    pub fn fold_constants(&mut self, function: &mut Function, allows_large: bool) -> bool {
        let first = self
            .leaves
            .iter()
            .take_while(|leaf| !leaf.operand.is_constant())
            .count();
        if self.leaves.len() > first + 1 && self.data_type != DataType::B1 {
            let constants = self.leaves[first..].iter();
            let values: Option<SmallVec<[(i64, bool); 4]>> = constants
                .map(|leaf| Some((function.integer(leaf.operand)?, leaf.is_negative)))
                .collect();
            let Some(values) = values else {
                return false;
            };
            let bits = self.data_type.bits();
            let extend = |value: i64| value << (i64::BITS - bits) >> (i64::BITS - bits);
            let folded = extend(fold(self.operation, &values));
            if self.data_type == DataType::B64 && !allows_large && i32::try_from(folded).is_err() {
                return false;
            }
            self.leaves.truncate(first);
            if folded != identity(self.operation) {
                self.leaves.push(Leaf {
                    operand: function.integer_operand(folded),
                    is_negative: false,
                });
            }
        }
        self.leaves.len() > 1 && first > 0 && !self.leaves[0].is_negative
    }

    /// Returns the register of the chain's value.
    pub fn result(&self, function: &Function) -> Register {
        let result = function.result(self.root, 0).as_register();
        result.expect("the result of arithmetic is a register")
    }

    /// Returns the words that describe the chain: two for its kind and two for each leaf.
    pub fn words(&self, function: &Function) -> SmallVec<[u32; 14]> {
        let class = function.register(self.result(function)).class;
        let mut words = SmallVec::from_slice(&[
            self.operation as u32 | (self.data_type as u32) << 16,
            class.expand().map_or(0, |class| class.index() as u32 + 1),
        ]);
        let leaves = self.leaves.iter();
        words.extend(leaves.flat_map(|leaf| [leaf.operand.bits(), u32::from(leaf.is_negative)]));
        words
    }
}

/// Returns the identity element.
const fn identity(operation: Operation) -> i64 {
    match operation {
        Operation::Imul => 1,
        Operation::And => -1,
        _ => 0,
    }
}

/// Evaluates an operation on two constants, if it is one of chains or a difference.
pub(crate) fn fold_constants(
    operation: Operation,
    data_type: DataType,
    first: i64,
    second: i64,
) -> Option<i64> {
    let is_whole = data_type.lanes() == 1 && !data_type.is_float() && (16..=64).contains(&data_type.bits());
    let is_difference = match operation {
        Operation::Isub => true,
        Operation::Iadd | Operation::Imul | Operation::And | Operation::Or | Operation::Xor => false,
        _ => return None,
    };
    let sum_of = if is_difference { Operation::Iadd } else { operation };
    let folded = fold(sum_of, &[(first, false), (second, is_difference)]);
    let unused = i64::BITS - data_type.bits();
    is_whole.then_some(folded << unused >> unused)
}

/// Combines constants; those with the flag are subtracted.
fn fold(operation: Operation, values: &[(i64, bool)]) -> i64 {
    values.iter().fold(
        identity(operation),
        |sum, &(value, is_negative)| match operation {
            Operation::Imul => sum.wrapping_mul(value),
            Operation::And => sum & value,
            Operation::Or => sum | value,
            Operation::Xor => sum ^ value,
            _ if is_negative => sum.wrapping_sub(value),
            _ => sum.wrapping_add(value),
        },
    )
}
