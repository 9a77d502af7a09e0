//! The memory engine: every segment in RAM, merged in the background, stored by checkpoints.
//!
//! ```text
//! segment   what a vertex group knows of one subject: body, run and tail
//! group     a vertex group: its vertices and its edge segments; the table of groups
//! records   a commit's mutations as records, a part for each segment
//! merger    the queue of overdue segments and the thread that works it off
//! counters  what merging has done, has before it, and costs
//! view      reading at one timestamp; list: one vertex' edges out of body and records
//! values    one property of many vertices or edges
//! freeze    from segments and records to the lists of one moment: frozen_list, and fresh on top of it
//! frozen    the topology that algorithms read: those lists, visited by the loops of dense_list; shared_list: handed
//!           out as they lie
//! segments  all segments, and what keeps their tails and runs short
//! load, checkpoint, salvage   whole graphs at once; bodies to files and back; what is left of damaged ones
//! graph_writer   files of a whole graph, for a conversion
//! engine    all of it behind `Engine`; durable: behind `DurableEngine`
//! ```

pub mod checkpoint;
pub mod counters;
mod dense_list;
mod durable;
pub mod engine;
mod freeze;
mod fresh;
pub mod frozen;
mod frozen_list;
mod graph_writer;
pub mod group;
pub mod list;
pub mod load;
pub mod merger;
pub mod records;
pub mod salvage;
pub mod segment;
pub mod segments;
pub mod shared_list;
pub mod values;
pub mod view;
