//! Running: a node as a process runs it, on etcd or NATS, over TCP, with stores of the memory engine; and how a cluster is created. Behind
//! the feature `running`.
//!
//! ```text
//! create ──> folder of each node ──────── opening ────────> cluster_node ── graph_node ──> transactions of this process
//!              cluster.toml  description                      │  status, checkpoint, close
//!              node.toml     node_description                 ├── monitor ──> report: the log of whoever runs it
//!              ca.pem, node.pem, node.key  authority          └── threads
//!              node_starts, node_state, node_seen, partitions/NNNN, lock
//! ```
//!
//! - [`description`]: what all nodes of a cluster agree on
//! - [`node_description`]: what is a node's own
//! - [`log_access`], [`etcd_access`], [`nats_access`]: where its log is, and who asks there
//! - [`create`]: new clusters, new nodes, new certificates
//! - [`authority`]: the CA of a cluster
//! - [`cluster_node`]: a node that runs
//! - [`status`]: how it is
//! - [`report`]: what happens to it
//! - `recovery`: what a start gets from other nodes; `partition_folders`: where that lies
//! - `opening`: from the folder to the threads; `join_failure`: why it does not get there; `monitor`, `watched_node`: what is told of them; `link_reports`: of connections
//! - `seen_writer`: what the node has applied, on disk; `periodic_thread`: a thread that does the same again and again
//! - `document`, `table_text`, `hex`, `new_folder`, `server_files`: files

pub mod authority;
pub mod cluster_node;
pub mod create;
pub mod description;
mod document;
pub mod etcd_access;
mod hex;
mod join_failure;
mod link_reports;
pub mod log_access;
mod monitor;
pub mod nats_access;
mod new_folder;
pub mod node_description;
mod opening;
mod partition_folders;
mod periodic_thread;
mod recovery;
pub mod report;
mod seen_writer;
mod server_files;
pub mod status;
mod table_text;
mod watched_node;
