//! Reader: a GraphML file as vertices and edges, in the order in which they stand there.
//!
//! ```text
//! <graphml>
//!   <key id="d0" for="node" attr.name="name" attr.type="string"/> ...
//!   <graph edgedefault="directed">
//!     <node id="1"><data key="labelV">person</data><data key="d0">marko</data></node>
//!     <edge id="7" source="1" target="2"><data key="labelE">knows</data></edge> ...
//! ```
//!
//! Labels and edge types stand in the data that TinkerPop calls `labelV` and `labelE` (options may name
//! others); without them an element gets the default of the options. Ids are strings, unless the file
//! is of our own writer and says more. Edges may stand before their vertices.
//!
//! | in the file | here |
//! |---|---|
//! | an undirected edge | an edge from its source to its target; counted in the summary |
//! | drawings of yEd, data with tags in it, data of the graph itself | skipped; counted |
//! | `desc` | skipped |
//! | `hyperedge`, `port`, `sourceport`, `locator`, a graph inside of a node or edge, a second graph | refused |
//!
//! Memory: one element, the keys, and nothing that grows with the file.

use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::element::{Edge, Element, Position, Vertex};
use crate::error::ReadError;
use crate::graphml::keys::{Keys, Scope};
use crate::graphml::tokens::{Tag, Token, Tokens, is_blank, malformed};
use crate::graphml::types::read_value;
use crate::graphml::writer::{EDGE_IDS_ATTRIBUTE, VERTEX_IDS_ATTRIBUTE};

/// How a file is read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct GraphmlOptions {
    /// Id or name of the key that holds a vertex's label.
    pub label_key: String,
    /// Id or name of the key that holds an edge's type.
    pub edge_type_key: String,
    /// The label of vertices that have no such data.
    pub default_label: String,
    /// The type of edges that have no such data.
    pub default_edge_type: String,
    /// How long a tag or a text may be, in bytes.
    pub text_bytes_max: usize,
}

impl Default for GraphmlOptions {
    /// TinkerPop's names: `labelV`, `labelE`, `vertex`, `edge`; 16 MiB.
    fn default() -> Self {
        Self {
            label_key: "labelV".to_owned(),
            edge_type_key: "labelE".to_owned(),
            default_label: "vertex".to_owned(),
            default_edge_type: "edge".to_owned(),
            text_bytes_max: 16 << 20,
        }
    }
}

/// What was read so far, and what was left out of it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct GraphmlSummary {
    /// Vertices.
    pub vertices_count: u64,
    /// Edges, the undirected ones among them.
    pub edges_count: u64,
    /// Edges that the file calls undirected.
    pub undirected_edges_count: u64,
    /// Data that were skipped: drawings, and data of the graph itself.
    pub skipped_data_count: u64,
}

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct GraphmlReader<R: BufRead> {
    tokens: Tokens<R>,
    options: GraphmlOptions,
    keys: Keys,
    /// For each name of a property, the last element that had it.
    had_by: Vec<u64>,
    elements_count: u64,
    summary: GraphmlSummary,
    position: Position,
    place: Place,
    has_ended: bool,
    /// What stands before the names of GraphML's tags, with its colon.
    prefix: String,
    /// Attributes of the graph.
    graph: Graph,
}

/// Where in the file reading is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Start,
    BeforeGraph,
    InGraph,
    AfterGraph,
}

#[derive(Clone, Copy, Debug)]
struct Graph {
    is_directed: bool,
    vertex_ids: ValueType,
    edge_ids: ValueType,
}

/// What the data of an element say.
struct Data {
    label: Option<String>,
    properties: Vec<(String, Value)>,
}

impl<R: BufRead> GraphmlReader<R> {
    /// Reads what `bytes` gives.
    ///
    /// # Errors
    /// If the file's first bytes show an encoding that is not read, or can't be had.
    pub fn new(bytes: R, options: GraphmlOptions) -> Result<Self, ReadError> {
        Ok(Self {
            tokens: Tokens::new(bytes, options.text_bytes_max)?,
            options,
            keys: Keys::default(),
            had_by: Vec::new(),
            elements_count: 0,
            summary: GraphmlSummary::default(),
            position: Position::START,
            place: Place::Start,
            has_ended: false,
            prefix: String::new(),
            graph: Graph { is_directed: true, vertex_ids: ValueType::String, edge_ids: ValueType::String },
        })
    }

    /// What was read so far; of the whole file, once there are no more elements.
    pub fn summary(&self) -> GraphmlSummary {
        self.summary
    }

    /// Where in the file the element that was read last begins.
    pub fn position(&self) -> Position {
        self.position
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        loop {
            match (self.tokens.next_token()?, self.place) {
                (Token::Eof, _) => return Ok(None),
                (Token::Text(text), _) => self.require_blank(&text)?,
                (Token::End, Place::InGraph) => self.place = Place::AfterGraph,
                // The end of <graphml>: nothing but the end of the file can follow.
                (Token::End, _) => {}
                (Token::Start(tag), Place::Start) => {
                    let prefix = tag.name.strip_suffix("graphml");
                    let Some(prefix) = prefix.filter(|prefix| prefix.is_empty() || prefix.ends_with(':'))
                    else {
                        return Err(malformed(
                            tag.position,
                            format!("expected <graphml>, found <{}>", tag.name),
                        ));
                    };
                    self.prefix = prefix.to_owned();
                    self.place = Place::BeforeGraph;
                }
                (Token::Start(tag), Place::InGraph) => {
                    if let Some(element) = self.read_in_graph(&tag)? {
                        self.position = tag.position;
                        return Ok(Some(element));
                    }
                }
                (Token::Start(tag), _) => self.read_beside_graph(&tag)?,
            }
        }
    }

    /// Reads what stands beside the graph, or steps into it.
    fn read_beside_graph(&mut self, tag: &Tag) -> Result<(), ReadError> {
        match self.local_name(tag) {
            Some("key") => {
                self.keys.read(tag, &mut self.tokens)?;
                self.had_by.resize(self.keys.names_count(), 0);
                Ok(())
            }
            Some("desc") => self.tokens.skip(),
            Some("data") => self.skip_data(),
            Some("graph") if self.place == Place::BeforeGraph => {
                self.place = Place::InGraph;
                self.read_graph(tag)
            }
            Some("graph") => Err(unsupported(tag, "a second <graph>")),
            _ => Err(self.unexpected(tag, "<graphml>")),
        }
    }

    fn read_graph(&mut self, tag: &Tag) -> Result<(), ReadError> {
        self.graph.is_directed = match tag.attribute("edgedefault") {
            None | Some("directed") => true,
            Some("undirected") => false,
            Some(other) => return Err(malformed(tag.position, format!("edgedefault is `{other}`"))),
        };
        for (attribute, ids) in [
            (VERTEX_IDS_ATTRIBUTE, &mut self.graph.vertex_ids),
            (EDGE_IDS_ATTRIBUTE, &mut self.graph.edge_ids),
        ] {
            if let Some(name) = tag.attribute(attribute) {
                *ids =
                    name.parse().map_err(|error| malformed(tag.position, format!("{attribute}: {error}")))?;
            }
        }
        Ok(())
    }

    fn read_in_graph(&mut self, tag: &Tag) -> Result<Option<Element>, ReadError> {
        match self.local_name(tag) {
            Some("node") => self.read_vertex(tag).map(|vertex| Some(Element::Vertex(vertex))),
            Some("edge") => self.read_edge(tag).map(|edge| Some(Element::Edge(edge))),
            Some("desc") => self.tokens.skip().map(|()| None),
            Some("data") => self.skip_data().map(|()| None),
            Some("hyperedge") => Err(unsupported(tag, "a <hyperedge>")),
            Some("locator") => Err(unsupported(tag, "a <locator>, which stands for a graph elsewhere,")),
            _ => Err(self.unexpected(tag, "<graph>")),
        }
    }

    fn read_vertex(&mut self, tag: &Tag) -> Result<Vertex, ReadError> {
        let id = self.read_id(tag, "id", self.graph.vertex_ids)?;
        let data = self.read_data(Scope::Vertex, "<node>")?;
        self.summary.vertices_count += 1;
        let label = data.label.unwrap_or_else(|| self.options.default_label.clone());
        let properties = data.properties.into_iter().map(|(key, value)| (key, vec![value.into()])).collect();
        Ok(Vertex { id, labels: vec![label], properties })
    }

    fn read_edge(&mut self, tag: &Tag) -> Result<Edge, ReadError> {
        let id = match tag.attribute("id") {
            Some(_) => Some(self.read_id(tag, "id", self.graph.edge_ids)?),
            None => None,
        };
        let source = self.read_id(tag, "source", self.graph.vertex_ids)?;
        let target = self.read_id(tag, "target", self.graph.vertex_ids)?;
        if tag.attribute("sourceport").or_else(|| tag.attribute("targetport")).is_some() {
            return Err(unsupported(tag, "an edge between ports"));
        }
        let is_directed = match tag.attribute("directed") {
            None => self.graph.is_directed,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(other) => return Err(malformed(tag.position, format!("directed is `{other}`"))),
        };
        let data = self.read_data(Scope::Edge, "<edge>")?;
        self.summary.edges_count += 1;
        self.summary.undirected_edges_count += u64::from(!is_directed);
        let edge_type = data.label.unwrap_or_else(|| self.options.default_edge_type.clone());
        Ok(Edge { id, edge_type, source, target, properties: data.properties })
    }

    fn read_id(&self, tag: &Tag, attribute: &str, value_type: ValueType) -> Result<Value, ReadError> {
        let text = tag.required(attribute)?;
        read_value(text, value_type).map_err(|reason| {
            malformed(tag.position, format!("<{}>, attribute `{attribute}`: {reason}", tag.name))
        })
    }

    /// Reads the data of an element, up to its end.
    fn read_data(&mut self, scope: Scope, parent: &str) -> Result<Data, ReadError> {
        self.elements_count += 1;
        let mut data = Data { label: None, properties: Vec::new() };
        loop {
            match self.tokens.next_token()? {
                Token::Text(text) => self.require_blank(&text)?,
                Token::End | Token::Eof => break,
                Token::Start(tag) => match self.local_name(&tag) {
                    Some("data") => self.read_datum(&tag, scope, &mut data)?,
                    Some("desc") => self.tokens.skip()?,
                    Some("port") => return Err(unsupported(&tag, "a <port>")),
                    Some("graph") => return Err(unsupported(&tag, "a graph inside of an element")),
                    Some("locator") => return Err(unsupported(&tag, "a <locator>")),
                    _ => return Err(self.unexpected(&tag, parent)),
                },
            }
        }
        let Self { keys, had_by, elements_count, options, .. } = self;
        for (key, value) in keys.defaults(scope) {
            if had_by[key.name_number] == *elements_count {
                continue;
            }
            had_by[key.name_number] = *elements_count;
            if key.goes_by(options.name_key(scope)) {
                data.label = Some(label_of(value));
            } else {
                data.properties.push((key.name.clone(), value.clone()));
            }
        }
        Ok(data)
    }

    /// Reads the `data` that `tag` opened, up to its end.
    fn read_datum(&mut self, tag: &Tag, scope: Scope, data: &mut Data) -> Result<(), ReadError> {
        let id = tag.required("key")?;
        let fail = |reason: String| Err(malformed(tag.position, format!("data of key `{id}`: {reason}")));
        let Some(key) = self.keys.find(id) else {
            return fail("no such key was declared before".to_owned());
        };
        if key.is_skipped {
            return self.skip_data();
        }
        if !key.is_for(scope) {
            return fail("the key is declared for other elements".to_owned());
        }
        let had_by = &mut self.had_by[key.name_number];
        if *had_by == self.elements_count {
            return fail(format!("the element has `{}` twice", key.name));
        }
        let Some(text) = self.tokens.read_text()? else {
            self.summary.skipped_data_count += 1;
            return Ok(());
        };
        *had_by = self.elements_count;
        let value = match read_value(&text, key.value_type) {
            Ok(value) => value,
            Err(reason) => return fail(reason),
        };
        if key.goes_by(self.options.name_key(scope)) {
            data.label = Some(label_of(&value));
        } else {
            data.properties.push((key.name.clone(), value));
        }
        Ok(())
    }

    fn skip_data(&mut self) -> Result<(), ReadError> {
        self.summary.skipped_data_count += 1;
        self.tokens.skip()
    }

    /// The name of `tag` without the prefix, if it is one of GraphML's.
    fn local_name<'t>(&self, tag: &'t Tag) -> Option<&'t str> {
        tag.name.strip_prefix(&self.prefix).filter(|name| !name.contains(':'))
    }

    fn require_blank(&self, text: &str) -> Result<(), ReadError> {
        if text.trim_matches(is_blank).is_empty() {
            return Ok(());
        }
        Err(malformed(self.tokens.position(), "text where tags are expected".to_owned()))
    }

    fn unexpected(&self, tag: &Tag, parent: &str) -> ReadError {
        malformed(tag.position, format!("<{}> cannot stand in {parent}", tag.name))
    }
}

impl GraphmlOptions {
    /// The key of what elements of `scope` are called.
    fn name_key(&self, scope: Scope) -> &str {
        match scope {
            Scope::Vertex => &self.label_key,
            Scope::Edge => &self.edge_type_key,
        }
    }
}

fn label_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn unsupported(tag: &Tag, what: &str) -> ReadError {
    ReadError::Unsupported { position: tag.position, what: what.to_owned() }
}

impl<R: BufRead> Iterator for GraphmlReader<R> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: impl AsRef<[u8]>) -> Result<(Vec<Element>, GraphmlSummary), ReadError> {
        let mut reader = GraphmlReader::new(xml.as_ref(), GraphmlOptions::default())?;
        let elements = reader.by_ref().collect::<Result<_, _>>()?;
        Ok((elements, reader.summary()))
    }

    fn vertex(id: &str, label: &str, properties: &[(&str, Value)]) -> Element {
        let property = |(key, value): &(&str, Value)| ((*key).to_owned(), vec![value.clone().into()]);
        let properties = properties.iter().map(property).collect();
        Element::Vertex(Vertex { id: id.into(), labels: vec![label.to_owned()], properties })
    }

    fn edge(
        id: Option<&str>,
        edge_type: &str,
        source: &str,
        target: &str,
        properties: &[(&str, Value)],
    ) -> Element {
        Element::Edge(Edge {
            id: id.map(Value::from),
            edge_type: edge_type.to_owned(),
            source: source.into(),
            target: target.into(),
            properties: properties.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect(),
        })
    }

    const TINKERPOP: &str = r#"<?xml version="1.0" ?><graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="labelV" for="node" attr.name="labelV" attr.type="string"></key><key id="name" for="node" attr.name="name" attr.type="string"></key><key id="age" for="node" attr.name="age" attr.type="int"></key><key id="labelE" for="edge" attr.name="labelE" attr.type="string"></key><key id="weight" for="edge" attr.name="weight" attr.type="double"></key><graph id="G" edgedefault="directed"><node id="1"><data key="labelV">person</data><data key="name">ma&lt;rko</data><data key="age">29</data></node><edge id="7" source="1" target="2"><data key="labelE">knows</data><data key="weight">0.5</data></edge><node id="2"><data key="labelV">person</data></node></graph></graphml>"#;

    #[test]
    fn a_file_of_tinkerpop_is_read() {
        let (elements, summary) = read(TINKERPOP).unwrap();
        assert_eq!(
            elements,
            [
                vertex("1", "person", &[("name", "ma<rko".into()), ("age", Value::I32(29))]),
                edge(Some("7"), "knows", "1", "2", &[("weight", Value::F64(0.5))]),
                vertex("2", "person", &[]),
            ]
        );
        let expected = GraphmlSummary { vertices_count: 2, edges_count: 1, ..GraphmlSummary::default() };
        assert_eq!(summary, expected);
    }

    #[test]
    fn a_file_of_networkx_is_read_with_default_names() {
        // As networkx 3 writes it: two keys of one name, and what a graph knows of itself.
        let xml = "<?xml version='1.0' encoding='utf-8'?>\n<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n\
            <key id=\"d2\" for=\"edge\" attr.name=\"weight\" attr.type=\"double\"/>\n\
            <key id=\"d1\" for=\"node\" attr.name=\"v\" attr.type=\"long\"/>\n\
            <key id=\"d0\" for=\"node\" attr.name=\"v\" attr.type=\"string\"><default>none</default></key>\n\
            <key id=\"d3\" for=\"graph\" attr.name=\"title\" attr.type=\"string\"/>\n\
            <graph edgedefault=\"undirected\">\n  <data key=\"d3\">t</data>\n  <node id=\"a\">\n    <data key=\"d1\"> 3 </data>\n  </node>\n\
            <node id=\"b\"/>\n  <edge source=\"a\" target=\"b\">\n<data key=\"d2\">1e-3</data></edge>\n<edge source=\"b\" target=\"b\" directed=\"true\"/>\n</graph>\n</graphml>\n";
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(
            elements,
            [
                vertex("a", "vertex", &[("v", Value::I64(3))]),
                vertex("b", "vertex", &[("v", "none".into())]),
                edge(None, "edge", "a", "b", &[("weight", Value::F64(0.001))]),
                edge(None, "edge", "b", "b", &[]),
            ]
        );
        assert_eq!((summary.undirected_edges_count, summary.skipped_data_count), (1, 1));
    }

    #[test]
    fn the_drawings_of_yed_are_skipped_and_counted() {
        let xml = r#"<graphml xmlns:y="http://www.yworks.com/xml/graphml">
            <key attr.name="Description" attr.type="string" for="graph" id="d0"/>
            <key for="port" id="d1" yfiles.type="portgraphics"/>
            <key attr.name="description" attr.type="string" for="node" id="d5"/>
            <key for="node" id="d6" yfiles.type="nodegraphics"/>
            <key for="graphml" id="d7" yfiles.type="resources"/>
            <key for="edge" id="d8"/>
            <graph edgedefault="directed" id="G"><data key="d0" xml:space="preserve"/>
            <node id="n0"><data key="d5" xml:space="preserve"><![CDATA[a <b>]]></data><data key="d6"><y:ShapeNode><y:NodeLabel>x</y:NodeLabel></y:ShapeNode></data></node>
            <edge id="e0" source="n0" target="n0"><data key="d8">plain</data></edge>
            </graph><data key="d7"><y:Resources/></data></graphml>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(
            elements,
            [
                vertex("n0", "vertex", &[("description", "a <b>".into())]),
                edge(Some("e0"), "edge", "n0", "n0", &[("d8", "plain".into())]),
            ]
        );
        assert_eq!(summary.skipped_data_count, 3);
    }

    #[test]
    fn the_tags_may_have_a_prefix() {
        let xml = r#"<g:graphml xmlns:g="x"><g:key id="a" for="all"><g:desc>d</g:desc><g:default>1</g:default></g:key><g:graph><g:desc>d</g:desc><g:node id="1"><g:desc/></g:node></g:graph></g:graphml>"#;
        assert_eq!(read(xml).unwrap().0, [vertex("1", "vertex", &[("a", "1".into())])]);
        assert!(read("<g:graphml><graph/></g:graphml>").is_err());
    }

    #[test]
    fn the_default_of_a_label_is_a_label() {
        let xml = r#"<graphml><key id="labelV" for="node"><default>person</default></key><graph><node id="1"/><node id="2"><data key="labelV">robot</data></node></graph></graphml>"#;
        assert_eq!(read(xml).unwrap().0, [vertex("1", "person", &[]), vertex("2", "robot", &[])]);
    }

    fn in_graph(body: &str) -> Result<(Vec<Element>, GraphmlSummary), ReadError> {
        read(format!(
            "<graphml><key id='a' for='node' attr.type='int'/><key id='b' for='node' attr.name='a'/><graph>\n{body}</graph></graphml>"
        ))
    }

    #[test]
    fn parts_of_graphml_that_a_property_graph_has_not_are_refused_with_their_line() {
        for (body, name) in [
            ("<hyperedge/>", "a <hyperedge>"),
            ("<node id='1'>\n<port name='p'/></node>", "a <port>"),
            ("<node id='1'>\n<graph/></node>", "a graph inside of an element"),
            ("<edge source='1' target='1'>\n<graph/></edge>", "a graph inside of an element"),
            ("<edge source='1' target='1' sourceport='p'/>", "an edge between ports"),
            ("<locator/>", "a <locator>"),
            ("</graph>\n<graph>", "a second <graph>"),
        ] {
            let error = in_graph(body).unwrap_err();
            assert!(matches!(error, ReadError::Unsupported { .. }), "{error}");
            let line = if body.contains('\n') { 3 } else { 2 };
            assert!(error.to_string().starts_with(&format!("line {line}, column 1: {name}")), "{error}");
        }
    }

    #[test]
    fn broken_elements_are_named_with_their_place() {
        for (body, reason) in [
            ("<node/>", "<node> has no attribute `id`"),
            ("<edge source='1'/>", "<edge> has no attribute `target`"),
            ("<edge source='1' target='2' directed='no'/>", "directed is `no`"),
            ("<node id='1'><data>1</data></node>", "<data> has no attribute `key`"),
            (
                "<node id='1'><data key='c'>1</data></node>",
                "data of key `c`: no such key was declared before",
            ),
            ("<node id='1'><data key='a'>x</data></node>", "data of key `a`: \"x\" is no int"),
            ("<node id='1'><data key='a'/></node>", "data of key `a`: \"\" is no int"),
            (
                "<node id='1'><data key='a'>1</data><data key='a'>1</data></node>",
                "data of key `a`: the element has `a` twice",
            ),
            (
                "<node id='1'><data key='a'>1</data><data key='b'>1</data></node>",
                "data of key `b`: the element has `a` twice",
            ),
            (
                "<edge source='1' target='1'><data key='a'>1</data></edge>",
                "data of key `a`: the key is declared for other",
            ),
            ("<node id='1'>x</node>", "text where tags are expected"),
            ("<vertex id='1'/>", "<vertex> cannot stand in <graph>"),
            ("<node id='1'><y:node/></node>", "<y:node> cannot stand in <node>"),
        ] {
            let error = in_graph(body).unwrap_err().to_string();
            assert!(error.starts_with("line 2, column ") && error.contains(reason), "{error}");
        }
        for (xml, reason) in [
            ("<gexf/>", "expected <graphml>, found <gexf>"),
            ("<xgraphml/>", "expected <graphml>"),
            ("<graphml><node id='1'/></graphml>", "<node> cannot stand in <graphml>"),
            ("<graphml><key/></graphml>", "<key> has no attribute `id`"),
            ("<graphml><key id='a'/><key id='a'/></graphml>", "key `a`: is declared twice"),
            ("<graphml><key id='a' for='nodes'/></graphml>", "key `a`: is for `nodes`"),
            ("<graphml><key id='a' attr.type='number'/></graphml>", "key `a`: unknown type \"number\""),
            (
                "<graphml><key id='a' attr.type='int'><default>x</default></key></graphml>",
                "key `a`: its default",
            ),
            ("<graphml><graph edgedefault='both'/></graphml>", "edgedefault is `both`"),
        ] {
            let error = read(xml).unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn an_error_is_the_last_item() {
        let mut reader = GraphmlReader::new(
            "<graphml><graph><node id='1'/>\n<node/>".as_bytes(),
            GraphmlOptions::default(),
        )
        .unwrap();
        assert!(reader.next().unwrap().is_ok());
        assert_eq!(reader.position(), Position { line: 1, column: 17 });
        assert!(reader.next().unwrap().is_err());
        assert!(reader.next().is_none());
    }

    #[test]
    fn a_file_that_is_cut_anywhere_is_an_error() {
        for end in 0..TINKERPOP.len() {
            assert!(read(&TINKERPOP[..end]).is_err(), "{end}");
        }
        let wide: Vec<u8> =
            "\u{feff}".encode_utf16().chain(TINKERPOP.encode_utf16()).flat_map(u16::to_be_bytes).collect();
        assert_eq!(read(&wide).unwrap(), read(TINKERPOP).unwrap());
        for end in 0..wide.len() {
            assert!(read(&wide[..end]).is_err(), "{end}");
        }
    }

    #[test]
    fn a_file_with_any_byte_replaced_gives_elements_or_an_error() {
        for place in 0..TINKERPOP.len() {
            for byte in [0, b'<', b'>', b'"', b'&', b'/', b' ', 0x80, 0xff] {
                let mut xml = TINKERPOP.as_bytes().to_vec();
                xml[place] = byte;
                if let Ok((elements, _)) = read(&xml) {
                    assert!(elements.len() <= 3, "{place} {byte}");
                }
            }
        }
    }
}
