//! Variables: a variable's value as text, a single literal, as in `--bind age=30` of the program.

use crate::error::{TextError, quoted};
use crate::gremlin::call::{Argument, ArgumentKind};
use crate::gremlin::parser::cursor::Parser;
use crate::gremlin::parser::{ParseLimits, begin};

/// Reads a literal of Gremlin: a value, null, a token by its full name, or a list, set or map of them.
///
/// ```
/// use evergraph_query::gremlin::parser::ParseLimits;
/// use evergraph_query::gremlin::parser::variable::parse_variable;
///
/// let limits = ParseLimits::default();
/// assert!(parse_variable("['ann', 41L, datetime('2026-01-31')]", &limits).is_ok());
/// let error = parse_variable("ann", &limits).unwrap_err();
/// assert_eq!(error.to_string(), "line 1, column 1: `ann` is not a value; put strings in quotes");
/// ```
///
/// Cost: one pass.
///
/// # Errors
/// If the text is something else, or more than one, or passes a limit; with its place.
pub fn parse_variable(text: &str, limits: &ParseLimits) -> Result<ArgumentKind, TextError> {
    let read = |parser: &mut Parser<'_>| {
        let argument = parser.read_argument()?;
        parser.require_end("the end of the value")?;
        refuse_others(&argument)?;
        Ok(argument.kind)
    };
    begin(text, limits).and_then(|mut parser| read(&mut parser)).map_err(|error| error.within(text))
}

/// Refuses what isn't the same wherever it stands.
fn refuse_others(argument: &Argument) -> Result<(), TextError> {
    let message = match &argument.kind {
        ArgumentKind::Null
        | ArgumentKind::Scalar(_)
        | ArgumentKind::Token(_)
        | ArgumentKind::Now
        | ArgumentKind::NewUuid => return Ok(()),
        ArgumentKind::List(items) | ArgumentKind::Set(items) => {
            return items.iter().try_for_each(refuse_others);
        }
        ArgumentKind::Map(entries) => {
            return entries.iter().try_for_each(|(key, value)| {
                refuse_others(key)?;
                refuse_others(value)
            });
        }
        ArgumentKind::Word(word) | ArgumentKind::Variable(word) => {
            format!("{} is not a value; put strings in quotes", quoted(word))
        }
        ArgumentKind::WithCardinality(..)
        | ArgumentKind::Traversal(_)
        | ArgumentKind::Query(_)
        | ArgumentKind::Predicate(_)
        | ArgumentKind::Strategy(_) => "a variable holds a value, not a part of a query".to_owned(),
    };
    Err(TextError::invalid(argument.span, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(text: &str) -> String {
        parse_variable(text, &ParseLimits::default()).unwrap_err().to_string()
    }

    #[test]
    fn a_value_is_what_it_would_be_in_a_query() {
        let read = |text: &str| parse_variable(text, &ParseLimits::default()).unwrap();
        assert_eq!(read("30"), ArgumentKind::Scalar(30_i32.into()));
        assert_eq!(read(" -30L "), ArgumentKind::Scalar((-30_i64).into()));
        assert_eq!(read("'it\\'s'"), ArgumentKind::Scalar("it's".into()));
        assert_eq!(read("null"), ArgumentKind::Null);
        assert_eq!(read("1..3"), read("[1, 2, 3]"));
        assert!(matches!(read("[a: {1, 2}, (T.id): 3]"), ArgumentKind::Map(entries) if entries.len() == 2));
    }

    #[test]
    fn what_is_no_value_is_refused_at_its_place() {
        assert_eq!(refused("[1, bob]"), "line 1, column 5: `bob` is not a value; put strings in quotes");
        let part = "a variable holds a value, not a part of a query";
        for (text, column) in [("gt(1)", 1), ("[a: out()]", 5), ("g.V()", 1), ("{1, set(2)}", 5)] {
            assert_eq!(refused(text), format!("line 1, column {column}: {part}"), "{text}");
        }
        assert_eq!(refused("1 2"), "line 1, column 3: expected the end of the value, found the number `2`");
        assert_eq!(refused(""), "line 1, column 1: expected an argument, found the end of the text");
    }
}
