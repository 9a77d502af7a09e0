//! Mappings of relational databases: rules on catalogues, from schemas in SQL.
//!
//! Schemas of data sets lie beside the project, as `evergraph_tests::data` says; tests without theirs say so.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod checks;
mod ddl;
mod paper_calls;
mod proposals;
mod rules;
mod shipped;
mod support;
