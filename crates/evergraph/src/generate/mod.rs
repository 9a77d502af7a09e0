//! Generate: seeded graphs for demonstrations, tests and measurements.
//!
//! The same seed gives the same graph on every machine and with any number of threads: random numbers
//! come from PCG-64, whose stream is fixed by its definition, and only operations with one correct
//! result by IEEE 754 (no logarithms or powers) touch them.

pub mod market;
pub mod payment_stream;
pub mod payments;
pub mod random;
pub mod ring;
pub mod rmat;
pub mod zipf;
