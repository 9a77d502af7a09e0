//! Reading at one timestamp, in the process that writes or in another: nothing here knows of the writer's heap.
//!
//! ```text
//! source     where segments are found: in `live`, or in a load that is not installed yet
//! layer      what a snapshot sees of one segment: a body, and the records on top of it
//! list       one vertex' edges;                          values   one property of many items
//! entry_walk, index_reads   entries of an index
//! mapped_view   all that a reader may ask
//! ```

pub mod entry_walk;
pub mod index_reads;
pub mod layer;
pub mod list;
pub mod mapped_view;
pub mod source;
pub mod values;
