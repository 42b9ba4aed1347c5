//! Options of the caller.

use std::error::Error;
use std::fmt;
use std::str::FromStr;

macro_rules! define_names {
    ($(#[$documentation:meta])* $enumeration:ident, $what:literal {
        $($(#[$variant_documentation:meta])* $variant:ident = $name:literal,)*
    }) => {
        $(#[$documentation])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $enumeration {
            $($(#[$variant_documentation])* $variant,)*
        }

        impl $enumeration {
            /// All variants, in the order of the documentation.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The name as written by `Display` and read by `FromStr`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$variant => $name,)*
                }
            }
        }

        impl fmt::Display for $enumeration {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.pad(self.name())
            }
        }

        impl FromStr for $enumeration {
            type Err = UnknownName;

            fn from_str(text: &str) -> Result<Self, UnknownName> {
                Self::ALL.iter().copied().find(|variant| variant.name() == text).ok_or_else(|| UnknownName {
                    what: $what,
                    name: text.to_owned(),
                    known: &[$($name),*],
                })
            }
        }
    };
}

define_names! {
    /// The control flow of a function.
    Shape, "shape" {
        /// One block.
        Straight = "straight",
        /// Nested loops, diamonds, switches and early exits, as from a front end.
        Structured = "structured",
        /// A chain of loops of one block each.
        SelfLoops = "self-loops",
        /// Switches in sequence and nested.
        Switches = "switches",
        /// One switch with as many targets as the function has blocks.
        HugeSwitch = "huge-switch",
        /// Edges between random blocks: mostly loops with several entries.
        Irreducible = "irreducible",
        /// Random edges, and infinite loops.
        InfiniteLoops = "infinite-loops",
        /// Random edges, and unreachable blocks, alone and in cycles.
        Unreachable = "unreachable",
        /// Random edges, many of them duplicated.
        ParallelEdges = "parallel-edges",
        /// Random edges, and many blocks without an instruction that fall through to the next.
        EmptyBlocks = "empty-blocks",
        /// Random edges with some of each of the above.
        Random = "random",
        /// One of the others, chosen for each function.
        Mixed = "mixed",
    }
}

define_names! {
    /// The form of the generated machine code.
    Form, "form" {
        /// Static single assignment: each register has one definition, which dominates its uses;
        /// PHIs at joins.
        Ssa = "ssa",
        /// After PHI elimination: no PHIs, registers with several definitions, values defined on
        /// some paths only.
        Late = "late",
    }
}

/// An unknown name, and the known ones.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownName {
    what: &'static str,
    name: String,
    known: &'static [&'static str],
}

impl fmt::Display for UnknownName {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "unknown {} '{}'; known are {}",
            self.what,
            self.name,
            self.known.join(", ")
        )
    }
}

impl Error for UnknownName {}

/// The properties of the generated functions.
///
/// The same options give the same bytes on every platform and in every later version, unless its
/// release notes say otherwise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
    /// Seed of the first function. Function `k` of a module has the seed `seed + k`, so that any
    /// function of a module can be generated alone.
    pub seed: u64,
    /// Machine instructions of each function, approximately: from 10 to a few million. Machine IR
    /// has this number within a few percent; for LLVM IR, `llc -O2` generates this number within 30
    /// %.
    pub instructions: usize,
    /// Functions in the module.
    pub functions: usize,
    /// Control flow. LLVM IR must terminate: there the loops of `InfiniteLoops` are bounded like
    /// all others, and unreachable blocks, which `llc` would drop immediately, are left out.
    pub shape: Shape,
    /// Average machine instructions of a block. 1 gives as many blocks as the size allows.
    pub block_size: usize,
    /// Nesting depth of loops in the structured shapes.
    pub loop_depth: usize,
    /// Values that are defined at the entry and used at the end, at most one for eight
    /// instructions.
    pub long_lived: usize,
    /// Debug locations and, in machine IR, `DBG_VALUE`s.
    pub debug_info: bool,
    /// Calls of device functions.
    pub calls: bool,
    /// In LLVM IR also barriers, warp-wide operations, atomics, vectors, bytes, half precision and
    /// local arrays. Needs PTX 6.0, LLVM's default for sm_70 and later.
    pub all_operations: bool,
    /// Inline assembly, and intrinsics with effects that no flag describes: `cp.async`, mbarriers,
    /// fences, named barriers and so on, as far as the processor supports them. LLVM IR with it can
    /// be compiled and compared with itself, but not run on a host; in machine IR the assembly is
    /// not PTX.
    pub assembly: bool,
    /// With `assembly`: the compute capability that LLVM IR is compiled for, at least 70.
    pub sm: u32,
    /// With `assembly`: whether the processor's name ends in `a`.
    pub is_architecture_specific: bool,
    /// Form of the machine IR; ignored for LLVM IR.
    pub form: Form,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            seed: 0,
            instructions: 200,
            functions: 1,
            shape: Shape::Structured,
            block_size: 8,
            loop_depth: 3,
            long_lived: 4,
            debug_info: false,
            calls: false,
            all_operations: false,
            assembly: false,
            sm: 80,
            is_architecture_specific: false,
            form: Form::Ssa,
        }
    }
}

/// The compute capability in a processor's name, such as `80` or `90a`, and whether it ends in `a`.
///
/// # Errors
/// If it is not such a name.
pub fn parse_processor(name: &str) -> Result<(u32, bool), String> {
    let number = name.trim_end_matches(['a', 'f']);
    let sm = number
        .parse()
        .map_err(|_| format!("'{name}' is no compute capability"))?;
    Ok((sm, name.ends_with('a')))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_back() {
        for &shape in Shape::ALL {
            assert_eq!(shape.to_string().parse(), Ok(shape));
        }
        for &form in Form::ALL {
            assert_eq!(form.to_string().parse(), Ok(form));
        }
    }

    #[test]
    fn an_unknown_name_lists_those_that_are_known() {
        let error = "pretzel".parse::<Form>().unwrap_err();
        assert_eq!(error.to_string(), "unknown form 'pretzel'; known are ssa, late");
    }
}
