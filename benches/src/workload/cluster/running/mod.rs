//! Running: clusters as they run: servers of their logs, nodes on TCP with TLS, clients that commit and read.
//!
//! ```text
//! log_servers    what keeps logs: either of the next two
//! etcd_members   three members on this machine, one of which leads
//! nats_servers   three servers on this machine, one of which leads a stream
//! ready          waits for such servers
//! site           folders and addresses of a cluster's nodes
//! own_append     what an append costs clients of the log's servers, without any cluster
//! log_tail       reads a cluster's log beside its nodes
//! streams        clients of a database: one after the other each does one thing, and notes how long it took
//! node_service   a node as a process of its own, which is told what to do
//! node_process   the same, as the harness sees it
//! open_nodes     nodes in the process of the harness
//! current_status how a node is now
//! ```

mod current_status;
pub mod etcd_members;
pub mod log_servers;
pub mod log_tail;
pub mod nats_servers;
pub mod node_process;
pub mod node_service;
pub mod open_nodes;
pub mod own_append;
mod ready;
pub mod site;
pub mod streams;

#[path = "../../../../../crates/cluster/tests/etcd/http.rs"]
#[allow(dead_code, reason = "tests use more of it")]
mod http;
