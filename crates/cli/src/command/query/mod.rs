//! `evergraph query`: a query in Gremlin, and its results as lines, tables or JSON.
//!
//! ```text
//! text, variables -> plan ─┬─> reads: a snapshot, results one by one ┐
//!                          └─> writes: a transaction, committed      ┴─> naming -> shown -> output
//! ```

pub mod asking;
pub mod execute;
pub mod naming;
pub mod output;
pub mod plan_report;
pub mod shown;
