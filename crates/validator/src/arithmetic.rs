//! The normal forms of operations. An operation without an entry here is identified only by its
//! name, types, modifiers and operands.

use super::floats::is_nan;
use super::values::{Bitwise, Operator, Value, Values, mask};

use oriel_ori::{Comparison, DataType, ModifierFlags, Modifiers, Operation, Rounding, TypeClass, Variant};
use smallvec::SmallVec;

/// An operation in one of its forms.
#[derive(Clone, Copy, Debug)]
pub(super) struct Form {
    pub operation: Operation,
    pub data_type: DataType,
    pub source_type: DataType,
    pub modifiers: Modifiers,
}

impl Form {
    /// Removes settings that do not affect the result.
    fn normalized(self) -> Self {
        let mut form = self;
        // At this stage contraction has happened or not; the permission no longer matters.
        form.modifiers.flags.remove(ModifierFlags::CONTRACT);
        form
    }

    fn operator(self) -> Operator {
        Operator::Operation {
            operation: self.operation,
            data_type: self.data_type,
            source_type: self.source_type,
            modifiers: self.modifiers,
        }
    }
}

const fn is_integer(data_type: DataType) -> bool {
    !matches!(data_type.class(), TypeClass::Float) && data_type.lanes() == 1
}

/// True if the interpreter computes the hardware's result bit for bit. Approximations differ, as do
/// resulting NaNs and divisions by zero.
fn is_the_hardwares(form: Form, sources: &[u64], result: u64) -> bool {
    use Operation as O;
    let of_sources = match form.source_type {
        DataType::None => form.data_type,
        source_type => source_type,
    };
    match form.operation {
        O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh => false,
        O::Fdiv | O::Fsqrt if form.modifiers.rounding == Rounding::None => false,
        O::Idiv | O::Irem if sources.get(1) == Some(&0) => false,
        O::Sel | O::Mov | O::Copy | O::Fsetp | O::Ftestinf => true,
        _ => !is_nan(form.data_type, result) && !sources.iter().any(|&source| is_nan(of_sources, source)),
    }
}

impl Values {
    /// Returns the result of an operation with one result, `width` bits wide.
    pub fn compute(&mut self, form: Form, sources: &[Value], width: u32) -> Value {
        let form = form.normalized();
        self.compute_integer(form, sources, width)
            .or_else(|| self.compute_float(form, sources, width))
            .filter(|&value| self.width(value) == width)
            .unwrap_or_else(|| self.uninterpreted(form, sources, width))
    }

    /// Returns the value of an operation without a normal form, or its constant result.
    pub fn uninterpreted(&mut self, form: Form, sources: &[Value], width: u32) -> Value {
        let form = form.normalized();
        let constants: Option<SmallVec<[u64; 4]>> =
            sources.iter().map(|&source| self.as_constant(source)).collect();
        if let Some(constants) = constants
            && !constants.is_empty()
            && (1..=64).contains(&width)
        {
            let evaluated = oriel_arithmetic::Form {
                operation: form.operation,
                data_type: form.data_type,
                source_type: form.source_type,
                modifiers: form.modifiers,
            };
            if let Some(bits) = evaluated.evaluate(&constants, width)
                && is_the_hardwares(form, &constants, bits)
            {
                return self.constant(width, bits);
            }
        }
        let mut sources: SmallVec<[Value; 4]> = SmallVec::from_slice(sources);
        if form.operation.is_commutative()
            && sources.len() >= 2
            && self.width(sources[0]) == self.width(sources[1])
            && sources[0] > sources[1]
        {
            sources.swap(0, 1);
        }
        self.intern(form.operator(), width, &sources)
    }

    /// Returns the normal form of an operation that has one.
    fn compute_integer(&mut self, form: Form, sources: &[Value], width: u32) -> Option<Value> {
        use Operation as O;
        let Form {
            operation,
            data_type,
            source_type,
            modifiers,
        } = form;
        let is_plain = is_integer(data_type) && modifiers.flags.is_empty() && width <= 64;
        let signed = data_type.is_signed();
        Some(match (operation, sources) {
            (O::Mov | O::Copy, &[value]) => value,
            (O::Sel, &[yes, no, condition]) => self.select(width, condition, yes, no),
            (O::Isetp, &[left, right]) => {
                self.compare(modifiers.comparison, left, right, source_type.is_signed())?
            }
            (O::Fsetp, &[left, right]) if source_type.lanes() == 1 => {
                self.compare_floats(form, left, right)?
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
            _ if !is_plain => return self.compute_shift(form, sources, width),
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
            _ => return self.compute_shift(form, sources, width),
        })
    }

    /// Shifts and bit fields.
    fn compute_shift(&mut self, form: Form, sources: &[Value], width: u32) -> Option<Value> {
        use Operation as O;
        let signed = form.data_type.is_signed();
        let wraps = !form.modifiers.flags.contains(ModifierFlags::CLAMP);
        Some(match (form.operation, sources) {
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
                match form.modifiers.variant {
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
                let place = mask(length as u32) << start;
                let field = self.shift_left(width, field, start);
                let [here, elsewhere] = [place, !place].map(|bits| self.constant(width, bits));
                let field = self.bitwise(Bitwise::And, width, field, here);
                let rest = self.bitwise(Bitwise::And, width, value, elsewhere);
                self.bitwise(Bitwise::Or, width, field, rest)
            }
            (O::Prmt, &[low, high, selectors]) if form.modifiers.variant == Variant::None && width == 32 => {
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
    fn compare_floats(&mut self, form: Form, left: Value, right: Value) -> Option<Value> {
        let mut form = form;
        let mut sources = [left, right];
        if left > right {
            sources.swap(0, 1);
            form.modifiers.comparison = form.modifiers.comparison.swapped();
        }
        let holds_for_nan = matches!(
            form.modifiers.comparison,
            Comparison::Equ
                | Comparison::Neu
                | Comparison::Ltu
                | Comparison::Leu
                | Comparison::Gtu
                | Comparison::Geu
                | Comparison::Nan
        );
        if holds_for_nan {
            form.modifiers.comparison = form.modifiers.comparison.inverse(true);
            let opposite = self.uninterpreted(form, &sources, 1);
            return Some(self.not(opposite));
        }
        Some(self.uninterpreted(form, &sources, 1))
    }
}
