//! Reads results in GraphSON 3: what [`crate::graphson::result_write`] writes, and what else TinkerPop's servers send.

use evergraph_formats::graphson::typed::read_typed;
use evergraph_formats::graphson::value_read::{read_typed_value, read_value};
use evergraph_formats::json::read::{JsonError, JsonReader, Kind};
use evergraph_query::error::quoted;
use evergraph_query::gremlin::token::Enumeration;
use evergraph_query::stack::deeper;

use crate::result::result_value::{
    BulkResult, DetachedEdge, DetachedGraph, DetachedProperty, DetachedStep, DetachedTree, DetachedVertex,
    DetachedVertexProperty, ResultValue, path_of,
};

type Json<'r, 'a> = &'r mut JsonReader<'a>;

/// Reads the data of a response: an array or a `g:List` of results or traversers, or null.
pub(crate) fn read_data(json: Json<'_, '_>) -> Result<Vec<BulkResult>, JsonError> {
    match json.peek()? {
        Kind::Null => {
            json.read_null()?;
            Ok(Vec::new())
        }
        Kind::Array => read_array(json, read_bulk_result),
        _ => {
            let typed = read_typed(json, |name, json| match name {
                "g:List" => read_array(json, read_bulk_result),
                _ => Err(json.error(format!("a list of results expected, found the type {}", quoted(name)))),
            })?;
            typed.ok_or_else(|| json.error("a list of results or null expected"))
        }
    }
}

fn read_bulk_result(json: Json<'_, '_>) -> Result<BulkResult, JsonError> {
    let mut ahead = json.clone();
    let traverser = read_typed(&mut ahead, |name, json| match name {
        "g:Traverser" => read_traverser(json).map(Some),
        _ => json.skip_value().map(|()| None),
    })?;
    match traverser.flatten() {
        Some(result) => {
            *json = ahead;
            Ok(result)
        }
        None => Ok(BulkResult { value: read(json)?, bulk: 1 }),
    }
}

fn read_traverser(json: Json<'_, '_>) -> Result<BulkResult, JsonError> {
    let (mut value, mut bulk) = (None, None);
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "value" => value = Some(read(json)?),
            "bulk" => {
                let offset = json.offset();
                let number = read_value(json)?.as_i64().and_then(|number| u64::try_from(number).ok());
                let reason = || "a bulk of at least 0 expected".to_owned();
                bulk = Some(number.ok_or_else(|| JsonError { offset, reason: reason() })?);
            }
            _ => json.skip_value()?,
        }
    }
    match (value, bulk) {
        (Some(value), Some(bulk)) => Ok(BulkResult { value, bulk }),
        _ => Err(json.error("a traverser has `bulk` and `value`")),
    }
}

/// Reads a map of strings to values: an object, or of the type `g:Map`.
pub(crate) fn read_members(json: Json<'_, '_>) -> Result<Vec<(Box<str>, ResultValue)>, JsonError> {
    let offset = json.offset();
    let ResultValue::Map(entries) = read(json)? else {
        return Err(JsonError { offset, reason: "a map expected".to_owned() });
    };
    let member = |(key, value): (ResultValue, ResultValue)| Some((key.as_str()?.into(), value));
    let members = entries.into_iter().map(member).collect::<Option<Vec<_>>>();
    members.ok_or_else(|| JsonError { offset, reason: "a map of names expected".to_owned() })
}

/// Reads a result. The reader of JSON limits how deep it is nested.
pub(crate) fn read(json: Json<'_, '_>) -> Result<ResultValue, JsonError> {
    match json.peek()? {
        Kind::Null => {
            json.read_null()?;
            Ok(ResultValue::Null)
        }
        Kind::Bool | Kind::Number | Kind::String => read_value(json).map(ResultValue::Value),
        Kind::Array => deeper(|| read_array(json, read)).map(ResultValue::List),
        Kind::Object => match read_typed(json, |name, json| deeper(|| read_named(name, json)))? {
            Some(value) => Ok(value),
            None => deeper(|| read_object(json)),
        },
    }
}

fn read_named(name: &str, json: Json<'_, '_>) -> Result<ResultValue, JsonError> {
    let word = name.strip_prefix("g:").unwrap_or_default();
    if let Some(enumeration) = Enumeration::from_name(word).filter(|of| of.has_short_form()) {
        let offset = json.offset();
        let word = json.read_string()?;
        let reason = || format!("`{}` has no {}", enumeration.name(), quoted(&word));
        let token = enumeration.token(&word).ok_or_else(|| JsonError { offset, reason: reason() })?;
        return Ok(ResultValue::Token(token));
    }
    Ok(match name {
        "g:List" => ResultValue::List(read_array(json, read)?),
        "g:Set" => ResultValue::Set(read_array(json, read)?),
        "g:Map" => ResultValue::Map(read_entries(json)?),
        "g:Vertex" => ResultValue::Vertex(Box::new(read_vertex(json)?)),
        "g:Edge" => ResultValue::Edge(Box::new(read_edge(json)?)),
        "g:VertexProperty" => ResultValue::VertexProperty(Box::new(read_vertex_property(json)?)),
        "g:Property" => ResultValue::Property(Box::new(read_property(json)?)),
        "g:Path" => ResultValue::Path(read_path(json)?),
        "g:Tree" => ResultValue::Tree(read_tree(json)?),
        "tinker:graph" => ResultValue::Graph(Box::new(read_graph(json)?)),
        _ => ResultValue::Value(read_typed_value(name, json)?),
    })
}

fn read_array<T>(
    json: Json<'_, '_>,
    read: impl Fn(Json<'_, '_>) -> Result<T, JsonError>,
) -> Result<Vec<T>, JsonError> {
    let mut values = Vec::new();
    json.begin_array()?;
    while json.next_element()? {
        values.push(read(json)?);
    }
    Ok(values)
}

fn read_entries(json: Json<'_, '_>) -> Result<Vec<(ResultValue, ResultValue)>, JsonError> {
    let mut entries = Vec::new();
    json.begin_array()?;
    while json.next_element()? {
        let key = read(json)?;
        if !json.next_element()? {
            return Err(json.error("the last key of a map has no value"));
        }
        entries.push((key, read(json)?));
    }
    Ok(entries)
}

fn read_object(json: Json<'_, '_>) -> Result<ResultValue, JsonError> {
    let mut entries = Vec::new();
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        entries.push((ResultValue::from(&*key), read(json)?));
    }
    Ok(ResultValue::Map(entries))
}

fn read_vertex(json: Json<'_, '_>) -> Result<DetachedVertex, JsonError> {
    let (mut id, mut label, mut properties) = (ResultValue::Null, Box::from("vertex"), Vec::new());
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "id" => id = read(json)?,
            "label" => label = json.read_string()?.into(),
            "properties" => {
                json.begin_object()?;
                while json.next_key()?.is_some() {
                    properties.append(&mut read_array(json, |json| {
                        require_typed(json, "g:VertexProperty", read_vertex_property)
                    })?);
                }
            }
            _ => json.skip_value()?,
        }
    }
    Ok(DetachedVertex { id, label, properties })
}

fn read_edge(json: Json<'_, '_>) -> Result<DetachedEdge, JsonError> {
    let end = || DetachedVertex { id: ResultValue::Null, label: "vertex".into(), properties: Vec::new() };
    let (source, target) = (end(), end());
    let mut edge =
        DetachedEdge { id: ResultValue::Null, label: "edge".into(), source, target, properties: Vec::new() };
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "id" => edge.id = read(json)?,
            "label" => edge.label = json.read_string()?.into(),
            "outV" => edge.source.id = read(json)?,
            "inV" => edge.target.id = read(json)?,
            "outVLabel" => edge.source.label = json.read_string()?.into(),
            "inVLabel" => edge.target.label = json.read_string()?.into(),
            "properties" => {
                json.begin_object()?;
                while json.next_key()?.is_some() {
                    edge.properties.push(require_typed(json, "g:Property", read_property)?);
                }
            }
            _ => json.skip_value()?,
        }
    }
    Ok(edge)
}

fn read_vertex_property(json: Json<'_, '_>) -> Result<DetachedVertexProperty, JsonError> {
    let (mut id, mut label, mut value, mut properties) = (ResultValue::Null, None, None, Vec::new());
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "id" => id = read(json)?,
            "label" => label = Some(json.read_string()?.into()),
            "value" => value = Some(read(json)?),
            "properties" => {
                json.begin_object()?;
                while let Some(key) = json.next_key()? {
                    properties.push(DetachedProperty { key: key.into(), value: read(json)? });
                }
            }
            _ => json.skip_value()?,
        }
    }
    match (label, value) {
        (Some(key), Some(value)) => Ok(DetachedVertexProperty { id, key, value, properties }),
        _ => Err(json.error("a vertex property has `label` and `value`")),
    }
}

fn read_property(json: Json<'_, '_>) -> Result<DetachedProperty, JsonError> {
    let (mut name, mut value) = (None, None);
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "key" => name = Some(json.read_string()?.into()),
            "value" => value = Some(read(json)?),
            _ => json.skip_value()?,
        }
    }
    match (name, value) {
        (Some(key), Some(value)) => Ok(DetachedProperty { key, value }),
        _ => Err(json.error("a property has `key` and `value`")),
    }
}

fn read_path(json: Json<'_, '_>) -> Result<Vec<DetachedStep>, JsonError> {
    let (mut labels, mut objects) = (ResultValue::Null, ResultValue::Null);
    let offset = json.offset();
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "labels" => labels = read(json)?,
            "objects" => objects = read(json)?,
            _ => json.skip_value()?,
        }
    }
    let wrong = |reason: String| JsonError { offset, reason };
    match (labels, objects) {
        (ResultValue::List(labels), ResultValue::List(objects)) => path_of(labels, objects).map_err(wrong),
        _ => Err(wrong("a path has lists of `labels` and `objects`".to_owned())),
    }
}

fn read_tree(json: Json<'_, '_>) -> Result<DetachedTree, JsonError> {
    let branches = read_array(json, |json| {
        let (mut key, mut below) = (None, None);
        json.begin_object()?;
        while let Some(name) = json.next_key()? {
            match &*name {
                "key" => key = Some(read(json)?),
                "value" => below = Some(deeper(|| require_typed(json, "g:Tree", read_tree))?),
                _ => json.skip_value()?,
            }
        }
        key.zip(below).ok_or_else(|| json.error("a branch of a tree has `key` and `value`"))
    });
    Ok(DetachedTree { branches: branches? })
}

fn read_graph(json: Json<'_, '_>) -> Result<DetachedGraph, JsonError> {
    let mut graph = DetachedGraph::default();
    json.begin_object()?;
    while let Some(key) = json.next_key()? {
        match &*key {
            "vertices" => {
                graph.vertices = read_array(json, |json| require_typed(json, "g:Vertex", read_vertex))?;
            }
            "edges" => graph.edges = read_array(json, |json| require_typed(json, "g:Edge", read_edge))?,
            _ => json.skip_value()?,
        }
    }
    Ok(graph)
}

/// Reads a value that must have the type `expected`.
fn require_typed<T>(
    json: Json<'_, '_>,
    expected: &str,
    read: impl FnOnce(Json<'_, '_>) -> Result<T, JsonError>,
) -> Result<T, JsonError> {
    let offset = json.offset();
    let typed = read_typed(json, |name, json| {
        if name == expected {
            return read(json);
        }
        Err(JsonError {
            offset,
            reason: format!("a value of the type {expected} expected, found {}", quoted(name)),
        })
    })?;
    typed.ok_or_else(|| JsonError { offset, reason: format!("a value of the type {expected} expected") })
}
