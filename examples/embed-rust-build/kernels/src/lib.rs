//! Kernels in Rust.

#![no_std]
#![feature(abi_ptx, stdarch_nvptx)]

use core::arch::nvptx::{_block_dim_x, _block_idx_x, _thread_idx_x};

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    loop {}
}

/// `y = a * x + y`, element by element.
///
/// # Safety
/// Both arrays have `n` elements.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn saxpy(n: u32, a: f32, x: *const f32, y: *mut f32) {
    unsafe {
        let i = (_block_idx_x() as u32 * _block_dim_x() as u32 + _thread_idx_x() as u32) as usize;
        if i < n as usize {
            *y.add(i) = a * *x.add(i) + *y.add(i);
        }
    }
}

/// Sums up rows of 16 elements, each thread one row, the elements in an order that `order` gives.
///
/// # Safety
/// `order` has 16 numbers below 16, `rows` 16 elements and `sums` one for each thread.
#[unsafe(no_mangle)]
pub unsafe extern "ptx-kernel" fn ordered_sums(order: *const u32, rows: *const f32, sums: *mut f32) {
    unsafe {
        let thread = _thread_idx_x() as usize;
        let mut row = [0.0; 16];
        for (place, value) in row.iter_mut().enumerate() {
            *value = *rows.add(16 * thread + place);
        }
        let mut sum = 0.0;
        for place in 0..16 {
            let element = *order.add(place) as usize & 15;
            sum = sum * 0.5 + row[element];
        }
        *sums.add(thread) = sum;
    }
}
