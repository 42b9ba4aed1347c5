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
    /// Swaps the first two operands of an operation that is not commutative.
    SwapOperands "swap-operands" edits::swap_operands;
    /// Removes a store.
    DropStore "drop-store" edits::drop_store;
    /// Inverts a comparison.
    InvertComparison "invert-comparison" edits::invert_comparison;
    /// Makes a strict comparison non-strict, or the reverse.
    MoveBoundary "move-boundary" edits::move_boundary;
    /// Inverts the predicate of a conditional branch.
    InvertBranch "invert-branch" edits::invert_branch;
    /// Adds one to an integer constant.
    OffByOne "off-by-one" edits::off_by_one;
    /// Inverts the signedness of a conversion or load of a narrow integer.
    WrongSign "wrong-sign" edits::wrong_sign;
    /// Makes a conversion extend too few bits.
    WrongWidth "wrong-width" edits::wrong_width;
    /// Replaces a load by an earlier one from the same address, across a write.
    MergeLoads "merge-loads" edits::merge_loads;
    /// Moves a load up across a store or atomic operation.
    LoadAboveStore "load-above-store" edits::load_above_store;
    /// Removes an instruction whose result is used.
    RemoveLive "remove-live" edits::remove_live;
    /// Moves a memory access across a barrier.
    CrossBarrier "cross-barrier" edits::cross_barrier;
    /// Removes a barrier.
    DropBarrier "drop-barrier" edits::drop_barrier;
    /// Swaps the values of two predecessors in a PHI.
    WrongPhi "wrong-phi" edits::wrong_phi;
    /// Moves a copy up across a use or definition of its result or a definition of its source.
    ReorderCopy "reorder-copy" edits::reorder_copy;
    /// Removes a negation, complement or absolute value.
    DropNegation "drop-negation" edits::drop_negation;
    /// Changes a rounding mode.
    WrongRounding "wrong-rounding" edits::wrong_rounding;
    /// Moves an access by one element.
    WrongOffset "wrong-offset" edits::wrong_offset;
    /// Changes the address space of an access.
    WrongSpace "wrong-space" edits::wrong_space;
    /// Doubles the step of a loop's counter.
    SkipIteration "skip-iteration" edits::skip_iteration;
    /// Repeats an atomic operation.
    RepeatAtomic "repeat-atomic" edits::repeat_atomic;
    /// Drops the addend of a fused multiplication and addition.
    DropAddend "drop-addend" edits::drop_addend;
    /// Moves an effect up across another one: assembly, an opaque instruction, a fence or an atomic
    /// operation.
    SwapEffects "swap-effects" effect_edits::swap_effects;
    /// Moves a load up across assembly or an opaque instruction with effects.
    LoadAboveEffect "load-above-effect" effect_edits::load_above_effect;
    /// Replaces a load by an earlier one from the same address, across an effect.
    MergeAcrossEffect "merge-across-effect" effect_edits::merge_across_effect;
    /// Moves a store down across assembly or an opaque instruction with effects.
    StoreBelowEffect "store-below-effect" effect_edits::store_below_effect;
    /// Removes assembly or an opaque instruction with effects.
    DropEffect "drop-effect" effect_edits::drop_effect;
    /// Gives an early-clobber result of assembly an input's register; late form only.
    ViolateEarlyClobber "early-clobber" effect_edits::violate_early_clobber;
    /// Swaps two inputs of assembly.
    WrongAssemblyOperand "assembly-operand" effect_edits::wrong_assembly_operand;
    /// Inverts a predicate that an instruction reads.
    WrongPredicateSense "predicate-sense" effect_edits::wrong_predicate_sense;
    /// Swaps the successors of a conditional branch.
    SwapSuccessors "swap-successors" effect_edits::swap_successors;
    /// Changes the target of a branch.
    WrongTarget "wrong-target" effect_edits::wrong_target;
    /// Changes a floating-point constant, or one that is stored.
    WrongConstant "wrong-constant" effect_edits::wrong_constant;
    /// Weakens the ordering or scope of a fence, atomic operation or volatile access.
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
