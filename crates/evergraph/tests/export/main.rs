//! Export: whatever graph is written, an import of it gives it back.

mod edge_lists;
mod graphs;
mod places;
mod report;
mod round_trip;
mod values;
