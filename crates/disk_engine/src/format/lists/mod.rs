//! Lists: pages of kind 1, the neighbours of consecutive vertices.
//!
//! ```text
//! FLAGS   bits 0, 5: form of positions   1: discriminators   2: operations   3: stamps
//!         4: begins inside a list
//!
//! positions        of the vertices that have a list (`positions`)
//! ends             u16 a list: where it ends among the page's values
//! widths, frames   a list's first neighbour in this page, then gaps (`frames`)
//! discriminators   u16 a value, if flagged
//! operations       2 bits a value, if flagged
//! stamps           a varint a value, if flagged
//! ```
//!
//! Without flags, a value is an edge. With them it is a record: in a file with stamps an edge may have
//! several, the newest first. A list may continue on any number of pages; each begins with a plain
//! neighbour, so that a page reads alone.
//!
//! - `record`: one value, and the order of values
//! - `builder`: from records to pages
//! - `page`: one list, one edge, or everything of a page
//! - `buffer`: where a whole page is decoded to, page after page

pub mod buffer;
pub mod builder;
pub mod page;
pub mod record;
