//! Broken input: files that are cut, torn, mislabelled or made to hurt, in every format that is read.
//!
//! ```text
//! csv, lists, graphml, graphson, parquet, packed, mapping     a table each: files, and what must come of them
//! graph_files                                                 the same of GEXF, GML, Pajek, nodes and links
//! odd_values                                                  values at and past the edge of every type
//! large                                                       a field of 10 MB, a million columns
//! cut, flipped                                                every format, cut and damaged anywhere
//! case, samples                                               (support) how a row is run; a sound file of each
//! ```
//!
//! Each ends in a graph, in an error that says where, or in a report of bad rows. None panics, and none
//! leaves half a graph behind. The program's own tests hold the same with little memory.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as the test does")]

mod case;
mod csv;
mod cut;
mod flipped;
mod graph_files;
mod graphml;
mod graphson;
mod large;
mod lists;
mod mapping;
mod odd_values;
mod packed;
mod parquet;
mod samples;
