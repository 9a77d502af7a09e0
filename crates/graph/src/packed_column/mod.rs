//! Packed columns: the values of one property for the items of a body or block, in a few bytes each.
//!
//! ```text
//! column    how values lie, and how they are read
//! builder   how they become a column, front to back
//! strategy  random columns, for tests
//! ```

pub mod builder;
pub mod column;
#[cfg(any(test, feature = "strategy"))]
pub mod strategy;

pub use builder::PackedColumnBuilder;
pub use column::{Ends, PackedColumn, PackedData, Packing};
