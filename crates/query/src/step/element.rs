//! Elements: their labels and properties, for a column at once.

use crate::batch::column::Column;
use crate::execute::context::Context;
use crate::step::announced::AnnouncedElements;
use crate::step::meta_property;
use crate::step::stored_property::{Stored as Kept, each, may_be_several, several};
use crate::value::item::{Item, Owner, Property};
use evergraph_graph::column::Column as Stored;
use evergraph_graph::error::Result;
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::next_reads::NextReads;
use evergraph_graph::value::{Value, ValueType};
use std::sync::Arc;

/// Vertices of which labels and values are read together, where that saves a message: of many, it is one of many.
const FEW: usize = 64;

/// The label of each element of `column`, the key of each property; `None` of anything else, and of what isn't there any
/// more.
///
/// # Errors
/// Errors of reading.
pub fn labels(column: &Column, cx: &Context<'_>) -> Result<Vec<Option<Item>>> {
    let catalogue = cx.catalogue();
    if let Some(vertices) = column.vertices() {
        let mut labels = Vec::with_capacity(vertices.len());
        cx.view().labels(&vertices, &mut labels)?;
        return Ok(labels
            .into_iter()
            .map(|label| Some(Item::from(&*catalogue.label_name(label?))))
            .collect());
    }
    if let Some(elements) = AnnouncedElements::of(column, cx) {
        elements.labels();
    }
    let label = |item: Item| {
        Ok(match item {
            Item::Vertex(vertex) => {
                let mut label = Vec::new();
                cx.view().labels(&[vertex], &mut label)?;
                label.first().copied().flatten().map(|label| Item::from(&*catalogue.label_name(label)))
            }
            Item::Edge(edge) => Some(Item::from(&*catalogue.edge_type_name(edge.edge_type))),
            Item::Property(property) => Some(Item::from(&*catalogue.key_name(property.key))),
            _ => None,
        })
    };
    column.items().map(label).collect()
}

/// The values of the property `key` of each element of `column`, or what each map has at it: several of a row where the schema
/// says so.
///
/// # Errors
/// Errors of reading.
pub fn values(column: &Column, key: &str, cx: &Context<'_>) -> Result<(Vec<u32>, Column)> {
    let id = cx.catalogue().key(key);
    if let Some(vertices) = column.vertices() {
        if let Some(computed) = cx.computed.column(key, &vertices) {
            return Ok(computed);
        }
        let Some(id) = id else { return Ok((Vec::new(), Column::of_items(Vec::new()))) };
        let several = may_be_several(&cx.catalogue(), id);
        if several && vertices.len() <= FEW && cx.heeds_ahead() {
            // With the values: one message, and not two.
            cx.view().ahead(NextReads::Labels(&vertices));
        }
        let mut stored = Stored::new(declared(&vertices, id, cx)?);
        cx.view().vertex_properties(&vertices, id, &mut stored)?;
        let (rows, column) = Column::of_stored(stored);
        if several {
            return spread(&vertices, id, rows, &column, cx);
        }
        return Ok((rows, column));
    }
    if let Some(edges) = column.edges() {
        let Some(id) = id else { return Ok((Vec::new(), Column::of_items(Vec::new()))) };
        let mut stored = Stored::new(ValueType::Any);
        cx.view().edge_properties(&edges, id, &mut stored)?;
        return Ok(Column::of_stored(stored));
    }
    if let (Some(elements), Some(id)) = (AnnouncedElements::of(column, cx), id) {
        elements.values(id);
    }
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for (row, item) in (0_u32..).zip(column.items()) {
        if matches!(item, Item::Vertex(_)) && (id.is_some() || cx.computed.has(key)) {
            let (_, values) = self::values(&Column::of_items(vec![item]), key, cx)?;
            found.extend(values.items());
        } else if let Some(value) = value(&item, key, id, cx)? {
            found.push(value);
        }
        rows.resize(found.len(), row);
    }
    Ok((rows, Column::of_items(found)))
}

/// The values of `key` that `column` has of the vertices at `rows`: of vertices that may have several each one for itself.
fn spread(
    vertices: &[VertexId],
    key: KeyId,
    rows: Vec<u32>,
    column: &Column,
    cx: &Context<'_>,
) -> Result<(Vec<u32>, Column)> {
    let catalogue = cx.catalogue();
    let mut labels = Vec::with_capacity(vertices.len());
    cx.view().labels(vertices, &mut labels)?;
    let (mut each_row, mut found) = (Vec::with_capacity(rows.len()), Vec::with_capacity(rows.len()));
    for (row, item) in rows.into_iter().zip(column.items()) {
        match (labels[row as usize].and_then(|label| several(&catalogue, label, key)), item) {
            (Some(_), Item::Value(value)) => found.extend(each(value).into_iter().map(Item::Value)),
            (_, item) => found.push(item),
        }
        each_row.resize(found.len(), row);
    }
    Ok((each_row, Column::of_items(found)))
}

/// The type that `key` has of the first vertex' label: a column of it turns into one of any type if the others differ. Where it takes a
/// message to learn the label, the type that all labels have.
fn declared(vertices: &[VertexId], key: KeyId, cx: &Context<'_>) -> Result<ValueType> {
    if cx.heeds_ahead() {
        let catalogue = cx.catalogue();
        let owners = catalogue.labels().map(|(label, _)| evergraph_graph::catalogue::Owner::Label(label));
        let mut types = owners.filter_map(|owner| catalogue.property_type(owner, key));
        let first = types.next().unwrap_or(ValueType::Any);
        return Ok(if types.all(|other| other == first) { first } else { ValueType::Any });
    }
    let mut label = Vec::new();
    cx.view().labels(vertices.get(..1).unwrap_or_default(), &mut label)?;
    let owner = label.first().copied().flatten().map(evergraph_graph::catalogue::Owner::Label);
    let declared = owner.and_then(|owner| cx.catalogue().property_type(owner, key));
    Ok(declared.unwrap_or(ValueType::Any))
}

/// The property `key` of one item that is no vertex, whose number is `id` if any element has it.
fn value(item: &Item, key: &str, id: Option<KeyId>, cx: &Context<'_>) -> Result<Option<Item>> {
    let mut stored = Stored::new(ValueType::Any);
    match (item, id) {
        (Item::Edge(edge), Some(id)) => cx.view().edge_properties(&[*edge], id, &mut stored)?,
        (Item::Property(of), Some(_)) => {
            let known = meta_property::known(of, cx)?;
            return Ok(known.get(&Value::from(key)).map(|value| Item::Value(value.clone())));
        }
        (Item::Map(map), _) => return Ok(map.get_text(key).cloned()),
        (Item::Value(Value::Map(map)), _) => {
            return Ok(map.get(&Value::from(key)).map(|value| Item::Value(value.clone())));
        }
        _ => return Ok(None),
    }
    Ok(stored.get(0).map(Item::Value))
}

/// The properties of each element of `column` with these `keys`, or all, by row; each element's by key, those of one key side by
/// side. Of a property, what it has itself.
///
/// # Errors
/// Errors of reading.
pub fn properties(column: &Column, keys: &[Arc<str>], cx: &Context<'_>) -> Result<(Vec<u32>, Vec<Property>)> {
    let catalogue = cx.catalogue();
    let wanted: Vec<KeyId> = keys.iter().filter_map(|key| catalogue.key(key)).collect();
    if let Some(elements) = AnnouncedElements::of(column, cx) {
        elements.properties(&wanted);
    }
    let (mut rows, mut found) = (Vec::new(), Vec::new());
    for (row, item) in (0_u32..).zip(column.items()) {
        let (owner, all) = match item {
            Item::Vertex(vertex) => (Owner::Vertex(vertex), cx.view().vertex_property_map(vertex)?),
            Item::Edge(edge) => (Owner::Edge(edge), cx.view().edge_property_map(edge)?),
            Item::Property(of) => {
                let all = meta_property::properties_of(&of, cx)?;
                (Owner::Property(of), all)
            }
            _ => continue,
        };
        // In the order of the keys that were named, else of their names: never of numbers that a reload changes.
        let mut all: Vec<_> =
            all.into_iter().filter(|(key, _)| keys.is_empty() || wanted.contains(key)).collect();
        all.sort_by_cached_key(|(key, _)| {
            let place = wanted.iter().position(|other| other == key);
            (place, catalogue.key_name(*key))
        });
        let label = match owner {
            Owner::Vertex(vertex) => {
                let mut label = Vec::new();
                cx.view().labels(&[vertex], &mut label)?;
                label.first().copied().flatten()
            }
            Owner::Edge(_) | Owner::Property(_) => None,
        };
        for (key, value) in all {
            let several = label.and_then(|label| several(&catalogue, label, key));
            let known = match (&owner, label.and_then(|label| catalogue.meta_key(label, key))) {
                (Owner::Vertex(vertex), Some(meta)) => {
                    let mut known = Stored::new(ValueType::List);
                    cx.view().vertex_properties(&[*vertex], meta, &mut known)?;
                    known.get(0)
                }
                _ => None,
            };
            if several.is_none() && known.is_none() {
                found.push(Property::new(owner.clone(), key, value));
                continue;
            }
            let all = Kept { value: Some(value), known }.split(several);
            meta_property::as_properties(&owner, key, all, &mut found);
        }
        rows.resize(found.len(), row);
    }
    Ok((rows, found))
}
