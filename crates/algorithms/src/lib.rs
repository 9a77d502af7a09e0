//! Graph algorithms on any live or static graph: parallel, cancellable, with progress and a memory budget.
//!
//! ```text
//! GraphView --freeze--> Topology --kernel(topology, parameters, control)--> one value a vertex
//!                          ^                     |
//!      StaticCsr ----------+                     +-- Control: cancel, progress, budget
//! ```
//!
//! Rules that every kernel keeps
//! - It reads lists through [`Topology::visit`](evergraph_graph::topology::Topology::visit) alone:
//!   no list is assumed to be sorted, to be in one piece, or to outlive its visit.
//! - Its state and its answer are arrays of
//!   [`Topology::bound`](evergraph_graph::topology::Topology::bound) entries, indexed by vertex id,
//!   reserved before they are allocated. Ids out of scope take no part, in lists neither.
//! - The answer is the same, bit for bit, whatever the number of threads.
//! - It runs on rayon's current pool and looks at the cancel flag at least once for every slice of
//!   32 thousand vertices and edges, and for every frontier.
//! - What it reserved ends with it: an answer belongs to the caller, who accounts for it.
//! - Lists of edges that the budget refuses go to [`Topology::scratch`](evergraph_graph::topology::Topology::scratch), if
//!   the engine has any, or are visited more often: *out of core*. The answer is the same, and its progress says so.
//! - A bad parameter is an error that names it and its range.

mod array_tally;
pub mod betweenness;
pub mod bfs;
mod bins;
pub mod cdlp;
mod chunked_triangles;
pub mod closeness;
mod coarse;
mod contributions;
pub mod control;
pub mod copied;
pub mod csr;
pub mod cycles;
mod degree_order;
pub mod eigenvector;
pub mod flow_rings;
mod frontier;
mod gather;
pub mod k_hop;
pub mod kcore;
pub mod kernels;
pub mod labels;
pub mod lcc;
pub mod leiden;
mod level;
mod local_moving;
pub mod louvain;
mod move_schedule;
pub mod pagerank;
mod partition;
mod parts;
pub mod peer_pressure;
pub mod personalized_pagerank;
mod random_walk;
pub mod range;
mod refinement;
mod restarts;
pub mod scc;
pub mod scope;
mod scoped_view;
mod selection;
mod semi_external_cores;
pub mod shortest_path;
pub mod sources;
mod spilled_order;
pub mod sssp;
mod tally;
pub mod topological_order;
pub mod triangles;
mod undirected;
mod vertex_marks;
mod vertex_numbers;
mod vertex_states;
mod visited_set;
pub mod wcc;
mod writers;

#[cfg(test)]
mod any_lists;
#[cfg(test)]
mod data_sets;
#[cfg(test)]
mod graphs;
#[cfg(test)]
mod memory_scratch;
#[cfg(test)]
mod pieced;
#[cfg(test)]
mod view;
#[cfg(test)]
mod walkable;
