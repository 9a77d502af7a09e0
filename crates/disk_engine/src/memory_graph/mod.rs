//! Memory graph: the newest commits of a disk engine, in memory, until they are flushed (LSMGraph's MemGraph).
//!
//! ```text
//! record         one change of an item
//! slot, chunks   16 bytes that hold a record; arrays that only grow
//! arenas         the memory of a graph: arrays and hash tables
//! promises       memory that commits count on, ahead of the latch; reserved_memory: what a graph holds of the budget
//! lists          the records of one vertex and subject; neighbor_hash: of two vertices in a long list
//! segments       a vertex group and subject as a whole
//! index_entries  what entered and left indexes
//! sorted_commit  a commit's mutations as records, sorted
//! graph          all of it: prepare, append, freeze
//! visible        what a snapshot sees; source: as one source of a view; newer: conflict checks; scan: everything in key order
//! graph_scan     a scan as a source of merges; sorted_run: the net records of several graphs, as arrays
//! ```

mod arenas;
mod chunks;
pub mod graph;
pub mod graph_scan;
pub mod index_entries;
mod lists;
mod neighbor_hash;
mod newer;
pub mod promises;
pub mod record;
pub mod reserved_memory;
pub mod scan;
mod segments;
mod slot;
pub mod sorted_commit;
pub mod sorted_run;
pub mod source;
pub mod visible;
