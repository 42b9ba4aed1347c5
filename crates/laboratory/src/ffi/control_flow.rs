//! Compares control flow with LLVM's.

use crate::oracle::{ForeignBlockFlow, ForeignControlFlow, check_control_flow};
use oriel::lent::slice;
use oriel::{OrielSink, OrielSnapshot};
use oriel_engine::guard::guarded;

/// `OrielControlFlow`.
#[repr(C)]
pub struct OrielControlFlow {
    blocks: *const ForeignBlockFlow,
    order: *const u32,
    block_count: u32,
    order_count: u32,
}

#[unsafe(no_mangle)]
extern "C" fn oriel_check_control_flow(
    snapshot: &OrielSnapshot,
    theirs: &OrielControlFlow,
    difference: OrielSink,
) -> i32 {
    // SAFETY: the exporter fills every array for its count, and so does the oracle.
    let (view, theirs) = unsafe {
        let theirs = ForeignControlFlow {
            blocks: slice(theirs.blocks, theirs.block_count as usize),
            order: slice(theirs.order, theirs.order_count as usize),
        };
        (snapshot.view(), theirs)
    };
    match guarded(|| check_control_flow(&view, &theirs)) {
        Ok(Ok(())) => 1,
        Ok(Err(message)) | Err(message) => {
            difference.send(&message);
            0
        }
    }
}
