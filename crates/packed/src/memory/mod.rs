//! Memory: what the array asks of persistent memory, and the forms that give it.
//!
//! ```text
//! region      the traits: numbered regions of 8-byte words, write-backs, fences
//! file        mapped files of a directory on persistent memory
//! heap        ordinary memory, kept while the program runs
//! simulated   ordinary memory that can lose power, for tests
//! medium      a memory with a count of what was written back
//! site        every place that writes back and fences, by name
//! ```

pub mod file;
pub mod heap;
pub mod medium;
pub mod region;
pub mod simulated;
pub mod site;
