//! Place: an error of a statement, told by its place in the script.

use crate::command::shell::script::Statement;
use evergraph_graph::error::Error;
use evergraph_query::error::{Span, TextError};
use evergraph_terminal::failure::Failure;
use std::error::Error as _;

/// `failure` of `statement` with the name of the script, if it has one, and line and column there where the text is
/// wrong.
#[must_use]
pub fn placed(failure: Failure, statement: &Statement, script: Option<&str>) -> Failure {
    let Failure::Error(error) = failure else { return failure };
    let Some(wrong) = error.source().and_then(|source| source.downcast_ref::<TextError>()) else {
        return match script {
            Some(name) => error.context(format_args!("{name}, line {}", statement.line)).into(),
            None => error.into(),
        };
    };
    let before = "\n".repeat(statement.line.saturating_sub(1)) + &statement.before;
    let text = format!("{before}{}", statement.text);
    let moved = |at: u32| at.saturating_add(u32::try_from(before.len()).unwrap_or(u32::MAX));
    let span = Span { start: moved(wrong.span.start), end: moved(wrong.span.end) };
    let wrong = TextError { span, ..wrong.clone() }.within(&text);
    let shown = wrong.shown_in(&text);
    let told = script.map_or_else(|| shown.clone(), |name| format!("{name}: {shown}"));
    Error::new(error.kind(), told).because(wrong).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_in_a_statement_becomes_one_in_the_script() {
        let statement = Statement { text: " g.V()\n.otu()".to_owned(), line: 3, before: "g.E();".to_owned() };
        let told = |start: u32, end, script| {
            let wrong = TextError::invalid(Span { start, end }, "no").within(&statement.text);
            let error = Error::invalid(wrong.to_string()).because(wrong);
            let Failure::Error(error) = placed(error.into(), &statement, script) else { panic!() };
            error.to_string()
        };
        assert_eq!(told(8, 11, Some("a.groovy")), "a.groovy: line 4, column 2: no\n  .otu()\n   ^^^");
        assert_eq!(told(3, 4, None), "line 3, column 10: no\n  g.E(); g.V()\n           ^");
        let other = placed(Error::invalid("no number").into(), &statement, Some("a.groovy"));
        assert!(matches!(other, Failure::Error(error) if error.to_string() == "a.groovy, line 3: no number"));
        assert!(matches!(placed(Failure::ClosedPipe, &statement, None), Failure::ClosedPipe));
    }
}
