//! Identity: the ids that vertices get in files.
//!
//! | file | a vertex is called by | unique in |
//! |---|---|---|
//! | CSV, Parquet | its label's unique key, if every vertex has it and ids can be of its type | the label |
//! | one file of all labels | the property `id`, if it is such a key of every label, of one type, and no two vertices of the graph share a value | the graph |
//! | otherwise | its number in the database, which the import doesn't keep where a file can say so | the graph |

use crate::export::facts::Facts;
use crate::export::pages;
use crate::export::survey::{LabelSurvey, Survey};
use crate::import::id_type::IdType;
use evergraph_graph::catalogue::Owner;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, LabelId, VertexId};
use evergraph_graph::value::{Value, ValueType};
use evergraph_graph::view::GraphView;

/// The property that is the id in files of all labels.
const ID_KEY: &str = "id";

/// What the vertices of one label, or of all, are called by.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Their numbers in the database.
    Number,
    /// A property, of a type that ids of files can have ([`IdType`]).
    Key(KeyId, ValueType),
}

impl Identity {
    /// What the vertices of one label are called by, if ids are unique in a label.
    #[must_use]
    pub fn of_label(survey: &Survey, label: &LabelSurvey) -> Self {
        let catalogue = &survey.catalogue;
        let usable =
            label.facts.iter().filter(|(key, _)| catalogue.is_unique(Owner::Label(label.label), **key));
        let mut usable = usable.filter_map(|(key, facts)| Some((*key, id_type(facts, label.count)?)));
        let first = usable.next();
        // Of several the one that is called so.
        let named = first.into_iter().chain(usable).find(|(key, _)| &*catalogue.key_name(*key) == ID_KEY);
        named.or(first).map_or(Self::Number, |(key, value_type)| Self::Key(key, value_type))
    }

    /// What all vertices are called by, if ids are unique in the graph. Cost: each id is looked up in
    /// the other labels.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn of_graph(view: &dyn GraphView, survey: &Survey) -> Result<Self> {
        let Some(key) = survey.catalogue.key(ID_KEY) else { return Ok(Self::Number) };
        let id_type = |label: &LabelSurvey| {
            let is_unique = survey.catalogue.is_unique(Owner::Label(label.label), key);
            label.facts.get(&key).filter(|_| is_unique).and_then(|facts| id_type(facts, label.count))
        };
        let mut id_types = survey.labels.iter().map(id_type);
        let Some(Some(first)) = id_types.next() else { return Ok(Self::Number) };
        if !id_types.all(|id_type| id_type == Some(first)) || is_shared(view, survey, key)? {
            return Ok(Self::Number);
        }
        Ok(Self::Key(key, first))
    }

    /// The property that ids are, if they are one.
    #[must_use]
    pub fn key(self) -> Option<KeyId> {
        match self {
            Self::Number => None,
            Self::Key(key, _) => Some(key),
        }
    }

    /// The type of ids.
    #[must_use]
    pub fn value_type(self) -> ValueType {
        match self {
            Self::Number => ValueType::I64,
            Self::Key(_, value_type) => value_type,
        }
    }

    /// What `vertices` are called, a row each. They are all of `label`, if one is given.
    ///
    /// # Errors
    /// Errors of reading.
    pub fn column(
        self,
        view: &dyn GraphView,
        label: Option<LabelId>,
        vertices: &[VertexId],
    ) -> Result<Column> {
        match (self, label) {
            (Self::Number, _) => {
                let mut column = Column::new(ValueType::I64);
                vertices.iter().for_each(|vertex| column.push(Some(number(*vertex))));
                Ok(column)
            }
            (Self::Key(key, _), Some(label)) => pages::vertex_column(view, label, vertices, key),
            (Self::Key(key, value_type), None) => {
                let mut column = Column::new(value_type);
                view.vertex_properties(vertices, key, &mut column)?;
                Ok(column)
            }
        }
    }
}

/// The number of a vertex as a value.
fn number(vertex: VertexId) -> Value {
    Value::I64(i64::from(vertex.0))
}

/// The type of ids that a property with `facts` makes for `count` vertices; `None` if it makes none.
fn id_type(facts: &Facts, count: u64) -> Option<ValueType> {
    let value_type = facts.types.only().filter(|_| facts.count == count && facts.texts_are_plain)?;
    IdType::new(value_type).map(IdType::value_type)
}

/// Whether vertices of two labels share a value of `key`, which is unique in each.
fn is_shared(view: &dyn GraphView, survey: &Survey, key: KeyId) -> Result<bool> {
    let mut found = Vec::new();
    for (place, label) in survey.labels.iter().enumerate() {
        let others = &survey.labels[place + 1..];
        if others.is_empty() {
            break;
        }
        let mut found_here = false;
        pages::vertices(view, label.label, |page| {
            let column = pages::vertex_column(view, label.label, page, key)?;
            let ids: Vec<Value> = (0..column.len()).filter_map(|row| column.get(row)).collect();
            for other in others {
                found.clear();
                view.look_up(other.label, key, &ids, &mut found)?;
                found_here |= found.iter().any(Option::is_some);
            }
            Ok(())
        })?;
        if found_here {
            return Ok(true);
        }
    }
    Ok(false)
}
