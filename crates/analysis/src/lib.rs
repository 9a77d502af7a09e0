//! Algorithms described once: a table of what each is told and answers, what it costs, and what runs it.
//!
//! ```text
//! a program, Python, a query          the table                      a snapshot and a scope
//!        │ name, values by name          │                                  │
//!        └───────> Arguments <── Parameter: kind, range, default            │
//!                      └────────> Algorithm::run <───── Input ── freezes ───┘
//!                                     └─> Answer: columns, figures, a sentence
//! ```
//!
//! The program and `call()` in queries read the table and know no algorithm by name: they turn what they are given
//! into values of the [kinds](parameter::Kind) that there are, and an [answer](answer::Answer) into a table, a file
//! or rows. The Python package has a method an algorithm, for its signature and its docstring, and runs it by name.
//!
//! Kernels are generic over the lists that they read. They are compiled here, for [one type](lists::Lists), and in no other
//! crate: one with parameters of its own calls a [compiled kernel](kernels), a query is handed
//! [all that it calls](kernels::CompiledKernels).
//!
//! To add an algorithm:
//! 1. Its kernel: a file in `crates/algorithms/src` that keeps the rules of that crate's documentation, with its tests,
//!    and its line in that crate's `lib.rs`.
//! 2. Its entry: a file in `entries/rank`, `ways`, `structure` or `communities`, and its line in that folder's
//!    `mod.rs`.
//! 3. `table.rs`: its line in `ALGORITHMS`, beside its group, and if the kernel has parameters, its line in the test
//!    `defaults_are_those_of_the_kernels`. The other tests there hold for every entry.
//! 4. Its row in `docs/guide/algorithms.md`, with the entry's cost; a test of `table.rs` compares the two.
//! 5. Its method in `python/evergraph/algorithms`, and its test in `python/tests/test_algorithms.py`.
//! 6. Its call in `crates/cli/tests/program/algorithms.rs`.
//! 7. Its kernel's name in the code map of `ARCHITECTURE.md` (`tidy` asks for it), its source in `docs/papers.md`, the
//!    number of algorithms in `README.md`, and a line in `CHANGELOG.md`.
//!
//! Only a kernel that programs call with parameters of their own, or that is a step of queries, gets a function in
//! [`kernels`] as well.

pub mod algorithm;
pub mod answer;
pub mod arguments;
pub mod column;
#[doc(hidden)]
pub mod convergence;
#[doc(hidden)]
pub mod entries;
#[doc(hidden)]
pub mod groups;
pub mod input;
pub mod kernels;
pub mod lists;
pub mod names;
pub mod parameter;
pub mod real_text;
pub mod snapshot;
pub mod table;
mod vertex_rows;
