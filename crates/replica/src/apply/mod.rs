//! Apply: one transaction of the source becomes one commit of the graph, with its position.
//!
//! ```text
//! row changes ──fold──> for each rule and key: what the row is in the end, and which row of the graph it was
//!             ──prepare──> what the graph has of these keys, and what was kept of rows that PostgreSQL did not send whole
//!             ──unlink──> edges that end or move, then vertices that are gone, with all their edges
//!             ──write──> vertices, their edges, rows that are edges, edges that waited, and the position
//! ```
//!
//! The graph is a function of the rows: a vertex is its label and key. A row that gets another key is another vertex, so that
//! keys that swap or shift are never in each other's way, and edges of other rows belong to whoever has the key that they name.
//!
//! A transaction that inserts many rows and does nothing else is loaded in bulk instead (`bulk_load.rs`).
//!
//! Where an end isn't there, the mapping decides (`missing`): a vertex keeps the key of the end that it waits for as an
//! indexed property, the row of an edge is kept as a note ([`crate::row_note`]).

mod appear;
pub mod applier;
mod attempt;
mod batches;
mod bulk_load;
pub mod bulk_plan;
pub mod early_rows;
mod edges;
pub mod error;
mod filling;
pub mod fold;
mod kept_cells;
mod kept_rows;
pub mod limits;
mod links;
mod orphan;
mod orphans;
mod read_rows;
mod rule_fold;
mod schema;
mod spilled_rows;
mod vertices;
mod write_estimate;
