//! Engine: a graph whose partitions any nodes keep, under the front of a store: its transactions, snapshots and reads.
//!
//! - [`cluster_engine`]: begins snapshots; the store
//! - [`cluster_pin`]: what a snapshot holds; names, ids and commits of the log at its moment
//! - [`pin_map`]: how the graph is divided, for one transaction
//! - [`pin_waits`]: how long one transaction waits
//! - [`graph_node`]: what all this needs of the node
//! - [`no_topology`]: what is frozen for algorithms

pub mod cluster_engine;
pub mod cluster_pin;
pub mod graph_node;
mod index_building;
pub mod no_topology;
pub mod pin_map;
pub mod pin_waits;
