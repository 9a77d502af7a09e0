//! Branch: steps that run traversals inside a traversal.

use crate::gremlin::signature::forms::{COLUMN, STRING_OR_NOTHING, T, TRAVERSAL, TRAVERSALS, step};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Signature};

const CONDITION: Kinds = Kinds::PREDICATE.or(Kinds::TRAVERSAL);

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    step("branch", "Goes on as the `option` says that a traversal's results name.", TRAVERSAL),
    step(
        "choose",
        "One traversal or another, by a condition; or the `option` that a value names.",
        &[
            Form::of(&[T.or(COLUMN).or(Kinds::TRAVERSAL)]),
            Form::of(&[CONDITION, Kinds::TRAVERSAL]),
            Form::of(&[CONDITION, Kinds::TRAVERSAL, Kinds::TRAVERSAL]),
        ],
    ),
    step("coalesce", "The first of several traversals that has a result.", TRAVERSALS),
    step("optional", "The results of a traversal, or what comes if there is none.", TRAVERSAL),
    step("union", "The results of several traversals.", TRAVERSALS),
    step("local", "A traversal for each that comes, on its own.", TRAVERSAL),
    step(
        "repeat",
        "A traversal again and again; `times`, `until` and `emit` say how often.",
        &[Form::of(&[Kinds::TRAVERSAL]), Form::of(&[Kinds::STRING, Kinds::TRAVERSAL])],
    ),
    step("sideEffect", "What comes, after a traversal ran for it.", TRAVERSAL),
    step("fail", "Ends the query with an error.", STRING_OR_NOTHING),
];
