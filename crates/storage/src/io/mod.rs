//! The outside world behind traits: files, clock and randomness, so that tests can replace them.
//!
//! - [`error`]: what failed, on which file, at which byte
//! - [`directory`]: the traits `Directory` and `File`; names are flat, all access is positional
//! - [`disk`]: the real directory; `folder`: names in an open one, wherever it was moved
//! - [`memory`]: a directory in memory that can lose power
//! - [`failing`]: any directory, with planned failures
//! - [`clock`], [`random`]: time and chance
//! - [`machine_memory`], [`open_files`]: how much memory and how many files a process can have
//! - [`process`]: whether one still exists
//! - [`handle_table`]: many files with few open handles
//! - [`page`]: buffers for direct I/O
//! - [`write_unit`]: what a write puts at risk around it
//! - [`dax`]: a directory on persistent memory
//! - [`mapping`], [`cache_line`]: files in the address space, and stores made durable; the crate's only `unsafe` code
//! - `unit_claims`: who may write what of such a file
//! - [`network_file_system`]: which files are never shared as words
//! - [`pool`]: threads that read for others
//! - [`environment`]: whether chance, time and background work are the system's or simulated

pub mod cache_line;
pub mod clock;
pub mod dax;
pub mod directory;
pub mod disk;
pub mod environment;
pub mod error;
pub mod failing;
mod folder;
pub mod handle_table;
mod lock_file;
pub mod machine_memory;
pub mod mapping;
pub mod memory;
pub mod network_file_system;
pub mod open_files;
pub mod page;
pub mod pool;
pub mod process;
pub mod random;
mod unit_claims;
pub mod write_unit;
