//! Key columns: properties of the vertices beside an answer, such as their unique key.

use evergraph::GraphView;
use evergraph::analysis::names;
use evergraph::graph::catalogue::Owner;
use evergraph_formats::graphson::value_write::write_value;
use evergraph_graph::budget::{Budget, Reservation};
use evergraph_graph::cancel::CancelFlag;
use evergraph_graph::column::{Column, ColumnData};
use evergraph_graph::error::Result;
use evergraph_graph::id::{LabelId, VertexId};
use evergraph_graph::value::{Value as GraphValue, ValueType};
use serde_json::Value;

/// Vertices that are read at once.
const BATCH: usize = 1 << 12;
/// What a refusal of memory names.
const PURPOSE: &str = "properties beside the rows of the answer";

/// A property of the vertices of an answer.
#[derive(Clone, Debug)]
pub struct KeyColumn {
    /// The name of the property.
    pub name: String,
    /// Its values, in the order of the rows.
    pub column: Column,
}

/// The properties `keys` of `vertices`, which have some of `labels`, or any; and the memory that they take.
///
/// # Errors
/// `not_found` for a property that the graph does not have; `limit`; errors of reading; `cancelled`.
pub fn read_keys(
    view: &impl GraphView,
    keys: &[String],
    labels: Option<&[LabelId]>,
    vertices: &[VertexId],
    budget: &dyn Budget,
    cancel: &CancelFlag,
) -> Result<(Vec<KeyColumn>, Vec<Reservation>)> {
    let catalogue = view.catalogue();
    let (mut columns, mut memory) = (Vec::with_capacity(keys.len()), Vec::new());
    for name in keys {
        let key = names::key(&catalogue, name)?;
        let types = catalogue
            .labels()
            .filter(|(label, _)| labels.is_none_or(|labels| labels.contains(label)))
            .filter_map(|(label, _)| catalogue.property_type(Owner::Label(label), key));
        let types: Vec<ValueType> = types.collect();
        let value_type = match types.as_slice() {
            [first, rest @ ..] if rest.iter().all(|other| other == first) => *first,
            _ => ValueType::Any,
        };
        let mut column = Column::new(value_type);
        for batch in vertices.chunks(BATCH) {
            cancel.check()?;
            let begun = column.len();
            // Each row is here and in the array, or line, that is made of it.
            memory.push(budget.reserve(PURPOSE, 2 * (batch.len() * size_of::<Option<GraphValue>>()) as u64)?);
            view.vertex_properties(batch, key, &mut column)?;
            if let ColumnData::Values(rows) = &column.data {
                let bytes: u64 = rows[begun..].iter().flatten().map(|value| value.heap_bytes() as u64).sum();
                memory.push(budget.reserve(PURPOSE, 2 * bytes)?);
            }
        }
        columns.push(KeyColumn { name: name.clone(), column });
    }
    Ok((columns, memory))
}

/// A value in a line: plain where JSON has a form for it, else in GraphSON; `null` for none.
#[must_use]
pub fn line_value(value: Option<&GraphValue>) -> Value {
    let Some(value) = value else { return Value::Null };
    if let Some(number) = value.as_i64() {
        return number.into();
    }
    match value {
        GraphValue::Bool(value) => (*value).into(),
        GraphValue::String(text) => (&**text).into(),
        GraphValue::F64(number) if number.is_finite() => (*number).into(),
        other => {
            let mut text = String::new();
            write_value(&mut text, other);
            serde_json::from_str(&text).expect("GraphSON is JSON")
        }
    }
}
