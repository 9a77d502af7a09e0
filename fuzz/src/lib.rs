//! What all fuzz targets share. A target is one file in `fuzz_targets/`, named in `Cargo.toml`.
//!
//! ```text
//! seeds ──> corpus ──libFuzzer──> input ──> promise ──> kept: go on
//!                                   │          ├──────> a panic           ┐
//!                                   └── heap ──┴──────> too much memory   ┴> abort: a reproducer is written
//! ```
//!
//! - [`target`]: what a target is, and how its promise is checked
//! - [`place`]: whether the place that an error names lies inside the input
//! - [`samples`]: values and graphs that seeds are made of
//! - [`scratch`]: the input as a file, and its import

pub mod place;
pub mod samples;
pub mod scratch;
pub mod target;
