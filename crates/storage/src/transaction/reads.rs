//! Reads: what a serialisable transaction has read, checked again when it commits.
//!
//! ```text
//! the newest 256, in the order in which they were read; beyond that sorted in:
//! segment (group, vertices | type and side) -> keys read in it, or all of it beyond 4,096
//! (group, side)                             -> the edge types that were there
//! groups                                    -> how many there were, once vertices were scanned
//! index                                     -> values and ranges looked up, or all beyond 4,096
//! ```
//!
//! A read is noted by what would change its answer, so phantoms are covered as everything else is: the
//! list of a vertex by its additions, a scan by the members of its groups, a look-up by what its index
//! gained. What an index lost is seen by the properties that were read to check its candidates.
//!
//! The check runs twice. Ahead of the latch it asks about every read, up to a moment P; under the latch
//! only about those in segments and indexes that changed after P, which is one look for each of the
//! others. Own writes are never among the reads: they are read from the transaction itself.
//!
//! Serial order is the order of commits; a transaction that wrote nothing read one prefix of it and is
//! not checked. Names of labels, types and keys are read from the catalogue, past all this: any new one
//! since the transaction began refuses it. They are never taken back, so that is soon over.
//!
//! Where a log decides that several stores share, it is given all this to check, and takes notes of look-ups itself, in its own
//! terms. A new name refuses those who asked for the catalogue only.
//!
//! Source: core-protocol section 2; G-Tran (VLDB 2022, section 5) validates read sets against what
//! committed since.

use crate::engine::{ChangedSince, Engine, Key};
use crate::index::directory::Indexes;
use crate::sync::Mutex;
use crate::transaction::key_subject::KeySubject;
use crate::transaction::look_ups::{APART_MAX, IndexReads, NoteLookUps};
use crate::transaction::stale::StaleRead;
use evergraph_graph::id::{Direction, EdgeId, GroupId, TypeId, VertexId};
use evergraph_graph::timestamp::Timestamp;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// Something that was read, look-ups apart.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NotedRead {
    /// What a key says.
    Key(Key),
    /// Which types of edges a plain side of the vertices of a group has.
    EdgeTypes(GroupId, Direction),
    /// How many groups there are.
    Groups,
    /// Which names there are, those included that were looked for in vain.
    Names,
}

/// Reads that are kept as they come. Most transactions read no more, and pay for no table.
const FRESH_MAX: usize = 256;

/// What a transaction has read so far.
///
/// Concurrency: views are shared between threads, so each part takes notes under a lock of its own,
/// inside which nothing else is locked.
#[derive(Debug, Default)]
pub struct Reads {
    noted: Mutex<NotedReads>,
    /// Look-ups of vertices.
    pub vertices: IndexReads<VertexId>,
    /// Look-ups of edges.
    pub edges: IndexReads<EdgeId>,
    /// Where look-ups are noted instead.
    look_ups: Option<Arc<dyn NoteLookUps>>,
}

#[derive(Debug, Default)]
struct NotedReads {
    /// The newest reads, at most [`FRESH_MAX`].
    fresh: Vec<Key>,
    subjects: HashMap<KeySubject, Keys>,
    edge_types: HashMap<(GroupId, Direction), Vec<TypeId>>,
    groups: Option<u32>,
    names: bool,
}

/// What was read of one subject.
#[derive(Debug, Default)]
struct Keys {
    apart: HashSet<Key>,
    /// Too much to tell apart: any change of the subject counts.
    whole: bool,
}

impl NotedReads {
    /// Moves the newest reads to those that are grouped by segment.
    fn sort_in(&mut self) {
        for key in self.fresh.drain(..) {
            let subject = KeySubject::of(&key);
            let keys = self.subjects.entry(subject).or_default();
            if keys.whole {
                continue;
            }
            keys.apart.insert(key);
            if keys.apart.len() > APART_MAX && subject.whole().is_some() {
                *keys = Keys { apart: HashSet::new(), whole: true };
            }
        }
    }
}

impl Reads {
    /// Nothing yet, of a transaction whose look-ups are noted in `look_ups`.
    #[must_use]
    pub fn noting(look_ups: Arc<dyn NoteLookUps>) -> Self {
        Self { look_ups: Some(look_ups), ..Self::default() }
    }

    /// Where look-ups are noted, if not here.
    pub(crate) fn look_ups_elsewhere(&self) -> Option<&dyn NoteLookUps> {
        self.look_ups.as_deref()
    }

    /// The answer depended on what `key` says.
    pub fn note(&self, key: Key) {
        let mut noted = self.noted.lock();
        if noted.fresh.last() == Some(&key) {
            return;
        }
        if noted.fresh.len() == FRESH_MAX {
            noted.sort_in();
        }
        noted.fresh.push(key);
    }

    /// These were the types of edges on a plain side of the vertices of `group`.
    pub fn note_edge_types(&self, group: GroupId, side: Direction, types: &[TypeId]) {
        let mut noted = self.noted.lock();
        // The first answer counts: a type that came later is news to it.
        noted.edge_types.entry((group, side)).or_insert_with(|| types.to_vec());
    }

    /// There were so many groups.
    pub fn note_groups(&self, count: u32) {
        let mut noted = self.noted.lock();
        noted.groups = Some(noted.groups.map_or(count, |before| before.min(count)));
    }

    /// Names were looked up.
    pub fn note_names(&self) {
        self.noted.lock().names = true;
    }

    /// Calls `visit` with everything that was noted, look-ups apart, in any order.
    pub fn visit(&self, mut visit: impl FnMut(NotedRead)) {
        let noted = self.noted.lock();
        noted.fresh.iter().for_each(|key| visit(NotedRead::Key(*key)));
        for (subject, keys) in &noted.subjects {
            let whole = subject.whole().filter(|_| keys.whole);
            keys.apart.iter().copied().chain(whole).for_each(|key| visit(NotedRead::Key(key)));
        }
        noted.edge_types.keys().for_each(|(group, side)| visit(NotedRead::EdgeTypes(*group, *side)));
        if noted.groups.is_some() {
            visit(NotedRead::Groups);
        }
        if noted.names {
            visit(NotedRead::Names);
        }
    }

    /// The first read whose answer changed after `since`.
    ///
    /// With `checked`, under the latch: all was looked at before, up to there, and only what changed
    /// after that is looked at again.
    pub fn stale<E: Engine>(
        &self,
        engine: &E,
        indexes: &Indexes,
        since: Timestamp,
        checked: Option<Timestamp>,
    ) -> Option<StaleRead> {
        let noted = self.noted.lock();
        let changed = |key: Key| match engine.newer(&key, since) {
            ChangedSince::No => None,
            newer => Some(StaleRead::Changed(key, newer)),
        };
        let looked_at = checked.unwrap_or(since);
        let unchanged = |subject: &KeySubject| subject.is_unchanged(engine, looked_at);
        // What is read of one segment is mostly read in a row.
        for keys in noted.fresh.chunk_by(|one, next| KeySubject::of(one) == KeySubject::of(next)) {
            if unchanged(&KeySubject::of(&keys[0])) {
                continue;
            }
            if let Some(stale) = keys.iter().copied().find_map(changed) {
                return Some(stale);
            }
        }
        for (subject, keys) in &noted.subjects {
            if unchanged(subject) {
                continue;
            }
            let whole = subject.whole().filter(|_| keys.whole);
            if let Some(stale) = keys.apart.iter().copied().chain(whole).find_map(changed) {
                return Some(stale);
            }
        }
        // Groups and types are only added. A new one is no news while nobody has committed into it.
        let groups = noted.groups.map_or(0..0, |seen| seen..engine.group_count());
        if let Some(stale) = groups.map(|group| Key::Members(GroupId(group))).find_map(changed) {
            return Some(stale);
        }
        for ((group, side), seen) in &noted.edge_types {
            let now = engine.edge_types(*group, *side).into_iter();
            let news = now.filter(|edge_type| !seen.contains(edge_type));
            if let Some(stale) = news.map(|edge_type| Key::Edges(*group, edge_type, *side)).find_map(changed)
            {
                return Some(stale);
            }
        }
        let stale = self.vertices.stale(indexes, since, checked);
        stale.or_else(|| self.edges.stale(indexes, since, checked))
    }
}
