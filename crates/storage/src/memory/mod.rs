//! The memory engine: every segment in RAM, merged in the background.
//!
//! ```text
//! group     a vertex group: its vertices and its edge segments; the table of groups
//! records   a commit's mutations as records, a part for each segment
//! merger    the queue of overdue segments and the thread that works it off
//! view      reading at one timestamp; list: one vertex' edges out of body and records
//! frozen    the topology that algorithms read
//! engine    all of it behind `Engine`
//! ```

pub mod engine;
pub mod frozen;
pub mod group;
pub mod list;
pub mod merger;
pub mod records;
pub mod view;
