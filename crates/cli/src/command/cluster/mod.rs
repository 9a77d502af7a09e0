//! `evergraph cluster`: a graph on several machines, a subcommand a file.
//!
//! ```text
//! create ──> a folder for each node ──> serve, on its machine ──> node.json, GET /databases/NAME/cluster, /metrics
//!    └──> renew: certificates                                        └──> status
//! ```

pub mod create;
pub mod execute;
pub mod node_document;
mod node_samples;
pub mod renew;
mod report_text;
pub mod serve;
pub mod served_node;
pub mod settle;
pub mod status;
pub mod status_file;
