//! Effects: everything that an instruction does besides producing results. This is the one table
//! for phases, the scheduler's dependencies and memory versions.
//!
//! | rule | reads and writes |
//! |---|---|
//! | [`MemoryRule::Value`] | nothing |
//! | [`MemoryRule::Inaccessible`] | nothing that a load or store can reach; its order matters |
//! | [`MemoryRule::Access`] | the memory of its address space |
//! | [`MemoryRule::Atomic`] | the memory of its address space, and the memory that other threads can see |
//! | [`MemoryRule::Fence`] | the memory that other threads can see |
//! | [`MemoryRule::Parameters`] | parameters and results of calls |
//! | [`MemoryRule::Call`] | everything |
//! | [`MemoryRule::Unknown`] | everything, unless LLVM rules it out |
//!
//! LLVM describes an opcode by three flags: `mayLoad`, `mayStore` and `hasUnmodeledSideEffects`.
//! The third flag does not imply the others: `griddepcontrol.wait`, `cp.async.bulk.wait_group` and
//! `asm volatile` have only the third, and all of them let a thread see what others wrote. So an
//! unknown instruction with side effects reads and writes all memory, whatever the first two flags
//! are. In IR, LLVM knows more: loads may be merged across an intrinsic that is
//! `memory(inaccessiblemem)`. Machine code has lost that property; Ori derives it from the
//! operation, and the rows with [`MemoryRule::Inaccessible`] give the reasons.

use super::function::{Function, Instruction, InstructionFlags, MachineOpcode, Special};
use super::modifiers::{AddressSpace, ModifierFlags, Ordering};
use super::operand::{Operand, OperandKind};
use super::operation::{Operation, OperationFlags};
use bitflags::bitflags;
use oriel_engine::snapshot::abi::{MemoryFlags, OpcodeFlags};

bitflags! {
    /// Kinds of memory that do not overlap.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct MemoryKinds: u8 {
        /// Device memory.
        const GLOBAL = 1 << 0;
        /// Shared memory of the block and the cluster.
        const SHARED = 1 << 1;
        /// The thread's own memory.
        const LOCAL = 1 << 2;
        /// Parameters and results of calls.
        const PARAMETER = 1 << 3;
    }
}

impl MemoryKinds {
    /// Number of kinds.
    pub const COUNT: usize = Self::all().bits().count_ones() as usize;

    /// The kinds that a generic address may refer to.
    const GENERIC: Self = Self::GLOBAL.union(Self::SHARED).union(Self::LOCAL);

    /// The kinds that other threads can access.
    pub const VISIBLE: Self = Self::GLOBAL.union(Self::SHARED);

    /// Returns the kinds of memory that an address of a space may lie in and that are ever written.
    pub const fn of(space: AddressSpace) -> Self {
        match space {
            AddressSpace::Global => Self::GLOBAL,
            AddressSpace::Shared | AddressSpace::SharedCluster => Self::SHARED,
            AddressSpace::Local => Self::LOCAL,
            AddressSpace::DeviceParam => Self::PARAMETER,
            AddressSpace::Const | AddressSpace::EntryParam => Self::empty(),
            AddressSpace::Generic => Self::GENERIC,
            AddressSpace::None => Self::all(),
        }
    }

    /// Returns the numbers of the kinds in the set.
    pub(super) fn indices(self) -> impl Iterator<Item = usize> {
        (0..Self::COUNT).filter(move |&kind| self.bits() >> kind & 1 != 0)
    }
}

/// The memory that an operation reads and writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryRule {
    /// None: it computes a value or transfers control.
    Value,
    /// None that a load or store can reach, although LLVM declares effects or memory accesses.
    Inaccessible,
    /// Memory of its address space.
    Access,
    /// Memory of its address space, and everything that other threads can see.
    Atomic,
    /// Everything that other threads can see.
    Fence,
    /// Parameters and results of calls.
    Parameters,
    /// All memory.
    Call,
    /// All memory that LLVM does not rule out: see [`Function::effects`].
    Unknown,
}

impl MemoryRule {
    /// Returns the rule of an operation. There is no catch-all arm: a new operation must be put
    /// into a row.
    pub const fn of(operation: Operation) -> Self {
        use Operation as O;
        match operation {
            O::Iadd | O::Isub | O::Imul | O::ImulHi | O::ImulWide | O::Imul24 | O::Imad | O::ImadWide => {
                Self::Value
            }
            O::Isad | O::Idiv | O::Irem | O::Imin | O::Imax | O::Iabs | O::Ineg | O::Dp2a | O::Dp4a => {
                Self::Value
            }
            O::And | O::Or | O::Xor | O::Not | O::Shl | O::Shr | O::Shf | O::Bfe | O::Bfi | O::Bfind => {
                Self::Value
            }
            O::Bmsk | O::Szext | O::Brev | O::Clz | O::Popc | O::Prmt | O::Fns => Self::Value,
            O::Fadd | O::Fsub | O::Fmul | O::Ffma | O::Fdiv | O::Frcp | O::Fsqrt | O::Frsqrt | O::Fsin => {
                Self::Value
            }
            O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh | O::Fmin | O::Fmax | O::Fneg | O::Fabs => Self::Value,
            O::Fcopysign | O::Ftestinf | O::Isetp | O::Fsetp | O::Sel | O::Cvt | O::Cvta => Self::Value,
            O::Isspacep | O::Mov | O::Copy | O::Phi | O::ImplicitDef | O::Lea | O::FrameAddress => {
                Self::Value
            }
            O::Pack | O::Unpack | O::Extract | O::Nop | O::Debug => Self::Value,
            O::Bra | O::Brx | O::Ret | O::End => Self::Value,
            // The carry flag is a register that only these operations read and write.
            O::IaddCarryOut | O::IaddCarry | O::IsubCarryOut | O::IsubCarry => Self::Inaccessible,
            // A counter advances by itself. Its intrinsics are memory(inaccessiblemem), so LLVM
            // merges loads across a read of one.
            O::S2r => Self::Inaccessible,
            // Values pass from lane to lane through registers: PTX does not order memory accesses
            // by these operations, and LLVM's intrinsics are convergent and
            // memory(inaccessiblemem). The same instruction in inline assembly is unknown, as in
            // LLVM.
            O::Shfl | O::Vote | O::Match | O::Redux | O::ActiveMask => Self::Inaccessible,
            // The thread executes nothing afterwards; both intrinsics are memory(inaccessiblemem).
            O::Exit | O::Trap => Self::Inaccessible,
            // A declaration in PTX, not an instruction.
            O::Prototype => Self::Inaccessible,
            O::Ld | O::St => Self::Access,
            O::Atom => Self::Atomic,
            // Memory that is private to a thread does not change.
            O::Membar | O::Bar | O::BarRed | O::WarpSync => Self::Fence,
            O::CallStart | O::DeclareParam | O::CallEnd => Self::Parameters,
            O::Call => Self::Call,
            O::InlineAsm | O::Opaque | O::OpaqueTerminator => Self::Unknown,
        }
    }
}

/// The beginnings of the names of opcodes that order more than LLVM declares. A relaxed wait for a phase
/// of a barrier in memory only reads, but the thread goes on to read what others wrote. To LLVM,
/// `EXIT` only accesses memory, but it ends the thread, and what comes behind must not run.
const ORDERING_OPCODES: [&str; 3] = ["mbar_test_wait", "mbar_try_wait", MachineOpcode::EXIT];

/// Returns the effects of an instruction unknown to Ori, from LLVM's description of its opcode;
/// `flags` holds what inline assembly declares.
pub fn unknown_effects(
    operation: Operation,
    opcode: &MachineOpcode,
    flags: InstructionFlags,
) -> OperationFlags {
    use OperationFlags as E;
    let refined = E::READS | E::WRITES | E::SIDE_EFFECTS | E::CONVERGENT;
    let mut effects = operation.flags() & !refined;
    let is_assembly = opcode.flags.contains(OpcodeFlags::INLINE_ASM);
    let pairs = [
        (E::READS, OpcodeFlags::MAY_LOAD, InstructionFlags::ASM_READS),
        (E::WRITES, OpcodeFlags::MAY_STORE, InstructionFlags::ASM_WRITES),
        (
            E::SIDE_EFFECTS,
            OpcodeFlags::SIDE_EFFECTS,
            InstructionFlags::ASM_SIDE_EFFECTS,
        ),
        (
            E::CONVERGENT,
            OpcodeFlags::CONVERGENT,
            InstructionFlags::ASM_CONVERGENT,
        ),
    ];
    for (effect, of_opcode, of_assembly) in pairs {
        let holds = opcode.flags.contains(of_opcode) || is_assembly && flags.contains(of_assembly);
        effects.set(effect, holds);
    }
    // Labels and markers have no effect but must keep their position.
    if !is_assembly && opcode.flags.intersects(OpcodeFlags::POSITION | OpcodeFlags::META) {
        return effects | E::SIDE_EFFECTS;
    }
    let keeps_order = ORDERING_OPCODES.iter().any(|name| opcode.name.starts_with(name));
    if effects.contains(E::SIDE_EFFECTS) || keeps_order || operation == Operation::OpaqueTerminator {
        effects |= E::SIDE_EFFECTS | E::READS | E::WRITES;
    }
    effects
}

impl Function {
    /// Returns the effects of an instruction. [`memory_kinds`] tells which memory they concern.
    pub fn effects(&self, instruction: Instruction) -> OperationFlags {
        let operation = self.operation(instruction);
        let table = operation.flags();
        if table.contains(OperationFlags::OPAQUE) {
            // Without a machine instruction, assume the worst.
            return self.machine_opcode(instruction).map_or(table, |opcode| {
                unknown_effects(operation, opcode, self.flags(instruction))
            });
        }
        let keeps_order = match operation {
            Operation::S2r => self
                .sources(instruction)
                .iter()
                .any(|source| self.is_counter(source)),
            // Volatile and atomic accesses stay. An atomic operation writes anyway.
            Operation::Ld | Operation::St => {
                let is_volatile = |access: &super::MemoryAccess| access.flags.contains(MemoryFlags::VOLATILE);
                self.access(instruction).is_some_and(is_volatile) || self.orders_others(instruction)
            }
            _ => false,
        };
        if keeps_order {
            table | OperationFlags::SIDE_EFFECTS
        } else {
            table
        }
    }

    /// True if an operand is a register that the hardware changes by itself.
    fn is_counter(&self, operand: Operand) -> bool {
        match operand.kind() {
            OperandKind::Special(special) => match self.special_data(special) {
                Special::SpecialRegister(register) => !register.is_constant(),
                _ => false,
            },
            _ => false,
        }
    }

    /// True if a load or store is volatile or atomic by its modifiers.
    fn orders_others(&self, instruction: Instruction) -> bool {
        !matches!(
            self.modifiers(instruction).ordering,
            Ordering::None | Ordering::Weak
        )
    }

    /// True if an instruction may be removed if nothing uses its results.
    pub fn is_removable_if_unused(&self, instruction: Instruction) -> bool {
        let keeps = OperationFlags::WRITES
            | OperationFlags::SIDE_EFFECTS
            | OperationFlags::CONVERGENT
            | OperationFlags::TERMINATOR
            | OperationFlags::CALL_SEQUENCE
            | OperationFlags::DEBUG;
        !self.effects(instruction).intersects(keeps)
            && !self.flags(instruction).contains(InstructionFlags::ATTACHMENTS)
    }
}

/// Returns the kinds of memory that an instruction may read and write.
pub fn memory_kinds(function: &Function, instruction: Instruction) -> (MemoryKinds, MemoryKinds) {
    let nothing = (MemoryKinds::empty(), MemoryKinds::empty());
    let all_if = |effects: OperationFlags, effect| {
        if effects.contains(effect) {
            MemoryKinds::all()
        } else {
            MemoryKinds::empty()
        }
    };
    let operation = function.operation(instruction);
    match MemoryRule::of(operation) {
        MemoryRule::Value | MemoryRule::Inaccessible => nothing,
        MemoryRule::Access => accessed_kinds(function, instruction),
        MemoryRule::Atomic => {
            let kinds = MemoryKinds::of(function.modifiers(instruction).space) | MemoryKinds::VISIBLE;
            (kinds, kinds)
        }
        MemoryRule::Fence => (MemoryKinds::VISIBLE, MemoryKinds::VISIBLE),
        MemoryRule::Parameters => (MemoryKinds::PARAMETER, MemoryKinds::PARAMETER),
        MemoryRule::Call => (MemoryKinds::all(), MemoryKinds::all()),
        // An unknown instruction may have pointers to anything, including the thread's own memory.
        MemoryRule::Unknown => {
            let effects = function.effects(instruction);
            (
                all_if(effects, OperationFlags::READS),
                all_if(effects, OperationFlags::WRITES),
            )
        }
    }
}

/// Returns the kinds of memory that a load or store may read and write.
fn accessed_kinds(function: &Function, instruction: Instruction) -> (MemoryKinds, MemoryKinds) {
    let modifiers = function.modifiers(instruction);
    let is_load = function.operation(instruction) == Operation::Ld;
    let kinds = MemoryKinds::of(modifiers.space);
    if function.orders_others(instruction) {
        return (kinds | MemoryKinds::VISIBLE, kinds | MemoryKinds::VISIBLE);
    }
    if is_load && modifiers.flags.contains(ModifierFlags::INVARIANT) {
        return (MemoryKinds::empty(), MemoryKinds::empty());
    }
    // A volatile access may see what others did.
    let is_volatile = function
        .effects(instruction)
        .contains(OperationFlags::SIDE_EFFECTS);
    let others = if is_volatile {
        MemoryKinds::VISIBLE & kinds
    } else {
        MemoryKinds::empty()
    };
    if is_load {
        (kinds, others)
    } else {
        (MemoryKinds::empty(), kinds)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parse_function;

    #[test]
    fn rules_agree_with_the_table_of_operations() {
        use OperationFlags as E;
        for &operation in Operation::ALL {
            let touched = operation.flags() & (E::READS | E::WRITES);
            let expected = match MemoryRule::of(operation) {
                MemoryRule::Value | MemoryRule::Inaccessible => E::empty(),
                MemoryRule::Access if operation == Operation::Ld => E::READS,
                MemoryRule::Access => E::WRITES,
                _ => E::READS | E::WRITES,
            };
            assert_eq!(touched, expected, "{operation:?}");
            let rule = MemoryRule::of(operation);
            if rule == MemoryRule::Value {
                assert!(!operation.flags().contains(E::SIDE_EFFECTS), "{operation:?}");
            }
        }
    }

    /// Returns the kinds that the first instruction reads and writes, and its effects.
    fn first(line: &str) -> (MemoryKinds, MemoryKinds, OperationFlags) {
        let text = format!("kernel \"k\" sm_90 late {{\nbix0:\n    {line}\n    RET\n}}\n");
        let function = parse_function(&text).unwrap_or_else(|error| panic!("{error}"));
        let instruction = function.first(function.entry()).expect("it is there");
        let (reads, writes) = memory_kinds(&function, instruction);
        (reads, writes, function.effects(instruction))
    }

    #[test]
    fn side_effects_mean_all_memory_whatever_llvm_says_of_loads_and_stores() {
        let (all, none) = (MemoryKinds::all(), MemoryKinds::empty());
        for (line, reads, writes) in [
            ("OPAQUE (GRIDDEPCONTROL_WAIT side_effects)", all, all),
            ("OPAQUE (TEX side_effects may_load)", all, all),
            ("OPAQUE (MMA convergent)", none, none),
            ("OPAQUE (LDMATRIX may_load convergent)", all, none),
            ("OPAQUE (CP_ASYNC may_store)", none, all),
            ("OPAQUE (mbar_try_wait_cta may_load)", all, all),
            ("OPAQUE (EH_LABEL position)", none, none),
            ("OPAQUE", all, all),
            ("ASM", all, all),
            ("BAR.sync 0", MemoryKinds::VISIBLE, MemoryKinds::VISIBLE),
            ("TRAP", none, none),
        ] {
            let (read, written, effects) = first(line);
            assert_eq!((read, written), (reads, writes), "{line}");
            let is_pure = !effects.intersects(OperationFlags::READS | OperationFlags::WRITES);
            assert_eq!(is_pure, (read | written).is_empty(), "{line}");
        }
    }

    #[test]
    fn atomic_loads_stay_and_counters_keep_their_order() {
        for (line, ordered) in [
            ("%1:R32 = LD.global.b32 [0]", false),
            ("%1:R32 = LD.global.relaxed.gpu.b32 [0]", true),
            ("%1:R32 = LD.global.acquire.gpu.b32 [0]", true),
            ("%1:R32 = LD.global.volatile.b32 [0]", true),
            ("%1:R32 = S2R.b32 clock", true),
            ("%1:R32 = S2R.b32 tid.x", false),
        ] {
            let (.., effects) = first(line);
            assert_eq!(effects.contains(OperationFlags::SIDE_EFFECTS), ordered, "{line}");
        }
    }
}
