//! Writes graphs as GraphSON 3 in adjacency form, line by line or wrapped, as TinkerPop does.
//!
//! Each vertex is given with its out-edges and its in-edges, so each edge is written twice: TinkerPop
//! builds its edges from `inE`, we from `outE`. Who gives only one of them gets a file that one of the
//! two readers finds empty of edges (and ours says so).
//!
//! Nothing of an element is lost. An id that is missing is left out, and TinkerPop makes one up.

use std::io::{self, Write};

use evergraph_graph::value::Value;

use crate::element::{Edge, Vertex, VertexProperty};
use crate::error::WriteError;
use crate::graphson::sides::Side;
use crate::graphson::value_write::write_value;
use crate::json::write::write_string;

/// How vertices are put together to a file.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Layout {
    /// A vertex a line: can be read in parts, and is what TinkerPop reads unless told otherwise.
    Lines,
    /// One JSON document, `{"vertices": [...]}`, for readers of plain JSON.
    Wrapped,
}

/// Writes vertices to `W`, which should be buffered.
#[derive(Debug)]
pub struct VertexWriter<W> {
    bytes: W,
    layout: Layout,
    vertices_count: u64,
    /// The vertex that is being written.
    text: String,
}

impl<W: Write> VertexWriter<W> {
    /// Writes to `bytes`.
    pub fn new(bytes: W, layout: Layout) -> Self {
        Self { bytes, layout, vertices_count: 0, text: String::new() }
    }

    /// Writes a vertex with its edges, each list in the order given within an edge type.
    ///
    /// Cost: the text of the whole vertex in memory, and a sort of its edges by type.
    ///
    /// # Errors
    /// [`WriteError::Io`], and [`WriteError::Unwritable`] if an edge doesn't begin (or end) at the
    /// vertex; nothing of the vertex is written then.
    pub fn write_vertex<'e>(
        &mut self,
        vertex: &Vertex,
        out_edges: impl IntoIterator<Item = &'e Edge>,
        in_edges: impl IntoIterator<Item = &'e Edge>,
    ) -> Result<(), WriteError> {
        self.text.clear();
        match (self.layout, self.vertices_count) {
            (Layout::Lines, _) => {}
            (Layout::Wrapped, 0) => self.text.push_str("{\"vertices\":["),
            (Layout::Wrapped, _) => self.text.push_str(",\n"),
        }
        let text = &mut self.text;
        text.push_str("{\"id\":");
        write_value(text, &vertex.id);
        match vertex.labels.as_slice() {
            [] => {}
            [label] => {
                text.push_str(",\"label\":");
                write_string(text, label);
            }
            labels => {
                text.push_str(",\"label\":");
                write_list(text, labels, |text, label| write_string(text, label));
            }
        }
        write_adjacency(text, vertex, Side::In, in_edges)?;
        write_adjacency(text, vertex, Side::Out, out_edges)?;
        if !vertex.properties.is_empty() {
            text.push_str(",\"properties\":");
            write_object(text, &vertex.properties, |text, values| {
                write_list(text, values, write_vertex_property);
            });
        }
        text.push('}');
        if self.layout == Layout::Lines {
            text.push('\n');
        }
        self.vertices_count += 1;
        Ok(self.bytes.write_all(self.text.as_bytes())?)
    }

    /// Ends the file, flushes it and gives `W` back. Without it a wrapped file has no end.
    ///
    /// # Errors
    /// If bytes can't be written.
    pub fn finish(mut self) -> io::Result<W> {
        match (self.layout, self.vertices_count) {
            (Layout::Lines, _) => {}
            (Layout::Wrapped, 0) => self.bytes.write_all(b"{\"vertices\":[]}\n")?,
            (Layout::Wrapped, _) => self.bytes.write_all(b"]}\n")?,
        }
        self.bytes.flush()?;
        Ok(self.bytes)
    }
}

/// Writes `edges` by type, and nothing if there are none.
fn write_adjacency<'e>(
    text: &mut String,
    vertex: &Vertex,
    side: Side,
    edges: impl IntoIterator<Item = &'e Edge>,
) -> Result<(), WriteError> {
    let mut edges: Vec<&Edge> = edges.into_iter().collect();
    edges.sort_by(|left, right| left.edge_type.cmp(&right.edge_type)); // stable: their order stays
    if edges.is_empty() {
        return Ok(());
    }
    let (list, own, other) = match side {
        Side::Out => ("outE", "outV", "inV"),
        Side::In => ("inE", "inV", "outV"),
    };
    let stranger = edges.iter().find(|edge| ends(edge, side).0 != &vertex.id);
    if let Some(edge) = stranger {
        let reason = format!("an edge of {list} has {} as its {own}", ends(edge, side).0);
        return Err(WriteError::Unwritable { element: format!("vertex {}", vertex.id), reason });
    }
    text.push_str(",\"");
    text.push_str(list);
    text.push_str("\":{");
    for (place, of_type) in edges.chunk_by(|left, right| left.edge_type == right.edge_type).enumerate() {
        separate(text, place);
        write_string(text, &of_type[0].edge_type);
        text.push(':');
        write_list(text, of_type, |text, edge| {
            text.push('{');
            if let Some(id) = &edge.id {
                text.push_str("\"id\":");
                write_value(text, id);
                text.push(',');
            }
            text.push('"');
            text.push_str(other);
            text.push_str("\":");
            write_value(text, ends(edge, side).1);
            write_properties(text, &edge.properties);
            text.push('}');
        });
    }
    text.push('}');
    Ok(())
}

/// The ends of `edge`: the one at `side`, and the other.
fn ends(edge: &Edge, side: Side) -> (&Value, &Value) {
    match side {
        Side::Out => (&edge.source, &edge.target),
        Side::In => (&edge.target, &edge.source),
    }
}

fn write_vertex_property(text: &mut String, property: &VertexProperty) {
    text.push('{');
    if let Some(id) = &property.id {
        text.push_str("\"id\":");
        write_value(text, id);
        text.push(',');
    }
    text.push_str("\"value\":");
    write_value(text, &property.value);
    write_properties(text, &property.properties);
    text.push('}');
}

fn write_properties(text: &mut String, properties: &[(String, Value)]) {
    if !properties.is_empty() {
        text.push_str(",\"properties\":");
        write_object(text, properties, write_value);
    }
}

fn write_object<T>(text: &mut String, entries: &[(String, T)], mut write: impl FnMut(&mut String, &T)) {
    text.push('{');
    for (place, (key, value)) in entries.iter().enumerate() {
        separate(text, place);
        write_string(text, key);
        text.push(':');
        write(text, value);
    }
    text.push('}');
}

fn write_list<T>(text: &mut String, items: &[T], mut write: impl FnMut(&mut String, &T)) {
    text.push('[');
    for (place, item) in items.iter().enumerate() {
        separate(text, place);
        write(text, item);
    }
    text.push(']');
}

fn separate(text: &mut String, place: usize) {
    if place > 0 {
        text.push(',');
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graphson::line_read::ParsedVertex;
    use crate::graphson::stream::{StreamOptions, VertexStream};
    use crate::strategy::any_graph;
    use proptest::prelude::*;

    fn vertex(id: i32) -> Vertex {
        Vertex { id: Value::I32(id), labels: vec!["a".to_owned()], properties: Vec::new() }
    }

    fn edge(source: i32, edge_type: &str, target: i32) -> Edge {
        let (source, target) = (Value::I32(source), Value::I32(target));
        Edge { id: None, edge_type: edge_type.to_owned(), source, target, properties: Vec::new() }
    }

    fn written(vertices: &[Vertex], edges: &[Edge], layout: Layout) -> String {
        let mut writer = VertexWriter::new(Vec::new(), layout);
        for vertex in vertices {
            let out = edges.iter().filter(|edge| edge.source == vertex.id);
            let in_ = edges.iter().filter(|edge| edge.target == vertex.id);
            writer.write_vertex(vertex, out, in_).unwrap();
        }
        String::from_utf8(writer.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_line_looks_as_tinkerpop_writes_it() {
        let mut first = vertex(1);
        let mut name = VertexProperty::from(Value::from("x"));
        name.id = Some(Value::I64(0));
        name.properties.push(("k".to_owned(), true.into()));
        first.properties.push(("name".to_owned(), vec![name]));
        let edges = [edge(1, "t", 1), edge(1, "s", 1)];
        assert_eq!(
            written(&[first], &edges, Layout::Lines),
            concat!(
                r#"{"id":{"@type":"g:Int32","@value":1},"label":"a","#,
                r#""inE":{"s":[{"outV":{"@type":"g:Int32","@value":1}}],"t":[{"outV":{"@type":"g:Int32","@value":1}}]},"#,
                r#""outE":{"s":[{"inV":{"@type":"g:Int32","@value":1}}],"t":[{"inV":{"@type":"g:Int32","@value":1}}]},"#,
                r#""properties":{"name":[{"id":{"@type":"g:Int64","@value":0},"value":"x","properties":{"k":true}}]}}"#,
                "\n"
            )
        );
        assert_eq!(written(&[], &[], Layout::Wrapped), "{\"vertices\":[]}\n");
    }

    #[test]
    fn an_edge_of_another_vertex_is_refused() {
        let mut writer = VertexWriter::new(Vec::new(), Layout::Lines);
        let error = writer.write_vertex(&vertex(1), &[edge(2, "t", 1)], &[]).unwrap_err();
        assert_eq!(error.to_string(), "vertex 1: an edge of outE has 2 as its outV");
        assert_eq!(writer.finish().unwrap(), b"");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn a_graph_is_read_back_as_it_was((vertices, edges) in any_graph(), wrapped in any::<bool>()) {
            let layout = if wrapped { Layout::Wrapped } else { Layout::Lines };
            let text = written(&vertices, &edges, layout);
            let stream = VertexStream::new(text.as_bytes(), StreamOptions::default());
            let parsed: Result<Vec<ParsedVertex>, _> = stream.collect();
            let (read, read_edges): (Vec<_>, Vec<_>) =
                parsed.unwrap().into_iter().map(|parsed| (parsed.vertex, parsed.edges)).unzip();
            prop_assert_eq!(read, vertices.clone());
            // A file has its edges by source, and there by type.
            let mut expected = Vec::new();
            for vertex in &vertices {
                let mut own: Vec<_> = edges.iter().filter(|edge| edge.source == vertex.id).cloned().collect();
                own.sort_by(|left, right| left.edge_type.cmp(&right.edge_type));
                expected.push(own);
            }
            prop_assert_eq!(read_edges, expected);
        }
    }
}
