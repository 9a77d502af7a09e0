//! Call: which algorithm a client asks for, with which parameters, on which part of the graph.
//!
//! ```json
//! {"damping": 0.9, "labels": ["Person"], "types": "KNOWS", "where": [["born", ">=", 1990]]}
//! ```
//!
//! Parameters are those of the table, in camelCase; a vertex is its number.

use evergraph::analysis::algorithm::Algorithm;
use evergraph::analysis::arguments::{Argument, Arguments};
use evergraph::analysis::names::{PropertyCondition, ScopeNames, comparison};
use evergraph::analysis::parameter::{Kind, direction_name};
use evergraph::analysis::table::{ALGORITHMS, by_name};
use evergraph::graph::filter::Condition;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::VertexId;
use evergraph_graph::nearest::did_you_mean;
use evergraph_graph::value::Value as GraphValue;
use serde_json::{Map, Value};

/// Members beside the parameters.
const SCOPE: [&str; 4] = ["labels", "types", "where", "whereEdges"];

/// An algorithm, and what was chosen about it.
#[derive(Debug)]
pub struct AlgorithmCall {
    /// The algorithm.
    pub algorithm: &'static Algorithm,
    /// Its parameters.
    pub arguments: Arguments,
    /// The part of the graph that it runs on.
    pub scope: ScopeNames,
}

impl AlgorithmCall {
    /// The algorithm `name` with what `members` choose.
    ///
    /// # Errors
    /// `not_found` for an algorithm that there isn't; `invalid` for unknown members and wrong values, by name.
    pub fn read(name: &str, members: Map<String, Value>) -> Result<Self> {
        let algorithm = by_name(name).ok_or_else(|| {
            let guess = did_you_mean(name, ALGORITHMS.iter().map(|algorithm| algorithm.name));
            let text = format!("there is no algorithm {name:?}{guess}; GET /algorithms lists them");
            Error::new(ErrorKind::NotFound, text)
        })?;
        let mut scope = ScopeNames::default();
        let mut given = Vec::new();
        for (name, value) in members {
            if value.is_null() {
                continue;
            }
            match name.as_str() {
                "labels" => scope.labels = texts(&name, value)?,
                "types" => scope.types = texts(&name, value)?,
                "where" => scope.vertices = conditions(&name, value)?,
                "whereEdges" => scope.edges = conditions(&name, value)?,
                _ => {
                    let parameters = algorithm.parameters.iter();
                    let known = parameters.clone().find(|parameter| camel_case(parameter.name) == name);
                    let parameter = known.ok_or_else(|| {
                        let names: Vec<String> =
                            parameters.map(|parameter| camel_case(parameter.name)).collect();
                        let names = names.iter().map(String::as_str).chain(SCOPE);
                        let guess = did_you_mean(&name, names.clone());
                        let all = names.collect::<Vec<_>>().join(", ");
                        let text =
                            format!("{} has no parameter {name:?}{guess}; there are {all}", algorithm.name);
                        Error::invalid(text)
                    })?;
                    given.push((parameter.name, argument(&name, parameter.kind, &value)?));
                }
            }
        }
        Ok(Self { algorithm, arguments: Arguments::new(algorithm.parameters, given)?, scope })
    }
}

/// `missing_weight` as `missingWeight`.
#[must_use]
pub fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut camel = words.next().unwrap_or_default().to_owned();
    for word in words {
        let mut letters = word.chars();
        camel.extend(letters.next().map(|letter| letter.to_ascii_uppercase()));
        camel.push_str(letters.as_str());
    }
    camel
}

fn argument(name: &str, kind: Kind, value: &Value) -> Result<Argument> {
    let wrong = |expected: &str| Error::invalid(format!("{name}: expected {expected}, found {value}"));
    match kind {
        Kind::Boolean => value.as_bool().map(Argument::Boolean).ok_or_else(|| wrong("true or false")),
        Kind::Whole(range) => {
            let number = value.as_u64().map(i128::from).or_else(|| value.as_i64().map(i128::from));
            let number = number.ok_or_else(|| wrong("a whole number"))?;
            Ok(Argument::Whole(range.check(name, number)?))
        }
        Kind::Real(_) => value.as_f64().map(Argument::Real).ok_or_else(|| wrong("a number")),
        Kind::Direction(choices) => {
            let text = value.as_str().unwrap_or_default();
            let found = choices.iter().find(|(choice, _)| direction_name(*choice) == text);
            let names =
                || choices.iter().map(|(choice, _)| direction_name(*choice)).collect::<Vec<_>>().join(", ");
            found
                .map(|(choice, _)| Argument::Direction(*choice))
                .ok_or_else(|| wrong(&format!("one of {}", names())))
        }
        Kind::Vertex => vertex(value).map(Argument::Vertex).ok_or_else(|| wrong("the number of a vertex")),
        Kind::Vertices => {
            let vertices = match value {
                Value::Array(vertices) => vertices.iter().map(vertex).collect::<Option<Vec<_>>>(),
                one => vertex(one).map(|vertex| vec![vertex]),
            };
            vertices.map(Argument::Vertices).ok_or_else(|| wrong("numbers of vertices"))
        }
        Kind::EdgeProperty => {
            let name = value.as_str().map(str::to_owned);
            name.map(Argument::Property).ok_or_else(|| wrong("the name of a property of edges"))
        }
    }
}

fn vertex(value: &Value) -> Option<VertexId> {
    u32::try_from(value.as_u64()?).ok().map(VertexId)
}

fn texts(name: &str, value: Value) -> Result<Vec<String>> {
    let found = match &value {
        Value::String(text) => Some(vec![text.clone()]),
        Value::Array(texts) => texts.iter().map(|text| text.as_str().map(str::to_owned)).collect(),
        _ => None,
    };
    found.ok_or_else(|| Error::invalid(format!("{name}: expected a text, or a list of texts")))
}

fn conditions(name: &str, value: Value) -> Result<Vec<PropertyCondition>> {
    let Value::Array(conditions) = value else { return Err(wrong_condition(name)) };
    conditions.iter().map(|one| condition(name, one)).collect()
}

/// A property that must be there, or property, comparison and value.
fn condition(name: &str, value: &Value) -> Result<PropertyCondition> {
    let (key, condition) = match value {
        Value::String(key) => (key, Condition::Exists),
        Value::Array(parts) => match &parts[..] {
            [Value::String(key), Value::String(sign), Value::Array(values)] if sign == "in" => {
                (key, Condition::In(values.iter().map(|value| scalar(name, value)).collect::<Result<_>>()?))
            }
            [Value::String(key), Value::String(sign), value] => {
                let compared =
                    comparison(sign).map_err(|error| Error::invalid(format!("{name}: {error}")))?;
                (key, Condition::Compare(compared, scalar(name, value)?))
            }
            _ => return Err(wrong_condition(name)),
        },
        _ => return Err(wrong_condition(name)),
    };
    Ok(PropertyCondition { key: key.clone(), condition })
}

fn wrong_condition(name: &str) -> Error {
    Error::invalid(format!(
        "{name}: expected a list of conditions: the name of a property that must be there, or a list such as \
         [\"born\", \">=\", 1990] or [\"city\", \"in\", [\"Rome\", \"Pisa\"]]"
    ))
}

fn scalar(name: &str, value: &Value) -> Result<GraphValue> {
    match value {
        Value::Bool(value) => Ok((*value).into()),
        Value::String(text) => Ok(text.as_str().into()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(number), _) => Ok(number.into()),
            (None, Some(number)) => Ok(number.into()),
            (None, None) => Err(wrong_condition(name)),
        },
        _ => Err(Error::invalid(format!(
            "{name}: a property is compared with a text, a number, true or false"
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(name: &str, members: Value) -> Result<AlgorithmCall> {
        let Value::Object(members) = members else { unreachable!("an object") };
        AlgorithmCall::read(name, members)
    }

    #[test]
    fn parameters_and_the_part_of_the_graph_are_read_and_what_is_wrong_is_named() {
        let members = json!({"damping": 0.9, "iterations": 3, "direction": "in", "labels": "Person",
            "types": ["KNOWS", "LIKES"], "where": ["email", ["born", ">=", 1990], ["city", "in", ["Rome"]]], "tolerance": null});
        let call = read("pagerank", members).unwrap();
        assert_eq!((call.scope.labels.len(), call.scope.types.len(), call.scope.vertices.len()), (1, 2, 3));
        assert!(read("personalized-pagerank", json!({"sources": [1, 2]})).is_ok());
        assert!(read("bfs", json!({"source": 0})).is_ok());
        for (name, members, said) in [
            ("pagerang", json!({}), "pagerank"),
            ("pagerank", json!({"dampng": 0.9}), "damping"),
            ("pagerank", json!({"damping": 2}), "0 to 1"),
            ("pagerank", json!({"damping": "much"}), "a number"),
            ("pagerank", json!({"iterations": -1}), "iterations"),
            ("pagerank", json!({"direction": "up"}), "out, in, both"),
            ("pagerank", json!({"labels": 7}), "labels"),
            ("pagerank", json!({"where": "born"}), "list of conditions"),
            ("pagerank", json!({"where": [["born", "~", 7]]}), "comparison"),
            ("pagerank", json!({"where": [["born", "=", {}]]}), "where"),
            ("bfs", json!({"source": -1}), "number of a vertex"),
            ("bfs", json!({}), "source"),
        ] {
            let error = read(name, members.clone()).unwrap_err().to_string();
            assert!(error.contains(said), "{name} {members}: {error}");
        }
    }

    #[test]
    fn every_parameter_has_a_name_of_its_own_beside_the_scope() {
        for algorithm in ALGORITHMS {
            for parameter in algorithm.parameters {
                assert!(!SCOPE.contains(&&*camel_case(parameter.name)), "{}", parameter.name);
            }
        }
        assert_eq!(camel_case("missing_weight"), "missingWeight");
    }
}
