//! The memory engine: every segment in RAM, merged in the background.
//!
//! ```text
//! group     a vertex group: its vertices and its edge segments; the table of groups
//! records   a commit's mutations as records, a part for each segment
//! merger    the queue of overdue segments and the thread that works it off
//! counters  what merging has done, has before it, and costs
//! view      reading at one timestamp; list: one vertex' edges out of body and records
//! values    one property of many vertices or edges
//! freeze    from segments and records to the lists of one moment: frozen_list, and fresh on top of it
//! frozen    the topology that algorithms read: those lists, visited; shared_list: handed out as they lie
//! engine    groups and merger together; interface: all of it behind `Engine`
//! ```

pub mod counters;
pub mod engine;
mod freeze;
mod fresh;
pub mod frozen;
mod frozen_list;
pub mod group;
pub mod interface;
pub mod list;
pub mod merger;
pub mod records;
pub mod shared_list;
pub mod values;
pub mod view;
