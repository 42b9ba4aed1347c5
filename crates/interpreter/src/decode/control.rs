//! Branches, PHIs and calls.

use super::*;

/// Control flow.
impl Compiler<'_> {
    pub(super) fn compile_branch(&mut self, block: Block, operation: Operation) -> Result<(), Unsupported> {
        let successors: Vec<Block> = self.function.successors(block).collect();
        let sources = self.function.sources(self.current);
        // The copies of the only edge out of a block are made before the jump.
        if operation == Operation::Bra && sources.len() == 1 {
            let &[target] = successors.as_slice() else {
                return Err("a branch to nowhere".to_owned());
            };
            self.emit_edge_copies(block, target)?;
            self.emit_jump(target);
            self.program
                .origins
                .last_mut()
                .expect("a step was emitted")
                .counts = true;
            return Ok(());
        }
        let reconverge = self.post_dominators.immediate(block);
        let step = if operation == Operation::Bra {
            if successors.len() != 2 {
                return Err("a branch that is not of two ways".to_owned());
            }
            Step::Branch {
                predicate: self.source(0, 1, DataType::B1)?,
                taken: 0,
                other: 0,
                reconverge: None,
            }
        } else {
            Step::Table {
                index: self.source(0, 32, DataType::B32)?,
                first: 0,
                count: 0,
                reconverge: None,
            }
        };
        self.emit_terminator(step);
        let at = self.next_step() - 1;
        let mut targets = Vec::new();
        for &successor in &successors {
            let start = self.next_step();
            self.emit_edge_copies(block, successor)?;
            if self.next_step() == start {
                targets.push(Target::Block(successor));
            } else {
                self.emit_jump(successor);
                targets.push(Target::Step(start));
            }
        }
        self.patches.push(Patch {
            step: at,
            targets,
            reconverge,
        });
        Ok(())
    }

    pub(super) fn emit_jump(&mut self, target: Block) {
        self.patches.push(Patch {
            step: self.next_step(),
            targets: vec![Target::Block(target)],
            reconverge: None,
        });
        self.emit(Step::Jump(0));
    }

    /// Returns the parallel copies for the PHIs of `to` on the edge from `from`. Sources that an
    /// earlier copy overwrites are saved first.
    pub(super) fn emit_edge_copies(&mut self, from: Block, to: Block) -> Result<(), Unsupported> {
        let mut copies = Vec::new();
        for phi in self.function.instructions(to) {
            if self.function.operation(phi) != Operation::Phi {
                continue;
            }
            let result = self
                .function
                .result(phi, 0)
                .as_register()
                .ok_or("a PHI without a result")?;
            let bits = u32::from(self.function.register(result).bits);
            let sources = self.function.sources(phi);
            let incoming = (0..sources.len() / 2)
                .find(|&pair| sources.get(2 * pair + 1).as_block() == Some(from))
                .map(|pair| sources.get(2 * pair))
                .ok_or("a PHI without a value for an edge")?;
            let row = self.plain_source(incoming, bits)?;
            if row != self.registers[result.index()] {
                copies.push((bits, row, self.registers[result.index()]));
            }
        }
        for index in 0..copies.len() {
            let (bits, row, _) = copies[index];
            let overwritten = |&(other, _, target): &(u32, u32, u32)| {
                is_wide(other) == is_wide(bits)
                    && target.abs_diff(row) < if other > 64 || bits > 64 { 2 } else { 1 }
            };
            if copies[..index].iter().any(overwritten) {
                let aside = self.new_row(bits);
                self.emit_copy(bits, row, aside);
                copies[index].1 = aside;
            }
        }
        for (bits, row, target) in copies {
            self.emit_copy(bits, row, target);
        }
        Ok(())
    }

    pub(super) fn declare_param(&mut self) -> Result<(), Unsupported> {
        let sources = self.function.sources(self.current);
        let OperandKind::Special(special) = sources.get(0).kind() else {
            return Err("a parameter without a name".to_owned());
        };
        let Special::Symbol { symbol, .. } = self.function.special_data(special) else {
            return Err("a parameter without a name".to_owned());
        };
        let number = |index: usize| {
            let value = self.function.integer(sources.get(index));
            value
                .and_then(|value| u32::try_from(value).ok())
                .ok_or("a parameter without a size")
        };
        let (alignment, size) = if sources.len() == 3 {
            (number(1)?, number(2)?)
        } else {
            let bytes = number(1)?.div_ceil(8);
            (bytes.next_power_of_two(), bytes)
        };
        let offset = self.call_end.next_multiple_of(alignment.max(1));
        self.call_end = offset + size;
        self.local_bytes = self.local_bytes.max(self.call_end);
        let name = self.function.symbol_name(symbol).to_owned();
        self.call_params.insert(name, offset);
        Ok(())
    }

    pub(super) fn compile_call(&mut self) -> Result<(), Unsupported> {
        let sources = self.function.sources(self.current);
        let target = sources.get(0);
        let callee = match target.kind() {
            OperandKind::Special(special) => {
                let Special::Symbol { symbol, .. } = self.function.special_data(special) else {
                    return Err("a call of what has no name".to_owned());
                };
                let name = self.function.symbol_name(symbol);
                let number = self.program.function_numbers.get(name);
                Callee::Function(*number.ok_or_else(|| format!("{name}, which has no body"))? as u32)
            }
            _ => Callee::Row(self.source(0, 64, DataType::B64)?),
        };
        let count = |index: usize| self.function.integer(sources.get(index)).unwrap_or(0);
        let site = CallSite {
            parameters: self.call_offsets("param", count(2))?,
            results: self.call_offsets("retval", count(1))?,
        };
        self.program.call_sites.push(site);
        let site = self.program.call_sites.len() as u32 - 1;
        self.emit(Step::Call { callee, site });
        Ok(())
    }

    pub(super) fn call_offsets(&self, prefix: &str, count: i64) -> Result<Vec<u32>, Unsupported> {
        (0..count)
            .map(|number| {
                let name = format!("{prefix}{number}");
                let offset = self.call_params.get(&name).copied();
                offset.ok_or_else(|| format!("{name} is not declared"))
            })
            .collect()
    }
}
