//! Schema writes: names and property types that a transaction is the first to use.
//!
//! The transaction reads a catalogue with its own changes applied; it is copied at the first change
//! only. At commit the changes travel along; those that somebody else made meanwhile are no news.

use crate::transaction::fitting::fitted;
use crate::transaction::give_names::{GiveNames, GivenName, NameRequest};
use evergraph_graph::catalogue::{Catalogue, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId};
use evergraph_graph::newest::can_order;
use evergraph_graph::properties::Properties;
use evergraph_graph::schema_change::SchemaChange;
use evergraph_graph::value::ValueType;
use evergraph_graph::value::shortened::Shortened;
use std::sync::Arc;

/// Why a name is there behind [`SchemaWrites::add`].
const GIVEN: &str = "who gives a name gives the one that was asked for";

/// The catalogue of a transaction, and what it changed.
#[derive(Debug)]
pub struct SchemaWrites {
    /// As it was when the transaction began.
    base: Arc<Catalogue>,
    /// With `changes`, and names that were committed since; the same as `base` without.
    current: Arc<Catalogue>,
    changes: Vec<SchemaChange>,
}

impl SchemaWrites {
    /// Nothing is changed yet.
    #[must_use]
    #[inline]
    pub fn new(base: Arc<Catalogue>) -> Self {
        Self { current: Arc::clone(&base), base, changes: Vec::new() }
    }

    /// The catalogue that the transaction began with.
    #[must_use]
    #[inline]
    pub fn base(&self) -> &Arc<Catalogue> {
        &self.base
    }

    /// The catalogue with the transaction's own changes.
    #[must_use]
    #[inline]
    pub fn current(&self) -> &Arc<Catalogue> {
        &self.current
    }

    /// The changes, in order.
    #[must_use]
    #[inline]
    pub fn changes(&self) -> &[SchemaChange] {
        &self.changes
    }

    /// Makes a change that [`Catalogue::would_change`] allows.
    pub fn make(&mut self, change: SchemaChange) {
        Arc::make_mut(&mut self.current).apply(&change);
        self.changes.push(change);
    }

    /// Adds a name: to what is committed, unless it is already.
    fn add(&mut self, name: GivenName) {
        match name {
            GivenName::New(change) => self.make(change),
            GivenName::Committed(change) => Arc::make_mut(&mut self.current).apply(&change),
        }
    }

    /// The label called `name`, added if it is new.
    ///
    /// # Errors
    /// As [`GiveNames::give`].
    pub fn label(&mut self, names: &dyn GiveNames, name: &str) -> Result<LabelId> {
        if let Some(id) = self.current.label(name) {
            return Ok(id);
        }
        self.add(names.give(NameRequest::Label(&name.into()))?);
        Ok(self.current.label(name).expect(GIVEN))
    }

    /// The property key called `name`, added if it is new.
    ///
    /// # Errors
    /// As [`GiveNames::give`].
    pub fn key(&mut self, names: &dyn GiveNames, name: &str) -> Result<KeyId> {
        if let Some(id) = self.current.key(name) {
            return Ok(id);
        }
        self.add(names.give(NameRequest::Key(&name.into()))?);
        Ok(self.current.key(name).expect(GIVEN))
    }

    /// The edge type called `name`, added if it is new, with parallel edges unless `simple`.
    ///
    /// # Errors
    /// As [`GiveNames::give`].
    pub fn edge_type(&mut self, names: &dyn GiveNames, name: &str, simple: bool) -> Result<TypeId> {
        if let Some(id) = self.current.edge_type(name) {
            return Ok(id);
        }
        self.add(names.give(NameRequest::EdgeType { name: &name.into(), simple })?);
        Ok(self.current.edge_type(name).expect(GIVEN))
    }

    /// Declares the type of a property.
    ///
    /// # Errors
    /// `invalid` if it has another one, or owner or key don't exist.
    pub fn declare(&mut self, owner: Owner, key: KeyId, value_type: ValueType) -> Result<()> {
        self.check_owner(owner)?;
        self.check_key(key)?;
        match self.current.property_type(owner, key) {
            None => self.make(SchemaChange::DefineProperty { owner, key, value_type }),
            Some(known) if known == value_type => {}
            Some(known) => {
                let property = self.current.property_name(owner, key);
                let text = format!("property {property} is {known} already and cannot become {value_type}");
                return Err(Error::invalid(text));
            }
        }
        Ok(())
    }

    /// Declares that values of a vertex property have meta-properties.
    ///
    /// # Errors
    /// `invalid` if label or key don't exist; as [`GiveNames::give`].
    pub fn declare_meta_properties(
        &mut self,
        names: &dyn GiveNames,
        label: LabelId,
        key: KeyId,
    ) -> Result<()> {
        let owner = Owner::Label(label);
        self.check_owner(owner)?;
        self.check_key(key)?;
        if self.current.is_meta_key(key) {
            return Err(Error::invalid("properties of properties have no properties"));
        }
        let id = match self.current.meta_key_of(key) {
            Some(id) => id,
            None => {
                self.add(names.give(NameRequest::MetaKey { of: key, name: &self.current.key_name(key) })?);
                self.current.meta_key_of(key).expect(GIVEN)
            }
        };
        self.declare(owner, id, ValueType::List)
    }

    /// Declares that edges of a type are read newest first by a property.
    ///
    /// # Errors
    /// `invalid` if they are by another one, the property has no type or one without such an order, or edge
    /// type or key don't exist.
    pub fn order_newest_first(&mut self, edge_type: TypeId, key: KeyId) -> Result<()> {
        let owner = Owner::EdgeType(edge_type);
        self.check_owner(owner)?;
        self.check_key(key)?;
        let property = || self.current.property_name(owner, key);
        match self.current.newest_first(edge_type) {
            Some(known) if known == key => return Ok(()),
            Some(known) => {
                let (name, known) = (self.current.owner_name(owner), self.current.key_name(known));
                let text =
                    format!("{name} is newest-first by {known} already and cannot be by {}", property());
                return Err(Error::invalid(text));
            }
            None => {}
        }
        let wanted = "an order by it takes a whole number of at most 64 bits, a date or a datetime";
        match self.current.property_type(owner, key) {
            Some(value_type) if can_order(value_type) => {}
            Some(value_type) => {
                return Err(Error::invalid(format!("property {} is {value_type}: {wanted}", property())));
            }
            None => {
                let text = format!("property {} has no type yet: declare it; {wanted}", property());
                return Err(Error::invalid(text));
            }
        }
        self.make(SchemaChange::OrderNewestFirst { edge_type, key });
        Ok(())
    }

    /// `properties` as the types of `owner` want them: numbers in their width; the types of properties that
    /// have none yet are learned.
    ///
    /// # Errors
    /// `invalid` for a value of the wrong type, naming owner, key, expected and found, or if owner or
    /// key don't exist; nothing is learned then.
    pub fn fit(&mut self, owner: Owner, properties: Properties) -> Result<Properties> {
        self.check_owner(owner)?;
        let mut learned = Vec::new();
        let mut other: Vec<(KeyId, ValueType)> = Vec::new();
        for (key, value) in properties.as_slice() {
            let Some(value) = value else {
                self.check_key(*key)?;
                continue;
            };
            // What has a type has a name.
            match self.current.property_type(owner, *key) {
                None => {
                    self.check_key(*key)?;
                    learned.push((*key, value.value_type()));
                }
                Some(declared) if declared.accepts(value) => {}
                Some(declared) if fitted(value, declared).is_some() => other.push((*key, declared)),
                Some(declared) => {
                    let property = self.current.property_name(owner, *key);
                    let (found, value) = (value.value_type(), Shortened::new(&value.to_string()));
                    let text = format!("property {property} takes {declared}, found the {found} {value}");
                    return Err(Error::invalid(text));
                }
            }
        }
        for (key, value_type) in learned {
            self.make(SchemaChange::DefineProperty { owner, key, value_type });
        }
        if other.is_empty() {
            return Ok(properties);
        }
        let fitted = properties.as_slice().iter().map(|(key, value)| {
            let to = other.iter().find(|(other, _)| other == key).map(|(_, to)| *to);
            let fitting = to.zip(value.as_ref()).and_then(|(to, value)| fitted(value, to));
            (*key, fitting.or_else(|| value.clone()))
        });
        Ok(fitted.collect())
    }

    fn check_owner(&self, owner: Owner) -> Result<()> {
        match owner {
            Owner::Label(label) if !self.current.has_label(label) => {
                Err(Error::invalid(format!("there is no label {}: name it with `label` first", label.0)))
            }
            Owner::EdgeType(id) if self.current.edge_type_definition(id).is_none() => {
                Err(Error::invalid(format!("there is no edge type {}: name it with `edge_type` first", id.0)))
            }
            Owner::Label(_) | Owner::EdgeType(_) => Ok(()),
        }
    }

    fn check_key(&self, key: KeyId) -> Result<()> {
        if self.current.has_key(key) {
            return Ok(());
        }
        Err(Error::invalid(format!("there is no property key {}: name it with `key` first", key.0)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transaction::names::Names;
    use evergraph_graph::error::ErrorKind;
    use evergraph_graph::value::Value;

    fn person() -> (Names, SchemaWrites, Owner, KeyId) {
        let names = Names::of(&Catalogue::default());
        let mut schema = SchemaWrites::new(Arc::default());
        let owner = Owner::Label(schema.label(&names, "Person").unwrap());
        let key = schema.key(&names, "age").unwrap();
        (names, schema, owner, key)
    }

    fn one(key: KeyId, value: Value) -> Properties {
        Properties::new(vec![(key, Some(value))])
    }

    #[test]
    fn a_type_is_learned_from_the_first_value_and_other_numbers_take_its_width() {
        let (_, mut schema, owner, key) = person();
        schema.fit(owner, one(key, Value::I64(5))).unwrap();
        assert_eq!(schema.current().property_type(owner, key), Some(ValueType::I64));
        for number in [Value::I8(6), Value::I32(6), Value::I64(6)] {
            assert_eq!(schema.fit(owner, one(key, number)).unwrap(), one(key, Value::I64(6)));
        }
        assert_eq!(schema.changes().len(), 3, "label, key and type, once each");
        assert!(schema.base().label("Person").is_none(), "the base stays as it was");
    }

    #[test]
    fn a_wrong_type_is_named_with_owner_key_expected_and_found_and_nothing_is_learned() {
        let (names, mut schema, owner, key) = person();
        schema.declare(owner, key, ValueType::I32).unwrap();
        let city = schema.key(&names, "city").unwrap();
        let changes = schema.changes().len();
        let both =
            Properties::new(vec![(key, Some(Value::I64(5_000_000_000))), (city, Some(Value::from("Oslo")))]);
        let error = schema.fit(owner, both).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert_eq!(error.to_string(), "property Person.age takes int, found the long \"5000000000\"");
        assert_eq!(schema.changes().len(), changes);
        assert!(schema.declare(owner, key, ValueType::I64).is_err());
    }

    #[test]
    fn a_property_declared_any_takes_values_of_all_types() {
        let (_, mut schema, owner, key) = person();
        schema.declare(owner, key, ValueType::Any).unwrap();
        for value in [Value::I8(1), Value::from("one")] {
            assert_eq!(schema.fit(owner, one(key, value.clone())).unwrap(), one(key, value));
        }
    }

    #[test]
    fn an_order_is_declared_once_for_a_property_that_has_one() {
        let names = Names::of(&Catalogue::default());
        let mut schema = SchemaWrites::new(Arc::default());
        let posted = schema.edge_type(&names, "POSTED", false).unwrap();
        let [at, other, text] = ["at", "seen", "text"].map(|name| schema.key(&names, name).unwrap());
        let refused = |schema: &mut SchemaWrites, key, why: &str| {
            let error = schema.order_newest_first(posted, key).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Invalid);
            assert!(error.to_string().contains(why), "{error}");
        };
        refused(&mut schema, at, "POSTED.at has no type yet");
        for (key, value_type) in
            [(at, ValueType::DateTime), (other, ValueType::I64), (text, ValueType::String)]
        {
            schema.declare(Owner::EdgeType(posted), key, value_type).unwrap();
        }
        refused(&mut schema, text, "POSTED.text is string: an order by it takes");
        schema.order_newest_first(posted, at).unwrap();
        let changes = schema.changes().len();
        schema.order_newest_first(posted, at).unwrap();
        assert_eq!(schema.changes().len(), changes, "declared again, nothing changes");
        refused(&mut schema, other, "POSTED is newest-first by at already and cannot be by POSTED.seen");
        refused(&mut schema, KeyId(9), "there is no property key 9");
        assert!(schema.order_newest_first(TypeId(9), at).is_err());
    }

    #[test]
    fn ids_that_nobody_named_are_refused() {
        let (_, mut schema, owner, key) = person();
        assert!(schema.fit(owner, one(KeyId(9), Value::I8(1))).is_err());
        assert!(schema.fit(Owner::Label(LabelId(9)), Properties::EMPTY).is_err());
        assert!(schema.declare(Owner::EdgeType(TypeId(0)), key, ValueType::I8).is_err());
    }
}
