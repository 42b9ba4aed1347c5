//! Reads inline assembly as far as a scheduler cares: which memory it accesses, how long it takes,
//! and whether anything may pass it.
//!
//! ```text
//! mov.u32 $0, 0x0; @$2 ld.global.b32 { $0 }, [ $1 + 8 ];      a load, address in operand 1, 8 bytes on
//! mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0, …    a matrix operation
//! bar.sync 1;                                                 a fence
//! ```
//!
//! For LLVM, assembly with side effects must stay where it is. For ptxas it consists of ordinary
//! instructions, so a load in assembly is moved up like any load. Without this file, code of front
//! ends that write most of their accesses as assembly (Triton) would seem to have no loads in
//! flight.

use oriel_ori::{AddressSpace, Function, Instruction};

/// The order that a piece of assembly keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AssemblyOrder {
    /// Only its operands.
    #[default]
    Free,
    /// It reads memory.
    Load,
    /// It writes memory.
    Store,
    /// Nothing passes it.
    Fence,
}

/// A piece of inline assembly.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Assembly {
    /// Its order relative to other memory accesses.
    pub order: AssemblyOrder,
    /// The memory that it accesses.
    pub space: AddressSpace,
    /// The operand that is the address of its only access, by LLVM's number, and the bytes added.
    pub address: Option<(usize, i64)>,
    /// Bytes that the access reads or writes.
    pub bytes: i64,
    /// Cycles until its results are available.
    pub latency: u32,
    /// Registers that it declares for itself.
    pub temporaries: u32,
    /// Operations of tensor cores.
    pub matrix_operations: u32,
    /// Machine instructions.
    pub instructions: u32,
    /// True if it copies between memories without registers.
    pub is_copy: bool,
    /// True if it exchanges values between lanes.
    pub is_exchange: bool,
    /// True if nothing runs after it.
    pub exits: bool,
}

/// Latency of arithmetic.
const ARITHMETIC: u32 = 5;
/// Latency of special functions and of tensor cores.
const SPECIAL: u32 = 18;
/// Latency of shared memory and of exchange between lanes.
const SHARED: u32 = 24;
/// Latency of global memory.
const GLOBAL: u32 = 80;

impl Assembly {
    /// Reads the text of assembly.
    pub fn parse(text: &str) -> Self {
        let mut found = Self {
            latency: ARITHMETIC,
            bytes: 16,
            ..Self::default()
        };
        let mut accesses = 0;
        for statement in text.split([';', '\n']) {
            let statement = statement.trim_matches([' ', '\t', '{', '}']);
            let is_guarded = statement.starts_with('@');
            let statement = match statement.strip_prefix('@') {
                Some(guarded) => guarded
                    .split_once(char::is_whitespace)
                    .map_or("", |(_, rest)| rest),
                None => statement,
            };
            let (operation, operands) = statement
                .split_once(char::is_whitespace)
                .unwrap_or((statement, ""));
            if operation.is_empty() || operation.starts_with("//") {
                continue;
            }
            if operation.starts_with(".reg") {
                found.declare(operation, operands);
                continue;
            }
            found.instructions += 1;
            found.exits |= operation == "exit" && !is_guarded;
            if found.add(operation) {
                accesses += 1;
                found.address = address_of(operands).filter(|_| accesses == 1);
                found.bytes = bytes_of(operation);
            }
        }
        found
    }

    /// Counts declared registers that are not predicates.
    fn declare(&mut self, operation: &str, operands: &str) {
        let text = [operation, operands].join(" ");
        if !text.contains(".pred") {
            let count = text.split(',').count() as u32;
            let is_wide = ["64", ".f64"].iter().any(|width| text.contains(width));
            self.temporaries += if is_wide { 2 * count } else { count };
        }
    }

    /// Adds an instruction; true for an access of memory with an address.
    fn add(&mut self, operation: &str) -> bool {
        let mut parts = operation.split('.');
        let (name, second) = (parts.next().unwrap_or(""), parts.next().unwrap_or(""));
        let (order, latency) = match (name, second) {
            ("ld" | "ldu", _) => {
                let is_global = matches!(space_of(operation), AddressSpace::Global | AddressSpace::Generic);
                let is_free = operation.contains(".nc") || space_of(operation) == AddressSpace::Const;
                let order = if is_free {
                    AssemblyOrder::Free
                } else {
                    AssemblyOrder::Load
                };
                (order, if is_global { GLOBAL } else { SHARED })
            }
            ("ldmatrix", _) => (AssemblyOrder::Load, SHARED),
            ("st" | "stmatrix" | "red", _) => (AssemblyOrder::Store, 0),
            ("atom", _) => (AssemblyOrder::Store, GLOBAL),
            ("cp", "async") if !operation.contains("wait") => {
                self.is_copy = true;
                (AssemblyOrder::Store, 0)
            }
            ("mma" | "wmma", _) | ("wgmma", "mma_async") => {
                self.matrix_operations += 1;
                (AssemblyOrder::Free, SPECIAL)
            }
            ("tex" | "tld4" | "suld" | "prefetch" | "prefetchu", _) => (AssemblyOrder::Free, GLOBAL),
            ("shfl" | "vote" | "match" | "redux" | "activemask" | "elect", _) => {
                (AssemblyOrder::Free, SHARED)
            }
            ("ex2" | "lg2" | "sin" | "cos" | "tanh" | "rcp" | "rsqrt" | "sqrt", _) => {
                (AssemblyOrder::Free, SPECIAL)
            }
            ("div" | "rem", _) => (AssemblyOrder::Free, 40),
            (
                "bar"
                | "barrier"
                | "membar"
                | "fence"
                | "mbarrier"
                | "wgmma"
                | "tcgen05"
                | "call"
                | "bra"
                | "brx"
                | "ret"
                | "exit"
                | "trap"
                | "setmaxnreg"
                | "griddepcontrol"
                | "nanosleep"
                | "cp"
                | "clusterlaunchcontrol",
                _,
            ) => (AssemblyOrder::Fence, 0),
            // A label: there is control flow.
            _ if operation.ends_with(':') => (AssemblyOrder::Fence, 0),
            _ => (AssemblyOrder::Free, ARITHMETIC),
        };
        self.latency = self.latency.max(latency);
        self.is_exchange |= matches!(name, "shfl" | "vote" | "match" | "redux");
        let is_access = matches!(
            name,
            "ld" | "ldu" | "ldmatrix" | "st" | "stmatrix" | "red" | "atom"
        );
        if is_access || self.is_copy {
            self.space = match name {
                "ldmatrix" | "stmatrix" | "cp" => AddressSpace::Shared,
                _ => space_of(operation),
            };
        }
        self.order = match (self.order, order) {
            (AssemblyOrder::Fence, _) | (_, AssemblyOrder::Fence) => AssemblyOrder::Fence,
            (AssemblyOrder::Store, _) | (_, AssemblyOrder::Store) => AssemblyOrder::Store,
            (AssemblyOrder::Load, _) | (_, AssemblyOrder::Load) => AssemblyOrder::Load,
            (AssemblyOrder::Free, AssemblyOrder::Free) => AssemblyOrder::Free,
        };
        is_access
    }

    /// Finds the source operand that has the address, and the bytes added to it.
    pub fn address_source(&self, function: &Function, instruction: Instruction) -> Option<(usize, i64)> {
        let (wanted, offset) = self.address?;
        let sources = function.sources(instruction);
        // Behind text and flags, a word before each group has its kind and its count of operands.
        let (mut number, mut group) = (2, 0);
        while number < sources.len() {
            let word = function.integer(sources.get(number))? as u32;
            let count = (word >> 3 & 0x1fff) as usize;
            let is_result = matches!(word & 7, 2..=4);
            number += 1;
            if group == wanted {
                return (!is_result && count == 1).then_some((number, offset));
            }
            number += if is_result { 0 } else { count };
            group += 1;
        }
        None
    }
}

fn space_of(operation: &str) -> AddressSpace {
    let has = |name: &str| operation.contains(name);
    if has(".global") {
        AddressSpace::Global
    } else if has(".shared") {
        AddressSpace::Shared
    } else if has(".local") {
        AddressSpace::Local
    } else if has(".const") || has(".param") {
        AddressSpace::Const
    } else {
        AddressSpace::Generic
    }
}

/// Returns the operand between brackets, and the constant added to it.
fn address_of(operands: &str) -> Option<(usize, i64)> {
    let (_, inner) = operands.split_once('[')?;
    let (inner, _) = inner.split_once(']')?;
    let (base, offset) = inner.split_once('+').unwrap_or((inner, "0"));
    let number = base.trim().strip_prefix('$')?;
    let number = number.trim_matches(['{', '}']).parse().ok()?;
    Some((number, offset.trim().parse().unwrap_or(0)))
}

/// Returns the bytes that an access reads or writes.
fn bytes_of(operation: &str) -> i64 {
    let mut bytes = 4;
    let mut count = 1;
    for part in operation.split('.') {
        match part {
            "v2" => count = 2,
            "v4" | "x4" => count = 4,
            "v8" => count = 8,
            _ => {
                let digits = part.trim_start_matches(['b', 'u', 's', 'f']);
                if digits.len() + 1 == part.len()
                    && let Ok(bits) = digits.parse::<i64>()
                {
                    bytes = bits / 8;
                }
            }
        }
    }
    bytes * count
}

/// Returns the latency of a machine instruction that has no meaning in Ori, by its name in LLVM.
pub fn latency_of_opcode(name: &str, reads_memory: bool) -> u32 {
    if reads_memory {
        return SHARED;
    }
    let special = ["EX2", "LG2", "SIN", "COS", "TANH", "RCP", "RSQRT", "SQRT"];
    if special.iter().any(|prefix| name.contains(prefix)) {
        SPECIAL
    } else {
        ARITHMETIC
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guarded_load_is_a_load() {
        let found = Assembly::parse("mov.u32 $0, 0x0;\n\t@$2 ld.global.b32 { $0 }, [ $1 + 8 ];");
        assert_eq!(found.order, AssemblyOrder::Load);
        assert_eq!(
            (found.space, found.address, found.bytes),
            (AddressSpace::Global, Some((1, 8)), 4)
        );
        assert_eq!((found.latency, found.instructions), (GLOBAL, 2));
        let wide = Assembly::parse("ld.shared.v4.b32 {$0, $1, $2, $3}, [$4];");
        assert_eq!(
            (wide.space, wide.bytes, wide.latency),
            (AddressSpace::Shared, 16, SHARED)
        );
    }

    #[test]
    fn only_what_synchronises_is_a_fence() {
        let order = |text| Assembly::parse(text).order;
        for free in [
            "mul.f16 $0, $1, $2;",
            "ld.global.nc.u32 $0, [$1];",
            "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {$0}, {$1}, {$2}, {$3};",
            "mov.u32 $0, %laneid;",
        ] {
            assert_eq!(order(free), AssemblyOrder::Free, "{free}");
        }
        for store in [
            "@$2 st.global.b16 [ $1 + 0 ], { $0 };",
            "red.gpu.global.add.f32 [$0], $1;",
            "cp.async.cg.shared.global [$0], [$1], 16;",
        ] {
            assert_eq!(order(store), AssemblyOrder::Store, "{store}");
        }
        for fence in [
            "bar.sync 0;",
            "cp.async.wait_group 2;",
            "fence.proxy.async;",
            "L1: bra L1;",
        ] {
            assert_eq!(order(fence), AssemblyOrder::Fence, "{fence}");
        }
    }

    #[test]
    fn declared_registers_are_temporaries() {
        let found = Assembly::parse("{.reg .pred p; .reg .b32 a, b; .reg .f64 c; setp.ne.b32 p, $0, 0;}");
        assert_eq!((found.temporaries, found.instructions), (4, 1));
    }
}
