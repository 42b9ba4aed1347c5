//! Kernels of any size, for measurements.

use super::{PHI, PLAIN, Random, TestFunction, def, from, read};
use crate::snapshot::abi::OperandRecord;

/// Successors of a block, and the opcode and operands of each instruction.
type KernelBlock = (Vec<u32>, Vec<(u32, Vec<OperandRecord>)>);

/// A kernel of about `instructions` instructions in SSA form: nested ifs and loops over short
/// blocks, most values read soon after they are computed, some long after.
pub struct Kernel {
    random: Random,
    blocks: Vec<KernelBlock>,
    visible: Vec<u32>,
    registers: u32,
    budget: i64,
}

impl Kernel {
    /// Returns a random function of so many instructions.
    pub fn generate(seed: u64, instructions: u32) -> TestFunction {
        let mut kernel = Self {
            random: Random(seed),
            blocks: vec![(Vec::new(), Vec::new())],
            visible: Vec::new(),
            registers: 0,
            budget: i64::from(instructions),
        };
        for _ in 0..8 {
            kernel.emit(0);
        }
        while kernel.budget > 0 {
            kernel.region(0);
        }
        let registers = kernel.registers as usize;
        let mut function = TestFunction::new(registers);
        for (successors, body) in &kernel.blocks {
            function.block(successors);
            for (opcode, operands) in body {
                function.instruction(*opcode, operands);
            }
        }
        for register in &mut function.arrays.registers {
            register.register_class = u16::from(kernel.random.chance(5));
        }
        function.finish(|| 0)
    }

    fn start_block(&mut self) -> u32 {
        self.blocks.push((Vec::new(), Vec::new()));
        self.blocks.len() as u32 - 1
    }

    fn last(&self) -> u32 {
        self.blocks.len() as u32 - 1
    }

    fn pick(&mut self) -> OperandRecord {
        let count = self.visible.len() as u32;
        let distance = match self.random.below(100) {
            0..80 => self.random.below(count.min(8)),
            80..97 => self.random.below(count.min(100)),
            97..98 => self.random.below(count.min(1000)),
            _ => count - 1 - self.random.below(count.min(8)),
        };
        read(self.visible[(count - 1 - distance) as usize])
    }

    fn emit(&mut self, reads: u32) -> u32 {
        let register = self.registers;
        self.registers += 1;
        let mut operands = vec![def(register)];
        for _ in 0..reads {
            operands.push(self.pick());
        }
        self.push(PLAIN, operands);
        self.visible.push(register);
        register
    }

    fn push(&mut self, opcode: u32, operands: Vec<OperandRecord>) {
        self.budget -= 1;
        self.blocks
            .last_mut()
            .expect("there is a block")
            .1
            .push((opcode, operands));
    }

    fn link(&mut self, source: u32, target: u32) {
        self.blocks[source as usize].0.push(target);
    }

    /// Generates straight code, then perhaps an if or a loop, then a block where control continues.
    fn region(&mut self, depth: u32) {
        for _ in 0..1 + self.random.below(24) {
            let reads = 1 + self.random.below(2);
            self.emit(reads);
        }
        if depth > 5 || self.budget < 0 {
            return;
        }
        let scope = self.visible.len();
        let head = self.last();
        match self.random.below(5) {
            0 | 1 => {
                let condition = self.pick();
                self.push(PLAIN, vec![condition]);
                let then = self.start_block();
                self.link(head, then);
                self.region(depth + 1);
                let end = self.last();
                self.visible.truncate(scope);
                let join = self.start_block();
                self.link(head, join);
                self.link(end, join);
            }
            2 => {
                let initial = self.pick();
                let body = self.start_block();
                self.link(head, body);
                let phi = self.registers;
                self.registers += 1;
                self.blocks[body as usize]
                    .1
                    .push((PHI, vec![def(phi), initial, from(head)]));
                self.visible.push(phi);
                self.region(depth + 1);
                self.region(depth + 1);
                let next = self.emit(2);
                let latch = self.last();
                self.blocks[body as usize].1[0]
                    .1
                    .extend([read(next), from(latch)]);
                self.link(latch, body);
                let exit = self.start_block();
                self.link(latch, exit);
                self.visible.truncate(scope + 1);
            }
            _ => {
                let next = self.start_block();
                self.link(head, next);
            }
        }
    }
}
