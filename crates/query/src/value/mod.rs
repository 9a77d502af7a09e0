//! Values: what traversers carry, how values are compared, and functions on them.

pub mod combine;
pub mod convert;
pub mod date;
pub mod element_id;
pub mod extent;
pub mod item;
pub mod item_list;
pub mod list;
pub mod map;
pub mod math;
pub mod number;
pub mod ordered_map;
pub mod path;
pub mod relation;
pub mod room;
pub mod same;
pub mod scalar;
pub mod shared_list;
pub mod subgraph;
pub mod text;
pub mod tree;
pub mod trie;
pub mod types;
