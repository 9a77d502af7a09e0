//! Copy: what a node lacks comes from the other nodes, before it joins.
//!
//! ```text
//! a node that starts                                   a node that serves
//!   incoming   from whom, which piece is next  ──begin──> outgoing   a thread for each copy
//!   fetch        │ frames, waiting             ──more───>   │ backup of the store
//!   received_files <── changes of files ─────── <─piece──── piece_directory
//! ```
//!
//! What a backup does with its directory is what travels: files made, bytes written, syncs, renames, in order. So the copy becomes a
//! database at the moment at which a backup would, whatever ends it before; and the node that gives it needs no room on its disk.
//!
//! - [`message`]: what both say
//! - [`file_change`]: a change of a directory, as bytes
//! - [`piece_directory`]: a directory whose changes become pieces
//! - [`outgoing`]: copies that this node gives
//! - [`incoming`]: one copy that this node gets: from whom, what is asked next
//! - [`received_files`]: pieces become files
//! - [`fetch`]: gets a copy over a network, in the thread of the caller
//! - [`starting_source`]: what a node gives that lacks something itself
//! - [`log_probe`]: whether the log still has what a node needs

pub mod fetch;
pub mod file_change;
pub mod incoming;
pub mod log_probe;
pub mod message;
pub mod outgoing;
pub mod piece_directory;
pub mod received_files;
pub mod starting_source;
