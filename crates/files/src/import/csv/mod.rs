//! CSV: files of text whose rows are vertices or edges, and whose header says what its columns hold.
//!
//! ```text
//! file ──> records ─────────────> rows ─────────────> graph ──> assembly
//!   delimiter, blanks: what       header: what each
//!   stands between fields         column holds
//! ```

pub mod blanks;
pub mod delimiter;
pub mod file;
pub mod graph;
pub mod header;
pub mod quoted_name;
pub mod records;
pub mod rows;
