//! Look: what one file shows by itself, before other files are considered.

use crate::import::mapping::rule::FileRule;
use crate::import::recognise::labels::KnownLabel;
use crate::import::recognise::list::ListLook;
use crate::import::recognise::plain::PlainFile;

/// What one look at a file shows.
#[derive(Debug)]
pub enum Look {
    /// It tells everything; its vertices' label as well, if it has some, and what one may want to know.
    Rule(FileRule, Option<KnownLabel>, Option<String>),
    /// It is a list.
    List(FileRule, ListLook),
    /// It has to be settled beside the others; what is known is how it is split into fields.
    Plain(PlainFile, FileRule),
    /// It is a list of edges if nobody else has vertices, and may be settled beside the others as well.
    Numbers(ListLook, PlainFile, FileRule),
    /// It has a header in Neo4j's conventions: edges whose ends nobody may have.
    Edges(FileRule, Vec<String>, Option<String>),
    /// Its name tells nothing.
    Stranger,
}
