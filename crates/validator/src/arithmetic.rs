//! The normal forms of operations. An operation without an entry here is identified only by its
//! name, types, modifiers and operands.

use super::floats::is_nan;
use super::values::{Bitwise, Operator, Value, Values};
use oriel_arithmetic::{TypedOperation, low_bits};
use oriel_ori::{Comparison, DataType, ModifierFlags, Operation, Rounding, TypeClass, Variant};
use smallvec::SmallVec;

/// Removes settings that do not affect the result.
fn normalized(typed: TypedOperation) -> TypedOperation {
    let mut typed = typed;
    // At this stage contraction has happened or not; the permission no longer matters.
    typed.modifiers.flags.remove(ModifierFlags::CONTRACT);
    typed
}

const fn operator(typed: TypedOperation) -> Operator {
    Operator::Operation {
        operation: typed.operation,
        data_type: typed.data_type,
        source_type: typed.source_type,
        modifiers: typed.modifiers,
    }
}

const fn is_integer(data_type: DataType) -> bool {
    !matches!(data_type.class(), TypeClass::Float) && data_type.lanes() == 1
}

/// True if the interpreter computes the hardware's result bit for bit. Approximations differ, as do
/// resulting NaNs and divisions by zero.
fn is_the_hardwares(typed: TypedOperation, sources: &[u64], result: u64) -> bool {
    use Operation as O;
    let of_sources = match typed.source_type {
        DataType::None => typed.data_type,
        source_type => source_type,
    };
    match typed.operation {
        O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh => false,
        O::Fdiv | O::Fsqrt if typed.modifiers.rounding == Rounding::None => false,
        O::Idiv | O::Irem if sources.get(1) == Some(&0) => false,
        O::Sel | O::Mov | O::Copy | O::Fsetp | O::Ftestinf => true,
        _ => !is_nan(typed.data_type, result) && !sources.iter().any(|&source| is_nan(of_sources, source)),
    }
}

impl Values {
    /// Returns the result of an operation with one result, `width` bits wide.
    pub fn compute(&mut self, typed: TypedOperation, sources: &[Value], width: u32) -> Value {
        let typed = normalized(typed);
        self.compute_integer(typed, sources, width)
            .or_else(|| self.compute_float(typed, sources, width))
            .filter(|&value| self.width(value) == width)
            .unwrap_or_else(|| self.uninterpreted(typed, sources, width))
    }

    /// Returns the value of an operation without a normal form, or its constant result.
    pub fn uninterpreted(&mut self, typed: TypedOperation, sources: &[Value], width: u32) -> Value {
        let typed = normalized(typed);
        let constants: Option<SmallVec<[u64; 4]>> =
            sources.iter().map(|&source| self.as_constant(source)).collect();
        if let Some(constants) = constants
            && !constants.is_empty()
            && (1..=64).contains(&width)
            && let Some(bits) = typed.evaluate(&constants, width)
            && is_the_hardwares(typed, &constants, bits)
        {
            return self.constant(width, bits);
        }
        let mut sources: SmallVec<[Value; 4]> = SmallVec::from_slice(sources);
        self.order_commutative(typed.operation, &mut sources);
        self.intern(operator(typed), width, &sources)
    }

    /// Puts sources that may be exchanged in one order.
    pub fn order_commutative(&self, operation: Operation, sources: &mut [Value]) {
        if operation.is_commutative()
            && sources.len() >= 2
            && self.width(sources[0]) == self.width(sources[1])
            && sources[0] > sources[1]
        {
            sources.swap(0, 1);
        }
    }

    /// Returns the normal form of an operation that has one.
    fn compute_integer(&mut self, typed: TypedOperation, sources: &[Value], width: u32) -> Option<Value> {
        use Operation as O;
        let TypedOperation {
            operation,
            data_type,
            source_type,
            modifiers,
        } = typed;
        let is_plain = is_integer(data_type) && modifiers.flags.is_empty() && width <= 64;
        let signed = data_type.is_signed();
        Some(match (operation, sources) {
            (O::Mov | O::Copy, &[value]) => value,
            (O::Sel, &[yes, no, condition]) => self.select(width, condition, yes, no),
            (O::Isetp, &[left, right]) => {
                self.compare(modifiers.comparison, left, right, source_type.is_signed())?
            }
            (O::Fsetp, &[left, right]) if source_type.lanes() == 1 => {
                self.compare_floats(typed, left, right)?
            }
            (O::Cvt, &[value]) if is_integer(source_type) && is_plain => {
                let narrow = self.resize(source_type.bits(), value, false);
                let converted = self.resize(data_type.bits(), narrow, source_type.is_signed());
                self.resize(width, converted, signed)
            }
            (O::Pack, parts) => self.concatenate(width, parts)?,
            (O::Extract, &[value]) => {
                let low = if modifiers.variant == Variant::High {
                    width
                } else {
                    0
                };
                self.extract(value, low, width)
            }
            (O::And, &[left, right]) => self.bitwise(Bitwise::And, width, left, right),
            (O::Or, &[left, right]) => self.bitwise(Bitwise::Or, width, left, right),
            (O::Xor, &[left, right]) => self.bitwise(Bitwise::Xor, width, left, right),
            (O::Not, &[value]) if width <= 64 => self.complement(width, value),
            _ if !is_plain => return self.compute_shift(typed, sources, width),
            (O::Iadd | O::Lea, &[left, right]) => self.add(width, left, right),
            (O::Isub, &[left, right]) => self.subtract(width, left, right),
            (O::Ineg, &[value]) => self.scale(width, value, u64::MAX),
            (O::Imul, &[left, right]) => self.multiply(width, left, right),
            (O::Imad, &[left, right, summand]) => {
                let product = self.multiply(width, left, right);
                self.add(width, product, summand)
            }
            (O::ImulWide, &[left, right]) => self.multiply_wide(source_type, width, left, right),
            (O::ImadWide, &[left, right, summand]) => {
                let product = self.multiply_wide(source_type, width, left, right);
                self.add(width, product, summand)
            }
            (O::ImulHi, &[left, right]) if width <= 32 => {
                let product = self.multiply_wide(data_type, 2 * width, left, right);
                self.extract(product, width, width)
            }
            (O::Imin | O::Imax, &[left, right]) if left == right => left,
            (O::Idiv, &[value, divisor]) if self.as_constant(divisor) == Some(1) => value,
            (O::Irem, &[_, divisor]) if self.as_constant(divisor) == Some(1) => self.constant(width, 0),
            (O::Idiv, &[value, divisor]) if !signed => {
                let by = self.as_constant(divisor).filter(|by| by.is_power_of_two())?;
                self.shift_right(width, value, by.trailing_zeros().into(), false)
            }
            (O::Irem, &[value, divisor]) if !signed => {
                let by = self.as_constant(divisor).filter(|by| by.is_power_of_two())?;
                let low = self.constant(width, by - 1);
                self.bitwise(Bitwise::And, width, value, low)
            }
            _ => return self.compute_shift(typed, sources, width),
        })
    }

    /// Shifts and bit fields.
    fn compute_shift(&mut self, typed: TypedOperation, sources: &[Value], width: u32) -> Option<Value> {
        use Operation as O;
        let signed = typed.data_type.is_signed();
        let wraps = !typed.modifiers.flags.contains(ModifierFlags::CLAMP);
        Some(match (typed.operation, sources) {
            (O::Shl, &[value, amount]) => {
                let amount = self.as_constant(amount)?;
                self.shift_left(width, value, amount)
            }
            (O::Shr, &[value, amount]) => {
                let amount = self.as_constant(amount)?;
                self.shift_right(width, value, amount, signed)
            }
            (O::Shf, &[low, high, amount]) if width == 32 => {
                let amount = self.as_constant(amount)?;
                let amount = if wraps { amount & 31 } else { amount.min(32) };
                let both = self.concatenate(64, &[low, high])?;
                match typed.modifiers.variant {
                    Variant::Left => self.extract(both, 32 - amount as u32, 32),
                    Variant::Right => self.extract(both, amount as u32, 32),
                    _ => return None,
                }
            }
            (O::Bfe, &[value, start, length]) => {
                let [start, length] = [self.as_constant(start)? & 0xFF, self.as_constant(length)? & 0xFF];
                let end = start + length;
                if length == 0 || end > u64::from(width) {
                    return None;
                }
                let field = self.extract(value, start as u32, length as u32);
                self.resize(width, field, signed)
            }
            (O::Bfi, &[field, value, start, length]) => {
                let [start, length] = [self.as_constant(start)? & 0xFF, self.as_constant(length)? & 0xFF];
                let end = start + length;
                if length == 0 || end > u64::from(width) {
                    return None;
                }
                let place = low_bits(length as u32) << start;
                let field = self.shift_left(width, field, start);
                let [here, elsewhere] = [place, !place].map(|bits| self.constant(width, bits));
                let field = self.bitwise(Bitwise::And, width, field, here);
                let rest = self.bitwise(Bitwise::And, width, value, elsewhere);
                self.bitwise(Bitwise::Or, width, field, rest)
            }
            (O::Prmt, &[low, high, selectors]) if typed.modifiers.variant == Variant::None && width == 32 => {
                let selectors = self.as_constant(selectors)?;
                let both = self.concatenate(64, &[low, high])?;
                let mut bytes: SmallVec<[Value; 4]> = SmallVec::new();
                for place in 0..4 {
                    let selector = selectors >> (4 * place) & 0xF;
                    let byte = self.extract(both, 8 * (selector as u32 & 7), 8);
                    bytes.push(match selector & 8 {
                        0 => byte,
                        _ => {
                            let sign = self.extract(byte, 7, 1);
                            self.sign_extend(8, sign)
                        }
                    });
                }
                self.concatenate(32, &bytes)?
            }
            (O::Szext, &[value, length]) => {
                let length = self.as_constant(length)?;
                let length = if wraps { length & 31 } else { length };
                if length == 0 || length >= u64::from(width) {
                    return None;
                }
                let low = self.extract(value, 0, length as u32);
                self.resize(width, low, signed)
            }
            _ => return None,
        })
    }

    fn multiply_wide(&mut self, narrow: DataType, width: u32, left: Value, right: Value) -> Value {
        let signed = narrow.is_signed();
        let (left, right) = (
            self.resize(width, left, signed),
            self.resize(width, right, signed),
        );
        self.multiply(width, left, right)
    }

    /// A comparison of floating-point numbers, with the operands in value order. Of a comparison
    /// and its negation, uses the one that does not hold for NaN.
    fn compare_floats(&mut self, typed: TypedOperation, left: Value, right: Value) -> Option<Value> {
        let mut typed = typed;
        let mut sources = [left, right];
        if left > right {
            sources.swap(0, 1);
            typed.modifiers.comparison = typed.modifiers.comparison.swapped();
        }
        let holds_for_nan = matches!(
            typed.modifiers.comparison,
            Comparison::Equ
                | Comparison::Neu
                | Comparison::Ltu
                | Comparison::Leu
                | Comparison::Gtu
                | Comparison::Geu
                | Comparison::Nan
        );
        if holds_for_nan {
            typed.modifiers.comparison = typed.modifiers.comparison.inverse(true);
            let opposite = self.uninterpreted(typed, &sources, 1);
            return Some(self.not(opposite));
        }
        Some(self.uninterpreted(typed, &sources, 1))
    }
}
