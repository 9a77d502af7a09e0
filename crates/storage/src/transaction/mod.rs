//! Transactions: buffered writes on a snapshot, checked and committed under one short latch.
//!
//! ```text
//! handle      Transaction: checks each write, buffers it, reads it back through a reader
//!   edge_batch        many edges put at once
//!   edge_parts        many edges of one vertex deleted, in several transactions
//!   writes            one coalesced write an item, in sorted_map
//!   schema_writes     names and types used first; names and give_names number them, fitting fits numbers
//!   reads, look_ups  what a serialisable one has read; stale: which of it has changed; key_subject: where
//!   notes             what an owner keeps beside the graph: see the folder of that name
//!   taken_ids         vertex ids, given back by a rollback
//!   discriminators    names of parallel edges
//! commit      resolve -> payload -> write_checks under the latch; describe tells a conflict in the user's names
//! pending_commit    a commit that is published, and to be acknowledged
//! graph_log   who decides instead, where partitions lie elsewhere; build_indexes: and has indexes built
//! apply       a commit that was decided elsewhere: resolved and checked already
//! front       what all transactions of a store share
//! replay      the same mutations from the log, before anybody is here
//! retry       running a transaction again after a conflict
//! deadline    how long it may take, attempts and waits included
//! ```

pub mod apply;
pub mod build_indexes;
pub mod commit;
pub mod deadline;
pub mod describe;
pub mod discriminators;
pub mod edge_batch;
pub mod edge_parts;
pub mod fitting;
pub mod front;
pub mod give_names;
pub mod graph_log;
pub mod handle;
pub mod key_subject;
pub mod latch;
pub mod look_ups;
pub mod names;
pub mod notes;
pub mod payload;
pub mod pending_commit;
pub mod reads;
pub mod replay;
pub mod resolve;
pub mod retry;
pub mod schema_writes;
pub mod sorted_map;
pub mod stale;
pub mod taken_ids;
pub mod write_checks;
pub mod writes;
