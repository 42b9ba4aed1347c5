//! Wrong edits: deliberate errors that a faulty phase might make.

use super::{edits, effect_edits};
use oriel_ori::{Function, Instruction};
use std::fmt::{self, Display, Formatter};

/// Declares the kinds of wrong edits: name in output and options, and implementation.
macro_rules! edit_kinds {
    ($( $(#[doc = $doc:literal])* $variant:ident $name:literal $apply:path; )*) => {
        /// A kind of wrong edit. Each changes one instruction so that the function stays well
        /// formed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum EditKind {
            $( $(#[doc = $doc])* $variant, )*
        }

        impl EditKind {
            /// Every kind.
            pub const ALL: &[Self] = &[$( Self::$variant, )*];

            /// Returns the name in options and output.
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$variant => $name, )*
                }
            }

            /// Returns a description.
            pub const fn description(self) -> &'static str {
                match self {
                    $( Self::$variant => concat!($($doc,)*).trim_ascii_start(), )*
                }
            }

            /// Edits an instruction if possible. Returns whether it was done.
            fn apply(self, function: &mut Function, instruction: Instruction) -> bool {
                match self {
                    $( Self::$variant => $apply(function, instruction), )*
                }
            }
        }
    };
}

edit_kinds! {
    /// The first two operands of an operation that is not commutative change places.
    SwapOperands "swap-operands" edits::swap_operands;
    /// A store goes.
    DropStore "drop-store" edits::drop_store;
    /// A comparison asks the opposite.
    InvertComparison "invert-comparison" edits::invert_comparison;
    /// A comparison that holds for equal operands does not, or the other way round.
    MoveBoundary "move-boundary" edits::move_boundary;
    /// A conditional branch goes where the predicate does not hold.
    InvertBranch "invert-branch" edits::invert_branch;
    /// An integer constant is one too large.
    OffByOne "off-by-one" edits::off_by_one;
    /// A conversion or load of a narrow integer extends with the wrong sign.
    WrongSign "wrong-sign" edits::wrong_sign;
    /// A conversion extends too few bits.
    WrongWidth "wrong-width" edits::wrong_width;
    /// A load takes the value of an earlier one from the same address, with a write between them.
    MergeLoads "merge-loads" edits::merge_loads;
    /// A load moves up across a store or atomic operation.
    LoadAboveStore "load-above-store" edits::load_above_store;
    /// An instruction whose result is used goes.
    RemoveLive "remove-live" edits::remove_live;
    /// An access to memory moves across a barrier.
    CrossBarrier "cross-barrier" edits::cross_barrier;
    /// A barrier goes.
    DropBarrier "drop-barrier" edits::drop_barrier;
    /// A PHI has the values of two predecessors in each other's place.
    WrongPhi "wrong-phi" edits::wrong_phi;
    /// A copy moves up across an instruction that uses or defines what it defines, or defines what
    /// it copies.
    ReorderCopy "reorder-copy" edits::reorder_copy;
    /// A negation, complement or absolute value goes.
    DropNegation "drop-negation" edits::drop_negation;
    /// A rounding mode is another.
    WrongRounding "wrong-rounding" edits::wrong_rounding;
    /// An access is one element further.
    WrongOffset "wrong-offset" edits::wrong_offset;
    /// An access goes to another address space.
    WrongSpace "wrong-space" edits::wrong_space;
    /// A loop's counter takes steps of twice the size.
    SkipIteration "skip-iteration" edits::skip_iteration;
    /// An atomic operation happens twice.
    RepeatAtomic "repeat-atomic" edits::repeat_atomic;
    /// A fused multiplication and addition loses the addend.
    DropAddend "drop-addend" edits::drop_addend;
    /// An effect moves up across another one: assembly, an opaque instruction, a fence or an atomic
    /// operation.
    SwapEffects "swap-effects" effect_edits::swap_effects;
    /// A load moves up across assembly or an opaque instruction with effects.
    LoadAboveEffect "load-above-effect" effect_edits::load_above_effect;
    /// A load takes the value of an earlier one from the same address, with an effect between them.
    MergeAcrossEffect "merge-across-effect" effect_edits::merge_across_effect;
    /// A store moves down across assembly or an opaque instruction with effects.
    StoreBelowEffect "store-below-effect" effect_edits::store_below_effect;
    /// Assembly or an opaque instruction with effects goes.
    DropEffect "drop-effect" effect_edits::drop_effect;
    /// A result that assembly writes early shares the register of an input; in the late form only.
    ViolateEarlyClobber "early-clobber" effect_edits::violate_early_clobber;
    /// Two inputs of assembly change places.
    WrongAssemblyOperand "assembly-operand" effect_edits::wrong_assembly_operand;
    /// A predicate that an instruction reads has the opposite sense.
    WrongPredicateSense "predicate-sense" effect_edits::wrong_predicate_sense;
    /// The two ways of a conditional branch change places.
    SwapSuccessors "swap-successors" effect_edits::swap_successors;
    /// A branch goes to another block.
    WrongTarget "wrong-target" effect_edits::wrong_target;
    /// A floating-point constant, or one that is stored, is another.
    WrongConstant "wrong-constant" effect_edits::wrong_constant;
    /// A fence, an atomic operation or a volatile access orders less, or for fewer threads.
    WeakenOrdering "weaken-ordering" effect_edits::weaken_ordering;
}

impl EditKind {
    /// Returns the kind with a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|kind| kind.name() == name)
    }
}

/// A wrong edit of one instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The kind of edit.
    pub kind: EditKind,
    /// The function.
    pub function: String,
    /// The instruction.
    pub instruction: Instruction,
}

impl Edit {
    /// Makes the edit, if this is the function and the instruction is still suitable. Returns
    /// whether it was made.
    pub fn apply(&self, function: &mut Function) -> bool {
        function.info.name == self.function
            && function.block_of(self.instruction).is_some()
            && self.kind.apply(function, self.instruction)
    }
}

impl Display for Edit {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "{} at {} of {}",
            self.kind.name(),
            self.instruction,
            self.function
        )
    }
}
