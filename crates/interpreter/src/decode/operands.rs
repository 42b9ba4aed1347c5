//! Operands: the rows of sources and results, and addresses.

use super::*;

/// Operands.
impl Compiler<'_> {
    /// Returns the row of a source that an operation reads as `bits` bits of `data_type`.
    pub(super) fn source(
        &mut self,
        number: usize,
        bits: u32,
        data_type: DataType,
    ) -> Result<u32, Unsupported> {
        let sources = self.function.sources(self.current);
        if number >= sources.len() {
            return Err("too few sources".to_owned());
        }
        let operand = sources.get(number);
        let row = self.plain_source(operand, bits)?;
        if operand.is_modified() {
            return self.modified(row, operand, bits, data_type);
        }
        Ok(row)
    }

    pub(super) fn plain_source(&mut self, operand: Operand, bits: u32) -> Result<u32, Unsupported> {
        if is_undefined_source(&self.undefined, operand) {
            let row = self.new_row(bits);
            self.make_undefined(row, bits);
            return Ok(row);
        }
        match operand.kind() {
            OperandKind::Register(register) | OperandKind::Predicate(register) => {
                self.register_row(register, bits)
            }
            OperandKind::Immediate(_) | OperandKind::Constant(_) => {
                let value = self.constant(operand)?;
                Ok(self.constant_row(bits, value))
            }
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::Symbol { .. } | Special::Frame(_) => {
                    let result = self.new_row(bits);
                    self.emit_address(operand, 0, result, bits)?;
                    Ok(result)
                }
                Special::SpecialRegister(register) => {
                    let result = self.new_row(bits);
                    self.emit(Step::Special {
                        register,
                        result,
                        is_wide: is_wide(bits),
                    });
                    Ok(result)
                }
                Special::Physical(_) | Special::Machine { .. } => {
                    Err("an operand that only LLVM can describe".to_owned())
                }
            },
            _ => Err("an operand that is no value".to_owned()),
        }
    }

    /// Gives a row another number at each execution.
    pub(super) fn make_undefined(&mut self, row: u32, bits: u32) {
        for number in 0..bits.div_ceil(64) {
            self.emit(Step::Undefined {
                result: row + number,
                bits: (bits - 64 * number).min(64),
            });
        }
    }

    pub(super) fn constant(&self, operand: Operand) -> Result<u64, Unsupported> {
        if let OperandKind::Constant(constant) = operand.kind()
            && let Constant::Bits { bits, high, .. } = self.function.constant_data(constant)
            && (bits > 64 || high != 0)
        {
            return Err("a constant of more than 64 bits".to_owned());
        }
        self.function
            .constant_bits(operand)
            .ok_or_else(|| "an operand that is no constant".to_owned())
    }

    pub(super) fn register_row(&self, register: Register, bits: u32) -> Result<u32, Unsupported> {
        let has = u32::from(self.function.register(register).bits);
        // Values of up to 32 bits have the same kind of row.
        if is_wide(has) != is_wide(bits) || (has > 64) != (bits > 64) {
            return Err(format!(
                "a register of {has} bits where {bits} are read or written"
            ));
        }
        Ok(self.registers[register.index()])
    }

    /// Returns the row of a source with its own sign, absolute value or complement.
    pub(super) fn modified(
        &mut self,
        row: u32,
        operand: Operand,
        bits: u32,
        data_type: DataType,
    ) -> Result<u32, Unsupported> {
        let mut row = row;
        let (negate, absolute) = if data_type.is_float() {
            (Operation::Fneg, Operation::Fabs)
        } else {
            (Operation::Ineg, Operation::Iabs)
        };
        let signed = match bits {
            16 => DataType::S16,
            64 => DataType::S64,
            _ => DataType::S32,
        };
        for (is_set, operation) in [
            (operand.is_absolute(), absolute),
            (operand.is_negated(), negate),
            (operand.is_complemented(), Operation::Not),
        ] {
            if !is_set {
                continue;
            }
            let of_type = match operation {
                Operation::Not => DataType::of_bits(bits).unwrap_or_default(),
                _ if data_type.is_float() => data_type,
                _ => signed,
            };
            let shape = selection::select(operation, of_type, DataType::None, Modifiers::default())
                .ok_or("a source that is modified")?;
            let result = self.new_row(bits);
            self.emit(Step::Compute {
                run: shape.handler,
                fields: Fields {
                    result,
                    sources: [row; 4],
                    ..Fields::default()
                },
            });
            row = result;
        }
        Ok(row)
    }

    pub(super) fn result(&self, number: usize, bits: u32) -> Result<u32, Unsupported> {
        let results = self.function.results(self.current);
        if number >= results.len() {
            return Err("too few results".to_owned());
        }
        let register = results
            .get(number)
            .as_register()
            .ok_or("a result that is no register")?;
        self.register_row(register, bits)
    }

    pub(super) fn result_register(&self, number: usize) -> Result<Register, Unsupported> {
        self.function
            .results(self.current)
            .iter()
            .nth(number)
            .and_then(Operand::as_register)
            .ok_or_else(|| "a result that is no register".to_owned())
    }

    pub(super) fn optional_result(&self, number: usize) -> Result<Option<u32>, Unsupported> {
        if number < self.function.results(self.current).len() {
            return self.result(number, 32).map(Some);
        }
        Ok(None)
    }
}

/// Addresses.
impl Compiler<'_> {
    /// Returns the target of an operand: its base, and the address space of the base.
    pub(super) fn address(&mut self, operand: Operand) -> Result<(Base, AddressSpace), Unsupported> {
        let OperandKind::Special(special) = operand.kind() else {
            return match operand.as_register() {
                Some(register) if self.function.register(register).bits == 64 => {
                    Ok((Base::Wide(self.register_row(register, 64)?), AddressSpace::None))
                }
                Some(register) => Ok((Base::Word(self.register_row(register, 32)?), AddressSpace::None)),
                None => Ok((Base::Fixed(self.constant(operand)?), AddressSpace::None)),
            };
        };
        match self.function.special_data(special) {
            Special::Frame(object) => {
                let offset = self
                    .frame_offsets
                    .get(&object)
                    .ok_or("a stack object of unknown size")?;
                Ok((Base::Frame(*offset), AddressSpace::Local))
            }
            Special::Symbol { symbol, offset } => {
                let name = self.function.symbol_name(symbol);
                let (base, space) = self.symbol_address(name)?;
                Ok((offset_base(base, offset)?, space))
            }
            _ => Err("an address that only LLVM can describe".to_owned()),
        }
    }

    pub(super) fn symbol_address(&self, name: &str) -> Result<(Base, AddressSpace), Unsupported> {
        if let Some(&offset) = self.call_params.get(name) {
            return Ok((Base::Frame(offset), AddressSpace::Local));
        }
        if let Some(found) = self.symbols.find(name) {
            return Ok((Base::Fixed(found.address), found.space));
        }
        let number_after = |prefix: &str| {
            name.strip_prefix(prefix)
                .and_then(|rest| rest.parse::<u32>().ok())
        };
        if let Some(number) = number_after("func_retval") {
            return Ok((Base::Result(number), AddressSpace::Local));
        }
        if let Some(number) = number_after(&format!("{}_param_", self.function.info.name)) {
            let space = if self.is_kernel() {
                AddressSpace::EntryParam
            } else {
                AddressSpace::Local
            };
            return Ok((Base::Parameter(number), space));
        }
        Err(format!("{name}, which is not in the module"))
    }

    /// Computes an address in the space of its target; that of a stack object is generic, as LLVM's
    /// stack pointer is.
    pub(super) fn emit_address(
        &mut self,
        operand: Operand,
        offset: i64,
        result: u32,
        bits: u32,
    ) -> Result<(), Unsupported> {
        let (base, space) = self.address(operand)?;
        let window = match base {
            Base::Frame(_) => window_of(space),
            _ => 0,
        };
        self.emit(Step::Address {
            base,
            offset,
            window,
            result,
            is_wide: is_wide(bits),
        });
        Ok(())
    }

    /// Returns the access of a load, store or atomic operation whose address starts at source
    /// `first`.
    pub(super) fn access(
        &mut self,
        first: usize,
        data_bits: u32,
        memory: DataType,
    ) -> Result<Access, Unsupported> {
        let sources = self.function.sources(self.current);
        if sources.len() < first + 2 {
            return Err("an access without an address".to_owned());
        }
        let (base, offset) = (sources.get(first), sources.get(first + 1));
        let offset = self
            .function
            .integer(offset)
            .ok_or("an offset that is no integer")?;
        let (base, own) = self.address(base)?;
        let named = self.function.modifiers(self.current).space;
        // The base is more precise than the space of a generic access. Parameters of calls are in
        // local memory.
        let space = match (named, own) {
            (AddressSpace::None | AddressSpace::Generic, AddressSpace::None) => AddressSpace::Generic,
            (AddressSpace::DeviceParam, AddressSpace::None) => AddressSpace::Local,
            (named, AddressSpace::None) => named,
            (_, own) => own,
        };
        let space = match space {
            AddressSpace::Const => AddressSpace::Global,
            AddressSpace::SharedCluster => AddressSpace::Shared,
            space => space,
        };
        let bits = if memory == DataType::None {
            data_bits
        } else {
            memory.bits()
        };
        if !matches!(bits, 8 | 16 | 32 | 64) {
            return Err(format!("elements of {bits} bits in {} memory", space_name(space)));
        }
        let modifiers = self.function.modifiers(self.current);
        let is_ordered = self.function.operation(self.current) == Operation::Atom
            || !matches!(modifiers.ordering, Ordering::None | Ordering::Weak);
        let is_reached = matches!(
            space,
            AddressSpace::Global | AddressSpace::Shared | AddressSpace::Generic
        ) && modifiers.space != AddressSpace::Const
            && !modifiers.flags.contains(ModifierFlags::INVARIANT);
        Ok(Access {
            base,
            offset,
            space,
            element_bytes: bits / 8,
            alignment: bits / 8,
            is_signed: memory.is_signed(),
            register_bits: data_bits,
            first_row: self.program.rows.len() as u32,
            count: 0,
            event: is_ordered.then(|| self.event()),
            is_viewed: is_reached && !is_ordered,
        })
    }

    pub(super) fn add_access(&mut self, access: Access) -> u32 {
        self.program.accesses.push(access);
        self.program.accesses.len() as u32 - 1
    }
}

fn offset_base(base: Base, offset: i64) -> Result<Base, Unsupported> {
    Ok(match base {
        Base::Fixed(address) => Base::Fixed(address.wrapping_add_signed(offset)),
        Base::Frame(start) => Base::Frame(start.wrapping_add_signed(offset as i32)),
        base if offset == 0 => base,
        _ => return Err("an offset into a parameter's name".to_owned()),
    })
}
