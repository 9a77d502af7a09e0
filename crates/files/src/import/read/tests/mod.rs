//! Tests of whole imports, by what is imported.

mod csv;
mod files;
mod folders;
mod lists;
mod mappings;
mod memory;
mod origins;
mod policies;
mod refusals;
mod reports;
mod round_trips;
