//! The implementations of wrong edits. Each function returns whether the edit can be made to the
//! instruction.

use oriel_engine::entity::Register;
use oriel_ori::{
    AddressSpace, Comparison, DataType, Function, Instruction, InstructionBuilder, Operand, Operation,
    OperationFlags, Position, Rounding,
};

pub(super) fn swap_operands(function: &mut Function, instruction: Instruction) -> bool {
    use Operation as O;
    let is_candidate = match function.operation(instruction) {
        O::Isub | O::Fsub | O::Idiv | O::Irem | O::Fdiv | O::Shl | O::Shr | O::Sel | O::Fcopysign => true,
        O::Isetp | O::Fsetp => {
            let comparison = function.modifiers(instruction).comparison;
            comparison != comparison.swapped()
        }
        _ => false,
    };
    if !is_candidate {
        return false;
    }
    let (first, second) = (function.source(instruction, 0), function.source(instruction, 1));
    if first == second {
        return false;
    }
    function.set_source(instruction, 0, second);
    function.set_source(instruction, 1, first);
    true
}

pub(super) fn drop_store(function: &mut Function, instruction: Instruction) -> bool {
    let modifiers = function.modifiers(instruction);
    // Without a store to its parameters, a call is incomplete.
    let is_candidate =
        function.operation(instruction) == Operation::St && modifiers.space != AddressSpace::DeviceParam;
    if is_candidate {
        function.remove(instruction);
    }
    is_candidate
}

fn set_comparison(
    function: &mut Function,
    instruction: Instruction,
    other: impl FnOnce(Comparison, bool) -> Comparison,
) -> bool {
    let is_float = match function.operation(instruction) {
        Operation::Isetp => false,
        Operation::Fsetp => true,
        _ => return false,
    };
    let mut modifiers = function.modifiers(instruction);
    let comparison = other(modifiers.comparison, is_float);
    if comparison == modifiers.comparison {
        return false;
    }
    modifiers.comparison = comparison;
    function.set_modifiers(instruction, modifiers);
    true
}

pub(super) fn invert_comparison(function: &mut Function, instruction: Instruction) -> bool {
    set_comparison(function, instruction, Comparison::inverse)
}

pub(super) fn move_boundary(function: &mut Function, instruction: Instruction) -> bool {
    use Comparison as C;
    set_comparison(function, instruction, |comparison, _| match comparison {
        C::Lt => C::Le,
        C::Le => C::Lt,
        C::Gt => C::Ge,
        C::Ge => C::Gt,
        C::Ltu => C::Leu,
        C::Leu => C::Ltu,
        C::Gtu => C::Geu,
        C::Geu => C::Gtu,
        other => other,
    })
}

pub(super) fn invert_branch(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Bra || function.sources(instruction).len() != 3 {
        return false;
    }
    let predicate = function.source(instruction, 0);
    function.set_source(
        instruction,
        0,
        predicate.complemented(!predicate.is_complemented()),
    );
    true
}

pub(super) fn off_by_one(function: &mut Function, instruction: Instruction) -> bool {
    use Operation as O;
    let is_arithmetic = matches!(
        function.operation(instruction),
        O::Iadd
            | O::Isub
            | O::Imul
            | O::ImulWide
            | O::Imad
            | O::Idiv
            | O::Irem
            | O::Imin
            | O::Imax
            | O::And
            | O::Or
            | O::Xor
            | O::Shl
            | O::Shr
            | O::Isetp
            | O::Sel
            | O::Mov
    );
    if !is_arithmetic || function.data_type(instruction) == DataType::B1 {
        return false;
    }
    for number in 0..function.sources(instruction).len() {
        if let Some(value) = function.integer(function.source(instruction, number)) {
            let next = function.integer_operand(value.wrapping_add(1));
            function.set_source(instruction, number, next);
            return true;
        }
    }
    false
}

const fn with_other_sign(data_type: DataType) -> Option<DataType> {
    Some(match data_type {
        DataType::U8 => DataType::S8,
        DataType::S8 => DataType::U8,
        DataType::U16 => DataType::S16,
        DataType::S16 => DataType::U16,
        DataType::U32 => DataType::S32,
        DataType::S32 => DataType::U32,
        _ => return None,
    })
}

pub(super) fn wrong_sign(function: &mut Function, instruction: Instruction) -> bool {
    let (to, from) = (function.data_type(instruction), function.source_type(instruction));
    // Integers of the same width are equal whatever the sign.
    let extends = match function.operation(instruction) {
        Operation::Cvt => to.bits() > from.bits() || to.is_float(),
        Operation::Ld => from.bits() == 8,
        _ => false,
    };
    let Some(other) = with_other_sign(from).filter(|_| extends) else {
        return false;
    };
    function.set_types(instruction, to, other);
    true
}

pub(super) fn wrong_width(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Cvt {
        return false;
    }
    let (to, from) = (function.data_type(instruction), function.source_type(instruction));
    let narrower = match from {
        DataType::U16 => DataType::U8,
        DataType::S16 => DataType::S8,
        _ => return false,
    };
    function.set_types(instruction, to, narrower);
    true
}

fn writes(function: &Function, instruction: Instruction) -> bool {
    function.effects(instruction).contains(OperationFlags::WRITES)
}

/// Returns the instructions before one in its block, nearest first.
pub(super) fn before(
    function: &Function,
    instruction: Instruction,
) -> impl Iterator<Item = Instruction> + '_ {
    std::iter::successors(function.previous(instruction), |&it| function.previous(it))
}

pub(super) fn merge_loads(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Ld || function.results(instruction).len() != 1 {
        return false;
    }
    let same = |other: Instruction| {
        function.operation(other) == Operation::Ld
            && function.results(other).len() == 1
            && function.data_type(other) == function.data_type(instruction)
            && function.source_type(other) == function.source_type(instruction)
            && function.modifiers(other).space == function.modifiers(instruction).space
            && function
                .sources(other)
                .iter()
                .eq(function.sources(instruction).iter())
    };
    let Some(earlier) = before(function, instruction).find(|&other| same(other)) else {
        return false;
    };
    let between = before(function, instruction).take_while(|&other| other != earlier);
    if !between.into_iter().any(|other| writes(function, other)) {
        return false;
    }
    replace_by_copy(function, instruction, function.result(earlier, 0))
}

/// Replaces an instruction with one result by a copy of a register.
pub(super) fn replace_by_copy(function: &mut Function, instruction: Instruction, source: Operand) -> bool {
    let result = function.result(instruction, 0);
    let Some(data_type) = result.as_register().and_then(|it| type_of(function, it)) else {
        return false;
    };
    let new = InstructionBuilder::new(Operation::Mov, data_type)
        .result(result)
        .source(source);
    function.insert(Position::Before(instruction), new);
    function.remove(instruction);
    true
}

pub(super) fn type_of(function: &Function, register: Register) -> Option<DataType> {
    DataType::of_bits(u32::from(function.register(register).bits))
}

/// True if an instruction defines a register that another uses or defines, or uses one that it
/// defines.
pub(super) fn depends(function: &Function, first: Instruction, second: Instruction) -> bool {
    let registers = |operands: oriel_ori::Operands<'_>| -> Vec<Register> {
        operands.iter().filter_map(Operand::as_register).collect()
    };
    let (results, sources) = (
        registers(function.results(second)),
        registers(function.sources(second)),
    );
    let first_results = registers(function.results(first));
    let first_sources = registers(function.sources(first));
    first_results
        .iter()
        .any(|it| sources.contains(it) || results.contains(it))
        || first_sources.iter().any(|it| results.contains(it))
}

/// Moves an instruction up to before the nearest one for which `is_target` holds, unless something
/// on the way prevents it.
pub(super) fn move_above(
    function: &mut Function,
    instruction: Instruction,
    is_target: impl Fn(&Function, Instruction) -> bool,
) -> bool {
    let stop = before(function, instruction)
        .find(|&other| depends(function, other, instruction) || is_target(function, other));
    let Some(target) = stop.filter(|&other| !depends(function, other, instruction)) else {
        return false;
    };
    function.move_to(instruction, Position::Before(target));
    true
}

pub(super) fn load_above_store(function: &mut Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Ld
        && move_above(function, instruction, |function, other| {
            let space = |it| function.modifiers(it).space;
            matches!(function.operation(other), Operation::St | Operation::Atom)
                && space(other) == space(instruction)
        })
}

pub(super) fn remove_live(function: &mut Function, instruction: Instruction) -> bool {
    if !function.is_removable_if_unused(instruction) || function.results(instruction).len() != 1 {
        return false;
    }
    let result = function.result(instruction, 0);
    let Some(register) = result.as_register().filter(|&it| !function.is_unused(it)) else {
        return false;
    };
    let Some(data_type) = type_of(function, register) else {
        return false;
    };
    // An undefined value is the register's previous content; with a single definition, none would
    // be left.
    if function.unique_definition(register).is_some() {
        let at = match function.operation(instruction) {
            Operation::Phi => return false,
            _ => Position::Before(instruction),
        };
        function.insert(
            at,
            InstructionBuilder::new(Operation::ImplicitDef, data_type).result(result),
        );
    }
    function.remove(instruction);
    true
}

pub(super) fn cross_barrier(function: &mut Function, instruction: Instruction) -> bool {
    let is_access = matches!(
        function.operation(instruction),
        Operation::Ld | Operation::St | Operation::Atom
    );
    let is_common = matches!(
        function.modifiers(instruction).space,
        AddressSpace::Shared | AddressSpace::Global
    );
    is_access
        && is_common
        && move_above(function, instruction, |function, other| {
            matches!(function.operation(other), Operation::Bar | Operation::BarRed)
        })
}

pub(super) fn drop_barrier(function: &mut Function, instruction: Instruction) -> bool {
    let is_candidate = function.operation(instruction) == Operation::Bar;
    if is_candidate {
        function.remove(instruction);
    }
    is_candidate
}

pub(super) fn wrong_phi(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Phi {
        return false;
    }
    let values = function.sources(instruction).len() / 2;
    let first = function.sources(instruction).iter().next();
    let Some(first) = first else { return false };
    let Some(other) = (1..values).find(|&pair| function.source(instruction, 2 * pair) != first) else {
        return false;
    };
    let value = function.source(instruction, 2 * other);
    function.set_source(instruction, 0, value);
    function.set_source(instruction, 2 * other, first);
    true
}

pub(super) fn reorder_copy(function: &mut Function, instruction: Instruction) -> bool {
    if !function.operation(instruction).is_copy() {
        return false;
    }
    let other = before(function, instruction).find(|&other| depends(function, other, instruction));
    let Some(other) = other.filter(|&it| function.operation(it) != Operation::Phi) else {
        return false;
    };
    function.move_to(instruction, Position::Before(other));
    true
}

pub(super) fn drop_negation(function: &mut Function, instruction: Instruction) -> bool {
    use Operation as O;
    if matches!(
        function.operation(instruction),
        O::Fneg | O::Fabs | O::Ineg | O::Iabs | O::Not
    ) {
        return replace_by_copy(function, instruction, function.source(instruction, 0));
    }
    for number in 0..function.sources(instruction).len() {
        let source = function.source(instruction, number);
        if source.is_modified() && source.as_register().is_some() {
            let plain = source.negated(false).absolute(false).complemented(false);
            function.set_source(instruction, number, plain);
            return true;
        }
    }
    false
}

pub(super) fn wrong_rounding(function: &mut Function, instruction: Instruction) -> bool {
    use Operation as O;
    let mut modifiers = function.modifiers(instruction);
    let may_be_plain = matches!(function.operation(instruction), O::Fadd | O::Fsub | O::Fmul);
    let is_candidate =
        function.data_type(instruction).is_float() || function.source_type(instruction).is_float();
    modifiers.rounding = match modifiers.rounding {
        Rounding::None if may_be_plain && is_candidate => Rounding::Rp,
        Rounding::Rn => Rounding::Rp,
        Rounding::Rz | Rounding::Rm | Rounding::Rp => Rounding::Rn,
        Rounding::Rzi => Rounding::Rpi,
        Rounding::Rni | Rounding::Rmi | Rounding::Rpi => Rounding::Rzi,
        Rounding::None | Rounding::Rna | Rounding::Rs => return false,
    };
    function.set_modifiers(instruction, modifiers);
    true
}

/// True for an access to memory that threads share, or to the stack.
fn accesses_data(function: &Function, instruction: Instruction) -> bool {
    matches!(
        function.operation(instruction),
        Operation::Ld | Operation::St | Operation::Atom
    ) && matches!(
        function.modifiers(instruction).space,
        AddressSpace::Global | AddressSpace::Shared | AddressSpace::Local
    )
}

pub(super) fn wrong_offset(function: &mut Function, instruction: Instruction) -> bool {
    if !accesses_data(function, instruction) {
        return false;
    }
    // Without a memory type, the accessed type is that of the operation.
    let bits = match function.source_type(instruction) {
        DataType::None => function.data_type(instruction).bits(),
        memory => memory.bits(),
    };
    // For a load the offset is the last source; for a store and an atomic operation it follows the
    // base.
    let numbers = 0..function.sources(instruction).len();
    for number in numbers.rev() {
        if let Some(offset) = function.integer(function.source(instruction, number)) {
            let next = function.integer_operand(offset + i64::from(bits / 8));
            function.set_source(instruction, number, next);
            return true;
        }
    }
    false
}

pub(super) fn wrong_space(function: &mut Function, instruction: Instruction) -> bool {
    if !accesses_data(function, instruction) {
        return false;
    }
    let mut modifiers = function.modifiers(instruction);
    modifiers.space = match modifiers.space {
        AddressSpace::Global => AddressSpace::Shared,
        _ => AddressSpace::Global,
    };
    function.set_modifiers(instruction, modifiers);
    true
}

pub(super) fn skip_iteration(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Iadd {
        return false;
    }
    let result = function.result(instruction, 0).as_register();
    let (counter, step) = (function.source(instruction, 0), function.source(instruction, 1));
    let Some(counter) = counter.as_register() else {
        return false;
    };
    let Some(step) = function.integer(step).filter(|&step| step != 0) else {
        return false;
    };
    // In SSA form through a PHI; later the counter is the same register, or a copy of the result.
    let comes_back = |definition: Instruction| {
        let sources = function.sources(definition);
        matches!(
            function.operation(definition),
            Operation::Phi | Operation::Copy | Operation::Mov
        ) && sources.iter().any(|source| source.as_register() == result)
    };
    let is_counter = Some(counter) == result
        || function
            .definitions(counter)
            .any(|(definition, _)| comes_back(definition));
    if !is_counter {
        return false;
    }
    let twice = function.integer_operand(2 * step);
    function.set_source(instruction, 1, twice);
    true
}

pub(super) fn repeat_atomic(function: &mut Function, instruction: Instruction) -> bool {
    if function.operation(instruction) != Operation::Atom {
        return false;
    }
    let Some(register) = function.result(instruction, 0).as_register() else {
        return false;
    };
    let lost = function.create_register_like(register);
    let mut again = InstructionBuilder::new(Operation::Atom, function.data_type(instruction))
        .source_type(function.source_type(instruction))
        .modifiers(function.modifiers(instruction))
        .result(function.register_operand(lost));
    for source in function.sources(instruction) {
        again = again.source(source);
    }
    function.insert(Position::After(instruction), again);
    true
}

pub(super) fn drop_addend(function: &mut Function, instruction: Instruction) -> bool {
    let product = match function.operation(instruction) {
        Operation::Ffma => Operation::Fmul,
        Operation::Imad => Operation::Imul,
        Operation::ImadWide => Operation::ImulWide,
        _ => return false,
    };
    let (a, b) = (function.source(instruction, 0), function.source(instruction, 1));
    function.set_sources(instruction, &[a, b]);
    function.set_operation(instruction, product);
    true
}
