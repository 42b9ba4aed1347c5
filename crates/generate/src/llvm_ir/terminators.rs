//! Terminators, and the bounds of the loops that they close.

use std::io::{self, Write};

use super::operands::text;
use super::{Writer, has_index};
use crate::graph::{Otherwise, Terminator};
use crate::index::Block;
use crate::model::{Type, Use};

impl<W: Write> Writer<'_, W> {
    pub(super) fn terminator(&mut self, block: Block) -> io::Result<()> {
        let graph = &self.function.graph;
        let next = || graph.next(block).expect("the last block does not fall through");
        let goes_back = graph.successors(block).iter().any(|&target| target <= block);
        if self.loops.needs_fuel {
            let spent = i32::from(goes_back);
            self.line(format_args!("%left.{block} = sub i32 %fuel.{block}, {spent}"))?;
        }
        let condition = self.function.bodies[block].condition;
        let condition = || condition.expect("a block with several ways out has a condition");
        match &graph.terminators[block] {
            Terminator::Return => {
                if self.has_snippets && self.random.percent(12) {
                    self.exit()?;
                }
                self.line(format_args!("ret void"))
            }
            Terminator::FallThrough => self.line(format_args!("br label %b{}", next())),
            Terminator::Jump(target) => self.line(format_args!("br label %b{target}")),
            Terminator::Branch { target, otherwise } => {
                let other = match *otherwise {
                    Otherwise::FallThrough => next(),
                    Otherwise::Jump(other) => other,
                };
                if let Some(header) = self.loops.latches[block] {
                    return self.latch(header, other, condition());
                }
                let condition = text(condition(), Type::I1).to_string();
                self.branch(block, condition, *target, other)
            }
            Terminator::Switch(targets) => self.switch(block, targets, condition()),
        }
    }

    /// Ends the thread before the end of its last block. What follows would read far outside of memory.
    fn exit(&mut self) -> io::Result<()> {
        let (address, value) = (self.temporary(), self.temporary());
        self.line(format_args!("call void @llvm.nvvm.exit()"))?;
        self.line(format_args!(
            "%t{address} = getelementptr i8, ptr addrspace(1) %own.out, i64 1099511627776"
        ))?;
        self.line(format_args!(
            "%t{value} = load i32, ptr addrspace(1) %t{address}, align 4, !invariant.load !{{}}"
        ))?;
        self.line(format_args!(
            "store i32 %t{value}, ptr addrspace(1) %own.out, align 4"
        ))
    }

    /// Branches back as long as the count and the program's own condition allow.
    fn latch(&mut self, header: Block, exit: Block, condition: Use) -> io::Result<()> {
        let (_, trips) = self.loops.headers[header].expect("the latch of a loop knows its header");
        self.line(format_args!("%next.{header} = add i32 %count.{header}, 1"))?;
        self.line(format_args!(
            "%more.{header} = icmp slt i32 %next.{header}, {trips}"
        ))?;
        if has_index(header) {
            self.advance_index(header)?;
        }
        let condition = text(condition, Type::I1);
        self.line(format_args!(
            "%again.{header} = and i1 %more.{header}, {condition}"
        ))?;
        self.line(format_args!(
            "br i1 %again.{header}, label %b{header}, label %b{exit}"
        ))
    }

    /// Stores at a place that a loop's index gives, and advances the index. LLVM's loop strength reduction
    /// makes a pointer of it.
    fn advance_index(&mut self, header: Block) -> io::Result<()> {
        let (offset, address) = (self.temporary(), self.temporary());
        self.line(format_args!("%t{offset} = shl i32 %index.{header}, 2"))?;
        self.line(format_args!(
            "%t{address} = getelementptr i8, ptr addrspace(1) %own.out, i32 %t{offset}"
        ))?;
        self.line(format_args!(
            "store i32 %next.{header}, ptr addrspace(1) %t{address}, align 4"
        ))?;
        self.line(format_args!("%index.next.{header} = add i32 %index.{header}, 1"))
    }

    /// A branch that cannot go back without fuel.
    fn branch(&mut self, block: Block, condition: String, target: Block, other: Block) -> io::Result<()> {
        let backward = (target <= block, other <= block);
        let guarded = match backward {
            (false, false) => condition,
            (true, _) | (_, true) => {
                let (left, guarded) = (self.temporary(), self.temporary());
                self.line(format_args!("%t{left} = icmp sgt i32 %left.{block}, 0"))?;
                if backward.0 {
                    self.line(format_args!("%t{guarded} = and i1 {condition}, %t{left}"))?;
                } else {
                    let empty = self.temporary();
                    self.line(format_args!("%t{empty} = xor i1 %t{left}, true"))?;
                    self.line(format_args!("%t{guarded} = or i1 {condition}, %t{empty}"))?;
                }
                format!("%t{guarded}")
            }
        };
        self.line(format_args!("br i1 {guarded}, label %b{target}, label %b{other}"))
    }

    /// A switch on an index that is inside the table most of the time.
    fn switch(&mut self, block: Block, targets: &[Block], index: Use) -> io::Result<()> {
        let masked = self.temporary();
        let mask = targets.len().next_power_of_two() - 1;
        self.line(format_args!(
            "%t{masked} = and i32 {}, {mask}",
            text(index, Type::I32)
        ))?;
        // The default is a forward edge, taken without fuel whatever the index is.
        let forward = targets
            .iter()
            .position(|&target| target > block)
            .expect("every block has a way forward");
        let mut masked = format!("%t{masked}");
        if targets.iter().any(|&target| target <= block) {
            let (left, guarded) = (self.temporary(), self.temporary());
            self.line(format_args!("%t{left} = icmp sgt i32 %left.{block}, 0"))?;
            self.line(format_args!(
                "%t{guarded} = select i1 %t{left}, i32 {masked}, i32 {forward}"
            ))?;
            masked = format!("%t{guarded}");
        }
        write!(self.out, "  switch i32 {masked}, label %b{} [", targets[forward])?;
        for (position, target) in targets
            .iter()
            .enumerate()
            .filter(|&(position, _)| position != forward)
        {
            write!(self.out, " i32 {position}, label %b{target}")?;
        }
        self.line(format_args!("]"))
    }
}
