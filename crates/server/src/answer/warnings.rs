//! Warnings: what an answer says of names that the graph does not have, in a format that has no attributes.

use evergraph_graph::value::Value;
use evergraph_protocol::response::attributes::Attributes;
use serde_json::Value as Json;

/// The warnings in `attributes` as a list of texts; `None` if there are none.
pub(crate) fn warnings(attributes: &Attributes) -> Option<Json> {
    let Some(Value::List(list)) = attributes.get(Attributes::WARNINGS) else { return None };
    let texts = list.as_slice().iter().filter_map(Value::as_str);
    Some(texts.collect())
}
