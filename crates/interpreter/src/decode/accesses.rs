//! Memory accesses, and operations of several threads.

use super::*;

/// Memory and threads.
impl Compiler<'_> {
    pub(super) fn compile_load(&mut self) -> Result<(), Unsupported> {
        let (data_type, memory) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let mut access = self.access(0, data_type.bits(), memory)?;
        let count = self.function.results(self.current).len();
        for number in 0..count {
            let row = self.result(number, data_type.bits())?;
            self.program.rows.push(row);
        }
        access.count = count as u32;
        access.alignment = access.element_bytes * access.count;
        let access = self.add_access(access);
        self.emit(Step::Load(access));
        Ok(())
    }

    pub(super) fn compile_store(&mut self) -> Result<(), Unsupported> {
        let (data_type, memory) = (
            self.function.data_type(self.current),
            self.function.source_type(self.current),
        );
        let count = self.function.sources(self.current).len().saturating_sub(2);
        let mut access = self.access(count, data_type.bits(), memory)?;
        for number in 0..count {
            let row = self.source(number, data_type.bits(), data_type)?;
            self.program.rows.push(row);
        }
        access.count = count as u32;
        access.alignment = access.element_bytes * access.count;
        let access = self.add_access(access);
        self.emit(Step::Store(access));
        Ok(())
    }

    pub(super) fn compile_atomic(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let modifiers = self.function.modifiers(self.current);
        let bits = data_type.bits();
        let access = self.access(0, bits, DataType::None)?;
        let operation = atomic::select(modifiers.variant, data_type).ok_or("this form is not modelled")?;
        let first = self.source(2, bits, data_type)?;
        let second = match modifiers.variant {
            Variant::Cas => self.source(3, bits, data_type)?,
            _ => first,
        };
        let result = match self.function.results(self.current).len() {
            0 => None,
            _ => Some(self.result(0, bits)?),
        };
        let access = self.add_access(access);
        self.emit(Step::Atomic(AtomicFields {
            access,
            operation,
            result,
            operands: [first, second],
        }));
        Ok(())
    }

    pub(super) fn compile_barrier(&mut self, operation: Operation) -> Result<(), Unsupported> {
        let modifiers = self.function.modifiers(self.current);
        let barrier = self.source(0, 32, DataType::B32)?;
        let sources = self.function.sources(self.current).len();
        if operation == Operation::Bar {
            let threads = match sources {
                2 => Some(self.source(1, 32, DataType::B32)?),
                _ => None,
            };
            let kind = match modifiers.variant {
                Variant::Arrive => BarrierKind::Arrive,
                Variant::Sync | Variant::None => BarrierKind::Sync,
                _ => return Err("this form is not modelled".to_owned()),
            };
            self.emit(Step::Barrier {
                barrier,
                threads,
                kind,
            });
            return Ok(());
        }
        let threads = match sources {
            3 => Some(self.source(1, 32, DataType::B32)?),
            _ => None,
        };
        let predicate = self.source(sources - 1, 1, DataType::B1)?;
        let reduction = match modifiers.variant {
            Variant::Popc => BarrierReduction::Count,
            Variant::And => BarrierReduction::All,
            Variant::Or => BarrierReduction::Any,
            _ => return Err("this form is not modelled".to_owned()),
        };
        let kind = BarrierKind::Reduce {
            predicate,
            result: self.result(0, 32)?,
            reduction,
        };
        self.emit(Step::Barrier {
            barrier,
            threads,
            kind,
        });
        Ok(())
    }

    pub(super) fn optional_mask(&mut self, number: usize) -> Result<Option<u32>, Unsupported> {
        if number < self.function.sources(self.current).len() {
            return self.source(number, 32, DataType::B32).map(Some);
        }
        Ok(None)
    }

    pub(super) fn compile_shuffle(&mut self) -> Result<(), Unsupported> {
        let fields = ShuffleFields {
            mode: self.function.modifiers(self.current).variant,
            value: self.source(0, 32, DataType::B32)?,
            lane: self.source(1, 32, DataType::B32)?,
            clamp: self.source(2, 32, DataType::B32)?,
            mask: self.optional_mask(3)?,
            result: self.result(0, 32)?,
            in_range: self.optional_result(1)?,
        };
        if !matches!(
            fields.mode,
            Variant::Up | Variant::Down | Variant::Bfly | Variant::Idx
        ) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Shuffle(fields));
        Ok(())
    }

    pub(super) fn compile_vote(&mut self) -> Result<(), Unsupported> {
        let fields = VoteFields {
            mode: self.function.modifiers(self.current).variant,
            predicate: self.source(0, 1, DataType::B1)?,
            mask: self.optional_mask(1)?,
            result: self.result(0, 32)?,
        };
        if !matches!(
            fields.mode,
            Variant::All | Variant::Any | Variant::Uni | Variant::Ballot
        ) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Vote(fields));
        Ok(())
    }

    pub(super) fn compile_match(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let fields = MatchFields {
            mode: self.function.modifiers(self.current).variant,
            value: self.source(0, data_type.bits(), data_type)?,
            is_wide: is_wide(data_type.bits()),
            mask: self.source(1, 32, DataType::B32)?,
            result: self.result(0, 32)?,
            all_same: self.optional_result(1)?,
        };
        if !matches!(fields.mode, Variant::All | Variant::Any) {
            return Err("this form is not modelled".to_owned());
        }
        self.emit(Step::Match(fields));
        Ok(())
    }

    pub(super) fn compile_reduction(&mut self) -> Result<(), Unsupported> {
        let data_type = self.function.data_type(self.current);
        let modifiers = self.function.modifiers(self.current);
        if !modifiers.flags.is_empty() || !threads::is_reduction_modelled(modifiers.variant, data_type) {
            return Err("this form is not modelled".to_owned());
        }
        let fields = ReductionFields {
            operation: modifiers.variant,
            data_type,
            value: self.source(0, 32, data_type)?,
            mask: self.source(1, 32, DataType::B32)?,
            result: self.result(0, 32)?,
        };
        self.emit(Step::Reduction(fields));
        Ok(())
    }
}
