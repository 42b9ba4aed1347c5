//! Promotion of stack objects to registers.
//!
//! ```text
//! %4 = LEA [frame(0)]
//! %5 = CVTA.to.local %4
//! ST.local.b32 %1, [%5+8]      ─▶
//! ...                               ...
//! %6 = LD.local.b32 [%5+8]
//! %7 = FADD.f32 %6, %2              %7 = FADD.f32 %1, %2
//! ```
//!
//! An object can be promoted if all uses of its address are known: additions of constants, and
//! plain loads and stores. Bytes that are accessed together become one [piece], a variable of its
//! own; two pieces do not overlap. [SSA construction](oriel_ori::SsaConstruction) puts the pieces'
//! values into registers, and the object is removed from the function.
//!
//! | file | subject |
//! |---|---|
//! | `frame_objects.rs` | the uses of each object's address |
//! | `index.rs` | a variable index |
//! | `indexed.rs` | replaces indexed accesses by accesses of each element |
//! | `piece.rs` | parts of an object that are accessed as a whole |
//! | `rewrite.rs` | replaces loads and stores by values |
//! | `unread.rs` | stores to objects that nothing reads, for a warning |

mod frame_objects;
mod index;
mod indexed;
mod piece;
mod rewrite;
#[cfg(test)]
mod tests;
mod unread;

pub(super) use frame_objects::{Access, FrameObjects};
pub(super) use indexed::{expand, has_too_many_positions};
pub(super) use piece::{NoPieces, Piece, find_pieces, pieces_of};
pub(super) use rewrite::{Promotion, RewriteCounts, promote};
pub use unread::{may_have_unread_stores, unread_stores};
