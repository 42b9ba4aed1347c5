//! The operations of Ori, in one table.
//!
//! Every property that phases query is in the table below, so that a new operation cannot be added
//! without stating its memory effects, whether it is convergent, and so on. For
//! [`Operation::Opaque`] and the like the table has the worst case; LLVM's flags of the machine
//! instruction refine it, see [`super::Function::effects`].

use bitflags::bitflags;

bitflags! {
    /// Properties of an operation.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct OperationFlags: u16 {
        /// The first two sources may change places.
        const COMMUTATIVE = 1 << 0;
        /// Chains may be regrouped; for floating point only where the instruction allows it.
        const ASSOCIATIVE = 1 << 1;
        /// May read memory.
        const READS = 1 << 2;
        /// May write memory.
        const WRITES = 1 << 3;
        /// Has effects besides results and memory.
        const SIDE_EFFECTS = 1 << 4;
        /// Depends on which threads execute it together: never duplicated, merged or moved across
        /// control flow.
        const CONVERGENT = 1 << 5;
        /// Ends a block.
        const TERMINATOR = 1 << 6;
        /// Belongs to a call sequence, which stays complete and in order.
        const CALL_SEQUENCE = 1 << 7;
        /// Known from LLVM's flags only.
        const OPAQUE = 1 << 8;
        /// Describes variables for a debugger and emits nothing.
        const DEBUG = 1 << 9;
        /// Copies its source to its result, bit for bit.
        const COPY = 1 << 10;
        /// Cheap enough to recompute instead of keeping its result.
        const REMATERIALIZABLE = 1 << 11;
    }

    /// Kinds of modifiers that an operation may have.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct ModifierKinds: u8 {
        /// Rounding.
        const ROUNDING = 1 << 0;
        /// Comparison.
        const COMPARISON = 1 << 1;
        /// Address space.
        const SPACE = 1 << 2;
        /// Ordering and its scope.
        const ORDERING = 1 << 3;
        /// Member of a family.
        const VARIANT = 1 << 4;
        /// Flags such as ftz and sat.
        const FLAGS = 1 << 5;
    }
}

/// Declares the operations: name in text form, the reference's number, numbers of results and of
/// sources, kinds of modifiers, properties.
macro_rules! operations {
    ($( $(#[$doc:meta])* $variant:ident $name:literal $number:expr, $results:expr, $sources:expr,
        [$($modifier:ident)*] [$($flag:ident)*]; )*) => {
        /// The operation of an instruction.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        #[repr(u16)]
        pub enum Operation {
            $( $(#[$doc])* $variant, )*
        }

        impl Operation {
            /// Every operation, in order.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// Returns the operation's row of the table.
            pub const fn properties(self) -> &'static OperationProperties {
                match self {
                    $( Self::$variant => &const {
                        OperationProperties {
                            name: $name,
                            reference_number: $number,
                            results: $results,
                            sources: $sources,
                            modifiers: ModifierKinds::empty()$( .union(ModifierKinds::$modifier) )*,
                            flags: OperationFlags::empty()$( .union(OperationFlags::$flag) )*,
                        }
                    }, )*
                }
            }
        }
    };
}

/// A row of the table of operations.
#[derive(Clone, Copy, Debug)]
pub struct OperationProperties {
    /// Name in text form.
    pub name: &'static str,
    /// The reference's number, where it gives one; shown in dumps.
    pub reference_number: Option<u16>,
    /// Minimum and maximum number of results.
    pub results: (u16, u16),
    /// Minimum and maximum number of sources.
    pub sources: (u16, u16),
    /// Kinds of modifiers that it may have.
    pub modifiers: ModifierKinds,
    /// Properties of the operation.
    pub flags: OperationFlags,
}

/// No limit.
const MANY: u16 = u16::MAX;

operations! {
    // Integer arithmetic. Types are bits where the sign makes no difference.
    /// `a + b`.
    Iadd "IADD" None, (1, 1), (2, 2), [FLAGS] [COMMUTATIVE ASSOCIATIVE REMATERIALIZABLE];
    /// `a - b`.
    Isub "ISUB" None, (1, 1), (2, 2), [FLAGS] [REMATERIALIZABLE];
    /// Low half of `a * b`.
    Imul "IMUL" None, (1, 1), (2, 2), [] [COMMUTATIVE ASSOCIATIVE];
    /// High half of `a * b`.
    ImulHi "IMUL.HI" None, (1, 1), (2, 2), [] [COMMUTATIVE];
    /// `a * b` in twice the width of the sources.
    ImulWide "IMUL.WIDE" None, (1, 1), (2, 2), [] [COMMUTATIVE];
    /// `a * b` of the low 24 bits.
    Imul24 "IMUL24" None, (1, 1), (2, 2), [] [COMMUTATIVE];
    /// Low half of `a * b + c`.
    Imad "IMAD" Some(1), (1, 1), (3, 3), [] [COMMUTATIVE];
    /// `a * b + c` in twice the width of `a` and `b`.
    ImadWide "IMAD.WIDE" Some(2), (1, 1), (3, 3), [] [COMMUTATIVE];
    /// `|a - b| + c`.
    Isad "ISAD" None, (1, 1), (3, 3), [] [COMMUTATIVE];
    /// `a / b`, toward zero.
    Idiv "IDIV" None, (1, 1), (2, 2), [] [];
    /// Remainder of `a / b`, with the sign of `a`.
    Irem "IREM" None, (1, 1), (2, 2), [] [];
    /// The minimum.
    Imin "IMIN" None, (1, 1), (2, 2), [FLAGS] [COMMUTATIVE ASSOCIATIVE];
    /// The maximum.
    Imax "IMAX" None, (1, 1), (2, 2), [FLAGS] [COMMUTATIVE ASSOCIATIVE];
    /// `|a|`.
    Iabs "IABS" None, (1, 1), (1, 1), [] [];
    /// `-a`.
    Ineg "INEG" None, (1, 1), (1, 1), [] [REMATERIALIZABLE];
    /// `a + b`, and the carry is kept for the next.
    IaddCarryOut "IADD.CC" None, (1, 1), (2, 2), [] [COMMUTATIVE SIDE_EFFECTS];
    /// `a + b + carry`, and the carry is kept for the next.
    IaddCarry "IADD.X" None, (1, 1), (2, 2), [] [COMMUTATIVE SIDE_EFFECTS];
    /// `a - b`, and the borrow is kept for the next.
    IsubCarryOut "ISUB.CC" None, (1, 1), (2, 2), [] [SIDE_EFFECTS];
    /// `a - b - borrow`, and the borrow is kept for the next.
    IsubCarry "ISUB.X" None, (1, 1), (2, 2), [] [SIDE_EFFECTS];
    /// Sum of two products of 16 and 8 bits, and `c`.
    Dp2a "DP2A" None, (1, 1), (3, 3), [VARIANT] [];
    /// Sum of four products of 8 bits, and `c`.
    Dp4a "DP4A" None, (1, 1), (3, 3), [] [];

    // Bit operations.
    /// Conjunction.
    And "AND" None, (1, 1), (2, 2), [] [COMMUTATIVE ASSOCIATIVE REMATERIALIZABLE];
    /// Disjunction.
    Or "OR" None, (1, 1), (2, 2), [] [COMMUTATIVE ASSOCIATIVE REMATERIALIZABLE];
    /// Exclusive disjunction.
    Xor "XOR" None, (1, 1), (2, 2), [] [COMMUTATIVE ASSOCIATIVE REMATERIALIZABLE];
    /// Complement.
    Not "NOT" None, (1, 1), (1, 1), [] [REMATERIALIZABLE];
    /// Left shift; amounts of the width and above give zero.
    Shl "SHL" None, (1, 1), (2, 2), [] [REMATERIALIZABLE];
    /// Right shift, arithmetic for signed types; amounts above the width count as the width.
    Shr "SHR" None, (1, 1), (2, 2), [] [REMATERIALIZABLE];
    /// 32 bits out of 64, given as low and high half.
    Shf "SHF" None, (1, 1), (3, 3), [VARIANT FLAGS] [];
    /// Bit field at `b`, `c` bits long.
    Bfe "BFE" None, (1, 1), (3, 3), [] [];
    /// `b` with `a` as the bit field at `c`, `d` bits long.
    Bfi "BFI" None, (1, 1), (4, 4), [] [];
    /// Position of the leading bit that differs from the sign.
    Bfind "BFIND" None, (1, 1), (1, 1), [VARIANT] [];
    /// A mask of `b` bits from `a` on.
    Bmsk "BMSK" None, (1, 1), (2, 2), [FLAGS] [];
    /// The low `b` bits of `a`, extended.
    Szext "SZEXT" None, (1, 1), (2, 2), [FLAGS] [];
    /// Bits in reverse.
    Brev "BREV" None, (1, 1), (1, 1), [] [];
    /// Leading zeros.
    Clz "CLZ" None, (1, 1), (1, 1), [] [];
    /// Number of ones.
    Popc "POPC" None, (1, 1), (1, 1), [] [];
    /// Four bytes out of `a` and `b` by the selectors in `c`.
    Prmt "PRMT" None, (1, 1), (3, 3), [VARIANT] [];
    /// Position of the `c`-th one bit of `a` from position `b`.
    Fns "FNS" None, (1, 1), (3, 3), [] [];

    // Floating point.
    /// `a + b`.
    Fadd "FADD" None, (1, 1), (2, 2), [ROUNDING FLAGS] [COMMUTATIVE ASSOCIATIVE];
    /// `a - b`.
    Fsub "FSUB" None, (1, 1), (2, 2), [ROUNDING FLAGS] [];
    /// `a * b`.
    Fmul "FMUL" None, (1, 1), (2, 2), [ROUNDING FLAGS] [COMMUTATIVE ASSOCIATIVE];
    /// `a * b + c`, rounded once.
    Ffma "FFMA" None, (1, 1), (3, 3), [ROUNDING FLAGS] [COMMUTATIVE];
    /// `a / b`.
    Fdiv "FDIV" None, (1, 1), (2, 2), [ROUNDING VARIANT FLAGS] [];
    /// `1 / a`.
    Frcp "FRCP" None, (1, 1), (1, 1), [ROUNDING VARIANT FLAGS] [];
    /// Square root.
    Fsqrt "FSQRT" None, (1, 1), (1, 1), [ROUNDING VARIANT FLAGS] [];
    /// `1 / sqrt(a)`, approximately.
    Frsqrt "FRSQRT" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// Sine, approximately.
    Fsin "FSIN" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// Cosine, approximately.
    Fcos "FCOS" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// Logarithm to base two, approximately.
    Flg2 "FLG2" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// Power of two, approximately.
    Fex2 "FEX2" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// Hyperbolic tangent, approximately.
    Ftanh "FTANH" Some(119), (1, 1), (1, 1), [FLAGS] [];
    /// The minimum of two or three.
    Fmin "FMIN" None, (1, 1), (2, 3), [FLAGS] [COMMUTATIVE];
    /// The maximum of two or three.
    Fmax "FMAX" None, (1, 1), (2, 3), [FLAGS] [COMMUTATIVE];
    /// `-a`.
    Fneg "FNEG" None, (1, 1), (1, 1), [FLAGS] [REMATERIALIZABLE];
    /// `|a|`.
    Fabs "FABS" None, (1, 1), (1, 1), [FLAGS] [REMATERIALIZABLE];
    /// The value of `b` with the sign of `a`.
    Fcopysign "FCOPYSIGN" None, (1, 1), (2, 2), [] [];
    /// True if `a` is infinite.
    Ftestinf "FTESTINF" None, (1, 1), (1, 1), [] [];

    // Comparisons, selection, conversion.
    /// Comparison of integers; the source type gives the signedness.
    Isetp "ISETP" Some(18), (1, 1), (2, 2), [COMPARISON] [];
    /// Comparison of floats; two results for two lanes.
    Fsetp "FSETP" Some(18), (1, 2), (2, 2), [COMPARISON FLAGS] [];
    /// `a` if the predicate `c` holds, else `b`.
    Sel "SEL" Some(124), (1, 1), (3, 3), [] [];
    /// From the source type to the data type; two sources give two lanes.
    Cvt "CVT" None, (1, 1), (1, 3), [ROUNDING FLAGS] [];
    /// Between generic addresses and those of a space.
    Cvta "CVTA" None, (1, 1), (1, 1), [SPACE VARIANT] [REMATERIALIZABLE];

    /// True if a generic address lies in a space.
    Isspacep "ISSPACEP" None, (1, 1), (1, 1), [SPACE] [];

    // Moves.
    /// The value of a constant, a register or a symbol's address.
    Mov "MOV" Some(19), (1, 1), (1, 1), [] [COPY REMATERIALIZABLE];
    /// The value of another register; LLVM's COPY.
    Copy "COPY" Some(269), (1, 1), (1, 1), [] [COPY];
    /// The value for the edge by which control arrived: value, block, value, block ...
    Phi "PHI" Some(167), (1, 1), (0, MANY), [] [];
    /// A register with a value that does not matter.
    ImplicitDef "UNDEF" None, (1, 1), (0, 0), [] [REMATERIALIZABLE];
    /// The value of a special register.
    S2r "S2R" None, (1, 1), (1, 1), [] [REMATERIALIZABLE];
    /// Address of a stack object or symbol, and an offset.
    Lea "LEA" None, (1, 1), (2, 2), [] [REMATERIALIZABLE];
    /// Address of the thread's stack frame.
    FrameAddress "FRAMEADDR" None, (1, 1), (1, 1), [] [REMATERIALIZABLE];
    /// Several registers side by side in a wider one, least significant first.
    Pack "PACK" None, (1, 1), (2, 4), [] [];
    /// The parts of a wide register, least significant first.
    Unpack "UNPACK" None, (2, 4), (1, 1), [] [];
    /// One half of a register.
    Extract "EXTRACT" None, (1, 1), (1, 1), [VARIANT] [];

    // Memory. Sources of accesses end with base and offset.
    /// Load of one to eight values from base and offset.
    Ld "LD" None, (1, 8), (2, 3), [SPACE ORDERING FLAGS] [READS];
    /// Store of one to eight values to base and offset.
    St "ST" Some(97), (0, 0), (3, 10), [SPACE ORDERING] [WRITES];
    /// Base, offset, one operand or two: an atomic read-modify-write.
    Atom "ATOM" Some(211), (1, 1), (3, 4), [SPACE ORDERING VARIANT] [READS WRITES];
    /// Earlier memory accesses are visible before later ones.
    Membar "MEMBAR" None, (0, 0), (0, 0), [ORDERING] [READS WRITES SIDE_EFFECTS];

    // Operations between threads.
    /// Barrier of the block: number and thread count.
    Bar "BAR" Some(145), (0, 0), (1, 2), [VARIANT FLAGS] [READS WRITES SIDE_EFFECTS CONVERGENT];
    /// Barrier of the block that combines a predicate of all threads.
    BarRed "BAR.RED" Some(145), (1, 1), (2, 3), [VARIANT FLAGS] [READS WRITES SIDE_EFFECTS CONVERGENT];
    /// Barrier of the threads in a mask.
    WarpSync "WARPSYNC" None, (0, 0), (1, 1), [] [READS WRITES SIDE_EFFECTS CONVERGENT];
    /// The value of another lane: value, lane, clamp and segment mask, and the mask of threads if
    /// it synchronises; the second result tells whether the lane was in range.
    Shfl "SHFL" Some(186), (1, 2), (3, 4), [VARIANT] [SIDE_EFFECTS CONVERGENT];
    /// Combines a predicate over the threads in a mask.
    Vote "VOTE" Some(122), (1, 1), (1, 2), [VARIANT] [SIDE_EFFECTS CONVERGENT];
    /// Mask of the threads with the same value; the second result tells whether all have it.
    Match "MATCH" Some(310), (1, 2), (2, 2), [VARIANT] [SIDE_EFFECTS CONVERGENT];
    /// Combines a value over the threads in a mask.
    Redux "REDUX" Some(283), (1, 1), (2, 2), [VARIANT FLAGS] [SIDE_EFFECTS CONVERGENT];
    /// Mask of the threads that execute it together.
    ActiveMask "ACTIVEMASK" None, (1, 1), (0, 0), [] [SIDE_EFFECTS CONVERGENT];

    // Control.
    /// Branches to the only target or, if the predicate holds, to the first of two, otherwise to
    /// the second.
    Bra "BRA" Some(67), (0, 0), (1, 3), [] [TERMINATOR];
    /// Branches to one of the targets, by number.
    Brx "BRX" Some(68), (0, 0), (2, MANY), [] [TERMINATOR];
    /// Returns from the function; in a kernel the thread ends.
    Ret "RET" Some(72), (0, 0), (0, 0), [] [TERMINATOR];
    /// Ends the thread.
    Exit "EXIT" Some(77), (0, 0), (0, 0), [] [TERMINATOR SIDE_EFFECTS];
    /// Control continues with the next block, or never gets here: an end for which LLVM's function
    /// has no instruction.
    End "END" None, (0, 0), (0, 0), [] [TERMINATOR];
    /// Aborts the kernel. LLVM may have instructions after it.
    Trap "TRAP" None, (0, 0), (0, 0), [] [SIDE_EFFECTS];

    // Calls.
    /// Begins the declaration of a call's parameters and results.
    CallStart "CALL.START" None, (0, 0), (2, 2), [] [READS WRITES SIDE_EFFECTS CALL_SEQUENCE];
    /// Declares a parameter or result of a call: name, size in bits; or name, alignment and size in
    /// bytes.
    DeclareParam "DECLARE.PARAM" None, (0, 0), (2, 3), [] [READS WRITES SIDE_EFFECTS CALL_SEQUENCE];
    /// The type of a function that is called by address.
    Prototype "PROTOTYPE" None, (0, 0), (1, 1), [] [SIDE_EFFECTS CALL_SEQUENCE];
    /// The call: function, number of results, number of parameters; for a call by address also the
    /// prototype.
    Call "CALL" Some(71), (0, 0), (3, 4), [FLAGS] [READS WRITES SIDE_EFFECTS CONVERGENT CALL_SEQUENCE];
    /// Ends the scope of a call's parameters and results.
    CallEnd "CALL.END" None, (0, 0), (2, 2), [] [READS WRITES SIDE_EFFECTS CALL_SEQUENCE];

    // The rest.
    /// Does nothing.
    Nop "NOP" Some(52), (0, 0), (0, 0), [] [];
    /// A variable's value for a debugger. Its registers are no uses.
    Debug "DEBUG" None, (0, 0), (0, MANY), [] [DEBUG];
    /// Inline assembly.
    InlineAsm "ASM" None, (0, MANY), (0, MANY), [] [READS WRITES SIDE_EFFECTS CONVERGENT OPAQUE];
    /// A machine instruction unknown to Ori, with the results and sources of the machine
    /// instruction.
    Opaque "OPAQUE" None, (0, MANY), (0, MANY), [] [READS WRITES SIDE_EFFECTS CONVERGENT OPAQUE];
    /// An opaque instruction that ends a block.
    OpaqueTerminator "OPAQUE.END" None, (0, MANY), (0, MANY), [] [READS WRITES SIDE_EFFECTS CONVERGENT OPAQUE TERMINATOR];
}

impl Operation {
    /// Returns the operation's properties.
    #[inline]
    pub const fn flags(self) -> OperationFlags {
        self.properties().flags
    }

    /// Returns the name in text form.
    #[inline]
    pub const fn name(self) -> &'static str {
        self.properties().name
    }

    /// Returns the operation with this name.
    #[inline]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL
            .iter()
            .copied()
            .find(|operation| operation.name() == name)
    }

    /// True if the operation ends a block.
    #[inline]
    pub const fn is_terminator(self) -> bool {
        self.flags().contains(OperationFlags::TERMINATOR)
    }

    /// True if the operation only describes variables.
    #[inline]
    pub const fn is_debug(self) -> bool {
        self.flags().contains(OperationFlags::DEBUG)
    }

    /// True if the operation is known from LLVM's flags only.
    #[inline]
    pub const fn is_opaque(self) -> bool {
        self.flags().contains(OperationFlags::OPAQUE)
    }

    /// True if the first two sources may be exchanged.
    #[inline]
    pub const fn is_commutative(self) -> bool {
        self.flags().contains(OperationFlags::COMMUTATIVE)
    }

    /// True if the operation copies a register or a constant, bit for bit.
    #[inline]
    pub const fn is_copy(self) -> bool {
        self.flags().contains(OperationFlags::COPY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique() {
        for &operation in Operation::ALL {
            assert_eq!(Operation::from_name(operation.name()), Some(operation));
        }
    }

    #[test]
    fn rows_make_sense() {
        for &operation in Operation::ALL {
            let properties = operation.properties();
            assert!(properties.results.0 <= properties.results.1, "{operation:?}");
            assert!(properties.sources.0 <= properties.sources.1, "{operation:?}");
            if operation.is_commutative() {
                assert!(properties.sources.0 >= 2, "{operation:?}");
            }
            let touches = OperationFlags::READS | OperationFlags::WRITES | OperationFlags::SIDE_EFFECTS;
            if properties.flags.contains(OperationFlags::CONVERGENT) {
                assert!(
                    properties.flags.intersects(touches),
                    "{operation:?} can be removed"
                );
            }
            if properties.flags.contains(OperationFlags::REMATERIALIZABLE) {
                assert!(!properties.flags.intersects(touches), "{operation:?}");
            }
        }
    }
}
