//! Topology: the lists of a snapshot as algorithms read them, without loading the graph.
//!
//! ```text
//! freeze   scope: a bit a vertex    memory graphs: one sorted run    edges: differences of groups, or a pass
//! visit    walk: a merge a subject, lists in id order ──> delivery ──> visitor
//! visit_each
//!          dense: a walk that skips      scattered: point_reads     ──> delivery
//! delivery neither weights nor filters: slices as they are; else stretch: gathers edges, asks for their properties
//!
//! disk_topology  the trait; blocks of frontiers   edge_layer  a run or a file, and what a file must offer
//! frozen_graph   what is frozen                   visits      by scans or by look-ups
//! incoming       in lists with properties     spilled_incoming  the same in files; out_lists  what both are made of
//! freeze         scope, subjects, counts          walk, point_reads, delivery, stretch: as above
//! ```
//!
//! *Semi-external*: memory is O(V) for the scope and O(records of memory graphs); edges are streamed in each visit.
//! The run, the scope, the counts and the window are reserved by name for as long as the topology lives. All visits read
//! files through that window: up to 12 MiB, less where the budget has less. Beside it a visit takes a decoded page for
//! each layer and type, and a stretch of a few thousand edges; these are not reserved.
//!
//! Weights of out lists that one file alone has are read by rank, a column page at a time; those of lists that several
//! layers have, and of look-ups, by batches of edges.
//!
//! In sides have no properties: in lists with weights or filters are made of the out lists when the topology is frozen, and
//! kept in memory. Where the budget refuses that, they are sorted into temporary files. Of out lists with an edge without a
//! weight none are made: visits look edges up in the out lists of the other ends, and the one that meets it says so.
//!
//! Source: disk-engine, section 6. LSMGraph (SIGMOD 2024), section 4.1, reads a vertex' edges of all levels
//! one by one; here whole ranges of lists are merged, since kernels read ranges.

mod delivery;
pub mod disk_topology;
pub mod edge_layer;
mod freeze;
mod frozen_graph;
mod incoming;
mod out_lists;
mod point_reads;
mod spilled_incoming;
mod stretch;
mod visits;
mod walk;
