//! Reader: a GEXF file as vertices and edges, in file order.
//!
//! ```text
//! <gexf version="1.3"><graph defaultedgetype="directed">
//!   <attributes class="node"><attribute id="0" title="url" type="string"/></attributes>
//!   <nodes><node id="a" label="Hello"><attvalues><attvalue for="0" value="x"/></attvalues></node></nodes>
//!   <edges><edge id="e" source="a" target="b" weight="2" kind="likes"/></edges>
//! ```
//!
//! | in the file | here |
//! |---|---|
//! | `label`, `weight` | properties of these names |
//! | `kind` of an edge | its type; without one, the default of the options |
//! | a node inside of a node, `pid`, `parents` | a vertex beside the others, with that one's id as `parent` |
//! | `start`, `end`, `timestamp` | properties of these names, by the graph's `timeformat` |
//! | several values of an attribute over time, `spells` | the last one; left out; counted |
//! | an undirected or mutual edge | an edge from its source to its target; counted |
//! | `viz:...` | skipped, counted |
//! | a value of an attribute that isn't declared | text under its name; counted |
//!
//! Ids are strings. Memory: one element, the attributes, and the nodes that the present one lies in.

use std::io::BufRead;

use evergraph_graph::value::{Value, ValueType};

use crate::element::{Edge, Element, Position, Vertex};
use crate::element_source::{ElementSource, Properties, ReadSummary, Remark, SourceOptions};
use crate::error::ReadError;
use crate::gexf::attributes::{ATTRIBUTES_MAX, Attribute, AttributeType, Attributes};
use crate::graphml::keys::Scope;
use crate::graphml::reader::PARENT_KEY;
use crate::xml::tokens::{Tag, Token, Tokens, is_blank, malformed};

/// Reads the elements of a file. The first error is the last item.
#[derive(Debug)]
pub struct GexfReader<R: BufRead> {
    tokens: Tokens<R>,
    options: SourceOptions,
    attributes: Attributes,
    summary: ReadSummary,
    position: Position,
    /// The tags around the next one, from the outermost.
    open: Vec<OpenTag>,
    prefix: String,
    is_directed: bool,
    time: Option<ValueType>,
    has_graph: bool,
    has_ended: bool,
}

/// A tag that is open between elements.
#[derive(Debug)]
enum OpenTag {
    Gexf,
    Graph,
    Nodes,
    Edges,
    /// A node with nodes or edges inside.
    Node(Value),
}

/// What stands inside of an element.
#[derive(Default)]
struct Content {
    properties: Properties,
    /// The tag of nodes or edges that begin inside of a node, which isn't at its end then.
    inner: Option<OpenTag>,
}

impl<R: BufRead> GexfReader<R> {
    /// Reads what `bytes` gives.
    ///
    /// # Errors
    /// If the file's first bytes show an encoding that is not read, or can't be had.
    pub fn new(bytes: R, options: SourceOptions) -> Result<Self, ReadError> {
        Ok(Self {
            tokens: Tokens::new(bytes, options.text_bytes_max)?,
            options,
            attributes: Attributes::default(),
            summary: ReadSummary::default(),
            position: Position::START,
            open: Vec::new(),
            prefix: String::new(),
            is_directed: false,
            time: None,
            has_graph: false,
            has_ended: false,
        })
    }

    fn read_next(&mut self) -> Result<Option<Element>, ReadError> {
        loop {
            match self.tokens.next_token()? {
                Token::Eof => return Ok(None),
                Token::Text(text) if text.trim_matches(is_blank).is_empty() => {}
                Token::Text(_) => {
                    return Err(malformed(self.tokens.position(), "text where tags are expected".to_owned()));
                }
                Token::End => drop(self.open.pop()),
                Token::Start(tag) => {
                    if let Some(element) = self.read_tag(&tag)? {
                        self.position = tag.position;
                        return Ok(Some(element));
                    }
                }
            }
        }
    }

    /// Reads the tag that opened: an element, or a step into the document or past a part of it.
    fn read_tag(&mut self, tag: &Tag) -> Result<Option<Element>, ReadError> {
        let name = self.local_name(tag);
        match (self.open.last(), name) {
            (None, _) => {
                let prefix = tag.name.strip_suffix("gexf");
                let Some(prefix) = prefix.filter(|prefix| prefix.is_empty() || prefix.ends_with(':')) else {
                    return Err(malformed(tag.position, format!("expected <gexf>, found <{}>", tag.name)));
                };
                self.prefix = prefix.to_owned();
                self.open.push(OpenTag::Gexf);
            }
            (Some(OpenTag::Gexf), Some("graph")) if self.has_graph => {
                let what = "a second <graph>, which may use the ids of the first again,".to_owned();
                return Err(ReadError::Unsupported { position: tag.position, what });
            }
            (Some(OpenTag::Gexf), Some("graph")) => self.begin_graph(tag)?,
            (Some(OpenTag::Gexf | OpenTag::Graph), Some("meta")) => self.tokens.skip()?,
            (Some(OpenTag::Graph), Some("attributes")) => self.read_attributes(tag)?,
            (Some(OpenTag::Graph | OpenTag::Node(_)), Some("nodes")) => self.open.push(OpenTag::Nodes),
            (Some(OpenTag::Graph | OpenTag::Node(_)), Some("edges")) => self.open.push(OpenTag::Edges),
            (Some(OpenTag::Nodes), Some("node")) => {
                return self.read_vertex(tag).map(|vertex| Some(Element::Vertex(vertex)));
            }
            (Some(OpenTag::Edges), Some("edge")) => {
                return self.read_edge(tag).map(|edge| Some(Element::Edge(edge)));
            }
            (Some(OpenTag::Node(_)), Some("attvalues" | "attvalue")) => {
                let what = "values of a node behind the nodes inside of it".to_owned();
                return Err(ReadError::Unsupported { position: tag.position, what });
            }
            (Some(_), None) => self.skip(Remark::Drawing)?,
            (Some(OpenTag::Nodes), Some(other)) => {
                return Err(malformed(tag.position, format!("<{other}> cannot stand in <nodes>")));
            }
            (Some(OpenTag::Edges), Some(other)) => {
                return Err(malformed(tag.position, format!("<{other}> cannot stand in <edges>")));
            }
            (Some(_), Some(_)) => self.skip(Remark::Foreign)?,
        }
        Ok(None)
    }

    fn begin_graph(&mut self, tag: &Tag) -> Result<(), ReadError> {
        self.is_directed = match tag.attribute("defaultedgetype") {
            Some("directed") => true,
            None | Some("undirected" | "mutual") => false,
            Some(other) => return Err(malformed(tag.position, format!("defaultedgetype is `{other}`"))),
        };
        self.time = match tag.attribute("timeformat") {
            None | Some("double" | "float") => Some(ValueType::F64),
            Some("integer" | "long") => Some(ValueType::I64),
            Some("date") => Some(ValueType::Date),
            Some(format) if format.eq_ignore_ascii_case("datetime") => Some(ValueType::DateTime),
            Some(_) => None,
        };
        self.has_graph = true;
        self.open.push(OpenTag::Graph);
        Ok(())
    }

    /// Reads the declarations of one class, up to the end of the tag that opened.
    fn read_attributes(&mut self, tag: &Tag) -> Result<(), ReadError> {
        let scope = match tag.attribute("class").unwrap_or("node") {
            "node" => Some(Scope::Vertex),
            "edge" => Some(Scope::Edge),
            _ => None,
        };
        loop {
            match self.tokens.next_token()? {
                Token::End | Token::Eof => return Ok(()),
                Token::Text(_) => {}
                Token::Start(tag) => match (self.local_name(&tag), scope) {
                    (Some("attribute"), Some(scope)) => self.read_attribute(&tag, scope)?,
                    _ => self.skip(Remark::Foreign)?,
                },
            }
        }
    }

    fn read_attribute(&mut self, tag: &Tag, scope: Scope) -> Result<(), ReadError> {
        let id = tag.required("id")?;
        let fail = |reason: String| malformed(tag.position, format!("attribute `{id}`: {reason}"));
        if self.attributes.len() == ATTRIBUTES_MAX {
            return Err(fail(format!("is one more than the limit of {ATTRIBUTES_MAX}")));
        }
        let attribute_type = AttributeType::of_name(tag.attribute("type").unwrap_or("string"));
        if attribute_type == AttributeType::Unknown {
            self.summary.note(Remark::UnknownType);
        }
        let mut default = None;
        loop {
            match self.tokens.next_token()? {
                Token::End | Token::Eof => break,
                Token::Text(_) => {}
                Token::Start(inner) if self.local_name(&inner) == Some("default") => {
                    if let Some(text) = self.tokens.read_text()? {
                        default =
                            attribute_type.read(&text).map_err(|why| fail(format!("its default: {why}")))?;
                    }
                }
                // What values it may have.
                Token::Start(_) => self.tokens.skip()?,
            }
        }
        let title = tag.attribute("title").filter(|title| !title.is_empty()).unwrap_or(id).to_owned();
        if !self.attributes.declare(scope, id, Attribute { title, attribute_type, default }) {
            return Err(fail("is declared twice".to_owned()));
        }
        Ok(())
    }

    fn read_vertex(&mut self, tag: &Tag) -> Result<Vertex, ReadError> {
        let id = Value::from(tag.required("id")?);
        let Content { mut properties, inner } = self.read_content(tag, Scope::Vertex)?;
        self.summary.vertices_count += 1;
        if let Some(OpenTag::Node(around)) = self.open.iter().rev().nth(1) {
            self.summary.note(Remark::Nested);
            properties.add_again(PARENT_KEY, around.clone(), &mut self.summary);
        }
        if let Some(inner) = inner {
            self.open.push(OpenTag::Node(id.clone()));
            self.open.push(inner);
        }
        Ok(Vertex {
            id,
            labels: vec![self.options.default_label.clone()],
            properties: properties.into_vertex(),
        })
    }

    fn read_edge(&mut self, tag: &Tag) -> Result<Edge, ReadError> {
        let (source, target) = (tag.required("source")?, tag.required("target")?);
        let is_directed = match tag.attribute("type") {
            None => self.is_directed,
            Some("directed") => true,
            Some("undirected" | "mutual") => false,
            Some(other) => return Err(malformed(tag.position, format!("type is `{other}`"))),
        };
        let Content { properties, .. } = self.read_content(tag, Scope::Edge)?;
        self.summary.edges_count += 1;
        if !is_directed {
            self.summary.note(Remark::Undirected);
        }
        let kind = tag.attribute("kind").filter(|kind| !kind.is_empty());
        Ok(Edge {
            id: tag.attribute("id").map(Value::from),
            edge_type: kind.unwrap_or(&self.options.default_edge_type).to_owned(),
            source: source.into(),
            target: target.into(),
            properties: properties.into_edge(),
        })
    }

    /// Reads an element up to its end, or up to the nodes or edges inside of it.
    fn read_content(&mut self, tag: &Tag, scope: Scope) -> Result<Content, ReadError> {
        let mut content = Content::default();
        loop {
            match self.tokens.next_token()? {
                Token::End | Token::Eof => break,
                Token::Text(text) if text.trim_matches(is_blank).is_empty() => {}
                Token::Text(_) => {
                    return Err(malformed(self.tokens.position(), "text where tags are expected".to_owned()));
                }
                Token::Start(inner) => match (self.local_name(&inner), scope) {
                    (Some("attvalues"), _) => self.read_values(scope, &mut content.properties)?,
                    (Some("attvalue"), _) => self.read_value(&inner, scope, &mut content.properties)?,
                    (Some("nodes"), Scope::Vertex) => content.inner = Some(OpenTag::Nodes),
                    (Some("edges"), Scope::Vertex) => content.inner = Some(OpenTag::Edges),
                    (Some("spells" | "slices"), _) => self.skip(Remark::Spell)?,
                    (Some("parents"), Scope::Vertex) => self.read_parents(&mut content.properties)?,
                    (None, _) => self.skip(Remark::Drawing)?,
                    (Some(_), _) => self.skip(Remark::Foreign)?,
                },
            }
            if content.inner.is_some() {
                break;
            }
        }
        self.add_stated(tag, scope, &mut content.properties)?;
        for (title, value) in self.attributes.defaults(scope) {
            if !content.properties.has(title) {
                content.properties.replace(title, value.clone());
            }
        }
        Ok(content)
    }

    /// Adds what the attributes of an element's tag state.
    fn add_stated(&mut self, tag: &Tag, scope: Scope, properties: &mut Properties) -> Result<(), ReadError> {
        let summary = &mut self.summary;
        if let Some(label) = tag.attribute("label") {
            properties.add_again("label", label.into(), summary);
        }
        if let Some(parent) = tag.attribute("pid").filter(|_| scope == Scope::Vertex) {
            properties.add_again(PARENT_KEY, parent.into(), summary);
        }
        if let Some(weight) = tag.attribute("weight").filter(|_| scope == Scope::Edge) {
            let value = AttributeType::Of(ValueType::F64).read(weight);
            let value = value.map_err(|why| malformed(tag.position, format!("weight: {why}")))?;
            // The key is called `Weight` where it changes with time.
            if let Some(value) = value {
                properties.add_again("weight", value, summary);
            }
        }
        for key in ["start", "startopen", "end", "endopen", "timestamp"] {
            if let Some(text) = tag.attribute(key) {
                let typed = self.time.and_then(|time| AttributeType::Of(time).read(text).ok());
                let value = typed.unwrap_or_else(|| Some(Value::from(text)));
                if let Some(value) = value {
                    properties.add_again(key, value, summary);
                }
            }
        }
        Ok(())
    }

    /// Reads the values of an element, up to the end of the tag that opened.
    fn read_values(&mut self, scope: Scope, properties: &mut Properties) -> Result<(), ReadError> {
        loop {
            match self.tokens.next_token()? {
                Token::End | Token::Eof => return Ok(()),
                Token::Text(_) => {}
                Token::Start(tag) if self.local_name(&tag) == Some("attvalue") => {
                    self.read_value(&tag, scope, properties)?
                }
                Token::Start(_) => self.skip(Remark::Foreign)?,
            }
        }
    }

    fn read_value(&mut self, tag: &Tag, scope: Scope, properties: &mut Properties) -> Result<(), ReadError> {
        let id = tag.attribute("for").or_else(|| tag.attribute("id"));
        let id = id.ok_or_else(|| malformed(tag.position, "<attvalue> has no attribute `for`".to_owned()))?;
        let text = tag.required("value")?;
        self.tokens.skip()?;
        let (title, value) = match self.attributes.find(scope, id) {
            Some(attribute) => {
                let value = attribute.attribute_type.read(text);
                let value = value.map_err(|why| {
                    malformed(tag.position, format!("value of `{}`: {why}", attribute.title))
                })?;
                (attribute.title.as_str(), value)
            }
            None => {
                self.summary.note(Remark::Undeclared);
                (id, Some(Value::from(text)))
            }
        };
        if let Some(value) = value
            && properties.replace(title, value)
        {
            self.summary.note(Remark::Moment);
        }
        Ok(())
    }

    /// Reads the nodes in which a node lies, up to the end of the tag that opened.
    fn read_parents(&mut self, properties: &mut Properties) -> Result<(), ReadError> {
        loop {
            match self.tokens.next_token()? {
                Token::End | Token::Eof => return Ok(()),
                Token::Text(_) => {}
                Token::Start(tag) => {
                    if let Some(parent) = tag.attribute("for") {
                        properties.add(PARENT_KEY, parent.into(), &mut self.summary);
                    }
                    self.tokens.skip()?;
                }
            }
        }
    }

    fn skip(&mut self, remark: Remark) -> Result<(), ReadError> {
        self.summary.note(remark);
        self.tokens.skip()
    }

    /// The name of `tag` without the prefix, if it is one of GEXF's own.
    fn local_name<'t>(&self, tag: &'t Tag) -> Option<&'t str> {
        tag.name.strip_prefix(&self.prefix).filter(|name| !name.contains(':'))
    }
}

impl<R: BufRead> Iterator for GexfReader<R> {
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

impl<R: BufRead> ElementSource for GexfReader<R> {
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

    fn read(xml: &str) -> Result<(Vec<String>, ReadSummary), ReadError> {
        let mut reader = GexfReader::new(xml.as_bytes(), SourceOptions::default())?;
        let elements = reader.by_ref().map(|element| element.map(|element| shown(&element)));
        let elements = elements.collect::<Result<_, _>>()?;
        Ok((elements, reader.summary()))
    }

    /// An element as `id {key=value}` or `id type source>target {key=value}`.
    fn shown(element: &Element) -> String {
        let show = |properties: Vec<(&String, &Value)>| {
            let shown: Vec<String> = properties.iter().map(|(key, value)| format!("{key}={value}")).collect();
            format!("{{{}}}", shown.join(" "))
        };
        match element {
            Element::Vertex(Vertex { id, properties, .. }) => {
                format!(
                    "{id} {}",
                    show(properties.iter().map(|(key, values)| (key, &values[0].value)).collect())
                )
            }
            Element::Edge(Edge { id, edge_type, source, target, properties }) => {
                let id = id.as_ref().map_or("-".to_owned(), ToString::to_string);
                let properties = show(properties.iter().map(|(key, value)| (key, value)).collect());
                format!("{id} {edge_type} {source}>{target} {properties}")
            }
        }
    }

    #[test]
    fn a_file_of_gephi_is_read_with_its_attributes_and_without_its_drawing() {
        let xml = r#"<?xml version="1.0" encoding="UTF-8"?>
            <gexf xmlns="http://gexf.net/1.3" version="1.3" xmlns:viz="http://gexf.net/1.3/viz"><meta lastmodifieddate="2022"><creator>Gephi</creator></meta>
            <graph defaultedgetype="undirected" mode="static">
              <attributes class="node" mode="static"><attribute id="code" title="Code" type="string"/><attribute id="1" title="deg" type="integer"><default>0</default></attribute></attributes>
              <attributes class="edge"><attribute id="1" title="tags" type="liststring"/></attributes>
              <nodes count="2"><node id="0" label="Adams"><attvalues><attvalue for="code" value="LIT"/><attvalue for="1" value="7"/></attvalues><viz:size value="9"/><viz:color r="1" g="2" b="3"/></node>
              <node id="1" label="Akron"/></nodes>
              <edges><edge id="5" source="0" target="1" weight="2"><attvalues><attvalue for="1" value="a|b"/></attvalues></edge>
              <edge source="1" target="1" type="directed" kind="likes" label="x"/></edges>
            </graph></gexf>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(
            elements,
            [
                "0 {Code=LIT deg=7 label=Adams}",
                "1 {label=Akron deg=0}",
                "5 edge 0>1 {tags=[\"a\", \"b\"] weight=2.0}",
                "- likes 1>1 {label=x}",
            ]
        );
        let remarks: Vec<_> = summary.remarks().collect();
        assert_eq!(remarks, [(Remark::Undirected, 1), (Remark::Drawing, 2)]);
        assert_eq!((summary.vertices_count, summary.edges_count), (2, 2));
    }

    #[test]
    fn nodes_inside_of_nodes_stand_beside_them_and_know_them() {
        let xml = r#"<gexf><graph defaultedgetype="directed"><nodes>
            <node id="a"><attvalues/><nodes><node id="b"><nodes><node id="c"/></nodes></node></nodes><edges><edge source="b" target="c"/></edges></node>
            <node id="d" pid="a"/><node id="e"><parents><parent for="a"/><parent for="b"/></parents></node></nodes>
            <edges><edge source="a" target="d"/></edges></graph></gexf>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(
            elements,
            [
                "a {}",
                "b {parent=a}",
                "c {parent=b}",
                "- edge b>c {}",
                "d {parent=a}",
                "e {parent=a}",
                "- edge a>d {}"
            ]
        );
        assert_eq!((summary.count(Remark::Nested), summary.count(Remark::Repeated)), (2, 1));
    }

    #[test]
    fn times_are_properties_and_of_values_over_time_the_last_one_counts() {
        let graph = |format: &str, body: &str| {
            format!(
                "<gexf><graph mode=\"dynamic\" {format}><attributes class=\"edge\" mode=\"dynamic\"><attribute id=\"w\" title=\"Weight\" type=\"double\"/></attributes>{body}</graph></gexf>"
            )
        };
        let (elements, summary) = read(&graph(
            "timeformat=\"double\"",
            "<nodes><node id=\"0\" start=\"2004\" end=\"x\"><spells><spell start=\"1\"/></spells></node></nodes><edges><edge source=\"0\" target=\"0\"><attvalues><attvalue for=\"w\" value=\"1\" timestamp=\"2004\"/><attvalue for=\"w\" value=\"2\" timestamp=\"2005\"/></attvalues></edge></edges>",
        ))
        .unwrap();
        assert_eq!(elements, ["0 {start=2004.0 end=x}", "- edge 0>0 {Weight=2.0}"]);
        assert_eq!((summary.count(Remark::Moment), summary.count(Remark::Spell)), (1, 1));
        let dates = graph("timeformat=\"date\"", "<nodes><node id=\"0\" timestamp=\"2012-01-12\"/></nodes>");
        assert_eq!(read(&dates).unwrap().0, ["0 {timestamp=2012-01-12}"]);
    }

    #[test]
    fn what_older_and_careless_writers_leave_out_is_made_good() {
        // GEXF 1.0 says `id` for `for`; some values stand outside of <attvalues>, some are of no attribute.
        let xml = r#"<g:gexf xmlns:g="x"><g:graph><g:attributes class="node"><g:attribute id="0" title="label" type="string"/><g:attribute id="1" title="n" type="weird"/></g:attributes>
            <g:nodes><g:node id="a" label="A"><g:attvalue id="0" value="A"/><g:attvalue for="1" value="7"/><g:attvalue for="url" value="u"/></g:node></g:nodes></g:graph></g:gexf>"#;
        let (elements, summary) = read(xml).unwrap();
        assert_eq!(elements, ["a {label=A n=7 url=u}"]);
        let remarks: Vec<_> = summary.remarks().collect();
        assert_eq!(remarks, [(Remark::Undeclared, 1), (Remark::UnknownType, 1)]);
    }

    #[test]
    fn broken_files_are_named_with_their_place() {
        let in_nodes = |body: &str| format!("<gexf><graph>\n<nodes>{body}</nodes></graph></gexf>");
        for (xml, expected) in [
            (in_nodes("<node/>"), "line 2, column 8: <node> has no attribute `id`"),
            (in_nodes("<edge/>"), "line 2, column 8: <edge> cannot stand in <nodes>"),
            (in_nodes("<node id='1'>x</node>"), "line 2, column 21: text where tags are expected"),
            (
                in_nodes("<node id='1'><attvalue value='1'/></node>"),
                "line 2, column 21: <attvalue> has no attribute `for`",
            ),
            (
                in_nodes("<node id='1'><nodes/><attvalues/></node>"),
                "line 2, column 29: values of a node behind",
            ),
            ("<graphml/>".to_owned(), "line 1, column 1: expected <gexf>, found <graphml>"),
            (
                "<gexf><graph defaultedgetype='x'/></gexf>".to_owned(),
                "line 1, column 7: defaultedgetype is `x`",
            ),
            ("<gexf><graph/><graph/></gexf>".to_owned(), "line 1, column 15: a second <graph>"),
            (
                "<gexf><graph><edges><edge source='a'/>".to_owned(),
                "line 1, column 21: <edge> has no attribute `target`",
            ),
            (
                "<gexf><graph><edges><edge source='a' target='b' weight='x'/>".to_owned(),
                "line 1, column 21: weight: ",
            ),
            (
                "<gexf><graph><edges><edge source='a' target='b' type='x'/>".to_owned(),
                "line 1, column 21: type is `x`",
            ),
            (
                "<gexf><graph><attributes><attribute id='0'/><attribute id='0'/>".to_owned(),
                "line 1, column 45: attribute `0`: is declared twice",
            ),
            (
                "<gexf><graph><nodes>".to_owned(),
                "line 1, column 21: the file ends before its tags are closed",
            ),
        ] {
            let error = read(&xml).unwrap_err().to_string();
            assert!(error.starts_with(expected), "{error}");
        }
    }
}
