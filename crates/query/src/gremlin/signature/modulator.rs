//! Modulators: methods that modify the step before them.

use crate::gremlin::signature::forms::{
    COLUMN, CONDITION, CONDITION_OR_NOTHING, DIRECTION, INTEGER, MAP_OR_NULL, STRING_AND_TEXTS, T,
};
use crate::gremlin::signature::kinds::Kinds;
use crate::gremlin::signature::method::{Form, Role, Signature};
use crate::gremlin::token::Enumeration;

const fn modulator(name: &'static str, summary: &'static str, forms: &'static [Form]) -> Signature {
    Signature::new(Role::Modulator, name, summary, forms)
}

const BY: Kinds = T.or(COLUMN).or(Kinds::STRING).or(Kinds::TRAVERSAL);
const CARDINALITY: Kinds = Kinds::token(Enumeration::Cardinality);
const MERGE: Kinds = Kinds::token(Enumeration::Merge);
const ORDER: Kinds = Kinds::token(Enumeration::Order);
const OPTIONS: Kinds = Kinds::token(Enumeration::WithOptions)
    .or(Kinds::token(Enumeration::PageRank))
    .or(Kinds::token(Enumeration::PeerPressure))
    .or(Kinds::token(Enumeration::ConnectedComponent))
    .or(Kinds::token(Enumeration::ShortestPath))
    .or(Kinds::token(Enumeration::Io));

/// The family.
pub(super) const SIGNATURES: &[Signature] = &[
    modulator("as", "Gives the step before it labels.", STRING_AND_TEXTS),
    modulator(
        "by",
        "Which value of each is meant, and in which order.",
        &[Form::of(&[]), Form::of(&[BY.or(ORDER)]), Form::of(&[BY, ORDER])],
    ),
    modulator(
        "from",
        "Where a new edge or a path begins.",
        &[Form::of(&[Kinds::STRING.or(Kinds::TRAVERSAL)])],
    ),
    modulator(
        "to",
        "Where a new edge or a path ends; with a direction, the vertices there.",
        &[Form::and_more(&[DIRECTION], Kinds::TEXT), Form::of(&[Kinds::STRING.or(Kinds::TRAVERSAL)])],
    ),
    modulator(
        "option",
        "What a branch does for a value, or a merge when it creates or matches.",
        &[
            Form::of(&[Kinds::TRAVERSAL]),
            Form::of(&[MERGE, MAP_OR_NULL.or(Kinds::TRAVERSAL)]),
            Form::of(&[MERGE, MAP_OR_NULL, CARDINALITY]),
            Form::of(&[Kinds::PREDICATE.or(Kinds::VALUE), Kinds::TRAVERSAL]),
        ],
    ),
    modulator("times", "How often `repeat` goes round.", INTEGER),
    modulator("until", "When `repeat` ends.", CONDITION),
    modulator("emit", "What `repeat` gives besides its last results.", CONDITION_OR_NOTHING),
    modulator(
        "with",
        "Sets an option of the step before it, to true without a value.",
        &[
            Form::of(&[OPTIONS.or(Kinds::STRING)]),
            Form::of(&[OPTIONS.or(Kinds::STRING), OPTIONS.or(Kinds::VALUE)]),
        ],
    ),
];
