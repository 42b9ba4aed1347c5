//! Selects the handler of an operation and the widths of its operands.

use super::lanes::Handler;
use super::{approximate, bits, convert, float, integer};
use oriel_ori::{Comparison, DataType, Modifiers, Operation};

/// A handler with the widths in bits of its result and sources; zero if absent.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// The function.
    pub handler: Handler,
    /// Bits of the result: 32 or 64.
    pub result: u32,
    /// Bits of the sources; 0 if absent.
    pub sources: [u32; 4],
}

/// 1.0 in a type of floats, in every lane.
pub fn one(data_type: DataType) -> Option<u64> {
    Some(match data_type {
        DataType::F16 => 0x3C00,
        DataType::Bf16 => 0x3F80,
        DataType::F32 => 0x3F80_0000,
        DataType::F64 => 0x3FF0_0000_0000_0000,
        _ => return None,
    })
}

/// Returns the handler of an operation with this many sources.
pub fn select_for(
    operation: Operation,
    data_type: DataType,
    source_type: DataType,
    modifiers: Modifiers,
    sources: usize,
) -> Option<Shape> {
    if operation == Operation::Cvt && sources == 2 {
        return Some(Shape {
            handler: convert::select_packed(data_type, source_type, modifiers)?,
            result: 32,
            sources: [32, 32, 0, 0],
        });
    }
    if operation == Operation::Cvt && sources > 2 {
        return None;
    }
    select(operation, data_type, source_type, modifiers)
}

/// Returns the handler of a conversion whose source is the low part of a 64-bit register.
pub fn select_within_register(to: DataType, from: DataType, modifiers: Modifiers) -> Option<Shape> {
    Some(Shape {
        handler: convert::select_general(to, from, modifiers, true)?,
        result: to.bits().max(16),
        sources: [64, 0, 0, 0],
    })
}

/// Returns the handler of an operation; none if this form of it is not modelled.
pub fn select(
    operation: Operation,
    data_type: DataType,
    source_type: DataType,
    modifiers: Modifiers,
) -> Option<Shape> {
    use Operation as O;
    let own = data_type.bits();
    let of_source = source_type.bits();
    // By default, results and sources have the operation's own width.
    let (handler, result, sources) = match operation {
        O::Iadd | O::Isub | O::Imul | O::ImulHi | O::Imul24 | O::Idiv | O::Irem | O::Imin | O::Imax => (
            integer::select(operation, data_type, modifiers)?,
            own,
            [own, own, 0, 0],
        ),
        O::Imad | O::Isad => (
            integer::select(operation, data_type, modifiers)?,
            own,
            [own, own, own, 0],
        ),
        O::Iabs | O::Ineg => (
            integer::select(operation, data_type, modifiers)?,
            own,
            [own, 0, 0, 0],
        ),
        O::ImulWide => (
            integer::select_wide(source_type, false)?,
            2 * of_source,
            [of_source, of_source, 0, 0],
        ),
        O::ImadWide => (
            integer::select_wide(source_type, true)?,
            2 * of_source,
            [of_source, of_source, 2 * of_source, 0],
        ),
        O::Dp2a | O::Dp4a => (
            integer::select_dot(operation, data_type, source_type, modifiers.variant)?,
            32,
            [32, 32, 32, 0],
        ),
        O::IaddCarry | O::IaddCarryOut | O::IsubCarry | O::IsubCarryOut => (
            integer::select_carry(operation, data_type)?,
            own,
            [own, own, 0, 0],
        ),
        O::And | O::Or | O::Xor => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, own, 0, 0],
        ),
        O::Not | O::Brev => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, 0, 0, 0],
        ),
        O::Shl | O::Shr => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, 32, 0, 0],
        ),
        O::Bmsk | O::Szext => (bits::select(operation, data_type, modifiers)?, 32, [32, 32, 0, 0]),
        O::Shf | O::Prmt | O::Fns => (
            bits::select(operation, data_type, modifiers)?,
            32,
            [32, 32, 32, 0],
        ),
        O::Bfe => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, 32, 32, 0],
        ),
        O::Bfi => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, own, 32, 32],
        ),
        O::Clz | O::Popc | O::Bfind => {
            let counted = if source_type == DataType::None {
                data_type
            } else {
                source_type
            };
            let handler = bits::select_count(operation, counted, modifiers.variant)?;
            (handler, 32, [counted.bits(), 0, 0, 0])
        }
        O::Isetp => {
            let (comparison, compared) = as_signed_comparison(modifiers.comparison, source_type);
            (
                bits::select_comparison(comparison, compared)?,
                1,
                [of_source, of_source, 0, 0],
            )
        }
        O::Fsetp => (
            float::select_comparison(modifiers.comparison, source_type, modifiers.flags, false)?,
            1,
            [of_source, of_source, 0, 0],
        ),
        O::Sel => (bits::select_selection(data_type)?, own, [own, own, 1, 0]),
        O::Fadd | O::Fsub if source_type != DataType::None => (
            float::select_mixed(operation, data_type, source_type, modifiers)?,
            own,
            [of_source, own, 0, 0],
        ),
        O::Ffma if source_type != DataType::None => (
            float::select_mixed(operation, data_type, source_type, modifiers)?,
            own,
            [of_source, of_source, own, 0],
        ),
        O::Fadd | O::Fsub | O::Fmul | O::Fdiv | O::Fmin | O::Fmax | O::Fcopysign => (
            float::select(operation, data_type, modifiers)?,
            own,
            [own, own, 0, 0],
        ),
        O::Ffma => (
            float::select(operation, data_type, modifiers)?,
            own,
            [own, own, own, 0],
        ),
        O::Frcp | O::Fsqrt | O::Fneg | O::Fabs => (
            float::select(operation, data_type, modifiers)?,
            own,
            [own, 0, 0, 0],
        ),
        O::Ftestinf => (float::select_test(source_type)?, 1, [of_source, 0, 0, 0]),
        O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh => (
            approximate::select(operation, data_type, modifiers)?,
            own,
            [own, 0, 0, 0],
        ),
        O::Cvt => (
            convert::select(data_type, source_type, modifiers)?,
            own.max(16),
            // Bytes are in registers of 16 bits and more.
            [of_source.max(16), 0, 0, 0],
        ),
        O::Mov | O::Copy => (
            bits::select(operation, data_type, modifiers)?,
            own,
            [own, 0, 0, 0],
        ),
        _ => return None,
    };
    Some(Shape {
        handler,
        result,
        sources,
    })
}

/// Returns an integer comparison in a form without LLVM's unsigned variants, and the compared type.
fn as_signed_comparison(comparison: Comparison, source: DataType) -> (Comparison, DataType) {
    let unsigned = match source.bits() {
        16 => DataType::U16,
        32 => DataType::U32,
        64 => DataType::U64,
        _ => source,
    };
    match comparison {
        Comparison::Ltu => (Comparison::Lt, unsigned),
        Comparison::Leu => (Comparison::Le, unsigned),
        Comparison::Gtu => (Comparison::Gt, unsigned),
        Comparison::Geu => (Comparison::Ge, unsigned),
        signed_or_equal => (signed_or_equal, source),
    }
}
