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
//! - [`asking`]: which holder is asked, when another one is asked as well, and what comes of it
//!
//! What a coordinator asks while it reads, and what comes of it:
//!
//! ```text
//! remote_view ── item_reads, entry_merge ──> remote_snapshot ── view_asking ──> messages     the asker's node
//!                                            kept_answers, partition_view          │
//!                                            view_answering <──────────────────────┘         the holder's
//! ```
//!
//! - [`view_question`], [`view_answer`]: what is asked and answered, as bytes; [`item_form`]: ids and values in them
//! - [`answer_writer`]: as many answers as have room
//! - [`view_answering`]: answers from a snapshot of one partition; `index_pages`: of an index, as much as has room;
//!   [`short_questions`]: which of them look at the clock early
//! - [`view_asking`]: messages until everything is answered
//! - [`partition_view`], [`own_reads`]: what the reader's node keeps, without messages
//! - [`item_reads`]: what is read of many items; [`entry_merge`]: what several indexes find
//! - [`group_scan`]: which groups a scan reads next
//! - [`kept_answers`], [`charged_answers`], [`remote_snapshot`]: what a snapshot was told, the memory for it, and what it is going
//!   to be asked
//! - [`refused_snapshot`]: one that could not begin
//! - [`announcement`], [`announced_questions`], [`value_pages`]: what a reader announces
//! - [`remote_view`]: all of it as the view of an engine

pub mod admission;
pub mod announced_questions;
pub mod announcement;
pub mod answer_writer;
pub mod asking;
pub mod charged_answers;
pub mod entry_merge;
pub mod group_scan;
mod index_pages;
pub mod item_form;
pub mod item_reads;
pub mod kept_answers;
pub mod open_questions;
pub mod own_reads;
pub mod partition_view;
pub mod question;
pub mod refused_snapshot;
pub mod remote_snapshot;
pub mod remote_view;
pub mod short_questions;
pub mod value_pages;
pub mod view_answer;
pub mod view_answering;
pub mod view_asking;
pub mod view_question;
#[cfg(test)]
pub(crate) mod view_strategy;
