//! Indexes: from a property's value to the vertices or edges that have it.
//!
//! - [`property_index`]: one index; entries are a superset that readers re-check
//! - [`newcomers`]: who enters a unique index while it is built
//! - [`hash_entries`], [`ordered_entries`]: how its entries lie; [`entry_bound`]: places in their order
//! - [`removals`]: which entries go when no snapshot needs them, one mechanism for all kinds
//! - [`change_list`]: which values were taken lately, so that two new holders find each other
//! - [`entry_changes`]: what one commit changes in all indexes; [`changes`]: in those that the engine keeps
//! - [`index_item`]: a vertex id or an edge id, as one index has them
//! - [`item`]: what differs between vertices and edges
//! - [`build`](mod@build): an index of what is there already, and every value that is there twice
//! - [`fill`]: what a scan found, on its way into an index whose entries the engine keeps
//! - [`entry_range`], [`entry_reads`]: look-ups by the order bytes of values, where an engine keeps entries by these
//! - [`pending_fills`]: what a commit of a partition created, filled while others go on
//! - [`rebuild`]: all that the engine doesn't have, while a store opens
//! - [`directory`]: the indexes of a store

pub mod build;
pub mod change_list;
pub mod changes;
pub mod directory;
pub mod entry_bound;
pub mod entry_changes;
pub mod entry_range;
pub mod entry_reads;
pub mod fill;
pub mod hash_entries;
pub mod index_item;
pub mod item;
pub mod newcomers;
pub mod ordered_entries;
pub mod pending_fills;
pub mod property_index;
pub mod rebuild;
pub mod removals;
