//! LLVM's opcodes: their operands and their PTX.

use oriel::{OrielSink, OrielText};
use oriel_engine::snapshot::abi::OpcodeFlags;

unsafe extern "C" {
    fn oriel_list_opcodes(out: OrielSink);
    fn oriel_print_opcode(name: OrielText, numbers: *const i64, count: usize, out: OrielSink) -> i32;
}

/// One of LLVM's NVPTX opcodes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LlvmOpcode {
    /// LLVM's name.
    pub name: String,
    /// For an opcode whose name is only a number: mnemonic and a letter for each operand, if LLVM
    /// describes its operands. Otherwise empty.
    pub mnemonic: String,
    /// Its operands: a register class, `i` for an immediate or `?` for an operand that LLVM does
    /// not describe; `=` before results, then `&` if it is an early clobber and `+` if it is tied
    /// to another.
    pub operands: Vec<String>,
    /// LLVM's description of it, without flags that depend on the instruction.
    pub flags: OpcodeFlags,
}

impl LlvmOpcode {
    /// Returns the name by which Ori knows the opcode: the mnemonic if there is one.
    pub fn mapping_name(&self) -> &str {
        match self.mnemonic.as_str() {
            "" => &self.name,
            mnemonic => mnemonic,
        }
    }
}

/// Returns every opcode of the NVPTX target, which must be initialised.
pub fn llvm_opcodes() -> Vec<LlvmOpcode> {
    let mut text = String::new();
    // SAFETY: the sink's string lives until the call returns, and the call keeps nothing.
    unsafe { oriel_list_opcodes(OrielSink::into_string(&mut text)) };
    let parse = |line: &str| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default().to_owned();
        LlvmOpcode {
            name: field(),
            mnemonic: field(),
            operands: field().split_whitespace().map(str::to_owned).collect(),
            flags: OpcodeFlags::from_bits_truncate(field().parse().unwrap_or_default()),
        }
    };
    text.lines().map(parse).collect()
}

/// Returns LLVM's output for an opcode with made-up registers, and `numbers` for all other
/// operands; none if there is no such opcode. The NVPTX target must be initialised. LLVM crashes on
/// invalid numbers.
pub fn print_llvm_opcode(name: &str, numbers: &[i64]) -> Option<String> {
    let mut text = String::new();
    // SAFETY: name, numbers and the sink's string live until the call returns, and the call keeps
    // none of them.
    let found = unsafe {
        oriel_print_opcode(
            OrielText::borrowed(name),
            numbers.as_ptr(),
            numbers.len(),
            OrielSink::into_string(&mut text),
        )
    };
    (found != 0).then_some(text)
}
