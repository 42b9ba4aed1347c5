//! Parses the output of `ptxas -v`.

use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// ptxas' figures of a function.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct PtxasFigures {
    /// Registers a thread; none for device functions, which ptxas counts with their callers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ptxas_registers: Option<u32>,
    /// Bytes a thread of stack frame.
    pub ptxas_stack_bytes: u32,
    /// Bytes a thread of stores to spilled registers.
    pub ptxas_spill_store_bytes: u32,
    /// Bytes a thread of loads of spilled registers.
    pub ptxas_spill_load_bytes: u32,
    /// Bytes a block of static shared memory, with what ptxas keeps there itself.
    pub ptxas_shared_bytes: u32,
}

/// Removes from PTX the directive by which LLVM requests debuggable code if the module's debug
/// information has variables. With it ptxas would take more registers for the same code (39 instead
/// of 19 for a kernel of the examples).
pub fn without_debug_target(ptx: &str) -> Cow<'_, str> {
    let mut lines = ptx.split_inclusive('\n');
    match lines.find(|line| line.starts_with(".target ")) {
        Some(target) if target.trim_end().ends_with(", debug") => {
            let plain = target.replacen(", debug", "", 1);
            Cow::Owned(ptx.replacen(target, &plain, 1))
        }
        _ => Cow::Borrowed(ptx),
    }
}

/// Returns the compute capability that PTX is for, such as 80 or 90a.
pub fn target_of(ptx: &str) -> Option<&str> {
    let mut targets = ptx.lines().filter_map(|line| line.strip_prefix(".target sm_"));
    let target = targets.next()?;
    target.split([',', ' ']).next()
}

/// Parses ptxas' messages: the figures of each function, by name.
pub fn parse_messages(text: &str) -> BTreeMap<String, PtxasFigures> {
    let mut functions: BTreeMap<String, PtxasFigures> = BTreeMap::new();
    let mut current: Option<String> = None;
    for line in text.lines() {
        let line = line.split_once(" : ").map_or(line, |(_, message)| message).trim();
        if let Some(name) = line.strip_prefix("Function properties for ") {
            current = Some(name.trim().to_owned());
            functions.entry(name.trim().to_owned()).or_default();
        }
        let Some(figures) = current.as_ref().and_then(|name| functions.get_mut(name)) else {
            continue;
        };
        for item in line.split(',').map(str::trim) {
            match number_before(item, "bytes") {
                Some((bytes, "stack frame")) => figures.ptxas_stack_bytes = bytes,
                Some((bytes, "spill stores")) => figures.ptxas_spill_store_bytes = bytes,
                Some((bytes, "spill loads")) => figures.ptxas_spill_load_bytes = bytes,
                Some((bytes, "smem")) => figures.ptxas_shared_bytes = bytes,
                _ => {}
            }
            let used = item.strip_prefix("Used ").unwrap_or_default();
            if let Some((registers, "")) = number_before(used, "registers") {
                figures.ptxas_registers = Some(registers);
            }
        }
    }
    functions
}

/// Returns the number before `unit`, and the rest of the text.
fn number_before<'a>(item: &'a str, unit: &str) -> Option<(u32, &'a str)> {
    let (number, rest) = item.split_once(' ')?;
    let rest = rest.strip_prefix(unit)?;
    Some((number.parse().ok()?, rest.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_keeps_its_letter() {
        let ptx = |target| format!("// .target sm_80\n.version 8.6\n.target {target}\n.address_size 64\n");
        for (line, expected) in [
            ("sm_90a", "90a"),
            ("sm_80, debug", "80"),
            ("sm_100f,debug", "100f"),
        ] {
            assert_eq!(target_of(&ptx(line)), Some(expected));
        }
        assert_eq!(target_of(".version 8.6\n"), None);
    }

    #[test]
    fn ptx_is_measured_as_without_variables() {
        let ptx = ".version 8.6\n.target sm_90, debug\n.address_size 64\n// .target sm_90, debug\n";
        let plain = ".version 8.6\n.target sm_90\n.address_size 64\n// .target sm_90, debug\n";
        assert_eq!(without_debug_target(ptx), plain);
        assert_eq!(without_debug_target(plain), plain);
        assert_eq!(without_debug_target(""), "");
    }

    #[test]
    fn reads_kernels_and_device_functions() {
        let text = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'k' for 'sm_90'
ptxas info    : Function properties for k
    16 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 32 registers, used 1 barriers, 16 bytes cumulative stack size, 19456 bytes smem, 360 bytes cmem[0]
ptxas info    : Compile time = 3.211 ms
ptxas info    : Function properties for helper
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
";
        let found = parse_messages(text);
        assert_eq!(
            found["k"],
            PtxasFigures {
                ptxas_registers: Some(32),
                ptxas_stack_bytes: 16,
                ptxas_spill_store_bytes: 4,
                ptxas_spill_load_bytes: 8,
                ptxas_shared_bytes: 19456,
            }
        );
        assert_eq!(found["helper"], PtxasFigures::default());
        assert_eq!(found.len(), 2);
        assert!(parse_messages("error : no functions").is_empty());
    }
}
