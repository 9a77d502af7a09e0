//! `GraphRules`: what the certifier asks of the rest that follows from the log: who is a member, and what payloads say.
//!
//! ```text
//! record ──> certifier ── is its author a member?  ──> graph rules: the tables, as they stand before this record
//!                │     ── what do its payloads say? ─>
//!                └─> commit, remembered only if they can be installed
//! ```
//!
//! The answers are facts of the log, as decisions are. Records of one message are decided one after the other, each when the
//! tables have done what the one before asked for.

use crate::certification::outcome::Malformation;
use crate::record::payload::Payload;
use crate::record_id::Author;

/// What the certifier asks before a record counts.
pub trait GraphRules {
    /// What a transaction commits, as it was read.
    type Commit;

    /// Whether records of `author` count: it is the incarnation of a member that joined last. Joining itself is open to all.
    fn is_member(&self, author: Author) -> bool;

    /// Reads what a transaction commits: its payloads, whole and by ascending destination.
    ///
    /// # Errors
    /// [`Malformation`] if some node could not install it. The transaction is refused then, by all nodes.
    fn read_payloads(&self, payloads: Vec<Payload>) -> Result<Self::Commit, Malformation>;
}

/// No rules: everybody is a member, and payloads stay bytes. For whoever looks at certification alone.
#[derive(Clone, Copy, Debug)]
pub struct NoRules;

impl GraphRules for NoRules {
    type Commit = Vec<Payload>;

    fn is_member(&self, _author: Author) -> bool {
        true
    }

    fn read_payloads(&self, payloads: Vec<Payload>) -> Result<Self::Commit, Malformation> {
        Ok(payloads)
    }
}
