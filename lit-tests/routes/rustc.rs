// Bitcode of rustc for nvptx64, with its lines. `core` is not there for this target without a network, so the kernel brings
// the few items of the language that it uses; docs/drivers.md has the route with `core`.

// REQUIRES: rustc
// RUN: env RUSTC_BOOTSTRAP=1 %rustc --edition 2024 --crate-type rlib --target nvptx64-nvidia-cuda -C opt-level=3 -C panic=abort -C debuginfo=1 --emit=llvm-bc -o %t.bc %s
// RUN: %oriel report --sm 80 %t.bc | FileCheck %s --check-prefix=REPORT
// RUN: %oriel compile --sm 80 %t.bc --oriel -oriel-verify | FileCheck %s
// RUN: %llc -oriel-verify %t.bc -o - | FileCheck %s

// REPORT: saxpy {{ *}}kernel {{ *}}80 {{.*}}rustc.rs:[[#%u,]]
// CHECK: .entry saxpy(
// CHECK: fma.rn.f32
// CHECK: .loc {{.*}}

#![feature(no_core, lang_items, abi_ptx, link_llvm_intrinsics, intrinsics, rustc_attrs)]
#![allow(internal_features)]
#![no_core]

#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
impl Copy for f32 {}
impl Copy for i32 {}
impl Copy for isize {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}

#[rustc_intrinsic]
pub unsafe fn offset<P, D>(pointer: P, count: D) -> P;
unsafe extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn thread() -> i32;
    #[link_name = "llvm.fma.f32"]
    fn fma(a: f32, b: f32, c: f32) -> f32;
}

#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn saxpy(a: f32, x: *const f32, y: *mut f32) {
    unsafe {
        let i = thread() as isize;
        let (x, y) = (offset(x, i), offset(y, i));
        *y = fma(a, *x, *y);
    }
}
