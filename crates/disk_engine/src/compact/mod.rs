//! Compaction: files of some levels become files of one level, without stamps, with one record a key.
//!
//! ```text
//! inputs, newest first     L0  csr-9   L0  csr-8   L1  csr-3 csr-4 csr-5
//! chain        files with disjoint keys are one source        [9] [8] [3 4 5]
//! merge        lists, then entries of indexes ──────────────────┐
//! property_plan, property_copy   values column by column ───────┤
//! output       files, cut between any two keys <────────────────┘
//! job          all of it; memory
//! exactness    a merge of everything that writes nothing, for checks
//! ```
//!
//! *Snapshots.* All stamped records count, whatever readers there are: an older snapshot pinned the set that has the
//! inputs, and reads those (rules D1 and D2). Outputs have the timestamps of all inputs together.
//!
//! *Properties* are planned by the merge and copied here: the records of a part of the output, some thousand, are
//! visited once for each property, so that columns are read and written forward. A later Set is laid over what it
//! falls on: of the records of one item the newest that names a property decides. What a removal says is kept only by a
//! Set, since older files may have the value. Long values are read and written again.
//!
//! *Memory* does not depend on the inputs: windows of scans and columns share a fixed number of bytes, and an output is
//! cut when as many column pages wait for the end of their subject as may. Decoded pages come on top, some 100 KB a
//! source and column.
//!
//! Source: disk-engine, section 4 (Compact); LSMGraph (SIGMOD 2024), section 4.3, vertex-aware compaction. Differs:
//! outputs are cut inside of lists too, and properties have ranks, which move; and pages that one source alone has are
//! merged like others, list by list: where changes are spread evenly few pages have none.

mod chain;
pub mod exactness;
pub mod job;
pub mod output;
mod property_copy;
mod property_plan;
