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
//! - [`replicated_state`]: certifier and tables; what becomes of each record
//! - [`apply_error`]: why a node stops
//! - [`apply`]: records in order, into partitions that may be ahead
//! - [`checkpoint`]: the state in a file
//! - [`incarnation`]: how often the node started
//! - [`node_loop`]: the log, its reader and its packer, as one thread of a node drives them

pub mod apply;
pub mod apply_error;
pub mod checkpoint;
pub mod incarnation;
pub mod node_loop;
pub mod partition_store;
pub mod replicated_state;
