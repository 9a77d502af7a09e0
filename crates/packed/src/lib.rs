//! A packed graph: streams of plain edges in one array on persistent memory, updated and analysed in place.
//!
//! ```text
//! edge array     [-7 2 6 8 . . | -8 9 . . . | …]   lists behind pivots, gaps behind lists      persistent
//! section logs   (6, 1) <- (6, 4)                   insertions whose place is taken             persistent
//! undo, plan     what a rebalance overwrites        so that a power cut loses nothing           persistent
//! vertices       start, length, newest record       rebuilt from pivots and logs                in memory
//! view           the length of each list            a moment that stays while lists grow        in memory
//! ```
//!
//! An insertion costs one cache line and one fence, or a record of a log, and is durable when it returns. There are no
//! transactions, no properties and no types: a database has those.
//!
//! ```
//! use evergraph_packed::graph::PackedGraph;
//! use evergraph_packed::memory::heap::HeapMemory;
//! use evergraph_packed::memory::region::Domain;
//! use evergraph_packed::options::Options;
//! use evergraph_packed::recovery::Reopening;
//!
//! # fn main() -> evergraph_graph::error::Result<()> {
//! let memory = HeapMemory::new(Domain::Adr);
//! let graph = PackedGraph::create(memory.clone(), &Options { vertices: 10, ..Options::default() })?;
//! graph.insert_edge(6, 1)?;
//! let view = graph.consistent_view();
//! graph.insert_edge(6, 4)?;
//! assert_eq!(view.neighbors(6)?, [1]);
//! assert_eq!(graph.consistent_view().neighbors(6)?, [1, 4]);
//! drop(view);
//! graph.shutdown()?;
//! let (graph, _) = PackedGraph::open(memory, Reopening::Saved)?;
//! assert_eq!(graph.consistent_view().neighbors(6)?, [1, 4]);
//! # Ok(())
//! # }
//! ```
//!
//! A view has the side out. [`both_sides::BothSides`] keeps two packed graphs, of which one holds every edge turned around,
//! and all algorithms run on its views.
//!
//! For measurements, a graph can be created [without one of DGAP's components](ablation).
//!
//! Memory is what implements [`memory::region::Memory`]: [mapped files](memory::file) of a DAX file system, the heap, and a
//! simulated memory that can lose power.
//!
//! Source: DGAP: Efficient Dynamic Graph Analysis on Persistent Memory (Islam, Dai, SC 2023). Each file says where it
//! differs.

pub mod ablation;
mod array;
pub mod both_sides;
mod cancellation;
mod degree_cache;
mod density;
pub mod graph;
mod insert;
mod layout;
mod list_copy;
pub mod memory;
pub mod options;
mod placement;
mod rebalance;
pub mod recovery;
mod room;
mod root;
mod saved;
mod section_log;
mod shift;
mod slot;
mod spread;
mod vertex;
pub mod view;
mod view_visit;
