//! The catalogue: names, numbers and declared rules of labels, edge types and property keys.
//!
//! Names, types, orders and joins are only added in format version 1: an older snapshot may read a newer
//! catalogue, in which some names have no vertices yet. Indexes come and go. Changes travel as [`SchemaChange`] inside ordinary
//! transactions, with their ids; applying an identical change again does nothing.
//!
//! Ids are handed out before commit and never taken back, so the tables may have holes.
//!
//! A clone shares its tables with the original until one of the two is changed, and most of them after that:
//! a transaction that introduces one name of 65,535 pays for a few hundred.

use crate::error::{Error, Result};
use crate::id::{KeyId, LabelId, TypeId};
use crate::index::{IndexDefinition, IndexId, IndexKind};
use crate::properties::PropertyChange;
use crate::shared_map::SharedMap;
use crate::shared_table::SharedTable;
use crate::value::ValueType;
use std::sync::Arc;

// Users of a catalogue name these beside it.
pub use crate::owner::Owner;
pub use crate::schema_change::SchemaChange;

/// An edge type.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EdgeType {
    /// The name that users know.
    pub name: Arc<str>,
    /// Whether at most one edge goes from a vertex to another.
    pub simple: bool,
}

/// The names of a graph. Cheap to clone.
#[derive(Clone, Default, PartialEq, Debug)]
pub struct Catalogue {
    labels: SharedTable<Arc<str>>,
    edge_types: SharedTable<EdgeType>,
    keys: SharedTable<Arc<str>>,
    label_ids: SharedMap<Arc<str>, LabelId>,
    edge_type_ids: SharedMap<Arc<str>, TypeId>,
    key_ids: SharedMap<Arc<str>, KeyId>,
    /// By the key whose values have properties.
    meta_keys: SharedMap<KeyId, KeyId>,
    /// The same by the key that holds these.
    keys_of_meta: SharedMap<KeyId, KeyId>,
    properties: SharedMap<(Owner, KeyId), ValueType>,
    /// Whether each index is unique.
    indexes: SharedMap<IndexId, bool>,
    newest_first: SharedMap<TypeId, KeyId>,
    joins: SharedMap<(TypeId, LabelId, LabelId), ()>,
}

impl Catalogue {
    /// The label called `name`.
    #[must_use]
    #[inline]
    pub fn label(&self, name: &str) -> Option<LabelId> {
        self.label_ids.get(name).copied()
    }

    /// The edge type called `name`.
    #[must_use]
    #[inline]
    pub fn edge_type(&self, name: &str) -> Option<TypeId> {
        self.edge_type_ids.get(name).copied()
    }

    /// The property key called `name`.
    #[must_use]
    #[inline]
    pub fn key(&self, name: &str) -> Option<KeyId> {
        self.key_ids.get(name).copied()
    }

    /// The name of a label; its number in angle brackets if it has none here.
    #[must_use]
    pub fn label_name(&self, id: LabelId) -> Arc<str> {
        let name = self.labels.get(id.0).cloned();
        name.unwrap_or_else(|| format!("<label {}>", id.0).into())
    }

    /// The name of a property key; its number in angle brackets if it has none here.
    #[must_use]
    pub fn key_name(&self, id: KeyId) -> Arc<str> {
        if let Some(of) = self.keys_of_meta.get(&id) {
            return format!("<properties of {}>", self.key_name(*of)).into();
        }
        let name = self.keys.get(id.0).cloned();
        name.unwrap_or_else(|| format!("<key {}>", id.0).into())
    }

    /// The name of an edge type; its number in angle brackets if it has none here.
    #[must_use]
    pub fn edge_type_name(&self, id: TypeId) -> Arc<str> {
        self.edge_type_definition(id)
            .map_or_else(|| format!("<edge type {}>", id.0).into(), |definition| definition.name.clone())
    }

    /// Whether a label has this number.
    #[must_use]
    #[inline]
    pub fn has_label(&self, id: LabelId) -> bool {
        self.labels.has(id.0)
    }

    /// Whether a property key has this number, with a name or as [`Catalogue::meta_key`].
    #[must_use]
    pub fn has_key(&self, id: KeyId) -> bool {
        self.keys.has(id.0) || self.is_meta_key(id)
    }

    /// The key that holds the meta-properties of `key` at vertices of `label`, if the schema asks for them: a list of
    /// maps from their keys to their values, one map for each value of `key` in the order in which they are stored; absent
    /// where all would be empty. It has no name, and is among neither [`Catalogue::keys`] nor
    /// [`Catalogue::properties_of`]; the keys within the maps have names here.
    #[must_use]
    pub fn meta_key(&self, label: LabelId, key: KeyId) -> Option<KeyId> {
        let id = self.meta_key_of(key)?;
        self.properties.contains_key(&(Owner::Label(label), id)).then_some(id)
    }

    /// The key that holds the meta-properties of `key`, at vertices of any label.
    #[must_use]
    pub fn meta_key_of(&self, key: KeyId) -> Option<KeyId> {
        self.meta_keys.get(&key).copied()
    }

    /// Whether this key holds the meta-properties of another one.
    #[must_use]
    pub fn is_meta_key(&self, id: KeyId) -> bool {
        self.keys_of_meta.contains_key(&id)
    }

    /// Whether values of any key have properties.
    #[must_use]
    #[inline]
    pub fn has_meta_keys(&self) -> bool {
        !self.keys_of_meta.is_empty()
    }

    /// Puts before `changes`, of a vertex of `label`, the removals of what is known of the values that they replace: another
    /// value is another property.
    pub fn add_meta_removals(&self, label: LabelId, changes: &mut Vec<PropertyChange>) {
        if !self.has_meta_keys() {
            return;
        }
        let given = changes.len();
        for place in 0..given {
            changes.extend(self.meta_key(label, changes[place].0).map(|meta| (meta, None)));
        }
        changes.rotate_left(given);
    }

    /// What is known of an edge type.
    #[must_use]
    #[inline]
    pub fn edge_type_definition(&self, id: TypeId) -> Option<&EdgeType> {
        self.edge_types.get(id.0)
    }

    /// How many labels, edge types and keys have names. They are never taken back, so equal counts of two
    /// states of one catalogue mean the same names.
    #[must_use]
    pub fn names_count(&self) -> usize {
        self.labels.count() + self.edge_types.count() + self.keys.count()
    }

    /// All labels, by number.
    #[inline]
    pub fn labels(&self) -> impl Iterator<Item = (LabelId, &Arc<str>)> {
        self.labels.iter().map(|(id, name)| (LabelId(id), name))
    }

    /// All edge types, by number.
    #[inline]
    pub fn edge_types(&self) -> impl Iterator<Item = (TypeId, &EdgeType)> {
        self.edge_types.iter().map(|(id, definition)| (TypeId(id), definition))
    }

    /// All property keys that have names, by number.
    #[inline]
    pub fn keys(&self) -> impl Iterator<Item = (KeyId, &Arc<str>)> {
        self.keys.iter().map(|(id, name)| (KeyId(id), name))
    }

    /// The declared or learned type of a property.
    #[must_use]
    #[inline]
    pub fn property_type(&self, owner: Owner, key: KeyId) -> Option<ValueType> {
        self.properties.get(&(owner, key)).copied()
    }

    /// The properties of one owner, by key.
    #[inline]
    pub fn properties_of(&self, owner: Owner) -> impl Iterator<Item = (KeyId, ValueType)> {
        let range = (owner, KeyId(0))..=(owner, KeyId(u16::MAX));
        let all = self.properties.range(range).map(|((_, key), value_type)| (*key, *value_type));
        all.filter(|(key, _)| !self.is_meta_key(*key))
    }

    /// All indexes, by identity.
    #[inline]
    pub fn indexes(&self) -> impl Iterator<Item = IndexDefinition> {
        self.indexes.iter().map(|(id, unique)| IndexDefinition { id: *id, unique: *unique })
    }

    /// Whether there is an index at all.
    #[must_use]
    #[inline]
    pub fn has_indexes(&self) -> bool {
        !self.indexes.is_empty()
    }

    /// The indexes that find items by a property's value: at most one of each kind.
    #[inline]
    pub fn indexes_on(&self, owner: Owner, key: KeyId) -> impl Iterator<Item = IndexDefinition> {
        let ids = IndexKind::BY_VALUE.map(|kind| IndexId { owner, key, kind });
        ids.into_iter().filter_map(|id| Some(IndexDefinition { id, unique: *self.indexes.get(&id)? }))
    }

    /// The keys of `owner` that have indexes by value, ascending, and whether each is unique.
    ///
    /// Cost: one search, and a look at each of them.
    #[inline]
    pub fn indexed_keys(&self, owner: Owner) -> impl Iterator<Item = (KeyId, bool)> {
        let by_value = self.indexes.range(IndexId::all_of(owner));
        let mut by_value = by_value.filter(|(id, _)| IndexKind::BY_VALUE.contains(&id.kind)).peekable();
        std::iter::from_fn(move || {
            let (first, unique) = by_value.next()?;
            let mut unique = *unique;
            // Two kinds on one key are neighbours.
            while let Some((_, other)) = by_value.next_if(|(id, _)| id.key == first.key) {
                unique |= *other;
            }
            Some((first.key, unique))
        })
    }

    /// The index with this identity.
    #[must_use]
    #[inline]
    pub fn index(&self, id: IndexId) -> Option<IndexDefinition> {
        self.indexes.get(&id).map(|unique| IndexDefinition { id, unique: *unique })
    }

    /// Whether an index says that at most one item of `owner` has a value of `key`.
    #[must_use]
    #[inline]
    pub fn is_unique(&self, owner: Owner, key: KeyId) -> bool {
        self.indexes_on(owner, key).any(|index| index.unique)
    }

    /// The labels' unique keys: what people name vertices by.
    #[inline]
    pub fn unique_keys(&self) -> impl Iterator<Item = (LabelId, KeyId)> {
        let unique = self.indexes.iter().filter(|(_, unique)| **unique);
        let keys = unique.filter_map(|(id, _)| match id.owner {
            Owner::Label(label) => Some((label, id.key)),
            Owner::EdgeType(_) => None,
        });
        // Two kinds on one key are neighbours.
        let mut last = None;
        keys.filter(move |on| last.replace(*on) != Some(*on))
    }

    /// The key that vertices of `label` are known by: of its unique keys the first, `id` before others.
    #[must_use]
    pub fn vertex_key(&self, label: LabelId) -> Option<KeyId> {
        let mut keys = self.unique_keys().filter(|(indexed, _)| *indexed == label).map(|(_, key)| key);
        let first = keys.next()?;
        let id = keys.find(|key| &*self.key_name(*key) == "id");
        Some(id.unwrap_or(first))
    }

    /// `Person.name` or `KNOWS.since`: a property in words.
    #[must_use]
    pub fn property_name(&self, owner: Owner, key: KeyId) -> String {
        format!("{}.{}", self.owner_name(owner), self.key_name(key))
    }

    /// The name of a label or edge type; its number in angle brackets if it has none here.
    #[must_use]
    #[inline]
    pub fn owner_name(&self, owner: Owner) -> Arc<str> {
        match owner {
            Owner::Label(label) => self.label_name(label),
            Owner::EdgeType(edge_type) => self.edge_type_name(edge_type),
        }
    }

    /// The property by which edges of `edge_type` are kept newest first, if the type was declared so.
    #[must_use]
    pub fn newest_first(&self, edge_type: TypeId) -> Option<KeyId> {
        self.newest_first.get(&edge_type).copied()
    }

    /// The pairs of labels that edges of `edge_type` were ever seen to join.
    #[inline]
    pub fn joins(&self, edge_type: TypeId) -> impl Iterator<Item = (LabelId, LabelId)> {
        let range = (edge_type, LabelId(0), LabelId(0))..=(edge_type, LabelId(u16::MAX), LabelId(u16::MAX));
        self.joins.range(range).map(|((_, source, target), ())| (*source, *target))
    }

    /// Whether edges of `edge_type` were seen from `source` to `target` before.
    #[must_use]
    #[inline]
    pub fn has_join(&self, edge_type: TypeId, source: LabelId, target: LabelId) -> bool {
        self.joins.contains_key(&(edge_type, source, target))
    }

    /// Whether `change` would change anything.
    ///
    /// # Errors
    /// `conflict` if the name or property is there with another meaning, which a transaction that
    /// began earlier could not see, or the number with another name, as in a damaged file.
    pub fn would_change(&self, change: &SchemaChange) -> Result<bool> {
        let differs = |what: &str, name: &str| {
            Error::conflict(format!("{what} `{name}` was defined differently by another transaction"))
        };
        match change {
            SchemaChange::AddLabel { id, name } => match self.label(name) {
                Some(known) if known != *id => Err(differs("label", name)),
                None if self.labels.has(id.0) => Err(differs("label", &self.label_name(*id))),
                known => Ok(known.is_none()),
            },
            SchemaChange::AddEdgeType { id, name, simple } => match self.edge_type(name) {
                None if self.edge_types.has(id.0) => Err(differs("edge type", &self.edge_type_name(*id))),
                None => Ok(true),
                Some(known) => {
                    let same = self.edge_type_definition(known).is_some_and(|kind| kind.simple == *simple);
                    if known == *id && same { Ok(false) } else { Err(differs("edge type", name)) }
                }
            },
            SchemaChange::AddKey { id, name } => match self.key(name) {
                Some(known) if known != *id => Err(differs("property key", name)),
                None if self.has_key(*id) => Err(differs("property key", &self.key_name(*id))),
                known => Ok(known.is_none()),
            },
            SchemaChange::AddMetaKey { id, of } => match self.meta_key_of(*of) {
                Some(known) if known != *id => Err(differs("property key", &self.key_name(known))),
                None if self.has_key(*id) => Err(differs("property key", &self.key_name(*id))),
                // Meta-properties have none of their own.
                None if id == of || self.is_meta_key(*of) || self.meta_key_of(*id).is_some() => {
                    Err(differs("property key", &self.key_name(*of)))
                }
                known => Ok(known.is_none()),
            },
            SchemaChange::DefineProperty { owner, key, value_type } => {
                match self.property_type(*owner, *key) {
                    Some(known) if known != *value_type => Err(differs("property", &self.key_name(*key))),
                    known => Ok(known.is_none()),
                }
            }
            SchemaChange::AddIndex(IndexDefinition { id, unique }) => match self.indexes.get(id) {
                Some(known) if known != unique => Err(Error::conflict(format!(
                    "another transaction created a {} index on {} that is {}unique",
                    id.kind,
                    self.property_name(id.owner, id.key),
                    if *known { "" } else { "not " },
                ))),
                known => Ok(known.is_none()),
            },
            SchemaChange::DropIndex(id) => Ok(self.indexes.contains_key(id)),
            SchemaChange::OrderNewestFirst { edge_type, key } => match self.newest_first(*edge_type) {
                Some(known) if known != *key => Err(Error::conflict(format!(
                    "another transaction declared {} newest-first by {}",
                    self.edge_type_name(*edge_type),
                    self.key_name(known),
                ))),
                known => Ok(known.is_none()),
            },
            SchemaChange::Join { edge_type, source, target } => {
                Ok(!self.has_join(*edge_type, *source, *target))
            }
        }
    }

    /// Applies a change that a log carries. The catalogue may come from a checkpoint that is newer than the
    /// change, and name an index that took the place of this one: of indexes the log's last word counts.
    ///
    /// # Errors
    /// Those of [`Catalogue::would_change`]; nothing is changed then.
    #[inline]
    pub fn replay(&mut self, change: &SchemaChange) -> Result<()> {
        if matches!(change, SchemaChange::AddIndex(_)) || self.would_change(change)? {
            self.apply(change);
        }
        Ok(())
    }

    /// Applies a change that [`Catalogue::would_change`] allowed.
    pub fn apply(&mut self, change: &SchemaChange) {
        match change {
            SchemaChange::AddLabel { id, name } => {
                self.labels.set(id.0, name.clone());
                self.label_ids.insert(name.clone(), *id);
            }
            SchemaChange::AddEdgeType { id, name, simple } => {
                self.edge_types.set(id.0, EdgeType { name: name.clone(), simple: *simple });
                self.edge_type_ids.insert(name.clone(), *id);
            }
            SchemaChange::AddKey { id, name } => {
                self.keys.set(id.0, name.clone());
                self.key_ids.insert(name.clone(), *id);
            }
            SchemaChange::AddMetaKey { id, of } => {
                self.meta_keys.insert(*of, *id);
                self.keys_of_meta.insert(*id, *of);
            }
            SchemaChange::DefineProperty { owner, key, value_type } => {
                self.properties.insert((*owner, *key), *value_type);
            }
            SchemaChange::AddIndex(IndexDefinition { id, unique }) => {
                self.indexes.insert(*id, *unique);
            }
            SchemaChange::DropIndex(id) => {
                self.indexes.remove(id);
            }
            SchemaChange::OrderNewestFirst { edge_type, key } => {
                self.newest_first.insert(*edge_type, *key);
            }
            SchemaChange::Join { edge_type, source, target } => {
                self.joins.insert((*edge_type, *source, *target), ());
            }
        }
    }

    /// The changes that make this catalogue from an empty one: its stored form.
    #[must_use]
    pub fn changes(&self) -> Vec<SchemaChange> {
        let labels = self.labels().map(|(id, name)| SchemaChange::AddLabel { id, name: name.clone() });
        let types = self.edge_types().map(|(id, kind)| SchemaChange::AddEdgeType {
            id,
            name: kind.name.clone(),
            simple: kind.simple,
        });
        let keys = self.keys().map(|(id, name)| SchemaChange::AddKey { id, name: name.clone() });
        let meta_keys = self.meta_keys.iter().map(|(of, id)| SchemaChange::AddMetaKey { id: *id, of: *of });
        let properties = self.properties.iter().map(|((owner, key), value_type)| {
            SchemaChange::DefineProperty { owner: *owner, key: *key, value_type: *value_type }
        });
        let indexes = self.indexes().map(SchemaChange::AddIndex);
        let orders = self.newest_first.iter();
        let orders = orders
            .map(|(edge_type, key)| SchemaChange::OrderNewestFirst { edge_type: *edge_type, key: *key });
        let joins = self.joins.iter().map(|((edge_type, source, target), ())| SchemaChange::Join {
            edge_type: *edge_type,
            source: *source,
            target: *target,
        });
        let names = labels.chain(types).chain(keys).chain(meta_keys);
        names.chain(properties).chain(indexes).chain(orders).chain(joins).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on(owner: Owner, unique: bool) -> IndexDefinition {
        IndexDefinition { id: IndexId { owner, key: KeyId(1), kind: IndexKind::Ordered }, unique }
    }

    fn sample() -> Vec<SchemaChange> {
        vec![
            SchemaChange::AddLabel { id: LabelId(0), name: "Person".into() },
            SchemaChange::AddEdgeType { id: TypeId(2), name: "KNOWS".into(), simple: true },
            SchemaChange::AddKey { id: KeyId(1), name: "since".into() },
            SchemaChange::AddMetaKey { id: KeyId(4), of: KeyId(1) },
            SchemaChange::DefineProperty {
                owner: Owner::Label(LabelId(0)),
                key: KeyId(4),
                value_type: ValueType::List,
            },
            SchemaChange::DefineProperty {
                owner: Owner::EdgeType(TypeId(2)),
                key: KeyId(1),
                value_type: ValueType::I32,
            },
            SchemaChange::AddIndex(on(Owner::Label(LabelId(0)), true)),
            SchemaChange::AddIndex(on(Owner::EdgeType(TypeId(2)), false)),
            SchemaChange::OrderNewestFirst { edge_type: TypeId(2), key: KeyId(1) },
            SchemaChange::Join { edge_type: TypeId(2), source: LabelId(0), target: LabelId(0) },
        ]
    }

    #[test]
    fn a_catalogue_is_rebuilt_from_its_changes() {
        let mut catalogue = Catalogue::default();
        for change in sample() {
            assert!(catalogue.would_change(&change).unwrap());
            catalogue.apply(&change);
            assert!(!catalogue.would_change(&change).unwrap(), "an identical change does nothing");
        }
        assert_eq!(catalogue.changes(), sample());
        let mut again = Catalogue::default();
        catalogue.changes().iter().for_each(|change| again.apply(change));
        assert_eq!(again, catalogue);
        assert_eq!(again.edge_type("KNOWS"), Some(TypeId(2)));
        assert_eq!(&*again.edge_type_name(TypeId(1)), "<edge type 1>");
    }

    #[test]
    fn a_name_with_another_meaning_is_a_conflict() {
        let mut catalogue = Catalogue::default();
        sample().iter().for_each(|change| catalogue.apply(change));
        let other_type = SchemaChange::DefineProperty {
            owner: Owner::EdgeType(TypeId(2)),
            key: KeyId(1),
            value_type: ValueType::String,
        };
        assert!(catalogue.would_change(&other_type).unwrap_err().is_conflict());
        let parallel = SchemaChange::AddEdgeType { id: TypeId(2), name: "KNOWS".into(), simple: false };
        assert!(catalogue.would_change(&parallel).unwrap_err().is_conflict());
        for second_name in [
            SchemaChange::AddLabel { id: LabelId(0), name: "City".into() },
            SchemaChange::AddEdgeType { id: TypeId(2), name: "LIKES".into(), simple: true },
            SchemaChange::AddKey { id: KeyId(1), name: "until".into() },
            SchemaChange::AddKey { id: KeyId(4), name: "until".into() },
            SchemaChange::AddMetaKey { id: KeyId(5), of: KeyId(1) },
            SchemaChange::AddMetaKey { id: KeyId(1), of: KeyId(2) },
            SchemaChange::AddMetaKey { id: KeyId(4), of: KeyId(2) },
            SchemaChange::AddMetaKey { id: KeyId(9), of: KeyId(4) },
        ] {
            assert!(catalogue.would_change(&second_name).unwrap_err().is_conflict(), "{second_name:?}");
        }
        let other_order = SchemaChange::OrderNewestFirst { edge_type: TypeId(2), key: KeyId(9) };
        let error = catalogue.would_change(&other_order).unwrap_err();
        assert!(error.is_conflict() && error.to_string().contains("KNOWS newest-first by since"), "{error}");
        let loose = SchemaChange::AddIndex(on(Owner::Label(LabelId(0)), false));
        let error = catalogue.would_change(&loose).unwrap_err();
        assert!(
            error.is_conflict() && error.to_string().contains("on Person.since that is unique"),
            "{error}"
        );
    }

    /// As only a damaged file has them. Found by fuzzing: their names had no end.
    #[test]
    fn keys_of_meta_properties_form_no_ring() {
        for ring in [vec![(9, 9)], vec![(4, 5), (5, 4)], vec![(4, 5), (5, 6), (6, 4)]] {
            let mut catalogue = Catalogue::default();
            let changes =
                ring.iter().map(|&(id, of)| SchemaChange::AddMetaKey { id: KeyId(id), of: KeyId(of) });
            let replayed: Result<Vec<()>> = changes.map(|change| catalogue.replay(&change)).collect();
            assert!(replayed.unwrap_err().is_conflict(), "{ring:?}");
        }
    }

    #[test]
    fn a_key_of_meta_properties_is_there_and_has_no_name() {
        let mut catalogue = Catalogue::default();
        sample().iter().for_each(|change| catalogue.apply(change));
        let (label, key, meta) = (LabelId(0), KeyId(1), KeyId(4));
        assert_eq!(catalogue.meta_key(label, key), Some(meta));
        assert_eq!(catalogue.meta_key(LabelId(1), key), None, "each label is asked for itself");
        assert!(catalogue.has_key(meta) && catalogue.is_meta_key(meta) && !catalogue.is_meta_key(key));
        assert_eq!(catalogue.keys().map(|(id, _)| id).collect::<Vec<_>>(), [key]);
        assert_eq!(catalogue.properties_of(Owner::Label(label)).count(), 0);
        assert_eq!(&*catalogue.key_name(meta), "<properties of since>");
        assert_eq!(catalogue.key("<properties of since>"), None);
    }

    #[test]
    fn a_log_has_the_last_word_on_an_index_and_on_nothing_else() {
        let mut catalogue = Catalogue::default();
        sample().iter().for_each(|change| catalogue.replay(change).unwrap());
        assert_eq!(catalogue.changes(), sample());
        let loose = on(Owner::Label(LabelId(0)), false);
        catalogue.replay(&SchemaChange::AddIndex(loose)).unwrap();
        assert!(catalogue.indexes().any(|index| index == loose));
        let before = catalogue.clone();
        let parallel = SchemaChange::AddEdgeType { id: TypeId(2), name: "KNOWS".into(), simple: false };
        assert!(catalogue.replay(&parallel).unwrap_err().is_conflict());
        assert_eq!(catalogue, before);
    }

    /// With full tables each commit that introduced something copied the whole catalogue, twice if another one came
    /// between: 29 ms for two commits that add a key each.
    #[test]
    fn what_is_new_in_a_clone_costs_a_small_part_of_the_names() {
        const NAMES: u16 = 40_000;
        let mut catalogue = Catalogue::default();
        let mut names: Vec<Arc<str>> = Vec::new();
        for number in 0..NAMES {
            let name = |what: &str| Arc::from(format!("{what} {number}"));
            let [label, edge_type, key] = ["label", "type", "key"].map(name);
            names.extend([Arc::clone(&label), Arc::clone(&edge_type), Arc::clone(&key)]);
            catalogue.apply(&SchemaChange::AddLabel { id: LabelId(number), name: label });
            catalogue.apply(&SchemaChange::AddEdgeType {
                id: TypeId(number),
                name: edge_type,
                simple: false,
            });
            catalogue.apply(&SchemaChange::AddKey { id: KeyId(number), name: key });
        }
        let holders = || names.iter().map(Arc::strong_count).sum::<usize>();
        let before = holders();
        let (label, edge_type, key) = (LabelId(NAMES), TypeId(NAMES), KeyId(NAMES));
        for change in [
            SchemaChange::AddLabel { id: label, name: "label".into() },
            SchemaChange::AddEdgeType { id: edge_type, name: "type".into(), simple: true },
            SchemaChange::AddKey { id: key, name: "key".into() },
            SchemaChange::DefineProperty {
                owner: Owner::Label(LabelId(1)),
                key: KeyId(1),
                value_type: ValueType::I8,
            },
            SchemaChange::Join { edge_type: TypeId(1), source: LabelId(1), target: LabelId(1) },
        ] {
            let mut clone = catalogue.clone();
            clone.apply(&change);
            let copied = holders() - before;
            assert!(copied < 2000, "{copied} names copied for {change:?}");
            assert!(!clone.would_change(&change).unwrap() && catalogue.would_change(&change).unwrap());
        }
    }

    #[test]
    fn a_property_is_unique_as_long_as_one_of_its_indexes_says_so() {
        let mut catalogue = Catalogue::default();
        sample().iter().for_each(|change| catalogue.apply(change));
        let (owner, key) = (Owner::Label(LabelId(0)), KeyId(1));
        let hash = IndexId { owner, key, kind: IndexKind::Hash };
        catalogue.apply(&SchemaChange::AddIndex(IndexDefinition { id: hash, unique: true }));
        assert_eq!(catalogue.indexes_on(owner, key).count(), 2);
        assert_eq!(catalogue.unique_keys().collect::<Vec<_>>(), [(LabelId(0), key)]);
        assert_eq!(catalogue.indexed_keys(owner).collect::<Vec<_>>(), [(key, true)], "both kinds, once");
        for kind in IndexKind::BY_VALUE {
            assert!(catalogue.is_unique(owner, key));
            let drop = SchemaChange::DropIndex(IndexId { owner, key, kind });
            assert!(catalogue.would_change(&drop).unwrap());
            catalogue.apply(&drop);
            assert!(!catalogue.would_change(&drop).unwrap(), "dropped once");
        }
        assert!(!catalogue.is_unique(owner, key) && catalogue.indexed_keys(owner).next().is_none());
    }
}
