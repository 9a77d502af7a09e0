//! A shared log on NATS JetStream: servers of 2.12 and later, in a cluster of three or more.
//!
//! ```text
//! NatsLog ──> requests ────────> channel ──> connection ──> a server     publish, trim
//!     └─────> message stream ──> channel ──> connection ──> a server     messages by number, then a consumer
//!                                                └─ is the log kept as it must be?
//! ```
//!
//! All messages are those of one stream, whose sequence is the position: without gaps, since nobody deletes a single message. The
//! stream has three replicas on disk, and each server that has one syncs every write. JetStream does neither by
//! default, and tells a client the first alone, so that servers are asked at their monitoring ports for the second.
//!
//! JetStream has no linearizable read: whoever needs the end of the log appends a barrier and waits for it.
//!
//! - [`options`]: where it is, and how it is used; without the feature `nats` as well, so that settings can be read
//! - `nats_log`: the log, and its engine

#[cfg(feature = "nats")]
mod api;
#[cfg(feature = "nats")]
mod checked_stream;
#[cfg(feature = "nats")]
mod connection;
#[cfg(feature = "nats")]
mod consumer;
#[cfg(feature = "nats")]
mod message_stream;
#[cfg(feature = "nats")]
mod monitor;
#[cfg(feature = "nats")]
mod nats_cluster;
#[cfg(feature = "nats")]
pub mod nats_log;
pub mod options;
#[cfg(feature = "nats")]
mod replicas;
#[cfg(feature = "nats")]
mod requests;
#[cfg(feature = "nats")]
mod sequence_order;
#[cfg(feature = "nats")]
mod stream_settings;
