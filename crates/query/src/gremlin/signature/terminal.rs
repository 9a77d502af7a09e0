//! Terminal: methods that end a query and choose the form of its results.

use crate::gremlin::signature::forms::NOTHING;
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};

const fn terminal(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Terminal, name, summary, forms)
}

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    terminal("toList", "All results, in order.", NOTHING),
    terminal("toSet", "Each result once.", NOTHING),
    terminal("toBulkSet", "Each result once, with its count.", NOTHING),
    terminal("next", "The next result, or some.", &[Form::of(&[]), Form::of(&[Kinds::INTEGER])]),
    terminal("tryNext", "The next result, if there is one.", NOTHING),
    terminal("hasNext", "Whether there is a result.", NOTHING),
    terminal("iterate", "No results: the query runs for what it changes.", NOTHING),
    terminal("explain", "The plan, and the query doesn't run.", NOTHING),
    terminal("toString", "The query's text.", NOTHING),
];
