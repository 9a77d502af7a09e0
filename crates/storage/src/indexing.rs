//! Indexing: creates and drops indexes while others read and write, and builds them when a store opens. Rows of
//! a load: `bulk/load_indexes.rs`.
//!
//! ```text
//! latch      the index joins the directory, building: every commit from here on keeps it up
//! snapshot   at S, once those before are readable: what it shows is filled in, a group at a time;
//!            entries that commits move away meanwhile stay, since S is open
//! newcomers  a unique index: who entered a value meanwhile is looked at, as of a newer moment
//! latch      nobody entered since, or is alone with the value for sure: ready, in the catalogue
//! ```
//!
//! Nobody is refused while an index is built, but bulk loads. A commit that breaks a uniqueness to come
//! is not: the build is, and names the value. A build that fails, is cancelled or dies with its process
//! leaves nothing: the catalogue learns of an index when it is ready, in one commit.
//!
//! Where the engine keeps the entries the scan goes into it (`index/fill.rs`), and the index serves from the commit that
//! makes it ready, not from S.
//!
//! A snapshot that is older than S keeps its answers by reading everything (`snapshot/look_up.rs`), and
//! so does one whose index is dropped.
//!
//! Source: core-protocol section 6, "Build".

use crate::engine::{Engine, keeps_index};
use crate::index::build::{Duplicates, check_newcomers, fill_group, finish_fill, push_group};
use crate::index::directory::Indexed;
use crate::index::fill::IndexFill;
use crate::index::item::Item;
use crate::index::property_index::{Completion, PropertyIndex};
use crate::snapshot::session::Session;
use crate::store::Store;
use crate::timeline::registry::Access;
use crate::transaction::front::{Front, LogAccess};
use crate::transaction::handle::Transaction;
use crate::transaction::latch::{check_healthy, check_open, under_latch};
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, GroupId, KeyId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId, IndexKind, IndexStatistics};
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::transaction::{Transaction as _, TransactionOptions};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// Tries to make a unique index ready before commits that enter values into it are held back for a moment.
const ATTEMPTS_BESIDE_WRITERS: usize = 8;

/// Building takes as long as it takes; only what the index is named by is a transaction.
#[inline]
pub(crate) fn unhurried() -> TransactionOptions {
    TransactionOptions::default().timeout(Duration::MAX)
}

/// Whose property is indexed, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerName<'a> {
    /// The vertices of a label.
    Label(&'a str),
    /// The edges of a type.
    EdgeType(&'a str),
}

impl fmt::Display for OwnerName<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Self::Label(name) | Self::EdgeType(name)) = self;
        f.write_str(name)
    }
}

/// An index that is asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexRequest<'a> {
    /// Whose property.
    pub owner: OwnerName<'a>,
    /// Which one.
    pub key: &'a str,
    /// How its entries lie.
    pub kind: IndexKind,
    /// Whether at most one item may have each value.
    pub unique: bool,
}

/// What a build tells while it scans.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IndexProgress {
    /// Vertex groups that were scanned.
    pub groups_done: u32,
    /// All of them.
    pub groups_count: u32,
    /// Entries made.
    pub entries: u64,
}

impl<E: Engine> Store<E> {
    /// Makes `key` unique among the vertices of `label` and indexes it by hash, naming both if they are
    /// new. Nothing happens if it is.
    ///
    /// # Errors
    /// As [`Store::create_index`].
    pub fn create_unique_index(&self, label: &str, key: &str) -> Result<()> {
        let owner = OwnerName::Label(label);
        let request = IndexRequest { owner, key, kind: IndexKind::Hash, unique: true };
        self.create_index(&request, &mut |_| Ok(())).map(drop)
    }

    /// Builds an index while others read and write, naming owner and key if they are new; whether it
    /// wasn't there yet. `progress` is told before each group and before each try to make
    /// the index ready, and may fail to cancel.
    ///
    /// Cost: a scan of the label or type; a commit pays for the index from the beginning on.
    ///
    /// Where the graph lies in other stores, all of them build it. A build goes on if the process that began it is lost, ends for
    /// all if this fails there, and is joined by whoever wants the same. While it is checked for duplicates nobody enters a value that is there into an
    /// index that is to be unique.
    ///
    /// # Errors
    /// `invalid` if a value is there twice in an index to be unique, naming five; if there is one on the
    /// property that is unique where this is not, or the other way round; without a key; for one of kind newest as
    /// [`declare_newest_first`](evergraph_graph::transaction::Transaction::declare_newest_first). `busy` while
    /// a load runs or somebody else builds the same. `limit` if commits entered more values into a
    /// unique index than a build can look at. As a commit; what `progress` says. There is no index then.
    pub fn create_index(
        &self,
        request: &IndexRequest<'_>,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<bool> {
        refuse_without_key(request)?;
        let is_shared = matches!(self.front().log_access, LogAccess::Shared(_));
        if !is_shared {
            self.front().log()?;
        }
        let mut naming = self.begin_with(unhurried());
        naming.is_for_an_index();
        let id = name_index(&mut naming, request)?;
        drop(naming);
        let definition = IndexDefinition { id, unique: request.unique };
        if id.kind == IndexKind::Newest && !keeps_index(&*self.front().engine, id) {
            return self.declare_order(request);
        }
        if is_shared {
            return self.create_shared_index(request, definition, progress);
        }
        if let Some(known) = self.catalogue().index(id) {
            if known != definition {
                return Err(differs(&known, request));
            }
            // Whoever made it may still wait for the disk: it is there when a power cut would leave it. The
            // catalogue names it a little before its commit is published, both under the latch.
            let newest = {
                let _latch = self.timeline().latch();
                self.timeline().published()
            };
            self.front().log()?.acknowledge(newest.0).map_err(Error::from)?;
            return Ok(false);
        }
        match id.owner {
            Owner::Label(_) => self.build::<VertexId>(request, definition, progress)?,
            Owner::EdgeType(_) => self.build::<EdgeId>(request, definition, progress)?,
        }
        Ok(true)
    }

    /// Where lists can have an order themselves there is no index: they are declared to. Whether they weren't.
    fn declare_order(&self, request: &IndexRequest<'_>) -> Result<bool> {
        self.retrying(unhurried(), |mut transaction| {
            transaction.is_for_an_index();
            name_index(&mut transaction, request)?;
            let is_new = !transaction.schema_mut().changes().is_empty();
            transaction.commit()?;
            Ok(is_new)
        })
    }

    fn build<I: Indexed>(
        &self,
        request: &IndexRequest<'_>,
        definition: IndexDefinition,
        progress: &mut dyn FnMut(IndexProgress) -> Result<()>,
    ) -> Result<()> {
        let front = self.front();
        let (building, known_from) =
            IndexBuild::<I, E>::begin(front, request, definition, self.random_u64())?;
        let index = &building.index;
        let mut duplicates = Duplicates::default();
        let mut done = IndexProgress { groups_done: 0, groups_count: 0, entries: 0 };
        {
            // Commits that began before are readable from here on, so that S is not older than they.
            front.log()?.acknowledge(known_from.0).map_err(Error::from)?;
            let session = Session::begin(front, Access::Read);
            assert!(
                known_from.visible_at(session.timestamp()),
                "R reached what is durable, and no load runs"
            );
            let view = session.view();
            done.groups_count = view.group_count();
            let id = definition.id;
            let mut fill = match keeps_index(&*front.engine, id) {
                true => front.engine.fill_index(id, session.timestamp())?,
                false => None,
            };
            for group in groups_of(&view) {
                progress(IndexProgress { groups_done: group.0, ..done })?;
                done.entries += match &mut fill {
                    Some(fill) => push_group::<I, _>(&view, id, group, &mut **fill)?,
                    None => fill_group(&view, index, group, &mut duplicates)?,
                };
            }
            done.groups_done = done.groups_count;
            progress(done)?;
            if let Some(fill) = &mut fill {
                let value_of = |item: I| item.property(&view, id.key);
                finish_fill(&mut **fill, definition.unique, value_of, &mut duplicates)?;
            }
            refuse_duplicates(&duplicates, id, &self.catalogue())?;
            let is_filled_by_engine = fill.is_some();
            fill.map_or(Ok(()), IndexFill::install)?;
            if !is_filled_by_engine {
                index.filled(session.timestamp());
            }
        }
        let (mut attempts, mut held) = (0, None);
        self.retrying(unhurried(), |mut transaction| {
            transaction.is_for_an_index();
            attempts += 1;
            if attempts > ATTEMPTS_BESIDE_WRITERS && held.is_none() {
                held = Some(index.newcomers().hold());
            }
            let id = name_index(&mut transaction, request)?;
            debug_assert_eq!(id, definition.id, "a name keeps its number");
            let Some(newcomers) = index.newcomers().through(transaction.session().timestamp()) else {
                let text = format!(
                    "too many values were entered into {}.{} while its unique index was built: build it when \
                     less is written",
                    request.owner, request.key
                );
                return Err(Error::new(ErrorKind::Limit, text));
            };
            check_newcomers(&transaction.session().view(), &**index, newcomers, &mut duplicates)?;
            refuse_duplicates(&duplicates, definition.id, &self.catalogue())?;
            progress(done)?;
            transaction.schema_mut().make(SchemaChange::AddIndex(definition));
            let completion: &dyn Completion = &**index;
            transaction.commit_with(Some(completion)).map(drop)
        })?;
        drop(held);
        index.newcomers().forget();
        Ok(())
    }

    /// Drops an index while others read and write. Snapshots that are open keep their answers, by reading
    /// everything. `kind` may be left out where there is one kind only. One that the nodes of a cluster are still building goes, too,
    /// whoever began it: its creation fails then.
    ///
    /// # Errors
    /// `not_found` if there is no such index, `invalid` if there are two kinds and none is named; as a
    /// commit.
    pub fn drop_index(
        &self,
        owner: OwnerName<'_>,
        key: &str,
        kind: Option<IndexKind>,
    ) -> Result<IndexDefinition> {
        self.retrying(unhurried(), |mut transaction| {
            transaction.is_for_an_index();
            let builds = self.front().engine.shared_builds(transaction.session().pin());
            let dropped = choose(transaction.schema_mut().current(), &builds, owner, key, kind)?;
            transaction.schema_mut().make(SchemaChange::DropIndex(dropped.id));
            transaction.commit()?;
            Ok(dropped)
        })
    }

    /// All indexes with their sizes, those included that are being built. Cost: a look at each part.
    #[must_use]
    pub fn indexes(&self) -> Vec<IndexStatistics> {
        let session = Session::begin(self.front(), Access::Read);
        let mut statistics = self.front().indexes.load().statistics(&session.view());
        Self::add_shared_builds(&session, &mut statistics);
        statistics
    }
}

pub(crate) fn groups_of<V: View>(view: &V) -> impl Iterator<Item = GroupId> + use<V> {
    (0..view.group_count()).map(GroupId)
}

/// An index that is being built; taken back when dropped, unless it became ready.
struct IndexBuild<'a, I: Indexed, E: Engine> {
    front: &'a Front<E>,
    index: Arc<PropertyIndex<I>>,
}

impl<'a, I: Indexed, E: Engine> IndexBuild<'a, I, E> {
    /// Makes every commit from here on keep the index up; also the last commit that doesn't.
    fn begin(
        front: &'a Front<E>,
        request: &IndexRequest<'_>,
        definition: IndexDefinition,
        seed: u64,
    ) -> Result<(Self, Timestamp)> {
        let begun = under_latch(&front.timeline, |latch| {
            check_healthy(latch)?;
            check_open(latch)?;
            // The catalogue again: somebody may have been done since.
            if front.indexes.load().contains(definition.id) {
                return Err(Error::new(
                    ErrorKind::Busy,
                    format!("a {} index on {}.{} is being built", request.kind, request.owner, request.key),
                ));
            }
            let known_from = front.timeline.published();
            let index = Arc::new(new_index(front, definition, known_from, seed));
            latch.index_builds += 1;
            let displaced = front.indexes.change(|all| all.add(Arc::clone(&index)));
            Ok((Self { front, index }, known_from, displaced))
        });
        begun.map(|(building, known_from, _)| (building, known_from))
    }
}

/// An empty index, whose entries the engine keeps if it says so.
fn new_index<I: Indexed, E: Engine>(
    front: &Front<E>,
    definition: IndexDefinition,
    known_from: Timestamp,
    seed: u64,
) -> PropertyIndex<I> {
    if keeps_index(&*front.engine, definition.id) {
        front.engine.begin_index(definition.id);
        return PropertyIndex::kept_by_engine(definition, known_from, seed);
    }
    PropertyIndex::new(definition, known_from, seed)
}

impl<I: Indexed, E: Engine> Drop for IndexBuild<'_, I, E> {
    fn drop(&mut self) {
        let displaced = {
            let mut latch = self.front.timeline.latch();
            latch.index_builds -= 1;
            let taken_back = !self.index.is_ready();
            taken_back.then(|| {
                let id = self.index.definition().id;
                let displaced = self.front.indexes.remove(id);
                self.front.engine.drop_index(id);
                displaced
            })
        };
        drop(displaced);
    }
}

/// The number of owner and key; names that are new are added to the transaction.
fn name_index<E: Engine>(transaction: &mut Transaction<E>, request: &IndexRequest<'_>) -> Result<IndexId> {
    let owner = match request.owner {
        OwnerName::Label(name) => Owner::Label(transaction.label(name)?),
        OwnerName::EdgeType(name) => Owner::EdgeType(transaction.edge_type(name)?),
    };
    let key = transaction.key(request.key)?;
    if request.kind == IndexKind::Newest {
        let Owner::EdgeType(edge_type) = owner else {
            return Err(refuse_newest(request, "vertices have no source"));
        };
        if request.unique {
            return Err(refuse_newest(request, "edges that are equally new may be many"));
        }
        transaction.schema_mut().order_newest_first(edge_type, key)?;
    }
    Ok(IndexId { owner, key, kind: request.kind })
}

fn refuse_newest(IndexRequest { owner, key, .. }: &IndexRequest<'_>, why: &str) -> Error {
    Error::invalid(format!(
        "no index of kind newest on {owner}.{key}: it is on edges, and never unique: {why}"
    ))
}

fn refuse_without_key(request: &IndexRequest<'_>) -> Result<()> {
    if !request.key.is_empty() {
        return Ok(());
    }
    let (owner, lie) = match request.owner {
        OwnerName::Label(name) => (format!("label {name}"), "vertices lie by label"),
        OwnerName::EdgeType(name) => (format!("edge type {name}"), "edges lie by type"),
    };
    Err(Error::invalid(format!(
        "{owner} alone needs no index: {lie}, so a scan of it visits nothing else; name a property key"
    )))
}

/// The error of an index that is there with another promise than `request` asks for.
pub(crate) fn differs(known: &IndexDefinition, request: &IndexRequest<'_>) -> Error {
    let (is, wanted) = if known.unique { ("unique", "not unique") } else { ("not unique", "unique") };
    let IndexRequest { owner, key, kind, .. } = request;
    Error::invalid(format!(
        "the {kind} index on {owner}.{key} is {is}, but one that is {wanted} was requested: drop it first"
    ))
}

pub(crate) fn refuse_duplicates<I: Item>(
    duplicates: &Duplicates<I>,
    id: IndexId,
    catalogue: &Catalogue,
) -> Result<()> {
    if duplicates.is_empty() {
        return Ok(());
    }
    let property = catalogue.property_name(id.owner, id.key);
    let named = duplicates.describe(|item| item.name(catalogue));
    Err(Error::invalid(format!("{property} can't be unique: {named}")))
}

/// The index that is meant, in the catalogue or in `builds`, which others build.
fn choose(
    catalogue: &Catalogue,
    builds: &[IndexDefinition],
    owner: OwnerName<'_>,
    key: &str,
    kind: Option<IndexKind>,
) -> Result<IndexDefinition> {
    let id = match owner {
        OwnerName::Label(name) => catalogue.label(name).map(Owner::Label),
        OwnerName::EdgeType(name) => catalogue.edge_type(name).map(Owner::EdgeType),
    };
    let on = |(owner, key): (Owner, KeyId)| {
        let ids = IndexKind::ALL.into_iter().map(|kind| IndexId { owner, key, kind });
        let built = |id: IndexId| builds.iter().copied().find(|build| build.id == id);
        // One that becomes unique is in the catalogue before it is.
        ids.filter_map(|id| built(id).or_else(|| catalogue.index(id))).collect::<Vec<_>>()
    };
    let mut found = id.zip(catalogue.key(key)).map_or_else(Vec::new, on);
    found.retain(|index| kind.is_none_or(|kind| index.id.kind == kind));
    match found[..] {
        [index] => Ok(index),
        [] => {
            let what = kind.map_or_else(String::new, |kind| format!("{kind} "));
            let text = format!("there is no {what}index on {owner}.{key}");
            Err(Error::new(ErrorKind::NotFound, text))
        }
        _ => Err(Error::invalid(format!(
            "{owner}.{key} has several indexes: say which of them is meant (--kind {})",
            found.iter().map(|index| index.id.kind.name()).collect::<Vec<_>>().join(" or --kind ")
        ))),
    }
}
