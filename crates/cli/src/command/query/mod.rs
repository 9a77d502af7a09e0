//! `evergraph query`: a query in Gremlin, and its results as lines, tables or JSON.
//!
//! ```text
//! text, variables -> plan ─┬─> reads: a snapshot, results one by one ┐
//!                          └─> writes: a transaction, committed      ┴─> naming -> shown -> output
//!
//! text, variables -> a server ─> results and their names, frame by frame ─> shown -> output
//! ```

pub mod element_names;
pub mod execute;
pub mod execution;
pub mod output;
pub mod plan_text;
pub mod printed_item;
pub mod received_item;
pub mod remote;
