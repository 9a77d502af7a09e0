//! Commit: everything heavy outside, then one short latch: check, install, log, publish.
//!
//! ```text
//! outside   resolve -> prepare -> encode, crc -> reserve log space
//! latch     refuse: poisoned, loading
//!           check:  schema, keys, unique values                    conflict
//!           check:  discriminators     taken: unlock, rename, resolve again
//!           ts = W + 1; engine, indexes, catalogue, log buffer; W = ts
//! outside   drop what was displaced, end the snapshot, wait as the log's mode asks
//! ```
//!
//! Checking is the last that can fail. Timestamp order, log order and install order are the same.
//! Whoever is refused has changed nothing; after the frame is in the log the outcome is the log's.
//!
//! Serialisable isolation will check the keys that a transaction read by `first_newer`, beside those
//! that it writes.
//!
//! Source: core-protocol section 2.

use crate::engine::{Engine, Key, Newer, View};
use crate::index::unique::UniqueIndex;
use crate::log::frame::payload_crc;
use crate::log::writer::Reservation;
use crate::snapshot::session::Session;
use crate::sync::MutexGuard;
use crate::timeline::clock::LatchState;
use crate::transaction::discriminators::Renames;
use crate::transaction::front::Front;
use crate::transaction::latch::{LoadingGate, check_healthy, check_open, under_latch};
use crate::transaction::resolve::{Resolved, UniqueEntry, resolve};
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::writes::Writes;
use crate::transaction::{describe, payload};
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind};
use evergraph_graph::id::{EdgeId, KeyId, LabelId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Committed;
use std::sync::Arc;

/// Why a commit did not return its timestamp.
#[derive(Debug)]
pub enum Failure {
    /// Nothing was written.
    Refused(Error),
    /// It was published, and the log failed before it was durable: it may be there after reopening.
    Unknown(Error),
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

/// An index that was built behind a closed gate, for its commit.
#[derive(Debug)]
pub struct NewIndex<'a> {
    /// The label and key.
    pub on: (LabelId, KeyId),
    /// The index, with the state at the session's timestamp.
    pub index: Arc<UniqueIndex>,
    /// The gate that kept other commits out meanwhile.
    pub gate: &'a LoadingGate<'a>,
}

/// Commits what a session buffered. `writes` keeps what was committed, under the final names.
///
/// # Errors
/// [`Failure`] says whether anything was written.
pub fn commit<E: Engine>(
    session: Session<E>,
    mut schema: SchemaWrites,
    writes: &mut Writes,
    new_index: Option<&NewIndex<'_>>,
) -> std::result::Result<Committed, Failure> {
    let front = Arc::clone(session.front());
    let since = session.timestamp();
    if writes.is_empty() && schema.changes().is_empty() {
        drop(session);
        // What it read may be newer than what is durable; it is acknowledged when that is.
        front.log.acknowledge(since.0).map_err(|error| Failure::Unknown(error.into()))?;
        return Ok(Committed { timestamp: since, renamed: Vec::new() });
    }
    let mut renames = Renames::default();
    let installed = loop {
        let view = session.view();
        let resolved = resolve(&view, writes, &mut schema, &front.indexes)?;
        let prepared = front.engine.prepare(&resolved.mutations)?;
        let payload = payload::encode(&resolved.mutations);
        let crc = payload_crc(&payload);
        let space = front.log.reserve(payload.len()).map_err(Error::from)?;
        // In options, so that what a refused commit prepared is freed after the latch.
        let (mut prepared, mut space) = (Some(prepared), Some(space));
        let attempt = under_latch(&front.timeline, |latch| {
            let current = front.catalogue.load_full();
            check(&front, since, &current, &schema, &resolved, new_index, latch)?;
            let prepared = prepared.take().expect("an attempt installs once");
            let space = space.take().expect("an attempt installs once");
            let frame = Frame { space, payload: &payload, crc };
            Ok(install(&front, current, &schema, &resolved, prepared, frame, new_index, latch))
        });
        match attempt {
            Ok(installed) => break installed,
            Err(Refusal::Taken(taken)) => {
                for edge in taken {
                    renames.rename(&view, writes, edge, schema.current())?;
                }
            }
            Err(refusal) => {
                let error = refusal.explain(&view, schema.current());
                if error.is_conflict() {
                    front.counters.conflicted();
                }
                return Err(Failure::Refused(error));
            }
        }
    };
    let timestamp = installed.timestamp;
    drop(installed);
    drop(session);
    let renamed = renames.done();
    front.counters.committed(renamed.len());
    front.log.acknowledge(timestamp.0).map_err(|error| Failure::Unknown(error.into()))?;
    Ok(Committed { timestamp, renamed })
}

/// What came of a commit under the latch; dropped after it.
struct Installed<D> {
    timestamp: Timestamp,
    _displaced: D,
    _old_catalogue: Arc<Catalogue>,
}

/// A commit's place in the log, and its bytes.
struct Frame<'a> {
    space: Reservation<'a>,
    payload: &'a [u8],
    crc: u32,
}

/// Why a commit may not be installed; the text is built after the latch.
enum Refusal {
    /// The store doesn't take it, or the schema changed.
    Said(Error),
    /// Somebody changed this since S, or the records that would tell are gone.
    Changed(Key, Newer),
    /// Somebody entered this value into a unique index since S.
    Entered(UniqueEntry),
    /// A unique index was created since S.
    NewIndex(LabelId, KeyId),
    /// No conflict: parallel edges were given these names since S.
    Taken(Vec<EdgeId>),
}

impl Refusal {
    fn explain<V: View>(self, view: &V, catalogue: &Catalogue) -> Error {
        match self {
            Self::Said(error) => error,
            Self::Changed(key, Newer::Forgotten) => Error::conflict(format!(
                "the transaction began too long ago to know whether {} was changed since: run it again",
                describe::key(view, catalogue, &key)
            )),
            Self::Changed(key, _) => Error::conflict(format!(
                "another transaction changed {} first: run this one again",
                describe::key(view, catalogue, &key)
            )),
            Self::Entered(entry) => Error::conflict(format!(
                "another transaction gave a vertex the same unique {}.{} as {} first: run this one again",
                catalogue.label_name(entry.label),
                catalogue.key_name(entry.key),
                entry.vertex,
            )),
            Self::NewIndex(label, key) => Error::conflict(format!(
                "a unique index on {}.{} was created meanwhile: run the transaction again",
                catalogue.label_name(label),
                catalogue.key_name(key)
            )),
            Self::Taken(_) => unreachable!("a taken discriminator leads to another name"),
        }
    }
}

/// The first of `keys` that was changed after `since`.
fn first_newer<'k, E: Engine>(
    engine: &E,
    since: Timestamp,
    keys: impl IntoIterator<Item = &'k Key>,
) -> Option<(Key, Newer)> {
    keys.into_iter().find_map(|key| match engine.newer(key, since) {
        Newer::No => None,
        newer => Some((*key, newer)),
    })
}

/// The last step that can fail. Under the latch: looks at memory, changes nothing.
fn check<E: Engine>(
    front: &Front<E>,
    since: Timestamp,
    current: &Arc<Catalogue>,
    schema: &SchemaWrites,
    resolved: &Resolved,
    new_index: Option<&NewIndex<'_>>,
    latch: &LatchState,
) -> std::result::Result<(), Refusal> {
    check_healthy(latch).map_err(Refusal::Said)?;
    if new_index.is_none() {
        check_open(latch).map_err(Refusal::Said)?;
    }
    if front.log.is_poisoned() {
        let text = "the store is read-only since a write of its log failed: reopen the database";
        return Err(Refusal::Said(Error::new(ErrorKind::Io, text)));
    }
    if !Arc::ptr_eq(current, schema.base()) {
        for change in schema.changes() {
            current.would_change(change).map_err(Refusal::Said)?;
        }
        // What it wrote was not resolved for an index that it doesn't know.
        let mut unknown =
            current.unique_indexes().filter(|(label, key)| !schema.base().is_unique(*label, *key));
        if let Some((label, key)) = unknown.next() {
            return Err(Refusal::NewIndex(label, key));
        }
    }
    if let Some((key, newer)) = first_newer(&*front.engine, since, &resolved.keys) {
        return Err(Refusal::Changed(key, newer));
    }
    let entered = resolved.entering.iter().find(|entry| entry.index.newer(entry.hash, since) != Newer::No);
    if let Some(entry) = entered {
        return Err(Refusal::Entered(entry.clone()));
    }
    let mut taken = Vec::new();
    for edge in &resolved.adds {
        match front.engine.newer(&Key::Edge(*edge), since) {
            Newer::No => {}
            Newer::Yes => taken.push(*edge),
            Newer::Forgotten => return Err(Refusal::Changed(Key::Edge(*edge), Newer::Forgotten)),
        }
    }
    if taken.is_empty() { Ok(()) } else { Err(Refusal::Taken(taken)) }
}

/// Makes a checked commit real. Under the latch: memory only, cannot fail.
#[expect(clippy::too_many_arguments, reason = "a commit is all of these, and they meet here only")]
fn install<E: Engine>(
    front: &Front<E>,
    current: Arc<Catalogue>,
    schema: &SchemaWrites,
    resolved: &Resolved,
    prepared: E::Prepared,
    frame: Frame<'_>,
    new_index: Option<&NewIndex<'_>>,
    latch: &mut MutexGuard<'_, LatchState>,
) -> Installed<E::Displaced> {
    let timestamp = front.timeline.published().next();
    let displaced = front.engine.append(timestamp, prepared);
    // First what leaves: a value that comes back to its vertex calls the removal off.
    for entry in &resolved.leaving {
        entry.index.remove_later(timestamp, entry.hash, entry.vertex);
    }
    for entry in &resolved.entering {
        entry.index.insert(timestamp, entry.hash, entry.vertex);
    }
    if let Some(NewIndex { on: (label, key), index, .. }) = new_index {
        front.indexes.add(*label, *key, Arc::clone(index));
    }
    if !schema.changes().is_empty() {
        publish_schema(front, &current, schema);
    }
    front.log.append(frame.space, timestamp.0, frame.payload, frame.crc);
    front.timeline.publish(timestamp, latch);
    Installed { timestamp, _displaced: displaced, _old_catalogue: current }
}

fn publish_schema<E: Engine>(front: &Front<E>, current: &Arc<Catalogue>, schema: &SchemaWrites) {
    if Arc::ptr_eq(current, schema.base()) {
        front.catalogue.swap(Arc::clone(schema.current()));
        return;
    }
    let is_news = |change: &&_| current.would_change(change).expect("checked under the same latch");
    let mut news = schema.changes().iter().filter(is_news).peekable();
    if news.peek().is_some() {
        let mut next = Catalogue::clone(current);
        news.for_each(|change| next.apply(change));
        front.catalogue.swap(Arc::new(next));
    }
}
