//! Rebuild: builds all indexes of a catalogue from an engine's contents, while a store opens, but those that the
//! engine keeps.

use crate::engine::{Engine, keeps_index};
use crate::index::build::{Duplicates, fill_group, finish_fill, push_group};
use crate::index::directory::{Indexed, Indexes};
use crate::index::item::Item;
use crate::index::property_index::{Completion, PropertyIndex};
use crate::io::environment::Background;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::thread;
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{EdgeId, GroupId, VertexId};
use evergraph_graph::index::IndexDefinition;
use evergraph_graph::timestamp::Timestamp;
use std::sync::Arc;

/// Threads that build indexes while a store opens.
const THREADS: usize = 2;

/// Builds every index of `catalogue` from what `engine` holds at `at`, with two threads unless the store is
/// stepped. Of an index whose entries the engine keeps nothing is read, unless it lacks them, after a crash, a
/// conversion or a salvage: then this thread builds them, in the engine.
///
/// Cost: a scan of every label and type that has another index.
///
/// # Errors
/// `corrupt` if a value of a unique index is there twice; errors of reading, or starting a thread.
pub fn build_all<E: Engine>(
    engine: &Arc<E>,
    at: Timestamp,
    catalogue: &Catalogue,
    background: Background,
    mut seed: impl FnMut() -> u64,
) -> Result<Indexes> {
    let mut work = RebuildTasks {
        engine: Arc::clone(engine),
        pin: engine.pin(at),
        at,
        vertices: Vec::new(),
        edges: Vec::new(),
        next: AtomicU64::new(0),
        outcome: Mutex::new(Ok(())),
    };
    let mut indexes = Indexes::default();
    if E::KEEPS_INDEXES {
        engine.retain_indexes(&|id| catalogue.index(id).is_some());
    }
    for definition in catalogue.indexes() {
        if keeps_index(&**engine, definition.id) {
            if !engine.has_index(definition.id) {
                match definition.id.owner {
                    Owner::Label(_) => refill::<VertexId, E>(&**engine, at, definition, catalogue)?,
                    Owner::EdgeType(_) => refill::<EdgeId, E>(&**engine, at, definition, catalogue)?,
                }
            }
            match definition.id.owner {
                Owner::Label(_) => add_kept::<VertexId>(&mut indexes, definition, at, seed()),
                Owner::EdgeType(_) => add_kept::<EdgeId>(&mut indexes, definition, at, seed()),
            }
            continue;
        }
        match definition.id.owner {
            Owner::Label(_) => {
                work.vertices.push((Arc::new(PropertyIndex::new(definition, at, seed())), Mutex::default()));
            }
            Owner::EdgeType(_) => {
                work.edges.push((Arc::new(PropertyIndex::new(definition, at, seed())), Mutex::default()));
            }
        }
    }
    let work = Arc::new(work);
    let helpers = (1..background.threads(THREADS)).filter(|_| work.tasks_count() > 1).map(|_| {
        let shared = Arc::clone(&work);
        thread::spawn("build-indexes", move || shared.run()).map_err(|source| {
            Error::new(ErrorKind::Io, format!("start the thread build-indexes: {source}")).because(source)
        })
    });
    let helpers: Vec<_> = helpers.collect::<Result<_>>()?;
    work.run();
    for helper in helpers {
        helper.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    }
    std::mem::replace(&mut *work.outcome.lock(), Ok(()))?;
    finish(&work.vertices, at, catalogue, &mut indexes)?;
    finish(&work.edges, at, catalogue, &mut indexes)?;
    Ok(indexes)
}

/// An index that is being built while its store opens, and its duplicate values.
type RebuiltIndex<I> = (Arc<PropertyIndex<I>>, Mutex<Duplicates<I>>);

/// What the threads share.
///
/// Concurrency: `next` gives each index and group to one thread; nothing is published through it, the
/// threads' end does that.
struct RebuildTasks<E: Engine> {
    engine: Arc<E>,
    pin: E::Pin,
    at: Timestamp,
    vertices: Vec<RebuiltIndex<VertexId>>,
    edges: Vec<RebuiltIndex<EdgeId>>,
    next: AtomicU64,
    /// The first thing that went wrong is enough.
    outcome: Mutex<Result<()>>,
}

impl<E: Engine> RebuildTasks<E> {
    fn groups_count(&self) -> u64 {
        self.engine.view(&self.pin, self.at).group_count().into()
    }

    fn tasks_count(&self) -> u64 {
        self.groups_count() * (self.vertices.len() + self.edges.len()) as u64
    }

    fn run(&self) {
        if let Err(error) = self.tasks() {
            self.next.store(u64::MAX / 2, Ordering::Relaxed);
            *self.outcome.lock() = Err(error);
        }
    }

    fn tasks(&self) -> Result<()> {
        let (groups, tasks) = (self.groups_count(), self.tasks_count());
        let view = self.engine.view(&self.pin, self.at);
        loop {
            let task = self.next.fetch_add(1, Ordering::Relaxed);
            if task >= tasks {
                return Ok(());
            }
            let (number, group) = ((task / groups) as usize, GroupId((task % groups) as u32));
            match number.checked_sub(self.vertices.len()) {
                None => fill(&view, &self.vertices[number], group)?,
                Some(number) => fill(&view, &self.edges[number], group)?,
            }
        }
    }
}

fn fill<I: Item, V: View>(view: &V, (index, all): &RebuiltIndex<I>, group: GroupId) -> Result<()> {
    let mut duplicates = Duplicates::default();
    fill_group(view, &**index, group, &mut duplicates)?;
    if !duplicates.is_empty() {
        all.lock().add(duplicates);
    }
    Ok(())
}

/// Builds an index that the engine keeps and lacks: it was made shortly before a crash, or the database was converted or
/// salvaged.
fn refill<I: Item, E: Engine>(
    engine: &E,
    at: Timestamp,
    definition: IndexDefinition,
    catalogue: &Catalogue,
) -> Result<()> {
    let IndexDefinition { id, unique } = definition;
    engine.begin_index(id);
    if let Some(mut fill) = engine.fill_index(id, at)? {
        let pin = engine.pin(at);
        let view = engine.view(&pin, at);
        for group in (0..view.group_count()).map(GroupId) {
            push_group::<I, _>(&view, id, group, &mut *fill)?;
        }
        let mut duplicates = Duplicates::default();
        finish_fill(&mut *fill, unique, |item: I| item.property(&view, id.key), &mut duplicates)?;
        refuse_stored_twice(&duplicates, definition, catalogue)?;
        fill.install()?;
    }
    engine.complete_index(id, at);
    Ok(())
}

/// Refuses values of a unique index that are there twice.
///
/// # Errors
/// `corrupt`, naming some.
pub fn refuse_stored_twice<I: Item>(
    duplicates: &Duplicates<I>,
    IndexDefinition { id, .. }: IndexDefinition,
    catalogue: &Catalogue,
) -> Result<()> {
    if duplicates.is_empty() {
        return Ok(());
    }
    let property = catalogue.property_name(id.owner, id.key);
    let named = duplicates.describe(|item| item.name(catalogue));
    let text = format!("{property} is unique, but was stored twice: {named}");
    Err(Error::new(ErrorKind::Corrupt, text))
}

/// Adds an index that the engine has, complete as of `at`.
fn add_kept<I: Indexed>(to: &mut Indexes, definition: IndexDefinition, at: Timestamp, seed: u64) {
    let index = PropertyIndex::<I>::kept_by_engine(definition, at, seed);
    index.filled(at);
    index.complete(at);
    index.newcomers().forget();
    to.add(Arc::new(index));
}

fn finish<I: Indexed>(
    built: &[RebuiltIndex<I>],
    at: Timestamp,
    catalogue: &Catalogue,
    to: &mut Indexes,
) -> Result<()> {
    for (index, duplicates) in built {
        refuse_stored_twice(&duplicates.lock(), index.definition(), catalogue)?;
        index.filled(at);
        index.complete(at);
        index.newcomers().forget();
        to.add(Arc::clone(index));
    }
    Ok(())
}
