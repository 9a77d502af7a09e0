//! Administration of a server by HTTP, with the log-in of queries: a module a subject.
//!
//! ```text
//! Client::admin ──> Admin ──> call ──> answer ──> document, or the server's error
//!                     │
//!                     ├── databases, reports, indexes, plans, queries, users, jobs, uploads
//! ```
//!
//! What is about one database is about that of the URL. Each request has a connection of its own.

pub(crate) mod answer;
pub mod call;
pub mod databases;
pub mod indexes;
pub mod job_files;
pub mod jobs;
pub mod plans;
pub mod queries;
pub mod reports;
pub mod uploads;
pub mod users;
