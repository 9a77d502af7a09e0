//! Bodies and runs: what segments consist of once records are sorted, for every engine that keeps segments.
//!
//! ```text
//! run               records sorted by key, then time;            history: merged ones, for writers that began before
//! net               what a sequence of changes comes to
//! counters          how much was merged, and what it cost;      merge_turn: which of two merges waits
//! commit_records    what a commit does to each segment
//! edge_subject      what a segment of edges is about;           segment_id: which segment of a graph
//! body              what every kind of body must know
//! edge_lists        sorted lists of edges, whoever keeps them;  edge_search: many edges of them looked up together
//! edge_body         such lists on the heap, with columns;       edge_union: two of them joined
//! newest            where the edges of a body's long lists lie by value
//! load              bodies of bulk loads;                       salvage: what is left of damaged ones
//! frozen            the lists of one snapshot, for algorithms
//! body_sink         where the bodies of a whole graph go;       graph_bodies: those of a graph that is converted
//! vertex_body       which vertices are alive, and their columns
//! body_form         the stable form of bodies in files that are read whole
//! body_ref          the form that is read where it lies
//! ```
//!
//! Where records wait in commit order, and when they become runs and bodies, is each engine's own.

pub mod body;
pub mod body_form;
pub mod body_ref;
pub mod body_sink;
pub mod commit_records;
pub mod counters;
pub mod edge_body;
pub mod edge_lists;
pub mod edge_search;
pub mod edge_subject;
pub mod edge_union;
pub mod frozen;
pub mod graph_bodies;
pub mod history;
pub mod load;
pub mod merge_turn;
pub mod net;
pub mod newest;
pub mod run;
pub mod salvage;
pub mod segment_id;
pub mod vertex_body;
