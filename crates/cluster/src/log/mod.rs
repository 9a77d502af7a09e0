//! The shared log: what a node asks of it, how records get into it, and how they are read.
//!
//! ```text
//! coordinators ──records──> packer ──append──> shared log ──read_from──> reader ──messages──> certification
//!                             │  <──answer──      │  ▲                     │
//!                             └─── position ──────┼──┼─────────────────────┤ is it still the log that was applied?
//!                                                 └──┴── trim, end ────────┘
//! ```
//!
//! - [`shared_log`]: the interface, and what a log must keep to
//! - [`memory`]: a log in memory, with faults from a seed
//! - `etcd`: a log on etcd; behind the feature `etcd`
//! - `nats`: a log on NATS JetStream; behind the feature `nats`, but for its options
//! - `server_log`, `server_access`: what both have in common
//! - [`packer`]: records into messages, messages into the log
//! - [`reader`]: messages out of the log, and whether it is still the same log
//!
//! Packer and reader have neither threads nor clocks: whoever owns them passes the time, the log and its answers. So one
//! thread drives a whole cluster in a simulation, and one thread a node serves its log.

#[cfg(feature = "etcd")]
mod answer_queue;
#[cfg(feature = "etcd")]
mod channel;
#[cfg(feature = "etcd")]
pub mod etcd;
pub mod memory;
#[cfg(feature = "etcd")]
pub mod nats;
pub mod packer;
pub mod reader;
#[cfg(feature = "etcd")]
pub mod server_access;
#[cfg(feature = "etcd")]
pub mod server_log;
pub mod shared_log;
#[cfg(feature = "etcd")]
mod tls;
