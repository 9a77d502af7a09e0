//! The words of a property graph, and the contract of every reader and writer.
//!
//! No I/O, no locks, no unsafe: storage engines implement what is declared here, algorithms and
//! (later) queries use it, and neither knows the other.

pub mod budget;
pub mod byte_size;
pub mod byte_strings;
pub mod bytes;
pub mod cancel;
pub mod catalogue;
pub mod column;
pub mod count;
pub mod error;
pub mod filter;
pub mod id;
pub mod index;
pub mod index_entry;
pub mod load;
pub mod look_up;
pub mod mutation;
pub mod nearest;
pub mod newest;
pub mod newest_entry;
pub mod next_reads;
pub mod note;
pub mod owner;
pub mod packed_column;
pub mod partition;
pub mod properties;
pub mod schema_change;
pub mod scratch;
pub mod shared_map;
pub mod shared_table;
pub mod split_mix;
pub mod stage_programs;
pub mod timestamp;
pub mod topology;
pub mod transaction;
pub mod travel;
pub mod unknown_commit;
pub mod value;
pub mod vertex_set;
pub mod view;
pub mod wait_limit;
