//! Writer: records in file order become a CSR file, topology and columns, durable when it is finished.
//!
//! ```text
//! push_vertex, push_edge, push_entry          in file order: subject, key, newest stamp first
//!     │
//!     ├─ topology_writer ── pages of vertices, lists, entries ───────────────┐
//!     │                     filters, gathered into runs ─────────────────────┼─> page_file ── 1 MiB ──> csr-7
//!     │                     page index, directory ─────── end of the file ───┘
//!     └─ columns_writer ─── long values ─────────────────────────────────────┬─> page_file ── 1 MiB ──> col-7
//!                           columns, by property, when their subject ends ───┘
//! finish ── both files synced, then the directory ──> StoredFile, for the manifest
//! drop ──── both files removed
//! ```
//!
//! Columns ascend by (subject, property, position) in their file, but records come by position: so finished pages of
//! a subject's columns wait in memory until the subject ends. They hold what was pushed, compressed, and a writer's input
//! is bounded: by a memory graph, or by the size of a file, for which [`FileWriter::bytes`] counts them.
//!
//! Apart from those a writer takes 1 MiB of buffer for each of its files, 1 MiB of filters, 16 bytes a page and 48
//! bytes a (subject, group) with records, besides at most 512 for its set of rows. Costs named here are estimates: those of the builders of pages, added up.
//!
//! Source: LSMGraph (SIGMOD 2024), section 4.2.1, the flush to CSR with properties apart. Differs: pages with filters.
//!
//! [`FileWriter::bytes`]: file_writer::FileWriter::bytes

mod columns_writer;
pub mod file_writer;
mod page_file;
mod topology_writer;
