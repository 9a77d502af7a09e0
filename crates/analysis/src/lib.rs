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
//! A face reads the table and knows no algorithm by name: it turns what it is given into values of the
//! [kinds](parameter::Kind) that there are, and an [answer](answer::Answer) into a table, a file or rows.
//!
//! Kernels are generic over the lists that they read. They are compiled here, for [one type](lists::Lists), and in no other
//! crate: one with parameters of its own calls a [compiled kernel](kernels), a query is handed
//! [all that it calls](kernels::CompiledKernels).
//!
//! Another algorithm is a kernel in `evergraph-algorithms` and a file in `entries`.

pub mod algorithm;
pub mod answer;
pub mod arguments;
pub mod column;
mod entries;
#[cfg(test)]
mod graph;
mod groups;
pub mod input;
pub mod kernels;
pub mod lists;
mod members;
pub mod parameter;
pub mod reals;
mod rounds;
pub mod snapshot;
pub mod table;
