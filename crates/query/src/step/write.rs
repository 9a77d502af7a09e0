//! `addV()`, `addE()`, `property()`, `drop()`: what changes the graph, a row after the other.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::step::by::Projection;
use crate::step::source::live_vertices;
use crate::value::item::{Item, Owner};
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;

/// Keys and values of a row's properties, ready to be written.
type Properties = Vec<(KeyId, Value)>;

/// The label of a vertex that was given none, as TinkerPop has it.
pub const DEFAULT_LABEL: &str = "vertex";

/// The rows of `batch`, each as often as it stands for traversers: writes happen for each.
fn unbulked(batch: Batch) -> Batch {
    if batch.bulk.is_none() {
        return batch;
    }
    let rows = (0..batch.len()).flat_map(|row| {
        let times = usize::try_from(batch.bulk(row)).unwrap_or(usize::MAX);
        std::iter::repeat_n(row as u32, times)
    });
    let mut all = batch.gather(&rows.collect());
    all.bulk = None;
    all
}

/// What is written of each row's properties; a row that has no value for a key hasn't that property.
fn properties(
    batch: &Batch,
    pairs: &mut [(Projection, Projection)],
    cx: &mut Context<'_>,
) -> Result<Vec<Properties>> {
    let mut all: Vec<Properties> = vec![Vec::new(); batch.len()];
    for (key, value) in pairs {
        let (keys, values) = (key.of(batch, cx)?, value.of(batch, cx)?);
        for (row, (key, value)) in keys.into_iter().zip(values).enumerate() {
            let Some(value) = value else { continue };
            let name = text(key, "the key of a property")?;
            let id = cx.writer()?.key(&name)?;
            match value {
                // Null is no value that a graph holds.
                Item::Null => all[row].retain(|(other, _)| *other != id),
                value => {
                    all[row].retain(|(other, _)| *other != id);
                    all[row].push((id, stored(value)?));
                }
            }
        }
    }
    Ok(all)
}

/// The value that a graph can hold.
fn stored(item: Item) -> Result<Value> {
    let too_deep =
        |error: evergraph_graph::value::collection::TooDeepError| Error::invalid(error.to_string());
    let all = |items: &[Item]| items.iter().cloned().map(stored).collect::<Result<Vec<Value>>>();
    Ok(match item {
        Item::Value(value) => value,
        Item::List(items) => {
            Value::List(evergraph_graph::value::collection::List::new(all(&items)?).map_err(too_deep)?)
        }
        Item::Set(items) => {
            Value::Set(evergraph_graph::value::collection::Set::new(all(&items)?).map_err(too_deep)?)
        }
        Item::Map(map) => {
            let entries = map.entries().iter().cloned();
            let entries =
                entries.map(|(key, value)| Ok((stored(key)?, stored(value)?))).collect::<Result<_>>()?;
            Value::Map(evergraph_graph::value::collection::Map::new(entries).map_err(too_deep)?)
        }
        other => return Err(Error::invalid(format!("a property holds a value, not {}", other.kind()))),
    })
}

fn text(item: Option<Item>, what: &str) -> Result<String> {
    match item.as_ref().and_then(Item::as_str) {
        Some(text) => Ok(text.to_owned()),
        None => Err(Error::invalid(format!(
            "{what} is a text, not {}",
            item.map_or_else(|| "nothing".to_owned(), |item| item.kind())
        ))),
    }
}

/// Adds a vertex for each row.
pub struct AddVertex {
    label: Projection,
    properties: Vec<(Projection, Projection)>,
}

impl AddVertex {
    /// With this label and these properties.
    #[must_use]
    pub fn new(label: Projection, properties: Vec<(Projection, Projection)>) -> Self {
        Self { label, properties }
    }
}

impl Step for AddVertex {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take().map(unbulked) else { return Ok(None) };
        let labels = self.label.of(&batch, cx)?;
        let properties = properties(&batch, &mut self.properties, cx)?;
        let mut added = Vec::with_capacity(batch.len());
        for (label, properties) in labels.into_iter().zip(properties) {
            let label = text(label, "the label of a vertex")?;
            let writer = cx.writer()?;
            let label = writer.label(&label)?;
            added.push(writer.add_vertex(label, &properties)?);
        }
        Ok(Some(batch.follow(&Rows::All, Column::new(Data::Vertices(added)))))
    }
}

/// Adds an edge for each row.
pub struct AddEdge {
    edge_type: Projection,
    ends: [Projection; 2],
    properties: Vec<(Projection, Projection)>,
}

impl AddEdge {
    /// Of this type, from the first end to the second, with these properties.
    #[must_use]
    pub fn new(
        edge_type: Projection,
        ends: [Projection; 2],
        properties: Vec<(Projection, Projection)>,
    ) -> Self {
        Self { edge_type, ends, properties }
    }
}

impl Step for AddEdge {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take().map(unbulked) else { return Ok(None) };
        let types = self.edge_type.of(&batch, cx)?;
        let [from, to] = &mut self.ends;
        let (sources, targets) = (from.of(&batch, cx)?, to.of(&batch, cx)?);
        let properties = properties(&batch, &mut self.properties, cx)?;
        let mut added = Vec::with_capacity(batch.len());
        for (row, edge_type) in types.into_iter().enumerate() {
            let edge_type = text(edge_type, "the label of an edge")?;
            let (source, target) = (end(&sources[row], "from()", cx)?, end(&targets[row], "to()", cx)?);
            let writer = cx.writer()?;
            let edge_type = writer.edge_type(&edge_type)?;
            added.push(writer.add_edge(source, edge_type, target, &properties[row])?);
        }
        Ok(Some(batch.follow(&Rows::All, Column::new(Data::Edges(added)))))
    }
}

/// The vertex that an end of an edge is, or whose id it is.
fn end(item: &Option<Item>, which: &str, cx: &Context<'_>) -> Result<VertexId> {
    let found = match item {
        Some(Item::Vertex(vertex)) => Some(*vertex),
        Some(id @ Item::Value(_)) => live_vertices(std::slice::from_ref(id), cx)?.pop(),
        _ => None,
    };
    found.ok_or_else(|| {
        let met = item.as_ref().map_or_else(|| "nothing".to_owned(), Item::kind);
        Error::invalid(format!(
            "the {which} of addE() must resolve to a Vertex or the ID of a Vertex present in the graph, and is {met}"
        ))
    })
}

/// Sets properties of each row.
pub struct SetProperties(pub Vec<(Projection, Projection)>);

impl Step for SetProperties {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        for (key, value) in &mut self.0 {
            let (keys, values) = (key.of(&batch, cx)?, value.of(&batch, cx)?);
            for ((item, key), value) in batch.current.items().zip(keys).zip(values) {
                let Some(value) = value else { continue };
                let name = text(key, "the key of a property")?;
                let writer = cx.writer()?;
                let id = writer.key(&name)?;
                let value = match value {
                    Item::Null => None,
                    value => Some(stored(value)?),
                };
                match item {
                    Item::Vertex(vertex) => writer.set_vertex_property(vertex, id, value)?,
                    Item::Edge(edge) => writer.set_edge_property(edge, id, value)?,
                    other => {
                        let text = format!(
                            "property() sets properties of vertices and edges, and met {}",
                            other.kind()
                        );
                        return Err(Error::invalid(text));
                    }
                }
            }
        }
        Ok(Some(batch))
    }
}

/// Deletes each row's element.
pub struct Drop;

impl Step for Drop {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        for item in batch.current.items() {
            // What a traversal reaches twice, or what went with its vertex, is gone already.
            match item {
                Item::Vertex(vertex) => {
                    let mut label = Vec::new();
                    cx.view().labels(&[vertex], &mut label)?;
                    if label.first().is_some_and(Option::is_some) {
                        cx.writer()?.delete_vertex(vertex)?;
                    }
                }
                Item::Edge(edge) => {
                    let mut found = Vec::new();
                    cx.view().has_edges(&[edge], &mut found)?;
                    if found.first() == Some(&true) {
                        cx.writer()?.delete_edge(edge)?;
                    }
                }
                Item::Property(property) => {
                    let writer = cx.writer()?;
                    match property.owner {
                        Owner::Vertex(vertex) => writer.set_vertex_property(vertex, property.key, None)?,
                        Owner::Edge(edge) => writer.set_edge_property(edge, property.key, None)?,
                    }
                }
                other => {
                    return Err(Error::invalid(format!(
                        "drop() deletes elements and properties, and met {}",
                        other.kind()
                    )));
                }
            }
        }
        Ok(None)
    }
}
