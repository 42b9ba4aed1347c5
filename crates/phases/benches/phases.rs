//! Measures the phases that common up values, on a synthetic function of consecutive blocks.
#![allow(missing_docs, reason = "criterion's macros make undocumented functions")]

use criterion::{BatchSize, BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use oriel_ori::{Function, parse_function};
use oriel_phases::registry::named;
use oriel_phases::{Manager, PhaseOptions};
use std::fmt::Write;

/// Instructions per block.
const BLOCK: usize = 16;

/// Builds blocks that compute an address, load from it, do some arithmetic on the value and store
/// the result. Every fourth block computes the same address as its predecessor.
fn function(instructions: usize) -> Function {
    let blocks = instructions / BLOCK;
    let mut text = "kernel \"bench\" sm_90 ssa {\nbix0:\n    %0:R32 = S2R.b32 tid.x\n".to_owned();
    text += "    %1:R64 = LD.param::entry.b64 [&bench_param_0]\n";
    let mut next = 2;
    for block in 1..=blocks {
        writeln!(text, "    BRA fall bix{block}\nbix{block}:").expect("a string takes all");
        let offset = block - usize::from(block % 4 == 0);
        let mut line = |kind: &str, code: String| {
            writeln!(text, "    %{next}:{kind} = {code}").expect("a string takes all");
            next += 1;
            next - 1
        };
        let index = line("R32", format!("IADD.b32 %0, {offset}"));
        let wide = line("R64", format!("IMUL.WIDE.s64.s32 %{index}, 4"));
        let address = line("R64", format!("IADD.b64 %{wide}, %1"));
        let mut value = line("R32", format!("LD.global.b32.f32 [%{address}]"));
        for step in 0..BLOCK - 6 {
            value = match step % 3 {
                0 => line("R32", format!("IMAD.b32 %{value}, %{index}, {block}")),
                1 => line("R32", format!("XOR.b32 %{value}, %{index}")),
                _ => line("R32", format!("IADD.b32 %{index}, %{value}")),
            };
        }
        writeln!(text, "    ST.global.b32 %{value}, [%{address}]").expect("a string takes all");
    }
    parse_function(&(text + "    RET\n}\n")).expect("the text is right")
}

fn commoning(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("commoning");
    let options = PhaseOptions::default();
    for instructions in [1_000, 10_000, 60_000] {
        let function = function(instructions);
        group.throughput(Throughput::Elements(instructions as u64));
        for name in ["GvnCse", "OriReassociateAndCommon", "LateOriCommoning"] {
            let phase = named(name).next().expect("it is a phase");
            group.bench_function(BenchmarkId::new(name, instructions), |bencher| {
                let prepare = || {
                    let mut manager = Manager::new(&options, false);
                    manager.prepare(phase, &function);
                    (manager, function.clone())
                };
                let run = |(manager, function): &mut (Manager<'_>, Function)| manager.run(phase, function);
                bencher.iter_batched_ref(prepare, run, BatchSize::LargeInput);
            });
        }
    }
    group.finish();
}

criterion_group!(benches, commoning);
criterion_main!(benches);
