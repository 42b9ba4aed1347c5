//! Generates the tables of the register estimate's model.

#[path = "src/estimate/model_text.rs"]
mod model_text;
#[path = "src/estimate/tree_node.rs"]
mod tree_node;

use model_text::{Errors, Forest, ModelText};
use std::fmt::Write;
use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    write_estimate_model();
}

/// Writes the model of the register estimate as an initialiser of `Model` in
/// `src/estimate/model.rs`. Parsing the text at run time would take longer than the rest of the
/// estimate.
fn write_estimate_model() {
    let folder = Path::new("src/estimate");
    for file in ["model_text.rs", "tree_node.rs", "model.txt"] {
        println!("cargo::rerun-if-changed={}", folder.join(file).display());
    }
    let path = folder.join("model.txt");
    let text = std::fs::read_to_string(&path).expect("the model is part of the package");
    let Some(model) = ModelText::parse(&text) else {
        panic!("{} is no model", path.display());
    };
    let numbers = |names: &[&str]| -> String {
        let number = |name: &&str| format!("Features::number({name:?}),");
        names.iter().map(number).collect()
    };
    let forest = |forest: &Forest| {
        let Forest { start, nodes, trees } = forest;
        format!("Forest {{ start: {start:?}, nodes: &{nodes:?}, trees: &{trees:?} }}")
    };
    let errors = |errors: &Errors| {
        let Errors { interval, ascending } = errors;
        format!("Errors {{ interval: {interval:?}, ascending: &{ascending:?} }}")
    };
    let step = |(count, at_most): &(u32, Forest)| format!("({count}, {}),", forest(at_most));
    let steps: String = model.steps.iter().map(step).collect();
    let mut source = String::new();
    write!(
        source,
        "Model {{ inputs: &[{}], shares: &[{}], most: &{:?}, errors: {}, debug_errors: {}, \
         usual: UsualCounts {{ weights: [&{:?}, &{:?}, &{:?}] }}, registers: {}, spread: {}, steps: &[{}] }}",
        numbers(&model.inputs),
        numbers(&model.shares),
        model.most,
        errors(&model.errors),
        errors(&model.debug_errors),
        model.usual[0],
        model.usual[1],
        model.usual[2],
        forest(&model.registers),
        forest(&model.spread),
        steps,
    )
    .expect("writing to a string does not fail");
    let out = std::env::var("OUT_DIR").expect("cargo sets OUT_DIR");
    std::fs::write(Path::new(&out).join("estimate_model.rs"), source)
        .expect("cargo's folder can be written to");
}
