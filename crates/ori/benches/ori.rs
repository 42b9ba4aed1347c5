//! Measures the way from a machine function to Ori and back on a synthetic kernel.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{
    BlockRecord, EdgeRecord, InstructionRecord, OpcodeFlags, OpcodeRecord, OperandFlags, OperandKind,
    OperandRecord, PROBABILITY_DENOMINATOR, RegisterClassRecord, RegisterFile, RegisterRecord,
};
use oriel_ori::machine::{from_machine, to_machine};
use std::hint::black_box;

fn record(kind: OperandKind, index: u32, value: i64) -> OperandRecord {
    OperandRecord {
        kind: kind as u8,
        index,
        value,
        ..OperandRecord::default()
    }
}

fn used(register: u32) -> OperandRecord {
    record(OperandKind::Register, register, 0)
}

fn defined(register: u32) -> OperandRecord {
    OperandRecord {
        flags: OperandFlags::DEF.bits(),
        ..used(register)
    }
}

fn number(value: i64) -> OperandRecord {
    record(OperandKind::Immediate, 0, value)
}

const OPCODES: [(&str, OpcodeFlags); 8] = [
    ("LD_i32", OpcodeFlags::MAY_LOAD),
    ("ADD32ri", OpcodeFlags::empty()),
    ("MAD_LO_S32rrr", OpcodeFlags::empty()),
    ("FMA_F32rrr", OpcodeFlags::empty()),
    ("ST_i32", OpcodeFlags::MAY_STORE),
    ("SETP_i32ri", OpcodeFlags::empty()),
    ("CBranch", OpcodeFlags::TERMINATOR.union(OpcodeFlags::BRANCH)),
    ("Return", OpcodeFlags::TERMINATOR.union(OpcodeFlags::RETURN)),
];

/// Builds blocks of a load, arithmetic, a store and a branch, each block a loop of its own.
fn kernel(instructions: usize) -> OwnedSnapshot {
    let mut kernel = OwnedSnapshot::default();
    for (bits, file) in [
        (32, RegisterFile::General),
        (1, RegisterFile::Predicate),
        (64, RegisterFile::General),
    ] {
        kernel.register_classes.push(RegisterClassRecord {
            bits,
            file: file as u32,
            ..RegisterClassRecord::default()
        });
    }
    for (name, flags) in OPCODES {
        let name = kernel.add_string(name);
        kernel.opcodes.push(OpcodeRecord {
            name,
            flags: flags.bits(),
            ..OpcodeRecord::default()
        });
    }
    let blocks = instructions / 7;
    for block in 0..blocks as u32 {
        let base = block * 6;
        for class in [2, 0, 0, 0, 0, 1] {
            kernel.registers.push(RegisterRecord {
                register_class: class,
                ..RegisterRecord::default()
            });
        }
        let [address, a, b, c, d, p] = [0, 1, 2, 3, 4, 5].map(|register| base + register);
        start_block(&mut kernel, block);
        let load = [0, 0, 1, 3, 32, -1].map(number);
        add(
            &mut kernel,
            0,
            &[&[defined(a)], &load[..], &[used(address), number(16)]].concat(),
        );
        add(&mut kernel, 1, &[defined(b), used(a), number(1 << 30)]);
        add(&mut kernel, 2, &[defined(c), used(a), used(b), used(b)]);
        add(
            &mut kernel,
            3,
            &[defined(d), used(a), used(b), used(c), number(0)],
        );
        let store = [0, 0, 1, 32].map(number);
        add(
            &mut kernel,
            4,
            &[&[used(d)], &store[..], &[used(address), number(0)]].concat(),
        );
        add(&mut kernel, 5, &[defined(p), used(c), number(7), number(2)]);
        add(&mut kernel, 6, &[used(p), record(OperandKind::Block, block, 0)]);
        for successor in [block, block + 1] {
            kernel.edges.push(EdgeRecord {
                block: successor,
                probability: PROBABILITY_DENOMINATOR / 2,
            });
        }
    }
    start_block(&mut kernel, blocks as u32);
    add(&mut kernel, 7, &[]);
    start_block(&mut kernel, 0);
    kernel.instructions.push(InstructionRecord {
        first_operand: kernel.operands.len() as u32,
        ..InstructionRecord::default()
    });
    kernel
}

fn start_block(kernel: &mut OwnedSnapshot, number: u32) {
    kernel.blocks.push(BlockRecord {
        first_instruction: kernel.instructions.len() as u32,
        first_successor: kernel.edges.len() as u32,
        number,
        ..BlockRecord::default()
    });
}

fn add(kernel: &mut OwnedSnapshot, opcode: u32, operands: &[OperandRecord]) {
    kernel.instructions.push(InstructionRecord {
        opcode,
        first_operand: kernel.operands.len() as u32,
        ..InstructionRecord::default()
    });
    kernel.operands.extend_from_slice(operands);
}

fn machine(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("ori");
    for instructions in [1_000, 10_000, 100_000] {
        let owned = kernel(instructions);
        let snapshot = owned.view();
        let function = from_machine(&snapshot).expect("Ori can represent it");
        let count = snapshot.instruction_count();
        group.throughput(Throughput::Elements(count as u64));
        let id = |name: &str| BenchmarkId::new(name, instructions);
        group.bench_function(id("from_machine"), |bencher| {
            bencher.iter(|| black_box(from_machine(&snapshot)));
        });
        group.bench_function(id("to_machine"), |bencher| {
            bencher.iter(|| black_box(to_machine(&function, &snapshot)));
        });
        let mut forgotten = function.clone();
        for instruction in function.all_instructions() {
            if !function.operation(instruction).is_terminator() {
                forgotten.make_anew(instruction);
            }
        }
        group.bench_function(id("to_machine, all anew"), |bencher| {
            bencher.iter(|| black_box(to_machine(&forgotten, &snapshot)));
        });
    }
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = machine
}
criterion_main!(benches);
