//! The effects of an instruction besides its results.
//!
//! This table is independent of the phases' tables, so that the validator detects mistakes in them.

use bitflags::bitflags;
use oriel_engine::snapshot::abi::{MemoryFlags, OpcodeFlags};
use oriel_ori::{
    AddressSpace, Function, Instruction, InstructionFlags, ModifierFlags, Operation, Ordering, Special,
};
use oriel_ori::{OperandKind, OperationFlags};

bitflags! {
    /// The state that instructions pass on besides registers.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub(super) struct Chains: u8 {
        /// The device's memory.
        const GLOBAL = 1 << 0;
        /// The block's and the cluster's memory.
        const SHARED = 1 << 1;
        /// The thread's memory.
        const LOCAL = 1 << 2;
        /// Parameters and results of calls.
        const PARAMETER = 1 << 3;
        /// All other effects with an observable order: warp-wide and block-wide operations, time,
        /// traps, device registers.
        const EFFECTS = 1 << 4;
    }
}

impl Chains {
    /// Number of kinds.
    pub const COUNT: usize = Self::all().bits().count_ones() as usize;
    const VISIBLE: Self = Self::GLOBAL.union(Self::SHARED);
    const MEMORY: Self = Self::VISIBLE.union(Self::LOCAL).union(Self::PARAMETER);

    /// Returns the numbers of the kinds in the set.
    pub fn numbers(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |&number| self.bits() >> number & 1 != 0)
    }

    /// Returns a name for messages.
    pub const fn name(number: usize) -> &'static str {
        [
            "global memory",
            "shared memory",
            "local memory",
            "parameters",
            "effects",
        ][number]
    }
}

/// The reads and writes of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Touches {
    pub reads: Chains,
    pub writes: Chains,
}

impl Touches {
    const NOTHING: Self = Self {
        reads: Chains::empty(),
        writes: Chains::empty(),
    };
    const EVERYTHING: Self = Self::both(Chains::all());

    const fn both(chains: Chains) -> Self {
        Self {
            reads: chains,
            writes: chains,
        }
    }

    /// True if it has no effects.
    pub fn is_nothing(self) -> bool {
        self == Self::NOTHING
    }
}

/// Returns the writable memory in which an address of a space may lie.
fn memory_of(space: AddressSpace) -> Chains {
    match space {
        AddressSpace::Global => Chains::GLOBAL,
        AddressSpace::Shared | AddressSpace::SharedCluster => Chains::SHARED,
        AddressSpace::Local => Chains::LOCAL,
        AddressSpace::DeviceParam => Chains::PARAMETER,
        AddressSpace::Const | AddressSpace::EntryParam => Chains::empty(),
        AddressSpace::Generic => Chains::VISIBLE.union(Chains::LOCAL),
        AddressSpace::None => Chains::MEMORY,
    }
}

/// Returns the memory that a plain store to a space may change.
pub(super) fn written_by_store(space: AddressSpace) -> Chains {
    memory_of(space)
}

/// Returns the effects of an instruction besides its results.
pub(super) fn touches(function: &Function, instruction: Instruction) -> Touches {
    use Operation as O;
    let operation = function.operation(instruction);
    let modifiers = function.modifiers(instruction);
    match operation {
        O::Ld | O::St => {
            let place = memory_of(modifiers.space);
            if is_ordered(function, instruction) {
                return Touches::both(place | Chains::VISIBLE | Chains::EFFECTS);
            }
            if operation == O::St && place.is_empty() {
                // Nothing stores there.
                return Touches::EVERYTHING;
            }
            if operation == O::St {
                return Touches {
                    reads: Chains::empty(),
                    writes: place,
                };
            }
            let is_constant = modifiers.flags.contains(ModifierFlags::INVARIANT);
            Touches {
                reads: if is_constant { Chains::empty() } else { place },
                writes: Chains::empty(),
            }
        }
        O::Atom => Touches::both(memory_of(modifiers.space) | Chains::VISIBLE | Chains::EFFECTS),
        O::Membar | O::Bar | O::BarRed | O::WarpSync => Touches::both(Chains::VISIBLE | Chains::EFFECTS),
        O::Shfl | O::Vote | O::Match | O::Redux | O::ActiveMask | O::Trap | O::Exit | O::Prototype => {
            Touches::both(Chains::EFFECTS)
        }
        O::IaddCarryOut | O::IaddCarry | O::IsubCarryOut | O::IsubCarry => Touches::both(Chains::EFFECTS),
        O::CallStart | O::DeclareParam | O::CallEnd => Touches::both(Chains::PARAMETER | Chains::EFFECTS),
        O::Call => Touches::EVERYTHING,
        O::S2r => {
            let counts = function
                .sources(instruction)
                .iter()
                .any(|source| match source.kind() {
                    OperandKind::Special(special) => match function.special_data(special) {
                        Special::SpecialRegister(register) => !register.is_constant(),
                        _ => true,
                    },
                    _ => true,
                });
            if counts {
                Touches::both(Chains::EFFECTS)
            } else {
                Touches::NOTHING
            }
        }
        O::InlineAsm if function.machine_opcode(instruction).is_some() => {
            let flags = function.flags(instruction);
            opaque(
                flags.contains(InstructionFlags::ASM_SIDE_EFFECTS),
                flags.contains(InstructionFlags::ASM_READS),
                flags.contains(InstructionFlags::ASM_WRITES),
                flags.contains(InstructionFlags::ASM_CONVERGENT),
            )
        }
        O::InlineAsm => Touches::EVERYTHING,
        O::Opaque | O::OpaqueTerminator => match function.machine_opcode(instruction) {
            None => Touches::EVERYTHING,
            Some(opcode) => {
                let marks = OpcodeFlags::SIDE_EFFECTS | OpcodeFlags::POSITION | OpcodeFlags::META;
                // For LLVM, waiting for a barrier in memory reads it; later instructions may read
                // what other threads wrote.
                let waits = opcode.name.starts_with("mbar");
                opaque(
                    opcode.flags.intersects(marks) || waits,
                    opcode.flags.contains(OpcodeFlags::MAY_LOAD),
                    opcode.flags.contains(OpcodeFlags::MAY_STORE),
                    opcode.flags.contains(OpcodeFlags::CONVERGENT),
                )
            }
        },
        // Arithmetic, moves and block ends. If the table of operations does not agree, the
        // validator is out of date.
        _ => {
            let kept = OperationFlags::READS
                | OperationFlags::WRITES
                | OperationFlags::SIDE_EFFECTS
                | OperationFlags::CONVERGENT;
            if operation.flags().intersects(kept) {
                Touches::EVERYTHING
            } else {
                Touches::NOTHING
            }
        }
    }
}

/// True if it depends on which threads execute it together.
pub(super) fn is_convergent(function: &Function, instruction: Instruction) -> bool {
    let operation = function.operation(instruction);
    match function.machine_opcode(instruction) {
        Some(opcode) if operation.is_opaque() => {
            opcode.flags.contains(OpcodeFlags::CONVERGENT)
                || function
                    .flags(instruction)
                    .contains(InstructionFlags::ASM_CONVERGENT)
        }
        _ => operation.flags().contains(OperationFlags::CONVERGENT),
    }
}

/// True if control may not continue after an effect.
pub(super) fn may_not_return(function: &Function, instruction: Instruction) -> bool {
    let operation = function.operation(instruction);
    operation.is_opaque() || matches!(operation, Operation::Call | Operation::Trap | Operation::Exit)
}

/// Returns what LLVM's flags alone tell about an instruction. An instruction with side effects may
/// do anything, whether or not LLVM says that it loads or stores.
fn opaque(has_side_effects: bool, reads: bool, writes: bool, is_convergent: bool) -> Touches {
    if has_side_effects || writes {
        return Touches::EVERYTHING;
    }
    let mut touches = Touches::NOTHING;
    if reads {
        touches.reads |= Chains::MEMORY;
    }
    if is_convergent {
        touches.reads |= Chains::EFFECTS;
        touches.writes |= Chains::EFFECTS;
    }
    touches
}

/// True for a load or store whose order relative to others is observable.
fn is_ordered(function: &Function, instruction: Instruction) -> bool {
    let is_plain = matches!(
        function.modifiers(instruction).ordering,
        Ordering::None | Ordering::Weak
    );
    let special = MemoryFlags::VOLATILE | MemoryFlags::ATOMIC;
    !is_plain
        || function
            .access(instruction)
            .is_some_and(|access| access.flags.intersects(special))
}
