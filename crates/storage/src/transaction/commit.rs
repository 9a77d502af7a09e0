//! Commit: heavy work first, then one short latch: check, install, log, publish.
//!
//! ```text
//! outside   check:  reads                                        conflict
//!           resolve -> prepare -> encode, crc -> reserve log space
//!           check:  deadline                                     limit
//! latch     refuse: poisoned, loading, owned by somebody else
//!           check:  schema                                         conflict
//!           check:  indexes            others: unlock, resolve again
//!           check:  W > S              keys not listed yet: unlock, list them
//!           check:  keys, unique values                            conflict
//!           check:  discriminators     taken: unlock, rename, resolve again
//!           check:  reads                                          conflict
//!           ts = W + 1; engine, indexes, catalogue, notes, log buffer; W = ts
//! outside   drop what was displaced, end the snapshot; the caller waits as the log's mode asks
//! ```
//!
//! Checking is the last that can fail. Timestamp order, log order and install order are the same.
//! Whoever is refused has changed nothing; after the frame is in the log the outcome is the log's.
//!
//! Where a log decides that several stores share (`graph_log.rs`), all of this is its business.
//!
//! An owner's commit has no keys to check: nobody else writes (`notes/owning.rs`).
//!
//! A serialisable transaction's reads are checked ahead of the latch, and under it once more where
//! something changed meanwhile: see `reads.rs`.
//!
//! Source: core-protocol section 2.

use crate::engine::{ChangedSince, Engine, Key};
use crate::index::directory::Indexes;
use crate::index::entry_changes::EntryChanges;
use crate::index::item::Item;
use crate::index::property_index::Completion;
use crate::log::frame::payload_crc;
use crate::log::writer::{Log, Reservation};
use crate::notes::owning::Authorship;
use crate::notes::versions::NoteChanges;
use crate::planted::{Bug, planted};
use crate::snapshot::session::Session;
use crate::sync::MutexGuard;
use crate::timeline::clock::LatchState;
use crate::transaction::deadline::Deadline;
use crate::transaction::discriminators::Renames;
use crate::transaction::front::{Front, decided_by_shared_log};
use crate::transaction::graph_log::SharedCommit;
use crate::transaction::latch::{check_healthy, check_open, under_latch};
use crate::transaction::pending_commit::PendingCommit;
use crate::transaction::reads::Reads;
use crate::transaction::resolve::{Resolved, resolve};
use crate::transaction::schema_writes::SchemaWrites;
use crate::transaction::stale::StaleRead;
use crate::transaction::write_checks::WriteChecks;
use crate::transaction::writes::Writes;
use crate::transaction::{describe, payload};
use crate::view::View;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::EdgeId;
use evergraph_graph::index::IndexId;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::Committed;
use std::sync::Arc;
use std::time::Duration;

/// How long a commit lets a build of an index pass, at most: what holds it up could be waiting for this commit.
const BUILD_PATIENCE: Duration = Duration::from_secs(1);

/// Publishes what a session buffered; it is to be acknowledged. `writes` keeps what was published, under the final
/// names. An index that was built becomes ready with it.
///
/// # Errors
/// Nothing was written.
pub fn publish<E: Engine>(
    session: Session<E>,
    mut schema: SchemaWrites,
    writes: &mut Writes,
    reads: Option<&Reads>,
    authorship: &Authorship,
    deadline: &Deadline,
    completion: Option<&dyn Completion>,
) -> Result<PendingCommit<E>> {
    let front = Arc::clone(session.front());
    let since = session.timestamp();
    session.check_begun()?;
    if writes.is_empty() && schema.changes().is_empty() && authorship.notes.is_empty() {
        deadline.check()?;
        drop(session);
        // What it read may be newer than what is durable; it is acknowledged when that is.
        return Ok(PendingCommit::new(front, Committed { timestamp: since, renamed: Vec::new() }));
    }
    if let Some(log) = session.graph_log() {
        // It has no place for either: they would be dropped, and the commit acknowledged.
        if !authorship.notes.is_empty() || completion.is_some() {
            return Err(decided_by_shared_log());
        }
        deadline.check()?;
        let waits = deadline.limit_waits();
        let committed = log.commit(SharedCommit { writes, schema: &mut schema, reads });
        drop(waits);
        let committed = deadline.explained(committed).map_err(|error| refused(&front, error))?;
        drop(session);
        front.counters.committed(committed.renamed.len());
        return Ok(PendingCommit::new(front, committed));
    }
    let mut notes = None;
    if !authorship.notes.is_empty() {
        drop(front.notes.fold(&front.timeline));
        notes = Some(authorship.notes.changes());
    }
    let author = (authorship, notes);
    let (installed, renames) = attempt(&session, &mut schema, writes, reads, author, deadline, completion)?;
    let timestamp = installed.timestamp;
    drop(installed);
    // The log's leader tells of later syncs. It may have synced this frame before W reached the commit: then R stopped at W. In the
    // other modes nobody else tells.
    front.engine.readable_grew();
    drop(session);
    let renamed = renames.done();
    front.counters.committed(renamed.len());
    Ok(PendingCommit::new(front, Committed { timestamp, renamed }))
}

/// Tries until it is installed or refused.
fn attempt<E: Engine>(
    session: &Session<E>,
    schema: &mut SchemaWrites,
    writes: &mut Writes,
    reads: Option<&Reads>,
    (authorship, notes): (&Authorship, Option<NoteChanges>),
    deadline: &Deadline,
    completion: Option<&dyn Completion>,
) -> Result<(InstalledCommit<E::Displaced>, Renames)> {
    let (front, since) = (session.front(), session.timestamp());
    let mut renames = Renames::default();
    let view = session.view();
    let checked = front.timeline.published();
    let stale = |checked: Option<Timestamp>| {
        let reads = reads.filter(|_| !planted(Bug::ReadsNotChecked))?;
        let stale = reads.stale(&*front.engine, &front.indexes.load(), since, checked)?;
        Some(Refusal::Stale(stale))
    };
    if let Some(refusal) = stale(None) {
        return Err(refused(front, refusal.explain(&view, schema.current())));
    }
    loop {
        deadline.check()?;
        // Ahead of everything that takes time: mostly nobody comes in between.
        let is_checked = !authorship.author.is_owner() && front.timeline.published() != since;
        let mut checks = is_checked.then(|| WriteChecks::of(writes));
        let mut resolved = resolve::<E>(&view, writes, schema, &front.indexes)?;
        let Resolved { mutations, index_changes, vertex_entries, edge_entries, .. } = &resolved;
        vertex_entries.wait_for_builds(BUILD_PATIENCE);
        edge_entries.wait_for_builds(BUILD_PATIENCE);
        let prepared = front.engine.prepare(mutations, index_changes, deadline.patience())?;
        let mut payload = payload::encode(&resolved.mutations);
        if E::KEEPS_INDEXES {
            E::leaving_entries(&prepared).iter().for_each(|entry| entry.encode(&mut payload));
        }
        authorship.notes.encode(&mut payload);
        let crc = payload_crc(&payload);
        let log = front.log()?;
        let space = log.reserve(payload.len()).map_err(|error| {
            // A store that failed says so: room alone would not help.
            check_healthy(&front.timeline.latch()).err().unwrap_or_else(|| error.into())
        })?;
        deadline.check()?;
        // In options, so that what a refused commit prepared is freed after the latch.
        let (mut prepared, mut space) = (Some(prepared), Some(space));
        let mut attempt = |checks: Option<&WriteChecks>| {
            under_latch(&front.timeline, |latch| {
                let current = front.catalogue.load_full();
                check(front, since, &current, schema, &resolved, authorship, checks, completion, latch)?;
                if reads.is_some() && has_new_names(&current, schema.base()) {
                    return Err(Refusal::Stale(StaleRead::NewNames));
                }
                if let Some(refusal) = stale(Some(checked)).filter(|_| !planted(Bug::ReadsCheckedEarly)) {
                    return Err(refusal);
                }
                let prepared = prepared.take().expect("an attempt installs once");
                let space = Some(space.take().expect("an attempt installs once"));
                let frame = Frame { log, space, payload: &payload, crc };
                // The owner changes with a note, and before the commit is published: who sees it is bound by it.
                if let Some(notes) = &notes {
                    let (next, growth) = (front.timeline.published().next(), authorship.notes.growth());
                    front.notes.install(next, Arc::clone(notes), growth);
                    front.owning.install(&authorship.notes);
                }
                Ok(install(front, current, schema, &mut resolved, prepared, frame, completion, latch))
            })
        };
        let mut attempted = attempt(checks.as_ref());
        if matches!(attempted, Err(Refusal::ChecksNeeded)) {
            checks = Some(WriteChecks::of(writes));
            attempted = attempt(checks.as_ref());
        }
        match attempted {
            Ok(installed) => return Ok((installed, renames)),
            Err(Refusal::OtherIndexes) => {}
            Err(Refusal::Taken(taken)) => {
                for edge in taken {
                    renames.rename(session, writes, edge, schema.current())?;
                }
            }
            Err(refusal) => {
                return Err(refused(front, refusal.explain(&view, schema.current())));
            }
        }
    }
}

/// Whether somebody named a label, an edge type or a key since `base`: a serialisable transaction may have
/// asked for it in vain, and read nothing that could tell.
#[inline]
fn has_new_names(current: &Arc<Catalogue>, base: &Arc<Catalogue>) -> bool {
    !Arc::ptr_eq(current, base) && current.names_count() != base.names_count()
}

#[inline]
fn refused<E: Engine>(front: &Front<E>, error: Error) -> Error {
    if error.is_conflict() {
        front.counters.conflicted();
    }
    error
}

/// What came of a commit under the latch; dropped after it.
struct InstalledCommit<D> {
    timestamp: Timestamp,
    _displaced: D,
    _old_catalogue: Arc<Catalogue>,
    _old_indexes: Vec<Arc<Indexes>>,
}

/// A commit's place in the log, and its bytes.
struct Frame<'a> {
    /// Until it is appended.
    log: &'a Log,
    space: Option<Reservation<'a>>,
    payload: &'a [u8],
    crc: u32,
}

impl Frame<'_> {
    /// Appends it to the log, once.
    #[inline]
    fn append(&mut self, timestamp: Timestamp) {
        if let Some(space) = self.space.take() {
            self.log.append(space, timestamp.0, self.payload, self.crc);
        }
    }
}

/// Why a commit may not be installed; the text is built after the latch.
enum Refusal {
    /// The store doesn't take it, or the schema changed.
    Said(Error),
    /// This was changed since S, or the records that would show it were dropped.
    Changed(Key, ChangedSince),
    /// Somebody entered a value into this unique index since S, which is entered for the item named.
    Entered(IndexId, Box<dyn Fn(&Catalogue) -> String>),
    /// A unique index that this enters a value into was created since S.
    NewIndex(IndexId),
    /// Values entered into the index to be made ready since S.
    Late,
    /// What a serialisable transaction read would be another answer now.
    Stale(StaleRead),
    /// No conflict: an index was created or dropped since the entries were worked out.
    OtherIndexes,
    /// No conflict yet: somebody committed since S, and what to check for it was not listed.
    ChecksNeeded,
    /// No conflict: parallel edges were given these names since S.
    Taken(Vec<EdgeId>),
}

impl Refusal {
    fn explain<V: View>(self, view: &V, catalogue: &Catalogue) -> Error {
        match self {
            Self::Said(error) => error,
            Self::Changed(key, ChangedSince::Forgotten) => Error::conflict(format!(
                "the transaction began too long ago to know whether {} was changed since: run it again",
                describe::key(view, catalogue, &key)
            )),
            Self::Changed(key, _) => Error::conflict(format!(
                "another transaction changed {} first: run this one again",
                describe::key(view, catalogue, &key)
            )),
            Self::Entered(id, name) => Error::conflict(format!(
                "another transaction entered the same unique {} as {} first: run this one again",
                catalogue.property_name(id.owner, id.key),
                name(catalogue),
            )),
            Self::NewIndex(id) => Error::conflict(format!(
                "a unique index on {} was created meanwhile: run the transaction again",
                catalogue.property_name(id.owner, id.key),
            )),
            Self::Stale(StaleRead::Changed(key, ChangedSince::Forgotten)) => Error::conflict(format!(
                "the transaction began too long ago to know whether {}, which it read, was changed since: \
                 run it again",
                describe::key(view, catalogue, &key)
            )),
            Self::Stale(StaleRead::Changed(key, _)) => Error::conflict(format!(
                "another transaction changed {}, which this one read: run it again",
                describe::key(view, catalogue, &key)
            )),
            Self::Stale(StaleRead::Entered(id, ChangedSince::Forgotten)) => Error::conflict(format!(
                "the transaction began too long ago to know whether its look-ups of {} would find more now: \
                 run it again",
                catalogue.property_name(id.owner, id.key)
            )),
            Self::Stale(StaleRead::Entered(id, _)) => Error::conflict(format!(
                "another transaction entered a {} that this one looked up: run it again",
                catalogue.property_name(id.owner, id.key)
            )),
            Self::Stale(StaleRead::NewNames) => Error::conflict(
                "another transaction introduced a label, an edge type or a property key that this one may \
                 have looked for: run it again",
            ),
            Self::Stale(StaleRead::Dropped(id)) => Error::conflict(format!(
                "the index on {}, which the transaction used, was dropped meanwhile: run it again",
                catalogue.property_name(id.owner, id.key)
            )),
            Self::Late => Error::conflict("values were entered into the index while it was made ready"),
            Self::OtherIndexes => unreachable!("other indexes lead to other entries"),
            Self::ChecksNeeded => unreachable!("what is needed is listed"),
            Self::Taken(_) => unreachable!("a taken discriminator leads to another name"),
        }
    }
}

/// The last step that can fail. Under the latch: looks at memory, changes nothing. `checks` may be left out as long as
/// nobody has committed since S.
#[expect(clippy::too_many_arguments, reason = "a commit is all of these, and they meet here only")]
fn check<E: Engine>(
    front: &Front<E>,
    since: Timestamp,
    current: &Arc<Catalogue>,
    schema: &SchemaWrites,
    resolved: &Resolved,
    authorship: &Authorship,
    checks: Option<&WriteChecks>,
    completion: Option<&dyn Completion>,
    latch: &LatchState,
) -> std::result::Result<(), Refusal> {
    check_healthy(latch).map_err(Refusal::Said)?;
    check_open(latch).map_err(Refusal::Said)?;
    front.log().map_err(Refusal::Said)?.check_poison().map_err(|error| Refusal::Said(error.into()))?;
    if !front.owning.admits(authorship) {
        return Err(Refusal::Said(front.not_owner()));
    }
    if !Arc::ptr_eq(current, schema.base()) {
        for change in schema.changes() {
            current.would_change(change).map_err(Refusal::Said)?;
        }
    }
    if !front.indexes.is(&resolved.indexes) {
        return Err(Refusal::OtherIndexes);
    }
    // Under the latch W stands still: what nobody committed since S is newer nowhere.
    let checks = match checks {
        _ if authorship.author.is_owner() || front.timeline.published() == since => None,
        None => return Err(Refusal::ChecksNeeded),
        checks => checks,
    };
    if let Some((key, newer)) = checks.and_then(|checks| checks.first_newer(&*front.engine, since))
        && !planted(Bug::LostUpdate)
    {
        return Err(Refusal::Changed(key, newer));
    }
    check_unique(since, current, schema, &resolved.vertex_entries)?;
    check_unique(since, current, schema, &resolved.edge_entries)?;
    if completion.is_some_and(|index| !index.may_complete()) {
        return Err(Refusal::Late);
    }
    match checks.map(|checks| checks.taken(&*front.engine, since)) {
        Some(Err(key)) => Err(Refusal::Changed(key, ChangedSince::Forgotten)),
        Some(Ok(taken)) if !taken.is_empty() => Err(Refusal::Taken(taken)),
        _ => Ok(()),
    }
}

/// Nobody entered the same values into unique indexes since S. One that is being built is not asked: what
/// enters it is checked by who builds it.
fn check_unique<I: Item>(
    since: Timestamp,
    current: &Catalogue,
    schema: &SchemaWrites,
    entries: &EntryChanges<I>,
) -> std::result::Result<(), Refusal> {
    for entry in entries.entering() {
        let id = entry.index.definition().id;
        if !current.index(id).is_some_and(|known| known.unique) {
            continue;
        }
        // Who doesn't know the index has not looked whether somebody holds the value.
        if schema.base().index(id).is_none() {
            return Err(Refusal::NewIndex(id));
        }
        if entry.index.newer(entry.key.hash, since) != ChangedSince::No && !planted(Bug::UniqueNotChecked) {
            let item = entry.item;
            return Err(Refusal::Entered(id, Box::new(move |catalogue| item.name(catalogue))));
        }
    }
    Ok(())
}

/// Makes a checked commit real. Under the latch: memory only, cannot fail.
#[expect(clippy::too_many_arguments, reason = "a commit is all of these, and they meet here only")]
fn install<E: Engine>(
    front: &Front<E>,
    current: Arc<Catalogue>,
    schema: &SchemaWrites,
    resolved: &mut Resolved,
    prepared: E::Prepared,
    mut frame: Frame<'_>,
    completion: Option<&dyn Completion>,
    latch: &mut MutexGuard<'_, LatchState>,
) -> InstalledCommit<E::Displaced> {
    let timestamp = front.timeline.published().next();
    if planted(Bug::FrameBeforeInstall) {
        frame.append(timestamp);
    }
    if planted(Bug::PublishBeforeInstall) {
        front.timeline.publish(timestamp, latch);
    }
    let displaced = front.engine.append(timestamp, prepared);
    if planted(Bug::IndexAfterPublish) {
        front.timeline.publish(timestamp, latch);
    }
    resolved.vertex_entries.apply(timestamp);
    resolved.edge_entries.apply(timestamp);
    if let Some(index) = completion {
        if let Some(id) = index.kept_by_engine() {
            front.engine.complete_index(id, timestamp);
        }
        index.complete(timestamp);
    }
    let mut old_indexes = Vec::new();
    for change in schema.changes() {
        // One that the catalogue doesn't name is dropped already, or somebody builds it anew.
        if let SchemaChange::DropIndex(id) = change
            && current.index(*id).is_some()
        {
            old_indexes.push(front.indexes.remove(*id));
            front.engine.drop_index(*id);
        }
    }
    if !schema.changes().is_empty() {
        publish_schema(front, &current, schema);
        front.engine.catalogue_changed(timestamp, &front.catalogue.load_full());
    }
    frame.append(timestamp);
    if !planted(Bug::PublishBeforeInstall) && !planted(Bug::IndexAfterPublish) {
        front.timeline.publish(timestamp, latch);
    }
    InstalledCommit { timestamp, _displaced: displaced, _old_catalogue: current, _old_indexes: old_indexes }
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
