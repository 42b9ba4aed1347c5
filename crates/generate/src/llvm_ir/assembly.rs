//! Inline assembly and opaque intrinsics among loads and stores of the thread's own memory.
//!
//! A snippet is one of these:
//!
//! - a statement or an intrinsic alone, operands loaded, results stored;
//! - a load, an effect and the same load, then a store of the difference; or a store, an effect,
//!   and a load or another store. The places are few, so loads of one place also occur in several
//!   blocks;
//! - several effects in order, like `cp.async`, `commit_group`, `wait_group`;
//! - a product of matrices in the background (`matrices.rs`).
//!
//! A counted loop may carry two more values, both of which are the result of a statement with an
//! early-clobber result that reads one of them:
//!
//! ```text
//! header: %early.a = phi i32 [ … ], [ %early, %latch ]
//!         %early.b = phi i32 [ … ], [ %early, %latch ]
//! latch:  %early = call i32 asm "…", "=&r,r"(i32 %early.a)
//!         store %early.b; store %early                          // here, or after the loop
//! ```
//!
//! The statements' results cannot be compared with a host; see
//! `crates/interpreter/src/uninterpreted.rs`.

use std::io::{self, Write};

use super::statements::{
    ACCESSES, COMMON_INTRINSICS, EARLY, INTRINSICS, Intrinsic, Kind, PURE, Statement, TOGETHER, VOLATILE,
};
use super::{Options, Writer};
use crate::index::Block;
use oriel_random::Random;

/// The percentage of blocks that end with a snippet, and of instructions that are followed by one.
const BLOCK_PERCENT: u32 = 45;
const INSTRUCTION_PERCENT: u32 = 5;

/// The percentage of counted loops that carry an early-clobber result.
const LOOP_PERCENT: u32 = 60;

/// Places that loads before and after effects access, in global and in shared memory; 16 bytes
/// apart.
const PLACES: usize = 3;

/// Functions that the snippets call.
pub(super) fn header(out: &mut impl Write, options: &Options) -> io::Result<()> {
    let mut names = Vec::new();
    for intrinsic in INTRINSICS.iter().chain(COMMON_INTRINSICS) {
        let is_met = intrinsic
            .level
            .is_met(options.sm, options.is_architecture_specific);
        if is_met && !names.contains(&intrinsic.name) {
            names.push(intrinsic.name);
            writeln!(
                out,
                "declare {} @llvm.nvvm.{}({})",
                intrinsic.result, intrinsic.name, intrinsic.parameters
            )?;
        }
    }
    writeln!(out)
}

/// How a counted loop carries an early-clobber result. All of this influences how LLVM coalesces
/// registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct EarlyLoop {
    /// True if the value that is not read comes first.
    is_swapped: bool,
    /// True if the value that is not read is stored in the loop instead of after it.
    stores_carried: bool,
    /// True if the new value is stored in the loop instead of after it.
    stores_result: bool,
}

impl EarlyLoop {
    /// Returns how a loop carries it, if it does.
    pub(super) fn choose(random: &mut Random) -> Option<Self> {
        let chosen = Self {
            is_swapped: random.percent(20),
            stores_carried: random.percent(25),
            stores_result: random.percent(40),
        };
        random.percent(LOOP_PERCENT).then_some(chosen)
    }
}

/// The spelling of a statement.
#[derive(Clone, Copy)]
struct Manner {
    is_volatile: bool,
    clobbers_memory: bool,
    is_convergent: bool,
}

impl Manner {
    /// For statements that only compute: most people write `volatile`, some also "memory".
    fn of_pure(random: &mut Random) -> Self {
        let is_volatile = random.percent(40);
        Self {
            is_volatile,
            clobbers_memory: is_volatile && random.percent(20),
            is_convergent: false,
        }
    }

    fn of_effect(random: &mut Random) -> Self {
        Self {
            is_volatile: true,
            clobbers_memory: random.percent(50),
            is_convergent: random.percent(10),
        }
    }

    fn of_access(random: &mut Random) -> Self {
        Self {
            is_volatile: random.percent(85),
            clobbers_memory: true,
            is_convergent: false,
        }
    }

    fn of_threads_together(random: &mut Random) -> Self {
        Self {
            is_convergent: true,
            ..Self::of_effect(random)
        }
    }
}

/// Returns one of a table's rows that the processor supports.
fn pick<T: Copy>(random: &mut Random, rows: &[T], is_met: impl Fn(&T) -> bool) -> T {
    let rows: Vec<T> = rows.iter().copied().filter(|row| is_met(row)).collect();
    random.pick(&rows)
}

impl<W: Write> Writer<'_, W> {
    /// Writes the snippet chosen for the end of a block.
    pub(super) fn assembly_at_end(&mut self, runs_once: bool) -> io::Result<()> {
        if self.random.percent(BLOCK_PERCENT) {
            self.assembly_snippet(runs_once)?;
        }
        Ok(())
    }

    /// Writes the snippet chosen for the place after an instruction.
    pub(super) fn assembly_behind(&mut self, runs_once: bool) -> io::Result<()> {
        if self.random.percent(INSTRUCTION_PERCENT) {
            self.assembly_snippet(runs_once)?;
        }
        Ok(())
    }

    fn assembly_snippet(&mut self, runs_once: bool) -> io::Result<()> {
        // Every thread of the group has to take part.
        let product = if runs_once && self.multiplies_in_background() {
            2
        } else {
            0
        };
        match self.random.weighted(&[4, 4, 3, 2, 2, product]) {
            0 => self.plain_statement(),
            1 => self.load_around_effect(runs_once),
            2 => self.store_around_effect(runs_once),
            3 => self.early_statement(),
            5 => self.product(),
            _several => {
                for _ in 0..self.random.between(1, 3) {
                    self.effect(runs_once)?;
                }
                Ok(())
            }
        }
    }

    fn pick_statement(&mut self, rows: &[Statement]) -> Statement {
        let (sm, is_specific) = self.processor;
        pick(self.random, rows, |row| row.level.is_met(sm, is_specific))
    }

    fn plain_statement(&mut self) -> io::Result<()> {
        if self.random.percent(35) {
            let statement = self.pick_statement(ACCESSES);
            let manner = Manner::of_access(self.random);
            return self.statement(&statement, manner);
        }
        let statement = self.pick_statement(PURE);
        let manner = Manner::of_pure(self.random);
        self.statement(&statement, manner)
    }

    fn early_statement(&mut self) -> io::Result<()> {
        let statement = self.pick_statement(EARLY);
        let manner = Manner::of_pure(self.random);
        self.statement(&statement, manner)
    }

    /// An effect that other instructions must not cross.
    fn effect(&mut self, runs_once: bool) -> io::Result<()> {
        let (sm, is_specific) = self.processor;
        let is_met = |row: &Intrinsic| row.level.is_met(sm, is_specific);
        let together = if runs_once { 4 } else { 0 };
        match self.random.weighted(&[5, 5, 2, together, together]) {
            0 => {
                let statement = self.pick_statement(VOLATILE);
                let manner = Manner::of_effect(self.random);
                self.statement(&statement, manner)
            }
            1 => {
                let intrinsic = pick(self.random, INTRINSICS, is_met);
                self.intrinsic(&intrinsic)
            }
            2 => {
                let statement = self.pick_statement(ACCESSES);
                let manner = Manner::of_access(self.random);
                self.statement(&statement, manner)
            }
            3 => {
                let statement = self.pick_statement(TOGETHER);
                let manner = Manner::of_threads_together(self.random);
                self.statement(&statement, manner)
            }
            _together => {
                let intrinsic = pick(self.random, COMMON_INTRINSICS, is_met);
                self.intrinsic(&intrinsic)
            }
        }
    }

    /// Returns one of a few places in the thread's own memory, with its address space.
    fn shared_or_out(&mut self) -> io::Result<(usize, u32)> {
        let space = self.random.pick(&[1, 3]);
        Ok((self.watched(space)?, space))
    }

    /// Returns the address of one of the watched places of a space.
    fn watched(&mut self, space: u32) -> io::Result<usize> {
        let base = if space == 1 { "%own.out" } else { "%own.shared" };
        let offset = 16 * self.random.index(PLACES);
        self.value(format_args!(
            "getelementptr i8, ptr addrspace({space}) {base}, i64 {offset}"
        ))
    }

    fn load_around_effect(&mut self, runs_once: bool) -> io::Result<()> {
        let (place, space) = self.shared_or_out()?;
        let load = |writer: &mut Self| {
            writer.value(format_args!(
                "load i32, ptr addrspace({space}) %t{place}, align 16"
            ))
        };
        let before = load(self)?;
        self.effect(runs_once)?;
        let after = load(self)?;
        if self.random.coin() {
            let difference = self.value(format_args!("sub i32 %t{after}, %t{before}"))?;
            return self.own_store("i32", 4, difference);
        }
        self.own_store("i32", 4, before)?;
        self.own_store("i32", 4, after)
    }

    fn store_around_effect(&mut self, runs_once: bool) -> io::Result<()> {
        let value = self.own_load("i32", 4)?;
        let (place, space) = self.shared_or_out()?;
        self.line(format_args!(
            "store i32 %t{value}, ptr addrspace({space}) %t{place}, align 16"
        ))?;
        self.effect(runs_once)?;
        if self.random.coin() {
            let number = self.random.below(1000);
            return self.line(format_args!(
                "store i32 {number}, ptr addrspace({space}) %t{place}, align 16"
            ));
        }
        let after = self.value(format_args!(
            "load i32, ptr addrspace({space}) %t{place}, align 16"
        ))?;
        self.own_store("i32", 4, after)
    }

    /// Formats an operand with its type.
    pub(super) fn operand(&mut self, kind: Kind) -> io::Result<String> {
        Ok(match kind {
            Kind::I1 => format!("i1 %t{}", self.predicate()?),
            Kind::I16 => format!("i16 %t{}", self.own_load("i16", 2)?),
            Kind::I32 if self.random.percent(15) => "i32 %p_i32".to_owned(),
            Kind::I32 => format!("i32 %t{}", self.own_load("i32", 4)?),
            Kind::I64 => format!("i64 %t{}", self.own_load("i64", 8)?),
            Kind::F32 | Kind::F64 => {
                let (ty, bytes) = if kind == Kind::F32 {
                    ("float", 4)
                } else {
                    ("double", 8)
                };
                // The bits of a NaN are not defined.
                let value = self.own_load(ty, bytes)?;
                let ordered = self.value(format_args!("fcmp ord {ty} %t{value}, 0.0"))?;
                let kept = self.value(format_args!("select i1 %t{ordered}, {ty} %t{value}, {ty} 0.5"))?;
                format!("{ty} %t{kept}")
            }
            Kind::Number => format!("i32 {}", self.random.between(0, 7)),
            Kind::Global => format!("ptr addrspace(1) %t{}", self.watched(1)?),
            Kind::Indirect => format!("ptr addrspace(1) elementtype(i32) %t{}", self.watched(1)?),
            Kind::Shared => {
                let place = self.watched(3)?;
                let number = self.value(format_args!("ptrtoint ptr addrspace(3) %t{place} to i32"))?;
                format!("i32 %t{number}")
            }
        })
    }

    fn statement(&mut self, statement: &Statement, manner: Manner) -> io::Result<()> {
        let operands = statement.operands.iter().map(|&kind| self.operand(kind));
        let operands = operands.collect::<io::Result<Vec<String>>>()?;
        let result = self.call(statement, manner, &operands)?;
        let several = statement.results.len() > 1;
        for (number, &kind) in statement.results.iter().enumerate() {
            let value = match several {
                true => {
                    let ty = result_type(statement);
                    self.value(format_args!("extractvalue {ty} %t{result}, {number}"))?
                }
                false => result,
            };
            self.store_result(name(kind), value)?;
        }
        Ok(())
    }

    fn store_result(&mut self, ty: &str, value: usize) -> io::Result<()> {
        match ty {
            "i1" => self.store_predicate(value),
            "i16" => self.own_store(ty, 2, value),
            "i64" | "double" => self.own_store(ty, 8, value),
            _ => self.own_store(ty, 4, value),
        }
    }

    /// Calls a statement; returns the temporary with its result.
    fn call(&mut self, statement: &Statement, manner: Manner, operands: &[String]) -> io::Result<usize> {
        let ty = result_type(statement);
        let volatile = if manner.is_volatile { "sideeffect " } else { "" };
        let mut constraints = statement.constraints.to_owned();
        if manner.clobbers_memory {
            let separator = if constraints.is_empty() { "" } else { "," };
            constraints = format!("{constraints}{separator}~{{memory}}");
        }
        let convergent = if manner.is_convergent { " convergent" } else { "" };
        let (text, operands) = (statement.text, operands.join(", "));
        let call = format!("call {ty} asm {volatile}\"{text}\", \"{constraints}\"({operands}){convergent}");
        if statement.results.is_empty() {
            self.line(format_args!("{call}"))?;
            return Ok(0);
        }
        self.value(format_args!("{call}"))
    }

    fn intrinsic(&mut self, intrinsic: &Intrinsic) -> io::Result<()> {
        let mut arguments = intrinsic.arguments.to_owned();
        for (name, space) in [("@out", 1), ("@shared", 3)] {
            if arguments.contains(name) {
                let place = self.watched(space)?;
                arguments = arguments.replace(name, &format!("%t{place}"));
            }
        }
        if arguments.contains("@i32") {
            let value = self.own_load("i32", 4)?;
            arguments = arguments.replace("@i32", &format!("%t{value}"));
        }
        let (name, ty) = (intrinsic.name, intrinsic.result);
        let call = format!("call {ty} @llvm.nvvm.{name}({arguments})");
        match ty {
            "void" => self.line(format_args!("{call}")),
            "{ i32, i1 }" => {
                let both = self.value(format_args!("{call}"))?;
                let elected = self.value(format_args!("extractvalue {ty} %t{both}, 1"))?;
                self.store_predicate(elected)
            }
            _ => {
                let value = self.value(format_args!("{call}"))?;
                self.store_result(ty, value)
            }
        }
    }

    /// Writes the two values that a loop carries, at its header, and those that a loop leaves, at
    /// its exit.
    pub(super) fn early_phis(&mut self, block: Block) -> io::Result<()> {
        if let (Some(early), Some((latch, _))) = (self.loops.early[block], self.loops.headers[block]) {
            let mut values = [("a", "%p_i32"), ("b", "0")];
            if early.is_swapped {
                values.reverse();
            }
            for (name, start) in values {
                write!(self.out, "  %early.{name}.{block} = phi i32")?;
                self.incoming(block, |_, predecessor| match predecessor == latch {
                    true => format!("%early.{block}"),
                    false => start.to_owned(),
                })?;
            }
        }
        for header in self.loops.early_exits[block].clone() {
            let (latch, _) = self.loops.headers[header].expect("the block is a header");
            for (to, from) in [("left.b", "early.b"), ("left", "early")] {
                write!(self.out, "  %{to}.{header} = phi i32")?;
                self.incoming(block, |_, predecessor| match predecessor == latch {
                    true => format!("%{from}.{header}"),
                    false => "0".to_owned(),
                })?;
            }
        }
        Ok(())
    }

    fn store_own_word(&mut self, value: &str) -> io::Result<()> {
        let (place, space) = self.own_place(4)?;
        self.line(format_args!(
            "store i32 {value}, ptr addrspace({space}) %t{place}, align 4"
        ))
    }

    /// Stores the results of the loops that end here, if they are stored after the loop.
    pub(super) fn early_stores_at_exit(&mut self, block: Block) -> io::Result<()> {
        for header in self.loops.early_exits[block].clone() {
            let early = self.loops.early[header].expect("the loop carries a result");
            if !early.stores_carried {
                self.store_own_word(&format!("%left.b.{header}"))?;
            }
            if !early.stores_result {
                self.store_own_word(&format!("%left.{header}"))?;
            }
        }
        Ok(())
    }

    /// Writes the next values that a loop carries, at its latch.
    pub(super) fn early_latch(&mut self, latch: Block) -> io::Result<()> {
        let Some(header) = self.loops.latches[latch] else {
            return Ok(());
        };
        let Some(early) = self.loops.early[header] else {
            return Ok(());
        };
        let volatile = if self.random.percent(70) {
            "sideeffect "
        } else {
            ""
        };
        self.line(format_args!(
            "%early.{header} = call i32 asm {volatile}\"mov.u32 $0, 5;\\0A\\09add.u32 $0, $0, $1;\", \"=&r,r\"(i32 \
             %early.a.{header})"
        ))?;
        if early.stores_carried {
            self.store_own_word(&format!("%early.b.{header}"))?;
        }
        if early.stores_result {
            self.store_own_word(&format!("%early.{header}"))?;
        }
        Ok(())
    }
}

fn name(kind: Kind) -> &'static str {
    match kind {
        Kind::I1 => "i1",
        Kind::I16 => "i16",
        Kind::I32 | Kind::Number | Kind::Shared => "i32",
        Kind::I64 => "i64",
        Kind::F32 => "float",
        Kind::F64 => "double",
        Kind::Global | Kind::Indirect => "ptr addrspace(1)",
    }
}

fn result_type(statement: &Statement) -> String {
    match statement.results {
        [] => "void".to_owned(),
        [only] => name(*only).to_owned(),
        several => {
            let names: Vec<&str> = several.iter().map(|&kind| name(kind)).collect();
            format!("{{ {} }}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::statements::Level;
    use super::*;

    /// The constraints match the number of results and operands, and the text names them all.
    #[test]
    fn statements_fit_their_constraints() {
        for statement in [PURE, EARLY, VOLATILE, ACCESSES, TOGETHER].concat() {
            let constraints: Vec<&str> = statement
                .constraints
                .split(',')
                .filter(|it| !it.is_empty())
                .collect();
            let is_result = |it: &&&str| it.starts_with('=') && !it.contains('*');
            let results = constraints.iter().filter(is_result).count();
            assert_eq!(results, statement.results.len(), "{}", statement.text);
            let operands = constraints.len() - results;
            assert_eq!(operands, statement.operands.len(), "{}", statement.text);
            for (number, constraint) in constraints.iter().enumerate() {
                let is_tied = constraint.parse::<usize>().is_ok();
                let is_named = statement.text.contains(&format!("${number}"));
                assert!(is_named || is_tied, "{} has no ${number}", statement.text);
            }
        }
    }

    #[test]
    fn processors_have_what_they_have() {
        assert!(Level::Ampere.is_met(80, false) && !Level::Hopper.is_met(80, false));
        assert!(Level::Ptx8.is_met(90, true) && !Level::Ptx8.is_met(90, false));
        assert!(Level::Ptx8.is_met(100, false) && !Level::Specific.is_met(100, false));
    }
}
