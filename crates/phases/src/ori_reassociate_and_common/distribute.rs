//! Distribution: rewrites `a * b + a * c` as `a * (b + c)`.

use crate::knobs::Budget;
use oriel_engine::entity::Register;
use oriel_ori::{Function, Instruction, InstructionBuilder, Modifiers, Operand, Operation, Position};

/// Rewrites a sum or difference of products, or of a product and another value, as one product, if
/// they have a common factor and no other uses. Returns whether it did.
pub(super) fn distribute(function: &mut Function, sum: Instruction, budget: &mut Budget) -> bool {
    let Some((first, second)) = summands(function, sum) else {
        return false;
    };
    let Some((common, left, right)) = common_factor(first.factors, second.factors) else {
        return false;
    };
    // A constant would be added to a constant, which is left to folding.
    if left.as_register().is_none() || !budget.spend() {
        return false;
    }
    let data_type = function.data_type(sum);
    let result = function.result(sum, 0).as_register();
    let result = result.expect("the result of arithmetic is a register");
    let factor = function.create_register_like(result);
    let factor = function.register_operand(factor);
    let operation = match function.operation(sum) {
        Operation::Isub => Operation::Isub,
        _ => Operation::Iadd,
    };
    let new = InstructionBuilder::new(operation, data_type)
        .result(factor)
        .source(left)
        .source(right)
        .in_place_of(function.origin(sum));
    function.insert(Position::Before(sum), new);
    function.set_operation(sum, Operation::Imul);
    function.set_sources(sum, &[factor, common]);
    for product in [first.product, second.product].into_iter().flatten() {
        function.remove(product);
    }
    true
}

/// A product in a sum.
struct Summand {
    factors: [Operand; 2],
    /// The instruction that computes it; none if it is the sum itself.
    product: Option<Instruction>,
}

/// Returns the two products that an instruction adds.
fn summands(function: &Function, sum: Instruction) -> Option<(Summand, Summand)> {
    if function.modifiers(sum) != Modifiers::default() {
        return None;
    }
    let product = |operand: Operand| {
        let register: Register = operand.as_register().filter(|_| !operand.is_modified())?;
        let definition = function.unique_definition(register)?;
        let mut uses = function.uses(register);
        let is_only_here = uses.next().is_some() && uses.next().is_none();
        let is_product = is_only_here
            && function.operation(definition) == Operation::Imul
            && function.data_type(definition) == function.data_type(sum)
            && function.block_of(definition) == function.block_of(sum);
        is_product.then(|| Summand {
            factors: [function.source(definition, 0), function.source(definition, 1)],
            product: Some(definition),
        })
    };
    let source = |number| function.source(sum, number);
    match function.operation(sum) {
        Operation::Iadd | Operation::Isub => Some((product(source(0))?, product(source(1))?)),
        Operation::Imad => {
            let own = Summand {
                factors: [source(0), source(1)],
                product: None,
            };
            Some((own, product(source(2))?))
        }
        _ => None,
    }
}

/// Returns the register that two products share as a factor, and the other factor of each.
fn common_factor(first: [Operand; 2], second: [Operand; 2]) -> Option<(Operand, Operand, Operand)> {
    let pairs = [(0, 0), (0, 1), (1, 0), (1, 1)];
    let (of_first, of_second) = pairs.into_iter().find(|&(of_first, of_second)| {
        let factor: Operand = first[of_first];
        factor == second[of_second] && factor.as_register().is_some() && !factor.is_undefined()
    })?;
    Some((first[of_first], first[1 - of_first], second[1 - of_second]))
}
