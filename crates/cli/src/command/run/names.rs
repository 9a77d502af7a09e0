//! Names: labels, edge types and property keys as the command line names them, as ids.

use crate::settings::resolve::nearest;
use evergraph_graph::catalogue::Catalogue;
use evergraph_graph::error::{Error, ErrorKind, Result};
use evergraph_graph::id::{KeyId, LabelId, TypeId};

/// The property key `name`.
///
/// # Errors
/// `not_found`, with the keys that there are.
pub fn key(catalogue: &Catalogue, name: &str) -> Result<KeyId> {
    catalogue
        .key(name)
        .ok_or_else(|| unknown("property", name, name, catalogue.keys().map(|(_, name)| name.as_ref())))
}

/// The label `name`.
///
/// # Errors
/// `not_found`, with the labels that there are.
pub fn label(catalogue: &Catalogue, name: &str) -> Result<LabelId> {
    catalogue
        .label(name)
        .ok_or_else(|| unknown("label", name, name, catalogue.labels().map(|(_, name)| name.as_ref())))
}

/// The edge type `name`.
///
/// # Errors
/// `not_found`, with the types that there are.
pub fn edge_type(catalogue: &Catalogue, name: &str) -> Result<TypeId> {
    let names = || catalogue.edge_types().map(|(_, definition)| definition.name.as_ref());
    catalogue.edge_type(name).ok_or_else(|| unknown("edge type", name, name, names()))
}

/// More names than this are not worth reading.
const NAMES_MAX: usize = 20;

/// Says that `what` isn't there, shown in full as `shown` and called `name` among those that are `known`, with
/// the nearest and with all of these.
#[must_use]
pub fn unknown<'a>(what: &str, shown: &str, name: &str, known: impl Iterator<Item = &'a str>) -> Error {
    let mut known: Vec<&str> = known.collect();
    known.sort_unstable();
    let near = nearest(name, known.iter().copied());
    let near = near.map(|near| format!("; did you mean {near}?")).unwrap_or_default();
    let more = known.len().saturating_sub(NAMES_MAX);
    known.truncate(NAMES_MAX);
    let known = match (known.is_empty(), more) {
        (true, _) => "it has none".to_owned(),
        (false, 0) => format!("it has {}", known.join(", ")),
        (false, more) => format!("it has {} and {more} more", known.join(", ")),
    };
    Error::new(ErrorKind::NotFound, format!("{what} {shown:?} isn't in the graph: {known}{near}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_name_comes_with_the_known_ones() {
        let text = |known: &[&str]| unknown("label", "Persn", "Persn", known.iter().copied()).to_string();
        assert_eq!(text(&[]), "label \"Persn\" isn't in the graph: it has none");
        assert_eq!(
            text(&["Person", "City"]),
            "label \"Persn\" isn't in the graph: it has City, Person; did you mean Person?"
        );
        let many: Vec<String> = (10..35).map(|number| format!("L{number}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(text(&many).ends_with("L29 and 5 more"));
        assert_eq!(unknown("label", "a", "a", [].into_iter()).kind(), ErrorKind::NotFound);
    }
}
