//! Writes results in GraphSON 3.
//!
//! ```text
//! g:Vertex          {"id", "label", "properties": {key: [g:VertexProperty, ...], ...}}
//! g:Edge            {"id", "label", "inVLabel", "outVLabel", "inV", "outV", "properties": {key: g:Property, ...}}
//! g:VertexProperty  {"id", "value", "label", "properties": {key: value, ...}}
//! g:Property        {"key", "value"}
//! g:Path            {"labels": g:List of g:Set, "objects": g:List}
//! g:Tree            [{"key", "value": g:Tree}, ...]
//! tinker:graph      {"vertices": [g:Vertex, ...], "edges": [g:Edge, ...]}
//! g:Traverser       {"bulk": g:Int64, "value"}
//! ```
//!
//! `properties` is absent where there are none, and where they are not sent.
//!
//! Source: TinkerPop 3.8, "GraphSON 3.0"; `GraphSONSerializersV3` of its sources.

use evergraph_formats::graphson::value_write::write_value;
use evergraph_formats::json::write::write_string;
use evergraph_graph::id::VertexId;
use evergraph_graph::value::Value;
use evergraph_graph::value::collection::Map;
use evergraph_graph::value::duration::Duration;
use evergraph_query::value::element_id::edge_id_text;
use std::fmt::Write;

use crate::error::EncodeError;
use crate::result::result_writer::{
    Collection, EdgeView, ElementContext, PropertyList, ResultWriter, VertexPropertyView, Word,
};

/// Writes results behind what is there.
#[derive(Debug, Default)]
pub(crate) struct JsonWriter {
    pub(crate) json: String,
}

impl JsonWriter {
    /// Appends a comma, unless what comes next is the first of an array or object, or the value of a key.
    pub(crate) fn separate(&mut self) {
        if !matches!(self.json.as_bytes().last(), None | Some(b'[' | b'{' | b':')) {
            self.json.push(',');
        }
    }

    /// Appends the key of a member.
    pub(crate) fn key(&mut self, key: &str) {
        self.separate();
        write_string(&mut self.json, key);
        self.json.push(':');
    }

    /// Appends the beginning of a value of the type `name`.
    pub(crate) fn begin_typed(&mut self, name: &str) {
        self.separate();
        write!(self.json, "{{\"@type\":\"{name}\",\"@value\":")
            .expect("a string takes all that is written to it");
    }

    /// Appends a string that is not a result: a label, a word.
    pub(crate) fn plain_text(&mut self, text: &str) {
        self.separate();
        write_string(&mut self.json, text);
    }

    /// Appends a value.
    pub(crate) fn plain_value(&mut self, value: &Value) -> Result<(), EncodeError> {
        if let Some(duration) = mixed_duration(value) {
            return Err(EncodeError::mixed_duration(duration));
        }
        self.separate();
        write_value(&mut self.json, value);
        Ok(())
    }

    fn vertex_id(&mut self, vertex: VertexId) {
        self.separate();
        write_value(&mut self.json, &Value::I64(i64::from(vertex.0)));
    }

    fn meta_properties(&mut self, properties: &Map) -> Result<(), EncodeError> {
        self.key("properties");
        self.json.push('{');
        for (key, value) in properties.as_slice() {
            if let Some(key) = key.as_str() {
                self.key(key);
                self.plain_value(value)?;
            }
        }
        self.json.push('}');
        Ok(())
    }
}

/// A duration within `value` that TinkerPop has no form for: of years, months or days *and* of hours, minutes or seconds.
fn mixed_duration(value: &Value) -> Option<Duration> {
    match value {
        Value::Duration(duration) => {
            let has_clock = (duration.seconds(), duration.nanoseconds()) != (0, 0);
            let has_calendar = (duration.months(), duration.days()) != (0, 0);
            (has_clock && has_calendar).then_some(*duration)
        }
        Value::List(list) => list.as_slice().iter().find_map(mixed_duration),
        Value::Set(set) => set.as_slice().iter().find_map(mixed_duration),
        Value::Map(map) => map
            .as_slice()
            .iter()
            .find_map(|(key, value)| mixed_duration(key).or_else(|| mixed_duration(value))),
        _ => None,
    }
}

impl ResultWriter for JsonWriter {
    fn size(&self) -> usize {
        self.json.len()
    }

    fn truncate(&mut self, size: usize) {
        self.json.truncate(size);
    }

    fn null(&mut self) {
        self.separate();
        self.json.push_str("null");
    }

    fn value(&mut self, value: &Value) -> Result<(), EncodeError> {
        self.plain_value(value)
    }

    fn text(&mut self, text: &str) -> Result<(), EncodeError> {
        self.plain_text(text);
        Ok(())
    }

    fn word(&mut self, word: Word) -> Result<(), EncodeError> {
        let (name, word) = match word {
            Word::T(word) => ("g:T", word),
            Word::Direction(word) => ("g:Direction", word),
        };
        self.begin_typed(name);
        self.plain_text(word);
        self.json.push('}');
        Ok(())
    }

    fn begin(&mut self, collection: Collection, _: usize) -> Result<(), EncodeError> {
        self.begin_typed(match collection {
            Collection::List => "g:List",
            Collection::Set => "g:Set",
            Collection::Map => "g:Map",
        });
        self.json.push('[');
        Ok(())
    }

    fn end(&mut self) {
        self.json.push_str("]}");
    }

    fn begin_traverser(&mut self, bulk: i64) {
        self.begin_typed("g:Traverser");
        self.json.push_str("{\"bulk\":");
        write_value(&mut self.json, &Value::I64(bulk));
        self.key("value");
    }

    fn end_traverser(&mut self) {
        self.json.push_str("}}");
    }

    fn begin_path(&mut self) {
        self.begin_typed("g:Path");
        self.json.push_str("{\"labels\":");
    }

    fn path_objects(&mut self) {
        self.key("objects");
    }

    fn end_path(&mut self) {
        self.json.push_str("}}");
    }

    fn begin_tree(&mut self, _: usize, _: bool) -> Result<(), EncodeError> {
        self.begin_typed("g:Tree");
        self.json.push('[');
        Ok(())
    }

    fn begin_branch(&mut self) {
        self.separate();
        self.json.push_str("{\"key\":");
    }

    fn branch_tree(&mut self) {
        self.key("value");
    }

    fn end_branch(&mut self) {
        self.json.push('}');
    }

    fn end_tree(&mut self) {
        self.json.push_str("]}");
    }

    fn begin_graph(&mut self, _: usize) -> Result<(), EncodeError> {
        self.begin_typed("tinker:graph");
        self.json.push_str("{\"vertices\":[");
        Ok(())
    }

    fn graph_edges(&mut self, _: usize) -> Result<(), EncodeError> {
        self.json.push_str("],\"edges\":[");
        Ok(())
    }

    fn end_graph(&mut self) {
        self.json.push_str("]}}");
    }

    fn begin_vertex(&mut self, vertex: VertexId, label: &str, _: ElementContext) -> Result<(), EncodeError> {
        self.begin_typed("g:Vertex");
        self.json.push_str("{\"id\":");
        self.vertex_id(vertex);
        self.key("label");
        self.plain_text(label);
        Ok(())
    }

    fn begin_edge(&mut self, edge: EdgeView<'_>, _: ElementContext) -> Result<(), EncodeError> {
        self.begin_typed("g:Edge");
        self.json.push_str("{\"id\":");
        self.plain_text(&edge_id_text(edge.edge));
        for (key, label) in
            [("label", edge.label), ("inVLabel", edge.target.label), ("outVLabel", edge.source.label)]
        {
            self.key(key);
            self.plain_text(label);
        }
        for (key, end) in [("inV", edge.target), ("outV", edge.source)] {
            self.key(key);
            self.vertex_id(end.vertex);
        }
        Ok(())
    }

    fn end_element(&mut self) {
        self.json.push_str("}}");
    }

    fn begin_properties(&mut self, _: ElementContext) -> PropertyList {
        PropertyList::default()
    }

    fn property_of_vertex(
        &mut self,
        list: &mut PropertyList,
        property: VertexPropertyView<'_>,
        _: ElementContext,
    ) -> Result<(), EncodeError> {
        if list.count == 0 {
            self.key("properties");
            self.json.push('{');
        }
        if list.last_key.as_deref() != Some(property.key) {
            if list.last_key.is_some() {
                self.json.push(']');
            }
            self.key(property.key);
            self.json.push('[');
            list.last_key = Some(property.key.into());
        }
        list.count += 1;
        self.vertex_property(property)
    }

    fn property_of_edge(
        &mut self,
        list: &mut PropertyList,
        key: &str,
        value: &Value,
    ) -> Result<(), EncodeError> {
        if list.count == 0 {
            self.key("properties");
            self.json.push('{');
        }
        list.count += 1;
        self.key(key);
        self.property(key, value)
    }

    fn end_properties(&mut self, list: PropertyList) -> Result<(), EncodeError> {
        if list.last_key.is_some() {
            self.json.push(']');
        }
        if list.count > 0 {
            self.json.push('}');
        }
        Ok(())
    }

    fn no_properties(&mut self, _: ElementContext) {}

    fn vertex_property(&mut self, property: VertexPropertyView<'_>) -> Result<(), EncodeError> {
        self.begin_typed("g:VertexProperty");
        self.json.push_str("{\"id\":");
        self.plain_text(property.id);
        self.key("value");
        self.plain_value(property.value)?;
        self.key("label");
        self.plain_text(property.key);
        if let Some(properties) = property.properties.filter(|properties| !properties.as_slice().is_empty()) {
            self.meta_properties(properties)?;
        }
        self.json.push_str("}}");
        Ok(())
    }

    fn property(&mut self, key: &str, value: &Value) -> Result<(), EncodeError> {
        self.begin_typed("g:Property");
        self.json.push_str("{\"key\":");
        self.plain_text(key);
        self.key("value");
        self.plain_value(value)?;
        self.json.push_str("}}");
        Ok(())
    }
}
