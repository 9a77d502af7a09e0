//! Rebalance: spreads the lists of a window anew, in place, so that a power cut at any moment loses nothing.
//!
//! ```text
//! 1  plan      window and old places are stored, fenced; then its state: active
//! 2  chunks    in an order in which none overwrites what a later one reads:
//!              what it will overwrite is backed up (undo), fenced; then it is moved, fenced
//! 3            state: moved; the logs of the window get their next generation, fenced; state: idle
//!
//! restart      active   the chunk of the newest undo slot is undone, and the rest of the plan carried out from it on
//!              moved    the generations are stored again
//! ```
//!
//! New places follow from the old ones and from the logs, which stay as they are until everything is moved. There are
//! two undo slots, used in turn: a torn one leaves the chunk before. With an ablation, a journal takes their place; and shifts
//! of a few lists are plans as well.
//!
//! Source: DGAP (SC 2023), section 3.1.4. Differs: the plan, the second slot, its checksum; the paper undoes a chunk and
//! rebalances anew, which needs old places that are gone.

pub(crate) mod carry_out;
pub(crate) mod journal;
pub(crate) mod moves;
pub(crate) mod plan;
pub(crate) mod undo;
