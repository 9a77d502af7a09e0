//! Recognition: what one file shows by itself, before other files are considered.

use crate::import::mapping::rule::FileRule;
use crate::import::recognise::labels::JoinableLabel;
use crate::import::recognise::list::ListRecognition;
use crate::import::recognise::plain_header::PlainFile;

/// What one look at a file shows.
#[derive(Debug)]
pub enum Recognition {
    /// It tells everything; its vertices' label as well, if it has some, and what one may want to know.
    Rule(FileRule, Option<JoinableLabel>, Option<String>),
    /// It is a list.
    List(FileRule, ListRecognition),
    /// It has to be settled beside the others; what is known is how it is split into fields.
    Plain(PlainFile, FileRule),
    /// It is a list of edges if nobody else has vertices, and may be settled beside the others as well.
    Numbers(ListRecognition, PlainFile, FileRule),
    /// It has a header in Neo4j's conventions: edges whose ends nobody may have.
    Edges(FileRule, Vec<String>, Option<String>),
    /// Its name tells nothing.
    Stranger,
}
