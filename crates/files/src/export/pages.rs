//! Pages: the vertices of a label and the edges of a type, a page at a time, in a stable order.
//!
//! A page has as many rows as values of some kilobytes each leave in bounds. The edges of a hub come in
//! several pages.

use evergraph_graph::catalogue::Owner;
use evergraph_graph::column::Column;
use evergraph_graph::error::Result;
use evergraph_graph::id::{Direction, EdgeId, KeyId, LabelId, TypeId, VertexId};
use evergraph_graph::value::ValueType;
use evergraph_graph::view::{GraphView, NeighborBatch, NeighborCursor, VertexCursor};

/// Rows of a page.
pub const PAGE_ROWS: usize = 1024;

/// Gives `take` the vertices of `label`, ascending, a page at a time.
///
/// # Errors
/// Errors of reading, and those of `take`.
pub fn vertices(
    view: &dyn GraphView,
    label: LabelId,
    mut take: impl FnMut(&[VertexId]) -> Result<()>,
) -> Result<()> {
    let (mut cursor, mut page) = (VertexCursor::default(), Vec::with_capacity(PAGE_ROWS));
    while !cursor.done {
        page.clear();
        view.scan_vertices(Some(&[label]), &mut cursor, PAGE_ROWS, &mut page)?;
        if !page.is_empty() {
            take(&page)?;
        }
    }
    Ok(())
}

/// Edges of one type that begin at vertices of one label and end at those of another.
#[derive(Debug, Default)]
pub struct EdgePage {
    /// The edges.
    pub edges: Vec<EdgeId>,
}

impl EdgePage {
    /// Where each edge begins.
    #[must_use]
    pub fn sources(&self) -> Vec<VertexId> {
        self.edges.iter().map(|edge| edge.source).collect()
    }

    /// Where each edge ends.
    #[must_use]
    pub fn targets(&self) -> Vec<VertexId> {
        self.edges.iter().map(|edge| edge.target).collect()
    }
}

/// Gives `take` the edges of `edge_type` that begin at vertices of `source`, by source, then target, a
/// page at a time, each with the label at which its edges end; pages of several labels take turns.
///
/// # Errors
/// Errors of reading, and those of `take`.
pub fn edges(
    view: &dyn GraphView,
    source: LabelId,
    edge_type: TypeId,
    mut take: impl FnMut(LabelId, &EdgePage) -> Result<()>,
) -> Result<()> {
    let (mut batch, mut labels) = (NeighborBatch::default(), Vec::new());
    let mut pages: Vec<(LabelId, EdgePage)> = Vec::new();
    vertices(view, source, |vertices| {
        let mut cursor = NeighborCursor::default();
        while !cursor.done {
            batch.clear();
            labels.clear();
            let types = Some(&[edge_type][..]);
            view.neighbors(vertices, types, Direction::Out, &mut cursor, PAGE_ROWS, &mut batch)?;
            view.labels(&batch.neighbors, &mut labels)?;
            pages.iter_mut().for_each(|(_, page)| page.edges.clear());
            for (edge, label) in batch.edges.iter().zip(&labels) {
                // An edge's ends are alive as long as it is: a dead one would be damage, which a check finds.
                let Some(label) = label else { continue };
                match pages.iter_mut().find(|(known, _)| known == label) {
                    Some((_, page)) => page.edges.push(*edge),
                    None => pages.push((*label, EdgePage { edges: vec![*edge] })),
                }
            }
            for (label, page) in pages.iter().filter(|(_, page)| !page.edges.is_empty()) {
                take(*label, page)?;
            }
        }
        Ok(())
    })
}

/// The values of `key` of the vertices of `label` in `vertices`.
///
/// # Errors
/// Errors of reading.
pub fn vertex_column(
    view: &dyn GraphView,
    label: LabelId,
    vertices: &[VertexId],
    key: KeyId,
) -> Result<Column> {
    let value_type = view.catalogue().property_type(Owner::Label(label), key);
    let mut column = Column::new(value_type.unwrap_or(ValueType::Any));
    view.vertex_properties(vertices, key, &mut column)?;
    Ok(column)
}

/// The values of `key` of `edges`, which are of `edge_type`.
///
/// # Errors
/// Errors of reading.
pub fn edge_column(view: &dyn GraphView, edge_type: TypeId, edges: &[EdgeId], key: KeyId) -> Result<Column> {
    let value_type = view.catalogue().property_type(Owner::EdgeType(edge_type), key);
    let mut column = Column::new(value_type.unwrap_or(ValueType::Any));
    view.edge_properties(edges, key, &mut column)?;
    Ok(column)
}
