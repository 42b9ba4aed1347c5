//! Call graph of a module: adds the registers of callees to those of their callers.
//!
//! ptxas either inlines a function, or calls it and keeps the registers that are live across the
//! call in registers that the callee does not use. In both cases the kernel needs these registers
//! plus those of the callee. The features of a callee are therefore added to those of its callers
//! before anything is estimated. Calls of unknown and recursive functions are only counted. A call by address may reach every function whose address is
//! taken, so ptxas gives the kernel the registers of the largest of these.

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

/// Features of functions, and the calls between them. Functions without a name are not in it, since
/// nothing can call them by name.
#[derive(Clone, Debug, Default)]
pub struct CallGraph {
    functions: HashMap<String, Caller>,
    /// The most registers, by their schedules, of the functions whose addresses are taken.
    most_by_address: f32,
    /// True if no function was added since all of them were settled.
    is_settled: bool,
}

#[derive(Clone, Debug)]
struct Caller {
    features: Features,
    /// Functions called by name, each once.
    callees: Vec<Callee>,
    /// Calls by address.
    indirect: usize,
    /// The features with those of all callees, once these are known and will not change. Functions that
    /// reach a cycle have none, since theirs depend on where the walk of the cycle begins.
    settled: Option<Features>,
}

/// The functions that a walk of the graph has come to, by name: none while their callees are being
/// visited, then the features with those of the callees, and whether the function reaches no cycle.
type Visits<'g> = HashMap<&'g str, Option<(Features, bool)>>;

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
        graph.settle();
        graph
    }

    /// Adds a function in late form.
    pub fn add(&mut self, function: &Function, target: &Target) {
        self.add_features(function, Features::new(function, target));
    }

    /// Adds a function in late form whose own features are known.
    pub fn add_features(&mut self, function: &Function, features: Features) {
        let name = &function.info.name;
        if function.info.flags.contains(FunctionFlags::ADDRESS_TAKEN) {
            self.most_by_address = self.most_by_address.max(features.source_peak);
        }
        if !name.is_empty() {
            self.functions
                .insert(name.clone(), Caller::new(function, features));
            self.is_settled = false;
        }
    }

    /// Returns the features of a function and of all its callees; none if the function was not
    /// added.
    pub fn features(&self, name: &str) -> Option<Features> {
        let (name, caller) = self.functions.get_key_value(name)?;
        Some(match caller.settled {
            Some(features) => features,
            None => self.with_callees(name, caller, &mut HashMap::new()),
        })
    }

    /// Returns the same of a function that is not in the graph, whose own features are known.
    pub fn features_of(&self, function: &Function, features: Features) -> Features {
        let caller = Caller::new(function, features);
        self.with_callees(&function.info.name, &caller, &mut HashMap::new())
    }

    /// Keeps the features of all functions with those of their callees. To be called when all
    /// functions were added.
    pub fn settle(&mut self) {
        if self.is_settled {
            return;
        }
        let names: Vec<String> = self.functions.keys().cloned().collect();
        names.iter().for_each(|name| self.settle_one(name));
        self.is_settled = true;
    }

    /// Keeps the features of a function, and of those that it calls, with those of their callees, and
    /// returns true, if the graph has all of them, as far as `has_body` knows them by name. A call by
    /// address may reach every function, so it is never complete.
    pub fn settle_if_complete(&mut self, name: &str, has_body: impl Fn(&str) -> bool) -> bool {
        let mut seen = HashSet::from([name]);
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            let Some(caller) = self.functions.get(name) else {
                match has_body(name) {
                    true => return false,
                    false => continue,
                }
            };
            if caller.settled.is_some() {
                continue;
            }
            if caller.indirect > 0 {
                return false;
            }
            let callees = caller.callees.iter().map(|callee| callee.name.as_str());
            open.extend(callees.filter(|&callee| seen.insert(callee)));
        }
        self.settle_one(name);
        true
    }

    fn settle_one(&mut self, name: &str) {
        let Some((name, caller)) = self.functions.get_key_value(name) else {
            return;
        };
        if caller.settled.is_some() {
            return;
        }
        let mut visits = HashMap::new();
        self.with_callees(name, caller, &mut visits);
        let settled = visits.into_iter().filter_map(|(name, visit)| match visit {
            Some((features, true)) => Some((name.to_owned(), features)),
            _ => None,
        });
        for (name, features) in settled.collect::<Vec<_>>() {
            if let Some(caller) = self.functions.get_mut(&name) {
                caller.settled = Some(features);
            }
        }
    }

    /// Returns the features of `caller` with those of its callees, which are visited first.
    fn with_callees<'g>(&'g self, name: &'g str, caller: &'g Caller, visits: &mut Visits<'g>) -> Features {
        let mut open: Vec<(&str, &Caller, usize)> = vec![(name, caller, 0)];
        visits.insert(name, None);
        while let Some((name, caller, next)) = open.pop() {
            let Some(callee) = caller.callees.get(next) else {
                let (features, is_acyclic) = self.sum(caller, visits);
                visits.insert(name, Some((features, is_acyclic)));
                if open.is_empty() {
                    return features;
                }
                continue;
            };
            open.push((name, caller, next + 1));
            if let Some((callee, caller)) = self.functions.get_key_value(&callee.name)
                && caller.settled.is_none()
                && !visits.contains_key(callee.as_str())
            {
                visits.insert(callee, None);
                open.push((callee, caller, 0));
            }
        }
        unreachable!("the walk ends with the function that it began with")
    }

    /// Returns the features of a function with those of its callees, all of which were visited, and
    /// whether it reaches no cycle.
    fn sum(&self, caller: &Caller, visits: &Visits<'_>) -> (Features, bool) {
        let mut features = caller.features;
        let mut is_acyclic = true;
        features.unknown_calls = caller.indirect as f32;
        features.opaque_calls = caller.indirect as f32;
        if caller.indirect > 0 {
            features.called_by_address = self.most_by_address;
        }
        for callee in &caller.callees {
            let known = self.functions.get(&callee.name);
            let of_callee = match (known.and_then(|it| it.settled), visits.get(callee.name.as_str())) {
                (Some(settled), _) => settled,
                (None, Some(Some((features, reaches_no_cycle)))) => {
                    is_acyclic &= reaches_no_cycle;
                    *features
                }
                (None, open) => {
                    if open.is_some() {
                        is_acyclic = false;
                        features.opaque_calls += 1.0;
                    }
                    features.unknown_calls += 1.0;
                    continue;
                }
            };
            match callee.caller_returns {
                true => features.add_callee(&of_callee),
                false => features.add_last_callee(&of_callee),
            }
        }
        (features, is_acyclic)
    }
}

impl Caller {
    fn new(function: &Function, features: Features) -> Self {
        let (callees, indirect) = calls(function);
        Self {
            features,
            callees,
            indirect,
            settled: None,
        }
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
