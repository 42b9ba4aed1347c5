//! Modifiers of operations: rounding, comparison, address space and so on.

use super::operation::ModifierKinds;
use bitflags::bitflags;

/// Declares an enum of one byte whose values have names in text form.
macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $( $(#[$variant_doc:meta])* $variant:ident $text:literal, )* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u8)]
        pub enum $name {
            /// Not given.
            #[default]
            None,
            $( $(#[$variant_doc])* $variant, )*
        }

        impl $name {
            /// Every value but the first, in order.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// Returns the name in text form; empty if nothing is given.
            pub const fn name(self) -> &'static str {
                match self {
                    Self::None => "",
                    $( Self::$variant => $text, )*
                }
            }

            /// Returns the value with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|value| value.name() == name)
            }
        }
    };
}

named! {
    /// Rounding of inexact results.
    Rounding {
        /// To nearest, ties to even. On an addition or multiplication it also forbids fusion, which
        /// an unspecified rounding allows.
        Rn "rn",
        /// Toward zero.
        Rz "rz",
        /// Toward minus infinity.
        Rm "rm",
        /// Toward plus infinity.
        Rp "rp",
        /// To nearest, ties away from zero.
        Rna "rna",
        /// To the nearest integer, ties to even.
        Rni "rni",
        /// To an integer, toward zero.
        Rzi "rzi",
        /// To an integer, toward minus infinity.
        Rmi "rmi",
        /// To an integer, toward plus infinity.
        Rpi "rpi",
        /// Stochastically.
        Rs "rs",
    }
}

named! {
    /// The relation that a comparison tests. Those with `u` also hold if an operand is NaN.
    Comparison {
        /// Equal.
        Eq "eq",
        /// Not equal.
        Ne "ne",
        /// Less.
        Lt "lt",
        /// Less or equal.
        Le "le",
        /// Greater.
        Gt "gt",
        /// Greater or equal.
        Ge "ge",
        /// Equal, or not ordered.
        Equ "equ",
        /// Not equal, or not ordered.
        Neu "neu",
        /// Less, or not ordered.
        Ltu "ltu",
        /// Less or equal, or not ordered.
        Leu "leu",
        /// Greater, or not ordered.
        Gtu "gtu",
        /// Greater or equal, or not ordered.
        Geu "geu",
        /// Neither is NaN.
        Num "num",
        /// One is NaN.
        Nan "nan",
    }
}

named! {
    /// The address space of an access.
    AddressSpace {
        /// Any of global, shared, local and constant memory, depending on the address.
        Generic "generic",
        /// The device's memory.
        Global "global",
        /// The block's memory.
        Shared "shared",
        /// Read-only memory of the module.
        Const "const",
        /// The thread's memory.
        Local "local",
        /// Shared memory of the blocks of a cluster.
        SharedCluster "shared::cluster",
        /// Parameters of a kernel, which are never written.
        EntryParam "param::entry",
        /// Parameters and results of calls, on either side.
        DeviceParam "param::func",
    }
}

named! {
    /// The memory ordering of an access.
    Ordering {
        /// No ordering.
        Weak "weak",
        /// Atomic but unordered.
        Relaxed "relaxed",
        /// Later accesses stay behind it.
        Acquire "acquire",
        /// Earlier accesses stay before it.
        Release "release",
        /// Acquire and release.
        AcquireRelease "acq_rel",
        /// In a single total order with all such accesses.
        SequentiallyConsistent "sc",
        /// Exactly as written.
        Volatile "volatile",
        /// An access to a device register.
        RelaxedMmio "mmio.relaxed",
    }
}

named! {
    /// The threads for which an access is ordered.
    Scope {
        /// The thread itself.
        Thread "thread",
        /// The block.
        Block "cta",
        /// The cluster.
        Cluster "cluster",
        /// The device.
        Device "gpu",
        /// The whole system.
        System "sys",
        /// The device, where the instruction has no qualifier for it.
        DefaultDevice "gpu.default",
    }
}

named! {
    /// The member of a family of operations.
    Variant {
        // Atomic operations, reductions of a warp and of a block.
        /// Sum.
        Add "add",
        /// Least.
        Min "min",
        /// Greatest.
        Max "max",
        /// Increment with wrap-around at the operand.
        Inc "inc",
        /// Decrement with wrap-around at the operand.
        Dec "dec",
        /// Conjunction.
        And "and",
        /// Disjunction.
        Or "or",
        /// Exclusive disjunction.
        Xor "xor",
        /// Exchange.
        Exch "exch",
        /// Compare and exchange.
        Cas "cas",
        /// The number of threads for which it holds.
        Popc "popc",
        // Shuffles.
        /// From a lane below.
        Up "up",
        /// From a lane above.
        Down "down",
        /// From the lane with some bits flipped.
        Bfly "bfly",
        /// From a lane given by number.
        Idx "idx",
        // Votes and matches.
        /// Holds for all.
        All "all",
        /// Holds for at least one.
        Any "any",
        /// Is the same for all.
        Uni "uni",
        /// A mask of the threads for which it holds.
        Ballot "ballot",
        // Barriers.
        /// Wait for all.
        Sync "sync",
        /// Announce arrival and continue.
        Arrive "arrive",
        // Parts and directions.
        /// The low part, or to the left.
        Low "lo",
        /// The high part.
        High "hi",
        /// To the left.
        Left "l",
        /// To the right.
        Right "r",
        /// From generic addresses to a space.
        ToSpace "to",
        /// From a space to generic addresses.
        FromSpace "from",
        /// The shift that would bring the leading bit to the top.
        ShiftAmount "shiftamt",
        // Precision of divisions, reciprocals and roots.
        /// The fast approximation.
        Approx "approx",
        /// The approximation that covers the full range.
        Full "full",
        // Byte permutation.
        /// Four bytes forward.
        F4e "f4e",
        /// Four bytes backward.
        B4e "b4e",
        /// One byte, replicated.
        Rc8 "rc8",
        /// Clamped to the left edge.
        Ecl "ecl",
        /// Clamped to the right edge.
        Ecr "ecr",
        /// Two bytes, replicated.
        Rc16 "rc16",
    }
}

named! {
    /// A special register of the hardware.
    SpecialRegister {
        /// Number of the thread in its block.
        TidX "tid.x",
        /// Second dimension.
        TidY "tid.y",
        /// Third dimension.
        TidZ "tid.z",
        /// Size of the block.
        NtidX "ntid.x",
        /// Second dimension.
        NtidY "ntid.y",
        /// Third dimension.
        NtidZ "ntid.z",
        /// Number of the block in the grid.
        CtaidX "ctaid.x",
        /// Second dimension.
        CtaidY "ctaid.y",
        /// Third dimension.
        CtaidZ "ctaid.z",
        /// Size of the grid.
        NctaidX "nctaid.x",
        /// Second dimension.
        NctaidY "nctaid.y",
        /// Third dimension.
        NctaidZ "nctaid.z",
        /// Number of the thread in its warp.
        LaneId "laneid",
        /// Number of the warp in its block.
        WarpId "warpid",
        /// Number of warp slots.
        NwarpId "nwarpid",
        /// Threads in a warp.
        WarpSize "warpsize",
        /// Number of the multiprocessor.
        SmId "smid",
        /// Number of multiprocessors.
        NsmId "nsmid",
        /// Number of the grid.
        GridId "gridid",
        /// Mask of the own lane.
        LaneMaskEq "lanemask_eq",
        /// Mask of lanes up to the own.
        LaneMaskLe "lanemask_le",
        /// Mask of lanes before the own.
        LaneMaskLt "lanemask_lt",
        /// Mask of lanes from the own on.
        LaneMaskGe "lanemask_ge",
        /// Mask of lanes after the own.
        LaneMaskGt "lanemask_gt",
        /// Cycle counter.
        Clock "clock",
        /// Cycle counter of 64 bits.
        Clock64 "clock64",
        /// Nanoseconds.
        GlobalTimer "globaltimer",
        /// Nanoseconds, low half.
        GlobalTimerLo "globaltimer_lo",
        /// Bytes of shared memory in all.
        TotalSmemSize "total_smem_size",
        /// Bytes of shared memory that the launch requested.
        DynamicSmemSize "dynamic_smem_size",
    }
}

impl SpecialRegister {
    /// True if every read within a launch gives one thread the same value.
    pub const fn is_constant(self) -> bool {
        !matches!(
            self,
            // A thread may be moved to another multiprocessor; counters advance.
            Self::WarpId | Self::SmId | Self::Clock | Self::Clock64 | Self::GlobalTimer | Self::GlobalTimerLo
        )
    }
}

bitflags! {
    /// Modifiers that are present or absent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
    pub struct ModifierFlags: u16 {
        /// Subnormal inputs and results count as zero.
        const FTZ = 1 << 0;
        /// Clamp to the range: [0, 1] for floats, the type's for integers.
        const SAT = 1 << 1;
        /// Negative results become zero.
        const RELU = 1 << 2;
        /// Clamp to the largest finite value.
        const SATFINITE = 1 << 3;
        /// A NaN operand gives NaN, where otherwise the number would win.
        const NAN = 1 << 4;
        /// The sign of the result is the exclusive or of the operands' signs; the magnitude comes
        /// from absolute values.
        const XORSIGN_ABS = 1 << 5;
        /// Shift amounts beyond the width clamp to it instead of wrapping around.
        const CLAMP = 1 << 6;
        /// All threads of the block are known to arrive together.
        const ALIGNED = 1 << 7;
        /// The memory does not change while the kernel runs; PTX's `.nc`.
        const INVARIANT = 1 << 8;
        /// All threads of a warp execute it together.
        const UNIFORM = 1 << 9;
        /// May be contracted with another operation (LLVM's flag on this instruction).
        const CONTRACT = 1 << 10;
        /// LLVM keeps the threads together for this call.
        const CONVERGENT = 1 << 11;
    }
}

/// All modifiers of an instruction. Modifiers that the operation does not have are not given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(C)]
pub struct Modifiers {
    /// Flags.
    pub flags: ModifierFlags,
    /// Rounding.
    pub rounding: Rounding,
    /// Comparison.
    pub comparison: Comparison,
    /// Address space.
    pub space: AddressSpace,
    /// Memory ordering.
    pub ordering: Ordering,
    /// Scope of the ordering.
    pub scope: Scope,
    /// Member of a family.
    pub variant: Variant,
}

const _: () = assert!(size_of::<Modifiers>() == 8);

impl Modifiers {
    /// Returns the kinds and names of the given modifiers, in the order of the text form.
    pub fn given(self) -> impl Iterator<Item = (ModifierKinds, &'static str)> {
        let Self {
            flags,
            rounding,
            comparison,
            space,
            ordering,
            scope,
            variant,
        } = self;
        let single = [
            (ModifierKinds::VARIANT, variant.name()),
            (ModifierKinds::COMPARISON, comparison.name()),
            (ModifierKinds::ROUNDING, rounding.name()),
            (ModifierKinds::ORDERING, ordering.name()),
            (ModifierKinds::ORDERING, scope.name()),
            (ModifierKinds::SPACE, space.name()),
        ];
        let flags = ModifierFlags::NAMES
            .iter()
            .filter(move |(flag, _)| flags.contains(*flag))
            .map(|&(_, name)| (ModifierKinds::FLAGS, name));
        // A modifier that is not given has no name.
        single
            .into_iter()
            .filter(|(_, name)| !name.is_empty())
            .chain(flags)
    }
}

impl ModifierFlags {
    /// The name of each flag in text form.
    pub const NAMES: &[(Self, &str)] = &[
        (Self::FTZ, "ftz"),
        (Self::SAT, "sat"),
        (Self::RELU, "relu"),
        (Self::SATFINITE, "satfinite"),
        (Self::NAN, "NaN"),
        (Self::XORSIGN_ABS, "xorsign.abs"),
        (Self::CLAMP, "clamp"),
        (Self::ALIGNED, "aligned"),
        (Self::INVARIANT, "nc"),
        (Self::UNIFORM, "uniform"),
        (Self::CONTRACT, "contract"),
        (Self::CONVERGENT, "convergent"),
    ];
}

impl Comparison {
    /// Returns the comparison that holds exactly where this one does not.
    #[must_use]
    pub const fn inverse(self, is_float: bool) -> Self {
        match (self, is_float) {
            (Self::None, _) => Self::None,
            (Self::Eq, false) => Self::Ne,
            (Self::Ne, false) => Self::Eq,
            (Self::Lt, false) => Self::Ge,
            (Self::Le, false) => Self::Gt,
            (Self::Gt, false) => Self::Le,
            (Self::Ge, false) => Self::Lt,
            (Self::Eq, true) => Self::Neu,
            (Self::Ne, true) => Self::Equ,
            (Self::Lt, true) => Self::Geu,
            (Self::Le, true) => Self::Gtu,
            (Self::Gt, true) => Self::Leu,
            (Self::Ge, true) => Self::Ltu,
            (Self::Equ, _) => Self::Ne,
            (Self::Neu, _) => Self::Eq,
            (Self::Ltu, _) => Self::Ge,
            (Self::Leu, _) => Self::Gt,
            (Self::Gtu, _) => Self::Le,
            (Self::Geu, _) => Self::Lt,
            (Self::Num, _) => Self::Nan,
            (Self::Nan, _) => Self::Num,
        }
    }

    /// Returns the comparison for exchanged operands.
    #[must_use]
    pub const fn swapped(self) -> Self {
        match self {
            Self::Lt => Self::Gt,
            Self::Le => Self::Ge,
            Self::Gt => Self::Lt,
            Self::Ge => Self::Le,
            Self::Ltu => Self::Gtu,
            Self::Leu => Self::Geu,
            Self::Gtu => Self::Ltu,
            Self::Geu => Self::Leu,
            same @ (Self::None | Self::Eq | Self::Ne | Self::Equ | Self::Neu | Self::Num | Self::Nan) => same,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn inverses_and_swaps_undo_themselves() {
        for &comparison in Comparison::ALL {
            assert_eq!(comparison.swapped().swapped(), comparison);
            assert_eq!(comparison.inverse(true).inverse(true), comparison);
        }
        for &comparison in &Comparison::ALL[..6] {
            assert_eq!(comparison.inverse(false).inverse(false), comparison);
        }
    }

    #[test]
    fn every_flag_has_one_name() {
        let named = ModifierFlags::NAMES
            .iter()
            .fold(ModifierFlags::empty(), |all, &(flag, _)| {
                assert!(!all.intersects(flag), "{flag:?} has two names");
                all | flag
            });
        assert_eq!(named, ModifierFlags::all());
    }
}
