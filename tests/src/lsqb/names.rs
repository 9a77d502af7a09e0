//! Names: which vertices and edge types of a graph a query means, however the publisher spells them.
//!
//! ```text
//! query       LSQB's files    the SNB importer's graph
//! Person      Person          Person
//! hasCreator  hasCreator      HAS_CREATOR                (case and `_` don't count)
//! City        City            Place, with type = city    (the label of its own, if there is one)
//! ```
//!
//! A name that the graph lacks has no members: a graph without memberships gives 0, as it should.

use evergraph::graph::column::Column;
use evergraph::graph::id::{LabelId, TypeId};
use evergraph::graph::value::ValueType;
use evergraph::{GraphView, ReadByName, Value, VertexId};

/// Parts without a label of their own in SNB's schema: the label they have there and their `type`.
const WIDER: [(&str, &str); 2] = [("City", "Place"), ("Country", "Place")];

/// The name without what spellings differ in.
fn folded(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn label<V: GraphView>(view: &V, name: &str) -> Option<LabelId> {
    let catalogue = view.catalogue();
    catalogue.labels().find(|(_, own)| folded(own) == folded(name)).map(|(label, _)| label)
}

/// The type that is called `name` in one of the spellings.
#[must_use]
pub fn edge_type<V: GraphView>(view: &V, name: &str) -> Option<TypeId> {
    let catalogue = view.catalogue();
    catalogue.edge_types().find(|(_, own)| folded(&own.name) == folded(name)).map(|(id, _)| id)
}

/// The vertices that `part` means, ascending. Cost: a scan of the label, and of its `type` if the part
/// has no label of its own.
///
/// # Panics
/// If reading fails.
#[must_use]
pub fn members<V: GraphView>(view: &V, part: &str) -> Vec<VertexId> {
    let scan = |label| view.vertices(Some(&view.catalogue().label_name(label))).unwrap();
    if let Some(own) = label(view, part) {
        return scan(own);
    }
    let wider = WIDER.iter().find(|(narrow, _)| *narrow == part).and_then(|(_, wide)| label(view, wide));
    let (Some(wider), Some(key)) = (wider, view.catalogue().key("type")) else { return Vec::new() };
    let (vertices, mut kinds) = (scan(wider), Column::new(ValueType::String));
    view.vertex_properties(&vertices, key, &mut kinds).unwrap();
    let means_part = |row: usize| match kinds.get(row) {
        Some(Value::String(kind)) => folded(&kind) == folded(part),
        _ => false,
    };
    (0..vertices.len()).filter(|row| means_part(*row)).map(|row| vertices[row]).collect()
}
