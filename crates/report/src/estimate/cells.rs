//! Maps the registers of a function to 32-bit registers of the machine.
//!
//! ```text
//! %1:R64 = LD.param::entry          nothing: an operand in the constant bank
//! %2:R64 = CVT.s64.s32 %0           the cell of %0, and one for the sign
//! %3:R64 = CVT.u64.u32 %0           the cell of %0, and zero
//! %4:R32 = CVT.u32.u64 %2           the low cell of %2
//! %5:R64, %6:R64 = UNPACK %7        the cells of %7
//! %8:R32 = MOV 5                    nothing: an immediate
//! %9:R32 = S2R ntid.x               nothing: an operand in the constant bank
//! %10:R64 = IADD %4, 64            the cells of %4, if it is only an address: accesses add constants
//! ```
//!
//! A *cell* is one machine register. ptxas splits wide values in halves, and values that only
//! rename, widen or narrow another value share its registers. A register of the function is therefore a
//! row of *pieces*, each of which is a cell or costs nothing. Registers with several definitions, as in
//! late form, have their own cells. If only the low half of a value is read, its high half costs nothing
//! either.
//!
//! From sm_75 on, values that all lanes share and that integer instructions compute from
//! parameters, constants and each other are kept in uniform registers. `ptxas -v` does not count
//! these.

use super::narrow::narrow_registers;
use oriel_engine::bitvector::EntityBitSet;
use oriel_engine::entity::{Block, EntityRef, EntitySet, Register, entity_impl};
use oriel_ori::{
    AddressSpace, DataType, Divergence, Function, Instruction, Operand, OperandKind, Operation, RegisterFile,
    Special, SpecialRegister, Variant,
};
use smallvec::SmallVec;
use std::ops::Range;

/// A 32-bit register of the machine.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell(u32);
entity_impl!(Cell, "cell");

/// Pieces of one register, the least significant first; a piece without a register is none.
pub type Pieces = SmallVec<[Option<Cell>; 4]>;

/// The cells of a function's registers.
#[derive(Clone, Debug, Default)]
pub struct Cells {
    /// By register: where its pieces begin in `pieces`, with one more entry at the end.
    first: Vec<u32>,
    pieces: Vec<Option<Cell>>,
    /// Number of cells.
    count: usize,
    /// Cells that uniform registers hold.
    uniform: EntitySet<Cell>,
    /// Registers of 64 bits whose high half costs nothing.
    narrow: EntityBitSet<Register>,
}

/// Number of pieces of a register; predicates have none.
fn piece_count(function: &Function, register: Register) -> usize {
    let data = function.register(register);
    match data.file {
        RegisterFile::R | RegisterFile::Ur => usize::from(data.bits).div_ceil(32).max(1),
        RegisterFile::P | RegisterFile::Up | RegisterFile::B => 0,
    }
}

impl Cells {
    /// Finds the cells of all registers.
    pub fn new(function: &Function, divergence: &Divergence, sm: u32) -> Self {
        let uniform_registers = uniform_registers(function, divergence, sm);
        let mut cells = Self {
            narrow: narrow_registers(function),
            ..Self::default()
        };
        let mut at = 0;
        for register in function.registers() {
            cells.first.push(at as u32);
            at += piece_count(function, register);
        }
        cells.first.push(at as u32);
        cells.pieces = vec![None; at];
        let mut is_known = EntitySet::with_capacity(function.register_limit());
        // A definition precedes its uses in layout order, except in loops, where registers have
        // several definitions.
        for instruction in function.all_instructions() {
            for (number, result) in function.results(instruction).iter().enumerate() {
                let Some(register) = result.as_register() else {
                    continue;
                };
                if is_known.insert(register) {
                    let is_uniform = uniform_registers.contains(register);
                    cells.define(function, instruction, number, register, &is_known, is_uniform);
                }
            }
        }
        // Registers that are used before their definition in the layout, and registers without one.
        for register in function.registers() {
            if !is_known.contains(register) && !function.is_unused(register) {
                cells.fresh(register, false);
            }
        }
        cells
    }

    /// Returns the pieces of a register, the least significant first.
    pub fn of(&self, register: Register) -> &[Option<Cell>] {
        let index = register.index();
        &self.pieces[self.first[index] as usize..self.first[index + 1] as usize]
    }

    /// Returns the number of cells.
    pub fn count(&self) -> usize {
        self.count
    }

    /// True if a uniform register holds the cell.
    pub fn is_uniform(&self, cell: Cell) -> bool {
        self.uniform.contains(cell)
    }

    fn new_cell(&mut self, is_uniform: bool) -> Option<Cell> {
        let cell = Cell::new(self.count);
        self.count += 1;
        if is_uniform {
            self.uniform.insert(cell);
        }
        Some(cell)
    }

    /// Returns where the pieces of a register are that may take cells.
    fn needed(&self, register: Register) -> Range<usize> {
        let unread = usize::from(self.narrow.contains(register));
        self.first[register.index()] as usize..self.first[register.index() + 1] as usize - unread
    }

    fn fresh(&mut self, register: Register, is_uniform: bool) {
        for place in self.needed(register) {
            self.pieces[place] = self.new_cell(is_uniform);
        }
    }

    fn define(
        &mut self,
        function: &Function,
        instruction: Instruction,
        number: usize,
        register: Register,
        is_known: &EntitySet<Register>,
        is_uniform: bool,
    ) {
        let renamed = match function.unique_definition(register) {
            Some(_) => self.renamed(function, instruction, number, is_known, is_uniform),
            None => None,
        };
        match renamed {
            Some(pieces) if pieces.len() == self.of(register).len() => {
                let needed = self.needed(register);
                let count = needed.len();
                self.pieces[needed].copy_from_slice(&pieces[..count]);
            }
            _ => self.fresh(register, is_uniform),
        }
    }

    /// Returns the pieces of an operand with an unchanging value: a constant, or a register with
    /// one definition.
    fn lasting(
        &self,
        function: &Function,
        operand: Operand,
        is_known: &EntitySet<Register>,
    ) -> Option<Pieces> {
        match operand.kind() {
            OperandKind::Register(register) => {
                let is_lasting =
                    function.unique_definition(register).is_some() && is_known.contains(register);
                (is_lasting && !operand.is_modified()).then(|| self.of(register).into())
            }
            OperandKind::Immediate(_) | OperandKind::Constant(_) => Some(SmallVec::from_elem(None, 4)),
            _ => None,
        }
    }

    /// Returns the pieces of a result that at least partly renames another value.
    fn renamed(
        &mut self,
        function: &Function,
        instruction: Instruction,
        number: usize,
        is_known: &EntitySet<Register>,
        is_uniform: bool,
    ) -> Option<Pieces> {
        let result = function.result(instruction, number).as_register()?;
        let count = piece_count(function, result);
        let sources = function.sources(instruction);
        let lasting = |number: usize| self.lasting(function, sources.get(number), is_known);
        match function.operation(instruction) {
            Operation::ImplicitDef => Some(SmallVec::from_elem(None, count)),
            Operation::Ld if is_parameter_read(function, instruction) => {
                Some(SmallVec::from_elem(None, count))
            }
            Operation::S2r if is_constant_bank(function, sources.get(0)) => {
                Some(SmallVec::from_elem(None, count))
            }
            Operation::Lea | Operation::FrameAddress => Some(SmallVec::from_elem(None, count)),
            Operation::Mov | Operation::Copy => match sources.get(0).kind() {
                OperandKind::Special(special) => match function.special_data(special) {
                    Special::Symbol { .. } | Special::Frame(_) => Some(SmallVec::from_elem(None, count)),
                    Special::Physical(_) | Special::SpecialRegister(_) | Special::Machine { .. } => None,
                },
                _ => lasting(0).map(|pieces| pieces.into_iter().take(count).collect()),
            },
            Operation::Iadd if is_offset(function, instruction) => lasting(0),
            Operation::Fneg | Operation::Fabs if is_modifier(function, instruction) => lasting(0),
            // Generic and global addresses have the same numbers.
            Operation::Cvta if function.modifiers(instruction).space == AddressSpace::Global => lasting(0),
            Operation::Cvt if sources.len() == 1 => {
                let (to, from) = (function.data_type(instruction), function.source_type(instruction));
                if to.is_float() || from.is_float() || from.bits() < 32 && to.bits() > from.bits() {
                    return None;
                }
                let mut pieces = lasting(0)?;
                pieces.truncate(count);
                while pieces.len() < count {
                    let sign = if from.is_signed() {
                        self.new_cell(is_uniform)
                    } else {
                        None
                    };
                    pieces.push(sign);
                }
                Some(pieces)
            }
            Operation::Pack => {
                let halves = function.data_type(instruction).bits() / (sources.len() as u32).max(1) < 32;
                let mut pieces = Pieces::new();
                for number in 0..sources.len() {
                    pieces.extend(lasting(number)?.into_iter().take(count / sources.len()));
                }
                (!halves).then_some(pieces)
            }
            Operation::Unpack => {
                let pieces = lasting(0)?;
                let parts = function.results(instruction).len();
                // Both halves of 32 bits lie in the same cell, and instructions select one.
                let start = number * pieces.len() / parts;
                Some(pieces.into_iter().skip(start).take(count).collect())
            }
            Operation::Extract => {
                let mut pieces = lasting(0)?;
                if pieces.len() > 1 {
                    let is_high = function.modifiers(instruction).variant == Variant::High;
                    pieces = SmallVec::from_elem(pieces[usize::from(is_high)], 1);
                }
                Some(pieces)
            }
            _ => None,
        }
    }
}

/// True for a sum with a constant that only memory accesses read; these add a constant by
/// themselves.
fn is_offset(function: &Function, instruction: Instruction) -> bool {
    /// The limit of the constant in an access.
    const LIMIT: u64 = 1 << 23;
    let Some(result) = function.result(instruction, 0).as_register() else {
        return false;
    };
    let offset = function.integer(function.source(instruction, 1));
    let is_address = |(user, number)| function.accessed_address(user) == Some(number);
    offset.is_some_and(|offset| offset.unsigned_abs() < LIMIT) && function.uses(result).all(is_address)
}

/// True for a sign change that only floating-point instructions read; these apply it to their
/// operands.
fn is_modifier(function: &Function, instruction: Instruction) -> bool {
    use Operation as O;
    let Some(result) = function.result(instruction, 0).as_register() else {
        return false;
    };
    let mut readers = function.uses(result).map(|(user, _)| function.operation(user));
    let is_float = |reader| {
        matches!(
            reader,
            O::Fadd | O::Fsub | O::Fmul | O::Ffma | O::Fsetp | O::Fmin | O::Fmax
        )
    };
    function.data_type(instruction).bits() >= 32 && readers.all(is_float)
}

/// The beginning of the names of functions into which clang puts the bodies of OpenCL kernels. The
/// kernel passes its own parameters on, and ptxas puts the body back.
const KERNEL_BODY: &str = "__clang_ocl_kern_imp_";

/// True if it reads a kernel parameter at a known offset; instructions take that as an operand.
pub fn is_parameter_read(function: &Function, instruction: Instruction) -> bool {
    // A part of an aggregate is read through a register that holds the aggregate's address.
    let is_symbol = |register: Register| {
        function.unique_definition(register).is_some_and(|definition| {
            let source = function.sources(definition).iter().next().map(Operand::kind);
            function.operation(definition).is_copy() && matches!(source, Some(OperandKind::Special(_)))
        })
    };
    let is_constant = |source: Operand| match source.kind() {
        OperandKind::Register(register) => is_symbol(register),
        OperandKind::Predicate(_) => false,
        OperandKind::None
        | OperandKind::Immediate(_)
        | OperandKind::Constant(_)
        | OperandKind::Special(_) => true,
        OperandKind::Target(_) | OperandKind::FallThrough(_) => false,
    };
    let is_parameter = match function.modifiers(instruction).space {
        AddressSpace::EntryParam => true,
        AddressSpace::DeviceParam => function.info.name.starts_with(KERNEL_BODY),
        _ => false,
    };
    function.operation(instruction) == Operation::Ld
        && is_parameter
        && function.sources(instruction).iter().all(is_constant)
}

/// True for the sizes of a launch, which instructions take as operands, like parameters.
fn is_constant_bank(function: &Function, source: Operand) -> bool {
    use SpecialRegister as S;
    let OperandKind::Special(special) = source.kind() else {
        return false;
    };
    matches!(
        function.special_data(special),
        Special::SpecialRegister(S::NtidX | S::NtidY | S::NtidZ | S::NctaidX | S::NctaidY | S::NctaidZ)
    )
}

/// True if the uniform datapath can compute the instruction.
fn is_uniform_operation(function: &Function, instruction: Instruction) -> bool {
    use Operation as O;
    let is_integer = |data_type: DataType| !data_type.is_float() && data_type.bits() != 16;
    match function.operation(instruction) {
        O::Iadd | O::Isub | O::Imul | O::ImulWide | O::Imad | O::ImadWide | O::Ineg => true,
        O::And | O::Or | O::Xor | O::Not | O::Shl | O::Shr | O::Shf | O::Prmt | O::Popc | O::Bmsk => true,
        O::Sel | O::Mov | O::Copy | O::Cvta | O::Lea | O::FrameAddress | O::Pack | O::Unpack => true,
        O::Isetp | O::Imin | O::Imax => true,
        O::Cvt => {
            is_integer(function.data_type(instruction)) && is_integer(function.source_type(instruction))
        }
        O::S2r => true,
        O::Ld => matches!(
            function.modifiers(instruction).space,
            AddressSpace::EntryParam | AddressSpace::Const
        ),
        _ => false,
    }
}

/// Returns the registers, including predicates, of which every definition can run on the uniform
/// datapath with operands that it can read.
fn uniform_registers(function: &Function, divergence: &Divergence, sm: u32) -> EntityBitSet<Register> {
    let mut found = EntityBitSet::with_room(function.register_limit());
    let has_datapath = sm >= 75;
    let can_hold = |register: Register| {
        let mut definitions = function.definitions(register).peekable();
        definitions.peek().is_some()
            && definitions.all(|(instruction, _)| {
                let block = function.block_of(instruction);
                is_uniform_operation(function, instruction)
                    && block.is_some_and(|block: Block| !divergence.is_divergent_control(block))
            })
    };
    if has_datapath {
        let registers = function.registers();
        found.extend(registers.filter(|&register| divergence.is_uniform(register) && can_hold(register)));
    }
    // A register computed from one that is not uniform is not uniform either.
    let mut pending: Vec<Register> = function
        .registers()
        .filter(|&register| !found.contains(register))
        .collect();
    while let Some(register) = pending.pop() {
        for (user, _) in function.uses(register) {
            for result in function.result_registers(user) {
                if found.remove(result) {
                    pending.push(result);
                }
            }
        }
    }
    found
}
