//! Workloads: what is measured, a file a part; each checks the answers that it got.

pub mod cluster;
pub mod disk;
pub mod durable;
pub mod gapbs;
pub mod in_place;
pub mod interactive;
pub mod lbv;
pub mod linkbench;
pub mod live;
pub mod look_ups;
pub mod mapped;
pub mod packed_lists;
pub mod parts;
pub mod pool;
pub mod properties;
pub mod property_graph;
pub mod queries;
pub mod reads;
pub mod replica;
pub mod server;
pub mod storage;
pub mod stores;
pub mod writer_thread;
pub mod writes;
