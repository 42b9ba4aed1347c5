//! The declarations of a module: variables with their initial values, and the parameters of its
//! kernels.
//!
//! Both are read from the PTX that LLVM prints for the module, because its form is the same for
//! every source language. So snapshots whose PTX is available run without LLVM.

use thiserror::Error;

/// The bytes of a reference to a texture, surface or sampler.
const REFERENCE_BYTES: u64 = 8;

/// The space of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VariableSpace {
    /// Global memory.
    Global,
    /// Constant memory.
    Const,
    /// Shared memory of each block.
    Shared,
}

/// A variable of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its space.
    pub space: VariableSpace,
    /// Size in bytes; zero for an array whose size the launch gives.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// Its initial value; the bytes after it are zero.
    pub initial: Vec<u8>,
    /// Addresses in the initial value.
    pub references: Vec<Reference>,
}

/// A place in an initial value that holds an address or a part of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Bytes from the start of the variable.
    pub offset: usize,
    /// The number of address bytes there.
    pub bytes: usize,
    /// The number of bits by which the address is shifted right.
    pub shift: u32,
    /// The symbol.
    pub symbol: String,
    /// Offset from the symbol in bytes.
    pub addend: i64,
    /// True for the generic address of a symbol in another space.
    pub is_generic: bool,
}

/// A parameter of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Size in bytes.
    pub size: u64,
    /// Alignment in bytes.
    pub alignment: u64,
    /// True if it is known to be a pointer.
    pub is_pointer: bool,
}

/// An entry of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
}

/// The declarations of a module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// Its variables, in order.
    pub variables: Vec<Variable>,
    /// Its entries, in order.
    pub kernels: Vec<Kernel>,
}

/// A declaration that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line} of the PTX: {problem}")]
pub struct ModuleError {
    /// The line, from one.
    pub line: usize,
    /// The problem.
    pub problem: String,
}

impl Module {
    /// Reads the declarations of a module that LLVM has printed.
    ///
    /// # Errors
    /// If a declaration has a form that LLVM does not print.
    pub fn parse(ptx: &str) -> Result<Self, ModuleError> {
        let mut module = Self::default();
        let mut kernel: Option<Kernel> = None;
        for (index, line) in ptx.lines().enumerate() {
            let fail = |problem: String| ModuleError {
                line: index + 1,
                problem,
            };
            let line = line.split("//").next().unwrap_or_default().trim();
            if let Some(open) = &mut kernel {
                if line.starts_with(".param") {
                    open.parameters.push(parse_parameter(line).map_err(fail)?);
                } else if line.starts_with('{') || line.ends_with(';') {
                    module.kernels.extend(kernel.take());
                }
                continue;
            }
            let declaration = line
                .split_whitespace()
                .find(|word| !matches!(*word, ".visible" | ".weak" | ".extern" | ".common"));
            match declaration {
                Some(".entry") => {
                    let rest = line.split_once(".entry").map_or("", |(_, rest)| rest).trim();
                    let (name, rest) = rest.split_once('(').unwrap_or((rest, ""));
                    let new = Kernel {
                        name: name.trim().to_owned(),
                        parameters: Vec::new(),
                    };
                    // Without parameters the list ends on its first line.
                    if rest.starts_with(')') || !line.contains('(') {
                        module.kernels.push(new);
                    } else {
                        kernel = Some(new);
                    }
                }
                Some(".global" | ".const" | ".shared") => {
                    let is_external = line.starts_with(".extern");
                    let variable = parse_variable(line).map_err(fail)?;
                    // A declaration of another module's symbol has no bytes.
                    if !is_external || variable.space == VariableSpace::Shared {
                        module.variables.push(variable);
                    }
                }
                _ => {}
            }
        }
        Ok(module)
    }

    /// Returns the kernel with a name.
    pub fn kernel(&self, name: &str) -> Option<&Kernel> {
        self.kernels.iter().find(|kernel| kernel.name == name)
    }
}

/// Returns the size in bytes of a type's name.
fn type_size(word: &str) -> Option<u64> {
    let bits: u64 = word.strip_prefix('.')?.get(1..)?.parse().ok()?;
    matches!(word.as_bytes()[1], b'b' | b'u' | b's' | b'f').then_some(bits / 8)
}

/// Parses a name with the number of elements after it.
fn parse_name(text: &str) -> Result<(String, Option<u64>), String> {
    let Some((name, rest)) = text.split_once('[') else {
        return Ok((text.to_owned(), None));
    };
    let count = rest.trim_end_matches(']').trim();
    let count = if count.is_empty() {
        0
    } else {
        count
            .parse()
            .map_err(|_| format!("`{count}` is no number of elements"))?
    };
    Ok((name.to_owned(), Some(count)))
}

/// Returns the bytes of an element of a parameter or variable. References to textures and surfaces are
/// opaque; what reads one cannot be executed.
fn element_size(words: &[&str]) -> Option<u64> {
    let is_reference = |word: &&str| matches!(*word, ".texref" | ".surfref" | ".samplerref");
    let opaque = words.iter().any(is_reference).then_some(REFERENCE_BYTES);
    opaque.or_else(|| words.iter().find_map(|word| type_size(word)))
}

fn parse_parameter(line: &str) -> Result<Parameter, String> {
    let words: Vec<&str> = line.trim_end_matches([',', ')']).split_whitespace().collect();
    let element = element_size(&words).ok_or_else(|| format!("a parameter without a type: `{line}`"))?;
    let is_pointer = words.contains(&".ptr");
    let given = words
        .iter()
        .position(|word| *word == ".align")
        .and_then(|at| words.get(at + 1)?.parse().ok());
    let (_, count) = parse_name(words.last().copied().unwrap_or_default())?;
    Ok(Parameter {
        size: element * count.unwrap_or(1),
        // `.ptr` is followed by the alignment of its target.
        alignment: given.filter(|_| !is_pointer).unwrap_or(element).max(1),
        is_pointer,
    })
}

fn parse_variable(line: &str) -> Result<Variable, String> {
    let (declaration, initializer) = match line.split_once('=') {
        Some((declaration, initializer)) => {
            (declaration, Some(initializer.trim().trim_end_matches(';').trim()))
        }
        None => (line.trim_end_matches(';'), None),
    };
    let words: Vec<&str> = declaration.split_whitespace().collect();
    let space = words.iter().find_map(|word| match *word {
        ".global" => Some(VariableSpace::Global),
        ".const" => Some(VariableSpace::Const),
        ".shared" => Some(VariableSpace::Shared),
        _ => None,
    });
    let element = element_size(&words).ok_or_else(|| format!("a variable without a type: `{line}`"))?;
    let alignment = words
        .iter()
        .position(|word| *word == ".align")
        .and_then(|at| words.get(at + 1)?.parse().ok())
        .unwrap_or(element);
    let (name, count) = parse_name(words.last().copied().unwrap_or_default())?;
    let mut variable = Variable {
        name,
        space: space.ok_or("a variable without a space")?,
        size: element * count.unwrap_or(1),
        alignment,
        initial: Vec::new(),
        references: Vec::new(),
    };
    for item in initializer
        .map_or("", |text| text.trim_start_matches('{').trim_end_matches('}'))
        .split(',')
        .map(str::trim)
        .filter(|item| !item.is_empty())
    {
        parse_item(&mut variable, element as usize, item)?;
    }
    Ok(variable)
}

/// Parses an element of an initial value: a number, or an address in one of the forms `name`,
/// `name+4`, `generic(name)`, `0xFF00(name)`, the last for single bytes of it.
fn parse_item(variable: &mut Variable, size: usize, item: &str) -> Result<(), String> {
    if let Some(bytes) = parse_number(item) {
        variable.initial.extend_from_slice(&bytes[..size]);
        return Ok(());
    }
    let mut shift = 0;
    let mut rest = item;
    if let Some(hexadecimal) = item.strip_prefix("0x").or_else(|| item.strip_prefix("0X")) {
        let (mask, inner) = hexadecimal
            .split_once('(')
            .ok_or_else(|| format!("`{item}` is no initial value"))?;
        let mask = u64::from_str_radix(mask, 16).map_err(|_| format!("`{item}` is no initial value"))?;
        shift = mask.trailing_zeros();
        rest = inner.trim_end_matches(')');
    }
    let is_generic = rest.starts_with("generic(");
    let rest = if is_generic {
        let inner = &rest["generic(".len()..];
        inner.replacen(')', "", 1)
    } else {
        rest.trim_end_matches(')').to_owned()
    };
    let split = rest[1..].find(['+', '-']).map(|at| at + 1);
    let (symbol, addend) = match split {
        Some(at) => (
            &rest[..at],
            rest[at..]
                .parse()
                .map_err(|_| format!("`{item}` is no initial value"))?,
        ),
        None => (rest.as_str(), 0),
    };
    variable.references.push(Reference {
        offset: variable.initial.len(),
        bytes: size,
        shift,
        symbol: symbol.to_owned(),
        addend,
        is_generic,
    });
    variable.initial.extend(std::iter::repeat_n(0, size));
    Ok(())
}

/// Parses the bytes of a number: decimal, hexadecimal, or the bits of a float as PTX writes them
/// (`0f3F800000`, `0d...`).
fn parse_number(text: &str) -> Option<[u8; 16]> {
    let bits = match text.get(..2) {
        Some("0f" | "0F" | "0d" | "0D" | "0x" | "0X") => u128::from_str_radix(&text[2..], 16).ok()?,
        _ => text
            .parse::<i128>()
            .map(|value| value as u128)
            .ok()
            .or_else(|| text.parse().ok())?,
    };
    Some(bits.to_le_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn declarations_of_llvm_are_read() {
        let ptx = "\
.visible .const .align 4 .b8 weights[8] = {1, 0, 0, 0, 254, 255, 255, 255};
.global .align 4 .u32 counter = 100;
.visible .global .align 8 .u64 table[3] = {f, generic(counter), g+16};
.extern .shared .align 16 .b8 dynamic[];
.global .align 4 .f32 one = 0f3F800000;
.extern .func (.param .b32 r) f
(
	.param .b32 f_param_0
);
.visible .entry empty()
{
	// demoted variable
	.shared .align 4 .b8 staged[256];
	ret;
}
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0, // pointer
	.param .align 8 .b8 kernel_param_1[24],
	.param .u32 kernel_param_2
)
.maxntid 32
{
";
        let module = Module::parse(ptx).unwrap();
        let sizes: Vec<(&str, u64, u64)> = module
            .variables
            .iter()
            .map(|variable| (variable.name.as_str(), variable.size, variable.alignment))
            .collect();
        assert_eq!(
            sizes,
            [
                ("weights", 8, 4),
                ("counter", 4, 4),
                ("table", 24, 8),
                ("dynamic", 0, 16),
                ("one", 4, 4),
                ("staged", 256, 4)
            ]
        );
        assert_eq!(module.variables[0].initial, [1, 0, 0, 0, 254, 255, 255, 255]);
        assert_eq!(module.variables[1].initial, [100, 0, 0, 0]);
        let references: Vec<_> = module.variables[2]
            .references
            .iter()
            .map(|it| (it.offset, it.symbol.as_str(), it.addend, it.is_generic))
            .collect();
        assert_eq!(
            references,
            [(0, "f", 0, false), (8, "counter", 0, true), (16, "g", 16, false)]
        );
        assert_eq!(module.variables[4].initial, 1.0f32.to_le_bytes());
        assert_eq!(module.kernel("empty").unwrap().parameters, []);
        let parameters: Vec<_> = module.kernel("kernel").unwrap().parameters.iter().collect();
        assert_eq!(
            parameters
                .iter()
                .map(|it| (it.size, it.alignment, it.is_pointer))
                .collect::<Vec<_>>(),
            [(8, 8, true), (24, 8, false), (4, 4, false)]
        );
    }

    #[test]
    fn bytes_of_an_address_are_shifted() {
        let line = ".global .align 1 .b8 packed[9] = {7, 0xFF(f), 0xFF00(f), 0xFF0000(f), 0, 0, 0, 0, 0};";
        let module = Module::parse(line).unwrap();
        let shifts: Vec<_> = module.variables[0]
            .references
            .iter()
            .map(|it| (it.offset, it.bytes, it.shift))
            .collect();
        assert_eq!(shifts, [(1, 1, 0), (2, 1, 8), (3, 1, 16)]);
    }
}
