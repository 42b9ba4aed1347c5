//! Splits variables into registers for their unrelated parts.
//!
//! LLVM's verifier requires the live interval of a register to be connected. Two definitions are
//! connected if a use may see either, or if an instruction reads the one and writes the other. Such
//! classes of definitions are the webs of classic register allocation.
//!
//! ```text
//! %0 = …; use %0; %0 = …; use %0      ─▶  %0 = …; use %0; %9 = …; use %9
//! ```

use super::defined::{Flow, Local, members};
use super::index::{Block, Entity, Table, Value};
use super::model::{Function, Instruction, Operation, Use};

/// Splits every variable into its webs; the uses of variables must be sound.
pub(super) fn split(function: &mut Function) {
    if function.variables == 0 {
        return;
    }
    let webs = find(function);
    rename(function, webs);
}

/// A definition, or a value at the start of a block where definitions may meet.
type WebNode = u32;

/// Nodes of all mentions of a variable, in the order in which `walk` visits them.
struct Webs {
    names: Vec<WebNode>,
    parents: Vec<WebNode>,
    variables: Vec<Value>,
}

impl Webs {
    fn add(&mut self, variable: Value) -> WebNode {
        let node = u32::try_from(self.parents.len()).expect("fewer than 2^32 definitions");
        self.parents.push(node);
        self.variables.push(variable);
        node
    }

    fn root(&mut self, mut node: WebNode) -> WebNode {
        while self.parents[node as usize] != node {
            let above = self.parents[node as usize] as usize;
            self.parents[node as usize] = self.parents[above];
            node = self.parents[node as usize];
        }
        node
    }

    fn join(&mut self, left: WebNode, right: WebNode) {
        let (left, right) = (self.root(left), self.root(right));
        self.parents[left.max(right) as usize] = left.min(right);
    }
}

fn find(function: &Function) -> Webs {
    let words = function.variables.div_ceil(64);
    let mut local = Local::new(function, words);
    local.add_repairs(function);
    let flow = Flow::new(&function.graph, &local);
    let mut webs = Webs {
        names: Vec::new(),
        parents: Vec::new(),
        variables: Vec::new(),
    };
    // Nodes of the live variables at the start of each block, in order.
    let mut at_start: Table<Block, Vec<WebNode>> = Table::new();
    for block in function.graph.blocks() {
        let live = members(flow.live.of(block));
        at_start.push(live.map(|variable| webs.add(Value::new(variable))).collect());
    }
    let mut current: Vec<Option<WebNode>> = vec![None; function.variables];
    for block in function.graph.blocks() {
        current.fill(None);
        for &node in &at_start[block] {
            current[webs.variables[node as usize].index()] = Some(node);
        }
        let define = |webs: &mut Webs, current: &mut Vec<Option<WebNode>>, value: Value| {
            let node = webs.add(value);
            webs.names.push(node);
            current[value.index()] = Some(node);
            node
        };
        let read = |webs: &mut Webs, current: &[Option<WebNode>], operand: &Use| {
            if let Use::Value(value) = *operand
                && function.is_variable(value)
            {
                webs.names
                    .push(current[value.index()].expect("a sound use sees a definition"));
            }
        };
        for &value in &function.undefined_at_start[block] {
            define(&mut webs, &mut current, value);
        }
        for instruction in function.instructions_of(block) {
            let operands = function.operands_of(instruction);
            operands
                .iter()
                .for_each(|operand| read(&mut webs, &current, operand));
            for &value in function
                .results_of(instruction)
                .iter()
                .filter(|&&value| function.is_variable(value))
            {
                let before = current[value.index()].filter(|_| operands.contains(&Use::Value(value)));
                let node = define(&mut webs, &mut current, value);
                if let Some(before) = before {
                    webs.join(before, node);
                }
            }
        }
        for &value in &function.undefined_at_end[block] {
            define(&mut webs, &mut current, value);
        }
        function.bodies[block]
            .condition
            .iter()
            .for_each(|operand| read(&mut webs, &current, operand));
        for &successor in function.graph.successors(block) {
            for &node in &at_start[successor] {
                let here = current[webs.variables[node as usize].index()];
                webs.join(here.expect("a variable that is live has a definition"), node);
            }
        }
    }
    webs
}

fn rename(function: &mut Function, mut webs: Webs) {
    // The first web of a variable keeps its register.
    let mut taken = vec![false; function.variables];
    let mut registers: Vec<Option<Value>> = vec![None; webs.parents.len()];
    let mut names = std::mem::take(&mut webs.names).into_iter();
    let types = &mut function.types;
    let mut register = || {
        let root = webs.root(names.next().expect("names are met in the same order again")) as usize;
        *registers[root].get_or_insert_with(|| {
            let variable = webs.variables[root];
            if std::mem::replace(&mut taken[variable.index()], true) {
                types.push(types[variable])
            } else {
                variable
            }
        })
    };
    let is_variable = |value: Value| value.index() < function.variables;
    for block in function.graph.blocks() {
        function.undefined_at_start[block]
            .iter_mut()
            .for_each(|value| *value = register());
        for instruction in &function.instructions[function.bodies[block].instructions.range()] {
            for operand in &mut function.uses[instruction.operands.range()] {
                if let Use::Value(value) = operand
                    && is_variable(*value)
                {
                    *value = register();
                }
            }
            for value in &mut function.results[instruction.results.range()] {
                if is_variable(*value) {
                    *value = register();
                }
            }
            keep_tied(instruction, &mut function.uses, &function.results);
        }
        function.undefined_at_end[block]
            .iter_mut()
            .for_each(|value| *value = register());
        if let Some(Use::Value(value)) = &mut function.bodies[block].condition
            && is_variable(*value)
        {
            *value = register();
        }
    }
}

/// A tied operand without a value belongs to no web, but still names the register of its result.
fn keep_tied(instruction: &Instruction, uses: &mut [Use], results: &[Value]) {
    if let Operation::Assembly { tied: true, .. } = instruction.operation
        && let operand @ Use::Undefined(_) = &mut uses[instruction.operands.range().start]
    {
        *operand = Use::Undefined(results[instruction.results.range().start]);
    }
}
