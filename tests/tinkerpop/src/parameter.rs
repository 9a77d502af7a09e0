//! Parameter: a scenario's value as a variable of a query.

use crate::expected::Known;
use crate::notation::Notation;
use evergraph::Value;
use evergraph_query::gremlin::call::{Argument, ArgumentKind};
use evergraph_query::gremlin::token::Token;

/// The argument that `notation` means. An element is its id, which may stand wherever an element may in Gremlin's text.
///
/// # Errors
/// An element that the graph doesn't have, a path, or a property: these are no arguments.
pub fn argument(notation: &Notation, known: &Known) -> Result<ArgumentKind, String> {
    let id = |of: &Notation| known.id(of).ok_or_else(|| format!("the graph has no {of:?}"));
    let all = |items: &[Notation]| {
        items.iter().map(|item| argument(item, known).map(Argument::from)).collect::<Result<Vec<_>, _>>()
    };
    Ok(match notation {
        Notation::Null => ArgumentKind::Null,
        Notation::Value(value) => value.clone().into(),
        Notation::Vertex(_) | Notation::Edge(_) => id(notation)?.into(),
        Notation::Id(of) => id(of)?.into(),
        Notation::IdText(of) => Value::from(id(of)?.to_string()).into(),
        Notation::List(items) => ArgumentKind::List(all(items)?),
        Notation::Set(items) => ArgumentKind::Set(all(items)?),
        Notation::Map(entries) => {
            let entry = |(key, value): &(Notation, Notation)| {
                Ok((argument(key, known)?.into(), argument(value, known)?.into()))
            };
            ArgumentKind::Map(entries.iter().map(entry).collect::<Result<_, String>>()?)
        }
        Notation::Token(token) => ArgumentKind::Token(Token::T(*token)),
        Notation::Direction(direction) => ArgumentKind::Token(Token::Direction(*direction)),
        Notation::Merge(merge) => ArgumentKind::Token(Token::Merge(*merge)),
        Notation::Path(_) | Notation::VertexProperty { .. } => {
            return Err("paths and properties are no parameters".to_owned());
        }
    })
}
