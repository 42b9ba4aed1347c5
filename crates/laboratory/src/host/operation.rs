//! The host operations of intrinsics.

use super::arithmetic::{self, Compute};
use super::collective::{Barrier, Combine, Reduction, Shuffle, WarpOperation};

/// The effect of an intrinsic's call on the host.
#[derive(Clone, Copy)]
pub(super) enum Operation {
    /// A function of the arguments.
    Compute(Compute),
    /// A special register.
    Register(Register),
    /// No operation: fences order what is ordered already, since one thread runs at a time.
    Nothing,
    /// The thread waits for its block.
    Barrier(Barrier),
    /// The thread waits for lanes of its warp.
    Warp(WarpOperation),
    /// The mask of lanes that are at this point together.
    ActiveMask,
    /// True if an address is in the window of a memory.
    IsInMemory(Memory),
    /// The kernel aborts.
    Trap,
    /// The thread ends.
    Exit,
}

/// The memory that `isspacep` tests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Memory {
    /// Neither of the two below; constants are in global memory here.
    Global,
    /// The block's shared memory.
    Shared,
    /// The thread's stack.
    Local,
}

/// A special register; axes are 0, 1 and 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Register {
    /// A constant value.
    Constant(u32),
    Thread(usize),
    BlockSize(usize),
    Block(usize),
    GridSize(usize),
    Lane,
    Warp,
    WarpCount,
    /// The lanes in this relation to the own.
    LaneMask(LaneMask),
    DynamicSharedBytes,
}

/// The lanes of a `lanemask` register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LaneMask {
    Equal,
    Below,
    BelowOrEqual,
    Above,
    AboveOrEqual,
}

/// Returns the operation of an intrinsic, if there is one; intrinsics of all targets are left to
/// LLVM.
pub(super) fn find(name: &str) -> Option<Operation> {
    let name = name.strip_prefix("llvm.")?;
    if let Some(compute) = arithmetic::find(name) {
        return Some(Operation::Compute(compute));
    }
    if matches!(name, "trap" | "debugtrap" | "ubsantrap") {
        return Some(Operation::Trap);
    }
    let name = name.strip_prefix("nvvm.")?;
    if let Some(register) = name.strip_prefix("read.ptx.sreg.") {
        return find_register(register).map(Operation::Register);
    }
    if let Some(barrier) = name.strip_prefix("barrier.cta.") {
        return find_barrier(barrier).map(Operation::Barrier);
    }
    if let Some(operation) = find_warp_operation(name) {
        return Some(Operation::Warp(operation));
    }
    Some(match name {
        "activemask" => Operation::ActiveMask,
        "exit" => Operation::Exit,
        "isspacep.global" => Operation::IsInMemory(Memory::Global),
        "isspacep.shared" => Operation::IsInMemory(Memory::Shared),
        "isspacep.local" => Operation::IsInMemory(Memory::Local),
        "membar.cta" | "membar.gl" | "membar.sys" | "nanosleep" => Operation::Nothing,
        _ => return None,
    })
}

fn find_register(name: &str) -> Option<Register> {
    if let Some((register, axis)) = name.split_once('.') {
        if let Some(axis) = ["x", "y", "z"].iter().position(|known| *known == axis) {
            return Some(match register {
                "tid" => Register::Thread(axis),
                "ntid" => Register::BlockSize(axis),
                "ctaid" => Register::Block(axis),
                "nctaid" => Register::GridSize(axis),
                _ => return None,
            });
        }
        if register == "lanemask" {
            return Some(Register::LaneMask(match axis {
                "eq" => LaneMask::Equal,
                "lt" => LaneMask::Below,
                "le" => LaneMask::BelowOrEqual,
                "gt" => LaneMask::Above,
                "ge" => LaneMask::AboveOrEqual,
                _ => return None,
            }));
        }
    }
    Some(match name {
        "laneid" => Register::Lane,
        "warpid" => Register::Warp,
        "nwarpid" => Register::WarpCount,
        "warpsize" => Register::Constant(32),
        "smid" => Register::Constant(0),
        "nsmid" => Register::Constant(1),
        "dynamic_smem_size" => Register::DynamicSharedBytes,
        _ => return None,
    })
}

/// `sync`, `arrive` or `red.OPERATION`, then perhaps `aligned`, then `all` or `count`.
fn find_barrier(name: &str) -> Option<Barrier> {
    let (name, counted) = match name.strip_suffix(".count") {
        Some(rest) => (rest, true),
        None => (name.strip_suffix(".all")?, false),
    };
    let name = name.strip_suffix(".aligned").unwrap_or(name);
    let (arrive, combine) = match name {
        "sync" => (false, Combine::None),
        "arrive" => (true, Combine::None),
        "red.popc" => (false, Combine::Count),
        "red.and" => (false, Combine::All),
        "red.or" => (false, Combine::Any),
        _ => return None,
    };
    Some(Barrier {
        counted,
        arrive,
        combine,
    })
}

fn find_warp_operation(name: &str) -> Option<WarpOperation> {
    if let Some(shuffle) = name.strip_prefix("shfl.sync.") {
        let (mode, ty) = shuffle.split_once('.')?;
        if !matches!(ty, "i32" | "f32" | "i32p" | "f32p") {
            return None;
        }
        return Some(WarpOperation::Shuffle(match mode {
            "idx" => Shuffle::Index,
            "up" => Shuffle::Up,
            "down" => Shuffle::Down,
            "bfly" => Shuffle::Butterfly,
            _ => return None,
        }));
    }
    if let Some(reduction) = name.strip_prefix("redux.sync.") {
        return Some(WarpOperation::Reduce(match reduction {
            "add" => Reduction::Add,
            "and" => Reduction::And,
            "or" => Reduction::Or,
            "xor" => Reduction::Xor,
            "min" => Reduction::Minimum,
            "max" => Reduction::Maximum,
            "umin" => Reduction::MinimumUnsigned,
            "umax" => Reduction::MaximumUnsigned,
            _ => return None,
        }));
    }
    Some(match name {
        "bar.warp.sync" => WarpOperation::Synchronize,
        "elect.sync" => WarpOperation::Elect,
        "vote.ballot.sync" => WarpOperation::Ballot,
        "vote.all.sync" => WarpOperation::VoteAll,
        "vote.any.sync" => WarpOperation::VoteAny,
        "vote.uni.sync" => WarpOperation::VoteUniform,
        "match.any.sync.i32" | "match.any.sync.i64" => WarpOperation::MatchAny,
        "match.all.sync.i32p" | "match.all.sync.i64p" => WarpOperation::MatchAll,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let barrier = |name| match find(name) {
            Some(Operation::Barrier(barrier)) => barrier,
            _ => panic!("{name}"),
        };
        assert_eq!(
            barrier("llvm.nvvm.barrier.cta.red.popc.aligned.count"),
            Barrier {
                counted: true,
                arrive: false,
                combine: Combine::Count
            }
        );
        assert!(barrier("llvm.nvvm.barrier.cta.arrive.count").arrive);
        let warp = |name| match find(name) {
            Some(Operation::Warp(operation)) => operation,
            _ => panic!("{name}"),
        };
        assert_eq!(
            warp("llvm.nvvm.shfl.sync.bfly.f32p"),
            WarpOperation::Shuffle(Shuffle::Butterfly)
        );
        assert_eq!(
            warp("llvm.nvvm.redux.sync.umin"),
            WarpOperation::Reduce(Reduction::MinimumUnsigned)
        );
        assert!(matches!(
            find("llvm.nvvm.read.ptx.sreg.nctaid.z"),
            Some(Operation::Register(Register::GridSize(2)))
        ));
        for unknown in [
            "llvm.fma.f32",
            "llvm.nvvm.read.ptx.sreg.clock",
            "llvm.nvvm.barrier.cta.sync",
            "llvm.nvvm.shfl.sync.idx.i64",
            "llvm.nvvm.wmma.m16n16k16.load.a.row.stride.f16.p0",
            "vprintf",
        ] {
            assert!(find(unknown).is_none(), "{unknown}");
        }
    }
}
