//! Line: one vertex with its edges, the content of one line of an adjacency file.
//!
//! ```text
//! {"id": ID, "label": "person",
//!  "outE": {"knows":   [{"id": ID, "inV": ID, "properties": {"weight": VALUE}}, ...]},
//!  "inE":  {"created": [{"id": ID, "outV": ID}, ...]},
//!  "properties": {"name": [{"id": ID, "value": VALUE, "properties": {"since": VALUE}}, ...]}}
//! ```
//!
//! Keys come in any order; all but `id` may be missing. `label` may be a list. A line stands on its
//! own, so [`parse_line`] is a pure function that many threads may call.
//!
//! An edge stands on two lines, of which a reader takes one [`Side`]. The other is read as well, and
//! added to [`SideSums`], so that the caller can tell at the end of the file whether the sides agree.
//! Differs: TinkerPop's `readGraph` takes `inE` and drops what only `outE` has, without a word.
//!
//! A property whose value is `null` is absent. A key that means nothing here is refused by name: the
//! file is something else than it seems.

use evergraph_graph::value::Value;

use crate::element::{Edge, Vertex, VertexProperty};
use crate::error::LineError;
use crate::graphson::sides::{Side, SideSums};
use crate::graphson::value_read::read_value;
use crate::json::read::{JsonError, JsonReader, Kind};

/// What a line says.
#[derive(Clone, PartialEq, Debug)]
pub struct ParsedVertex {
    /// The vertex.
    pub vertex: Vertex,
    /// The edges of the side that was asked for, in the line's order.
    pub edges: Vec<Edge>,
    /// The edges of both sides, counted.
    pub sums: SideSums,
}

impl From<JsonError> for LineError {
    fn from(error: JsonError) -> Self {
        Self { column: error.offset as u64 + 1, reason: error.reason }
    }
}

/// An edge of a list, whose other end is known and whose own end is the vertex of the line.
struct HalfEdge {
    id: Option<Value>,
    edge_type: String,
    own_end: Option<Value>,
    other_end: Value,
    properties: Vec<(String, Value)>,
    offset: usize,
}

/// Reads one line (with or without its end) and takes the edges of `side`.
///
/// Cost: one pass; memory for the vertex and the edges of the longer side.
///
/// # Errors
/// If the line isn't a JSON object of the form above, holds values that we have no type for, or is of
/// another format by the name of GraphSON.
pub fn parse_line(line: &[u8], side: Side) -> Result<ParsedVertex, LineError> {
    let mut reader = JsonReader::new(line);
    let parsed = read_vertex(&mut reader, side)?;
    reader.finish()?;
    Ok(parsed)
}

fn read_vertex(reader: &mut JsonReader<'_>, side: Side) -> Result<ParsedVertex, JsonError> {
    let start = reader.offset();
    let (mut id, mut labels, mut out, mut in_, mut properties) = (None, None, None, None, None);
    reader.begin_object()?;
    loop {
        let offset = reader.offset();
        let Some(key) = reader.next_key()? else { break };
        let is_new = match &*key {
            "id" => id.replace(read_value(reader)?).is_none(),
            "label" => labels.replace(read_labels(reader)?).is_none(),
            "outE" => out.replace(read_adjacency(reader, Side::Out)?).is_none(),
            "inE" => in_.replace(read_adjacency(reader, Side::In)?).is_none(),
            "properties" => properties.replace(read_vertex_properties(reader)?).is_none(),
            "type" => {
                require_word(reader, "vertex")?;
                true
            }
            other => return Err(JsonError { offset, reason: stranger(other) }),
        };
        if !is_new {
            return Err(twice(offset, &key));
        }
    }
    let id = id.ok_or_else(|| JsonError { offset: start, reason: "a vertex has no id".to_owned() })?;
    let mut sums = SideSums::default();
    let mut edges = Vec::new();
    for (list_side, list) in [(Side::Out, out), (Side::In, in_)] {
        for half in list.unwrap_or_default() {
            let edge = half.whole(&id, list_side)?;
            sums.add(list_side, &edge);
            if list_side == side {
                edges.push(edge);
            }
        }
    }
    let vertex =
        Vertex { id, labels: labels.unwrap_or_default(), properties: properties.unwrap_or_default() };
    Ok(ParsedVertex { vertex, edges, sums })
}

/// Names the format that `key` belongs to, if it is a known one.
fn stranger(key: &str) -> String {
    match key {
        "graph" | "mode" | "vertices" | "edges" => {
            format!("`{key}` is not of an adjacency list: the GraphSON of TinkerPop 2 is not read")
        }
        "_id" | "_outE" | "_inE" | "_type" => format!("`{key}` is of Faunus's GraphSON, which is not read"),
        "@class" => "GraphSON 1 with embedded Java types (@class) is not read".to_owned(),
        "@type" | "@value" => {
            format!("`{key}`: expected a vertex of an adjacency list, which has no type of its own")
        }
        _ => format!("`{key}` is not a key of a vertex: known keys are id, label, outE, inE, properties"),
    }
}

fn twice(offset: usize, key: &str) -> JsonError {
    JsonError { offset, reason: format!("the key `{key}` stands twice") }
}

fn require_word(reader: &mut JsonReader<'_>, expected: &str) -> Result<(), JsonError> {
    let offset = reader.offset();
    let found = reader.read_string()?;
    if found != expected {
        return Err(JsonError { offset, reason: format!("expected \"{expected}\", found {found:?}") });
    }
    Ok(())
}

fn read_labels(reader: &mut JsonReader<'_>) -> Result<Vec<String>, JsonError> {
    if reader.peek()? != Kind::Array {
        return Ok(vec![reader.read_string()?.into_owned()]);
    }
    let mut labels = Vec::new();
    reader.begin_array()?;
    while reader.next_element()? {
        labels.push(reader.read_string()?.into_owned());
    }
    Ok(labels)
}

/// Reads an object, each of whose keys has a list that `read` reads; gives keys and lists.
fn read_lists<T>(
    reader: &mut JsonReader<'_>,
    mut read: impl FnMut(&mut JsonReader<'_>, &str) -> Result<T, JsonError>,
) -> Result<Vec<(String, T)>, JsonError> {
    let mut lists: Vec<(String, T)> = Vec::new();
    let start = reader.offset();
    reader.begin_object()?;
    while let Some(key) = reader.next_key()? {
        let list = read(reader, &key)?;
        lists.push((key.into_owned(), list));
    }
    refuse_twice(start, lists.iter().map(|(key, _)| key.as_str()))?;
    Ok(lists)
}

/// Fails if a key of the object at `offset` stands twice. Cost: a sort.
fn refuse_twice<'k>(offset: usize, keys: impl Iterator<Item = &'k str>) -> Result<(), JsonError> {
    let mut keys: Vec<_> = keys.collect();
    keys.sort_unstable();
    keys.windows(2).find(|pair| pair[0] == pair[1]).map_or(Ok(()), |pair| Err(twice(offset, pair[0])))
}

fn read_adjacency(reader: &mut JsonReader<'_>, side: Side) -> Result<Vec<HalfEdge>, JsonError> {
    let mut edges = Vec::new();
    read_lists(reader, |reader, edge_type| {
        reader.begin_array()?;
        while reader.next_element()? {
            edges.push(read_half_edge(reader, edge_type, side)?);
        }
        Ok(())
    })?;
    Ok(edges)
}

fn read_half_edge(reader: &mut JsonReader<'_>, edge_type: &str, side: Side) -> Result<HalfEdge, JsonError> {
    let start = reader.offset();
    let (mut id, mut source, mut target, mut properties) = (None, None, None, None);
    reader.begin_object()?;
    loop {
        let offset = reader.offset();
        let Some(key) = reader.next_key()? else { break };
        let is_new = match &*key {
            "id" => id.replace(read_nullable(reader)?).is_none(),
            "outV" => source.replace(read_value(reader)?).is_none(),
            "inV" => target.replace(read_value(reader)?).is_none(),
            "properties" => properties.replace(read_properties(reader)?).is_none(),
            // Written by some; they repeat what is known, or belong to another line.
            "label" => {
                require_word(reader, edge_type)?;
                true
            }
            "type" => {
                require_word(reader, "edge")?;
                true
            }
            "outVLabel" | "inVLabel" => {
                reader.read_string()?;
                true
            }
            _ => {
                let reason = format!("`{key}` is no key of an edge: known are id, outV, inV, properties");
                return Err(JsonError { offset, reason });
            }
        };
        if !is_new {
            return Err(twice(offset, &key));
        }
    }
    let (own_end, other_end, missing) = match side {
        Side::Out => (source, target, "inV"),
        Side::In => (target, source, "outV"),
    };
    let other_end =
        other_end.ok_or_else(|| JsonError { offset: start, reason: format!("an edge has no {missing}") })?;
    Ok(HalfEdge {
        id: id.flatten(),
        edge_type: edge_type.to_owned(),
        own_end,
        other_end,
        properties: properties.unwrap_or_default(),
        offset: start,
    })
}

impl HalfEdge {
    /// The edge between its other end and `own`, the vertex of the line.
    fn whole(self, own: &Value, side: Side) -> Result<Edge, JsonError> {
        if let Some(stated) = self.own_end.as_ref().filter(|stated| *stated != own) {
            let reason = format!("an edge of vertex {own} says that it belongs to {stated}");
            return Err(JsonError { offset: self.offset, reason });
        }
        let (source, target) = match side {
            Side::Out => (own.clone(), self.other_end),
            Side::In => (self.other_end, own.clone()),
        };
        Ok(Edge { id: self.id, edge_type: self.edge_type, source, target, properties: self.properties })
    }
}

fn read_vertex_properties(
    reader: &mut JsonReader<'_>,
) -> Result<Vec<(String, Vec<VertexProperty>)>, JsonError> {
    let mut properties = read_lists(reader, |reader, _| {
        let mut values = Vec::new();
        reader.begin_array()?;
        while reader.next_element()? {
            values.extend(read_vertex_property(reader)?);
        }
        Ok(values)
    })?;
    properties.retain(|(_, values)| !values.is_empty());
    Ok(properties)
}

/// Reads a vertex's property; `None` if its value is null.
fn read_vertex_property(reader: &mut JsonReader<'_>) -> Result<Option<VertexProperty>, JsonError> {
    let start = reader.offset();
    let (mut id, mut value, mut properties) = (None, None, None);
    reader.begin_object()?;
    loop {
        let offset = reader.offset();
        let Some(key) = reader.next_key()? else { break };
        let is_new = match &*key {
            "id" => id.replace(read_nullable(reader)?).is_none(),
            "value" => value.replace(read_nullable(reader)?).is_none(),
            "properties" => properties.replace(read_properties(reader)?).is_none(),
            "label" => {
                reader.read_string()?;
                true
            }
            _ => {
                let reason = format!("`{key}` is no key of a property: known are id, value, properties");
                return Err(JsonError { offset, reason });
            }
        };
        if !is_new {
            return Err(twice(offset, &key));
        }
    }
    let Some(value) = value else {
        return Err(JsonError { offset: start, reason: "a property has no value".to_owned() });
    };
    let properties = properties.unwrap_or_default();
    Ok(value.map(|value| VertexProperty { id: id.flatten(), value, properties }))
}

/// Reads the properties of an edge or of a property; those that are null are left out.
fn read_properties(reader: &mut JsonReader<'_>) -> Result<Vec<(String, Value)>, JsonError> {
    let values = read_lists(reader, |reader, _| read_nullable(reader))?;
    Ok(values.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
}

fn read_nullable(reader: &mut JsonReader<'_>) -> Result<Option<Value>, JsonError> {
    if reader.peek()? == Kind::Null {
        reader.read_null()?;
        return Ok(None);
    }
    read_value(reader).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first line of TinkerPop's `tinkerpop-modern`, GraphSON 3.
    const MARKO: &str = r#"{"id":{"@type":"g:Int32","@value":1},"label":"person","outE":{"created":[{"id":{"@type":"g:Int32","@value":9},"inV":{"@type":"g:Int32","@value":3},"properties":{"weight":{"@type":"g:Double","@value":0.4}}}],"knows":[{"id":{"@type":"g:Int32","@value":7},"inV":{"@type":"g:Int32","@value":2},"properties":{"weight":{"@type":"g:Double","@value":0.5}}},{"id":{"@type":"g:Int32","@value":8},"inV":{"@type":"g:Int32","@value":4},"properties":{"weight":{"@type":"g:Double","@value":1.0}}}]},"properties":{"name":[{"id":{"@type":"g:Int64","@value":0},"value":"marko"}],"age":[{"id":{"@type":"g:Int64","@value":1},"value":{"@type":"g:Int32","@value":29}}]}}"#;

    fn parse(line: &str) -> Result<ParsedVertex, LineError> {
        parse_line(line.as_bytes(), Side::Out)
    }

    fn property(id: i64, value: impl Into<Value>) -> Vec<VertexProperty> {
        vec![VertexProperty { id: Some(Value::I64(id)), value: value.into(), properties: Vec::new() }]
    }

    fn edge(id: i32, edge_type: &str, target: i32, weight: f64) -> Edge {
        Edge {
            id: Some(Value::I32(id)),
            edge_type: edge_type.to_owned(),
            source: Value::I32(1),
            target: Value::I32(target),
            properties: vec![("weight".to_owned(), Value::F64(weight))],
        }
    }

    #[test]
    fn a_line_of_tinkerpop_is_a_vertex_and_its_edges() {
        let parsed = parse(&format!("{MARKO}\r\n")).unwrap();
        assert_eq!(
            parsed.vertex,
            Vertex {
                id: Value::I32(1),
                labels: vec!["person".to_owned()],
                properties: vec![
                    ("name".to_owned(), property(0, "marko")),
                    ("age".to_owned(), property(1, Value::I32(29)))
                ],
            }
        );
        assert_eq!(
            parsed.edges,
            [edge(9, "created", 3, 0.4), edge(7, "knows", 2, 0.5), edge(8, "knows", 4, 1.0)]
        );
    }

    #[test]
    fn the_keys_come_in_any_order() {
        let line = r#"{"inE": {"a": [{"outV": 7, "id": 1}]}, "outE": {"b": [{"inV": 8}]}, "id": 5}"#;
        let ends = |side| {
            let edges = parse_line(line.as_bytes(), side).unwrap().edges;
            edges.into_iter().map(|edge| (edge.edge_type, edge.source, edge.target)).collect::<Vec<_>>()
        };
        assert_eq!(ends(Side::Out), [("b".to_owned(), Value::I32(5), Value::I32(8))]);
        assert_eq!(ends(Side::In), [("a".to_owned(), Value::I32(7), Value::I32(5))]);
    }

    #[test]
    fn a_self_loop_stands_on_both_sides_of_its_line() {
        let line = r#"{"id": 5, "outE": {"a": [{"id": 1, "inV": 5}]}, "inE": {"a": [{"id": 1, "outV": 5}]}}"#;
        let parsed = parse(line).unwrap();
        assert_eq!((parsed.edges.len(), parsed.sums.check(Side::Out)), (1, Ok(())));
    }

    #[test]
    fn multi_and_meta_properties_are_kept_and_null_is_absence() {
        let line = r#"{"id": 1, "label": ["a", "b"], "properties": {
            "city": [{"id": 6, "value": "sd", "properties": {"from": 1997, "to": null}}, {"id": null, "value": "sf"}],
            "gone": [{"id": 7, "value": null}], "none": []}}"#;
        let vertex = parse(line).unwrap().vertex;
        assert_eq!(vertex.labels, ["a", "b"]);
        let first = VertexProperty {
            id: Some(Value::I32(6)),
            value: "sd".into(),
            properties: vec![("from".to_owned(), Value::I32(1997))],
        };
        assert_eq!(vertex.properties, [("city".to_owned(), vec![first, Value::from("sf").into()])]);
    }

    #[test]
    fn graphson_2_and_1_are_read_by_the_types_of_their_json() {
        // From the reference: GraphSON 1 has no types, GraphSON 2 no types of lists and maps.
        let first = r#"{"id":1,"label":"person","outE":{"created":[{"id":9,"inV":3,"properties":{"weight":0.4}}]},"properties":{"name":[{"id":0,"value":"marko"}]}}"#;
        let parsed = parse(first).unwrap();
        assert_eq!(parsed.edges, [edge(9, "created", 3, 0.4)]);
        let second = r#"{"id":{"@type":"g:Int32","@value":1},"label":"a","properties":{"n":[{"id":0,"value":[{"@type":"g:Int64","@value":2}]}]}}"#;
        assert!(
            matches!(&parse(second).unwrap().vertex.properties[0].1[0].value, Value::List(list) if list.as_slice() == [Value::I64(2)])
        );
    }

    #[test]
    fn other_formats_of_the_name_are_refused_by_name() {
        for (line, name) in [
            (r#"{"graph":{"mode":"NORMAL","vertices":[]}}"#, "TinkerPop 2"),
            (r#"{"_id":1,"_outE":[]}"#, "Faunus"),
            (r#"{"@class":"java.util.HashMap","id":1}"#, "GraphSON 1"),
            (r#"{"@type":"g:Vertex","@value":{"id":1}}"#, "has no type of its own"),
            (r#"{"id":1,"name":"marko"}"#, "known are id, label"),
        ] {
            let error = parse(line).unwrap_err();
            assert!(error.reason.contains(name), "{error}");
        }
    }

    #[test]
    fn what_is_wrong_is_said_with_its_column() {
        for (line, column, reason) in [
            (r#"{"label": "a"}"#, 1, "a vertex has no id"),
            (r#"{"id": 1, "id": 2}"#, 9, "the key `id` stands twice"),
            (r#"{"id": 1, "outE": {"a": [{"id": 2}]}}"#, 26, "an edge has no inV"),
            (r#"{"id": 1, "inE": {"a": [{"inV": 1}]}}"#, 25, "an edge has no outV"),
            (
                r#"{"id": 1, "outE": {"a": [{"inV": 2, "outV": 3}]}}"#,
                26,
                "an edge of vertex 1 says that it belongs to 3",
            ),
            (r#"{"id": 1, "outE": {"a": [], "a": []}}"#, 19, "the key `a` stands twice"),
            (r#"{"id": 1, "outE": {"a": [{"inV": 2, "label": "b"}]}}"#, 46, "expected \"a\", found \"b\""),
            (r#"{"id": 1, "properties": {"a": [{}]}}"#, 32, "a property has no value"),
            (r#"{"id": 1, "properties": {"a": 1}}"#, 31, "expected an array, found `1`"),
            (r#"{"id": null}"#, 8, "null is not a value"),
            (r#"{"id": 1} {"id": 2}"#, 11, "expected the end of the text, found `{`"),
            ("", 1, "expected an object, found the end"),
        ] {
            assert_eq!(parse(line), Err(LineError { column, reason: reason.to_owned() }), "{line}");
        }
    }

    #[test]
    fn a_line_that_is_cut_anywhere_is_an_error() {
        for end in 0..MARKO.len() {
            assert!(parse(&MARKO[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_line_with_any_byte_replaced_is_a_vertex_or_an_error() {
        for place in 0..MARKO.len() {
            for byte in [0, b'"', b'{', b']', b'9', b'\\', 0x80, 0xff] {
                let mut line = MARKO.as_bytes().to_vec();
                line[place] = byte;
                if let Ok(parsed) = parse_line(&line, Side::Out) {
                    assert!(parsed.edges.len() <= 3, "{place} {byte}");
                }
            }
        }
    }
}
