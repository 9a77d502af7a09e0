//! Independent answers: what other programs compute of files, beside what we do of them imported or exported.
//!
//! ```text
//! tinysnb      Kuzu's sample: counts, sums, joins and groups by DuckDB, on the CSV files as they lie there
//! roads        Rome's roads: distances and components by scipy
//! peers        Gnutella's peers: modularity by igraph, walks from some peers by igraph and networkit
//! parquet      files of pyarrow and DuckDB imported; our exports read by both; every value compared
//! exported     CSV exports, counted and summed up by DuckDB
//! python       (support) runs the scripts beside these files: `tinysnb.py` for `tinysnb.rs`, ...
//! canonical    (support) one text a value, the same as `canonical.py` has
//! ```
//!
//! The scripts need what `tests/requirements.txt` lists. `make test` installs it into `target/python`; without
//! it these tests say so and pass, and fail with `CI` set.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod canonical;
mod exported;
mod parquet;
mod peers;
mod python;
mod roads;
mod tinysnb;
