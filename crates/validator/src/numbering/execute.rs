//! Evaluates instructions: their results, and their effects on memory and other state.

use super::*;
use oriel_arithmetic::low_bits;

impl NumberingPass<'_, '_> {
    pub(super) fn execute(&mut self, node: RelatedNode, side: usize, instruction: Instruction) {
        let function = self.sides[side].function;
        let operation = function.operation(instruction);
        match operation {
            Operation::Bra | Operation::Brx | Operation::Ret | Operation::End | Operation::Nop => return,
            Operation::ImplicitDef => {
                for register in function.result_registers(instruction) {
                    let variable = self.bases[side] + register.as_u32();
                    let value = self.undefined(variable);
                    self.set(variable, value);
                }
                return;
            }
            _ => {}
        }
        let touched = touches(function, instruction);
        let is_plain = touched.writes.is_empty();
        match operation {
            Operation::Ld if is_plain => return self.load(node, side, instruction, touched.reads),
            Operation::St if !touched.writes.contains(Chains::EFFECTS) => {
                return self.store(side, instruction, touched.writes);
            }
            _ => {}
        }
        let mut sources: SmallVec<[Value; 8]> = (0..function.sources(instruction).len())
            .map(|number| self.source(side, instruction, number))
            .collect();
        if let Some(first) = function.accessed_address(instruction) {
            // Base and offset may change as long as their sum does not.
            sources[first] = self.address(side, instruction, first);
            sources[first + 1] = self.values.constant(64, 0);
        }
        for number in function.clobbered_sources(instruction) {
            // The assembly reads one of its own results there, and it is not known which.
            let width = self.values.width(sources[number]);
            sources[number] = self.unknown(width);
        }
        if touched.is_nothing() && !operation.is_opaque() {
            return self.compute(side, instruction, &sources);
        }
        self.note_escapes(&sources);
        self.values.order_commutative(operation, &mut sources);
        let operator = self.operator_of(side, instruction);
        let action = match is_plain {
            true => None,
            false => Some(self.values.intern(operator, 0, &sources)),
        };
        for chain in (touched.reads | touched.writes).numbers() {
            let value = self.get(self.chain(side, chain));
            sources.push(value);
        }
        let whole = self.values.intern(operator, 0, &sources);
        if is_plain && !touched.reads.is_empty() {
            self.note_load(node, side, instruction, whole);
        }
        for (index, result) in function.results(instruction).iter().enumerate() {
            if let Some(register) = result.as_register() {
                let width = u32::from(function.register(register).bits);
                let operator = Operator::Result { index: index as u16 };
                let value = self.values.intern(operator, width, &[whole]);
                self.set(self.bases[side] + register.as_u32(), value);
            }
        }
        if let Some(action) = action {
            self.effect(
                side,
                whole,
                Effect {
                    instruction,
                    action,
                    chains: touched.reads | touched.writes,
                    address: None,
                    access: None,
                },
                touched.writes,
            );
        }
    }

    pub(super) fn effect(&mut self, side: usize, whole: Value, effect: Effect, writes: Chains) {
        for chain in writes.numbers() {
            let value = self
                .values
                .intern(Operator::After { kind: chain as u8 }, 0, &[whole]);
            self.set(self.chain(side, chain), value);
        }
        self.effects[side].push(effect);
    }

    fn operator_of(&mut self, side: usize, instruction: Instruction) -> Operator {
        let function = self.sides[side].function;
        let operation = function.operation(instruction);
        match function.machine_opcode(instruction) {
            Some(opcode) if operation.is_opaque() => {
                let name = match &opcode.mnemonic {
                    Some(mnemonic) => format!("{} {mnemonic}", opcode.name),
                    None => opcode.name.clone().into_owned(),
                };
                Operator::Machine {
                    name: self.name(&name),
                }
            }
            _ => Operator::Operation {
                operation,
                data_type: function.data_type(instruction),
                source_type: function.source_type(instruction),
                modifiers: function.modifiers(instruction),
            },
        }
    }

    /// An instruction without effects.
    pub(super) fn compute(&mut self, side: usize, instruction: Instruction, sources: &[Value]) {
        let function = self.sides[side].function;
        let typed = TypedOperation {
            operation: function.operation(instruction),
            data_type: function.data_type(instruction),
            source_type: function.source_type(instruction),
            modifiers: function.modifiers(instruction),
        };
        let results = function.results(instruction);
        if results.len() == 1 {
            let Some(register) = results.get(0).as_register() else {
                return;
            };
            let width = u32::from(function.register(register).bits);
            let mut value = self.values.compute(typed, sources, width);
            if width == 1 {
                value = self.path_conditions.apply(self.values, value);
            }
            self.set(self.bases[side] + register.as_u32(), value);
            return;
        }
        let whole = self.values.uninterpreted(typed, sources, 0);
        for (index, result) in results.iter().enumerate() {
            let Some(register) = result.as_register() else {
                continue;
            };
            let width = u32::from(function.register(register).bits);
            let value = match typed.operation {
                Operation::Unpack => self.values.extract(sources[0], index as u32 * width, width),
                _ => self
                    .values
                    .intern(Operator::Result { index: index as u16 }, width, &[whole]),
            };
            self.set(self.bases[side] + register.as_u32(), value);
        }
    }

    /// Returns base and offset, which are the sources from `first` on.
    pub(super) fn address(&mut self, side: usize, instruction: Instruction, first: usize) -> Value {
        let base = self.source(side, instruction, first);
        let function = self.sides[side].function;
        let offset = function.integer(function.source(instruction, first + 1));
        let width = match self.values.width(base) {
            32 => 32,
            _ => 64,
        };
        match offset {
            Some(0) => base,
            Some(offset) if self.values.width(base) == width => {
                let offset = self.values.constant(width, offset as u64);
                self.values.add(width, base, offset)
            }
            // A symbol with a symbolic offset, or a base that is not a number.
            _ => {
                let offset = self.source(side, instruction, first + 1);
                self.values
                    .intern(named(Named::Address, 0), width, &[base, offset])
            }
        }
    }

    fn memory_type(&self, side: usize, instruction: Instruction) -> DataType {
        let function = self.sides[side].function;
        match function.source_type(instruction) {
            DataType::None => function.data_type(instruction),
            other => other,
        }
    }

    pub(super) fn load(&mut self, node: RelatedNode, side: usize, instruction: Instruction, reads: Chains) {
        let function = self.sides[side].function;
        let in_memory = self.memory_type(side, instruction);
        let bits = in_memory.bits();
        let address = self.address(side, instruction, 0);
        if self.load_of_stack(side, instruction, address, in_memory) {
            return;
        }
        let operator = access_operator(function, instruction, in_memory);
        let results = function.results(instruction);
        let mut rest: SmallVec<[Value; 4]> = SmallVec::new();
        let size = u64::from(bits / 8) * results.len() as u64;
        let access = self.access(side, instruction);
        for chain in reads.numbers() {
            let version = self.get(self.chain(side, chain));
            let version = match self.settings.is_thorough {
                true => self.last_write(version, chain, address, size, access.as_ref()),
                false => version,
            };
            rest.push(version);
        }
        if function.sources(instruction).len() > 2 {
            let used = self.source(side, instruction, 2);
            rest.push(used);
        }
        for index in 0..results.len() {
            let mut operands: SmallVec<[Value; 6]> = SmallVec::new();
            operands.push(self.at_offset(address, index as u64 * u64::from(bits / 8)));
            operands.extend_from_slice(&rest);
            let loaded = self.values.intern(operator, bits, &operands);
            self.note_load(node, side, instruction, loaded);
            self.set_loaded(side, instruction, index, loaded, in_memory);
        }
        if results.len() > 1 {
            self.note_alignment(node, side, instruction, address, u64::from(bits / 8));
        }
    }

    /// Records a load that the other function must execute as well.
    fn note_load(&mut self, node: RelatedNode, side: usize, instruction: Instruction, value: Value) {
        let behind = self.may_not_return(side);
        if side == 1 {
            self.loads_after.push(Load {
                node,
                instruction,
                value,
                behind,
            });
            return;
        }
        let places = self.loads_before.entry(value).or_default();
        if places.last().is_none_or(|&(last, _)| last != node) {
            places.push((node, behind));
        }
    }

    /// Records that a load of several elements faults unless its address is a multiple of its size.
    /// Each half of it is then aligned to the size of the half.
    fn note_alignment(
        &mut self,
        node: RelatedNode,
        side: usize,
        instruction: Instruction,
        address: Value,
        element: u64,
    ) {
        let function = self.sides[side].function;
        let size = element * function.results(instruction).len() as u64;
        if side == 1 {
            let is_known = function
                .access(instruction)
                .is_some_and(|access| u32::from(access.log2_alignment) >= size.ilog2());
            if !is_known {
                let aligned = self.values.intern(named(Named::Aligned, size), 0, &[address]);
                self.note_load(node, side, instruction, aligned);
            }
            return;
        }
        let mut part = size;
        while part > element && part.is_power_of_two() {
            for offset in (0..size).step_by(part as usize) {
                let place = self.at_offset(address, offset);
                let aligned = self.values.intern(named(Named::Aligned, part), 0, &[place]);
                self.note_load(node, side, instruction, aligned);
            }
            part /= 2;
        }
    }

    fn at_offset(&mut self, address: Value, offset: u64) -> Value {
        if offset == 0 {
            return address;
        }
        let width = self.values.width(address);
        let offset = self.values.constant(width, offset);
        self.values.add(width, address, offset)
    }

    /// Extends a loaded value to the width of the result.
    pub(crate) fn set_loaded(
        &mut self,
        side: usize,
        instruction: Instruction,
        index: usize,
        loaded: Value,
        in_memory: DataType,
    ) {
        let function = self.sides[side].function;
        let Some(register) = function.result(instruction, index).as_register() else {
            return;
        };
        let width = u32::from(function.register(register).bits);
        let value = match width > 64 {
            true => loaded,
            false => self.values.resize(width, loaded, in_memory.is_signed()),
        };
        self.set(self.bases[side] + register.as_u32(), value);
    }

    pub(super) fn store(&mut self, side: usize, instruction: Instruction, writes: Chains) {
        let function = self.sides[side].function;
        let count = function
            .accessed_address(instruction)
            .expect("a store has an address");
        let in_memory = self.memory_type(side, instruction);
        let bits = in_memory.bits();
        let address = self.address(side, instruction, count);
        let mut operands: SmallVec<[Value; 8]> = SmallVec::new();
        operands.push(address);
        for number in 0..count {
            let value = self.source(side, instruction, number);
            operands.push(match self.values.width(value) > bits {
                true => self.values.extract(value, 0, bits),
                false => value,
            });
        }
        if self.store_to_stack(side, address, in_memory, &operands[1..]) {
            return;
        }
        let operator = access_operator(function, instruction, in_memory);
        let action = match self.settings.is_thorough {
            true => self.values.intern(operator, 0, &operands),
            false => address,
        };
        for chain in writes.numbers() {
            let version = self.get(self.chain(side, chain));
            operands.push(version);
        }
        let whole = self.values.intern(operator, 0, &operands);
        let size = u64::from(bits / 8) * count as u64;
        let access = self.access(side, instruction);
        if self.settings.is_thorough {
            self.stores.insert(whole, (address, size, access));
        }
        self.effect(
            side,
            whole,
            Effect {
                instruction,
                action,
                chains: writes,
                address: Some((address, size)),
                access,
            },
            writes,
        );
    }

    /// Returns the last version of memory that may differ at a place; stores to other places are
    /// skipped.
    fn last_write(
        &mut self,
        version: Value,
        chain: usize,
        address: Value,
        size: u64,
        access: Option<&MemoryAccess>,
    ) -> Value {
        const STEPS: usize = 64;
        let mut version = version;
        for _ in 0..STEPS {
            let Operator::After { .. } = self.values.operator(version) else {
                break;
            };
            let whole = self.values.operand(version, 0);
            let Some(&(stored_at, stored, other)) = self.stores.get(&whole) else {
                break;
            };
            if !self.are_apart((address, size, access), (stored_at, stored, other.as_ref())) {
                break;
            }
            // The last operands are the versions on which the store was based.
            let chains = self.chains_of_store(whole);
            let Some(position) = chains.numbers().position(|number| number == chain) else {
                break;
            };
            let words = self.values.words(whole);
            let first = words.len() - chains.bits().count_ones() as usize;
            version = Value::from_u32(words[first + position]);
        }
        version
    }

    fn chains_of_store(&self, whole: Value) -> Chains {
        let last = self.values.words(whole).iter().rev();
        let count = last
            .take_while(|&&word| self.values.width(Value::from_u32(word)) == 0)
            .count();
        // A store to generic memory has three, other stores have one.
        let Operator::Operation { modifiers, .. } = self.values.operator(whole) else {
            return Chains::empty();
        };
        let chains = written_by_store(modifiers.space);
        if chains.bits().count_ones() as usize == count {
            chains
        } else {
            Chains::empty()
        }
    }

    /// Returns the memory operand of an instruction with what means the same in both functions: the
    /// symbol by number of its name, and the base, whose number is valid within one snapshot only.
    fn access(&mut self, side: usize, instruction: Instruction) -> Option<MemoryAccess> {
        let function = self.sides[side].function;
        let access = function.access(instruction)?;
        let symbol = access
            .symbol
            .map(|symbol| Symbol::from_u32(self.name(function.symbol_name(symbol))));
        let base = access.base.filter(|_| self.shares_numbers);
        Some(MemoryAccess {
            base,
            symbol,
            ..*access
        })
    }

    /// True if two places are known to have no byte in common.
    ///
    /// A known distance decides. Memory operands come second: a base is one address for the whole
    /// run of the function, which the exporter sees to.
    pub(crate) fn are_apart(
        &mut self,
        one: (Value, u64, Option<&MemoryAccess>),
        other: (Value, u64, Option<&MemoryAccess>),
    ) -> bool {
        if let Some(distance) = self.distance(one.0, other.0) {
            let back = distance.wrapping_neg() & low_bits(self.values.width(one.0));
            return distance >= other.1 && back >= one.1;
        }
        let (Some(left), Some(right)) = (one.2, other.2) else {
            return false;
        };
        if left.symbol.is_some() && right.symbol.is_some() && left.symbol != right.symbol {
            return true;
        }
        let ends_before = |low: &MemoryAccess, high: &MemoryAccess| {
            let size = low.size.and_then(|size| i64::try_from(size).ok());
            let end = size.and_then(|size| low.offset.checked_add(size));
            end.is_some_and(|end| end <= high.offset)
        };
        let is_same_base = left.base.is_some() && left.base == right.base;
        is_same_base && (ends_before(left, right) || ends_before(right, left))
    }

    /// Returns by how much the first address is above the second, if that is a constant.
    fn distance(&mut self, one: Value, other: Value) -> Option<u64> {
        let width = self.values.width(one);
        if width != self.values.width(other) || width == 0 {
            return None;
        }
        let difference = self.values.subtract(width, one, other);
        self.values.as_constant(difference)
    }
}

/// Returns the operator of a plain load or store. Of the type in memory only the size counts.
fn access_operator(function: &Function, instruction: Instruction, in_memory: DataType) -> Operator {
    Operator::Operation {
        operation: function.operation(instruction),
        data_type: DataType::None,
        source_type: DataType::of_bits(in_memory.bits()).unwrap_or(in_memory),
        modifiers: function.modifiers(instruction),
    }
}
