//! Spawn: steps that begin a traversal.

use crate::gremlin::signature::forms::{MAP_OR_NULL, STRING, TRAVERSALS, VALUES};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};

const fn spawn(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Spawn, name, summary, forms)
}

const MERGE: &[Form] = &[Form::of(&[MAP_OR_NULL.or(Kinds::TRAVERSAL)])];

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    spawn("V", "Begins with the vertices that have these ids, or with all.", VALUES),
    spawn("E", "Begins with the edges that have these ids, or with all.", VALUES),
    spawn(
        "addV",
        "Adds a vertex with a label.",
        &[Form::of(&[]), Form::of(&[Kinds::STRING.or(Kinds::TRAVERSAL)])],
    ),
    spawn(
        "addE",
        "Adds an edge of a type, between the ends that `from` and `to` say.",
        &[Form::of(&[Kinds::STRING.or(Kinds::TRAVERSAL)])],
    ),
    spawn("mergeV", "Finds the vertices that a map describes, or adds one.", MERGE),
    spawn("mergeE", "Finds the edges that a map describes, or adds one.", MERGE),
    spawn("inject", "Begins with these values.", VALUES),
    spawn("union", "Begins with the results of several traversals, one after the other.", TRAVERSALS),
    spawn(
        "call",
        "Calls a service, or lists the services.",
        &[
            Form::of(&[]),
            Form::of(&[Kinds::STRING]),
            Form::of(&[Kinds::STRING, Kinds::MAP.or(Kinds::TRAVERSAL)]),
            Form::of(&[Kinds::STRING, Kinds::MAP, Kinds::TRAVERSAL]),
        ],
    ),
    spawn("io", "Names a file to `read` or `write`.", STRING),
];
