//! `out()` to `bothE()`, and `outV()` to `otherV()`: from vertices over edges.

use crate::batch::column::{Column, Data};
use crate::batch::{Batch, Rows};
use crate::execute::child::Child;
use crate::execute::context::Context;
use crate::execute::pipeline::Step;
use crate::plan::operator::{EdgeEnd, Expand, ExpandTo};
use crate::value::item::Item;
use evergraph_graph::error::{Error, Result};
use evergraph_graph::id::Direction;
use evergraph_graph::id::{EdgeId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{NeighborBatch, NeighborCursor};
use std::sync::Arc;

/// From vertices over their edges.
pub struct Expansion {
    expand: Expand,
    /// The rows of the input that is being expanded: looked up once, though it is expanded in pieces.
    of: Option<Asked>,
    found: NeighborBatch,
    /// How many were found last time.
    last: usize,
    /// Which edges count, and which vertices at their ends.
    edges: Option<Child>,
    vertices: Option<Child>,
}

struct Asked {
    vertices: Vec<VertexId>,
    types: Option<Vec<TypeId>>,
    cursor: NeighborCursor,
}

impl Expansion {
    /// Runs `expand`, over edges and to vertices for which the given traversals have a result.
    #[must_use]
    pub fn new(expand: Expand, edges: Option<Child>, vertices: Option<Child>) -> Self {
        Self { expand, of: None, found: NeighborBatch::default(), last: 0, edges, vertices }
    }

    /// Leaves out what was found on the way from `batch` over edges, or to vertices, that don't count.
    fn narrow(&mut self, batch: &Batch, cx: &mut Context<'_>) -> Result<()> {
        let found = &mut self.found;
        if let Some(edges) = &mut self.edges {
            let on_edges = Column::new(Data::Edges(found.edges.clone()));
            let rows = Rows::Some(found.rows.as_slice().into());
            retain(found, &edges.exists(&batch.clone().follow(&rows, on_edges), cx)?);
        }
        if let Some(vertices) = &mut self.vertices {
            let beyond = Column::new(Data::Vertices(found.neighbors.clone()));
            let rows = Rows::Some(found.rows.as_slice().into());
            retain(found, &vertices.exists(&batch.clone().follow(&rows, beyond), cx)?);
        }
        Ok(())
    }

    fn ask(&self, batch: &Batch, cx: &Context<'_>) -> Result<Asked> {
        let vertices = vertices(batch, || format!("{}()", self.name()))?;
        let catalogue = cx.catalogue();
        let numbers =
            |names: &Vec<Arc<str>>| names.iter().filter_map(|name| catalogue.edge_type(name)).collect();
        let mut types: Option<Vec<TypeId>> = self.expand.types.as_ref().map(numbers);
        if let Some(types) = &mut types {
            types.sort_unstable();
            types.dedup();
        }
        let done = types.as_ref().is_some_and(Vec::is_empty);
        Ok(Asked { vertices, types, cursor: NeighborCursor { done, ..NeighborCursor::default() } })
    }

    fn name(&self) -> &'static str {
        match (self.expand.direction, self.expand.to) {
            (Direction::Out, ExpandTo::Edges(_)) => "outE",
            (Direction::In, ExpandTo::Edges(_)) => "inE",
            (Direction::Both, ExpandTo::Edges(_)) => "bothE",
            (Direction::Out, _) => "out",
            (Direction::In, _) => "in",
            (Direction::Both, _) => "both",
        }
    }

    /// The number of edges of each row, as an item.
    fn count(&mut self, batch: Batch, cx: &Context<'_>) -> Result<Batch> {
        let asked = self.ask(&batch, cx)?;
        let mut degrees = Vec::with_capacity(batch.len());
        if asked.cursor.done {
            degrees.resize(batch.len(), 0);
        } else {
            cx.view().degrees(
                &asked.vertices,
                asked.types.as_deref(),
                self.expand.direction,
                &mut degrees,
            )?;
        }
        let counts = degrees.into_iter().map(|degree| degree as i64).collect();
        Ok(batch.follow(&Rows::All, Column::new(Data::Integers(ValueType::I64, counts))))
    }
}

impl Step for Expansion {
    fn process(&mut self, input: &mut Option<Batch>, cx: &mut Context<'_>) -> Result<Option<Batch>> {
        if self.expand.to == ExpandTo::Count {
            return input.take().map(|batch| self.count(batch, cx)).transpose();
        }
        let Some(batch) = input else { return Ok(None) };
        let mut asked = match self.of.take() {
            Some(asked) => asked,
            None => self.ask(batch, cx)?,
        };
        self.found.clear();
        if !asked.cursor.done {
            let (types, limit) = (asked.types.as_deref(), cx.charge.batch_rows());
            // What was found last time went on with its memory.
            let wanted = limit.min(self.last + self.last / 2);
            self.found.neighbors.reserve(wanted);
            self.found.edges.reserve(wanted);
            let direction = self.expand.direction;
            cx.view().neighbors(
                &asked.vertices,
                types,
                direction,
                &mut asked.cursor,
                limit,
                &mut self.found,
            )?;
        }
        if self.edges.is_some() || self.vertices.is_some() {
            let from = batch.clone();
            self.narrow(&from, cx)?;
        }
        self.last = self.found.len();
        let rows = Rows::Some(self.found.rows.as_slice().into());
        let (batch, asked) = if asked.cursor.done {
            (input.take().unwrap_or_else(Batch::empty), asked)
        } else {
            (batch.clone(), asked)
        };
        let made = match self.expand.to {
            ExpandTo::Edges(from) => {
                let past = batch.current.clone();
                let edges = std::mem::take(&mut self.found.edges);
                let mut made = batch.follow(&rows, Column::new(Data::Edges(edges)));
                if let (Some(slot), Rows::Some(rows)) = (from, &rows) {
                    made.set_slot(slot, past.gather(rows));
                }
                made
            }
            _ => {
                let neighbors = std::mem::take(&mut self.found.neighbors);
                batch.follow(&rows, Column::new(Data::Vertices(neighbors)))
            }
        };
        if !asked.cursor.done {
            self.of = Some(asked);
        }
        Ok(Some(made))
    }

    fn reset(&mut self, _origins: u32) {
        self.of = None;
    }
}

/// Keeps those found of which `keep` is true.
fn retain(found: &mut NeighborBatch, keep: &[bool]) {
    fn kept<T>(all: &mut Vec<T>, keep: &[bool]) {
        let mut keep = keep.iter();
        all.retain(|_| keep.next() == Some(&true));
    }
    kept(&mut found.rows, keep);
    kept(&mut found.edges, keep);
    kept(&mut found.neighbors, keep);
}

/// The vertices that all rows are at.
fn vertices(batch: &Batch, step: impl Fn() -> String) -> Result<Vec<VertexId>> {
    batch.current.vertices().ok_or_else(|| {
        let other = batch.current.items().find(|item| item.as_vertex().is_none()).unwrap_or(Item::Null);
        Error::invalid(format!("{} follows edges of a vertex, but found {}", step(), other.kind()))
    })
}

/// From edges to their ends.
pub struct Ends {
    end: EdgeEnd,
}

impl Ends {
    /// These ends.
    #[must_use]
    pub fn new(end: EdgeEnd) -> Self {
        Self { end }
    }

    fn name(&self) -> &'static str {
        match self.end {
            EdgeEnd::Source => "outV",
            EdgeEnd::Target => "inV",
            EdgeEnd::Both => "bothV",
            EdgeEnd::Other(_) => "otherV",
        }
    }

    fn edges(&self, batch: &Batch) -> Result<Vec<EdgeId>> {
        batch.current.edges().ok_or_else(|| {
            let other = batch.current.items().find(|item| item.as_edge().is_none()).unwrap_or(Item::Null);
            Error::invalid(format!(
                "{}() asks for an end of an edge, but found {}",
                self.name(),
                other.kind()
            ))
        })
    }
}

impl Step for Ends {
    fn process(&mut self, input: &mut Option<Batch>, _cx: &mut Context<'_>) -> Result<Option<Batch>> {
        let Some(batch) = input.take() else { return Ok(None) };
        let edges = self.edges(&batch)?;
        let (rows, ends) = match self.end {
            EdgeEnd::Source => (Rows::All, edges.iter().map(|edge| edge.source).collect()),
            EdgeEnd::Target => (Rows::All, edges.iter().map(|edge| edge.target).collect()),
            EdgeEnd::Both => {
                let rows: Vec<u32> = (0..edges.len() as u32).flat_map(|row| [row, row]).collect();
                let ends = edges.iter().flat_map(|edge| [edge.source, edge.target]).collect();
                (Rows::Some(rows.into()), ends)
            }
            EdgeEnd::Other(slot) => {
                let other = |(row, edge): (usize, &EdgeId)| match batch.slot(slot, row) {
                    Some(Item::Vertex(from)) if from == edge.source => Ok(edge.target),
                    Some(Item::Vertex(_)) => Ok(edge.source),
                    _ => Err(Error::invalid(
                        "otherV() returns the end that the traverser didn't come from, but it came from none: \
                         begin at a vertex, or use inV(), outV() or bothV()",
                    )),
                };
                (Rows::All, edges.iter().enumerate().map(other).collect::<Result<_>>()?)
            }
        };
        Ok(Some(batch.follow(&rows, Column::new(Data::Vertices(ends)))))
    }
}
