//! Model: what a reader must find in a script, the simple way.

use crate::messages::end;
use crate::script::{Item, Step, position};
use std::collections::BTreeMap;

/// What a reader finds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Found {
    /// A transaction, with the texts of its rows, each behind the name of its table.
    Transaction { xid: u32, end: u64, rows: Vec<String> },
    /// All that committed before was sent.
    Idle(u64),
}

/// The newest description of each table: when it came, and its name.
type Tables = BTreeMap<u32, (usize, String)>;

/// An item of a streamed transaction.
struct Entry {
    xid: u32,
    arrival: usize,
    item: Item,
}

/// What a reader must find.
pub fn expected(steps: &[Step]) -> Vec<Found> {
    let (mut found, mut newest, mut arrivals) = (Vec::new(), Tables::new(), 0);
    let mut streamed: BTreeMap<u32, Vec<Entry>> = BTreeMap::new();
    let mut entry = |xid: u32, item: &Item| {
        arrivals += 1;
        Entry { xid, arrival: arrivals, item: item.clone() }
    };
    for (number, step) in steps.iter().enumerate() {
        let at = position(number);
        match step {
            Step::Whole { xid, items } => {
                let entries = items.iter().map(|item| entry(*xid, item)).collect();
                let rows = rows(entries, &mut newest);
                found.push(Found::Transaction { xid: *xid, end: end(at), rows });
            }
            Step::Block { xid, items, .. } => {
                let entries = items.iter().map(|(xid, item)| entry(*xid, item));
                streamed.entry(*xid).or_default().extend(entries);
            }
            Step::RollBack { xid, subtransaction } if xid == subtransaction => {
                streamed.remove(xid);
            }
            Step::RollBack { xid, subtransaction } => {
                streamed.entry(*xid).or_default().retain(|entry| entry.xid != *subtransaction);
            }
            Step::Commit { xid } => {
                let rows = rows(streamed.remove(xid).unwrap_or_default(), &mut newest);
                found.push(Found::Transaction { xid: *xid, end: end(at), rows });
            }
            Step::Keepalive => found.push(Found::Idle(at)),
        }
    }
    found
}

fn rows(entries: Vec<Entry>, newest: &mut Tables) -> Vec<String> {
    let mut meant = newest.clone();
    let mut rows = Vec::new();
    for Entry { arrival, item, .. } in entries {
        match item {
            Item::Row { table, text } => {
                let name = meant.get(&table).map_or("?", |(_, name)| name);
                rows.push(format!("{name} {text}"));
            }
            Item::Relation { table, name } => {
                meant.insert(table, (arrival, name.clone()));
                if newest.get(&table).is_none_or(|(other, _)| *other < arrival) {
                    newest.insert(table, (arrival, name));
                }
            }
            Item::Beside(_) => {}
        }
    }
    rows
}
