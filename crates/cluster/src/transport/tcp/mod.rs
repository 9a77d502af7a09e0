//! TCP: frames between nodes over TCP, with certificates of both sides. Behind the feature `network`.
//!
//! ```text
//! thread of the node                threads of the network                           another node
//!
//! send ──encode──> send queue  ──dialler──> TLS ════════ hello, frames ════════> listener ──> receive queue
//!                  of each peer             TLS <═══════ hello ═════════════════                of each peer
//! receive <─────── receive queue <──listener── TLS <═════ hello, frames ═════════ dialler
//!         <─────── waker: something came, or a full queue has room
//! ```
//!
//! **Connections.** Each node dials each other one and sends on that connection alone; on those that others have
//! dialled it only reads. So a pair has two connections, where one could do. In return nobody decides which of two
//! simultaneous connections stays, whoever sends knows whom it has dialled, and a direction that breaks takes nothing
//! of the other one along. A node dials when it has something to send. Who connects again takes the place of the
//! connection before.
//!
//! **Who is it?** Both sides show a certificate of the cluster's own CA, by TLS 1.3. A certificate names its node and
//! its cluster ([`node_name`]). The dialler looks for the name of the node that it wants; the listener for that of
//! the node which the hello ([`hello`]) says it is. Nobody reads names out of certificates, so no certificate can be
//! read wrong. Revoked certificates are not looked up: whoever takes a node out removes it from the members, and its
//! connections are closed and refused.
//!
//! **What is lost.** A frame is lost if its connection breaks before the other side has read it, or if the next
//! connection fails: then all that waits for the node is dropped, so that nothing old is sent when the node is there
//! again. A frame therefore waits at most a pause, a dial and what is before it in the queue. What was dropped is
//! counted ([`statistics`]).
//!
//! **Limits.** Queues have limits in frames and in bytes for each node and direction, and a frame has one before
//! memory is taken for it. A node that takes nothing for a while loses its connection. Whoever has not proved who it
//! is has little time, and of such connections the oldest makes room for the next one, so that those that say nothing
//! keep nobody out.
//!
//! - [`options`]: queues, time limits, threads
//! - [`node_name`]: the cluster, and what the certificate of a node says
//! - [`identity`]: the files of a node: CA, certificate, key
//! - [`transport`]: the network, as a node uses it
//! - [`monitor`]: what others may look at
//! - [`statistics`], [`events`]: counts, and what happened to connections
//! - [`link_error`]: why there is no connection
//! - [`hello`]: what both sides of a connection say first

mod backoff;
mod certificate;
mod dialler;
pub mod events;
mod frame_queue;
mod handshake;
pub mod hello;
pub mod identity;
pub mod link_error;
mod listener;
pub mod monitor;
mod network;
pub mod node_name;
pub mod options;
mod peer;
mod receive_queues;
mod send_queue;
mod socket;
pub mod statistics;
pub mod transport;
