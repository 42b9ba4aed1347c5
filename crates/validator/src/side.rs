//! One of the two functions, with derived data.

use super::effects::is_convergent;
use super::values::Named;
use oriel_engine::entity::{Block, EntityRef};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::OperandKind;
use oriel_ori::{Function, Instruction, InstructionFlags, Operand, Operation, Special};
use smallvec::SmallVec;

/// The most registers of a block that is compared with another one, so that comparing takes linear time.
const MOST_RESULTS: usize = 32;

/// What an instruction does besides what its operation tells.
const EFFECTS: InstructionFlags = InstructionFlags::ASM_SIDE_EFFECTS
    .union(InstructionFlags::ASM_READS)
    .union(InstructionFlags::ASM_WRITES)
    .union(InstructionFlags::ASM_CONVERGENT);

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// Control continues in one block, or in one of two that do the same and leave the function.
    Jump(Block),
    /// To the first block if the terminator's predicate holds, else to the second.
    Branch(Block, Block),
    /// To one of several, selected by an index or by assembly.
    Choice(SmallVec<[Block; 4]>),
    /// The function ends.
    Leave,
}

/// A function with cached properties.
#[derive(Debug)]
pub(super) struct Side<'a> {
    pub function: &'a Function,
    /// The description of operands that Ori does not interpret.
    snapshot: Option<Snapshot<'a>>,
    ends: Vec<End>,
    /// Whether a block has only one incoming edge.
    has_one_predecessor: Vec<bool>,
}

impl<'a> Side<'a> {
    pub fn new(function: &'a Function, snapshot: Option<Snapshot<'a>>) -> Self {
        let mut ends = vec![End::Leave; function.block_limit()];
        let mut entries = vec![0_u32; function.block_limit()];
        entries[function.entry().index()] = 1;
        let mut reached = vec![false; function.block_limit()];
        let mut pending = vec![function.entry()];
        reached[function.entry().index()] = true;
        while let Some(block) = pending.pop() {
            for target in function.successors(block) {
                entries[target.index()] += 1;
                if !std::mem::replace(&mut reached[target.index()], true) {
                    pending.push(target);
                }
            }
            ends[block.index()] = end_of(function, block);
        }
        Self {
            function,
            snapshot,
            ends,
            has_one_predecessor: entries.into_iter().map(|count| count == 1).collect(),
        }
    }

    /// Returns the end of a block.
    pub fn end(&self, block: Block) -> &End {
        &self.ends[block.index()]
    }

    /// True if a block has only one incoming edge.
    pub fn has_one_predecessor(&self, block: Block) -> bool {
        self.has_one_predecessor[block.index()]
    }

    /// True if both functions come from one snapshot, so that numbers of symbols and bases mean the
    /// same.
    pub fn shares_numbers(&self, other: &Self) -> bool {
        match (self.snapshot, other.snapshot) {
            (Some(one), Some(other)) => std::ptr::eq(one.function(), other.function()),
            _ => false,
        }
    }

    /// Returns kind and number of an operand that only the machine function describes; the same kind
    /// and number mean the same operand.
    pub fn machine_operand(&self, special: Special) -> (Named, u64) {
        /// For debuggers and messages: all are alike.
        const METADATA: u64 = u64::MAX;
        let Special::Machine { instruction, operand } = special else {
            unreachable!("{special:?} is not the machine function's");
        };
        let place = (instruction.index() as u64) << 32 | u64::from(operand);
        let record = self.snapshot.and_then(|snapshot| {
            let records = snapshot.instruction(instruction).operand_records();
            records.get(operand as usize)
        });
        match record {
            Some(record) if record.kind == OperandKind::Metadata as u8 => (Named::MachineOperand, METADATA),
            Some(record) if record.kind == OperandKind::Immediate as u8 => {
                (Named::MachineImmediate, record.value as u64)
            }
            _ => (Named::MachineOperand, place),
        }
    }
}

fn end_of(function: &Function, block: Block) -> End {
    let Some(terminator) = function.terminator(block) else {
        return End::Leave;
    };
    let mut targets: SmallVec<[Block; 4]> = function
        .sources(terminator)
        .iter()
        .filter_map(|source| source.as_block())
        .collect();
    match (function.operation(terminator), targets.len()) {
        (_, 0) => End::Leave,
        (Operation::Bra, 1) => End::Jump(targets[0]),
        (Operation::Bra, 2) if targets[0] == targets[1] => End::Jump(targets[0]),
        (Operation::Bra, 2) if leave_alike(function, targets[0], targets[1]) => End::Jump(targets[0]),
        (Operation::Bra, 2) => match meeting_point(function, block, [targets[0], targets[1]]) {
            Some(target) => End::Jump(target),
            None => End::Branch(targets[0], targets[1]),
        },
        _ => {
            targets.shrink_to_fit();
            End::Choice(targets)
        }
    }
}

/// Returns the target of a branch to which the other one does nothing but jump, if no PHI there tells
/// the two ways from each other. The condition then makes no difference.
fn meeting_point(function: &Function, block: Block, targets: [Block; 2]) -> Option<Block> {
    let [one, other] = targets;
    [(one, other), (other, one)]
        .into_iter()
        .find(|&(target, detour)| {
            only_jumps_to(function, detour, target)
                && function
                    .phis(target)
                    .all(|phi| function.phi_value(phi, block) == function.phi_value(phi, detour))
        })
        .map(|(target, _)| target)
}

/// True if a block does nothing but jump to another one.
fn only_jumps_to(function: &Function, block: Block, target: Block) -> bool {
    only_instruction(function, block).is_some_and(|instruction| {
        let sources = function.sources(instruction);
        function.operation(instruction) == Operation::Bra
            && sources.len() == 1
            && sources.get(0).as_block() == Some(target)
    })
}

/// True if two blocks return and do the same before that, which may be done in one place: nothing else reads what
/// they define, and it does not matter which threads do it together.
fn leave_alike(function: &Function, one: Block, other: Block) -> bool {
    let returns = |block| {
        let last = function.terminator(block);
        last.is_some_and(|last| function.operation(last) == Operation::Ret)
    };
    if !returns(one) || !returns(other) {
        return false;
    }
    let mut results = SmallVec::new();
    let (mut ours, mut theirs) = (code_of(function, one), code_of(function, other));
    loop {
        match (ours.next(), theirs.next()) {
            (None, None) => return true,
            (Some(one), Some(other))
                if !is_convergent(function, one) && are_alike(function, one, other, &mut results) => {}
            _ => return false,
        }
    }
}

/// The registers that two blocks define in the same places.
type Results = SmallVec<[(Operand, Operand); 8]>;

/// True if two instructions do the same with the same operands, where `results` are the same. Adds
/// what they define.
fn are_alike(function: &Function, one: Instruction, other: Instruction, results: &mut Results) -> bool {
    let kind_of = |instruction| {
        (
            function.operation(instruction),
            function.data_type(instruction),
            function.source_type(instruction),
            function.modifiers(instruction),
            function.flags(instruction).intersection(EFFECTS),
            function.access(instruction),
        )
    };
    let opcode_of = |instruction| {
        let opcode = function.machine_opcode(instruction);
        opcode.map(|opcode| &opcode.name)
    };
    let file_of = |result: &Operand| {
        let register = result.as_register();
        register.map(|register| (function.register(register).file, function.register(register).bits))
    };
    let is_same = |(one, other): (Operand, Operand)| {
        let pair = results.iter().rev().find(|pair| pair.0 == one || pair.1 == other);
        pair.map_or(one == other, |&pair| pair == (one, other))
    };
    let sources = [one, other].map(|instruction| function.sources(instruction));
    let defined = [one, other].map(|instruction| function.results(instruction));
    let is_alike = kind_of(one) == kind_of(other)
        && opcode_of(one) == opcode_of(other)
        && sources[0].len() == sources[1].len()
        && sources[0].iter().zip(sources[1].iter()).all(is_same)
        && defined[0]
            .iter()
            .map(|result| file_of(&result))
            .eq(defined[1].iter().map(|result| file_of(&result)));
    results.extend(defined[0].iter().zip(defined[1].iter()));
    is_alike && results.len() <= MOST_RESULTS
}

/// Returns the instructions of a block, debug instructions aside.
fn code_of(function: &Function, block: Block) -> impl Iterator<Item = Instruction> + '_ {
    function
        .instructions(block)
        .filter(|&instruction| !function.operation(instruction).is_debug())
}

/// Returns the instruction of a block that has just one, debug instructions aside.
fn only_instruction(function: &Function, block: Block) -> Option<Instruction> {
    let mut code = code_of(function, block);
    let first = code.next()?;
    code.next().is_none().then_some(first)
}

/// Returns the terminator of a block.
pub(super) fn terminator(function: &Function, block: Block) -> Instruction {
    function
        .terminator(block)
        .expect("the block's end has been looked at")
}
