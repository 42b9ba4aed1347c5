//! Folds sums that are used only as addresses into the accesses.

use super::matcher::Matcher;
use super::rewrite::{Becomes, Change, Rewrite, Value};
use super::rule::{Governs, Rule};
use oriel_ori::{Expected, Instruction, Operation, Role};
use smallvec::SmallVec;

pub(super) const RULES: &[Rule] = &[Rule {
    name: "offset-of-address",
    roots: &[Operation::Iadd, Operation::Isub],
    // An access computes in 64 bits; narrower sums would wrap differently.
    widths: &[64],
    governed_by: Governs::PlainIntegers,
    rewrite: fold_offset,
    examples: &[
        "%8:R64 = IADD.b64 %13, 16\n%9:R32 = LD.global.b32.b32 [%8+4]",
        "%8:R64 = ISUB.b64 %13, 16\nST.global.b32.b32 %4, [%8+32]\n%9:R32 = LD.global.b32.b32 [%8+20]",
    ],
}];

/// The bits of access offsets in the hardware, including the sign.
const OFFSET_BITS: u32 = 24;
/// The most accesses that are rewritten together.
const MOST_ACCESSES: usize = 16;

fn fold_offset(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let function = matcher.function;
    let [base, constant] = match (matcher.two(root), function.operation(root)) {
        ([a, b], Operation::Iadd) if matcher.constant(b, 64).is_none() => [b, a],
        (sources, _) => sources,
    };
    matcher.register(base)?;
    let constant = matcher.constant(constant, 64)? as i64;
    let added = match function.operation(root) {
        Operation::Iadd => constant,
        _ => constant.checked_neg()?,
    };
    let result = matcher.register(function.result(root, 0))?;
    let mut rewrite = Rewrite::new();
    for (user, number) in function.uses(result).take(MOST_ACCESSES + 1) {
        if rewrite.len() == MOST_ACCESSES
            || function.expected(user, Role::Source, number) != Expected::Address
        {
            return None;
        }
        let accesses = matches!(
            function.operation(user),
            Operation::Ld | Operation::St | Operation::Atom
        );
        let mut sources: SmallVec<[Value; 4]> = function.sources(user).iter().map(Value::from).collect();
        if !accesses || !matcher.has_plain_sources(user) {
            return None;
        }
        let offset = function
            .integer(function.source(user, number + 1))?
            .checked_add(added)?;
        let limit = 1 << (OFFSET_BITS - 1);
        if !(-limit..limit).contains(&offset) {
            return None;
        }
        sources[number] = base.into();
        sources[number + 1] = Value::Integer(offset);
        let becomes = Becomes::Sources(sources);
        rewrite.push(Change {
            target: user,
            becomes,
        });
    }
    (!rewrite.is_empty()).then_some(rewrite)
}
