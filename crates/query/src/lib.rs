//! Queries: Gremlin as text or bytecode becomes calls, calls become a plan, and a plan runs in batches.
//!
//! ```text
//! text ──lexer, parser──> calls ──signatures──> checked calls ──compile──> plan ──build──> steps ──driver──> batches
//!                                                                                            GraphView | Writer
//! ```
//!
//! The parser knows calls and literals, not steps. What a step may be given stands in one table
//! ([`gremlin::signature`]), which checks calls wherever they come from, text or [`gremlin::bytecode`],
//! and which completion and documentation read as well.
//!
//! ```
//! use evergraph_query::gremlin::bindings::Bindings;
//! use evergraph_query::gremlin::parser::ParseLimits;
//! use evergraph_query::gremlin::read::read;
//!
//! let mut bindings = Bindings::new();
//! bindings.bind("age", 30_i32);
//! let limits = ParseLimits::default();
//! let query = read("g.V().has('age', gt(age)).order().by('name', desc)", &limits, &bindings)?;
//! assert_eq!(query.to_string(), "g.V().has(\"age\", P.gt(30)).order().by(\"name\", Order.desc)");
//!
//! let error = read("g.V().otu('knows')", &limits, &bindings).unwrap_err();
//! assert_eq!(error.to_string(), "line 1, column 7: no step is called `otu`; did you mean `out`?");
//! # Ok::<(), evergraph_query::error::TextError>(())
//! ```

pub mod batch;
pub mod error;
pub mod execute;
pub mod explain;
pub mod gremlin;
pub mod metrics;
pub mod plan;
pub mod randomness;
pub mod rule;
pub mod service;
pub mod session;
pub mod stack;
pub mod step;
pub mod strategy;
pub mod travel;
pub mod unknown_name;
pub mod value;
pub mod write;
