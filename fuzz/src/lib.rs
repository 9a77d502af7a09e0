//! Promises of every decoder. A target is one file in `targets/`, named in its list.
//!
//! ```text
//! seeds ──> corpus ──libFuzzer──> input ──> promise ──> kept: go on
//!                                   │          ├──────> a panic           ┐
//!                                   └── heap ──┴──────> too much memory   ┴> abort: a reproducer is written
//! ```
//!
//! - [`targets`]: the decoders
//! - [`target`]: what a target is, and how its promise is checked
//! - [`place`]: whether the place that an error names lies inside the input
//! - [`pages`]: an input as a page of a CSR file
//! - [`golden_arrays`]: golden files of the mapped engine, which seeds are made of
//! - [`elements`]: what a reader of vertices and edges promises
//! - [`samples`]: values and graphs that seeds are made of
//! - [`scratch`]: the input as a file, and its import

pub mod elements;
pub mod golden_arrays;
pub mod pages;
pub mod place;
pub mod samples;
pub mod scratch;
pub mod target;
pub mod targets;
