//! Edits in text form: `-oriel-edit=FILE`, for tests of the write-back and for experiments on a
//! function that LLVM has lowered. `docs/edit-scripts.md` describes the language.
//!
//! ```text
//! function saxpy ssa
//! delete FADD_rnf32rr#0
//! set SETP_i32ri#0 2 = 7
//! insert before ST_i32#0: %twice:B32 = ADD32rr %5 %5
//! replace %5 with %twice
//! ```

use super::{EditError, EditedInstruction, Editor, InsertionPoint, NewInstruction, Operand};
use oriel_engine::entity::{Block, EntityRef, FrameObject, Instruction, Register, RegisterClass};
use oriel_engine::snapshot::Snapshot;
use oriel_engine::snapshot::abi::{OperandKind, Stage};
use std::collections::HashMap;

/// A script: for each function and stage, the commands in order.
#[derive(Clone, Debug, Default)]
pub struct EditScript {
    sections: Vec<Section>,
}

#[derive(Clone, Debug)]
struct Section {
    function: String,
    stage: Option<Stage>,
    /// Line numbers, counted from one, and the commands' words.
    commands: Vec<(usize, Vec<String>)>,
}

/// An error in a script.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {problem}")]
pub struct ScriptError {
    /// The line, counted from one.
    pub line: usize,
    /// The error.
    pub problem: String,
}

impl EditScript {
    /// Parses a script. Commands are checked when they are applied.
    ///
    /// # Errors
    /// A command precedes the first `function` line, or such a line is malformed.
    pub fn parse(text: &str) -> Result<Self, ScriptError> {
        let mut script = Self::default();
        for (index, line) in text.lines().enumerate() {
            let line_number = index + 1;
            // Comments have lines of their own: within a line, `#` numbers an instruction.
            let code = if line.trim_start().starts_with('#') {
                ""
            } else {
                line
            };
            let words: Vec<String> = code
                .split(|c: char| c.is_whitespace() || c == ',')
                .filter(|word| !word.is_empty())
                .map(str::to_owned)
                .collect();
            let fail = |problem: &str| {
                Err(ScriptError {
                    line: line_number,
                    problem: problem.to_owned(),
                })
            };
            match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                [] => {}
                ["function", name, rest @ ..] => {
                    let stage = match rest {
                        [] => None,
                        ["ssa"] => Some(Stage::Ssa),
                        ["late"] => Some(Stage::Late),
                        _ => return fail("expected ssa, late or nothing after the function's name"),
                    };
                    script.sections.push(Section {
                        function: (*name).to_owned(),
                        stage,
                        commands: Vec::new(),
                    });
                }
                _ => match script.sections.last_mut() {
                    Some(section) => section.commands.push((line_number, words)),
                    None => return fail("a script starts with 'function NAME'"),
                },
            }
        }
        Ok(script)
    }

    /// Applies the commands for a function; none if the script does not mention it.
    ///
    /// # Errors
    /// A command is malformed or cannot be applied.
    pub fn apply<'s>(&self, snapshot: Snapshot<'s>) -> Result<Option<Editor<'s>>, ScriptError> {
        let matches = |section: &&Section| {
            section.function == snapshot.name() && section.stage.is_none_or(|stage| stage == snapshot.stage())
        };
        let mut sections = self.sections.iter().filter(matches).peekable();
        if sections.peek().is_none() {
            return Ok(None);
        }
        let mut interpreter = Interpreter {
            editor: Editor::new(snapshot),
            registers: HashMap::new(),
            blocks: HashMap::new(),
            nodes: HashMap::new(),
        };
        for section in sections {
            for (line, words) in &section.commands {
                let words: Vec<&str> = words.iter().map(String::as_str).collect();
                interpreter
                    .command(&words)
                    .map_err(|problem| ScriptError { line: *line, problem })?;
            }
        }
        Ok(Some(interpreter.editor))
    }
}

/// Applies commands to one function.
struct Interpreter<'a> {
    editor: Editor<'a>,
    /// New registers, blocks and instructions by the names in the script.
    registers: HashMap<String, Register>,
    blocks: HashMap<String, Block>,
    nodes: HashMap<String, EditedInstruction>,
}

type CommandResult<T> = Result<T, String>;

fn explain(error: EditError) -> String {
    error.to_string()
}

impl Interpreter<'_> {
    fn command(&mut self, words: &[&str]) -> CommandResult<()> {
        match words {
            ["delete", instruction] => {
                let node = self.node(instruction)?;
                self.editor.delete(node).map_err(explain)
            }
            ["delete-block", block] => {
                let block = self.block(block)?;
                self.editor.delete_block(block).map_err(explain)
            }
            ["set", instruction, number, "=", value] => {
                let node = self.node(instruction)?;
                let number = parse_number(number)?;
                let operand = self.operand(value)?;
                self.editor.set_operand(node, number, operand).map_err(explain)
            }
            ["replace", from, "with", to] => {
                let (from, to) = (self.register(from)?, self.register(to)?);
                self.editor.replace_register(from, to);
                Ok(())
            }
            ["insert", place @ ("before" | "after"), anchor, rest @ ..] => {
                let anchor = anchor.trim_end_matches(':');
                let at = self.position(anchor, *place == "after")?;
                self.insert(at, rest)
            }
            ["append", block, rest @ ..] => {
                let block = self.block(block.trim_end_matches(':'))?;
                let index = self.editor.nodes_of(block).len();
                self.insert(InsertionPoint { block, index }, rest)
            }
            [
                "clone",
                instruction,
                place @ ("before" | "after"),
                anchor,
                rest @ ..,
            ] => {
                let at = self.position(anchor, *place == "after")?;
                self.clone_instruction(instruction, at, rest)
            }
            ["move", instruction, place @ ("before" | "after"), anchor] => {
                let (node, anchor) = (self.node(instruction)?, self.node(anchor)?);
                self.editor
                    .move_instruction(node, anchor, *place == "after")
                    .map_err(explain)
            }
            ["merge", instruction, "into", survivor] => {
                let (node, survivor) = (self.node(instruction)?, self.node(survivor)?);
                self.editor.merge(node, survivor).map_err(explain)
            }
            ["new-block", name, "after", block] => {
                let after = self.block(block)?;
                let block = self.editor.new_block(after).map_err(explain)?;
                self.blocks.insert((*name).to_owned(), block);
                Ok(())
            }
            ["split", "before", instruction, "as", name] => {
                let at = self.position(instruction, false)?;
                let tail = self.editor.split_block(at).map_err(explain)?;
                self.blocks.insert((*name).to_owned(), tail);
                Ok(())
            }
            ["edge", from, "to", to] => {
                let (from, to) = (self.block(from)?, self.block(to)?);
                self.editor.add_edge(from, to).map_err(explain)
            }
            ["retarget", block, "from", old, "to", new] => {
                let (block, old, new) = (self.block(block)?, self.block(old)?, self.block(new)?);
                self.editor.retarget(block, old, new).map_err(explain)
            }
            ["place", block, "after", other] => {
                let (block, other) = (self.block(block)?, self.block(other)?);
                self.editor.place_block(block, other).map_err(explain)
            }
            ["remove-object", number] => {
                let number = parse_number(number)?;
                self.editor.remove_frame_object(FrameObject::new(number));
                Ok(())
            }
            _ => Err(format!(
                "'{}' is no command; allowed are delete, delete-block, set, replace, insert, append, clone, \
                 move, merge, new-block, split, edge, retarget, place and remove-object",
                words.join(" ")
            )),
        }
    }

    /// `[RESULT... =] OPCODE OPERAND...`, optionally followed by `from INSTRUCTION`.
    fn insert(&mut self, at: InsertionPoint, words: &[&str]) -> CommandResult<()> {
        let (words, source) = match words {
            [words @ .., "from", source] => {
                let node = self.node(source)?;
                (words, self.editor.source(node))
            }
            _ => (words, None),
        };
        let split = words.iter().position(|&word| word == "=");
        let (results, body) = split.map_or((&[][..], words), |split| (&words[..split], &words[split + 1..]));
        let [opcode, uses @ ..] = body else {
            return Err("an opcode is missing".to_owned());
        };
        let mut operands = Vec::new();
        for result in results {
            operands.push(Operand::Definition(self.register(result)?));
        }
        for word in uses {
            operands.push(self.operand(word)?);
        }
        if let Some(source) = source {
            let node = self.editor.node(source);
            // It replaces its source, wherever it is.
            if self.editor.position(node).is_ok() {
                return Err("first delete the instruction that the new one replaces".to_owned());
            }
        }
        let node = self.editor.insert(
            at,
            NewInstruction {
                opcode,
                operands: &operands,
                source,
            },
        );
        if let [result, ..] = results {
            self.nodes.insert(
                format!("def({})", result.split(':').next().unwrap_or(result)),
                node,
            );
        }
        Ok(())
    }

    /// `clone INSTRUCTION before|after ANCHOR [with NUMBER = VALUE]...`
    fn clone_instruction(
        &mut self,
        instruction: &str,
        at: InsertionPoint,
        changes: &[&str],
    ) -> CommandResult<()> {
        let node = self.node(instruction)?;
        let source = self
            .editor
            .source(node)
            .ok_or("only input instructions can be cloned")?;
        let copy = self.editor.clone_instruction(source, at).map_err(explain)?;
        for change in changes.chunks(4) {
            let ["with", number, "=", value] = change else {
                return Err("expected 'with NUMBER = VALUE' or nothing after the position".to_owned());
            };
            let operand = self.operand(value)?;
            self.editor
                .set_operand(copy, parse_number(number)?, operand)
                .map_err(explain)?;
        }
        Ok(())
    }

    fn position(&self, instruction: &str, after: bool) -> CommandResult<InsertionPoint> {
        let node = self.node(instruction)?;
        let at = self.editor.position(node).map_err(explain)?;
        Ok(InsertionPoint {
            index: at.index + usize::from(after),
            ..at
        })
    }

    /// `@12`, `ADD32rr#0` (the first of that opcode in the input) or `def(%name)`.
    fn node(&self, word: &str) -> CommandResult<EditedInstruction> {
        if let Some(&node) = self.nodes.get(word) {
            return Ok(node);
        }
        let snapshot = self.editor.snapshot();
        let found = if let Some(number) = word.strip_prefix('@') {
            let number = parse_number(number)?;
            (number < snapshot.instruction_count()).then(|| Instruction::new(number))
        } else {
            let (opcode, number) = word
                .split_once('#')
                .ok_or_else(|| format!("'{word}' is no instruction; write @NUMBER or OPCODE#NUMBER"))?;
            snapshot
                .instructions()
                .filter(|&instruction| snapshot.instruction(instruction).opcode_name() == opcode)
                .nth(parse_number(number)?)
        };
        found
            .map(|instruction| self.editor.node(instruction))
            .ok_or_else(|| format!("there is no instruction {word}"))
    }

    /// `bb.N`, or the name of a new block.
    fn block(&self, word: &str) -> CommandResult<Block> {
        if let Some(&block) = self.blocks.get(word) {
            return Ok(block);
        }
        let snapshot = self.editor.snapshot();
        let number = word
            .strip_prefix("bb.")
            .and_then(|number| number.parse::<u32>().ok());
        number
            .and_then(|number| {
                snapshot
                    .blocks()
                    .find(|&block| snapshot.block(block).number == number)
            })
            .ok_or_else(|| format!("there is no block {word}"))
    }

    /// `%5`, `INSTRUCTION.NUMBER` for a register operand's register, or `%name:CLASS` where a new
    /// register is first mentioned and `%name` from then on.
    fn register(&mut self, word: &str) -> CommandResult<Register> {
        if let Some(register) = self.input_register(word) {
            return Ok(register);
        }
        let name = word
            .strip_prefix('%')
            .ok_or_else(|| format!("'{word}' is no register"))?;
        if let Ok(number) = name.parse::<usize>() {
            if number < self.editor.snapshot().register_count() {
                return Ok(Register::new(number));
            }
            return Err(format!("there is no register {word}"));
        }
        match name.split_once(':') {
            None => self
                .registers
                .get(word)
                .copied()
                .ok_or_else(|| format!("{word} has no class yet")),
            Some((name, class)) => {
                let snapshot = self.editor.snapshot();
                let classes = &snapshot.arrays().register_classes;
                let index = classes
                    .iter()
                    .position(|record| snapshot.string(record.name).eq_ignore_ascii_case(class))
                    .ok_or_else(|| format!("there is no register class {class}"))?;
                let register = self.editor.new_register(RegisterClass::new(index));
                self.registers.insert(format!("%{name}"), register);
                Ok(register)
            }
        }
    }

    /// Returns the register of the input's operand `INSTRUCTION.NUMBER`.
    fn input_register(&self, word: &str) -> Option<Register> {
        let (instruction, number) = word.rsplit_once('.')?;
        let source = self.editor.source(self.node(instruction).ok()?)?;
        let snapshot = self.editor.snapshot();
        let record = snapshot
            .instruction(source)
            .operand_records()
            .get(parse_number(number).ok()?)?;
        let is_register = record.kind == OperandKind::Register as u8;
        is_register.then(|| Register::from_u32(record.index))
    }

    /// Parses a register, a block, an immediate, or `INSTRUCTION.NUMBER`: the value of that
    /// operand.
    fn operand(&mut self, word: &str) -> CommandResult<Operand> {
        if word.starts_with('%') || self.input_register(word).is_some() {
            return Ok(Operand::Use(self.register(word)?));
        }
        if let Ok(value) = word.parse::<i64>() {
            return Ok(Operand::Immediate(value));
        }
        if let Ok(block) = self.block(word) {
            return Ok(Operand::Block(block));
        }
        let (instruction, number) = word
            .rsplit_once('.')
            .ok_or_else(|| format!("'{word}' is no operand"))?;
        let node = self.node(instruction)?;
        let source = self
            .editor
            .source(node)
            .ok_or("only operands of input instructions can be reused")?;
        Ok(Operand::Original(source, parse_number(number)?))
    }
}

fn parse_number(word: &str) -> CommandResult<usize> {
    word.parse().map_err(|_| format!("'{word}' is no number"))
}
