//! Transaction: what a coordinator does, from a snapshot to what became of its record.
//!
//! ```text
//! coordinator ── begin at S ──> a transaction of the store   reads S through a remote view, own writes above it
//!      │                             │  look_up_hashes        what it has looked up
//!      │ names, rows                 v
//!      │                        transaction_record   mutations, checks, touches, payloads
//!      │                             │
//!      └──── thread of the node <── submission       parts ahead, the record, what became of it; else a cancel
//! ```
//!
//! - [`coordinator`]: snapshots to begin at, names and vertex ids
//! - [`look_up_hashes`]: what a serialisable transaction has looked up, and all that it has read as checks
//! - [`transaction_record`]: from buffered writes to what is appended
//! - [`submission`]: appends it, and waits
//! - [`vertex_ids`]: ids that the log has given
//! - [`one_answer`]: how a thread waits for the thread of the node
//!
//! All of it runs in the threads of those who use the graph, which wait; the thread of a node never does.

pub mod coordinator;
pub mod look_up_hashes;
pub mod one_answer;
pub mod submission;
pub mod transaction_record;
pub mod vertex_ids;
