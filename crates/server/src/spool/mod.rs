//! Spool: files on their way to a server or from it, and the folders that clients may name files in.
//!
//! ```text
//! SPOOL/uploads/ID/FILENAME    from clients: limited, readable by the server alone; removed when they were imported, or
//!                              after an hour unused
//! SPOOL/jobs/ID/...            what an export or a backup made: removed with its job
//! ```

pub mod folder;
pub mod job_folder;
pub mod options;
pub mod relative_path;
pub mod upload;
