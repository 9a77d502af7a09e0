//! The social mix: LinkBench's operations on a graph with its distributions.
//!
//! ```text
//! shape        how many links has a node; which nodes are read and written how often
//! network      which links there are at first; which id is node 17 now
//! operation    one operation drawn from a mix: LinkBench's default, TAO's, any share of writes
//! client       one who draws operations and has them done
//! graph        the network as vertices and edges of ours
//! perform      what an operation does in a transaction of ours
//! ```
//!
//! Source: Armstrong, Ponnekanti, Borthakur, Callaghan, "LinkBench" (SIGMOD 2013), and the parameters of
//! its default configuration. Differs:
//!
//! - A node is a vertex and a link is an edge, so deleting a node deletes its links; there, they stay.
//!   A node that was deleted is replaced by one that was added, so that the graph stays as large.
//! - Link lists lie in the order of their ends here; links are declared newest-first by their time, so that the newest
//!   of a list are read without its others.
//! - All data has the median's size, and lists are never longer than what is asked for: no page of older
//!   links is read after the first.

pub mod client;
pub mod graph;
pub mod network;
pub mod operation;
pub mod perform;
pub mod shape;
