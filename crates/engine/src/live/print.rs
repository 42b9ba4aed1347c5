//! Prints intervals as LLVM does:
//! `%5 [48r,64B:1)[64B,80r:2) 0@128r 1@48r 2@64B-phi  weight:0.000000e+00`.

use super::live_interval::{Definition, LiveInterval, LiveIntervals, LiveRange, LiveSegment};
use crate::entity::EntityRef;
use std::fmt;

impl fmt::Display for LiveSegment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{},{}:{})", self.start, self.end, self.value.index())
    }
}

/// A value in LLVM's notation: `1@48r`, `2@64B-phi`, or `0@x` if it is unused.
struct PrintedValue(usize, Definition);

impl fmt::Display for PrintedValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self(number, definition) = self;
        match definition.expand() {
            None => write!(f, "{number}@x"),
            Some(definition) if definition.is_block() => write!(f, "{number}@{definition}-phi"),
            Some(definition) => write!(f, "{number}@{definition}"),
        }
    }
}

impl fmt::Display for LiveRange<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.segments.is_empty() {
            f.write_str("EMPTY")?;
        }
        for segment in self.segments {
            write!(f, "{segment}")?;
        }
        for (number, &definition) in self.values.iter().enumerate() {
            write!(f, " {}", PrintedValue(number, definition))?;
        }
        Ok(())
    }
}

impl fmt::Display for LiveInterval<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // LLVM computes weights for register allocation, which NVPTX does not run.
        write!(
            f,
            "%{} {}  weight:0.000000e+00",
            self.register.index(),
            self.range
        )
    }
}

impl fmt::Display for LiveIntervals {
    /// Prints the interval of every register that has one, one per line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for register in self.registers() {
            let range = self.interval(register);
            writeln!(f, "{}", LiveInterval { register, range })?;
        }
        Ok(())
    }
}
