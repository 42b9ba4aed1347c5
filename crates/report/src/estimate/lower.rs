//! Lowers a function to the instructions of a scheduler.
//!
//! Parameters, immediates and renamed values take no instruction of their own. Neither do sign
//! extensions and shifts that their only reader performs itself (`IMAD.WIDE`, `LEA`). A sequence
//! that ptxas generates for one instruction, such as a division, needs additional registers: the
//! *temporaries* of a node.

use super::assembly::{Assembly, AssemblyOrder};
use super::cells::{Cell, Cells, is_parameter_read};
use super::expansion::{calls_subroutine, is_matrix_operation, latency, temporaries};
use super::folded::folded_instructions;
use super::nodes::{Memory, Nodes, Order, ScheduleNode};
use oriel_engine::entity::{EntityRef, EntitySet, Register, Symbol};
use oriel_ori::{
    AddressSpace, Function, Instruction, ModifierFlags, Operand, OperandKind, Operation, OperationFlags,
    Ordering, Special,
};
use smallvec::SmallVec;
use std::collections::HashMap;

impl Nodes {
    /// Lowers a function.
    pub fn new(function: &Function, cells: &Cells, sm: u32) -> Self {
        let folded = folded_instructions(function);
        let mut lowering = Lowering {
            function,
            cells,
            folded: &folded,
            sm,
            cell_count: cells.count(),
            pairs: Vec::new(),
            texts: HashMap::new(),
        };
        let mut nodes = Self::default();
        nodes.nodes.reserve(function.instruction_limit());
        for &block in function.blocks() {
            let first = nodes.nodes.len() as u32;
            lowering.pairs.clear();
            for instruction in function.instructions(block) {
                lowering.add(instruction, &mut nodes.nodes);
            }
            nodes.blocks[block] = (first, nodes.nodes.len() as u32);
        }
        nodes.cell_count = lowering.cell_count;
        nodes.find_traits(cells);
        nodes
    }
}

struct Lowering<'a> {
    function: &'a Function,
    cells: &'a Cells,
    folded: &'a EntitySet<Instruction>,
    sm: u32,
    cell_count: usize,
    /// Pairs of the present block that hold values of the constant bank or of uniform registers:
    /// the value's register, and the cells.
    pairs: Vec<(Moved, [Cell; 2])>,
    /// Assembly that was read before, by its text.
    texts: HashMap<&'a str, Assembly>,
}

/// The register whose value a pair holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Moved {
    Register(Register),
    Symbol(Symbol),
}

/// How many pairs are searched for an earlier copy of the same value.
const REMEMBERED_PAIRS: usize = 16;

impl<'a> Lowering<'a> {
    /// Adds the node of an instruction, if it takes one, after the nodes that load its constants.
    fn add(&mut self, instruction: Instruction, nodes: &mut Vec<ScheduleNode>) {
        let Some(mut node) = self.node(instruction) else {
            return;
        };
        if !node.defined.is_empty() && node.defined.iter().all(|&cell| self.cells.is_uniform(cell)) {
            nodes.push(node);
            return;
        }
        let sources = match reads_pairs(self.function.operation(instruction)) {
            true => self.function.sources(instruction).len(),
            false => 0,
        };
        for number in 0..sources {
            let Some(value) = self.moved_pair(instruction, number) else {
                continue;
            };
            let known = self.pairs.iter().rev().take(REMEMBERED_PAIRS);
            let known = known.into_iter().find(|(known, _)| *known == value);
            let pair = match known {
                Some(&(_, pair)) => pair,
                None => {
                    let pair = [0, 1].map(|half| Cell::new(self.cell_count + half));
                    self.cell_count += 2;
                    self.pairs.push((value, pair));
                    let uniform = self.uniform_cells(value);
                    nodes.push(ScheduleNode::moving(uniform.collect(), pair));
                    pair
                }
            };
            for cell in self.uniform_cells(value) {
                node.used.retain(|used| *used != cell);
            }
            node.used.extend(pair);
        }
        nodes.push(node);
    }

    /// Returns the value of an operand that needs a pair of registers although the constant bank or
    /// uniform registers hold it: addresses of accesses, and parameters that addresses are based
    /// on.
    fn moved_pair(&self, instruction: Instruction, number: usize) -> Option<Moved> {
        let function = self.function;
        let register = match function.source(instruction, number).kind() {
            OperandKind::Register(register) => register,
            OperandKind::Special(special) => {
                let Special::Symbol { symbol, .. } = function.special_data(special) else {
                    return None;
                };
                return self
                    .is_far_address(instruction, number)
                    .then_some(Moved::Symbol(symbol));
            }
            _ => return None,
        };
        let is_pair = function.register(register).bits == 64 && self.cells.of(register).len() == 2;
        let mut held = self.cells.of(register).iter().flatten();
        if !is_pair || !held.clone().all(|&cell| self.cells.is_uniform(cell)) {
            return None;
        }
        let is_sum = matches!(
            function.operation(instruction),
            Operation::Iadd | Operation::Imad | Operation::ImadWide
        );
        let is_parameter = |&origin: &Register| {
            let definition = function.unique_definition(origin);
            definition.is_some_and(|definition| is_parameter_read(function, definition))
        };
        let origin = if self.is_far_address(instruction, number) {
            self.origin(register)
        } else if is_sum && held.next().is_none() {
            self.origin(register).filter(is_parameter)
        } else {
            None
        };
        origin.map(Moved::Register)
    }

    /// True if an operand is the address of an access that must be a pair of registers.
    fn is_far_address(&self, instruction: Instruction, number: usize) -> bool {
        let function = self.function;
        let is_address = function.accessed_address(instruction) == Some(number);
        let is_far = matches!(
            function.modifiers(instruction).space,
            AddressSpace::Global | AddressSpace::Generic
        );
        // On Turing, accesses also take addresses in uniform registers.
        is_address && is_far && self.sm >= 80
    }

    /// Returns the uniform registers that held a moved value before.
    fn uniform_cells(&self, value: Moved) -> impl Iterator<Item = Cell> + use<'_> {
        let cells = match value {
            Moved::Register(register) => self.cells.of(register),
            Moved::Symbol(_) => &[],
        };
        cells.iter().flatten().copied()
    }

    /// Returns the register that first held a value, before copies and sums with constants; none
    /// for an immediate.
    fn origin(&self, register: Register) -> Option<Register> {
        let mut origin = register;
        loop {
            let Some(definition) = self.function.unique_definition(origin) else {
                return Some(origin);
            };
            let source = self.function.sources(definition).iter().next();
            let is_same = |source: Register| self.cells.of(source) == self.cells.of(register);
            match source.and_then(Operand::as_register) {
                Some(source) if is_same(source) && source < origin => origin = source,
                _ => {
                    let operation = self.function.operation(definition);
                    let is_immediate = operation.is_copy()
                        && self
                            .function
                            .integer(self.function.source(definition, 0))
                            .is_some();
                    return (!is_immediate && operation != Operation::ImplicitDef).then_some(origin);
                }
            }
        }
    }

    /// Returns the node of an instruction; none if it takes none.
    fn node(&mut self, instruction: Instruction) -> Option<ScheduleNode> {
        let function = self.function;
        let operation = function.operation(instruction);
        if operation.is_debug() || operation == Operation::Nop || self.folded.contains(instruction) {
            return None;
        }
        if is_parameter_read(function, instruction) {
            return None;
        }
        let mut used = SmallVec::new();
        self.add_used(instruction, &mut used);
        let mut defined: SmallVec<[Cell; 2]> = SmallVec::new();
        for result in function.result_registers(instruction) {
            for cell in self.cells.of(result).iter().flatten() {
                // A result cell that is also read here is a renamed value.
                let is_renamed = used.contains(cell) && function.unique_definition(result).is_some();
                if !is_renamed && !defined.contains(cell) {
                    defined.push(*cell);
                }
            }
        }
        let has_results = !function.results(instruction).is_empty();
        let makes_predicate = function
            .results(instruction)
            .iter()
            .any(|result| matches!(result.kind(), OperandKind::Predicate(_)));
        if let Some(assembly) = self.assembly(instruction) {
            return Some(self.assembly_node(instruction, &assembly, defined, used));
        }
        let order = self.order(instruction);
        if has_results && defined.is_empty() && !makes_predicate && order == Order::Free {
            return None;
        }
        let defined_nothing = defined.is_empty();
        Some(ScheduleNode {
            defined,
            used,
            latency: latency(function, instruction),
            temporaries: temporaries(function, instruction),
            stored_constants: self.stored_constants(instruction),
            order,
            is_store: matches!(operation, Operation::St | Operation::Atom) && defined_nothing,
            waits: order == Order::Fence
                && !matches!(operation, Operation::Ld | Operation::St | Operation::Atom)
                && !operation.is_terminator(),
            is_call: operation == Operation::Call,
            is_terminator: operation.is_terminator(),
            is_global_load: operation == Operation::Ld
                && matches!(
                    function.modifiers(instruction).space,
                    AddressSpace::Global | AddressSpace::Generic
                ),
            matrix_operations: u32::from(is_matrix_operation(function, instruction)),
            is_copy: false,
            is_exchange: matches!(
                operation,
                Operation::Shfl | Operation::Vote | Operation::Match | Operation::Redux
            ),
        })
    }

    /// Reads inline assembly; none for other instructions.
    fn assembly(&mut self, instruction: Instruction) -> Option<Assembly> {
        if self.function.operation(instruction) != Operation::InlineAsm {
            return None;
        }
        let text = self.function.assembly_text(instruction)?;
        Some(*self.texts.entry(text).or_insert_with(|| Assembly::parse(text)))
    }

    /// Returns the node of inline assembly.
    fn assembly_node(
        &self,
        instruction: Instruction,
        assembly: &Assembly,
        defined: SmallVec<[Cell; 2]>,
        used: SmallVec<[Cell; 4]>,
    ) -> ScheduleNode {
        let base = assembly.address_source(self.function, instruction);
        let base = base.and_then(|(source, offset)| {
            let register = self.function.source(instruction, source).as_register()?;
            self.function.unique_definition(register)?;
            Some((register, offset))
        });
        let memory = Memory {
            space: assembly.space,
            base,
            size: assembly.bytes,
        };
        let order = match assembly.order {
            AssemblyOrder::Free => Order::Free,
            AssemblyOrder::Load => Order::Load(memory),
            AssemblyOrder::Store => Order::Store(memory),
            AssemblyOrder::Fence => Order::Fence,
        };
        let is_far = matches!(assembly.space, AddressSpace::Global | AddressSpace::Generic);
        ScheduleNode {
            latency: assembly.latency,
            temporaries: assembly.temporaries,
            stored_constants: 0,
            order,
            is_store: assembly.order == AssemblyOrder::Store && defined.is_empty(),
            waits: order == Order::Fence,
            is_call: false,
            is_terminator: false,
            is_global_load: is_far
                && !defined.is_empty()
                && assembly.order != AssemblyOrder::Store
                && assembly.address.is_some(),
            matrix_operations: assembly.matrix_operations,
            is_copy: assembly.is_copy,
            is_exchange: assembly.is_exchange,
            defined,
            used,
        }
    }

    /// Adds the cells that an instruction reads, including those of folded instructions.
    fn add_used(&self, instruction: Instruction, used: &mut SmallVec<[Cell; 4]>) {
        let mut pending: SmallVec<[Instruction; 4]> = SmallVec::new();
        pending.push(instruction);
        while let Some(instruction) = pending.pop() {
            for source in self.function.sources(instruction) {
                if source.is_undefined() {
                    continue;
                }
                let OperandKind::Register(register) = source.kind() else {
                    continue;
                };
                let definition = self.function.unique_definition(register);
                if let Some(definition) = definition.filter(|&it| self.folded.contains(it)) {
                    pending.push(definition);
                    continue;
                }
                for cell in self.cells.of(register).iter().flatten() {
                    if !used.contains(cell) {
                        used.push(*cell);
                    }
                }
            }
        }
    }

    /// Returns the number of registers for nonzero constants that an instruction stores.
    fn stored_constants(&self, instruction: Instruction) -> u32 {
        let function = self.function;
        let (first, end) = match function.operation(instruction) {
            Operation::St => (0, function.sources(instruction).len().saturating_sub(2)),
            Operation::Atom => (2, function.sources(instruction).len()),
            _ => return 0,
        };
        let is_constant = |&number: &usize| match function.source(instruction, number).kind() {
            OperandKind::Immediate(_) => function.integer(function.source(instruction, number)) != Some(0),
            _ => false,
        };
        (first..end).filter(is_constant).count() as u32
    }

    fn order(&self, instruction: Instruction) -> Order {
        let function = self.function;
        let effects = function.effects(instruction);
        let operation = function.operation(instruction);
        let (reads, writes) = (
            effects.contains(OperationFlags::READS),
            effects.contains(OperationFlags::WRITES),
        );
        let is_fence = effects.intersects(OperationFlags::TERMINATOR | OperationFlags::CALL_SEQUENCE)
            || matches!(
                operation,
                Operation::Bar | Operation::BarRed | Operation::Membar | Operation::WarpSync
            )
            || effects.contains(OperationFlags::SIDE_EFFECTS) && (reads || writes)
            || calls_subroutine(function, instruction);
        if is_fence {
            return Order::Fence;
        }
        let modifiers = function.modifiers(instruction);
        if operation == Operation::Ld {
            let is_invariant = modifiers.flags.contains(ModifierFlags::INVARIANT)
                || matches!(modifiers.space, AddressSpace::EntryParam | AddressSpace::Const);
            if is_invariant && !matches!(modifiers.ordering, Ordering::Volatile) {
                return Order::Free;
            }
        }
        if !reads && !writes {
            return Order::Free;
        }
        let memory = self.memory(instruction);
        if writes {
            Order::Store(memory)
        } else {
            Order::Load(memory)
        }
    }

    /// Returns the memory of an access, whose last sources are base and offset.
    fn memory(&self, instruction: Instruction) -> Memory {
        let function = self.function;
        let sources = function.sources(instruction);
        let place = match function.operation(instruction) {
            Operation::Ld | Operation::Atom => Some(0),
            Operation::St => sources.len().checked_sub(2),
            _ => None,
        };
        let base = place.and_then(|place| {
            let OperandKind::Register(register) = sources.get(place).kind() else {
                return None;
            };
            function.unique_definition(register)?;
            Some((register, function.integer(sources.get(place + 1))?))
        });
        let size = function.access(instruction).and_then(|access| access.size);
        Memory {
            space: function.modifiers(instruction).space,
            base,
            size: size.and_then(|size| i64::try_from(size).ok()).unwrap_or(16),
        }
    }
}

/// True for accesses and sums, which alone read pairs that hold what other instructions read from
/// the constant bank or from uniform registers.
fn reads_pairs(operation: Operation) -> bool {
    use Operation as O;
    matches!(
        operation,
        O::Ld | O::St | O::Atom | O::Iadd | O::Imad | O::ImadWide
    )
}
