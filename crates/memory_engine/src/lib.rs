//! The memory engine: every segment in RAM, merged in the background, stored by checkpoints.
//!
//! ```text
//! segment   what a vertex group knows of one subject: body, run and tail
//! group     a vertex group: its vertices and its edge segments; the table of groups
//! records   a commit's mutations as records, a part for each segment
//! merger    the queue of overdue segments and the thread that works it off
//! view      reading at one timestamp; list: one vertex' edges out of body and records
//! values    one property of many vertices or edges
//! frozen    the topology that algorithms read: bodies as they lie, and what is fresh on top
//! segments  all segments, and what keeps their tails and runs short
//! load, checkpoint, salvage   whole graphs at once; bodies to files and back; what is left of damaged ones
//! engine    all of it behind `Engine`; durable: behind `DurableEngine`
//! ```

pub mod checkpoint;
mod durable;
pub mod engine;
pub mod frozen;
pub mod group;
pub mod list;
pub mod load;
pub mod merger;
pub mod records;
pub mod salvage;
pub mod segment;
pub mod segments;
pub mod values;
pub mod view;
