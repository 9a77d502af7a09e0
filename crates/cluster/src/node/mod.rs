//! Node: what follows from the log, on one node: it applies every record in order, and installs the commits of the partitions
//! that it keeps.
//!
//! ```text
//! shared log ──reader──> node_loop ──> apply ──> replicated_state   certifier and tables: the same on every node
//!      ▲                     │           └─────> partition_store    commits of own partitions, published through the message
//!      └──────packer─────────┘                        │
//!                            checkpoint <─────────────┘             partitions first, then what follows from the log
//! ```
//!
//! - [`partition_store`]: what a node asks of the store of a partition
//! - [`store_partition`]: a partition in a store, on any engine that takes partitions
//! - [`replicated_state`]: certifier and tables; what becomes of each record
//! - [`apply_error`]: why a partition cannot be used
//! - [`kept_partition`]: how far a partition is, and what becomes of it when its store refuses
//! - [`apply`]: records in order, into partitions that may be ahead
//! - [`checked_file`]: a file of a node that is replaced as a whole
//! - [`checkpoint`]: the state in a file
//! - [`checkpoint_steps`]: how a checkpoint is made, beside the thread of the node
//! - [`checkpoint_writer`]: the thread that makes them
//! - [`store_steps`]: the threads that do the background work of stores
//! - [`incarnation`]: how often the node started, and what tells one start from another
//! - [`seen_file`]: up to where the node has applied the log, beside its checkpoint
//! - [`readers`]: moments of the log that are in use on a node
//! - [`horizon`]: the oldest one that it keeps readable, from what nodes tell each other
//! - [`log_needs`]: from where on any node needs the log
//! - [`outbox`]: frames that wait for the network
//! - [`answering`]: questions of others, from when they come until their answers go
//! - [`answer_workers`]: the threads that answer them
//! - [`shared_tables`]: what follows from the log, for whoever reads or coordinates on this node
//! - [`own_partitions`]: the partitions of this node, for readers in threads of their own; [`snapshot_partitions`],
//!   `opened_partitions`: those of one snapshot
//! - [`peer_loop`]: the network, as one thread of a node drives it
//! - [`node_thread`]: the thread that owns a node, and how others reach it
//! - [`owned_node`]: a node on its log and its network, as that thread steps both
//! - [`record_counts`]: what became of records, counted by cause
//! - [`node_status`]: how a node is, for metrics and operators
//! - [`node_asker`]: asks for a reader through that thread, and waits
//! - [`node_error`]: why a node stops, or does not take a record
//! - [`node_loop`]: the log, its reader and its packer, as one thread of a node drives them

pub mod answer_workers;
pub mod answering;
pub mod apply;
pub mod apply_error;
pub mod checked_file;
pub mod checkpoint;
pub mod checkpoint_steps;
pub mod checkpoint_writer;
mod end_questions;
pub mod horizon;
pub mod incarnation;
mod index_reports;
pub mod kept_partition;
pub mod log_needs;
pub mod node_asker;
pub mod node_error;
pub mod node_loop;
pub mod node_status;
pub mod node_thread;
mod opened_partitions;
pub mod outbox;
pub mod own_partitions;
pub mod owned_node;
pub mod partition_store;
pub mod peer_loop;
pub mod readers;
pub mod record_counts;
pub mod replicated_state;
pub mod seen_file;
pub mod shared_tables;
pub mod snapshot_partitions;
pub mod store_partition;
pub mod store_steps;
