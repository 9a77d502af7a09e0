//! Description: the table of algorithms as JSON.

use evergraph::analysis::algorithm::Algorithm;
use evergraph::analysis::names::camel_case;
use evergraph::analysis::parameter::{DefaultValue, Kind, Parameter, direction_name};
use evergraph::analysis::table::ALGORITHMS;
use evergraph_arrow::answer_array::type_name;
use serde_json::{Value, json};

/// All algorithms, with their parameters and the columns of their answers.
#[must_use]
pub fn algorithms() -> Value {
    json!({"algorithms": ALGORITHMS.iter().map(|algorithm| described(algorithm)).collect::<Vec<_>>()})
}

fn described(algorithm: &Algorithm) -> Value {
    let column = |column: &evergraph::analysis::column::ColumnDescription| json!({"name": column.name, "type": type_name(column.kind)});
    json!({
        "name": algorithm.name,
        "group": algorithm.group.title(),
        "summary": algorithm.summary,
        "details": algorithm.details,
        "parameters": algorithm.parameters.iter().map(parameter).collect::<Vec<_>>(),
        "columns": algorithm.columns.iter().map(column).collect::<Vec<_>>(),
        "figures": algorithm.figures.iter().map(|name| camel_case(name)).collect::<Vec<_>>(),
        "time": algorithm.cost.time,
        "memory": algorithm.cost.memory,
    })
}

fn parameter(parameter: &Parameter) -> Value {
    let mut described = json!({
        "name": camel_case(parameter.name),
        "summary": parameter.summary,
        "type": kind_name(parameter.kind),
        "required": parameter.default == DefaultValue::Required,
        "default": default(parameter.default),
    });
    match parameter.kind {
        Kind::Whole(range) => {
            described["least"] = range.least.into();
            described["most"] = range.most.into();
        }
        Kind::Direction(choices) => {
            let names: Vec<&str> = choices.iter().map(|(choice, _)| direction_name(*choice)).collect();
            described["choices"] = names.into();
        }
        _ => {}
    }
    if let Some(other) = parameter.needs {
        described["needs"] = camel_case(other).into();
    }
    described
}

/// What a value is in JSON.
const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "boolean",
        Kind::Whole(_) => "whole",
        Kind::Real(_) => "real",
        Kind::Direction(_) => "direction",
        Kind::Vertex => "vertex",
        Kind::Vertices => "vertices",
        Kind::EdgeProperty => "property",
    }
}

/// The default; `null` where there is none, or an infinite one.
fn default(default: DefaultValue) -> Value {
    match default {
        DefaultValue::Required | DefaultValue::Nothing(_) => Value::Null,
        DefaultValue::Boolean(value) => value.into(),
        DefaultValue::Whole(number) => number.into(),
        DefaultValue::Real(number) => number.into(),
        DefaultValue::Direction(direction) => direction_name(direction).into(),
        DefaultValue::Property(name) => name.into(),
    }
}
