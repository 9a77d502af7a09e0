//! Reader: a JSON file of nodes and links as vertices and edges, in file order.
//!
//! | in the file | here |
//! |---|---|
//! | `nodes`, `nodeList`; `links`, `edges`, `edgeList`, `relationships` | vertices; edges |
//! | `id` of a node, or `key`; none | its id; its place, from 0, which is counted |
//! | `source` and `target`, or `from` and `to` and the like | the ends: see [`References`] |
//! | `id` of a link, or `key` where that is the id of nodes | the edge's id |
//! | `relation` of a link; `type` among `relationships` | its edge type |
//! | `labels` of a node, if it is a list of one text | its label |
//! | other members, and those of `attributes`, `metadata`, `properties`, `data` | properties; `null` is none |
//! | members beside `data` (Cytoscape's `position`, `classes`) | skipped, counted |
//! | `"directed": false`, `"undirected": true`, `"type": "undirected"` | edges from source to target; counted |
//! | other members of the graph | skipped, counted if they say something |
//! | `hyperedges`, a second graph | refused |
//!
//! Memory: one node or link, of limited length, and what [`References`] keeps: ids that are texts.

use std::io::BufRead;

use evergraph_graph::value::Value;

use crate::element::{Edge, Element, Position, Vertex};
use crate::element_source::{ElementSource, Properties, ReadSummary, Remark, SourceOptions};
use crate::error::ReadError;
use crate::json::read::Kind;
use crate::json::stream::JsonStream;
use crate::node_link::item::Item;
use crate::node_link::references::{End, References};

/// What programs call the ends of a link.
const ENDS: [(&str, &str); 8] = [
    ("source", "target"),
    ("from", "to"),
    ("src", "dst"),
    ("start", "end"),
    ("startNode", "endNode"),
    ("sourceId", "targetId"),
    ("source_id", "target_id"),
    ("u", "v"),
];
/// What programs call the id of a node.
const ID_KEYS: [&str; 2] = ["id", "key"];

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct NodeLinkReader<R> {
    stream: JsonStream<R>,
    options: SourceOptions,
    summary: ReadSummary,
    position: Position,
    has_begun: bool,
    /// The objects and arrays around what comes next, from the outermost.
    open: Vec<OpenValue>,
    references: References,
    /// What nodes have as their id: the first one decides.
    id_key: Option<IdKey>,
    is_directed: Option<bool>,
    /// Edges that don't say whether they have a direction.
    plain_edges: u64,
    has_lists: bool,
    has_graph: bool,
    has_ended: bool,
}

/// An object or array that was stepped into.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum OpenValue {
    /// The file's outermost object, a `graph` in it, or `elements`.
    Members(Level),
    /// An array of nodes.
    Nodes,
    /// An object of nodes by their ids.
    NodesById,
    /// An array of links; whether they are `relationships`.
    Links { are_relationships: bool },
    /// An array of nodes and links.
    Mixed,
    /// An array of graphs.
    Graphs,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Level {
    Document,
    Graph,
    Elements,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum IdKey {
    Member(&'static str),
    /// The key of the object of nodes.
    Outer,
    /// None: nodes are numbered.
    Place,
}

impl<R: BufRead> NodeLinkReader<R> {
    /// Reads what `bytes` gives.
    pub fn new(bytes: R, options: SourceOptions) -> Self {
        Self {
            stream: JsonStream::new(bytes, options.text_bytes_max),
            options,
            summary: ReadSummary::default(),
            position: Position::START,
            has_begun: false,
            open: Vec::new(),
            references: References::default(),
            id_key: None,
            is_directed: None,
            plain_edges: 0,
            has_lists: false,
            has_graph: false,
            has_ended: false,
        }
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        if !self.has_begun {
            self.begin()?;
        }
        loop {
            let Some(open) = self.open.last().copied() else {
                return self.end().map(|()| None);
            };
            match open {
                OpenValue::Members(level) => match self.stream.next_key()? {
                    Some(key) => self.read_member(&key, level)?,
                    None => drop(self.open.pop()),
                },
                OpenValue::NodesById => match self.stream.next_key()? {
                    Some(id) => return self.read_item(open, Some(id)).map(Some),
                    None => drop(self.open.pop()),
                },
                OpenValue::Graphs if self.stream.next_element()? => self.begin_graph()?,
                OpenValue::Nodes | OpenValue::Links { .. } | OpenValue::Mixed
                    if self.stream.next_element()? =>
                {
                    return self.read_item(open, None).map(Some);
                }
                OpenValue::Graphs | OpenValue::Nodes | OpenValue::Links { .. } | OpenValue::Mixed => {
                    self.open.pop();
                }
            }
        }
    }

    fn begin(&mut self) -> Result<(), ReadError> {
        self.has_begun = true;
        if self.stream.peek()? == Some(b'[') {
            self.has_lists = true;
            return self.step_into(b'[', OpenValue::Mixed);
        }
        self.step_into(b'{', OpenValue::Members(Level::Document))
    }

    fn step_into(&mut self, bracket: u8, open: OpenValue) -> Result<(), ReadError> {
        self.stream.begin(bracket)?;
        self.open.push(open);
        Ok(())
    }

    fn begin_graph(&mut self) -> Result<(), ReadError> {
        if self.has_graph {
            let what = "a second graph, which may use the ids of the first again,".to_owned();
            return Err(ReadError::Unsupported { position: self.stream.position(), what });
        }
        self.has_graph = true;
        self.step_into(b'{', OpenValue::Members(Level::Graph))
    }

    fn end(&mut self) -> Result<(), ReadError> {
        self.stream.finish()?;
        if !self.has_lists {
            return Err(self
                .stream
                .malformed("the file has neither `nodes` nor `links`, `edges` or `elements`"));
        }
        if self.is_directed == Some(false) {
            self.summary.note_many(Remark::Undirected, self.plain_edges);
        }
        Ok(())
    }

    fn read_member(&mut self, key: &str, level: Level) -> Result<(), ReadError> {
        let first = self.stream.peek()?;
        let (is_array, is_object) = (first == Some(b'['), first == Some(b'{'));
        match key {
            "nodes" | "nodeList" if is_array => self.begin_list(b'[', OpenValue::Nodes),
            "nodes" if is_object => self.begin_list(b'{', OpenValue::NodesById),
            "links" | "edges" | "edgeList" | "relationships" if is_array => {
                self.begin_list(b'[', OpenValue::Links { are_relationships: key == "relationships" })
            }
            "elements" if level == Level::Document && is_array => self.begin_list(b'[', OpenValue::Mixed),
            "elements" if level == Level::Document && is_object => {
                self.step_into(b'{', OpenValue::Members(Level::Elements))
            }
            "graph" if level == Level::Document && is_object => self.begin_graph(),
            "graphs" if level == Level::Document && is_array => self.step_into(b'[', OpenValue::Graphs),
            "directed" if matches!(first, Some(b't' | b'f')) => {
                self.is_directed = Some(self.stream.value(|reader| reader.read_bool())?);
                Ok(())
            }
            "options" | "settings" if is_object => self.read_options(),
            _ => {
                let position = self.stream.position();
                let says_something = self.stream.skip()?;
                if key == "hyperedges" && says_something {
                    let what =
                        "`hyperedges`, which join any number of nodes where an edge joins two,".to_owned();
                    return Err(ReadError::Unsupported { position, what });
                }
                if says_something {
                    self.summary.note(Remark::GraphValue);
                }
                Ok(())
            }
        }
    }

    fn begin_list(&mut self, bracket: u8, open: OpenValue) -> Result<(), ReadError> {
        self.has_lists = true;
        self.step_into(bracket, open)
    }

    /// Reads graphology's options of a graph, which may say that it has no direction.
    fn read_options(&mut self) -> Result<(), ReadError> {
        let graph_type = self.stream.value(|reader| {
            let mut graph_type = None;
            reader.begin_object()?;
            while let Some(key) = reader.next_key()? {
                if key == "type" && reader.peek()? == Kind::String {
                    graph_type = Some(reader.read_string()?.into_owned());
                } else {
                    reader.skip_value()?;
                }
            }
            Ok(graph_type)
        })?;
        match graph_type.as_deref() {
            Some("undirected") => self.is_directed = Some(false),
            Some("directed") => self.is_directed = Some(true),
            _ => {}
        }
        Ok(())
    }

    /// Reads the node or link that comes next; the key of an object of nodes is `outer`.
    fn read_item(&mut self, open: OpenValue, outer: Option<String>) -> Result<Element, ReadError> {
        let mut item = self.stream.value(Item::read)?;
        self.position = self.stream.text_position();
        let is_of_cytoscape =
            open == OpenValue::Mixed || self.open.contains(&OpenValue::Members(Level::Elements));
        let mut group = None;
        if is_of_cytoscape && item.has_data {
            group = item.take("group");
            // What stands beside `data` is of the drawing.
            let beside = item.beside_data - usize::from(group.is_some());
            if beside > 0 {
                self.summary.note(Remark::Drawing);
                item.entries.drain(..beside);
            }
        }
        let is_link = match (open, group.as_ref().and_then(Value::as_str)) {
            (OpenValue::Links { .. }, _) | (_, Some("edges")) => true,
            (OpenValue::Mixed, None) => {
                ENDS.iter().any(|(source, target)| item.has(source) && item.has(target))
            }
            _ => false,
        };
        if is_link {
            let are_relationships = open == OpenValue::Links { are_relationships: true };
            self.read_link(item, are_relationships).map(Element::Edge)
        } else {
            self.read_node(item, outer).map(Element::Vertex)
        }
    }

    fn read_node(&mut self, mut item: Item, outer: Option<String>) -> Result<Vertex, ReadError> {
        let id_key = *self.id_key.get_or_insert_with(|| match &outer {
            Some(_) => IdKey::Outer,
            None => ID_KEYS.into_iter().find(|key| item.has(key)).map_or(IdKey::Place, IdKey::Member),
        });
        let count = self.references.count;
        let id = match (id_key, outer) {
            (IdKey::Outer, Some(outer)) => Value::from(outer),
            (IdKey::Member(key), None) => item.take(key).ok_or_else(|| {
                self.malformed(format!("the node has no `{key}`, and the first of all nodes has one"))
            })?,
            (IdKey::Place, None) if !item.has("id") => {
                self.summary.note(Remark::Numbered);
                let name = item.entries.iter().find(|(key, _)| key == "name");
                self.references.add_nameless(name.and_then(|(_, name)| name.as_str()))
            }
            (IdKey::Place, None) => {
                return Err(
                    self.malformed("the node has an `id`, and the first of all nodes has none".to_owned())
                );
            }
            _ => return Err(self.malformed("nodes stand in an array and in an object".to_owned())),
        };
        if !matches!(id, Value::String(_) | Value::I64(_) | Value::F64(_) | Value::BigInteger(_)) {
            return Err(self.malformed(format!("the id of a node is a text or a number, and not {id}")));
        }
        if self.references.count == count {
            self.references.add_id(&id);
        }
        let label =
            item.entries.iter().position(|(key, value)| key == "labels" && only_text(value).is_some());
        let label = label.and_then(|at| only_text(&item.entries.remove(at).1));
        let labels = vec![label.unwrap_or_else(|| self.options.default_label.clone())];
        self.summary.vertices_count += 1;
        Ok(Vertex { id, labels, properties: self.properties(item).into_vertex() })
    }

    fn read_link(&mut self, mut item: Item, are_relationships: bool) -> Result<Edge, ReadError> {
        let ends = ENDS.into_iter().find(|(source, target)| item.has(source) && item.has(target));
        let Some((source_key, target_key)) = ends else {
            let keys: Vec<&str> = item.entries.iter().map(|(key, _)| key.as_str()).take(10).collect();
            let keys = if keys.is_empty() { "nothing".to_owned() } else { keys.join(", ") };
            return Err(self.malformed(format!("a link without `source` and `target`: it has {keys}")));
        };
        let source = self.end_of(&mut item, source_key)?;
        let target = self.end_of(&mut item, target_key)?;
        let id_key = if self.id_key == Some(IdKey::Member("key")) { "key" } else { "id" };
        let id = item.take(id_key);
        let type_keys: &[&str] = if are_relationships { &["relation", "type"] } else { &["relation"] };
        let is_type = |key: &&&str| {
            item.entries.iter().any(|(known, value)| known == **key && value.as_str().is_some())
        };
        let edge_type = type_keys.iter().find(is_type).copied().and_then(|key| item.take(key));
        let edge_type = edge_type.as_ref().and_then(Value::as_str).filter(|name| !name.is_empty());
        let edge_type = edge_type.unwrap_or(&self.options.default_edge_type).to_owned();
        let flag = |item: &mut Item, key: &str| {
            let at = item
                .entries
                .iter()
                .position(|(known, value)| known == key && matches!(value, Value::Bool(_)))?;
            match item.entries.remove(at).1 {
                Value::Bool(flag) => Some(flag),
                _ => None,
            }
        };
        match flag(&mut item, "directed").or_else(|| flag(&mut item, "undirected").map(|flag| !flag)) {
            Some(true) => {}
            Some(false) => self.summary.note(Remark::Undirected),
            None => self.plain_edges += 1,
        }
        self.summary.edges_count += 1;
        Ok(Edge { id, edge_type, source, target, properties: self.properties(item).into_edge() })
    }

    /// The vertex at the end `key` of a link, which may be stated by the whole node (D3, after a simulation).
    fn end_of(&mut self, item: &mut Item, key: &str) -> Result<Value, ReadError> {
        let mut stated = item.take(key).ok_or_else(|| self.malformed(format!("a link without `{key}`")))?;
        if let Value::Map(node) = &stated {
            let member = |key: &str| {
                node.as_slice()
                    .iter()
                    .find(|(known, _)| known.as_str() == Some(key))
                    .map(|(_, value)| value.clone())
            };
            let keys: &[&str] = match self.id_key {
                Some(IdKey::Member(key)) => &[key],
                Some(IdKey::Place) => &["index"],
                Some(IdKey::Outer) | None => &["id", "key", "index"],
            };
            let id = keys.iter().find_map(|key| member(key));
            stated =
                id.ok_or_else(|| self.malformed(format!("`{key}` of a link is a node without an id")))?;
        }
        match self.references.resolve(stated) {
            Ok(End::Id(id)) => Ok(id),
            Ok(End::ByPlace(id)) => {
                self.summary.note(Remark::ByPlace);
                Ok(id)
            }
            Err(reason) => Err(self.malformed(reason)),
        }
    }

    fn properties(&mut self, item: Item) -> Properties {
        let mut properties = Properties::default();
        for (key, value) in item.entries {
            properties.add_again(&key, value, &mut self.summary);
        }
        properties
    }

    /// The error that the item which was read last is wrong.
    fn malformed(&self, reason: String) -> ReadError {
        ReadError::Malformed { position: self.position, reason }
    }
}

/// The text in `value`, if it is a list of one.
fn only_text(value: &Value) -> Option<String> {
    match value {
        Value::List(list) => match list.as_slice() {
            [Value::String(text)] if !text.is_empty() => Some(text.to_string()),
            _ => None,
        },
        _ => None,
    }
}

impl<R: BufRead> Iterator for NodeLinkReader<R> {
    type Item = Result<Element, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.has_ended {
            return None;
        }
        let item = self.read_next().transpose();
        self.has_ended = !matches!(item, Some(Ok(_)));
        item
    }
}

impl<R: BufRead> ElementSource for NodeLinkReader<R> {
    fn position(&self) -> Position {
        self.position
    }

    fn summary(&self) -> ReadSummary {
        self.summary.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(Vec<String>, ReadSummary), ReadError> {
        let mut reader = NodeLinkReader::new(text.as_bytes(), SourceOptions::default());
        let elements = reader.by_ref().map(|element| element.map(|element| shown(&element)));
        let elements = elements.collect::<Result<_, _>>()?;
        Ok((elements, reader.summary()))
    }

    fn shown(element: &Element) -> String {
        match element {
            Element::Vertex(Vertex { id, labels, properties }) => {
                let label =
                    if labels == &["vertex"] { String::new() } else { format!(":{}", labels.join(":")) };
                let shown = properties.iter().map(|(key, values)| format!(" {key}={:?}", values[0].value));
                format!("{id:?}{label}{}", shown.collect::<String>())
            }
            Element::Edge(Edge { id, edge_type, source, target, properties }) => {
                let shown = properties.iter().map(|(key, value)| format!(" {key}={value:?}"));
                let id = id.as_ref().map_or(String::new(), |id| format!("{id:?} "));
                format!("{id}{source:?}-{edge_type}-{target:?}{}", shown.collect::<String>())
            }
        }
    }

    fn elements(text: &str) -> Vec<String> {
        read(text).unwrap_or_else(|error| panic!("{error}")).0
    }

    #[test]
    fn networkx_writes_links_or_edges_and_says_whether_they_have_a_direction() {
        for name in ["links", "edges"] {
            let text = format!(
                r#"{{"directed": false, "multigraph": false, "graph": {{"name": "k"}}, "nodes": [{{"club": "Mr. Hi", "id": 0}}, {{"id": 1, "w": 0.5}}], "{name}": [{{"weight": 4, "source": 0, "target": 1, "key": 0}}]}}"#
            );
            let (elements, summary) = read(&text).unwrap();
            assert_eq!(
                elements,
                [
                    "I64(0) club=String(\"Mr. Hi\")",
                    "I64(1) w=F64(0.5)",
                    "I64(0)-edge-I64(1) weight=I64(4) key=I64(0)"
                ]
            );
            let remarks: Vec<_> = summary.remarks().collect();
            assert_eq!(remarks, [(Remark::Undirected, 1), (Remark::GraphValue, 1)]);
        }
    }

    #[test]
    fn links_of_d3_count_nodes_or_name_them() {
        let (found, summary) =
            read(r#"{"nodes":[{"name":"a","group":1},{"name":"b"}],"links":[{"source":0,"target":1,"value":3},{"source":"b","target":"a"}]}"#)
                .unwrap();
        assert_eq!(
            found,
            [
                "I64(0) name=String(\"a\") group=I64(1)",
                "I64(1) name=String(\"b\")",
                "I64(0)-edge-I64(1) value=I64(3)",
                "I64(1)-edge-I64(0)"
            ]
        );
        assert_eq!(summary.remarks().collect::<Vec<_>>(), [(Remark::Numbered, 2)]);
        let (found, summary) =
            read(r#"{"nodes":[{"id":"x"},{"id":"y"}],"links":[{"source":1,"target":0},{"source":{"id":"x","index":0},"target":{"id":"y","index":1}}]}"#)
                .unwrap();
        assert_eq!(found[2..], ["String(\"y\")-edge-String(\"x\")", "String(\"x\")-edge-String(\"y\")"]);
        assert_eq!(summary.count(Remark::ByPlace), 2);
        let before = r#"{"links":[{"source":0,"target":1}],"nodes":[{"a":1},{"a":2}]}"#;
        assert_eq!(elements(before), ["I64(0)-edge-I64(1)", "I64(0) a=I64(1)", "I64(1) a=I64(2)"]);
    }

    #[test]
    fn the_forms_of_graphology_sigma_vis_and_yfiles_are_read() {
        let graphology = r#"{"attributes":{"name":"g"},"options":{"type":"undirected","multi":false},"nodes":[{"key":"a","attributes":{"x":1,"label":"A"}},{"key":"b"}],"edges":[{"key":"e","source":"a","target":"b","attributes":{"size":2}},{"source":"a","target":"b","undirected":true}]}"#;
        let (found, summary) = read(graphology).unwrap();
        assert_eq!(
            found,
            [
                "String(\"a\") x=I64(1) label=String(\"A\")",
                "String(\"b\")",
                "String(\"e\") String(\"a\")-edge-String(\"b\") size=I64(2)",
                "String(\"a\")-edge-String(\"b\")",
            ]
        );
        assert_eq!((summary.count(Remark::Undirected), summary.count(Remark::GraphValue)), (2, 1));
        let pairs = r#"{"nodes":[{"key":"a"},{"key":"b"}],"edges":[["a","b"]]}"#;
        assert_eq!(elements(pairs)[2], "String(\"a\")-edge-String(\"b\")");
        let vis = r#"{"nodes":[{"id":1,"label":"n"}],"edges":[{"from":1,"to":"1"}]}"#;
        assert_eq!(elements(vis)[1], "I64(1)-edge-I64(1)");
        let yfiles = r#"{"nodeList":[{"id":0}],"edgeList":[{"id":7,"source":0,"target":0}]}"#;
        assert_eq!(elements(yfiles), ["I64(0)", "I64(7) I64(0)-edge-I64(0)"]);
    }

    #[test]
    fn the_elements_of_cytoscape_are_told_apart_and_lose_their_drawing() {
        let list = r#"[{"data":{"id":"a","parent":"b"},"position":{"x":1},"group":"nodes","selected":false},{"data":{"id":"b"}},{"data":{"id":"e","source":"a","target":"b","w":1},"classes":"x"}]"#;
        let (found, summary) = read(list).unwrap();
        let expected = [
            "String(\"a\") parent=String(\"b\")",
            "String(\"b\")",
            "String(\"e\") String(\"a\")-edge-String(\"b\") w=I64(1)",
        ];
        assert_eq!(found, expected);
        assert_eq!(summary.remarks().collect::<Vec<_>>(), [(Remark::Drawing, 2)]);
        let desktop = r#"{"format_version":"1.0","data":{"name":"n"},"elements":{"nodes":[{"data":{"id":"a","parent":"b"}},{"data":{"id":"b"}}],"edges":[{"data":{"id":"e","source":"a","target":"b","w":1},"selected":false}]}}"#;
        assert_eq!(elements(desktop), expected);
    }

    #[test]
    fn the_json_graph_format_has_nodes_by_id_and_relations() {
        let text = r#"{"graph":{"id":"g","directed":false,"nodes":{"a":{"label":"A","metadata":{"n":1}},"b":{}},"edges":[{"source":"a","target":"b","relation":"is","directed":true,"metadata":{"w":2}},{"source":"b","target":"a"}]}}"#;
        let (found, summary) = read(text).unwrap();
        assert_eq!(
            found,
            [
                "String(\"a\") label=String(\"A\") n=I64(1)",
                "String(\"b\")",
                "String(\"a\")-is-String(\"b\") w=I64(2)",
                "String(\"b\")-edge-String(\"a\")",
            ]
        );
        assert_eq!(summary.count(Remark::Undirected), 1);
        let one = r#"{"graphs":[{"nodes":{"a":{}},"edges":[]}]}"#;
        assert_eq!(elements(one), ["String(\"a\")"]);
        let error = |text: &str| read(text).unwrap_err().to_string();
        assert!(error(r#"{"graphs":[{"nodes":{}},{"nodes":{}}]}"#).contains("a second graph"));
        assert!(error(r#"{"graph":{"nodes":{},"hyperedges":[{"nodes":["a"]}]}}"#).contains("`hyperedges`"));
    }

    #[test]
    fn relationships_have_types_and_a_list_of_one_label_is_one() {
        let text = r#"{"nodes":[{"id":"1","labels":["Person"],"properties":{"name":"A"}},{"id":"2","labels":["a","b"]}],"relationships":[{"id":"9","type":"KNOWS","startNode":"1","endNode":"2","properties":{"since":1}}]}"#;
        assert_eq!(
            elements(text),
            [
                "String(\"1\"):Person name=String(\"A\")",
                "String(\"2\") labels=List(List([String(\"a\"), String(\"b\")]))",
                "String(\"9\") String(\"1\")-KNOWS-String(\"2\") since=I64(1)",
            ]
        );
    }

    #[test]
    fn broken_files_are_named_with_their_place() {
        for (text, expected) in [
            ("", "line 1, column 1: expected {, found the end of the file"),
            ("7", "line 1, column 1: expected {, found `7`"),
            ("{}", "line 1, column 3: the file has neither `nodes` nor"),
            ("{\"nodes\":[\n{\"id\":1},{}]}", "line 2, column 10: the node has no `id`, and the first"),
            ("{\"nodes\":[{},{\"id\":1}]}", "line 1, column 14: the node has an `id`, and the first"),
            ("{\"nodes\":[{\"id\":[1]}]}", "line 1, column 11: the id of a node is a text or a number"),
            ("{\"nodes\":[7]}", "line 1, column 11: expected an object"),
            (
                "{\"edges\":[{\"source\":1}]}",
                "line 1, column 11: a link without `source` and `target`: it has source",
            ),
            (
                "{\"edges\":[{\"source\":1,\"target\":{}}]}",
                "line 1, column 11: `target` of a link is a node without",
            ),
            ("{\"nodes\":[{\"id\":1}", "line 1, column 19: expected , or ], found the end of the file"),
            ("{\"nodes\":[]} x", "line 1, column 14: expected the end of the file"),
        ] {
            let error = read(text).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{text}: {error}");
        }
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error() {
        let text = r#"{"directed":true,"nodes":[{"id":"a","w":[1,{"x":null}]}],"links":[{"source":"a","target":"a"}]}"#;
        for end in 0..text.len() {
            assert!(read(&text[..end]).is_err(), "{end}");
        }
        assert!(read(text).is_ok());
    }
}
