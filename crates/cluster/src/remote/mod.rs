//! Remote: what nodes ask each other.
//!
//! ```text
//! asker   question (S and its digest, a partition, ...) ──> holder   admission: now, later, or never
//!         answer, or why there is none                  <──          when it has applied S
//! ```
//!
//! - [`question`]: questions and answers
//! - [`admission`]: whether a node may answer, and questions that wait until it may
//! - [`open_questions`]: questions of a node that were not answered yet

pub mod admission;
pub mod open_questions;
pub mod question;
