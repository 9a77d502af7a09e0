//! The social mix: LinkBench's operations on a graph with its distributions.
//!
//! ```text
//! shape        how many links has a node; which nodes are read and written how often
//! graph        nodes and links, loaded; which vertex is node 17 now
//! operation    one operation drawn from the mix
//! perform      what an operation does in a transaction
//! measure      both isolation levels, contentions, durability modes, numbers of threads
//! ```
//!
//! Source: Armstrong, Ponnekanti, Borthakur, Callaghan, "LinkBench" (SIGMOD 2013), and the parameters of
//! its default configuration. Differs:
//!
//! - A node is a vertex and a link is an edge, so deleting a node deletes its links; there, they stay.
//!   A node that was deleted is replaced by one that was added, so that the graph stays as large.
//! - Link lists lie in the order of their ends here, not newest first: who wants them by time, as this
//!   does, reads the times and sorts.
//! - All data has the median's size, and lists are never longer than what is asked for: no page of older
//!   links is read after the first.

pub mod graph;
pub mod measure;
pub mod operation;
pub mod perform;
pub mod shape;
