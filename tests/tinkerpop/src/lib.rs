//! TinkerPop's own tests, run on Evergraph: 2,061 scenarios in Gherkin, from the jar `gremlin-test`.
//!
//! ```text
//! jar ──features──> gherkin ──scenarios──> run ──> world ──> outcomes ──> ratchet, report
//!  └─────graphs───> graphs ──databases──────┘       │
//!                                         notation, expected: what a table means, and whether a result is that
//! ```
//!
//! The jar is TinkerPop's and stays outside of the project; `make tinkerpop` fetches it. What passes is written to
//! `passed.txt`, and a scenario that stands there may never fail again; where we are is told in `docs/gremlin.md`.
//!
//! The queries of scenarios run in this process, on a graph there or on a cluster, or over a network on a server, as `target` and
//! `graphs` say; one judge serves all.
//! What it accepts could have failed: it refuses the same results for `mutants` of each expectation.
//!
//! Source: `StepDefinition` of gremlin-test 3.8.1, which says what the words of a scenario mean.

pub mod attached;
pub mod calls;
pub mod driver_bytecode;
pub mod exceptions;
pub mod expected;
pub mod gherkin;
pub mod graphs;
pub mod jar;
pub mod mutants;
pub mod names;
pub mod notation;
pub mod outcome;
pub mod parameter;
pub mod ratchet;
pub mod report;
pub mod run;
pub mod served_graph;
pub mod services;
pub mod target;
pub mod world;
