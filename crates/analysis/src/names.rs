//! Names: labels, edge types and properties as callers write them, and what these are called in errors.

use evergraph_algorithms::scope::Scope;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::filter::{Comparison, Condition, Filter};
use evergraph_graph::id::{KeyId, LabelId, TypeId};

/// More names than this are not worth reading.
const NAMES_MAX: usize = 20;

fn unknown<'a>(what: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let more = known.len().saturating_sub(NAMES_MAX);
    known.truncate(NAMES_MAX);
    let known = match (known.is_empty(), more) {
        (true, _) => "there is none".to_owned(),
        (false, 0) => format!("there are {}", known.join(", ")),
        (false, more) => format!("there are {} and {more} more", known.join(", ")),
    };
    Error::new(ErrorKind::NotFound, format!("{what} {name:?} isn't in the graph: {known}"))
}

/// The label `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn label(catalogue: &Catalogue, name: &str) -> Result<LabelId> {
    let known = || catalogue.labels().map(|(_, name)| name.as_ref());
    catalogue.label(name).ok_or_else(|| unknown("label", name, known()))
}

/// The edge type `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn edge_type(catalogue: &Catalogue, name: &str) -> Result<TypeId> {
    let known = || catalogue.edge_types().map(|(_, known)| known.name.as_ref());
    catalogue.edge_type(name).ok_or_else(|| unknown("edge type", name, known()))
}

/// The property key `name`.
///
/// # Errors
/// `not_found`, with those that there are.
pub fn key(catalogue: &Catalogue, name: &str) -> Result<KeyId> {
    let known = || catalogue.keys().map(|(_, name)| name.as_ref());
    catalogue.key(name).ok_or_else(|| unknown("property", name, known()))
}

/// The labels `names`; `None`, meaning all, for an empty list.
///
/// # Errors
/// As [`label`].
pub fn labels(catalogue: &Catalogue, names: &[String]) -> Result<Option<Vec<LabelId>>> {
    let found = names.iter().map(|name| label(catalogue, name)).collect::<Result<Vec<_>>>()?;
    Ok((!found.is_empty()).then_some(found))
}

/// The edge types `names`; `None`, meaning all, for an empty list.
///
/// # Errors
/// As [`edge_type`].
pub fn edge_types(catalogue: &Catalogue, names: &[String]) -> Result<Option<Vec<TypeId>>> {
    let found = names.iter().map(|name| edge_type(catalogue, name)).collect::<Result<Vec<_>>>()?;
    Ok((!found.is_empty()).then_some(found))
}

/// The comparison with this sign.
///
/// # Errors
/// `invalid`, with the signs that there are.
pub fn comparison(sign: &str) -> Result<Comparison> {
    match sign {
        "=" | "==" => Ok(Comparison::Equal),
        "!=" => Ok(Comparison::NotEqual),
        "<" => Ok(Comparison::Less),
        "<=" => Ok(Comparison::LessOrEqual),
        ">" => Ok(Comparison::Greater),
        ">=" => Ok(Comparison::GreaterOrEqual),
        _ => Err(Error::invalid(format!("comparison {sign:?}: expected one of = != < <= > >= in"))),
    }
}

/// A name of the table in JSON: `missing_weight` as `missingWeight`.
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

/// A condition on a property, by the name of that.
#[derive(Clone, PartialEq, Debug)]
pub struct PropertyCondition {
    /// The property.
    pub key: String,
    /// What it must satisfy.
    pub condition: Condition,
}

/// The part of a graph that is meant, by names.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct ScopeNames {
    /// Labels; all if there are none.
    pub labels: Vec<String>,
    /// Edge types; all if there are none.
    pub types: Vec<String>,
    /// Conditions on vertices.
    pub vertices: Vec<PropertyCondition>,
    /// Conditions on edges.
    pub edges: Vec<PropertyCondition>,
}

impl ScopeNames {
    /// The same in numbers.
    ///
    /// # Errors
    /// `not_found` for names that there aren't.
    pub fn scope(&self, catalogue: &Catalogue) -> Result<Scope> {
        let filters = |wanted: &[PropertyCondition]| {
            let filter = |one: &PropertyCondition| {
                Ok(Filter { key: key(catalogue, &one.key)?, condition: one.condition.clone() })
            };
            wanted.iter().map(filter).collect::<Result<Vec<_>>>()
        };
        Ok(Scope {
            labels: labels(catalogue, &self.labels)?,
            types: edge_types(catalogue, &self.types)?,
            vertex_filters: filters(&self.vertices)?,
            edge_filters: filters(&self.edges)?,
        })
    }
}
