//! Steps: what does the operators of a plan, a family a module.

pub mod barrier;
pub mod bound;
pub mod branch;
pub mod build;
pub mod by;
pub mod chance;
pub mod dedup;
pub mod element;
pub mod expand;
pub mod filter;
pub mod group;
pub mod look_up;
pub mod map;
pub mod options;
pub mod order;
pub mod pattern;
pub mod repeat;
pub mod sack;
pub mod scalar;
pub mod side_effect;
pub mod source;
pub mod subgraph;
pub mod tree;
pub mod unfold;
pub mod write;
