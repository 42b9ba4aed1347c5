//! Every order that the dependencies of a block allow gives the same memory: generated kernels,
//! with the instructions of each block put in a random such order, or in each of those of
//! `ReorderInstructions`, in the interpreter.
#![cfg(feature = "llvm")]

use oriel::entity::EntityRef;
use oriel::ori::analysis::{DependencyGraph, DependencyNode};
use oriel::ori::machine::from_machine;
use oriel::ori::{Function, Position};
use oriel::phases::registry::named;
use oriel::phases::{Manager, PhaseOptions, PhaseResult};
use oriel::snapshot::OwnedSnapshot;
use oriel::snapshot::abi::Stage;
use oriel_generate::{Options, Shape};
use oriel_interpreter::launch::LaunchDescription;
use oriel_interpreter::{Limits, Module, Program, run_described};
use oriel_tool::modules::compile_module;
use oriel_tool::source::Source;
use proptest::prelude::*;

const KERNELS: usize = 4;

/// Orders that are tried of each kernel and stage.
const ORDERS: u64 = 4;

struct Compiled {
    snapshots: Vec<OwnedSnapshot>,
    module: Module,
    launches: LaunchDescription,
}

fn compile(options: &Options) -> Compiled {
    let mut content = Vec::new();
    oriel_generate::llvm_ir(options, &mut content).unwrap();
    let name = format!("{}-{}", options.shape, options.seed);
    let compiled = compile_module(&Source::Memory { name, content }, Some("80"), None).unwrap();
    let ptx = String::from_utf8(compiled.ptx.unwrap()).unwrap();
    let description = oriel_generate::launch_description(options, options.seed);
    Compiled {
        snapshots: compiled.snapshots,
        module: Module::parse(&ptx).unwrap(),
        launches: LaunchDescription::parse(&description, "generated.toml").unwrap(),
    }
}

impl Compiled {
    fn functions(&self, stage: Stage) -> Vec<Function> {
        let views = self.snapshots.iter().map(OwnedSnapshot::view);
        views
            .filter(|snapshot| snapshot.stage() == stage)
            .map(|snapshot| from_machine(&snapshot).unwrap())
            .collect()
    }

    fn run(&self, functions: &[Function]) -> u64 {
        let program = Program::compile(&functions.iter().collect::<Vec<_>>(), &self.module).unwrap();
        let limits = Limits {
            steps: 100_000_000,
            ..Limits::DEFAULT
        };
        run_described(&program, &self.launches, limits).unwrap().hash()
    }
}

/// Returns a random order of a graph's nodes that its dependencies allow.
fn random_order(graph: &DependencyGraph, random: &mut impl FnMut(usize) -> usize) -> Vec<DependencyNode> {
    let mut waits_for: Vec<usize> = graph.nodes().map(|node| graph.predecessors(node).len()).collect();
    let mut ready: Vec<DependencyNode> = graph
        .nodes()
        .filter(|&node| graph.predecessors(node).is_empty())
        .collect();
    let mut order = Vec::new();
    while !ready.is_empty() {
        let node = ready.remove(random(ready.len()));
        order.push(node);
        for &(successor, _) in graph.successors(node) {
            waits_for[successor.index()] -= 1;
            if waits_for[successor.index()] == 0 {
                ready.push(successor);
            }
        }
    }
    order
}

/// Puts the instructions of every block in an order that their dependencies allow, and returns how
/// many are elsewhere.
fn shuffle(function: &mut Function, random: &mut impl FnMut(usize) -> usize) -> usize {
    let mut moved = 0;
    for block in function.blocks().to_vec() {
        let graph = DependencyGraph::compute(function, block);
        let order = random_order(&graph, random);
        assert_eq!(order.len(), graph.nodes().len(), "a dependency goes round");
        moved += order
            .iter()
            .zip(graph.nodes())
            .filter(|(now, before)| **now != *before)
            .count();
        let Some(end) = function.terminator(block) else {
            continue;
        };
        for node in order {
            function.move_to(graph.instruction(node), Position::Before(end));
        }
    }
    moved
}

/// Runs `ReorderInstructions`, and verifies what it leaves; did it change something?
fn reorder(function: &mut Function, order: usize, seed: u64) -> bool {
    let mut options = PhaseOptions::default();
    for knob in [
        format!("InstructionOrder={order}"),
        format!("InstructionOrderSeed={}", seed >> 1),
    ] {
        options.knobs.set(&knob).unwrap();
    }
    let phase = named("ReorderInstructions").next().unwrap();
    let result = Manager::new(&options, false).run(phase, function);
    assert_eq!(function.verify(), []);
    result == PhaseResult::Changed
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 8, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn allowed_orders_give_the_same_memory(seed in 0u64..1 << 32, shape in 0..Shape::ALL.len()) {
        let compiled = compile(&Options {
            seed,
            functions: KERNELS,
            shape: Shape::ALL[shape],
            calls: seed % 2 == 0,
            all_operations: true,
            ..Options::default()
        });
        for stage in [Stage::Ssa, Stage::Late] {
            let functions = compiled.functions(stage);
            let expected = compiled.run(&functions);
            let mut state = seed;
            let mut random = |below: usize| {
                state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (state >> 33) as usize % below
            };
            for _ in 0..ORDERS {
                let mut shuffled = functions.clone();
                let moved: usize = shuffled.iter_mut().map(|function| shuffle(function, &mut random)).sum();
                prop_assert!(moved > 0);
                for function in &shuffled {
                    prop_assert!(function.verify().is_empty());
                }
                prop_assert_eq!(compiled.run(&shuffled), expected, "at stage {}", stage.name());
            }
            for order in 1..=8 {
                let mut reordered = functions.clone();
                let changed = reordered.iter_mut().filter_map(|function| reorder(function, order, seed).then_some(())).count();
                prop_assert!(changed > 0, "order {order}");
                prop_assert_eq!(compiled.run(&reordered), expected, "order {} at stage {}", order, stage.name());
            }
        }
    }
}
