//! The uses of each stack object's address.
//!
//! From the instruction that forms an address, its register is followed through additions of
//! constants and conversions between address spaces to loads and stores; for small objects, also
//! through the addition of one index. Any other use is an obstacle: the content of the object is
//! then unknown.

use super::index::Index;
use oriel_engine::entity::{FrameObject, Register, SecondaryMap};
use oriel_ori::{
    AddressSpace, Function, Instruction, InstructionFlags, Operand, OperandKind, Operation, OperationFlags,
    Ordering, Special,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Why the values of an object cannot be in registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Obstacle {
    /// The address escapes.
    Escape,
    /// An offset that is not constant is added to the address, and the object is larger than the
    /// limit for such offsets; or one of several addresses is selected.
    Index,
    /// The access is volatile, atomic or ordered.
    Ordered,
    /// The access is not entirely inside the object.
    OutOfBounds,
}

impl Obstacle {
    /// Returns the name of its counter.
    pub const fn counter(self) -> &'static str {
        match self {
            Self::Escape => "address-escapes",
            Self::Index => "indexed",
            Self::Ordered => "ordered-access",
            Self::OutOfBounds => "out-of-bounds",
        }
    }

    /// Returns a description for remarks.
    pub const fn description(self) -> &'static str {
        match self {
            Self::Escape => "its address is used here",
            Self::Index => "its address is computed here with an offset that is not constant",
            Self::Ordered => "this access is volatile or atomic",
            Self::OutOfBounds => "this access is out of its bounds",
        }
    }
}

/// A plain load or store of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// The instruction.
    pub instruction: Instruction,
    /// Constant bytes from the start of the object to the first element.
    pub offset: i64,
    /// The variable part of the offset.
    pub index: Option<Index>,
}

/// All uses of an object.
#[derive(Clone, Debug, Default)]
pub struct Use {
    /// Loads and stores, in the order of the layout.
    pub accesses: Vec<Access>,
    /// Instructions that compute its address.
    pub addresses: Vec<Instruction>,
    /// Instructions that compute an address with an index, each after those that it depends on.
    pub indexed_addresses: Vec<Instruction>,
    /// The first obstacle found, and where.
    pub obstacle: Option<(Obstacle, Instruction)>,
}

impl Use {
    /// True if some access has an index.
    pub fn is_indexed(&self) -> bool {
        self.accesses.iter().any(|access| access.index.is_some())
    }
}

/// The uses of each object of a function.
#[derive(Debug, Default)]
pub struct FrameObjects {
    uses: SecondaryMap<FrameObject, Use>,
}

/// Returns the number of the source that is the base of a load's or store's address.
pub(super) fn base_number(function: &Function, instruction: Instruction) -> Option<usize> {
    match function.operation(instruction) {
        Operation::Ld => Some(0),
        Operation::St => Some(function.sources(instruction).len() - 2),
        _ => None,
    }
}

impl FrameObjects {
    /// Follows the addresses of all objects. For objects of at most `indexed_limit` bytes, accesses
    /// may have an index.
    pub fn find(function: &Function, indexed_limit: u64) -> Self {
        let mut tracer = Tracer {
            function,
            indexed_limit,
            objects: Self::default(),
            addresses: HashMap::new(),
            pending: Vec::new(),
            accesses: Vec::new(),
        };
        tracer.find_roots();
        while let Some(register) = tracer.pending.pop() {
            tracer.follow(register);
        }
        tracer.collect_accesses();
        tracer.objects
    }

    /// Returns the uses of an object.
    pub fn of(&self, object: FrameObject) -> &Use {
        &self.uses[object]
    }
}

/// The target of an address.
#[derive(Clone, Copy)]
struct Target {
    object: FrameObject,
    offset: i64,
    index: Option<Index>,
}

impl Target {
    fn start_of(object: FrameObject) -> Self {
        Self {
            object,
            offset: 0,
            index: None,
        }
    }
}

struct Tracer<'f> {
    function: &'f Function,
    indexed_limit: u64,
    objects: FrameObjects,
    addresses: HashMap<Register, Target>,
    pending: Vec<Register>,
    /// The function's loads and stores, in the order of the layout, each with the number of its base.
    accesses: Vec<(Instruction, usize)>,
}

impl Tracer<'_> {
    fn frame_object(&self, operand: Operand) -> Option<FrameObject> {
        match operand.kind() {
            OperandKind::Special(special) => match self.function.special_data(special) {
                Special::Frame(object) => Some(object),
                _ => None,
            },
            _ => None,
        }
    }

    fn object_in(&mut self, object: FrameObject, obstacle: Obstacle, at: Instruction) {
        self.objects.uses[object].obstacle.get_or_insert((obstacle, at));
    }

    /// Finds the instructions that name objects, and those that access memory.
    fn find_roots(&mut self) {
        let function = self.function;
        for &block in function.blocks() {
            for instruction in function.instructions(block) {
                if function.operation(instruction).is_debug() {
                    continue;
                }
                let base = base_number(function, instruction);
                self.accesses.extend(base.map(|number| (instruction, number)));
                for (number, source) in function.sources(instruction).iter().enumerate() {
                    if let Some(object) = self.frame_object(source) {
                        self.note_use(instruction, number, Target::start_of(object));
                    }
                }
            }
        }
    }

    fn follow(&mut self, register: Register) {
        let target = self.addresses[&register];
        let uses: Vec<(Instruction, usize)> = self.function.uses(register).collect();
        for (instruction, number) in uses {
            self.note_use(instruction, number, target);
        }
    }

    /// Records the use of an address as a source of an instruction.
    fn note_use(&mut self, instruction: Instruction, number: usize, target: Target) {
        let function = self.function;
        let operation = function.operation(instruction);
        if operation.is_debug() || base_number(function, instruction) == Some(number) {
            return;
        }
        match self.derived(instruction, number, target) {
            Ok(derived) => {
                let result = function.result(instruction, 0).as_register();
                let register = result.expect("an address is computed into a register");
                // The sum of two addresses: what is computed from it may be either.
                if let Some(other) = self.addresses.get(&register).map(|known| known.object) {
                    self.object_in(other, Obstacle::Escape, instruction);
                    self.object_in(target.object, Obstacle::Escape, instruction);
                    return;
                }
                let found = &mut self.objects.uses[target.object];
                match derived.index {
                    None => found.addresses.push(instruction),
                    Some(_) => found.indexed_addresses.push(instruction),
                }
                self.addresses.insert(register, derived);
                self.pending.push(register);
            }
            Err(obstacle) => self.object_in(target.object, obstacle, instruction),
        }
    }

    /// Returns the target of the address that an instruction computes from another one.
    fn derived(&self, instruction: Instruction, number: usize, target: Target) -> Result<Target, Obstacle> {
        let function = self.function;
        let sources = function.sources(instruction);
        let is_plain = |operand: Operand| !operand.is_modified() && !operand.is_undefined();
        if !sources.iter().all(is_plain)
            || function
                .flags(instruction)
                .contains(InstructionFlags::ATTACHMENTS)
        {
            return Err(Obstacle::Escape);
        }
        let mut index = None;
        let added = match function.operation(instruction) {
            Operation::Mov | Operation::Copy => Some(0),
            Operation::Cvta if function.modifiers(instruction).space == AddressSpace::Local => Some(0),
            Operation::Lea if number == 0 => function.integer(sources.get(1)),
            Operation::Iadd if function.data_type(instruction).bits() >= 32 => {
                let other = sources.get(1 - number);
                if let Some(register) = other.as_register() {
                    index = Some(Index::of_register(function, register));
                    Some(0)
                } else {
                    function.integer(other)
                }
            }
            Operation::ImadWide if number == 2 => {
                index = Index::of_product(function, instruction);
                index.map(|_| 0)
            }
            Operation::Isub | Operation::Imad | Operation::ImadWide | Operation::Sel | Operation::Phi => None,
            _ => return Err(Obstacle::Escape),
        };
        let offset = added.and_then(|added| target.offset.checked_add(added));
        let size = function.stack_object(target.object).size;
        if index.is_some() && (target.index.is_some() || size > self.indexed_limit) {
            return Err(Obstacle::Index);
        }
        Ok(Target {
            offset: offset.ok_or(Obstacle::Index)?,
            index: index.or(target.index),
            ..target
        })
    }

    /// Collects loads and stores with a known base, in the order of the layout.
    fn collect_accesses(&mut self) {
        let function = self.function;
        for (instruction, number) in std::mem::take(&mut self.accesses) {
            let base = function.source(instruction, number);
            let target = match base.as_register() {
                Some(register) => self.addresses.get(&register).copied(),
                None => self.frame_object(base).map(Target::start_of),
            };
            if let Some(target) = target {
                match self.access(instruction, number, target) {
                    Ok(access) => self.objects.uses[target.object].accesses.push(access),
                    Err(obstacle) => self.object_in(target.object, obstacle, instruction),
                }
            }
        }
    }

    fn access(&self, instruction: Instruction, number: usize, target: Target) -> Result<Access, Obstacle> {
        let function = self.function;
        let modifiers = function.modifiers(instruction);
        if function
            .effects(instruction)
            .contains(OperationFlags::SIDE_EFFECTS)
            || !matches!(modifiers.ordering, Ordering::None | Ordering::Weak)
            || function
                .flags(instruction)
                .contains(InstructionFlags::ATTACHMENTS)
        {
            return Err(Obstacle::Ordered);
        }
        if !matches!(modifiers.space, AddressSpace::Local | AddressSpace::Generic) {
            return Err(Obstacle::Escape);
        }
        let added = function.integer(function.source(instruction, number + 1));
        let offset = added.and_then(|added| target.offset.checked_add(added));
        let access = Access {
            instruction,
            offset: offset.ok_or(Obstacle::Index)?,
            index: target.index,
        };
        let object = function.stack_object(target.object);
        let bytes = access.bytes(function);
        if access.index.is_some() {
            // The possible positions follow from the alignment that the access requires.
            let is_aligned = bytes.is_power_of_two() && bytes <= u64::from(object.alignment);
            return if is_aligned {
                Ok(access)
            } else {
                Err(Obstacle::Index)
            };
        }
        let start = u64::try_from(access.offset).map_err(|_| Obstacle::OutOfBounds)?;
        match start.checked_add(bytes) {
            Some(end) if end <= object.size => Ok(access),
            _ => Err(Obstacle::OutOfBounds),
        }
    }
}

impl Access {
    /// True for a store.
    pub fn is_store(&self, function: &Function) -> bool {
        function.operation(self.instruction) == Operation::St
    }

    /// Returns the values in order: results of a load, sources of a store.
    pub fn values(&self, function: &Function) -> SmallVec<[Operand; 4]> {
        if self.is_store(function) {
            let sources = function.sources(self.instruction);
            sources.iter().take(sources.len() - 2).collect()
        } else {
            function.results(self.instruction).iter().collect()
        }
    }

    /// Returns the bytes of one element in memory.
    pub fn element_bytes(&self, function: &Function) -> u64 {
        u64::from(function.memory_type(self.instruction).bits() / 8)
    }

    /// Returns the offset of the first element in bytes.
    ///
    /// # Panics
    /// The access has an index.
    pub fn start(&self) -> u64 {
        assert!(self.index.is_none(), "{} has an index", self.instruction);
        self.offset.try_into().expect("an access is inside the object")
    }

    /// Returns the offsets of the elements in bytes.
    ///
    /// # Panics
    /// The access has an index.
    pub fn offsets(&self, function: &Function) -> impl Iterator<Item = u64> + use<> {
        let (offset, bytes) = (self.start(), self.element_bytes(function));
        (0..self.values(function).len() as u64).map(move |number| offset + number * bytes)
    }

    /// Returns the bytes of all elements.
    pub fn bytes(&self, function: &Function) -> u64 {
        self.element_bytes(function) * self.values(function).len() as u64
    }
}
