//! Tally: how often something happened.

use crate::simulation::tally::tally;
use crate::simulation::trace::Trace;

tally! {
    /// Counts of one world, or of several.
    pub struct Tally {
        /// Transactions that committed, and were acknowledged.
        pub commits: u64,
        /// Those that wrote nothing.
        pub read_only: u64,
        /// Those that the log refused, and those that their own node refused before.
        pub refused: u64,
        pub refused_ahead: u64,
        /// Refusals in the log since something was changed, since they began before what is remembered, since their author was
        /// replaced.
        pub conflicts: u64,
        pub too_old: u64,
        pub fenced: u64,
        /// Since their author had read what the log has lost.
        pub other_log: u64,
        pub doubles: u64,
        /// Reads that were compared with the graph of their snapshots, and look-ups among them.
        pub reads: u64,
        pub look_ups: u64,
        /// Partitions that were read where they lie.
        pub own_views: u64,
        /// Reads that failed: of snapshots that are too old, and others.
        pub reads_too_old: u64,
        pub reads_failed: u64,
        /// Cancels: of what had committed, of what never will, and of what is forgotten.
        pub cancels_committed: u64,
        pub cancels_of_nothing: u64,
        pub cancels_unknown: u64,
        /// Transactions whose clients did not learn what became of them at first.
        pub unknown: u64,
        /// Large ones, in parts.
        pub parts: u64,
        /// Snapshots that had to have something, and had.
        pub fresh: u64,
        pub sessions: u64,
        /// Starts of nodes, those from a checkpoint, partitions that were ahead of it.
        pub starts: u64,
        pub restored_starts: u64,
        pub ahead: u64,
        pub checkpoints: u64,
        pub checkpoints_held: u64,
        /// Power cuts between two steps, within one, and while a node started.
        pub cuts: u64,
        pub cuts_in_steps: u64,
        pub cuts_in_starts: u64,
        /// Partitions that had no room, had room again, and failed.
        pub stalled: u64,
        pub resumed: u64,
        pub failed: u64,
        pub pauses: u64,
        pub client_pauses: u64,
        pub cut_routes: u64,
        pub log_outages: u64,
        pub trims: u64,
        /// Partitions that were compared with the graph.
        pub compared: u64,
        /// Times that the log lost something, and nodes that stopped since they had seen more, or did not.
        pub losses: u64,
        pub stopped: u64,
        pub ran_on: u64,
        pub alarms: u64,
        /// Whether the index became ready.
        pub indexes: u64,
        /// Messages of the log, frames, what clients were told, changes of disks, and files after power cuts.
        pub trace: Trace,
    }
}
