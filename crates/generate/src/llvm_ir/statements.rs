//! Statements as people write them: inline assembly, and intrinsics whose effects no flag
//! describes.

/// The oldest processor and PTX version that support a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Level {
    /// sm_70 with PTX 6.0.
    Base,
    /// sm_80 with PTX 7.0.
    Ampere,
    /// sm_90 with PTX 7.8.
    Hopper,
    /// PTX 8.0, LLVM's default for sm_90a and from sm_100 on.
    Ptx8,
    /// Instructions of processors whose names end in `a`, from sm_90a on.
    Specific,
}

impl Level {
    /// True if a processor supports it.
    pub(super) fn is_met(self, sm: u32, is_specific: bool) -> bool {
        match self {
            Self::Base => true,
            Self::Ampere => sm >= 80,
            Self::Hopper => sm >= 90,
            Self::Ptx8 => sm >= 100 || sm >= 90 && is_specific,
            Self::Specific => sm >= 90 && is_specific,
        }
    }
}

/// An operand or a result; the last three cannot be results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    I1,
    I16,
    I32,
    I64,
    F32,
    F64,
    /// A constant.
    Number,
    /// A pointer to the thread's global memory, 16-byte aligned.
    Global,
    /// The address of the thread's shared memory as a number of 32 bits.
    Shared,
    /// Global memory as a memory operand.
    Indirect,
}

/// An assembly statement. Constraints are given without clobbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Statement {
    pub(super) level: Level,
    pub(super) text: &'static str,
    pub(super) constraints: &'static str,
    pub(super) results: &'static [Kind],
    pub(super) operands: &'static [Kind],
}

/// A call of an intrinsic: the arguments as text, in which `@out`, `@shared` and `@i32` stand for
/// operands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Intrinsic {
    pub(super) level: Level,
    pub(super) name: &'static str,
    pub(super) result: &'static str,
    pub(super) parameters: &'static str,
    pub(super) arguments: &'static str,
}

use Kind::{F32, F64, Global, I1, I16, I32, I64, Indirect, Number, Shared};
use Level::{Ampere, Base, Hopper, Ptx8, Specific};

const fn statement(
    level: Level,
    text: &'static str,
    constraints: &'static str,
    results: &'static [Kind],
    operands: &'static [Kind],
) -> Statement {
    Statement {
        level,
        text,
        constraints,
        results,
        operands,
    }
}

const fn intrinsic(
    level: Level,
    name: &'static str,
    result: &'static str,
    parameters: &'static str,
    arguments: &'static str,
) -> Intrinsic {
    Intrinsic {
        level,
        name,
        result,
        parameters,
        arguments,
    }
}

/// Statements that only compute. Many are written `volatile` all the same.
pub(super) const PURE: &[Statement] = &[
    statement(Base, "add.u32 $0, $1, $2;", "=r,r,r", &[I32], &[I32, I32]),
    statement(
        Base,
        "{ .reg .pred p; setp.ne.u32 p, $1, 0; selp.u32 $0, $2, $3, p; }",
        "=r,r,r,r",
        &[I32],
        &[I32, I32, I32],
    ),
    statement(
        Base,
        "{ .reg .pred p;\\0A\\09setp.lt.s32 p, $1, $2;\\0A\\09mov.u32 $0, $1;\\0A\\09@p sub.u32 $0, $2, $1; }",
        "=&r,r,r",
        &[I32],
        &[I32, I32],
    ),
    statement(Base, "mul.hi.u64 $0, $1, $2;", "=l,l,l", &[I64], &[I64, I64]),
    statement(Base, "add.u16 $0, $1, $2;", "=h,h,h", &[I16], &[I16, I16]),
    statement(
        Base,
        "fma.rn.f32 $0, $1, $2, $3;",
        "=f,f,f,f",
        &[F32],
        &[F32, F32, F32],
    ),
    statement(
        Base,
        "fma.rn.f64 $0, $1, $2, $3;",
        "=d,d,d,d",
        &[F64],
        &[F64, F64, F64],
    ),
    statement(Base, "mov.b64 {$0, $1}, $2;", "=r,=r,l", &[I32, I32], &[I64]),
    statement(Base, "mov.b64 $0, {$1, $2};", "=l,r,r", &[I64], &[I32, I32]),
    statement(Base, "add.u32 $0, $0, $2;", "=r,0,r", &[I32], &[I32, I32]),
    statement(
        Base,
        "fma.rn.f32 $0, $2, $3, $0;",
        "=f,0,f,f",
        &[F32],
        &[F32, F32, F32],
    ),
    statement(Base, "xor.b64 $0, $0, $2;", "=l,0,l", &[I64], &[I64, I64]),
    statement(
        Base,
        "{ .reg .u32 t; mov.u32 t, $0; mov.u32 $0, $1; mov.u32 $1, t; }",
        "=r,=r,0,1",
        &[I32, I32],
        &[I32, I32],
    ),
    statement(Base, "setp.lt.s32 $0, $1, $2;", "=b,r,r", &[I1], &[I32, I32]),
    statement(
        Base,
        "selp.b32 $0, $1, $2, $3;",
        "=r,r,r,b",
        &[I32],
        &[I32, I32, I1],
    ),
    statement(Base, "shl.b32 $0, $1, $2;", "=r,r,n", &[I32], &[I32, Number]),
    statement(
        Base,
        "lop3.b32 $0, $1, $2, $3, 0x96;",
        "=r,r,r,r",
        &[I32],
        &[I32, I32, I32],
    ),
    statement(Base, "cvt.rn.f16.f32 $0, $1;", "=h,f", &[I16], &[F32]),
    statement(Base, "mov.u32 $0, %laneid;", "=r", &[I32], &[]),
    statement(Base, "ex2.approx.ftz.f32 $0, $1;", "=f,f", &[F32], &[F32]),
];

/// Statements that write a result before they have read all inputs.
pub(super) const EARLY: &[Statement] = &[
    statement(
        Base,
        "mov.u32 $0, 5;\\0A\\09add.u32 $0, $0, $1;",
        "=&r,r",
        &[I32],
        &[I32],
    ),
    statement(
        Base,
        "add.cc.u32 $0, $2, $4;\\0A\\09addc.u32 $1, $3, $5;",
        "=&r,=r,r,r,r,r",
        &[I32, I32],
        &[I32, I32, I32, I32],
    ),
    statement(
        Base,
        "mul.lo.u64 $0, $2, $3;\\0A\\09mul.hi.u64 $1, $2, $3;",
        "=&l,=&l,l,l",
        &[I64, I64],
        &[I64, I64],
    ),
    statement(
        Base,
        "mov.f32 $0, $1;\\0A\\09fma.rn.f32 $0, $1, $2, $0;",
        "=&f,f,f",
        &[F32],
        &[F32, F32],
    ),
    statement(
        Base,
        "add.u32 $1, $0, $3;\\0A\\09xor.b32 $0, $0, $3;",
        "=r,=&r,0,r",
        &[I32, I32],
        &[I32, I32],
    ),
    statement(
        Base,
        "mov.u16 $0, 3;\\0A\\09add.u16 $0, $0, $1;",
        "=&h,h",
        &[I16],
        &[I16],
    ),
];

/// Statements with effects, written with and without a "memory" clobber, in any block.
pub(super) const VOLATILE: &[Statement] = &[
    statement(Base, "membar.gl;", "", &[], &[]),
    statement(Base, "membar.cta;", "", &[], &[]),
    statement(Base, "fence.acq_rel.gpu;", "", &[], &[]),
    statement(Base, "fence.sc.cta;", "", &[], &[]),
    statement(Base, "mov.u32 $0, %clock;", "=r", &[I32], &[]),
    statement(Base, "mov.u64 $0, %globaltimer;", "=l", &[I64], &[]),
    statement(Base, "prefetch.global.L2 [$0];", "l", &[], &[Global]),
    statement(
        Base,
        "{ .reg .pred p;\\0A\\09setp.gt.s32 p, $0, 100000;\\0A\\09@p membar.gl; }",
        "r",
        &[],
        &[I32],
    ),
    statement(Ampere, "nanosleep.u32 20;", "", &[], &[]),
    statement(Ampere, "cp.async.commit_group;", "", &[], &[]),
    statement(Ampere, "cp.async.wait_group 0;", "", &[], &[]),
    statement(Ampere, "cp.async.wait_group $0;", "n", &[], &[Number]),
    statement(Ampere, "cp.async.wait_all;", "", &[], &[]),
    statement(Ampere, "activemask.b32 $0;", "=r", &[I32], &[]),
    statement(Hopper, "griddepcontrol.wait;", "", &[], &[]),
    statement(Hopper, "griddepcontrol.launch_dependents;", "", &[], &[]),
    statement(Ptx8, "fence.proxy.async;", "", &[], &[]),
    statement(Ptx8, "fence.mbarrier_init.release.cluster;", "", &[], &[]),
];

/// Statements that access memory, which need a "memory" clobber or a memory operand.
pub(super) const ACCESSES: &[Statement] = &[
    statement(Base, "ld.global.b32 $0, [$1];", "=r,l", &[I32], &[Global]),
    statement(
        Base,
        "ld.global.v2.b32 {$0, $1}, [$2];",
        "=r,=r,l",
        &[I32, I32],
        &[Global],
    ),
    statement(Base, "st.global.b32 [$0], $1;", "l,r", &[], &[Global, I32]),
    statement(Base, "ld.shared.b32 $0, [$1];", "=r,r", &[I32], &[Shared]),
    statement(
        Base,
        "st.shared.v2.b32 [$0], {$1, $2};",
        "r,r,r",
        &[],
        &[Shared, I32, I32],
    ),
    statement(Base, "red.global.add.u32 [$0], $1;", "l,r", &[], &[Global, I32]),
    statement(
        Base,
        "atom.shared.add.u32 $0, [$1], $2;",
        "=r,r,r",
        &[I32],
        &[Shared, I32],
    ),
    statement(Base, "ld.global.b32 $0, $1;", "=r,*m", &[I32], &[Indirect]),
    statement(Base, "st.global.b32 $0, $1;", "=*m,r", &[], &[Indirect, I32]),
    statement(
        Base,
        "{ .reg .pred p; setp.ne.b32 p, $1, 0; @p st.global.b32 [$0], $2; }",
        "l,r,r",
        &[],
        &[Global, I32, I32],
    ),
    statement(
        Ampere,
        "cp.async.ca.shared.global [$0], [$1], 16;",
        "r,l",
        &[],
        &[Shared, Global],
    ),
    statement(
        Ampere,
        "cp.async.cg.shared.global [$0], [$1], 16;",
        "r,l",
        &[],
        &[Shared, Global],
    ),
    statement(
        Ampere,
        "mbarrier.init.shared.b64 [$0], $1;",
        "r,r",
        &[],
        &[Shared, I32],
    ),
    statement(
        Ampere,
        "mbarrier.arrive.shared.b64 $0, [$1];",
        "=l,r",
        &[I64],
        &[Shared],
    ),
    statement(
        Ampere,
        "{ .reg .pred p;\\0A\\09mbarrier.test_wait.shared.b64 p, [$1], $2;\\0A\\09selp.u32 $0, 1, 0, p; }",
        "=r,r,l",
        &[I32],
        &[Shared, I64],
    ),
    statement(
        Hopper,
        "{ .reg .pred p;\\0A\\09again: mbarrier.try_wait.parity.shared::cta.b64 p, [$0], $1;\\0A\\09@p bra done;\\0A\\09\
         bra again;\\0A\\09done: }",
        "r,r",
        &[],
        &[Shared, I32],
    ),
    statement(
        Ptx8,
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;",
        "r,r",
        &[],
        &[Shared, I32],
    ),
];

/// Statements that all threads of a block execute together.
pub(super) const TOGETHER: &[Statement] = &[
    statement(
        Base,
        "shfl.sync.down.b32 $0, $1, $2, 31, -1;",
        "=r,r,r",
        &[I32],
        &[I32, I32],
    ),
    statement(
        Base,
        "{ .reg .pred p; shfl.sync.bfly.b32 $0|p, $2, 1, 31, -1; selp.u32 $1, 1, 0, p; }",
        "=r,=r,r",
        &[I32, I32],
        &[I32],
    ),
    statement(
        Base,
        "{ .reg .pred p; shfl.sync.up.b32 $0|p, $0, $2, 0, -1; @p add.u32 $0, $0, $3; }",
        "=&r,0,n,r",
        &[I32],
        &[I32, Number, I32],
    ),
    statement(
        Base,
        "{ .reg .pred p; setp.ne.u32 p, $1, 0; vote.sync.ballot.b32 $0, p, -1; }",
        "=r,r",
        &[I32],
        &[I32],
    ),
    statement(
        Base,
        "{ .reg .pred p; setp.ne.u32 p, $1, 0; vote.sync.all.pred p, p, -1; selp.u32 $0, 1, 0, p; }",
        "=r,r",
        &[I32],
        &[I32],
    ),
    statement(Base, "match.any.sync.b32 $0, $1, -1;", "=r,r", &[I32], &[I32]),
    statement(Base, "bar.sync 1, 64;", "", &[], &[]),
    statement(Base, "barrier.sync 2, 64;", "", &[], &[]),
    statement(Base, "bar.arrive 3, 64;", "", &[], &[]),
    statement(Base, "bar.sync $0, 64;", "n", &[], &[Number]),
    statement(Base, "bar.warp.sync -1;", "", &[], &[]),
    statement(Ampere, "redux.sync.add.s32 $0, $1, -1;", "=r,r", &[I32], &[I32]),
    statement(
        Ampere,
        "ldmatrix.sync.aligned.m8n8.x2.shared.b16 {$0, $1}, [$2];",
        "=r,=r,r",
        &[I32, I32],
        &[Shared],
    ),
    statement(Hopper, "barrier.cluster.arrive.aligned;", "", &[], &[]),
    statement(Hopper, "barrier.cluster.wait.aligned;", "", &[], &[]),
    statement(
        Ptx8,
        "{ .reg .pred p; elect.sync _|p, -1; selp.u32 $0, 1, 0, p; }",
        "=r",
        &[I32],
        &[],
    ),
    statement(Specific, "setmaxnreg.dec.sync.aligned.u32 40;", "", &[], &[]),
    statement(Specific, "setmaxnreg.inc.sync.aligned.u32 232;", "", &[], &[]),
];

/// Intrinsics for any block.
pub(super) const INTRINSICS: &[Intrinsic] = &[
    intrinsic(Base, "membar.gl", "void", "", ""),
    intrinsic(Base, "membar.cta", "void", "", ""),
    intrinsic(Base, "membar.sys", "void", "", ""),
    intrinsic(Ampere, "nanosleep", "void", "i32", "i32 20"),
    intrinsic(Ampere, "cp.async.commit.group", "void", "", ""),
    intrinsic(Ampere, "cp.async.wait.group", "void", "i32", "i32 0"),
    intrinsic(Ampere, "cp.async.wait.group", "void", "i32", "i32 1"),
    intrinsic(Ampere, "cp.async.wait.all", "void", "", ""),
    intrinsic(
        Ampere,
        "cp.async.ca.shared.global.4",
        "void",
        "ptr addrspace(3), ptr addrspace(1)",
        "ptr addrspace(3) @shared, ptr addrspace(1) @out",
    ),
    intrinsic(
        Ampere,
        "cp.async.ca.shared.global.16",
        "void",
        "ptr addrspace(3), ptr addrspace(1)",
        "ptr addrspace(3) @shared, ptr addrspace(1) @out",
    ),
    intrinsic(
        Ampere,
        "cp.async.cg.shared.global.16",
        "void",
        "ptr addrspace(3), ptr addrspace(1)",
        "ptr addrspace(3) @shared, ptr addrspace(1) @out",
    ),
    intrinsic(
        Ampere,
        "cp.async.mbarrier.arrive.shared",
        "void",
        "ptr addrspace(3)",
        "ptr addrspace(3) @shared",
    ),
    intrinsic(
        Ampere,
        "mbarrier.init.shared",
        "void",
        "ptr addrspace(3), i32",
        "ptr addrspace(3) @shared, i32 @i32",
    ),
    intrinsic(
        Ampere,
        "mbarrier.arrive.shared",
        "i64",
        "ptr addrspace(3)",
        "ptr addrspace(3) @shared",
    ),
    intrinsic(
        Ampere,
        "mbarrier.inval.shared",
        "void",
        "ptr addrspace(3)",
        "ptr addrspace(3) @shared",
    ),
    intrinsic(
        Ampere,
        "mbarrier.test.wait.shared",
        "i1",
        "ptr addrspace(3), i64",
        "ptr addrspace(3) @shared, i64 %global.wide",
    ),
    intrinsic(Hopper, "griddepcontrol.wait", "void", "", ""),
    intrinsic(Hopper, "griddepcontrol.launch.dependents", "void", "", ""),
    intrinsic(Hopper, "fence.sc.cluster", "void", "", ""),
    intrinsic(Ptx8, "fence.mbarrier_init.release.cluster", "void", "", ""),
];

/// Intrinsics that all threads of a block call together.
pub(super) const COMMON_INTRINSICS: &[Intrinsic] = &[
    intrinsic(
        Base,
        "barrier.cta.sync.aligned.count",
        "void",
        "i32, i32",
        "i32 4, i32 %block.size",
    ),
    intrinsic(
        Base,
        "barrier.cta.sync.count",
        "void",
        "i32, i32",
        "i32 5, i32 %block.size",
    ),
    intrinsic(
        Base,
        "barrier.cta.arrive.aligned.count",
        "void",
        "i32, i32",
        "i32 6, i32 %block.size",
    ),
    intrinsic(Base, "bar.warp.sync", "void", "i32", "i32 -1"),
    intrinsic(Base, "match.any.sync.i32", "i32", "i32, i32", "i32 -1, i32 @i32"),
    intrinsic(Ampere, "redux.sync.add", "i32", "i32, i32", "i32 @i32, i32 -1"),
    intrinsic(Ptx8, "elect.sync", "{ i32, i1 }", "i32", "i32 -1"),
    intrinsic(Hopper, "barrier.cluster.arrive.aligned", "void", "", ""),
    intrinsic(Hopper, "barrier.cluster.wait.aligned", "void", "", ""),
    intrinsic(
        Specific,
        "setmaxnreg.dec.sync.aligned.u32",
        "void",
        "i32",
        "i32 40",
    ),
    intrinsic(
        Specific,
        "setmaxnreg.inc.sync.aligned.u32",
        "void",
        "i32",
        "i32 232",
    ),
];
