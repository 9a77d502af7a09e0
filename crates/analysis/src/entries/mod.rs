//! Entries of the table: a file each algorithm, in folders by group.

pub(crate) mod communities;
pub(crate) mod rank;
pub(crate) mod structure;
pub(crate) mod ways;
