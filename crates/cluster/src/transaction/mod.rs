//! Transaction: what a coordinator does, from a snapshot to what became of its record.
//!
//! ```text
//! coordinator ── begin at S ──> remote_transaction   reads S through a remote view, own writes above it
//!      │                             │  watched_reads      what it has read
//!      │ names, rows                 v
//!      │                        transaction_record   mutations, checks, touches, payloads
//!      │                             │
//!      └──── thread of the node <── submission       parts ahead, the record, what became of it; else a cancel
//! ```
//!
//! - [`coordinator`]: snapshots to begin at, names and vertex ids
//! - [`remote_transaction`]: one transaction
//! - [`look_up_hashes`], [`watched_reads`]: what a serialisable one has read
//! - [`transaction_record`]: from buffered writes to what is appended
//! - [`submission`]: appends it, and waits
//! - [`vertex_ids`]: ids that the log has given
//! - [`one_answer`]: how a thread waits for the thread of the node
//!
//! All of it runs in the threads of those who use the graph, which wait; the thread of a node never does.

pub mod coordinator;
pub mod look_up_hashes;
pub mod one_answer;
pub mod remote_transaction;
pub mod submission;
pub mod transaction_record;
pub mod vertex_ids;
pub mod watched_reads;
