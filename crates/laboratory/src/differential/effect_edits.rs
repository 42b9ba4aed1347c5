//! Wrong edits of effects, inline assembly and control flow.

use super::edits::{before, depends, move_above, replace_by_copy, type_of};
use oriel_engine::snapshot::abi::{OpcodeFlags, Stage};
use oriel_ori::{
    AddressSpace, AssemblyGroupKind, Constant, Function, Instruction, InstructionBuilder, Operand,
    OperandKind, Operation, OperationFlags, Ordering, Position, Scope,
};

/// True for inline assembly, or an opaque opcode, with effects besides its results.
fn is_opaque_effect(function: &Function, instruction: Instruction) -> bool {
    let effects = OperationFlags::SIDE_EFFECTS | OperationFlags::WRITES;
    let emits_nothing = OpcodeFlags::POSITION | OpcodeFlags::META;
    let operation = function.operation(instruction);
    let opcode = function.machine_opcode(instruction);
    matches!(operation, Operation::InlineAsm | Operation::Opaque)
        && function.effects(instruction).intersects(effects)
        && (operation == Operation::InlineAsm
            || opcode.is_none_or(|opcode| !opcode.flags.intersects(emits_nothing)))
}

/// True for an instruction that keeps its order among others of its kind.
fn is_ordered(function: &Function, instruction: Instruction) -> bool {
    is_opaque_effect(function, instruction)
        || matches!(
            function.operation(instruction),
            Operation::Atom | Operation::Membar
        )
}

/// True if two instructions do the same with the same operands.
fn are_alike(function: &Function, first: Instruction, second: Instruction) -> bool {
    let opcode = |it| function.machine_opcode(it).map(|opcode| opcode.name.clone());
    function.operation(first) == function.operation(second)
        && function.modifiers(first) == function.modifiers(second)
        && opcode(first) == opcode(second)
        && function.sources(first).iter().eq(function.sources(second).iter())
}

pub(super) fn swap_effects(function: &mut Function, instruction: Instruction) -> bool {
    if !is_ordered(function, instruction) {
        return false;
    }
    let other = before(function, instruction).find(|&other| is_ordered(function, other));
    // Replacing an instruction by an equal one changes nothing.
    if other.is_none_or(|other| are_alike(function, other, instruction)) {
        return false;
    }
    move_above(function, instruction, is_ordered)
}

/// True for a load that sees the writes of other threads and of effects.
fn is_changing_load(function: &Function, instruction: Instruction) -> bool {
    let space = function.modifiers(instruction).space;
    function.operation(instruction) == Operation::Ld
        && matches!(
            space,
            AddressSpace::Global | AddressSpace::Shared | AddressSpace::Generic
        )
}

pub(super) fn load_above_effect(function: &mut Function, instruction: Instruction) -> bool {
    is_changing_load(function, instruction) && move_above(function, instruction, is_opaque_effect)
}

pub(super) fn merge_across_effect(function: &mut Function, instruction: Instruction) -> bool {
    if !is_changing_load(function, instruction) || function.results(instruction).len() != 1 {
        return false;
    }
    let is_same = |&other: &Instruction| {
        are_alike(function, other, instruction)
            && function.data_type(other) == function.data_type(instruction)
            && function.source_type(other) == function.source_type(instruction)
    };
    let Some(earlier) = before(function, instruction).find(is_same) else {
        return false;
    };
    let between = before(function, instruction).take_while(|&other| other != earlier);
    if !between.into_iter().any(|other| is_opaque_effect(function, other)) {
        return false;
    }
    replace_by_copy(function, instruction, function.result(earlier, 0))
}

pub(super) fn drop_effect(function: &mut Function, instruction: Instruction) -> bool {
    if !is_opaque_effect(function, instruction) {
        return false;
    }
    let results: Vec<Operand> = function.results(instruction).iter().collect();
    for result in results {
        let Some(data_type) = result.as_register().and_then(|it| type_of(function, it)) else {
            return false;
        };
        let undefined = InstructionBuilder::new(Operation::ImplicitDef, data_type).result(result);
        function.insert(Position::Before(instruction), undefined);
    }
    function.remove(instruction);
    true
}

/// Returns the register sources of inline assembly that it does not share with results.
fn inputs(function: &Function, instruction: Instruction) -> Vec<usize> {
    let groups = function.assembly_groups(instruction).unwrap_or_default();
    let plain = groups
        .into_iter()
        .filter(|it| it.kind == AssemblyGroupKind::Read && it.tied.is_empty());
    let numbers = plain.flat_map(|it| it.operands);
    let is_register = |&number: &usize| function.source(instruction, number).as_register().is_some();
    numbers.filter(is_register).collect()
}

pub(super) fn violate_early_clobber(function: &mut Function, instruction: Instruction) -> bool {
    if function.info.stage != Stage::Late {
        return false;
    }
    let groups = function.assembly_groups(instruction).unwrap_or_default();
    let early = groups
        .into_iter()
        .filter(|it| it.kind == AssemblyGroupKind::WrittenEarly)
        .flat_map(|it| it.operands);
    for number in early.collect::<Vec<_>>() {
        let result = function.result(instruction, number);
        let Some(register) = result.as_register() else {
            continue;
        };
        let fits = |&source: &usize| {
            let input = function.source(instruction, source).as_register();
            input.is_some_and(|input| {
                let bits = |it| function.register(it).bits;
                let mut results = function.results(instruction).iter();
                bits(input) == bits(register) && results.all(|it| it.as_register() != Some(input))
            })
        };
        let Some(source) = inputs(function, instruction).into_iter().find(fits) else {
            continue;
        };
        let Some(data_type) = type_of(function, register) else {
            continue;
        };
        let shared = function.source(instruction, source);
        let copy = InstructionBuilder::new(Operation::Copy, data_type)
            .result(result)
            .source(shared);
        function.insert(Position::After(instruction), copy);
        function.set_result(instruction, number, shared);
        return true;
    }
    false
}

pub(super) fn wrong_assembly_operand(function: &mut Function, instruction: Instruction) -> bool {
    let inputs = inputs(function, instruction);
    let bits = |number: usize| {
        let register = function.source(instruction, number).as_register();
        register.map(|register| function.register(register).bits)
    };
    for (position, &first) in inputs.iter().enumerate() {
        let differs = |&&second: &&usize| {
            bits(first) == bits(second)
                && function.source(instruction, first) != function.source(instruction, second)
        };
        if let Some(&second) = inputs[position + 1..].iter().find(differs) {
            let (one, other) = (
                function.source(instruction, first),
                function.source(instruction, second),
            );
            function.set_source(instruction, first, other);
            function.set_source(instruction, second, one);
            return true;
        }
    }
    false
}

pub(super) fn wrong_predicate_sense(function: &mut Function, instruction: Instruction) -> bool {
    // Branches have an edit of their own, and a PHI takes predicates unmodified.
    let is_plain = matches!(
        function.operation(instruction),
        Operation::Bra | Operation::Phi | Operation::InlineAsm | Operation::Opaque
    );
    if is_plain {
        return false;
    }
    for number in 0..function.sources(instruction).len() {
        let source = function.source(instruction, number);
        if let OperandKind::Predicate(_) = source.kind() {
            let turned = source.complemented(!source.is_complemented());
            function.set_source(instruction, number, turned);
            return true;
        }
    }
    false
}

fn is_conditional_branch(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Bra && function.sources(instruction).len() == 3
}

pub(super) fn swap_successors(function: &mut Function, instruction: Instruction) -> bool {
    if !is_conditional_branch(function, instruction) {
        return false;
    }
    let blocks = [1, 2].map(|number| function.source(instruction, number).as_block());
    let [Some(first), Some(second)] = blocks else {
        return false;
    };
    if first == second {
        return false;
    }
    function.set_source(instruction, 1, Operand::target(second));
    function.set_source(instruction, 2, Operand::target(first));
    true
}

pub(super) fn wrong_target(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Bra {
        return false;
    }
    let last = function.sources(instruction).len() - 1;
    let (Some(from), Some(old)) = (
        function.block_of(instruction),
        function.source(instruction, last).as_block(),
    ) else {
        return false;
    };
    let is_plain = |block| function.phis(block).next().is_none();
    if !is_plain(old) {
        return false;
    }
    let named: Vec<_> = function.successors(from).collect();
    // A later block, so that most wrong paths terminate.
    let mut later = function
        .blocks()
        .iter()
        .copied()
        .skip_while(|&block| block != old);
    let new = later.find(|&block| !named.contains(&block) && block != from && is_plain(block));
    let Some(new) = new else {
        return false;
    };
    function.redirect_edge(from, old, new).is_ok()
}

pub(super) fn wrong_constant(function: &mut Function, instruction: Instruction) -> bool {
    use Operation as O;
    let is_candidate = matches!(
        function.operation(instruction),
        O::Fadd
            | O::Fsub
            | O::Fmul
            | O::Ffma
            | O::Fdiv
            | O::Fmin
            | O::Fmax
            | O::Fsetp
            | O::Mov
            | O::Sel
            | O::St
    );
    if !is_candidate {
        return false;
    }
    // The stored values come before the address.
    let sources = match function.operation(instruction) {
        O::St => function.sources(instruction).len().saturating_sub(2),
        _ => function.sources(instruction).len(),
    };
    for number in 0..sources {
        let source = function.source(instruction, number);
        let OperandKind::Constant(constant) = source.kind() else {
            if function.operation(instruction) == O::St
                && let Some(value) = function.integer(source)
            {
                let next = function.integer_operand(value ^ 1);
                function.set_source(instruction, number, next);
                return true;
            }
            continue;
        };
        if let Constant::Bits {
            kind,
            bits,
            low,
            high,
        } = function.constant_data(constant)
        {
            let turned = function.constant_operand(Constant::Bits {
                kind,
                bits,
                low: low ^ 1 << (bits.min(64) - 4),
                high,
            });
            function.set_source(instruction, number, turned);
            return true;
        }
    }
    false
}

pub(super) fn weaken_ordering(function: &mut Function, instruction: Instruction) -> bool {
    let mut modifiers = function.modifiers(instruction);
    let narrower = match modifiers.scope {
        Scope::System => Some(Scope::Device),
        Scope::Device | Scope::DefaultDevice | Scope::Cluster => Some(Scope::Block),
        _ => None,
    };
    match (function.operation(instruction), modifiers.ordering) {
        (Operation::Atom | Operation::Membar | Operation::Ld | Operation::St, ordering) => match ordering {
            Ordering::SequentiallyConsistent => modifiers.ordering = Ordering::AcquireRelease,
            Ordering::AcquireRelease | Ordering::Acquire | Ordering::Release
                if function.operation(instruction) != Operation::Membar =>
            {
                modifiers.ordering = Ordering::Relaxed;
            }
            Ordering::Volatile | Ordering::RelaxedMmio => modifiers.ordering = Ordering::Weak,
            Ordering::Relaxed | Ordering::Acquire | Ordering::Release | Ordering::AcquireRelease => {
                match narrower {
                    Some(scope) => modifiers.scope = scope,
                    None => return false,
                }
            }
            _ => return false,
        },
        _ => return false,
    }
    function.set_modifiers(instruction, modifiers);
    true
}

/// Moves a store below the effect after it.
pub(super) fn store_below_effect(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::St
        || function.modifiers(instruction).space == AddressSpace::DeviceParam
    {
        return false;
    }
    let mut at = function.next(instruction);
    while let Some(other) = at {
        let stops = depends(function, instruction, other)
            || function.operation(other).is_terminator()
            || matches!(function.operation(other), Operation::St | Operation::Ld);
        if stops {
            return false;
        }
        if is_opaque_effect(function, other) {
            function.move_to(instruction, Position::After(other));
            return true;
        }
        at = function.next(other);
    }
    false
}
