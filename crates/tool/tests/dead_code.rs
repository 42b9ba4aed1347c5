//! Dead code elimination leaves what a mark-and-sweep marks, on generated functions as LLVM lowers
//! them.
//!
//! LLVM leaves no dead code behind, so some of the stores go first.
#![cfg(feature = "llvm")]

use oriel::ori::machine::from_machine;
use oriel::ori::{Function, Instruction, Operation};
use oriel::phases::mark_and_sweep::marked;
use oriel::phases::registry::Registry;
use oriel::phases::{Manager, PhaseOptions};
use oriel_generate::{Options, Shape};
use oriel_tool::modules::compile_module;
use oriel_tool::source::Source;
use std::collections::BTreeSet;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

fn instructions(function: &Function) -> BTreeSet<Instruction> {
    function.all_instructions().collect()
}

/// The functions of a generated module, at both stages.
fn compile(options: &Options) -> Result<Vec<Function>, Box<dyn Error>> {
    let mut content = Vec::new();
    oriel_generate::llvm_ir(options, &mut content)?;
    let name = format!("{}-{}", options.shape, options.seed);
    let compiled = compile_module(&Source::Memory { name, content }, Some("90"), None)?;
    let snapshots = compiled.snapshots.iter();
    Ok(snapshots
        .map(|snapshot| from_machine(&snapshot.view()))
        .collect::<Result<_, _>>()?)
}

/// Removes every third store of a function, beginning with one of the first three.
fn remove_stores(function: &mut Function, first: usize) {
    let stores: Vec<Instruction> = instructions(function)
        .into_iter()
        .filter(|&instruction| function.operation(instruction) == Operation::St)
        .collect();
    for &store in stores.iter().skip(first).step_by(3) {
        function.remove(store);
    }
}

#[test]
fn what_is_left_is_what_mark_and_sweep_marks() -> Outcome {
    let [phase, ..] = Registry::default().named("OriPerformLiveDead")?[..] else {
        return Err("the phase is gone".into());
    };
    let options = PhaseOptions::default();
    let (mut functions, mut removed) = (0, 0);
    for shape in Shape::ALL {
        for seed in 0..4 {
            let generated = Options {
                seed,
                instructions: 250,
                shape: *shape,
                ..Options::default()
            };
            for function in compile(&generated)? {
                for first in 0..3 {
                    let mut function = function.clone();
                    remove_stores(&mut function, first);
                    // The phase takes these with it, and the mark-and-sweep is to see the same
                    // function.
                    function.remove_unreachable_blocks();
                    let wanted = marked(&function);
                    let before = instructions(&function).len();
                    Manager::new(&options, false).run(phase, &mut function);
                    assert_eq!(
                        instructions(&function),
                        wanted,
                        "{shape} {seed}: {}",
                        function.info.name
                    );
                    assert_eq!(function.verify(), []);
                    functions += 1;
                    removed += before - wanted.len();
                }
            }
        }
    }
    assert!(
        functions > 100 && removed > 1000,
        "{removed} of {functions} functions"
    );
    Ok(())
}
