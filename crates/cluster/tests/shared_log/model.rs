//! Model: what must be in the log, said naively: sets of records, with nothing of packers, readers or certification.

use evergraph_cluster::log::packer::AppendedMessage;
use evergraph_cluster::log_position::LogPosition;
use evergraph_cluster::record::message::Message;
use evergraph_cluster::record_id::{Author, RecordId};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// A message that a node applied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AppliedMessage {
    pub position: LogPosition,
    pub bytes: Arc<[u8]>,
    /// Those of its records that the node took for new.
    pub new: Vec<RecordId>,
}

/// Which records there are, and of which the log said that it has them.
#[derive(Default)]
pub struct Model {
    pushed: BTreeSet<RecordId>,
    acknowledged: BTreeMap<RecordId, LogPosition>,
    /// The highest position that was acknowledged.
    pub newest: LogPosition,
    /// The log lost something: what was acknowledged may be gone.
    pub is_lost: bool,
}

/// The records of a log, by a look at each of its messages.
struct Contents {
    /// Where each record was first.
    first: BTreeMap<RecordId, LogPosition>,
    /// What is at each position.
    at: BTreeMap<LogPosition, BTreeSet<RecordId>>,
}

impl Model {
    pub fn push(&mut self, id: RecordId) {
        assert!(self.pushed.insert(id), "{id} was pushed before");
    }

    pub fn acknowledge(&mut self, author: Author, appended: &AppendedMessage) {
        for number in &appended.records {
            let before = self.acknowledged.insert(RecordId { author, number: *number }, appended.position);
            assert_eq!(before, None, "record {number} of {author} was acknowledged before");
        }
        self.newest = self.newest.max(appended.position);
    }

    /// Whether a node applied each record once: the first time that it came, in order, and none that nobody pushed.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_applied(&self, applied: &[AppliedMessage]) -> Result<(), String> {
        self.contents(applied).map(|_| ())
    }

    /// Whether a node has applied everything that was acknowledged, and everything that `authors` pushed, whose packers have
    /// nothing left.
    ///
    /// # Errors
    /// What is wrong.
    pub fn check_complete(&self, applied: &[AppliedMessage], authors: &[Author]) -> Result<(), String> {
        let contents = self.contents(applied)?;
        for (id, position) in &self.acknowledged {
            match contents.first.get(id) {
                None => return Err(format!("{id} was acknowledged at {position}, and is lost")),
                Some(first) if first > position => {
                    return Err(format!("{id} was acknowledged at {position}, and is at {first}"));
                }
                Some(_) => {}
            }
            if !contents.at.get(position).is_some_and(|there| there.contains(id)) {
                return Err(format!("{id} was acknowledged at {position}, and isn't there"));
            }
        }
        let mut of_them = self.pushed.iter().filter(|id| authors.contains(&id.author));
        match of_them.find(|id| !contents.first.contains_key(*id)) {
            Some(id) => Err(format!("{id} was pushed, and its packer let it go")),
            None => Ok(()),
        }
    }

    fn contents(&self, applied: &[AppliedMessage]) -> Result<Contents, String> {
        let mut contents = Contents { first: BTreeMap::new(), at: BTreeMap::new() };
        let mut sent: BTreeMap<RecordId, &Arc<[u8]>> = BTreeMap::new();
        for AppliedMessage { position, bytes, new } in applied {
            if contents.at.last_key_value().is_some_and(|(last, _)| last >= position) {
                return Err(format!("message {position} was applied after a later one"));
            }
            let message = Message::decode(bytes).map_err(|error| format!("message {position}: {error}"))?;
            let mut there = BTreeSet::new();
            let mut expected = Vec::new();
            for record in &message.records {
                let id = RecordId { author: message.author, number: record.number };
                if !self.pushed.contains(&id) {
                    return Err(format!("{id} is in the log, and nobody pushed it"));
                }
                if *sent.entry(id).or_insert(bytes) != bytes {
                    return Err(format!("{id} was sent again in other bytes"));
                }
                if let Entry::Vacant(entry) = contents.first.entry(id) {
                    entry.insert(*position);
                    expected.push(id);
                }
                there.insert(id);
            }
            if expected != *new {
                return Err(format!("of message {position} {expected:?} are new, and {new:?} were applied"));
            }
            contents.at.insert(*position, there);
        }
        Ok(contents)
    }
}
