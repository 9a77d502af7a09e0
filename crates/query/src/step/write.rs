//! `addV()`, `addE()`, `property()`, `drop()`: change the graph, row by row.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::context::Context;
use crate::execute::pending_batches::PendingBatches;
use crate::execute::pipeline::Step;
use crate::plan::merge::Cardinality;
use crate::plan::new_element::{checked_key, checked_label};
use crate::step::announced::AnnouncedElements;
use crate::step::by::Projection;
use crate::step::meta_property;
use crate::step::property::{PropertyValue, of_new_edge, of_new_vertex, set_of_edge, set_of_vertex};
use crate::step::source::{live_vertices, vertex_of_id};
use crate::step::stored_property::{Change, stored};
use crate::value::item::{Item, Owner};
use crate::write::Writer as _;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::{KeyId, VertexId};
use evergraph_graph::value::Value;
use std::sync::Arc;

/// A property to write, ready to run.
pub struct NewProperty {
    /// Its key.
    pub key: Projection,
    /// Its value.
    pub value: Projection,
    /// How it joins others; as the schema says if the query doesn't.
    pub cardinality: Option<Cardinality>,
    /// Keys and values of its own properties.
    pub properties: Vec<(Projection, Projection)>,
}

/// Keys and values of properties, ready to run.
pub struct NewProperties(pub Vec<NewProperty>);

impl NewProperties {
    /// What is written of each row's properties; a row that has no value for a key isn't changed there.
    fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Vec<PropertyValue>>> {
        let mut all: Vec<Vec<PropertyValue>> = vec![Vec::new(); batch.len()];
        for property in &mut self.0 {
            for (row, written) in all.iter_mut().zip(property.of(batch, cx)?) {
                row.extend(written);
            }
        }
        Ok(all)
    }
}

impl NewProperty {
    fn of(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<Vec<Option<PropertyValue>>> {
        let (keys, values) = (self.key.of(batch, cx)?, self.value.of(batch, cx)?);
        let mut known: Vec<Vec<Change>> = vec![Vec::new(); batch.len()];
        for (key, value) in &mut self.properties {
            let of_rows = key.of(batch, cx)?.into_iter().zip(value.of(batch, cx)?);
            for (known, (key, value)) in known.iter_mut().zip(of_rows) {
                let Some(value) = value else { continue };
                let (name, _) = named(key, cx)?;
                let value = if let Item::Null = value { None } else { Some(stored(value)?) };
                known.push((Value::from(name), value));
            }
        }
        let mut all = Vec::with_capacity(batch.len());
        for ((key, value), properties) in keys.into_iter().zip(values).zip(known) {
            let Some(value) = value else {
                all.push(None);
                continue;
            };
            let (_, key) = named(key, cx)?;
            all.push(Some(PropertyValue { key, value, cardinality: self.cardinality, properties }));
        }
        Ok(all)
    }
}

/// The name of a property, and its number, which it has from now on.
fn named(key: Option<Item>, cx: &mut Context<'_>) -> Result<(String, KeyId)> {
    let name = text(key, "the key of a property")?;
    let key = cx.writer()?.key(checked_key(&name).map_err(Error::invalid)?)?;
    Ok((name, key))
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

/// Adds a vertex for each row, which stands for one traverser: see [`super::unbulk`].
pub struct AddVertex {
    label: Projection,
    properties: NewProperties,
}

impl AddVertex {
    /// With this label and these properties.
    #[must_use]
    pub fn new(label: Projection, properties: NewProperties) -> Self {
        Self { label, properties }
    }
}

impl Step for AddVertex {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let labels = self.label.of(&batch, cx)?;
        let properties = self.properties.of(&batch, cx)?;
        let mut added = Vec::with_capacity(batch.len());
        for (label, properties) in labels.into_iter().zip(properties) {
            let label = text(label, "the label of a vertex")?;
            let label = cx.writer()?.label(checked_label(&label).map_err(Error::invalid)?)?;
            let properties = of_new_vertex(label, properties, cx)?;
            added.push(cx.writer()?.add_vertex(label, &properties)?);
        }
        Ok(Some(batch.follow(&Rows::All, Column::new(Data::Vertices(added)))))
    }
}

/// Adds an edge for each row, which stands for one traverser: see [`super::unbulk`].
pub struct AddEdge {
    edge_type: Projection,
    ends: [Projection; 2],
    properties: NewProperties,
}

impl AddEdge {
    /// Of this type, from the first end to the second, with these properties.
    #[must_use]
    pub fn new(edge_type: Projection, ends: [Projection; 2], properties: NewProperties) -> Self {
        Self { edge_type, ends, properties }
    }
}

impl Step for AddEdge {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let types = self.edge_type.of(&batch, cx)?;
        let [from, to] = &mut self.ends;
        let (sources, targets) = (from.of(&batch, cx)?, to.of(&batch, cx)?);
        let properties = self.properties.of(&batch, cx)?;
        let ends = sources.iter().chain(&targets).flatten().filter_map(|end| vertex_of_id(end).ok()?);
        if let Some(ends) = AnnouncedElements::of_vertices(sources.len() + targets.len(), ends, cx) {
            ends.labels();
        }
        let mut added = Vec::with_capacity(batch.len());
        for (row, (edge_type, properties)) in types.into_iter().zip(properties).enumerate() {
            let name = text(edge_type, "the label of an edge")?;
            let source = end(&sources[row], &name, "from", cx)?;
            let target = end(&targets[row], &name, "to", cx)?;
            let edge_type = cx.writer()?.edge_type(checked_label(&name).map_err(Error::invalid)?)?;
            let properties = of_new_edge(properties, cx)?;
            added.push(cx.writer()?.add_edge(source, edge_type, target, &properties)?);
        }
        Ok(Some(batch.follow(&Rows::All, Column::new(Data::Edges(added)))))
    }
}

/// The vertex at an end of a new edge: it itself, or its id.
fn end(item: &Option<Item>, label: &str, which: &str, cx: &Context<'_>) -> Result<VertexId> {
    let found = match item {
        Some(item @ (Item::Vertex(_) | Item::Value(_))) => live_vertices(std::slice::from_ref(item), cx)?,
        _ => Vec::new(),
    };
    found.first().copied().ok_or_else(|| {
        let met = match item {
            None => "nothing".to_owned(),
            Some(Item::Value(value)) => value.to_string(),
            Some(item) => item.kind(),
        };
        Error::invalid(format!(
            "The value given to addE({label}).{which}() must resolve to a Vertex or the ID of a Vertex present in the \
             graph, and is {met}"
        ))
    })
}

/// Sets properties of each row.
pub struct SetProperties(pub NewProperties);

impl Step for SetProperties {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(mut batch) = input.take() else { return Ok(None) };
        for property in &mut self.0.0 {
            // One key after the other: what a traversal says of the next may depend on the one before.
            let written = property.of(&batch, cx)?;
            if let Some(elements) = AnnouncedElements::of(&batch.current, cx) {
                elements.presence();
            }
            let mut items: Vec<Item> = batch.current.items().collect();
            let mut renewed = false;
            for (item, written) in items.iter_mut().zip(written) {
                let Some(written) = written else { continue };
                match item {
                    Item::Vertex(vertex) => set_of_vertex(*vertex, written, cx)?,
                    Item::Edge(edge) => set_of_edge(*edge, written, cx)?,
                    Item::Property(of) => {
                        // What is found again by what is known of it.
                        *of = Arc::new(meta_property::set(of, written, cx)?);
                        renewed = true;
                    }
                    other => {
                        let text = format!(
                            "property() sets properties of vertices, edges and properties, but found {}",
                            other.kind()
                        );
                        return Err(Error::invalid(text));
                    }
                }
            }
            if renewed {
                batch.current = Column::of_items(items);
            }
        }
        Ok(Some(batch))
    }
}

/// Deletes each row's element, once the last has come that becomes of the same input: what is deleted is not met again on
/// the way there, so that it makes no difference how many rows a batch has.
#[derive(Default)]
pub struct Drop(PendingBatches);

impl Step for Drop {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let rows = batch.len();
        self.0.push(Batch::new(batch.current, vec![0; rows]), &mut cx.charge)?;
        Ok(None)
    }

    fn settles(&self) -> bool {
        true
    }

    fn settle(&mut self, cx: &mut Context<'_>) -> Result<()> {
        while let Some(batch) = self.0.pop() {
            delete_all(&batch.current, cx)?;
        }
        Ok(())
    }

    fn finish(&mut self, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        self.settle(cx).map(|()| None)
    }

    fn reset(&mut self, _origins: u32) {
        self.0.clear();
    }
}

fn delete_all(elements: &Column, cx: &mut Context<'_>) -> Result<()> {
    cx.charge.check()?;
    if let Some(elements) = AnnouncedElements::of(elements, cx) {
        elements.deletion();
    }
    for item in elements.items() {
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
            Item::Property(property) => match &property.owner {
                Owner::Vertex(_) => meta_property::drop_value(&property, cx)?,
                Owner::Edge(edge) => cx.writer()?.set_edge_property(*edge, property.key, None)?,
                Owner::Property(of) => meta_property::drop_of(of, property.key, cx)?,
            },
            other => {
                return Err(Error::invalid(format!(
                    "drop() deletes elements and properties, but found {}",
                    other.kind()
                )));
            }
        }
    }
    Ok(())
}
