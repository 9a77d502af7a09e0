//! Entries of the table: a file each algorithm, in folders by group.

pub mod communities;
pub mod rank;
pub mod structure;
pub mod ways;
