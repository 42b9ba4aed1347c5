//! The restrictions from knobs, the pipeline's progress and the kinds of uses.

use crate::PhaseContext;
use crate::knobs::{Budget, Knob};
use crate::progress::PipelineProgress;
use oriel_engine::entity::Register;
use oriel_ori::{AddressSpace, Expected, Function, Instruction, Operation, Role};

/// Why a copy or a use stays.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Refusal {
    /// The use is an address, and addresses are not changed.
    Address,
    /// The use is an operand tied to a result, of inline assembly or an unknown opcode.
    Tied,
    /// The use is an operand of inline assembly that may write the other register before reading
    /// it.
    Early,
    /// The use is an operand of a matrix operation, and the value comes from a constant bank.
    Matrix,
    /// The value comes from a constant bank.
    ConstantBank,
    /// One of the registers has several definitions.
    SeveralDefinitions,
    /// The pressure is too high where the value would stay live.
    Pressure,
    /// The register is mentioned too often to examine its path.
    Mentions,
    /// A budget is exhausted.
    Budget,
}

impl Refusal {
    /// Returns the explanation for remarks.
    pub const fn reason(self) -> &'static str {
        match self {
            Self::Address => {
                "it is part of an address, and CopyPropAddr or the pipeline's progress forbids that"
            }
            Self::Tied => "inline assembly or an unknown opcode may tie it to a result",
            Self::Early => "inline assembly may write the other register before it reads it",
            Self::Matrix => "CopyPropNoMmaCb keeps constant banks out of matrix operations",
            Self::ConstantBank => "it comes from a constant bank, and CopyPropConstantBank is off",
            Self::SeveralDefinitions => {
                "a register has several definitions, and CopyPropUseReachingDefs is off"
            }
            Self::Pressure => "there is no room for the longer live range",
            Self::Mentions => "the register is mentioned too often to tell whether there is room",
            Self::Budget => "the budget is exhausted",
        }
    }
}

/// The settings while the phase runs.
#[derive(Debug)]
pub(super) struct CopySettings {
    /// Units of data registers that the function may have live.
    budget: u32,
    /// The budget of copies to consider.
    pub copies: Budget,
    /// The budget of copies to propagate across blocks.
    pub global: Budget,
    /// True if pressure never prevents propagation across blocks.
    pub forces_global: bool,
    /// True if uses in addresses are replaced.
    addresses: bool,
    /// True if values of constant banks are propagated.
    constant_banks: bool,
    /// True if registers with several definitions take part.
    pub reaching_definitions: bool,
    /// True if reads of special registers are treated as copies of these.
    pub fixed: bool,
    /// True if constants do not become operands.
    pub no_constant_operands: bool,
    /// True if constants are followed through registers with several definitions.
    pub several_constants: bool,
    /// True if values of constant banks do not become operands of matrix operations.
    no_matrix_banks: bool,
    /// True if complements of predicates are followed in late form.
    pub complements: bool,
}

impl CopySettings {
    pub fn new(function: &Function, context: &PhaseContext<'_>) -> Self {
        let knobs = &context.options.knobs;
        let is_late = function.info.stage == oriel_engine::snapshot::abi::Stage::Late;
        Self {
            budget: context.options.register_budget,
            copies: knobs.budget(Knob::CopyPropBudget),
            global: knobs.budget(Knob::CopyPropGlobalBudget),
            forces_global: knobs.is_on(Knob::CopyPropForceGlobal),
            addresses: knobs.is_on(Knob::CopyPropAddr)
                && (!is_late || context.progress() >= PipelineProgress::BACK_COPY_PROPAGATED),
            constant_banks: knobs.is_on(Knob::CopyPropConstantBank),
            reaching_definitions: knobs.is_on(Knob::CopyPropUseReachingDefs),
            fixed: knobs.is_on(Knob::CopyPropPreAllocReg),
            no_constant_operands: knobs.is_on(Knob::CopyPropNoWriteNonRR),
            several_constants: knobs.is_on(Knob::CopyPropNonRegMultiDef),
            no_matrix_banks: knobs.is_on(Knob::CopyPropNoMmaCb),
            complements: knobs.is_on(Knob::LateCopyPropComplPred),
        }
    }

    /// Checks whether `source` may replace uses of another register.
    pub fn check_source(&self, function: &Function, source: Register) -> Result<(), Refusal> {
        let Some(definition) = function.unique_definition(source) else {
            return match self.reaching_definitions {
                true => Ok(()),
                false => Err(Refusal::SeveralDefinitions),
            };
        };
        if !self.constant_banks && is_of_constant_bank(function, definition) {
            return Err(Refusal::ConstantBank);
        }
        Ok(())
    }

    /// Checks whether another value may replace a use. `source` is its register, none for a
    /// constant.
    pub fn check_use(
        &self,
        function: &Function,
        user: Instruction,
        number: usize,
        source: Option<Register>,
    ) -> Result<(), Refusal> {
        let is_address = function.expected(user, Role::Source, number) == Expected::Address;
        if is_address && !self.addresses {
            return Err(Refusal::Address);
        }
        let operand = function.source(user, number).as_register();
        if operand.is_some_and(|register| function.may_write_early(user, register)) {
            return Err(Refusal::Tied);
        }
        if source.is_some_and(|register| function.may_write_early(user, register)) {
            return Err(Refusal::Early);
        }
        if self.no_matrix_banks && is_matrix_operation(function, user) {
            let comes_from_bank = source.is_none_or(|source| {
                let definition = function.unique_definition(source);
                definition.is_some_and(|definition| is_of_constant_bank(function, definition))
            });
            if comes_from_bank {
                return Err(Refusal::Matrix);
            }
        }
        Ok(())
    }

    /// Returns how many units of data registers may be live where a value's range is extended.
    ///
    /// A fifth of the budget is left to ptxas, which needs registers for values of its own. With
    /// the whole budget two kernels of the examples (`register_bounds`) take 78 registers instead
    /// of 76; with this none takes more than before.
    pub fn room(&self) -> u32 {
        self.budget - self.budget / 5
    }

    /// True if operands of addresses may change.
    pub fn changes_addresses(&self) -> bool {
        self.addresses
    }
}

/// True if an instruction reads a constant bank: a kernel's parameter, or constant memory, at a
/// known address.
fn is_of_constant_bank(function: &Function, instruction: Instruction) -> bool {
    let space = function.modifiers(instruction).space;
    function.operation(instruction) == Operation::Ld
        && matches!(space, AddressSpace::Const | AddressSpace::EntryParam)
        && function.source(instruction, 0).as_register().is_none()
}

/// True for an operation of the matrix units, all of which are opaque to Ori.
fn is_matrix_operation(function: &Function, instruction: Instruction) -> bool {
    let name = function.machine_opcode(instruction);
    name.is_some_and(|opcode| {
        let names = [Some(&*opcode.name), opcode.mnemonic.as_deref()];
        let mut names = names.into_iter().flatten();
        names.any(|name| name.to_ascii_lowercase().contains("mma"))
    })
}
