//! Load indexes: checks the rows of a bulk load against unique indexes, and puts them into all indexes of their labels and types.
//!
//! ```text
//! hashed, in memory   hashes of all rows, a shard of the index at a time; where they meet, values are compared
//! with an order       an index of the rows alone, then a look-up of each
//! of the engine       the engine takes them, and tells who shares a value
//! ```

use crate::engine::{Engine, keeps_index};
use crate::index::build::{Duplicates, fill_group, finish_fill, other_holder, push_group};
use crate::index::directory::{Indexed, Indexes};
use crate::index::fill::IndexFill;
use crate::index::hash_entries::Meeting;
use crate::index::property_index::{Completion as _, PropertyIndex};
use crate::indexing::{groups_of, refuse_duplicates};
use crate::snapshot::session::Session;
use crate::store::Store;
use crate::timeline::registry::Access;
use crate::view::View;
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::Result;
use evergraph_graph::id::{EdgeId, GroupId, VertexId};
use evergraph_graph::index::{IndexDefinition, IndexId};
use evergraph_graph::timestamp::Timestamp;
use evergraph_graph::value::Value;
use std::collections::HashMap;
use std::sync::Arc;

/// Where a load's rows go in an index that the engine keeps: see
/// [`DurableEngine::fill_load`](crate::durable_engine::DurableEngine::fill_load).
pub(crate) type FillOfLoad<'a> = dyn Fn(IndexId) -> Result<Option<Box<dyn IndexFill + 'a>>> + 'a;

/// What becomes of indexes with a load.
#[derive(Default)]
pub(crate) struct LoadIndexes {
    /// Those that join the directory with it.
    pub new: Indexes,
    /// What unique hashed indexes that are there take in, once nothing refuses the load any more.
    pub entering: Vec<Entering>,
}

/// Rows that enter a hashed index at once, some megabytes.
const ROWS_AT_ONCE: usize = 1 << 18;

/// Takes entries of a load into an index.
pub(crate) type Entering = Box<dyn FnOnce()>;

impl<E: Engine> Store<E> {
    /// Checks the rows of a load, which `staged` shows and nobody else does, against the unique ones of
    /// `definitions`. Those that are new are returned with the rows and what the store has already, to join
    /// the directory with the load; those that are there take the rows by [`Store::enter_load`].
    ///
    /// No commit may happen meanwhile.
    ///
    /// # Errors
    /// `invalid` if a value of a unique index is there twice, naming five; errors of reading. No index
    /// has changed then.
    pub(crate) fn index_load<V: View>(
        &self,
        staged: &V,
        definitions: &[IndexDefinition],
        catalogue: &Catalogue,
        fill_of: &FillOfLoad<'_>,
    ) -> Result<LoadIndexes> {
        let mut indexes = LoadIndexes::default();
        for definition in definitions {
            match definition.id.owner {
                Owner::Label(_) => {
                    self.index_rows::<VertexId, V>(staged, *definition, catalogue, fill_of, &mut indexes)?
                }
                Owner::EdgeType(_) => {
                    self.index_rows::<EdgeId, V>(staged, *definition, catalogue, fill_of, &mut indexes)?
                }
            }
        }
        Ok(indexes)
    }

    fn index_rows<I: Indexed, V: View>(
        &self,
        staged: &V,
        definition: IndexDefinition,
        catalogue: &Catalogue,
        fill_of: &FillOfLoad<'_>,
        indexes: &mut LoadIndexes,
    ) -> Result<()> {
        let (at, front) = (staged.timestamp(), self.front());
        let IndexDefinition { id, unique } = definition;
        let session = Session::begin(front, Access::Write);
        let present = session.view();
        let known = front.indexes.get::<I>(id);
        if keeps_index(&*front.engine, id)
            && let Some(fill) = fill_of(id)?
        {
            self.fill_rows(&known, definition, (staged, &present), catalogue, fill)?;
            if known.is_none() {
                indexes.new.add(Arc::new(self.kept_index::<I>(definition, at)));
            }
            return Ok(());
        }
        if let Some(known) = known.as_ref().filter(|known| known.is_hashed()) {
            let known = Arc::clone(known);
            if unique {
                let mut entries = Vec::new();
                groups_of(staged).try_for_each(|group| push_hashed(staged, &known, group, &mut entries))?;
                let duplicates = met_values(&known.meetings(&entries), id, staged, &present)?;
                refuse_duplicates(&duplicates, id, catalogue)?;
                indexes.entering.push(Box::new(move || known.insert_all(at, &entries)));
            }
            return Ok(());
        }
        let rows = PropertyIndex::<I>::new(definition, at, self.random_u64());
        let mut duplicates = Duplicates::default();
        // Of an index that is there, nobody has counted.
        let mut present_entries = u64::from(known.is_some());
        if known.is_none() {
            for group in groups_of(&present) {
                present_entries += fill_group(&present, &rows, group, &mut duplicates)?;
            }
        }
        if unique || known.is_none() {
            for group in groups_of(staged) {
                fill_group(staged, &rows, group, &mut duplicates)?;
            }
        }
        let index = known.as_deref().unwrap_or(&rows);
        for group in groups_of(staged).filter(|_| unique && present_entries > 0) {
            I::for_each_in(staged, id, group, &mut |item, value| {
                if let Some(other) = other_holder(&present, index, &value, Some(item))? {
                    duplicates.find(value, item, other);
                }
                Ok(())
            })?;
        }
        refuse_duplicates(&duplicates, id, catalogue)?;
        if known.is_none() {
            // The rows' own entries have served their purpose where the engine keeps them.
            let index = match keeps_index(&*front.engine, id) {
                true => PropertyIndex::kept_by_engine(definition, at, self.random_u64()),
                false => rows,
            };
            index.filled(at);
            index.complete(at);
            index.newcomers().forget();
            indexes.new.add(Arc::new(index));
        }
        Ok(())
    }

    /// An index of the engine that is ready with a load.
    fn kept_index<I: Indexed>(&self, definition: IndexDefinition, at: Timestamp) -> PropertyIndex<I> {
        let index = PropertyIndex::kept_by_engine(definition, at, self.random_u64());
        index.complete(at);
        index.newcomers().forget();
        index
    }

    /// Gives a load's rows to the engine, and what the store has already where the index is not `known`.
    fn fill_rows<I: Indexed, V: View, P: View>(
        &self,
        known: &Option<Arc<PropertyIndex<I>>>,
        IndexDefinition { id, unique }: IndexDefinition,
        (staged, present): (&V, &P),
        catalogue: &Catalogue,
        mut fill: Box<dyn IndexFill + '_>,
    ) -> Result<()> {
        let mut duplicates = Duplicates::default();
        for group in groups_of(staged) {
            push_group::<I, _>(staged, id, group, &mut *fill)?;
        }
        match known {
            None => {
                for group in groups_of(present) {
                    push_group::<I, _>(present, id, group, &mut *fill)?;
                }
            }
            Some(known) if unique => {
                for group in groups_of(staged) {
                    I::for_each_in(staged, id, group, &mut |item, value| {
                        if let Some(other) = other_holder(present, known, &value, Some(item))? {
                            duplicates.find(value, item, other);
                        }
                        Ok(())
                    })?;
                }
            }
            Some(_) => {}
        }
        let value_of = |item: I| match item.property(staged, id.key)? {
            None => item.property(present, id.key),
            found => Ok(found),
        };
        finish_fill(&mut *fill, unique, value_of, &mut duplicates)?;
        refuse_duplicates(&duplicates, id, catalogue)?;
        fill.install()
    }

    /// Puts the rows of a load into the indexes of `definitions` that are there already: readers check what
    /// they find. Only once nothing refuses the load any more: writers would meet its values as entered by
    /// a commit to come.
    ///
    /// # Errors
    /// Errors of reading.
    pub(crate) fn enter_load<V: View>(
        &self,
        staged: &V,
        definitions: &[IndexDefinition],
        entering: Vec<Entering>,
    ) -> Result<()> {
        entering.into_iter().for_each(|enter| enter());
        for IndexDefinition { id, .. } in definitions {
            match id.owner {
                Owner::Label(_) => self.enter_rows::<VertexId, V>(staged, *id)?,
                Owner::EdgeType(_) => self.enter_rows::<EdgeId, V>(staged, *id)?,
            }
        }
        Ok(())
    }

    fn enter_rows<I: Indexed, V: View>(&self, staged: &V, id: IndexId) -> Result<()> {
        let Some(index) = self.front().indexes.get::<I>(id) else { return Ok(()) };
        let at = staged.timestamp();
        if index.is_hashed() {
            return if index.definition().unique { Ok(()) } else { enter_hashed(staged, &index) };
        }
        for group in groups_of(staged) {
            I::for_each_in(staged, id, group, &mut |item, value| {
                let key = index.key(&value);
                index.insert(at, key.clone(), key.value, item);
                Ok(())
            })?;
        }
        Ok(())
    }
}

/// Appends the rows of a group that `staged` shows, with the hashes under which `index` files their values.
fn push_hashed<I: Indexed, V: View>(
    staged: &V,
    index: &PropertyIndex<I>,
    group: GroupId,
    rows: &mut Vec<(u32, I)>,
) -> Result<()> {
    I::for_each_in(staged, index.definition().id, group, &mut |item, value| {
        rows.push((index.hash_of(&value), item));
        Ok(())
    })
}

/// Puts the rows that `staged` shows into a hashed index, some at a time.
fn enter_hashed<I: Indexed, V: View>(staged: &V, index: &PropertyIndex<I>) -> Result<()> {
    let (at, mut rows) = (staged.timestamp(), Vec::new());
    for group in groups_of(staged) {
        push_hashed(staged, index, group, &mut rows)?;
        if rows.len() >= ROWS_AT_ONCE {
            index.insert_all(at, &rows);
            rows.clear();
        }
    }
    index.insert_all(at, &rows);
    Ok(())
}

/// The values that items which met really share: new ones, that `staged` shows, and those that are there.
fn met_values<I: Indexed, V: View, P: View>(
    meetings: &[Meeting<I>],
    id: IndexId,
    staged: &V,
    present: &P,
) -> Result<Duplicates<I>> {
    let mut duplicates = Duplicates::default();
    for Meeting { new, present: others } in meetings {
        let mut holders: HashMap<Value, I> = HashMap::new();
        for other in others {
            if let Some(value) = other.property(present, id.key)? {
                holders.insert(value, *other);
            }
        }
        for item in new {
            let Some(value) = item.property(staged, id.key)? else { continue };
            match holders.get(&value) {
                Some(other) => duplicates.find(value, *item, *other),
                None => {
                    holders.insert(value, *item);
                }
            }
        }
    }
    Ok(duplicates)
}
