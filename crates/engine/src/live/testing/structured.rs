//! Random functions of nested loops, branches and switches with few registers of many values.

use super::random::{moved, shuffled};
use super::{PLAIN, Random, TestFunction, def, read};

/// The limit on the definitions of all registers: webs with more than 64 are left to the resolver.
const MOST_DEFINITIONS: u32 = 40;

/// A control-flow graph while it is made.
struct Shape<'r> {
    random: &'r mut Random,
    successors: Vec<Vec<u32>>,
    /// How many more regions there may be.
    regions_left: u32,
}

impl Shape<'_> {
    fn block_after(&mut self, predecessors: &[u32]) -> u32 {
        let block = self.successors.len() as u32;
        self.successors.push(Vec::new());
        for &predecessor in predecessors {
            self.link(predecessor, block);
        }
        block
    }

    fn link(&mut self, from: u32, to: u32) {
        self.successors[from as usize].push(to);
    }

    /// Adds random regions after `head`, and returns the block in which they end.
    fn region(&mut self, head: u32, depth: u32) -> u32 {
        if depth == 0 || self.regions_left == 0 {
            return head;
        }
        self.regions_left -= 1;
        match self.random.below(6) {
            0 => {
                let end = self.region(head, depth - 1);
                let next = self.block_after(&[end]);
                self.region(next, depth - 1)
            }
            1 => {
                let then = self.block_after(&[head]);
                let end = self.region(then, depth - 1);
                self.block_after(&[head, end])
            }
            // A loop that is left at its end, with a second region in it.
            2 | 3 => {
                let header = self.block_after(&[head]);
                let middle = self.region(header, depth - 1);
                let latch = self.region(middle, depth - 1);
                self.link(latch, header);
                let exits = match self.random.chance(30) {
                    true => vec![latch, middle],
                    false => vec![latch],
                };
                self.block_after(&exits)
            }
            4 => {
                let header = self.block_after(&[head]);
                let body = self.block_after(&[header]);
                let latch = self.region(body, depth - 1);
                self.link(latch, header);
                self.block_after(&[header])
            }
            // A switch, some of whose cases go on to the next.
            _ => {
                let count = 2 + self.random.below(3);
                let cases: Vec<u32> = (0..count).map(|_| self.block_after(&[head])).collect();
                let mut ends = vec![head];
                for (position, &case) in cases.iter().enumerate() {
                    let end = self.region(case, depth - 1);
                    match cases.get(position + 1) {
                        Some(&next) if self.random.chance(40) => self.link(end, next),
                        _ => ends.push(end),
                    }
                }
                self.block_after(&ends)
            }
        }
    }
}

/// Returns a random function that is structured but for a few edges, with layout and LLVM's numbers in
/// several orders.
pub fn structured_function(random: &mut Random) -> TestFunction {
    let regions_left = [4, 10, 25, 60][random.below(4) as usize];
    let mut shape = Shape {
        random,
        successors: vec![Vec::new()],
        regions_left,
    };
    let mut end = shape.block_after(&[0]);
    while shape.regions_left > 0 {
        end = shape.region(end, 9);
        end = shape.block_after(&[end]);
    }
    let mut successors = shape.successors;
    let blocks = successors.len() as u32;
    for _ in 0..random.below(4).saturating_sub(1) {
        let source = random.below(blocks) as usize;
        successors[source].push(1 + random.below(blocks - 1));
    }
    let successors = moved(&successors, &random_order(random, blocks));
    let registers = 1 + random.below(3);
    let mut function = TestFunction::new(registers as usize);
    let [defining, reading] = [(); 2].map(|()| [3, 10, 25, 50, 80][random.below(5) as usize]);
    let mut definitions = 0;
    for (block, targets) in successors.iter().enumerate() {
        function.block(targets);
        for register in 0..registers {
            let is_read = random.chance(reading);
            let is_defined = block == 0 || random.chance(defining) && definitions < MOST_DEFINITIONS;
            definitions += u32::from(is_defined);
            match (is_read, is_defined) {
                (true, true) if random.chance(30) => {
                    function.instruction(PLAIN, &[def(register), read(register)]);
                    continue;
                }
                // It reads the first of two values.
                (true, true) if random.chance(50) => function.instruction(PLAIN, &[def(register)]),
                _ => {}
            }
            if is_read {
                function.instruction(PLAIN, &[read(register)]);
            }
            if is_defined {
                function.instruction(PLAIN, &[def(register)]);
            }
        }
    }
    function.number_blocks(&random_order(random, blocks));
    let mut order = random.clone();
    function.finish(move || order.word())
}

/// Returns the numbers below `count`, in order, backward, shuffled or with some exchanged; the first
/// stays.
fn random_order(random: &mut Random, count: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    match random.below(4) {
        0 => numbers[1..].reverse(),
        1 => {
            for _ in 0..3 {
                let [left, right] = [(); 2].map(|()| 1 + random.below(count - 1) as usize);
                numbers.swap(left, right);
            }
        }
        2 => numbers = shuffled(random, count),
        _ => {}
    }
    numbers
}
