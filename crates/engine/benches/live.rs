//! The parts of the engine on a synthetic kernel: loops and ifs over short blocks.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oriel_engine::entity::{EntityRef, Register};
use oriel_engine::graph::{DominatorTree, ReversePostorder, Traversal};
use oriel_engine::live::pressure::Pressure;
use oriel_engine::live::{Bypass, FlowGraph, LiveIntervals, LiveRangeCalc, SlotIndexes};
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{
    BlockRecord, ChainedOperandRecord, EdgeRecord, InstructionRecord, OpcodeRecord, OperandFlags,
    OperandKind, OperandRecord, RegisterClassRecord, RegisterFlags, RegisterRecord,
};
use std::hint::black_box;

/// Instructions of a block.
const BLOCK: usize = 8;

/// A kernel of `instructions` instructions. Four blocks make a loop with an if in it. One in eight
/// registers is read in the next block, and a counter with two definitions runs through each loop.
fn kernel(instructions: usize) -> OwnedSnapshot {
    let mut kernel = OwnedSnapshot::default();
    kernel.register_classes.push(RegisterClassRecord {
        bits: 32,
        ..RegisterClassRecord::default()
    });
    kernel.opcodes.push(OpcodeRecord::default());
    let blocks = (instructions / BLOCK).max(4) / 4 * 4;
    let operand = |register: usize, flags: OperandFlags| OperandRecord {
        kind: OperandKind::Register as u8,
        flags: flags.bits(),
        index: register as u32,
        ..OperandRecord::default()
    };
    for block in 0..blocks {
        kernel.blocks.push(BlockRecord {
            first_instruction: kernel.instructions.len() as u32,
            first_successor: kernel.edges.len() as u32,
            number: block as u32,
            ..BlockRecord::default()
        });
        let loop_start = block / 4 * 4;
        let mut successors = vec![block + 1];
        match block % 4 {
            1 => successors.push(block + 2),
            3 => successors.push(loop_start + 1),
            _ => {}
        }
        successors.retain(|&successor| successor < blocks);
        kernel
            .edges
            .extend(successors.into_iter().map(|successor| EdgeRecord {
                block: successor as u32,
                probability: 0,
            }));
        let counter = blocks * BLOCK + block / 4;
        for position in 0..BLOCK {
            let instruction = kernel.instructions.len();
            kernel.instructions.push(InstructionRecord {
                first_operand: kernel.operands.len() as u32,
                ..InstructionRecord::default()
            });
            let recent = instruction.saturating_sub(if position == 0 { BLOCK } else { 1 });
            let counts = (block % 4 == 0 || block % 4 == 3) && position == 0;
            let written = if counts { counter } else { instruction };
            kernel.operands.push(operand(written, OperandFlags::DEF));
            if instruction > 0 && recent % BLOCK != 0 {
                kernel.operands.push(operand(recent, OperandFlags::empty()));
            }
            if position == 1 {
                kernel.operands.push(operand(counter, OperandFlags::empty()));
            }
        }
    }
    kernel.registers = vec![RegisterRecord::default(); blocks * BLOCK + blocks / 4];
    for counter in 0..blocks / 4 {
        let register = blocks * BLOCK + counter;
        kernel.registers[register].flags = RegisterFlags::CHAINED.bits();
        let first = kernel.instructions[counter * 4 * BLOCK].first_operand as usize;
        let last = kernel.instructions.get((counter + 1) * 4 * BLOCK);
        let last = last.map_or(kernel.operands.len(), |next| next.first_operand as usize);
        for position in first..last {
            // All operands are registers.
            if kernel.operands[position].index == register as u32 {
                kernel.chained_operands.push(ChainedOperandRecord {
                    register: register as u32,
                    register_operand: position as u32,
                });
            }
        }
    }
    kernel.blocks.push(BlockRecord {
        first_instruction: kernel.instructions.len() as u32,
        first_successor: kernel.edges.len() as u32,
        ..BlockRecord::default()
    });
    kernel.instructions.push(InstructionRecord {
        first_operand: kernel.operands.len() as u32,
        ..InstructionRecord::default()
    });
    kernel.list_predecessors();
    kernel
}

fn parts(criterion: &mut Criterion) {
    for size in [100, 1_000, 10_000, 100_000] {
        let owned = kernel(size);
        let snapshot = owned.view();
        let mut group = criterion.benchmark_group("live");
        group.throughput(Throughput::Elements(snapshot.instruction_count() as u64));
        let mut indexes = SlotIndexes::default();
        group.bench_function(BenchmarkId::new("numbering", size), |bencher| {
            bencher.iter(|| indexes.compute(black_box(&snapshot)));
        });
        for bypass in [Bypass::Small, Bypass::Never, Bypass::Always] {
            let mut calc = LiveRangeCalc::with_bypass(bypass);
            let mut intervals = LiveIntervals::default();
            intervals.renumber(&snapshot);
            group.bench_function(
                BenchmarkId::new(format!("engine, bypass {bypass:?}"), size),
                |bencher| {
                    bencher.iter(|| calc.compute(black_box(&snapshot), &mut intervals));
                },
            );
        }
        let graph = FlowGraph::new(&snapshot);
        let (mut order, mut dominators) = (ReversePostorder::default(), DominatorTree::default());
        group.bench_function(BenchmarkId::new("dominators", size), |bencher| {
            bencher.iter(|| {
                order.compute(black_box(&graph), Traversal::default());
                dominators.compute(&graph, &order);
            });
        });
        let intervals = LiveRangeCalc::new().analyze(&snapshot);
        group.bench_function(BenchmarkId::new("pressure", size), |bencher| {
            bencher.iter(|| Pressure::new(black_box(&intervals), &snapshot));
        });
        let probe = intervals.indexes().last_index().base_index();
        group.bench_function(BenchmarkId::new("live at", size), |bencher| {
            bencher.iter(|| {
                (0..snapshot.register_count())
                    .filter(|&register| intervals.interval(Register::new(register)).live_at(probe))
                    .count()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, parts);
criterion_main!(benches);
