//! Instructions that compute with registers alone.

use super::*;

/// Instructions.
impl Compiler<'_> {
    pub(super) fn compile_instruction(
        &mut self,
        block: Block,
        instruction: Instruction,
    ) -> Result<(), Unsupported> {
        let operation = self.function.operation(instruction);
        match operation {
            // This is not executed.
            Operation::Prototype => {}
            Operation::ImplicitDef => {
                let register = self.result_register(0)?;
                let bits = u32::from(self.function.register(register).bits);
                self.make_undefined(self.registers[register.index()], bits);
            }
            Operation::CallStart => self.call_end = self.frame_bytes,
            Operation::CallEnd => self.call_params.clear(),
            Operation::Nop => self.emit(Step::Nothing),
            Operation::Membar => {
                let event = self.event();
                self.emit(Step::Event(event));
            }
            Operation::Mov | Operation::Copy | Operation::Lea | Operation::FrameAddress => {
                self.compile_move(operation)?
            }
            Operation::S2r => self.compile_special()?,
            Operation::Cvta | Operation::Isspacep => self.compile_space(operation)?,
            Operation::Pack | Operation::Unpack | Operation::Extract => self.compile_packing(operation)?,
            Operation::Fsetp if self.function.results(instruction).len() == 2 => {
                self.compile_packed_comparison()?
            }
            Operation::Ld => self.compile_load()?,
            Operation::St => self.compile_store()?,
            Operation::Atom => self.compile_atomic()?,
            Operation::Bar | Operation::BarRed => self.compile_barrier(operation)?,
            Operation::WarpSync => {
                let mask = self.source(0, 32, DataType::B32)?;
                self.emit(Step::WarpSync { mask });
            }
            Operation::Shfl => self.compile_shuffle()?,
            Operation::Vote => self.compile_vote()?,
            Operation::Match => self.compile_match()?,
            Operation::Redux => self.compile_reduction()?,
            Operation::ActiveMask => {
                let result = self.result(0, 32)?;
                self.emit(Step::ActiveMask { result });
            }
            Operation::Trap => self.emit(Step::Trap),
            Operation::DeclareParam => self.declare_param()?,
            Operation::Call => self.compile_call()?,
            Operation::Bra | Operation::Brx => self.compile_branch(block, operation)?,
            Operation::Ret => self.emit_terminator(Step::Return),
            Operation::Exit => self.emit_terminator(Step::Exit),
            Operation::End => self.emit(Step::Unreachable),
            Operation::Opaque if self.ends_thread() => self.emit(Step::Exit),
            Operation::InlineAsm | Operation::Opaque => self.compile_uninterpreted(operation)?,
            Operation::OpaqueTerminator => return Err(String::new()),
            _ => self.compile_computation(operation)?,
        }
        Ok(())
    }

    /// True for the end of the thread before other code.
    fn ends_thread(&self) -> bool {
        let opcode = self.function.machine_opcode(self.current);
        opcode.is_some_and(|opcode| opcode.name == MachineOpcode::EXIT)
    }

    pub(super) fn emit_terminator(&mut self, step: Step) {
        self.emit(step);
        self.program
            .origins
            .last_mut()
            .expect("a step was emitted")
            .counts = true;
    }

    /// Decodes an operation that computes results from registers alone.
    fn compile_computation(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let (data_type, source_type) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let modifiers = self.function.modifiers(self.current);
        let sources = self.function.sources(self.current).len();
        let shape = if operation == Operation::Cvt && self.reads_part_of_wide_register(source_type) {
            selection::select_within_register(data_type, source_type, modifiers)
        } else {
            selection::select_for(operation, data_type, source_type, modifiers, sources)
        };
        let Shape {
            handler,
            result,
            sources: widths,
        } = shape.ok_or("this form is not modelled")?;
        let mut fields = Fields {
            result: self.result(0, result)?,
            settings: Settings {
                rounding: modifiers.rounding,
                flags: modifiers.flags,
            },
            types: (data_type, source_type),
            result_bits: u32::from(self.function.register(self.result_register(0)?).bits),
            ..Fields::default()
        };
        match operation {
            Operation::Frcp => {
                let one = selection::one(data_type).ok_or("this form is not modelled")?;
                fields.sources[0] = self.constant_row(result, one);
                fields.sources[1] = self.source(0, result, data_type)?;
            }
            Operation::IaddCarry
            | Operation::IaddCarryOut
            | Operation::IsubCarry
            | Operation::IsubCarryOut => {
                fields.sources[0] = self.source(0, result, data_type)?;
                fields.sources[1] = self.source(1, result, data_type)?;
                fields.sources[2] = self.carry_row();
            }
            _ => {
                for (number, &bits) in widths.iter().enumerate().filter(|(_, bits)| **bits != 0) {
                    let of_type = if source_type == DataType::None {
                        data_type
                    } else {
                        source_type
                    };
                    fields.sources[number] = self.source(number, bits, of_type)?;
                }
            }
        }
        if sources == 3 && matches!(operation, Operation::Fmin | Operation::Fmax) {
            return self.compile_three_way(handler, fields, result, data_type);
        }
        self.emit(Step::Compute { run: handler, fields });
        Ok(())
    }

    /// True if a conversion reads a narrow value from a register of 64 bits.
    fn reads_part_of_wide_register(&self, source_type: DataType) -> bool {
        let source = self.function.sources(self.current).iter().next();
        let register = source.and_then(Operand::as_register);
        !is_wide(source_type.bits())
            && register.is_some_and(|register| self.function.register(register).bits == 64)
    }

    /// Minimum or maximum of three: of the first two, then with the third.
    fn compile_three_way(
        &mut self,
        handler: Handler,
        fields: Fields,
        bits: u32,
        data_type: DataType,
    ) -> Result<(), Unsupported> {
        let third = self.source(2, bits, data_type)?;
        let partial = self.new_row(bits);
        self.emit(Step::Compute {
            run: handler,
            fields: Fields {
                result: partial,
                ..fields
            },
        });
        let mut last = fields;
        (last.sources[0], last.sources[1]) = (partial, third);
        self.emit(Step::Compute {
            run: handler,
            fields: last,
        });
        Ok(())
    }

    /// Returns the row of the carry, which belongs to the thread.
    fn carry_row(&mut self) -> u32 {
        if let Some(row) = self.carry {
            return row;
        }
        let row = self.new_row(32);
        self.carry = Some(row);
        row
    }

    fn compile_move(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let register = self.result_register(0)?;
        let bits = u32::from(self.function.register(register).bits);
        let sources = self.function.sources(self.current);
        if operation == Operation::FrameAddress {
            let result = self.result(0, bits)?;
            self.emit(Step::Address {
                base: Base::Frame(0),
                offset: 0,
                window: 0,
                result,
                is_wide: is_wide(bits),
            });
            return Ok(());
        }
        let source = sources.iter().next().ok_or("a move of nothing")?;
        let is_address = matches!(source.kind(), OperandKind::Special(_));
        if operation == Operation::Lea || is_address {
            let offset = match operation {
                Operation::Lea => self
                    .function
                    .integer(sources.get(1))
                    .ok_or("an offset that is no integer")?,
                _ => 0,
            };
            let result = self.result(0, bits)?;
            return self.emit_address(source, offset, result, bits);
        }
        let data_type = self.function.data_type(self.current);
        let from = self.source(0, bits, data_type)?;
        self.emit_copy(bits, from, self.registers[register.index()]);
        Ok(())
    }

    /// Copies a row, or two.
    pub(super) fn emit_copy(&mut self, bits: u32, from: u32, to: u32) {
        let data_type = if is_wide(bits) {
            DataType::B64
        } else {
            DataType::B32
        };
        let count = if bits > 64 { 2 } else { 1 };
        for part in 0..count {
            let run = bits::select(Operation::Mov, data_type, Modifiers::default());
            self.emit(Step::Compute {
                run: run.expect("moves of 32 and 64 bits are modelled"),
                fields: Fields {
                    result: to + part,
                    sources: [from + part; 4],
                    ..Fields::default()
                },
            });
        }
    }

    fn compile_special(&mut self) -> Result<(), Unsupported> {
        let source = self.function.source(self.current, 0);
        let register = match source.kind() {
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::SpecialRegister(register) => register,
                _ => return Err("a register of unknown name".to_owned()),
            },
            _ => return Err("a register of unknown name".to_owned()),
        };
        if register == SpecialRegister::None {
            return Err("a register of unknown name".to_owned());
        }
        let bits = u32::from(self.function.register(self.result_register(0)?).bits);
        let result = self.result(0, bits)?;
        self.emit(Step::Special {
            register,
            result,
            is_wide: is_wide(bits),
        });
        Ok(())
    }

    fn compile_space(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let data_type = self.function.data_type(self.current);
        if operation == Operation::Cvta && data_type.bits() != 64 {
            return Err("addresses of 32 bits".to_owned());
        }
        let source = self.source(0, 64, DataType::B64)?;
        let window = self.constant_row(64, window_of(modifiers.space));
        let (run, result) = if operation == Operation::Isspacep {
            (spaces::select_test(modifiers.space), self.result(0, 1)?)
        } else {
            (
                spaces::select_conversion(modifiers.space, modifiers.variant),
                self.result(0, 64)?,
            )
        };
        self.emit(Step::Compute {
            run: run.ok_or("this space is not modelled")?,
            fields: Fields {
                result,
                sources: [source, window, 0, 0],
                ..Fields::default()
            },
        });
        Ok(())
    }

    fn compile_packing(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let (data_type, source_type) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let (results, sources) = (
            self.function.results(self.current).len(),
            self.function.sources(self.current).len(),
        );
        let variant = self.function.modifiers(self.current).variant;
        let (to, from) = (data_type.bits(), source_type.bits());
        match operation {
            Operation::Pack if to == 128 && from == 64 && sources == 2 => {
                let (low, high) = (self.source(0, 64, source_type)?, self.source(1, 64, source_type)?);
                let result = self.result(0, 128)?;
                // It may consist of its own parts, in swapped order.
                let kept = self.new_row(64);
                self.emit_copy(64, high, kept);
                self.emit_copy(64, low, result);
                self.emit_copy(64, kept, result + 1);
            }
            Operation::Unpack if to == 64 && from == 128 && results == 2 => {
                let source = self.source(0, 128, source_type)?;
                let kept = self.new_row(64);
                self.emit_copy(64, source + 1, kept);
                let (low, high) = (self.result(0, 64)?, self.result(1, 64)?);
                self.emit_copy(64, source, low);
                self.emit_copy(64, kept, high);
            }
            Operation::Pack => {
                let mut fields = Fields {
                    result: self.result(0, to)?,
                    ..Fields::default()
                };
                for number in 0..sources {
                    fields.sources[number] = self.source(number, from, source_type)?;
                }
                let run = spaces::select_pack(to, from, sources).ok_or("this form is not modelled")?;
                self.emit(Step::Compute { run, fields });
            }
            _ => {
                let source = self.source(0, from, source_type)?;
                let parts = if operation == Operation::Extract {
                    1
                } else {
                    results
                };
                // A result may overlap the source.
                let kept = self.new_row(from);
                self.emit_copy(from, source, kept);
                for number in 0..parts {
                    let part = if variant == Variant::High {
                        1
                    } else {
                        number as u32
                    };
                    let shift = self.constant_row(32, u64::from(part * to));
                    let fields = Fields {
                        result: self.result(number, to)?,
                        sources: [kept, shift, 0, 0],
                        ..Fields::default()
                    };
                    let run = spaces::select_part(to, from).ok_or("this form is not modelled")?;
                    self.emit(Step::Compute { run, fields });
                }
            }
        }
        Ok(())
    }

    fn compile_packed_comparison(&mut self) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let source_type = self.function.source_type(self.current);
        let sources = [
            self.source(0, 32, source_type)?,
            self.source(1, 32, source_type)?,
            0,
            0,
        ];
        for (number, high) in [(0, false), (1, true)] {
            let run = float::select_comparison(modifiers.comparison, source_type, modifiers.flags, high)
                .ok_or("this form is not modelled")?;
            let fields = Fields {
                result: self.result(number, 1)?,
                sources,
                ..Fields::default()
            };
            self.emit(Step::Compute { run, fields });
        }
        Ok(())
    }
}
