//! A shared log on etcd, by its API of version 3: 3.4 and later.
//!
//! ```text
//! EtcdLog ──> requests ────────> channel ──> connection ──> a member     put, read, compact
//!     └─────> message stream ──> channel ──> connection ──> a member     read, watch
//! ```
//!
//! All messages are versions of one key. A put gives the revision that wrote it, which is the position; a watch gives
//! all versions from a revision on, in order; a compaction forgets those before a revision. Revisions count the changes
//! of all keys, so that positions have gaps where others write.
//!
//! - [`etcd_log`]: the log, and its thread
//! - [`options`]: where it is, and how it is used
//!
//! etcd keeps what it has not compacted in memory and in a file with a quota, so that it is set up for a log:
//! `--snapshot-count 2000`, and `--quota-backend-bytes` for what nodes may leave untrimmed.

mod backlog;
mod catch_up;
mod connection;
mod connection_error;
mod etcd_cluster;
pub mod etcd_log;
mod failure;
mod key_version;
mod message_stream;
pub mod options;
mod requests;
mod watch;
mod watch_order;
mod wire;
