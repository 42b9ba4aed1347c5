//! The live-range engine: computes the same live intervals as LLVM, many times faster and without
//! LLVM.
//!
//! ```
//! use oriel_engine::live::LiveRangeCalc;
//! use oriel_engine::snapshot::sample::counting_loop;
//!
//! let function = counting_loop();
//! let snapshot = function.view();
//! let intervals = LiveRangeCalc::new().analyze(&snapshot);
//! assert_eq!(intervals.verify(&snapshot), []);
//! for register in snapshot.registers() {
//!     println!("%{} {}", register.as_u32(), intervals.interval(register));
//! }
//! ```
//!
//! | module | subject |
//! |---|---|
//! | [`live`] | the engine: live intervals, queries, updates, register pressure |
//! | [`snapshot`] | a machine function as LLVM exports it, in memory and as a file |
//! | [`graph`] | orders, dominators and loops over any graph |
//! | [`dataflow`] | the dataflow solver |
//! | [`bitvector`] | the register-set library |
//! | [`entity`] | newtypes for everything addressed by number |
//! | [`hash`] | hash functions |
//! | [`file`](mod@file) | files that are written in one step |
//! | [`guard`] | conversion of panics to messages |
//! | [`thread_slot`] | values of a thread that remain until it has ended |

pub mod bitvector;
pub mod dataflow;
pub mod entity;
pub mod file;
pub mod graph;
pub mod guard;
pub mod hash;
pub mod live;
pub mod snapshot;
pub mod thread_slot;
