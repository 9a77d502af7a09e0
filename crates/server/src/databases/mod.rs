//! Databases: which ones a server serves, under which names, and how they come and go while others work.
//!
//! ```text
//! request ──> target (alias, role) ──> catalogue ──> served_database ──> open_database ──> a use, until it is answered
//!                                          │
//! create, open, close, drop ───────────────┴──> root_folder, settings_file, memory_shares
//! ```
//!
//! Opening, closing and dropping wait: for the disk, for queries, for commits. They hold no lock meanwhile that a request
//! takes, and nobody calls them on a network thread.

pub mod catalogue;
pub mod change;
pub mod cluster_member;
mod ending_checkpoint;
pub mod follower;
pub mod memory_shares;
pub mod name;
pub mod open_database;
pub mod options;
mod root_folder;
pub mod served_database;
pub mod settings_file;
pub mod target;
pub mod write_health;
