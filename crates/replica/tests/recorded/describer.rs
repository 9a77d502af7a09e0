//! Messages of logical decoding, one line each, without what differs from run to run.

use evergraph_replica::pgoutput::message::{Message, OldRow};
use evergraph_replica::pgoutput::relation::Oid;
use evergraph_replica::pgoutput::tuple::{Cell, Tuple};
use std::collections::BTreeMap;

/// Knows the tables that were described.
#[derive(Default)]
pub struct Describer {
    names: BTreeMap<Oid, String>,
}

impl Describer {
    /// The message in a line; `None` for what is about the stream alone.
    pub fn line(&mut self, message: &Message<'_>) -> Option<String> {
        let streamed = if message.streamed_xid().is_some() { "streamed " } else { "" };
        let name = |relation: &Oid| self.names[relation].clone();
        let line = match message {
            Message::Relation { relation, .. } => {
                self.names.insert(relation.id, relation.name.to_string());
                let columns = relation.columns.iter().map(|column| {
                    let key = if column.is_key { "*" } else { "" };
                    format!("{}{key}:{}", column.name, column.type_id)
                });
                format!("table {} {}", relation.name, columns.collect::<Vec<_>>().join(" "))
            }
            Message::Begin(_) => "begin".to_owned(),
            Message::Commit(_) => "commit".to_owned(),
            Message::Insert { relation, new, .. } => format!("insert {} {}", name(relation), row(*new)),
            Message::Update { relation, old, new, .. } => {
                format!("update {}{} {}", name(relation), old_row(*old), row(*new))
            }
            Message::Delete { relation, old, .. } => format!("delete {}{}", name(relation), old_row(*old)),
            Message::Truncate { relations, .. } => {
                format!("truncate {}", relations.iter().map(name).collect::<Vec<_>>().join(" "))
            }
            Message::StreamStart { is_first, .. } => {
                format!("stream start{}", if *is_first { " first" } else { "" })
            }
            Message::StreamStop => "stream stop".to_owned(),
            Message::StreamCommit { .. } => "stream commit".to_owned(),
            Message::StreamAbort { xid, subtransaction } => {
                format!("stream abort of {}", if xid == subtransaction { "all" } else { "a part" })
            }
            Message::Type { name, .. } => format!("type {name}"),
            Message::Origin(_) | Message::Logical(_) => return None,
        };
        Some(format!("{streamed}{line}"))
    }
}

fn old_row(old: OldRow<'_>) -> String {
    match old {
        OldRow::SameKey => String::new(),
        OldRow::Key(key) => format!(" key {}", row(key)),
        OldRow::Whole(whole) => format!(" old {}", row(whole)),
    }
}

fn row(tuple: Tuple<'_>) -> String {
    let cells = tuple.cells().map(|cell| match cell {
        Cell::Null => "null".to_owned(),
        Cell::Unchanged => "unchanged".to_owned(),
        Cell::Text(text) if text.len() > 100 => format!("{} bytes", text.len()),
        Cell::Text(text) => String::from_utf8_lossy(text).into_owned(),
        Cell::Binary(bytes) => format!("{bytes:?}"),
    });
    format!("({})", cells.collect::<Vec<_>>().join(", "))
}
