//! Reader: a GraphML file as vertices and edges, in file order.
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
//! others), or in the attributes `labels` and `label` of Neo4j's APOC; without them an element gets the
//! default of the options. Ids are strings, unless the file is of our own writer and says more. Edges may
//! stand before their vertices.
//!
//! | in the file | here |
//! |---|---|
//! | an undirected edge | an edge from its source to its target; counted in the summary |
//! | a graph inside of a node (groups of yEd) | its vertices beside the others, with the node's id as `parent`; counted |
//! | `port`, `sourceport`, `targetport` | left out: the edge ends at the node; counted |
//! | drawings of yEd and yFiles | the label becomes the property `label`; the rest is skipped, counted |
//! | data with tags in it, data of the graph itself | skipped; counted |
//! | a key of a type that isn't known | text; counted |
//! | `desc`, other attributes of a tag | skipped |
//! | `hyperedge`, `locator`, a graph inside of an edge, a second graph | refused |
//!
//! Memory: one element, the keys, the nodes that the present one lies in, and nothing that grows with the
//! file.

use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::element::{Edge, Element, Position, Vertex};
use crate::element_source::{ElementSource, ReadSummary, Remark};
use crate::error::ReadError;
use crate::graphml::data::{DataReader, require_blank, unexpected, unsupported};
use crate::graphml::keys::Scope;
use crate::graphml::options::GraphmlOptions;
use crate::graphml::types::read_value;
use crate::graphml::writer::{EDGE_IDS_ATTRIBUTE, VERTEX_IDS_ATTRIBUTE};
use crate::xml::tokens::{Tag, Token, Tokens, malformed};

/// The property that says in which vertex another one lies.
pub const PARENT_KEY: &str = "parent";

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct GraphmlReader<R: BufRead> {
    tokens: Tokens<R>,
    options: GraphmlOptions,
    data: DataReader,
    position: Position,
    place: Place,
    has_ended: bool,
    /// Attributes of the graph.
    graph: Graph,
    /// The nodes around the present graph, from the outermost.
    around: Vec<Around>,
}

/// Where in the file reading is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    Start,
    BeforeGraph,
    InGraph,
    /// Behind a graph that a node has inside, in that node.
    BehindInner,
    AfterGraph,
}

#[derive(Clone, Copy, Debug)]
struct Graph {
    is_directed: bool,
    vertex_ids: ValueType,
    edge_ids: ValueType,
}

/// A node with a graph inside.
#[derive(Debug)]
struct Around {
    id: Value,
    /// Whether edges beside the node have a direction.
    is_directed: bool,
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
            data: DataReader::default(),
            position: Position::START,
            place: Place::Start,
            has_ended: false,
            graph: Graph { is_directed: true, vertex_ids: ValueType::String, edge_ids: ValueType::String },
            around: Vec::new(),
        })
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        loop {
            match (self.tokens.next_token()?, self.place) {
                (Token::Eof, _) => return Ok(None),
                (Token::Text(text), _) => require_blank(&text, &self.tokens)?,
                (Token::End, Place::InGraph) if self.around.is_empty() => self.place = Place::AfterGraph,
                (Token::End, Place::InGraph) => self.place = Place::BehindInner,
                (Token::End, Place::BehindInner) => {
                    if let Some(node) = self.around.pop() {
                        self.graph.is_directed = node.is_directed;
                    }
                    self.place = Place::InGraph;
                }
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
                    self.data.prefix = prefix.to_owned();
                    self.place = Place::BeforeGraph;
                }
                (Token::Start(tag), Place::InGraph) => {
                    if let Some(element) = self.read_in_graph(&tag)? {
                        self.position = tag.position;
                        return Ok(Some(element));
                    }
                }
                (Token::Start(tag), Place::BehindInner) => self.read_behind_inner(&tag)?,
                (Token::Start(tag), _) => self.read_beside_graph(&tag)?,
            }
        }
    }

    /// Reads what stands beside the graph, or steps into it.
    fn read_beside_graph(&mut self, tag: &Tag) -> Result<(), ReadError> {
        match self.data.local_name(tag) {
            Some("key") => self.read_key(tag),
            Some("desc") => self.tokens.skip(),
            Some("data") => self.data.skip(&mut self.tokens),
            Some("graph") if self.place == Place::BeforeGraph => {
                self.place = Place::InGraph;
                self.read_graph(tag)
            }
            Some("graph") => {
                Err(unsupported(tag, "a second <graph>, which may use the ids of the first again,"))
            }
            _ => Err(unexpected(tag, "<graphml>")),
        }
    }

    fn read_key(&mut self, tag: &Tag) -> Result<(), ReadError> {
        if !self.data.keys.read(tag, &mut self.tokens)? {
            self.data.summary.note(Remark::UnknownType);
        }
        Ok(())
    }

    fn read_graph(&mut self, tag: &Tag) -> Result<(), ReadError> {
        self.graph.is_directed = match tag.attribute("edgedefault") {
            None => self.graph.is_directed,
            Some("directed") => true,
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
        match self.data.local_name(tag) {
            Some("node") => self.read_vertex(tag).map(|vertex| Some(Element::Vertex(vertex))),
            Some("edge") => self.read_edge(tag).map(|edge| Some(Element::Edge(edge))),
            Some("desc") => self.tokens.skip().map(|()| None),
            Some("data") => self.data.skip(&mut self.tokens).map(|()| None),
            // Gephi takes them here as well.
            Some("key") => self.read_key(tag).map(|()| None),
            Some("hyperedge") => Err(unsupported(
                tag,
                "a <hyperedge>, which joins any number of nodes where an edge joins two,",
            )),
            Some("locator") => Err(unsupported(tag, "a <locator>, which stands for a graph elsewhere,")),
            _ => Err(unexpected(tag, "<graph>")),
        }
    }

    /// Reads what stands in a node behind the graph inside of it.
    fn read_behind_inner(&mut self, tag: &Tag) -> Result<(), ReadError> {
        match self.data.local_name(tag) {
            Some("desc") => self.tokens.skip(),
            Some("port") => {
                self.data.summary.note(Remark::Port);
                self.tokens.skip()
            }
            Some("data") => Err(unsupported(tag, "data of a node behind the graph inside of it")),
            Some("graph") => Err(unsupported(tag, "a second <graph> inside of one node")),
            _ => Err(unexpected(tag, "<node>")),
        }
    }

    fn read_vertex(&mut self, tag: &Tag) -> Result<Vertex, ReadError> {
        let id = self.read_id(tag, "id", self.graph.vertex_ids)?;
        let mut data = self.data.read(Scope::Vertex, "<node>", &self.options, &mut self.tokens)?;
        let summary = &mut self.data.summary;
        summary.vertices_count += 1;
        let labels = data.label.take().map(|label| vec![label]);
        let labels = labels.or_else(|| data.take_apoc_labels(tag.attribute("labels")));
        let labels = labels.filter(|labels| !labels.is_empty());
        if let Some(around) = self.around.last() {
            summary.note(Remark::Nested);
            data.properties.add(PARENT_KEY, around.id.clone(), summary);
        }
        if let Some(inner) = data.graph {
            self.around.push(Around { id: id.clone(), is_directed: self.graph.is_directed });
            self.read_graph(&inner)?;
        }
        let labels = labels.unwrap_or_else(|| vec![self.options.default_label.clone()]);
        Ok(Vertex { id, labels, properties: data.properties.into_vertex() })
    }

    fn read_edge(&mut self, tag: &Tag) -> Result<Edge, ReadError> {
        let id = match tag.attribute("id") {
            Some(_) => Some(self.read_id(tag, "id", self.graph.edge_ids)?),
            None => None,
        };
        let source = self.read_id(tag, "source", self.graph.vertex_ids)?;
        let target = self.read_id(tag, "target", self.graph.vertex_ids)?;
        let is_directed = match tag.attribute("directed") {
            None => self.graph.is_directed,
            Some("true" | "1") => true,
            Some("false" | "0") => false,
            Some(other) => return Err(malformed(tag.position, format!("directed is `{other}`"))),
        };
        let mut data = self.data.read(Scope::Edge, "<edge>", &self.options, &mut self.tokens)?;
        let summary = &mut self.data.summary;
        summary.edges_count += 1;
        if !is_directed {
            summary.note(Remark::Undirected);
        }
        for _ in ["sourceport", "targetport"].iter().filter_map(|port| tag.attribute(port)) {
            summary.note(Remark::Port);
        }
        let edge_type = data.label.take().or_else(|| data.take_edge_type(tag.attribute("label")));
        let edge_type = edge_type.unwrap_or_else(|| self.options.default_edge_type.clone());
        Ok(Edge { id, edge_type, source, target, properties: data.properties.into_edge() })
    }

    fn read_id(&self, tag: &Tag, attribute: &str, value_type: ValueType) -> Result<Value, ReadError> {
        let text = tag.required(attribute)?;
        read_value(text, value_type).map_err(|reason| {
            malformed(tag.position, format!("<{}>, attribute `{attribute}`: {reason}", tag.name))
        })
    }
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

impl<R: BufRead> ElementSource for GraphmlReader<R> {
    fn position(&self) -> Position {
        self.position
    }

    fn summary(&self) -> ReadSummary {
        self.data.summary.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(xml: impl AsRef<[u8]>) -> Result<(Vec<Element>, ReadSummary), ReadError> {
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
        let counts = (summary.vertices_count, summary.edges_count, summary.remarks().count());
        assert_eq!(counts, (2, 1, 0));
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
        assert_eq!((summary.count(Remark::Undirected), summary.count(Remark::Data)), (1, 1));
    }

    #[test]
    fn the_drawings_of_yed_are_skipped_and_counted_but_for_their_labels() {
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
                vertex("n0", "vertex", &[("description", "a <b>".into()), ("label", "x".into())]),
                edge(Some("e0"), "edge", "n0", "n0", &[("d8", "plain".into())]),
            ]
        );
        assert_eq!(summary.count(Remark::Data), 3);
    }

    /// igraph up to 0.9 named a key by the attribute alone, whatever it was for.
    #[test]
    fn one_id_may_be_a_key_of_the_graph_one_of_nodes_and_one_of_edges() {
        let xml = r#"<graphml><key id="name" for="graph" attr.name="name" attr.type="string"/>
            <key id="name" for="node" attr.name="name" attr.type="string"/>
            <key id="name" for="edge" attr.name="name" attr.type="double"/>
            <key id="name" for="edge" attr.name="name" attr.type="double"/>
            <graph id="G" edgedefault="directed"><data key="name">Zachary</data>
            <node id="n0"><data key="name">a</data></node>
            <edge source="n0" target="n0"><data key="name">1.5</data></edge></graph></graphml>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(
            elements,
            [
                vertex("n0", "vertex", &[("name", "a".into())]),
                edge(None, "edge", "n0", "n0", &[("name", Value::F64(1.5))]),
            ]
        );
        assert_eq!(summary.count(Remark::Data), 1);
    }

    #[test]
    fn ports_are_left_out_and_the_nodes_of_a_group_know_it() {
        let xml = r#"<graphml><key id="d0" for="node" attr.name="v"/><key id="d1" for="port" yfiles.type="portgraphics"/>
            <graph edgedefault="directed">
            <node id="g" yfiles.foldertype="group"><data key="d0">x</data><port name="p0"><data key="d1"/></port>
              <graph edgedefault="undirected" id="g:"><node id="g::a"/><node id="g::b"><graph id="g::b:"><node id="g::b::c"/></graph></node>
              <edge id="e0" source="g::a" target="g::b" sourceport="p" targetport="q"/></graph>
              <port name="p1"/></node>
            <node id="z"/><edge source="z" target="g"/></graph></graphml>"#;
        let (elements, summary) = read(xml).unwrap();
        let in_group = |group: &str| ("parent", Value::from(group));
        assert_eq!(
            elements,
            [
                vertex("g", "vertex", &[("v", "x".into())]),
                vertex("g::a", "vertex", &[in_group("g")]),
                vertex("g::b", "vertex", &[in_group("g")]),
                vertex("g::b::c", "vertex", &[in_group("g::b")]),
                edge(Some("e0"), "edge", "g::a", "g::b", &[]),
                vertex("z", "vertex", &[]),
                edge(None, "edge", "z", "g", &[]),
            ]
        );
        let counts = [Remark::Port, Remark::Nested, Remark::Undirected].map(|remark| summary.count(remark));
        assert_eq!(counts, [4, 3, 1]);
    }

    #[test]
    fn the_labels_of_yfiles_are_read_from_either_form() {
        let xml = r#"<graphml xmlns:y="c" xmlns:x="m"><key id="d0" for="node" attr.name="NodeLabels" y:attr.uri="http://www.yworks.com/xml/yfiles-common/2.0/NodeLabels"/>
            <key id="d1" for="node" attr.name="zOrder" attr.type="int"/><graph>
            <node id="1"><data key="d1">7</data><data key="d0"><x:List><y:Label><y:Label.Text><![CDATA[a
b]]></y:Label.Text><y:Label.Style/></y:Label><y:Label Text="second"/></x:List></data></node>
            <node id="2"><data key="d0"><x:List><y:Label Text="c"/></x:List></data></node>
            <node id="3"><data key="d0"><x:List/></data></node></graph></graphml>"#;
        assert_eq!(
            read(xml).unwrap().0,
            [
                vertex("1", "vertex", &[("zOrder", Value::I32(7)), ("label", "a\nb".into())]),
                vertex("2", "vertex", &[("label", "c".into())]),
                vertex("3", "vertex", &[]),
            ]
        );
    }

    #[test]
    fn the_labels_and_types_of_apoc_and_of_tinkerpop_2_stand_in_attributes() {
        let xml = r#"<graphml><key id="labels" for="node" attr.name="labels"/><key id="label" for="edge" attr.name="label"/>
            <key id="tags" for="node" attr.name="tags" attr.type="string" attr.list="string"/><graph edgedefault="directed">
            <node id="n0" labels=":Person"><data key="labels">:Person</data><data key="tags">["a","b"]</data></node>
            <node id="n1"><data key="labels">:A:B</data></node><node id="n2"><data key="labels">plain</data></node>
            <edge id="e0" source="n0" target="n1" label="KNOWS"><data key="label">KNOWS</data></edge></graph></graphml>"#;
        let (elements, _) = read(xml).unwrap();
        let list = evergraph_graph::value::collection::List::new(vec!["a".into(), "b".into()]).unwrap();
        let mut two = vertex("n1", "A", &[]);
        if let Element::Vertex(vertex) = &mut two {
            vertex.labels.push("B".to_owned());
        }
        assert_eq!(
            elements,
            [
                vertex("n0", "Person", &[("tags", list.into())]),
                two,
                vertex("n2", "vertex", &[("labels", "plain".into())]),
                edge(Some("e0"), "KNOWS", "n0", "n1", &[]),
            ]
        );
    }

    #[test]
    fn a_type_that_nobody_knows_is_text_and_no_text_is_no_number() {
        let xml = r#"<graphml><key id="a" for="node" attr.type="python_object"/><key id="b" for="node" attr.type="int"/>
            <graph><key id="c" for="node" attr.name="late"/><node id="1"><data key="a"> x</data><data key="b"/><data key="c"/></node></graph></graphml>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(elements, [vertex("1", "vertex", &[("a", " x".into()), ("late", "".into())])]);
        assert_eq!(summary.count(Remark::UnknownType), 1);
    }

    /// A property may be called as the key of labels is: what counts is the key's id.
    #[test]
    fn a_property_called_label_v_is_none_if_another_key_has_that_id() {
        let xml = r#"<graphml><key id="labelV" for="node" attr.name="labelV"/><key id="d0" for="node" attr.name="labelV"/>
            <graph><node id="1"><data key="labelV">person</data><data key="d0">x</data></node></graph></graphml>"#;
        assert_eq!(read(xml).unwrap().0, [vertex("1", "person", &[("labelV", "x".into())])]);
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

    fn in_graph(body: &str) -> Result<(Vec<Element>, ReadSummary), ReadError> {
        read(format!(
            "<graphml><key id='a' for='node' attr.type='int'/><key id='b' for='node' attr.name='a'/><graph>\n{body}</graph></graphml>"
        ))
    }

    #[test]
    fn parts_of_graphml_that_a_property_graph_has_not_are_refused_with_their_line() {
        for (body, name) in [
            ("<hyperedge/>", "a <hyperedge>"),
            ("<node id='1'><graph/>\n<data key='a'>1</data></node>", "data of a node behind the graph"),
            ("<node id='1'><graph/>\n<graph/></node>", "a second <graph> inside of one node"),
            ("<edge source='1' target='1'>\n<graph/></edge>", "a graph inside of an edge"),
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
            ("<node id='1'><data key='a'>x</data></node>", "data of key `a`: \"x\" is not a valid int"),
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
            (
                "<graphml><key id='a'/><key id='a' for='edge' attr.type='int'/></graphml>",
                "key `a`: is declared twice, differently",
            ),
            ("<graphml><key id='a' for='nodes'/></graphml>", "key `a`: is for `nodes`"),
            ("<graphml><key id='a' attr.type='any'/></graphml>", "key `a`: a key cannot have the type any"),
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
