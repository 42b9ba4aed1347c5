//! Stores to stack objects that nothing reads.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! ST.local.b32 %1, [%4+8]      no load of frame(0), and its address goes nowhere else
//! ```
//!
//! The function has to be in SSA form, in which an address has one definition.

use super::FrameObjects;
use crate::ori::{Function, Instruction};

/// The stores to objects that are written and never read, in the order of the objects.
pub fn unread_stores(function: &Function) -> Vec<Instruction> {
    let objects = FrameObjects::find(function);
    let mut stores = Vec::new();
    for (object, _) in function.stack_objects() {
        let object = objects.of(object);
        let is_unread = object.accesses.iter().all(|access| access.is_store(function));
        if object.obstacle.is_none() && is_unread {
            stores.extend(object.accesses.iter().map(|access| access.instruction));
        }
    }
    stores
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ori::parse_functions;

    fn found(body: &str) -> usize {
        let text = format!(
            "kernel \"k\" sm_80 ssa {{\n    stack frame(0) 16 bytes align 8\nbix0:\n    %1:R32 = S2R.b32 tid.x\n{body}    RET\n}}\n"
        );
        let functions = parse_functions(&text).unwrap_or_else(|error| panic!("{error}"));
        unread_stores(&functions[0]).len()
    }

    const STORES: &str = "    %2:R64 = LEA.b64 [frame(0)]
    ST.local.b32.b32 %1, [%2]
    ST.local.b32.b32 %1, [%2+4]
";

    #[test]
    fn stores_without_a_load_are_found() {
        assert_eq!(found(STORES), 2);
        assert_eq!(
            found(&format!("{STORES}    %3:R32 = LD.local.b32.b32 [%2+8]\n")),
            0
        );
    }

    #[test]
    fn an_address_that_goes_elsewhere_may_be_read() {
        assert_eq!(found(&format!("{STORES}    ST.global.b64.b64 %2, [64]\n")), 0);
    }
}
