//! Newtypes for everything that is addressed by number.
//!
//! A bare integer never stands for a block, an instruction or a register. Tables over entities are
//! [`PrimaryMap`] and [`SecondaryMap`], "none" is [`PackedOption`] or [`Option`].

pub use cranelift_entity::packed_option::{PackedOption, ReservedValue};
pub use cranelift_entity::{EntityRef, EntitySet, PrimaryMap, SecondaryMap, entity_impl};

macro_rules! entities {
    ($($(#[$doc:meta])* $name:ident $prefix:literal;)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(u32);
            entity_impl!($name, $prefix);
        )*
    };
}

entities! {
    /// A basic block of a function, by position in the input's layout order.
    Block "block";
    /// A machine instruction of a function, by position in layout order.
    Instruction "inst";
    /// A virtual register; the number is LLVM's (`%5` is register 5).
    Register "%";
    /// A register class of the snapshot.
    RegisterClass "class";
    /// An opcode that the snapshot uses.
    Opcode "opcode";
    /// A constant of the snapshot's constant table.
    Constant "const";
    /// A symbol of the snapshot.
    Symbol "symbol";
    /// A stack object of the snapshot.
    FrameObject "frame";
    /// A debug location of the snapshot.
    Location "location";
    /// A debug variable of the snapshot.
    Variable "variable";
    /// A physical register that the snapshot mentions.
    PhysicalRegister "physical";
}

/// Converts the ABI's one-based optional index to an entity.
pub fn from_one_based<E: EntityRef>(index: u32) -> Option<E> {
    index.checked_sub(1).map(|index| E::new(index as usize))
}

/// Converts an optional entity to the ABI's one-based index.
pub fn to_one_based<E: EntityRef>(entity: Option<E>) -> u32 {
    entity.map_or(0, |entity| entity.index() as u32 + 1)
}
