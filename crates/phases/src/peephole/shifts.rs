//! Identities of shifts, bit fields and permutations. PTX takes an amount of the width or more as
//! the width.

use super::matcher::{Matcher, signed};
use super::rewrite::{Rewrite, Value, node, plain, value, variant};
use super::rule::{Governs, Rule};
use oriel_arithmetic::{TypedOperation, low_bits};
use oriel_engine::entity::Register;
use oriel_ori::{DataType, Instruction, ModifierFlags, Operand, Operation, Variant};

const WIDTHS: &[u32] = &[16, 32, 64];

/// For a register with many uses only this many are examined, so that the whole takes linear time.
const USES_LOOKED_AT: usize = 16;

pub(super) const RULES: &[Rule] = &[
    Rule::plain(
        "shift-by-nothing-or-all",
        &[Operation::Shl, Operation::Shr],
        WIDTHS,
        shift_by_limit,
        &[
            "%9:R{w} = SHL.b{w} %1, 0",
            "%9:R{w} = SHR.s{w} %1, 0",
            "%9:R{w} = SHL.b{w} %1, {w}",
            "%9:R{w} = SHR.u{w} %1, 100",
            "%9:R{w} = SHL.b{w} 0, %4",
        ],
    ),
    Rule::plain(
        "shift-of-shift",
        &[Operation::Shl, Operation::Shr],
        WIDTHS,
        shift_of_shift,
        &[
            "%8:R{w} = SHL.b{w} %1, 3\n%9:R{w} = SHL.b{w} %8, 4",
            "%8:R{w} = SHL.b{w} %1, 9\n%9:R{w} = SHL.b{w} %8, 8",
            "%8:R{w} = SHR.u{w} %1, 3\n%9:R{w} = SHR.u{w} %8, 4",
            "%8:R{w} = SHR.s{w} %1, 9\n%9:R{w} = SHR.s{w} %8, 12",
        ],
    ),
    Rule::plain(
        "shift-there-and-back",
        &[Operation::Shl, Operation::Shr],
        WIDTHS,
        shift_back,
        &[
            "%8:R{w} = SHL.b{w} %1, 5\n%9:R{w} = SHR.u{w} %8, 5",
            "%8:R{w} = SHR.u{w} %1, 5\n%9:R{w} = SHL.b{w} %8, 5",
            "%8:R{w} = SHR.s{w} %1, 5\n%9:R{w} = SHL.b{w} %8, 5",
        ],
    ),
    Rule::plain(
        "extension-and-shift",
        &[Operation::Shl, Operation::Imul],
        &[64],
        multiply_extended,
        &[
            "%8:R64 = CVT.s64.s32 %4\n%9:R64 = SHL.b64 %8, 3",
            "%8:R64 = CVT.u64.u32 %4\n%9:R64 = SHL.b64 %8, 31",
            "%8:R64 = CVT.s64.s32 %4\n%9:R64 = IMUL.b64 %8, -100",
            "%8:R64 = CVT.u64.u32 %4\n%9:R64 = IMUL.b64 %8, 3000000000",
        ],
    ),
    Rule::plain(
        "shift-and-mask",
        &[Operation::And],
        // The hardware has no fields of 64 bits.
        &[32],
        extract_field,
        &[
            "%8:R32 = SHR.u32 %4, 5\n%9:R32 = AND.b32 %8, 127",
            "%8:R32 = SHR.s32 %4, 5\n%9:R32 = AND.b32 %8, 127",
        ],
    ),
    Rule::plain(
        "rotation",
        &[Operation::Or, Operation::Iadd, Operation::Xor],
        &[32],
        make_funnel,
        &[
            "%8:R32 = SHL.b32 %4, 7\n%7:R32 = SHR.u32 %4, 25\n%9:R32 = OR.b32 %8, %7",
            "%8:R32 = SHL.b32 %4, 7\n%7:R32 = SHR.u32 %5, 25\n%9:R32 = IADD.b32 %7, %8",
        ],
    ),
    Rule {
        name: "funnel-by-nothing",
        roots: &[Operation::Shf],
        widths: &[32],
        governed_by: Governs::RuleAlone,
        rewrite: funnel_by_nothing,
        examples: &[
            "%9:R32 = SHF.l.b32 %4, %5, 0",
            "%9:R32 = SHF.r.b32 %4, %5, 32",
            "%9:R32 = SHF.r.clamp.b32 %4, %5, 0",
        ],
    },
    Rule::plain(
        "whole-or-empty-field",
        &[Operation::Bfe, Operation::Bfi],
        &[32, 64],
        simplify_field,
        &[
            "%9:R{w} = BFE.u{w} %1, 0, {w}",
            "%9:R{w} = BFE.s{w} %1, 7, 0",
            "%9:R{w} = BFI.b{w} %1, %2, 7, 0",
            "%9:R{w} = BFI.b{w} %1, %2, 0, {w}",
        ],
    ),
    Rule::plain(
        "permutation-of-one-word",
        &[Operation::Prmt],
        &[32],
        simplify_permutation,
        &[
            "%9:R32 = PRMT.b32 %4, %5, 12816",
            "%9:R32 = PRMT.b32 %4, %5, 30292",
        ],
    ),
];

/// Returns the operand and amount of a shift by a constant below its width.
fn shift_by(matcher: &Matcher<'_>, operand: Operand, operation: Operation) -> Option<(Instruction, u32)> {
    let shift = matcher.defined_by(operand, operation)?;
    let amount = matcher.constant(matcher.source(shift, 1), 32)?;
    (amount < u64::from(matcher.bits(shift))).then_some((shift, amount as u32))
}

fn shift_by_limit(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let [shifted, amount] = matcher.two(root);
    if matcher.is_constant(shifted, 0, bits) {
        return value(root, Value::Integer(0));
    }
    let keeps_sign = matcher.data_type(root).is_signed();
    match matcher.constant(amount, 32)? {
        0 => value(root, shifted),
        amount if amount >= u64::from(bits) && !keeps_sign => value(root, Value::Integer(0)),
        _ => None,
    }
}

fn shift_of_shift(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let bits = typed.data_type.bits();
    let [shifted, amount] = matcher.two(root);
    let outer = matcher.constant(amount, 32)?;
    let (inner, amount) = shift_by(matcher, shifted, typed.operation)?;
    if matcher.data_type(inner) != typed.data_type {
        return None;
    }
    let sum = outer.saturating_add(u64::from(amount));
    let amount = match typed.data_type.is_signed() {
        true => sum.min(u64::from(bits) - 1),
        false if sum >= u64::from(bits) => return value(root, Value::Integer(0)),
        false => sum,
    };
    node(
        root,
        typed,
        &[matcher.source(inner, 0).into(), Value::Integer(amount as i64)],
    )
}

fn shift_back(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let bits = typed.data_type.bits();
    let [shifted, amount] = matcher.two(root);
    let outer = matcher.constant(amount, 32)?;
    let (back, mask): (_, fn(u32, u32) -> u64) = match (typed.operation, typed.data_type.is_signed()) {
        (Operation::Shl, _) => (Operation::Shr, |bits, amount| {
            low_bits(bits) << amount & low_bits(bits)
        }),
        (_, false) => (Operation::Shl, |bits, amount| low_bits(bits) >> amount),
        _ => return None,
    };
    let (inner, amount) = shift_by(matcher, shifted, back)?;
    if outer != u64::from(amount) {
        return None;
    }
    let mask = signed(mask(bits, amount), bits);
    let and = plain(Operation::And, DataType::of_bits(bits)?);
    node(
        root,
        and,
        &[matcher.source(inner, 0).into(), Value::Integer(mask)],
    )
}

/// Multiplies an extended word by a constant word in one product; a 64-bit shift takes ptxas two
/// instructions.
fn multiply_extended(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let is_shift = matcher.function.operation(root) == Operation::Shl;
    let orders = matcher.either_order(root);
    let mut orders = orders.into_iter().take(if is_shift { 1 } else { 2 });
    orders.find_map(|[extended, constant]| {
        let factor = match is_shift {
            true => 1u64.checked_shl(u32::try_from(matcher.constant(constant, 32)?).ok()?)?,
            false => matcher.constant(constant, 64)?,
        };
        let extension = matcher.defined_by(extended, Operation::Cvt)?;
        let typed = matcher.typed_operation(extension);
        let narrow = matcher.source(extension, 0);
        let fits = match (typed.data_type, typed.source_type) {
            (DataType::U64, DataType::U32) => factor <= low_bits(32),
            (DataType::S64, DataType::S32) => i32::try_from(factor as i64).is_ok(),
            _ => false,
        };
        if !fits || matcher.register_bits(narrow) != Some(32) {
            return None;
        }
        if is_shift && has_product_elsewhere(matcher, root, matcher.register(narrow)?, factor) {
            return None;
        }
        let product = TypedOperation::new(Operation::ImulWide, typed.data_type, typed.source_type);
        node(
            root,
            product,
            &[narrow.into(), Value::Integer(signed(factor & low_bits(32), 32))],
        )
    })
}

/// True if another block has the product of a register and a constant. Sharing it would extend its
/// live range from there. ptxas recomputes a shift where its value is needed, but not a product:
/// without this test, twice as many of 660 kernels get more registers.
fn has_product_elsewhere(matcher: &Matcher<'_>, root: Instruction, register: Register, factor: u64) -> bool {
    let function = matcher.function;
    let mut uses = function.uses(register).take(USES_LOOKED_AT);
    uses.any(|(user, _)| {
        function.operation(user) == Operation::ImulWide
            && matcher.constant(matcher.source(user, 1), 32) == Some(factor & low_bits(32))
            && function.block_of(user) != function.block_of(root)
    })
}

fn extract_field(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[shifted, mask]| {
        let mask = matcher.constant(mask, bits)?;
        let (shift, amount) = shift_by(matcher, shifted, Operation::Shr)?;
        let length = mask.trailing_ones();
        if mask != low_bits(length) || length == 0 || amount + length > bits {
            return None;
        }
        let field = plain(Operation::Bfe, DataType::U32);
        let position = Value::Integer(i64::from(amount));
        node(
            root,
            field,
            &[
                matcher.source(shift, 0).into(),
                position,
                Value::Integer(i64::from(length)),
            ],
        )
    })
}

fn make_funnel(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    if !matcher.has_funnel_shifts() {
        return None;
    }
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[high, low]| {
        let (left, amount) = shift_by(matcher, high, Operation::Shl)?;
        let (right, rest) = shift_by(matcher, low, Operation::Shr)?;
        if amount == 0 || amount + rest != 32 || matcher.data_type(right).is_signed() {
            return None;
        }
        let [low, high] = [right, left].map(|shift| Value::from(matcher.source(shift, 0)));
        let funnel = variant(Operation::Shf, DataType::B32, Variant::Left);
        node(root, funnel, &[low, high, Value::Integer(i64::from(amount))])
    })
}

fn funnel_by_nothing(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let modifiers = matcher.function.modifiers(root);
    let amount = matcher.constant(matcher.source(root, 2), 32)?;
    let is_nothing = match modifiers.flags.contains(ModifierFlags::CLAMP) {
        true => amount == 0,
        false => amount % 32 == 0,
    };
    let [low, high] = matcher.two(root);
    match modifiers.variant {
        Variant::Left if is_nothing => value(root, high),
        Variant::Right if is_nothing => value(root, low),
        _ => None,
    }
}

fn simplify_field(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let bits = matcher.bits(root);
    let is_extraction = matcher.function.operation(root) == Operation::Bfe;
    let first = if is_extraction { 1 } else { 2 };
    let [position, length] =
        [first, first + 1].map(|number| matcher.constant(matcher.source(root, number), 8));
    let (position, length) = (position, length?);
    if length == 0 {
        return match is_extraction {
            true => value(root, Value::Integer(0)),
            false => value(root, matcher.source(root, 1)),
        };
    }
    let is_whole = position == Some(0) && length >= u64::from(bits);
    is_whole.then(|| value(root, matcher.source(root, 0)))?
}

fn simplify_permutation(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    if matcher.function.modifiers(root).variant != Variant::None {
        return None;
    }
    match matcher.constant(matcher.source(root, 2), 16)? {
        0x3210 => value(root, matcher.source(root, 0)),
        0x7654 => value(root, matcher.source(root, 1)),
        _ => None,
    }
}
