//! Read: text to checked calls, with the line and column of an error.

use crate::error::TextError;
use crate::gremlin::bindings::Bindings;
use crate::gremlin::call::Query;
use crate::gremlin::check::check;
use crate::gremlin::parser::{ParseLimits, parse, parse_script};

/// Reads one query, and checks it.
///
/// Cost: that of [`parse`] and [`check`].
///
/// # Errors
/// If the text is no query, passes a limit, or a call in it doesn't fit its signature.
pub fn read(text: &str, limits: &ParseLimits, bindings: &Bindings) -> Result<Query, TextError> {
    let mut query = parse(text, limits)?;
    check(&mut query, bindings).map_err(|error| error.within(text))?;
    Ok(query)
}

/// Reads all queries of a text, and checks them.
///
/// # Errors
/// As [`read`], for the first query that is wrong.
pub fn read_script(text: &str, limits: &ParseLimits, bindings: &Bindings) -> Result<Vec<Query>, TextError> {
    let mut queries = parse_script(text, limits)?;
    let mut checked = queries.iter_mut().map(|query| check(query, bindings));
    checked.try_for_each(|result| result.map_err(|error| error.within(text)))?;
    drop(checked);
    Ok(queries)
}
