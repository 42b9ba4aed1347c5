//! Runs whole modules that are small enough to know their results.

use inkwell::context::Context;

use super::{HostError, HostLaunch, HostModule, HostStatistics};

const TARGET: &str = "target triple = \"nvptx64-nvidia-cuda\"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
";

/// Runs `@k(ptr)`, which has one 32-bit output word per thread, in blocks of 64.
fn run(ir: &str, blocks: u32) -> Result<(Vec<u32>, HostStatistics), HostError> {
    let context = Context::create();
    let mut module = HostModule::compile(&context, format!("{TARGET}{ir}").as_bytes())?;
    let mut output = vec![0u32; 64 * blocks as usize];
    let address = output.as_mut_ptr().expose_provenance() as u64;
    let launch = HostLaunch {
        kernel: "k",
        grid: [blocks, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 64,
        arguments: &[address.to_le_bytes().to_vec()],
    };
    // SAFETY: every kernel here writes only the word of each thread.
    let statistics = unsafe { module.run(&launch) }?;
    Ok((output, statistics))
}

/// Builds a kernel that stores `%value`, which `body` computes from the thread's index `%tid`.
fn kernel(body: &str) -> String {
    format!(
        "define ptx_kernel void @k(ptr addrspace(1) %out) {{
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %block = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  {body}
  %before = mul i32 %block, 64
  %index = add i32 %before, %tid
  %place = getelementptr i32, ptr addrspace(1) %out, i32 %index
  store i32 %value, ptr addrspace(1) %place
  ret void
}}"
    )
}

fn values(ir: &str) -> Vec<u32> {
    run(ir, 1).unwrap_or_else(|error| panic!("{error}")).0
}

fn error(ir: &str) -> String {
    run(ir, 1).expect_err("a kernel that does not run").to_string()
}

#[test]
fn threads_see_what_others_wrote_before_the_barrier_and_zeros_in_a_new_block() {
    let ir = format!(
        "@cells = internal addrspace(3) global [64 x i32] undef, align 4\n{}",
        kernel(
            "%own = getelementptr i32, ptr addrspace(3) @cells, i32 %tid
  %old = load i32, ptr addrspace(3) %own
  %new = add i32 %tid, 1000
  store i32 %new, ptr addrspace(3) %own
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %mirrored = sub i32 63, %tid
  %other = getelementptr i32, ptr addrspace(3) @cells, i32 %mirrored
  %read = load i32, ptr addrspace(3) %other
  %value = add i32 %read, %old"
        )
    );
    let (output, statistics) = run(&ir, 2).unwrap_or_else(|error| panic!("{error}"));
    let expected: Vec<u32> = (0..2).flat_map(|_| (0..64).map(|tid| 1063 - tid)).collect();
    assert_eq!(output, expected);
    assert_eq!(
        statistics,
        HostStatistics {
            threads: 128,
            waits: 128
        }
    );
}

#[test]
fn dynamic_shared_memory_lies_behind_the_variables() {
    let ir = format!(
        "@cells = internal addrspace(3) global [64 x i32] undef, align 4
@words = external addrspace(3) global [0 x i32]\n{}",
        kernel(
            "store i32 7, ptr addrspace(3) @words
  store i32 1, ptr addrspace(3) getelementptr (i8, ptr addrspace(3) @cells, i64 252)
  %value = load i32, ptr addrspace(3) @words"
        )
    );
    assert_eq!(values(&ir), [7; 64]);
}

#[test]
fn lanes_exchange_values_within_their_warp() {
    let ir = format!(
        "declare {{ i32, i1 }} @llvm.nvvm.shfl.sync.down.i32p(i32, i32, i32, i32)\n{}",
        kernel(
            "%both = call { i32, i1 } @llvm.nvvm.shfl.sync.down.i32p(i32 -1, i32 %tid, i32 8, i32 31)
  %read = extractvalue { i32, i1 } %both, 0
  %in.range = extractvalue { i32, i1 } %both, 1
  %value = select i1 %in.range, i32 %read, i32 999"
        )
    );
    let expected: Vec<u32> = (0..64)
        .map(|tid| if tid % 32 < 24 { tid + 8 } else { 999 })
        .collect();
    assert_eq!(values(&ir), expected);
}

/// Threads with an odd index take another path; the others find each other.
#[test]
fn lanes_that_went_the_same_way_are_active_together() {
    let ir = format!(
        "declare i32 @llvm.nvvm.activemask()\n{}",
        kernel(
            "%bit = trunc i32 %tid to i1
  br i1 %bit, label %join, label %even
even:
  %mask = call i32 @llvm.nvvm.activemask()
  br label %join
join:
  %value = phi i32 [ 5, %0 ], [ %mask, %even ]"
        )
    );
    let expected: Vec<u32> = (0..64)
        .map(|tid| if tid % 2 == 0 { 0x5555_5555 } else { 5 })
        .collect();
    assert_eq!(values(&ir), expected);
}

#[test]
fn a_thread_that_has_ended_is_not_waited_for() {
    let ir = kernel(
        "%late = icmp ult i32 %tid, 10
  br i1 %late, label %stay, label %leave
leave:
  ret void
stay:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %value = add i32 %tid, 1",
    );
    let expected: Vec<u32> = (0..64).map(|tid| if tid < 10 { tid + 1 } else { 0 }).collect();
    assert_eq!(values(&ir), expected);
}

#[test]
fn different_barriers_are_a_deadlock() {
    let ir = kernel(
        "%value = and i32 %tid, 1
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 %value)",
    );
    assert_eq!(
        error(&ir),
        "kernel `k`, block [0, 0, 0], thread [0, 0, 0]: deadlock: it waits at barrier 0; 64 threads of the block wait"
    );
}

#[test]
fn a_trap_names_its_thread() {
    let ir = format!(
        "declare void @llvm.trap()\n{}",
        kernel(
            "%bad = icmp eq i32 %tid, 37
  br i1 %bad, label %give.up, label %go.on
give.up:
  call void @llvm.trap()
  unreachable
go.on:
  %value = add i32 %tid, 0"
        )
    );
    assert_eq!(error(&ir), "kernel `k`, block [0, 0, 0], thread [37, 0, 0]: trap");
}

#[test]
fn conversions_saturate() {
    let ir = kernel(
        "%float = uitofp i32 %tid to float
  %large = fmul float %float, 1.0e9
  %value = fptosi float %large to i32",
    );
    let expected: Vec<u32> = (0..64u32).map(|tid| (tid as f32 * 1e9) as i32 as u32).collect();
    assert_eq!(values(&ir), expected);
}

/// The flag allows a fusion, which would change the last bit.
#[test]
fn nothing_is_fused_but_what_has_to_be() {
    let products = "%float = uitofp i32 %tid to float
  %a = fadd float %float, 0x3FB99999A0000000
  %b = fmul float %a, %a";
    let apart = kernel(&format!(
        "{products}
  %product = fmul contract float %a, %a
  %sum = fsub contract float %product, %b
  %value = bitcast float %sum to i32"
    ));
    assert_eq!(values(&apart), [0; 64]);
    let fused = format!(
        "declare float @llvm.fmuladd.f32(float, float, float)\n{}",
        kernel(&format!(
            "{products}
  %negative = fneg float %b
  %sum = call float @llvm.fmuladd.f32(float %a, float %a, float %negative)
  %value = bitcast float %sum to i32"
        ))
    );
    let expected: Vec<u32> = (0..64u8)
        .map(|tid| f32::from(tid) + 0.1)
        .map(|a| a.mul_add(a, -(a * a)).to_bits())
        .collect();
    assert_eq!(values(&fused), expected);
}

#[test]
fn what_is_unsupported_is_named() {
    let cases = [
        (
            kernel("%value = call i32 asm \"popc.b32 $0, $1;\", \"=r,r\"(i32 %tid)"),
            "unsupported: inline assembly \"popc.b32 $0, $1;\" with constraints \"=r,r\"",
        ),
        (
            format!(
                "declare i32 @vprintf(ptr, ptr)\n{}",
                kernel("%value = call i32 @vprintf(ptr null, ptr null)")
            ),
            "unsupported: function `vprintf`",
        ),
        (
            format!(
                "declare i32 @llvm.nvvm.read.ptx.sreg.clock()\n{}",
                kernel("%value = call i32 @llvm.nvvm.read.ptx.sreg.clock()")
            ),
            "unsupported: function `llvm.nvvm.read.ptx.sreg.clock`",
        ),
    ];
    for (ir, message) in cases {
        assert_eq!(error(&ir), message);
    }
}

#[test]
fn launches_are_checked() {
    let context = Context::create();
    let ir = format!("{TARGET}{}", kernel("%value = add i32 %tid, 0"));
    let mut module = HostModule::compile(&context, ir.as_bytes()).expect("a module");
    let good = HostLaunch {
        kernel: "k",
        grid: [1, 1, 1],
        block: [64, 1, 1],
        dynamic_shared_bytes: 0,
        arguments: &[],
    };
    let four = [vec![0; 4]];
    let cases = [
        (good.clone(), "kernel `k`: 0 arguments for 1 parameters"),
        (
            HostLaunch {
                arguments: &four,
                ..good.clone()
            },
            "kernel `k`: argument 0 has 4 bytes, its parameter 8",
        ),
        (
            HostLaunch {
                block: [64, 64, 1],
                ..good.clone()
            },
            "kernel `k`: 4096 threads a block, 1 to 1024 are allowed",
        ),
        (
            HostLaunch {
                kernel: "other",
                ..good
            },
            "there is no kernel `other`",
        ),
    ];
    for (launch, message) in cases {
        // SAFETY: nothing runs.
        let error = unsafe { module.run(&launch) }.expect_err("a launch that does not fit");
        assert_eq!(error.to_string(), message);
    }
}
