//! Bodies in array files: written, found by their place, and read where they lie.
//!
//! ```text
//! body       form of `body_ref` | zeros to 8 | column table | trailer        an extent
//! column     `column_form`                                                   an extent each, shared by the bodies that have it
//! ```
//!
//! - [`column_table`]: which columns a body has, and where they lie
//! - [`extent_bytes`]: an extent of this process, or of the one that writes
//! - [`stored_column`], [`stored_body`]: both of them, read in place or copied
//! - [`body_writer`]: bodies of the heap, and their columns, as extents
//! - [`body_table`]: which body lies where, in the process that writes

pub mod body_table;
pub mod body_writer;
pub mod column_table;
pub mod extent_bytes;
pub mod stored_body;
pub mod stored_column;
