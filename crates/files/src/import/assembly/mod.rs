//! Assembly: builds vertices and edges from files of any format, and turns ids into rows.
//!
//! ```text
//! reader of a format ──> batch ──> assembly ──> tables of a load
//!                        lines     space       which id is which row of which label
//!                        ids       vertices    one table a label
//!                        names     edges       one table for each type and pair of labels
//!                        columns
//! ```
//!
//! What is there twice or not at all is settled as options tell. All vertices come before the edges that name them. What the text of a file looks like is the
//! reader's business: it describes a row to people when the assembly finds a fault in it.

pub mod batch;
pub mod edges;
pub mod graph;
pub mod id_column;
pub mod id_keys;
pub mod id_memory;
mod other_keys;
pub mod policies;
pub mod space;
mod spilled_batch;
pub mod types;
pub mod vertices;
pub mod waiting_edges;
