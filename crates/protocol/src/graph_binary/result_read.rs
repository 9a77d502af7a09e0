//! Reads results in GraphBinary 1.0: what [`crate::graph_binary::result_write`] writes, and what else TinkerPop's servers
//! send.

use evergraph_query::stack::deeper;

use crate::error::MessageError;
use crate::graph_binary::binary_reader::BinaryReader;
use crate::graph_binary::type_code;
use crate::result::result_value::{
    BulkResult, DetachedEdge, DetachedGraph, DetachedProperty, DetachedStep, DetachedTree, DetachedVertex,
    DetachedVertexProperty, RESULT_DEPTH_MAX, ResultValue, path_of,
};
use crate::result::result_writer::ElementContext;

/// Reads results.
#[derive(Debug)]
pub(crate) struct ResultReader<'a> {
    pub(crate) bytes: BinaryReader<'a>,
    depth: usize,
}

impl<'a> ResultReader<'a> {
    /// Starts at the beginning of `bytes`, of which there are less than 2^32.
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { bytes: BinaryReader::new(bytes), depth: 0 }
    }

    /// Reads the data of a response: a list of results or traversers, or null.
    pub(crate) fn read_data(&mut self) -> Result<Vec<BulkResult>, MessageError> {
        let start = self.bytes.clone();
        match self.bytes.read_header()? {
            None => Ok(Vec::new()),
            Some(type_code::LIST) => {
                let mut results = Vec::new();
                for _ in 0..self.bytes.read_count(2)? {
                    results.push(self.read_bulk_result()?);
                }
                Ok(results)
            }
            Some(_) => Err(start.malformed("a list of results or null expected").into()),
        }
    }

    /// Reads a map whose type and flag are left out, of strings to values.
    pub(crate) fn read_members(&mut self) -> Result<Vec<(Box<str>, ResultValue)>, MessageError> {
        let mut members = Vec::new();
        for _ in 0..self.bytes.read_count(4)? {
            let start = self.bytes.clone();
            let key = self.read()?;
            let Some(key) = key.as_str() else {
                return Err(start.malformed("the name of an attribute, a string, expected").into());
            };
            let key = key.into();
            members.push((key, self.read()?));
        }
        Ok(members)
    }

    fn read_bulk_result(&mut self) -> Result<BulkResult, MessageError> {
        let mut ahead = self.bytes.clone();
        if ahead.read_header()? != Some(type_code::TRAVERSER) {
            return Ok(BulkResult { value: self.read()?, bulk: 1 });
        }
        let start = ahead.clone();
        let bulk = i64::from_be_bytes(ahead.read_array()?);
        let bulk = u64::try_from(bulk)
            .map_err(|_| start.malformed(format!("a bulk of at least 0 expected, found {bulk}")))?;
        self.bytes = ahead;
        Ok(BulkResult { value: self.read()?, bulk })
    }

    /// Reads a value with type and flag.
    pub(crate) fn read(&mut self) -> Result<ResultValue, MessageError> {
        let start = self.bytes.offset();
        let Some(code) = self.bytes.read_header()? else { return Ok(ResultValue::Null) };
        if let Some(value) = self.bytes.read_scalar(code, start)? {
            return Ok(ResultValue::Value(value));
        }
        if let Some(enumeration) = type_code::enumeration(code) {
            let word = self.bytes.read_word()?;
            let token = enumeration.token(word).ok_or("no word of this enumeration");
            return Ok(ResultValue::Token(self.bytes.supported(token, start)?));
        }
        if self.depth == RESULT_DEPTH_MAX {
            return Err(MessageError::limit(
                start,
                format!("a result is nested more than {RESULT_DEPTH_MAX} deep"),
            ));
        }
        self.depth += 1;
        let value = deeper(|| self.read_nesting(code, start));
        self.depth -= 1;
        value
    }

    /// Reads the content of a type that has values inside.
    fn read_nesting(&mut self, code: u8, start: usize) -> Result<ResultValue, MessageError> {
        Ok(match code {
            type_code::LIST => ResultValue::List(self.read_values()?),
            type_code::SET => ResultValue::Set(self.read_values()?),
            type_code::MAP => {
                let mut entries = Vec::new();
                for _ in 0..self.bytes.read_count(4)? {
                    entries.push((self.read()?, self.read()?));
                }
                ResultValue::Map(entries)
            }
            type_code::BULK_SET => ResultValue::List(self.read_bulk_set()?),
            type_code::VERTEX => ResultValue::Vertex(Box::new(self.read_vertex()?)),
            type_code::EDGE => ResultValue::Edge(Box::new(self.read_edge(ElementContext::Value)?)),
            type_code::VERTEX_PROPERTY => {
                ResultValue::VertexProperty(Box::new(self.read_vertex_property(ElementContext::Value)?))
            }
            type_code::PROPERTY => ResultValue::Property(Box::new(self.read_property()?)),
            type_code::PATH => ResultValue::Path(self.read_path()?),
            type_code::TREE => ResultValue::Tree(self.read_tree()?),
            type_code::GRAPH => ResultValue::Graph(Box::new(self.read_graph()?)),
            code => {
                let reason = match type_code::name(code) {
                    Some(name) => format!("{name} can't be a result here"),
                    None => format!("there is no type {code:#04x}"),
                };
                return Err(MessageError::invalid(start, reason));
            }
        })
    }

    fn read_values(&mut self) -> Result<Vec<ResultValue>, MessageError> {
        let mut values = Vec::new();
        for _ in 0..self.bytes.read_count(2)? {
            values.push(self.read()?);
        }
        Ok(values)
    }

    /// Reads a set that counts its items. The counts are a server's word, so a copy each is not made of it.
    fn read_bulk_set(&mut self) -> Result<Vec<ResultValue>, MessageError> {
        let mut values = Vec::new();
        for _ in 0..self.bytes.read_count(10)? {
            let value = self.read()?;
            let start = self.bytes.clone();
            let bulk = i64::from_be_bytes(self.bytes.read_array()?);
            if bulk != 1 {
                let reason =
                    format!("a bulk set with items that occur once expected, found one {bulk} times");
                return Err(start.malformed(reason).into());
            }
            values.push(value);
        }
        Ok(values)
    }

    fn read_vertex(&mut self) -> Result<DetachedVertex, MessageError> {
        let (id, label) = (self.read()?, self.bytes.read_string()?.into());
        let read_property = |reader: &mut Self| reader.read_vertex_property(ElementContext::Value);
        let properties = self.read_list_of(type_code::VERTEX_PROPERTY, read_property)?;
        Ok(DetachedVertex { id, label, properties })
    }

    fn read_edge(&mut self, context: ElementContext) -> Result<DetachedEdge, MessageError> {
        let (id, label) = (self.read()?, self.bytes.read_string()?.into());
        let mut read_end = || -> Result<DetachedVertex, MessageError> {
            let id = self.read()?;
            let label = match context {
                ElementContext::Value => self.bytes.read_string()?.into(),
                ElementContext::Graph => {
                    self.skip_null("the label of an end in a graph")?;
                    Box::default()
                }
            };
            Ok(DetachedVertex { id, label, properties: Vec::new() })
        };
        let (target, source) = (read_end()?, read_end()?);
        self.skip_null("the parent of an edge")?;
        let properties = self.read_properties(context)?;
        Ok(DetachedEdge { id, label, source, target, properties })
    }

    fn read_vertex_property(
        &mut self,
        context: ElementContext,
    ) -> Result<DetachedVertexProperty, MessageError> {
        let (id, key, value) = (self.read()?, self.bytes.read_string()?.into(), self.read()?);
        self.skip_null("the parent of a vertex property")?;
        let properties = self.read_properties(context)?;
        Ok(DetachedVertexProperty { id, key, value, properties })
    }

    fn read_property(&mut self) -> Result<DetachedProperty, MessageError> {
        let (key, value) = (self.bytes.read_string()?.into(), self.read()?);
        self.skip_null("the parent of a property")?;
        Ok(DetachedProperty { key, value })
    }

    /// Reads properties of an edge or of a property.
    fn read_properties(&mut self, context: ElementContext) -> Result<Vec<DetachedProperty>, MessageError> {
        if context == ElementContext::Value {
            return self.read_list_of(type_code::PROPERTY, Self::read_property);
        }
        let mut properties = Vec::new();
        for _ in 0..self.bytes.read_count(2)? {
            self.bytes.require_header(type_code::PROPERTY, "a property")?;
            properties.push(self.read_property()?);
        }
        Ok(properties)
    }

    /// Reads a list of elements of one type; null counts as an empty one.
    fn read_list_of<T>(
        &mut self,
        code: u8,
        read: impl Fn(&mut Self) -> Result<T, MessageError>,
    ) -> Result<Vec<T>, MessageError> {
        let start = self.bytes.clone();
        let mut found = Vec::new();
        match self.bytes.read_header()? {
            None => {}
            Some(type_code::LIST) => {
                for _ in 0..self.bytes.read_count(2)? {
                    self.bytes.require_header(code, "a property")?;
                    found.push(read(self)?);
                }
            }
            Some(_) => return Err(start.malformed("a list of properties or null expected").into()),
        }
        Ok(found)
    }

    /// Reads what TinkerPop's servers write as null: parents would be without end.
    fn skip_null(&mut self, name: &str) -> Result<(), MessageError> {
        let start = self.bytes.clone();
        match self.bytes.read_header()? {
            None => Ok(()),
            Some(code) => Err(start
                .malformed(format!("null as {name} expected, found a value of type {code:#04x}"))
                .into()),
        }
    }

    fn read_path(&mut self) -> Result<Vec<DetachedStep>, MessageError> {
        let start = self.bytes.clone();
        let ResultValue::List(labels) = self.read()? else {
            return Err(start.malformed("a list of sets of labels expected").into());
        };
        let objects_start = self.bytes.clone();
        let ResultValue::List(objects) = self.read()? else {
            return Err(objects_start.malformed("a list of the objects of a path expected").into());
        };
        path_of(labels, objects).map_err(|reason| start.malformed(reason).into())
    }

    fn read_tree(&mut self) -> Result<DetachedTree, MessageError> {
        let mut branches = Vec::new();
        for _ in 0..self.bytes.read_count(6)? {
            let start = self.bytes.offset();
            let key = self.read()?;
            if self.depth == RESULT_DEPTH_MAX {
                let reason = format!("a tree is nested more than {RESULT_DEPTH_MAX} deep");
                return Err(MessageError::limit(start, reason));
            }
            self.depth += 1;
            let below = deeper(|| self.read_tree());
            self.depth -= 1;
            branches.push((key, below?));
        }
        Ok(DetachedTree { branches })
    }

    fn read_graph(&mut self) -> Result<DetachedGraph, MessageError> {
        let mut graph = DetachedGraph::default();
        for _ in 0..self.bytes.read_count(10)? {
            let (id, label) = (self.read()?, self.bytes.read_string()?.into());
            let mut properties = Vec::new();
            for _ in 0..self.bytes.read_count(10)? {
                properties.push(self.read_vertex_property(ElementContext::Graph)?);
            }
            graph.vertices.push(DetachedVertex { id, label, properties });
        }
        for _ in 0..self.bytes.read_count(16)? {
            graph.edges.push(self.read_edge(ElementContext::Graph)?);
        }
        Ok(graph)
    }
}
