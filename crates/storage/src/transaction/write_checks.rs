//! Write checks: the keys that must not have changed since S for a commit's writes to stand.
//!
//! ```text
//! WRITE            KEYS TO CHECK
//! set property     that property of that vertex or edge
//! add edge         both ends; the edge itself, where a taken discriminator means another name
//! insert edge      both ends, the edge (a put where nothing was; a simple type)
//! replace, delete  the edge: deleting an end would have deleted it
//! delete vertex    its record, its adjacency, and each of its edges, which it deletes
//! ```
//!
//! What was inserted here has no history, so it isn't checked. The adjacency of a vertex tells of edges that came
//! and went; the edges themselves are asked for properties that were set meanwhile, which lie at the source alone.
//!
//! Where nobody committed since S no key can have changed, so that a commit which finds W at S needs no list.
//!
//! Source: core-protocol section 2, "Write checks".

use crate::engine::{ChangedSince, Engine, Key};
use crate::transaction::key_subject::KeySubject;
use crate::transaction::writes::{EdgeWrite, VertexWrite, Writes};
use evergraph_graph::id::EdgeId;
use evergraph_graph::timestamp::Timestamp;

/// What is checked under the latch.
#[derive(Debug, Default)]
pub struct WriteChecks {
    /// Keys that must not have changed since S, each once: first the ends of new edges, by id.
    keys: Vec<Key>,
    /// Added edges: one whose key changed since S gets another discriminator.
    adds: Vec<EdgeId>,
}

impl WriteChecks {
    /// Of `writes`. Cost: linear but for a sort of the ends of new edges.
    #[must_use]
    pub fn of(writes: &Writes) -> Self {
        let mut checks = Self::default();
        checks.ends(writes);
        checks.vertices(writes);
        checks.edges(writes);
        checks
    }

    /// All keys, those of added edges included: for a commit that gives no edge another discriminator.
    pub fn all(&self) -> impl Iterator<Item = Key> {
        self.keys.iter().copied().chain(self.adds.iter().copied().map(Key::Edge))
    }

    fn ends(&mut self, writes: &Writes) {
        let news = || writes.edges().filter(|(_, write)| write.balance() > 0).map(|(edge, _)| edge);
        // The sources ascend already: a sort that knows runs has the targets to sort only.
        let mut ends: Vec<_> = news().map(|edge| edge.source).chain(news().map(|edge| edge.target)).collect();
        ends.sort();
        ends.dedup();
        if writes.has_vertices() {
            ends.retain(|end| !matches!(writes.vertex(*end), Some(VertexWrite::Insert { .. })));
        }
        self.keys.extend(ends.into_iter().map(Key::Vertex));
    }

    fn vertices(&mut self, writes: &Writes) {
        for (vertex, write) in writes.vertices() {
            match write {
                VertexWrite::Insert { .. } => {}
                VertexWrite::Set(properties) => {
                    let keys = properties.as_slice().iter().map(|(key, _)| Key::VertexProperty(vertex, *key));
                    self.keys.extend(keys);
                }
                VertexWrite::Delete => self.keys.extend([Key::VertexRecord(vertex), Key::Adjacency(vertex)]),
            }
        }
    }

    fn edges(&mut self, writes: &Writes) {
        for (edge, write) in writes.edges() {
            match write {
                EdgeWrite::Add(_) => self.adds.push(edge),
                EdgeWrite::Insert(_) | EdgeWrite::Replace(_) | EdgeWrite::Delete => {
                    self.keys.push(Key::Edge(edge));
                }
                EdgeWrite::Set(properties) => {
                    let keys = properties.as_slice().iter().map(|(key, _)| Key::EdgeProperty(edge, *key));
                    self.keys.extend(keys);
                }
            }
        }
    }

    /// The first key that changed after `since`. Cost: a look at each segment, and at each key of those that changed.
    pub fn first_newer<E: Engine>(&self, engine: &E, since: Timestamp) -> Option<(Key, ChangedSince)> {
        first_newer(engine, since, &self.keys)
    }

    /// The added edges whose names were taken after `since`.
    ///
    /// # Errors
    /// The first edge whose history is gone ([`ChangedSince::Forgotten`]).
    pub fn taken<E: Engine>(&self, engine: &E, since: Timestamp) -> Result<Vec<EdgeId>, Key> {
        let mut taken = Vec::new();
        let subject = |edge: &EdgeId| KeySubject::of(&Key::Edge(*edge));
        for edges in self.adds.chunk_by(|one, next| subject(one) == subject(next)) {
            if edges.len() > 1 && subject(&edges[0]).is_unchanged(engine, since) {
                continue;
            }
            for edge in edges {
                match engine.newer(&Key::Edge(*edge), since) {
                    ChangedSince::No => {}
                    ChangedSince::Yes => taken.push(*edge),
                    ChangedSince::Forgotten => return Err(Key::Edge(*edge)),
                }
            }
        }
        Ok(taken)
    }
}

/// The first of `keys` that changed after `since`. Neighbours of one segment are asked for together, and one by one
/// only if something in it changed.
pub fn first_newer<E: Engine>(engine: &E, since: Timestamp, keys: &[Key]) -> Option<(Key, ChangedSince)> {
    for keys in keys.chunk_by(|one, next| KeySubject::of(one) == KeySubject::of(next)) {
        if keys.len() > 1 && KeySubject::of(&keys[0]).is_unchanged(engine, since) {
            continue;
        }
        let newer = keys.iter().find_map(|key| match engine.newer(key, since) {
            ChangedSince::No => None,
            newer => Some((*key, newer)),
        });
        if newer.is_some() {
            return newer;
        }
    }
    None
}
