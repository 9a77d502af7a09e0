//! Known: the vertices that a database has before an import, found by the ids in files.
//!
//! A label's vertices are found by its unique key: id 17 of label Person, whose unique key is `id`, is
//! the vertex whose `id` is 17. Of several keys it is the one called `id`, unless a header names another.
//! Labels without a unique key have no known vertices.

use evergraph_graph::catalogue::Owner;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;
use std::collections::HashMap;
use std::fmt;

/// The unique key that ids are, if a label has several.
const ID_KEY: &str = "id";

/// What a database has; nothing, if the import makes it.
#[derive(Default)]
pub struct Known(Option<Box<dyn GraphView>>);

/// The vertices of one label by one key.
pub struct KnownLabel<'a> {
    view: &'a dyn GraphView,
    label: LabelId,
    key: KeyId,
    /// The name of the key.
    pub key_name: String,
    /// The type of its values; `None` while there are none.
    pub value_type: Option<ValueType>,
}

impl Known {
    /// What `view` shows.
    #[must_use]
    pub fn of(view: impl GraphView + 'static) -> Self {
        Self(Some(Box::new(view)))
    }

    /// Whether there is no database.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.0.is_none()
    }

    /// The vertices of `label` by `key`, if it is a unique key of theirs.
    #[must_use]
    pub fn by_key(&self, label: &str, key: &str) -> Option<KnownLabel<'_>> {
        let view = self.view()?;
        let catalogue = view.catalogue();
        let (label, key) = (catalogue.label(label)?, catalogue.key(key)?);
        catalogue.is_unique(Owner::Label(label), key).then(|| KnownLabel::new(view, label, key))
    }

    /// The vertices of `label` by its unique key `key` (`None`: its only one, or the one called `id`);
    /// `None` if the database has no such label.
    ///
    /// # Errors
    /// `invalid` if the label has no such key, or if it isn't clear which of several is meant.
    pub fn by_label(&self, label: &str, key: Option<&str>) -> Result<Option<KnownLabel<'_>>> {
        let Some(view) = self.view() else { return Ok(None) };
        let catalogue = view.catalogue();
        let Some(id) = catalogue.label(label) else { return Ok(None) };
        let keys: Vec<(KeyId, String)> = catalogue
            .unique_keys()
            .filter(|on| on.0 == id)
            .map(|on| (on.1, catalogue.key_name(on.1).to_string()))
            .collect();
        let called = |wanted: &str| keys.iter().find(|(_, name)| name == wanted);
        let names = || keys.iter().map(|(_, name)| name.as_str()).collect::<Vec<_>>().join(", ");
        let found = match (key, &keys[..]) {
            (_, []) => {
                return Err(Error::invalid(format!(
                    "label {label} of the database has no unique key, by which ids would be found"
                )));
            }
            (Some(key), _) => called(key).ok_or_else(|| {
                Error::invalid(format!(
                    "{key} is not a unique key of label {label} in the database; there is {}",
                    names()
                ))
            })?,
            (None, [only]) => only,
            (None, _) => called(ID_KEY).ok_or_else(|| {
                Error::invalid(format!(
                    "label {label} of the database has several unique keys ({}) and none of them is called id: \
                     say which one ids are, as in :START_ID({label}){{key:{}}}",
                    names(),
                    keys[0].1
                ))
            })?,
        };
        Ok(Some(KnownLabel::new(view, id, found.0)))
    }

    /// The labels whose vertices edges can name: those with a unique key, by their names.
    #[must_use]
    pub fn labels(&self) -> Vec<String> {
        let Some(view) = self.view() else { return Vec::new() };
        let catalogue = view.catalogue();
        let mut labels: Vec<String> =
            catalogue.unique_keys().map(|on| catalogue.label_name(on.0).to_string()).collect();
        labels.sort();
        labels.dedup();
        labels
    }

    /// The unique keys of `label`, by their names.
    #[must_use]
    pub fn unique_keys(&self, label: &str) -> Vec<String> {
        let Some(view) = self.view() else { return Vec::new() };
        let catalogue = view.catalogue();
        let Some(label) = catalogue.label(label) else { return Vec::new() };
        let keys = catalogue.unique_keys().filter(|on| on.0 == label);
        keys.map(|on| catalogue.key_name(on.1).to_string()).collect()
    }

    /// How many edges there are of each type. Cost: a look at each segment.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn edges_by_type(&self) -> Result<HashMap<String, u64>> {
        let Some(view) = self.view() else { return Ok(HashMap::new()) };
        let catalogue = view.catalogue();
        let counts = view.statistics()?.edges;
        Ok(counts.iter().map(|(id, count)| (catalogue.edge_type_name(*id).to_string(), *count)).collect())
    }

    /// The type of the property `key` of `owner`, if the database has one.
    #[must_use]
    pub fn property_type(&self, owner: OwnerOf<'_>, key: &str) -> Option<ValueType> {
        let catalogue = self.view()?.catalogue();
        let owner = match owner {
            OwnerOf::Label(name) => Owner::Label(catalogue.label(name)?),
            OwnerOf::EdgeType(name) => Owner::EdgeType(catalogue.edge_type(name)?),
        };
        catalogue.property_type(owner, catalogue.key(key)?)
    }

    fn view(&self) -> Option<&dyn GraphView> {
        self.0.as_deref()
    }
}

/// Whose property, by name.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OwnerOf<'a> {
    /// That of a label's vertices.
    Label(&'a str),
    /// That of a type's edges.
    EdgeType(&'a str),
}

impl fmt::Display for OwnerOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(name) => write!(f, "label {name}"),
            Self::EdgeType(name) => write!(f, "type {name}"),
        }
    }
}

impl<'a> KnownLabel<'a> {
    fn new(view: &'a dyn GraphView, label: LabelId, key: KeyId) -> Self {
        let catalogue = view.catalogue();
        let value_type = catalogue.property_type(Owner::Label(label), key);
        Self { view, label, key, key_name: catalogue.key_name(key).to_string(), value_type }
    }

    /// The vertex with `id`. Cost: a look-up in the index.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn find(&self, id: &Value) -> Result<Option<VertexId>> {
        let id = match (self.value_type, id.as_i64()) {
            (Some(ValueType::I8), Some(number)) => i8::try_from(number).ok().map(Value::I8),
            (Some(ValueType::I16), Some(number)) => i16::try_from(number).ok().map(Value::I16),
            (Some(ValueType::I32), Some(number)) => i32::try_from(number).ok().map(Value::I32),
            _ => Some(id.clone()),
        };
        let Some(id) = id else { return Ok(None) };
        let mut found = Vec::with_capacity(1);
        self.view.look_up(self.label, self.key, &[id], &mut found)?;
        Ok(found[0])
    }
}
