//! Random functions of any control flow.

use super::{COPY, DEBUG, PHI, PLAIN, TestFunction, def, from, operand, read};
use crate::live::scan::{defines, reads};
use crate::snapshot::abi::{OperandFlags, OperandRecord};

/// A generator of numbers for random functions (SplitMix64).
#[derive(Clone, Debug)]
pub struct Random(pub u64);

impl Random {
    /// The random numbers of test functions (SplitMix64).
    pub fn word(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below a limit, which is not zero.
    pub fn below(&mut self, limit: u32) -> u32 {
        (self.word() % u64::from(limit)) as u32
    }

    /// Returns true in `percent` of a hundred cases.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.below(100) < percent
    }
}

/// Returns the numbers below `count` in random order, but for the first, which is the entry block's.
pub(super) fn shuffled(random: &mut Random, count: u32) -> Vec<u32> {
    let mut numbers: Vec<u32> = (0..count).collect();
    for last in (2..count).rev() {
        numbers.swap(last as usize, 1 + random.below(last) as usize);
    }
    numbers
}

/// Returns the successors of blocks that are laid out at other places.
pub(super) fn moved(successors: &[Vec<u32>], places: &[u32]) -> Vec<Vec<u32>> {
    let mut moved = vec![Vec::new(); successors.len()];
    for (targets, &place) in successors.iter().zip(places) {
        moved[place as usize] = targets.iter().map(|&target| places[target as usize]).collect();
    }
    moved
}

/// Returns a random function: any control flow over blocks that the entry reaches, any mix of
/// registers with no, one and several definitions, including reads that no definition reaches.
pub fn random_function(random: &mut Random, blocks: u32, registers: u32, length: u32) -> TestFunction {
    let mut successors: Vec<Vec<u32>> = vec![Vec::new(); blocks as usize];
    for block in 1..blocks {
        let parent = if random.chance(70) {
            block - 1
        } else {
            random.below(block)
        };
        successors[parent as usize].push(block);
    }
    for _ in 0..random.below(blocks + 1) {
        let (source, target) = (random.below(blocks), random.below(blocks));
        // No edge leads back to the entry block of a machine function.
        if target != 0 {
            successors[source as usize].push(target);
        }
    }
    if random.chance(30) {
        // The layout says nothing about the dominator tree.
        successors = moved(&successors, &shuffled(random, blocks));
    }
    let mut function = TestFunction::new(registers as usize);
    let numbers = random.chance(30).then(|| shuffled(random, blocks));
    // The others get several definitions.
    let single = match random.chance(70) {
        true => registers * 3 / 4,
        false => registers / 4,
    };
    let mut undefined: Vec<u32> = (0..single).collect();
    for block in 0..blocks {
        function.block(&successors[block as usize]);
        let preds: Vec<u32> = (0..blocks)
            .filter(|&other| successors[other as usize].contains(&block))
            .collect();
        if !preds.is_empty() && random.chance(40) && !undefined.is_empty() {
            let position = random.below(undefined.len() as u32) as usize;
            let mut operands = vec![def(undefined.swap_remove(position))];
            for &predecessor in &preds {
                operands.extend([read(random.below(registers)), from(predecessor)]);
            }
            function.instruction(PHI, &operands);
        }
        if block == 0 && random.chance(50) {
            // No path without definition reaches a read.
            for register in single..registers {
                function.instruction(PLAIN, &[def(register)]);
            }
        }
        for _ in 0..random.below(length + 1) {
            let operands = random_operands(random, registers, single, &mut undefined);
            let opcode = if random.chance(5) { DEBUG } else { PLAIN };
            if opcode == DEBUG {
                let debug: Vec<_> = (0..2)
                    .map(|_| operand(random.below(registers), OperandFlags::DEBUG))
                    .collect();
                function.instruction(DEBUG, &debug);
            }
            let plain_copy = operands.len() >= 2
                && defines(&operands[0])
                && operands[0].flags & OperandFlags::EARLY_CLOBBER.bits() == 0
                && reads(&operands[1]);
            if plain_copy && random.chance(40) {
                let source = read(operands[1].index);
                function.instruction(COPY, &[operands[0], source]);
            } else {
                function.instruction(PLAIN, &operands);
            }
        }
    }
    if let Some(numbers) = numbers {
        function.number_blocks(&numbers);
    }
    let mut order = random.clone();
    function.finish(move || order.word())
}

fn random_operands(
    random: &mut Random,
    registers: u32,
    single: u32,
    undefined: &mut Vec<u32>,
) -> Vec<OperandRecord> {
    let mut operands = Vec::new();
    for _ in 0..random.below(3) {
        let mut written = if random.chance(75) && !undefined.is_empty() {
            let position = random.below(undefined.len().min(3) as u32) as usize;
            def(undefined.remove(position))
        } else if single < registers {
            def(single + random.below(registers - single))
        } else {
            continue;
        };
        if random.chance(10) {
            written.flags |= OperandFlags::EARLY_CLOBBER.bits();
        }
        operands.push(written);
    }
    for _ in 0..random.below(4) {
        let mut used = read(random.below(registers));
        if random.chance(8) {
            used.flags |= OperandFlags::UNDEF.bits();
        }
        let definitions = operands.iter().filter(|operand| defines(operand)).count() as u32;
        if definitions > 0 && random.chance(15) {
            let tied = random.below(definitions);
            used.tied_to = tied as u8 + 1;
            used.index = operands[tied as usize].index;
        }
        operands.push(used);
    }
    // Implicit definitions come after the operands that are read.
    if random.chance(20) && operands.iter().all(|operand| operand.tied_to == 0) {
        operands.reverse();
    }
    operands
}
