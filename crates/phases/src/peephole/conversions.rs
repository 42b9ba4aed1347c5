//! Identities of conversions between widths, and of packing and unpacking words.

use super::matcher::{Matcher, is_integer};
use super::rewrite::{Rewrite, node, plain, value, variant};
use super::rule::Rule;
use oriel_arithmetic::TypedOperation;
use oriel_ori::{DataType, Instruction, Operand, Operation, Variant};

pub(super) const RULES: &[Rule] = &[
    Rule::plain(
        "conversion-of-conversion",
        &[Operation::Cvt],
        &[16, 32, 64],
        convert_twice,
        &[
            "%8:R64 = CVT.u64.u32 %4\n%9:R32 = CVT.u32.u64 %8",
            "%8:R64 = CVT.s64.s32 %4\n%9:R16 = CVT.u16.u64 %8",
            "%8:R32 = CVT.u32.u16 %12\n%9:R64 = CVT.s64.s32 %8",
            "%8:R32 = CVT.s32.s16 %12\n%9:R64 = CVT.s64.s32 %8",
            "%8:R32 = CVT.s32.s16 %12\n%9:R16 = CVT.u16.u32 %8",
            "%8:R64 = CVT.u64.u16 %12\n%9:R32 = CVT.u32.u64 %8",
            "%8:R32 = CVT.u32.u64 %3\n%9:R16 = CVT.u16.u32 %8",
        ],
    ),
    Rule::plain(
        "high-product",
        &[Operation::Cvt],
        &[32],
        high_product,
        &[
            "%8:R64 = IMUL.WIDE.u64.u32 %4, %5\n%7:R64 = SHR.u64 %8, 32\n%9:R32 = CVT.u32.u64 %7",
            "%8:R64 = IMUL.WIDE.s64.s32 %4, %5\n%7:R64 = SHR.u64 %8, 32\n%9:R32 = CVT.u32.u64 %7",
        ],
    ),
    Rule::plain(
        "high-word",
        &[Operation::Cvt],
        &[32],
        high_word,
        &[
            "%8:R64 = SHR.u64 %3, 32\n%9:R32 = CVT.u32.u64 %8",
            "%8:R64 = SHR.s64 %3, 32\n%9:R32 = CVT.u32.u64 %8",
        ],
    ),
    Rule::plain(
        "two-words",
        &[Operation::Or, Operation::Xor],
        &[64],
        join_words,
        &[
            "%8:R64 = CVT.u64.u32 %4\n%7:R64 = SHL.b64 %8, 32\n%6:R64 = CVT.u64.u32 %5\n%9:R64 = OR.b64 %7, %6",
            "%8:R64 = CVT.s64.s32 %4\n%7:R64 = SHL.b64 %8, 32\n%6:R64 = CVT.u64.u32 %5\n%9:R64 = XOR.b64 %6, %7",
        ],
    ),
    Rule::plain(
        "word-twice",
        &[Operation::Imul],
        &[64],
        double_word,
        &["%8:R64 = CVT.u64.u32 %4\n%9:R64 = IMUL.b64 %8, 4294967297"],
    ),
    Rule::plain(
        "word-of-two",
        &[Operation::Cvt, Operation::Extract],
        &[32],
        take_word,
        &[
            "%8:R64 = PACK.b64.b32 %4, %5\n%9:R32 = CVT.u32.u64 %8",
            "%8:R64 = PACK.b64.b32 %4, %5\n%9:R32 = EXTRACT.hi.b32.b64 %8",
        ],
    ),
    Rule::plain(
        "high-word-of-two",
        &[Operation::Shr],
        &[64],
        shift_to_high_word,
        &[
            "%8:R64 = PACK.b64.b32 %4, %5\n%9:R64 = SHR.u64 %8, 32",
            "%8:R64 = PACK.b64.b32 %4, %5\n%9:R64 = SHR.s64 %8, 32",
        ],
    ),
];

/// Returns a conversion between widths of registers, with the register that it reads.
pub(super) fn resizing(matcher: &Matcher<'_>, instruction: Instruction) -> Option<(TypedOperation, Operand)> {
    let typed = matcher.typed_operation(instruction);
    let source = matcher.source(instruction, 0);
    let is_whole = |data_type: DataType| is_integer(data_type) && matches!(data_type.bits(), 16 | 32 | 64);
    let is_resizing = typed.operation == Operation::Cvt
        && matcher.function.sources(instruction).len() == 1
        && is_whole(typed.data_type)
        && is_whole(typed.source_type)
        && matcher.register_bits(source)? == typed.source_type.bits()
        && matcher.register_bits(matcher.function.result(instruction, 0))? == typed.data_type.bits();
    is_resizing.then_some((typed, source))
}

/// Returns the operand of a zero or sign extension from 32 to 64 bits, and whether it is signed.
pub(super) fn extended_word(matcher: &Matcher<'_>, operand: Operand) -> Option<(Operand, bool)> {
    let (typed, source) = resizing(matcher, matcher.defined_by(operand, Operation::Cvt)?)?;
    let is_extension = typed.source_type.bits() == 32 && typed.data_type.bits() == 64;
    is_extension.then_some((source, typed.source_type.is_signed()))
}

/// Returns the two words of a 64-bit value, the low one first.
pub(super) fn words_of(matcher: &Matcher<'_>, operand: Operand) -> Option<[Operand; 2]> {
    let pack = matcher.defined_by(operand, Operation::Pack)?;
    let typed = matcher.typed_operation(pack);
    let is_of_words = typed.data_type.bits() == 64 && typed.source_type.bits() == 32;
    let words = matcher.two_if_binary(pack).filter(|_| is_of_words)?;
    words
        .iter()
        .all(|&word| matcher.register_bits(word) == Some(32))
        .then_some(words)
}

fn convert_twice(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let (outer, operand) = resizing(matcher, root)?;
    let (inner, leaf) = resizing(matcher, matcher.defined_by(operand, Operation::Cvt)?)?;
    let [to, between, from] = [outer.data_type, inner.data_type, inner.source_type].map(DataType::bits);
    if between == to {
        return None;
    }
    if to == from && between > from {
        return value(root, leaf);
    }
    let convert = |data_type, source_type| {
        node(
            root,
            TypedOperation::new(Operation::Cvt, data_type, source_type),
            &[leaf.into()],
        )
    };
    match (between > from, to > between) {
        // The truncated part is not needed, or is truncated as well.
        (true, false) if to < from => convert(outer.data_type, DataType::unsigned(from)),
        (false, false) => convert(outer.data_type, DataType::unsigned(from)),
        // Extended to a smaller width in the same way.
        (true, false) => convert(typed_alike(to, inner), inner.source_type),
        // Zeros are extended as zeros; a sign is extended if the second extension is signed.
        (true, true) if !inner.source_type.is_signed() || outer.source_type.is_signed() => {
            convert(typed_alike(to, inner), inner.source_type)
        }
        _ => None,
    }
}

/// Returns the type of a width with the signedness of an extension.
fn typed_alike(bits: u32, extension: TypedOperation) -> DataType {
    match (bits, extension.source_type.is_signed()) {
        (32, true) => DataType::S32,
        (64, true) => DataType::S64,
        (bits, _) => DataType::unsigned(bits),
    }
}

/// Returns the value that is shifted right by 32 bits and truncated to a word.
fn shifted_word(matcher: &Matcher<'_>, root: Instruction) -> Option<Operand> {
    let (typed, operand) = resizing(matcher, root)?;
    let shift = matcher.defined_by(operand, Operation::Shr)?;
    let is_high = typed.data_type.bits() == 32 && matcher.is_constant(matcher.source(shift, 1), 32, 32);
    (is_high && matcher.bits(shift) == 64).then(|| matcher.source(shift, 0))
}

fn high_product(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let product = matcher.defined_by(shifted_word(matcher, root)?, Operation::ImulWide)?;
    let source_type = matcher.function.source_type(product);
    if source_type.bits() != 32 {
        return None;
    }
    let [a, b] = matcher.two(product);
    node(root, plain(Operation::ImulHi, source_type), &[a.into(), b.into()])
}

fn high_word(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let wide = shifted_word(matcher, root)?;
    let extract = TypedOperation {
        source_type: DataType::B64,
        ..variant(Operation::Extract, DataType::B32, Variant::High)
    };
    node(root, extract, &[wide.into()])
}

fn join_words(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[high, low]| {
        let shift = matcher.defined_by(high, Operation::Shl)?;
        let is_high = matcher.is_constant(matcher.source(shift, 1), 32, 32);
        let (high, _) = extended_word(matcher, matcher.source(shift, 0))?;
        let (low, by_sign) = extended_word(matcher, low)?;
        let pack = TypedOperation::new(Operation::Pack, DataType::B64, DataType::B32);
        (is_high && !by_sign).then(|| node(root, pack, &[low.into(), high.into()]))?
    })
}

fn double_word(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let mut orders = matcher.either_order(root).into_iter();
    orders.find_map(|[factor, constant]| {
        let is_doubled = matcher.is_constant(constant, 1 << 32 | 1, 64);
        let (word, by_sign) = extended_word(matcher, factor)?;
        let pack = TypedOperation::new(Operation::Pack, DataType::B64, DataType::B32);
        (is_doubled && !by_sign).then(|| node(root, pack, &[word.into(), word.into()]))?
    })
}

fn take_word(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let typed = matcher.typed_operation(root);
    let number = match typed.operation {
        Operation::Cvt => {
            resizing(matcher, root)?;
            0
        }
        _ => usize::from(typed.modifiers.variant == Variant::High),
    };
    value(root, words_of(matcher, matcher.source(root, 0))?[number])
}

fn shift_to_high_word(matcher: &Matcher<'_>, root: Instruction) -> Option<Rewrite> {
    let [shifted, amount] = matcher.two(root);
    if !matcher.is_constant(amount, 32, 32) {
        return None;
    }
    let [_, high] = words_of(matcher, shifted)?;
    let extension = match matcher.data_type(root).is_signed() {
        true => TypedOperation::new(Operation::Cvt, DataType::S64, DataType::S32),
        false => TypedOperation::new(Operation::Cvt, DataType::U64, DataType::U32),
    };
    node(root, extension, &[high.into()])
}
