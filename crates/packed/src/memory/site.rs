//! Site: every place where the array writes lines back and fences, named by what it stored there.
//!
//! Memory that is not simulated does not look at it: the argument costs nothing at run time. Simulated memory leaves out
//! one step of one site, so that tests show which steps are needed.

/// Makes the enum and the list of its values.
macro_rules! sites {
    ($($(#[doc = $says:literal])+ $site:ident,)+) => {
        /// What was stored before a write-back and a fence.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
        pub enum Site {
            $($(#[doc = $says])+ $site,)+
        }

        impl Site {
            /// Every site.
            pub const ALL: &[Self] = &[$(Self::$site),+];
        }
    };
}

sites! {
    /// A slot of the edge array: an edge, a tombstone or the pivot of a new vertex.
    Slot,
    /// The first word of a record that lies in two lines.
    RecordHead,
    /// A record of a log, or the rest of one that lies in two lines.
    Record,
    /// The zeros of a log whose tags begin anew.
    LogZeros,
    /// The generations of the logs that a plan empties.
    LogGeneration,
    /// A plan, before it is active.
    Plan,
    /// That a plan is active.
    PlanActive,
    /// That everything of a plan is moved.
    PlanMoved,
    /// That a plan has ended.
    PlanIdle,
    /// What a chunk will overwrite, in an undo slot or an entry of a journal.
    Backup,
    /// A chunk that was moved.
    Chunk,
    /// The undo slot that a recovery empties.
    UndoEmptied,
    /// What a recovery puts back from an undo slot or a journal.
    UndoPutBack,
    /// A journal that is taken or given back, or a transaction of it that begins.
    Journal,
    /// Vertices and densities that are kept in the file.
    Placement,
    /// The edge array of a new graph.
    CreatedArray,
    /// The edge array that replaces a full one.
    ReplacedArray,
    /// The vertex array that a shutdown saves.
    SavedVertices,
    /// A root.
    Root,
    /// The magic number of a new graph.
    Magic,
}

/// A step of a site.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Step {
    /// Lines are on their way to the persistent domain.
    WriteBack,
    /// They have arrived.
    Fence,
}

impl Step {
    /// Both.
    pub const ALL: [Self; 2] = [Self::WriteBack, Self::Fence];
}
