//! File: one CSR file, read by items, lists and groups, or in key order.
//!
//! ```text
//! csr_file       open: heads, footers, indexes of pages, directory in memory
//! paged_file     one of its two files, and where damage lies
//! page_reader    verified pages, from the cache or read side by side; page_rounds gathers them for many items,
//!                in the memory of read_buffers
//! group_directory  which vertices are alive and which lists there are, without a page
//!
//! file_records   the file as a reader at S sees it; record_source answers what such a reader asks (`RecordSource`)
//! visibility     which records that reader sees
//! item_records   presence: filter, then the records of one item; last_list keeps what a batch needs again
//! item_pages     the pages that items of several files need, read side by side
//! properties     the column of a property, by rank of an edge's record or by vertex; long values
//! list_items     a list, a piece of it, parallel edges, degrees
//! plain_list     a short list of Inserts alone, decoded without the rest of its page, and the pages of its numbers
//! group_records  live vertices and counts of a reader in the past
//!
//! page_scan      all pages of a range, in 1 MiB reads ahead, past the cache
//! shared_window  pages that several scans read together, by reads ahead, through the cache where it has them
//! ranked_numbers weights of consecutive edges, a column page at a time
//! file_scan      lists in key order, for merges
//! entry_scan     entries of indexes in key order, for merges
//! column_scan    one column in order of position, for merges
//! ```
//!
//! An edge's record has a rank, its number among those of (file, subject); columns of edges are ordered by it. Columns
//! of vertices are ordered by vertex, and in a file with stamps by stamp, so that a column page is found without the
//! vertex's record.
//!
//! Source: disk-engine, sections 3 and 5; LSMGraph (SIGMOD 2024), section 4.1.

pub mod column_scan;
pub mod csr_file;
mod entry_reads;
pub mod entry_scan;
pub mod file_records;
pub mod file_scan;
mod group_directory;
mod group_records;
pub mod item_pages;
mod item_records;
mod last_list;
mod list_items;
pub mod page_reader;
mod page_rounds;
pub mod page_scan;
pub mod paged_file;
pub mod plain_list;
mod properties;
pub mod ranked_numbers;
mod read_buffers;
mod record_source;
pub mod shared_window;
#[cfg(test)]
pub(crate) mod tests;
mod visibility;
