//! Lowers a function to the instructions of a scheduler: the cells that each reads and writes, its
//! latency, and the instructions that it must not pass.
//!
//! Parameters, immediates and renamed values take no instruction of their own. Neither do sign
//! extensions and shifts that their only reader performs itself (`IMAD.WIDE`, `LEA`). A sequence
//! that ptxas generates for one instruction, such as a division, needs additional registers: the
//! *temporaries* of a node.

use super::assembly::{self, Assembly, AssemblyOrder};
use super::cells::{Cell, Cells, is_parameter_read};
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register, SecondaryMap, Symbol};
use oriel_ori::{
    AddressSpace, DataType, Function, Instruction, ModifierFlags, Operand, OperandKind, Operation,
    OperationFlags, Ordering, Rounding, Special, Variant,
};
use smallvec::SmallVec;
use std::collections::HashMap;

/// Constraints on the order of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Only its operands.
    Free,
    /// A load, from memory that stores may write.
    Load(Memory),
    /// A store.
    Store(Memory),
    /// A fence: barriers, calls, the end of the block.
    Fence,
}

/// The memory that a node accesses, as far as it is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The address space.
    pub space: AddressSpace,
    /// The base register of the address, and the byte offset.
    pub base: Option<(Register, i64)>,
    /// Size in bytes.
    pub size: i64,
}

impl Memory {
    /// True if both may access the same memory.
    pub fn may_overlap(&self, other: &Self) -> bool {
        let is_generic = |memory: &Self| matches!(memory.space, AddressSpace::Generic | AddressSpace::None);
        if self.space != other.space && !is_generic(self) && !is_generic(other) {
            return false;
        }
        match (self.base, other.base) {
            (Some((one, from)), Some((two, to))) if one == two => {
                from < to.saturating_add(other.size) && to < from.saturating_add(self.size)
            }
            _ => true,
        }
    }
}

/// An instruction for the scheduler.
#[derive(Clone, Debug)]
pub struct Node {
    /// Cells that it writes.
    pub defined: SmallVec<[Cell; 2]>,
    /// Cells that it reads, each once.
    pub used: SmallVec<[Cell; 4]>,
    /// Cycles until its results are available.
    pub latency: u32,
    /// Temporaries: registers needed during the instruction.
    pub temporaries: u32,
    /// Registers for constants that it stores.
    pub stored_constants: u32,
    /// The constraints on its order.
    pub order: Order,
    /// True if it only writes memory, so that nothing tells when it has read its operands.
    pub is_store: bool,
    /// True if it waits for all earlier memory accesses.
    pub waits: bool,
    /// True for a call, across which the callee's registers are not free.
    pub is_call: bool,
    /// True if it ends the block.
    pub is_terminator: bool,
    /// True if it loads from global memory, or through a generic address.
    pub is_global_load: bool,
    /// Operations of tensor cores.
    pub matrix_operations: u32,
    /// True if it copies between memories without registers.
    pub is_copy: bool,
    /// True if it exchanges values between lanes.
    pub is_exchange: bool,
}

impl Node {
    /// Makes a node that loads a pair from the constant bank or from uniform registers.
    fn moving(used: SmallVec<[Cell; 4]>, pair: [Cell; 2]) -> Self {
        Self {
            defined: SmallVec::from_slice(&pair),
            // Reads of the constant bank are scheduled first, like loads.
            latency: if used.is_empty() { 24 } else { 8 },
            used,
            temporaries: 0,
            stored_constants: 0,
            order: Order::Free,
            is_store: false,
            waits: false,
            is_call: false,
            is_terminator: false,
            is_global_load: false,
            matrix_operations: 0,
            is_copy: false,
            is_exchange: false,
        }
    }
}

/// The nodes of a function, by block.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    blocks: SecondaryMap<Block, (u32, u32)>,
    nodes: Vec<Node>,
    /// Cells of the function, and cells that hold machine constants within a block.
    cell_count: usize,
    aligned: EntitySet<Cell>,
    odd: EntitySet<Cell>,
    /// Cells that one simple instruction computes again from another value.
    recomputed: EntitySet<Cell>,
}

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
        let mut nodes = Self {
            nodes: Vec::with_capacity(function.instruction_limit()),
            ..Self::default()
        };
        for &block in function.blocks() {
            let first = nodes.nodes.len() as u32;
            lowering.pairs.clear();
            for instruction in function.instructions(block) {
                lowering.add(instruction, &mut nodes.nodes);
            }
            nodes.blocks[block] = (first, nodes.nodes.len() as u32);
        }
        nodes.cell_count = lowering.cell_count;
        nodes.find_places();
        nodes.find_recomputed(cells);
        nodes
    }

    /// Finds the cells that ptxas can compute again where they are read, instead of keeping them:
    /// those that one simple instruction makes of at most one value that is not uniform.
    fn find_recomputed(&mut self, cells: &Cells) {
        let mut definitions = vec![0_u8; self.cell_count];
        for cell in self.nodes.iter().flat_map(|node| &node.defined) {
            let count = &mut definitions[cell.index()];
            *count = count.saturating_add(1);
        }
        for node in &self.nodes {
            let is_simple = node.order == Order::Free
                && node.latency <= RECOMPUTED_LATENCY
                && node.temporaries == 0
                && node.matrix_operations == 0
                && node.defined.len() <= 2;
            let is_uniform = |cell: Cell| cell.index() < cells.count() && cells.is_uniform(cell);
            let read = node.used.iter().filter(|&&cell| !is_uniform(cell)).count();
            let once = |cell: &Cell| definitions[cell.index()] == 1;
            if is_simple && read <= node.defined.len().max(1) && node.defined.iter().all(once) {
                self.recomputed.extend(node.defined.iter().copied());
            }
        }
    }

    /// True if one simple instruction computes the cell again from another value.
    pub fn is_recomputed(&self, cell: Cell) -> bool {
        self.recomputed.contains(cell)
    }

    /// Finds the cells that are parts of aligned tuples, and those that ptxas places at odd
    /// numbers.
    fn find_places(&mut self) {
        let wide = self.nodes.iter().filter(|node| node.defined.len() > 1);
        self.aligned
            .extend(wide.flat_map(|node| node.defined.iter().copied()));
        for node in &self.nodes {
            if node.used.iter().any(|&cell| self.aligned.contains(cell)) {
                let single = node
                    .used
                    .iter()
                    .copied()
                    .filter(|&cell| !self.aligned.contains(cell));
                self.odd.extend(single);
            }
        }
    }

    /// Returns the number of cells.
    pub fn cell_count(&self) -> usize {
        self.cell_count
    }

    /// True for a part of a value of 64 bits or more, which starts at an even register.
    pub fn is_aligned(&self, cell: Cell) -> bool {
        self.aligned.contains(cell)
    }

    /// True if it is read together with an aligned value. The even half of that value occupies the
    /// even register bank, so ptxas chooses an odd register.
    pub fn is_odd(&self, cell: Cell) -> bool {
        self.odd.contains(cell)
    }

    /// Returns the nodes of a block, in order.
    pub fn of(&self, block: Block) -> &[Node] {
        let (first, end) = self.blocks[block];
        &self.nodes[first as usize..end as usize]
    }
}

/// Returns the only reader of the only result of another instruction, if both are in one block and
/// the register has no other definition.
fn only_user(function: &Function, instruction: Instruction) -> Option<Instruction> {
    let [result] = function.results(instruction).iter().collect::<SmallVec<[_; 2]>>()[..] else {
        return None;
    };
    let register = result.as_register()?;
    function.unique_definition(register)?;
    let mut uses = function.uses(register);
    match (uses.next(), uses.next()) {
        (Some((user, _)), None) => {
            (function.block_of(user) == function.block_of(instruction)).then_some(user)
        }
        _ => None,
    }
}

/// Instructions that are folded into their only user: sign extensions and shifts by constants
/// before wide sums, products before sums.
fn folded_instructions(function: &Function) -> EntitySet<Instruction> {
    let mut folded = EntitySet::with_capacity(function.instruction_limit());
    for &block in function.blocks() {
        for instruction in function.instructions(block) {
            let operation = function.operation(instruction);
            if !may_be_folded(operation) {
                continue;
            }
            let Some(user) = only_user(function, instruction) else {
                continue;
            };
            let by = function.operation(user);
            let is_shift_by_constant = operation == Operation::Shl
                && !matches!(function.source(instruction, 1).kind(), OperandKind::Register(_));
            let is_folded = match operation {
                Operation::Shl if is_shift_by_constant => matches!(by, Operation::Iadd),
                Operation::Imul | Operation::ImulWide => by == Operation::Iadd,
                Operation::Cvt => {
                    let (to, from) = (function.data_type(instruction), function.source_type(instruction));
                    let widens = !to.is_float() && !from.is_float() && to.bits() == 64 && from.bits() == 32;
                    let is_multiplied = matches!(by, Operation::Shl | Operation::Imul | Operation::Imad);
                    widens && is_multiplied
                }
                Operation::Fneg | Operation::Fabs | Operation::Not => {
                    function.data_type(instruction).bits() >= 32
                }
                _ => false,
            };
            if is_folded {
                folded.insert(instruction);
            }
        }
    }
    folded
}

/// True for the operations that [`folded_instructions`] looks at.
fn may_be_folded(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::Shl
            | Operation::Imul
            | Operation::ImulWide
            | Operation::Cvt
            | Operation::Fneg
            | Operation::Fabs
            | Operation::Not
    )
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

/// The latency up to which an instruction is simple enough to be repeated.
const RECOMPUTED_LATENCY: u32 = 6;

/// How many pairs are searched for an earlier copy of the same value.
const REMEMBERED_PAIRS: usize = 16;

impl<'a> Lowering<'a> {
    /// Adds the node of an instruction, if it takes one, after the nodes that load its constants.
    fn add(&mut self, instruction: Instruction, nodes: &mut Vec<Node>) {
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
                    nodes.push(Node::moving(uniform.collect(), pair));
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
        let is_address = match function.operation(instruction) {
            Operation::Ld | Operation::Atom => number == 0,
            Operation::St => number + 2 == function.sources(instruction).len(),
            _ => false,
        };
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
    fn node(&mut self, instruction: Instruction) -> Option<Node> {
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
        for result in function
            .results(instruction)
            .iter()
            .filter_map(Operand::as_register)
        {
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
        Some(Node {
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
        let text = assembly::text_of(self.function, instruction)?;
        Some(*self.texts.entry(text).or_insert_with(|| Assembly::parse(text)))
    }

    /// Returns the node of inline assembly.
    fn assembly_node(
        &self,
        instruction: Instruction,
        assembly: &Assembly,
        defined: SmallVec<[Cell; 2]>,
        used: SmallVec<[Cell; 4]>,
    ) -> Node {
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
        Node {
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

/// Cycles from an instruction to the use of its result. For memory these are a scheduler's
/// assumptions, not the real latency.
fn latency(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let is_wide = function.data_type(instruction) == DataType::F64;
    match function.operation(instruction) {
        O::Ld => match function.modifiers(instruction).space {
            AddressSpace::Shared | AddressSpace::SharedCluster => 24,
            AddressSpace::EntryParam | AddressSpace::Const => 8,
            _ => 80,
        },
        O::Atom => 80,
        O::Shfl | O::Vote | O::Match | O::Redux => 24,
        O::Frcp | O::Fsqrt | O::Frsqrt | O::Fsin | O::Fcos | O::Flg2 | O::Fex2 | O::Ftanh | O::S2r => 18,
        O::Fdiv | O::Idiv | O::Irem => 40,
        O::Opaque => function.machine_opcode(instruction).map_or(5, |opcode| {
            let reads_memory = function.effects(instruction).contains(OperationFlags::READS);
            assembly::latency_of_opcode(&opcode.name, reads_memory)
        }),
        O::Cvt if is_wide || function.data_type(instruction).is_float() => 12,
        O::ImulHi | O::Popc | O::Brev | O::Bfind | O::Clz => 10,
        _ if is_wide => 10,
        _ => 5,
    }
}

/// True for an instruction without a meaning in Ori that has no effects but several results from
/// several registers, as only operations of tensor cores do.
fn is_matrix_operation(function: &Function, instruction: Instruction) -> bool {
    function.operation(instruction) == Operation::Opaque
        && function.results(instruction).len() >= 2
        && function.sources(instruction).len() >= 4
        && !function
            .effects(instruction)
            .intersects(OperationFlags::READS | OperationFlags::WRITES)
}

/// True for an exact division or root.
fn is_exact(function: &Function, instruction: Instruction) -> bool {
    let modifiers = function.modifiers(instruction);
    !matches!(modifiers.variant, Variant::Approx | Variant::Full) && modifiers.rounding != Rounding::None
}

/// True if ptxas calls a subroutine for it, at least for rare cases, so that its block ends there.
fn calls_subroutine(function: &Function, instruction: Instruction) -> bool {
    match function.operation(instruction) {
        Operation::Idiv | Operation::Irem => function.data_type(instruction).bits() == 64,
        Operation::Fdiv | Operation::Frcp | Operation::Fsqrt => is_exact(function, instruction),
        _ => false,
    }
}

/// True for an instruction that ptxas makes a call if it compiles for a debugger. Until Hopper,
/// exchanges between lanes are among these.
pub fn is_call_for_debugger(function: &Function, instruction: Instruction, sm: u32) -> bool {
    use Operation as O;
    let calls_for_exchange = sm < 90;
    match function.operation(instruction) {
        O::Call | O::Fns => true,
        O::Shfl | O::Vote | O::Match | O::Redux => calls_for_exchange,
        O::InlineAsm if calls_for_exchange => {
            assembly::text_of(function, instruction).is_some_and(|text| Assembly::parse(text).is_exchange)
        }
        _ => calls_subroutine(function, instruction),
    }
}

/// Returns the registers that ptxas' sequence for an instruction needs besides operands and
/// results.
fn temporaries(function: &Function, instruction: Instruction) -> u32 {
    use Operation as O;
    let data_type = function.data_type(instruction);
    let is_exact = is_exact(function, instruction);
    match function.operation(instruction) {
        O::Idiv | O::Irem if data_type.bits() == 64 && data_type.is_signed() => 14,
        O::Idiv | O::Irem if data_type.bits() == 64 => 11,
        O::Idiv | O::Irem if data_type.is_signed() => 7,
        O::Idiv | O::Irem => 5,
        O::Fdiv if data_type == DataType::F64 => 17,
        O::Fdiv if is_exact => 9,
        O::Frcp if data_type == DataType::F64 => 8,
        O::Fsqrt | O::Frsqrt if data_type == DataType::F64 => 13,
        O::Frcp if is_exact => 9,
        O::Fsqrt if is_exact => 6,
        O::Imul | O::Imad if data_type.bits() == 64 => 2,
        _ => 0,
    }
}
