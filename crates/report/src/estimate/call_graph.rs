//! Call graph of a module: adds the registers of callees to those of their callers.
//!
//! ptxas either inlines a function, or calls it and keeps the registers that are live across the
//! call in registers that the callee does not use. In both cases the kernel needs these registers
//! plus those of the callee. The features of a callee are therefore added to those of its callers
//! before anything is estimated. Calls of unknown or recursive functions follow the calling
//! convention, so they are only counted. An indirect call may reach every function that no call
//! names, so ptxas gives the kernel the registers of the largest of these.

use super::dead_ends::{flow_of_machine, returning_blocks};
use super::{Features, Target};
use oriel_engine::snapshot::OwnedSnapshot;
use oriel_engine::snapshot::abi::{FunctionFlags, Stage};
use oriel_ori::machine::from_machine;
use oriel_ori::{Function, OperandKind, Operation, Special};
use std::collections::{HashMap, HashSet};

/// A function that another one calls.
#[derive(Clone, Debug)]
struct Callee {
    name: String,
    /// True if the caller may return after one of its calls. Otherwise none of its values live on.
    caller_returns: bool,
}

/// Features of functions, and the calls between them.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    functions: HashMap<String, Caller>,
}

#[derive(Clone, Debug)]
struct Caller {
    features: Features,
    is_kernel: bool,
    /// Functions called by name, each once.
    callees: Vec<Callee>,
    /// Calls by address.
    indirect: usize,
}

impl CallGraph {
    /// Returns the functions among these that are at the late stage, and that Ori can represent.
    pub fn of_snapshots<'i>(snapshots: impl Iterator<Item = &'i OwnedSnapshot>) -> Self {
        let mut graph = Self::default();
        for snapshot in snapshots.map(OwnedSnapshot::view) {
            if snapshot.stage() == Stage::Late
                && let Ok(function) = from_machine(&snapshot)
            {
                graph.add(&function, &Target::of(&snapshot));
            }
        }
        graph
    }

    /// Adds a function in late form.
    pub fn add(&mut self, function: &Function, target: &Target) {
        self.add_features(function, Features::new(function, target));
    }

    /// Adds a function in late form whose own features are known.
    pub fn add_features(&mut self, function: &Function, features: Features) {
        let (callees, indirect) = calls(function);
        let caller = Caller {
            features,
            is_kernel: function.info.flags.contains(FunctionFlags::KERNEL),
            callees,
            indirect,
        };
        self.functions.insert(function.info.name.clone(), caller);
    }

    /// Returns the features of a function and of all its callees; none if the function was not
    /// added.
    pub fn features(&self, name: &str) -> Option<Features> {
        self.functions.get(name)?;
        // Visits callees first: a function is finished once all its callees are.
        let mut finished: HashMap<&str, Option<Features>> = HashMap::new();
        let mut open: Vec<(&str, usize)> = vec![(self.functions.get_key_value(name)?.0, 0)];
        finished.insert(open[0].0, None);
        while let Some((name, next)) = open.pop() {
            let caller = &self.functions[name];
            if let Some(callee) = caller.callees.get(next) {
                open.push((name, next + 1));
                if let Some((callee, _)) = self.functions.get_key_value(&callee.name)
                    && !finished.contains_key(callee.as_str())
                {
                    finished.insert(callee, None);
                    open.push((callee, 0));
                }
                continue;
            }
            let mut features = caller.features;
            features.unknown_calls = caller.indirect as f32;
            if caller.indirect > 0 {
                features.called_by_address = self.most_by_address();
            }
            for callee in &caller.callees {
                match finished.get(callee.name.as_str()) {
                    Some(Some(of_callee)) if callee.caller_returns => features.add_callee(of_callee),
                    Some(Some(of_callee)) => features.add_last_callee(of_callee),
                    _ => features.unknown_calls += 1.0,
                }
            }
            finished.insert(name, Some(features));
        }
        finished.remove(name).flatten()
    }

    /// True if the graph has all functions that a function may call, directly or not, as far as
    /// `has_body` knows them by name. A call by address may reach every function, so it is never
    /// complete.
    pub fn is_complete(&self, name: &str, has_body: impl Fn(&str) -> bool) -> bool {
        let mut seen = HashSet::from([name]);
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            let Some(caller) = self.functions.get(name) else {
                match has_body(name) {
                    true => return false,
                    false => continue,
                }
            };
            if caller.indirect > 0 {
                return false;
            }
            let callees = caller.callees.iter().map(|callee| callee.name.as_str());
            open.extend(callees.filter(|&callee| seen.insert(callee)));
        }
        true
    }

    /// Returns the most registers, by their schedules, of the functions that no call names: those
    /// that calls by address reach.
    fn most_by_address(&self) -> f32 {
        let is_named = |name: &String| {
            self.functions
                .values()
                .any(|caller| caller.callees.iter().any(|callee| callee.name == *name))
        };
        let mut most = 0.0_f32;
        for (name, function) in &self.functions {
            if !function.is_kernel && !is_named(name) {
                most = most.max(function.features.source_peak);
            }
        }
        most
    }
}

/// Returns the functions called by name, each once, and the number of calls by address.
fn calls(function: &Function) -> (Vec<Callee>, usize) {
    let (mut found, mut indirect) = (Vec::<Callee>::new(), 0);
    let mut returning = None;
    let instructions = function.all_instructions();
    for instruction in instructions.filter(|&it| function.operation(it) == Operation::Call) {
        let symbol = match function.source(instruction, 0).kind() {
            OperandKind::Special(special) => match function.special_data(special) {
                Special::Symbol { symbol, .. } => Some(symbol),
                _ => None,
            },
            _ => None,
        };
        let Some(symbol) = symbol else {
            indirect += 1;
            continue;
        };
        let returning =
            returning.get_or_insert_with(|| returning_blocks(function, &flow_of_machine(function)));
        let caller_returns = function
            .block_of(instruction)
            .is_some_and(|block| returning.contains(block));
        let name = function.symbol_name(symbol);
        match found.iter_mut().find(|known| known.name == name) {
            Some(known) => known.caller_returns |= caller_returns,
            None => found.push(Callee {
                name: name.to_owned(),
                caller_returns,
            }),
        }
    }
    (found, indirect)
}
