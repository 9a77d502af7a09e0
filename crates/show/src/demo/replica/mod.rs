//! `evergraph demo replica`: a shop in PostgreSQL, followed as a live graph, killed, and compared with SQL.
//!
//! ```text
//! this process                                            the process it starts (`demo replica-follow`)
//! private PostgreSQL ── shop, generated ── customers ...  ──changes──> graph: Gremlin and PageRank on it
//!                                                         <── figures (a pipe) ──
//! SIGKILL ──────────────────────────────────────────────> X, started again, goes on where it was
//! verify: every vertex, edge and property beside SQL
//! ```

pub mod customers;
pub mod following;
pub mod process;
pub mod report;
pub mod shop;
pub mod story;
