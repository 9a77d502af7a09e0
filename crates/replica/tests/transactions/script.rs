//! Scripts: what happens at a source, and how it tells of it.

use crate::messages::{
    begin, beside, commit, insert, relation, stream_abort, stream_commit, stream_start, stream_stop,
};

/// What a transaction does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Item {
    Row {
        table: u32,
        text: String,
    },
    /// The table is described; each description has a name of its own.
    Relation {
        table: u32,
        name: String,
    },
    /// A message that changes no row.
    Beside(u8),
}

/// What happens at the source.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Step {
    /// A whole transaction.
    Whole {
        xid: u32,
        items: Vec<Item>,
    },
    /// A block of a streamed transaction, with the (sub)transaction of each item.
    Block {
        xid: u32,
        is_first: bool,
        items: Vec<(u32, Item)>,
    },
    /// Of a subtransaction, or of all.
    RollBack {
        xid: u32,
        subtransaction: u32,
    },
    /// A streamed transaction commits.
    Commit {
        xid: u32,
    },
    Keepalive,
}

/// What comes over the network.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Sent {
    Message(Vec<u8>),
    Keepalive(u64),
}

/// The position of a step.
pub fn position(step: usize) -> u64 {
    (step as u64 + 1) * 100
}

/// How a source tells of the steps.
pub fn sent(steps: &[Step]) -> Vec<Sent> {
    let mut all = Vec::new();
    for (number, step) in steps.iter().enumerate() {
        let at = position(number);
        let messages = match step {
            Step::Whole { xid, items } => {
                let items = items.iter().map(|item| message(None, item));
                [begin(*xid, at)].into_iter().chain(items).chain([commit(at)]).collect()
            }
            Step::Block { xid, is_first, items } => {
                let items = items.iter().map(|(xid, item)| message(Some(*xid), item));
                [stream_start(*xid, *is_first)].into_iter().chain(items).chain([stream_stop()]).collect()
            }
            Step::RollBack { xid, subtransaction } => vec![stream_abort(*xid, *subtransaction)],
            Step::Commit { xid } => vec![stream_commit(*xid, at)],
            Step::Keepalive => {
                all.push(Sent::Keepalive(at));
                Vec::new()
            }
        };
        all.extend(messages.into_iter().map(Sent::Message));
    }
    all
}

fn message(xid: Option<u32>, item: &Item) -> Vec<u8> {
    match item {
        Item::Row { table, text } => insert(xid, *table, text),
        Item::Relation { table, name } => relation(xid, *table, name),
        Item::Beside(kind) => beside(xid, *kind),
    }
}

/// A script that three numbers a step choose.
pub fn script(choices: &[(u8, u8, u8)]) -> Vec<Step> {
    let (mut steps, mut open, mut items) = (Vec::new(), Vec::<u32>::new(), 0);
    let mut item = |choice: u8| {
        items += 1;
        let table = u32::from(choice / 8 % 2) + 1;
        match choice % 8 {
            0 | 1 => Item::Relation { table, name: format!("t{table}v{items}") },
            2 => Item::Beside(choice / 8),
            _ => Item::Row { table, text: format!("row{items}{}", ".".repeat(usize::from(choice) / 4)) },
        }
    };
    for (number, (choice, first, second)) in choices.iter().copied().enumerate() {
        let new_xid = number as u32 + 1;
        let chosen = |choice: u8| (!open.is_empty()).then(|| usize::from(choice) % open.len());
        match choice % 10 {
            0 | 1 => {
                let items = (0..second % 5).map(|at| item(first.wrapping_mul(at + 1))).collect();
                steps.push(Step::Whole { xid: new_xid, items });
            }
            2..=5 => {
                let (xid, is_first) = match chosen(first) {
                    Some(at) if first % 3 > 0 => (open[at], false),
                    _ => (new_xid, true),
                };
                if is_first {
                    open.push(xid);
                }
                // The transaction itself, or one of three subtransactions.
                let subtransaction = |at: u8| match second.wrapping_mul(at + 3) / 16 % 4 {
                    0 => xid,
                    part => xid * 1000 + u32::from(part),
                };
                let items = (0..second % 8)
                    .map(|at| (subtransaction(at), item(first.wrapping_add(at.wrapping_mul(37)))));
                steps.push(Step::Block { xid, is_first, items: items.collect() });
            }
            6 | 7 => {
                if let Some(at) = chosen(first) {
                    let xid = open[at];
                    let subtransaction = match second % 8 {
                        0 => open.remove(at),
                        part => xid * 1000 + u32::from(part % 3) + 1,
                    };
                    steps.push(Step::RollBack { xid, subtransaction });
                }
            }
            8 => {
                if let Some(at) = chosen(first) {
                    steps.push(Step::Commit { xid: open.remove(at) });
                }
            }
            // A batch keeps the newest of two in a row.
            _ if steps.last() == Some(&Step::Keepalive) => {}
            _ => steps.push(Step::Keepalive),
        }
    }
    steps
}
